#include "tests/support/spirv_tools.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <spirv-tools/libspirv.hpp>

#include "tools/common/known_modes.hpp"

namespace ptx2spv::test {

namespace {

struct Tools : spvtools::SpirvTools {
  explicit Tools(std::string& messages) : SpirvTools(SPV_ENV_VULKAN_1_1_SPIRV_1_4) {
    SetMessageConsumer(
        [&messages](spv_message_level_t, const char*, const spv_position_t& at, const char* text) {
          messages += std::to_string(at.index) + ": " + text + "\n";
        });
  }
};

}  // namespace

std::string validate_spirv(std::span<const std::uint32_t> words) {
  std::string messages;
  const Tools library(messages);
  if (library.Validate(words.data(), words.size())) return {};
  // CooperativeMatrixKHR and FMAKHR, which SPIRV-Tools of Debian 12 have no names for.
  for (const char* capability : {"6022", "6030"}) {
    if (messages.find("Invalid capability operand: " + std::string(capability)) == messages.npos)
      continue;
    static const bool said =
        std::printf("not validated: SPIRV-Tools does not know capability %s\n", capability) > 0;
    return said ? std::string() : messages;
  }
  const auto known = tools::without_reconvergence(words);
  if (known.size() != words.size()) return validate_spirv(known);
  return messages.empty() ? "invalid SPIR-V" : messages;
}

std::string disassemble_spirv(std::span<const std::uint32_t> words) {
  std::string messages, text;
  const Tools library(messages);
  const auto options =
      SPV_BINARY_TO_TEXT_OPTION_NO_HEADER | SPV_BINARY_TO_TEXT_OPTION_FRIENDLY_NAMES;
  if (library.Disassemble(words.data(), words.size(), &text, options)) return text;
  const auto known = tools::without_reconvergence(words);
  return known.size() == words.size() ? messages : disassemble_spirv(known);
}

std::vector<std::uint32_t> assemble_spirv(const std::string& text) {
  std::string messages;
  const Tools library(messages);
  std::vector<std::uint32_t> words;
  if (library.Assemble(text, &words)) return words;
  ADD_FAILURE() << messages;
  return {};
}

}  // namespace ptx2spv::test
