// The operands of matrix instructions. A tile of floats has a character: how far its exponents lie
// apart, how the addend compares with the products, which mantissas, how many zeros and specials.
#include <algorithm>
#include <bit>

#include "dev/programs/matrices.hpp"
#include "dev/recorder/dice.hpp"

namespace ptx2spv::programs {
namespace {

using recorder::Dice;

struct Format {
  unsigned exponent, mantissa;
  int bias;
  bool infinite = true;
};

Format format_of(MatrixElement element) {
  switch (element) {
    case MatrixElement::f16: return {5, 10, 15};
    case MatrixElement::bf16: return {8, 7, 127};
    case MatrixElement::f64: return {11, 52, 1023};
    case MatrixElement::e4m3: return {4, 3, 7, false};
    case MatrixElement::e5m2: return {5, 2, 15};
    default: return {8, 23, 127};  // tf32 too, whose low bits instructions leave out
  }
}

struct Tile {
  bool raw = false, positive = false;
  unsigned mantissa = 0, zeros = 0, specials = 0;
  int center[3] = {}, spread[3] = {};
};

Tile draw_tile(Dice& dice, const Format& a, const Format& c) {
  constexpr int kSpreads[] = {0, 0, 1, 2, 3, 5, 8, 12, 20, 40};
  Tile tile;
  tile.raw = dice.chance(12);
  tile.positive = dice.chance(25);
  tile.mantissa = dice.below(6);
  tile.zeros = dice.chance(30) ? dice.below(90) : 0;
  tile.specials = dice.chance(12) ? 1 + dice.below(12) : 0;
  const int reach = dice.chance(60) ? std::min(a.bias / 2, 12) : a.bias;
  for (int i = 0; i < 2; ++i) {
    tile.center[i] = static_cast<int>(dice.below(2 * static_cast<unsigned>(reach) + 1)) - reach;
    tile.spread[i] = kSpreads[dice.below(10)];
  }
  // The addend near the products, or far from them; or with the tile's other end of the range.
  const int apart = static_cast<int>(dice.below(81)) - 40,
            near = static_cast<int>(dice.below(9)) - 4;
  tile.center[2] = tile.center[0] + tile.center[1] + (dice.chance(50) ? near : apart);
  tile.center[2] = std::clamp(tile.center[2], -c.bias - static_cast<int>(c.mantissa), c.bias);
  tile.spread[2] = kSpreads[dice.below(10)];
  return tile;
}

std::uint64_t draw_special(Dice& dice, const Format& f) {
  const std::uint64_t top = ((1ull << f.exponent) - 1) << f.mantissa, one = 1;
  const std::uint64_t largest = f.infinite ? top - 1 : top | ((one << f.mantissa) - 2);
  const std::uint64_t nan = f.infinite ? top | (one << (f.mantissa - 1)) : top | 7;
  const std::uint64_t list[] = {0,
                                0,
                                f.infinite ? top : largest,
                                largest,
                                nan,
                                f.infinite ? top | 1 : nan,
                                1,
                                (one << f.mantissa) - 1,
                                one << f.mantissa,
                                static_cast<std::uint64_t>(f.bias) << f.mantissa};
  return list[dice.below(10)];
}

std::uint64_t draw(Dice& dice, const Tile& tile, const Format& f, unsigned role) {
  const std::uint64_t wide = std::uint64_t{dice.bits()} << 32 | dice.bits();
  const unsigned width = 1 + f.exponent + f.mantissa;
  const std::uint64_t mask = (1ull << f.mantissa) - 1;
  if (tile.raw) return wide >> (64 - width);
  const std::uint64_t sign = tile.positive ? 0 : (wide >> 63) << (width - 1);
  if (tile.specials && dice.chance(tile.specials)) return sign | draw_special(dice, f);
  if (tile.zeros && dice.chance(tile.zeros)) return sign;
  std::uint64_t mantissa = wide & mask;
  const unsigned how = tile.mantissa == 5 ? dice.below(5) : tile.mantissa;
  if (how == 1) mantissa = 0;
  if (how == 2) mantissa = mask;
  if (how == 3) mantissa &= mask & ~(mask >> 2);
  const int spread = tile.spread[role];
  const int exponent = tile.center[role] + f.bias +
                       static_cast<int>(dice.below(2 * static_cast<unsigned>(spread) + 1)) - spread;
  if (exponent <= 0)
    return sign | mantissa >> std::min(-exponent, static_cast<int>(f.mantissa) - 1);
  const int most = (1 << f.exponent) - (f.infinite ? 2 : 1);
  std::uint64_t field = static_cast<std::uint64_t>(std::min(exponent, most)) << f.mantissa;
  if (!f.infinite && exponent >= most && mantissa == mask) mantissa ^= 1;
  return sign | field | mantissa;
}

unsigned width_of(MatrixElement element) {
  switch (element) {
    case MatrixElement::f16:
    case MatrixElement::bf16: return 16;
    case MatrixElement::e4m3:
    case MatrixElement::e5m2: return 8;
    default: return 32;
  }
}

void append(std::vector<std::uint32_t>& words, Dice& dice, const Tile& tile,
            const MatrixPart& part) {
  const auto role = static_cast<unsigned>(part.role);
  if (part.element == MatrixElement::distinct_row) {
    std::uint32_t rows[64];
    for (std::uint32_t i = 0; i < 64; ++i) rows[i] = i;
    for (unsigned i = 0; i < part.words; ++i) {
      std::swap(rows[i], rows[i + dice.below(64 - i)]);
      words.push_back(rows[i]);
    }
    return;
  }
  if (part.element == MatrixElement::two_of_four || part.element == MatrixElement::one_of_two) {
    constexpr std::uint32_t kFours[] = {0x4, 0x8, 0xc, 0x9, 0xd, 0xe}, kTwos[] = {0x4, 0xe};
    const bool fours = part.element == MatrixElement::two_of_four;
    std::uint32_t word = 0;
    for (unsigned at = 0; at < 32; at += 4)
      word |= (fours ? kFours[dice.below(6)] : kTwos[dice.below(2)]) << at;
    return words.push_back(word);
  }
  const unsigned width = width_of(part.element);
  for (unsigned i = 0; i < part.words; ++i) {
    if (part.element == MatrixElement::bits) {
      words.push_back(dice.bits());
    } else if (part.element == MatrixElement::row) {
      words.push_back(dice.below(64));
    } else if (part.element == MatrixElement::f64) {
      const std::uint64_t value = draw(dice, tile, format_of(part.element), role);
      words.push_back(static_cast<std::uint32_t>(value));
      words.push_back(static_cast<std::uint32_t>(value >> 32));
      ++i;
    } else {
      std::uint32_t word = 0;
      for (unsigned at = 0; at < 32; at += width)
        word |= static_cast<std::uint32_t>(draw(dice, tile, format_of(part.element), role)) << at;
      words.push_back(word);
    }
  }
}

}  // namespace

std::vector<std::uint32_t> matrix_inputs(const MatrixForm& form, unsigned warps,
                                         std::uint32_t seed) {
  std::uint32_t name = 0;
  for (const char c : form.name) name = name * 31 + static_cast<unsigned char>(c);
  Dice dice(seed * 977 + name);
  std::vector<std::uint32_t> words;
  words.reserve(std::size_t{warps} * form.words());
  for (unsigned w = 0; w < warps; ++w) {
    const Tile tile =
        draw_tile(dice, format_of(form.parts[0].element), format_of(form.parts.back().element));
    for (unsigned t = 0; t < (form.by_thread ? 32 : 1); ++t)
      for (const MatrixPart& part : form.parts) append(words, dice, tile, part);
  }
  return words;
}

}  // namespace ptx2spv::programs
