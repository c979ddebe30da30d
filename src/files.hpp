// Files read whole.
#pragma once

#include <cstdint>
#include <string>

namespace ptx2spv::runtime {

/// Bytes of a text, and of a program with what is compiled into it.
inline constexpr std::uint64_t kMostText = std::uint64_t{1} << 28;
inline constexpr std::uint64_t kMostProgram = std::uint64_t{1} << 32;

/// Reads `path` into `bytes`. Why it cannot be read, empty where it was: folders and more than
/// `most` bytes, which devices without an end have, are errors.
std::string read_file(const std::string& path, std::uint64_t most, std::string& bytes);

}  // namespace ptx2spv::runtime
