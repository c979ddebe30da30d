// Threads that trap leave early. A branch to a trap between two loads makes a device wait for the
// first one where its result is needed, and a branch in the arm of another keeps the arm from
// becoming predicated instructions. Hence what a trap does not wait for moves behind its branch,
// and the branch moves up:
//
//     if (g) { if (f) trap; rest }   ->   if (g && f) trap; if (g) { rest }
//     if (g) { ... } if (f) trap;    ->   if (f) trap; if (g) { ... }
//
// Traps keep their order, and writes stay on their side of each. What a fault's condition is made
// of is loaded before the faults in front of it, so that a device waits once for the records of
// several surfaces. Faults in a row are one branch, to where each is looked for.
#include <algorithm>
#include <ranges>
#include <unordered_map>
#include <utility>

#include "translator/passes/cfg/blocks.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/traps/fault_test.hpp"

namespace ptx2spv::passes {

namespace {

constexpr unsigned kMostSteps = 64;         ///< of one trap
constexpr unsigned kMostInstructions = 16;  ///< that a thread makes for an arm it may not enter
constexpr unsigned kMostBlocks = 24;        ///< of a selection that a trap moves across
constexpr unsigned kMostFaults = 32;        ///< whose conditions are made together

class TrapHoister {
 public:
  explicit TrapHoister(Function& function) : f_(function), b_(function) {}

  bool run() {
    find_dead_ends();
    if (std::ranges::find(dead_end_, true) == dead_end_.end()) return false;
    block_of_.assign(f_.insts.size(), kNoBlock);
    selection_.assign(f_.blocks.size(), kNoBlock);
    of_loop_.assign(f_.blocks.size(), false);
    seen_.assign(f_.blocks.size(), 0);
    for (BlockId b = 0; b < f_.blocks.size(); ++b) {
      const Block& block = f_.blocks[b];
      for (const Value v : block.insts) block_of_[v] = b;
      if (block.merge == Merge::selection) selection_[block.merge_block] = b;
      if (block.merge == Merge::loop)
        of_loop_[b] = of_loop_[block.merge_block] = of_loop_[block.continue_block] = true;
    }
    for (const BlockId b : f_.order) {
      work_.push_back(b);
      while (!work_.empty()) {
        const BlockId at = work_.back();
        work_.pop_back();
        climb(at);
      }
    }
    for (const BlockId b : f_.order) gather(b);
    count_uses();
    merged_.assign(f_.blocks.size(), false);
    for (const BlockId b : f_.order)
      if (!merged_[b]) merge(b);
    if (changed_) remove_unreachable(f_);
    return changed_;
  }

 private:
  /// A block that ends in a branch to a trap, and the trap's blocks.
  struct Check {
    BlockId trap = kNoBlock, rest = kNoBlock;
    std::vector<BlockId> blocks;
  };

  void find_dead_ends() {
    dead_end_.assign(f_.blocks.size(), false);
    for (const BlockId b : std::views::reverse(f_.order)) {
      const Block& block = f_.blocks[b];
      const auto ends = [&](BlockId s) { return bool{dead_end_[s]}; };
      dead_end_[b] = block.preds.size() == 1 &&
                     (block.apart != Apart::no ||
                      (!block.succs.empty() && std::ranges::all_of(block.succs, ends)));
    }
  }

  bool find(BlockId b, Check& check) const {
    const Block& block = f_.blocks[b];
    if (block.term != Term::cond_br || block.merge != Merge::selection) return false;
    const unsigned k = dead_end_[block.succs[0]] ? 0 : 1;
    if (!dead_end_[block.succs[k]] || dead_end_[block.succs[1 - k]]) return false;
    check.trap = block.succs[k];
    check.rest = block.succs[1 - k];
    if (block.merge_block != check.rest || f_.blocks[check.rest].preds.size() != 1 || of_loop_[b] ||
        of_loop_[check.rest])
      return false;
    check.blocks.assign(1, check.trap);
    for (std::size_t i = 0; i < check.blocks.size(); ++i)
      for (const BlockId s : f_.blocks[check.blocks[i]].succs) check.blocks.push_back(s);
    return true;
  }

  bool reads(const Inst& inst) const {
    return (inst.op == Op::load && !inst.mem.is_volatile) || inst.op == Op::image_load;
  }
  bool moves(Value v) const {
    const Inst& inst = f_.insts[v];
    const auto flags = info(inst.op).flags;
    return inst.op != Op::phi && !(flags & flag::C) && ((flags & flag::P) || reads(inst));
  }
  /// Whether it costs little and has no effect.
  bool cheap(Value v) const {
    const Inst& inst = f_.insts[v];
    if (inst.op == Op::load)
      return inst.mem.space == Space::param || inst.mem.space == Space::push ||
             inst.mem.space == Space::table;
    return moves(v) && inst.op != Op::image_load && inst.op != Op::library &&
           inst.op != Op::native_fdiv && inst.op != Op::native_fsqrt &&
           inst.op != Op::native_unary && !is_within(inst.op, Op::udiv, Op::srem);
  }

  /// Moves what the check does not need behind it. Returns whether nothing else is left but phis.
  bool sink(BlockId b, const Check& check) {
    Block& block = f_.blocks[b];
    needed_.resize(f_.insts.size());
    const auto need = [&](Value v) {
      if (block_of_[v] == b) needed_[v] = true;
    };
    need(block.cond);
    for (const BlockId t : check.blocks) {
      for (const Value v : f_.blocks[t].insts)
        for (const Value a : f_.args(v)) need(a);
      if (f_.blocks[t].cond) need(f_.blocks[t].cond);
    }
    std::vector<Value> kept, sunk;
    bool clean = true;
    for (const Value v : std::views::reverse(block.insts)) {
      const bool needed = needed_[v];
      needed_[v] = false;
      if (clean && !moves(v) && f_.insts[v].op != Op::phi) clean = false;
      if (needed || !clean || f_.insts[v].op == Op::phi) {
        kept.push_back(v);
        for (const Value a : f_.args(v)) need(a);
      } else {
        sunk.push_back(v);
      }
    }
    // What phis name stands elsewhere, or behind them in a loop.
    for (const Value v : block.insts) needed_[v] = false;
    if (sunk.empty()) return clean;
    changed_ = true;
    std::ranges::reverse(kept);
    std::ranges::reverse(sunk);
    for (const Value v : sunk) block_of_[v] = check.rest;
    block.insts = std::move(kept);
    std::vector<Value>& rest = f_.blocks[check.rest].insts;
    rest.insert(rest.begin(), sunk.begin(), sunk.end());
    return clean;
  }

  Value inverse(Value cond, bool invert) {
    if (!invert) return cond;
    const Value truth = b_.i1(true);
    return b_.inst(Op::xor_, Type::i1, {cond, truth});
  }
  void note_new(BlockId b, std::size_t first) {
    block_of_.resize(f_.insts.size(), kNoBlock);
    for (std::size_t v = first; v < f_.insts.size(); ++v) block_of_[v] = b;
  }
  void move_insts(BlockId from, BlockId to) {
    std::vector<Value>& insts = f_.blocks[from].insts;
    const auto first =
        std::ranges::find_if(insts, [&](Value v) { return f_.insts[v].op != Op::phi; });
    for (auto it = first; it != insts.end(); ++it) {
      f_.blocks[to].insts.push_back(*it);
      block_of_[*it] = to;
    }
    insts.erase(first, insts.end());
  }
  void replace_pred(BlockId of, BlockId from, BlockId to) {
    std::ranges::replace(f_.blocks[of].preds, from, to);
  }

  BlockId new_block() {
    dead_end_.push_back(false);
    merged_.push_back(false);
    selection_.push_back(kNoBlock);
    of_loop_.push_back(false);
    seen_.push_back(0);
    return b_.new_block();
  }
  static bool is_fault(const Function& f, const Check& check) {
    return f.blocks[check.blocks.back()].apart == Apart::fault;
  }

  /// Out of an arm, before the branch to it. Returns where it then stands.
  BlockId leave_arm(BlockId b, const Check& check) {
    if (f_.blocks[b].preds.size() != 1) return kNoBlock;
    const BlockId h = f_.blocks[b].preds[0];
    const Block& head = f_.blocks[h];
    const std::vector<Value>& insts = f_.blocks[b].insts;
    if (head.merge != Merge::selection || head.term != Term::cond_br || head.merge_block == b ||
        head.merge_block == check.rest || head.succs[0] == head.succs[1] ||
        insts.size() > kMostInstructions ||
        !std::ranges::all_of(insts, [&](Value v) { return cheap(v); }))
      return kNoBlock;
    move_insts(b, h);
    const std::size_t first = f_.insts.size();
    b_.at(h);
    const Value enters = inverse(f_.blocks[h].cond, f_.blocks[h].succs[1] == b);
    const Value fails = inverse(f_.blocks[b].cond, f_.blocks[b].succs[1] == check.trap);
    const Value both = b_.op2(Op::and_, enters, fails);
    note_new(h, first);
    Block &from = f_.blocks[h], &arm = f_.blocks[b];
    arm.cond = std::exchange(from.cond, both);
    arm.succs = std::exchange(from.succs, {check.trap, b});
    arm.merge_block = std::exchange(from.merge_block, b);
    std::ranges::replace(arm.succs, b, check.rest);
    for (const BlockId s : arm.succs)
      if (s != check.rest) replace_pred(s, h, b);
    f_.blocks[check.trap].preds.assign(1, h);
    selection_[check.rest] = kNoBlock;
    selection_[b] = h;
    selection_[arm.merge_block] = b;
    return h;
  }

  /// Whether nothing happens between `head` and its join `b` that a trap has to wait for.
  bool may_cross(BlockId head, BlockId b, const Check& check) {
    ++turn_;
    std::vector<BlockId> blocks;
    const auto enter = [&](BlockId s) {
      if (s == b || seen_[s] == turn_) return true;
      if (dead_end_[s] || of_loop_[s] || blocks.size() == kMostBlocks) return false;
      seen_[s] = turn_;
      blocks.push_back(s);
      return true;
    };
    for (const BlockId s : f_.blocks[head].succs)
      if (!enter(s)) return false;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const Block& block = f_.blocks[blocks[i]];
      if (block.succs.empty()) return false;
      for (const Value v : block.insts)
        if (f_.insts[v].op != Op::phi && !moves(v)) return false;
      for (const BlockId s : block.succs)
        if (!enter(s)) return false;
    }
    const auto from_above = [&](Value v) {
      const BlockId at = block_of_[v];
      return at != kNoBlock && seen_[at] != turn_ && !(at == b && f_.insts[v].op == Op::phi);
    };
    const auto all_from_above = [&](Value v) {
      return std::ranges::all_of(f_.args(v), from_above);
    };
    if (!from_above(f_.blocks[b].cond)) return false;
    for (const Value v : f_.blocks[b].insts)
      if (f_.insts[v].op != Op::phi && !all_from_above(v)) return false;
    for (const BlockId t : check.blocks) {
      const std::vector<Value>& insts = f_.blocks[t].insts;
      for (const Value v : insts)
        for (const Value a : f_.args(v))
          if (std::ranges::find(check.blocks, block_of_[a]) == check.blocks.end() && !from_above(a))
            return false;
    }
    return true;
  }

  /// Before the selection that joins in `b`. Returns where it then stands.
  BlockId cross_selection(BlockId b, const Check& check) {
    const BlockId h = selection_[b];
    if (h == kNoBlock || !may_cross(h, b, check)) return kNoBlock;
    const BlockId next = new_block();
    selection_[next] = h;
    move_insts(b, h);
    Block &head = f_.blocks[h], &rest = f_.blocks[next], &join = f_.blocks[b];
    rest.term = std::exchange(head.term, join.term);
    rest.cond = std::exchange(head.cond, join.cond);
    rest.succs = std::exchange(head.succs, join.succs);
    rest.merge = head.merge;
    rest.merge_block = std::exchange(head.merge_block, next);
    rest.loc = head.loc;
    rest.preds.assign(1, h);
    std::ranges::replace(head.succs, check.rest, next);
    for (const BlockId s : rest.succs) replace_pred(s, h, next);
    selection_[b] = next;
    f_.blocks[check.trap].preds.assign(1, h);
    // The join goes on with what stood behind its check.
    Block& after = f_.blocks[check.rest];
    join.term = after.term;
    join.cond = after.cond;
    join.succs = std::move(after.succs);
    join.merge = after.merge;
    join.merge_block = after.merge_block;
    join.continue_block = after.continue_block;
    join.loc = after.loc;
    for (const Value v : after.insts) {
      join.insts.push_back(v);
      block_of_[v] = b;
    }
    for (const BlockId s : join.succs) replace_pred(s, check.rest, b);
    if (join.merge == Merge::selection) selection_[join.merge_block] = b;
    after = Block{};
    after.term = Term::unreachable;
    work_.push_back(b);
    return h;
  }

  void climb(BlockId b) {
    Check check;
    for (unsigned steps = 0; steps < kMostSteps && find(b, check); ++steps) {
      if (!sink(b, check)) return;
      BlockId next = leave_arm(b, check);
      if (next == kNoBlock) next = cross_selection(b, check);
      if (next == kNoBlock) return;
      changed_ = true;
      b = next;
    }
  }

  void count_uses() {
    uses_.assign(f_.insts.size(), 0);
    for (const Block& block : f_.blocks) {
      for (const Value v : block.insts)
        for (const Value a : f_.args(v)) ++uses_[a];
      ++uses_[block.cond];
    }
  }

  /// What the checks of faults behind `b` need moves into it, where nothing else lies between.
  void gather(BlockId b) {
    Check check;
    BlockId at = b;
    for (unsigned n = 1; n < kMostFaults && find(at, check); ++n) {
      if (!is_fault(f_, check)) return;
      at = check.rest;
      if (!find(at, check) || !sink(at, check)) return;
      if (f_.blocks[at].insts.empty()) continue;
      move_insts(at, b);
      changed_ = true;
    }
  }

  /// Faults in a row become one branch, behind which each is looked for, where that takes no more
  /// comparisons than there are faults: those of handles out of memory have nothing in common, and
  /// wait for all of their records then.
  void merge(BlockId b) {
    FaultTest test(f_);
    std::vector<BlockId> heads, traps;
    Check check;
    BlockId join = b;
    while (find(join, check) && is_fault(f_, check) &&
           (join == b || f_.blocks[join].insts.empty())) {
      test.add(f_.blocks[join].cond, f_.blocks[join].succs[1] == check.trap);
      heads.push_back(join);
      traps.insert(traps.end(), check.blocks.begin(), check.blocks.end());
      join = check.rest;
    }
    const std::vector<Value>& behind = f_.blocks[join].insts;
    if (heads.size() < 2 || test.terms() > heads.size() ||
        (!behind.empty() && f_.insts[behind[0]].op == Op::phi))
      return;
    changed_ = true;
    const BlockId first = new_block(), done = new_block();
    const std::size_t before = f_.insts.size();
    b_.at(b);
    const Value none = test.make(b_);
    note_new(b, before);
    uses_.resize(f_.insts.size());
    for (std::size_t v = before; v < f_.insts.size(); ++v)
      for (const Value a : f_.args(static_cast<Value>(v))) ++uses_[a];
    ++uses_[none];

    Block &head = f_.blocks[b], &search = f_.blocks[first];
    search.term = head.term;
    search.cond = std::exchange(head.cond, none);
    search.succs = std::exchange(head.succs, {join, first});
    search.merge = head.merge;
    search.merge_block = std::exchange(head.merge_block, join);
    search.loc = head.loc;
    search.preds.assign(1, b);
    for (const BlockId s : search.succs) replace_pred(s, b, first);
    heads[0] = first;
    Block& last = f_.blocks[heads.back()];
    std::ranges::replace(last.succs, join, done);
    last.merge_block = done;
    f_.blocks[done].term = Term::br;
    f_.blocks[done].succs.assign(1, join);
    f_.blocks[done].preds.assign(1, heads.back());
    f_.blocks[join].preds = {b, done};
    sink_into(first, b, heads, traps);
    for (const BlockId h : heads) merged_[h] = true;
  }

  /// What only these blocks need of what `from` makes.
  void sink_into(BlockId first, BlockId from, const std::vector<BlockId>& heads,
                 const std::vector<BlockId>& traps) {
    std::unordered_map<Value, std::uint32_t> uses;
    const auto use = [&](Value v) {
      if (v && block_of_[v] == from) ++uses[v];
    };
    for (const BlockId h : heads) use(f_.blocks[h].cond);
    for (const BlockId t : traps) {
      for (const Value v : f_.blocks[t].insts)
        for (const Value a : f_.args(v)) use(a);
      use(f_.blocks[t].cond);
    }
    std::vector<Value> kept, sunk;
    for (const Value v : std::views::reverse(f_.blocks[from].insts)) {
      const auto it = uses.find(v);
      const bool sinks = it != uses.end() && it->second == uses_[v] && cheap(v);
      (sinks ? sunk : kept).push_back(v);
      if (!sinks) continue;
      block_of_[v] = first;
      for (const Value a : f_.args(v)) use(a);
    }
    f_.blocks[from].insts.assign(kept.rbegin(), kept.rend());
    f_.blocks[first].insts.assign(sunk.rbegin(), sunk.rend());
  }

  Function& f_;
  Builder b_;
  std::vector<bool> dead_end_, of_loop_, needed_;
  std::vector<bool> merged_;         ///< by block: its fault has a test in front
  std::vector<BlockId> block_of_;    ///< by value
  std::vector<std::uint32_t> uses_;  ///< by value
  std::vector<BlockId> selection_;   ///< by block: the header that it is the merge block of
  std::vector<std::uint32_t> seen_;  ///< by block: the last turn
  std::vector<BlockId> work_;
  std::uint32_t turn_ = 0;
  bool changed_ = false;
};

}  // namespace

bool hoist_traps(Function& function) { return TrapHoister(function).run(); }

}  // namespace ptx2spv::passes
