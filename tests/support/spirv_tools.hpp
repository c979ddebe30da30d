// SPIRV-Tools for tests: every module that a test produces goes through validate_spirv.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ptx2spv::test {

/// Empty when `words` is a valid module for Vulkan 1.1, else the validator's message.
std::string validate_spirv(std::span<const std::uint32_t> words);

/// The module as text, without its header.
std::string disassemble_spirv(std::span<const std::uint32_t> words);

/// Words of a module in the text form; empty (and a failed test) when the text is wrong.
std::vector<std::uint32_t> assemble_spirv(const std::string& text);

}  // namespace ptx2spv::test
