// Barriers and instructions over the threads of a warp.
#include "translator/ptx/checker.hpp"

namespace ptx2spv::ptx {

void Checker::check_barrier() {
  unsigned first = 0;
  const unsigned count = inst_->operand_count;
  const bool reduces = mods_->has(Mod::red);
  if (!reduces && mods_->has(Mod::warp)) {
    check_generic();
    return;
  }
  unsigned last = count;
  if (reduces) {
    if (!count_is(3, 4)) return;
    if (!(mods_->op == Mod::popc ? dest(op(0), Type::u32, false) : dest_pred(op(0), false))) return;
    if (!source_pred(op(count - 1))) return;
    first = 1;
    last = count - 1;
  }
  for (unsigned i = first; i < last; ++i) {
    const Operand& operand = op(i);
    if (!source(operand, Type::b32, false)) return;
    if (operand.kind != OperandKind::imm_int) continue;
    if (i == first && operand.value > 15) {
      fail(operand, "a barrier's number is 0 to 15");
      return;
    }
    if (i > first && operand.value % 32 != 0) {
      fail(operand, "the number of threads at a barrier is a multiple of the warp's size, 32");
      return;
    }
  }
}

void Checker::check_warp() {
  const Type type = mods_->type();
  switch (inst_->op) {
    case Opcode::shfl:
      if (!dest_with_pred(op(0), type, false)) return;
      break;
    case Opcode::match:
      if (!dest_with_pred(op(0), Type::b32, true)) return;
      break;
    case Opcode::elect:
      if (!dest_with_pred(op(0), Type::b32, true)) return;
      break;
    case Opcode::lop3:
      if (!dest_with_pred(op(0), Type::b32, mods_->op != Mod::none)) return;
      break;
    default: break;
  }
  check_generic();
}

}  // namespace ptx2spv::ptx
