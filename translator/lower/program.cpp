#include "translator/lower/program.hpp"

#include <algorithm>
#include <unordered_set>

#include "translator/support/diagnostic.hpp"

namespace ptx2spv::lower {

using ptx::SymbolId;
using ptx::SymbolKind;

Message message_at(const ptx::Module& module, Severity severity, Span span, std::string text) {
  Diagnostic diagnostic;
  diagnostic.severity = severity;
  diagnostic.span = span;
  diagnostic.text = std::move(text);
  return to_message(diagnostic, module.source);
}

std::optional<HeapCall> heap_call(std::string_view name) {
  if (name == "malloc") return HeapCall::malloc;
  if (name == "free") return HeapCall::free;
  return std::nullopt;
}

bool is_runtime_function(std::string_view name) {
  return name == "vprintf" || name == "__assertfail" || name == "__assert_fail" || heap_call(name);
}

Program::Program(std::vector<std::unique_ptr<ptx::Module>> modules, std::vector<Message>& messages)
    : modules_(std::move(modules)) {
  link(messages);
  find_references();
  lay_out(messages);
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

std::uint32_t Program::function_number(FunctionRef ref) const {
  const auto it = numbers_.find(ref.key());
  return it == numbers_.end() ? 0 : it->second;
}

// Functions get a number for every address that is taken, by reachable code or not: a kernel may be
// handed what another one has stored. What is used and defined nowhere is noted.
void Program::find_references() {
  std::unordered_set<std::string_view> missing;
  const auto unresolved = [&](std::string_view name) {
    if (missing.insert(name).second) interface_.unresolved.emplace_back(name);
  };
  const auto add = [&](std::uint32_t m, SymbolId id, bool called = false) {
    if (id == ptx::kNoSymbol) return;
    const ptx::Symbol& symbol = modules_[m]->symbol(id);
    if (symbol.kind == SymbolKind::variable && symbol.function == ptx::kNoIndex) {
      const SymbolRef ref = resolve({m, id});
      const ptx::Variable& variable = modules_[ref.module]->variable(ref.symbol);
      const bool bound_later =
          variable.space == ptx::Space::shared || variable.bank || ptx::is_opaque(variable.type);
      if (variable.linkage == ptx::Linkage::extern_ && !bound_later) unresolved(symbol.name);
    }
    if (symbol.kind != SymbolKind::function) return;
    const FunctionRef ref = resolve_function(m, id);
    if (ref.found() && !function(ref).has_body && !is_runtime_function(symbol.name))
      unresolved(symbol.name);
    if (called) return;
    if (ref.found() &&
        numbers_.try_emplace(ref.key(), static_cast<std::uint32_t>(numbers_.size()) + 1).second)
      of_shape_[shape_of(*modules_[ref.module], function(ref))].push_back(ref);
  };
  for (std::uint32_t m = 0; m < modules_.size(); ++m) {
    const ptx::Module& module = *modules_[m];
    const auto initialiser = [&](SymbolId id) {
      if (ptx::is_opaque(module.symbol(id).type)) return;
      for (const ptx::InitAddress& address : module.variable(id).init.addresses)
        add(m, address.symbol);
    };
    for (const SymbolId id : module.globals) initialiser(id);
    for (const ptx::Function& function : module.functions) {
      for (const SymbolId id : function.variables) initialiser(id);
      for (const ptx::Instruction& inst : function.instructions) {
        const bool call = inst.op == ptx::Opcode::call;
        for (const ptx::Operand& operand : function.args(inst))
          if (operand.kind == ptx::OperandKind::address ||
              operand.kind == ptx::OperandKind::function ||
              (operand.kind == ptx::OperandKind::memory && operand.symbol != ptx::kNoSymbol))
            add(m, operand.symbol, call);
      }
    }
  }
}

std::size_t Program::instructions() const {
  std::size_t count = 0;
  for (const auto& module : modules_)
    for (const ptx::Function& function : module->functions) count += function.instructions.size();
  return count;
}

std::size_t Program::text_bytes() const {
  std::size_t bytes = 0;
  for (const auto& module : modules_) bytes += module->source.text().size();
  return bytes;
}

std::vector<FunctionRef> Program::entries() const {
  std::vector<FunctionRef> out;
  for (std::uint32_t m = 0; m < modules_.size(); ++m)
    for (std::uint32_t f = 0; f < modules_[m]->functions.size(); ++f)
      if (const ptx::Function& function = modules_[m]->functions[f];
          function.is_entry && function.has_body) {
        // A weak kernel of several modules, a template's say, is one kernel.
        const auto it = functions_.find(function.name);
        if (it == functions_.end() || it->second == FunctionRef{m, f}) out.push_back({m, f});
      }
  return out;
}

namespace {

/// Bytes from a variable's start that are not zero for sure.
std::uint64_t initial_bytes(const ptx::Variable& variable) {
  std::uint64_t bytes = variable.init.bytes.size();
  while (bytes && !variable.init.bytes[bytes - 1]) --bytes;
  for (const ptx::InitAddress& address : variable.init.addresses)
    bytes = std::max<std::uint64_t>(bytes, address.at + address.bytes);
  return bytes;
}

}  // namespace

void Program::place(std::uint32_t m, SymbolId id, bool initialised,
                    std::vector<Message>& messages) {
  const ptx::Module& module = *modules_[m];
  const ptx::Variable& variable = module.variable(id);
  const bool constant = variable.space == ptx::Space::const_;
  if (!constant && variable.space != ptx::Space::global) return;
  const std::uint64_t initial = initial_bytes(variable);
  if (initialised != (constant || ptx::is_opaque(variable.type) || initial > 0)) return;
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
    } else {
      StaticTexref ref;
      ref.name = module.symbol(id).name;
      ref.sampler = variable.type == ptx::Type::samplerref;
      const std::pair<std::string_view, std::int64_t*> members[] = {
          {"width", &ref.width},
          {"height", &ref.height},
          {"depth", &ref.depth},
          {"channel_data_type", &ref.channel_data_type},
          {"channel_order", &ref.channel_order},
          {"array_size", &ref.array_size},
          {"num_mipmap_levels", &ref.num_mipmap_levels},
          {"num_samples", &ref.num_samples},
          {"normalized_coords", &ref.normalized_coords},
          {"force_unnormalized_coords", &ref.force_unnormalized_coords},
          {"filter_mode", &ref.filter_mode},
          {"addr_mode_0", &ref.addr_mode[0]},
          {"addr_mode_1", &ref.addr_mode[1]},
          {"addr_mode_2", &ref.addr_mode[2]}};
      for (const ptx::OpaqueField& field : variable.init.fields)
        for (const auto& [name, place] : members)
          if (field.name == name) *place = static_cast<std::int64_t>(field.value);
      interface_.texrefs.push_back(std::move(ref));
    }
    return;
  }
  const SymbolRef self{m, id};
  if (!(resolve(self) == self)) return;
  if (variable.linkage == ptx::Linkage::extern_) {
    if (variable.bank) allocate_in_bank(self, variable);
    return;
  }
  std::vector<std::uint8_t>& image =
      constant ? interface_.constants_image : interface_.globals_image;
  std::uint64_t end = constant ? image.size() : interface_.globals_bytes;
  const std::uint64_t align = std::max<std::uint64_t>(variable.align, 4);
  const std::uint64_t offset = (end + align - 1) / align * align;
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 30;
  constexpr std::uint64_t kLargestImage = std::uint64_t{1} << 28;
  if (variable.size > kLargest || offset + variable.size > kLargest) {
    messages.push_back(message_at(module, Severity::error, variable.span,
                                  "the module's variables take more than 1 GiB"));
    return;
  }
  end = offset + (variable.size + 3) / 4 * 4;
  if (!constant) interface_.globals_bytes = end;
  if (constant || initial > 0) image.resize(constant ? end : offset + (initial + 3) / 4 * 4);
  if (image.size() > kLargestImage) {
    messages.push_back(message_at(module, Severity::error, variable.span,
                                  "the module's initialised variables take more than 256 MiB"));
    return;
  }
  const std::size_t copied = std::min<std::size_t>(variable.init.bytes.size(), initial);
  if (copied)
    std::copy_n(variable.init.bytes.begin(), copied,
                image.begin() + static_cast<std::ptrdiff_t>(offset));
  offsets_[self.key()] = offset;
  interface_.variables.push_back(
      {std::string(module.symbol(id).name), constant, offset, variable.size, variable.managed});
}

// Every array of a bank starts where the bank does. The host fills it by any of their names.
void Program::allocate_in_bank(SymbolRef self, const ptx::Variable& variable) {
  constexpr std::uint64_t kBankBytes = 65536;
  std::vector<std::uint8_t>& image = interface_.constants_image;
  const auto [it, fresh] = banks_.try_emplace(variable.bank, (image.size() + 15) / 16 * 16);
  if (fresh) image.resize(it->second + kBankBytes);
  offsets_[self.key()] = it->second;
  interface_.variables.push_back(
      {std::string(modules_[self.module]->symbol(self.symbol).name), true, it->second, kBankBytes});
}

void Program::initialise(std::uint32_t m, SymbolId id, std::vector<Message>& messages) {
  const ptx::Module& module = *modules_[m];
  const ptx::Variable& variable = module.variable(id);
  std::uint64_t offset = 0;
  const SymbolRef self{m, id};
  if (!(resolve(self) == self) || !offset_of(self, offset)) return;
  const bool in_constants = variable.space == ptx::Space::const_;
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
    } else if (offset_of({m, address.symbol}, target_offset)) {
      // The address in its own space: of a .const variable that is its offset, unless generic()
      // asks.
      const bool constant = target.space == ptx::Space::const_;
      relocation.addend = target_offset + static_cast<std::uint64_t>(address.addend);
      relocation.kind = constant ? Relocation::Kind::constant : Relocation::Kind::global;
      if (constant && !address.generic) {
        std::vector<std::uint8_t>& image =
            in_constants ? interface_.constants_image : interface_.globals_image;
        const std::uint64_t value = relocation.addend >> address.shift;
        for (unsigned i = 0; i < address.bytes && i < 8; ++i)
          image[relocation.at + i] = static_cast<std::uint8_t>(value >> (8 * i));
        continue;
      }
    } else {
      messages.push_back(
          message_at(module, Severity::error, address.span,
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
  // Initialised variables first: the others need no image.
  for (const bool initialised : {true, false})
    each([&](std::uint32_t m, SymbolId id) { place(m, id, initialised, messages); });
  each([&](std::uint32_t m, SymbolId id) { initialise(m, id, messages); });
}

}  // namespace ptx2spv::lower
