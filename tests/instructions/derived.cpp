#include "tests/instructions/derived.hpp"

#include <fmt/format.h>

#include <iterator>
#include <random>

namespace ptx2spv::tests {
namespace {

std::string words_of(const std::uint32_t* words, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += fmt::format("{}{:08x}", i ? " " : "", words[i]);
  return text;
}

}  // namespace

WordsCheck each_thread(const WordsKernel& kernel,
                       std::function<void(const std::uint32_t* in, std::uint32_t* out)> right) {
  return [operands = kernel.operands, results = kernel.results, right](const Words& in,
                                                                       const Words& out) {
    Words wanted(results);
    for (std::size_t i = 0; i * results < out.size(); ++i) {
      const std::uint32_t* mine = in.data() + i * operands;
      const std::uint32_t* left = out.data() + i * results;
      right(mine, wanted.data());
      if (!std::equal(wanted.begin(), wanted.end(), left))
        return fmt::format("thread {} of {} left\n{}, not\n{}", i, words_of(mine, operands),
                           words_of(left, results), words_of(wanted.data(), results));
    }
    return std::string();
  };
}

WordsCheck all_threads(std::function<Words(const Words& in)> right) {
  return [right](const Words& in, const Words& out) {
    const Words wanted = right(in);
    if (wanted.size() != out.size())
      return fmt::format("{} words, not {}", out.size(), wanted.size());
    for (std::size_t i = 0; i < out.size(); ++i)
      if (out[i] != wanted[i])
        return fmt::format("word {} is {:08x}, not {:08x}", i, out[i], wanted[i]);
    return std::string();
  };
}

Words some_floats(std::size_t count, bool nan) {
  std::mt19937 random(29);
  Words words(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t any = random();
    std::uint32_t word = any;
    if (i % 4 == 0) word = (any & 0x83ffffff) + 0x3c000000;                    // 2^-7 to 2
    if (i % 4 == 1) word = (any & 0x80000000) | 0x3f800000 | (any & 7) << 21;  // few bits
    if (i % 16 == 2) word = any & 0x80ffffff;                                  // denormals, least
    if (i % 32 == 3) word = (any & 0x80000000) | (any & 1 ? 0x7f800000 : 0);
    if (i % 32 == 7) word = any | 0x7f000000;
    if ((word & 0x7fffffff) > 0x7f800000 && !nan) word &= 0xbfffffff;
    words[i] = word;
  }
  return words;
}

std::vector<Derived> derived_rows() {
  std::vector<Derived> all;
  for (auto rows : {packed_rows, conversion_rows, warp_rows, control_rows, approximate_rows,
                    language_rows, async_rows}) {
    auto some = rows();
    std::move(some.begin(), some.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace ptx2spv::tests
