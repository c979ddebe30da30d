// Floats by operations that are NVIDIA's own.
#include <fmt/format.h>

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

Parsed legalised(const std::string& operation, const Profile& profile) {
  Parsed p(fmt::format(R"(
b0:
  %1 = constant i32 0x0
  %2 = constant i32 0x4
  %3 = load i32 mem=param,4,readonly %1
  %4 = load i32 mem=param,4,readonly %2
  %5 = {}
  store mem=slot,4 %1 %5
  exit
)",
                       operation));
  EXPECT_TRUE(passes::legalise_float(p.f, p.m, {.profile = profile}));
  p.expect_valid();
  return p;
}

TEST(LegaliseFloat,
     whole_numbers_and_the_lesser_of_two_are_the_devices_own_where_they_are_cvt_and_min) {
  const struct {
    const char* operation;
    Op own;
    std::size_t unary;
  } kCases[] = {{"fcvt i32 fp=f32,to:f32,rni %3", Op::native_unary, 1},
                {"fcvt i32 fp=f32,to:f32,rmi %3", Op::native_unary, 1},
                {"fcvt i32 fp=f32,to:s32,rzi %3", Op::native_to_s, 0},
                {"fcvt i32 fp=f32,to:s32,rni %3", Op::native_to_s, 1},
                {"fcvt i32 fp=f32,to:u32,rpi %3", Op::native_to_u, 1},
                {"fmin i32 fp=f32 %3 %4", Op::native_fmin, 0},
                {"fmax i32 fp=f32 %3 %4", Op::native_fmax, 0},
                {"fmin i32 fp=f32 %3 %1", Op::native_fmin, 0}};
  for (const auto& each : kCases)
    for (const bool own : {true, false}) {
      Profile profile = *find_profile("nvidia");
      profile.exactness.exact_round32 = profile.exactness.exact_min32 = own;
      const Parsed p = legalised(each.operation, profile);
      EXPECT_EQ(p.has(each.own), own) << each.operation;
      EXPECT_EQ(p.has(Op::library) || p.has(Op::select), !own) << each.operation;
      EXPECT_EQ(p.count(Op::native_unary), own ? each.unary : 0) << each.operation;
    }
  // A NaN that is to be propagated is not among them.
  EXPECT_TRUE(legalised("fmin i32 fp=f32,nan %3 %4", *find_profile("nvidia")).has(Op::library));
}

TEST(LegaliseFloat, saturation_is_the_devices_own_where_it_chooses_as_min_and_max) {
  for (const bool own : {true, false}) {
    Profile profile = *find_profile("nvidia");
    profile.exactness.exact_min32 = own;
    const Parsed p = legalised("fadd i32 fp=f32,sat %3 %4", profile);
    EXPECT_EQ(p.count(Op::native_fmax), own ? 1 : 0);
    EXPECT_EQ(p.count(Op::native_fmin), own ? 1 : 0);
    EXPECT_EQ(p.count(Op::umin), own ? 0 : 1);
  }
}

TEST(LegaliseFloat, what_is_chosen_or_rounded_is_a_nan_of_its_own_where_the_device_has_several) {
  for (const char* operation : {"fmax i32 fp=f32 %3 %4", "fcvt i32 fp=f32,to:f32,rzi %3"})
    for (const bool one : {true, false}) {
      Profile profile = *find_profile("nvidia");
      profile.exactness.canonical_nan32 = one;
      EXPECT_EQ(legalised(operation, profile).count(Op::select), one ? 0 : 1) << operation;
    }
}

// To the nearest and toward zero a denormal becomes the zero that it would be flushed to, and no
// whole number is one.
TEST(LegaliseFloat, conversions_to_whole_numbers_flush_what_would_become_one) {
  for (const char* to : {"f32", "s32", "u32"})
    for (const char* round : {"rni", "rzi", "rmi", "rpi"}) {
      const std::string operation = fmt::format("fcvt i32 fp=f32,to:{},{},ftz %3", to, round);
      const Parsed p = legalised(operation, *find_profile("nvidia"));
      EXPECT_EQ(p.count(Op::select), round[1] == 'm' || round[1] == 'p' ? 1 : 0) << operation;
    }
}

// A denormal beside it changes nothing, flushed or not: the nearest tie is further away.
TEST(LegaliseFloat, a_sum_with_a_product_of_constants_is_the_devices_own_unless_that_is_a_tie) {
  const struct {
    std::uint32_t a, b;
    bool own;
  } kCases[] = {{0x3f6ee581, 0x3fd774eb, true},    // half of pi, as atan2f has it
                {0xbf6ee581, 0x3fd774eb, true},    //
                {0x3f800001, 0x3fc00000, false},   // a tie
                {0x3f800000, 0x40000000, true},    // exact
                {0x1c800000, 0x1c800000, false},   // a small one
                {0x7f000000, 0x41000000, false}};  // an infinity
  std::mt19937 rng(1);
  for (const auto& each : kCases) {
    Parsed p(fmt::format(R"(
b0:
  %1 = constant i32 0x0
  %2 = constant i32 {:#x}
  %3 = constant i32 {:#x}
  %4 = load i32 mem=param,4,readonly %1
  %5 = ffma i32 fp=f32,rn %2 %3 %4
  store mem=slot,4 %1 %5
  exit
)",
                         each.a, each.b));
    EXPECT_TRUE(passes::legalise_float(p.f, p.m, {.profile = *find_profile("nvidia")}));
    p.expect_valid();
    EXPECT_EQ(p.has(Op::native_ffma), each.own) << std::hex << each.a;
    EXPECT_EQ(p.has(Op::library), !each.own) << std::hex << each.a;
    const float a = std::bit_cast<float>(each.a), b = std::bit_cast<float>(each.b);
    for (unsigned i = 0; each.own && i < 20000; ++i) {
      std::uint32_t c = static_cast<std::uint32_t>(rng());
      if (i % 3 == 0) c &= 0x807fffff;
      // What cancels with the product.
      if (i % 3 == 1) c = std::bit_cast<std::uint32_t>(-a * b) + c % 9 - 4;
      const float addend = std::bit_cast<float>(c);
      if (std::isnan(addend)) continue;
      ASSERT_EQ(flushed(std::fma(a, b, flushed(addend))), std::fma(a, b, addend)) << std::hex << c;
    }
  }
}

// Of a NaN beside itself there is nothing to choose, and one that is a result has its quiet bit.
TEST(LegaliseFloat, of_results_that_are_nan_the_upper_word_tells) {
  Parsed p(R"(
b0:
  %1 = constant i32 0x0
  %2 = constant i32 0x8
  %4 = load i64 mem=param,8,readonly %1
  %5 = load i64 mem=param,8,readonly %2
  %7 = fadd i64 fp=f64,rn %4 %5
  %8 = fadd i64 fp=f64,rn %4 %7
  %9 = fadd i64 fp=f64,rn %8 %8
  store mem=slot,8 %1 %9
  exit
)");
  Profile profile = *find_profile("nvidia");
  profile.exactness.second_nan64 = false;
  EXPECT_TRUE(passes::legalise_float(p.f, p.m, {.profile = profile}));
  p.expect_valid();
  EXPECT_EQ(p.count(Op::select), 2u);
  EXPECT_EQ(p.count(Op::high), 1u);
}

// Conversions of doubles likewise; to integers of 64 bits numbers beyond those have to be told from
// others, and truncation is the device's own everywhere.
TEST(LegaliseFloat, whole_numbers_of_doubles_are_the_devices_own_where_they_are_cvt) {
  const struct {
    const char* operation;
    Op own;
    bool everywhere;
  } kCases[] = {{"fcvt i64 fp=f64,to:f64,rmi %5", Op::native_unary, false},
                {"fcvt i32 fp=f64,to:s32,rni %5", Op::native_to_s, false},
                {"fcvt i32 fp=f64,to:u32,rzi %5", Op::native_to_u, false},
                {"fcvt i64 fp=f64,to:s64,rni %5", Op::native_to_s, false},
                {"fcvt i64 fp=f64,to:u64,rpi %5", Op::native_to_u, false},
                {"fcvt i64 fp=f64,to:s64,rzi %5", Op::native_to_s, true}};
  for (const auto& each : kCases)
    for (const bool own : {true, false}) {
      Profile profile = *find_profile("nvidia");
      profile.exactness.exact_round64 = own;
      Parsed p(
          fmt::format("b0:\n  %1 = constant i32 0x0\n"
                      "  %5 = load i64 mem=param,8,readonly %1\n  %6 = {}\n"
                      "  store mem=slot,{} %1 %6\n  exit\n",
                      each.operation, each.operation[6] == '6' ? 8 : 4));
      EXPECT_TRUE(passes::legalise_float(p.f, p.m, {.profile = profile}));
      p.expect_valid();
      EXPECT_EQ(p.has(each.own), own || each.everywhere) << each.operation;
      EXPECT_EQ(p.has(Op::library), !(own || each.everywhere)) << each.operation;
    }
}

// Roots of doubles where the inverse root is NVIDIA's: rounded to the nearest, also next to a tie.
TEST(LegaliseFloat, double_roots_by_an_inverse_root_are_rounded_to_the_nearest) {
  Parsed p(R"(
b0:
  %1 = constant i32 0x0
  %2 = load i64 mem=param,8,readonly %1
  %3 = fsqrt i64 fp=f64,rn %2
  store mem=slot,8 %1 %3
  exit
)");
  EXPECT_TRUE(passes::legalise_float(p.f, p.m, {.profile = *find_profile("nvidia")}));
  p.expect_valid();
  EXPECT_FALSE(p.has(Op::library) || p.has(Op::native_fsqrt)) << print(p.f, p.m);
  std::uint32_t off = 0;
  RunOptions options{.trace = false};
  options.operation = [&](const Function&, const Inst& inst, std::span<const Bits> args,
                          Bits& result) {
    const auto of = [&](std::size_t i) { return std::bit_cast<double>(args[i].u64()); };
    double value = 0;
    switch (inst.op) {
      case Op::native_unary: {
        const double x = std::bit_cast<float>(args[0].w[0]);
        const auto root = static_cast<float>(1 / std::sqrt(x));
        result = Bits::of(std::bit_cast<std::uint32_t>(root) + off);
        return true;
      }
      case Op::native_flt: result = Bits::of(of(0) < of(1)); return true;
      case Op::native_fadd: value = of(0) + of(1); break;
      case Op::native_fmul: value = of(0) * of(1); break;
      case Op::native_ffma: value = std::fma(of(0), of(1), of(2)); break;
      default: return false;
    }
    result = Bits::of(std::bit_cast<std::uint64_t>(value));
    return true;
  };
  Memory memory;
  memory.of(Space::slot).resize(8);
  const auto expect_root = [&](double x) {
    const double want = std::sqrt(x);
    for (const int ulps : {-2, 0, 2}) {
      off = static_cast<std::uint32_t>(ulps);
      put(memory, Space::param, 0, static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(x)));
      put(memory, Space::param, 4,
          static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(x) >> 32));
      ASSERT_EQ(p.run(memory, options).error, "");
      const std::uint64_t got =
          word(memory, Space::slot, 0) | std::uint64_t{word(memory, Space::slot, 4)} << 32;
      ASSERT_EQ(got, std::bit_cast<std::uint64_t>(want)) << fmt::format("{:a}, {}", x, ulps);
    }
  };
  constexpr std::uint64_t kEdges[] = {0x0000000000000000, 0x8000000000000000, 0x0000000000000001,
                                      0x000fffffffffffff, 0x0010000000000000, 0x035fffffffffffff,
                                      0x0360000000000000, 0x3fefffffffffffff, 0x3ff0000000000000,
                                      0x4010000000000000, 0x7fefffffffffffff, 0x7ff0000000000000,
                                      0x7ff8000000000123, 0xfff8000000000456, 0x8000000000000001,
                                      0xbff0000000000000, 0xfff0000000000000};
  for (const std::uint64_t x : kEdges) expect_root(std::bit_cast<double>(x));
  // A tie k * 2^-53 has k^2 = -j modulo 2^54 for a number j * 2^-106 beyond its square.
  constexpr std::uint64_t kTie = std::uint64_t{1} << 54;
  unsigned ties = 0;
  for (int j = -513; j <= 513; j += 2) {
    const auto square = static_cast<std::uint64_t>(-std::int64_t{j});
    if (square % 8 != 1) continue;
    std::uint64_t root = 1;
    for (unsigned bit = 3; bit < 56; ++bit)
      if ((root * root - square) >> bit & 1) root += std::uint64_t{1} << (bit - 1);
    for (const std::uint64_t k : {root, 0 - root, root + kTie / 2, kTie / 2 - root}) {
      const std::uint64_t odd = k % kTie;
      if (odd < kTie / 2) continue;
      // The whole number (odd^2 + j) / 2^54.
      const std::uint64_t top = odd >> 27, low = odd & ((1u << 27) - 1);
      const std::uint64_t middle = 2 * top * low + (low * low >> 27);
      const std::uint64_t whole = top * top + (middle >> 27) + (j > 0);
      const auto x = static_cast<double>(whole);
      if (static_cast<std::uint64_t>(x) != whole) continue;
      ++ties;
      expect_root(x), expect_root(std::ldexp(x, 970)), expect_root(std::ldexp(x, -1020));
    }
  }
  EXPECT_GT(ties, 100u);
  std::mt19937_64 rng(11);
  for (int i = 0; i < 3000; ++i)
    expect_root(std::bit_cast<double>(rng() >> 1 & ~(std::uint64_t{1} << 62)));
}

// A sum rounds; signs are taken for bits above all others.
TEST(LegaliseFloat, integers_of_64_bits_become_doubles_by_one_sum) {
  constexpr std::uint64_t kNumbers[] = {
      0,          1,          0x1fffffffffffff,   0x20000000000001,   0x20000000000003,
      0xffffffff, 1ull << 32, 0x7fffffffffffffff, 0xfffffffffffffbff, 0xfffffffffffffc00,
      ~0ull,      1ull << 63, 0x8000000000000400, 0x8000000000000401, 0xffdfffffffffffff};
  for (const bool with_sign : {true, false}) {
    Parsed p(
        fmt::format("b0:\n  %1 = constant i32 0x0\n"
                    "  %5 = load i64 mem=param,8,readonly %1\n"
                    "  %6 = fcvt i64 fp={},to:f64,rn %5\n"
                    "  store mem=slot,8 %1 %6\n  exit\n",
                    with_sign ? "s64" : "u64"));
    EXPECT_TRUE(passes::legalise_float(p.f, p.m, {.profile = *find_profile("nvidia")}));
    p.expect_valid();
    EXPECT_FALSE(p.has(Op::library)) << print(p.f, p.m);
    RunOptions options{.trace = false};
    options.operation = [&](const Function&, const Inst& inst, std::span<const Bits> args,
                            Bits& result) {
      if (inst.op != Op::native_fadd && inst.op != Op::native_fsub) return false;
      const auto x = std::bit_cast<double>(args[0].u64()), y = std::bit_cast<double>(args[1].u64());
      result = Bits::of(std::bit_cast<std::uint64_t>(inst.op == Op::native_fadd ? x + y : x - y));
      return true;
    };
    Memory memory;
    memory.of(Space::slot).resize(8);
    for (const std::uint64_t n : kNumbers) {
      put(memory, Space::param, 0, static_cast<std::uint32_t>(n));
      put(memory, Space::param, 4, static_cast<std::uint32_t>(n >> 32));
      ASSERT_EQ(p.run(memory, options).error, "");
      const std::uint64_t got =
          word(memory, Space::slot, 0) | std::uint64_t{word(memory, Space::slot, 4)} << 32;
      const double want =
          with_sign ? static_cast<double>(static_cast<std::int64_t>(n)) : static_cast<double>(n);
      EXPECT_EQ(got, std::bit_cast<std::uint64_t>(want)) << n;
    }
  }
}

/// The selections that legalising adds to `operations` where the device chooses the first of two
/// NaN. %4 and %5 are doubles, %3 is 3, %6 to %9 are parts of doubles.
std::size_t selections_added(const std::string& operations) {
  Parsed p(R"(
b0:
  %1 = constant i32 0x0
  %2 = constant i32 0x8
  %3 = constant i64 0x4008000000000000
  %4 = load i64 mem=param,8,readonly %1
  %5 = load i64 mem=param,8,readonly %2
  %6 = constant i64 0x8000000000000000
  %7 = constant i64 0x8000000000000
  %8 = constant i64 0x7fffffffffffffff
  %9 = constant i64 0x7ff0000000000000
)" + operations);
  const std::size_t before = p.count(Op::select);
  Profile profile = *find_profile("nvidia");
  // Roots by the inverse root have selections of their own.
  profile.exactness.native_approx = false;
  profile.exactness.second_nan64 = false;
  EXPECT_TRUE(passes::legalise_float(p.f, p.m, {.profile = profile}));
  p.expect_valid();
  return p.count(Op::select) - before;
}

// Two values that are NaN only together have the same one.
TEST(LegaliseFloat, between_nan_of_one_value_there_is_nothing_to_choose) {
  const struct {
    const char* of;  ///< what makes %20 and %21
    std::size_t chosen;
  } kCases[] = {
      // A polynomial, and less its variable, with and without its sign.
      {"%10 = fmul i64 fp=f64,rn %4 %3\n  %11 = fadd i64 fp=f64,rn %10 %3\n"
       "  %20 = fmul i64 fp=f64,rn %11 %4\n  %21 = fadd i64 fp=f64,rn %20 %4",
       0},
      {"%10 = fmul i64 fp=f64,rn %4 %3\n  %11 = xor_ i64 %10 %6\n  %12 = or_ i64 %10 %7\n"
       "  %13 = and_ i64 %10 %8\n  %14 = ult i1 %9 %13\n  %20 = select i64 %14 %12 %11\n"
       "  %21 = fadd i64 fp=f64,rn %20 %4",
       0},
      {"%10 = fsqrt i64 fp=f64,rn %4\n  %20 = fdiv i64 fp=f64,rn %10 %4\n"
       "  %21 = fadd i64 fp=f64,rn %20 %4",
       0},
      // Sign changes that are none of a NaN.
      {"%20 = xor_ i64 %4 %6\n  %21 = fadd i64 fp=f64,rn %20 %4", 1},
      // Another value, also one that is made of the first, and what only one side has.
      {"%20 = fmul i64 fp=f64,rn %4 %3\n  %21 = fadd i64 fp=f64,rn %20 %5", 1},
      {"%10 = trunc i32 %4\n  %11 = high i32 %4\n  %20 = pack i64 %11 %10\n"
       "  %21 = fadd i64 fp=f64,rn %20 %4",
       1},
      {"%10 = fmul i64 fp=f64,rn %4 %3\n  %11 = flt i1 fp=f64 %5 %3\n"
       "  %20 = select i64 %11 %10 %3\n  %21 = fadd i64 fp=f64,rn %20 %4",
       1},
      // A NaN of an invalid operation is not that of a value.
      {"%10 = fcvt i64 fp=s32,to:f64,rn %2\n  %11 = fadd i64 fp=f64,rn %10 %3\n"
       "  %12 = fmul i64 fp=f64,rn %11 %11\n  %20 = fadd i64 fp=f64,rn %12 %11\n"
       "  %21 = fadd i64 fp=f64,rn %20 %4",
       1},
      // Numbers with their exponents in place, and sums of those with constants.
      {"%10 = high i32 %4\n  %11 = constant i32 0x800fffff\n  %12 = and_ i32 %10 %11\n"
       "  %13 = constant i32 0x3ff00000\n  %14 = or_ i32 %12 %13\n"
       "  %15 = constant i32 0xfff00000\n  %16 = add i32 %14 %15\n  %17 = pack i64 %2 %16\n"
       "  %20 = fadd i64 fp=f64,rn %17 %3\n  %21 = fadd i64 fp=f64,rn %4 %20",
       0},
      {"%10 = high i32 %4\n  %11 = constant i32 0x800fffff\n  %12 = and_ i32 %10 %11\n"
       "  %13 = constant i32 0x7fe00000\n  %14 = or_ i32 %12 %13\n"
       "  %15 = constant i32 0x100000\n  %16 = add i32 %14 %15\n  %17 = pack i64 %2 %16\n"
       "  %20 = fadd i64 fp=f64,rn %17 %3\n  %21 = fadd i64 fp=f64,rn %4 %20",
       1},
  };
  for (const auto& each : kCases)
    EXPECT_EQ(
        selections_added(std::string("  ") + each.of + "\n  store mem=slot,8 %1 %21\n  exit\n"),
        each.chosen)
        << each.of;
}

// Nor where only numbers come of it: %10 has either NaN of %4 and %5.
TEST(LegaliseFloat, between_nan_that_nothing_tells_apart_there_is_nothing_to_choose) {
  const struct {
    const char* use;
    std::size_t chosen;
  } kCases[] = {
      {"  store mem=slot,8 %1 %10\n  br b2\n", 1},
      {"  %11 = high i32 %10\n  store mem=slot,4 %1 %11\n  br b2\n", 1},
      {"  %11 = fcvt i32 fp=f64,to:f32,rn %10\n  store mem=slot,4 %1 %11\n  br b2\n", 1},
      {"  %11 = fmax i64 fp=f64 %10 %3\n  store mem=slot,8 %1 %11\n  br b2\n", 1},
      {"  %11 = fcvt i32 fp=f64,to:s32,rzi %10\n  store mem=slot,4 %1 %11\n  br b2\n", 0},
      {"  %11 = fcvt i32 fp=f64,to:f32,rn %10\n  %12 = fmul i32 fp=f32,rn %11 %11\n"
       "  store mem=slot,4 %1 %12\n  br b2\n",
       0},
      {"  %11 = fmul i64 fp=f64,rn %10 %10\n  %12 = xor_ i64 %11 %6\n"
       "  %13 = flt i1 fp=f64 %12 %3\n  cond_br %13 b1 b2\n",
       0},
  };
  for (const auto& each : kCases)
    EXPECT_EQ(selections_added(std::string("  %10 = fadd i64 fp=f64,rn %4 %5\n") + each.use +
                               "b1:\n  store mem=slot,4 %1 %2\n  br b2\nb2:\n  exit\n"),
              each.chosen)
        << each.use;
}

}  // namespace
}  // namespace ptx2spv
