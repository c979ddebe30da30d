// Quotients and reciprocals with .approx and .full where division is left to the inverse root.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <random>

#include "tests/passes/parsed.hpp"
#include "translator/passes/passes.hpp"

namespace ptx2spv {
namespace {

using namespace ir;
using namespace test;

// PTX bounds rcp.approx by 1 ulp and quotients by 2; here on a device whose inverse root is off by
// an ulp and whose fma take denormals for zeros.
TEST(ApproximateQuotients, by_an_inverse_root_are_within_the_manuals_bounds) {
  constexpr std::uint32_t kNan = 0x7fffffff, kInfinity = 0x7f800000, kSign = 0x80000000;
  const auto flushed = [](std::uint32_t a) { return a & kInfinity ? a : a & kSign; };
  const auto number = [](std::uint32_t a) { return std::bit_cast<float>(a); };
  const auto bits = [](float a) { return std::isnan(a) ? kNan : std::bit_cast<std::uint32_t>(a); };
  std::uint32_t off = 0;
  RunOptions options{.trace = false};
  options.operation = [&](const Function&, const Inst& inst, std::span<const Bits> args,
                          Bits& result) {
    const auto of = [&](std::size_t i) { return args[i].w[0]; };
    std::uint32_t word = 0;
    switch (inst.op) {
      case Op::native_unary: {
        const double x = number(flushed(of(0)));
        word = bits(static_cast<float>(1 / std::sqrt(x)));
        if (word != 0 && word < kInfinity) word += off;
        break;
      }
      case Op::native_fadd: word = bits(number(of(0)) + number(of(1))); break;
      case Op::native_fmul: word = bits(number(of(0)) * number(of(1))); break;
      case Op::native_ffma:
        word = flushed(
            bits(std::fma(number(flushed(of(0))), number(flushed(of(1))), number(flushed(of(2))))));
        break;
      default: return false;
    }
    result = Bits::of(word);
    return true;
  };
  std::mt19937 rng(9);
  std::vector<std::uint32_t> numbers = {0,          1,          0x007fffff, 0x00800000, 0x3f800000,
                                        0x3fffffff, 0x7dffffff, 0x7e000000, 0x7e7fffff, 0x7e800000,
                                        0x7e800001, 0x7f7fffff, kInfinity,  kNan};
  for (int i = 0; i < 150; ++i) numbers.push_back(rng() & ~kSign);
  for (std::size_t i = 0, n = numbers.size(); i < n; ++i) numbers.push_back(numbers[i] | kSign);
  for (const std::string form :
       {"frcp i32 fp=f32,approx", "frcp i32 fp=f32,approx,ftz", "fdiv i32 fp=f32,approx",
        "fdiv i32 fp=f32,approx,ftz", "fdiv i32 fp=f32,full", "fdiv i32 fp=f32,full,ftz"})
    for (const bool ranged : {false, true}) {
      const bool ftz = form.ends_with("ftz"), quotient = form.starts_with("fdiv"),
                 full = form.find("full") != std::string::npos;
      // A sum with 1 is known to be no denormal.
      Parsed p(fmt::format(R"(
b0:
  %1 = constant i32 0x0
  %2 = load i32 mem=param,4,readonly %1
  %3 = constant i32 0x4
  %4 = load i32 mem=param,4,readonly %3
  %5 = constant i32 0x3f800000
  %6 = fadd i32 fp=f32,rn %2 %5
  %7 = {} {}%{}
  store mem=slot,4 %1 %7
  store mem=slot,4 %3 %6
  exit
)",
                           form, quotient ? "%4 " : "", ranged ? 6 : 2));
      Profile profile = *find_profile("nvidia");
      EXPECT_TRUE(passes::legalise_float(p.f, p.m, {.profile = profile}));
      p.expect_valid();
      EXPECT_FALSE(p.has(Op::library) || p.has(Op::native_fdiv)) << print(p.f, p.m);
      Memory memory;
      memory.of(Space::slot).resize(8);
      for (const std::uint32_t y : numbers)
        for (unsigned k = 0; k < (quotient ? 18 : 3); ++k) {
          const std::uint32_t x = k < 9 ? numbers[k * 3 + y % 3] : numbers[rng() % numbers.size()];
          off = k % 3 - 1;
          put(memory, Space::param, 0, y);
          put(memory, Space::param, 4, x);
          ASSERT_EQ(p.run(memory, options).error, "");
          std::uint32_t a = quotient ? x : 0x3f800000,
                        b = ranged ? word(memory, Space::slot, 4) : y;
          if (ftz) a = flushed(a), b = flushed(b);
          const std::uint32_t size = b & ~kSign;
          double want = static_cast<double>(number(a)) / number(b);
          // The manual: a divisor above 2^126 has a reciprocal of zero.
          if (quotient && !full && size > 0x7e800000 && size < kInfinity) want = number(a) * 0.0;
          const std::uint32_t got = word(memory, Space::slot, 0);
          const std::string what = fmt::format("{}, {:#x} by {:#x} gives {:#x}", form, a, b, got);
          if (std::isnan(want)) {
            ASSERT_EQ(got, kNan) << what;
            continue;
          }
          ASSERT_EQ(got >> 31, (a ^ b) >> 31) << what;
          const double least = ftz ? 0x1p-126 : 0, magnitude = std::abs(want);
          const float near = std::abs(number(got));
          if (near == 0 || std::isinf(near) || magnitude == 0 || std::isinf(want)) {
            // Next to where numbers end either will do.
            const bool small = near == 0 && magnitude < std::max(0x1p-149, least * (1 + 0x1p-22));
            const bool large = std::isinf(near) && magnitude > 0x1p128 * (1 - 0x1p-23);
            ASSERT_TRUE(small || large) << what;
            continue;
          }
          const double ulp = std::ldexp(1, std::max(std::ilogb(magnitude), -126) - 23);
          ASSERT_LE(std::abs(near - magnitude) / ulp, quotient ? 2 : 1) << what;
          ASSERT_GE(near, least) << what;
        }
    }
}

}  // namespace
}  // namespace ptx2spv
