// Kernels with more double-precision arithmetic than is expanded in place: chains of random
// operations against the host's, the choice among NaN included.
#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>
#include <random>

#include <fmt/format.h>

#include "tests/runtime/fixture.hpp"

namespace ptx2spv {
namespace {

constexpr std::uint32_t kThreads = 64, kInputs = 6;
constexpr std::uint64_t kInvalid = 0xfff8000000000000ull, kQuiet = 0x0008000000000000ull;

std::uint64_t bits(double d) { return std::bit_cast<std::uint64_t>(d); }
double number(std::uint64_t b) { return std::bit_cast<double>(b); }
bool is_nan(std::uint64_t b) { return (b & ~(1ull << 63)) > 0x7ff0000000000000ull; }

// The first NaN of `order` (as an H200 chooses), quiet, else the result, whose NaN means an invalid
// operation.
std::uint64_t settle(double result, std::initializer_list<std::uint64_t> order) {
  for (const std::uint64_t each : order)
    if (is_nan(each)) return each | kQuiet;
  return std::isnan(result) ? kInvalid : bits(result);
}

std::uint64_t negated(std::uint64_t a) { return is_nan(a) ? a | kQuiet : a ^ 1ull << 63; }

struct Step {
  int op;
  unsigned a, b, c;  // values by number
};
constexpr const char* kText[] = {"add.rn.f64", "sub.rn.f64", "mul.rn.f64",  "fma.rn.f64",
                                 "neg.f64",    "div.rn.f64", "sqrt.rn.f64", "rcp.rn.f64",
                                 "add.rm.f64", "add.rp.f64", "mul.rm.f64",  "mul.rp.f64",
                                 "div.rm.f64", "div.rp.f64"};
constexpr int kOperands[] = {2, 2, 2, 3, 1, 2, 1, 1, 2, 2, 2, 2, 2, 2};
constexpr int kDirected = 8;  // the first that rounds up or down

std::uint64_t directed(int op, std::uint64_t a, std::uint64_t b) {
  const volatile double x = number(a), y = number(b);
  std::fesetround(op % 2 ? FE_UPWARD : FE_DOWNWARD);
  const volatile double result = op < 10 ? x + y : op < 12 ? x * y : x / y;
  std::fesetround(FE_TONEAREST);
  return op < 12 ? settle(result, {b, a}) : settle(result, {a, b});
}

std::uint64_t evaluate(int op, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  if (op >= kDirected) return directed(op, a, b);
  const double x = number(a), y = number(b), z = number(c);
  switch (op) {
    case 0: return settle(x + y, {b, a});
    case 1: return settle(x - y, {b, a});
    case 2: return settle(x * y, {b, a});
    case 3: return settle(std::fma(x, y, z), {b, c, a});
    case 4: return negated(a);
    case 5: return settle(x / y, {a, b});
    case 6: return settle(std::sqrt(x), {a});
    default: return settle(1.0 / x, {a});
  }
}

std::uint64_t input(std::mt19937_64& random) {
  constexpr std::uint64_t kSpecial[] = {0,
                                        1ull << 63,
                                        1,
                                        0x000fffffffffffffull,
                                        0x7ff0000000000000ull,
                                        0xfff0000000000000ull,
                                        0x7ff0000000000123ull,
                                        0xfff8000000000045ull,
                                        0x3ff0000000000000ull,
                                        0x7fefffffffffffffull};
  const std::uint64_t r = random();
  if (r % 16 == 0) return kSpecial[(r >> 8) % std::size(kSpecial)];
  if (r % 16 == 1) return random();
  return (random() & 0x800fffffffffffffull) | (1023 - 8 + (r >> 8) % 16) << 52;
}

void compare(unsigned seed, unsigned count, bool directed_ones = false) {
  std::mt19937_64 random(seed);
  std::vector<Step> steps;
  std::string text;
  for (unsigned i = 0; i < count; ++i) {
    const auto value = [&]() -> unsigned {
      const unsigned known = kInputs + i;
      return random() % 2 ? known - 1 - static_cast<unsigned>(random() % 3)
                          : static_cast<unsigned>(random() % known);
    };
    const auto r = random() % 32;
    int op = static_cast<int>(r < 28 ? r % 5 : 5 + r % 3);
    if (directed_ones) op = kDirected + static_cast<int>(r % 6);
    Step s{op, value(), value(), value()};
    steps.push_back(s);
    text += fmt::format("  {} %v{}, %v{}", kText[s.op], kInputs + i, s.a);
    if (kOperands[s.op] > 1) text += fmt::format(", %v{}", s.b);
    if (kOperands[s.op] > 2) text += fmt::format(", %v{}", s.c);
    text += ";\n";
    // Something else in between, which ends the calls that can follow each other.
    if (random() % 16 == 0) text += fmt::format("  st.global.f64 [%d1], %v{};\n", kInputs + i);
  }
  Module module = load(
      fmt::format(".visible .entry k(.param .u64 from, .param .u64 to) {{\n"
                  "  .reg .b32 %r<2>;\n  .reg .b64 %d<4>;\n  .reg .f64 %v<{}>;\n"
                  "  ld.param.u64 %d0, [from];\n  ld.param.u64 %d1, [to];\n  mov.u32 %r0, %tid.x;\n"
                  "  mul.wide.u32 %d2, %r0, {};\n  add.u64 %d0, %d0, %d2;\n"
                  "  mul.wide.u32 %d2, %r0, {};\n  add.u64 %d1, %d1, %d2;\n",
                  kInputs + count, 8 * kInputs, 8 * count) +
      [&] {
        std::string body;
        for (unsigned i = 0; i < kInputs; ++i)
          body += fmt::format("  ld.global.f64 %v{}, [%d0+{}];\n", i, 8 * i);
        body += text;
        for (unsigned i = 0; i < count; ++i)
          body += fmt::format("  st.global.f64 [%d1+{}], %v{};\n", 8 * i, kInputs + i);
        return body + "  ret;\n}\n";
      }());
  std::vector<std::uint64_t> in(kThreads * kInputs);
  for (std::uint64_t& each : in) each = input(random);
  Buffer from = must(Buffer::create(test_device(), 8 * in.size()));
  Buffer to = must(Buffer::create(test_device(), 8ull * kThreads * count));
  must(from.upload(0, bytes_of(in)));
  LaunchConfig config;
  config.block = {kThreads, 1, 1};
  must(must(module.kernel("k")).launch(config, Args().buffer(from).buffer(to)));
  const auto got = read_buffer<std::uint64_t>(to, std::size_t{kThreads} * count);
  for (unsigned t = 0; t < kThreads; ++t) {
    std::vector<std::uint64_t> values(in.begin() + t * kInputs, in.begin() + (t + 1) * kInputs);
    for (unsigned i = 0; i < count; ++i) {
      const Step& s = steps[i];
      values.push_back(evaluate(s.op, values[s.a], values[s.b], values[s.c]));
      ASSERT_EQ(got[t * count + i], values.back())
          << "seed " << seed << " thread " << t << " step " << i << " " << kText[s.op] << std::hex
          << " " << values[s.a] << " " << values[s.b] << " " << values[s.c];
    }
  }
}

TEST(Chains, RandomOperationsGiveTheHostsBits) {
  for (unsigned seed = 1; seed <= 3; ++seed) compare(seed, 80);
}

// Of these a kernel has so many that drivers are asked to leave the calls.
TEST(Chains, ManyCallsOfLongRoutinesGiveTheHostsBits) {
  const test::DebugSettings copies("skip=outline-library-calls");
  compare(1000, 80, true);
}

// The same where nothing is shared, for there is too little of it.
TEST(Chains, ShortOnesGiveTheHostsBits) {
  for (unsigned seed = 100; seed < 103; ++seed) compare(seed, 10);
}

// A loop that its threads leave in different iterations, and values that were computed in the last
// one: z^2 + c in double precision.
TEST(Chains, ValuesComputedInTheLastIterationOutliveTheLoop) {
  Module module = load(R"(
.visible .entry k(.param .u64 to) {
  .reg .pred %p<4>;
  .reg .b32 %r<8>;
  .reg .b64 %d<4>;
  .reg .f64 %f<12>;
  ld.param.u64 %d0, [to];
  mov.u32 %r0, %tid.x;
  cvt.rn.f64.u32 %f0, %r0;
  fma.rn.f64 %f1, %f0, 0d3FA999999999999A, 0dC000000000000000;
  fma.rn.f64 %f2, %f0, 0d3F947AE147AE147B, 0dBFF8000000000000;
  mov.f64 %f3, 0d0000000000000000;
  mov.f64 %f4, %f3;
  mov.f64 %f5, %f3;
  mov.f64 %f6, %f3;
  mov.u32 %r1, 0;
again:
  sub.rn.f64 %f7, %f4, %f3;
  add.rn.f64 %f8, %f1, %f7;
  add.rn.f64 %f9, %f6, %f6;
  fma.rn.f64 %f5, %f9, %f5, %f2;
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %p1, %r1, 50;
  mul.rn.f64 %f4, %f8, %f8;
  mul.rn.f64 %f3, %f5, %f5;
  add.rn.f64 %f10, %f4, %f3;
  setp.lt.f64 %p2, %f10, 0d4010000000000000;
  and.pred %p3, %p1, %p2;
  mov.f64 %f6, %f8;
  @%p3 bra again;
  cvt.rn.f64.s32 %f11, %r1;
  add.rn.f64 %f11, %f8, %f11;
  mul.wide.u32 %d1, %r0, 8;
  add.u64 %d1, %d0, %d1;
  st.global.f64 [%d1], %f11;
  ret;
})");
  Buffer to = must(Buffer::create(test_device(), 8 * kThreads));
  LaunchConfig config;
  config.block = {kThreads, 1, 1};
  must(must(module.kernel("k")).launch(config, Args().buffer(to)));
  const auto got = read_buffer<double>(to, kThreads);
  for (unsigned t = 0; t < kThreads; ++t) {
    const double cx = std::fma(double(t), 0.05, -2.0), cy = std::fma(double(t), 0.02, -1.5);
    double x = 0, y = 0, xx = 0, yy = 0;
    int n = 0;
    do {
      const double next = cx + (xx - yy);
      y = std::fma(x + x, y, cy);
      x = next;
      xx = x * x;
      yy = y * y;
      ++n;
    } while (n < 50 && xx + yy < 4);
    EXPECT_EQ(got[t], x + n) << t;
  }
}

// Constants that a driver would fold without regard to infinities and signs.
TEST(Chains, ZeroAndOneAreNoReasonToForgetInfinities) {
  Module module = load(R"(
.visible .entry k(.param .u64 to) {
  .reg .b64 %d<2>;
  .reg .f64 %f<8>;
  ld.param.u64 %d0, [to];
  ld.global.f64 %f0, [%d0];
  mul.rn.f64 %f1, %f0, 0d0000000000000000;
  add.rn.f64 %f2, %f0, 0d0000000000000000;
  mul.rn.f64 %f3, %f0, 0dBFF0000000000000;
  add.rn.f64 %f4, %f0, 0d8000000000000000;
  st.global.f64 [%d0+8], %f1;
  st.global.f64 [%d0+16], %f2;
  st.global.f64 [%d0+24], %f3;
  st.global.f64 [%d0+32], %f4;
  ret;
})");
  const std::vector<std::uint64_t> operands = {bits(1.5),
                                               bits(-0.0),
                                               0x7ff0000000000000ull,
                                               0xfff0000000000000ull,
                                               0x7ff0000000000123ull,
                                               0xfff8000000000045ull,
                                               bits(-5e-324)};
  for (const std::uint64_t a : operands) {
    Buffer to = must(Buffer::create(test_device(), 40));
    must(to.upload(0, bytes_of(std::vector<std::uint64_t>{a, 0, 0, 0, 0})));
    LaunchConfig config;
    must(must(module.kernel("k")).launch(config, Args().buffer(to)));
    const auto got = read_buffer<std::uint64_t>(to, 5);
    EXPECT_EQ(got[1], evaluate(2, a, bits(0.0), 0)) << std::hex << a;
    EXPECT_EQ(got[2], evaluate(0, a, bits(0.0), 0)) << std::hex << a;
    EXPECT_EQ(got[3], evaluate(2, a, bits(-1.0), 0)) << std::hex << a;
    EXPECT_EQ(got[4], evaluate(0, a, bits(-0.0), 0)) << std::hex << a;
  }
}

}  // namespace
}  // namespace ptx2spv
