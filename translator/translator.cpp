// The public interface over the front end, the passes and the emitter.
#include "ptx2spv/translator.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "translator/module_impl.hpp"
#include "translator/ptx/parser.hpp"
#include "translator/support/diagnostic.hpp"

namespace ptx2spv {

PtxModule::PtxModule() = default;
PtxModule::~PtxModule() = default;
PtxModule::PtxModule(PtxModule&&) noexcept = default;
PtxModule& PtxModule::operator=(PtxModule&&) noexcept = default;

namespace {

/// Instructions that the kernels of a module may have with all that they call, whatever the size of
/// the text; 16 for each of the text come to it.
constexpr std::size_t kKernelInstructions = 1000000;

FrontEntry refused_entry(const lower::Program& program, lower::FunctionRef entry,
                         std::size_t most) {
  const ptx::Function& function = program.function(entry);
  FrontEntry front;
  front.lowered.info.name = function.name;
  front.lowered.ok = false;
  front.lowered.messages.push_back(lower::message_at(
      program.module(entry.module), Severity::error, function.span,
      fmt::format("the kernels before '{}' have, with all that they call, more than {} "
                  "instructions, which is the most for a module of this size: divide the module",
                  function.name, most)));
  return front;
}

/// All but the entries.
void copy_module_part(const Interface& from, Interface& to) {
  to.version = from.version;
  to.variables = from.variables;
  to.globals_image = from.globals_image;
  to.constants_image = from.constants_image;
  to.globals_bytes = from.globals_bytes;
  to.relocations = from.relocations;
  to.surfrefs = from.surfrefs;
  to.texrefs = from.texrefs;
  to.unresolved = from.unresolved;
}

/// Whether the module's part of a description is one that each kernel's module may carry.
bool is_small(const Interface& all) {
  constexpr std::size_t kMostBytes = 16384, kMostNames = 100;
  return all.globals_image.size() + all.constants_image.size() <= kMostBytes &&
         all.variables.size() + all.relocations.size() + all.surfrefs.size() + all.texrefs.size() +
                 all.unresolved.size() <=
             kMostNames;
}

std::string joined(const std::vector<std::string>& names) {
  if (names.empty()) return "none";
  std::string text;
  for (std::size_t k = 0; k < names.size() && k < 20; ++k) text += (k ? ", " : "") + names[k];
  return names.size() > 20 ? text + ", ..." : text;
}

}  // namespace

std::optional<PtxModule> PtxModule::parse(const std::vector<Input>& inputs,
                                          std::vector<Message>& messages, bool relax_versions,
                                          std::size_t inline_budget, unsigned error_limit) {
  std::vector<std::unique_ptr<ptx::Module>> modules;
  bool failed = false;
  for (const Input& input : inputs) {
    DiagnosticSink sink(error_limit);
    ptx::ParseOptions options;
    options.relax_versions = relax_versions;
    std::unique_ptr<ptx::Module> module = ptx::parse_module(input.text, input.file, options, sink);
    append_messages(sink, module->source, messages);
    failed = failed || sink.errors() > 0;
    modules.push_back(std::move(module));
  }
  if (failed || modules.empty()) return std::nullopt;
  const std::size_t before = messages.size();
  PtxModule result;
  result.impl_ = std::make_unique<Impl>(lower::Program(std::move(modules), messages));
  for (std::size_t i = before; i < messages.size(); ++i)
    if (messages[i].severity == Severity::error) return std::nullopt;
  Impl& impl = *result.impl_;
  // Every kernel has copies of what it calls. What they come to together is bounded by the text.
  const std::size_t most = kKernelInstructions + 16 * impl.program.instructions();
  std::size_t left = most;
  for (const lower::FunctionRef entry : impl.program.entries()) {
    impl.entries.push_back(left ? prepare_entry(impl.program, entry, inline_budget)
                                : refused_entry(impl.program, entry, most));
    left -= std::min(left, impl.entries.back().size);
  }
  for (const FrontEntry& entry : impl.entries) {
    impl.program.interface().entries.push_back(entry.lowered.info);
    impl.by_name.emplace(entry.lowered.info.name, &entry);
  }
  return result;
}

std::vector<std::string> PtxModule::entry_names() const { return impl_->names(); }

const Interface& PtxModule::interface() const { return impl_->program.interface(); }

void PtxModule::Impl::refuse_name(const std::string& name, std::vector<Message>& messages) const {
  std::string text = "the module has no kernel";
  if (entries_of(name).size() > 1)
    text = "the module has several kernels, of which one must be named; it has " + joined(names());
  else if (!name.empty())
    text += " '" + name + "'; it has " + joined(names());
  messages.push_back(lower::message_at(program.module(0), Severity::error, {}, text));
}

const FrontEntry* PtxModule::Impl::one_entry(const std::string& name,
                                             std::vector<Message>& messages) const {
  const auto chosen = entries_of(name);
  if (chosen.size() == 1) return chosen.front();
  refuse_name(name, messages);
  return nullptr;
}

std::optional<spirv::Builder> PtxModule::Impl::translate(std::span<const FrontEntry* const> chosen,
                                                         const TranslateOptions& options,
                                                         std::vector<EntryInfo>& infos,
                                                         std::vector<Message>& messages) const {
  std::optional<spirv::Builder> builder(std::in_place);
  // Cooperative matrices need it, in the whole module.
  if (std::ranges::any_of(chosen, [&](auto* entry) { return native_products(*entry, options); }))
    builder->use_vulkan_memory();
  Growth growth(program.text_bytes());
  bool ok = true;
  for (const FrontEntry* entry : chosen) {
    messages.insert(messages.end(), entry->lowered.messages.begin(), entry->lowered.messages.end());
    if (!entry->lowered.ok) {
      ok = false;
      continue;
    }
    EntryInfo info;
    ok &= translate_entry(*entry, program, options, *builder, info, messages, growth);
    growth.next_kernel();
    infos.push_back(std::move(info));
  }
  if (chosen.empty()) {
    refuse_name(options.entry, messages);
    ok = false;
  }
  if (!ok) builder.reset();
  return builder;
}

std::optional<Translation> PtxModule::translate(const TranslateOptions& options,
                                                std::vector<Message>& messages) const {
  Translation result;
  auto builder = impl_->translate(impl_->entries_of(options.entry), options,
                                  result.interface.entries, messages);
  if (!builder) return std::nullopt;
  copy_module_part(impl_->program.interface(), result.interface);
  if (options.debug_info) builder->embed("interface", to_json(result.interface));
  result.spirv = builder->finish();
  return result;
}

std::optional<KernelTranslation> PtxModule::translate_kernel(const TranslateOptions& options,
                                                             std::vector<Message>& messages) const {
  Interface described;
  const FrontEntry* chosen = impl_->one_entry(options.entry, messages);
  if (!chosen) return std::nullopt;
  auto builder = impl_->translate({&chosen, 1}, options, described.entries, messages);
  if (!builder) return std::nullopt;
  if (options.debug_info) {
    if (is_small(impl_->program.interface()))
      copy_module_part(impl_->program.interface(), described);
    builder->embed("interface", to_json(described));
  }
  return KernelTranslation{builder->finish(), std::move(described.entries.front())};
}

std::vector<std::string_view> pass_names() {
  std::vector<std::string_view> names;
  for (const PassRow& row : pass_rows()) names.push_back(row.name);
  return names;
}

}  // namespace ptx2spv
