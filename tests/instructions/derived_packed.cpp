// Arithmetic that sm_100 has besides: two floats in 64 bits, halves added to floats, minima and
// maxima of three operands. What is right is the CPU's arithmetic in the same rounding mode.
#include <fmt/format.h>

#include <bit>
#include <cfenv>
#include <cmath>

#include "tests/instructions/derived.hpp"

namespace ptx2spv::tests {
namespace {

float as_float(std::uint32_t word) { return std::bit_cast<float>(word); }
std::uint32_t bits(float value) {
  return std::isnan(value) ? 0x7fffffffu : std::bit_cast<std::uint32_t>(value);
}
float flushed(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }

struct Rounding {
  const char* text;
  int mode;
  bool ftz, sat;
};
constexpr Rounding kRoundings[] = {{"", FE_TONEAREST, false, false},
                                   {".rn", FE_TONEAREST, false, false},
                                   {".rz", FE_TOWARDZERO, false, false},
                                   {".rm", FE_DOWNWARD, false, false},
                                   {".rp", FE_UPWARD, false, false}};

/// The operation in a rounding mode. The operands are volatile: what a compiler folds, it rounds to
/// nearest.
float rounded(int mode, const std::string& op, float x, float y, float z) {
  const int before = std::fegetround();
  std::fesetround(mode);
  volatile float a = x, b = y, c = z, r = 0;
  if (op == "add") r = a + b;
  if (op == "sub") r = a - b;
  if (op == "mul") r = a * b;
  if (op == "fma") r = std::fma(a, b, c);
  std::fesetround(before);
  return r;
}

Derived packed(const std::string& op) {
  Derived row;
  row.name = op + "_f32x2";
  row.kernel.version = "8.6";
  row.kernel.target = "sm_100";
  row.kernel.threads = 1024;
  row.kernel.operands = 6;
  std::vector<Rounding> forms(std::begin(kRoundings), std::end(kRoundings));
  forms.push_back({".rn.ftz", FE_TONEAREST, true, false});
  forms.push_back({".rz.ftz", FE_TOWARDZERO, true, false});
  if (op == "fma") forms.erase(forms.begin());
  row.kernel.results = static_cast<unsigned>(2 * forms.size());
  row.kernel.text =
      "ld.global.b64 %d0, [%in];\nld.global.b64 %d1, [%in+8];\n"
      "ld.global.b64 %d2, [%in+16];\n";
  for (std::size_t i = 0; i < forms.size(); ++i)
    row.kernel.text += fmt::format("{}{}.f32x2 %d3, %d0, %d1{};\nst.global.b64 [%out+{}], %d3;\n",
                                   op, forms[i].text, op == "fma" ? ", %d2" : "", 8 * i);
  row.in = some_floats(row.kernel.threads * 6, true);
  row.check = each_thread(row.kernel, [=](const std::uint32_t* in, std::uint32_t* out) {
    for (std::size_t i = 0; i < forms.size(); ++i)
      for (unsigned half = 0; half < 2; ++half) {
        float x[3];
        for (unsigned k = 0; k < 3; ++k) {
          x[k] = as_float(in[2 * k + half]);
          if (forms[i].ftz) x[k] = flushed(x[k]);
        }
        const float r = rounded(forms[i].mode, op, x[0], x[1], x[2]);
        out[2 * i + half] = bits(forms[i].ftz ? flushed(r) : r);
      }
  });
  return row;
}

float half_value(std::uint32_t half) {
  const std::uint32_t exponent = half >> 10 & 31, mantissa = half & 1023;
  const float magnitude =
      exponent == 31 ? (mantissa ? NAN : INFINITY)
      : exponent ? std::ldexp(static_cast<float>(1024 + mantissa), static_cast<int>(exponent) - 25)
                 : std::ldexp(static_cast<float>(mantissa), -24);
  return half >> 15 & 1 ? -magnitude : magnitude;
}

Derived mixed(const std::string& op, const std::string& type) {
  Derived row;
  row.name = op + "_f32_" + type;
  row.kernel.version = "8.6";
  row.kernel.target = "sm_100";
  row.kernel.threads = 1024;
  row.kernel.operands = 2;
  std::vector<Rounding> forms(std::begin(kRoundings), std::end(kRoundings));
  forms.push_back({".rn.sat", FE_TONEAREST, false, true});
  if (op == "fma") forms.erase(forms.begin());
  row.kernel.results = static_cast<unsigned>(forms.size());
  row.kernel.text =
      "ld.global.b16 %h0, [%in];\nld.global.b16 %h1, [%in+2];\n"
      "ld.global.f32 %f0, [%in+4];\n";
  for (std::size_t i = 0; i < forms.size(); ++i)
    row.kernel.text += fmt::format("{}{}.f32.{} %f1, %h0{}, %f0;\nst.global.f32 [%out+{}], %f1;\n",
                                   op, forms[i].text, type, op == "fma" ? ", %h1" : "", 4 * i);
  row.in = some_floats(row.kernel.threads * 2, true);
  row.check = each_thread(row.kernel, [=](const std::uint32_t* in, std::uint32_t* out) {
    const auto wide = [&](std::uint32_t half) {
      return type == "f16" ? half_value(half) : as_float(half << 16);
    };
    const float x = wide(in[0] & 0xffff), y = wide(in[0] >> 16), z = as_float(in[1]);
    for (std::size_t i = 0; i < forms.size(); ++i) {
      const float r =
          op == "fma" ? rounded(forms[i].mode, op, x, y, z) : rounded(forms[i].mode, op, x, z, 0);
      out[i] = bits(r);
      if (forms[i].sat) out[i] = r > 1 ? bits(1) : r > 0 ? bits(r) : 0;
    }
  });
  return row;
}

/// Of two zeros the negative one is the lesser.
float extreme(bool min, bool nan, float x, float y) {
  if (std::isnan(x) || std::isnan(y)) {
    if (nan || (std::isnan(x) && std::isnan(y))) return NAN;
    return std::isnan(x) ? y : x;
  }
  if (x == y) return std::signbit(x) == min ? x : y;
  return (x < y) == min ? x : y;
}

Derived three_operands(const std::string& op) {
  Derived row;
  row.name = op + "_three_operands";
  row.kernel.version = "8.8";
  row.kernel.target = "sm_100";
  row.kernel.threads = 1024;
  row.kernel.operands = 3;
  const std::vector<std::string> forms = {"",         ".ftz",     ".NaN",    ".abs",
                                          ".NaN.abs", ".ftz.abs", ".ftz.NaN"};
  row.kernel.results = static_cast<unsigned>(forms.size());
  row.kernel.text =
      "ld.global.f32 %f0, [%in];\nld.global.f32 %f1, [%in+4];\n"
      "ld.global.f32 %f2, [%in+8];\n";
  for (std::size_t i = 0; i < forms.size(); ++i)
    row.kernel.text += fmt::format("{}{}.f32 %f3, %f0, %f1, %f2;\nst.global.f32 [%out+{}], %f3;\n",
                                   op, forms[i], 4 * i);
  row.in = some_floats(row.kernel.threads * 3, true);
  row.check = each_thread(row.kernel, [=](const std::uint32_t* in, std::uint32_t* out) {
    const bool min = op == "min";
    for (std::size_t i = 0; i < forms.size(); ++i) {
      const auto has = [&](const char* word) { return forms[i].find(word) != std::string::npos; };
      float x[3];
      for (unsigned k = 0; k < 3; ++k) {
        x[k] = as_float(in[k]);
        if (has("ftz")) x[k] = flushed(x[k]);
        if (has("abs")) x[k] = std::fabs(x[k]);
      }
      const bool nan = has("NaN");
      out[i] = bits(extreme(min, nan, extreme(min, nan, x[0], x[1]), x[2]));
    }
  });
  return row;
}

}  // namespace

std::vector<Derived> packed_rows() {
  std::vector<Derived> rows;
  for (const char* op : {"add", "sub", "mul", "fma"}) rows.push_back(packed(op));
  for (const char* op : {"add", "sub", "fma"})
    for (const char* type : {"f16", "bf16"}) rows.push_back(mixed(op, type));
  rows.push_back(three_operands("min"));
  rows.push_back(three_operands("max"));
  return rows;
}

}  // namespace ptx2spv::tests
