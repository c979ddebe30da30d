// SPIRV-Tools' validator and disassembler.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace ptx2spv::tools {

struct Validity {
  std::string wrong;      ///< the validator's message; empty when the module is valid
  std::string unchecked;  ///< why the validator came to no end; empty when it did
};

/// Seconds of processor time that the validator may have after what this process has spent: both
/// together take 10, the validator at least 2.
unsigned validator_seconds();
/// Whether a module is valid for Vulkan 1.1. The validator's time grows with the square of a
/// module's blocks: it is given up after so many seconds of processor time, or at a gibibyte.
Validity validate_spirv(std::span<const std::uint32_t> words, unsigned seconds = 10);
/// Empty and an error on failure.
std::string disassemble_spirv(std::span<const std::uint32_t> words, std::string& error);

}  // namespace ptx2spv::tools
