// The translator links library functions by name, so losing one to an optimiser must fail here.
#include "shaders/library.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "ptx2spv/translator.hpp"

namespace {

constexpr std::uint32_t kMagic = 0x07230203;
constexpr std::uint32_t kOpName = 5;
constexpr std::uint32_t kOpFunction = 54;

TEST(ShaderLibrary, is_spirv_1_3) {
  const auto words = ptx2spv::shaders::library_words();
  ASSERT_GT(words.size(), 5u);
  EXPECT_EQ(words[0], kMagic);
  EXPECT_EQ(words[1], 0x00010300u);
}

TEST(ShaderLibrary, every_function_has_a_name) {
  const auto words = ptx2spv::shaders::library_words();
  std::vector<bool> named(words[3], false);
  std::size_t functions = 0;
  for (std::size_t at = 5; at < words.size(); at += words[at] >> 16) {
    ASSERT_NE(words[at] >> 16, 0u);
    const std::uint32_t op = words[at] & 0xffff;
    if (op == kOpName) named[words[at + 1]] = true;
    if (op == kOpFunction) {
      EXPECT_TRUE(named[words[at + 2]]) << "function id " << words[at + 2];
      ++functions;
    }
  }
  EXPECT_GE(functions, 1u);
}

TEST(Version, has_three_parts) { EXPECT_EQ(ptx2spv::version(), "0.2.0"); }

}  // namespace
