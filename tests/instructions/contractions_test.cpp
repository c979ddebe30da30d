// Products and sums without a rounding modifier against what ptxas made of them for sm_90: which
// of them are fused. tests/data/ptxas/README.md says how that was recorded.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include "tests/instructions/words.hpp"

namespace ptx2spv::tests {
namespace {

constexpr unsigned kThreads = 64, kOperands = 6;

/// One line: the instructions, what is stored, and what that is.
struct Line {
  std::string text, body;
  std::vector<std::pair<std::string, std::string>> results;
};

std::vector<Line> lines_of(const std::string& type) {
  std::ifstream in(PTX2SPV_SOURCE_DIR "/tests/data/ptxas/contractions.txt");
  std::vector<Line> lines;
  for (std::string text; std::getline(in, text);) {
    const std::size_t one = text.find('\t'), two = text.find('\t', one + 1);
    if (two == std::string::npos || text.substr(0, one) != type) continue;
    Line line{text, text.substr(one + 1, two - one - 1), {}};
    std::istringstream results(text.substr(two + 1));
    for (std::string each; results >> each;)
      line.results.emplace_back(each.substr(0, each.find('=')), each.substr(each.find('=') + 1));
    lines.push_back(line);
  }
  return lines;
}

/// The instructions as PTX.
std::string ptx_of(const Line& line, const std::string& type) {
  std::string text;
  std::istringstream body(line.body);
  for (std::string each; std::getline(body >> std::ws, each, ';');) {
    if (each[0] == '{') {
      for (std::string more; each.back() != '}' && std::getline(body, more, ';');)
        each += ';' + more;
      text += each.substr(1, each.size() - 2) + ";\n";
      continue;
    }
    std::istringstream words(each);
    std::string word, before = " %";
    words >> word;
    text += word + "." + type;
    for (; words >> word; before = ", %") text += before + word;
    text += ";\n";
  }
  return text;
}

/// The value of mul(x0,-add(x1,k0)) and the like.
template <class T>
T value_of(const char*& at, const T* x) {
  constexpr T kConstants[] = {static_cast<T>(0.7L), static_cast<T>(1.3L)};
  if (*at == '-') return -value_of(++at, x);
  if (*at == 'x') return at += 2, x[at[-1] - '0'];
  if (*at == 'k') return at += 2, kConstants[at[-1] - '0'];
  const std::string op(at, 3);
  T of[3] = {};
  at += 3;
  for (unsigned i = 0; *at++ != ')'; ++i) of[i] = value_of(at, x);
  if (op == "fma") return std::fma(of[0], of[1], of[2]);
  if (op == "abs") return std::fabs(of[0]);
  return op == "mul" ? of[0] * of[1] : of[0] + of[1];
}

template <class T, class Bits>
void expect_recorded(const std::string& type) {
  constexpr unsigned kWords = sizeof(T) / 4;
  std::mt19937_64 random(5);
  Words in(kThreads * kOperands * kWords);
  for (unsigned i = 0; i < kThreads * kOperands; ++i) {
    // Between 1 and 2, of either sign, with all bits in use.
    const auto value = std::ldexp(static_cast<T>(random()), -64) + 1;
    const T operand = random() & 1 ? value : -value;
    std::memcpy(&in[i * kWords], &operand, sizeof operand);
  }
  const std::vector<Line> all = lines_of(type);
  ASSERT_GT(all.size(), 120u);
  // Where a kernel has warp operations, CPU devices run it in regions, and a factor that crosses
  // them is a phi: ready ones are not recognised there.
  const auto of_warps = [](const Line& line) {
    return line.body.find("activemask") != line.body.npos ||
           line.body.find("bar.warp") != line.body.npos;
  };
  for (std::size_t first = 0, end = 0; first < all.size(); first = end) {
    for (end = first + 1; end < std::min(all.size(), first + 24); ++end)
      if (of_warps(all[end]) != of_warps(all[first])) break;
    std::string text = "{\n.reg ." + type + " %x<6>, %k<2>;\nsetp.gt.u32 %p0, %t0, 100;\n";
    const bool wide = type == "f64";
    text += "ld.const." + type + " %k0, [k0];\nmov." + type + " %k1, " +
            (wide ? "0d3FF4CCCCCCCCCCCD" : "0f3FA66666") + ";\n";
    for (unsigned i = 0; i < kOperands; ++i)
      text += "ld.global." + type + " %x" + std::to_string(i) + ", [%in+" +
              std::to_string(i * sizeof(T)) + "];\n";
    unsigned results = 2;  // two words that instructions between store
    for (std::size_t i = first; i < end; ++i) {
      text += "{\n.reg ." + type + " %s<16>;\n" + ptx_of(all[i], type);
      for (const auto& [name, is] : all[i].results) {
        text +=
            "st.global." + type + " [%out+" + std::to_string(results * 4) + "], %" + name + ";\n";
        results += kWords;
      }
      text += "}\n";
    }
    results += results % 2;
    const Words out = run_words({.text = text + "}\n",
                                 .threads = kThreads,
                                 .operands = kOperands * kWords,
                                 .results = results,
                                 .before = std::string(".const .") + type + " k0 = " +
                                           (wide ? "0d3FE6666666666666" : "0f3F333333") + ";"},
                                in);
    ASSERT_EQ(out.size(), kThreads * results);
    for (unsigned thread = 0; thread < kThreads; ++thread) {
      T x[kOperands];
      std::memcpy(x, &in[thread * kOperands * kWords], sizeof x);
      unsigned word = thread * results + 2;
      for (std::size_t i = first; i < end; ++i)
        for (const auto& [name, is] : all[i].results) {
          const char* at = is.c_str();
          T got = 0;
          std::memcpy(&got, &out[word], sizeof got);
          ASSERT_EQ(std::bit_cast<Bits>(got), std::bit_cast<Bits>(value_of(at, x)))
              << name << " of " << all[i].text;
          word += kWords;
        }
    }
  }
}

TEST(Contractions, OfFloatsAreThoseOfPtxas) { expect_recorded<float, std::uint32_t>("f32"); }
TEST(Contractions, OfDoublesAreThoseOfPtxas) { expect_recorded<double, std::uint64_t>("f64"); }

// (1 + 2^-9) - (1 + 2^-10)^2 is -2^-20, and 0 where the square is rounded: HFMA2 for f16x2, two
// instructions for bf16x2, whose square of 1 + 2^-7 is rounded before it is subtracted.
TEST(Contractions, OfNegatedPairsAreThoseOfPtxas) {
  const std::string text = R"(
ld.global.b32 %t1, [%in];
ld.global.b32 %t2, [%in+4];
mul.TYPE %t3, %t1, %t1;
neg.TYPE %t3, %t3;
add.TYPE %t4, %t3, %t2;
st.global.b32 [%out], %t4;)";
  const auto result = [&](const std::string& type, std::uint32_t x, std::uint32_t y) {
    std::string body = text;
    for (std::size_t at; (at = body.find("TYPE")) != std::string::npos;) body.replace(at, 4, type);
    Words in;
    for (unsigned i = 0; i < kThreads; ++i) in.insert(in.end(), {x * 0x10001, y * 0x10001});
    const Words out = run_words({.text = body,
                                 .threads = kThreads,
                                 .operands = 2,
                                 .results = 1,
                                 .version = "8.6",
                                 .target = "sm_90"},
                                in);
    return out.empty() ? 0xdead : out[0];
  };
  EXPECT_EQ(result("f16x2", 0x3c01, 0x3c02), 0x80108010u);
  EXPECT_EQ(result("bf16x2", 0x3f81, 0x3f82), 0u);
}

}  // namespace
}  // namespace ptx2spv::tests
