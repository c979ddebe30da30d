// A hundred and more malformed modules and manifests through the real tools, and the same bytes
// through the C interface: each gives a located message and the right exit code, none crashes. The
// sanitizers' builds run this too.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <regex>
#include <vector>

#include "ptx2spv/ptx2spv.h"
#include "tests/hostile/hostile.hpp"
#include "tests/support/process.hpp"

namespace ptx2spv::test {
namespace {

/// What no message may hold: a sanitizer's report, or a fault of ours.
void expect_sane(const ProcessResult& result, const std::string& name) {
  EXPECT_LT(result.exit_code, 128) << name << " ended by a signal\n"
                                   << result.error.substr(0, 2000);
  for (const char* word : {"Sanitizer", "runtime error:", "internal error", "terminate called"})
    EXPECT_EQ(result.error.find(word), std::string::npos) << name << "\n"
                                                          << result.error.substr(0, 2000);
  // Long input has no long message: what it quotes is cut.
  EXPECT_LT(result.error.size(), 60'000u) << name.substr(0, 100);
}

TEST(Hostile, ModulesAreRefusedWithAPlace) {
  const TemporaryFolder folder;
  const auto modules = hostile_modules();
  ASSERT_GE(modules.size(), 100u);
  // What is no text at all has no line.
  const std::regex located("(^|\n)[^\n]*m\\.ptx:([0-9]+:[0-9]+: error: | error: is no text)");
  for (const Hostile& each : modules) {
    const std::string file = folder.write("m.ptx", each.text);
    const ProcessResult result =
        run_process({tool_path("ptx2spv"), "--quiet", "-o", folder.file("m.spv"), file});
    expect_sane(result, each.name);
    EXPECT_EQ(result.exit_code, 3) << each.name << "\n" << result.error.substr(0, 500);
    const std::string start = result.error.substr(0, 2000);
    EXPECT_TRUE(std::regex_search(start, located)) << each.name << "\n" << start;
    EXPECT_EQ(read_whole(folder.file("m.spv")), "") << each.name;
  }
}

TEST(Hostile, FilesThatCannotBeReadAreInputAndOutput) {
  const TemporaryFolder folder;
  const std::string good = folder.write("k.ptx", good_module());
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{folder.file("absent.ptx")},
                                             {folder.path()},
                                             {"/proc/self/mem"},
                                             {good, "-o", folder.file("absent/k.spv")},
                                             {good, "-o", "/dev/full"},
                                             {good, "--profile", "nothing"},
                                             {good, "--disable", "everything"},
                                             {good, "--backing", "s=image:u8x3:2d"},
                                             {good, "--backing", "9=buffer"},
                                             {good, "--block", "99999999999999999999"},
                                             {good, "--block", "-1"},
                                             {"--no-such-option"},
                                             {}}) {
    std::vector<std::string> command = {tool_path("ptx2spv")};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const ProcessResult result = run_process(command);
    expect_sane(result, arguments.empty() ? "nothing" : arguments.back());
    EXPECT_EQ(result.exit_code, 2) << (arguments.empty() ? "" : arguments.back()) << result.error;
    EXPECT_NE(result.error.find("error: "), std::string::npos) << result.error;
  }
}

TEST(Hostile, ManifestsAreRefusedWithAPlace) {
  const TemporaryFolder folder;
  folder.write("k.ptx", good_module());
  const auto run = [&](const std::string& text) {
    return run_process({tool_path("ptxrun"), folder.write("m.json", text)}, "",
                       {"PTX2SPV_CACHE=0"});
  };
  const ProcessResult good = run(good_manifest());
  ASSERT_EQ(good.exit_code, 0) << good.error;
  const auto manifests = hostile_manifests();
  ASSERT_GE(manifests.size(), 100u);
  const std::regex located("(^|\n)[^\n]*m\\.json:([0-9]+:| error: is no text)");
  for (const Hostile& each : manifests) {
    const ProcessResult result = run(each.text);
    expect_sane(result, each.name);
    EXPECT_EQ(result.exit_code, 2) << each.name << "\n" << result.error.substr(0, 500);
    const std::string start = result.error.substr(0, 2000);
    EXPECT_TRUE(std::regex_search(start, located)) << each.name << "\n" << start;
  }
  // A module that does not translate is the manifest's third way to fail, and a trap its fourth.
  folder.write("k.ptx", "nonsense");
  EXPECT_EQ(run(good_manifest()).exit_code, 3);
  folder.write("k.ptx",
               ".version 8.3\n.target sm_80\n.address_size 64\n.global .surfref img;\n"
               ".global .u32 g;\n.entry k(.param .u64 s, .param .u64 b) { trap; }\n");
  EXPECT_EQ(run(good_manifest()).exit_code, 4);
}

/// A device of the C interface for the tests below.
class HostileLibrary : public testing::Test {
 protected:
  void SetUp() override {
    ptx2spv_device_options options{};
    options.size = sizeof options;
    options.cache = -1;
    ASSERT_EQ(ptx2spv_device_open(&options, &device_), PTX2SPV_OK) << ptx2spv_last_error();
  }
  void TearDown() override { ptx2spv_device_destroy(device_); }
  ptx2spv_status load(const std::string& text, ptx2spv_module** module) {
    // A copy of just that size, so that a read past its end is seen.
    const std::vector<char> exact(text.begin(), text.end());
    return ptx2spv_module_load(device_, exact.data(), exact.size(), "m.ptx", nullptr, module);
  }
  ptx2spv_device* device_ = nullptr;
};

TEST_F(HostileLibrary, ModulesAreErrors) {
  for (const Hostile& each : hostile_modules()) {
    // What the front end takes and only translation refuses has a module without a kernel to get.
    ptx2spv_module* module = nullptr;
    if (load(each.text, &module) == PTX2SPV_OK) {
      ptx2spv_kernel* kernel = nullptr;
      if (ptx2spv_kernel_get(module, "k", &kernel) == PTX2SPV_OK) {
        ptx2spv_launch launch{};
        launch.size = sizeof launch;
        EXPECT_NE(ptx2spv_kernel_launch(kernel, &launch, nullptr), PTX2SPV_OK) << each.name;
        ptx2spv_kernel_destroy(kernel);
      }
      ptx2spv_module_destroy(module);
      continue;
    }
    EXPECT_EQ(module, nullptr) << each.name;
    EXPECT_NE(std::string(ptx2spv_last_error()), "") << each.name;
  }
  ptx2spv_module* module = nullptr;
  EXPECT_NE(ptx2spv_module_load(device_, nullptr, 0, nullptr, nullptr, &module), PTX2SPV_OK);
  EXPECT_NE(ptx2spv_module_load(device_, "", 0, nullptr, nullptr, nullptr), PTX2SPV_OK);
  EXPECT_NE(ptx2spv_module_load_file(device_, "/nowhere/m.ptx", nullptr, &module), PTX2SPV_OK);
  EXPECT_NE(ptx2spv_module_load_file(device_, "/", nullptr, &module), PTX2SPV_OK);
  EXPECT_NE(ptx2spv_module_load_file(device_, "/dev/zero", nullptr, &module), PTX2SPV_OK);
  EXPECT_NE(std::string(ptx2spv_last_error()).find("larger than"), std::string::npos)
      << ptx2spv_last_error();
}

TEST(HostileEnvironment, ValuesThatAVariableMayNotHaveAreErrors) {
  const std::array<const char*, 2> wrong[] = {{"PTX2SPV_CACHE", "maybe"},
                                              {"PTX2SPV_CACHE_MIB", "1e9"},
                                              {"PTX2SPV_CACHE_MIB", "99999999999999999999"},
                                              {"PTX2SPV_DEBUG", "wait-iterations=-1"},
                                              {"PTX2SPV_DEBUG", "wait-iterations=4294967296"},
                                              {"PTX2SPV_DEBUG", "inline-budget=0x10"},
                                              {"PTX2SPV_DEBUG", "dump=/,routine-budget=5 "},
                                              {"PTX2SPV_DEBUG", "validate-ir=2"},
                                              {"PTX2SPV_VALIDATION", "fatal,,gpu"},
                                              {"PTX2SPV_MEMORY_MIB", "0"},
                                              {"PTX2SPV_FILTER", "Exact"},
                                              {"PTX2SPV_DEBUG", "backing=buffer"},
                                              {"PTX2SPV_DEBUG", "probe=later"},
                                              {"PTX2SPV_DEBUG", "profile=none"},
                                              {"PTX2SPV_DEBUG", "disable=everything"},
                                              {"PTX2SPV_DEBUG", "interpreter=always"},
                                              {"PTX2SPV_DEBUG", "backing"},
                                              {"PTX2SPV_EXECUTOR", "always"},
                                              {"PTX2SPV_PROBE_PROGRAM", "/bin/false"},
                                              {"PTX2SPV_SANITIZE", "some"},
                                              {"PTX2SPV_SUPPRESSIONS", "/"},
                                              {"PTX2SPV_SUPPRESSIONS", "/dev/zero"},
                                              {"PTX2SPV_TIMEOUT", "-1"},
                                              {"PTX2SPV_SANITIZE_EXITCODE", "256"},
                                              {"PTX2SPV_CUDA_FP", "precise"}};
  ptx2spv_device_options options{};
  options.size = sizeof options;
  for (const auto& [variable, value] : wrong) {
    const char* set = std::getenv(variable);
    const std::string before = set ? set : "";
    ::setenv(variable, value, 1);
    ptx2spv_device* device = nullptr;
    EXPECT_EQ(ptx2spv_device_open(&options, &device), PTX2SPV_INVALID_ARGUMENT) << variable;
    EXPECT_EQ(device, nullptr) << variable;
    std::string_view what = value;  // of the last setting
    if (const auto at = what.find_last_of("="); at != what.npos) what.remove_prefix(at + 1);
    EXPECT_NE(std::string(ptx2spv_last_error()).find(what), std::string::npos)
        << variable << ": " << ptx2spv_last_error();
    set ? ::setenv(variable, before.c_str(), 1) : ::unsetenv(variable);
  }
}

TEST_F(HostileLibrary, ExtentsAndRangesAreErrors) {
  const std::uint32_t most = ~0u;
  for (const std::array<std::uint32_t, 5>& extent :
       std::vector<std::array<std::uint32_t, 5>>{{most, 1, 1, 1, 1},
                                                 {most, most, most, most, most},
                                                 {1u << 30, 1u << 30, 1u << 30, 1, 1},
                                                 {1u << 30, 1u << 30, 1, 65536, 1},
                                                 {8, 8, 1, 1, 99},
                                                 {1u << 20, 1u << 20, 1, 1, 1}})
    for (std::uint32_t geometry = 0; geometry < 6; ++geometry) {
      ptx2spv_array_desc desc{};
      desc.size = sizeof desc;
      desc.geometry = static_cast<ptx2spv_geometry>(geometry);
      desc.format = PTX2SPV_F32;
      desc.channels = 4;
      desc.width = extent[0];
      desc.height = extent[1];
      desc.depth = extent[2];
      desc.layers = extent[3];
      desc.levels = extent[4];
      for (const ptx2spv_backing backing : {PTX2SPV_LINEAR, PTX2SPV_IMAGE}) {
        desc.backing = backing;
        ptx2spv_array* array = nullptr;
        // One that a device can hold after all is no error.
        if (ptx2spv_array_create(device_, &desc, &array) == PTX2SPV_OK) {
          ptx2spv_array_destroy(array);
        } else {
          EXPECT_NE(std::string(ptx2spv_last_error()), "");
        }
      }
    }
  ptx2spv_array_desc desc{};
  desc.size = sizeof desc;
  desc.channels = 3;
  ptx2spv_array* array = nullptr;
  EXPECT_NE(ptx2spv_array_create(device_, &desc, &array), PTX2SPV_OK);
  desc.channels = 1;
  desc.format = static_cast<ptx2spv_format>(77);
  EXPECT_NE(ptx2spv_array_create(device_, &desc, &array), PTX2SPV_OK);
  EXPECT_NE(ptx2spv_array_create(device_, nullptr, &array), PTX2SPV_OK);
  EXPECT_NE(ptx2spv_array_create(nullptr, &desc, &array), PTX2SPV_OK);

  ptx2spv_buffer* buffer = nullptr;
  EXPECT_NE(ptx2spv_buffer_create(device_, ~std::uint64_t{0}, &buffer), PTX2SPV_OK);
  EXPECT_NE(ptx2spv_buffer_create(device_, std::uint64_t{1} << 60, &buffer), PTX2SPV_OK);
  ASSERT_EQ(ptx2spv_buffer_create(device_, 64, &buffer), PTX2SPV_OK);
  std::uint8_t bytes[64] = {};
  for (const std::array<std::uint64_t, 2>& range : std::vector<std::array<std::uint64_t, 2>>{
           {65, 1}, {1, 64}, {~std::uint64_t{0}, 2}, {~std::uint64_t{0} - 1, 64}, {0, 65}}) {
    EXPECT_NE(ptx2spv_buffer_upload(buffer, range[0], bytes, range[1]), PTX2SPV_OK);
    EXPECT_NE(ptx2spv_buffer_download(buffer, range[0], bytes, range[1]), PTX2SPV_OK);
    EXPECT_NE(ptx2spv_buffer_fill(buffer, range[0], range[1], 1, 1), PTX2SPV_OK);
  }
  ptx2spv_buffer_destroy(buffer);
}

TEST_F(HostileLibrary, ArgumentsAndShapesAreErrors) {
  ptx2spv_module* module = nullptr;
  ASSERT_EQ(load(good_module(), &module), PTX2SPV_OK) << ptx2spv_last_error();
  ptx2spv_kernel* kernel = nullptr;
  EXPECT_NE(ptx2spv_kernel_get(module, "absent", &kernel), PTX2SPV_OK);
  EXPECT_NE(ptx2spv_kernel_get(module, nullptr, &kernel), PTX2SPV_OK);
  ASSERT_EQ(ptx2spv_kernel_get(module, "k", &kernel), PTX2SPV_OK);
  const std::uint64_t number = 0x123456789;
  ptx2spv_argument arguments[3] = {};
  for (auto& each : arguments) {
    each.data = &number;
    each.bytes = 8;
  }
  ptx2spv_launch launch{};
  launch.size = sizeof launch;
  launch.arguments = arguments;
  const auto refused = [&](const char* what) {
    EXPECT_NE(ptx2spv_kernel_launch(kernel, &launch, nullptr), PTX2SPV_OK) << what;
  };
  launch.argument_count = 1;
  refused("few arguments");
  launch.argument_count = 3;
  refused("many arguments");
  launch.argument_count = 2;
  arguments[0].bytes = 4;
  refused("a narrow argument");
  arguments[0].bytes = ~0u;
  refused("a wide argument");
  arguments[0] = {};
  refused("an empty argument");
  arguments[0].data = &number;
  arguments[0].bytes = 8;
  launch.block[0] = ~0u;
  refused("a large block");
  launch.block[0] = 1;
  launch.grid[1] = ~0u;
  refused("a large grid");
  launch.grid[1] = 1;
  launch.arguments = nullptr;
  refused("no arguments");
  std::uint32_t word = 0;
  EXPECT_NE(ptx2spv_module_get_global(module, "g", 1, &word, 4), PTX2SPV_OK);
  EXPECT_NE(ptx2spv_module_get_global(module, "g", ~std::uint64_t{0}, &word, 4), PTX2SPV_OK);
  EXPECT_NE(ptx2spv_module_set_global(module, "absent", 0, &word, 4), PTX2SPV_OK);
  EXPECT_NE(ptx2spv_module_bind_surface(module, "absent", nullptr), PTX2SPV_OK);
  EXPECT_NE(ptx2spv_module_bind_surface(module, "img", nullptr), PTX2SPV_OK);
  EXPECT_EQ(ptx2spv_kernel_launch(nullptr, &launch, nullptr) == PTX2SPV_OK, false);
  ptx2spv_kernel_destroy(kernel);
  ptx2spv_module_destroy(module);
}

}  // namespace
}  // namespace ptx2spv::test
