#include "translator/lower/lower.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "ptx2spv/limits.hpp"
#include "translator/lower/call_shape.hpp"
#include "translator/lower/function.hpp"

namespace ptx2spv::lower {

using ptx::SymbolId;
using ptx::SymbolKind;

namespace {

std::uint32_t align_up(std::uint32_t value, std::uint32_t align) {
  return (value + align - 1) / align * align;
}

/// Walks everything that an entry can reach and gives it its place.
class Layout {
 public:
  explicit Layout(EntryContext& context) : c_(context) {}

  void run(FunctionRef entry) {
    params(entry);
    add(entry);
    if (!c_.recursive.empty()) {
      c_.stack_bytes = ir::kRecursionBytes;
      reserve_stack(ir::kMostKeptBytes);
    }
    // What the indirect calls may reach: functions whose address is taken anywhere and that have a
    // shape which is called for. Their own calls may ask for further shapes.
    for (; scanned_ < c_.functions.size(); ++scanned_) scan(c_.functions[scanned_]);
    if (c_.uses_reserved_shared) {
      c_.reserved_shared = align_up(c_.shared_bytes, 16);
      c_.shared_bytes = c_.reserved_shared + kReservedShared;
      c_.out.info.sanitizer.objects.push_back(
          {"%reserved_smem", MemorySpace::shared, c_.reserved_shared, kReservedShared});
    }
    c_.dynamic_shared_offset = align_up(c_.shared_bytes, 16);
    if (dynamic_shared_) c_.shared_bytes = c_.dynamic_shared_offset;
  }

  std::array<bool, 2> heap_called{};  ///< by HeapCall

 private:
  void add(FunctionRef ref) {
    const std::uint64_t key = std::uint64_t{ref.module} << 32 | ref.function;
    if (c_.function_of.try_emplace(key, static_cast<std::uint32_t>(c_.functions.size())).second)
      c_.functions.push_back(ref);
  }
  void take(FunctionRef ref) {
    if (!ref.found() || !c_.program.function(ref).has_body || c_.program.function(ref).is_entry)
      return;
    if (!taken_.insert(ref.key()).second) return;
    c_.address_taken[shape_of(c_.program.module(ref.module), c_.program.function(ref))].push_back(
        ref);
    add(ref);
  }

  void params(FunctionRef entry) {
    const ptx::Module& module = c_.program.module(entry.module);
    const ptx::Function& function = c_.program.function(entry);
    EntryInfo& info = c_.out.info;
    // What ptxas takes of a kernel.
    constexpr std::uint64_t kMostBytes = 32764;
    std::uint32_t offset = 0;
    for (const SymbolId id : function.params) {
      const ptx::Symbol& symbol = module.symbol(id);
      const ptx::Variable& variable = module.variable(id);
      ParamInfo param;
      param.name = symbol.name;
      param.type = ptx::text(variable.type);
      const bool opaque = ptx::is_opaque(variable.type);
      param.align = opaque ? 8 : std::max<std::uint32_t>(variable.align, 1);
      param.bytes = opaque ? 8 : static_cast<std::uint32_t>(variable.size);
      if (variable.type == ptx::Type::surfref)
        param.kind = ParamKind::surfref;
      else if (variable.type == ptx::Type::texref)
        param.kind = ParamKind::texref;
      else if (variable.type == ptx::Type::samplerref)
        param.kind = ParamKind::samplerref;
      else if (variable.is_array)
        param.kind = ParamKind::bytes;
      offset = align_up(offset, param.align);
      if (!opaque && variable.size > kMostBytes - std::min<std::uint64_t>(offset, kMostBytes)) {
        c_.out.ok = false;
        c_.out.messages.push_back(
            message_at(module, Severity::error, symbol.span,
                       fmt::format("the parameters of '{}' have more than {} bytes", function.name,
                                   kMostBytes)));
        return;
      }
      param.offset = offset;
      c_.ref_offset[SymbolRef{entry.module, id}.key()] = offset;
      offset += param.bytes;
      info.params.push_back(std::move(param));
    }
    info.param_bytes = offset;
    info.param_buffer_bytes = align_up(offset, 8);
  }

  /// Where the variable lies behind those of `total` bytes. Nothing where that is beyond `most`.
  std::optional<std::uint32_t> place(std::uint32_t& total, const ptx::Variable& variable,
                                     std::uint32_t most) {
    const std::uint32_t at = align_up(total, std::max<std::uint32_t>(variable.align, 4));
    if (at > most || variable.size > most - at) return std::nullopt;
    total = at + static_cast<std::uint32_t>((variable.size + 3) / 4 * 4);
    return at;
  }

  /// Once for an entry, not for every variable that follows.
  void too_large(const ptx::Module& module, Span span, const std::string& text) {
    c_.out.ok = false;
    if (!std::exchange(said_too_large_, true))
      c_.out.messages.push_back(message_at(module, Severity::error, span, text));
  }

  void shared_variable(std::uint32_t m, SymbolId id, const ptx::Function& function, Span span) {
    const SymbolRef definition = c_.program.resolve(SymbolRef{m, id});
    const ptx::Variable& defined = c_.program.module(definition.module).variable(definition.symbol);
    if (defined.unsized || defined.linkage == ptx::Linkage::extern_) {
      dynamic_shared_ = true;
      c_.out.info.dynamic_shared = true;
      return;
    }
    if (c_.shared_offset.contains(definition.key())) return;
    const auto at = place(c_.shared_bytes, defined, limits::kShared);
    if (!at)
      too_large(c_.program.module(m), span,
                fmt::format("with '{}', '{}' has more than the {} bytes of .shared variables that "
                            "any device has for a block",
                            c_.program.module(m).symbol(id).name, function.name, limits::kShared));
    c_.shared_offset[definition.key()] = at.value_or(0);
  }

  void symbol(std::uint32_t m, SymbolId id, const ptx::Function& function, Span span) {
    const ptx::Module& module = c_.program.module(m);
    const ptx::Symbol& symbol = module.symbol(id);
    const SymbolRef ref{m, id};
    if (symbol.kind != SymbolKind::variable && symbol.kind != SymbolKind::param) return;
    if (ptx::is_opaque(symbol.type)) {
      if (symbol.space == ptx::Space::param) return;
      const SymbolRef definition = c_.program.resolve(ref);
      if (c_.ref_offset.contains(definition.key())) return;
      EntryInfo& info = c_.out.info;
      const std::uint32_t at = info.param_buffer_bytes;
      info.param_buffer_bytes += 8;
      c_.ref_offset[definition.key()] = at;
      const RefInfo named{std::string(symbol.name), at};
      if (symbol.type == ptx::Type::surfref)
        info.surfrefs.push_back(named);
      else if (symbol.type == ptx::Type::texref)
        info.texrefs.push_back(named);
      else
        info.samplerrefs.push_back(named);
      return;
    }
    const ptx::Variable& variable = module.variable(id);
    if (symbol.space == ptx::Space::shared) {
      shared_variable(m, id, function, span);
    } else if (symbol.space == ptx::Space::local ||
               (symbol.space == ptx::Space::param && !c_.ref_offset.contains(ref.key()))) {
      if (!c_.local_offset.contains(ref.key())) {
        const bool framed = c_.is_recursive(number_of_scanned()) && own(function, id);
        const auto at =
            place(framed ? c_.frame_bytes[scanned_] : c_.local_bytes, variable, 1u << 30);
        if (!at)
          too_large(module, span,
                    "'" + std::string(function.name) + "' has more than 1 GiB of variables");
        c_.local_offset[ref.key()] = at.value_or(0);
        if (framed) c_.in_frame.insert(ref.key());
      }
    }
  }

  std::uint32_t number_of_scanned() const { return static_cast<std::uint32_t>(scanned_); }
  static bool own(const ptx::Function& function, SymbolId id) {
    for (const auto* list : {&function.variables, &function.params, &function.returns})
      if (std::find(list->begin(), list->end(), id) != list->end()) return true;
    return false;
  }
  void reserve_stack(std::uint32_t more) {
    c_.stack = true;
    c_.stack_at = (c_.local_bytes + 15) & ~15u;
    c_.local_bytes = c_.stack_at + c_.stack_bytes + more;
  }

  void scan(FunctionRef ref) {
    const ptx::Function& function = c_.program.function(ref);
    const ptx::Module& module = c_.program.module(ref.module);
    for (const ptx::Instruction& inst : function.instructions) {
      if (!c_.stack && (inst.op == ptx::Opcode::alloca || inst.op == ptx::Opcode::stacksave)) {
        reserve_stack(0);
      }
      if (inst.op == ptx::Opcode::cvta && !inst.mods->has(Mod::to) &&
          (inst.mods->space == ptx::Space::shared || inst.mods->space == ptx::Space::local ||
           (inst.mods->space == ptx::Space::param && !function.is_entry)))
        c_.windows = true;
      const auto args = function.args(inst);
      if (inst.op == ptx::Opcode::call) {
        const ptx::Operand& callee = args[ptx::kCallCallee];
        if (callee.kind == OperandKind::reg) {
          indirect_call(ref, module, function, inst);
        } else {
          const FunctionRef target = c_.program.resolve_function(ref.module, callee.symbol);
          const bool defined = target.found() && c_.program.function(target).has_body;
          if (defined) add(target);
          const auto heap = heap_call(module.symbol(callee.symbol).name);
          if (!defined && heap) heap_called[static_cast<unsigned>(*heap)] = true;
        }
        for (const unsigned list : {ptx::kCallReturns, ptx::kCallArguments})
          if (args[list].kind == OperandKind::list)
            for (const ptx::Operand& operand : function.list(args[list]))
              if (operand.kind == OperandKind::address &&
                  module.symbol(operand.symbol).kind != SymbolKind::param &&
                  module.symbol(operand.symbol).space != ptx::Space::param)
                symbol(ref.module, operand.symbol, function, operand.span);
        continue;
      }
      for (const ptx::Operand& operand : args) each(ref, function, operand);
    }
    // Parameters in words need no memory, but the map must know those that are addressed.
    // What a body declares is its own, used or not, as ptxas has it.
    for (const SymbolId id : function.variables)
      if (module.symbol(id).space == ptx::Space::local ||
          (module.symbol(id).space == ptx::Space::shared && !module.variable(id).unsized))
        symbol(ref.module, id, function, module.symbol(id).span);
  }

  void indirect_call(FunctionRef ref, const ptx::Module& module, const ptx::Function& function,
                     const ptx::Instruction& inst) {
    if (const ptx::TargetList* list = targets_of(module, function, inst)) {
      if (!lists_.insert(list).second) return;
      for (const SymbolId id : list->targets) take(c_.program.resolve_function(ref.module, id));
    } else if (const ptx::Prototype* prototype = prototype_of(module, function, inst)) {
      const CallShape shape = shape_of(*prototype);
      if (!shapes_.insert(shape).second) return;
      for (const FunctionRef& each : c_.program.numbered_functions(shape)) take(each);
    }
  }

  void each(FunctionRef ref, const ptx::Function& function, const ptx::Operand& operand) {
    switch (operand.kind) {
      case OperandKind::address:
      case OperandKind::function:
      case OperandKind::memory:
        if (operand.symbol != ptx::kNoSymbol) {
          const ptx::Symbol& s = c_.program.module(ref.module).symbol(operand.symbol);
          if (s.kind != SymbolKind::reg) symbol(ref.module, operand.symbol, function, operand.span);
        }
        break;
      case OperandKind::vector:
      case OperandKind::list:
      case OperandKind::surface:
      case OperandKind::pair:
        for (const ptx::Operand& inner : function.list(operand)) each(ref, function, inner);
        break;
      case OperandKind::special:
        switch (operand.special) {
          case ptx::SpecialReg::reserved_smem_offset_begin:
          case ptx::SpecialReg::reserved_smem_offset_end:
          case ptx::SpecialReg::reserved_smem_offset_cap:
          case ptx::SpecialReg::reserved_smem_offset_0:
          case ptx::SpecialReg::reserved_smem_offset_1: c_.uses_reserved_shared = true; break;
          default: break;
        }
        break;
      default: break;
    }
  }

  EntryContext& c_;
  std::size_t scanned_ = 0;
  std::set<CallShape> shapes_;                        ///< that indirect calls ask for
  std::unordered_set<const ptx::TargetList*> lists_;  ///< that they name
  std::unordered_set<std::uint64_t> taken_;           ///< keys of context's address_taken
  bool dynamic_shared_ = false, said_too_large_ = false;
};

}  // namespace

void set_source(TrapSite& site, const ptx::Module& module, std::uint32_t loc) {
  const auto name = [&module](std::uint32_t number) { return std::string(module.file(number)); };
  if (!loc || loc >= module.locs.size()) return;
  site.source_file = name(module.locs[loc].file);
  site.source_line = module.locs[loc].line;
  // A chain only ever leads to earlier entries. Chains of hostile files overlap, so that all of
  // them would be longer than the text.
  constexpr std::size_t kMostInlined = 64;
  while (loc && module.locs[loc].inlined && site.inlined_at.size() < kMostInlined) {
    const ptx::SourceLoc& at = module.locs[loc];
    site.inlined_at.push_back({name(at.inlined_file), at.inlined_line});
    loc = at.caller < loc ? at.caller : 0;
  }
}

LoweredEntry lower_entry(Program& program, FunctionRef entry, const std::vector<bool>& recursive) {
  LoweredEntry out;
  const ptx::Function& function = program.function(entry);
  out.info.name = function.name;
  for (int i = 0; i < 3; ++i) {
    out.info.reqntid[i] = function.reqntid[i];
    out.info.maxntid[i] = function.maxntid[i];
  }
  out.info.trap_sites.emplace_back();  // site 0 is none
  out.info.trap_site_locs.push_back(0);
  EntryContext context{.program = program, .out = out};
  context.recursive = recursive;
  context.frame_bytes.resize(recursive.size());
  // An instruction of SPIR-V has 65,535 words, and an entry point has its name in one.
  constexpr std::size_t kLongestName = 65536;
  if (function.name.size() > kLongestName) {
    out.ok = false;
    out.messages.push_back(
        message_at(program.module(entry.module), Severity::error, function.span,
                   fmt::format("a kernel's name has {} characters at most", kLongestName)));
    return out;
  }
  Layout layout(context);
  layout.run(entry);
  out.module.functions.resize(context.functions.size());
  for (const HeapCall which : {HeapCall::malloc, HeapCall::free}) {
    if (!layout.heap_called[static_cast<unsigned>(which)]) continue;
    context.heap_function[static_cast<unsigned>(which)] =
        static_cast<std::uint32_t>(out.module.functions.size());
    lower_heap_function(which, out.module.functions.emplace_back());
  }
  for (std::uint32_t i = 0; i < context.functions.size(); ++i) FunctionLowering(context, i).run();
  for (ir::Function& lowered : out.module.functions) {
    lowered.local_bytes = context.local_bytes;
    lowered.shared_bytes = context.shared_bytes;
    lowered.uses_dynamic_shared = out.info.dynamic_shared;
  }
  // 16 bytes for the stores of trapped threads, where they fit.
  ir::Function& root = out.module.functions[0];
  if (root.shared_bytes > 0 && !out.info.dynamic_shared &&
      root.shared_bytes + 16 <= limits::kSharedUnasked) {
    root.shared_discard = align_up(root.shared_bytes, 16);
    root.shared_bytes = root.shared_discard + 16;
  }
  out.info.shared_bytes = root.shared_bytes;
  out.info.local_bytes = root.local_bytes;
  return out;
}

}  // namespace ptx2spv::lower
