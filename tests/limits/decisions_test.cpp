// What the runtime chooses on a device that it does not know: the layer of dev/limits_layer answers
// as another vendor's, and a program in the probe's place gives the answers of one that is asked.
// Modules for it are made and looked at; where they need subgroups that the driver has not, what
// they compute is not.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "src/device/answers.hpp"
#include "src/device/ask.hpp"
#include "src/device/device.hpp"
#include "tests/support/environment.hpp"
#include "tests/support/process.hpp"

namespace ptx2spv::runtime {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

const std::string kFolders = std::string(PTX2SPV_SOURCE_DIR) + "/tests/";

/// A device that nobody here has: what `features` states, with other subgroups and of a driver that
/// no table names.
struct Family {
  const char *name, *features;
  std::uint32_t vendor, type, subgroup, least, most;
  bool float64;
  std::size_t dots;  ///< how many of kDots are one instruction
  bool warps() const { return least <= 32 && 32 <= most; }
};
constexpr std::uint32_t kIntegrated = VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU,
                        kDiscrete = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
const Family kFamilies[] = {
    {"Rdna3", "radv-rdna3", 0x1002, kDiscrete, 64, 32, 64, true, 3},
    {"Arc", "intel-uhd-620", 0x8086, kDiscrete, 32, 8, 32, false, 3},
    {"M1", "apple-m1", 0x106b, kIntegrated, 32, 32, 32, false, 0},
    {"Subgroups64", "radv-polaris", 0x1002, kDiscrete, 64, 64, 64, true, 2},
};
constexpr const char* kDots[] = {"Unsigned", "Signed", "MixedSignedness"};

std::string limits_of(const Family& family) {
  json file =
      json::parse(test::read_whole(kFolders + "limits/devices/" + family.features + ".json"));
  json& device = file["capabilities"]["device"];
  device["features"]["VkPhysicalDeviceFeatures"]["shaderFloat64"] = family.float64;
  json& properties = device["properties"];
  device["features"]["VkPhysicalDeviceShaderIntegerDotProductFeatures"] = {
      {"shaderIntegerDotProduct", family.dots != 0}};
  for (std::size_t i = 0; i < std::size(kDots); ++i)
    properties["VkPhysicalDeviceShaderIntegerDotProductProperties"]
              ["integerDotProduct4x8BitPacked" + std::string(kDots[i]) + "Accelerated"] =
                  i < family.dots;
  constexpr std::uint32_t kNobodys = 0x7ffffff0;
  properties["VkPhysicalDeviceProperties"]["vendorID"] = family.vendor;
  properties["VkPhysicalDeviceProperties"]["deviceType"] = family.type;
  properties["VkPhysicalDeviceDriverProperties"]["driverID"] = kNobodys;
  properties["VkPhysicalDeviceSubgroupProperties"] = {
      {"subgroupSize", family.subgroup},
      {"supportedStages", VK_SHADER_STAGE_COMPUTE_BIT},
      {"supportedOperations", VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_VOTE_BIT |
                                  VK_SUBGROUP_FEATURE_BALLOT_BIT |
                                  VK_SUBGROUP_FEATURE_SHUFFLE_BIT}};
  properties["VkPhysicalDeviceSubgroupSizeControlProperties"] = {
      {"minSubgroupSize", family.least},
      {"maxSubgroupSize", family.most},
      {"requiredSubgroupSizeStages", VK_SHADER_STAGE_COMPUTE_BIT}};
  return file.dump();
}

/// A program that answers each question of the probe as a device does that is exact and likes
/// images, or as one that is neither.
std::string prober(bool good) {
  std::string text =
      "#!/bin/sh\necho '" + std::string(kProbeProtocol) + " " + std::string(build_id()) + "'\n";
  for (const std::string_view row : Answers::rows()) {
    const Capability* capability = find_capability(row);
    const bool yes = good && capability && capability->group != Capability::Group::workaround &&
                     row != "flushes_denormals32";
    text += "echo 'answer " + std::string(row) + "=" + std::to_string(yes ? 1u : safe_answer(row)) +
            " 1.0 as told'\n";
  }
  return text;
}

/// The driver that stands behind: the layer takes its name away from nothing but tables.
std::string selection() {
  const std::string name = test::environment("PTX2SPV_DEVICE");
  return name == "lavapipe" ? "llvmpipe (" : "swiftshader device";
}

class Decisions : public testing::TestWithParam<Family> {
 protected:
  void SetUp() override {
    // The layer takes features away and adds none.
    if (selection() != "llvmpipe (")
      GTEST_SKIP() << "SwiftShader makes no full subgroups of a size that is asked for";
  }
  /// Runs a manifest; the dumped modules are `words` then.
  test::ProcessResult run(const std::string& manifest, bool good) {
    const test::TemporaryFolder folder;
    const std::string limits = folder.write("limits.json", limits_of(GetParam())),
                      asks = folder.write("asks", prober(good)), modules = folder.file("modules");
    fs::permissions(asks, fs::perms::owner_all);
    fs::create_directory(modules);
    const auto result = test::run_process(
        {test::tool_path("ptxrun"), "--device", selection(), manifest}, {},
        {test::debug_variable("limits=" + limits + ",probe-program=" + asks + ",dump=" + modules),
         "PTX2SPV_EXECUTOR=device", "PTX2SPV_CACHE=0"});
    EXPECT_NE(result.error.find("ptx2spv: asked "), std::string::npos) << result.error;
    modules_.clear();
    for (const auto& each : fs::directory_iterator(modules)) {
      const std::string bytes = test::read_whole(each.path());
      auto& words = modules_.emplace_back(bytes.size() / 4);
      std::memcpy(words.data(), bytes.data(), words.size() * 4);
    }
    EXPECT_FALSE(modules_.empty()) << result.out << result.error;
    return result;
  }
  /// Instructions of the modules for which `is` holds.
  template <class Is>
  std::size_t count(Is&& is) const {
    std::size_t found = 0;
    constexpr std::size_t kHeader = 5;
    for (const auto& words : modules_)
      for (std::size_t at = kHeader; at < words.size(); at += std::max(words[at] >> 16, 1u))
        found += is(words[at] & 0xffff, &words[at]);
    return found;
  }
  std::size_t count_of(std::uint32_t opcode) const {
    return count([&](std::uint32_t each, const std::uint32_t*) { return each == opcode; });
  }
  std::size_t subgroup_operations() const {
    constexpr std::uint32_t kFirst = 333, kLast = 366;  // OpGroupNonUniform...
    return count(
        [&](std::uint32_t each, const std::uint32_t*) { return each >= kFirst && each <= kLast; });
  }
  std::size_t fused() const {
    constexpr std::uint32_t kExtInst = 12, kFma = 50;  // of GLSL.std.450
    return count([&](std::uint32_t each, const std::uint32_t* words) {
      return each == kExtInst && words[4] == kFma;
    });
  }
  static constexpr std::uint32_t kSample = 88, kImageWrite = 99, kCall = 57;

 private:
  std::vector<std::vector<std::uint32_t>> modules_;
};

TEST_P(Decisions, WarpsAreSubgroupsOf32WhereTheDeviceHasThem) {
  const auto result = run(kFolders + "kernels/warps.json", true);
  EXPECT_EQ(subgroup_operations() != 0, GetParam().warps());
  EXPECT_EQ(result.error.find("a pipeline asks for subgroups of 32\n") != std::string::npos,
            GetParam().warps())
      << result.error;
  // Emulated warps need nothing of the device.
  EXPECT_EQ(run(kFolders + "kernels/warps.json", false).exit_code, 0);
  EXPECT_EQ(subgroup_operations(), 0u);
}

TEST_P(Decisions, AnFmaIsOneInstructionWhereItIsExact) {
  const test::TemporaryFolder folder;
  (void)folder.write("k.ptx",
                     ".version 7.0\n.target sm_75\n.address_size 64\n"
                     ".visible .entry k(.param .u64 p) {\n"
                     "  .reg .b64 %d<2>; .reg .f32 %f<4>;\n  ld.param.u64 %d0, [p];\n"
                     "  ld.global.f32 %f0, [%d0]; ld.global.f32 %f1, [%d0+4];\n"
                     "  ld.global.f32 %f2, [%d0+8]; fma.rn.f32 %f3, %f0, %f1, %f2;\n"
                     "  st.global.f32 [%d0+12], %f3;\n  ret;\n}\n");
  const json manifest = {
      {"module", "k.ptx"},
      {"buffers", {{"p", {{"bytes", 16}}}}},
      {"launches", {{{"kernel", "k"}, {"grid", 1}, {"block", 1}, {"args", {{{"buffer", "p"}}}}}}}};
  const std::string file = folder.write("k.json", manifest.dump());
  EXPECT_EQ(run(file, true).exit_code, 0);
  EXPECT_EQ(fused(), 1u);
  EXPECT_EQ(count_of(kCall), 0u);
  EXPECT_EQ(run(file, false).exit_code, 0);
  EXPECT_EQ(fused(), 0u);
}

// The bytes' products on both sides of a sum that wraps, by each combination of signs.
TEST_P(Decisions, ADotProductOfBytesIsOneInstructionWhereTheDeviceHasIt) {
  constexpr std::uint32_t kWords[] = {0x80ff7f01, 0xff80017f, 0x7fffffff, 0x80808080,
                                      0xffffffff, 0x80808080, 0x00000005, 0x12f48a3c,
                                      0x9be0417d, 0xfffffff0, 0xffffffff, 0x7f7f7f7f};
  constexpr std::size_t kThreads = std::size(kWords) / 3;
  const auto bytes = [](std::uint32_t word, unsigned i, bool is_signed) {
    const auto byte = static_cast<std::uint8_t>(word >> (8 * i));
    return is_signed ? int{static_cast<std::int8_t>(byte)} : int{byte};
  };
  std::string text =
      ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 in, "
      ".param .u64 out) {\n  .reg .b64 %d<5>; .reg .b32 %r<8>;\n  ld.param.u64 %d0, [in];\n"
      "  ld.param.u64 %d1, [out]; mov.u32 %r0, %tid.x; mul.wide.u32 %d2, %r0, 12;\n"
      "  add.u64 %d0, %d0, %d2; mul.wide.u32 %d3, %r0, 16; add.u64 %d1, %d1, %d3;\n"
      "  ld.global.u32 %r1, [%d0]; ld.global.u32 %r2, [%d0+4]; ld.global.u32 %r3, [%d0+8];\n";
  std::vector<std::uint32_t> want;
  for (unsigned signs = 0; signs < 4; ++signs)
    text += fmt::format("  dp4a.{}32.{}32 %r4, %r1, %r2, %r3; st.global.u32 [%d1+{}], %r4;\n",
                        signs & 1 ? 's' : 'u', signs & 2 ? 's' : 'u', signs * 4);
  for (std::size_t t = 0; t < kThreads; ++t)
    for (unsigned signs = 0; signs < 4; ++signs) {
      std::uint32_t sum = kWords[t * 3 + 2];
      for (unsigned i = 0; i < 4; ++i)
        sum += static_cast<std::uint32_t>(bytes(kWords[t * 3], i, signs & 1) *
                                          bytes(kWords[t * 3 + 1], i, signs & 2));
      want.push_back(sum);
    }
  const test::TemporaryFolder folder;
  const auto raw = [](const auto& words) {
    return std::string(reinterpret_cast<const char*>(std::data(words)), std::size(words) * 4);
  };
  (void)folder.write("k.ptx", text + "  ret;\n}\n");
  (void)folder.write("in.bin", raw(kWords));
  (void)folder.write("want.bin", raw(want));
  const json manifest = {
      {"module", "k.ptx"},
      {"buffers",
       {{"in", {{"bytes", sizeof kWords}, {"init", {{"raw", "in.bin"}}}}},
        {"out", {{"bytes", want.size() * 4}}}}},
      {"launches",
       {{{"kernel", "k"},
         {"grid", 1},
         {"block", kThreads},
         {"args", {{{"buffer", "in"}}, {{"buffer", "out"}}}}}}},
      {"outputs", {{{"buffer", "out"}, {"dtype", "u32"}, {"expect", "want.bin"}}}}};
  const auto result = run(folder.write("k.json", manifest.dump()), true);
  EXPECT_EQ(result.exit_code, 0) << result.out << result.error;
  constexpr std::uint32_t kSigned = 4450, kUnsigned = 4451, kMixed = 4452;
  EXPECT_EQ(count_of(kUnsigned), GetParam().dots > 0 ? 1u : 0u);
  EXPECT_EQ(count_of(kSigned), GetParam().dots > 1 ? 1u : 0u);
  EXPECT_EQ(count_of(kMixed), GetParam().dots > 2 ? 2u : 0u);
}

TEST_P(Decisions, ExactSamplersReadTexturesAndTiledImagesHoldPlanes) {
  const std::string manifest = kFolders + "texture_kernels/bilateral.json";
  (void)run(manifest, true);
  EXPECT_NE(count_of(kSample), 0u);
  EXPECT_NE(count_of(kImageWrite), 0u);
  EXPECT_EQ(run(manifest, false).exit_code, 0);
  EXPECT_EQ(count_of(kSample), 0u);
  EXPECT_EQ(count_of(kImageWrite), 0u);
}

// Images hold planes whose texels are read or written whole, and words that are reduced if they are
// many. Each thread takes the texel of its column in the first row.
TEST_P(Decisions, TiledImagesHoldPlanesOfWholeTexels) {
  struct Case {
    const char *format, *access;
    std::uint32_t width, height;
    bool image;
  };
  const Case cases[] = {
      {"u32", "sured.b.add.2d.u32.trap [%d0, {%r2, %r3}], %r4;", 128, 128, false},
      {"u32", "sured.b.add.2d.u32.trap [%d0, {%r2, %r3}], %r4;", 128, 129, true},
      {"u32", "sust.b.2d.b32.trap [%d0, {%r2, %r3}], {%r4};", 32, 2, true},
      {"u8", "sust.b.2d.b8.trap [%d0, {%r1, %r3}], {%s0};", 32, 2, true},
      {"u8", "sust.b.2d.b16.trap [%d0, {%r5, %r3}], {%s0};", 64, 2, false},
  };
  for (const Case& each : cases) {
    const test::TemporaryFolder folder;
    (void)folder.write("k.ptx", fmt::format(".version 7.0\n.target sm_75\n.address_size 64\n"
                                            ".visible .entry k(.param .u64 s) {{\n"
                                            "  .reg .b64 %d<1>; .reg .b32 %r<6>; .reg .b16 %s<1>;\n"
                                            "  ld.param.u64 %d0, [s]; mov.u32 %r1, %tid.x;\n"
                                            "  shl.b32 %r2, %r1, 2; shl.b32 %r5, %r1, 1;\n"
                                            "  mov.u32 %r3, 0; mov.u32 %r4, 1; mov.u16 %s0, 257;\n"
                                            "  {}\n  ret;\n}}\n",
                                            each.access));
    const std::size_t texel = each.format[1] == '8' ? 1 : 4;
    std::string want(texel * each.width * each.height, '\0');
    if (texel == 4)
      for (std::size_t i = 0; i < 32; ++i) want[4 * i] = 1;
    else
      std::fill_n(want.begin(), std::min(each.width, 64u), '\1');
    (void)folder.write("want.bin", want);
    const json manifest = {
        {"module", "k.ptx"},
        {"surfaces",
         {{"s",
           {{"geometry", "2d"},
            {"format", each.format},
            {"channels", 1},
            {"width", each.width},
            {"height", each.height},
            {"init", {{"zero", true}}}}}}},
        {"launches",
         {{{"kernel", "k"}, {"grid", 1}, {"block", 32}, {"args", {{{"surface", "s"}}}}}}},
        {"outputs", {{{"surface", "s"}, {"expect", "want.bin"}}}}};
    const auto result = run(folder.write("k.json", manifest.dump()), true);
    EXPECT_EQ(result.exit_code, 0) << each.access << result.out << result.error;
    constexpr std::uint32_t kTexelPointer = 60;
    EXPECT_EQ(count_of(kImageWrite) + count_of(kTexelPointer) != 0, each.image)
        << each.access << each.height;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, Decisions, testing::ValuesIn(kFamilies),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace ptx2spv::runtime
