#include "translator/passes/cfg/demote_to_stack.hpp"

namespace ptx2spv::passes {

// The rearranged graph keeps the order of execution but not dominance, so a value that another
// block uses goes through a variable; constants are repeated instead.
void demote_to_stack(Function& f) {
  Builder builder(f);
  constexpr std::uint32_t kNone = 0xffffffffu;
  std::vector<BlockId> home(f.insts.size(), kNoBlock);
  for (BlockId b = 0; b < f.blocks.size(); ++b)
    for (const Value v : f.blocks[b].insts) home[v] = b;
  std::vector<std::uint32_t> var_of(f.insts.size(), kNone);
  const auto foreign = [&](Value v, BlockId b) { return v < home.size() && home[v] != b; };
  const auto branches = [&](BlockId b) {
    return f.blocks[b].term == Term::cond_br || f.blocks[b].term == Term::switch_;
  };
  bool any = false;
  for (BlockId b = 0; b < f.blocks.size() && !any; ++b) {
    for (const Value v : f.blocks[b].insts)
      for (const Value a : f.args(v)) any = any || foreign(a, b);
    if (branches(b)) any = any || foreign(f.blocks[b].cond, b);
  }
  if (!any) return;
  std::vector<Value> local(f.insts.size(), 0);
  std::vector<BlockId> local_in(f.insts.size(), kNoBlock);
  for (BlockId b = 0; b < f.blocks.size(); ++b) {
    const std::vector<Value> insts = std::move(f.blocks[b].insts);
    f.blocks[b].insts.clear();
    builder.at(b);
    const auto fetch = [&](Value a) {
      if (!foreign(a, b)) return a;
      if (local_in[a] == b) return local[a];
      const Inst inst = f.insts[a];
      builder.set_loc(inst.loc);
      Value copy;
      if (inst.op == Op::constant || inst.op == Op::undef || inst.op == Op::builtin) {
        copy = builder.inst(inst.op, inst.type, {}, inst.imm);
        f.insts[copy].builtin = inst.builtin;
      } else {
        if (var_of[a] == kNone) {
          var_of[a] = static_cast<std::uint32_t>(f.vars.size());
          f.vars.push_back({inst.type, "value", false});
        }
        copy = builder.get(var_of[a]);
      }
      local_in[a] = b;
      local[a] = copy;
      return copy;
    };
    for (const Value v : insts) {
      for (unsigned i = 0; i < f.insts[v].count; ++i) {
        const Value got = fetch(f.arg(v, i));
        f.args(v)[i] = got;
      }
      f.blocks[b].insts.push_back(v);
    }
    // A block that no longer branches by its condition has none.
    f.blocks[b].cond = branches(b) ? fetch(f.blocks[b].cond) : 0;
  }
  // Definitions are stored behind the instruction once all uses are known.
  for (BlockId b = 0; b < f.blocks.size(); ++b) {
    bool stores = false;
    for (const Value v : f.blocks[b].insts)
      stores = stores || (v < var_of.size() && var_of[v] != kNone);
    if (!stores) continue;
    const std::vector<Value> insts = std::move(f.blocks[b].insts);
    f.blocks[b].insts.clear();
    builder.at(b);
    for (const Value v : insts) {
      f.blocks[b].insts.push_back(v);
      if (v < var_of.size() && var_of[v] != kNone) builder.set(var_of[v], v);
    }
  }
}

}  // namespace ptx2spv::passes
