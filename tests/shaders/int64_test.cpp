// 64-bit integers as pairs of words, against the CPU's.
#include <bit>

#include "tests/shaders/reference.hpp"

namespace {

using namespace reference;
using L = std::uint64_t;
using S = std::int64_t;
__extension__ typedef unsigned __int128 Wide;
__extension__ typedef __int128 SignedWide;

TEST(Int64, sums_products_and_order) {
  Inputs inputs;
  for (int i = 0; i < runs(); ++i) {
    const L a = inputs.integer(), b = i & 7 ? inputs.integer() : a;
    const uvec2 x = pair(a), y = pair(b);
    const S sa = static_cast<S>(a), sb = static_cast<S>(b);
    ASSERT_EQ(u64(glsl::u64_add(x, y)), a + b);
    ASSERT_EQ(u64(glsl::u64_sub(x, y)), a - b);
    ASSERT_EQ(u64(glsl::s64_abs(x)), sa < 0 ? 0 - a : a);
    ASSERT_EQ(u64(glsl::u64_mul(x, y)), a * b);
    ASSERT_EQ(u64(glsl::u64_mulhi(x, y)), static_cast<L>((static_cast<Wide>(a) * b) >> 64));
    ASSERT_EQ(u64(glsl::s64_mulhi(x, y)), static_cast<L>((static_cast<SignedWide>(sa) * sb) >> 64));
    ASSERT_EQ(u64(glsl::u32_mul_wide(x.x, y.x)), static_cast<L>(x.x) * y.x);
    ASSERT_EQ(glsl::u64_eq(x, y), a == b);
    ASSERT_EQ(glsl::u64_lt(x, y), a < b);
    ASSERT_EQ(glsl::u64_le(x, y), a <= b);
    ASSERT_EQ(glsl::s64_lt(x, y), sa < sb);
    ASSERT_EQ(glsl::s64_le(x, y), sa <= sb);
  }
}

TEST(Int64, shifts_and_bits) {
  Inputs inputs;
  for (int i = 0; i < runs(); ++i) {
    const L a = inputs.integer();
    const uvec2 x = pair(a);
    const S sa = static_cast<S>(a);
    const unsigned n = i & 15 ? inputs.word() % 70 : inputs.word();
    ASSERT_EQ(u64(glsl::u64_shl(x, n)), n > 63 ? 0 : a << n) << n;
    ASSERT_EQ(u64(glsl::u64_shr(x, n)), n > 63 ? 0 : a >> n) << n;
    ASSERT_EQ(u64(glsl::s64_shr(x, n)), static_cast<L>(sa >> std::min(n, 63u))) << n;
    ASSERT_EQ(glsl::u64_bfind(x), 63u - static_cast<unsigned>(std::countl_zero(a)));
  }
}

TEST(Int64, division) {
  Inputs inputs;
  for (int i = 0; i < runs(); ++i) {
    const L b = i & 31 ? inputs.integer() : 0;
    const L a = i & 1 || b == 0 ? inputs.integer()
                                : b * (inputs.integer() % (~0ull / b)) - (inputs.word() & 1);
    const S sa = static_cast<S>(a), sb = static_cast<S>(b);
    const bool overflow = b == ~0ull && a == 1ull << 63;
    ASSERT_EQ(u64(glsl::u64_div(pair(a), pair(b))), b == 0 ? ~0ull : a / b) << a << " " << b;
    ASSERT_EQ(u64(glsl::u64_rem(pair(a), pair(b))), b == 0 ? ~0ull : a % b) << a << " " << b;
    if (!overflow) {
      ASSERT_EQ(u64(glsl::s64_div(pair(a), pair(b))), b == 0 ? ~0ull : static_cast<L>(sa / sb));
      ASSERT_EQ(u64(glsl::s64_rem(pair(a), pair(b))), b == 0 ? ~0ull : static_cast<L>(sa % sb));
    } else {
      ASSERT_EQ(u64(glsl::s64_div(pair(a), pair(b))), a);
      ASSERT_EQ(u64(glsl::s64_rem(pair(a), pair(b))), 0u);
    }
  }
}

}  // namespace
