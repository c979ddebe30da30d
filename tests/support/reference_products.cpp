#include "tests/support/reference_products.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace ptx2spv::ir {

namespace {

using Element = WarpProduct::Element;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
/// Zero's exponent as an addend; products with zero have none.
constexpr int kZeroExponent = -133;

/// A float of any format: its value, and the exponent of its leading bit, or of the lowest normal
/// number.
struct Number {
  double value = 0;
  int exponent = 0;
};

Number decoded(std::uint32_t bits, unsigned exponent_bits, unsigned fraction_bits) {
  const std::uint32_t fraction = bits & ((1u << fraction_bits) - 1);
  const int top = (1 << exponent_bits) - 1, bias = top >> 1;
  const int field = static_cast<int>(bits >> fraction_bits) & top;
  const double sign = bits >> (fraction_bits + exponent_bits) & 1 ? -1 : 1;
  if (field == top) return {fraction ? kNan : sign * kInf, 0};
  const int exponent = std::max(field, 1) - bias;
  const double leading = field ? 1 : 0;
  return {
      sign * std::ldexp(leading + std::ldexp(fraction, -static_cast<int>(fraction_bits)), exponent),
      exponent};
}

Number number_of(Element element, std::uint32_t bits) {
  switch (element) {
    case Element::bf16: return decoded(bits, 8, 7);
    case Element::tf32: return decoded(bits >> 13, 8, 10);
    case Element::e5m2: return decoded(bits, 5, 2);
    case Element::e4m3: {
      // No infinity, one NaN; and a number as f16 has it.
      if ((bits & 0x7f) == 0x7f) return {kNan, 0};
      const int field = static_cast<int>(bits >> 3 & 15);
      const double fraction = bits & 7;
      const double value = (bits & 0x80 ? -1 : 1) *
                           std::ldexp((field ? 8 : 0) + fraction, std::max(field, 1) - 7 - 3);
      return {value, value == 0 ? 0 : std::ilogb(value)};
    }
    default: return decoded(bits, 5, 10);
  }
}

std::uint32_t f32_cut(double value) {
  if (value != value) return 0x7fffffff;
  float cut = static_cast<float>(value);
  if (std::isinf(cut)) return std::bit_cast<std::uint32_t>(cut);
  if (std::fabs(double{cut}) > std::fabs(value)) cut = std::nextafter(cut, 0.0f);
  return cut == 0 ? 0 : std::bit_cast<std::uint32_t>(cut);
}

std::uint32_t f16_nearest(double value) {
  if (value != value) return 0x7fff;
  const std::uint32_t sign = std::signbit(value) ? 0x8000 : 0;
  const double size = std::fabs(value);
  if (size >= 65520) return sign | 0x7c00;
  const int exponent = size == 0 ? -14 : std::max(std::ilogb(size), -14);
  // What rounds up to the next power of two carries into the exponent.
  const auto units = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(size, 10 - exponent)));
  return units == 0 ? 0 : sign | (units + (static_cast<std::uint32_t>(exponent + 14) << 10));
}

/// All terms are cut 25 bits below the largest exponent.
double sum_of(const std::vector<Number>& x, const std::vector<Number>& y, Number addend) {
  bool nan = std::isnan(addend.value);
  double special = std::isinf(addend.value) ? addend.value : 0;
  int top = addend.value == 0 ? kZeroExponent : addend.exponent;
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double product = x[k].value * y[k].value;
    if (std::isfinite(product)) {
      if (product != 0) top = std::max(top, x[k].exponent + y[k].exponent);
      continue;
    }
    special += product;  // infinities of both signs are NaN
  }
  nan = nan || special != special;
  if (nan || special != 0) return nan ? kNan : special;
  const auto cut = [&](double term) { return std::trunc(std::ldexp(term, 25 - top)); };
  double sum = cut(addend.value);
  for (std::size_t k = 0; k < x.size(); ++k) sum += cut(x[k].value * y[k].value);
  return std::ldexp(sum, top - 25);
}

class Tile {
 public:
  using Operand = std::function<Bits(std::uint32_t lane, unsigned operand)>;
  Tile(const WarpProduct& form, const Operand& operand) : form_(form), operand_(operand) {}

  /// An element of the product, whose sum is given.
  std::uint64_t element(unsigned row, unsigned column, std::uint64_t sum) const {
    if (form_.x == Element::f64) return of_doubles(row, column, sum);
    if (form_.x == Element::b1) return of_bits(row, column, static_cast<std::uint32_t>(sum));
    std::vector<std::uint32_t> x, y;
    const unsigned bits = WarpProduct::bits_of(form_.x), each = 32 / bits;
    for (unsigned k = 0; k < form_.words * each; ++k)
      x.push_back(part(x_word(row, k / each), bits, k % each));
    for (unsigned k = 0; k < form_.words_of_y() * each; ++k)
      y.push_back(part(y_word(column, k / each), bits, k % each));
    if (form_.sparse) y = chosen(row, y);
    return WarpProduct::is_float(form_.x) ? of_floats(x, y, static_cast<std::uint32_t>(sum))
                                          : of_integers(x, y, static_cast<std::uint32_t>(sum));
  }

 private:
  static std::uint32_t part(std::uint32_t word, unsigned bits, unsigned i) {
    return bits == 32 ? word : word >> bits * i & ((1u << bits) - 1);
  }
  std::uint64_t x_word(unsigned row, unsigned word) const {
    return operand_(4 * (row % 8) + word % 4, word / 4 * form_.row_blocks() + row / 8).u64();
  }
  std::uint64_t y_word(unsigned column, unsigned word) const {
    return operand_(4 * column + word % 4, form_.x_registers() + word / 4).u64();
  }

  /// Of each four parts of y two, by four bits of metadata. Parts have 8 bits, or else 16.
  std::vector<std::uint32_t> chosen(unsigned row, const std::vector<std::uint32_t>& y) const {
    const unsigned bits = WarpProduct::bits_of(form_.y), size = bits < 16 ? 8 : 16;
    std::vector<std::uint32_t> parts, kept, out;
    if (size > bits)
      for (std::size_t i = 0; i < y.size(); i += 2) parts.push_back(y[i] | y[i + 1] << bits);
    else
      for (const std::uint32_t element : y)
        for (unsigned at = 0; at < bits; at += size)
          parts.push_back(element >> at & ((1u << size) - 1));
    for (unsigned group = 0; group < parts.size() / 4; ++group)
      for (unsigned i = 0; i < 2; ++i)
        kept.push_back(parts[4 * group + (nibble(row, group) >> 2 * i & 3)]);
    for (std::size_t i = 0; i < kept.size(); ++i) {
      if (size > bits)
        out.push_back(kept[i] & ((1u << bits) - 1)), out.push_back(kept[i] >> bits);
      else if (size == bits)
        out.push_back(kept[i]);
      else if (i % 2)
        out.back() |= kept[i] << 16;
      else
        out.push_back(kept[i]);
    }
    return out;
  }
  std::uint32_t nibble(unsigned row, unsigned group) const {
    const bool narrow = WarpProduct::bits_of(form_.x) < 16;
    const unsigned per_word = narrow ? 8 : 4, word = group / per_word, words = form_.words / 4u;
    const unsigned from = narrow ? 2 * (words == 1 ? form_.selector : word) + row / 8
                                 : (words == 1 ? form_.selector : 2u * form_.selector + word);
    std::uint32_t bits = operand_(4 * (row % 8) + from, form_.metadata_at()).w[0];
    if (!narrow) bits = row / 8 ? bits >> 16 : bits & 0xffff;
    return bits >> 4 * (group % per_word) & 15;
  }

  std::uint32_t of_floats(const std::vector<std::uint32_t>& x, const std::vector<std::uint32_t>& y,
                          std::uint32_t sum) const {
    const Number addend = form_.halves ? decoded(sum, 5, 10) : decoded(sum, 8, 23);
    const auto rounded = [&](double value) {
      return form_.halves ? f16_nearest(value) : f32_cut(value);
    };
    const auto numbers = [](Element element, const std::vector<std::uint32_t>& in) {
      std::vector<Number> all;
      for (const std::uint32_t bits : in) all.push_back(number_of(element, bits));
      return all;
    };
    const std::vector<Number> a = numbers(form_.x, x), b = numbers(form_.y, y);
    if (WarpProduct::bits_of(form_.x) >= 16) return rounded(sum_of(a, b, addend));
    Number both{0, 0};
    for (const unsigned first : {0u, 2u}) {
      std::vector<Number> left, right;
      for (std::size_t k = 0; k < a.size(); ++k)
        if ((k & 2) == first) left.push_back(a[k]), right.push_back(b[k]);
      const std::uint32_t bits = rounded(sum_of(left, right, both));
      both = form_.halves ? decoded(bits, 5, 10) : decoded(bits, 8, 23);
    }
    if (form_.halves) return f16_nearest(both.value + addend.value) | minus_zero(both, addend);
    const float all = static_cast<float>(both.value) + static_cast<float>(addend.value);
    return all != all ? 0x7fffffff : std::bit_cast<std::uint32_t>(all);
  }
  static std::uint32_t minus_zero(Number a, Number b) {
    return a.value == 0 && b.value == 0 && std::signbit(a.value) && std::signbit(b.value) ? 0x8000
                                                                                          : 0;
  }

  std::uint32_t of_integers(const std::vector<std::uint32_t>& x,
                            const std::vector<std::uint32_t>& y, std::uint32_t sum) const {
    const auto whole = [](Element element, std::uint32_t bits) {
      const bool negative =
          (element == Element::s8 && bits >> 7) || (element == Element::s4 && bits >> 3);
      return static_cast<std::int64_t>(bits) -
             (negative ? std::int64_t{1} << WarpProduct::bits_of(element) : 0);
    };
    std::int64_t products = 0;
    for (std::size_t k = 0; k < x.size(); ++k)
      products += whole(form_.x, x[k]) * whole(form_.y, y[k]);
    return total(products, sum);
  }
  std::uint32_t of_bits(unsigned row, unsigned column, std::uint32_t sum) const {
    std::int64_t count = 0;
    for (unsigned i = 0; i < form_.words; ++i) {
      const std::uint64_t x = x_word(row, i), y = y_word(column, i);
      count += std::popcount(form_.ands ? x & y : x ^ y);
    }
    return total(count, sum);
  }
  std::uint32_t total(std::int64_t products, std::uint32_t sum) const {
    std::int64_t all = products + static_cast<std::int32_t>(sum);
    if (form_.saturates)
      all = std::clamp<std::int64_t>(all, std::numeric_limits<std::int32_t>::min(),
                                     std::numeric_limits<std::int32_t>::max());
    return static_cast<std::uint32_t>(all);
  }

  /// Rounded to nearest.
  std::uint64_t of_doubles(unsigned row, unsigned column, std::uint64_t sum) const {
    for (unsigned k = 0; k < form_.words; ++k) {
      const std::uint64_t x = x_word(row, k), y = y_word(column, k);
      const auto real = [](std::uint64_t bits) { return std::bit_cast<double>(bits); };
      const double next = std::fma(real(x), real(y), real(sum));
      std::uint64_t bits = std::bit_cast<std::uint64_t>(next);
      if (next != next) {
        bits = 0xfff8000000000000;
        for (const std::uint64_t each : {x, sum, y})  // the last one counts
          if (real(each) != real(each)) bits = each | 0x0008000000000000;
      }
      sum = bits;
    }
    return sum;
  }

  const WarpProduct& form_;
  const Operand& operand_;
};

}  // namespace

Bits product_of(const WarpProduct& form, std::uint32_t lane,
                const std::function<Bits(std::uint32_t lane, unsigned operand)>& operand) {
  const Tile tile(form, operand);
  std::array<std::uint32_t, 4> words{};
  for (unsigned i = 0; i < 2 * form.row_blocks(); ++i) {
    const unsigned row = lane / 4 + 8 * (i / 2), column = 2 * (lane % 4) + i % 2;
    const Bits given = operand(lane, form.sums_at() + (form.halves ? i / 2 : i));
    const std::uint64_t sum = form.x == Element::f64 ? given.u64()
                              : form.halves          ? given.w[0] >> 16 * (i % 2) & 0xffff
                                                     : given.w[0];
    const std::uint64_t out = tile.element(row, column, sum);
    if (form.x == Element::f64) {
      words[2 * i] = static_cast<std::uint32_t>(out);
      words[2 * i + 1] = static_cast<std::uint32_t>(out >> 32);
    } else if (form.halves) {
      words[i / 2] |= static_cast<std::uint32_t>(out) << 16 * (i % 2);
    } else {
      words[i] = static_cast<std::uint32_t>(out);
    }
  }
  return Bits{words};
}

}  // namespace ptx2spv::ir
