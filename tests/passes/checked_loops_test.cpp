// Loops that run with the device's own fma first: which ones do, and that the copies together do
// what the loop did.
#include <fmt/format.h>

#include "tests/passes/flushing.hpp"
#include "tests/passes/parsed.hpp"
#include "translator/passes/passes.hpp"

namespace ptx2spv {
namespace {

using namespace ir;
using namespace test;

/// Four iterations of z = z * z + c, with `extra` in the loop, then z to memory.
std::string squares(const std::string& extra = {}) {
  return R"(
b0:
  %1 = constant i32 0x0
  %2 = constant i32 0x4
  %3 = constant i64 0x100000000
  %4 = load i32 mem=param,4,readonly %1
  %5 = load i32 mem=param,4,readonly %2
  %6 = constant i32 0x1
  br b1
b1:
  %10 = phi i32 %4 %13
  %11 = phi i32 %1 %14
  loop b5 b4
  br b2
b2:
  %13 = ffma i32 fp=f32,rn %10 %10 %5
  %14 = add i32 %11 %6
  %15 = ult i1 %14 %2
)" + extra +
         R"(
  merge b3
  cond_br %15 b4 b3
b3:
  br b5
b4:
  br b1
b5:
  store mem=global,4 %3 %13
  exit
)";
}

/// What a run with these two parameters stores.
std::uint32_t result(const Parsed& p, std::uint32_t z, std::uint32_t c) {
  Memory memory;
  put(memory, Space::param, 0, z);
  put(memory, Space::param, 4, c);
  memory.of(Space::global).resize(4);
  RunOptions options;
  options.operation = float_operation;
  EXPECT_EQ(p.run(memory, options).error, "");
  return word(memory, Space::global, 0);
}

bool checked(const Parsed& p) {
  return p.any([&](Value v, BlockId) { return p.f.insts[v].fp.checked; });
}

TEST(CheckedLoops, both_copies_together_do_what_the_loop_did) {
  const std::uint32_t inputs[][2] = {{0x3f000000, 0x3e800000}, {0, 0x80000000u},
                                     {0x00000001, 0x3f800000}, {0x7fc12345, 0x3f800000},
                                     {0x3f800000, 0x00400000}, {0x1f800000, 0},
                                     {0x7f000000, 0xff000000}, {0x20000000, 0x80000001u}};
  for (const auto& input : inputs) {
    std::uint32_t results[2];
    for (const bool transformed : {false, true}) {
      Structured p(squares());
      if (transformed) {
        const Profile profile = losing();
        EXPECT_TRUE(passes::checked_loops(p.f, p.m, {.profile = profile}));
        p.expect_valid();
        EXPECT_TRUE(checked(p)) << print(p.f, p.m);
        EXPECT_EQ(p.count(Op::ffma), 2u) << print(p.f, p.m);
      }
      results[transformed] = result(p, input[0], input[1]);
    }
    EXPECT_EQ(results[0], results[1]) << std::hex << input[0] << " " << input[1];
  }
}

TEST(CheckedLoops, operations_of_the_copy_with_checks_are_the_devices_own) {
  Structured p(squares());
  const Profile profile = losing();
  EXPECT_TRUE(passes::checked_loops(p.f, p.m, {.profile = profile}));
  passes::legalise_float(p.f, p.m, {.profile = profile});
  p.expect_valid();
  EXPECT_EQ(p.count(Op::native_ffma), 1u) << print(p.f, p.m);
  EXPECT_EQ(p.count(Op::library), 1u) << print(p.f, p.m);
}

// A wrong number must not become an address, nor lead to a read that the kernel does not make.
TEST(CheckedLoops, reads_that_follow_from_numbers_keep_a_loop_exact) {
  const Profile profile = losing();
  const auto stands_twice = [&](const std::string& extra) {
    Structured p(squares(extra));
    const bool twice = passes::checked_loops(p.f, p.m, {.profile = profile});
    p.expect_valid();
    return twice;
  };
  EXPECT_TRUE(stands_twice("  %16 = load i32 mem=slot,4 %14\n"));
  EXPECT_FALSE(stands_twice("  %16 = load i32 mem=slot,4 %13\n"));
  EXPECT_FALSE(stands_twice("  %16 = and_ i32 %13 %2\n  %17 = load i32 mem=slot,4 %16\n"));
  const std::string branch = "  %16 = flt i1 fp=f32 %13 %5\n  merge b7\n  cond_br %16 b6 b7\nb6:\n";
  EXPECT_FALSE(stands_twice(branch + "  %17 = load i32 mem=slot,4 %14\n  br b7\nb7:\n"));
  EXPECT_TRUE(stands_twice(branch + "  br b7\nb7:\n"));
}

/// So many loops, each of which goes on with what the one before left.
std::string in_sequence(unsigned loops) {
  const std::string once = squares();
  std::string text = once.substr(0, once.find("b1:")), z = "%4";
  for (unsigned i = 0; i < loops; ++i) {
    const auto block = [&](unsigned b) { return "b" + std::to_string(5 * i + b); };
    const auto value = [&](unsigned v) { return "%" + std::to_string(10 * (i + 1) + v); };
    text += fmt::format("{}:\n  {} = phi i32 {} {}\n  {} = phi i32 %1 {}\n  loop {} {}\n  br {}\n",
                        block(1), value(0), z, value(3), value(1), value(4), block(5), block(4),
                        block(2));
    text += fmt::format(
        "{}:\n  {} = ffma i32 fp=f32,rn {} {} %5\n  {} = add i32 {} %6\n  {} = ult i1 {} %2\n"
        "  merge {}\n  cond_br {} {} {}\n",
        block(2), value(3), value(0), value(0), value(4), value(1), value(5), value(4), block(3),
        value(5), block(4), block(3));
    text += fmt::format("{}:\n  br {}\n{}:\n  br {}\n{}:\n", block(3), block(5), block(4), block(1),
                        block(5));
    z = value(3);
    if (i + 1 < loops) text += "  br b" + std::to_string(5 * i + 6) + "\n";
  }
  return text + "  store mem=global,4 %3 " + z + "\n  exit\n";
}

TEST(CheckedLoops, one_behind_the_other_each_takes_what_the_one_before_left) {
  constexpr unsigned kLoops = 200;
  for (const std::uint32_t start : {0x3f000000u, 0x00000001u, 0x20000000u}) {
    std::uint32_t results[2];
    for (const bool transformed : {false, true}) {
      Structured p(in_sequence(kLoops));
      const Profile profile = losing();
      if (transformed) {
        EXPECT_TRUE(passes::checked_loops(p.f, p.m, {.profile = profile}));
        p.expect_valid();
        EXPECT_EQ(p.count(Op::ffma), 2 * kLoops);
      }
      results[transformed] = result(p, start, 0x3e800000);
    }
    EXPECT_EQ(results[0], results[1]) << std::hex << start;
  }
}

TEST(CheckedLoops, loops_that_others_can_see_or_that_have_no_need_stay) {
  const std::string text = squares(), stores = squares("  store mem=global,4 %3 %14\n");
  const auto stays = [](const std::string& kernel, const Profile& profile, FpPolicy fp) {
    Structured p(kernel);
    const std::string before = print(p.f, p.m);
    EXPECT_FALSE(passes::checked_loops(p.f, p.m, {.profile = profile, .fp = fp}));
    EXPECT_EQ(print(p.f, p.m), before);
  };
  stays(stores, losing(), FpPolicy::exact);
  stays(text, losing(), FpPolicy::fast);
  stays(text, *find_profile("lavapipe"), FpPolicy::exact);
  stays(text, *find_profile("swiftshader"), FpPolicy::exact);
}

}  // namespace
}  // namespace ptx2spv
