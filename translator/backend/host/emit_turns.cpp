// Barriers of a block, and loops that wait: the warp saves what it needs later, its turn ends, and
// its next one begins behind them.
#include <algorithm>
#include <cstddef>

#include "translator/backend/host/emit.hpp"
#include "translator/backend/host/places.hpp"

namespace ptx2spv::interpreter::llvm {

void Emitter::find_stops() {
  const ir::StructuredLoops& nest = shape_.nest();
  stop_within_.assign(nest.loops.size(), false);
  for (const BlockId b : f_.order)
    for (const Value v : f_.blocks[b].insts) {
      if (!is_barrier(f_.insts[v].op) && f_.insts[v].op != Op::yield) continue;
      stops_.push_back(v);
      for (std::uint32_t l = nest.innermost[b]; l != nest.kNone; l = nest.loops[l].parent)
        stop_within_[l] = true;
    }
  needed_ = needed_after(f_, f_.order, stops_);
  needed_anywhere_.assign(f_.insts.size(), false);
  for (const std::vector<Value>& values : needed_)
    for (const Value v : values) needed_anywhere_[v] = true;
  read_in_turns_.assign(f_.insts.size(), false);
  for (const BlockId b : f_.order) {
    const ir::Block& block = f_.blocks[b];
    for (const Value v : block.insts)
      for (unsigned i = 0; i < f_.insts[v].count; ++i)
        if (!between_stops(f_.insts[v].op == Op::phi ? block.preds[i] : b))
          read_in_turns_[f_.arg(v, i)] = true;
    if (!between_stops(b)) read_in_turns_[block.cond] = true;
  }
}

/// Not in a loop without a stop, which might come by many times in a turn.
bool Emitter::between_stops(BlockId b) const {
  const std::uint32_t loop = shape_.nest().innermost[b];
  return loop == ir::StructuredLoops::kNone || stop_within_[loop];
}

bool Emitter::is_set_between_stops(Value v) const {
  const BlockId home = shape_.home(v);
  if (f_.insts[v].op != Op::phi) return between_stops(home);
  return std::ranges::all_of(f_.blocks[home].preds, [&](BlockId b) { return between_stops(b); });
}

Emitter::Variable Emitter::variable(Value v, LLVMTypeRef t) {
  Variable made{nullptr, t};
  if (needed_anywhere_[v]) {
    keep(made);
    made.at_once = is_set_between_stops(v);
  }
  if (!made.at_once || read_in_turns_[v]) made.home = alloca_of(t);
  return made;
}

/// Gives it a place to be saved at, where vectors lie well.
void Emitter::keep(Variable& of) {
  constexpr std::uint32_t kLine = 64;
  of.at = saved_bytes_;
  const std::uint32_t lines = of.type == b_.vector(b_.i64) ? b_.lanes * 8 : b_.lanes * 4;
  saved_bytes_ += (lines + kLine - 1) / kLine * kLine;
}

LLVMValueRef Emitter::get(const Variable& from) {
  return from.home ? b_.load(from.type, from.home) : saved(from);
}

void Emitter::set(const Variable& to, LLVMValueRef value) {
  if (to.home) b_.store(value, to.home);
  if (to.at_once) save(to, value);
}

void Emitter::save(const Variable& from, LLVMValueRef value) {
  if (from.type == b_.mask_type) value = b_.bits(value);
  if (from.type == b_.i1) value = b_.cast(op_zext, value, b_.i32);
  b_.store_at(value, b_.op(op_add, saved_, b_.c64(from.at)));
}

LLVMValueRef Emitter::saved(const Variable& of) {
  const bool mask = of.type == b_.mask_type, bit = of.type == b_.i1;
  LLVMValueRef value =
      b_.load_at(mask || bit ? b_.i32 : of.type, b_.op(op_add, saved_, b_.c64(of.at)));
  if (mask) return b_.from_bits(value);
  return bit ? b_.cast(op_trunc, value, b_.i1) : value;
}

/// The address of a word of the warp's turn.
LLVMValueRef Emitter::of_turn(std::size_t offset) { return b_.op(op_add, turn_, b_.c64(offset)); }

/// Goes on where the warp's last turn ended, unless it waits.
void Emitter::begin_turn(LLVMValueRef number) {
  LLVMValueRef wide = b_.cast(op_zext, number, b_.i64);
  turn_ = b_.op(op_add, field(offsetof(Frame, turns), b_.i64),
                b_.op(op_mul, wide, b_.c64(sizeof(Turn))));
  LLVMValueRef apart = b_.cast(op_zext, field(offsetof(Frame, saved_apart), b_.i32), b_.i64);
  saved_ = b_.op(op_add, field(offsetof(Frame, saved), b_.i64), b_.op(op_mul, wide, apart));
  LLVMValueRef goes_on = b_.load_at(b_.i32, of_turn(offsetof(Turn, goes_on)));
  LLVMValueRef from = b_.load_at(b_.i32, of_turn(offsetof(Turn, from)));
  LLVMValueRef met = b_.load(b_.i32, met_);
  LLVMBasicBlockRef runs = b_.block(), waits = b_.block();
  b_.l.BuildCondBr(b_.b, b_.icmp(int_ne, b_.op(op_or, goes_on, met), b_.c32(0)), runs, waits);
  b_.at(waits);
  b_.store(b_.c32(0), meeting_);
  b_.l.BuildBr(b_.b, next_warp_);
  for (std::size_t i = 0; i < stops_.size(); ++i) {
    b_.at(runs);
    runs = b_.block();
    behind_.push_back(b_.block());
    b_.l.BuildCondBr(b_.b, b_.icmp(int_eq, from, b_.c32(i + 1)), behind_[i], runs);
  }
  b_.at(runs);
  b_.l.BuildBr(b_.b, bodies_[0]);
  b_.at(warp_over_);
  b_.store_at(b_.c32(0), of_turn(offsetof(Turn, goes_on)));
  b_.store_at(b_.c32(0), of_turn(offsetof(Turn, came)));
  b_.l.BuildBr(b_.b, waits);
}

/// Where all warps have met at one barrier, and none has ended, all go on at once.
void Emitter::end_round(LLVMBasicBlockRef again) {
  LLVMValueRef met = b_.load(b_.i32, meeting_);
  b_.store(met, met_);
  LLVMBasicBlockRef on = b_.block();
  b_.l.BuildCondBr(b_.b, b_.icmp(int_ne, met, b_.c32(0)), on, next_block_);
  b_.at(on);
  back(again);
}

/// What lanes need behind a stop, and where others of the warp wait meanwhile.
std::vector<Emitter::Variable> Emitter::kept_at(std::size_t stop) {
  std::vector<Variable> kept;
  for (const Value v : needed_[stop])
    for (const auto& variables : {homes_[v].part, homes_[v].lanes})
      for (unsigned i = 0; i < 4 && variables[i].type; ++i) kept.push_back(variables[i]);
  const std::uint32_t here = shape_.place(current_);
  for (std::uint32_t p = here + 1; p < shape_.places() && !shape_.alone(here); ++p) {
    if (!shape_.waits(p)) continue;
    const auto [found, added] = waiting_.try_emplace(p, Variable{in_[p], b_.mask_type});
    if (added) keep(found->second);
    kept.push_back(found->second);
  }
  return kept;
}

/// Of the whole block, and of a number that is known.
bool Emitter::is_plain(Value barrier) const {
  const ir::Inst& inst = f_.insts[barrier];
  if (inst.op == Op::control_barrier) return true;
  return inst.op == Op::bar_sync && static_cast<ir::BarKind>(inst.imm) == ir::BarKind::sync &&
         inst.count == 1 && f_.insts[f_.arg(barrier, 0)].op == Op::constant;
}

void Emitter::end_turn(Value v, LLVMValueRef barrier, LLVMValueRef expected, LLVMValueRef votes) {
  const auto stop = static_cast<std::size_t>(std::ranges::find(stops_, v) - stops_.begin());
  LLVMValueRef came = b_.intrinsic("llvm.ctpop", {b_.i32}, {mask_bits()});
  LLVMValueRef meeting = b_.c32(0);
  if (is_plain(v)) {
    LLVMValueRef here = b_.c32(stop + 1);
    LLVMValueRef live = b_.load_at(b_.i32, of_turn(offsetof(Turn, live)));
    LLVMValueRef first = b_.icmp(int_eq, b_.load(b_.i32, warp_), b_.c32(0));
    LLVMValueRef same = b_.op(op_or, first, b_.icmp(int_eq, b_.load(b_.i32, meeting_), here));
    same = b_.op(op_and, same, b_.icmp(int_eq, came, live));
    meeting = b_.select(same, here, meeting);
  }
  b_.store(meeting, meeting_);
  const std::pair<std::size_t, LLVMValueRef> words[] = {
      {offsetof(Turn, goes_on), b_.c32(0)},
      {offsetof(Turn, from), b_.c32(stop + 1)},
      {offsetof(Turn, lanes), mask_bits()},
      {offsetof(Turn, came), came},
      {offsetof(Turn, step), b_.c32(steps_[v])},
      {offsetof(Turn, barrier), barrier},
      {offsetof(Turn, expected), expected},
      {offsetof(Turn, votes), b_.intrinsic("llvm.ctpop", {b_.i32}, {votes})}};
  for (const auto& [offset, word] : words) b_.store_at(word, of_turn(offset));
  const std::vector<Variable> kept = kept_at(stop);
  for (const Variable& each : kept)
    if (!each.at_once) save(each, b_.load(each.type, each.home));
  b_.l.BuildBr(b_.b, next_warp_);
  b_.at(behind_[stop]);
  for (const Variable& each : kept)
    if (each.home) b_.store(saved(each), each.home);
  known_.clear();
  if (!has_all_lanes(shape_.place(current_)))
    mask_ = b_.from_bits(b_.load_at(b_.i32, of_turn(offsetof(Turn, lanes))));
}

bool Emitter::meet(Value v) {
  const ir::Inst& inst = f_.insts[v];
  LLVMValueRef barrier = b_.c32(0), expected = b_.c32(0), votes = b_.c32(0);
  if (inst.op == Op::bar_sync) {
    if (!value(f_.arg(v, 0)).uniform) return fail(inst);
    barrier = scalar(f_.arg(v, 0));
    if (inst.count > 1) {
      if (!value(f_.arg(v, 1)).uniform) return fail(inst);
      expected = scalar(f_.arg(v, 1));
    }
    if (inst.count > 2) {
      LLVMValueRef vote = wide(f_.arg(v, 2));
      if (f_.insts[f_.arg(v, 2)].type != Type::i1)
        vote = b_.icmp(int_ne, vote, b_.l.ConstNull(b_.l.TypeOf(vote)));
      votes = b_.bits(b_.op(op_and, vote, mask_));
    }
  }
  end_turn(v, barrier, expected, votes);
  if (inst.type == Type::none) return true;
  LLVMValueRef result = b_.load_at(b_.i32, of_turn(offsetof(Turn, result)));
  define(v, {.part = {result}, .parts = 1, .uniform = true});
  return true;
}

}  // namespace ptx2spv::interpreter::llvm
