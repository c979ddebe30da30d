// Random straight-line programs over all integer operations and kinds of memory, run by drivers and
// by the IR's interpreter.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <random>

#include "tests/spirv/dispatcher.hpp"
#include "tests/spirv/emit_fixture.hpp"
#include "tests/support/reference.hpp"

namespace ptx2spv::test {
namespace {

using ir::AtomicOp;
using ir::Op;
using ir::Space;
using ir::Type;
using ir::Value;

constexpr std::uint32_t kThreads = 8;
constexpr std::uint32_t kInputWords = 32;    ///< per thread
constexpr std::uint32_t kScratchBytes = 64;  ///< per thread and space
constexpr std::uint32_t kPointerAt = kThreads * kInputWords * 4;

struct Case {
  const char* device;
  const char* profile;
};

class Generator {
 public:
  /// Accesses to local and shared memory have `own_bytes`, or any size where that is 0.
  Generator(Kernel& kernel, const Profile& profile, std::mt19937& rng, std::uint8_t own_bytes)
      : k_(kernel), p_(profile), rng_(rng), own_bytes_(own_bytes) {}

  void run(unsigned operations) {
    ir::Builder& b = k_.b;
    const Value thread = b.builtin(ir::Builtin::local_index);
    const Value input = b.op2(Op::mul, thread, b.i32(kInputWords * 4));
    for (unsigned i = 0; i < kInputWords; ++i) {
      const ir::MemAttr mem{.space = Space::param, .readonly = true};
      words_.push_back(b.load(Type::i32, b.op2(Op::add, input, b.i32(i * 4)), mem));
    }
    for (const std::uint32_t c : {0u, 1u, 31u, 32u, 0x80000000u, 0xffffffffu})
      words_.push_back(b.i32(c));
    for (unsigned i = 0; i < 4; ++i)
      wides_.push_back(k_.inst(Op::pack, Type::i64, {word(), word()}));
    wides_.push_back(b.i64(0));
    wides_.push_back(b.i64(0x8000000000000000u));
    bools_ = {b.cmp(Op::eq, words_[0], words_[1]), b.i1(true)};
    base_ = b.op2(Op::mul, thread, b.i32(kScratchBytes));
    pointer_ =
        b.load(Type::i64, b.i32(kPointerAt), {.space = Space::param, .bytes = 8, .readonly = true});
    // Shared and local memory start out undefined.
    for (const Space space : {Space::shared, Space::local}) {
      const bool local = space == Space::local;
      const std::uint8_t bytes = own_bytes_ ? own_bytes_ : 4;
      for (std::uint32_t at = 0; at < kScratchBytes; at += bytes) {
        const Value offset = local ? b.i32(at) : b.op2(Op::add, base_, b.i32(at));
        b.store(offset, b.i32(0), {.space = space, .bytes = bytes});
      }
    }
    for (unsigned i = 0; i < operations; ++i) operation();
    store_all(thread);
  }

  std::uint32_t result_words() const { return result_words_; }
  /// The value that stands in a word of the results.
  Value result_at(std::uint32_t word) const { return word < results_.size() ? results_[word] : 0; }

 private:
  unsigned below(unsigned n) { return static_cast<unsigned>(rng_() % n); }
  template <typename T>
  T pick(const std::vector<T>& from) {
    return from[below(static_cast<unsigned>(from.size()))];
  }
  Value word() { return pick(words_); }
  Value wide() { return pick(wides_); }
  Value boolean() { return pick(bools_); }

  void operation() {
    ir::Builder& b = k_.b;
    switch (below(14)) {
      case 0:
      case 1:
      case 2: {
        static const std::vector<Op> kOps = {Op::add,  Op::sub,  Op::mul,  Op::mulhi_u, Op::mulhi_s,
                                             Op::udiv, Op::sdiv, Op::urem, Op::srem,    Op::and_,
                                             Op::or_,  Op::xor_, Op::shl,  Op::lshr,    Op::ashr,
                                             Op::umin, Op::umax, Op::smin, Op::smax};
        words_.push_back(b.op2(pick(kOps), word(), below(4) ? word() : b.i32(below(40))));
        return;
      }
      case 3: {
        static const std::vector<Op> kOps = {Op::not_, Op::neg, Op::popcount, Op::find_msb,
                                             Op::bit_reverse};
        words_.push_back(k_.inst(pick(kOps), Type::i32, {word()}));
        return;
      }
      case 4: {
        const Value offset = b.op2(Op::and_, word(), b.i32(31));
        const Value rest = b.op2(Op::sub, b.i32(32), offset);
        const Value count = b.op2(Op::umin, b.op2(Op::and_, word(), b.i32(63)), rest);
        switch (below(3)) {
          case 0: words_.push_back(k_.inst(Op::bfe_u, Type::i32, {word(), offset, count})); break;
          case 1: words_.push_back(k_.inst(Op::bfe_s, Type::i32, {word(), offset, count})); break;
          default:
            words_.push_back(k_.inst(Op::bfi, Type::i32, {word(), word(), offset, count}));
            break;
        }
        return;
      }
      case 5: {
        static const std::vector<Op> kOps = {Op::eq, Op::ne, Op::ult, Op::ule, Op::slt, Op::sle};
        bools_.push_back(p_.features.int64 && below(2) ? b.cmp(pick(kOps), wide(), wide())
                                                       : b.cmp(pick(kOps), word(), word()));
        return;
      }
      case 6: {
        static const std::vector<Op> kOps = {Op::and_, Op::or_, Op::xor_, Op::eq, Op::ne};
        bools_.push_back(below(4) ? b.op2(pick(kOps), boolean(), boolean())
                                  : k_.inst(Op::not_, Type::i1, {boolean()}));
        return;
      }
      case 7:
        words_.push_back(b.select(boolean(), word(), word()));
        wides_.push_back(b.select(boolean(), wide(), wide()));
        vectors_.push_back(k_.inst(Op::compose, Type::v4, {word(), word(), word(), word()}));
        vectors_.push_back(b.select(boolean(), pick(vectors_), pick(vectors_)));
        words_.push_back(k_.inst(Op::extract, Type::i32, {pick(vectors_)}, below(4)));
        bools_.push_back(b.select(boolean(), boolean(), boolean()));
        return;
      case 8:
        words_.push_back(k_.inst(below(2) ? Op::trunc : Op::high, Type::i32, {wide()}));
        words_.push_back(k_.inst(Op::zext, Type::i32, {boolean()}));
        words_.push_back(k_.inst(Op::popcount, Type::i32, {wide()}));
        return;
      case 9:
        wides_.push_back(k_.inst(Op::pack, Type::i64, {word(), word()}));
        wides_.push_back(k_.inst(below(2) ? Op::zext : Op::sext, Type::i64, {word()}));
        return;
      case 10: {
        static const std::vector<Op> kBitwise = {Op::and_, Op::or_, Op::xor_};
        static const std::vector<Op> kAll = {Op::add,  Op::sub,  Op::mul,  Op::mulhi_u, Op::mulhi_s,
                                             Op::udiv, Op::sdiv, Op::urem, Op::srem,    Op::umin,
                                             Op::umax, Op::smin, Op::smax};
        static const std::vector<Op> kShifts = {Op::shl, Op::lshr, Op::ashr};
        if (!p_.features.int64 || below(4) == 0) {
          wides_.push_back(b.op2(pick(kBitwise), wide(), wide()));
        } else if (below(3) == 0) {
          wides_.push_back(
              k_.inst(pick(kShifts), Type::i64, {wide(), below(2) ? word() : b.i32(below(70))}));
        } else {
          wides_.push_back(b.op2(pick(kAll), wide(), wide()));
        }
        return;
      }
      default: return memory();
    }
  }

  Value address(Space space, unsigned bytes) {
    ir::Builder& b = k_.b;
    const std::uint32_t mask = kScratchBytes - bytes;
    Value offset =
        below(2) ? b.op2(Op::and_, word(), b.i32(mask)) : b.i32(below(kScratchBytes) & mask);
    if (space == Space::local) return offset;
    offset = b.op2(Op::add, base_, offset);
    if (space != Space::global) return offset;
    if (p_.features.int64) return b.op2(Op::add, pointer_, k_.inst(Op::zext, Type::i64, {offset}));
    // The buffer does not cross 4 GiB.
    const Value low = b.op2(Op::add, k_.inst(Op::trunc, Type::i32, {pointer_}), offset);
    return k_.inst(Op::pack, Type::i64, {low, k_.inst(Op::high, Type::i32, {pointer_})});
  }

  void memory() {
    ir::Builder& b = k_.b;
    static const std::vector<Space> kSpaces = {Space::global, Space::shared, Space::local,
                                               Space::slot};
    const Space space = pick(kSpaces);
    ir::MemAttr mem{.space = space, .bytes = static_cast<std::uint8_t>(1u << below(5)), .slot = 1};
    if (own_bytes_ && (space == Space::local || space == Space::shared)) mem.bytes = own_bytes_;
    const Value at = address(space, mem.bytes);
    if (mem.bytes == 4 && space != Space::local && below(3) == 0) {
      static const std::vector<AtomicOp> kOps = {AtomicOp::add,  AtomicOp::and_, AtomicOp::or_,
                                                 AtomicOp::xor_, AtomicOp::umin, AtomicOp::umax,
                                                 AtomicOp::smin, AtomicOp::smax, AtomicOp::exch};
      mem.atomic = pick(kOps);
      const Value old = below(4) ? k_.inst(Op::atomic, Type::i32, {at, word()})
                                 : k_.inst(Op::atomic_cas, Type::i32, {at, word(), word()});
      b.last(old).mem = mem;
      words_.push_back(old);
      return;
    }
    const Type type = mem.bytes <= 4 ? Type::i32 : mem.bytes == 8 ? Type::i64 : Type::v4;
    if (below(2)) {
      const Value loaded = b.load(type, at, mem);
      (type == Type::i32 ? words_ : type == Type::i64 ? wides_ : vectors_).push_back(loaded);
    } else if (type == Type::v4) {
      b.store(at, k_.inst(Op::compose, Type::v4, {word(), word(), word(), word()}), mem);
    } else {
      b.store(at, type == Type::i32 ? word() : wide(), mem);
    }
  }

  void store_all(Value thread) {
    ir::Builder& b = k_.b;
    const auto words = words_, wides = wides_, vectors = vectors_, bools = bools_;
    result_words_ = static_cast<std::uint32_t>(words.size() + bools.size() + wides.size() * 2 +
                                               vectors.size() * 4 + 8) &
                    ~3u;
    const Value base = b.op2(Op::mul, thread, b.i32(result_words_ * 4));
    std::uint32_t at = 0;
    const auto put = [&](Value v, std::uint32_t bytes) {
      b.store(b.op2(Op::add, base, b.i32(at)), v,
              {.space = Space::slot, .bytes = static_cast<std::uint8_t>(bytes)});
      at += bytes;
      results_.resize(at / 4, v);
    };
    for (const Value v : vectors) put(v, 16);
    for (const Value v : wides) put(v, 8);
    for (const Value v : words) put(v, 4);
    for (const Value v : bools) put(k_.inst(Op::zext, Type::i32, {v}), 4);
  }

  Kernel& k_;
  const Profile& p_;
  std::mt19937& rng_;
  const std::uint8_t own_bytes_;
  std::vector<Value> words_, wides_, vectors_, bools_, results_;
  Value base_ = 0, pointer_ = 0;
  std::uint32_t result_words_ = 0;

 public:
  void seed_vectors() {
    vectors_.push_back(
        k_.inst(Op::compose, Type::v4, {k_.b.i32(1), k_.b.i32(2), k_.b.i32(3), k_.b.i32(4)}));
  }
};

std::vector<std::uint8_t> bytes_of(const std::vector<std::uint32_t>& words) {
  std::vector<std::uint8_t> bytes(words.size() * 4);
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

/// How a value is made, as far as `depth` operands back.
void explain(const Kernel& k, Value v, unsigned depth, std::string& text) {
  text += "  %" + std::to_string(v) + " = " + std::string(ir::info(k.function.insts[v].op).name) +
          " " + std::string(ir::name(k.function.insts[v].type));
  if (k.function.insts[v].op == Op::constant) text += " " + std::to_string(k.function.insts[v].imm);
  if (k.function.insts[v].op == Op::extract)
    text += " [" + std::to_string(k.function.insts[v].imm) + "]";
  for (const Value argument : k.function.args(v)) text += " %" + std::to_string(argument);
  text += "\n";
  if (depth == 0) return;
  for (const Value argument : k.function.args(v)) explain(k, argument, depth - 1, text);
}

class Execution : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    std::string why;
    device_ = Dispatcher::get(GetParam().device, why);
    if (!device_) GTEST_SKIP() << why;
    options_ = options_for(GetParam().profile);
    options_.float_controls = true;
  }

  /// Emits and runs the kernel, interprets it, and compares slots and global memory.
  void run_both(Kernel& kernel, const std::vector<std::uint32_t>& input, std::uint32_t result_words,
                const std::function<Value(std::uint32_t)>& result_at) {
    std::string error;
    const auto words = kernel.emit(options_, error);
    ASSERT_EQ(error, "");
    ASSERT_EQ(validate_spirv(words), "") << disassemble_spirv(words);
    const std::size_t results = std::size_t{kThreads} * result_words * 4;
    constexpr std::size_t kScratch = std::size_t{kThreads} * kScratchBytes;

    Dispatch dispatch;
    dispatch.local[0] = kThreads;
    dispatch.dynamic_shared_words = kernel.function.uses_dynamic_shared ? kScratch / 4 : 0;
    dispatch.buffers[{abi::kSet, abi::Binding::params}] = bytes_of(input);
    dispatch.buffers[{abi::kSlotSet, 0}].resize(results);
    dispatch.buffers[{abi::kSlotSet, 1}].resize(kScratch);
    dispatch.global.resize(kScratch);
    dispatch.global_pointer_in = {abi::kSet, abi::Binding::params};
    dispatch.global_pointer_at = kPointerAt;
    ASSERT_EQ(device_->run(words, dispatch), "");

    ir::Memory memory;
    auto& params = memory.of(Space::param);
    params = bytes_of(input);
    const std::uint64_t pointer = ir::Memory::kGlobalBase;
    std::memcpy(params.data() + kPointerAt, &pointer, 8);
    memory.of(Space::slot, 0).resize(results);
    memory.of(Space::slot, 1).resize(kScratch);
    memory.of(Space::global).resize(kScratch);
    memory.of(Space::shared).resize(kScratch);
    ir::RunOptions run;
    run.threads[0] = kThreads;
    run.trace = false;
    const ir::Outcome outcome = ir::interpret(kernel.function, kernel.module, memory, run);
    ASSERT_EQ(outcome.error, "");

    const auto& got = dispatch.buffers[{abi::kSlotSet, 0}];
    const auto& expected = memory.of(Space::slot, 0);
    for (std::size_t i = 0; i < results; i += 4) {
      std::uint32_t value = 0, wanted = 0;
      std::memcpy(&value, &got[i], 4);
      std::memcpy(&wanted, &expected[i], 4);
      if (value == wanted) continue;
      std::string text;
      explain(kernel, result_at(static_cast<std::uint32_t>(i / 4 % result_words)), 5, text);
      FAIL() << "thread " << i / 4 / result_words << ": " << std::hex << value << " instead of "
             << wanted << "\n"
             << text;
    }
    EXPECT_EQ((dispatch.buffers[{abi::kSlotSet, 1}]), memory.of(Space::slot, 1));
    EXPECT_EQ(dispatch.global, memory.of(Space::global));
  }

  static std::vector<std::uint32_t> random_input(std::mt19937& rng) {
    std::vector<std::uint32_t> input(kThreads * kInputWords + 2);
    static constexpr std::uint32_t kSpecial[] = {0,  1,          2,          31,         32,
                                                 33, 0x7fffffff, 0x80000000, 0xffffffff, 0x10000};
    for (std::uint32_t& value : input)
      value = rng() % 3 ? static_cast<std::uint32_t>(rng()) : kSpecial[rng() % 10];
    return input;
  }

  Dispatcher* device_ = nullptr;
  spirv::EmitOptions options_;
};

TEST_P(Execution, random_programs_do_what_the_interpreter_does) {
  for (unsigned seed = 1; seed <= 14; ++seed) {
    SCOPED_TRACE(seed);
    const std::uint8_t own_bytes = seed > 10 ? (seed - 9) / 2 : 0;
    options_.debug_info = seed == 1;  // drivers must take the debug information, too
    std::mt19937 rng(seed);
    Kernel kernel;
    kernel.function.local_bytes = kScratchBytes;
    kernel.function.shared_bytes = seed % 2 ? kThreads * kScratchBytes : 0;
    kernel.function.uses_dynamic_shared = seed % 2 == 0;
    Generator generator(kernel, options_.profile, rng, own_bytes);
    generator.seed_vectors();
    generator.run(80);
    kernel.b.exit();
    run_both(kernel, random_input(rng), generator.result_words(),
             [&](std::uint32_t word) { return generator.result_at(word); });
    if (HasFatalFailure()) return;
  }
}

// One SPIR-V version holds for all entries of a module; a layout is each entry's own.
TEST_P(Execution, entries_of_a_module_see_shared_memory_by_words_and_by_bytes) {
  spirv::Builder builder;
  const char* const names[] = {"by_bytes", "by_words", "by_bytes_again"};
  for (const std::string name : names) {
    Kernel k;
    k.function.name = name;
    k.function.shared_bytes = 19;
    const auto size = static_cast<std::uint8_t>(name == "by_words" ? 4 : 1);
    const ir::MemAttr word{.space = Space::shared}, part{.space = Space::shared, .bytes = size};
    k.b.store(k.b.i32(16), k.b.i32(0), word);
    k.b.store(k.b.i32(12), k.input(Type::i32), word);
    k.b.store(k.b.i32(16), k.input(Type::i32, 4), part);
    k.output(k.b.load(Type::i32, k.b.i32(12), part));
    k.output(k.b.load(Type::i32, k.b.i32(16), word), 4);
    k.b.exit();
    k.function.compute_preds();
    ASSERT_FALSE(spirv::emit(k.module, k.function, options_, builder));
  }
  const std::vector<std::uint32_t> words = builder.finish();
  ASSERT_EQ(validate_spirv(words), "") << disassemble_spirv(words);
  EXPECT_EQ(words[1], options_.profile.features.shared_layout ? 0x10400u : 0x10300u);
  for (const std::string name : names) {
    Dispatch dispatch;
    dispatch.entry = name;
    dispatch.buffers[{abi::kSet, abi::Binding::params}] = bytes_of({0x12345678, 0x9abcdef0});
    dispatch.buffers[{abi::kSlotSet, 0}].resize(8);
    ASSERT_EQ(device_->run(words, dispatch), "");
    const std::vector<std::uint32_t> expected =
        name == "by_words" ? std::vector<std::uint32_t>{0x12345678, 0x9abcdef0}
                           : std::vector<std::uint32_t>{0x78, 0xf0};
    EXPECT_EQ((dispatch.buffers[{abi::kSlotSet, 0}]), bytes_of(expected)) << name;
  }
}

TEST_P(Execution, widened_integers_compare_with_constants) {
  if (!options_.profile.features.int64) GTEST_SKIP() << "no 64-bit integers in the profile";
  std::mt19937 rng(1);
  std::vector<std::uint32_t> input = random_input(rng);
  for (const Op widen : {Op::sext, Op::zext}) {
    for (const Op compare : {Op::slt, Op::sle, Op::ult, Op::ule, Op::eq, Op::ne}) {
      for (const bool constant_first : {false, true}) {
        Kernel k;
        std::vector<Value> results;
        const Value thread = k.b.builtin(ir::Builtin::local_index);
        const Value at = k.b.op2(Op::mul, thread, k.b.i32(kInputWords * 4));
        std::uint32_t offset = 0;
        for (const std::uint64_t c :
             {0ull, 1ull, ~0ull, 0x7fffffffull, 0x80000000ull, 0xffffffffull, 0xffffffff80000000ull,
              0x100000000ull, 0xffffffff7fffffffull}) {
          const Value x =
              k.b.load(Type::i32, k.b.op2(Op::add, at, k.b.i32(offset % (kInputWords * 4))),
                       {.space = Space::param, .readonly = true});
          const Value wide = k.inst(widen, Type::i64, {x});
          const Value constant = c == 1 ? k.inst(widen, Type::i64, {thread}) : k.b.i64(c);
          const Value result =
              constant_first ? k.b.cmp(compare, constant, wide) : k.b.cmp(compare, wide, constant);
          const Value word = k.inst(Op::zext, Type::i32, {result});
          k.b.store(k.b.op2(Op::add, k.b.op2(Op::mul, thread, k.b.i32(9 * 4)), k.b.i32(offset)),
                    word, {.space = Space::slot});
          results.push_back(word);
          offset += 4;
        }
        k.b.exit();
        run_both(k, input, 9, [&](std::uint32_t word) { return results[word]; });
      }
    }
  }
}

// Of as many lanes as the driver's subgroups have.
TEST_P(Execution, reductions_take_every_lane_of_a_subgroup) {
  constexpr AtomicOp kOps[] = {AtomicOp::add,  AtomicOp::and_, AtomicOp::or_,  AtomicOp::xor_,
                               AtomicOp::umin, AtomicOp::umax, AtomicOp::smin, AtomicOp::smax};
  constexpr std::uint32_t kWords = std::size(kOps) + 1;
  Kernel k;
  const Value thread = k.b.builtin(ir::Builtin::local_index);
  const Value x = k.b.load(Type::i32, k.b.op2(Op::mul, thread, k.b.i32(4)),
                           {.space = Space::param, .readonly = true});
  const Value to = k.b.op2(Op::mul, thread, k.b.i32(kWords * 4));
  const auto keep = [&](std::uint32_t word, Value value) {
    k.b.store(k.b.op2(Op::add, to, k.b.i32(word * 4)), value, {.space = Space::slot});
  };
  for (std::uint32_t i = 0; i < std::size(kOps); ++i)
    keep(i, k.inst(Op::subgroup_reduce, Type::i32, {x}, static_cast<unsigned>(kOps[i])));
  keep(kWords - 1, k.b.builtin(ir::Builtin::subgroup_size));
  k.b.exit();
  std::string error;
  const auto words = k.emit(options_, error);
  ASSERT_EQ(error, "");
  ASSERT_EQ(validate_spirv(words), "") << disassemble_spirv(words);
  std::mt19937 rng(3);
  for (unsigned round = 0; round < 20; ++round) {
    const std::vector<std::uint32_t> input = random_input(rng);
    Dispatch dispatch;
    dispatch.local[0] = kThreads;
    dispatch.buffers[{abi::kSet, abi::Binding::params}] = bytes_of(input);
    dispatch.buffers[{abi::kSlotSet, 0}].resize(std::size_t{kThreads} * kWords * 4);
    ASSERT_EQ(device_->run(words, dispatch), "");
    std::vector<std::uint32_t> got(std::size_t{kThreads} * kWords);
    std::memcpy(got.data(), dispatch.buffers[{abi::kSlotSet, 0}].data(), got.size() * 4);
    const std::uint32_t lanes = got[kWords - 1];
    ASSERT_GE(lanes, 2u) << "a reduction would be its operand";
    for (std::uint32_t t = 0; t < kThreads; ++t) {
      const std::uint32_t first = t / lanes * lanes, end = std::min(first + lanes, kThreads);
      std::uint32_t want[kWords] = {};
      std::fill_n(want, kWords - 1, input[first]);
      want[kWords - 1] = lanes;
      for (std::uint32_t l = first + 1; l < end; ++l) {
        const std::uint32_t word = input[l];
        const auto number = [](std::uint32_t bits) { return static_cast<std::int32_t>(bits); };
        want[0] += word;
        want[1] &= word;
        want[2] |= word;
        want[3] ^= word;
        want[4] = std::min(want[4], word);
        want[5] = std::max(want[5], word);
        want[6] = number(word) < number(want[6]) ? word : want[6];
        want[7] = number(word) > number(want[7]) ? word : want[7];
      }
      for (std::uint32_t i = 0; i < kWords; ++i)
        EXPECT_EQ(got[t * kWords + i], want[i]) << "thread " << t << ", result " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Drivers, Execution,
                         ::testing::Values(Case{"swiftshader", "swiftshader"},
                                           Case{"swiftshader", "portable"},
                                           Case{"lavapipe", "lavapipe"},
                                           Case{"lavapipe", "portable"}, Case{"nvidia", "nvidia"},
                                           Case{"nvidia", "portable"}),
                         [](const auto& tested) {
                           return std::string(tested.param.device) + "_as_" + tested.param.profile;
                         });

}  // namespace
}  // namespace ptx2spv::test
