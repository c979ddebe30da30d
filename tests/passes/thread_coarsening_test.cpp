// Kernels whose threads run side by side in one invocation do what they do each by itself: random
// kernels with barriers in loops and branches that all threads take together, threads that end
// early, local memory, blocks of one and two dimensions, any number of threads an invocation. Where
// an invocation runs a warp, with warp operations too.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>

#include "ptx2spv/abi.hpp"
#include "tests/support/reference.hpp"
#include "translator/passes/passes.hpp"

namespace {

using namespace ptx2spv;
using namespace ptx2spv::ir;

constexpr std::uint32_t kCells = 16;  // words that each thread writes

/// Who goes the same way, or has the same value.
enum class Level { thread, warp, block };

struct Shape {
  std::uint32_t x = 1, y = 1;
  bool exits = false;  ///< threads may end anywhere
  bool first_exits_only = false;
  unsigned depth = 3;
  bool warps = false;  ///< warp operations
};

class Generator {
 public:
  Generator(std::mt19937& rng, const Shape& shape) : rng_(rng), shape_(shape), b_(f_) {}

  Function make() {
    f_.name = "random";
    for (int i = 0; i < 4; ++i) own_.push_back(var("own"));
    for (int i = 0; i < 2; ++i) common_.push_back(var("common"));
    f_.local_bytes = 20;
    f_.shared_bytes = shape_.x * shape_.y * 4;
    end_ = b_.new_block();  // blocks[0] is the entry
    end_ = b_.new_block();
    b_.at(0);
    for (std::uint32_t i = 0; i < 4; ++i)
      b_.set(own_[i], b_.op2(Op::mul, thread(), b_.i32(2654435761u + i * 77)));
    for (std::uint32_t i = 0; i < 2; ++i) b_.set(common_[i], param(i));
    body(Level::block, shape_.depth, 6);
    exchange();
    for (std::uint32_t i = 0; i < 4; ++i) store(i, b_.get(own_[i]));
    b_.br(end_);
    b_.at(end_);
    b_.exit();
    f_.compute_preds();
    return f_;
  }

 private:
  unsigned pick(unsigned n) { return static_cast<unsigned>(rng_() % n); }
  std::uint32_t var(const char* name) {
    f_.vars.push_back({Type::i32, name, false});
    return static_cast<std::uint32_t>(f_.vars.size() - 1);
  }
  Value thread() {
    if (shape_.y == 1 && pick(2)) return b_.builtin(Builtin::local_id_x);
    if (pick(3) == 0) return b_.builtin(Builtin::local_index);
    const Value row = b_.op2(Op::mul, b_.builtin(Builtin::local_id_y), b_.i32(shape_.x));
    return b_.op2(Op::add, row, b_.builtin(Builtin::local_id_x));
  }
  Value param(std::uint32_t i) {
    return b_.load(Type::i32, b_.i32(i * 4), {.space = Space::param, .readonly = true});
  }
  Value warp() { return b_.op2(Op::lshr, b_.builtin(Builtin::local_index), b_.i32(5)); }
  Value operand(Level level) {
    if (level == Level::warp && pick(2)) return warp();
    const bool common = level != Level::thread;
    switch (pick(common ? 3 : 6)) {
      case 0: return b_.i32(pick(40));
      case 1: return b_.get(common_[pick(2)]);
      case 2: return common ? param(pick(2)) : thread();
      default: return b_.get(own_[pick(4)]);
    }
  }
  Value condition(Level level) {
    if (level == Level::warp && pick(2)) {
      switch (pick(3)) {
        case 0: return b_.cmp(Op::eq, warp(), b_.i32(pick(3)));
        case 1: return b_.cmp(Op::ult, b_.builtin(Builtin::local_index), b_.i32(32 * pick(3)));
        default: {
          const Value truth = condition(Level::thread);
          const Value vote = b_.inst(Op::warp_vote, Type::i32, {truth, everyone()}, pick(3));
          return b_.cmp(Op::ne, vote, b_.i32(0));
        }
      }
    }
    const bool common = level != Level::thread;
    // Threads up to a number, as in a tree of sums.
    if (!common && pick(3) == 0) {
      static constexpr Op kOrders[] = {Op::ult, Op::ule, Op::slt, Op::sle, Op::eq, Op::ne};
      Value a = b_.builtin(pick(2) ? Builtin::local_id_x : Builtin::local_index);
      Value c = operand(Level::block);
      if (pick(2)) std::swap(a, c);
      return b_.cmp(kOrders[pick(6)], a, c);
    }
    const Value a = b_.op2(Op::and_, operand(level), b_.i32(15));
    return b_.cmp(pick(2) ? Op::ult : Op::eq, a, b_.i32(pick(14)));
  }
  /// All threads of the warp that come here.
  Value everyone() { return here_ == kEverywhere ? b_.i32(0xffffffff) : b_.get(here_); }
  /// A mask on which its members agree.
  Value members() {
    const Value lane = b_.op2(Op::and_, b_.builtin(Builtin::local_index), b_.i32(31));
    const Value all = everyone();
    const auto of = [&](Value some) { return b_.op2(Op::and_, all, some); };
    switch (pick(5)) {
      case 0: return of(b_.op2(Op::shl, b_.i32(0x55555555), b_.op2(Op::and_, lane, b_.i32(1))));
      case 1: return of(b_.op2(Op::shl, b_.i32(0xff), b_.op2(Op::and_, lane, b_.i32(24))));
      default: return all;
    }
  }
  void warp_operation() {
    static constexpr AtomicOp kReductions[] = {AtomicOp::add,  AtomicOp::and_, AtomicOp::or_,
                                               AtomicOp::xor_, AtomicOp::umin, AtomicOp::umax,
                                               AtomicOp::smin, AtomicOp::smax};
    const Value mask = members(), small = b_.op2(Op::and_, operand(Level::thread), b_.i32(3));
    const auto keep = [&](Value v) { b_.set(own_[pick(4)], v); };
    const auto keep_both = [&](Value v) {
      keep(b_.inst(Op::extract, Type::i32, {v}, 0));
      keep(b_.inst(Op::extract, Type::i32, {v}, 1));
    };
    switch (pick(8)) {
      case 0:
        // Among some threads the interpreter may give it before the last of them has come.
        return keep(here_ == kEverywhere ? b_.inst(Op::warp_active, Type::i32, {}) : everyone());
      case 1: b_.inst(Op::warp_sync, Type::none, {mask}); return;
      case 2: return keep_both(b_.inst(Op::warp_elect, Type::v2, {mask}));
      case 3: {
        const Value wide = b_.inst(Op::pack, Type::i64, {b_.i32(5), small});
        return keep_both(
            b_.inst(Op::warp_match, Type::v2, {pick(2) ? small : wide, mask}, pick(2)));
      }
      case 4: {
        const auto by = static_cast<std::uint64_t>(kReductions[pick(8)]);
        return keep(b_.inst(Op::warp_redux, Type::i32, {operand(Level::thread), mask}, by));
      }
      case 5:
        return keep(b_.inst(Op::warp_vote, Type::i32, {condition(Level::thread), mask}, pick(4)));
      default: {
        const Value lane = operand(pick(2) ? Level::block : Level::thread);
        const Value clamp = pick(4) ? b_.i32(pick(2) ? 31 : 0x1c1f) : operand(Level::thread);
        const Value value = operand(Level::thread);
        return keep_both(b_.inst(Op::warp_shfl, Type::v2, {value, lane, clamp, mask}, pick(4)));
      }
    }
  }
  void store(std::uint32_t cell, Value value) {
    const Value at =
        b_.op2(Op::shl, b_.op2(Op::add, b_.op2(Op::mul, thread(), b_.i32(kCells)), b_.i32(cell)),
               b_.i32(2));
    b_.store(at, value, {.space = Space::slot, .bytes = 4});
  }
  void barrier() { b_.inst(Op::bar_sync, Type::none, {b_.i32(0)}); }
  void exchange() {
    const MemAttr shared{.space = Space::shared, .bytes = 4};
    const auto cell = [&](Value t) { return b_.op2(Op::shl, t, b_.i32(2)); };
    b_.store(cell(thread()), b_.get(own_[pick(4)]), shared);
    barrier();
    const std::uint32_t threads = shape_.x * shape_.y;
    const Value other =
        b_.op2(Op::urem, b_.op2(Op::add, thread(), b_.i32(1 + pick(threads))), b_.i32(threads));
    b_.set(own_[pick(4)], b_.load(Type::i32, cell(other), shared));
    barrier();
  }
  void operation(Level here) {
    static constexpr Op kOps[] = {Op::add, Op::sub, Op::mul, Op::xor_, Op::or_, Op::umin};
    const bool together = here == Level::block;
    if (shape_.warps && here != Level::thread && pick(3) == 0) return warp_operation();
    const Value local =
        b_.op2(Op::shl, b_.op2(Op::and_, operand(Level::thread), b_.i32(3)), b_.i32(2));
    switch (pick(8)) {
      case 0:
        if (together) return exchange();
        break;
      case 1:
        if (together) return barrier();
        break;
      case 2: return store(4 + pick(kCells - 4), operand(Level::thread));
      case 3: return b_.store(local, operand(Level::thread), {.space = Space::local, .bytes = 4});
      case 4:
        return b_.set(own_[pick(4)],
                      b_.load(Type::i32, local, {.space = Space::local, .bytes = 4}));
      case 5:
        if (!together) break;
        return b_.set(common_[pick(2)],
                      b_.op2(kOps[pick(6)], operand(Level::block), operand(Level::block)));
      default: break;
    }
    b_.set(own_[pick(4)], b_.op2(kOps[pick(6)], operand(Level::thread), operand(Level::thread)));
  }
  /// What a branch in code of that level tells apart.
  Level level_in(Level here) {
    if (!shape_.warps) return here == Level::block && pick(2) ? Level::block : Level::thread;
    return static_cast<Level>(pick(static_cast<unsigned>(here) + 1));
  }
  void body(Level here, unsigned depth, unsigned size) {
    for (unsigned i = 0; i < size; ++i) {
      const unsigned kind = depth ? pick(10) : 9;
      const Level level = level_in(here);
      if (kind < 2)
        selection(here, level, depth - 1);
      else if (kind < 4)
        loop(level, depth - 1);
      else if (kind == 4 && shape_.exits && (depth == shape_.depth || !shape_.first_exits_only))
        leave(condition(Level::thread), end_);
      else if (kind == 5 && out_ != kNoBlock)
        leave(condition(loop_level_), pick(2) ? out_ : next_);
      else
        operation(here);
    }
  }
  void leave(Value condition, BlockId to) {
    const BlockId go = b_.new_block(), stay = b_.new_block();
    b_.cond_br(condition, go, stay);
    b_.at(go);
    if (to == end_ && pick(2)) store(4 + pick(kCells - 4), operand(Level::thread));
    b_.br(to);
    b_.at(stay);
  }
  void selection(Level here, Level level, unsigned depth) {
    const BlockId yes = b_.new_block(), no = b_.new_block(), end = b_.new_block();
    // A loop is left by all together where they meet in it.
    const BlockId out = out_;
    if (level < loop_level_) out_ = kNoBlock;
    // Outside of loops some threads of a warp may meet at its operations.
    const bool some =
        shape_.warps && level == Level::thread && here != Level::thread && !loops_ && pick(2);
    const Value truth = condition(level);
    const std::uint32_t around = here_;
    if (some) {
      const Value ballot = b_.inst(Op::warp_vote, Type::i32, {truth, everyone()},
                                   static_cast<std::uint64_t>(VoteMode::ballot));
      here_ = var("members");
      b_.set(here_, ballot);
    }
    b_.cond_br(truth, yes, no);
    b_.at(yes);
    body(some ? Level::warp : level, depth, 1 + pick(3));
    here_ = around;
    b_.br(end);
    b_.at(no);
    body(level, depth, pick(3));
    b_.br(end);
    b_.at(end);
    out_ = out;
  }
  void loop(Level level, unsigned depth) {
    const BlockId head = b_.new_block(), in = b_.new_block(), next = b_.new_block(),
                  end = b_.new_block();
    const std::uint32_t counter = var("iteration"), count = var("iterations");
    b_.set(counter, b_.i32(0));
    b_.set(count, b_.op2(Op::and_, operand(level), b_.i32(3)));
    b_.br(head);
    b_.at(head);
    b_.cond_br(b_.cmp(Op::ult, b_.get(counter), b_.get(count)), in, end);
    b_.at(in);
    const auto around = std::tuple(out_, next_, loop_level_);
    out_ = end, next_ = next, loop_level_ = level;
    ++loops_;
    body(level, depth, 1 + pick(4));
    --loops_;
    std::tie(out_, next_, loop_level_) = around;
    b_.br(next);
    b_.at(next);
    b_.set(counter, b_.op2(Op::add, b_.get(counter), b_.i32(1)));
    b_.br(head);
    b_.at(end);
  }

  std::mt19937& rng_;
  const Shape& shape_;
  Function f_;
  Builder b_;
  std::vector<std::uint32_t> own_, common_;
  BlockId end_ = 0, out_ = kNoBlock, next_ = kNoBlock;
  Level loop_level_ = Level::thread;
  unsigned loops_ = 0;  ///< around the place at hand
  static constexpr std::uint32_t kEverywhere = 0xffffffff;
  std::uint32_t here_ =
      kEverywhere;  ///< the variable that says which threads of the warp come here
};

Memory memory_for(const Shape& shape, std::mt19937 rng, std::uint32_t shared_bytes) {
  Memory memory;
  memory.of(Space::slot).resize(std::size_t{shape.x} * shape.y * kCells * 4);
  memory.of(Space::shared).assign(shared_bytes, 0);
  memory.of(Space::trap).resize(ptx2spv::abi::kTrapWords * 4);
  auto& params = memory.of(Space::param);
  params.resize(64);
  for (std::uint32_t i = 0; i < 16; ++i) {
    const auto word = static_cast<std::uint32_t>(rng() % 12);
    std::memcpy(params.data() + i * 4, &word, 4);
  }
  auto& push = memory.of(Space::push);
  push.resize(ptx2spv::abi::kPushWords * 4);
  const std::uint32_t block[3] = {shape.x, shape.y, 1};
  std::memcpy(push.data() + ptx2spv::abi::Push::block_x * 4, block, sizeof block);
  return memory;
}

/// Whether the kernel could run so.
bool check(std::mt19937& rng, Shape shape, const std::string& what) {
  shape.x = 1 + static_cast<std::uint32_t>(rng() % (shape.warps ? 80 : 24));
  if (shape.warps && rng() % 2) shape.x = (shape.x + 31) & ~31u;
  shape.y = rng() % 2 ? 1 : 1 + static_cast<std::uint32_t>(rng() % (shape.warps ? 3 : 5));
  Module m;
  const Function source = Generator(rng, shape).make();
  EXPECT_EQ(validate(source, m, false, false), "") << what;
  const std::uint32_t threads = shape.x * shape.y;
  passes::BlockOptions options;
  options.workgroup_threads = 1 + static_cast<std::uint32_t>(rng() % (threads + 4));
  options.max_block_threads = threads;
  options.fewer = rng() % 2;
  options.warps = shape.warps;
  if (rng() % 2) {
    options.block[0] = shape.x;
    options.block[1] = shape.y;
    options.block[2] = 1;
  } else {
    options.max_block_threads += static_cast<std::uint32_t>(rng() % 3) * 8;
  }
  const std::mt19937 inputs(static_cast<std::uint32_t>(rng()));

  RunOptions run;
  run.threads[0] = shape.x;
  run.threads[1] = shape.y;
  run.trace = false;
  run.max_steps = 4000000;
  Memory wanted = memory_for(shape, inputs, source.shared_bytes);
  const Outcome a = interpret(source, m, wanted, run);
  EXPECT_EQ(a.error, "") << what;
  EXPECT_FALSE(a.out_of_steps || a.stalled) << what;

  Function f = source;
  if (!passes::thread_coarsening(f, m, options).empty()) {
    EXPECT_EQ(print(f, m), print(source, m)) << "a kernel that is refused is left alone";
    return false;
  }
  EXPECT_EQ(validate(f, m, false, false), "") << what << print(f, m);
  passes::structurize(f, m);
  EXPECT_EQ(validate(f, m, false, true), "") << what;
  passes::ssa(f, m);
  EXPECT_EQ(validate(f, m, true, true), "") << what;
  if (rng() % 2) passes::simplify(f, m);
  EXPECT_EQ(validate(f, m, true, true), "") << what;
  run.threads[0] = options.workgroup_threads;
  run.threads[1] = 1;
  run.max_steps = 100000000;
  Memory got = memory_for(shape, inputs, f.shared_bytes);
  const Outcome b = interpret(f, m, got, run);
  EXPECT_EQ(b.error, "") << what << print(source, m) << print(f, m);
  EXPECT_FALSE(b.out_of_steps || b.stalled) << what;
  EXPECT_TRUE(wanted.of(Space::slot) == got.of(Space::slot))
      << what << ": " << shape.x << " x " << shape.y << " threads, " << options.workgroup_threads
      << " invocations\n"
      << print(source, m);
  return true;
}

/// How many of the kernels could run so.
int many(unsigned seed, int kernels, const Shape& shape) {
  std::mt19937 rng(seed);
  int done = 0;
  for (int i = 0; i < kernels && !testing::Test::HasFailure(); ++i)
    done += check(rng, shape, "kernel " + std::to_string(i) + "\n");
  return done;
}

// for (half = 64; half; half /= 2) { if (t < half) sums[t] += sums[t + half]; barrier; }, with the
// test written in every way that a loop over an invocation's threads may end by.
TEST(ThreadCoarsening, trees_of_sums) {
  constexpr std::uint32_t kTreeThreads = 128;
  const MemAttr shared{.space = Space::shared, .bytes = 4};
  for (unsigned way = 0; way < 4; ++way)
    for (const std::uint32_t invocations : {32u, 50u, 128u}) {
      Function f;
      Module m;
      Builder b(f);
      f.name = "tree";
      f.shared_bytes = kTreeThreads * 4;
      f.vars.push_back({Type::i32, "half", false});
      BlockId block[5];
      for (BlockId& each : block) each = b.new_block();
      const auto cell = [&](Value t) { return b.op2(Op::shl, t, b.i32(2)); };
      const auto me = [&] { return b.builtin(Builtin::local_index); };
      b.at(block[0]);
      b.store(cell(me()), b.op2(Op::mul, me(), me()), shared);
      b.set(0, b.i32(kTreeThreads / 2));
      b.br(block[1]);
      b.at(block[1]);
      b.inst(Op::bar_sync, Type::none, {b.i32(0)});
      const Value half = b.get(0);
      const Value last = b.op2(Op::sub, half, b.i32(1));
      switch (way) {
        case 0: b.cond_br(b.cmp(Op::ult, me(), half), block[2], block[3]); break;
        case 1: b.cond_br(b.cmp(Op::sle, half, me()), block[3], block[2]); break;
        case 2: b.cond_br(b.cmp(Op::ule, me(), last), block[2], block[3]); break;
        default: b.cond_br(b.cmp(Op::ult, last, me()), block[3], block[2]);
      }
      b.at(block[2]);
      const Value other = cell(b.op2(Op::add, me(), b.get(0)));
      const Value sum =
          b.op2(Op::add, b.load(Type::i32, cell(me()), shared), b.load(Type::i32, other, shared));
      b.store(cell(me()), sum, shared);
      b.br(block[3]);
      b.at(block[3]);
      const Value next = b.op2(Op::lshr, b.get(0), b.i32(1));
      b.set(0, next);
      b.cond_br(b.cmp(Op::ne, next, b.i32(0)), block[1], block[4]);
      b.at(block[4]);
      b.inst(Op::bar_sync, Type::none, {b.i32(0)});
      b.store(cell(me()), b.load(Type::i32, b.i32(0), shared), {.space = Space::slot, .bytes = 4});
      b.exit();
      f.compute_preds();
      passes::BlockOptions options{.workgroup_threads = invocations,
                                   .max_block_threads = kTreeThreads,
                                   .block = {kTreeThreads, 1, 1}};
      ASSERT_EQ(passes::thread_coarsening(f, m, options), "");
      passes::structurize(f, m);
      passes::ssa(f, m);
      passes::simplify(f, m);
      ASSERT_EQ(validate(f, m, true, true), "");
      Memory memory = memory_for({.x = kTreeThreads}, std::mt19937(1), f.shared_bytes);
      RunOptions run;
      run.threads[0] = invocations;
      const Outcome outcome = interpret(f, m, memory, run);
      EXPECT_EQ(outcome.error, "");
      for (std::uint32_t t = 0; t < kTreeThreads; ++t) {
        std::uint32_t word = 0;
        std::memcpy(&word, memory.of(Space::slot).data() + t * 4, 4);
        EXPECT_EQ(word, 690880u) << "way " << way << ", " << invocations << " invocations";
      }
    }
}

TEST(ThreadCoarsening, kernels_whose_threads_all_reach_the_barriers) {
  EXPECT_GE(many(1, 300, {}), 298);
}
TEST(ThreadCoarsening, threads_that_end_before_the_barriers_that_others_meet) {
  EXPECT_GT(many(2, 300, {.exits = true, .first_exits_only = true}), 200);
}
TEST(ThreadCoarsening, threads_that_end_anywhere) { EXPECT_GT(many(3, 200, {.exits = true}), 30); }

TEST(ThreadCoarsening, warps_that_one_invocation_runs) {
  // Every other one is long, and cut at its operations instead.
  EXPECT_GT(many(4, 220, {.warps = true}), 90);
}
TEST(ThreadCoarsening, warps_whose_threads_end_early) {
  EXPECT_GT(many(5, 110, {.exits = true, .first_exits_only = true, .warps = true}), 45);
}

}  // namespace
