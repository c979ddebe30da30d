// SPIR-V's structured control flow: headers, constructs, and the branches that may enter and leave
// them. Dominance here is structural: of the graph with edges from each header to its merge block
// and continue target.
#include <fmt/format.h>

#include "translator/ir/cfg.hpp"
#include "translator/ir/validate.hpp"

namespace ptx2spv::ir {

namespace {

enum class Kind : std::uint8_t { function, selection, loop, continue_ };
constexpr std::uint32_t kNone = 0xffffffffu;

struct Construct {
  Kind kind = Kind::function;
  BlockId header = kNoBlock;
  std::uint32_t parent = kNone;
  std::uint32_t loop = kNone;     ///< innermost loop or continue construct around, itself included
  std::uint32_t switch_ = kNone;  ///< innermost switch around, no loop between
};

struct Constructs {
  std::vector<Construct> all{Construct{}};
  std::vector<std::uint32_t> home;         ///< construct around a block, not its own
  std::vector<std::uint32_t> own;          ///< construct that a header opens, else home
  std::vector<std::uint32_t> continue_of;  ///< by header: its continue construct
};

std::string find(const Function& f, const Dominators& doms, Constructs& out) {
  const std::size_t n = f.blocks.size();
  out.home.assign(n, 0);
  out.own.assign(n, 0);
  out.continue_of.assign(n, kNone);
  std::vector<BlockId> merge_of(n, kNoBlock), continue_of(n, kNoBlock);
  for (const BlockId b : doms.order()) {
    const Block& block = f.blocks[b];
    if (block.merge == Merge::none) {
      if (block.term == Term::cond_br || block.term == Term::switch_)
        return fmt::format("b{}: conditional branch without a merge instruction", b);
      continue;
    }
    if (block.merge == Merge::selection && block.term != Term::cond_br &&
        block.term != Term::switch_)
      return fmt::format("b{}: selection merge without a conditional branch", b);
    if (block.merge == Merge::loop && block.term != Term::br && block.term != Term::cond_br)
      return fmt::format("b{}: loop header without a branch", b);
    const auto claim = [&](BlockId target, std::vector<BlockId>& table,
                           const char* what) -> std::string {
      if (target == b && !(block.merge == Merge::loop && &table == &continue_of))
        return fmt::format("b{}: is its own {}", b, what);
      if (merge_of[target] != kNoBlock || continue_of[target] != kNoBlock)
        return fmt::format("b{}: {} b{} belongs to another header", b, what, target);
      table[target] = b;
      return {};
    };
    if (std::string bad = claim(block.merge_block, merge_of, "merge block"); !bad.empty())
      return bad;
    if (block.merge == Merge::loop)
      if (std::string bad = claim(block.continue_block, continue_of, "continue target");
          !bad.empty())
        return bad;
  }
  for (const BlockId b : doms.preorder()) {
    const BlockId p = doms.idom(b);
    std::uint32_t home = 0;
    if (p != kNoBlock) {
      const Block& parent = f.blocks[p];
      home = out.own[p];
      if (merge_of[b] != kNoBlock && merge_of[b] != p)
        return fmt::format("b{}: merge block is not dominated by its header b{} alone", b,
                           merge_of[b]);
      if (continue_of[b] != kNoBlock && continue_of[b] != p && continue_of[b] != b)
        return fmt::format("b{}: continue target is not dominated by its header b{} alone", b,
                           continue_of[b]);
      if (parent.merge != Merge::none && parent.merge_block == b) home = out.home[p];
      if (parent.merge == Merge::loop && parent.continue_block == b) home = out.continue_of[p];
    }
    out.home[b] = out.own[b] = home;
    const Block& block = f.blocks[b];
    if (block.merge == Merge::none) continue;
    const auto open = [&](Kind kind) {
      Construct c{kind, b, home, out.all[home].loop, out.all[home].switch_};
      const auto id = static_cast<std::uint32_t>(out.all.size());
      if (kind != Kind::selection) {
        c.loop = id;
        c.switch_ = kNone;
      } else if (block.term == Term::switch_) {
        c.switch_ = id;
      }
      out.all.push_back(c);
      return id;
    };
    out.own[b] = open(block.merge == Merge::loop ? Kind::loop : Kind::selection);
    if (block.merge == Merge::loop) out.continue_of[b] = open(Kind::continue_);
  }
  return {};
}

}  // namespace

std::string validate_structure(const Function& f) {
  for (BlockId b = 0; b < f.blocks.size(); ++b) {
    const Block& block = f.blocks[b];
    if (block.merge == Merge::none) continue;
    if (block.merge_block >= f.blocks.size())
      return fmt::format("b{}: merge block does not exist", b);
    if (block.merge == Merge::loop && block.continue_block >= f.blocks.size())
      return fmt::format("b{}: continue block does not exist", b);
  }
  const Dominators doms(f, true);
  Constructs c;
  if (std::string bad = find(f, doms, c); !bad.empty()) return bad;

  std::vector<std::uint32_t> back_edges(f.blocks.size(), 0);
  for (const BlockId u : doms.order()) {
    const Construct& around = c.all[c.own[u]];
    const Construct* loop = around.loop == kNone ? nullptr : &c.all[around.loop];
    for (const BlockId v : f.blocks[u].succs) {
      const Block& target = f.blocks[v];
      if (doms.dominates(v, u)) {
        if (target.merge != Merge::loop)
          return fmt::format("b{}: branches back to b{}, which is no loop header", u, v);
        if (c.own[u] != c.continue_of[v] && target.continue_block != v)
          return fmt::format("b{}: back edge to b{} from outside its continue construct", u, v);
        if (++back_edges[v] > 1) return fmt::format("b{}: more than one back edge", v);
        continue;
      }
      if (doms.position(v) <= doms.position(u))
        return fmt::format("b{}: branches to b{}, which does not dominate it", u, v);
      if (c.home[v] == c.own[u]) continue;
      if (around.kind == Kind::selection && f.blocks[around.header].merge_block == v) continue;
      if (loop && f.blocks[loop->header].merge_block == v) continue;
      if (loop && loop->kind == Kind::loop && f.blocks[loop->header].continue_block == v) continue;
      if (around.switch_ != kNone && f.blocks[c.all[around.switch_].header].merge_block == v)
        continue;
      return fmt::format("b{}: branch to b{} leaves or enters a construct in the middle", u, v);
    }
    if (f.blocks[u].term == Term::exit && loop && loop->kind == Kind::continue_)
      return fmt::format("b{}: exit in a continue construct", u);
    for (const Value v : f.blocks[u].insts)
      if (f.insts[v].op == Op::control_barrier && loop && loop->kind == Kind::continue_)
        return fmt::format("b{}: barrier in a continue construct", u);
  }
  for (const BlockId b : doms.order())
    if (f.blocks[b].merge == Merge::loop && back_edges[b] != 1)
      return fmt::format("b{}: loop without a back edge", b);
  return {};
}

}  // namespace ptx2spv::ir
