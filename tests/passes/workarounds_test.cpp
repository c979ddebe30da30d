// Each workaround alone: the pattern that a driver gets wrong is gone, and the program does what it
// did.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/passes/parsed.hpp"
#include "tests/passes/random_program.hpp"
#include "translator/passes/legalise/legalise_atomics.hpp"
#include "translator/passes/passes.hpp"

namespace {

using namespace ptx2spv;
using namespace ptx2spv::ir;
using namespace ptx2spv::test;

/// Random programs that `pass` changes keep their trace. How many it changed.
template <typename Pass>
unsigned changed_and_the_same(unsigned seed, Pass&& pass) {
  std::mt19937 rng(seed);
  unsigned changed = 0;
  for (int i = 0; i < 500; ++i) {
    ProgramShape shape;
    shape.blocks = 4 + static_cast<unsigned>(rng() % 9);
    shape.ops = 1 + static_cast<unsigned>(rng() % 8);
    shape.backward = 20 + static_cast<unsigned>(rng() % 40);
    Module m;
    const Function source = random_program(rng, shape);
    Function f = source;
    passes::structurize(f, m);
    passes::ssa(f, m);
    passes::simplify(f, m);
    if (!pass(f, m)) continue;
    ++changed;
    EXPECT_EQ(validate(f, m, true, true), "") << print(f, m);
    const std::string difference =
        compare_traces(run_program(source, m, 5, 3000), run_program(f, m, 5, 60000));
    EXPECT_EQ(difference, "") << "program " << i << "\n" << print(f, m);
    if (::testing::Test::HasFailure()) break;
  }
  return changed;
}

// A loop that is left in its middle and at its end; what it loads and what it computes is used
// behind it.
constexpr const char* kLeftEarly = R"(
b0:
  %1 = constant i32 0x0
  %2 = constant i32 0x1
  %3 = constant i32 0x8
  %4 = constant i64 0x100000000
  br b1
b1:
  %10 = phi i32 %1 %11
  loop b5 b4
  br b2
b2:
  %11 = add i32 %10 %2
  %12 = load i32 mem=param,4,readonly %1
  %13 = mul i32 %10 %3
  %14 = ult i1 %11 %3
  merge b3
  cond_br %14 b3 b5
b3:
  br b4
b4:
  br b1
b5:
  store mem=global,4 %4 %12
  store mem=global,4 %4 %13
  exit
)";

/// Whether a value of `op` from a loop's blocks is used behind the loop by anything but a phi.
bool escapes(const Structured& p, Op op) {
  return p.any([&](Value v, BlockId b) {
    if (b != 5 || p.f.insts[v].op == Op::phi) return false;
    const auto args = p.f.args(v);
    return std::ranges::any_of(args, [&](Value a) { return p.f.insts[a].op == op; });
  });
}

TEST(Lcssa, a_value_loaded_in_a_loop_leaves_it_through_a_phi) {
  Structured p(kLeftEarly);
  EXPECT_TRUE(escapes(p, Op::load));
  EXPECT_TRUE(passes::lcssa(p.f, false));
  EXPECT_EQ(validate(p.f, p.m, true, true), "");
  EXPECT_FALSE(escapes(p, Op::load)) << print(p.f, p.m);
}

TEST(Lcssa, so_does_a_computed_one_where_that_is_asked_for) {
  Structured p(kLeftEarly);
  EXPECT_TRUE(escapes(p, Op::mul));
  EXPECT_TRUE(passes::lcssa(p.f, true));
  EXPECT_EQ(validate(p.f, p.m, true, true), "");
  EXPECT_FALSE(escapes(p, Op::mul)) << print(p.f, p.m);
}

TEST(Lcssa, random_programs_keep_their_trace) {
  EXPECT_GT(changed_and_the_same(3, [](Function& f, Module&) { return passes::lcssa(f, true); }),
            25u);
}

TEST(LowerBoolLoopPhis, loops_carry_words) {
  Structured p(R"(
b0:
  %1 = constant i32 0x0
  %2 = constant i32 0x1
  %3 = constant i32 0x8
  %4 = constant i64 0x100000000
  %5 = load i32 mem=param,4,readonly %1
  %6 = eq i1 %5 %1
  br b1
b1:
  %10 = phi i32 %1 %11
  %15 = phi i1 %6 %15
  loop b5 b4
  br b2
b2:
  %11 = add i32 %10 %2
  %16 = select i32 %15 %11 %10
  store mem=global,4 %4 %16
  %12 = ult i1 %11 %3
  merge b3
  cond_br %12 b3 b5
b3:
  br b4
b4:
  br b1
b5:
  exit
)");
  const auto carries_bool = [&] {
    return p.any([&](Value v, BlockId b) {
      return p.f.blocks[b].merge == Merge::loop && p.f.insts[v].op == Op::phi &&
             p.f.insts[v].type == Type::i1;
    });
  };
  EXPECT_TRUE(carries_bool());
  EXPECT_TRUE(passes::lower_bool_loop_phis(p.f));
  EXPECT_EQ(validate(p.f, p.m, true, true), "");
  EXPECT_FALSE(carries_bool()) << print(p.f, p.m);
}

TEST(LowerBoolLoopPhis, random_programs_keep_their_trace) {
  EXPECT_GT(
      changed_and_the_same(7, [](Function& f, Module&) { return passes::lower_bool_loop_phis(f); }),
      3u);
}

TEST(BreakBitfieldInsertSelect, a_merge_of_bits_is_not_what_a_selection_sees) {
  // copysign of the first parameter, and the sign's source where they are equal.
  Structured p(R"(
b0:
  %1 = constant i32 0x0
  %2 = constant i32 0x4
  %3 = constant i32 0x7fffffff
  %4 = constant i32 0x80000000
  %5 = constant i64 0x100000000
  %6 = load i32 mem=param,4,readonly %1
  %7 = load i32 mem=param,4,readonly %2
  %8 = and_ i32 %6 %3
  %9 = and_ i32 %7 %4
  %10 = or_ i32 %8 %9
  %11 = eq i1 %6 %7
  %12 = select i32 %11 %10 %7
  store mem=global,4 %5 %12
  exit
)");
  const auto selects_merge = [&] {
    return p.any([&](Value v, BlockId) {
      return p.f.insts[v].op == Op::select && p.operand(v, 1) == Op::or_;
    });
  };
  EXPECT_TRUE(selects_merge());
  Structured before = p;
  EXPECT_TRUE(passes::break_bitfield_insert_select(p.f));
  EXPECT_EQ(validate(p.f, p.m, true, true), "");
  EXPECT_FALSE(selects_merge()) << print(p.f, p.m);
  for (const std::uint32_t seed : {1u, 2u, 3u})
    EXPECT_EQ(compare_traces(run_program(before.f, before.m, seed, 1000),
                             run_program(p.f, p.m, seed, 1000)),
              "");
}

TEST(OpaqueZeroOperands, a_driver_sees_no_zero) {
  Structured p(R"(
b0:
  %1 = constant i32 0x0
  %2 = constant i64 0x100000000
  %3 = load i32 mem=param,4,readonly %1
  %4 = native_fmul i32 %3 %1
  %5 = native_fdiv i32 %4 %1
  store mem=global,4 %2 %5
  exit
)");
  const auto takes_constant = [&] {
    return p.any([&](Value v, BlockId) {
      const Op op = p.f.insts[v].op;
      return (op == Op::native_fmul || op == Op::native_fdiv) &&
             (p.operand(v, 0) == Op::constant || p.operand(v, 1) == Op::constant);
    });
  };
  EXPECT_TRUE(takes_constant());
  EXPECT_TRUE(passes::opaque_zero_operands(p.f, p.m));
  EXPECT_EQ(validate(p.f, p.m, true, true), "");
  EXPECT_FALSE(takes_constant()) << print(p.f, p.m);
}

TEST(BitcastAtomicOperands, an_atomic_takes_what_an_integer_operation_gives) {
  Structured p(R"(
b0:
  %1 = constant i32 0x0
  %2 = constant i64 0x100000000
  %3 = load i32 mem=param,4,readonly %1
  %4 = native_fadd i32 %3 %3
  %5 = atomic i32 mem=global,4,umax %2 %4
  store mem=global,4 %2 %5
  exit
)");
  const auto takes_float = [&] {
    return p.any([&](Value v, BlockId) {
      return p.f.insts[v].op == Op::atomic && p.operand(v, 1) == Op::native_fadd;
    });
  };
  EXPECT_TRUE(takes_float());
  EXPECT_TRUE(passes::bitcast_atomic_operands(p.f));
  EXPECT_EQ(validate(p.f, p.m, true, true), "");
  EXPECT_FALSE(takes_float()) << print(p.f, p.m);
}

constexpr const char* kFence = R"(
b0:
  %1 = constant i32 0x0
  %2 = constant i64 0x100000000
  %3 = load i32 mem=param,4,readonly %1
  store mem=global,4 %2 %3
  memory_barrier imm=1
  store mem=global,4 %2 %3
  exit
)";

TEST(BarriersAsAtomics, a_fence_becomes_an_atomic_that_changes_nothing) {
  Structured p(kFence);
  Profile profile = *find_profile("nvidia");
  profile.workarounds.barriers_as_atomics = true;
  passes::legalise_atomics(p.f, profile);
  EXPECT_FALSE(p.has(Op::memory_barrier)) << print(p.f, p.m);
  EXPECT_TRUE(p.any([&](Value v, BlockId) {
    const Inst& inst = p.f.insts[v];
    return inst.op == Op::atomic && inst.mem.space == Space::trap &&
           p.operand(v, 1) == Op::constant && p.f.insts[p.f.arg(v, 1)].imm == 0;
  })) << print(p.f, p.m);
}

TEST(BarriersAsAtomics, without_the_workaround_it_stays_a_fence) {
  Structured p(kFence);
  passes::legalise_atomics(p.f, *find_profile("nvidia"));
  EXPECT_TRUE(p.has(Op::memory_barrier));
}

TEST(LocksWithoutBarriers, the_lock_of_an_emulated_atomic_holds_no_barrier) {
  for (const bool without : {false, true}) {
    Structured p(R"(
b0:
  %1 = constant i32 0x0
  %2 = constant i64 0x100000000
  %3 = load i64 mem=param,8,readonly %1
  %4 = atomic i64 mem=global,8,umax %2 %3
  store mem=global,8 %2 %4
  exit
)");
    Profile profile = *find_profile("nvidia");
    profile.features.buffer_atomics64 = false;
    profile.workarounds.locks_without_barriers = without;
    passes::legalise_atomics(p.f, profile);
    p.f.order = reverse_postorder(p.f, false);
    EXPECT_EQ(p.has(Op::memory_barrier), !without) << print(p.f, p.m);
  }
}

}  // namespace
