// Every kernel of bench, tests and examples in Metal's language, by SPIRV-Cross, as MoltenVK
// converts modules on Apple's devices.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/support/process.hpp"
#include "tests/support/translations.hpp"

namespace ptx2spv::test {
namespace {

/// SPIRV-Cross of the newer Debian where it was unpacked (tools/test --drivers newer), else the
/// system's; empty: there is none.
std::string spirv_cross() {
  for (const std::string& place : {std::string(PTX2SPV_SOURCE_DIR) + "/build/newer/spirv-cross/run",
                                   std::string("/usr/bin/spirv-cross")})
    if (std::filesystem::exists(place)) return place;
  return {};
}

/// What MoltenVK reports on an M1 (tests/limits/devices/apple-m1.json), as far as modules differ.
Profile apple(bool device_addresses) {
  Profile profile = find_profile("portable").value_or(Profile());
  profile.features.int64 = profile.features.storage8 = profile.features.storage16 = true;
  profile.features.keeps_specials32 = true;
  profile.features.device_addresses = device_addresses;
  return profile;
}

class Metal : public testing::Test {
 protected:
  /// Why SPIRV-Cross refuses the module; empty: it converts.
  std::string convert(const std::vector<std::uint32_t>& spirv, const std::string& entry,
                      const std::string& version) {
    std::ofstream(folder_.file("module.spv"), std::ios::binary)
        .write(reinterpret_cast<const char*>(spirv.data()),
               static_cast<std::streamsize>(spirv.size() * 4));
    const auto result = run_process({spirv_cross(), "--msl", "--msl-version", version,
                                     "--msl-argument-buffers", folder_.file("module.spv"),
                                     "--entry", entry, "--output", folder_.file("module.metal")});
    if (result.exit_code != 0) return result.error + result.out;
    const std::string text = read_whole(folder_.file("module.metal"));
    return text.find("kernel void") == std::string::npos ? "it wrote no kernel" : "";
  }
  TemporaryFolder folder_;
};

TEST_F(Metal, EveryKernelConverts) {
  if (spirv_cross().empty()) GTEST_SKIP() << "there is no spirv-cross";
  unsigned count = 0, refused = 0, old = 0;
  for (const KernelFile& kernel :
       kernels_below(PTX2SPV_SOURCE_DIR, {"bench", "tests", "examples"})) {
    std::string refusal;
    const auto spirv = translate_launch(kernel.file, kernel.name, apple(true), FpPolicy::exact,
                                        nullptr, {}, &refusal);
    if (spirv.empty()) {
      // Cases that the translator has to refuse.
      EXPECT_TRUE(kernel.file.find("/tests/cases/") != std::string::npos ||
                  kernel.file.find("/tests/fuzz/found/") != std::string::npos)
          << kernel.file << " " << kernel.name << ": " << refusal;
      ++refused;
      continue;
    }
    ++count;
    for (const char* version : {"20400", "30000"}) {
      const std::string why = convert(spirv, kernel.name, version);
      if (why.empty()) continue;
      // SPIRV-Cross before 2023 has no atomic operations by address, which MoltenVK's has. Without
      // device addresses the same kernel has to convert there.
      ASSERT_NE(why.find("No backing variable for atomic operation"), std::string::npos)
          << kernel.file << " " << kernel.name << " for Metal " << version << ": " << why;
      const auto bound =
          translate_launch(kernel.file, kernel.name, apple(false), FpPolicy::exact, nullptr);
      ASSERT_EQ(convert(bound, kernel.name, version), "") << kernel.file << " " << kernel.name;
      ++old;
    }
  }
  std::printf(
      "%u kernels, %u refused by the translator; %u conversions without device addresses "
      "alone\n",
      count, refused, old);
  EXPECT_GT(count, 80u);
}

}  // namespace
}  // namespace ptx2spv::test
