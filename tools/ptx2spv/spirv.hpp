// SPIRV-Tools' validator and disassembler.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace ptx2spv::tools {

/// Empty when valid for Vulkan 1.1, else the validator's message.
std::string validate_spirv(std::span<const std::uint32_t> words);
/// Empty and an error on failure.
std::string disassemble_spirv(std::span<const std::uint32_t> words, std::string& error);

}  // namespace ptx2spv::tools
