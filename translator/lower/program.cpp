#include "translator/lower/program.hpp"

#include <algorithm>

#include "translator/support/diagnostic.hpp"

namespace ptx2spv::lower {

using ptx::Space;
using ptx::SymbolId;
using ptx::SymbolKind;

Message message_at(const ptx::Module& module, Severity severity, Span span, std::string text) {
  Diagnostic diagnostic;
  diagnostic.severity = severity;
  diagnostic.span = span;
  diagnostic.text = std::move(text);
  return to_message(diagnostic, module.source);
}

Program::Program(std::vector<std::unique_ptr<ptx::Module>> modules, std::vector<Message>& messages)
    : modules_(std::move(modules)) {
  link(messages);
  lay_out(messages);
}

void Program::link(std::vector<Message>& messages) {
  const auto shared_name = [](ptx::Linkage linkage) {
    return linkage == ptx::Linkage::visible || linkage == ptx::Linkage::weak || linkage == ptx::Linkage::common;
  };
  // One strong definition; of weak and common ones the first (largest common) stands.
  std::unordered_map<std::string_view, ptx::Linkage> strength;
  for (std::uint32_t m = 0; m < modules_.size(); ++m) {
    const ptx::Module& module = *modules_[m];
    for (const SymbolId id : module.globals) {
      const ptx::Variable& variable = module.variable(id);
      if (!shared_name(variable.linkage)) continue;
      const std::string_view name = module.symbol(id).name;
      const auto [it, is_new] = variables_.try_emplace(name, SymbolRef{m, id});
      if (is_new) {
        strength[name] = variable.linkage;
      } else if (variable.linkage == ptx::Linkage::visible) {
        if (strength[name] == ptx::Linkage::visible)
          messages.push_back(message_at(module, Severity::error, variable.span,
                                        "variable '" + std::string(name) + "' is defined in another module too"));
        it->second = {m, id};
        strength[name] = ptx::Linkage::visible;
      } else if (variable.linkage == ptx::Linkage::common && strength[name] == ptx::Linkage::common) {
        const ptx::Variable& other = modules_[it->second.module]->variable(it->second.symbol);
        if (variable.size > other.size) it->second = {m, id};
      }
    }
    for (std::uint32_t f = 0; f < module.functions.size(); ++f) {
      const ptx::Function& function = module.functions[f];
      if (!function.has_body || function.linkage == ptx::Linkage::none) continue;
      const auto [it, is_new] = functions_.try_emplace(function.name, FunctionRef{m, f});
      if (is_new) continue;
      const ptx::Function& other = this->function(it->second);
      if (other.linkage == ptx::Linkage::visible && function.linkage == ptx::Linkage::visible)
        messages.push_back(message_at(module, Severity::error, function.span,
                                      "function '" + std::string(function.name) + "' is defined in another module too"));
      else if (function.linkage == ptx::Linkage::visible)
        it->second = {m, f};
    }
  }
}

SymbolRef Program::resolve(SymbolRef ref) const {
  const ptx::Module& module = *modules_[ref.module];
  const ptx::Symbol& symbol = module.symbol(ref.symbol);
  if (symbol.kind != SymbolKind::variable || symbol.function != ptx::kNoIndex) return ref;
  const ptx::Variable& variable = module.variable(ref.symbol);
  if (variable.linkage == ptx::Linkage::none) return ref;
  const auto it = variables_.find(symbol.name);
  return it == variables_.end() ? ref : it->second;
}

FunctionRef Program::resolve_function(std::uint32_t m, SymbolId id) const {
  SymbolId wanted = id;
  for (const ptx::Alias& alias : modules_[m]->aliases)
    if (alias.alias == id) wanted = alias.target;
  const ptx::Symbol& symbol = modules_[m]->symbol(wanted);
  if (symbol.kind != SymbolKind::function) return {};
  const ptx::Function& here = modules_[m]->functions[symbol.index];
  if (here.linkage != ptx::Linkage::none || !here.has_body)
    if (const auto it = functions_.find(here.name); it != functions_.end()) return it->second;
  return {m, symbol.index};
}

bool Program::offset_of(SymbolRef symbol, std::uint64_t& offset) const {
  const auto it = offsets_.find(resolve(symbol).key());
  if (it == offsets_.end()) return false;
  offset = it->second;
  return true;
}

std::uint32_t Program::function_number(FunctionRef ref) {
  const auto it = std::find(numbered_.begin(), numbered_.end(), ref);
  if (it != numbered_.end()) return static_cast<std::uint32_t>(it - numbered_.begin()) + 1;
  numbered_.push_back(ref);
  return static_cast<std::uint32_t>(numbered_.size());
}

std::vector<FunctionRef> Program::entries() const {
  std::vector<FunctionRef> out;
  for (std::uint32_t m = 0; m < modules_.size(); ++m)
    for (std::uint32_t f = 0; f < modules_[m]->functions.size(); ++f)
      if (modules_[m]->functions[f].is_entry && modules_[m]->functions[f].has_body) out.push_back({m, f});
  return out;
}

void Program::place(std::uint32_t m, SymbolId id, std::vector<Message>& messages) {
  const ptx::Module& module = *modules_[m];
  const ptx::Variable& variable = module.variable(id);
  const bool constant = variable.space == Space::const_;
  if (!constant && variable.space != Space::global) return;
  if (ptx::is_opaque(variable.type)) {
    if (variable.type == ptx::Type::surfref) {
      StaticSurfref ref;
      ref.name = module.symbol(id).name;
      for (const ptx::OpaqueField& field : variable.init.fields) {
        const auto value = static_cast<std::int64_t>(field.value);
        if (field.name == "width") ref.width = value;
        if (field.name == "height") ref.height = value;
        if (field.name == "depth") ref.depth = value;
        if (field.name == "channel_data_type") ref.channel_data_type = value;
        if (field.name == "channel_order") ref.channel_order = value;
        if (field.name == "array_size") ref.array_size = value;
        if (field.name == "memory_layout") ref.memory_layout = value;
      }
      interface_.surfrefs.push_back(std::move(ref));
    }
    return;
  }
  const SymbolRef self{m, id};
  if (!(resolve(self) == self)) return;
  if (variable.linkage == ptx::Linkage::extern_) {
    interface_.unresolved.emplace_back(module.symbol(id).name);
    return;
  }
  std::vector<std::uint8_t>& image = constant ? interface_.constants_image : interface_.globals_image;
  const std::uint64_t align = std::max<std::uint64_t>(variable.align, 4);
  const std::uint64_t offset = (image.size() + align - 1) / align * align;
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 30;
  if (variable.size > kLargest || offset + variable.size > kLargest) {
    messages.push_back(message_at(module, Severity::error, variable.span,
                                  "the module's variables take more than 1 GiB"));
    return;
  }
  image.resize(offset + (variable.size + 3) / 4 * 4);
  std::copy(variable.init.bytes.begin(), variable.init.bytes.end(),
            image.begin() + static_cast<std::ptrdiff_t>(offset));
  offsets_[self.key()] = offset;
  interface_.variables.push_back({std::string(module.symbol(id).name), constant, offset, variable.size});
}

void Program::initialise(std::uint32_t m, SymbolId id, std::vector<Message>& messages) {
  const ptx::Module& module = *modules_[m];
  const ptx::Variable& variable = module.variable(id);
  std::uint64_t offset = 0;
  const SymbolRef self{m, id};
  if (!(resolve(self) == self) || !offset_of(self, offset)) return;
  const bool in_constants = variable.space == Space::const_;
  for (const ptx::InitAddress& address : variable.init.addresses) {
    Relocation relocation;
    relocation.in_constants = in_constants;
    relocation.at = offset + address.at;
    relocation.bytes = address.bytes;
    relocation.shift = address.shift;
    relocation.symbol = module.symbol(address.symbol).name;
    const ptx::Symbol& target = module.symbol(address.symbol);
    std::uint64_t target_offset = 0;
    if (target.kind == SymbolKind::function) {
      const FunctionRef ref = resolve_function(m, address.symbol);
      relocation.kind = Relocation::Kind::function;
      relocation.addend = function_number(ref) + static_cast<std::uint64_t>(address.addend);
    } else if (target.type == ptx::Type::surfref) {
      relocation.kind = Relocation::Kind::surfref;
      relocation.addend = static_cast<std::uint64_t>(address.addend);
    } else if (ptx::is_opaque(target.type)) {
      relocation.kind = Relocation::Kind::texref;
      relocation.addend = static_cast<std::uint64_t>(address.addend);
    } else if (offset_of({m, address.symbol}, target_offset)) {
      // The address in its own space: of a .const variable that is its offset, unless generic() asks.
      const bool constant = target.space == Space::const_;
      relocation.addend = target_offset + static_cast<std::uint64_t>(address.addend);
      relocation.kind = constant ? Relocation::Kind::constant : Relocation::Kind::global;
      if (constant && !address.generic) {
        std::vector<std::uint8_t>& image = in_constants ? interface_.constants_image : interface_.globals_image;
        const std::uint64_t value = relocation.addend >> address.shift;
        for (unsigned i = 0; i < address.bytes && i < 8; ++i)
          image[relocation.at + i] = static_cast<std::uint8_t>(value >> (8 * i));
        continue;
      }
    } else {
      messages.push_back(message_at(module, Severity::error, address.span,
                                    "the initialiser names '" + relocation.symbol + "', which has no address"));
      continue;
    }
    interface_.relocations.push_back(std::move(relocation));
  }
}

void Program::lay_out(std::vector<Message>& messages) {
  const auto each = [&](auto&& visit) {
    for (std::uint32_t m = 0; m < modules_.size(); ++m) {
      for (const SymbolId id : modules_[m]->globals) visit(m, id);
      for (const ptx::Function& function : modules_[m]->functions)
        for (const SymbolId id : function.variables) visit(m, id);
    }
  };
  each([&](std::uint32_t m, SymbolId id) { place(m, id, messages); });
  each([&](std::uint32_t m, SymbolId id) { initialise(m, id, messages); });
}

}  // namespace ptx2spv::lower
