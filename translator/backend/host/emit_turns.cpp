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
}

/// Not in a loop without a stop, which might set it many times in a turn.
bool Emitter::is_set_between_stops(Value v) const {
  const auto between = [&](BlockId b) {
    const std::uint32_t loop = shape_.nest().innermost[b];
    return loop == ir::StructuredLoops::kNone || stop_within_[loop];
  };
  const BlockId home = shape_.home(v);
  if (f_.insts[v].op != Op::phi) return between(home);
  return std::ranges::all_of(f_.blocks[home].preds, between);
}

Emitter::Variable Emitter::variable(Value v, LLVMTypeRef t) {
  Variable made{alloca_of(t), t};
  if (!needed_anywhere_[v]) return made;
  keep(made);
  made.at_once = is_set_between_stops(v);
  return made;
}

/// Gives it a place to be saved at, where vectors lie well.
void Emitter::keep(Variable& of) {
  constexpr std::uint32_t kLine = 64;
  of.at = saved_bytes_;
  const std::uint32_t lines = of.type == b_.vector(b_.i64) ? b_.lanes * 8 : b_.lanes * 4;
  saved_bytes_ += (lines + kLine - 1) / kLine * kLine;
}

void Emitter::set(const Variable& to, LLVMValueRef value) {
  b_.store(value, to.home);
  if (to.at_once) save(to, value);
}

void Emitter::save(const Variable& from, LLVMValueRef value) {
  if (from.type == b_.mask_type) value = b_.bits(value);
  if (from.type == b_.i1) value = b_.cast(op_zext, value, b_.i32);
  b_.store_at(value, b_.op(op_add, saved_, b_.c64(from.at)));
}

void Emitter::restore(const Variable& to) {
  const bool mask = to.type == b_.mask_type, bit = to.type == b_.i1;
  LLVMValueRef value =
      b_.load_at(mask || bit ? b_.i32 : to.type, b_.op(op_add, saved_, b_.c64(to.at)));
  if (mask) value = b_.from_bits(value);
  if (bit) value = b_.cast(op_trunc, value, b_.i1);
  b_.store(value, to.home);
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
  LLVMBasicBlockRef runs = b_.block();
  b_.l.BuildCondBr(b_.b, b_.icmp(int_ne, goes_on, b_.c32(0)), runs, next_warp_);
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
  b_.l.BuildBr(b_.b, next_warp_);
}

/// What lanes need behind a stop, and where others of the warp wait meanwhile.
std::vector<Emitter::Variable> Emitter::kept_at(std::size_t stop) {
  std::vector<Variable> kept;
  for (const Value v : needed_[stop])
    for (const auto& variables : {homes_[v].part, homes_[v].lanes})
      for (unsigned i = 0; i < 4 && variables[i].home; ++i) kept.push_back(variables[i]);
  const std::uint32_t here = shape_.place(current_);
  for (std::uint32_t p = here + 1; p < shape_.places() && !shape_.alone(here); ++p) {
    if (!shape_.waits(p)) continue;
    const auto [found, added] = waiting_.try_emplace(p, Variable{in_[p], b_.mask_type});
    if (added) keep(found->second);
    kept.push_back(found->second);
  }
  return kept;
}

void Emitter::end_turn(Value v, LLVMValueRef barrier, LLVMValueRef expected, LLVMValueRef votes) {
  const auto stop = static_cast<std::size_t>(std::ranges::find(stops_, v) - stops_.begin());
  const std::pair<std::size_t, LLVMValueRef> words[] = {
      {offsetof(Turn, goes_on), b_.c32(0)},
      {offsetof(Turn, from), b_.c32(stop + 1)},
      {offsetof(Turn, lanes), mask_bits()},
      {offsetof(Turn, came), b_.intrinsic("llvm.ctpop", {b_.i32}, {mask_bits()})},
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
  for (const Variable& each : kept) restore(each);
  known_.clear();
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
