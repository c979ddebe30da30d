// Two devices whose addresses begin at the same number, as drivers of GPUs give them.
#include "src/memory/address_claims.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace ptx2spv::runtime {
namespace {

struct Range {
  std::uint64_t address, bytes;
};

/// Gives the first addresses that are free, as far as its memory goes.
struct Space {
  std::uint64_t left = 1000;
  std::map<std::uint64_t, std::uint64_t> used;
  int calls = 0;
  std::optional<Range> make(std::uint64_t bytes) {
    ++calls;
    if (bytes > left) return std::nullopt;
    std::uint64_t at = 4096;
    for (const auto& [start, size] : used) {
      if (start - at >= bytes) break;
      at = start + size;
    }
    left -= bytes;
    used[at] = bytes;
    return Range{at, bytes};
  }
  void drop(const Range& range) {
    left += range.bytes;
    used.erase(range.address);
  }
};

class Claims : public testing::Test {
 protected:
  std::optional<Range> make(Space& space, std::uint64_t bytes) {
    return make_apart(
        bytes, [&](std::uint64_t size) { return space.make(size); },
        [&](const Range& range) { return claims.take(range.address, range.bytes, &space); },
        [&](const Range& range) { space.drop(range); });
  }
  AddressClaims claims;
  Space one, other;
};

TEST_F(Claims, devices_get_addresses_that_no_other_has) {
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(make(one, 10));
  EXPECT_EQ(one.calls, 40);
  const auto first = make(other, 7);
  ASSERT_TRUE(first);
  EXPECT_GE(first->address, 4096u + 400);
  EXPECT_LT(other.calls, 20);
  EXPECT_EQ(other.left, 1000u - 7);  // nothing that was passed over is kept
  for (int i = 0; i < 20; ++i) {
    const auto next = make(one, 10);
    ASSERT_TRUE(next);
    EXPECT_TRUE(next->address >= first->address + 7 || next->address + 10 <= first->address);
  }
}

TEST_F(Claims, memory_is_at_an_end_before_addresses_are) {
  ASSERT_TRUE(make(one, 995));
  EXPECT_FALSE(make(other, 10));
  EXPECT_EQ(other.left, 1000u);
  EXPECT_TRUE(other.used.empty());
}

TEST_F(Claims, what_was_given_back_is_free_for_others) {
  const auto range = make(one, 10);
  claims.give_back(range->address, &other);  // whose it is not
  EXPECT_FALSE(claims.take(range->address + 9, 1, &other));
  EXPECT_FALSE(claims.take(range->address - 1, 2, &other));
  EXPECT_TRUE(claims.take(range->address + 10, 1, &other));
  claims.give_back(range->address, &one);
  EXPECT_TRUE(claims.take(range->address, 10, &other));
}

}  // namespace
}  // namespace ptx2spv::runtime
