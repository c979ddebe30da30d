// Random control flow graphs, reducible or not: the structurized function must do the same side
// effects in the same order, obey SPIR-V's rules, and become SSA.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "tests/support/reference.hpp"
#include "translator/passes/passes.hpp"

namespace {

using namespace ptx2spv;
using namespace ptx2spv::ir;

// A graph whose branches read bits of a changing variable; so many blocks of a hundred store it.
Function random_graph(std::mt19937& rng, unsigned size, unsigned back, bool deep = false,
                      unsigned stores = 75) {
  Function f;
  f.name = "random";
  f.vars.push_back({Type::i32, "state", false});
  Builder b(f);
  for (unsigned i = 0; i < size; ++i) b.new_block();
  const auto pick = [&](unsigned n) { return static_cast<unsigned>(rng() % n); };
  for (BlockId at = 0; at < size; ++at) {
    b.at(at);
    Value state;
    if (at == 0) {
      state = b.load(Type::i32, b.i32(0), MemAttr{.space = Space::param});
    } else {
      state = b.op2(Op::mul, b.get(0), b.i32(1664525u));
      state = b.op2(Op::add, state, b.i32(1013904223u + at));
    }
    b.set(0, state);
    if (pick(100) < stores) b.store(b.i32(at * 4), state, MemAttr{.space = Space::slot});
    const auto target = [&]() -> BlockId {
      if (size == 1) return 0;
      if (pick(100) < back || at + 1 == size) return 1 + pick(size - 1);
      return at + 1 + pick(std::min(size - at - 1, 1 + pick(6)));
    };
    const unsigned kind = pick(20);
    if (deep && at + 1 < size) {
      const Value bits = b.op2(Op::and_, b.op2(Op::lshr, state, b.i32(16)), b.i32(15));
      b.cond_br(b.cmp(Op::eq, bits, b.i32(0)), at + 1 + pick(size - at - 1), at + 1);
      continue;
    }
    if (size == 1 || kind == 0 || (at + 1 == size && kind < 12)) {
      b.exit();
    } else if (kind < 6) {
      b.br(target());
    } else if (kind < 19) {
      const Value bit = b.op2(Op::and_, b.op2(Op::lshr, state, b.i32(16 + pick(8))), b.i32(1));
      b.cond_br(b.cmp(Op::ne, bit, b.i32(0)), target(), target());
    } else {
      const Value index = b.op2(Op::and_, b.op2(Op::lshr, state, b.i32(20)), b.i32(7));
      Block& block = f.blocks[at];
      block.term = Term::switch_;
      block.cond = index;
      const unsigned n = 1 + pick(6);
      for (unsigned i = 0; i < n; ++i) block.succs.push_back(target());
    }
  }
  f.compute_preds();
  return f;
}

Outcome run(const Function& f, const Module& m, std::uint32_t seed, std::uint64_t steps) {
  Memory memory;
  memory.of(Space::slot).resize(4096);
  memory.of(Space::param).resize(4);
  std::memcpy(memory.of(Space::param).data(), &seed, 4);
  RunOptions options;
  options.max_steps = steps;
  return interpret(f, m, memory, options);
}

void same_prefix(const Outcome& a, const Outcome& b, const std::string& what) {
  ASSERT_EQ(a.error, "") << what;
  ASSERT_EQ(b.error, "") << what;
  const std::size_t n = std::min(a.trace.size(), b.trace.size());
  if (!a.out_of_steps && !b.out_of_steps) {
    ASSERT_EQ(a.trace.size(), b.trace.size()) << what;
  }
  for (std::size_t i = 0; i < n; ++i)
    ASSERT_TRUE(a.trace[i] == b.trace[i]) << what << " at event " << i;
}

void check(const Function& before, std::mt19937& rng, const std::string& what) {
  Module m;
  ASSERT_EQ(validate(before, m, false, false), "") << what;
  Function after = before;
  passes::structurize(after, m);
  ASSERT_EQ(validate(after, m, false, true), "") << what << print(before, m) << print(after, m);
  Function values = after;
  passes::ssa(values, m);
  ASSERT_EQ(validate(values, m, true, true), "") << what << print(after, m) << print(values, m);
  for (int i = 0; i < 4; ++i) {
    const auto seed = static_cast<std::uint32_t>(rng());
    const Outcome a = run(before, m, seed, 2000);
    same_prefix(a, run(after, m, seed, 20000), what);
    if (::testing::Test::HasFatalFailure()) {
      ADD_FAILURE() << print(before, m) << print(after, m);
      return;
    }
    same_prefix(a, run(values, m, seed, 20000), what + " in SSA form");
    if (::testing::Test::HasFatalFailure()) {
      ADD_FAILURE() << print(after, m) << print(values, m);
      return;
    }
  }
}

TEST(Structurize, random_graphs_keep_ends_that_stay_apart) {
  std::mt19937 rng(3);
  for (int i = 0; i < 600; ++i) {
    Function f = random_graph(rng, 2 + rng() % 24, rng() % 60);
    for (Block& block : f.blocks)
      if (block.term == Term::exit && rng() % 4 != 0) block.apart = Apart::trap;
    check(f, rng, "graph " + std::to_string(i));
    if (HasFatalFailure() || HasNonfatalFailure()) return;
  }
}

// Threads that end in the arms of branches, in all their places.
TEST(HoistTraps, random_graphs_keep_their_trace) {
  std::mt19937 rng(5);
  unsigned moved = 0;
  for (int i = 0; i < 600; ++i) {
    Function f = random_graph(rng, 2 + rng() % 24, rng() % 30, false, rng() % 30);
    Builder b(f);
    const auto count = static_cast<BlockId>(f.blocks.size());
    for (BlockId at = 0; at < count; ++at) {
      if (f.blocks[at].term != Term::cond_br || rng() % 2) continue;
      const BlockId end = b.new_block();
      b.at(end);
      b.store(b.i32(2048 + at * 4), b.get(0), MemAttr{.space = Space::slot});
      b.exit();
      f.blocks[end].apart = rng() % 2 ? Apart::trap : Apart::fault;
      f.blocks[at].succs[rng() % 2] = end;
    }
    const std::string what = "graph " + std::to_string(i);
    Module m;
    passes::structurize(f, m);
    passes::ssa(f, m);
    passes::simplify(f, m);
    Function after = f;
    moved += passes::hoist_traps(after);
    ASSERT_EQ(validate(after, m, true, true), "") << what << print(f, m) << print(after, m);
    for (int k = 0; k < 4; ++k) {
      const auto seed = static_cast<std::uint32_t>(rng());
      same_prefix(run(f, m, seed, 20000), run(after, m, seed, 20000), what);
      if (HasFatalFailure()) {
        ADD_FAILURE() << print(f, m) << print(after, m);
        return;
      }
    }
  }
  EXPECT_GT(moved, 100u);
}

TEST(Structurize, an_end_that_stays_apart_is_no_way_out_of_its_loop) {
  Function f;
  f.vars.push_back({Type::i32, "i", false});
  Builder b(f);
  const BlockId entry = b.new_block(), loop = b.new_block(), fault = b.new_block(),
                next = b.new_block(), end = b.new_block();
  constexpr MemAttr slot{.space = Space::slot}, param{.space = Space::param};
  b.at(entry);
  b.set(0, b.i32(0));
  b.br(loop);
  b.at(loop);
  const Value seed = b.op2(Op::and_, b.load(Type::i32, b.i32(0), param), b.i32(15));
  b.cond_br(b.cmp(Op::eq, b.get(0), seed), fault, next);
  b.at(fault);
  b.store(b.i32(0), b.get(0), slot);
  b.exit();
  f.blocks[fault].apart = Apart::fault;
  b.at(next);
  b.store(b.i32(4), b.get(0), slot);
  b.set(0, b.op2(Op::add, b.get(0), b.i32(1)));
  b.cond_br(b.cmp(Op::ult, b.get(0), b.i32(10)), loop, end);
  b.at(end);
  b.store(b.i32(8), b.i32(0), slot);
  b.exit();
  std::mt19937 rng(4);
  check(f, rng, "loop");
  Module m;
  passes::structurize(f, m);
  passes::ssa(f, m);
  std::size_t exits = 0, phis = 0;
  for (const Block& block : f.blocks) {
    exits += block.term == Term::exit;
    for (const Value v : block.insts) phis += f.insts[v].op == Op::phi;
  }
  EXPECT_EQ(exits, 2u);
  EXPECT_EQ(phis, 1u) << print(f, m);
}

// Two comparisons lead to a switch's default: each has a copy, and nothing guards it.
TEST(Structurize, a_short_default_of_a_switch_is_copied) {
  constexpr MemAttr slot{.space = Space::slot}, param{.space = Space::param};
  for (const unsigned adds : {1u, 20u}) {
    Function f;
    f.vars.push_back({Type::i32, "x", false});
    f.vars.push_back({Type::i32, "sum", false});
    Builder b(f);
    const auto blocks = [&] { return b.new_block(); };
    const BlockId entry = blocks(), low = blocks(), high = blocks(), zero = blocks(),
                  nine = blocks(), other = blocks(), end = blocks();
    const auto is = [&](std::uint32_t x) { return b.cmp(Op::eq, b.get(0), b.i32(x)); };
    b.at(entry);
    b.set(0, b.op2(Op::and_, b.load(Type::i32, b.i32(0), param), b.i32(15)));
    b.set(1, b.i32(0));
    b.cond_br(b.cmp(Op::ult, b.get(0), b.i32(5)), low, high);
    b.at(low);
    b.cond_br(is(0), zero, other);
    b.at(high);
    b.cond_br(is(9), nine, other);
    for (const BlockId one : {zero, nine}) {
      b.at(one);
      b.store(b.i32(4 * one), b.get(0), slot);
      b.br(end);
    }
    b.at(other);
    for (unsigned i = 0; i < adds; ++i) b.set(1, b.op2(Op::add, b.get(1), b.get(0)));
    b.br(end);
    b.at(end);
    b.store(b.i32(0), b.get(1), slot);
    b.exit();
    std::mt19937 rng(5);
    for (int i = 0; i < 8; ++i) check(f, rng, "switch");
    Module m;
    passes::structurize(f, m);
    bool guarded = false;
    for (const Block& block : f.blocks)
      for (const Value v : block.insts)
        guarded |= f.insts[v].op == Op::get_var && f.vars[f.insts[v].imm].name == "next";
    EXPECT_EQ(guarded, adds > 1) << print(f, m);
  }
}

TEST(Structurize, random_graphs_keep_their_trace) {
  std::mt19937 rng(1);
  for (int i = 0; i < 1200; ++i) {
    const unsigned size = 1 + static_cast<unsigned>(rng() % 24);
    const unsigned back = static_cast<unsigned>(rng() % 60);
    check(random_graph(rng, size, back), rng, "graph " + std::to_string(i));
    if (HasFatalFailure() || HasNonfatalFailure()) return;
  }
}

// Hundreds of ways into a few joins: too deep to nest, so that the guarded form is taken.
TEST(Structurize, deep_random_graphs_keep_their_trace) {
  std::mt19937 rng(3);
  for (int i = 0; i < 60; ++i) {
    check(random_graph(rng, 100 + static_cast<unsigned>(rng() % 300),
                       static_cast<unsigned>(rng() % 3), true),
          rng, "graph " + std::to_string(i));
    if (HasFatalFailure() || HasNonfatalFailure()) return;
  }
}

TEST(Structurize, larger_random_graphs_keep_their_trace) {
  std::mt19937 rng(2);
  for (int i = 0; i < 150; ++i) {
    check(random_graph(rng, 100 + static_cast<unsigned>(rng() % 300),
                       static_cast<unsigned>(rng() % 20)),
          rng, "graph " + std::to_string(i));
    if (HasFatalFailure() || HasNonfatalFailure()) return;
  }
}

}  // namespace
