// Straight lines that run with the device's own float operations first: which ones do, and that
// their results are those of exact operations whatever the operands are.
#include <array>
#include <bit>
#include <cmath>

#include "tests/passes/flushing.hpp"
#include "tests/passes/parsed.hpp"
#include "translator/passes/passes.hpp"

namespace ptx2spv {
namespace {

using namespace ir;
using namespace test;

/// Eight words from memory, %10 to %17; `text`; then %50 and %51 to memory.
std::string line(const std::string& text) {
  std::string all = "\nb0:\n  %1 = constant i64 0x100000000\n  %2 = constant i32 0x3e000000\n";
  for (unsigned i = 0; i < 8; ++i)
    all += "  %" + std::to_string(30 + i) + " = constant i32 " + std::to_string(4 * i) + "\n  %" +
           std::to_string(10 + i) + " = load i32 mem=param,4,readonly %" + std::to_string(30 + i) +
           "\n";
  return all + text + "  %49 = constant i64 0x100000004\n  store mem=global,4 %1 %50\n" +
         "  store mem=global,4 %49 %51\n  exit\n";
}

/// A stencil: sums of pairs, weights, and a value in the middle that is needed as well.
const char* const kStencil = R"(  %40 = fadd i32 fp=f32,rn %10 %11
  %41 = fadd i32 fp=f32,rn %40 %12
  %42 = fadd i32 fp=f32,rn %41 %13
  %50 = fmul i32 fp=f32,rn %42 %2
  %43 = fmul i32 fp=f32,rn %14 %2
  %44 = fadd i32 fp=f32,rn %43 %50
  %45 = constant i32 0x80000000
  %46 = xor_ i32 %44 %45
  %47 = fadd i32 fp=f32,rn %46 %15
  %48 = fmul i32 fp=f32,rn %47 %2
  %51 = fadd i32 fp=f32,rn %48 %16
)";

/// Sums of products, among them a sum and a product.
const char* const kDot = R"(  %40 = fmul i32 fp=f32,rn %10 %11
  %41 = ffma i32 fp=f32,rn %12 %13 %40
  %42 = ffma i32 fp=f32,rn %14 %15 %41
  %43 = ffma i32 fp=f32,rn %16 %17 %42
  %44 = ffma i32 fp=f32,rn %11 %13 %43
  %45 = ffma i32 fp=f32,rn %12 %14 %44
  %46 = ffma i32 fp=f32,rn %13 %15 %45
  %50 = ffma i32 fp=f32,rn %10 %12 %46
  %51 = fadd i32 fp=f32,rn %50 %17
)";

bool transform(Parsed& p) {
  const Profile profile = flushing();
  const bool any = passes::checked_segments(p.f, {.profile = profile});
  p.expect_valid();
  return any;
}

std::size_t count_checked(const Parsed& p) {
  return p.count([&](Value v, BlockId) { return p.f.insts[v].fp.checked; });
}

std::array<std::uint32_t, 2> results(const Parsed& p, std::span<const std::uint32_t> words) {
  Memory memory;
  for (std::size_t i = 0; i < words.size(); ++i) put(memory, Space::param, 4 * i, words[i]);
  memory.of(Space::global).resize(8);
  memory.of(Space::local).resize(p.f.local_bytes);
  RunOptions options;
  options.operation = float_operation;
  EXPECT_EQ(p.run(memory, options).error, "");
  return {word(memory, Space::global, 0), word(memory, Space::global, 4)};
}

TEST(CheckedSegments, results_are_exact_whatever_the_operands_are) {
  const std::uint32_t kinds[] = {0,          0x80000000u, 1,          0x807fffffu, 0x00800000,
                                 0x01000001, 0x3f800000,  0xbf800001, 0x20000000,  0x7f7fffff,
                                 0x7f800000, 0xff800000u, 0x7fc12345, 0x42280000,  0x0d123456};
  for (const char* text : {kStencil, kDot}) {
    const Structured before(line(text));
    Structured after(line(text));
    ASSERT_TRUE(transform(after)) << print(after.f, after.m);
    std::uint32_t state = 1, repeated = 0;
    for (unsigned round = 0; round < 2000; ++round) {
      std::uint32_t words[8];
      // Ordinary numbers in every second round, so that both ways are taken.
      for (std::uint32_t& each : words) {
        state = state * 1664525u + 1013904223u;
        each = round % 2 ? 0x3f800000u + (state >> 8) % 0x02000000u
                         : kinds[(state >> 16) % std::size(kinds)];
      }
      EXPECT_EQ(results(before, words), results(after, words)) << text << round;
      repeated += round % 2 == 0;
    }
    EXPECT_GT(repeated, 0u);
  }
}

TEST(CheckedSegments, one_loop_repeats_all_operations_of_a_line) {
  Structured p(line(kStencil));
  ASSERT_TRUE(transform(p));
  // Nine sums and products natively, and one of each in the loop.
  EXPECT_EQ(count_checked(p), 9u) << print(p.f, p.m);
  EXPECT_EQ(p.count(Op::fadd), 6u + 1) << print(p.f, p.m);
  EXPECT_EQ(p.count(Op::fmul), 3u + 1);
  const Profile profile = flushing();
  passes::legalise_float(p.f, p.m, {.profile = profile});
  p.expect_valid();
  EXPECT_EQ(p.count(Op::library), 2u) << print(p.f, p.m);
}

TEST(CheckedSegments, fma_is_the_only_routine_where_there_is_one) {
  Structured p(line(kDot));
  ASSERT_TRUE(transform(p));
  const auto exact = [&](Value v, BlockId) {
    const Inst& inst = p.f.insts[v];
    return inst.fp.kind == NumKind::f32 && !inst.fp.checked;
  };
  EXPECT_EQ(p.count(exact), 1u) << print(p.f, p.m);
}

TEST(CheckedSegments, what_needs_a_result_comes_behind_it_in_its_order) {
  // The second line begins with a load that stands behind the store of the first one's result.
  const std::string both =
      std::string(kStencil) +
      "  %60 = constant i64 0x100000000\n  store mem=global,4 %60 %51\n"
      "  %61 = load i32 mem=global,4 %60\n  %62 = fadd i32 fp=f32,rn %61 %10\n";
  const Structured before(line(both));
  Structured after(line(both));
  ASSERT_TRUE(transform(after));
  const std::uint32_t words[8] = {1, 2, 0x80000003u, 0x3f800000, 5, 6, 7, 8};
  EXPECT_EQ(results(before, words), results(after, words)) << print(after.f, after.m);
}

TEST(CheckedSegments, short_lines_and_other_devices_stay_as_they_are) {
  Structured two(line("  %50 = fadd i32 fp=f32,rn %10 %11\n  %51 = fmul i32 fp=f32,rn %50 %12\n"));
  EXPECT_FALSE(transform(two));
  for (const char* name : {"lavapipe", "nvidia", "portable"}) {
    Structured p(line(kStencil));
    const Profile profile = *find_profile(name);
    EXPECT_FALSE(passes::checked_segments(p.f, {.profile = profile})) << name;
  }
  Structured fast(line(kStencil));
  const Profile profile = flushing();
  EXPECT_FALSE(passes::checked_segments(fast.f, {.profile = profile, .fp = FpPolicy::fast}));
}

}  // namespace
}  // namespace ptx2spv
