#include "translator/ptx/ast.hpp"

#include <bit>
#include <cmath>

#include <fmt/format.h>

namespace ptx2spv::ptx {
namespace {

/// A double rounded to nearest even as a float of `exponent` and `mantissa` bits (half: 5 and 10).
std::uint64_t narrow(double value, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const std::uint64_t sign =
      std::signbit(value) ? std::uint64_t{1} << (exponent_bits + mantissa_bits) : 0;
  const std::uint64_t infinity = ((std::uint64_t{1} << exponent_bits) - 1) << mantissa_bits;
  if (std::isnan(value)) return infinity | ((std::uint64_t{1} << mantissa_bits) - 1);
  if (std::isinf(value)) return sign | infinity;
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  --exponent;  // magnitude in [2^exponent, 2^(exponent+1))
  const int lowest = 1 - bias;
  const int unit = (exponent < lowest ? lowest : exponent) - mantissa_bits;
  double scaled = std::ldexp(magnitude, -unit);
  scaled = std::nearbyint(scaled);  // ties to even in the default mode
  auto bits = static_cast<std::uint64_t>(scaled);
  if (exponent >= lowest) {
    bits += (static_cast<std::uint64_t>(exponent + bias - 1)) << mantissa_bits;
  }
  return sign | (bits > infinity ? infinity : bits);
}

}  // namespace

std::uint64_t immediate_bits(const Operand& operand, Type type) {
  if (operand.kind == OperandKind::imm_int) {
    const unsigned width = bits(type);
    return width >= 64 || width == 0 ? operand.value
                                     : operand.value & ((std::uint64_t{1} << width) - 1);
  }
  const bool single = operand.kind == OperandKind::imm_f32;
  const double value =
      single ? static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(operand.value)))
             : std::bit_cast<double>(operand.value);
  switch (type) {
    case Type::f16: return narrow(value, 5, 10);
    case Type::bf16: return narrow(value, 8, 7);
    case Type::f64: return std::bit_cast<std::uint64_t>(value);
    case Type::b64:
    case Type::u64:
    case Type::s64: return operand.value;
    case Type::f32:
      return single ? operand.value : std::bit_cast<std::uint32_t>(static_cast<float>(value));
    default: {
      // Bits: a float for 32, a double cut to what fits otherwise.
      if (bits(type) == 32)
        return single ? operand.value : std::bit_cast<std::uint32_t>(static_cast<float>(value));
      const unsigned width = bits(type);
      return width == 0 || width >= 64 ? operand.value
                                       : operand.value & ((std::uint64_t{1} << width) - 1);
    }
  }
}

std::string Module::older_than(unsigned needed, unsigned needed_sm, std::string_view what) const {
  if (!is_older_than(needed, needed_sm)) return {};
  if (version() < needed)
    return fmt::format("{} needs PTX version {}.{} or later, the module has {}.{}", what,
                       needed / 10, needed % 10, version_major, version_minor);
  return fmt::format("{} needs .target sm_{}{} or later, the module has {}", what, needed_sm % 128,
                     needed_sm < 128 ? "" : "a", target);
}

}  // namespace ptx2spv::ptx
