// Calls of long routines that become iterations of loops give what they gave.
#include <gtest/gtest.h>

#include <map>

#include "tests/passes/random_program.hpp"
#include "translator/passes/passes.hpp"

namespace {

using namespace ptx2spv;
using namespace ptx2spv::ir;
using namespace ptx2spv::test;

constexpr std::uint64_t kOne = 0x3ff0000000000000ull, kMinusZero = 0x8000000000000000ull,
                        kInfinity = 0x7ff0000000000000ull;

std::uint64_t mixed(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  std::uint64_t x = a * 0x9e3779b97f4a7c15ull ^ (b + 0x7f4a7c15) * 0xbf58476d1ce4e5b9ull ^
                    (c + 12345) * 0x94d049bb133111ebull;
  x ^= x >> 29;
  x *= 0xbf58476d1ce4e5b9ull;
  x ^= x >> 32;
  // No NaN that is not quiet: a routine gives none.
  if ((x & ~kMinusZero) > kInfinity) x |= 1ull << 51;
  return x;
}

// Routines that tell their operands apart, and that are related as the exact ones are: a sum is a
// product with 1, summed, and a product is one to which -0 is added.
bool routines(std::string_view name, std::span<const Bits> args, Bits& result) {
  const auto at = [&](std::size_t i) { return args[i].u64(); };
  const auto fma = [](std::uint64_t a, std::uint64_t b, std::uint64_t c) {
    if (b == kOne) return mixed(a, 1, c);
    if (c == kMinusZero) return mixed(a, b, 2);
    return mixed(a, b, c);
  };
  if (name == "f64_fma_rn")
    result = Bits::of(fma(at(0), at(1), at(2)));
  else if (name == "f64_add_rn")
    result = Bits::of(fma(at(1), kOne, at(0)));
  else if (name == "f64_mul_rn")
    result = Bits::of(fma(at(0), at(1), kMinusZero));
  else if (name == "f64_div_rn")
    result = Bits::of(mixed(at(0), at(1), 3));
  else if (name == "f64_rcp_rn")
    result = Bits::of(mixed(kOne, at(0), 3));
  else if (name == "f64_sqrt_rn")
    result = Bits::of(mixed(at(0), 4, 4));
  else if (name == "f32_long" || name == "f32_two")
    result = Bits::of(mixed(at(0), name == "f32_two" ? at(1) : 5, 5) & 0xffffffffu);
  else if (name == "f64_of_word")
    result = Bits::of(mixed(at(0), 6, 6));
  else if (name == "f32_of_pair")
    result = Bits::of(mixed(at(0), 7, 7) & 0xffffffffu);
  else
    return false;
  return true;
}

struct Called {
  const char* name;
  Type type;
  unsigned operands;
  Type from = type;
};
constexpr Called kCalled[] = {
    {"f64_fma_rn", Type::i64, 3},
    {"f64_add_rn", Type::i64, 2},
    {"f64_mul_rn", Type::i64, 2},
    {"f64_div_rn", Type::i64, 2},
    {"f64_rcp_rn", Type::i64, 1},
    {"f64_sqrt_rn", Type::i64, 1},
    {"f32_long", Type::i32, 1},
    {"f32_two", Type::i32, 2},
    {"f64_of_word", Type::i64, 1, Type::i32},
    {"f32_of_pair", Type::i32, 1, Type::i64},
};

std::uint32_t cost(std::string_view name) { return name.starts_with("f64") ? 300 : 120; }

/// Blocks in a loop, with calls that take each other's results, their negations, loads and
/// parameters, and stores between them.
class Calls {
 public:
  explicit Calls(std::mt19937& rng) : rng_(rng), b_(f_) {}

  Function make(Module& module) {
    module_ = &module;
    f_.name = "calls";
    f_.vars.push_back({Type::i64, "wide", false});
    f_.vars.push_back({Type::i32, "word", false});
    f_.vars.push_back({Type::i32, "iteration", false});
    const BlockId start = b_.new_block(), loop = b_.new_block(), left = b_.new_block(),
                  right = b_.new_block(), join = b_.new_block(), end = b_.new_block();
    b_.at(start);
    b_.set(0, parameter(Type::i64));
    b_.set(1, parameter(Type::i32));
    b_.set(2, b_.i32(0));
    fill(20);
    b_.br(loop);
    b_.at(loop);
    fill(pick(25));
    b_.cond_br(b_.cmp(Op::slt, b_.get(1), b_.i32(0)), left, right);
    b_.at(left);
    fill(pick(25));
    b_.br(join);
    b_.at(right);
    fill(pick(12));
    b_.br(join);
    b_.at(join);
    fill(pick(90));  // behind phis, often so many that their operands are stored at once
    b_.set(2, b_.op2(Op::add, b_.get(2), b_.i32(1)));
    b_.cond_br(b_.cmp(Op::ult, b_.get(2), b_.i32(3)), loop, end);
    b_.at(end);
    fill(10);
    keep(b_.get(0));
    b_.exit();
    f_.compute_preds();
    return f_;
  }

 private:
  unsigned pick(unsigned n) { return static_cast<unsigned>(rng_() % n); }
  Value parameter(Type type) {
    MemAttr mem{.space = Space::param};
    mem.bytes = type == Type::i64 ? 8 : 4;
    mem.readonly = true;
    return b_.load(type, b_.i32(pick(8) * 8), mem);
  }
  void keep(Value v) {
    MemAttr mem{.space = Space::slot};
    mem.bytes = f_.insts[v].type == Type::i64 ? 8 : 4;
    b_.store(b_.i32(pick(16) * 8), v, mem);
  }
  Value value(Type type, const std::vector<Value>& made) {
    for (int i = 0; i < 6 && !made.empty() && pick(8); ++i) {
      const Value v = made[made.size() - 1 -
                           pick(static_cast<unsigned>(std::min<std::size_t>(made.size(), 9)))];
      if (f_.insts[v].type == type) return v;
    }
    if (pick(3) == 0) return type == Type::i64 ? b_.i64(kOne + pick(3)) : b_.i32(pick(3));
    return pick(2) ? parameter(type) : b_.get(type == Type::i64 ? 0 : 1);
  }
  // As legalise_float writes it: a NaN keeps its sign.
  Value negated(Value x) {
    const Value low = b_.inst(Op::trunc, Type::i32, {x}), high = b_.inst(Op::high, Type::i32, {x});
    const Value size = b_.op2(Op::and_, high, b_.i32(0x7fffffff));
    const Value even = b_.cmp(Op::eq, size, b_.i32(0x7ff00000));
    const Value nan =
        b_.select(even, b_.cmp(Op::ne, low, b_.i32(0)), b_.cmp(Op::ult, b_.i32(0x7ff00000), size));
    const Value turned =
        b_.inst(Op::pack, Type::i64, {low, b_.op2(Op::xor_, high, b_.i32(0x80000000u))});
    return b_.select(nan, x, turned);
  }
  void fill(unsigned count) {
    std::vector<Value> made;
    for (unsigned i = 0; i < count; ++i) {
      const Called& called = kCalled[pick(std::size(kCalled))];
      std::vector<Value> operands;
      for (unsigned k = 0; k < called.operands; ++k) {
        Value v = value(called.from, made);
        if (called.from == Type::i64 && pick(4) == 0) v = negated(v);
        operands.push_back(v);
      }
      made.push_back(b_.inst(Op::library, called.type, operands, module_->library(called.name)));
      if (pick(5) == 0) keep(made.back());
      if (pick(6) == 0) made.push_back(b_.op2(Op::xor_, made.back(), made.back()));
      if (pick(7) == 0) b_.set(called.type == Type::i64 ? 0 : 1, made.back());
    }
    for (const Value v : made)
      if (pick(3) == 0) keep(v);
  }

  std::mt19937& rng_;
  Function f_;
  Builder b_;
  Module* module_ = nullptr;
};

unsigned calls_of(const Function& f) {
  unsigned count = 0;
  for (const BlockId b : f.order)
    for (const Value v : f.blocks[b].insts) count += f.insts[v].op == Op::library;
  return count;
}

/// What is kept by address and in order, without the thread's own memory.
std::vector<Event> stores(const Outcome& outcome) {
  std::vector<Event> kept;
  for (const Event& event : outcome.trace)
    if (event.space != Space::local) kept.push_back(event);
  return kept;
}

TEST(OutlineLibraryCalls, RandomCallsGiveWhatTheyGave) {
  std::mt19937 rng(5);
  RunOptions options;
  options.library = routines;
  unsigned shared = 0;
  for (int i = 0; i < 120; ++i) {
    Module m;
    Function f = Calls(rng).make(m);
    passes::structurize(f, m);
    passes::ssa(f, m);
    const Function before = f;
    if (passes::outline_library_calls(f, m, cost, 0)) {
      ++shared;
      EXPECT_LT(calls_of(f), calls_of(before));
    }
    ASSERT_EQ(validate(f, m, true, true), "") << "program " << i << "\n" << print(f, m);
    for (const std::uint32_t seed : {3u, 1000u}) {
      const Outcome was = run_program(before, m, seed, 100000, options),
                    is = run_program(f, m, seed, 1000000, options);
      ASSERT_EQ(was.error, "");
      ASSERT_EQ(is.error, "");
      ASSERT_EQ(stores(was), stores(is)) << "program " << i << "\n"
                                         << print(before, m) << print(f, m);
    }
  }
  EXPECT_GT(shared, 90u);
}

TEST(OutlineLibraryCalls, WithinItsBudgetAKernelStaysAsItIs) {
  std::mt19937 rng(6);
  Module m;
  Function f = Calls(rng).make(m);
  passes::structurize(f, m);
  passes::ssa(f, m);
  EXPECT_FALSE(passes::outline_library_calls(
      f, m, [](std::string_view) { return 10u; }, 40000));
}

TEST(OutlineLibraryCalls, CallsInARowBecomeOne) {
  Module m;
  Function f;
  Builder b(f);
  b.at(b.new_block());
  Value x = b.load(Type::i64, b.i32(0), {.space = Space::param, .bytes = 8});
  const Value y = b.load(Type::i64, b.i32(8), {.space = Space::param, .bytes = 8});
  for (unsigned i = 0; i < 100; ++i)
    x = b.inst(Op::library, Type::i64, {x, y}, m.library("f64_add_rn"));
  b.store(b.i32(0), x, {.space = Space::trap, .bytes = 8});
  b.exit();
  f.compute_preds();
  passes::structurize(f, m);
  EXPECT_TRUE(passes::outline_library_calls(f, m, cost, 40000));
  EXPECT_EQ(validate(f, m, true, true), "");
  EXPECT_EQ(calls_of(f), 1u);
}

}  // namespace
