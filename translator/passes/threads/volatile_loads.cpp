#include "translator/passes/passes.hpp"

namespace ptx2spv::passes {

void volatile_loads(ir::Function& function) {
  for (const ir::Block& block : function.blocks)
    for (const ir::Value v : block.insts) {
      ir::Inst& inst = function.insts[v];
      if (inst.op == ir::Op::load && inst.mem.space == ir::Space::global && !inst.mem.readonly)
        inst.mem.is_volatile = true;
    }
}

}  // namespace ptx2spv::passes
