// Warp operations of split_at_barriers where the device's subgroups are warps. Each round of a warp
// ends with all its lanes together, those of ended threads too: they vote on who waits for what,
// and results come by the subgroup's own operations. No memory is shared, and a warp meets the rest
// of its block at barriers alone.
#include "translator/passes/subgroups.hpp"
#include "translator/passes/threads/split_at_barriers.hpp"
#include "translator/passes/threads/warp_lanes.hpp"

namespace ptx2spv::passes::split {

Value BarrierSplitter::ballot(Value truth) {
  return b_.inst(Op::subgroup_ballot, Type::i32, {truth}, apart_);
}

/// What lane `lane` has in a variable.
Value BarrierSplitter::from_lane(std::uint32_t var, Value lane) {
  return b_.inst(Op::subgroup_shuffle, Type::i32, {b_.get(var), lane}, apart_);
}

/// Whether the thread has not ended and is at no place where it waits.
Value BarrierSplitter::goes_on() {
  return b_.op2(Op::and_, b_.cmp(Op::ne, b_.get(resume_), b_.i32(kDone)),
                b_.cmp(Op::ne, b_.get(ready_), b_.i32(0)));
}

/// Where all members that have not ended come by together, which is the rule, they go on at once
/// with what the others have. Whoever is alone stops as elsewhere: who is here decides for itself
/// and for all that are here.
void BarrierSplitter::resolve_at_once(const SyncPoint& point) {
  const WarpKind& kind = kinds_[point.kind];
  const bool once = kind.op == Op::warp_shfl || kind.op == Op::warp_vote ||
                    kind.op == Op::warp_elect || kind.op == Op::warp_sync;
  if (!once) return;
  apart_ = kLanesApart;
  const Value here = ballot(b_.i1(true));
  const Value wanted = b_.op2(Op::and_, b_.get(mask_), b_.get(living_));
  const Value present = b_.op2(Op::or_, b_.op2(Op::and_, here, b_.get(mask_)), lane_bit());
  resolve_kind(kind, present);
  apart_ = 0;
  if (kind.op == Op::warp_sync) b_.inst(Op::memory_barrier, Type::none, {}, 0);
  const BlockId stop = b_.new_block();
  const Value missing = b_.op2(Op::and_, wanted, b_.inst(Op::not_, Type::i32, {here}));
  branch(b_.cmp(Op::eq, missing, b_.i32(0)), point.after, stop);
  b_.at(stop);
}

// The groups that wait for the same operation, one after the other. All lanes take the same way.
void BarrierSplitter::resolve_in_subgroup() {
  b_.inst(Op::subgroup_barrier, Type::none, {}, 1);
  const Value living = ballot(b_.cmp(Op::ne, b_.get(resume_), b_.i32(kDone)));
  const Value waits = b_.op2(Op::and_, b_.cmp(Op::ne, b_.get(resume_), b_.i32(kDone)),
                             b_.op2(Op::and_, b_.cmp(Op::eq, b_.get(ready_), b_.i32(0)),
                                    b_.cmp(Op::ne, b_.get(key_), b_.i32(kAtBarrier))));
  b_.set(living_, living);
  b_.set(left_, ballot(waits));
  const BlockId head = b_.new_block(), body = b_.new_block(), out = b_.new_block();
  b_.br(head);
  b_.at(head);
  branch(b_.cmp(Op::ne, b_.get(left_), b_.i32(0)), body, out);
  b_.at(body);
  warp::Lanes lanes(b_);
  const Value leader = lanes.leader(b_.get(left_));
  b_.set(group_key_, from_lane(key_, leader));
  const Value mine = b_.op2(Op::and_, lanes.has(b_.get(left_), lane()),
                            b_.cmp(Op::eq, b_.get(key_), b_.get(group_key_)));
  b_.set(group_, ballot(mine));
  for (std::uint32_t k = 0; k < kinds_.size(); ++k) {
    const BlockId each = b_.new_block(), next = b_.new_block();
    branch(b_.cmp(Op::eq, b_.op2(Op::lshr, b_.get(group_key_), b_.i32(16)), b_.i32(k)), each, next);
    b_.at(each);
    resolve_group(kinds_[k]);
    b_.br(next);
    b_.at(next);
  }
  const Value others = b_.inst(Op::not_, Type::i32, {b_.get(group_)});
  b_.set(left_, b_.op2(Op::and_, b_.get(left_), others));
  b_.br(head);
  b_.at(out);
}

void BarrierSplitter::resolve_group(const WarpKind& kind) {
  const Value group = b_.get(group_), others = b_.inst(Op::not_, Type::i32, {group});
  const Value missing = b_.op2(Op::and_, b_.op2(Op::and_, b_.get(mask_), b_.get(living_)), others);
  // activemask waits for nobody.
  Value complete = b_.op2(Op::or_, b_.cmp(Op::eq, missing, b_.i32(0)),
                          b_.cmp(Op::ne, b_.get(force_), b_.i32(0)));
  if (kind.op == Op::warp_active) complete = b_.i1(true);
  b_.set(taken_, b_.inst(Op::zext, Type::i32,
                         {b_.op2(Op::and_, complete, warp::Lanes(b_).has(group, lane()))}));
  b_.set(present_, b_.op2(Op::or_, b_.op2(Op::and_, group, b_.get(mask_)), lane_bit()));
  b_.set(waiting_[0], b_.get(result0_));
  b_.set(waiting_[1], b_.get(result1_));
  resolve_kind(kind, b_.get(present_));
  const Value takes = b_.cmp(Op::ne, b_.get(taken_), b_.i32(0));
  b_.set(result0_, b_.select(takes, b_.get(result0_), b_.get(waiting_[0])));
  b_.set(result1_, b_.select(takes, b_.get(result1_), b_.get(waiting_[1])));
  b_.set(ready_, b_.select(takes, b_.i32(1), b_.get(ready_)));
}

// A warp goes on by itself as long as some of its threads can. Where none can, the block decides,
// or where it has no barriers the warp operations are resolved with the lanes that are there.
void BarrierSplitter::emit_end_of_warp_round(BlockId rounds) {
  resolve_in_subgroup();
  const BlockId more = b_.new_block(), stuck = b_.new_block();
  branch(b_.cmp(Op::ne, ballot(goes_on()), b_.i32(0)), more, stuck);
  b_.at(more);
  if (barrier_ids_) b_.set(moved_on_, b_.i32(1));
  b_.set(force_, b_.i32(0));
  b_.br(rounds);
  b_.at(stuck);
  if (barrier_ids_) {
    const BlockId moved = b_.new_block(), meet = b_.new_block();
    branch(b_.cmp(Op::ne, b_.get(moved_on_), b_.i32(0)), moved, meet);
    b_.at(moved);
    write(shared_at(progress_, b_.get(slot_)), b_.i32(1));
    b_.set(moved_on_, b_.i32(0));
    b_.br(meet);
    b_.at(meet);
    const BlockId waiting = b_.new_block(), all = b_.new_block();
    branch(b_.cmp(Op::ne, b_.get(resume_), b_.i32(kDone)), waiting, all);
    b_.at(waiting);
    write(shared_at(alive_, b_.get(slot_)), b_.i32(1));
    b_.br(all);
    b_.at(all);
    return emit_end_of_round(rounds);
  }
  const BlockId again = b_.new_block(), out = b_.new_block();
  f_.blocks[out].term = Term::exit;
  branch(b_.cmp(Op::ne, b_.get(living_), b_.i32(0)), again, out);
  b_.at(again);
  b_.set(force_, b_.i32(1));
  b_.br(rounds);
}

}  // namespace ptx2spv::passes::split
