// The checks that go by the instruction table, and the way to each family's own.
#include <fmt/format.h>

#include "translator/ptx/checker.hpp"
#include "translator/ptx/parser_impl.hpp"

namespace ptx2spv::ptx {

void check_function(const Module& module, Function& function, const ParseOptions& options,
                    DiagnosticSink& sink) {
  Checker(module, function, options, sink).run();
}

void Checker::run() {
  for (const Instruction& inst : f_.instructions) {
    if (sink_.full()) return;
    inst_ = &inst;
    mods_ = inst.mods;
    form_ = &form_info(inst.form);
    if (form_->refused) continue;
    if (!check_versions()) continue;
    if (!count_is(form_->min_operands, form_->max_operands)) continue;
    if (!check_cache_policy()) continue;
    check_modifiers();
    switch (inst.op) {
      case Opcode::mov: check_mov(); break;
      case Opcode::cvta: check_cvta(); break;
      case Opcode::suld:
      case Opcode::sust:
      case Opcode::sured: check_surface(); break;
      case Opcode::suq: check_suq(); break;
      case Opcode::tex:
      case Opcode::tld4: check_texture(); break;
      case Opcode::txq: check_txq(); break;
      case Opcode::istypep: check_istypep(); break;
      case Opcode::bar:
      case Opcode::barrier: check_barrier(); break;
      case Opcode::shfl:
      case Opcode::match:
      case Opcode::elect:
      case Opcode::vote:
      case Opcode::lop3: check_warp(); break;
      case Opcode::cp: check_async_copy(); break;
      case Opcode::mbarrier: check_mbarrier(); break;
      case Opcode::call: check_call(); break;
      case Opcode::wmma:
      case Opcode::mma:
      case Opcode::ldmatrix:
      case Opcode::stmatrix: check_matrix(); break;
      default:
        if (inst.op >= Opcode::vadd && inst.op <= Opcode::vset4) {
          check_video();
        } else {
          check_generic();
        }
        break;
    }
  }
  check_handles();
}

bool Checker::needs(unsigned version, unsigned target, std::string_view what) {
  if (options_.relax_versions) return true;
  std::string older = m_.older_than(version, target, what);
  if (older.empty()) return true;
  sink_.error(inst_->opcode_span, std::move(older));
  return false;
}

Type Checker::rule_type(const OperandRule& rule) const {
  if (rule.type != Type::none) return rule.type;
  if (rule.address) return m_.address_size == 64 ? Type::b64 : Type::b32;
  const Type type = mods_->types[rule.type_index];
  if (!rule.doubled) return type;
  switch (type) {
    case Type::u16: return Type::u32;
    case Type::s16: return Type::s32;
    case Type::u32: return Type::u64;
    default: return Type::s64;
  }
}

bool Checker::check_rule(const OperandRule& rule, unsigned index) {
  const Operand& operand = op(index);
  const Type type = rule_type(rule);
  // Integers of the instruction's type may be packed halves, counts and masks not.
  if (rule.type == Type::u32 && operand.kind == OperandKind::reg &&
      type_of(operand).type == Type::f16x2)
    return mismatch(operand, type, "register");
  switch (rule.role) {
    case OperandRole::any: return true;
    case OperandRole::dest:
      return dest(operand, type, false, inst_->op == Opcode::atom || inst_->op == Opcode::mbarrier);
    case OperandRole::source: return source(operand, type, false);
    case OperandRole::source_reg:
      return rule.address ? (operand.kind == OperandKind::reg ? address_register(operand)
                                                              : source_register(operand, type))
                          : source_register(operand, type);
    case OperandRole::constant:
      return operand.kind == OperandKind::imm_int ||
             fail(operand, name() + " wants an integer constant here, not " + describe(operand));
    case OperandRole::dest_pred: return dest_pred(operand, false);
    case OperandRole::dest_pred_pair: return dest_pred(operand, true);
    case OperandRole::source_pred: return source_pred(operand);
    case OperandRole::memory: return memory(operand);
    case OperandRole::dest_vector:
    case OperandRole::source_vector: {
      const bool narrow = mods_->vec > 1 && (inst_->op == Opcode::atom || inst_->op == Opcode::red);
      return vector(operand, mods_->vec, type, rule.role == OperandRole::dest_vector, !narrow);
    }
    case OperandRole::dest_wide: return dest(operand, type, true);
    // cvt reads special registers where it does not round.
    case OperandRole::source_wide: return source(operand, type, true, mods_->rounding == Mod::none);
    case OperandRole::label: return true;
  }
  return true;
}

bool Checker::check_value(const OperandRule& rule, const Operand& operand) {
  const auto value = static_cast<std::int64_t>(operand.value);
  if (operand.kind != OperandKind::imm_int || rule.most < rule.least ||
      (value >= rule.least && value <= rule.most && value % rule.step == 0))
    return true;
  if (rule.least == rule.most) return fail(operand, fmt::format("this constant is {}", rule.most));
  return fail(operand,
              fmt::format("this constant is {} to {}{}", rule.least, rule.most,
                          rule.step == 1 ? "" : fmt::format(" in steps of {}", rule.step)));
}

void Checker::check_generic() {
  for (unsigned i = 0; i < inst_->operand_count && i < form_->operands.size(); ++i) {
    if (!check_rule(form_->operands[i], i) || !check_value(form_->operands[i], op(i))) return;
  }
}

}  // namespace ptx2spv::ptx
