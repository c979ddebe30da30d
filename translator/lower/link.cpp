// Which definition a name means across PTX files, by nvlink's rules: one strong definition, of weak
// ones the first, of common ones the largest; all that carry a name agree on its space, its size or
// its prototype.

#include <fmt/format.h>

#include "translator/lower/call_shape.hpp"
#include "translator/lower/program.hpp"
#include "translator/support/diagnostic.hpp"

namespace ptx2spv::lower {

using ptx::Linkage;
using ptx::SymbolId;

namespace {

/// Collects what every name stands for, module after module.
class Linker {
 public:
  Linker(const std::vector<std::unique_ptr<ptx::Module>>& modules, std::vector<Message>& messages)
      : modules_(modules), messages_(messages) {}

  void variable(std::uint32_t m, SymbolId id) {
    const ptx::Module& module = *modules_[m];
    const ptx::Variable& here = module.variable(id);
    if (here.linkage == Linkage::none || here.linkage == Linkage::extern_) return;
    const std::string_view name = module.symbol(id).name;
    const auto [it, is_new] = variables.try_emplace(name, SymbolRef{m, id});
    if (is_new) return;
    const SymbolRef first = it->second;
    const ptx::Variable& there = modules_[first.module]->variable(first.symbol);
    // Handles are bound from outside, so that one surface or texture of two modules is one.
    const bool opaque = ptx::is_opaque(here.type) && ptx::is_opaque(there.type);
    if (here.linkage == Linkage::visible && there.linkage == Linkage::visible && !opaque) {
      error(m, here.span, "variable", name, "is defined", first.module, there.span, "too");
    } else if (stronger(here, there)) {
      it->second = {m, id};
    }
  }

  void function(std::uint32_t m, std::uint32_t f) {
    const ptx::Function& here = modules_[m]->functions[f];
    if (!here.has_body) return;
    // Kernels are found by their names, those that no other module sees too.
    if (here.is_entry) {
      const auto [known, is_new] = kernels_.try_emplace(here.name, FunctionRef{m, f});
      const FunctionRef first = known->second;
      const ptx::Function& there = modules_[first.module]->functions[first.function];
      if (!is_new && (here.linkage == Linkage::none || there.linkage == Linkage::none))
        error(m, here.span, "kernel", here.name, "is defined", first.module, there.span, "too");
    }
    if (here.linkage == Linkage::none) return;
    const auto [it, is_new] = functions.try_emplace(here.name, FunctionRef{m, f});
    if (is_new) return;
    const ptx::Function& there = modules_[it->second.module]->functions[it->second.function];
    if (here.linkage != Linkage::visible) return;
    if (there.linkage == Linkage::visible) {
      error(m, here.span, here.is_entry ? "kernel" : "function", here.name, "is defined",
            it->second.module, there.span, "too");
    } else {
      it->second = {m, f};
    }
  }

  /// Declarations and the definitions that did not win, against the one that stands.
  void compare_variable(std::uint32_t m, SymbolId id) {
    const ptx::Module& module = *modules_[m];
    const ptx::Variable& here = module.variable(id);
    const std::string_view name = module.symbol(id).name;
    if (here.linkage == Linkage::none) return;
    if (const auto f = functions.find(name); f != functions.end()) {
      const ptx::Function& there = modules_[f->second.module]->functions[f->second.function];
      return error(m, here.span, "variable", name, "is a function", f->second.module, there.span);
    }
    const auto it = variables.find(name);
    if (it == variables.end() || it->second == SymbolRef{m, id}) return;
    const std::uint32_t other = it->second.module;
    const ptx::Variable& there = modules_[other]->variable(it->second.symbol);
    if (here.space != there.space) {
      return error(
          m, here.span, "variable", name,
          fmt::format("is in .{}, but in .{}", ptx::text(here.space), ptx::text(there.space)),
          other, there.span);
    }
    if (here.type != there.type && (ptx::is_opaque(here.type) || ptx::is_opaque(there.type))) {
      return error(m, here.span, "variable", name,
                   fmt::format("is a {}, but a {}", ptx::text(here.type), ptx::text(there.type)),
                   other, there.span);
    }
    const bool common = here.linkage == Linkage::common && there.linkage == Linkage::common;
    if (here.size != there.size && !here.unsized && !there.unsized && !common) {
      error(m, here.span, "variable", name,
            fmt::format("has {} bytes, but {}", here.size, there.size), other, there.span);
    }
  }

  void compare_function(std::uint32_t m, std::uint32_t f) {
    const ptx::Function& here = modules_[m]->functions[f];
    if (here.linkage == Linkage::none) return;
    const auto it = functions.find(here.name);
    if (it == functions.end() || it->second == FunctionRef{m, f}) return;
    const ptx::Module& module = *modules_[it->second.module];
    const ptx::Function& there = module.functions[it->second.function];
    if (shape_of(*modules_[m], here) == shape_of(module, there) && here.is_entry == there.is_entry)
      return;
    error(m, here.span, "function", here.name, "has other parameters or results than",
          it->second.module, there.span);
  }

  std::unordered_map<std::string_view, SymbolRef> variables;
  std::unordered_map<std::string_view, FunctionRef> functions;
  bool failed = false;

 private:
  std::unordered_map<std::string_view, FunctionRef> kernels_;

  static bool stronger(const ptx::Variable& here, const ptx::Variable& there) {
    if (there.linkage == Linkage::visible) return false;
    if (here.linkage == Linkage::visible) return true;
    // An initialised weak variable stands before a common one, which has no value.
    if (here.linkage != there.linkage) return there.linkage == Linkage::common;
    return here.linkage == Linkage::common && here.size > there.size;
  }

  void error(std::uint32_t m, Span span, std::string_view what, std::string_view name,
             std::string_view how, std::uint32_t other, Span there, std::string_view tail = {}) {
    const SourceFile& source = modules_[other]->source;
    std::string text = fmt::format("{} '{}' {} in {}, line {}", what, name, how, source.name(),
                                   source.position(there.begin).line);
    if (!tail.empty()) text += fmt::format(", {}", tail);
    messages_.push_back(message_at(*modules_[m], Severity::error, span, std::move(text)));
    failed = true;
  }

  const std::vector<std::unique_ptr<ptx::Module>>& modules_;
  std::vector<Message>& messages_;
};

}  // namespace

void Program::link(std::vector<Message>& messages) {
  Linker linker(modules_, messages);
  const auto each = [&](auto&& variable, auto&& function) {
    for (std::uint32_t m = 0; m < modules_.size(); ++m) {
      for (const SymbolId id : modules_[m]->globals) variable(m, id);
      for (std::uint32_t f = 0; f < modules_[m]->functions.size(); ++f) function(m, f);
    }
  };
  each([&](std::uint32_t m, SymbolId id) { linker.variable(m, id); },
       [&](std::uint32_t m, std::uint32_t f) { linker.function(m, f); });
  if (!linker.failed && modules_.size() > 1) {
    each([&](std::uint32_t m, SymbolId id) { linker.compare_variable(m, id); },
         [&](std::uint32_t m, std::uint32_t f) { linker.compare_function(m, f); });
  }
  variables_ = std::move(linker.variables);
  functions_ = std::move(linker.functions);
}

}  // namespace ptx2spv::lower
