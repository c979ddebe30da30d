// Which code of a kernel with plain barriers is common to a block, and which belongs to each
// thread.
#include <algorithm>
#include <numeric>

#include "translator/ir/cfg.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/threads/thread_coarsening.hpp"
#include "translator/passes/threads/warp_lanes.hpp"

namespace ptx2spv::passes::coarse {

using namespace ir;

bool is_launch_word(const Inst& inst) {
  return inst.op == Op::load && (inst.mem.space == Space::push || inst.mem.space == Space::param);
}

namespace {

/// Effects that other threads or the host can see; the trap record has no reader in the launch.
bool is_visible(const Inst& inst) {
  if (inst.op == Op::image_store || inst.op == Op::image_atomic) return true;
  return is_access(inst.op) && inst.op != Op::load && inst.mem.space != Space::trap &&
         inst.mem.space != Space::local;
}

/// What each thread has to do itself, even where its operands are the same for all.
bool acts(const Inst& inst) {
  if (is_barrier(inst.op)) return false;
  const unsigned flags = info(inst.op).flags;
  return (flags & (flag::W | flag::C)) != 0 ||
         (inst.op == Op::load && inst.mem.space == Space::local);
}

}  // namespace

Plan::Plan(const Function& function, Module& module, const BlockOptions& options)
    : f(function),
      warps(options.warps),
      scope_(options.warps ? Scope::of_warp(options.block) : Scope{}) {
  check_operations();
  if (refusal_.empty()) structure(module);
  if (refusal_.empty()) find_guards();
  if (!refusal_.empty()) return;
  const Uniformity uniformity(f, early_, scope_);
  find_pieces(uniformity);
  if (!refusal_.empty()) return;
  find_own(uniformity);
  find_risks();
}

void Plan::check_operations() {
  bool meets = false;
  for (const Block& block : f.blocks)
    for (const Value v : block.insts) {
      const Inst& inst = f.insts[v];
      const bool together = warps && is_warp_operation(inst.op);
      meets = meets || is_barrier(inst.op) || together;
      if (inst.op == Op::bar_sync &&
          (inst.imm != static_cast<std::uint64_t>(BarKind::sync) || inst.count > 1))
        return refuse("a barrier that not all threads wait at");
      if (inst.op == Op::yield) return refuse("a wait for other threads' stores");
      if (inst.op >= Op::warp_shfl && inst.op <= Op::subgroup_ballot && !together)
        return refuse("a warp operation");
    }
  if (!meets) refuse("no barrier");
}

void Plan::structure(Module& module) {
  structurize(f, module);
  if (too_many_exits(f)) return refuse("too many exits of a loop");
  ssa(f, module);
  simplify(f, module);

  reached_.assign(f.blocks.size(), false);
  for (const BlockId b : reverse_postorder(f, false)) reached_[b] = true;
  place_.assign(f.blocks.size(), kNone);
  for (const BlockId b : f.order) {
    if (!reached_[b]) continue;
    place_[b] = static_cast<std::uint32_t>(order.size());
    order.push_back(b);
  }
  const StructuredLoops loops(f, f.order);
  in_loop.assign(f.blocks.size(), false);
  for (const BlockId b : order) in_loop[b] = loops.innermost[b] != StructuredLoops::kNone;
  piece_of.assign(f.blocks.size(), kNone);
  guard_of.assign(f.blocks.size(), kNone);
}

bool Plan::has_barrier(BlockId block) const {
  return std::any_of(f.blocks[block].insts.begin(), f.blocks[block].insts.end(),
                     [&](Value v) { return is_barrier(f.insts[v].op); });
}

bool Plan::has_warp_operation(BlockId block) const {
  return warps && std::ranges::any_of(f.blocks[block].insts,
                                      [&](Value v) { return is_warp_operation(f.insts[v].op); });
}

// Each round finds the outermost branch that keeps some threads of a block from a barrier, or some
// threads of a warp from a warp operation.
void Plan::find_guards() {
  constexpr std::size_t kMost = 64;
  for (;;) {
    const Uniformity of_block(f, early_), of_warp(f, early_, scope_);
    const auto missed = [&](BlockId b) {
      return (of_block.divergent_block(b) && has_barrier(b)) ||
             (of_warp.divergent_block(b) && has_warp_operation(b));
    };
    const auto late = std::find_if(order.begin(), order.end(), missed);
    if (late == order.end()) break;
    const Uniformity& uniformity =
        of_block.divergent_block(*late) && has_barrier(*late) ? of_block : of_warp;
    bool added = false;
    for (auto b = order.begin(); b != late && !added; ++b) {
      const Block& block = f.blocks[*b];
      if (block.term != Term::cond_br || block.merge != Merge::selection ||
          uniformity.divergent_block(*b) || !uniformity.divergent(block.cond))
        continue;
      const std::uint32_t merge = place_[block.merge_block];
      if (merge != kNone && merge <= place_[*late]) continue;
      added = add_guard(*b);
      if (!added) break;
    }
    if (!added || guards.size() > kMost) return refuse("barriers that not all threads reach");
  }
  // Branches of warps may have been found before those of the block around them.
  std::vector<std::uint32_t> by_place(guards.size());
  std::iota(by_place.begin(), by_place.end(), 0u);
  std::ranges::sort(by_place, {}, [&](std::uint32_t g) { return place_[guards[g].head]; });
  for (const std::uint32_t g : by_place)
    for (const BlockId b : inside_[g]) guard_of[b] = g;
}

/// Whether nothing that others could see happens from the block to the thread's end.
bool Plan::quiet_from(BlockId block) const {
  const std::vector<BlockId> rest = blocks_until(f, block, kNoBlock);
  return std::none_of(rest.begin(), rest.end(), [&](BlockId b) {
    return has_warp_operation(b) || std::ranges::any_of(f.blocks[b].insts, [&](Value v) {
             return is_barrier(f.insts[v].op) || is_visible(f.insts[v]);
           });
  });
}

// Threads that leave count as arrived at every later barrier, so they have to be done with all that
// others can see: with their arm, behind which nothing of that kind may follow. Warp operations
// wait for nobody who cannot come any more. Outside of loops those are all who are not there, so
// threads that leave may come back behind the operations.
bool Plan::add_guard(BlockId head) {
  const Block& block = f.blocks[head];
  Guard guard{.head = head, .merge = block.merge_block};
  std::vector<BlockId> arms[2];
  bool barriers[2] = {}, meets[2] = {};
  std::vector<char> side(f.blocks.size(), 0);
  for (unsigned i = 0; i < 2; ++i) {
    arms[i] = blocks_until(f, block.succs[i], guard.merge);
    for (const BlockId b : arms[i]) {
      if (b == head || side[b]) return false;
      side[b] = static_cast<char>(1 + i);
      barriers[i] = barriers[i] || has_barrier(b);
      meets[i] = meets[i] || has_barrier(b) || has_warp_operation(b);
      if (f.blocks[b].term == Term::exit) return false;
    }
  }
  if (meets[0] == meets[1]) return false;
  guard.barriers = barriers[0] || barriers[1];
  for (unsigned i = 0; i < 2; ++i)
    for (const BlockId b : arms[i])
      for (const BlockId p : f.blocks[b].preds)
        if (reached_[p] && p != head && side[p] != side[b]) return false;
  if (!reached_[guard.merge]) return false;
  if ((guard.barriers || in_loop[head]) && !quiet_from(guard.merge)) return false;
  for (const BlockId p : f.blocks[guard.merge].preds)
    if (reached_[p] && p != head && !side[p]) return false;
  const unsigned in = meets[0] ? 0 : 1;
  guard.inside = block.succs[in];
  guard.inside_if = in == 0;
  early_.heads.push_back(head);
  early_.arms.insert(early_.arms.end(), arms[1 - in].begin(), arms[1 - in].end());
  guards.push_back(guard);
  inside_.push_back(std::move(arms[in]));
  exit_arms_.push_back(std::move(arms[1 - in]));
  return true;
}

void Plan::find_pieces(const Uniformity& uniformity) {
  std::vector<std::uint32_t> arm_of(f.blocks.size(), kNone);
  for (std::uint32_t g = 0; g < guards.size(); ++g)
    for (const BlockId b : exit_arms_[g])
      if (arm_of[b] == kNone) arm_of[b] = g;
  std::vector<Piece> runs;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const BlockId b = order[i];
    if (!uniformity.divergent_block(b)) continue;
    const bool more =
        i > 0 && uniformity.divergent_block(order[i - 1]) && arm_of[order[i - 1]] == arm_of[b];
    if (!more) runs.emplace_back();
    runs.back().blocks.push_back(b);
    piece_of[b] = static_cast<std::uint32_t>(runs.size() - 1);
  }
  pieces = std::move(runs);
  for (Piece& piece : pieces) close(piece, uniformity);
  if (!refusal_.empty()) return;
  std::vector<bool> guarded(f.blocks.size());
  for (std::uint32_t g = 0; g < guards.size(); ++g) {
    guarded[guards[g].head] = true;
    if (exit_arms_[g].empty()) continue;
    guards[g].arm = piece_of[exit_arms_[g][0]];
    const Piece& piece = pieces[guards[g].arm];
    if (piece.head != guards[g].head || piece.exit != guards[g].merge ||
        piece.blocks.size() != exit_arms_[g].size())
      return refuse("threads that leave by several ways");
  }
  // A branch that tells threads apart leads into a piece, or is a guard's.
  std::vector<bool> leads(f.blocks.size());
  for (const Piece& piece : pieces)
    if (piece.head != kNoBlock) leads[piece.head] = true;
  for (const BlockId b : order) {
    if (piece_of[b] != kNone) continue;
    const Block& block = f.blocks[b];
    if (block.term == Term::cond_br && uniformity.divergent(block.cond) && !leads[b] && !guarded[b])
      return refuse("a branch with nothing of its own");
    if (block.term == Term::switch_ || block.term == Term::ret) return refuse("a switch");
  }
}

// One entry, one exit.
void Plan::close(Piece& piece, const Uniformity& uniformity) {
  const std::uint32_t self = piece_of[piece.blocks[0]];
  const auto out = [&](BlockId to) {
    if (piece_of[to] == self) return;
    if (piece.exit != kNoBlock && piece.exit != to) refuse("several exits of a branch");
    if (piece_of[to] != kNone) refuse("a branch into another one");
    piece.exit = to;
  };
  bool plain_entry = false;
  for (const BlockId b : piece.blocks) {
    const Block& block = f.blocks[b];
    if (block.term == Term::exit || block.term == Term::ret) refuse("an end in a branch");
    if (has_barrier(b) || has_warp_operation(b)) refuse("a barrier in a branch");
    for (const BlockId s : block.succs) out(s);
    for (const BlockId p : block.preds) {
      if (!reached_[p] || piece_of[p] == self) continue;
      if (piece_of[p] != kNone) return refuse("a branch into another one");
      const Block& from = f.blocks[p];
      const bool splits = from.term == Term::cond_br && uniformity.divergent(from.cond);
      if (splits) {
        if (piece.head != kNoBlock && piece.head != p) refuse("several ways into a branch");
        piece.head = p;
      } else {
        plain_entry = true;
        if (b != piece.blocks[0]) refuse("several ways into a branch");
      }
    }
  }
  if (piece.head != kNoBlock) {
    if (plain_entry) refuse("several ways into a branch");
    const bool guard = std::any_of(guards.begin(), guards.end(),
                                   [&](const Guard& g) { return g.head == piece.head; });
    if (!guard)
      for (const BlockId s : f.blocks[piece.head].succs) out(s);
  }
  if (piece.exit == kNoBlock) refuse("threads that never leave a branch");
}

void Plan::find_own(const Uniformity& uniformity) {
  own.assign(f.insts.size(), false);
  for (const BlockId b : order) {
    const auto& preds = f.blocks[b].preds;
    const bool joins = std::any_of(preds.begin(), preds.end(),
                                   [&](BlockId p) { return reached_[p] && piece_of[p] != kNone; });
    for (const Value v : f.blocks[b].insts) {
      const Inst& inst = f.insts[v];
      const bool does = acts(inst) && !is_warp_operation(inst.op);
      own[v] =
          piece_of[b] != kNone || uniformity.divergent(v) || does || (joins && inst.op == Op::phi);
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const BlockId b : order)
      for (const Value v : f.blocks[b].insts) {
        if (own[v] || is_barrier(f.insts[v].op) || uniformity.whole_warps(v)) continue;
        // What a vote gives follows from its mask.
        const bool now =
            is_warp_operation(f.insts[v].op)
                ? own[warp::members(f, v)]
                : std::any_of(f.args(v).begin(), f.args(v).end(), [&](Value a) { return own[a]; });
        own[v] = now;
        changed = changed || now;
      }
  }
  for (const BlockId b : order) {
    const Block& block = f.blocks[b];
    if (piece_of[b] == kNone && block.term == Term::cond_br && own[block.cond] &&
        !uniformity.divergent(block.cond))
      return refuse("a common branch by what threads computed apart");
  }
}

// Where no thread of a block stays, its invocations still go through what the threads have in
// common: a load may fault there, a loop need not end.
void Plan::find_risks() {
  for (std::uint32_t g = 0; g < guards.size(); ++g)
    for (const BlockId b : inside_[g]) {
      if (piece_of[b] != kNone) continue;
      if (f.blocks[b].merge == Merge::loop) guards[g].risky = true;
      for (const Value v : f.blocks[b].insts) {
        const Inst& inst = f.insts[v];
        if (!own[v] && !is_barrier(inst.op) && (info(inst.op).flags & flag::R) &&
            !is_launch_word(inst))
          guards[g].risky = true;
      }
    }
}

}  // namespace ptx2spv::passes::coarse
