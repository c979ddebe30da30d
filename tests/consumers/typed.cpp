// Launches through the header that `ptx2spv --emit cpp-header` makes; the C header compiles beside
// it, and both describe the same parameters:  typed SPOTLIGHT.ptx
#include <cstdio>
#include <vector>

#include "spotlight.h"
#include "spotlight.hpp"

namespace {

int fail(const ptx2spv::Error& error) {
  std::fprintf(stderr, "typed: %s\n", error.text.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  auto device = ptx2spv::Device::open();
  if (!device) return fail(device.error());
  auto module = ptx2spv::Module::load_file(*device, argv[1]);
  if (!module) return fail(module.error());
  auto kernel = module->kernel(spotlight::spotlight::kernel_name);
  if (!kernel) return fail(kernel.error());

  ptx2spv::ArrayDesc desc;
  desc.format = ptx2spv::abi::SurfaceFormat::u8;
  desc.channels = 4;
  desc.width = 32;
  desc.height = 16;
  auto array = ptx2spv::Array::create(*device, desc);
  if (!array) return fail(array.error());
  auto surface = ptx2spv::Surface::create(*array);
  if (!surface) return fail(surface.error());
  std::vector<std::byte> texels(32 * 16 * 4, std::byte(200));
  if (auto status = array->upload(texels); !status) return fail(status.error());

  const spotlight::spotlight arguments{*surface, 32, 16, 8, 8, 4};
  ptx2spv::LaunchConfig config;
  config.block = {16, 16, 1};
  config.grid = {2, 1, 1};
  const ptx2spv::Args list = arguments.args();
  if (auto timing = kernel->launch(config, list); !timing) return fail(timing.error());
  if (auto status = array->download(texels); !status) return fail(status.error());
  const int middle = int(texels[(8 * 32 + 8) * 4]), corner = int(texels[0]);
  std::printf("%zu arguments in %zu bytes, middle %d, corner %d\n", list.items.size(),
              sizeof(spotlight_params), middle, corner);
  return list.items.size() == 6 && sizeof(spotlight_params) == 28 && corner < middle ? 0 : 1;
}
