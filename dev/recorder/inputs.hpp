// The inputs of the one-instruction records. They are computed, not stored: recorder and replay
// call the same functions. An input is a tuple of operands; tuple i of an instruction depends on
// the instruction's text, the kinds of its operands and i alone.
//
// Even tuples take their operands from lists of special values (all pairs, for two operands), odd
// ones are random: uniform bits, exponents near each other, near the ends of the range, or few
// mantissa bits, which make ties. Instructions with one 16-bit operand and 65,536 tuples get every
// value, in order.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "src/cache/fnv.hpp"

namespace ptx2spv::recorder {

/// Operand kinds: register width, and how values are drawn.
enum class Kind : std::uint8_t {
  pred,
  b8,
  b16,
  b32,
  b64,
  f16,
  bf16,
  f32,
  f64,
  f16x2,
  bf16x2,
  amount,
  segment
};
inline constexpr std::string_view kKindNames[] = {"pred",   "b8",     "b16",    "b32", "b64",
                                                  "f16",    "bf16",   "f32",    "f64", "f16x2",
                                                  "bf16x2", "amount", "segment"};

/// Bits of the register that holds an operand of this kind; 1 for a predicate.
constexpr unsigned register_bits(Kind kind) {
  switch (kind) {
    case Kind::pred: return 1;
    case Kind::b16:
    case Kind::f16:
    case Kind::bf16: return 16;
    case Kind::b64:
    case Kind::f64: return 64;
    default: return 32;
  }
}

/// The hash that stands in a record for a block of results (FNV-1a over 64-bit words, folded to 32
/// bits).
inline std::uint32_t block_hash(std::span<const std::uint64_t> results) {
  const std::uint64_t hash = fnv(results);
  return static_cast<std::uint32_t>(hash ^ hash >> 32);
}

class Inputs {
 public:
  /// `text` is the instruction; `count` is a power of two.
  Inputs(std::string_view text, std::vector<Kind> kinds, std::uint32_t count)
      : kinds_(std::move(kinds)), count_(count), seed_(fnv(text)) {}

  /// Operands of tuple `index`, zero-extended into 64 bits each.
  void tuple(std::uint32_t index, std::span<std::uint64_t> out) const {
    if (kinds_.size() == 1 && count_ == 65536) {
      out[0] = index | (register_bits(kinds_[0]) == 32 ? std::uint64_t{index} << 16 : 0);
      return;
    }
    Random random(seed_ + index * 0x9e3779b97f4a7c15u);
    if (index % 2 == 0) {
      special_tuple(index / 2, random, out);
    } else {
      random_tuple(random, out);
    }
  }

 private:
  struct Random {
    explicit Random(std::uint64_t seed) : state(seed) {}
    std::uint64_t next() {  // splitmix64
      std::uint64_t z = (state += 0x9e3779b97f4a7c15u);
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
      z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
      return z ^ (z >> 31);
    }
    std::uint32_t below(std::uint32_t n) {
      return static_cast<std::uint32_t>((next() >> 32) * n >> 32);
    }
    std::uint64_t state;
  };
  struct Format {
    unsigned exponent, mantissa;
  };

  static Format format(Kind kind) {
    switch (kind) {
      case Kind::f16:
      case Kind::f16x2: return {5, 10};
      case Kind::bf16:
      case Kind::bf16x2: return {8, 7};
      case Kind::f32: return {8, 23};
      case Kind::f64: return {11, 52};
      default: return {0, 0};
    }
  }

  /// Signed specials of a floating-point format; the low bit of `which` is the sign.
  static constexpr std::uint32_t kFloatSpecials = 44;
  static std::uint64_t float_special(Format f, std::uint32_t which) {
    const std::uint64_t m = (std::uint64_t{1} << f.mantissa) - 1,
                        top = (std::uint64_t{1} << f.exponent) - 1;
    const std::uint64_t bias = top >> 1;
    auto make = [&](std::uint64_t e, std::uint64_t mantissa) {
      return e << f.mantissa | (mantissa & m);
    };
    // Powers of two at integer limits, as far as the format reaches.
    auto power = [&](std::uint64_t p) { return make(bias + p < top ? bias + p : top - 1, 0); };
    std::uint64_t v = 0;
    switch (which / 2) {
      case 0: v = 0; break;
      case 1: v = 1; break;             // least denormal
      case 2: v = m; break;             // greatest denormal
      case 3: v = (m >> 1) + 1; break;  // half the least normal
      case 4: v = make(1, 0); break;    // least normal
      case 5: v = make(1, 1); break;
      case 6: v = make(bias, 0); break;  // 1
      case 7: v = make(bias, 1); break;
      case 8: v = make(bias - 1, m); break;                // 1 - ulp
      case 9: v = make(bias - 1, 0); break;                // 0.5
      case 10: v = make(bias, (m >> 1) + 1); break;        // 1.5
      case 11: v = make(bias + 1, (m >> 2) + 1); break;    // 2.5
      case 12: v = make(bias + 1, (m >> 1) + 1); break;    // 3
      case 13: v = power(f.mantissa); break;               // first without fraction bits
      case 14: v = make(bias + f.mantissa - 1, m); break;  // half a unit below an integer
      case 15: v = power(31); break;
      case 16: v = power(63); break;
      case 17: v = make(top - 1, m); break;  // greatest finite
      case 18: v = make(top - 2, m); break;
      case 19: v = make(top, 0); break;             // infinity
      case 20: v = make(top, (m >> 1) + 1); break;  // quiet NaN
      default: v = make(top, 0x155); break;         // signalling NaN
    }
    return v | std::uint64_t{which % 2} << (f.exponent + f.mantissa);
  }

  static constexpr std::uint32_t kIntegerSpecials = 40;
  static std::uint64_t integer_special(unsigned bits, std::uint32_t which) {
    const std::uint64_t ones = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
    const std::uint64_t sign = std::uint64_t{1} << (bits - 1);
    static constexpr std::uint64_t kSmall[] = {
        0,          1,          2,          3,          5,         7,     8,          15,
        16,         31,         32,         33,         63,        64,    127,        128,
        255,        256,        32767,      32768,      65535,     65536, 0x7fffffff, 0x80000000,
        0xffffffff, 0x01020304, 0x80808080, 0x7f7f7f7f, 0xff00ff00};
    if (which < 29) return kSmall[which] & ones;
    switch (which) {
      case 29: return ones;
      case 30: return ones - 1;
      case 31: return sign;
      case 32: return sign + 1;
      case 33: return sign - 1;
      case 34: return (0 - std::uint64_t{128}) & ones;
      case 35: return (0 - std::uint64_t{129}) & ones;
      case 36: return (0 - std::uint64_t{32768}) & ones;
      case 37: return 0x5555555555555555u & ones;
      case 38: return 0xaaaaaaaaaaaaaaaau & ones;
      default: return sign >> 1;
    }
  }

  static std::uint32_t specials(Kind kind) {
    switch (kind) {
      case Kind::pred: return 2;
      case Kind::f16:
      case Kind::bf16:
      case Kind::f32:
      case Kind::f64:
      case Kind::f16x2:
      case Kind::bf16x2: return kFloatSpecials;
      case Kind::segment: return 16;
      default: return kIntegerSpecials;
    }
  }

  static std::uint64_t special(Kind kind, std::uint32_t which, Random& random) {
    switch (kind) {
      case Kind::pred: return which & 1;
      case Kind::f16:
      case Kind::bf16:
      case Kind::f32:
      case Kind::f64: return float_special(format(kind), which);
      case Kind::f16x2:
      case Kind::bf16x2:
        return float_special(format(kind), which) |
               float_special(format(kind), random.below(kFloatSpecials)) << 16;
      case Kind::segment: {
        static constexpr std::uint32_t kSegments[] = {
            0x1f,   0x1f,   0x1f,   0,      0x181f, 0x1c1f, 0x1e1f, 0x1f1f,
            0x101f, 0x1800, 0x1c00, 0x1000, 0x0010, 0x1e03, 0x0f0f, 0x1818};
        return kSegments[which];
      }
      default: return integer_special(kind == Kind::b8 ? 32 : register_bits(kind), which);
    }
  }

  void special_tuple(std::uint32_t index, Random& random, std::span<std::uint64_t> out) const {
    std::uint64_t product = 1;
    for (Kind kind : kinds_) product *= specials(kind);
    // An odd multiplier modulo a power of two visits every tuple once, in an order that mixes them.
    std::uint64_t rest = std::uint64_t{index} * 0x9e5u % (count_ / 2);
    const bool listed = product <= count_ / 2 && rest < product;
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      const std::uint32_t n = specials(kinds_[k]);
      out[k] = special(kinds_[k], listed ? static_cast<std::uint32_t>(rest % n) : random.below(n),
                       random);
      rest /= n;
    }
  }

  static std::uint64_t random_integer(unsigned bits, Random& random) {
    const std::uint64_t ones = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
    const std::uint64_t value = random.next();
    switch (random.below(4)) {
      case 0:
      case 1: return value & ones;
      case 2: return (value & ones) >> random.below(bits);
      default: return (0 - (value & ones) % 40 + 8) & ones;
    }
  }

  /// A random float; `near` is a biased exponent to be near to, negative for none.
  static std::uint64_t random_float(Format f, std::int32_t near, Random& random) {
    const std::uint64_t ones = (std::uint64_t{1} << f.mantissa) - 1;
    const auto top = static_cast<std::int32_t>((1u << f.exponent) - 1), bias = top >> 1;
    const auto m = static_cast<std::int32_t>(f.mantissa);
    std::uint64_t mantissa = random.next() & ones;
    if (random.below(3) == 0) mantissa &= ones << random.below(f.mantissa);
    const std::uint64_t sign = random.next() & 1;
    std::int32_t e = 0;
    auto around = [&](std::int32_t center, std::int32_t reach) {
      return center - reach +
             static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(2 * reach + 1)));
    };
    switch (near >= 0 ? 4 : random.below(5)) {
      case 0:
        e = static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(top + 1)));
        break;
      case 1: e = around(bias, 8); break;
      case 2: e = static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(m))); break;
      case 3: e = around(bias + m / 2, 34); break;
      default: e = around(near >= 0 ? near : bias, m + 3); break;
    }
    if (e < 0) e = 0;
    if (e >= top) e = random.below(16) == 0 ? top : top - 1;
    return sign << (f.exponent + f.mantissa) | static_cast<std::uint64_t>(e) << f.mantissa |
           mantissa;
  }

  /// Exponents that make the result of the tuple interesting: near an operand, a product, or the
  /// range's ends.
  static std::int32_t near_exponent(Format f, std::span<const std::uint64_t> before, unsigned shift,
                                    Random& random) {
    const auto top = static_cast<std::int32_t>((1u << f.exponent) - 1), bias = top >> 1;
    auto exponent = [&](std::uint64_t bits) {
      return static_cast<std::int32_t>(bits >> shift >> f.mantissa) & top;
    };
    std::int32_t e = -1;
    if (before.size() == 1) {
      const std::int32_t a = exponent(before[0]);
      switch (random.below(5)) {
        case 0: return -1;
        case 1: e = a; break;             // sums
        case 2: e = bias - a; break;      // products near the least normal
        case 3: e = 2 * bias - a; break;  // products near 1
        default: e = random.below(2) ? a + bias : a - bias; break;  // quotients at the ends
      }
    } else if (before.size() == 2) {
      if (random.below(4) == 0) return -1;
      e = exponent(before[0]) + exponent(before[1]) - bias;
    }
    return e < 0 ? (before.empty() ? -1 : 0) : e;
  }

  /// Minus the product of two finite operands, a unit in the last place off at most: sums that
  /// cancel.
  static bool cancelling(Format f, std::uint64_t a, std::uint64_t b, Random& random,
                         std::uint64_t& out) {
    __extension__ using Wide = unsigned __int128;
    const std::uint64_t ones = (std::uint64_t{1} << f.mantissa) - 1, hidden = ones + 1;
    const auto top = static_cast<std::int32_t>((1u << f.exponent) - 1), bias = top >> 1;
    const auto exponent = [&](std::uint64_t bits) {
      return static_cast<std::int32_t>(bits >> f.mantissa) & top;
    };
    const Wide product = Wide{(a & ones) | hidden} * ((b & ones) | hidden);
    const unsigned carry = (product >> (2 * f.mantissa + 1)) != 0 ? 1 : 0;
    const std::int32_t e = exponent(a) + exponent(b) - bias + static_cast<std::int32_t>(carry);
    if (e < 1 || e >= top) return false;
    const auto mantissa = static_cast<std::uint64_t>(product >> (f.mantissa + carry)) & ones;
    const std::uint64_t sign = ((a ^ b) >> (f.exponent + f.mantissa) & 1) ^ 1;
    out = (sign << (f.exponent + f.mantissa) | static_cast<std::uint64_t>(e) << f.mantissa |
           mantissa) +
          random.below(3) - 1;
    return true;
  }

  void random_tuple(Random& random, std::span<std::uint64_t> out) const {
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      const Kind kind = kinds_[k];
      const bool related = k > 0 && kinds_[k - 1] == kind && k < 3;
      const auto before = std::span<const std::uint64_t>(out.data(), related ? k : 0);
      switch (kind) {
        case Kind::pred: out[k] = random.next() & 1; break;
        case Kind::f16:
        case Kind::bf16:
        case Kind::f32:
        case Kind::f64:
          if (before.size() == 2 && random.below(6) == 0 &&
              cancelling(format(kind), before[0], before[1], random, out[k])) {
            break;
          }
          out[k] =
              random_float(format(kind), near_exponent(format(kind), before, 0, random), random);
          break;
        case Kind::f16x2:
        case Kind::bf16x2: {
          const std::uint64_t low =
              random_float(format(kind), near_exponent(format(kind), before, 0, random), random);
          out[k] =
              low |
              random_float(format(kind), near_exponent(format(kind), before, 16, random), random)
                  << 16;
          break;
        }
        case Kind::amount:
          out[k] = random.below(4) == 0 ? random.next() & 0xffffffffu : random.below(80);
          break;
        case Kind::segment: out[k] = special(kind, random.below(16), random); break;
        default: {
          const unsigned bits = kind == Kind::b8 ? 32 : register_bits(kind);
          out[k] = random_integer(bits, random);
          if (related && random.below(8) == 0)
            out[k] = (out[k - 1] + random.below(3) - 1) & (~std::uint64_t{0} >> (64 - bits));
          break;
        }
      }
    }
  }

  std::vector<Kind> kinds_;
  std::uint32_t count_;
  std::uint64_t seed_;
};

}  // namespace ptx2spv::recorder
