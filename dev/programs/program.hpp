// A random program: PTX text, launch and data, all from its number.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dev/programs/statements.hpp"

namespace ptx2spv::programs {

/// Changes whenever a number would give another program than before; the record names it.
inline constexpr unsigned kGeneration = 1;

struct Program {
  std::uint64_t number = 0;
  std::string text;
  Shape shape;
  Resources resources;
  std::vector<std::uint32_t> input;     ///< 128 bytes for each thread
  std::vector<std::uint32_t> output;    ///< what the output buffer holds before the launch
  std::vector<std::uint8_t> structure;  ///< the kernel's .param structure, 48 bytes
  std::vector<std::uint8_t> surface;    ///< what the surface that is stored to holds before
  std::vector<std::uint8_t> loaded;     ///< what the one that is loaded from holds
  std::uint32_t count = 0;              ///< the kernel's last parameter
  unsigned cell_bytes = 0;              ///< of the results of each thread, at the output's start
  /// Hash of the text and of all data.
  std::uint64_t digest() const;
};

Program make_program(const Vocabulary& vocabulary, std::uint64_t number);

/// What a run gives: the output buffer and the surface that is stored to.
std::uint64_t checksum(const std::vector<std::uint32_t>& output,
                       const std::vector<std::uint8_t>& surface);

}  // namespace ptx2spv::programs
