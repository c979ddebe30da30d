// Products of matrices: the lanes' fragments become one matrix each, whose elements are unpacked
// once. Sums of floats are an H100's (docs/reference/hardware.md).
#include "translator/backend/host/products.hpp"

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <functional>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ptx2spv::interpreter {

namespace {

using Element = WarpProduct::Element;

constexpr unsigned kOutputs = 16 * 8;
constexpr unsigned kMostElements = 16 * 64;  ///< of x, and of y
/// Exponents of zero: of a factor, less than all others, and of an addend. Where elements are no
/// numbers, those of infinity and NaN.
constexpr float kNone = -10000, kZero = -133, kInfinity = 10000, kNan = 20000;
/// A term whose exponent is less than the largest one by more than this leaves nothing.
constexpr float kCut = -60;

/// All elements of both factors.
struct Tile {
  float x_value[kMostElements], x_exponent[kMostElements];
  float y_value[kMostElements], y_exponent[kMostElements];
};
/// Where the elements of one product are: of x from the row's first, of y from the column's first.
struct Pair {
  std::uint32_t x, y;
};
/// low + high units of 2^(top - 25).
struct Sums {
  std::int32_t low[16][8], high[16][8];
  float top[16][8];
};

/// A row of x and what its sums begin with.
struct RowOfX {
  unsigned number = 0;
  const float *value = nullptr, *exponent = nullptr, *addend = nullptr, *addend_exponent = nullptr;
};

struct Kernels {
  bool (*unpack)(Element element, const std::uint32_t* words, unsigned count, unsigned e,
                 float* value, float* exponent);
  bool (*unpack_addends)(const std::uint32_t* words, bool halves, float* value, float* exponent);
  /// By the factors' significands or values, of one row or two.
  void (*sum_rows[2][2])(const Tile& tile, const RowOfX* rows, const Pair* terms, unsigned count,
                         Sums& out);
  void (*multiply_row)(const Tile& tile, const float* x_value, const Pair* terms, unsigned count,
                       std::int32_t* out);
  void (*count_row)(const std::uint32_t* x, const std::uint32_t* y, unsigned words, bool ands,
                    std::int32_t* out);
  bool (*cut_f32)(const Sums& sums, const float* top, std::uint32_t* out);
  void (*round_f16)(const Sums& sums, const float* top, std::uint32_t* out);
  void (*multiply_f64)(const double* x, const double* y, unsigned words, double* sums);
};

/// 2^(top - 25)
inline double unit_of(float top) {
  return std::bit_cast<double>(
      std::uint64_t{static_cast<std::uint32_t>(static_cast<std::int32_t>(top) + 1023 - 25)} << 52);
}

inline std::uint32_t nearest_f16(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t size = bits & ~(std::uint64_t{1} << 63);
  // What rounds up to the next power of two carries into the exponent.
  const std::uint64_t half = (std::uint64_t{1} << 41) - 1 + (size >> 42 & 1);
  const std::uint64_t normal = ((size + half) >> 42) - (std::uint64_t{1023 - 15} << 10);
  const double units = (std::bit_cast<double>(size) + 0x1p28) - 0x1p28;
  const std::uint64_t low = static_cast<std::uint32_t>(
      static_cast<std::int32_t>(std::bit_cast<double>(size) < 0x1p-14 ? units * 0x1p24 : 0));
  const std::uint64_t r =
      std::bit_cast<double>(size) < 0x1p-14 ? low : std::min<std::uint64_t>(normal, 0x7c00);
  return static_cast<std::uint32_t>(r == 0 ? 0 : r | (bits >> 48 & 0x8000));
}

namespace usual {
#define PTX2SPV_PRODUCT_BYTES 16
#include "translator/backend/host/product_kernels.hpp"
#undef PTX2SPV_PRODUCT_BYTES
}  // namespace usual

#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
namespace avx2 {
#define PTX2SPV_PRODUCT_BYTES 32
#include "translator/backend/host/product_kernels.hpp"
#undef PTX2SPV_PRODUCT_BYTES
}  // namespace avx2
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

const Kernels& kernels() {
#if defined(__x86_64__)
  static const bool wide = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (wide) return avx2::kKernels;
#endif
  return usual::kKernels;
}

double value_of_f16(std::uint32_t h) {
  const int field = static_cast<int>(h >> 10 & 31);
  const double size = std::ldexp((field ? 1024 : 0) + (h & 0x3ff), std::max(field, 1) - 25);
  const double all = field == 31 ? (h & 0x3ff ? NAN : HUGE_VAL) : size;
  return h & 0x8000 ? -all : all;
}

/// A sum of f8's products and an addend.
std::uint32_t added_f16(std::uint32_t a, std::uint32_t b) {
  const double sum = value_of_f16(a) + value_of_f16(b);
  return sum != sum ? 0x7fff : nearest_f16(sum);
}
std::uint32_t added_f32(std::uint32_t a, std::uint32_t b) {
  const float sum = std::bit_cast<float>(a) + std::bit_cast<float>(b);
  return sum != sum ? 0x7fffffff : std::bit_cast<std::uint32_t>(sum);
}

class Product {
 public:
  Product(const WarpProduct& form, const std::uint32_t* const* operands)
      : form_(form),
        operands_(operands),
        bits_(WarpProduct::bits_of(form.x)),
        rows_(8 * form.row_blocks()),
        words_(form.words),
        words_of_y_(form.words_of_y()) {}

  void run(std::uint32_t (&out)[4][kLanes]) {
    if (form_.x == Element::f64) return of_f64(out);
    gather();
    if (form_.x == Element::b1) {
      for (unsigned i = 0; i < rows_; ++i)
        k_.count_row(x_words_ + i * words_, y_words_, words_, form_.ands, sums_.low[i]);
      add_to_integers();
    } else if (WarpProduct::is_float(form_.x)) {
      of_floats();
    } else {
      unpack_factors();
      for (unsigned i = 0; i < rows_; ++i)
        k_.multiply_row(tile_, tile_.x_value + i * words_, terms_of(i), elements(), sums_.low[i]);
      add_to_integers();
    }
    for (unsigned i = 0; i < rows_; ++i) {
      const std::uint32_t* row = results_[i];
      const unsigned at = 4 * (i % 8), block = i / 8;
      if (form_.halves) {
        for (unsigned t = 0; t < 4; ++t) out[block][at + t] = row[t] | row[4 + t] << 16;
      } else {
        std::memcpy(out[2 * block] + at, row, 16);
        std::memcpy(out[2 * block + 1] + at, row + 4, 16);
      }
    }
  }

 private:
  unsigned per_word() const { return 32 / bits_; }
  unsigned elements() const { return words_ * per_word(); }  ///< of a row of x

  void gather() {
    const unsigned blocks = form_.row_blocks();
    for (unsigned r = 0; r < form_.x_registers(); ++r)
      for (unsigned g = 0; g < 8; ++g)
        std::memcpy(x_words_ + (8 * (r % blocks) + g) * words_ + 4 * (r / blocks),
                    operands_[r] + 4 * g, 16);
    for (unsigned r = 0; r < words_of_y_ / 4; ++r)
      for (unsigned lane = 0; lane < kLanes; ++lane)
        y_words_[(4 * r + lane % 4) * 8 + place_of(lane / 4)] =
            operands_[form_.x_registers() + r][lane];
    for (unsigned i = 0; i < rows_; ++i) {
      const std::uint32_t* const* sums = operands_ + form_.sums_at();
      std::uint32_t* row = addends_[i];
      const unsigned at = 4 * (i % 8), block = i / 8;
      if (form_.halves) {
        for (unsigned t = 0; t < 4; ++t) {
          row[t] = sums[block][at + t] & 0xffff;
          row[4 + t] = sums[block][at + t] >> 16;
        }
      } else {
        std::memcpy(row, sums[2 * block] + at, 16);
        std::memcpy(row + 4, sums[2 * block + 1] + at, 16);
      }
    }
  }
  /// Even columns come before the others, because each lane has one of both.
  static unsigned place_of(unsigned column) { return column % 2 * 4 + column / 2; }

  void unpack_factors() {
    const unsigned x_plane = rows_ * words_, y_plane = 8 * words_of_y_;
    const bool by_choice = form_.sparse && bits_ == 32;
    for (unsigned e = 0; e < per_word(); ++e) {
      unpack(form_.x, x_words_, x_plane, e, tile_.x_value + e * x_plane,
             tile_.x_exponent + e * x_plane, row_special_, words_, 1);
      if (!by_choice)
        unpack(form_.y, y_words_, y_plane, e, tile_.y_value + e * y_plane,
               tile_.y_exponent + e * y_plane, column_special_, 1, 8);
    }
    if (form_.sparse) return;
    Pair* term = terms_;
    for (unsigned e = 0; e < per_word(); ++e)
      for (unsigned w = 0; w < words_; ++w) *term++ = {e * x_plane + w, e * y_plane + 8 * w};
  }

  /// Notes which rows or columns have elements that are no numbers: element i is of number
  /// i / `length` % `count`, or i % count where `length` is 1.
  void unpack(Element element, const std::uint32_t* words, unsigned count, unsigned e, float* value,
              float* exponent, bool* special, unsigned length, unsigned columns) {
    if (!k_.unpack(element, words, count, e, value, exponent)) return;
    const unsigned bits = WarpProduct::bits_of(element);
    for (unsigned i = 0; i < count; ++i) {
      const std::uint32_t raw = bits == 32 ? words[i] : words[i] >> bits * e & ((1u << bits) - 1);
      const float now = not_a_number(element, raw);
      if (now == 0) continue;
      exponent[i] = now;
      special[columns == 1 ? i / length : i % columns] = true;
    }
  }
  static float not_a_number(Element element, std::uint32_t raw) {
    std::uint32_t fraction = 0, infinity = 0;
    switch (element) {
      case Element::e4m3: return (raw & 0x7f) == 0x7f ? kNan : 0;
      case Element::e5m2: fraction = 3, infinity = 0x7c; break;
      case Element::f16: fraction = 0x3ff, infinity = 0x7c00; break;
      case Element::bf16: fraction = 0x7f, infinity = 0x7f80; break;
      default: fraction = 0x7fe000, infinity = 0x7f800000;
    }
    if ((raw & infinity) != infinity) return 0;
    return raw & fraction ? kNan : kInfinity;
  }

  /// The terms of a row, those of each word's first elements first.
  const Pair* terms_of(unsigned row) {
    if (!form_.sparse) return terms_;
    const unsigned x_plane = rows_ * words_, y_plane = 8 * words_of_y_;
    const unsigned groups = bits_ < 16 ? 8 : 4;  // of a word of metadata
    const unsigned all = groups * words_ / 4, unit = words_of_y_ * per_word() / all / 4;
    unsigned kept = 0;
    const auto keep = [&](std::uint32_t y) {
      const unsigned e = kept % per_word(), w = kept / per_word();
      terms_[e * words_ + w] = {e * x_plane + w, y};
      ++kept;
    };
    for (unsigned group = 0; group < all; ++group) {
      const std::uint32_t chosen = choice(row, group, groups);
      if (bits_ == 32) {
        keep(8 * chosen_word(group, chosen));
        continue;
      }
      for (unsigned i = 0; i < 2; ++i)
        for (unsigned u = 0; u < unit; ++u) {
          const unsigned k = (4 * group + (chosen >> 2 * i & 3)) * unit + u;
          keep(k % per_word() * y_plane + k / per_word() * 8);
        }
    }
    return terms_;
  }

  /// Four bits of metadata. Elements of 16 bits and more have four groups in a half of a word of
  /// the thread that the selector names, narrower ones a word in one of every other thread.
  std::uint32_t choice(unsigned row, unsigned group, unsigned groups) const {
    const bool one = words_ == 4, narrow = bits_ < 16;
    const unsigned word = group / groups, half = row / 8;
    const unsigned lane = narrow ? 2 * (one ? form_.selector : word) + half
                          : one  ? form_.selector
                                 : 2 * form_.selector + word;
    const std::uint32_t bits = operands_[form_.metadata_at()][4 * (row % 8) + lane];
    return (narrow ? bits : half ? bits >> 16 : bits) >> 4 * (group % groups) & 15;
  }

  /// The number of the tf32 of each column that two of four halves make.
  unsigned chosen_word(unsigned group, std::uint32_t choice) {
    const unsigned number = 16 * group + choice;
    if (std::exchange(known_[number], true)) return number;
    std::uint32_t words[8];
    for (unsigned j = 0; j < 8; ++j) {
      const auto half = [&](unsigned i) {
        return y_words_[(2 * group + i / 2) * 8 + j] >> 16 * (i % 2) & 0xffff;
      };
      words[j] = half(choice & 3) | half(choice >> 2) << 16;
    }
    unpack(form_.y, words, 8, 0, tile_.y_value + 8 * number, tile_.y_exponent + 8 * number,
           column_special_, 1, 8);
    return number;
  }

  void of_floats() {
    unpack_factors();
    const bool small = bits_ < 16;
    std::memcpy(results_, addends_, sizeof results_);
    if (!small) return add_products(0, elements());
    // Two products of f16 that begin with zero, of elements 4i and 4i + 1 and of the others, and a
    // rounded sum.
    std::memset(results_, 0, sizeof results_);
    add_products(0, elements() / 2);
    add_products(elements() / 2, elements() / 2);
    for (unsigned i = 0; i < 16; ++i)
      for (unsigned j = 0; j < 8; ++j)
        results_[i][j] = form_.halves ? added_f16(results_[i][j], addends_[i][j])
                                      : added_f32(results_[i][j], addends_[i][j]);
  }

  /// Adds `count` products to the results, from number `first` on.
  void add_products(unsigned first, unsigned count) {
    float value[16][8], exponent[16][8];
    const bool special = k_.unpack_addends(results_[0], form_.halves, value[0], exponent[0]);
    const bool by_value = form_.x != Element::bf16 && form_.x != Element::tf32;
    std::uint32_t fixed[16][8];
    bool is_fixed[16][8] = {};
    const unsigned together = form_.sparse ? 1 : 2;
    for (unsigned i = 0; i < 16; i += together) {
      RowOfX rows[2];
      for (unsigned r = 0; r < together; ++r) {
        const unsigned at = (i + r) * words_;
        rows[r] = {i + r, tile_.x_value + at, tile_.x_exponent + at, value[i + r], exponent[i + r]};
      }
      const Pair* terms = terms_of(i) + first;
      k_.sum_rows[by_value][together - 1](tile_, rows, terms, count, sums_);
      if (special || any_special())
        for (unsigned r = i; r < i + together; ++r)
          for (unsigned j = 0; j < 8; ++j)
            is_fixed[r][j] = no_number(r, j, terms, count, results_[r][j], fixed[r][j]);
    }
    if (form_.halves)
      k_.round_f16(sums_, sums_.top[0], results_[0]);
    else if (k_.cut_f32(sums_, sums_.top[0], results_[0]))
      cut_small();
    for (unsigned i = 0; i < 16; ++i)
      for (unsigned j = 0; j < 8; ++j)
        if (is_fixed[i][j]) results_[i][j] = fixed[i][j];
  }
  bool any_special() const {
    return std::ranges::any_of(row_special_, std::identity()) ||
           std::ranges::any_of(column_special_, std::identity());
  }

  /// Whether the sum is infinite or none, and its bits.
  bool no_number(unsigned row, unsigned column, const Pair* terms, unsigned count,
                 std::uint32_t addend, std::uint32_t& out) const {
    const std::uint32_t infinity = form_.halves ? 0x7c00 : 0x7f800000;
    const std::uint32_t sign = form_.halves ? 0x8000 : 0x80000000;
    bool nan = false, signs[2] = {};
    if ((addend & infinity) == infinity) {
      nan = (addend & (infinity ^ (sign - 1))) != 0;
      signs[(addend & sign) != 0] = true;
    }
    if (row_special_[row] || column_special_[column])
      for (unsigned t = 0; t < count; ++t) {
        const unsigned x = row * words_ + terms[t].x, y = column + terms[t].y;
        const float a = tile_.x_exponent[x], b = tile_.y_exponent[y];
        if (a != kInfinity && a != kNan && b != kInfinity && b != kNan) continue;
        nan = nan || a == kNan || b == kNan || a < kNone / 2 || b < kNone / 2;
        signs[std::signbit(tile_.x_value[x]) != std::signbit(tile_.y_value[y])] = true;
      }
    if (!nan && !signs[0] && !signs[1]) return false;
    out = nan || (signs[0] && signs[1]) ? sign - 1 : signs[1] ? infinity | sign : infinity;
    return true;
  }

  /// Sums that f32 has denormals for.
  void cut_small() {
    for (unsigned i = 0; i < 16; ++i)
      for (unsigned j = 0; j < 8; ++j) {
        const double sum = static_cast<double>(sums_.low[i][j]) + sums_.high[i][j];
        const double size = std::fabs(sum * unit_of(sums_.top[i][j]));
        if (size >= 0x1p-126) continue;
        const auto units = static_cast<std::uint32_t>(size * 0x1p149);
        results_[i][j] = units == 0 ? 0 : units | (sum < 0 ? 0x80000000 : 0);
      }
  }

  void add_to_integers() {
    for (unsigned i = 0; i < rows_; ++i)
      for (unsigned j = 0; j < 8; ++j) {
        std::int64_t sum =
            std::int64_t{sums_.low[i][j]} + static_cast<std::int32_t>(addends_[i][j]);
        if (form_.saturates)
          sum = std::clamp(sum, std::int64_t{INT32_MIN}, std::int64_t{INT32_MAX});
        results_[i][j] = static_cast<std::uint32_t>(sum);
      }
  }

  void of_f64(std::uint32_t (&out)[4][kLanes]) {
    double x[8 * 16], y[16 * 8], sums[8 * 8], given[8 * 8];
    const auto number = [&](unsigned operand, unsigned lane) {
      double value;
      std::memcpy(&value, reinterpret_cast<const std::byte*>(operands_[operand]) + 8 * lane, 8);
      return value;
    };
    const unsigned registers = words_ / 4;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const unsigned g = lane / 4, t = lane % 4;
      for (unsigned r = 0; r < registers; ++r) {
        x[g * words_ + 4 * r + t] = number(r, lane);
        y[(4 * r + t) * 8 + g] = number(registers + r, lane);
      }
      for (unsigned i = 0; i < 2; ++i) sums[8 * g + 2 * t + i] = number(form_.sums_at() + i, lane);
    }
    std::memcpy(given, sums, sizeof given);
    const int before = std::fegetround();
    switch (form_.round) {
      case Round::rz: std::fesetround(FE_TOWARDZERO); break;
      case Round::rm: std::fesetround(FE_DOWNWARD); break;
      case Round::rp: std::fesetround(FE_UPWARD); break;
      default: break;
    }
    k_.multiply_f64(x, y, words_, sums);
    for (unsigned i = 0; i < 64; ++i)
      if (sums[i] != sums[i]) sums[i] = with_nan(x + i / 8 * words_, y + i % 8, given[i]);
    std::fesetround(before);
    for (unsigned lane = 0; lane < kLanes; ++lane)
      for (unsigned i = 0; i < 2; ++i) {
        const auto bits = std::bit_cast<std::uint64_t>(sums[8 * (lane / 4) + 2 * (lane % 4) + i]);
        out[2 * i][lane] = static_cast<std::uint32_t>(bits);
        out[2 * i + 1][lane] = static_cast<std::uint32_t>(bits >> 32);
      }
  }
  /// Of several NaN an fma keeps that of y, then the addend's (docs/reference/arithmetic.md).
  double with_nan(const double* x, const double* y, double sum) const {
    constexpr std::uint64_t kQuiet = 0x0008000000000000, kInvalid = 0xfff8000000000000;
    for (unsigned k = 0; k < words_; ++k) {
      const double next = std::fma(x[k], y[8 * k], sum);
      if (next == next) {
        sum = next;
        continue;
      }
      std::uint64_t bits = kInvalid;
      for (const double each : {x[k], sum, y[8 * k]})  // the last one counts
        if (each != each) bits = std::bit_cast<std::uint64_t>(each) | kQuiet;
      sum = std::bit_cast<double>(bits);
    }
    return sum;
  }

  const WarpProduct& form_;
  const std::uint32_t* const* operands_;
  const unsigned bits_, rows_, words_, words_of_y_;
  const Kernels& k_ = kernels();
  std::uint32_t x_words_[16 * 8], y_words_[16 * 8], addends_[16][8], results_[16][8];
  Tile tile_;
  Sums sums_;
  Pair terms_[64];
  bool row_special_[16] = {}, column_special_[8] = {}, known_[128] = {};
};

}  // namespace

void multiply_tile(const WarpProduct& form, const std::uint32_t* const* operands,
                   std::uint32_t (&out)[4][kLanes]) {
  Product(form, operands).run(out);
}

}  // namespace ptx2spv::interpreter
