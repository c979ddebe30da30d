// Kernels cut into regions do what their threads do when each waits by itself: random programs with
// barriers and warp operations, any number of threads an invocation, or one with subgroups that are
// warps.
#include <gtest/gtest.h>

#include <cstring>

#include "ptx2spv/abi.hpp"
#include "tests/passes/random_program.hpp"
#include "translator/passes/passes.hpp"

namespace {

using namespace ptx2spv;
using namespace ptx2spv::ir;
using namespace ptx2spv::test;

Memory memory_for(std::uint32_t x, std::uint32_t y, std::uint32_t shared_bytes) {
  Memory memory;
  memory.of(Space::slot).resize(512 * 256);
  memory.of(Space::shared).assign(shared_bytes, 0xcd);
  memory.of(Space::trap).resize(ptx2spv::abi::kTrapWords * 4);
  auto& push = memory.of(Space::push);
  push.resize(ptx2spv::abi::kPushWords * 4);
  const std::uint32_t block[3] = {x, y, 1};
  std::memcpy(push.data() + ptx2spv::abi::Push::block_x * 4, block, sizeof block);
  return memory;
}

enum class Seen { finished, stalled, endless };

Seen check(std::mt19937& rng, const ProgramShape& shape, bool warps, const std::string& what) {
  Module m;
  const Function source = random_program(rng, shape);
  EXPECT_EQ(validate(source, m, false, false), "");
  const std::uint32_t y = 1 + static_cast<std::uint32_t>(rng() % 4), x = 16;
  const std::uint32_t threads = x * y, extra = static_cast<std::uint32_t>(rng() % 3) * 8;
  const std::uint32_t any = static_cast<std::uint32_t>(1 + rng() % (threads + 4));
  const std::uint32_t invocations = warps ? (threads + extra + 31) & ~31u : any;
  const auto seed = static_cast<std::uint32_t>(rng());

  RunOptions options;
  options.threads[0] = x;
  options.threads[1] = y;
  options.trace = false;
  Memory wanted = memory_for(x, y, 0);
  const Outcome a = run_program(source, m, seed, 200000, options, &wanted);
  EXPECT_EQ(a.error, "") << what;
  if (a.out_of_steps) return Seen::endless;

  Function f = source;
  EXPECT_EQ(
      passes::split_at_barriers(
          f, m,
          {.workgroup_threads = invocations, .max_block_threads = threads + extra, .warps = warps}),
      "");
  EXPECT_EQ(validate(f, m, false, false), "") << what << print(f, m);
  passes::structurize(f, m);
  EXPECT_EQ(validate(f, m, false, true), "") << what;
  passes::ssa(f, m);
  EXPECT_EQ(validate(f, m, true, true), "") << what;
  passes::simplify(f, m);
  EXPECT_EQ(validate(f, m, true, true), "") << what;
  options.threads[0] = invocations;
  options.threads[1] = 1;
  Memory got = memory_for(x, y, f.shared_bytes);
  const Outcome b = run_program(f, m, seed, 100000000, options, &got);
  EXPECT_EQ(b.error, "") << what;
  EXPECT_FALSE(b.out_of_steps) << what;
  EXPECT_FALSE(b.stalled) << what;
  EXPECT_TRUE(wanted.of(Space::slot) == got.of(Space::slot))
      << what << ": " << threads << " threads, " << invocations << " invocations\n"
      << print(source, m);
  std::uint32_t kind = 0;
  std::memcpy(&kind, got.of(Space::trap).data() + ptx2spv::abi::t_kind * 4, 4);
  EXPECT_EQ(kind, a.stalled ? static_cast<std::uint32_t>(ptx2spv::abi::TrapKind::no_progress) : 0u)
      << what;
  return a.stalled ? Seen::stalled : Seen::finished;
}

void many(unsigned seed, int programs, unsigned barriers, unsigned general, bool warps = false) {
  std::mt19937 rng(seed);
  int seen[3] = {};
  for (int i = 0; i < programs; ++i) {
    ProgramShape shape;
    shape.blocks = 1 + static_cast<unsigned>(rng() % 9);
    shape.ops = 1 + static_cast<unsigned>(rng() % 5);
    shape.backward = static_cast<unsigned>(rng() % 25);
    shape.barriers = barriers;
    shape.general = general;
    shape.products = !warps;
    ++seen[static_cast<int>(check(rng, shape, warps, "program " + std::to_string(i)))];
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(seen[0], programs / 3) << "too few programs that end";
}

TEST(SplitAtBarriers, kernels_without_barriers) { many(5, 40, 0, 1); }
TEST(SplitAtBarriers, plain_barriers) { many(6, 150, 20, 0); }
TEST(SplitAtBarriers, barriers_of_all_kinds_and_warp_operations) { many(7, 200, 4, 20); }
TEST(SplitAtBarriers, subgroups_that_are_warps) {
  many(8, 150, 0, 20, true);
  many(9, 50, 8, 10, true);
}

// Every thread loads `values` words, votes as often, and stores them: all words live behind every
// vote.
Function votes_over(unsigned values) {
  Function f;
  Builder b(f);
  b.at(b.new_block());
  std::vector<std::uint32_t> words;
  const Value first = b.op2(Op::shl, b.builtin(Builtin::local_id_x), b.i32(2));
  for (unsigned i = 0; i < values; ++i) {
    f.vars.push_back({Type::i32, "word", false});
    words.push_back(static_cast<std::uint32_t>(f.vars.size() - 1));
    b.set(words[i], b.load(Type::i32, b.op2(Op::add, first, b.i32(i * 256)),
                           {.space = Space::slot, .bytes = 4}));
  }
  Value votes = b.i32(0);
  for (unsigned i = 0; i < values; ++i) {
    const Value odd = b.cmp(Op::ne, b.op2(Op::and_, b.get(words[i]), b.i32(1)), b.i32(0));
    const Value vote = b.inst(Op::warp_vote, Type::i32, {odd, b.i32(0xffffffffu)},
                              static_cast<std::uint64_t>(VoteMode::ballot));
    votes = b.op2(Op::xor_, votes, vote);
  }
  for (unsigned i = 0; i < values; ++i)
    b.store(b.op2(Op::add, first, b.i32(i * 256)), b.op2(Op::add, b.get(words[i]), votes),
            {.space = Space::slot, .bytes = 4});
  b.exit();
  return f;
}

// What lives behind many points is not saved at each: code grows with the text, and not with its
// square.
TEST(SplitAtBarriers, values_that_live_behind_many_warp_operations) {
  std::size_t sizes[2];
  constexpr unsigned kValues[2] = {24, 96};
  for (unsigned i = 0; i < 2; ++i) {
    Module m;
    const Function source = votes_over(kValues[i]);
    ASSERT_EQ(validate(source, m, false, false), "");
    Function f = source;
    ASSERT_EQ(passes::split_at_barriers(f, m, {.workgroup_threads = 32, .max_block_threads = 64}),
              "");
    ASSERT_EQ(validate(f, m, false, false), "");
    sizes[i] = 0;
    for (const Block& block : f.blocks) sizes[i] += block.insts.size();
    passes::structurize(f, m);

    RunOptions options;
    options.trace = false;
    Memory wanted = memory_for(64, 1, 0), got = memory_for(64, 1, f.shared_bytes);
    for (Memory* memory : {&wanted, &got})
      for (std::uint32_t at = 0; at < 256 * kValues[i]; at += 4) {
        const std::uint32_t word = at * 2654435761u >> 7;
        std::memcpy(&memory->of(Space::slot)[at], &word, 4);
      }
    options.threads[0] = 64;
    EXPECT_EQ(run_program(source, m, 1, 200000, options, &wanted).error, "");
    options.threads[0] = 32;
    const Outcome ran = run_program(f, m, 1, 100000000, options, &got);
    EXPECT_EQ(ran.error, "");
    EXPECT_FALSE(ran.out_of_steps || ran.stalled);
    EXPECT_TRUE(wanted.of(Space::slot) == got.of(Space::slot)) << kValues[i] << " values";
  }
  EXPECT_LT(sizes[1], 6 * sizes[0]) << "four times the text";
}

}  // namespace
