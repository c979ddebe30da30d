// Barriers and warp operations of split_at_barriers. Threads announce themselves in shared memory
// while they run. Between the two barriers at a round's end the workgroup decides which threads may
// continue, and warp operations get their results.
#include "translator/passes/threads/expand_products.hpp"
#include "translator/passes/threads/spin_loops.hpp"
#include "translator/passes/threads/split_at_barriers.hpp"
#include "translator/passes/threads/warp_lanes.hpp"

namespace ptx2spv::passes::split {

Value BarrierSplitter::shared_at(std::uint32_t word, Value index) {
  Value at = b_.op2(Op::shl, index, b_.i32(2));
  at = b_.op2(Op::add, at, b_.i32(word * 4 + (f_.uses_dynamic_shared ? 0 : shared_offset_)));
  return f_.uses_dynamic_shared ? b_.op2(Op::add, at, b_.get(base_)) : at;
}

Value BarrierSplitter::read(Value address) {
  return b_.load(Type::i32, address, {.space = Space::shared, .bytes = 4});
}
void BarrierSplitter::write(Value address, Value value) {
  b_.store(address, value, {.space = Space::shared, .bytes = 4});
}

Value BarrierSplitter::atomic(AtomicOp op, Value address, Value value) {
  const Value old = b_.inst(Op::atomic, Type::i32, {address, value});
  f_.insts[old].mem = {.space = Space::shared, .bytes = 4, .atomic = op};
  return old;
}

Value BarrierSplitter::keyed(std::uint32_t base, Value key) {
  return shared_at(base, b_.op2(Op::add, b_.op2(Op::mul, key, b_.i32(warp_count_)), warp()));
}

Value BarrierSplitter::barrier_word(Value index, std::uint32_t word) {
  return shared_at(barriers_ + word,
                   b_.op2(Op::mul, index, b_.i32(checked_ ? kCheckedBarrierWords : kBarrierWords)));
}

void BarrierSplitter::lay_out_shared() {
  const std::uint32_t threads = invocations_ * per_invocation_;
  warp_count_ = (threads + 31) / 32;
  bool dynamic_ids = false;
  for (SyncPoint& point : points_) {
    const Inst& inst = f_.insts[point.inst];
    if (point.yields) continue;
    if (!point.warp) {
      const Inst& id = f_.insts[f_.arg(point.inst, 0)];
      if (id.op == Op::constant)
        barrier_index_.emplace(id.imm & 15, barrier_index_.size());
      else
        dynamic_ids = true;
      continue;
    }
    WarpKind kind{inst.op, inst.imm, false};
    if (inst.op == Op::warp_match) kind.wide = f_.insts[f_.arg(point.inst, 0)].type == Type::i64;
    warp_wide_ = warp_wide_ || kind.wide;
    votes_ = votes_ || inst.op == Op::warp_vote;
    exchanges_ = exchanges_ || inst.op == Op::warp_shfl || inst.op == Op::warp_match ||
                 inst.op == Op::warp_redux;
    std::uint32_t k = 0;
    while (k < kinds_.size() && !(kinds_[k] == kind)) ++k;
    if (k == kinds_.size()) kinds_.push_back(kind);
    point.kind = k;
    point.key = keys_++;
  }
  // Points of a kind share their arrival masks when there would be too many. Without such masks the
  // low half of a thread's key is the limit.
  constexpr std::uint32_t kMostKeyWords = 1024, kMostKeys = 0xffff;
  if (keys_ > (subgroups_ ? kMostKeys : kMostKeyWords / warp_count_)) {
    for (SyncPoint& point : points_)
      if (point.warp) point.key = point.kind;
    keys_ = static_cast<std::uint32_t>(kinds_.size());
  }
  if (dynamic_ids) barrier_index_.clear();
  barrier_ids_ = dynamic_ids ? 16 : static_cast<std::uint32_t>(barrier_index_.size());

  barriers_ = done_ + blocks_;
  std::uint32_t at =
      barriers_ +
      (simple() ? 0 : blocks_ * barrier_ids_ * (checked_ ? kCheckedBarrierWords : kBarrierWords));
  const auto take = [&](std::uint32_t words) {
    at += words;
    return at - words;
  };
  moved_ = take(yields_ ? 3 : 0);
  waits_in_ = take(yields_ ? 1 : 0);
  if (!block_meets()) at = 0;
  const bool share = !subgroups_;
  gone_ = take((warps_ && share) || checked_ ? warp_count_ : 0);
  ended_ = take(checked_ ? 1 : 0);
  strayed_ = take(checked_ ? warp_count_ : 0);
  arrived_ = take(share ? keys_ * warp_count_ : 0);
  voted_ = take(votes_ && share ? keys_ * warp_count_ : 0);
  control_words_ = at;
  exchange_ = take(exchanges_ && share ? warp_count_ * 32 : 0);
  exchange_high_ = take(warp_wide_ && share ? warp_count_ * 32 : 0);
  factors_ = take(factor_words_ * warp_count_ * 32);
  where_ = take(checked_ ? threads : 0);
  members_ = take(checked_ && warps_ ? threads : 0);
  shared_offset_ = (f_.shared_bytes + 3) & ~3u;
  f_.shared_bytes = shared_offset_ + at * 4;
}

void BarrierSplitter::arrive_at_barrier(const SyncPoint& point) {
  const Inst inst = f_.insts[point.inst];
  const BarKind kind = static_cast<BarKind>(inst.imm);
  const Value id = f_.arg(point.inst, 0);
  const Value index =
      of_block(barrier_index_.empty()
                   ? b_.op2(Op::and_, id, b_.i32(15))
                   : b_.i32(barrier_index_.at(static_cast<std::uint32_t>(f_.insts[id].imm & 15))));
  const Value expected = inst.count > 1 ? f_.arg(point.inst, 1) : b_.i32(0);
  write(barrier_word(index, w_expected), expected);
  atomic(AtomicOp::add, barrier_word(index, w_arrived), b_.i32(1));
  if (kind == BarKind::red_popc || kind == BarKind::red_and || kind == BarKind::red_or)
    atomic(AtomicOp::add, barrier_word(index, w_sum), f_.arg(point.inst, 2));
  if (!point.stops) return;
  b_.set(operand_, index);
  b_.set(operand2_, read(barrier_word(index, w_phase)));
  b_.set(key_, b_.i32(kAtBarrier));
  b_.set(ready_, b_.i32(0));
}

/// Notes in variables what the thread waits for and what it offers.
void BarrierSplitter::arrive_at_warp(const SyncPoint& point) {
  const Inst inst = f_.insts[point.inst];
  const auto arg = [&](unsigned i) { return f_.arg(point.inst, i); };
  Value members = b_.i32(0xffffffffu);
  const auto offer = [&](Value value) {
    const bool wide = f_.insts[value].type == Type::i64;
    b_.set(value_[0], wide ? b_.inst(Op::trunc, Type::i32, {value}) : value);
    if (wide) b_.set(value_[1], b_.inst(Op::high, Type::i32, {value}));
  };
  switch (inst.op) {
    case Op::warp_shfl:
      offer(arg(0));
      b_.set(operand_, arg(1));
      b_.set(operand2_, arg(2));
      members = arg(3);
      break;
    case Op::warp_vote:
      offer(b_.inst(Op::zext, Type::i32, {arg(0)}));
      members = arg(1);
      break;
    case Op::warp_match:
    case Op::warp_redux:
      offer(arg(0));
      members = arg(1);
      break;
    case Op::warp_sync:
    case Op::warp_elect: members = arg(0); break;
    case Op::warp_product: {
      const auto operands = f_.args(point.inst);
      members = operands.back();
      offer_factors(WarpProduct::of(inst.imm), {operands.begin(), operands.end()});
      break;
    }
    default: break;
  }
  b_.set(mask_, members);
  if (checked_) write(shared_at(members_, thread()), members);
  b_.set(key_, b_.i32(point.key | point.kind << 16));
  b_.set(ready_, b_.i32(0));
}

/// Tells the warp, for whatever operation the thread stopped at: once for all points, because
/// atomics are long on CPU drivers.
void BarrierSplitter::announce_at_warp() {
  if (exchanges_) write(shared_at(exchange_, thread()), b_.get(value_[0]));
  if (warp_wide_) write(shared_at(exchange_high_, thread()), b_.get(value_[1]));
  const Value key = b_.op2(Op::and_, b_.get(key_), b_.i32(0xffff));
  atomic(AtomicOp::or_, keyed(arrived_, key), lane_bit());
  if (!votes_) return;
  const BlockId vote = b_.new_block(), out = b_.new_block();
  Value is_vote = b_.i1(false);
  for (std::uint32_t k = 0; k < kinds_.size(); ++k)
    if (kinds_[k].op == Op::warp_vote) is_vote = b_.op2(Op::or_, is_vote, waits_at_kind(k));
  branch(b_.op2(Op::and_, is_vote, b_.cmp(Op::ne, b_.get(value_[0]), b_.i32(0))), vote, out);
  b_.at(vote);
  const Value voted = keyed(voted_, b_.op2(Op::and_, b_.get(key_), b_.i32(0xffff)));
  atomic(AtomicOp::or_, voted, lane_bit());
  b_.br(out);
  b_.at(out);
}

Value BarrierSplitter::waits_at_kind(std::uint32_t kind) {
  return b_.cmp(Op::eq, b_.op2(Op::lshr, b_.get(key_), b_.i32(16)), b_.i32(kind));
}

/// The thread waits for nothing but the end of the round. Warp operations are not resolved without
/// it: what the others store meanwhile may end its loop.
void BarrierSplitter::give_way(const SyncPoint& point) {
  write(shared_at(waits_in_, b_.i32(0)),
        b_.i32(static_cast<std::uint32_t>(f_.insts[point.inst].imm >> kYieldSite)));
  b_.set(key_, b_.i32(0));
  b_.set(ready_, b_.i32(1));
  write(shared_at(progress_, b_.get(slot_)), b_.i32(1));
}

/// In kernels that yield: this round is none of waiting alone.
void BarrierSplitter::mark_progress() {
  if (yields_) write(shared_at(moved_, b_.get(slot_)), b_.i32(1));
}

void BarrierSplitter::replace_progress() {
  for (BlockId b = 0, end = static_cast<BlockId>(f_.blocks.size()); b < end; ++b) {
    const std::vector<Value> old = std::move(f_.blocks[b].insts);
    f_.blocks[b].insts.clear();
    b_.at(b);
    for (const Value v : old) {
      if (f_.insts[v].op == Op::progress)
        mark_progress();
      else
        f_.blocks[b].insts.push_back(v);
    }
  }
}

/// Whether threads have done nothing but yield and wait for idle_rounds_ rounds: what they wait for
/// never comes, or takes a thread as many polls.
Value BarrierSplitter::idle_too_long(Value slot, Value cleared) {
  const Value moved = b_.cmp(Op::ne, read(shared_at(moved_, slot)), b_.i32(0));
  write(shared_at(moved_, cleared), b_.i32(0));
  const Value idle = b_.select(moved, b_.i32(0), b_.op2(Op::add, b_.get(idle_), b_.i32(1)));
  b_.set(idle_, idle);
  if (idle_rounds_ == 0) return b_.i1(false);
  return b_.cmp(Op::ult, b_.i32(idle_rounds_), idle);
}

/// A thread that goes on from a warp operation takes back what it announced there. One that goes on
/// from elsewhere has announced nothing.
void BarrierSplitter::leave_warp() {
  if (!warps_ || subgroups_) return;
  Value key = b_.op2(Op::and_, b_.get(key_), b_.i32(0xffff));
  if (barrier_ids_)
    key = b_.select(b_.cmp(Op::eq, b_.get(key_), b_.i32(kAtBarrier)), b_.i32(0), key);
  const Value others = b_.inst(Op::not_, Type::i32, {lane_bit()});
  atomic(AtomicOp::and_, keyed(arrived_, key), others);
  if (votes_) atomic(AtomicOp::and_, keyed(voted_, key), others);
}

/// For a living thread: whether its barrier has opened or its warp operation is resolved.
Value BarrierSplitter::may_go_on() {
  const Value ready = b_.cmp(Op::ne, b_.get(ready_), b_.i32(0));
  if (barrier_ids_ == 0) return ready;
  const Value at_barrier = b_.cmp(Op::eq, b_.get(key_), b_.i32(kAtBarrier));
  const Value index = b_.select(at_barrier, b_.get(operand_), b_.i32(0));
  const Value opened = b_.cmp(Op::ne, read(barrier_word(index, w_phase)), b_.get(operand2_));
  return b_.inst(Op::select, Type::i1, {at_barrier, opened, ready});
}

// The first invocation opens the barriers at which enough threads have arrived.
void BarrierSplitter::emit_agent() {
  if (barrier_ids_ == 0) return;
  const BlockId agent = b_.new_block(), out = b_.new_block();
  branch(b_.cmp(Op::eq, b_.builtin(Builtin::local_index), b_.i32(0)), agent, out);
  b_.at(agent);
  loop(lane_counter_, blocks_ * barrier_ids_, [&] {
    const Value index = b_.get(lane_counter_);
    const Value arrived = read(barrier_word(index, w_arrived)),
                expected = read(barrier_word(index, w_expected));
    const Value owner = blocks_ == 1 ? b_.i32(0) : b_.op2(Op::udiv, index, b_.i32(barrier_ids_));
    const Value living = b_.op2(Op::sub, b_.get(count_), read(shared_at(done_, owner)));
    const Value wanted = b_.select(b_.cmp(Op::eq, expected, b_.i32(0)), living, expected);
    const Value opens =
        b_.op2(Op::and_, b_.cmp(Op::ne, arrived, b_.i32(0)), b_.cmp(Op::ule, wanted, arrived));
    const BlockId open = b_.new_block(), next = b_.new_block();
    branch(opens, open, next);
    b_.at(open);
    const Value again = b_.get(lane_counter_);
    write(barrier_word(again, w_last_count), read(barrier_word(again, w_arrived)));
    write(barrier_word(again, w_last_sum), read(barrier_word(again, w_sum)));
    write(barrier_word(again, w_sum), b_.i32(0));
    write(barrier_word(again, w_arrived), b_.i32(0));
    if (checked_) write(barrier_word(again, w_named), b_.i32(0));
    write(barrier_word(again, w_phase),
          b_.op2(Op::add, read(barrier_word(again, w_phase)), b_.i32(1)));
    write(shared_at(progress_, b_.get(slot_)), b_.i32(1));
    mark_progress();
    b_.br(next);
    b_.at(next);
  });
  b_.br(out);
  b_.at(out);
}

/// The warp's lanes that the block has.
Value BarrierSplitter::existing_lanes() {
  const Value left = b_.op2(Op::sub, b_.get(count_), b_.op2(Op::and_, local(), b_.i32(~31u)));
  const Value lanes = b_.op2(Op::umin, left, b_.i32(32));
  return b_.op2(Op::sub, b_.op2(Op::shl, b_.i32(1), lanes), b_.i32(1));
}

void BarrierSplitter::emit_resolve() {
  const auto one = [&] {
    set_thread();
    for (const std::uint32_t v : {resume_, ready_, mask_, operand_, operand2_, key_}) restore(v);
    if (factor_words_)
      for (const std::uint32_t v : results()) restore(v);
    const BlockId done = b_.new_block();
    resolve_thread(done);
    b_.at(done);
  };
  if (per_invocation_ == 1)
    one();
  else
    loop(iteration_, per_invocation_, one);
}

void BarrierSplitter::resolve_thread(BlockId done) {
  const BlockId waiting = b_.new_block(), complete = b_.new_block();
  const Value waits = b_.op2(Op::and_, b_.cmp(Op::ne, b_.get(resume_), b_.i32(kDone)),
                             b_.op2(Op::and_, b_.cmp(Op::eq, b_.get(ready_), b_.i32(0)),
                                    b_.cmp(Op::ne, b_.get(key_), b_.i32(kAtBarrier))));
  branch(waits, waiting, done);
  b_.at(waiting);
  const auto present_lanes = [&] {
    const Value key = b_.op2(Op::and_, b_.get(key_), b_.i32(0xffff));
    return b_.op2(Op::or_, b_.op2(Op::and_, read(keyed(arrived_, key)), b_.get(mask_)), lane_bit());
  };
  // Lanes of the block's last warp that do not exist, and lanes that have ended, are not waited
  // for.
  const Value existing = existing_lanes();
  const Value accounted = b_.op2(Op::or_, present_lanes(), read(shared_at(gone_, warp())));
  const Value missing = b_.op2(Op::and_, b_.op2(Op::and_, b_.get(mask_), existing),
                               b_.inst(Op::not_, Type::i32, {accounted}));
  if (checked_) b_.set(missing_, missing);
  Value all_here = b_.op2(Op::or_, b_.cmp(Op::eq, missing, b_.i32(0)),
                          b_.cmp(Op::ne, b_.get(force_), b_.i32(0)));
  // activemask waits for nobody: its answer is who came along in this round.
  for (std::uint32_t k = 0; k < kinds_.size(); ++k)
    if (kinds_[k].op == Op::warp_active) all_here = b_.op2(Op::or_, all_here, waits_at_kind(k));
  branch(all_here, complete, done);
  b_.at(complete);
  if (checked_) {
    check_missing_lanes();
    check_members(present_lanes());
  }
  b_.set(ready_, b_.i32(1));
  save(ready_);
  write(shared_at(progress_, b_.get(slot_)), b_.i32(1));
  mark_progress();
  const BlockId store = b_.new_block();
  for (std::uint32_t k = 0; k < kinds_.size(); ++k) {
    const BlockId mine = b_.new_block();
    const bool last = k + 1 == kinds_.size();
    const BlockId other = last ? mine : b_.new_block();
    if (last)
      b_.br(mine);
    else
      branch(waits_at_kind(k), mine, other);
    b_.at(mine);
    resolve_kind(kinds_[k], present_lanes());
    b_.br(store);
    if (!last) b_.at(other);
  }
  b_.at(store);
  for (const std::uint32_t v : results()) save(v);
  b_.br(done);
}

/// What a lane of the thread's warp offers to the operation in work.
Value BarrierSplitter::exchanged(bool high, Value lane) {
  if (subgroups_) return from_lane(value_[high], lane);
  const Value warp_base = b_.op2(Op::and_, thread(), b_.i32(~31u));
  return read(shared_at(high ? exchange_high_ : exchange_, b_.op2(Op::add, warp_base, lane)));
}

void BarrierSplitter::resolve_kind(const WarpKind& kind, Value present) {
  warp::Lanes lanes(b_);
  switch (kind.op) {
    case Op::warp_shfl: {
      const auto source = lanes.source(static_cast<ShflMode>(kind.mode), lane(), b_.get(operand_),
                                       b_.get(operand2_));
      const Value theirs = exchanged(false, source.lane);
      b_.set(result0_, lanes.shuffled(present, source.lane, theirs));
      b_.set(result1_, lanes.flag(source.inside));
      if (checked_) check_source(present, source.lane);
      break;
    }
    case Op::warp_match:
    case Op::warp_redux: over_lanes(kind, present); break;
    case Op::warp_vote: {
      const Value key = b_.op2(Op::and_, b_.get(key_), b_.i32(0xffff));
      const Value all = subgroups_ ? ballot(b_.cmp(Op::ne, b_.get(value_[0]), b_.i32(0)))
                                   : read(keyed(voted_, key));
      // A thread that its own mask lacks has no vote.
      const Value voters = b_.op2(Op::and_, present, b_.get(mask_));
      const Value votes = b_.op2(Op::and_, all, voters);
      b_.set(result0_, lanes.vote(static_cast<VoteMode>(kind.mode), votes, voters));
      break;
    }
    case Op::warp_active: b_.set(result0_, present); break;
    case Op::warp_elect: {
      const Value leader = lanes.leader(present);
      b_.set(result0_, leader);
      b_.set(result1_, lanes.flag(b_.cmp(Op::eq, leader, lane())));
      break;
    }
    case Op::warp_product: multiply(WarpProduct::of(kind.mode), present); break;
    default: break;
  }
}

std::vector<std::uint32_t> BarrierSplitter::results() const {
  if (!factor_words_) return {result0_, result1_};
  return {result0_, result1_, result2_, result3_};
}

/// Factors and metadata go to shared memory, where a thread has a word in each array of them; sums
/// stay the thread's.
void BarrierSplitter::offer_factors(const WarpProduct& form, const std::vector<Value>& operands) {
  std::uint32_t word = 0, sum = 0;
  const auto offer = [&](unsigned operand, Value part) {
    if (operand >= form.sums_at() && operand < form.metadata_at())
      b_.set(results()[sum++], part);
    else
      write(shared_at(factors_ + word++ * warp_count_ * 32, thread()), part);
  };
  for (unsigned i = 0; i + 1 < operands.size(); ++i) {
    const bool wide = f_.insts[operands[i]].type == Type::i64;
    offer(i, wide ? b_.inst(Op::trunc, Type::i32, {operands[i]}) : operands[i]);
    if (wide) offer(i, b_.inst(Op::high, Type::i32, {operands[i]}));
  }
}

void BarrierSplitter::multiply(const WarpProduct& form, Value present) {
  warp::Lanes lanes(b_);
  const std::uint32_t wide = form.x == WarpProduct::Element::f64 ? 2 : 1;
  const Value base = b_.op2(Op::and_, thread(), b_.i32(~31u));
  const auto word = [&](std::uint32_t number, Value lane) {
    const std::uint32_t at = factors_ + number * warp_count_ * 32;
    return lanes.shuffled(present, lane, read(shared_at(at, b_.op2(Op::add, base, lane))));
  };
  const auto from_lane = [&](unsigned operand, Value lane) {
    if (operand >= form.metadata_at()) return word(wide * form.sums_at(), lane);
    if (wide == 1) return word(operand, lane);
    const Value low = word(2 * operand, lane);
    return b_.inst(Op::pack, Type::i64, {low, word(2 * operand + 1, lane)});
  };
  std::vector<Value> operands(form.operands());
  for (unsigned i = 0; i < form.sum_registers(); ++i) {
    Value sum = b_.get(results()[wide * i]);
    if (wide == 2) sum = b_.inst(Op::pack, Type::i64, {sum, b_.get(results()[2 * i + 1])});
    operands[form.sums_at() + i] = sum;
  }
  const Value all = ProductBuilder(b_, module_, form, operands, lane(), from_lane).run();
  for (unsigned i = 0; i < (form.result() == Type::v4 ? 4u : 2u); ++i)
    b_.set(results()[i], b_.inst(Op::extract, Type::i32, {all}, i));
}

// Matches and reductions look at the members one after the other.
void BarrierSplitter::over_lanes(const WarpKind& kind, Value present) {
  const bool match = kind.op == Op::warp_match;
  const warp::Reduction each =
      match ? warp::Reduction{Op::or_, 0} : warp::reduction(static_cast<AtomicOp>(kind.mode));
  b_.set(accumulator_, b_.i32(each.identity));
  b_.set(result0_, present);
  loop(lane_counter_, 32, [&] {
    const Value l = b_.get(lane_counter_), sum = b_.get(accumulator_);
    const Value value = exchanged(false, l);
    const Value member = b_.op2(Op::and_, b_.op2(Op::lshr, b_.get(result0_), l), b_.i32(1));
    if (match) {
      Value same = b_.cmp(Op::eq, value, exchanged(false, lane()));
      if (kind.wide)
        same = b_.op2(Op::and_, same, b_.cmp(Op::eq, exchanged(true, l), exchanged(true, lane())));
      const Value bit = b_.op2(Op::shl, b_.select(same, member, b_.i32(0)), l);
      b_.set(accumulator_, b_.op2(Op::or_, sum, bit));
    } else {
      b_.set(accumulator_,
             b_.select(b_.cmp(Op::ne, member, b_.i32(0)), b_.op2(each.op, sum, value), sum));
    }
  });
  if (!match) return b_.set(result0_, b_.get(accumulator_));
  const Value both = warp::Lanes(b_).match(static_cast<MatchMode>(kind.mode), b_.get(accumulator_),
                                           b_.get(result0_));
  b_.set(result0_, b_.inst(Op::extract, Type::i32, {both}, 0));
  b_.set(result1_, b_.inst(Op::extract, Type::i32, {both}, 1));
}

}  // namespace ptx2spv::passes::split
