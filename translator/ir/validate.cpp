#include "translator/ir/validate.hpp"

#include <fmt/format.h>

#include "translator/ir/cfg.hpp"

namespace ptx2spv::ir {

namespace {

std::string check_graph(const Function& f, bool ssa) {
  if (f.blocks.empty()) return "function has no blocks";
  for (BlockId b = 0; b < f.blocks.size(); ++b) {
    const Block& block = f.blocks[b];
    for (const BlockId s : block.succs) {
      if (s >= f.blocks.size()) return fmt::format("b{}: successor b{} does not exist", b, s);
      if (s == 0) return fmt::format("b{}: branches to the entry block", b);
    }
    std::size_t wanted = 0;
    switch (block.term) {
      case Term::none: return fmt::format("b{}: no terminator", b);
      case Term::br: wanted = 1; break;
      case Term::cond_br: wanted = 2; break;
      case Term::switch_:
        if (block.succs.empty()) return fmt::format("b{}: switch without targets", b);
        wanted = block.succs.size();
        break;
      default: break;
    }
    if (block.succs.size() != wanted)
      return fmt::format("b{}: {} successors where {} belong", b, block.succs.size(), wanted);
    if (block.merge != Merge::none && block.merge_block >= f.blocks.size())
      return fmt::format("b{}: merge block does not exist", b);
    if (block.merge == Merge::loop && block.continue_block >= f.blocks.size())
      return fmt::format("b{}: continue block does not exist", b);
    if (!ssa) continue;
    std::size_t edges = 0;
    for (const BlockId p : block.preds)
      if (p >= f.blocks.size()) return fmt::format("b{}: predecessor does not exist", b);
    edges = block.preds.size();
    for (const Value v : block.insts) {
      if (v >= f.insts.size()) continue;
      if (f.insts[v].op == Op::phi && f.insts[v].count != edges)
        return fmt::format("b{}: phi %{} has {} operands for {} predecessors", b, v,
                           f.insts[v].count, edges);
    }
  }
  return {};
}

std::string check_preds(const Function& f) {
  std::vector<std::uint32_t> counts(f.blocks.size(), 0);
  for (const Block& block : f.blocks)
    for (const BlockId s : block.succs) ++counts[s];
  for (BlockId b = 0; b < f.blocks.size(); ++b) {
    if (f.blocks[b].preds.size() != counts[b])
      return fmt::format("b{}: predecessor list has {} entries for {} edges", b,
                         f.blocks[b].preds.size(), counts[b]);
    for (const BlockId p : f.blocks[b].preds) {
      bool found = false;
      for (const BlockId s : f.blocks[p].succs) found = found || s == b;
      if (!found) return fmt::format("b{}: listed predecessor b{} does not branch to it", b, p);
    }
  }
  return {};
}

// Each value stands in one block and is defined before it is used.
std::string check_values(const Function& f, const Dominators& doms) {
  std::vector<BlockId> home(f.insts.size(), kNoBlock);
  std::vector<std::uint32_t> at(f.insts.size(), 0);
  for (BlockId b = 0; b < f.blocks.size(); ++b) {
    std::uint32_t place = 0;
    bool phis = true;
    for (const Value v : f.blocks[b].insts) {
      if (v == 0 || v >= f.insts.size())
        return fmt::format("b{}: instruction %{} does not exist", b, v);
      if (home[v] != kNoBlock) return fmt::format("b{}: %{} stands twice", b, v);
      if (f.insts[v].op == Op::phi && !phis)
        return fmt::format("b{}: phi %{} after other instructions", b, v);
      phis = phis && f.insts[v].op == Op::phi;
      home[v] = b;
      at[v] = ++place;
    }
  }
  const auto available = [&](Value a, BlockId user, std::uint32_t place) {
    if (home[a] == user) return at[a] < place;
    return !doms.reachable(user) || (doms.reachable(home[a]) && doms.dominates(home[a], user));
  };
  for (BlockId b = 0; b < f.blocks.size(); ++b) {
    const Block& block = f.blocks[b];
    for (const Value v : block.insts) {
      const Inst& inst = f.insts[v];
      if (std::size_t{inst.first} + inst.count > f.operands.size())
        return fmt::format("b{}: operands of %{} do not exist", b, v);
      for (unsigned i = 0; i < inst.count; ++i) {
        const Value a = f.arg(v, i);
        if (a == 0 || a >= f.insts.size() || home[a] == kNoBlock)
          return fmt::format("b{}: operand {} of %{} ({}) is not in any block", b, i, v,
                             info(inst.op).name);
        const bool ok =
            inst.op == Op::phi ? available(a, block.preds[i], 0xffffffffu) : available(a, b, at[v]);
        if (!ok) return fmt::format("b{}: %{} used by %{} is not defined before", b, a, v);
      }
    }
    if (block.term != Term::cond_br && block.term != Term::switch_) continue;
    if (block.cond == 0 || block.cond >= f.insts.size() || home[block.cond] == kNoBlock)
      return fmt::format("b{}: condition %{} is not in any block", b, block.cond);
    if (!available(block.cond, b, 0xffffffffu))
      return fmt::format("b{}: condition %{} is not defined before", b, block.cond);
    const Type wanted = block.term == Term::cond_br ? Type::i1 : Type::i32;
    if (f.insts[block.cond].type != wanted)
      return fmt::format("b{}: condition %{} is {}", b, block.cond, name(f.insts[block.cond].type));
  }
  return {};
}

std::string check_order(const Function& f, const Dominators& doms) {
  std::vector<std::uint32_t> place(f.blocks.size(), kNoBlock);
  for (std::uint32_t i = 0; i < f.order.size(); ++i) {
    if (f.order[i] >= f.blocks.size() || place[f.order[i]] != kNoBlock)
      return fmt::format("order: entry {} is wrong", i);
    place[f.order[i]] = i;
  }
  for (const BlockId b : doms.order()) {
    if (place[b] == kNoBlock) return fmt::format("order: b{} is missing", b);
    if (doms.idom(b) != kNoBlock && place[doms.idom(b)] > place[b])
      return fmt::format("order: b{} stands before its dominator b{}", b, doms.idom(b));
  }
  return {};
}

}  // namespace

std::string validate(const Function& f, const Module& module, bool ssa, bool structured) {
  if (std::string bad = check_graph(f, ssa); !bad.empty()) return bad;
  if (ssa || structured)
    if (std::string bad = check_preds(f); !bad.empty()) return bad;
  const Dominators doms(f, false);
  if (std::string bad = check_values(f, doms); !bad.empty()) return bad;
  for (BlockId b = 0; b < f.blocks.size(); ++b) {
    for (const Value v : f.blocks[b].insts) {
      const Op op = f.insts[v].op;
      if (ssa && (op == Op::get_var || op == Op::set_var))
        return fmt::format("b{}: variable access %{} in SSA form", b, v);
      if (!ssa && op == Op::phi) return fmt::format("b{}: phi %{} outside SSA form", b, v);
      if (std::string bad = validate_types(f, module, v); !bad.empty())
        return fmt::format("b{}: %{} ({}): {}", b, v, info(op).name, bad);
    }
  }
  if (!structured) return {};
  if (std::string bad = check_order(f, doms); !bad.empty()) return bad;
  return validate_structure(f);
}

}  // namespace ptx2spv::ir
