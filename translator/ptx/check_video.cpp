// Video instructions: operand counts and selectors.
#include "translator/ptx/checker.hpp"

namespace ptx2spv::ptx {

void Checker::check_video() {
  const bool two = text(inst_->op).ends_with('2');
  const bool four = text(inst_->op).ends_with('4');
  const bool simd = two || four;
  const bool vmad = inst_->op == Opcode::vmad;
  if (!count_is(simd || vmad || mods_->op != Mod::none ? 4 : 3, 4)) return;
  const unsigned count = inst_->operand_count;
  for (unsigned i = 0; i < count; ++i) {
    Operand operand = op(i);
    const unsigned digits = operand.selectors;
    if (digits != 0) {
      bool good = false;
      if (simd) {
        const Part part = two ? Part::halves : Part::bytes;
        const unsigned lanes = two ? 2 : 4;
        good = operand.part == part && (i == 0 ? digits <= lanes : digits == lanes) && i < 3;
      } else {
        const unsigned limit = operand.part == Part::bytes ? 3 : 1;
        good = digits == 1 && operand.selector <= limit && i < 3;
        if (i == 0 && (count == 3 || mods_->op != Mod::none || vmad)) good = false;
      }
      if (!good) {
        fail(operand, "this selector is not allowed here");
        return;
      }
    }
    operand.selectors = 0;
    operand.part = Part::none;
    if (operand.negated) {
      if (!vmad || i == 0) {
        fail(operand, "only sources of 'vmad' are negated");
        return;
      }
      operand.negated = false;
    }
    if (simd && i > 0 && operand.kind != OperandKind::reg) {
      fail(operand, name() + " wants a register here");
      return;
    }
    if (!(i == 0 ? dest(operand, Type::u32, false) : source(operand, Type::u32, false))) return;
  }
  const bool negates = vmad && op(1).negated != op(2).negated;
  if (vmad && (negates || op(3).negated) && mods_->has(Mod::po))
    fail(op(negates ? 1 : 3), "'vmad' with .po negates nothing");
  if (negates && op(3).negated) fail(op(3), "'vmad' negates the product or the addend, not both");
}

}  // namespace ptx2spv::ptx
