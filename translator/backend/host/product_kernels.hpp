// Products of matrices in vectors of PTX2SPV_PRODUCT_BYTES bytes. products.cpp includes this for
// each set of instructions, in a namespace of its own.
//
// Elements of all rows and columns become floats. Of x, element e of word w of a row is at
// (e * rows + row) * words + w; of y, that of a column at (e * words + w) * 8 + column, so that a
// vector has what belongs to neighbouring columns.

typedef float Floats __attribute__((vector_size(PTX2SPV_PRODUCT_BYTES)));
typedef std::int32_t Ints __attribute__((vector_size(PTX2SPV_PRODUCT_BYTES)));
constexpr unsigned kVector = PTX2SPV_PRODUCT_BYTES / 4;

inline Floats load(const float* from) {
  Floats v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}
inline Ints load(const std::uint32_t* from) {
  Ints v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}
template <typename To, typename From>
inline void store(To* to, From v) {
  __builtin_memcpy(to, &v, sizeof v);
}
inline Ints ints(Floats v) { return reinterpret_cast<Ints>(v); }
inline Floats floats(Ints v) { return reinterpret_cast<Floats>(v); }
inline Floats real(Ints v) { return __builtin_convertvector(v, Floats); }
inline Ints whole(Floats v) { return __builtin_convertvector(v, Ints); }  ///< cut toward zero
inline Floats all(float v) { return Floats{} + v; }
inline Floats larger(Floats a, Floats b) {
#if !defined(__x86_64__)
  const Ints mask = a > b;
  return floats((ints(a) & mask) | (ints(b) & ~mask));
#elif PTX2SPV_PRODUCT_BYTES == 32
  return _mm256_max_ps(a, b);
#else
  return _mm_max_ps(a, b);
#endif
}
/// Of whole numbers from -126 to 127.
inline Floats power_of_two(Floats exponent) { return floats((whole(exponent) + 127) << 23); }

// Numbers become floats and their exponents, which are those of the lowest normal number at least.

/// By value, which fits into a float with room for products.
inline void unpack_f16(Ints h, float* value, float* exponent, Ints& special) {
  const Ints field = h >> 10 & 31, low = field == 0;
  const Ints bits = ((h & 0x7fff) << 13) + 0x38000000 + (low & 0x00800000);
  const Floats size = floats(bits) - floats(low & 0x38800000);
  const Ints zero = (h & 0x7fff) == 0;
  store(value, ints(size) | (h & 0x8000) << 16);
  store(exponent, real(field - low - 15) + floats(zero & ints(all(kNone))));
  special |= field == 31;
}
inline void unpack_e4m3(Ints b, float* value, float* exponent, Ints& special) {
  const Ints low = (b & 0x78) == 0;
  const Ints bits = ((b & 0x7f) << 20) + (120 << 23) + (low & 0x00800000);
  const Floats size = floats(bits) - floats(low & 0x3c800000);
  const Ints zero = (b & 0x7f) == 0;
  store(value, ints(size) | (b & 0x80) << 24);
  // As f16 has them all.
  store(exponent, real((ints(size) >> 23) - 127) + floats(zero & ints(all(kNone))));
  special |= (b & 0x7f) == 0x7f;
}
/// By significand, from 1 to 2 or less than 1: a fraction of 23 bits. `zero`: zero's exponent.
inline void unpack_parts(Ints sign, Ints field, Ints fraction, int top, float zero, float* value,
                         float* exponent, Ints& special) {
  const Ints low = field == 0, nothing = (field | fraction) == 0;
  const Floats size = floats(fraction | 0x3f800000) - floats(low & 0x3f800000);
  store(value, ints(size) | (sign & static_cast<std::int32_t>(0x80000000)));
  const Floats usual = real(field - low - (top >> 1));
  store(exponent, (ints(usual) & ~nothing) | (ints(all(zero)) & nothing));
  special |= field == top;
}
inline void unpack_f32(Ints a, float zero, float* value, float* exponent, Ints& special) {
  unpack_parts(a, a >> 23 & 255, a & 0x7fffff, 255, zero, value, exponent, special);
}

inline bool any(Ints v) {
  std::int32_t each[kVector], all = 0;
  store(each, v);
  for (const std::int32_t one : each) all |= one;
  return all != 0;
}

/// By significand, too. True where one of them is no number.
bool unpack_addends(const std::uint32_t* words, bool halves, float* value, float* exponent) {
  Ints special = {};
  for (unsigned i = 0; i < kOutputs; i += kVector) {
    const Ints a = load(words + i);
    if (halves)
      unpack_parts(a << 16, a >> 10 & 31, (a & 0x3ff) << 13, 31, kZero, value + i, exponent + i,
                   special);
    else
      unpack_f32(a, kZero, value + i, exponent + i, special);
  }
  return any(special);
}

/// Element `e` of `count` words. True where one of them is no number.
bool unpack(Element element, const std::uint32_t* words, unsigned count, unsigned e, float* value,
            float* exponent) {
  const unsigned bits = WarpProduct::bits_of(element);
  const int below = static_cast<int>(bits * e), above = static_cast<int>(32 - bits - bits * e);
  Ints special = {};
  for (unsigned i = 0; i < count; i += kVector) {
    const Ints w = load(words + i);
    float *const v = value + i, *const x = exponent + i;
    switch (element) {
      case Element::f16: unpack_f16(w >> below & 0xffff, v, x, special); break;
      case Element::e5m2: unpack_f16((w >> below & 0xff) << 8, v, x, special); break;
      case Element::e4m3: unpack_e4m3(w >> below & 0xff, v, x, special); break;
      case Element::bf16: unpack_f32((w >> below) << 16, kNone, v, x, special); break;
      case Element::tf32: unpack_f32(w & ~0x1fff, kNone, v, x, special); break;
      case Element::s8:
      case Element::s4: store(v, real((w << above) >> (32 - bits))); break;
      default: store(v, real(w >> below & ((1 << bits) - 1)));
    }
  }
  return any(special);
}

/// Sums of neighbouring rows with the same terms: cut 25 bits below the largest exponent, as two
/// numbers.
template <bool kByValue, unsigned kRows>
void sum_rows(const Tile& tile, const RowOfX* rows, const Pair* terms, unsigned count, Sums& out) {
  for (unsigned j = 0; j < 8; j += kVector) {
    Floats top[kRows], scale[kRows];
    Ints sums[2][kRows] = {};
    for (unsigned r = 0; r < kRows; ++r) top[r] = load(rows[r].addend_exponent + j);
    for (unsigned t = 0; t < count; ++t) {
      const Floats exponent = load(tile.y_exponent + terms[t].y + j);
      for (unsigned r = 0; r < kRows; ++r)
        top[r] = larger(top[r], exponent + rows[r].exponent[terms[t].x]);
    }
    const Floats cut = all(kCut);
    for (unsigned r = 0; r < kRows; ++r) {
      const Floats below = larger(load(rows[r].addend_exponent + j) - top[r], cut);
      sums[1][r] = whole(load(rows[r].addend + j) * power_of_two(below + 25.0f));
      // What exceeds this leaves nothing of any product, or all are zero.
      scale[r] = larger(25.0f - top[r], all(-70.0f));
      scale[r] = power_of_two(-larger(-scale[r], all(-100.0f)));
    }
    for (unsigned half = 0; half < 2; ++half)
      for (unsigned t = half * count / 2; t < (half + 1) * count / 2; ++t) {
        const Floats value = load(tile.y_value + terms[t].y + j);
        for (unsigned r = 0; r < kRows; ++r) {
          Floats by = scale[r];
          if constexpr (!kByValue) {
            const Floats exponent =
                load(tile.y_exponent + terms[t].y + j) + rows[r].exponent[terms[t].x];
            by = power_of_two(larger(exponent - top[r], cut) + 25.0f);
          }
          sums[half][r] += whole(value * rows[r].value[terms[t].x] * by);
        }
      }
    for (unsigned r = 0; r < kRows; ++r) {
      store(out.low[rows[r].number] + j, sums[0][r]);
      store(out.high[rows[r].number] + j, sums[1][r]);
      store(out.top[rows[r].number] + j, top[r]);
    }
  }
}

/// One row's sums of integers, which are exact in a float.
void multiply_row(const Tile& tile, const float* x_value, const Pair* terms, unsigned count,
                  std::int32_t* out) {
  for (unsigned j = 0; j < 8; j += kVector) {
    Floats sum = {};
    for (unsigned t = 0; t < count; ++t)
      sum += load(tile.y_value + terms[t].y + j) * x_value[terms[t].x];
    store(out + j, whole(sum));
  }
}

/// Bits that two words have in common, or not, of 8 columns.
void count_row(const std::uint32_t* x, const std::uint32_t* y, unsigned words, bool ands,
               std::int32_t* out) {
  typedef std::uint32_t Words __attribute__((vector_size(PTX2SPV_PRODUCT_BYTES)));
  for (unsigned j = 0; j < 8; j += kVector) {
    Words sum = {};
    for (unsigned w = 0; w < words; ++w) {
      Words v;
      __builtin_memcpy(&v, y + 8 * w + j, sizeof v);
      v = ands ? v & x[w] : v ^ x[w];
      v = v - (v >> 1 & 0x55555555u);
      v = (v & 0x33333333u) + (v >> 2 & 0x33333333u);
      v = (v + (v >> 4)) & 0x0f0f0f0fu;
      v = v + (v >> 8);
      sum += (v + (v >> 16)) & 0xffu;
    }
    store(out + j, sum);
  }
}

/// Sums as f32, cut toward zero. True where some are less than its normal numbers.
bool cut_f32(const Sums& sums, const float* top, std::uint32_t* out) {
  std::uint32_t small = 0;
  const std::int32_t *low = sums.low[0], *high = sums.high[0];
  for (unsigned i = 0; i < kOutputs; ++i) {
    const double sum = static_cast<double>(low[i]) + static_cast<double>(high[i]);
    const auto cut = std::bit_cast<double>(std::bit_cast<std::uint64_t>(sum) & ~0x1fffffffull);
    const double value = cut * unit_of(top[i]);
    out[i] = std::bit_cast<std::uint32_t>(static_cast<float>(value));
    small |= (out[i] & 0x7f800000) == 0 && sum != 0;
  }
  return small != 0;
}

/// Sums as f16, rounded to nearest even.
void round_f16(const Sums& sums, const float* top, std::uint32_t* out) {
  const std::int32_t *low = sums.low[0], *high = sums.high[0];
  for (unsigned i = 0; i < kOutputs; ++i) {
    const double sum = static_cast<double>(low[i]) + static_cast<double>(high[i]);
    out[i] = nearest_f16(sum * unit_of(top[i]));
  }
}

/// Of 8 rows and columns: one fma after the other.
void multiply_f64(const double* x, const double* y, unsigned words, double* sums) {
  for (unsigned i = 0; i < 8; ++i)
#if PTX2SPV_PRODUCT_BYTES == 32
    for (unsigned j = 0; j < 8; j += 4) {
      __m256d sum = _mm256_loadu_pd(sums + 8 * i + j);
      for (unsigned k = 0; k < words; ++k)
        sum =
            _mm256_fmadd_pd(_mm256_set1_pd(x[words * i + k]), _mm256_loadu_pd(y + 8 * k + j), sum);
      _mm256_storeu_pd(sums + 8 * i + j, sum);
    }
#else
    for (unsigned j = 0; j < 8; ++j)
      for (unsigned k = 0; k < words; ++k)
        sums[8 * i + j] = std::fma(x[words * i + k], y[8 * k + j], sums[8 * i + j]);
#endif
}

constexpr Kernels kKernels = {
    unpack,
    unpack_addends,
    {{sum_rows<false, 1>, sum_rows<false, 2>}, {sum_rows<true, 1>, sum_rows<true, 2>}},
    multiply_row,
    count_row,
    cut_f32,
    round_f16,
    multiply_f64};
