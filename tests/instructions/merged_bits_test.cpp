// Bits of two values merged, and a choice between that and one of the values: by a predicate, a
// guard, a branch, a loop. LLVM up to 22 on AVX-512 makes one masked instruction of the two steps
// and may take its operands for each other. What is right is worked out here.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <functional>
#include <random>

#include "tests/instructions/words.hpp"

namespace ptx2spv::tests {
namespace {

constexpr unsigned kThreads = 256;

/// %t5 = what the text makes of %t2 and %t3.
struct Merge {
  std::string text;
  std::function<std::uint32_t(std::uint32_t, std::uint32_t)> right;
};

std::vector<Merge> merges() {
  std::vector<Merge> all;
  for (const std::uint32_t mask : {0x80000000u, 0x7fffffffu, 0xffffu, 0xff00ff00u}) {
    all.push_back(
        {fmt::format("and.b32 %t4, %t2, {};\nand.b32 %t5, %t3, {};\nor.b32 %t5, %t4, %t5;", mask,
                     ~mask),
         [=](auto a, auto b) { return (a & mask) | (b & ~mask); }});
    all.push_back(
        {fmt::format("xor.b32 %t4, %t2, %t3;\nand.b32 %t4, %t4, {};\nxor.b32 %t5, %t4, %t3;", mask),
         [=](auto a, auto b) { return (a & mask) | (b & ~mask); }});
    all.push_back({fmt::format("and.b32 %t4, %t2, {};\nor.b32 %t5, %t4, %t3;", mask),
                   [=](auto a, auto b) { return (a & mask) | b; }});
    all.push_back({fmt::format("xor.b32 %t4, %t2, %t3;\nand.b32 %t5, %t4, {};", mask),
                   [=](auto a, auto b) { return (a ^ b) & mask; }});
    all.push_back({fmt::format("lop3.b32 %t5, %t2, {}, %t3, 0xca;", mask),
                   [=](auto a, auto b) { return (a & mask) | (~a & b); }});
    all.push_back({fmt::format("lop3.b32 %t5, {}, %t2, %t3, 0xca;", mask),
                   [=](auto a, auto b) { return (a & mask) | (b & ~mask); }});
  }
  all.push_back(
      {"mov.b32 %f0, %t2;\nmov.b32 %f1, %t3;\ncopysign.f32 %f2, %f0, %f1;\nmov.b32 %t5, %f2;",
       [](auto a, auto b) { return (a & 0x80000000u) | (b & 0x7fffffffu); }});
  all.push_back({"bfi.b32 %t5, %t2, %t3, 8, 12;",
                 [](auto a, auto b) { return (b & ~0xfff00u) | (a << 8 & 0xfff00u); }});
  all.push_back({"bfi.b32 %t5, %t2, %t3, 0, 31;",
                 [](auto a, auto b) { return (b & 0x80000000u) | (a & 0x7fffffffu); }});
  all.push_back({"prmt.b32 %t5, %t2, %t3, 0x7210;",
                 [](auto a, auto b) { return (a & 0xffffffu) | (b & 0xff000000u); }});
  return all;
}

/// The merge in the middle, and a choice between it and one of the values; %t6 is the result.
struct Choice {
  const char *before, *behind;
  bool first;  ///< the other choice is %t2, not %t3
};
constexpr Choice kChoices[] = {
    {"", "selp.b32 %t6, %t5, %t2, %q;", true},
    {"", "selp.b32 %t6, %t5, %t3, %q;", false},
    {"mov.u32 %t6, %t2;\n@!%q bra over;\n", "mov.u32 %t6, %t5;\nover:", true},
    {"mov.u32 %t6, %t3;\n@!%q bra over;\n", "mov.u32 %t6, %t5;\nover:", false},
    {"mov.u32 %t6, %t3;\nmov.u32 %t7, 0;\nagain:\nsetp.ge.u32 %p0, %t7, %t1;\n@%p0 bra after;\n",
     "mov.u32 %t6, %t5;\nadd.u32 %t7, %t7, 64;\nbra again;\nafter:", false},
};

TEST(MergedBits, AreChosenWhole) {
  std::mt19937 random(5);
  std::vector<std::uint32_t> in(kThreads * 2);
  for (std::uint32_t& word : in) word = random();
  for (const Merge& merge : merges())
    for (const Choice& choice : kChoices) {
      const bool loop = std::string(choice.before).find("again") != std::string::npos;
      const std::string text = std::string("ld.global.v2.u32 {%t2, %t3}, [%in];\n") +
                               "setp.lt.u32 %q, %t2, 0x90000000;\n" + choice.before + merge.text +
                               "\n" + choice.behind + "\nst.global.u32 [%out], %t6;";
      const auto out = run_words(text, kThreads, in, 1);
      ASSERT_EQ(out.size(), kThreads) << text;
      for (unsigned i = 0; i < kThreads; ++i) {
        const std::uint32_t a = in[i * 2], b = in[i * 2 + 1];
        const bool taken = loop ? i % 64 != 0 : a < 0x90000000u;
        const std::uint32_t right = taken ? merge.right(a, b) : choice.first ? a : b;
        ASSERT_EQ(out[i], right) << text << fmt::format("\nof {:08x}, {:08x}", a, b);
      }
    }
}

}  // namespace
}  // namespace ptx2spv::tests
