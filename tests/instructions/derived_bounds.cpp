// Approximate instructions within the error that the manual states, against double precision.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "tests/instructions/derived.hpp"

namespace ptx2spv::tests {
namespace {

using Function = double (*)(double);
double reciprocal(double x) { return 1 / x; }
double reciprocal_root(double x) { return 1 / std::sqrt(x); }
double root(double x) { return std::sqrt(x); }
double power(double x) { return std::exp2(x); }
double logarithm(double x) { return std::log2(x); }
double sine(double x) { return std::sin(x); }
double cosine(double x) { return std::cos(x); }
double hyperbolic(double x) { return std::tanh(x); }

/// An instruction of one operand in [least, most], whose error is below `relative` of the result or
/// below `absolute`.
struct Bound {
  const char *text, *type;
  Function right;
  double least, most, relative, absolute;
};
constexpr double kTau = 6.283185307179586;
const Bound kBounds[] = {
    {"rcp.approx.f32", "f32", reciprocal, 1e-30, 1e30, 0x1p-23 * 1.01, 0},
    {"rcp.approx.ftz.f64", "f64", reciprocal, 1e-300, 1e300, 0x1p-20, 0},
    {"sqrt.approx.f32", "f32", root, 1e-30, 1e30, 0x1p-23 * 1.01, 0},
    {"rsqrt.approx.f32", "f32", reciprocal_root, 1e-30, 1e30, 0x1p-22, 0},
    {"rsqrt.approx.f64", "f64", reciprocal_root, 1e-300, 1e300, 0x1p-20, 0},
    {"rsqrt.approx.ftz.f64", "f64", reciprocal_root, 1e-300, 1e300, 0x1p-20, 0},
    {"sin.approx.f32", "f32", sine, -kTau, kTau, 0, 0x1p-20},
    {"cos.approx.f32", "f32", cosine, -kTau, kTau, 0, 0x1p-20},
    {"lg2.approx.f32", "f32", logarithm, 0.5, 2, 0, 0x1p-22},
    {"lg2.approx.ftz.f32", "f32", logarithm, 2, 1e30, 0x1p-22, 0},
    {"ex2.approx.f32", "f32", power, -120, 120, 0x1p-22, 0},
    {"ex2.approx.f16", "f16", power, -13, 15, 0x1p-9, 0},
    {"ex2.approx.f16x2", "f16x2", power, -13, 15, 0x1p-9, 0},
    {"ex2.approx.ftz.bf16", "bf16", power, -100, 100, 0x1p-7, 0},
    {"ex2.approx.ftz.bf16x2", "bf16x2", power, -100, 100, 0x1p-7, 0},
    {"tanh.approx.f32", "f32", hyperbolic, -8, 8, 0x1p-11 * 1.01, 0},
    {"tanh.approx.f16", "f16", hyperbolic, -8, 8, 0, 0x1p-10},
    {"tanh.approx.f16x2", "f16x2", hyperbolic, -8, 8, 0, 0x1p-10},
    {"tanh.approx.bf16", "bf16", hyperbolic, -8, 8, 0x1p-7, 0},
    {"tanh.approx.bf16x2", "bf16x2", hyperbolic, -8, 8, 0x1p-7, 0},
};

double half_value(std::uint32_t half) {
  const std::uint32_t exponent = half >> 10 & 31, mantissa = half & 1023;
  const double magnitude = exponent ? std::ldexp(1024 + mantissa, static_cast<int>(exponent) - 25)
                                    : std::ldexp(mantissa, -24);
  return half >> 15 & 1 ? -magnitude : magnitude;
}

/// The number in the words of an operand, its part `part` where there are two.
double value_of(const std::string& type, const std::uint32_t* words, unsigned part) {
  if (type == "f64") {
    double value = 0;
    std::memcpy(&value, words, 8);
    return value;
  }
  if (type == "f32") return std::bit_cast<float>(words[0]);
  const std::uint32_t half = words[0] >> 16 * part & 0xffff;
  return type.starts_with("b") ? std::bit_cast<float>(half << 16) : half_value(half);
}

/// Any value of the type from least to most: operands are drawn until one is.
Words drawn(const Bound& bound, unsigned count) {
  std::mt19937_64 random(37);
  std::uniform_real_distribution<double> place(0, 1);
  const std::string type = bound.type;
  const bool wide_range = bound.least > 0 && bound.most / bound.least > 100;
  Words words;
  while (words.size() < 2 * count) {
    const double x =
        wide_range
            ? std::exp(std::log(bound.least) + place(random) * std::log(bound.most / bound.least))
            : bound.least + place(random) * (bound.most - bound.least);
    std::uint64_t bits = 0;
    if (type == "f64") {
      bits = std::bit_cast<std::uint64_t>(x);
    } else if (type == "f32") {
      bits = std::bit_cast<std::uint32_t>(static_cast<float>(x));
    } else {
      // Two halves that lie within the range.
      for (unsigned part = 0; part < 2; ++part) {
        std::uint32_t half = 0;
        double value = 0;
        do {
          half = static_cast<std::uint32_t>(random() & 0xffff);
          value = value_of(type, &half, 0);
        } while (!(value >= bound.least && value <= bound.most));
        bits |= std::uint64_t{half} << 16 * part;
      }
    }
    words.push_back(static_cast<std::uint32_t>(bits));
    words.push_back(static_cast<std::uint32_t>(bits >> 32));
  }
  return words;
}

Derived within(const Bound& bound) {
  Derived row;
  row.name = bound.text;
  for (char& c : row.name)
    if (c == '.') c = '_';
  row.kernel.version = "7.8";
  row.kernel.target = "sm_90";
  row.kernel.threads = 4096;
  row.kernel.operands = 2;
  row.kernel.results = 2;
  const std::string type = bound.type;
  const std::string letter = type == "f64"                     ? "d"
                             : type == "f16" || type == "bf16" ? "h"
                                                               : "t",
                    bits = letter == "d"   ? "b64"
                           : letter == "h" ? "b16"
                                           : "b32";
  row.kernel.text = fmt::format(
      "ld.global.{0} %{1}2, [%in];\n{2} %{1}3, %{1}2;\n"
      "st.global.{0} [%out], %{1}3;",
      bits, letter, bound.text);
  row.in = drawn(bound, row.kernel.threads);
  row.check = [bound, type](const Words& in, const Words& out) {
    for (std::size_t i = 0; i < out.size(); i += 2)
      for (unsigned part = 0; part < (type.ends_with("x2") ? 2u : 1u); ++part) {
        const double x = value_of(type, &in[i], part), y = value_of(type, &out[i], part),
                     right = bound.right(x);
        const double most = bound.relative * std::fabs(right) + bound.absolute;
        if (!(std::fabs(y - right) <= most))
          return fmt::format("{} of {:.9g} is {:.9g}, not {:.9g}: off by {:g}, at most {:g}",
                             bound.text, x, y, right, std::fabs(y - right), most);
      }
    return std::string();
  };
  return row;
}

}  // namespace

std::vector<Derived> approximate_rows() {
  std::vector<Derived> rows;
  for (const Bound& bound : kBounds) rows.push_back(within(bound));
  return rows;
}

}  // namespace ptx2spv::tests
