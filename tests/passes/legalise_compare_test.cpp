// Comparisons in single precision where the device's own are not exact.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <utility>

#include "tests/passes/flushing.hpp"
#include "tests/passes/parsed.hpp"
#include "translator/passes/passes.hpp"

namespace ptx2spv {
namespace {

using namespace ir;
using namespace test;

// On a device whose own comparisons take denormals for zeros, as its sums do not.
TEST(LegaliseFloat, a_comparison_is_by_bits_with_zero_and_by_the_difference_of_others) {
  constexpr std::uint32_t kNumbers[] = {0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x00000002,
                                        0x007fffff, 0x00800000, 0x80800000, 0x00800001, 0x3f800000,
                                        0x3f800001, 0xbf800000, 0x7f7fffff, 0xff7fffff, 0x7f800000,
                                        0xff800000, 0x7fc00000, 0x7fffffff, 0xffc12345, 0xff800001};
  const auto of = [](Bits word, bool flushes) {
    return flushes ? flushed(number(word)) : number(word);
  };
  for (const char* op : {"flt", "fle", "feq"})
    for (const char* constant : {"", "0x0", "0x80000000"})
      for (const bool second : {true, false}) {
        Parsed p(fmt::format(R"(
b0:
  %1 = constant i32 0x0
  %2 = constant i32 0x4
  %3 = load i32 mem=param,4,readonly %1
  %4 = {}
  %5 = {} i1 fp=f32 {}
  %6 = zext i32 %5
  store mem=slot,4 %1 %6
  exit
)",
                             *constant ? fmt::format("constant i32 {}", constant)
                                       : "load i32 mem=param,4,readonly %2",
                             op, second ? "%3 %4" : "%4 %3"));
        const Profile profile = *find_profile("nvidia");
        EXPECT_TRUE(passes::legalise_float(p.f, p.m, {.profile = profile}));
        p.expect_valid();
        EXPECT_FALSE(p.has(Op::library)) << print(p.f, p.m);
        RunOptions options{.trace = false};
        options.operation = [&](const Function&, const Inst& inst, std::span<const Bits> args,
                                Bits& result) {
          const float a = of(args[0], true), b = of(args[1], true);
          switch (inst.op) {
            case Op::native_flt: return result = Bits::of(a < b), true;
            case Op::native_fle: return result = Bits::of(a <= b), true;
            case Op::native_feq: return result = Bits::of(a == b), true;
            case Op::native_fsub: {
              const float difference = number(args[0]) - number(args[1]);
              const auto bits = std::bit_cast<std::uint32_t>(difference);
              return result = Bits::of(std::isnan(difference) ? 0x7fffffffu : bits), true;
            }
            default: return false;
          }
        };
        for (const std::uint32_t x : kNumbers)
          for (const std::uint32_t y : kNumbers) {
            Memory memory;
            memory.of(Space::slot).resize(4);
            put(memory, Space::param, 0, x);
            put(memory, Space::param, 4, y);
            EXPECT_EQ(p.run(memory, options).error, "");
            float a = std::bit_cast<float>(x), b = *constant ? 0.0f : std::bit_cast<float>(y);
            if (!second) std::swap(a, b);
            const bool want = op[1] == 'e' ? a == b : op[2] == 't' ? a < b : a <= b;
            EXPECT_EQ(word(memory, Space::slot, 0), want)
                << std::hex << x << " " << op << " " << y << " " << constant << second;
          }
      }
}

}  // namespace
}  // namespace ptx2spv
