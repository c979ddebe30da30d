#include "translator/passes/analysis/live_variables.hpp"

namespace ptx2spv::passes {

LiveVariables::LiveVariables(const Function& f)
    : reads_(f.vars.size()),
      writes_(f.vars.size()),
      preds_(f.blocks.size()),
      live_(f.blocks.size(), 0),
      writes_in_(f.blocks.size(), 0) {
  std::vector<BlockId> written(f.vars.size(), kNoBlock), read(f.vars.size(), kNoBlock);
  for (BlockId b = 0; b < f.blocks.size(); ++b) {
    const auto write = [&](std::uint64_t var) {
      if (written[var] == b) return;
      written[var] = b;
      writes_[var].push_back(b);
    };
    for (const Value v : f.blocks[b].insts) {
      const Inst& inst = f.insts[v];
      if (inst.op == Op::get_var && written[inst.imm] != b && read[inst.imm] != b) {
        read[inst.imm] = b;
        reads_[inst.imm].push_back(b);
      }
      if (inst.op == Op::set_var) write(inst.imm);
      if (inst.op == Op::call)
        for (const std::uint32_t var : f.calls[inst.imm].result_vars) write(var);
    }
    for (const BlockId s : f.blocks[b].succs) preds_[s].push_back(b);
  }
}

}  // namespace ptx2spv::passes
