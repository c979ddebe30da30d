// Values that leave a loop. CPU drivers run a loop until its last thread is done, with the others
// masked. On SwiftShader (and on lavapipe, out of nested loops) a load gives 0 to a masked thread:
// what a thread loaded in its own last iteration is lost when the loop ends. A phi behind the
// loop's exits keeps the value, because phis are written under the mask. lavapipe also recomputes
// every value that is not a phi while other lanes iterate: there everything that is computed in a
// loop is lost.
#include <algorithm>
#include <unordered_map>

#include "translator/ir/cfg.hpp"
#include "translator/ir/loops.hpp"
#include "translator/passes/passes.hpp"

namespace ptx2spv::passes {

namespace {

constexpr std::uint32_t kNoLoop = StructuredLoops::kNone;

class Lcssa {
 public:
  Lcssa(Function& function, bool all)
      : f_(function),
        doms_(function, false),
        all_(all),
        nest_(function, reverse_postorder(function, true)),
        second_exit_(nest_.loops.size(), false) {}

  bool run() {
    if (nest_.loops.empty()) return false;
    lost_.assign(f_.insts.size(), kNoLoop);
    home_.assign(f_.insts.size(), kNoBlock);
    // Definitions before uses; phis, whose operands may come later, lose nothing.
    for (const BlockId b : doms_.preorder())
      for (const Value v : f_.blocks[b].insts) {
        home_[v] = b;
        lost_[v] = loses(b, v);
      }
    bool any = false;
    each_use([&](Value v, BlockId at) {
      if (lost_[v] == kNoLoop || within(at, lost_[v])) return v;
      second_exit_[lost_[v]] = any = true;
      return v;
    });
    // A phi behind the loop keeps its value only as long as it has two predecessors: where the
    // driver's optimiser proves one of them dead, the phi is gone.
    for (const BlockId b : doms_.order())
      for (const Value v : f_.blocks[b].insts) {
        if (f_.insts[v].op != Op::phi) break;
        for (unsigned i = 0; i < f_.insts[v].count; ++i) {
          const std::uint32_t loop = lost_[f_.arg(v, i)];
          const bool leaves =
              loop != kNoLoop && within(f_.blocks[b].preds[i], loop) && !within(b, loop);
          if (leaves) second_exit_[loop] = any = true;
        }
      }
    if (!any) return false;
    // Behind the second exit the body dominates nothing, so every value leaves such a loop through
    // a phi.
    each_use([&](Value v, BlockId at) { return kept(v, at); });
    for (std::uint32_t i = 0; i < nest_.loops.size(); ++i)
      if (second_exit_[i]) add_exit(nest_.loops[i], make_never(i));
    return true;
  }

 private:
  using Loop = StructuredLoops::Loop;

  bool within(BlockId b, std::uint32_t loop) const { return nest_.within(b, loop); }

  bool of_selection(BlockId b) const {
    if (f_.blocks[b].merge == Merge::loop) return false;
    return std::none_of(f_.blocks[b].preds.begin(), f_.blocks[b].preds.end(),
                        [&](BlockId p) { return nest_.innermost[p] != nest_.innermost[b]; });
  }

  // The innermost loop in which a masked thread loses the value: where it is loaded, or made of
  // such a one.
  std::uint32_t loses(BlockId b, Value v) const {
    const Inst& inst = f_.insts[v];
    if (inst.type == Type::none) return kNoLoop;
    // A driver that computes again may make a selection's phi an instruction first.
    if (inst.op == Op::phi) return all_ && of_selection(b) ? nest_.innermost[b] : kNoLoop;
    if ((info(inst.op).flags & flag::R) || inst.op == Op::library) return nest_.innermost[b];
    std::uint32_t innermost = kNoLoop;
    for (const Value a : f_.args(v)) {
      const bool changes = all_ && f_.insts[a].op == Op::phi && home_[a] != kNoBlock;
      const std::uint32_t loop = changes ? nest_.innermost[home_[a]] : lost_[a];
      if (loop == kNoLoop || !within(b, loop)) continue;
      if (innermost == kNoLoop || nest_.loops[loop].first > nest_.loops[innermost].first)
        innermost = loop;
    }
    return innermost;
  }

  // use(v, where) gives what stands there instead.
  template <typename Use>
  void each_use(Use&& use) {
    for (const BlockId b : doms_.order()) {
      // Phis join merge blocks while this runs.
      const std::vector<Value> insts = f_.blocks[b].insts;
      for (const Value v : insts)
        for (unsigned i = 0; i < f_.insts[v].count; ++i) {
          const BlockId at = f_.insts[v].op == Op::phi ? f_.blocks[b].preds[i] : b;
          if (!doms_.reachable(at) || f_.arg(v, i) >= home_.size()) continue;
          const Value now = use(f_.arg(v, i), at);
          f_.operands[f_.insts[v].first + i] = now;
        }
      // A block that has come to end in a plain branch may still name a condition.
      const bool branches =
          f_.blocks[b].term == Term::cond_br || f_.blocks[b].term == Term::switch_;
      if (branches && f_.blocks[b].cond < home_.size())
        f_.blocks[b].cond = use(f_.blocks[b].cond, b);
    }
  }

  Value kept(Value v, BlockId at) {
    if (home_[v] == kNoBlock) return v;
    for (std::uint32_t l = nest_.innermost[home_[v]]; l != kNoLoop && !within(at, l);
         l = nest_.loops[l].parent) {
      const Loop& loop = nest_.loops[l];
      const bool of_header = f_.insts[v].op == Op::phi && home_[v] == loop.header;
      if (second_exit_[l] && !of_header) v = keeper(v, loop);
    }
    return v;
  }

  Value keeper(Value v, const Loop& loop) {
    if (const auto known = keepers_.find(v); known != keepers_.end()) return known->second;
    Block& merge = f_.blocks[loop.merge];
    const Value phi =
        append(Op::phi, f_.insts[v].type, static_cast<std::uint32_t>(merge.preds.size()));
    f_.operands.insert(f_.operands.end(), merge.preds.size(), v);
    f_.insts[phi].loc = f_.insts[v].loc;
    merge.insts.insert(merge.insts.begin(), phi);
    home_.push_back(loop.merge);
    lost_.push_back(kNoLoop);
    return keepers_[v] = phi;
  }

  // A new instruction whose operands the caller appends.
  Value append(Op op, Type type, std::uint32_t count, std::uint64_t imm = 0) {
    Inst inst;
    inst.op = op;
    inst.type = type;
    inst.imm = imm;
    inst.first = static_cast<std::uint32_t>(f_.operands.size());
    inst.count = static_cast<decltype(inst.count)>(count);
    f_.insts.push_back(inst);
    return static_cast<Value>(f_.insts.size() - 1);
  }

  Value undefined(Type type) {
    Value& known = undefined_[static_cast<std::size_t>(type)];
    if (!known) {
      known = append(Op::undef, type, 0);
      f_.blocks[0].insts.push_back(known);
    }
    return known;
  }

  // False, but nobody can tell before the launch: a grid has fewer than 2^31 workgroups.
  // A loop within another one has a condition of its own: in the body of the outer loop the outer
  // loop's is known.
  Value make_never(std::uint32_t loop) {
    Builder b(f_);
    b.at(0);
    return never(b, loop);
  }

  // A driver's optimiser would drop a phi of one value, so the loop gets an exit that no thread
  // takes.
  void add_exit(const Loop& loop, Value never) {
    const BlockId header = loop.header;
    if (f_.blocks[header].term != Term::br) split(header);
    Block& from = f_.blocks[header];
    from.term = Term::cond_br;
    from.cond = never;
    from.succs.insert(from.succs.begin(), loop.merge);
    Block& merge = f_.blocks[loop.merge];
    merge.preds.push_back(header);
    for (const Value v : merge.insts) {
      if (f_.insts[v].op != Op::phi) break;
      // The operands move, for there is no room behind them.
      const Value none = undefined(f_.insts[v].type);
      const auto first = static_cast<std::uint32_t>(f_.operands.size());
      for (unsigned i = 0; i < f_.insts[v].count; ++i) f_.operands.push_back(f_.arg(v, i));
      f_.operands.push_back(none);
      f_.insts[v].first = first;
      ++f_.insts[v].count;
    }
  }

  // The header keeps its phis, a block of its own gets the rest.
  void split(BlockId header) {
    const auto rest = static_cast<BlockId>(f_.blocks.size());
    f_.blocks.emplace_back();
    Block& from = f_.blocks[header];
    Block& to = f_.blocks[rest];
    const auto body = std::find_if(from.insts.begin(), from.insts.end(),
                                   [&](Value v) { return f_.insts[v].op != Op::phi; });
    to.insts.assign(body, from.insts.end());
    from.insts.erase(body, from.insts.end());
    to.term = from.term;
    to.cond = from.cond;
    to.loc = from.loc;
    to.succs = std::move(from.succs);
    to.preds = {header};
    from.term = Term::br;
    from.cond = 0;
    from.succs = {rest};
    for (const BlockId s : to.succs)
      for (BlockId& p : f_.blocks[s].preds)
        if (p == header) p = rest;
    f_.order.insert(std::find(f_.order.begin(), f_.order.end(), header) + 1, rest);
    if (f_.blocks[rest].term == Term::br) return;
    // Its exit needs a merge block of its own, which no thread reaches.
    const auto nowhere = static_cast<BlockId>(f_.blocks.size());
    f_.blocks.emplace_back();
    f_.blocks[nowhere].term = Term::unreachable;
    f_.blocks[rest].merge = Merge::selection;
    f_.blocks[rest].merge_block = nowhere;
    f_.order.insert(std::find(f_.order.begin(), f_.order.end(), rest) + 1, nowhere);
  }

  Function& f_;
  Dominators doms_;
  const bool all_;  ///< values that were computed are lost as those that were loaded are
  const StructuredLoops nest_;
  std::vector<bool> second_exit_;             ///< by loop: whether it gets one
  std::vector<std::uint32_t> lost_;           ///< by value: a loop, or kNoLoop
  std::vector<BlockId> home_;                 ///< by value: its block
  std::unordered_map<Value, Value> keepers_;  ///< the phi that keeps a value
  Value undefined_[8] = {};
};

}  // namespace

bool lcssa(Function& function, bool computed) { return Lcssa(function, computed).run(); }

}  // namespace ptx2spv::passes
