// Every form of a texture instruction, on every profile, with and without what textures may have:
// the module is valid SPIR-V.
#include <gtest/gtest.h>

#include "dev/recorder/texture_kernels.hpp"
#include "ptx2spv/translator.hpp"
#include "tests/support/spirv_tools.hpp"

namespace ptx2spv {
namespace {

std::vector<recorder::TextureInstruction> instructions() {
  using recorder::texture_instruction;
  std::vector<recorder::TextureInstruction> all;
  for (const std::string geometry : {"1d", "2d", "3d", "a1d", "a2d", "cube", "acube"}) {
    const bool cube = geometry.ends_with("cube");
    for (const std::string types : {"f32.f32", "u32.f32", "s32.f32", "f16.f32", "f16x2.f32",
                                    "f32.s32", "u32.s32", "s32.s32"}) {
      const bool integers = types.ends_with(".s32");
      if (cube && integers) continue;
      for (const std::string op : {"tex", "tex.base", "tex.level", "tex.grad"}) {
        all.push_back(texture_instruction(op, geometry, types));
        if (!cube && op != "tex.base")
          all.push_back(texture_instruction(op, geometry, types, true));
      }
    }
  }
  for (const std::string geometry : {"2dms", "a2dms"})
    for (const std::string op : {"tex", "tex.base"})
      all.push_back(texture_instruction(op, geometry, "u32.s32"));
  for (const std::string geometry : {"2d", "a2d", "cube", "acube"}) {
    for (const std::string op : {"tex", "tex.level", "tex.grad", "tld4.r"})
      all.push_back(texture_instruction(op, geometry, "f32.f32", false, true));
    for (const std::string part : {"r", "g", "b", "a"})
      all.push_back(texture_instruction("tld4." + part, geometry, "f32.f32"));
    all.push_back(texture_instruction("tld4.r", geometry, "u32.f32"));
  }
  for (const std::string query :
       {"width", "height", "depth", "channel_data_type", "channel_order", "normalized_coords",
        "array_size", "num_mipmap_levels", "num_samples", "filter_mode", "addr_mode_0"})
    all.push_back(recorder::texture_query(query, false));
  all.push_back(recorder::texture_query("height", true));
  return all;
}

class TextureForms : public testing::TestWithParam<const char*> {};

TEST_P(TextureForms, TranslateToValidModules) {
  TranslateOptions options;
  options.profile = *find_profile(GetParam());
  unsigned translated = 0;
  for (const auto& instruction : instructions()) {
    const std::string text = recorder::texture_module(instruction);
    std::vector<Message> messages;
    auto module = PtxModule::parse({{text, instruction.text + ".ptx"}}, messages);
    ASSERT_TRUE(module) << (messages.empty() ? instruction.text : messages[0].rendered);
    for (const std::uint32_t features : {0u, abi::kAllTextureFeatures}) {
      options.texture_features = features;
      auto result = module->translate(options, messages);
      ASSERT_TRUE(result) << (messages.empty() ? instruction.text : messages[0].rendered);
      EXPECT_EQ(test::validate_spirv(result->spirv), "") << instruction.text;
      ++translated;
    }
  }
  EXPECT_GT(translated, 300u);
}

INSTANTIATE_TEST_SUITE_P(Profiles, TextureForms,
                         testing::Values("portable", "swiftshader", "lavapipe", "nvidia"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace ptx2spv
