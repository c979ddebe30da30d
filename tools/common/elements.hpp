// Elements of outputs as values: u8 ... u64, s8 ... s64, f16, f32, f64, little endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ptx2spv::tools {

enum class ElementKind : std::uint8_t { unsigned_integer, signed_integer, real };

/// A type by its name, "f32". `bytes` is 0 where there is no such type.
struct ElementType {
  ElementKind kind = ElementKind::unsigned_integer;
  std::uint32_t bytes = 0;
};
ElementType element_type(std::string_view name);

/// The element's bits; integers of a sign are extended to 64.
std::uint64_t element_bits(ElementType type, const std::byte* at);
/// The value of such bits. Integers beyond 2^53 are rounded.
double element_value(ElementType type, std::uint64_t bits);
/// The value as text: an integer's digits, a real number's shortest text that reads back the same.
std::string element_text(ElementType type, std::uint64_t bits);
/// How far the values are apart; infinity where one alone is no number.
double element_distance(ElementType type, std::uint64_t first, std::uint64_t second);
/// How many representable numbers lie from one real number to the other; of integers the distance.
/// The largest number where one alone is no number.
std::uint64_t element_ulps(ElementType type, std::uint64_t first, std::uint64_t second);

}  // namespace ptx2spv::tools
