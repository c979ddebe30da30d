// High and low halves of 64-bit products on a device with 64-bit integers.
#include <fmt/format.h>

#include <random>

#include "tests/passes/parsed.hpp"
#include "translator/passes/passes.hpp"

namespace ptx2spv {
namespace {

using namespace ir;
using namespace test;

__extension__ typedef unsigned __int128 Wide;
__extension__ typedef __int128 SignedWide;

// The low half stands first or second, its factors either way round.
TEST(LegaliseProducts, both_halves_of_a_product_are_made_of_the_same_parts) {
  std::mt19937_64 rng(3);
  for (const bool is_signed : {false, true})
    for (const bool low_first : {false, true})
      for (const bool swapped : {false, true}) {
        const std::string low = fmt::format("  %5 = mul i64 {}\n", swapped ? "%4 %3" : "%3 %4"),
                          high = fmt::format("  %6 = mulhi_{} i64 %3 %4\n", is_signed ? 's' : 'u');
        Parsed p(R"(
b0:
  %1 = constant i32 0x0
  %2 = constant i32 0x8
  %3 = load i64 mem=param,8,readonly %1
  %4 = load i64 mem=param,8,readonly %2
)" + (low_first ? low + high : high + low) +
                 R"(  store mem=slot,8 %1 %5
  store mem=slot,8 %2 %6
  exit
)");
        passes::legalise_int64(p.f, p.m, *find_profile("nvidia"));
        p.expect_valid();
        unsigned products = 0;
        p.any([&](Value v, BlockId) {
          products += p.f.insts[v].op == Op::mul && p.f.insts[v].type == Type::i64;
          return false;
        });
        EXPECT_EQ(products, 4u) << print(p.f, p.m);
        for (int i = 0; i < 200; ++i) {
          Memory memory;
          const std::uint64_t a = rng() >> rng() % 64, b = rng() << rng() % 64;
          for (unsigned k = 0; k < 2; ++k) {
            put(memory, Space::param, 4 * k, static_cast<std::uint32_t>(a >> 32 * k));
            put(memory, Space::param, 8 + 4 * k, static_cast<std::uint32_t>(b >> 32 * k));
          }
          memory.of(Space::slot).resize(16);
          ASSERT_EQ(p.run(memory).error, "");
          const Wide want = is_signed ? static_cast<Wide>(SignedWide{static_cast<std::int64_t>(a)} *
                                                          static_cast<std::int64_t>(b))
                                      : Wide{a} * b;
          for (unsigned k = 0; k < 4; ++k)
            ASSERT_EQ(word(memory, Space::slot, 4 * k), static_cast<std::uint32_t>(want >> 32 * k))
                << a << " * " << b;
        }
      }
}

}  // namespace
}  // namespace ptx2spv
