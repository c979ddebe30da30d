// Kernels whose threads run side by side in one invocation do what they do each by itself: random
// kernels with barriers in loops and branches that all threads take together, threads that end
// early, local memory, blocks of one and two dimensions, any number of threads an invocation.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>

#include "ptx2spv/abi.hpp"
#include "translator/ir/interpret.hpp"
#include "translator/passes/passes.hpp"

namespace {

using namespace ptx2spv;
using namespace ptx2spv::ir;

constexpr std::uint32_t kCells = 16;  // words that each thread writes

struct Shape {
  std::uint32_t x = 1, y = 1;
  bool exits = false;  ///< threads may end anywhere
  bool first_exits_only = false;
  unsigned depth = 3;
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
    body(true, shape_.depth, 6);
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
  Value operand(bool common) {
    switch (pick(common ? 3 : 6)) {
      case 0: return b_.i32(pick(40));
      case 1: return b_.get(common_[pick(2)]);
      case 2: return common ? param(pick(2)) : thread();
      default: return b_.get(own_[pick(4)]);
    }
  }
  Value condition(bool common) {
    // Threads up to a number, as in a tree of sums.
    if (!common && pick(3) == 0) {
      static constexpr Op kOrders[] = {Op::ult, Op::ule, Op::slt, Op::sle, Op::eq, Op::ne};
      Value a = b_.builtin(pick(2) ? Builtin::local_id_x : Builtin::local_index);
      Value c = operand(true);
      if (pick(2)) std::swap(a, c);
      return b_.cmp(kOrders[pick(6)], a, c);
    }
    const Value a = b_.op2(Op::and_, operand(common), b_.i32(15));
    return b_.cmp(pick(2) ? Op::ult : Op::eq, a, b_.i32(pick(14)));
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
  void operation(bool together) {
    static constexpr Op kOps[] = {Op::add, Op::sub, Op::mul, Op::xor_, Op::or_, Op::umin};
    const Value local = b_.op2(Op::shl, b_.op2(Op::and_, operand(false), b_.i32(3)), b_.i32(2));
    switch (pick(8)) {
      case 0:
        if (together) return exchange();
        break;
      case 1:
        if (together) return barrier();
        break;
      case 2: return store(4 + pick(kCells - 4), operand(false));
      case 3: return b_.store(local, operand(false), {.space = Space::local, .bytes = 4});
      case 4:
        return b_.set(own_[pick(4)],
                      b_.load(Type::i32, local, {.space = Space::local, .bytes = 4}));
      case 5:
        if (!together) break;
        return b_.set(common_[pick(2)], b_.op2(kOps[pick(6)], operand(true), operand(true)));
      default: break;
    }
    b_.set(own_[pick(4)], b_.op2(kOps[pick(6)], operand(false), operand(false)));
  }
  void body(bool together, unsigned depth, unsigned size) {
    for (unsigned i = 0; i < size; ++i) {
      const unsigned kind = depth ? pick(10) : 9;
      const bool common = together && pick(2);
      if (kind < 2)
        selection(common, depth - 1);
      else if (kind < 4)
        loop(common, depth - 1);
      else if (kind == 4 && shape_.exits && (depth == shape_.depth || !shape_.first_exits_only))
        leave(condition(false), end_);
      else if (kind == 5 && out_ != kNoBlock)
        leave(condition(loop_common_), pick(2) ? out_ : next_);
      else
        operation(together);
    }
  }
  void leave(Value condition, BlockId to) {
    const BlockId go = b_.new_block(), stay = b_.new_block();
    b_.cond_br(condition, go, stay);
    b_.at(go);
    if (to == end_ && pick(2)) store(4 + pick(kCells - 4), operand(false));
    b_.br(to);
    b_.at(stay);
  }
  void selection(bool common, unsigned depth) {
    const BlockId yes = b_.new_block(), no = b_.new_block(), end = b_.new_block();
    // A loop is left by all together where it has barriers.
    const BlockId out = out_;
    if (!common && loop_common_) out_ = kNoBlock;
    b_.cond_br(condition(common), yes, no);
    b_.at(yes);
    body(common, depth, 1 + pick(3));
    b_.br(end);
    b_.at(no);
    body(common, depth, pick(3));
    b_.br(end);
    b_.at(end);
    out_ = out;
  }
  void loop(bool common, unsigned depth) {
    const BlockId head = b_.new_block(), in = b_.new_block(), next = b_.new_block(),
                  end = b_.new_block();
    const std::uint32_t counter = var("iteration"), count = var("iterations");
    b_.set(counter, b_.i32(0));
    b_.set(count, b_.op2(Op::and_, operand(common), b_.i32(3)));
    b_.br(head);
    b_.at(head);
    b_.cond_br(b_.cmp(Op::ult, b_.get(counter), b_.get(count)), in, end);
    b_.at(in);
    const auto around = std::tuple(out_, next_, loop_common_);
    out_ = end, next_ = next, loop_common_ = common;
    body(common, depth, 1 + pick(4));
    std::tie(out_, next_, loop_common_) = around;
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
  bool loop_common_ = false;
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
  shape.x = 1 + static_cast<std::uint32_t>(rng() % 24);
  shape.y = rng() % 2 ? 1 : 1 + static_cast<std::uint32_t>(rng() % 5);
  Module m;
  const Function source = Generator(rng, shape).make();
  EXPECT_EQ(validate(source, m, false, false), "") << what;
  const std::uint32_t threads = shape.x * shape.y;
  passes::BlockOptions options;
  options.workgroup_threads = 1 + static_cast<std::uint32_t>(rng() % (threads + 4));
  options.max_block_threads = threads;
  options.fewer = rng() % 2;
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
  constexpr std::uint32_t kThreads = 128;
  const MemAttr shared{.space = Space::shared, .bytes = 4};
  for (unsigned way = 0; way < 4; ++way)
    for (const std::uint32_t invocations : {32u, 50u, 128u}) {
      Function f;
      Module m;
      Builder b(f);
      f.name = "tree";
      f.shared_bytes = kThreads * 4;
      f.vars.push_back({Type::i32, "half", false});
      BlockId block[5];
      for (BlockId& each : block) each = b.new_block();
      const auto cell = [&](Value t) { return b.op2(Op::shl, t, b.i32(2)); };
      const auto me = [&] { return b.builtin(Builtin::local_index); };
      b.at(block[0]);
      b.store(cell(me()), b.op2(Op::mul, me(), me()), shared);
      b.set(0, b.i32(kThreads / 2));
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
                                   .max_block_threads = kThreads,
                                   .block = {kThreads, 1, 1}};
      ASSERT_EQ(passes::thread_coarsening(f, m, options), "");
      passes::structurize(f, m);
      passes::ssa(f, m);
      passes::simplify(f, m);
      ASSERT_EQ(validate(f, m, true, true), "");
      Memory memory = memory_for({.x = kThreads}, std::mt19937(1), f.shared_bytes);
      RunOptions run;
      run.threads[0] = invocations;
      const Outcome outcome = interpret(f, m, memory, run);
      EXPECT_EQ(outcome.error, "");
      for (std::uint32_t t = 0; t < kThreads; ++t) {
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

}  // namespace
