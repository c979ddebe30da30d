// SPIRV-Tools' validator and disassembler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace ptx2spv::tools {

struct Validity {
  std::string wrong;      ///< the validator's message; empty when the module is valid
  std::string unchecked;  ///< why the validator came to no end; empty when it did
};

/// SPIRV-Tools' validator for the modules of one input. Its time grows with the square of a
/// module's blocks, so it is given up where it takes too long, or more than a gibibyte.
class Validator {
 public:
  /// For modules made from `bytes` of PTX text. From here on this process and the validator may
  /// take 8 seconds of processor time for each megabyte, and 8 for less, the validator a fifth
  /// of that at least. `seconds`: what the validator may take instead.
  explicit Validator(std::size_t bytes, std::optional<unsigned> seconds = std::nullopt);

  /// Whether a module is valid for Vulkan 1.1.
  Validity check(std::span<const std::uint32_t> words);

 private:
  double left() const;

  double allowed_ = 0, own_ = 0;  ///< seconds for all, and for the validator alone
  double start_ = 0;              ///< seconds that had been taken before
  double used_ = 0;               ///< by the validator
};

/// Empty and an error on failure.
std::string disassemble_spirv(std::span<const std::uint32_t> words, std::string& error);

}  // namespace ptx2spv::tools
