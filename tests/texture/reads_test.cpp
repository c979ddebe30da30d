// What many texture reads in one kernel come to, in words.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "ptx2spv/translator.hpp"
#include "tests/support/spirv_tools.hpp"

namespace ptx2spv {
namespace {

/// So many reads of a volume, each at coordinates of its own.
std::string kernel(unsigned reads) {
  std::string text =
      ".version 8.0\n.target sm_80\n.address_size 64\n"
      ".visible .entry k(.param .u64 volume, .param .u64 out)\n{\n"
      ".reg .f32 %x, %y, %z, %sum, %v<4>;\n.reg .b32 %t;\n.reg .b64 %from, %to, %at;\n"
      "ld.param.u64 %from, [volume];\nld.param.u64 %to, [out];\nmov.u32 %t, %tid.x;\n"
      "cvt.rn.f32.u32 %x, %t;\nmov.f32 %sum, 0f00000000;\n";
  for (unsigned i = 0; i < reads; ++i)
    text += fmt::format(
        "add.f32 %y, %x, 0f{0:08X};\nadd.f32 %z, %y, %sum;\n"
        "tex.3d.v4.f32.f32 {{%v0, %v1, %v2, %v3}}, [%from, {{%x, %y, %z, %z}}];\n"
        "fma.rn.f32 %sum, %v0, 0f{0:08X}, %sum;\n",
        0x3f800000u + (i << 12));
  return text +
         "mul.wide.u32 %at, %t, 4;\nadd.u64 %to, %to, %at;\nst.global.f32 [%to], %sum;\nret;\n}\n";
}

std::size_t words(unsigned reads, TranslateOptions options) {
  std::vector<Message> messages;
  const auto module = PtxModule::parse({{kernel(reads), "reads.ptx"}}, messages);
  if (!module) return 0;
  const auto result = module->translate(options, messages);
  if (!result) return 0;
  EXPECT_EQ(test::validate_spirv(result->spirv), "");
  return result->spirv.size();
}

class TextureReads : public testing::TestWithParam<const char*> {
 protected:
  TranslateOptions options() const {
    TranslateOptions options;
    options.profile = *find_profile(GetParam());
    return options;
  }
};

TEST_P(TextureReads, HundredsAreNoLargeModule) {
  const std::size_t many = words(217, options());
  EXPECT_GT(many, 0u);
  EXPECT_LT(many, 300000u);
  // Beyond the budget a read is what brings its operands there.
  const std::size_t half = words(109, options());
  EXPECT_LT(many - half, 108 * 400u) << many << " after " << half;
}

TEST_P(TextureReads, AFewAreCopies) {
  TranslateOptions shared = options(), copied = options();
  shared.routine_budget = 0;
  copied.routine_budget = 40000;
  EXPECT_LT(words(2, shared), words(2, copied));
}

/// Words that another bilinear read of a plane adds, with all components used.
std::size_t plane_words(const TextureSpec& spec, TranslateOptions options) {
  const auto text = [](unsigned reads) {
    std::string body =
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry k(.param .u64 plane, .param .u64 out)\n{\n"
        ".reg .f32 %x, %y;\n.reg .b32 %t, %sum, %v<4>;\n.reg .b64 %from, %to;\n"
        "ld.param.u64 %from, [plane];\nld.param.u64 %to, [out];\nmov.u32 %t, %tid.x;\n"
        "cvt.rn.f32.u32 %x, %t;\nmov.b32 %sum, 0;\n";
    for (unsigned i = 0; i < reads; ++i) {
      body += fmt::format(
          "add.f32 %y, %x, 0f{:08X};\n"
          "tex.2d.v4.f32.f32 {{%v0, %v1, %v2, %v3}}, [%from, {{%x, %y}}];\n",
          0x3f800000u + (i << 12));
      for (unsigned c = 0; c < 4; ++c) body += fmt::format("xor.b32 %sum, %sum, %v{};\n", c);
    }
    return body + "st.global.b32 [%to], %sum;\nret;\n}\n";
  };
  options.textures = {spec};
  options.texture_features = 0;
  std::size_t sizes[2] = {0, 0};
  for (unsigned k = 0; k < 2; ++k) {
    std::vector<Message> messages;
    const auto module = PtxModule::parse({{text(k + 1), "plane.ptx"}}, messages);
    if (!module) return 0;
    const auto result = module->translate(options, messages);
    if (!result) return 0;
    EXPECT_EQ(test::validate_spirv(result->spirv), "");
    sizes[k] = result->spirv.size();
  }
  return sizes[1] - sizes[0];
}

TEST_P(TextureReads, ABilinearReadIsShort) {
  // An address in two words takes more than one of 64 bits.
  const bool int64 = options().profile.features.int64;
  const std::size_t unknown = plane_words({}, options());
  EXPECT_GT(unknown, 0u);
  EXPECT_LE(unknown, int64 ? 1500u : 1600u);
  const abi::SurfaceFormat formats[] = {abi::SurfaceFormat::u8, abi::SurfaceFormat::s16,
                                        abi::SurfaceFormat::f16, abi::SurfaceFormat::f32};
  for (const abi::SurfaceFormat format : formats)
    for (const std::uint8_t channels : {1, 2, 4})
      for (const std::uint32_t sampler :
           {std::uint32_t{abi::address_clamp | abi::address_clamp << 2},
            std::uint32_t{abi::sample_normalized}}) {
        const std::size_t known = plane_words({.known = true,
                                               .sampler = sampler | abi::sample_linear,
                                               .format = format,
                                               .channels = channels,
                                               .one_level = true},
                                              options());
        EXPECT_GT(known, 0u);
        EXPECT_LE(known, int64 ? 400u : 480u)
            << static_cast<int>(format) << " " << int{channels} << " " << sampler;
      }
}

INSTANTIATE_TEST_SUITE_P(Profiles, TextureReads,
                         testing::Values("portable", "swiftshader", "lavapipe", "nvidia"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace ptx2spv
