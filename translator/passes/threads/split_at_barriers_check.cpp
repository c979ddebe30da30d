// check_sync: what threads that wait for one another do wrong. The faults are noted where the
// workgroup decides who may go on, because a thread that waits for ever never comes to its end.
#include "ptx2spv/abi_sanitizer.hpp"
#include "translator/passes/threads/split_at_barriers.hpp"
#include "translator/passes/threads/warp_lanes.hpp"

namespace ptx2spv::passes::split {

namespace {

AccessKind kind_of(const SyncPoint& point) {
  if (point.warp) return AccessKind::warp_operation;
  return point.yields ? AccessKind::wait : AccessKind::barrier;
}

}  // namespace

/// The sites, and at the end of each thread whether it has done something. Before the threads'
/// state is known, which that belongs to.
void BarrierSplitter::add_sites() {
  std::vector<AccessSite>& sites = checked_->sanitizer.sites;
  first_site_ = static_cast<std::uint32_t>(sites.size());
  for (const SyncPoint& point : points_)
    for (std::uint32_t kind = 0; kind < kSyncFaults; ++kind) {
      AccessSite site;
      site.check = check_sync;
      site.sync = static_cast<SyncFault>(kind);
      site.first_point = first_site_;
      site.kind = kind_of(point);
      site.bytes = 0;
      site.loc = f_.insts[point.inst].loc;
      site.place.line = f_.locs[site.loc].line;
      sites.push_back(std::move(site));
    }
  fault_place_ = var(Type::i64, "fault.place"), fault_low_ = var(Type::i32, "fault.low");
  fault_high_ = var(Type::i32, "fault.high"), missing_ = var(Type::i32, "missing");
  worked_ = var(Type::i32, "has_worked");
  for (BlockId b = 0; b < f_.blocks.size(); ++b) {
    if (f_.blocks[b].term != Term::exit && f_.blocks[b].term != Term::ret) continue;
    b_.at(b);
    b_.set(worked_, log_.worked ? b_.get(log_.worked) : b_.i32(0));
  }
}

Value BarrierSplitter::site_of(std::uint32_t point, SyncFault kind) {
  return b_.i32(first_site_ + point * kSyncFaults + static_cast<std::uint32_t>(kind));
}

/// Of the point at which the thread in turn has stopped.
Value BarrierSplitter::site_here(SyncFault kind) {
  const Value point = b_.op2(Op::sub, b_.get(resume_), b_.i32(2));
  return b_.op2(Op::add, b_.op2(Op::mul, point, b_.i32(kSyncFaults)), site_of(0, kind));
}

/// Counts the fault, and the first thread writes the rest. The builder then stands in a new block.
void BarrierSplitter::note(const Fault& fault) {
  if (!fault.bad) return;
  const BlockId found = b_.new_block(), first = b_.new_block(), out = b_.new_block();
  const Value offset = b_.op2(Op::mul, fault.site, b_.i32(abi::kFaultWords * 4));
  const Value log = b_.load(Type::i64, b_.i32(checked_->sanitizer.words + abi::z_log * 4),
                            {.space = Space::param, .bytes = 8, .readonly = true});
  b_.set(fault_place_, b_.op2(Op::add, log, b_.inst(Op::zext, Type::i64, {offset})));
  b_.set(fault_low_, fault.low);
  b_.set(fault_high_, fault.high);
  branch(fault.bad, found, out);
  b_.at(found);
  const Value before = b_.inst(Op::atomic, Type::i32, {b_.get(fault_place_), b_.i32(1)});
  b_.last(before).mem = {.space = Space::global, .bytes = 4, .atomic = AtomicOp::add};
  branch(b_.cmp(Op::eq, before, b_.i32(0)), first, out);
  b_.at(first);
  const Value place = b_.get(fault_place_);
  const auto put = [&](std::uint32_t word, Value value) {
    b_.store(b_.op2(Op::add, place, b_.i64(word * 4)), value, {.space = Space::global, .bytes = 4});
  };
  put(abi::f_known, b_.i32(1));
  put(abi::f_address, b_.get(fault_low_));
  put(abi::f_address + 1, b_.get(fault_high_));
  const std::array<Value, 3> tid = coordinates();
  for (unsigned axis = 0; axis < 3; ++axis) {
    put(abi::f_ctaid + axis, block_number(axis));
    put(abi::f_tid + axis, tid[axis]);
  }
  b_.br(out);
  b_.at(out);
}

/// i1: the thread in turn has stopped at one of the points that `has` names.
template <typename Has>
Value BarrierSplitter::stopped_at(Has&& has) {
  std::vector<std::uint32_t> yes, no;
  for (std::uint32_t i = 0; i < points_.size(); ++i)
    if (points_[i].stops) (has(points_[i]) ? yes : no).push_back(2 + i);
  const bool fewer = yes.size() <= no.size();
  Value among = b_.i1(false);
  for (const std::uint32_t number : fewer ? yes : no)
    among = b_.op2(Op::or_, among, b_.cmp(Op::eq, b_.get(resume_), b_.i32(number)));
  return fewer ? among : b_.op2(Op::xor_, among, b_.i1(true));
}

Value BarrierSplitter::at_named_members() {
  return stopped_at([&](const SyncPoint& p) { return p.warp && f_.insts[p.inst].object != 0; });
}

/// What a thread that arrives does wrong by itself. The operands are values of its block, in which
/// the builder stands and stays.
BarrierSplitter::Fault BarrierSplitter::arrival_fault(const SyncPoint& point,
                                                      std::uint32_t number) {
  if (point.yields) return {};
  if (!point.warp) return count_fault(point, number);
  const Value members = warp::members(f_, point.inst);
  if (f_.insts[point.inst].object == 0 || !members) return {};
  const Value own = b_.op2(Op::and_, members, lane_bit());
  return {b_.cmp(Op::eq, own, b_.i32(0)), site_of(number, SyncFault::missing_lanes), members,
          b_.i32(0)};
}

BarrierSplitter::Fault BarrierSplitter::count_fault(const SyncPoint& point, std::uint32_t number) {
  const Inst inst = f_.insts[point.inst];
  const Value id = f_.arg(point.inst, 0);
  const Value all = b_.get(count_);
  const bool counted = inst.count > 1 && !(f_.insts[f_.arg(point.inst, 1)].op == Op::constant &&
                                           f_.insts[f_.arg(point.inst, 1)].imm == 0 && point.stops);
  const Value count = counted ? f_.arg(point.inst, 1) : all;
  const auto reason = [&](CountFault fault) { return b_.i32(static_cast<std::uint32_t>(fault)); };
  Value bad = b_.i1(false), why = b_.i32(0), what = count;
  const auto add = [&](Value wrong, CountFault fault, Value subject) {
    bad = b_.op2(Op::or_, bad, wrong);
    why = b_.select(wrong, reason(fault), why);
    what = b_.select(wrong, subject, what);
  };
  // Threads that name no count wait for all of the block.
  const Value index =
      barrier_index_.empty()
          ? b_.op2(Op::and_, id, b_.i32(15))
          : b_.i32(barrier_index_.at(static_cast<std::uint32_t>(f_.insts[id].imm & 15)));
  const Value wanted = b_.select(b_.cmp(Op::eq, count, b_.i32(0)), all, count);
  const Value before = atomic(AtomicOp::exch, barrier_word(index, w_named), wanted);
  add(b_.op2(Op::and_, b_.cmp(Op::ne, before, b_.i32(0)), b_.cmp(Op::ne, before, wanted)),
      CountFault::other_threads, count);
  if (counted) {
    if (!point.stops) add(b_.cmp(Op::eq, count, b_.i32(0)), CountFault::arrive_zero, count);
    add(b_.cmp(Op::ult, all, count), CountFault::above_block, count);
    add(b_.cmp(Op::ne, b_.op2(Op::and_, count, b_.i32(31)), b_.i32(0)), CountFault::no_multiple,
        count);
  }
  add(b_.cmp(Op::ult, b_.i32(15), id), CountFault::number, id);
  return {bad, site_of(number, SyncFault::barrier_count), why, what};
}

/// A thread that has done nothing, and ends, has left what it is not part of. Any other one should
/// have come along.
void BarrierSplitter::check_end() {
  const Value worked = b_.get(worked_);
  atomic(AtomicOp::add, shared_at(ended_, b_.i32(0)), worked);
  atomic(AtomicOp::or_, shared_at(strayed_, warp()), b_.op2(Op::shl, worked, lane()));
}

/// Threads whose barriers opened in this round: the agent has decided, and nobody runs.
void BarrierSplitter::check_opened() {
  if (barrier_ids_ == 0) return;
  b_.inst(Op::control_barrier, Type::none, {});
  const auto one = [&] {
    set_thread();
    for (const std::uint32_t v : {resume_, operand_, operand2_, key_}) restore(v);
    check_opened_thread();
  };
  if (per_invocation_ == 1)
    one();
  else
    loop(iteration_, per_invocation_, one);
}

void BarrierSplitter::check_opened_thread() {
  const BlockId opened = b_.new_block(), done = b_.new_block();
  const Value at_barrier = b_.op2(Op::and_, b_.cmp(Op::ne, b_.get(resume_), b_.i32(kDone)),
                                  b_.cmp(Op::eq, b_.get(key_), b_.i32(kAtBarrier)));
  const Value index = b_.select(at_barrier, b_.get(operand_), b_.i32(0));
  const Value passed = b_.cmp(Op::ne, read(barrier_word(index, w_phase)), b_.get(operand2_));
  branch(b_.op2(Op::and_, at_barrier, passed), opened, done);
  b_.at(opened);
  const Value left = read(shared_at(ended_, b_.i32(0)));
  const Value whole = stopped_at([&](const SyncPoint& p) {
    if (p.warp || p.yields) return false;
    const Inst& inst = f_.insts[p.inst];
    if (inst.count == 1) return true;
    const Inst& count = f_.insts[f_.arg(p.inst, 1)];
    return count.op == Op::constant && count.imm == 0;
  });
  note({b_.op2(Op::and_, b_.cmp(Op::ne, left, b_.i32(0)), whole),
        site_here(SyncFault::missed_barrier), read(barrier_word(b_.get(operand_), w_last_count)),
        left});
  // The warp's first thread that has not ended stands for the others.
  const Value gone = b_.inst(Op::not_, Type::i32, {read(shared_at(gone_, warp()))});
  const Value leader = warp::Lanes(b_).leader(b_.op2(Op::and_, existing_lanes(), gone));
  const Value first = b_.op2(Op::add, b_.op2(Op::and_, thread(), b_.i32(~31u)), leader);
  const Value where = read(shared_at(where_, first));
  const Value aligned = stopped_at(
      [&](const SyncPoint& p) { return !p.warp && !p.yields && f_.insts[p.inst].object != 0; });
  note({b_.op2(Op::and_, b_.cmp(Op::ne, where, b_.get(resume_)), aligned),
        site_here(SyncFault::divergent_barrier), b_.op2(Op::sub, where, b_.i32(2)), first});
  b_.br(done);
  b_.at(done);
}

/// The registers of the thread's fault log.
std::vector<std::uint32_t> BarrierSplitter::fault_variables() const {
  std::vector<std::uint32_t> all = log_.masks;
  if (log_.any) all.push_back(*log_.any);
  for (const FaultLog::Group& group : log_.groups)
    all.insert(all.end(), {group.site, group.address});
  all.insert(all.end(), log_.others.begin(), log_.others.end());
  return all;
}

/// Of a thread that waits for ever, and so has no end at which it could write its log.
void BarrierSplitter::write_own_log() {
  if (log_.sites == 0) return;
  const BlockId waits = b_.new_block(), out = b_.new_block();
  branch(b_.cmp(Op::ne, b_.get(resume_), b_.i32(kDone)), waits, out);
  b_.at(waits);
  for (const std::uint32_t v : fault_variables()) restore(v);
  write_fault_log(b_, log_, [&] {
    std::vector<Value> ids;
    for (unsigned axis = 0; axis < 3; ++axis) ids.push_back(block_number(axis));
    for (const Value id : coordinates()) ids.push_back(id);
    return ids;
  });
  b_.br(out);
  b_.at(out);
}

/// Nobody can go on: each thread that has not ended waits for ever.
void BarrierSplitter::check_stalled() {
  const auto one = [&] {
    set_thread();
    for (const std::uint32_t v : {resume_, operand_, key_}) restore(v);
    Value arrived = b_.i32(0), wanted = b_.i32(0);
    if (barrier_ids_) {
      const Value at_barrier = b_.cmp(Op::eq, b_.get(key_), b_.i32(kAtBarrier));
      const Value index = b_.select(at_barrier, b_.get(operand_), b_.i32(0));
      const Value expected = read(barrier_word(index, w_expected));
      const Value living = b_.op2(Op::sub, b_.get(count_), read(shared_at(done_, block())));
      const Value all = b_.select(b_.cmp(Op::eq, expected, b_.i32(0)), living, expected);
      arrived = b_.select(at_barrier, read(barrier_word(index, w_arrived)), arrived);
      wanted = b_.select(at_barrier, all, wanted);
    }
    note({b_.cmp(Op::ne, b_.get(resume_), b_.i32(kDone)), site_here(SyncFault::endless_wait),
          arrived, wanted});
    write_own_log();
  };
  if (per_invocation_ == 1)
    one();
  else
    loop(iteration_, per_invocation_, one);
}

/// Of a warp operation that is resolved without some of its members.
void BarrierSplitter::check_missing_lanes() {
  const Value strayed = b_.op2(Op::and_, read(shared_at(strayed_, warp())), b_.get(mask_));
  const Value missing = b_.op2(Op::or_, b_.get(missing_), strayed);
  const Value some = b_.cmp(Op::ne, missing, b_.i32(0));
  note({b_.op2(Op::and_, some, at_named_members()), site_here(SyncFault::missing_lanes),
        b_.get(mask_), missing});
}

/// Whether the members that are at the same operation name the same members.
void BarrierSplitter::check_members(Value present) {
  b_.set(result0_, present);
  b_.set(accumulator_, b_.get(mask_));
  loop(lane_counter_, 32, [&] {
    const Value l = b_.get(lane_counter_);
    const Value first = b_.op2(Op::and_, thread(), b_.i32(~31u));
    const Value theirs = read(shared_at(members_, b_.op2(Op::add, first, l)));
    const Value here = warp::Lanes(b_).has(b_.get(result0_), l);
    const Value differs = b_.op2(Op::and_, here, b_.cmp(Op::ne, theirs, b_.get(mask_)));
    b_.set(accumulator_, b_.select(differs, theirs, b_.get(accumulator_)));
  });
  const Value other = b_.get(accumulator_);
  note({b_.op2(Op::and_, b_.cmp(Op::ne, other, b_.get(mask_)), at_named_members()),
        site_here(SyncFault::other_members), b_.get(mask_), other});
}

/// Of a shuffle that reads `lane`.
void BarrierSplitter::check_source(Value present, Value lane) {
  const Value there = warp::Lanes(b_).has(present, lane);
  note({b_.op2(Op::and_, b_.inst(Op::xor_, Type::i1, {there, b_.i1(true)}), at_named_members()),
        site_here(SyncFault::undefined_lane), present, lane});
}

}  // namespace ptx2spv::passes::split
