// Large and deep graphs: time stays near linear and nesting below what drivers bear.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>

#include "translator/ir/cfg.hpp"
#include "translator/passes/passes.hpp"

namespace {

using namespace ptx2spv;
using namespace ptx2spv::ir;

// Blocks of one load and one branch each; `targets` gives one or two successors, none for an exit.
Function graph(unsigned size, const std::function<std::vector<BlockId>(unsigned)>& targets) {
  Function f;
  Builder b(f);
  for (unsigned i = 0; i < size; ++i) b.new_block();
  for (BlockId at = 0; at < size; ++at) {
    b.at(at);
    b.store(b.i32(0), b.i32(at), MemAttr{.space = Space::slot});
    const std::vector<BlockId> t = targets(at);
    if (t.empty())
      b.exit();
    else if (t.size() == 1)
      b.br(t[0]);
    else
      b.cond_br(
          b.cmp(Op::eq, b.load(Type::i32, b.i32(0), MemAttr{.space = Space::param}), b.i32(at)),
          t[0], t[1]);
  }
  f.compute_preds();
  return f;
}

unsigned deepest(const Function& f) {
  const Dominators doms(f, true);
  std::vector<unsigned> depth(f.blocks.size(), 0);
  unsigned most = 0;
  for (const BlockId b : doms.preorder()) {
    const BlockId p = doms.idom(b);
    if (p == kNoBlock) continue;
    const Block& parent = f.blocks[p];
    depth[b] = depth[p] + (parent.merge != Merge::none && parent.merge_block != b ? 1 : 0);
    most = std::max(most, depth[b]);
  }
  return most;
}

void check(Function f, unsigned limit, double seconds) {
  Module m;
  const auto start = std::chrono::steady_clock::now();
  passes::structurize(f, m);
  EXPECT_EQ(validate(f, m, false, true), "");
  EXPECT_LE(deepest(f), limit);
  passes::ssa(f, m);
  EXPECT_EQ(validate(f, m, true, true), "");
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_LT(took.count(), seconds);
  std::printf("%zu blocks, depth %u, %.0f ms\n", f.blocks.size(), deepest(f), took.count() * 1000);
}

using Targets = std::vector<BlockId>;

TEST(StructurizeScale, sequential_ifs) {
  const unsigned n = 100000;
  check(graph(n,
              [=](unsigned i) -> Targets {
                if (i + 3 >= n) return {};
                return i % 2 == 0 ? Targets{i + 1, i + 2} : Targets{i + 1};
              }),
        2, 40);
}

TEST(StructurizeScale, early_exits) {
  const unsigned n = 20000;
  check(graph(n,
              [=](unsigned i) -> Targets {
                return i + 1 == n ? Targets{} : Targets{n - 1, i + 1};
              }),
        60, 40);
}

TEST(StructurizeScale, nested_ifs) {
  const unsigned n = 3000;  // the second half closes what the first opened
  check(graph(n,
              [=](unsigned i) -> Targets {
                if (i + 1 == n) return {};
                return i < n / 2 ? Targets{i + 1, n - 1 - i} : Targets{i + 1};
              }),
        60, 40);
}

TEST(StructurizeScale, breaks_out_of_a_long_loop) {
  const unsigned n = 20000;
  check(graph(n,
              [=](unsigned i) -> Targets {
                if (i + 1 == n) return {};
                if (i + 2 == n) return {1};
                return i == 0 ? Targets{1} : Targets{n - 1, i + 1};
              }),
        60, 40);
}

TEST(StructurizeScale, nested_loops) {
  const unsigned n = 801;  // block i heads a loop that block n - 1 - i closes
  check(graph(n,
              [=](unsigned i) -> Targets {
                if (i + 1 == n) return {};
                return i <= n / 2 ? Targets{i + 1} : Targets{n - 1 - i, i + 1};
              }),
        60, 40);
}

TEST(StructurizeScale, many_loops_in_a_row) {
  const unsigned n = 60000;
  check(graph(n,
              [=](unsigned i) -> Targets {
                if (i + 1 == n) return {};
                return i % 3 == 2 ? Targets{i - 1, i + 1} : Targets{i + 1};
              }),
        3, 40);
}

TEST(StructurizeScale, tangled_branches) {
  const unsigned n = 2000;
  check(graph(n,
              [=](unsigned i) -> Targets {
                if (i + 1 == n) return {};
                const unsigned any = 1 + (i * 2654435761u >> 8) % (n - 1);
                return any == i + 1 ? Targets{i + 1} : Targets{any, i + 1};
              }),
        60, 40);
}

TEST(StructurizeScale, scattered_forward_branches) {
  const unsigned n = 30000;
  check(graph(n,
              [=](unsigned i) -> Targets {
                if (i + 1 == n) return {};
                const unsigned far = i + 1 + (i * 2654435761u >> 20) % 50;
                return far >= n || far == i + 1 ? Targets{i + 1} : Targets{far, i + 1};
              }),
        60, 40);
}

}  // namespace
