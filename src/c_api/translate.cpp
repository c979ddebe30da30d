// The translator in C.
#include "src/c_api/handles.hpp"
#include "src/device/device.hpp"

using namespace ptx2spv;
using namespace ptx2spv::runtime;

namespace {

Status read_options(const ptx2spv_translate_options* from, TranslateOptions& options) {
  const char* profile = from && from->profile ? from->profile : "portable";
  if (from) {
    if (Status status = check_struct(from, "the translation options"); !status) return status;
    options.entry = from->entry ? from->entry : "";
    options.fp = from->fast ? FpPolicy::fast : FpPolicy::exact;
    options.debug_info = from->debug_info;
    options.relax_versions = from->relax_versions;
  }
  const auto found = find_profile(profile);
  if (!found)
    return make_error(ErrorCode::invalid_argument,
                      "there is no profile '" + std::string(profile) + "'");
  options.profile = *found;
  return {};
}

ptx2spv_status refuse(std::vector<Message> messages) {
  Error error = make_error(ErrorCode::translation, "the PTX has errors");
  for (const Message& each : messages) {
    if (each.severity != Severity::error) continue;
    error.text = each.file + ":" + std::to_string(each.line) + ":" + std::to_string(each.column) +
                 ": error: " + each.text;
    break;
  }
  error.messages = std::move(messages);
  return fail(std::move(error));
}

}  // namespace

extern "C" {

ptx2spv_status ptx2spv_translate(const char* ptx, size_t bytes, const char* file,
                                 const ptx2spv_translate_options* options,
                                 ptx2spv_translation** translation) {
  if (!ptx || !translation) return fail_null("the PTX or the translation");
  TranslateOptions how;
  if (Status status = read_options(options, how); !status) return finish(std::move(status));
  std::vector<Message> messages;
  const auto module = PtxModule::parse({{std::string_view(ptx, bytes), file ? file : "module.ptx"}},
                                       messages, how.relax_versions);
  if (!module) return refuse(std::move(messages));
  auto made = module->translate(how, messages);
  if (!made) return refuse(std::move(messages));
  std::string warnings;
  for (const Message& each : messages) warnings += each.rendered;
  *translation = new ptx2spv_translation{std::move(made->spirv), to_json(made->interface),
                                         std::move(warnings)};
  return PTX2SPV_OK;
}

const uint32_t* ptx2spv_translation_words(const ptx2spv_translation* translation, size_t* count) {
  if (count) *count = translation ? translation->words.size() : 0;
  return translation ? translation->words.data() : nullptr;
}

const char* ptx2spv_translation_interface(const ptx2spv_translation* translation) {
  return translation ? translation->interface.c_str() : "";
}

const char* ptx2spv_translation_warnings(const ptx2spv_translation* translation) {
  return translation ? translation->warnings.c_str() : "";
}

void ptx2spv_translation_destroy(ptx2spv_translation* translation) { delete translation; }

}  // extern "C"
