// prmt with a selector in the text, of which little is left to do, and with the same in a register.
// What is right is worked out here.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <random>

#include "tests/instructions/words.hpp"

namespace ptx2spv::tests {
namespace {

constexpr unsigned kThreads = 64, kSelectors = 12;

std::uint32_t permuted(std::uint32_t selector, std::uint32_t a, std::uint32_t b) {
  std::uint32_t out = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned which = selector >> (4 * i) & 7;
    std::uint32_t byte = (which < 4 ? a : b) >> (8 * (which % 4)) & 0xff;
    if (selector >> (4 * i) & 8) byte = byte & 0x80 ? 0xff : 0;
    out |= byte << (8 * i);
  }
  return out;
}

TEST(Permute, ByConstantsAndRegisters) {
  std::mt19937 random(11);
  std::vector<std::uint32_t> in(kThreads * 2);
  for (std::uint32_t& word : in) word = random();
  for (unsigned round = 0; round < 24; ++round) {
    std::vector<std::uint32_t> selectors = {0x3210, 0x7654, 0xba98, 0x4321, 0x5410, 0x0123, 0x7777};
    while (selectors.size() < kSelectors) selectors.push_back(random());
    if (round)
      std::ranges::generate(selectors, [&] { return random() & (round % 2 ? ~0u : 0x3333u); });
    std::string text = "ld.global.v2.u32 {%t2, %t3}, [%in];\n";
    for (unsigned i = 0; i < kSelectors; ++i) {
      text += fmt::format("prmt.b32 %t4, %t2, %t3, {0};\nst.global.u32 [%out + {1}], %t4;\n",
                          selectors[i], i * 8);
      text += fmt::format("xor.b32 %t5, %t2, {};\nxor.b32 %t5, %t5, %t2;\n", selectors[i]);
      text +=
          fmt::format("prmt.b32 %t4, %t2, %t3, %t5;\nst.global.u32 [%out + {}], %t4;\n", i * 8 + 4);
    }
    const auto out = run_words(text, kThreads, in, kSelectors * 2);
    ASSERT_EQ(out.size(), kThreads * kSelectors * 2) << text;
    for (unsigned i = 0; i < out.size(); ++i) {
      const unsigned thread = i / (kSelectors * 2);
      const std::uint32_t selector = selectors[i % (kSelectors * 2) / 2];
      ASSERT_EQ(out[i], permuted(selector, in[thread * 2], in[thread * 2 + 1]))
          << fmt::format("{:#06x}, in {}", selector, i % 2 ? "a register" : "the text");
    }
  }
}

}  // namespace
}  // namespace ptx2spv::tests
