// Arithmetic of halves on devices that have it, or only conversions of halves, or neither.
#include "tests/support/halves.hpp"

#include <fmt/format.h>

#include <cmath>
#include <random>

#include "ptx2spv/profile.hpp"
#include "tests/passes/parsed.hpp"
#include "translator/passes/passes.hpp"

namespace ptx2spv {
namespace {

using namespace ir;
using test::half_add, test::half_fma, test::half_mul, test::Parsed, test::put, test::word;

/// What a packed fma, a packed difference of its result, and one half's product are lowered to.
constexpr const char* kPacked = R"(
b0:
  %1 = constant i32 0x0
  %2 = constant i32 0x4
  %3 = constant i32 0x8
  %4 = constant i32 0xffff
  %5 = constant i32 0x10
  %6 = constant i32 0x8000
  %10 = load i32 mem=param,4,readonly %1
  %11 = load i32 mem=param,4,readonly %2
  %12 = load i32 mem=param,4,readonly %3
  %13 = and_ i32 %10 %4
  %14 = lshr i32 %10 %5
  %15 = and_ i32 %11 %4
  %16 = lshr i32 %11 %5
  %17 = and_ i32 %12 %4
  %18 = lshr i32 %12 %5
  %20 = ffma i32 fp=f16,rn %13 %15 %17
  %21 = ffma i32 fp=f16,rn %14 %16 %18
  %22 = shl i32 %21 %5
  %23 = or_ i32 %20 %22
  store mem=slot,4 %1 %23
  %24 = xor_ i32 %15 %6
  %25 = xor_ i32 %16 %6
  %26 = fadd i32 fp=f16,rn %20 %24
  %27 = fadd i32 fp=f16,rn %21 %25
  %28 = shl i32 %27 %5
  %29 = or_ i32 %26 %28
  store mem=slot,4 %2 %29
  %30 = fmul i32 fp=f16,rn %26 %18
  store mem=slot,4 %3 %30
  exit
)";

struct Device {
  const char* name;
  bool arithmetic, conversions, one_nan;
};
constexpr Device kDevices[] = {{"arithmetic", true, true, true},
                               {"arithmetic, any NaN", true, true, false},
                               {"conversions", false, true, true},
                               {"conversions, any NaN", false, true, false},
                               {"neither", false, false, false}};

/// The device's operations, in integers.
bool operate(const Device& device, const Inst& inst, std::span<const Bits> args, Bits& result) {
  const auto in = [&](unsigned i) { return args[i].w[0]; };
  const auto any_nan = [&](std::uint32_t half) {
    return test::half_is_nan(half) && !device.one_nan ? 0xfe2au : half;
  };
  const auto halves = [&](auto&& operation, auto... words) {
    return result = Bits::of(test::of_both_halves(
               [&](auto... each) { return any_nan(operation(each...)); }, words...)),
           true;
  };
  const auto number = [&](unsigned i) { return std::bit_cast<float>(in(i)); };
  const auto gives = [&](float value) {
    return result = Bits::of(std::bit_cast<std::uint32_t>(value)), true;
  };
  switch (inst.op) {
    case Op::native_hadd2: return halves(half_add, in(0), in(1));
    case Op::native_hmul2: return halves(half_mul, in(0), in(1));
    case Op::native_hfma2: return halves(half_fma, in(0), in(1), in(2));
    case Op::native_widen16: return result = Bits::of(test::single_of_half(in(0) & 0xffff)), true;
    case Op::native_fadd: return gives(number(0) + number(1));
    case Op::native_fsub: return gives(number(0) - number(1));
    case Op::native_fmul: return gives(number(0) * number(1));
    case Op::native_flt: return result = Bits::of(number(0) < number(1)), true;
    default: return false;
  }
}

TEST(Halves, packed_operations_are_one_of_the_device_and_give_the_same_as_routines) {
  std::mt19937 random(5);
  for (const Device& device : kDevices) {
    SCOPED_TRACE(device.name);
    Parsed p(kPacked);
    Profile profile = *find_profile("nvidia");
    profile.exactness.exact_float16 = device.arithmetic;
    profile.exactness.exact_widen16 = device.conversions;
    profile.exactness.canonical_nan16 = device.one_nan;
    EXPECT_TRUE(passes::legalise_float(p.f, p.m, {.profile = profile}));
    passes::simplify(p.f, p.m);
    p.expect_valid();
    // The low half has a reader of its own, which the last product is for.
    EXPECT_EQ(p.count(Op::native_hfma2), device.arithmetic ? 2u : 0u) << print(p.f, p.m);
    EXPECT_EQ(p.count(Op::native_hadd2), device.arithmetic ? 2u : 0u) << print(p.f, p.m);
    EXPECT_EQ(p.has(Op::native_widen16), !device.arithmetic && device.conversions);
    EXPECT_EQ(p.has(Op::library), !device.arithmetic) << print(p.f, p.m);
    RunOptions options{.trace = false};
    options.operation = [&](const Function&, const Inst& inst, std::span<const Bits> args,
                            Bits& result) { return operate(device, inst, args, result); };
    options.library = [](std::string_view name, std::span<const Bits> args, Bits& result) {
      const std::uint32_t a = args[0].w[0];
      if (name == "f32_from_f16") return result = Bits::of(test::single_of_half(a)), true;
      return name == "f16_from_f32_rn" && (result = Bits::of(test::half_of_single(a)), true);
    };
    for (unsigned i = 0; i < 20000; ++i) {
      std::uint32_t in[3];
      Memory memory;
      memory.of(Space::slot).resize(12);
      for (unsigned k = 0; k < 3; ++k) {
        in[k] = static_cast<std::uint32_t>(random());
        if (i % 2) in[k] = (in[k] & 0x8fff8fff) | 0x30003000;
        put(memory, Space::param, 4 * k, in[k]);
      }
      ASSERT_EQ(p.run(memory, options).error, "");
      const std::uint32_t fma = test::of_both_halves(half_fma, in[0], in[1], in[2]);
      const std::uint32_t sum = test::of_both_halves(half_add, fma, in[1] ^ 0x80008000);
      ASSERT_EQ(word(memory, Space::slot, 0), fma) << std::hex << in[0] << " " << in[1];
      ASSERT_EQ(word(memory, Space::slot, 4), sum) << std::hex << in[0] << " " << in[1];
      ASSERT_EQ(word(memory, Space::slot, 8), half_mul(sum & 0xffff, in[2] >> 16));
    }
  }
}

/// Of 1, 8 and 7 bits; a product is exact in double precision.
double brain(std::uint32_t bits) { return std::bit_cast<float>(bits << 16); }

std::uint32_t brain_of(double sum, double lost) {
  if (std::isnan(sum)) return 0x7fff;
  const std::uint32_t sign = std::signbit(sum) ? 0x8000 : 0;
  if (sign) sum = -sum, lost = -lost;
  // The greatest number that is not above the sum, and the next.
  std::uint32_t least = 0, most = 0x7f80;
  while (most - least > 1) {
    const std::uint32_t middle = (least + most) / 2;
    (brain(middle) < sum || (brain(middle) == sum && lost >= 0) ? least : most) = middle;
  }
  const double next = most == 0x7f80 ? 0x1p128 : brain(most);
  const double tie = (brain(least) + next) / 2;
  const bool up = sum > tie || (sum == tie && (lost > 0 || (lost == 0 && least % 2 != 0)));
  return sign | (up ? most : least);
}

/// Rounded once.
std::uint32_t brain_fma(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  const double x = brain(a) * brain(b), y = brain(c), sum = x + y, part = sum - x;
  const double lost = (x - (sum - part)) + (y - part);
  return brain_of(sum, std::isfinite(sum) ? lost : 0);
}

TEST(Halves, a_bf16_fma_is_rounded_once) {
  std::mt19937 random(7);
  std::vector<std::uint32_t> numbers = {0,      1,      2,      3,      0x7f,   0x80,   0x81,
                                        0x100,  0x3f7f, 0x3f80, 0x3f81, 0x7b00, 0x7aff, 0x7e81,
                                        0x7f00, 0x7f7f, 0x7f80, 0x7fff, 0x1f91, 0x1fe2, 0x3fc0};
  for (std::size_t i = 0, n = numbers.size(); i < n; ++i) numbers.push_back(numbers[i] | 0x8000);
  const auto any = [&] { return static_cast<std::uint32_t>(random()) & 0xffff; };
  const std::string variable[] = {"load i32 mem=param,4,readonly %1",
                                  "load i32 mem=param,4,readonly %2",
                                  "load i32 mem=param,4,readonly %3"};
  for (const unsigned which : {3u, 0u, 1u, 2u})
    for (const std::uint32_t fixed : {0u, 0x8000u, 1u, 0x3f80u, 0x3f40u, 0xbfc0u, 0x7f7fu}) {
      if (which == 3 && fixed != 0) continue;
      std::string from[3];
      for (unsigned k = 0; k < 3; ++k)
        from[k] = k == which ? fmt::format("constant i32 {:#x}", fixed) : variable[k];
      Parsed p(fmt::format(R"(
b0:
  %1 = constant i32 0x0
  %2 = constant i32 0x4
  %3 = constant i32 0x8
  %4 = {}
  %5 = {}
  %6 = {}
  %7 = ffma i32 fp=bf16,rn %4 %5 %6
  store mem=slot,4 %1 %7
  exit
)",
                           from[0], from[1], from[2]));
      Profile profile = *find_profile("nvidia");
      EXPECT_TRUE(passes::legalise_float(p.f, p.m, {.profile = profile}));
      p.expect_valid();
      EXPECT_EQ(p.count(Op::library), 1u) << print(p.f, p.m);
      RunOptions options{.trace = false};
      options.operation = [&](const Function&, const Inst& inst, std::span<const Bits> args,
                              Bits& result) { return operate(kDevices[0], inst, args, result); };
      options.library = [](std::string_view name, std::span<const Bits> args, Bits& result) {
        result = Bits::of(brain_of(std::bit_cast<float>(args[0].w[0]), 0));
        return name == "bf16_from_f32_rn";
      };
      Memory memory;
      memory.of(Space::slot).resize(4);
      const auto check = [&](std::uint32_t a, std::uint32_t b, std::uint32_t c) {
        std::uint32_t in[3] = {a, b, c};
        if (which < 3) in[which] = fixed;
        for (unsigned k = 0; k < 3; ++k) put(memory, Space::param, 4 * k, in[k]);
        ASSERT_EQ(p.run(memory, options).error, "");
        ASSERT_EQ(word(memory, Space::slot, 0), brain_fma(in[0], in[1], in[2]))
            << std::hex << in[0] << " * " << in[1] << " + " << in[2];
      };
      for (const std::uint32_t a : numbers)
        for (const std::uint32_t b : numbers)
          for (const std::uint32_t c : numbers)
            if (random() % (which == 3 ? 4 : 50) == 0) check(a, b, c);
      for (int i = 0; i < (which == 3 ? 15000 : 1000); ++i) {
        const std::uint32_t a = any(), b = any();
        // An addend near the product, or below it by its digits, often makes a tie.
        const std::uint32_t product = brain_of(brain(a) * brain(b), 0);
        const std::uint32_t c =
            i % 3 == 0 ? any() : (product ^ (any() & 0x8000)) - 0x80 * (any() % 20) + any() % 2;
        check(a, b, c & 0xffff);
      }
    }
}

}  // namespace
}  // namespace ptx2spv
