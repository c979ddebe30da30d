// OpFmaKHR where the device has it: the same module as without, but for that instruction.
#include <gtest/gtest.h>
#include <spirv/unified1/GLSL.std.450.h>

#include <algorithm>
#include <spirv/unified1/spirv.hpp11>
#include <string>
#include <vector>

#include "ptx2spv/translator.hpp"
#include "tests/support/spirv_tools.hpp"

namespace ptx2spv {
namespace {

using Words = std::vector<std::uint32_t>;

// Fused multiply-adds of every width, and a division and a root, which the shader library makes of
// them.
constexpr const char* kText = R"(.version 7.8
.target sm_86
.address_size 64
.visible .entry k(.param .u64 p)
{
  .reg .b64 %a, %d<5>; .reg .b32 %r<5>; .reg .f32 %f<9>; .reg .f64 %g<5>;
  ld.param.u64 %a, [p];
  ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%a];
  mov.b32 %f1, %r1; mov.b32 %f2, %r2; mov.b32 %f3, %r3;
  fma.rn.f32 %f4, %f1, %f2, %f3;
  div.approx.f32 %f5, %f4, %f3;
  sqrt.rn.f32 %f6, %f5;
  st.global.f32 [%a], %f4;
  st.global.f32 [%a+4], %f6;
  fma.rn.f16x2 %r4, %r1, %r2, %r3;
  st.global.b32 [%a+8], %r4;
  ld.global.v2.f64 {%g1, %g2}, [%a+16];
  fma.rn.f64 %g3, %g1, %g2, %g1;
  st.global.f64 [%a+16], %g3;
  ret;
}
)";

Words translated(unsigned widths, FpPolicy fp) {
  std::vector<Message> messages;
  const auto module = PtxModule::parse({{kText, "a.ptx"}}, messages);
  EXPECT_TRUE(module);
  TranslateOptions options;
  options.fp = fp;
  options.profile = *find_profile("nvidia");
  options.profile.features.shader_fma16 = widths & 16;
  options.profile.features.shader_fma32 = widths & 32;
  options.profile.features.shader_fma64 = widths & 64;
  options.profile.exactness.fma_denormals32 = true;
  const auto result = module ? module->translate(options, messages) : std::nullopt;
  EXPECT_TRUE(result) << (messages.empty() ? "" : messages[0].rendered);
  return result ? result->spirv : Words();
}

struct Instruction {
  spv::Op op;
  Words words;  ///< behind the first
};

/// The module's instructions, and its counts of both forms of an fma.
struct Parts {
  std::vector<Instruction> all;
  unsigned glsl = 0, khr = 0;
  bool capability = false, extension = false;
};

constexpr auto kFmaKHR = static_cast<spv::Op>(4427);
constexpr std::uint32_t kCapability = 6030;

Parts parts_of(const Words& words) {
  Parts parts;
  for (std::size_t at = 5; at < words.size(); at += words[at] >> 16) {
    const auto op = static_cast<spv::Op>(words[at] & 0xffff);
    Instruction each{op, Words(words.begin() + at + 1, words.begin() + at + (words[at] >> 16))};
    parts.capability |= op == spv::Op::OpCapability && each.words[0] == kCapability;
    parts.extension |=
        op == spv::Op::OpExtension &&
        std::string(reinterpret_cast<const char*>(each.words.data())) == "SPV_KHR_fma";
    parts.glsl += op == spv::Op::OpExtInst && each.words[3] == GLSLstd450Fma;
    parts.khr += op == kFmaKHR;
    parts.all.push_back(std::move(each));
  }
  return parts;
}

TEST(Fma, IsOpFmaKhrWhereTheDeviceHasIt) {
  for (const FpPolicy fp : {FpPolicy::exact, FpPolicy::fast}) {
    const Words plain = translated(0, fp), own = translated(16 | 32 | 64, fp);
    const Parts before = parts_of(plain);
    Parts after = parts_of(own);
    EXPECT_EQ(before.khr, 0u);
    EXPECT_FALSE(before.capability || before.extension);
    EXPECT_GE(before.glsl, fp == FpPolicy::exact ? 5u : 3u);
    EXPECT_EQ(after.glsl + after.khr, before.glsl);
    // A kernel's own are the driver's to choose under `fast`.
    EXPECT_EQ(after.glsl, fp == FpPolicy::exact ? 0u : after.glsl);
    EXPECT_EQ(after.capability, after.khr != 0);
    EXPECT_EQ(after.extension, after.khr != 0);
    EXPECT_EQ(test::validate_spirv(own), "");

    // Nothing else has changed; ids are numbered in another order.
    std::erase_if(after.all, [](const Instruction& each) {
      return (each.op == spv::Op::OpCapability && each.words[0] == kCapability) ||
             (each.op == spv::Op::OpExtension &&
              std::string(reinterpret_cast<const char*>(each.words.data())) == "SPV_KHR_fma");
    });
    ASSERT_EQ(after.all.size(), before.all.size());
    for (std::size_t i = 0; i < after.all.size(); ++i) {
      const Instruction &each = after.all[i], &was = before.all[i];
      if (each.op != kFmaKHR) {
        EXPECT_EQ(each.op, was.op) << i;
        EXPECT_EQ(each.words.size(), was.words.size()) << i;
        continue;
      }
      ASSERT_EQ(was.op, spv::Op::OpExtInst) << i;
      EXPECT_EQ(was.words[3], GLSLstd450Fma) << i;
      EXPECT_EQ(each.words.size(), 5u) << i;
    }
  }
}

// Each width is a feature of its own.
TEST(Fma, IsOpFmaKhrInTheWidthsThatTheDeviceHas) {
  unsigned sum = 0;
  const unsigned all = parts_of(translated(16 | 32 | 64, FpPolicy::exact)).khr;
  for (const unsigned width : {16u, 32u, 64u}) {
    const Parts parts = parts_of(translated(width, FpPolicy::exact));
    EXPECT_GT(parts.khr, 0u) << width;
    sum += parts.khr;
    // The results' type has that width.
    std::vector<std::uint32_t> floats;
    for (const Instruction& each : parts.all) {
      if (each.op == spv::Op::OpTypeFloat && each.words[1] == width)
        floats.push_back(each.words[0]);
      if (each.op == spv::Op::OpTypeVector && std::ranges::count(floats, each.words[1]))
        floats.push_back(each.words[0]);
      if (each.op == kFmaKHR) {
        EXPECT_TRUE(std::ranges::count(floats, each.words[0])) << width;
      }
    }
  }
  EXPECT_EQ(sum, all);
}

// A driver that has 16 KiB for the arrays of an invocation failed to compile such a kernel.
TEST(Fma, RepeatedExactlyTakesNoLocalMemoryWhereThatIsInABuffer) {
  std::string text =
      ".version 7.8\n.target sm_86\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
      "  .reg .b64 %a; .reg .f32 %f<4>;\n  ld.param.u64 %a, [p];\n  ld.global.f32 %f1, [%a];\n"
      "  ld.global.f32 %f2, [%a+4];\n  ld.global.f32 %f3, [%a+8];\n";
  for (int i = 0; i < 3000; ++i) {
    text += "  ld.global.f32 %f2, [%a+" + std::to_string(4 * i) + "];\n";
    text += "  fma.rn.f32 %f1, %f1, %f2, %f3;\n";
  }
  text += "  st.global.f32 [%a], %f1;\n  ret;\n}\n";
  std::vector<Message> messages;
  const auto module = PtxModule::parse({{text, "a.ptx"}}, messages);
  ASSERT_TRUE(module);
  TranslateOptions options;
  options.profile = *find_profile("nvidia");
  const auto loops = module->translate(options, messages);
  ASSERT_TRUE(loops);
  EXPECT_GT(loops->interface.entries[0].local_bytes, 15u << 10);
  options.local_in_memory = true;
  const auto calls = module->translate(options, messages);
  ASSERT_TRUE(calls);
  EXPECT_EQ(calls->interface.entries[0].local_bytes, 0u);
  // The calls stay: copies of the routine would make the driver's code too long.
  const std::string spirv = test::disassemble_spirv(calls->spirv);
  EXPECT_NE(spirv.find("DontInline"), spirv.npos);
}

}  // namespace
}  // namespace ptx2spv
