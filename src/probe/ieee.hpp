// Operands for questions about floats.
#pragma once

#include <cstdint>
#include <iterator>
#include <vector>

namespace ptx2spv::runtime::ieee {

/// Numbers that always are the same.
class Sequence {
 public:
  explicit Sequence(std::uint64_t seed) : state_(seed) {}
  std::uint32_t next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>(state_ >> 32);
  }

 private:
  std::uint64_t state_;
};

enum class Kind : std::uint8_t {
  any,     ///< denormals, zeros, infinities, NaN and the largest numbers among them
  normal,  ///< normal numbers whose products and quotients are normal too
  close,   ///< of nearly the same size: sums cancel, remainders matter
};

/// A single-precision number.
inline std::uint32_t single(Sequence& sequence, Kind kind) {
  constexpr std::uint32_t kSpecial[] = {0x00000000, 0x80000000, 0x00000001, 0x807fffff, 0x00800000,
                                        0x80800000, 0x3f800000, 0xbf800000, 0x7f7fffff, 0x7f800000,
                                        0xff800000, 0x7fc00000, 0x00400000, 0x33800000, 0x4b800000};
  const std::uint32_t bits = sequence.next();
  if (kind == Kind::normal) return (bits & 0x807fffff) | (97 + (bits >> 23) % 60) << 23;
  if (kind == Kind::close) return (bits & 0x807fffff) | (126 + (bits >> 23) % 3) << 23;
  switch (sequence.next() % 4) {
    case 0: return kSpecial[bits % std::size(kSpecial)];
    case 1: return bits & 0x807fffff;                              // denormal
    case 2: return (bits & 0x807fffff) | (bits >> 23 & 31) << 23;  // near it
    default: return bits;
  }
}

/// A number of half precision.
inline std::uint32_t half(Sequence& sequence, Kind kind) {
  constexpr std::uint32_t kSpecial[] = {0x0000, 0x8000, 0x0001, 0x83ff, 0x0400, 0x8400, 0x3c00,
                                        0xbc00, 0x7bff, 0x7c00, 0xfc00, 0x7e00, 0x3800, 0x0200};
  const std::uint32_t bits = sequence.next() >> 16;
  if (kind == Kind::normal) return (bits & 0x83ff) | (11 + (bits >> 10) % 9) << 10;
  if (kind == Kind::close) return (bits & 0x83ff) | (14 + (bits >> 10) % 3) << 10;
  switch (sequence.next() >> 30) {
    case 0: return kSpecial[bits % std::size(kSpecial)];
    case 1: return bits & 0x83ff;                             // denormal
    case 2: return (bits & 0x83ff) | (bits >> 10 & 7) << 10;  // near it
    default: return bits;
  }
}

/// The high word of a double-precision number in the second word.
inline void wide(Sequence& sequence, Kind kind, std::vector<std::uint32_t>& words) {
  const std::uint32_t low = sequence.next(), bits = sequence.next();
  words.push_back(low);
  if (kind == Kind::any && sequence.next() % 4 == 0) {
    constexpr std::uint32_t kHigh[] = {0x00000000, 0x80000000, 0x3ff00000, 0x7ff00000,
                                       0xfff00000, 0x00080000, 0x800fffff, 0x7fefffff};
    words.back() = sequence.next() % 2 ? low : 0;
    const std::uint32_t high = kHigh[bits % std::size(kHigh)];
    if ((high & 0x7ff00000) == 0x7ff00000) words.back() = 0;  // no NaN: their words are not asked
    words.push_back(high);
  } else {
    const std::uint32_t exponent =
        kind == Kind::close ? 1022 + (bits >> 20) % 3 : 923 + (bits >> 20) % 200;
    words.push_back((bits & 0x800fffff) | exponent << 20);
  }
}

}  // namespace ptx2spv::runtime::ieee
