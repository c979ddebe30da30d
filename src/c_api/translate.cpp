// The translator in C.
#include "src/c_api/handles.hpp"

#include <fmt/format.h>

#include "src/device/device.hpp"

namespace {

Status read_profile(const ptx2spv_translate_options* from, Profile& profile) {
  if (from && from->custom_profile) {
    profile = from->custom_profile->it;
    return {};
  }
  const char* name = from && from->profile ? from->profile : "portable";
  const auto found = find_profile(name);
  if (!found) return bad_argument("there is no profile '" + std::string(name) + "'");
  profile = *found;
  return {};
}

Status read_slots(const ptx2spv_translate_options& from, std::vector<SlotSpec>& slots) {
  if (from.slot_count && !from.slots) return bad_argument("the translation's slots are null");
  for (std::uint32_t i = 0; i < from.slot_count; ++i) {
    const ptx2spv_slot& slot = from.slots[i];
    const std::uint32_t backing = number_in(slot.backing);
    if (backing > PTX2SPV_SLOT_IMAGE || slot.format > PTX2SPV_SNORM16 || slot.geometry > 5 ||
        slot.channels > 4 || slot.channels == 3)
      return bad_argument("slot {} has a number that none of its fields has", i);
    SlotSpec spec;
    spec.backing = static_cast<Backing>(backing);
    spec.format = static_cast<abi::SurfaceFormat>(slot.format);
    spec.channels = static_cast<std::uint8_t>(slot.channels ? slot.channels : 1);
    spec.geometry = static_cast<std::uint8_t>(slot.geometry ? slot.geometry : 2);
    spec.format_known = slot.format_known;
    slots.push_back(spec);
  }
  return {};
}

void read_callbacks(const ptx2spv_translate_options& from, TranslateOptions& options) {
  if (from.dump)
    options.dump = [call = from.dump, user = from.user](std::string_view pass,
                                                        std::string_view text) {
      call(user, std::string(pass).c_str(), std::string(text).c_str());
    };
  if (from.timing)
    options.timing = [call = from.timing, user = from.user](std::string_view pass, double ms) {
      call(user, std::string(pass).c_str(), ms);
    };
}

Status read_options(const ptx2spv_translate_options* from, TranslateOptions& options) {
  if (from)
    if (Status status = check_struct(from, "the translation options"); !status) return status;
  if (Status status = read_profile(from, options.profile); !status) return status;
  if (!from) return {};
  options.entry = from->entry ? from->entry : "";
  options.fp = from->fast ? FpPolicy::fast : FpPolicy::exact;
  options.debug_info = from->debug_info;
  options.relax_versions = from->relax_versions;
  if (auto threads = read_threads(from->threads); !threads)
    return threads.error();
  else
    options.threads = threads->value_or(ThreadModel::direct);
  options.optimize = from->no_optimize ? 0 : 1;
  options.assume_live_handles = from->assume_live_handles;
  options.wide_surfaces = !from->assume_small_surfaces;
  options.assume_small_grid = from->assume_small_grid;
  options.shared_in_memory = from->shared_in_memory;
  options.local_in_memory = from->local_in_memory;
  if (from->max_block_threads > 1024) return bad_argument("no block has more than 1024 threads");
  if (from->max_block_threads) options.max_block_threads = from->max_block_threads;
  options.workgroup_threads = from->workgroup_threads;
  std::copy(from->block, from->block + 3, options.block);
  options.push_words = from->push_words;
  if (from->push_words > abi::kMostPushWords)
    return bad_argument("a module uses at most {} words of push constants", abi::kMostPushWords);
  if (from->wait_iterations)
    options.wait_iterations = from->wait_iterations == UINT32_MAX ? 0 : from->wait_iterations;
  if (from->routine_budget) options.routine_budget = *from->routine_budget;
  if (from->sanitize) {
    std::string unknown;
    const auto checks = parse_checks(from->sanitize, unknown);
    if (!checks) return bad_argument(unknown_check(unknown));
    options.checks = *checks;
  }
  read_callbacks(*from, options);
  return read_slots(*from, options.slots);
}

ptx2spv_status refuse(std::vector<Message> messages) {
  Error error = make_error(ErrorCode::translation, "the PTX has errors");
  for (const Message& each : messages) {
    if (each.severity != Severity::error) continue;
    error.text = fmt::format("{}:{}:{}: error: {}", each.file, each.line, each.column, each.text);
    break;
  }
  error.messages = std::move(messages);
  return fail(std::move(error));
}

std::string warnings_of(const std::vector<Message>& messages) {
  std::string warnings;
  for (const Message& each : messages) warnings += each.rendered;
  return warnings;
}

ptx2spv_status translate(const PtxModule& module, const TranslateOptions& how,
                         std::vector<Message> messages, ptx2spv_translation** translation) {
  auto made = module.translate(how, messages);
  if (!made) return refuse(std::move(messages));
  *translation = new ptx2spv_translation{std::move(made->spirv), to_json(made->interface),
                                         warnings_of(messages)};
  return PTX2SPV_OK;
}

}  // namespace

extern "C" {

ptx2spv_status ptx2spv_ptx_parse(const char* const* ptx, const size_t* bytes,
                                 const char* const* files, uint32_t count,
                                 const ptx2spv_parse_options* options, ptx2spv_ptx** parsed) {
  if (!parsed) return fail_null("the PTX");
  std::vector<PtxModule::Input> inputs;
  if (Status status = read_inputs(ptx, bytes, files, count, inputs); !status)
    return finish(std::move(status));
  std::size_t budget = kInlineBudget;
  unsigned limit = kErrorLimit;
  if (options) {
    if (Status status = check_struct(options, "the options"); !status)
      return finish(std::move(status));
    if (options->inline_budget) budget = *options->inline_budget;
    if (options->error_limit) limit = options->error_limit;
  }
  std::vector<Message> messages;
  auto module =
      PtxModule::parse(inputs, messages, options && options->relax_versions, budget, limit);
  if (!module) return refuse(std::move(messages));
  auto names = module->entry_names();
  auto interface = to_json(module->interface());
  *parsed = new ptx2spv_ptx{std::move(*module), std::move(names), std::move(interface),
                            warnings_of(messages)};
  return PTX2SPV_OK;
}

uint32_t ptx2spv_ptx_entry_count(const ptx2spv_ptx* ptx) {
  return ptx ? static_cast<uint32_t>(ptx->entries.size()) : 0;
}
const char* ptx2spv_ptx_entry_name(const ptx2spv_ptx* ptx, uint32_t index) {
  return ptx && index < ptx->entries.size() ? ptx->entries[index].c_str() : nullptr;
}
const char* ptx2spv_ptx_interface(const ptx2spv_ptx* ptx) {
  return ptx ? ptx->interface.c_str() : "";
}
const char* ptx2spv_ptx_warnings(const ptx2spv_ptx* ptx) {
  return ptx ? ptx->warnings.c_str() : "";
}

ptx2spv_status ptx2spv_ptx_translate(const ptx2spv_ptx* ptx,
                                     const ptx2spv_translate_options* options,
                                     ptx2spv_translation** translation) {
  if (!ptx || !translation) return fail_null("the PTX or the translation");
  TranslateOptions how;
  if (Status status = read_options(options, how); !status) return finish(std::move(status));
  return translate(ptx->it, how, {}, translation);
}
void ptx2spv_ptx_destroy(ptx2spv_ptx* ptx) { delete ptx; }

const char* ptx2spv_pass_name(uint32_t index) {
  static const std::vector<std::string> names = [] {
    const auto all = pass_names();
    return std::vector<std::string>(all.begin(), all.end());
  }();
  return index < names.size() ? names[index].c_str() : nullptr;
}

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
  return translate(*module, how, std::move(messages), translation);
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
