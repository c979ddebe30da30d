#include "tools/common/elements.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "tools/common/npy.hpp"

namespace ptx2spv::tools {
namespace {

double half_value(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  const double value = exponent == 0    ? std::ldexp(mantissa, -24)
                       : exponent == 31 ? (mantissa ? std::nan("") : HUGE_VAL)
                                        : std::ldexp(1024 + mantissa, exponent - 25);
  return bits & 0x8000 ? -value : value;
}

/// Real numbers in the order of their values as integers; both zeros are 0.
std::int64_t ordered(ElementType type, std::uint64_t bits) {
  const std::uint64_t sign = std::uint64_t(1) << (8 * type.bytes - 1);
  const auto magnitude = std::int64_t(bits & (sign - 1));
  return bits & sign ? -magnitude : magnitude;
}

bool is_nan(ElementType type, std::uint64_t bits) {
  return type.kind == ElementKind::real && std::isnan(element_value(type, bits));
}

/// |first - second| of integers, exact.
std::uint64_t integer_distance(ElementType type, std::uint64_t first, std::uint64_t second) {
  const bool less = type.kind == ElementKind::signed_integer
                        ? std::int64_t(first) < std::int64_t(second)
                        : first < second;
  return less ? second - first : first - second;
}

}  // namespace

ElementType element_type(std::string_view name) {
  const std::uint32_t bytes = type_bytes(std::string(name));
  if (!bytes) return {};
  const ElementKind kind = name[0] == 'f'   ? ElementKind::real
                           : name[0] == 's' ? ElementKind::signed_integer
                                            : ElementKind::unsigned_integer;
  return {kind, bytes};
}

std::uint64_t element_bits(ElementType type, const std::byte* at) {
  std::uint64_t bits = 0;
  for (std::uint32_t k = 0; k < type.bytes; ++k) bits |= std::uint64_t(at[k]) << (8 * k);
  if (type.kind != ElementKind::signed_integer) return bits;
  const unsigned unused = 64 - 8 * type.bytes;
  return std::uint64_t(std::int64_t(bits << unused) >> unused);
}

double element_value(ElementType type, std::uint64_t bits) {
  switch (type.kind) {
    case ElementKind::unsigned_integer: return double(bits);
    case ElementKind::signed_integer: return double(std::int64_t(bits));
    case ElementKind::real: break;
  }
  if (type.bytes == 2) return half_value(std::uint16_t(bits));
  if (type.bytes == 4) return std::bit_cast<float>(std::uint32_t(bits));
  return std::bit_cast<double>(bits);
}

std::string element_text(ElementType type, std::uint64_t bits) {
  switch (type.kind) {
    case ElementKind::unsigned_integer: return std::to_string(bits);
    case ElementKind::signed_integer: return std::to_string(std::int64_t(bits));
    case ElementKind::real: break;
  }
  if (is_nan(type, bits)) return fmt::format("nan (0x{:0{}x})", bits, 2 * type.bytes);
  if (type.bytes < 8) return fmt::format("{}", float(element_value(type, bits)));
  return fmt::format("{}", element_value(type, bits));
}

double element_distance(ElementType type, std::uint64_t first, std::uint64_t second) {
  if (first == second) return 0;
  if (type.kind != ElementKind::real) return double(integer_distance(type, first, second));
  const bool one = is_nan(type, first), other = is_nan(type, second);
  if (one && other) return 0;
  if (one || other) return std::numeric_limits<double>::infinity();
  return std::fabs(element_value(type, first) - element_value(type, second));
}

std::uint64_t element_ulps(ElementType type, std::uint64_t first, std::uint64_t second) {
  if (first == second) return 0;
  if (type.kind != ElementKind::real) return integer_distance(type, first, second);
  const bool one = is_nan(type, first), other = is_nan(type, second);
  if (one && other) return 0;
  if (one || other) return std::numeric_limits<std::uint64_t>::max();
  const std::int64_t low = ordered(type, first), high = ordered(type, second);
  return std::uint64_t(low < high ? high : low) - std::uint64_t(low < high ? low : high);
}

}  // namespace ptx2spv::tools
