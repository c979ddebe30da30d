#include "tools/ptx2spv/spirv.hpp"

#include <spirv-tools/libspirv.h>

#include <memory>

namespace ptx2spv::tools {
namespace {

struct Release {
  void operator()(spv_context_t* context) const { spvContextDestroy(context); }
  void operator()(spv_diagnostic_t* diagnostic) const { spvDiagnosticDestroy(diagnostic); }
  void operator()(spv_text_t* text) const { spvTextDestroy(text); }
};

std::string describe(spv_diagnostic diagnostic) {
  if (!diagnostic) return "SPIRV-Tools gives no reason";
  return "word " + std::to_string(diagnostic->position.index) + ": " + diagnostic->error;
}

}  // namespace

std::string validate_spirv(std::span<const std::uint32_t> words) {
  const std::unique_ptr<spv_context_t, Release> context(spvContextCreate(SPV_ENV_VULKAN_1_1));
  spv_const_binary_t binary{words.data(), words.size()};
  spv_diagnostic diagnostic = nullptr;
  const spv_result_t result = spvValidate(context.get(), &binary, &diagnostic);
  const std::unique_ptr<spv_diagnostic_t, Release> owner(diagnostic);
  return result == SPV_SUCCESS ? std::string() : describe(diagnostic);
}

std::string disassemble_spirv(std::span<const std::uint32_t> words, std::string& error) {
  const std::unique_ptr<spv_context_t, Release> context(spvContextCreate(SPV_ENV_VULKAN_1_1));
  spv_text text = nullptr;
  spv_diagnostic diagnostic = nullptr;
  constexpr unsigned kOptions =
      SPV_BINARY_TO_TEXT_OPTION_INDENT | SPV_BINARY_TO_TEXT_OPTION_FRIENDLY_NAMES;
  const spv_result_t result =
      spvBinaryToText(context.get(), words.data(), words.size(), kOptions, &text, &diagnostic);
  const std::unique_ptr<spv_diagnostic_t, Release> owner(diagnostic);
  const std::unique_ptr<spv_text_t, Release> text_owner(text);
  if (result != SPV_SUCCESS) {
    error = describe(diagnostic);
    return {};
  }
  return std::string(text->str, text->length);
}

}  // namespace ptx2spv::tools
