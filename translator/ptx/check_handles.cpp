// Loads and stores through a register that only ever holds the handle of a surface or texture. A
// handle is no address: on a device such an access would read whatever stands at the low addresses.
#include <vector>

#include "translator/ptx/checker.hpp"

namespace ptx2spv::ptx {

void Checker::check_handles() {
  // By register: the opaque name that its one definition takes, or none.
  std::vector<SymbolId> holds(f_.registers.size(), kNoSymbol);
  std::vector<std::uint8_t> written(f_.registers.size(), 0);
  bool any = false;
  const auto define = [&](const Operand& operand, SymbolId handle) {
    if (operand.kind != OperandKind::reg || m_.symbol(operand.symbol).kind != SymbolKind::reg)
      return;
    const std::uint32_t index = m_.symbol(operand.symbol).index;
    if (index >= holds.size()) return;
    holds[index] = written[index]++ == 0 ? handle : kNoSymbol;
    if (written[index] > 2) written[index] = 2;
    any = any || handle != kNoSymbol;
  };
  for (const Instruction& inst : f_.instructions) {
    if (form_info(inst.form).refused || inst.operand_count == 0) continue;
    const auto args = f_.args(inst);
    const Operand& first = args[0];
    if (first.kind == OperandKind::vector || first.kind == OperandKind::pair ||
        first.kind == OperandKind::list) {
      for (const Operand& item : f_.list(first)) define(item, kNoSymbol);
      continue;
    }
    const bool takes =
        inst.op == Opcode::mov && inst.operand_count == 2 && args[1].kind == OperandKind::address &&
        is_opaque(m_.symbol(args[1].symbol).type) && !m_.variable(args[1].symbol).is_array;
    define(first, takes ? args[1].symbol : kNoSymbol);
  }
  if (!any) return;
  for (const Instruction& inst : f_.instructions) {
    const bool accesses = inst.op == Opcode::ld || inst.op == Opcode::ldu ||
                          inst.op == Opcode::st || inst.op == Opcode::atom ||
                          inst.op == Opcode::red;
    if (!accesses || form_info(inst.form).refused) continue;
    inst_ = &inst;
    for (const Operand& operand : f_.args(inst)) {
      if (operand.kind != OperandKind::memory || operand.symbol == kNoSymbol) continue;
      const Symbol& s = m_.symbol(operand.symbol);
      if (s.kind != SymbolKind::reg || s.index >= holds.size() || holds[s.index] == kNoSymbol)
        continue;
      const Symbol& opaque = m_.symbol(holds[s.index]);
      Diagnostic& d = sink_.error(
          operand.span, "'" + std::string(s.name) + "' holds the handle of ." +
                            std::string(text(opaque.type)) + " '" + std::string(opaque.name) +
                            "', which is no address of memory");
      d.notes.push_back({opaque.span, "declared here"});
    }
  }
}

}  // namespace ptx2spv::ptx
