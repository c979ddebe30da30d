#include "tests/runtime/fixture.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>

namespace ptx2spv {

std::string& printed() {
  static std::string text;
  return text;
}

namespace {

DeviceOptions test_options() {
  DeviceOptions options;
  options.cache = false;
  options.print = [](std::string_view text) { printed() += text; };
  return options;
}

std::optional<Device> g_device;

/// Every dispatch of the process has to be silent under the validation layer.
class Validation : public testing::Environment {
 public:
#if defined(__SANITIZE_ADDRESS__)
  /// What drivers leak can only be told from what we leak while they are loaded, and the loader
  /// unloads them with the last instance.
  void SetUp() override {
    DeviceOptions options = test_options();
    options.validation = true;  // the layer too
    auto device = Device::open(options);
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);)
      if (const auto at = line.find('/'); at != line.npos && line.find(".so", at) != line.npos)
        ::dlopen(line.substr(at).c_str(), RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  }
#endif
  void TearDown() override {
    if (!g_device) return;
    must(g_device->synchronize());
    EXPECT_EQ(g_device->validation_messages(), 0u) << "the validation layer found fault";
    g_device.reset();
  }
};
const auto* g_environment = testing::AddGlobalTestEnvironment(new Validation);

}  // namespace

Device& test_device() {
  if (!g_device) {
    DeviceOptions options = test_options();
    const char* off = std::getenv("VK_LOADER_LAYERS_DISABLE");
    options.validation = !off || !std::strstr(off, "VK_LAYER_KHRONOS_validation");
    auto device = Device::open(options);
    if (!device) {
      std::printf("without the validation layer: %s\n", device.error().text.c_str());
      options.validation = false;
      device = Device::open(options);
    }
    g_device = must(std::move(device));
  }
  return *g_device;
}

}  // namespace ptx2spv
