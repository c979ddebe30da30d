#include "translator/lower/function.hpp"

#include <algorithm>
#include <initializer_list>

#include "translator/ir/trap_state.hpp"
#include "translator/ptx/instruction_table.hpp"

namespace ptx2spv::lower {

using ptx::SymbolId;
using ptx::SymbolKind;

ir::Type ir_type(ptx::Type type) {
  if (type == ptx::Type::pred) return Type::i1;
  if (ptx::is_opaque(type)) return Type::i64;
  return ptx::bits(type) == 64 ? Type::i64 : Type::i32;
}

std::vector<ir::Type> variables_of(const ptx::Symbol& symbol) {
  if (symbol.type == ptx::Type::b128) return std::vector<Type>(2u * symbol.vec, Type::i64);
  return std::vector<Type>(symbol.vec, ir_type(symbol.type));
}

ir::Round round_of(Mod mod, ir::Round otherwise) {
  using enum ir::Round;
  switch (mod) {
    case Mod::rn: return rn;
    case Mod::rz: return rz;
    case Mod::rm: return rm;
    case Mod::rp: return rp;
    case Mod::rna: return rna;
    case Mod::rni: return rni;
    case Mod::rzi: return rzi;
    case Mod::rmi: return rmi;
    case Mod::rpi: return rpi;
    case Mod::approx: return approx;
    case Mod::full: return full;
    default: return otherwise;
  }
}

NumKind num_kind(ptx::Type type) {
  using enum ptx::Type;
  switch (type) {
    case u8:
    case b8: return NumKind::u8;
    case s8: return NumKind::s8;
    case u16:
    case b16: return NumKind::u16;
    case s16: return NumKind::s16;
    case u32:
    case b32:
    case u16x2:
    case s16x2:
    case u8x4:
    case s8x4:
    case f16x2:
    case bf16x2: return NumKind::u32;
    case s32: return NumKind::s32;
    case u64:
    case b64: return NumKind::u64;
    case s64: return NumKind::s64;
    case f16: return NumKind::f16;
    case bf16: return NumKind::bf16;
    case f32: return NumKind::f32;
    case f64: return NumKind::f64;
    case tf32: return NumKind::tf32;
    case e4m3: return NumKind::e4m3;
    case e5m2: return NumKind::e5m2;
    default: return NumKind::u32;
  }
}

FunctionLowering::FunctionLowering(EntryContext& context, std::uint32_t number)
    : context_(context),
      number_(number),
      ref_(context.functions[number]),
      m_(context.program.module(ref_.module)),
      f_(context.program.function(ref_)),
      ir_(context.out.module),
      out_(ir_.functions[number]),
      b_(out_),
      arith_(b_, ir_),
      memory_(b_, context.generic_windows()) {}

std::uint32_t FunctionLowering::new_var(Type type, std::string name) {
  out_.vars.push_back({type, std::move(name)});
  return static_cast<std::uint32_t>(out_.vars.size() - 1);
}

void FunctionLowering::error(Span span, std::string text) {
  context_.out.ok = false;
  context_.out.messages.push_back(message_at(m_, Severity::error, span, std::move(text)));
}

void FunctionLowering::refuse(const Instruction& inst, std::string_view reason) {
  std::string text = "'" + opcode_text(inst) + "' is not supported";
  if (!reason.empty()) text += std::string(": ") + std::string(reason);
  error(inst.opcode_span, std::move(text));
}

std::uint32_t FunctionLowering::add_site(const std::string& message) {
  TrapSite site;
  site.line = out_.locs[b_.loc()].line;
  site.column = out_.locs[b_.loc()].column;
  set_source(site, m_, current_->loc);
  site.message = message;
  site.text = m_.text(current_->span);
  site.function = f_.name;
  context_.out.info.trap_sites.push_back(std::move(site));
  context_.out.info.trap_site_locs.push_back(0);
  return static_cast<std::uint32_t>(context_.out.info.trap_sites.size() - 1);
}

void FunctionLowering::declare_registers() {
  reg_var_.resize(f_.registers.size());
  for (std::size_t i = 0; i < f_.registers.size(); ++i) {
    const ptx::Symbol& symbol = m_.symbol(f_.registers[i]);
    reg_var_[i] = static_cast<std::uint32_t>(out_.vars.size());
    for (const Type type : variables_of(symbol))
      out_.vars.push_back({type, std::string(symbol.name)});
  }
}

/// A parameter whose address is taken, or that is reached through a register, lives in local
/// memory.
void FunctionLowering::find_addressed_params() {
  for (const Instruction& inst : f_.instructions) {
    if (inst.op == Opcode::call) continue;
    for (const Operand& operand : args(inst)) {
      const bool named = operand.kind == OperandKind::address && operand.symbol != ptx::kNoSymbol;
      if (!named) continue;
      const ptx::Symbol& symbol = m_.symbol(operand.symbol);
      if (symbol.space == ptx::Space::param) addressed_[operand.symbol] = true;
    }
  }
}

bool FunctionLowering::params_fit() {
  std::uint64_t sum = 0;
  const auto fit = [&](SymbolId id) {
    const ptx::Symbol& symbol = m_.symbol(id);
    if (symbol.kind != SymbolKind::reg && symbol.space == ptx::Space::param)
      sum += m_.variable(id).size;
    if (sum <= kParamBytes) return true;
    error(symbol.span, fmt::format("the .param variables of '{}' have more than {} bytes", f_.name,
                                   kParamBytes));
    return false;
  };
  if (!f_.is_entry &&
      !(std::ranges::all_of(f_.params, fit) && std::ranges::all_of(f_.returns, fit)))
    return false;
  return std::ranges::all_of(f_.variables, fit);
}

void FunctionLowering::declare_params() {
  const auto words = [&](SymbolId id, std::vector<std::uint32_t>* list) {
    const ptx::Symbol& symbol = m_.symbol(id);
    if (symbol.kind == SymbolKind::reg) {
      const auto parts = static_cast<std::uint32_t>(variables_of(symbol).size());
      for (std::uint32_t i = 0; list && i < parts; ++i) list->push_back(reg_var_[symbol.index] + i);
      return;
    }
    const std::uint64_t bytes = std::max<std::uint64_t>(m_.variable(id).size, 4);
    const auto count = static_cast<std::uint32_t>((bytes + 3) / 4);
    param_words_[id] = static_cast<std::uint32_t>(out_.vars.size());
    for (std::uint32_t i = 0; i < count; ++i) {
      if (list) list->push_back(static_cast<std::uint32_t>(out_.vars.size()));
      out_.vars.push_back({Type::i32, std::string(symbol.name)});
    }
  };
  if (!f_.is_entry) {
    for (const SymbolId id : f_.params) words(id, &out_.param_vars);
    for (const SymbolId id : f_.returns) words(id, &out_.result_vars);
  }
  for (const SymbolId id : f_.variables)
    if (m_.symbol(id).space == ptx::Space::param) words(id, nullptr);
}

void FunctionLowering::start_blocks() {
  out_.blocks.emplace_back();
  b_.at(0);
  for (const ptx::Statement& statement : f_.statements)
    if (statement.kind == ptx::StatementKind::label) label_block_[statement.index] = b_.new_block();
}

void FunctionLowering::run() {
  out_.name = f_.name;
  if (!params_fit()) return;
  declare_registers();
  find_addressed_params();
  declare_params();
  start_blocks();
  if (context_.stack) {
    stack_pointer_ = ir::stack_pointer(out_);
    if (f_.is_entry)
      set_stack_pointer(b_.i32(context_.stack_at));
    else
      b_.set(stack_saved_ = new_var(Type::i32, "stack"), stack_pointer());
  }
  if (context_.is_recursive(number_)) enter_frame();
  if (!f_.is_entry)
    for (const auto& [id, taken] : addressed_) {
      // Copies of addressed parameters, where addresses reach them.
      const auto it = param_words_.find(id);
      if (it == param_words_.end()) continue;
      const auto count = static_cast<std::uint32_t>((m_.variable(id).size + 3) / 4);
      for (std::uint32_t i = 0; i < count; ++i)
        b_.store(local_address(id, 4 * i), b_.get(it->second + i),
                 {.space = ir::Space::local, .bytes = 4});
    }
  for (const ptx::Statement& each : f_.statements) statement(each);
  if (!ended_) leave();
  for (ir::Block& block : out_.blocks)
    if (block.term == ir::Term::none) block.term = ir::Term::unreachable;
}

void FunctionLowering::statement(const ptx::Statement& statement) {
  if (statement.kind == ptx::StatementKind::label) {
    const BlockId block = label_block_[statement.index];
    if (!ended_) b_.br(block);
    b_.at(block);
    ended_ = false;
    ++context_.ptx_block;
    return;
  }
  if (ended_) {
    // Code after a jump that no label leads to.
    b_.at(b_.new_block());
    ended_ = false;
  }
  instruction(f_.instructions[statement.index]);
}

/// Whether ptxas has made blocks of it before it fuses products and sums: of jumps and fences, of
/// what is guarded and has an effect, and of divisions and roots that are routines there.
bool FunctionLowering::ends_block(const Instruction& inst) {
  using enum Opcode;
  if (inst.pred != ptx::kNoSymbol && (ptx::has_effect(inst.op) || inst.mods->cc)) return true;
  const ptx::Type type = inst.mods->type();
  switch (inst.op) {
    case bra:
    case brx:
    case call:
    case ret:
    case exit:
    case membar:
    case fence:
    case brkpt:
    case pmevent: return true;
    case div:
    case rem:
    case rcp:
    case sqrt:
      return ptx::is_float(type)
                 ? inst.mods->rounding != Mod::approx && inst.mods->rounding != Mod::full
                 : type != ptx::Type::u32;
    case rsqrt: return type == ptx::Type::f64 && !inst.mods->ftz;
    default: return false;
  }
}

void FunctionLowering::locate(const Instruction& inst) {
  current_ = &inst;
  const LineColumn at = m_.source.position(inst.span.begin);
  ir::Loc loc;
  loc.line = at.line;
  loc.column = at.column;
  loc.module = ref_.module;
  loc.begin = inst.span.begin;
  loc.length = inst.span.length;
  loc.block = context_.ptx_block;
  if (inst.loc) {
    loc.source_file = m_.locs[inst.loc].file;
    loc.source_line = m_.locs[inst.loc].line;
    loc.source_loc = inst.loc;
  }
  out_.locs.push_back(loc);
  b_.set_loc(static_cast<std::uint32_t>(out_.locs.size() - 1));
}

void FunctionLowering::instruction(const Instruction& inst) {
  locate(inst);
  if (ends_block(inst)) ++context_.ptx_block;
  guard_ = 0;
  if (inst.pred == ptx::kNoSymbol) return dispatch(inst);
  Value guard = b_.get(reg_var_[m_.symbol(inst.pred).index]);
  if (inst.pred_negated) guard = b_.inst(Op::xor_, Type::i1, {guard, b_.i1(true)});
  if (!ptx::has_effect(inst.op) && !inst.mods->cc) {
    guard_ = guard;
    dispatch(inst);
    guard_ = 0;
    return;
  }
  const BlockId then = b_.new_block();
  if (inst.op == Opcode::bra) {
    const Operand& target = args(inst)[0];
    b_.cond_br(guard, label_block_[target.symbol], then);
    b_.at(then);
    return;
  }
  const BlockId join = b_.new_block();
  b_.cond_br(guard, then, join);
  b_.at(then);
  dispatch(inst);
  if (!ended_) b_.br(join);
  b_.at(join);
  ended_ = false;
}

FunctionLowering::Lower FunctionLowering::lowering_of(Opcode op) {
  static constexpr Lower kTable[] = {
      &FunctionLowering::lower_refused,
#define OP(name, text, section, kind, lowering) &FunctionLowering::lower_##lowering,
#include "translator/ptx/instructions.def"
  };
  return kTable[static_cast<std::size_t>(op)];
}

void FunctionLowering::dispatch(const Instruction& inst) {
  using enum Opcode;
  if (const ptx::FormInfo& form = ptx::form_info(inst.form); form.refused) {
    // Its operands were not parsed. Fences of proxies are fences, the others are hints.
    if (inst.op != fence && inst.op != membar && inst.op != prefetch && inst.op != createpolicy)
      return refuse(inst, form.reason);
  }
  (this->*lowering_of(inst.op))(inst);
}

/// What integers and floats have both.
void FunctionLowering::lower_arithmetic(const Instruction& inst) {
  const ptx::Type type = inst.mods->type();
  if (inst.mods->cc) return lower_carry(inst);
  if (type_class(type) == ptx::TypeClass::floating || type == ptx::Type::f16x2 ||
      type == ptx::Type::bf16x2 || type == ptx::Type::f32x2)
    return lower_float(inst);
  lower_integer(inst);
}

void FunctionLowering::lower_trap_instruction(const Instruction&) {
  lower_trap(abi::TrapKind::trap_instruction, {}, {});
}

void FunctionLowering::lower_trap(abi::TrapKind kind, const std::string& message,
                                  std::initializer_list<Value> coordinates) {
  const std::uint32_t site = add_site(message);
  b_.inst(Op::thread_trap, Type::none, std::span(coordinates.begin(), coordinates.size()),
          ir::trap_code(site, kind));
  out_.blocks[b_.block()].term = ir::Term::unreachable;
  ended_ = true;
}

}  // namespace ptx2spv::lower
