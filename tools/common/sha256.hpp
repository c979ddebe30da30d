// SHA-256 (FIPS 180-4), for checksums of outputs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace ptx2spv::tools {

std::array<std::uint8_t, 32> sha256(std::span<const std::byte> bytes);
/// As 64 hexadecimal digits, lower case.
std::string sha256_hex(std::span<const std::byte> bytes);

}  // namespace ptx2spv::tools
