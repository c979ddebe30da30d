// Waiting in the direct model. A device may let lanes of a warp that have left a loop wait at its
// end for those that have not: were one of these waiting for what the others do next, it would wait
// for ever. So all that lanes do between the beginning of a wait and the next barrier or warp
// operation is one loop. In each of its rounds a lane goes as far as it can: to where it would wait
// (a yield), where it has to begin again later (the loops around a wait), or to the barrier. Lanes
// leave the loop together. Behind the barrier nobody does what another lane waits for, which has to
// come to the barrier first.
#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "translator/ir/loops.hpp"
#include "translator/passes/cfg/demote_to_stack.hpp"
#include "translator/passes/passes.hpp"

namespace ptx2spv::passes {

namespace {

class Rounds {
 public:
  explicit Rounds(Function& f) : f_(f), b_(f) {}

  void run() {
    split();
    if (retries_.empty()) return;
    for (BlockId block = 0; block < f_.blocks.size(); ++block) stops_.push_back(stops(block));
    demote_to_stack(f_);
    f_.compute_preds();
    const std::vector<NaturalLoop> loops = natural_loops(f_);
    reach();
    join();
    for (const NaturalLoop& loop : loops) find_beginnings(loop);
    std::map<BlockId, std::vector<Edge>> rounds;  // by a component's block
    for (BlockId from = 0; from < inside_.size(); ++from)
      for (std::uint32_t i = 0; i < f_.blocks[from].succs.size(); ++i) {
        const BlockId to = f_.blocks[from].succs[i];
        if (inside_[to] && (!inside_[from] || begins(from, to)))
          rounds[home(to)].push_back({from, i, true});
        else if (inside_[from] && !inside_[to])
          rounds[home(from)].push_back({from, i, false});
      }
    for (const auto& [block, edges] : rounds) loop_over(edges);
    f_.compute_preds();
  }

 private:
  struct Edge {
    BlockId from = 0;
    std::uint32_t successor = 0;
    bool inside = false;  ///< to a block of the loop
  };

  static bool converges(Op op) { return is_barrier(op) || is_warp_operation(op); }

  /// The block's instructions from `at` on become a block of their own.
  BlockId split_at(BlockId block, std::size_t at) {
    const BlockId rest = b_.new_block();
    Block& head = f_.blocks[block];
    Block& tail = f_.blocks[rest];
    const auto first = head.insts.begin() + static_cast<std::ptrdiff_t>(at);
    tail.insts.assign(first, head.insts.end());
    head.insts.erase(first, head.insts.end());
    tail.term = head.term;
    tail.cond = std::exchange(head.cond, 0);
    tail.succs = std::move(head.succs);
    tail.loc = head.loc;
    b_.at(block);
    b_.br(rest);
    return rest;
  }

  /// Blocks end at yields, which go. Those with a barrier or a warp operation begin with one: lanes
  /// that come to a block meet there or do not. Threads end in blocks that have nothing else.
  void split() {
    for (BlockId block = 0; block < f_.blocks.size(); ++block) {
      std::vector<Value>& insts = f_.blocks[block].insts;
      std::erase_if(insts, [&](Value v) { return f_.insts[v].op == Op::progress; });
      for (std::size_t i = 0; i < insts.size(); ++i) {
        const Op op = f_.insts[insts[i]].op;
        if (op == Op::yield) {
          insts.erase(insts.begin() + static_cast<std::ptrdiff_t>(i));
          retries_.emplace_back(block, split_at(block, i));
          break;
        }
        if (converges(op) && !converges(f_.insts[insts[0]].op)) {
          split_at(block, i);
          break;
        }
      }
      if (f_.blocks[block].term == Term::exit && !f_.blocks[block].insts.empty())
        split_at(block, f_.blocks[block].insts.size());
    }
  }

  /// Whether lanes meet, or end, at the block's beginning.
  bool stops(BlockId block) const {
    const Block& b = f_.blocks[block];
    return b.insts.empty() ? b.term == Term::exit : converges(f_.insts[b.insts[0]].op);
  }

  /// All that lanes can come to from a wait before they meet.
  void reach() {
    inside_.assign(f_.blocks.size(), false);
    std::vector<BlockId> work;
    const auto enter = [&](BlockId block) {
      if (inside_[block] || stops_[block]) return;
      inside_[block] = true;
      work.push_back(block);
    };
    for (const auto& [pause, again] : retries_) enter(again);
    while (!work.empty()) {
      const BlockId block = work.back();
      work.pop_back();
      for (const BlockId next : f_.blocks[block].succs) enter(next);
    }
  }

  BlockId home(BlockId block) {
    while (homes_[block] != block) block = homes_[block] = homes_[homes_[block]];
    return block;
  }

  /// Blocks inside that lead to each other share a loop.
  void join() {
    homes_.resize(f_.blocks.size());
    std::iota(homes_.begin(), homes_.end(), 0u);
    for (BlockId block = 0; block < inside_.size(); ++block)
      for (const BlockId next : f_.blocks[block].succs)
        if (inside_[block] && inside_[next]) homes_[home(block)] = home(next);
  }

  /// A loop around a wait begins its iterations in new rounds.
  void find_beginnings(const NaturalLoop& loop) {
    const bool waits = std::ranges::any_of(retries_, [&](const auto& retry) {
      return std::ranges::find(loop.body, retry.first) != loop.body.end();
    });
    if (!waits || !inside_[loop.header]) return;
    for (const BlockId block : loop.body)
      if (std::ranges::find(f_.blocks[block].succs, loop.header) != f_.blocks[block].succs.end())
        beginnings_.emplace_back(block, loop.header);
  }
  bool begins(BlockId from, BlockId to) const {
    const std::pair edge(from, to);
    return std::ranges::find(retries_, edge) != retries_.end() ||
           std::ranges::find(beginnings_, edge) != beginnings_.end();
  }

  /// Leads the edges over a loop, whose lanes go on where they say.
  void loop_over(const std::vector<Edge>& edges) {
    std::vector<BlockId> targets, outside;
    for (const bool inside : {true, false})
      for (const Edge& edge : edges) {
        if (edge.inside != inside) continue;
        std::vector<BlockId>& list = inside ? targets : outside;
        const BlockId to = f_.blocks[edge.from].succs[edge.successor];
        if (std::ranges::find(list, to) == list.end()) list.push_back(to);
      }
    const auto first = static_cast<std::uint32_t>(targets.size());
    f_.vars.push_back({Type::i32, "goes_on_at"});
    const auto place = static_cast<std::uint32_t>(f_.vars.size() - 1);
    b_.set_loc(0);
    const BlockId head = b_.new_block(), round = b_.new_block(), next = b_.new_block(),
                  out = b_.new_block();
    for (const Edge& edge : edges) {
      const std::vector<BlockId>& list = edge.inside ? targets : outside;
      BlockId& to = f_.blocks[edge.from].succs[edge.successor];
      const auto number = static_cast<std::uint32_t>(std::ranges::find(list, to) - list.begin());
      const BlockId note = b_.new_block();
      f_.blocks[edge.from].succs[edge.successor] = note;
      b_.at(note);
      b_.set(place, b_.i32(edge.inside ? number : first + number));
      b_.br(head);
    }
    b_.at(head);
    const Value here = b_.cmp(Op::ult, b_.get(place), b_.i32(first));
    const Value any = b_.cmp(Op::ne, b_.inst(Op::subgroup_ballot, Type::i32, {here}), b_.i32(0));
    b_.cond_br(b_.op2(Op::or_, here, any), round, out);
    targets.push_back(next);
    branch(round, b_, place, 0, targets);
    b_.at(next);
    b_.br(head);
    branch(out, b_, place, first, outside);
  }

  void branch(BlockId block, Builder& b, std::uint32_t place, std::uint32_t first,
              const std::vector<BlockId>& targets) {
    b.at(block);
    if (targets.empty()) {  // lanes end by traps alone
      b.exit();
      return;
    }
    if (targets.size() == 1) return b.br(targets[0]);
    const Value number = b.op2(Op::sub, b.get(place), b.i32(first));
    f_.blocks[block].term = Term::switch_;
    f_.blocks[block].cond = number;
    f_.blocks[block].succs = targets;
  }

  Function& f_;
  Builder b_;
  std::vector<std::pair<BlockId, BlockId>> retries_, beginnings_;
  std::vector<bool> stops_, inside_;  ///< by block
  std::vector<BlockId> homes_;
};

}  // namespace

void wait_in_rounds(Function& function) { Rounds(function).run(); }

}  // namespace ptx2spv::passes
