// Straight lines that are cut do what they did, and none is longer than was asked for.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/passes/random_program.hpp"
#include "translator/passes/passes.hpp"

namespace {

using namespace ptx2spv;
using namespace ptx2spv::ir;
using namespace ptx2spv::test;

std::uint32_t no_routines(std::string_view) { return 0; }

/// The most instructions that follow each other in the order without a loop's header.
std::uint32_t longest_line(const Function& f, const Module& m, const passes::RoutineCost& cost) {
  std::uint32_t longest = 0, length = 0;
  for (const BlockId b : f.order) {
    if (f.blocks[b].merge == Merge::loop) length = 0;
    for (const Value v : f.blocks[b].insts) {
      const Inst& inst = f.insts[v];
      if (inst.op == Op::library) length += cost(m.library_names[inst.imm]);
      length += inst.op != Op::constant && inst.op != Op::phi;
      longest = std::max(longest, length);
    }
  }
  return longest;
}

TEST(CutLines, RandomProgramsKeepTheirTrace) {
  std::mt19937 rng(23);
  unsigned cut = 0;
  for (int i = 0; i < 120; ++i) {
    ProgramShape shape;
    shape.blocks = 1 + static_cast<unsigned>(rng() % 14);
    shape.ops = 1 + static_cast<unsigned>(rng() % 12);
    shape.backward = static_cast<unsigned>(rng() % 40);
    Module m;
    const Function source = random_program(rng, shape);
    Function f = source;
    passes::structurize(f, m);
    passes::ssa(f, m);
    passes::simplify(f, m);
    const std::size_t blocks = f.blocks.size();
    if (passes::split_long_blocks(f, m, no_routines, 5)) ++cut;
    for (const bool simplified : {false, true}) {
      if (simplified) {
        // The cuts are loops that an optimiser does not see through.
        std::size_t before = 0, after = 0;
        for (const BlockId b : f.order) before += f.blocks[b].merge == Merge::loop;
        passes::simplify(f, m);
        for (const BlockId b : f.order) after += f.blocks[b].merge == Merge::loop;
        EXPECT_LE(after, before);
        if (f.blocks.size() > blocks) {
          EXPECT_GT(after, 0u);
        }
      }
      ASSERT_EQ(validate(f, m, true, true), "") << print(f, m);
      for (const std::uint32_t seed : {1u, 77u}) {
        const std::string difference =
            compare_traces(run_program(source, m, seed, 3000), run_program(f, m, seed, 60000));
        ASSERT_EQ(difference, "") << "program " << i << "\n" << print(f, m);
      }
    }
  }
  EXPECT_GT(cut, 20u);
}

struct Line {
  Module module;
  Function function;
  Builder b{function};
  Value last = 0;
  Line() {
    b.at(b.new_block());
    last = b.load(Type::i32, b.i32(0), {.space = Space::param, .bytes = 4});
  }
  void sums(unsigned count) {
    for (unsigned i = 0; i < count; ++i) last = b.op2(Op::add, last, last);
  }
  bool cut(const passes::RoutineCost& cost) {
    b.store(b.i32(0), last, {.space = Space::trap, .bytes = 4});
    b.exit();
    function.compute_preds();
    passes::structurize(function, module);
    return passes::split_long_blocks(function, module, cost);
  }
};

TEST(CutLines, AShortLineStays) {
  Line line;
  line.sums(500);
  EXPECT_FALSE(line.cut(no_routines));
}

TEST(CutLines, ALongLineIsCut) {
  Line line;
  line.sums(3000);
  EXPECT_TRUE(line.cut(no_routines));
  EXPECT_EQ(validate(line.function, line.module, true, true), "");
  // What a cut takes counts too.
  EXPECT_LE(longest_line(line.function, line.module, no_routines), 610u);
}

TEST(CutLines, RoutinesCountWithTheirInstructions) {
  const auto cost = [](std::string_view name) { return name == "long" ? 400u : 1u; };
  Line line;
  for (unsigned i = 0; i < 4; ++i)
    line.last =
        line.b.inst(Op::library, Type::i32, {line.last}, line.module.library(i ? "long" : "short"));
  EXPECT_TRUE(line.cut(cost));
  EXPECT_EQ(validate(line.function, line.module, true, true), "");
  EXPECT_LE(longest_line(line.function, line.module, cost), 600u);
}

}  // namespace
