// Products of matrices as cooperative matrices. SPIRV-Tools of Debian 12 have no names for them, so
// that modules are looked at word by word.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "ptx2spv/translator.hpp"
#include "tests/support/spirv_tools.hpp"

namespace ptx2spv {
namespace {

constexpr unsigned kMulAdd = 4459, kControlBarrier = 224, kLoad = 61, kStore = 62;
constexpr std::uint32_t kCoherent = 23, kVolatile = 1, kMakeAvailable = 8, kMakeVisible = 16,
                        kNonPrivate = 32;

struct Instruction {
  unsigned op;
  std::vector<std::uint32_t> operands;
};

std::vector<Instruction> instructions(std::span<const std::uint32_t> words) {
  std::vector<Instruction> all;
  for (std::size_t at = 5; at < words.size(); at += words[at] >> 16)
    all.push_back({words[at] & 0xffff, {&words[at] + 1, &words[at] + (words[at] >> 16)}});
  return all;
}

std::size_t count(const std::vector<Instruction>& all, unsigned op) {
  return static_cast<std::size_t>(std::ranges::count(all, op, &Instruction::op));
}

/// A kernel with a volatile load, a store and a barrier around `body`, which has %r0 to %r9 and %f0
/// to %f7.
std::vector<Instruction> translated(const std::string& body, const TranslateOptions& options) {
  const std::string text = R"(.version 8.3
.target sm_80
.address_size 64
.visible .entry k(.param .u64 to) {
.reg .b32 %r<40>;
.reg .f32 %f<8>;
.reg .b64 %d<4>;
.shared .align 4 .b8 tile[128];
ld.param.u64 %d0, [to];
ld.volatile.global.u32 %r0, [%d0];
st.shared.u32 [tile], %r0;
bar.sync 0;
ld.shared.u32 %r1, [tile+4];
mov.b32 %r2, %r1; mov.b32 %r3, %r1; mov.b32 %r4, %r0; mov.b32 %r5, %r0;
mov.b32 %r6, %r0; mov.b32 %r7, %r0; mov.b32 %r8, %r0; mov.b32 %r9, %r0;
mov.b32 %f0, %r0; mov.b32 %f1, %r0; mov.b32 %f2, %r0; mov.b32 %f3, %r0;
)" + body + R"(
st.volatile.global.f32 [%d0], %f4;
st.global.u32 [%d0+4], %r10;
ret;
})";
  std::vector<Message> messages;
  const auto module = PtxModule::parse({{text, "k.ptx"}}, messages);
  EXPECT_TRUE(module) << (messages.empty() ? "" : messages[0].rendered);
  if (!module) return {};
  const auto made = module->translate(options, messages);
  EXPECT_TRUE(made) << (messages.empty() ? "" : messages[0].rendered);
  if (!made) return {};
  EXPECT_EQ(test::validate_spirv(made->spirv), "");
  return instructions(made->spirv);
}

TranslateOptions native() {
  TranslateOptions options;
  options.profile = *find_profile("nvidia");
  options.block[0] = 64, options.block[1] = options.block[2] = 1;
  return options;
}

constexpr const char* kProduct =
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f4, %f5, %f6, %f7}, {%r0, %r1, %r2, %r3}, "
    "{%r4, %r5}, {%f0, %f1, %f2, %f3};";

TEST(Matrices, AreCooperativeOnDevicesThatHaveThem) {
  EXPECT_EQ(count(translated(kProduct, native()), kMulAdd), 1u);
  TranslateOptions options = native();
  options.profile.features.matrices_f16 = false;
  EXPECT_EQ(count(translated(kProduct, options), kMulAdd), 0u);
  options = native();
  options.profile.exactness.exact_matrices_f16 = false;
  EXPECT_EQ(count(translated(kProduct, options), kMulAdd), 0u);
  options.profile.exactness.exact_matrices_s8 = false;
  options.fp = FpPolicy::fast;
  EXPECT_EQ(count(translated(kProduct, options), kMulAdd), 0u) << "another lane has the elements";
  options = native();
  options.profile.exactness.native_warps = false;
  EXPECT_EQ(count(translated(kProduct, options), kMulAdd), 0u);
  options = native();
  options.block[0] = 40;
  EXPECT_EQ(count(translated(kProduct, options), kMulAdd), 0u) << "a warp is not whole";
  options = native();
  options.threads = ThreadModel::regions;
  EXPECT_EQ(count(translated(kProduct, options), kMulAdd), 0u);
}

TEST(Matrices, AreCooperativeInTheseShapes) {
  const auto mma = [](const char* how, unsigned a, unsigned b, unsigned c) {
    const auto list = [](char bank, unsigned first, unsigned many) {
      std::string text;
      for (unsigned i = 0; i < many; ++i)
        text += fmt::format("{}%{}{}", i ? ", " : "", bank, first + i);
      return text;
    };
    const bool floats = std::string_view(how).find(".col.f32") != std::string_view::npos;
    return fmt::format("mma.sync.aligned.{} {{{}}}, {{{}}}, {{{}}}, {{{}}};", how,
                       floats ? list('f', 4, c) : list('r', 10, c), list('r', 0, a),
                       list('r', 4, b), floats ? list('f', 0, c) : list('r', 6, c));
  };
  for (const auto& [text, products] : {
           std::pair{mma("m16n8k8.row.col.f32.f16.f16.f32", 2, 1, 4), 1u},
           {mma("m16n8k16.row.col.f16.f16.f16.f16", 4, 2, 2), 1u},
           {mma("m16n8k8.row.col.f16.f16.f16.f16", 2, 1, 2), 1u},
           {mma("m16n8k32.row.col.s32.s8.s8.s32", 4, 2, 4), 1u},
           {mma("m16n8k16.row.col.s32.u8.u8.s32", 2, 1, 4), 1u},
           {mma("m8n8k16.row.col.s32.s8.s8.s32", 1, 1, 2), 1u},
           {mma("m16n8k32.row.col.satfinite.s32.s8.s8.s32", 4, 2, 4), 0u},
           {mma("m16n8k32.row.col.s32.s8.u8.s32", 4, 2, 4), 0u},
           {mma("m16n8k64.row.col.s32.s4.s4.s32", 4, 2, 4), 0u},
           {mma("m16n8k16.row.col.f32.bf16.bf16.f32", 4, 2, 4), 1u},
           {mma("m16n8k8.row.col.f32.bf16.bf16.f32", 2, 1, 4), 1u},
           {mma("m16n8k8.row.col.f32.tf32.tf32.f32", 4, 2, 4), 0u},
       })
    EXPECT_EQ(count(translated(text, native()), kMulAdd), products) << text;
}

TEST(Matrices, StandInVulkansMemoryModel) {
  const auto all = translated(kProduct, native());
  EXPECT_TRUE(std::ranges::any_of(all, [](const Instruction& each) {
    return each.op == 14 && each.operands[1] == 3;  // OpMemoryModel, Vulkan
  }));
  std::size_t visible = 0, available = 0;
  for (const Instruction& each : all) {
    // Volatile accesses are coherent by themselves, and no decoration is.
    EXPECT_FALSE(each.op == 71 && each.operands[1] == kCoherent);  // OpDecorate
    EXPECT_FALSE(each.op == 72 && each.operands[2] == kCoherent);  // OpMemberDecorate
    const std::size_t at = each.op == kLoad ? 3 : 2;
    if ((each.op != kLoad && each.op != kStore) || each.operands.size() <= at) continue;
    const std::uint32_t access = each.operands[at];
    EXPECT_EQ((access & kVolatile) != 0, (access & (kMakeVisible | kMakeAvailable)) != 0);
    visible += (access & (kNonPrivate | kMakeVisible)) == (kNonPrivate | kMakeVisible);
    available += (access & (kNonPrivate | kMakeAvailable)) == (kNonPrivate | kMakeAvailable);
  }
  EXPECT_EQ(visible, 1u);
  EXPECT_EQ(available, 1u);
  EXPECT_GT(count(all, kControlBarrier), 0u);
}

}  // namespace
}  // namespace ptx2spv
