// What the launch, or the thread model, makes of operations of a whole block.
#include "translator/passes/passes.hpp"

namespace ptx2spv::passes {

using ir::Op;

void native_barriers(ir::Function& function) {
  for (ir::Block& block : function.blocks)
    for (const ir::Value v : block.insts) {
      ir::Inst& inst = function.insts[v];
      if (inst.op != Op::bar_sync) continue;
      inst.op = Op::control_barrier;
      inst.count = 0;
      inst.imm = 0;
    }
}

void fix_push_word(ir::Function& function, std::uint32_t word, std::uint32_t known) {
  for (const ir::Block& block : function.blocks)
    for (const ir::Value value : block.insts) {
      ir::Inst& inst = function.insts[value];
      if (inst.op != Op::load || inst.mem.space != ir::Space::push) continue;
      const ir::Inst& address = function.insts[function.arg(value, 0)];
      if (address.op != Op::constant || address.imm != word * 4) continue;
      inst.op = Op::constant;
      inst.count = 0;
      inst.mem = {};
      inst.imm = known;
    }
}

}  // namespace ptx2spv::passes
