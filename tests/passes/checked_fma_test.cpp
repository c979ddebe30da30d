// Fused multiply-adds that are the device's own where a check says that they may be: results are
// exact whatever the operands are, on a device whose fma takes denormals for zeros.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <random>

#include "tests/passes/flushing.hpp"
#include "tests/passes/parsed.hpp"
#include "translator/passes/passes.hpp"

namespace ptx2spv {
namespace {

using namespace ir;
using namespace test;

Profile losing() {
  Profile profile = *find_profile("nvidia");
  profile.exactness.fused_fma32 = profile.exactness.denormals32 = true;
  profile.exactness.fma_denormals32 = false;
  return profile;
}

/// Eight words from memory, %10 to %17; `text`; then %50 and %51 to memory.
std::string line(const std::string& text) {
  std::string all = "\nb0:\n  %1 = constant i64 0x100000000\n  %2 = constant i32 0x3e000000\n";
  for (unsigned i = 0; i < 8; ++i)
    all += "  %" + std::to_string(30 + i) + " = constant i32 " + std::to_string(4 * i) + "\n  %" +
           std::to_string(10 + i) + " = load i32 mem=param,4,readonly %" + std::to_string(30 + i) +
           "\n";
  return all + text + "  %49 = constant i64 0x100000004\n  store mem=global,4 %1 %50\n" +
         "  store mem=global,4 %49 %51\n  exit\n";
}

/// A body's part of a sum of forces, as nvcc makes it.
const char* const kForce = R"(  %40 = fadd i32 fp=f32,rn %10 %11
  %41 = fadd i32 fp=f32,rn %12 %13
  %42 = fmul i32 fp=f32,rn %41 %41
  %43 = ffma i32 fp=f32,rn %40 %40 %42
  %44 = fadd i32 fp=f32,rn %43 %2
  %45 = fmul i32 fp=f32,rn %44 %14
  %50 = ffma i32 fp=f32,rn %40 %45 %15
  %51 = ffma i32 fp=f32,rn %41 %45 %16
)";
/// Sums of products, and a product of sums.
const char* const kDot = R"(  %40 = fmul i32 fp=f32,rn %10 %11
  %41 = ffma i32 fp=f32,rn %12 %13 %40
  %42 = ffma i32 fp=f32,rn %14 %15 %41
  %50 = ffma i32 fp=f32,rn %42 %16 %17
  %43 = ffma i32 fp=f32,rn %50 %2 %42
  %51 = ffma i32 fp=f32,rn,sat %43 %42 %10
)";

bool transform(Parsed& p) {
  const Profile profile = losing();
  const bool any = passes::checked_fma(p.f, p.m, {.profile = profile});
  p.expect_valid();
  return any;
}

void legalise(Parsed& p) {
  const Profile profile = losing();
  EXPECT_TRUE(passes::legalise_float(p.f, p.m, {.profile = profile}));
  p.expect_valid();
}

/// Which ways a run went.
struct Ways {
  unsigned native = 0, looked_at = 0, repeated = 0;
};

/// What the device does: its fma flush, nothing else does.
std::array<std::uint32_t, 3> results(const Parsed& p, std::span<const std::uint32_t> words,
                                     Ways* ways = nullptr) {
  Memory memory;
  for (std::size_t i = 0; i < words.size(); ++i) put(memory, Space::param, 4 * i, words[i]);
  memory.of(Space::global).resize(12);
  RunOptions options;
  bool own = false, looked = false, again = false;
  options.operation = [&](const Function& f, const Inst& inst, std::span<const Bits> args,
                          Bits& result) {
    own = own || (inst.op == Op::ffma && inst.fp.checked);
    again = again || (inst.op == Op::ffma && !inst.fp.checked);
    if (inst.op == Op::flt) {
      const bool less = number(args[0]) < number(args[1]);
      looked = looked || (inst.fp.checked && less);
      return result = Bits::of(less), true;
    }
    const auto gives = [&](float value) {
      const bool nan = std::isnan(value);
      return result = Bits::of(nan ? 0x7fffffffu : std::bit_cast<std::uint32_t>(value)), true;
    };
    const auto in = [&](unsigned i) { return number(args[i]); };
    switch (inst.op) {
      case Op::fcvt:
      case Op::native_from_u: return gives(static_cast<float>(args[0].w[0]));
      case Op::native_fadd: return gives(in(0) + in(1));
      case Op::native_fsub: return gives(in(0) - in(1));
      case Op::native_fmul: return gives(in(0) * in(1));
      case Op::native_ffma:
        own = true;
        return gives(flushed(std::fma(flushed(in(0)), flushed(in(1)), flushed(in(2)))));
      case Op::native_flt: return result = Bits::of(flushed(in(0)) < flushed(in(1))), true;
      default: break;
    }
    if (!float_operation(f, inst, args, result)) return false;
    if (inst.fp.sat)
      result =
          Bits::of(std::bit_cast<std::uint32_t>(std::fmin(std::fmax(number(result), 0.0f), 1.0f)));
    return true;
  };
  options.library = [&](std::string_view name, std::span<const Bits> args, Bits& result) {
    again = true;
    const float value = std::fma(number(args[0]), number(args[1]), number(args[2]));
    result = Bits::of(std::isnan(value) ? 0x7fffffffu : std::bit_cast<std::uint32_t>(value));
    return name == "f32_fma_rn_fused";
  };
  memory.of(Space::shared).resize(8);
  EXPECT_EQ(p.run(memory, options).error, "");
  if (ways) {
    ways->native += own && !looked;
    ways->looked_at += looked && !again;
    ways->repeated += again;
  }
  return {word(memory, Space::global, 0), word(memory, Space::global, 4),
          word(memory, Space::global, 8)};
}

/// Words of every kind, or such that sums and products are near the least normal number.
class Operands {
 public:
  void draw(unsigned round, std::span<std::uint32_t> words) {
    for (std::uint32_t& each : words) {
      const std::uint32_t random = static_cast<std::uint32_t>(rng_());
      const std::uint32_t sign = random & 0x80000000u, fraction = random & 0x7fffffu;
      const unsigned pick = random >> 24 & 0x7f;
      switch (round % 5) {
        case 0: each = kKinds[pick % std::size(kKinds)]; break;
        case 1: each = sign | (127 - pick % 8) << 23 | fraction; break;
        case 2: each = pick % 4 ? sign | (127 - pick % 8) << 23 | fraction : sign; break;
        case 3: each = sign | (64 - pick % 8) << 23 | (pick & 64 ? fraction : 0); break;
        default: each = sign | (pick % 8 ? (pick * 2) << 23 : 0) | fraction; break;
      }
    }
  }

 private:
  static constexpr std::uint32_t kKinds[] = {
      0,          0x80000000u, 1,          0x807fffffu, 0x00800000, 0x01000001,
      0x3f800000, 0xbf800001,  0x20000000, 0x7f7fffff,  0x7f800000, 0xff800000u,
      0x7fc12345, 0x42280000,  0x0d123456, 0x33800000,  0xbf800000, 0x007fffff};
  std::mt19937 rng_{7};
};

TEST(CheckedFma, results_are_exact_whatever_the_operands_are) {
  for (const char* text : {kForce, kDot}) {
    const Structured before(line(text));
    Structured after(line(text));
    ASSERT_TRUE(transform(after)) << print(after.f, after.m);
    Operands operands;
    Ways ways;
    for (unsigned round = 0; round < 4000; ++round) {
      std::uint32_t words[8];
      operands.draw(round, words);
      ASSERT_EQ(results(before, words), results(after, words, &ways)) << text << round;
    }
    EXPECT_GT(ways.native, 200u) << text;
    EXPECT_GT(ways.looked_at, 200u) << text;
    EXPECT_GT(ways.repeated, 200u) << text;
  }
}

// Were a check left out, or the repetition behind it, the test before would see it.
TEST(CheckedFma, each_check_is_needed) {
  for (const unsigned dropped : {0u, 1u}) {
    const Structured before(line(kDot));
    Structured after(line(kDot));
    ASSERT_TRUE(transform(after));
    unsigned branches = 0;
    const Value never = Builder(after.f).i1(false);
    after.f.blocks[0].insts.insert(after.f.blocks[0].insts.begin(), never);
    for (Block& block : after.f.blocks)
      if (block.term == Term::cond_br && branches++ == dropped) block.cond = never;
    EXPECT_EQ(branches, 2u);
    Operands operands;
    unsigned wrong = 0;
    for (unsigned round = 0; round < 4000; ++round) {
      std::uint32_t words[8];
      operands.draw(round, words);
      wrong += results(before, words) != results(after, words);
    }
    EXPECT_GT(wrong, 20u) << dropped;
  }
}

/// Sums, products and fma of each other and of `values`, with a store and a load among them.
std::string random_operations(std::mt19937& rng, std::vector<unsigned>& values, bool memory) {
  const auto any = [&] {
    // What was made last is taken most.
    const auto back = std::min<std::size_t>(rng() % 12, values.size() - 1);
    return " %" + std::to_string(values[values.size() - 1 - back]);
  };
  std::string text;
  unsigned next = 100;
  for (unsigned left = 4 + rng() % (memory ? 30 : 8); left > 0; --left) {
    const std::string made = "  %" + std::to_string(next) + " = ";
    switch (rng() % (memory ? 10 : 9) + (memory ? 0 : 1)) {
      case 1: text += made + "fmul i32 fp=f32,rn" + any() + any() + "\n"; break;
      case 2: text += made + "fadd i32 fp=f32,rn" + any() + any() + "\n"; break;
      case 3: text += made + "xor_ i32" + any() + " %4\n"; break;
      case 0: {
        if (rng() % 2) text += "  store mem=global,4 %3" + any() + "\n";
        text += made + "load i32 mem=global,4 %3\n";
        break;
      }
      default: text += made + "ffma i32 fp=f32,rn" + any() + any() + any() + "\n"; break;
    }
    values.push_back(next++);
  }
  return text;
}

std::string random_line(std::mt19937& rng) {
  std::vector<unsigned> values{2, 10, 11, 12, 13, 14, 15, 16, 17};
  const std::string text = "  %3 = constant i64 0x100000008\n  %4 = constant i32 0x80000000\n" +
                           random_operations(rng, values, true);
  const auto value = [&](std::size_t back) {
    return " %" + std::to_string(values[values.size() - back]);
  };
  return text + "  %50 = xor_ i32" + value(1) + " %4\n  %51 = xor_ i32" + value(2) + value(3) +
         "\n";
}

/// Three numbers that come around, of which one begins with 0, and five from before the loop; of
/// `known` ones all are integers converted, two through shared memory, or zero or 2^-70.
std::string random_loop(std::mt19937& rng, bool known = false) {
  std::string text =
      "\nb0:\n  %1 = constant i32 0x0\n  %2 = constant i32 0x1\n"
      "  %3 = constant i64 0x100000000\n  %4 = constant i32 0x80000000\n"
      "  %5 = constant i64 0x100000004\n  %6 = constant i32 0x5\n";
  for (unsigned i = 0; i < 7; ++i) {
    const std::string at = std::to_string(30 + i);
    text += "  %" + at + " = constant i32 " + std::to_string(4 * i) + "\n  %" +
            std::to_string(10 + i) + " = load i32 mem=param,4,readonly %" + at + "\n";
  }
  std::vector<unsigned> values{12, 13, 14, 15, 16, 20, 21, 22};
  if (known) {
    for (unsigned i = 0; i < 7; ++i)
      text += "  %" + std::to_string(60 + i) + " = fcvt i32 fp=u32,to:f32,rn %" +
              std::to_string(10 + i) + "\n";
    text +=
        "  store mem=shared,4 %1 %65\n  store mem=shared,4 %31 %66\n"
        "  %67 = load i32 mem=shared,4 %31\n  %68 = load i32 mem=shared,4 %1\n"
        "  %69 = constant i32 0x1c800000\n";
    values = {62, 63, 64, 67, 68, 69, 1, 20, 21, 22};
  }
  const std::string body = random_operations(rng, values, false);
  const auto last = [&](std::size_t back) {
    return " %" + std::to_string(values[values.size() - back]);
  };
  // Either way on may have a block of its own.
  const char* const end = rng() % 2 ? "b2 b5\nb5:\n  br b3\n" : "b5 b3\nb5:\n  br b2\n";
  const std::string first = known ? "%60" : "%10", second = known ? "%61" : "%11";
  return text + "  br b1\nb1:\n  %20 = phi i32 " + first + last(1) + "\n  %21 = phi i32 " + second +
         last(2) + "\n  %22 = phi i32 %1" + last(3) +
         "\n  %23 = phi i32 %1 %24\n  loop b3 b2\n  br b4\nb4:\n" + body +
         "  %24 = add i32 %23 %2\n  %25 = ult i1 %24 %6\n  merge b5\n  cond_br %25 " + end +
         "b2:\n  br b1\nb3:\n  store mem=global,4 %3" + last(1) + "\n  store mem=global,4 %5" +
         last(2) + "\n  exit\n";
}

TEST(CheckedFma, random_lines_give_what_they_gave) {
  std::mt19937 rng(11);
  Operands operands;
  Ways ways;
  unsigned transformed = 0;
  for (unsigned program = 0; program < 150; ++program) {
    const std::string text = line(random_line(rng));
    const Structured before(text);
    Structured after(text);
    transformed += transform(after);
    // What needs no check is the device's own as well.
    Structured legal(text);
    transform(legal);
    legalise(legal);
    for (unsigned round = 0; round < 50; ++round) {
      std::uint32_t words[8];
      operands.draw(round, words);
      const auto want = results(before, words);
      ASSERT_EQ(want, results(after, words, &ways)) << text << print(after.f, after.m);
      ASSERT_EQ(want, results(legal, words)) << text << print(legal.f, legal.m);
    }
  }
  EXPECT_GT(transformed, 100u);
  EXPECT_GT(ways.native, 300u);
  EXPECT_GT(ways.looked_at, 300u);
  EXPECT_GT(ways.repeated, 300u);
}

// A sum of two values that a line checks is known in that line alone.
TEST(CheckedFma, the_next_line_does_not_rest_on_checks_of_the_last_one) {
  const std::string text = line(R"(  %3 = constant i64 0x100000008
  %41 = ffma i32 fp=f32,rn %10 %11 %12
  %40 = fadd i32 fp=f32,rn %10 %11
  store mem=global,4 %3 %41
  %42 = load i32 mem=global,4 %3
  %50 = ffma i32 fp=f32,rn %40 %13 %42
  %51 = ffma i32 fp=f32,rn %40 %14 %15
)");
  const Structured before(text);
  Structured after(text);
  ASSERT_TRUE(transform(after));
  // The sum is a denormal.
  const std::uint32_t words[8] = {0x00c00000, 0x80800000, 0x3f800000, 0x7e800000,
                                  0x7e800000, 0x3f800000, 0,          0};
  EXPECT_EQ(results(before, words), results(after, words)) << print(after.f, after.m);
}

TEST(CheckedFma, a_chain_needs_one_check_of_its_addend_and_constants_none) {
  Structured chain(line(R"(  %40 = ffma i32 fp=f32,rn %10 %2 %11
  %41 = ffma i32 fp=f32,rn %12 %2 %40
  %42 = ffma i32 fp=f32,rn %13 %2 %41
  %50 = ffma i32 fp=f32,rn %14 %2 %42
  %51 = ffma i32 fp=f32,rn %10 %2 %2
)"));
  ASSERT_TRUE(transform(chain));
  EXPECT_EQ(chain.count(Op::flt), 5u) << print(chain.f, chain.m);
  legalise(chain);
  // The last one is the device's own, outside.
  EXPECT_EQ(chain.count(Op::native_ffma), 5u) << print(chain.f, chain.m);
}

/// Both functions give the same for 2,000 draws of so many words.
template <unsigned Words>
void expect_same(const Structured& before, const Structured& after) {
  Operands operands;
  for (unsigned round = 0; round < 2000; ++round) {
    std::uint32_t words[Words];
    operands.draw(round, words);
    ASSERT_EQ(results(before, words), results(after, words)) << round;
  }
}

// Of x x, of polynomials of it with constants that are no denormals, and of their values added to x
// times them: a denormal factor has a small one beside it.
TEST(CheckedFma, a_polynomial_needs_no_check_and_its_product_with_the_operand_one) {
  const std::string polynomial = R"(  %3 = constant i32 0x3c80f082
  %4 = constant i32 0xbd563cae
  %5 = constant i32 0x80000000
  %6 = constant i32 0x1d000000
  %40 = fmul i32 fp=f32,rn %10 %10
  %41 = ffma i32 fp=f32,rn %40 %3 %4
  %42 = xor_ i32 %40 %5
  %43 = ffma i32 fp=f32,rn %41 %42 %2
  %44 = xor_ i32 %43 %5
  %45 = ffma i32 fp=f32,rn %40 %44 %6
  %50 = ffma i32 fp=f32,rn %45 %40 %2
)";
  for (const bool product : {false, true}) {
    const std::string text = line(polynomial + (product ? "  %51 = ffma i32 fp=f32,rn %10 %50 %10\n"
                                                        : "  %51 = xor_ i32 %50 %5\n"));
    const Structured before(text);
    Structured after(text);
    EXPECT_EQ(transform(after), product);
    EXPECT_EQ(after.count(Op::flt), product ? 1u : 0u) << print(after.f, after.m);
    legalise(after);
    EXPECT_EQ(after.has(Op::library), product) << print(after.f, after.m);
    Operands operands;
    for (unsigned round = 0; round < 4000; ++round) {
      std::uint32_t words[8];
      operands.draw(round, words);
      // Denormals of x x, and x beside infinities.
      if (round % 2) words[0] = (words[0] & 0x807fffff) | (0x1f + round % 4) << 24;
      ASSERT_EQ(results(before, words), results(after, words)) << std::hex << words[0];
    }
  }
}

// Two polynomials of which each coefficient is selected: none is small.
TEST(CheckedFma, selected_constants_are_constants) {
  const std::string text = line(R"(  %3 = constant i32 0x3c80f082
  %4 = constant i32 0xbd563cae
  %5 = constant i32 0x40000000
  %40 = flt i1 fp=f32,rn %2 %11
  %41 = select i32 %40 %3 %4
  %42 = select i32 %40 %4 %5
  %43 = ffma i32 fp=f32,rn %10 %41 %42
  %50 = ffma i32 fp=f32,rn %43 %10 %41
  %44 = fadd i32 fp=f32,rn %12 %42
  %51 = ffma i32 fp=f32,rn %44 %44 %41
)");
  const Structured before(text);
  Structured after(text);
  EXPECT_FALSE(transform(after)) << print(after.f, after.m);
  legalise(after);
  EXPECT_FALSE(after.has(Op::library)) << print(after.f, after.m);
  expect_same<8>(before, after);
  // One of them is a denormal.
  const std::string small = "  %6 = constant i32 0x1\n  %7 = select i32 %40 %3 %6\n";
  Structured needs(line("  %3 = constant i32 0x3c80f082\n  %40 = flt i1 fp=f32,rn %2 %11\n" +
                        small + "  %50 = ffma i32 fp=f32,rn %10 %3 %7\n  %51 = xor_ i32 %50 %3\n"));
  EXPECT_TRUE(transform(needs));
}

// An infinity that is a factor and the addend is no factor of a denormal's.
TEST(CheckedFma, a_factor_that_is_added_to_its_product_needs_one_beside_it_that_is_no_denormal) {
  const std::string text =
      line("  %50 = ffma i32 fp=f32,rn %10 %11 %10\n  %51 = ffma i32 fp=f32,rn %12 %13 %13\n");
  const Structured before(text);
  Structured after(text);
  ASSERT_TRUE(transform(after));
  EXPECT_EQ(after.count(Op::flt), 4u) << print(after.f, after.m);
  expect_same<8>(before, after);
  const std::uint32_t words[8] = {0x7f800000, 1, 0x80000001, 0xff800000};
  EXPECT_EQ(results(before, words), results(after, words)) << print(after.f, after.m);
}

/// A sum of products in a loop: the factors come from shared memory, which has integers converted,
/// and with `unknown` another word.
std::string tile(bool unknown) {
  return std::string(R"(
b0:
  %1 = constant i32 0x0
  %2 = constant i32 0x4
  %3 = constant i64 0x100000000
  %4 = load i32 mem=param,4,readonly %1
  %5 = load i32 mem=param,4,readonly %2
  %6 = constant i32 0x1
  %7 = fcvt i32 fp=u32,to:f32,rn %4
  %8 = compose v2 %7 %1
  %9 = constant i32 0x8
  store mem=shared,4 %1 %7
)") + (unknown ? "  store mem=shared,4 %2 %5\n" : "") +
         R"(  store mem=shared,8 %9 %8
  control_barrier
  br b1
b1:
  %10 = phi i32 %1 %15
  %11 = phi i32 %1 %16
  %12 = load i32 mem=shared,4 %2
  %13 = load v2 mem=shared,8 %9
  %14 = extract i32 %13
  %15 = ffma i32 fp=f32,rn %12 %14 %10
  %16 = add i32 %11 %6
  %17 = ult i1 %16 %2
  loop b3 b2
  cond_br %17 b2 b3
b2:
  br b1
b3:
  store mem=global,4 %3 %15
  exit
)";
}

TEST(CheckedFma, words_of_shared_memory_are_what_was_stored_there) {
  for (const bool unknown : {false, true}) {
    const Structured before(tile(unknown));
    Structured after(tile(unknown));
    EXPECT_EQ(transform(after), unknown) << print(after.f, after.m);
    passes::legalise_float(after.f, after.m, {.profile = losing()});
    after.expect_valid();
    EXPECT_EQ(after.has(Op::library), unknown) << print(after.f, after.m);
  }
}

TEST(CheckedFma, a_product_with_a_small_constant_leaves_no_check_behind) {
  const std::string text = line(R"(  %3 = constant i32 0x1c812345
  %50 = ffma i32 fp=f32,rn %10 %11 %12
  %41 = fadd i32 fp=f32,rn %50 %13
  %51 = ffma i32 fp=f32,rn %41 %3 %14
)");
  const Structured before(text);
  Structured after(text);
  ASSERT_TRUE(transform(after)) << print(after.f, after.m);
  EXPECT_EQ(after.count(Op::flt), 3u) << print(after.f, after.m);
  expect_same<8>(before, after);
}

TEST(CheckedFma, a_product_with_zero_needs_no_check) {
  Structured sum(line(R"(  %3 = constant i32 0x0
  %40 = ffma i32 fp=f32,rn %10 %3 %2
  %41 = fmul i32 fp=f32,rn %11 %3
  %50 = ffma i32 fp=f32,rn %12 %3 %41
  %51 = ffma i32 fp=f32,rn %50 %50 %40
)"));
  EXPECT_FALSE(transform(sum)) << print(sum.f, sum.m);
}

TEST(CheckedFma, what_comes_to_a_loop_around_it_is_what_came_before) {
  const std::string text = R"(
b0:
  %1 = constant i32 0x0
  %2 = constant i32 0x4
  %3 = constant i64 0x100000000
  %4 = load i32 mem=param,4,readonly %1
  %5 = load i32 mem=param,4,readonly %2
  %6 = constant i32 0x1
  br b1
b1:
  %10 = phi i32 %4 %12
  %11 = phi i32 %1 %13
  %12 = ffma i32 fp=f32,rn %10 %5 %4
  %13 = add i32 %11 %6
  %14 = ult i1 %13 %2
  loop b3 b2
  cond_br %14 b2 b3
b2:
  br b1
b3:
  store mem=global,4 %3 %12
  exit
)";
  const Structured before(text);
  Structured after(text);
  ASSERT_TRUE(transform(after)) << print(after.f, after.m);
  expect_same<2>(before, after);
}

/// Sums of products around a loop, from eight words of memory; what a sum starts as, and its
/// factor.
std::string sums(const std::string& start, const std::string& factor) {
  return R"(
b0:
  %1 = constant i32 0x0
  %2 = constant i32 0x4
  %3 = constant i64 0x100000000
  %4 = constant i32 0x1
  %5 = constant i32 0x2
  %6 = constant i64 0x100000004
  %7 = load i32 mem=param,4,readonly %1
  br b1
b1:
  %10 = phi i32 )" +
         start + R"( %22
  %11 = phi i32 %1 %16
  %30 = phi i32 %1 %32
  %31 = phi i32 %1 %33
  %12 = shl i32 %11 %5
  %13 = load i32 mem=param,4,readonly %12
  %14 = add i32 %12 %2
  %15 = load i32 mem=param,4,readonly %14
  %20 = ffma i32 fp=f32,rn %13 %15 %10
  store mem=global,4 %6 %20
  %21 = fadd i32 fp=f32,rn %20 %20
  %22 = ffma i32 fp=f32,rn %15 )" +
         factor + R"( %21
  %32 = ffma i32 fp=f32,rn %13 %15 %30
  %33 = ffma i32 fp=f32,rn %13 %13 %31
  %16 = add i32 %11 %4
  %17 = ult i1 %16 %2
  loop b3 b2
  cond_br %17 b2 b3
b2:
  br b1
b3:
  store mem=global,4 %3 %22
  %34 = xor_ i32 %32 %33
  %35 = constant i64 0x100000008
  store mem=global,4 %35 %34
  exit
)";
}

TEST(CheckedFma, sums_around_a_loop_are_checked_where_they_were_repeated) {
  const auto checks = [](const std::string& text) {
    const Structured before(text);
    Structured after(text);
    EXPECT_TRUE(transform(after)) << print(after.f, after.m);
    expect_same<8>(before, after);
    return after.count(Op::flt);
  };
  // The factors alone, a sum that is one too; all where that would not save half of the checks.
  EXPECT_EQ(checks(sums("%1", "%13")), 2u);
  EXPECT_EQ(checks(sums("%1", "%20")), 3u);
  EXPECT_EQ(checks(sums("%7", "%13")), 5u);
}

TEST(CheckedFma, many_results_are_chosen_behind_their_checks) {
  std::string text, last = "%10";
  for (unsigned i = 0; i < 14; ++i)
    text += fmt::format("  %{} = ffma i32 fp=f32,rn %{} %{} %{}\n", 60 + i, 10 + i % 4, 14 + i % 3,
                        10 + i / 4);
  for (unsigned i = 0; i < 14; ++i, last = fmt::format("%{}", 79 + i))
    text += fmt::format("  %{} = xor_ i32 {} %{}\n", 80 + i, last, 60 + i);
  text = line(text + "  %50 = add i32 %93 %2\n  %51 = sub i32 %93 %60\n");
  const Structured before(text);
  Structured after(text);
  ASSERT_TRUE(transform(after));
  for (const Block& block : after.f.blocks)
    for (const Value v : block.insts)
      EXPECT_FALSE(block.merge == Merge::selection && after.f.insts[v].op == Op::ffma)
          << print(after.f, after.m);
  Ways ways;
  Operands operands;
  for (unsigned round = 0; round < 2000; ++round) {
    std::uint32_t words[8];
    operands.draw(round, words);
    ASSERT_EQ(results(before, words), results(after, words, &ways)) << round;
  }
  EXPECT_GT(ways.native, 100u);
  EXPECT_GT(ways.looked_at, 10u);
  EXPECT_GT(ways.repeated, 100u);
}

/// z = z^2 + c with two exits, and a sum of products beside it, from eight words of memory.
const char* const kLoop = R"(
b0:
  %1 = constant i32 0x0
  %2 = constant i32 0x4
  %3 = constant i64 0x100000000
  %4 = load i32 mem=param,4,readonly %1
  %5 = load i32 mem=param,4,readonly %2
  %6 = constant i32 0x1
  %7 = constant i32 0x40800000
  %8 = constant i32 0x80000000
  %9 = constant i32 0x8
  %30 = load i32 mem=param,4,readonly %9
  br b1
b1:
  %10 = phi i32 %1 %19
  %11 = phi i32 %1 %16
  %12 = phi i32 %1 %21
  %22 = phi i32 %30 %23
  loop b6 b5
  br b2
b2:
  %13 = fmul i32 fp=f32,rn %10 %10
  %14 = fmul i32 fp=f32,rn %11 %11
  %15 = fadd i32 fp=f32,rn %13 %14
  %25 = flt i1 fp=f32 %7 %15
  merge b4
  cond_br %25 b3 b4
b3:
  br b6
b4:
  %26 = fadd i32 fp=f32,rn %10 %10
  %16 = ffma i32 fp=f32,rn %26 %11 %5
  %17 = xor_ i32 %14 %8
  %18 = fadd i32 fp=f32,rn %13 %17
  %19 = fadd i32 fp=f32,rn %18 %4
  %23 = ffma i32 fp=f32,rn %5 %4 %22
  %21 = add i32 %12 %6
  %27 = ult i1 %21 %9
  merge b7
  cond_br %27 b5 b7
b7:
  br b6
b5:
  br b1
b6:
  %40 = phi i32 %10 %19
  %41 = phi i32 %11 %23
  %42 = constant i64 0x100000004
  store mem=global,4 %3 %40
  store mem=global,4 %42 %41
  %43 = constant i64 0x100000008
  store mem=global,4 %43 %12
  exit
)";

/// Whether it is a check of a value from before a loop, which zeros pass.
bool is_check_before_loop(const Function& f, Value v) {
  return f.insts[v].op == Op::ult && f.insts[f.arg(v, 0)].op == Op::sub;
}
unsigned checks_before_loops(const Function& f) {
  unsigned count = 0;
  for (const Block& block : f.blocks)
    for (const Value v : block.insts) count += is_check_before_loop(f, v);
  return count;
}

TEST(CheckedFma, a_loop_runs_natively_and_again_where_a_check_fails) {
  const Structured before(kLoop);
  Structured once(kLoop);
  const Profile profile = losing();
  ASSERT_TRUE(passes::checked_loops(once.f, once.m, {.profile = profile}));
  once.expect_valid();
  EXPECT_EQ(once.count(Op::ffma), 4u) << print(once.f, once.m);
  Structured both(kLoop);
  passes::checked_loops(both.f, both.m, {.profile = profile});
  ASSERT_TRUE(transform(both));
  // Two factors that come around, and before the loop two factors and two addends.
  EXPECT_EQ(once.count(Op::flt), 2u + 2) << print(once.f, once.m);
  EXPECT_EQ(checks_before_loops(once.f), 3u) << print(once.f, once.m);
  Operands operands;
  Ways ways;
  unsigned wrong = 0;
  Structured unchecked(kLoop);
  passes::checked_loops(unchecked.f, unchecked.m, {.profile = profile});
  const Value none = Builder(unchecked.f).i32(0);
  unchecked.f.blocks[0].insts.insert(unchecked.f.blocks[0].insts.begin(), none);
  for (Block& block : unchecked.f.blocks)
    for (const Value v : block.insts)
      if ((unchecked.f.insts[v].op == Op::flt && unchecked.f.insts[v].fp.checked) ||
          is_check_before_loop(unchecked.f, v))
        unchecked.f.args(v)[1] = none;
  for (unsigned round = 0; round < 3000; ++round) {
    std::uint32_t words[3];
    operands.draw(round, words);
    const auto want = results(before, words);
    ASSERT_EQ(want, results(once, words)) << round;
    ASSERT_EQ(want, results(both, words, &ways)) << round;
    wrong += want != results(unchecked, words);
  }
  EXPECT_GT(ways.native, 500u);
  EXPECT_GT(ways.repeated, 100u);
  EXPECT_GT(wrong, 20u) << "checks that are left out are missed";
}

TEST(CheckedFma, a_loop_makes_no_check_that_follows_from_others) {
  const std::string force = kForce;
  std::string body = force.substr(0, force.find("  %50"));
  body += "  %46 = ffma i32 fp=f32,rn %40 %45 %20\n  %47 = ffma i32 fp=f32,rn %41 %45 %21\n";
  const std::string head = line("").substr(0, line("").find("  %49"));
  const std::string text =
      head + "  %3 = constant i32 0x0\n  %4 = constant i32 0x1\n  br b1\nb1:\n" +
      "  %20 = phi i32 %15 %46\n  %21 = phi i32 %16 %47\n  %23 = phi i32 %3 %24\n" +
      "  loop b3 b2\n  br b4\nb4:\n" + body +
      "  %24 = add i32 %23 %4\n  %25 = ult i1 %24 %30\n  merge b5\n  cond_br %25 b5 b3\n" +
      "b5:\n  br b2\nb2:\n  br b1\nb3:\n  store mem=global,4 %1 %46\n  exit\n";
  Structured p(text);
  const Profile profile = losing();
  ASSERT_TRUE(passes::checked_loops(p.f, p.m, {.profile = profile})) << text;
  p.expect_valid();
  // The factors of the sums, not the square of one; and the sums before the loop.
  EXPECT_EQ(p.count(Op::flt), 3u) << print(p.f, p.m);
  EXPECT_EQ(checks_before_loops(p.f), 2u) << print(p.f, p.m);
}

TEST(CheckedFma, random_loops_give_what_they_gave) {
  std::mt19937 rng(12);
  Operands operands;
  Ways ways;
  unsigned twice = 0;
  const Profile profile = losing();
  for (unsigned program = 0; program < 100; ++program) {
    const std::string text = random_loop(rng);
    const Structured before(text);
    Structured after(text);
    twice += passes::checked_loops(after.f, after.m, {.profile = profile});
    transform(after);
    for (unsigned round = 0; round < 40; ++round) {
      std::uint32_t words[7];
      operands.draw(round, words);
      ASSERT_EQ(results(before, words), results(after, words, &ways))
          << text << print(after.f, after.m);
    }
  }
  EXPECT_GT(twice, 50u);
  EXPECT_GT(ways.native, 100u);
  EXPECT_GT(ways.repeated, 100u);
}

TEST(CheckedFma, what_is_known_of_loops_and_shared_memory_is_so) {
  std::mt19937 rng(13);
  Operands operands;
  Ways ways;
  unsigned known = 0;
  for (unsigned program = 0; program < 200; ++program) {
    const std::string text = random_loop(rng, true);
    const Structured before(text);
    Structured after(text);
    passes::checked_loops(after.f, after.m, {.profile = losing()});
    const bool checks = transform(after);
    passes::legalise_float(after.f, after.m, {.profile = losing()});
    known += !checks && after.count(Op::native_ffma) > 2 && !after.has(Op::library);
    for (unsigned round = 0; round < 40; ++round) {
      std::uint32_t words[7];
      operands.draw(round, words);
      ASSERT_EQ(results(before, words), results(after, words, &ways))
          << text << print(after.f, after.m);
    }
  }
  EXPECT_GT(known, 10u);
  EXPECT_GT(ways.native, 1000u);
}

TEST(CheckedFma, devices_that_have_no_need_or_no_fma_keep_what_they_have) {
  for (const char* name : {"lavapipe", "swiftshader", "portable"}) {
    Structured p(line(kDot));
    const Profile profile = *find_profile(name);
    EXPECT_FALSE(passes::checked_fma(p.f, p.m, {.profile = profile})) << name;
  }
  Profile profile = losing();
  Structured fast(line(kDot));
  EXPECT_FALSE(passes::checked_fma(fast.f, fast.m, {.profile = profile, .fp = FpPolicy::fast}));
  profile.exactness.fma_denormals32 = true;
  EXPECT_FALSE(passes::checked_fma(fast.f, fast.m, {.profile = profile}));
}

}  // namespace
}  // namespace ptx2spv
