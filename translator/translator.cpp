// The public interface over the front end, the passes and the emitter.
#include "ptx2spv/translator.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "translator/lower/program.hpp"
#include "translator/pipeline.hpp"
#include "translator/ptx/parser.hpp"
#include "translator/support/diagnostic.hpp"

namespace ptx2spv {

struct PtxModule::Impl {
  explicit Impl(lower::Program&& linked) : program(std::move(linked)) {}
  lower::Program program;
  std::vector<FrontEntry> entries;
};

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
  for (const FrontEntry& entry : impl.entries)
    impl.program.interface().entries.push_back(entry.lowered.info);
  return result;
}

std::vector<std::string> PtxModule::entry_names() const {
  std::vector<std::string> names;
  for (const FrontEntry& entry : impl_->entries) names.push_back(entry.lowered.info.name);
  return names;
}

const Interface& PtxModule::interface() const { return impl_->program.interface(); }

std::optional<Translation> PtxModule::translate(const TranslateOptions& options,
                                                std::vector<Message>& messages) const {
  Translation result;
  result.interface = impl_->program.interface();
  result.interface.entries.clear();
  spirv::Builder builder;
  Growth growth(impl_->program.text_bytes());
  bool ok = true, found = false;
  for (const FrontEntry& entry : impl_->entries) {
    if (!options.entry.empty() && entry.lowered.info.name != options.entry) continue;
    found = true;
    messages.insert(messages.end(), entry.lowered.messages.begin(), entry.lowered.messages.end());
    if (!entry.lowered.ok) {
      ok = false;
      continue;
    }
    EntryInfo info;
    const bool made =
        translate_entry(entry, impl_->program, options, builder, info, messages, growth);
    growth.next_kernel();
    if (!made) {
      ok = false;
      continue;
    }
    result.interface.entries.push_back(std::move(info));
  }
  if (!found) {
    messages.push_back(lower::message_at(
        impl_->program.module(0), Severity::error, {},
        options.entry.empty()
            ? "the module has no kernel"
            : "the module has no kernel '" + options.entry + "'; it has " + joined(entry_names())));
    return std::nullopt;
  }
  if (!ok) return std::nullopt;
  if (options.debug_info) builder.embed("interface", to_json(result.interface));
  result.spirv = builder.finish();
  return result;
}

std::vector<std::string_view> pass_names() {
  std::vector<std::string_view> names;
  for (const PassRow& row : pass_rows()) names.push_back(row.name);
  return names;
}

}  // namespace ptx2spv
