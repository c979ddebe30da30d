// The loops over blocks and warps, the values, and what handlers do.
#include "translator/backend/host/emit.hpp"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "translator/backend/host/debug_lines.hpp"
#include "translator/ir/names.hpp"

namespace ptx2spv::interpreter::llvm {

Emitter::Emitter(Build& build, const ir::Function& function, const Program& program,
                 const std::vector<std::uint32_t>& steps, const Shape& shape, Kind kind)
    : b_(build), f_(function), program_(program), steps_(steps), shape_(shape), kind_(kind) {}

Emitter::~Emitter() = default;

bool Emitter::fail(const ir::Inst& inst) {
  if (problem_.empty())
    problem_ = fmt::format("operation {} is not compiled", ir::info(inst.op).name);
  return false;
}

bool Emitter::run() {
  find_nan_readers();
  used_.assign(f_.insts.size(), false);
  for (const BlockId b : f_.order)
    for (const Value v : f_.blocks[b].insts)
      for (const Value a : f_.args(v)) used_[a] = true;
  for (const BlockId b : f_.order) used_[f_.blocks[b].cond] = true;
  find_stops();
  begin();
  for (std::uint32_t i = 0; i < shape_.places() && problem_.empty(); ++i) block(i);
  end_warps();
  if (lines_) lines_->finish();
  return problem_.empty();
}

LLVMTypeRef Emitter::type(Type t, bool uniform) const {
  LLVMTypeRef one = t == Type::i1 ? b_.i1 : t == Type::i64 ? b_.i64 : b_.i32;
  return uniform ? one : b_.vector(one);
}

LLVMValueRef Emitter::alloca_of(LLVMTypeRef t) { return b_.l.BuildAlloca(allocas_, t, ""); }

/// Memory for a value that other blocks read; LLVM makes registers of it.
void Emitter::reserve(Value v) {
  const ir::Inst& inst = f_.insts[v];
  const bool constant = inst.op == Op::constant || inst.op == Op::undef;
  if (constant || inst.type == Type::none) return;
  if (inst.op != Op::phi && !shape_.crosses(v) && !shape_.escapes(v) && !needed_anywhere_[v])
    return;
  Home& home = homes_[v];
  const bool uniform = shape_.uniform(v);
  const unsigned parts = inst.type == Type::v2 ? 2 : inst.type == Type::v4 ? 4 : 1;
  for (unsigned i = 0; i < parts; ++i) {
    home.part[i] = variable(v, type(inst.type, uniform));
    if (uniform && shape_.escapes(v)) home.lanes[i] = variable(v, type(inst.type, false));
  }
}

LLVMValueRef Emitter::field(std::size_t offset, LLVMTypeRef t, bool invariant) {
  return b_.load_at(t, b_.op(op_add, frame_, b_.c64(offset)), invariant);
}

void Emitter::begin() {
  const Api& l = b_.l;
  LLVMTypeRef parameters[] = {b_.i64, b_.i64, b_.i64, b_.i32, b_.i32};
  b_.function = l.AddFunction(b_.module, code_name(program_).c_str(),
                              l.FunctionType(b_.i32, parameters, 5, 0));
  if (!program_.name.empty())
    lines_ = std::make_unique<DebugLines>(b_, program_, f_.locs.size() > 1 ? f_.locs[1].line : 1);
  const std::string width = std::to_string(b_.lanes >= 16 ? 512 : b_.lanes * 32);
  for (const char* name : {"prefer-vector-width", "min-legal-vector-width"})
    l.AddAttributeAtIndex(
        b_.function, kFunctionIndex,
        l.CreateStringAttribute(b_.context, name,
                                static_cast<unsigned>(std::char_traits<char>::length(name)),
                                width.data(), static_cast<unsigned>(width.size())));
  const auto parameter = [&](unsigned i) { return l.GetParam(b_.function, i); };
  entry_ = b_.block();
  allocas_ = l.CreateBuilderInContext(b_.context);
  l.PositionBuilderAtEnd(allocas_, entry_);
  LLVMBasicBlockRef blocks = b_.block(), block = b_.block(), warps = b_.block(), warp = b_.block();
  all_over_ = b_.block();
  next_block_ = b_.block();
  next_warp_ = b_.block();
  warp_over_ = stops_.empty() ? next_warp_ : b_.block();
  stopped_ = b_.block();
  for (std::uint32_t i = 0; i < shape_.places(); ++i) {
    bodies_.push_back(b_.block());
    tests_.push_back(nullptr);
    in_.push_back(alloca_of(b_.mask_type));
  }
  for (const BlockId b : f_.order)
    for (const Value v : f_.blocks[b].insts) reserve(v);
  for (LLVMValueRef& each : scratch_) each = alloca_of(b_.vector(b_.i64));
  LLVMValueRef at = alloca_of(b_.i64);
  warp_ = alloca_of(b_.i32);
  for (LLVMValueRef& each : number_) each = alloca_of(b_.i32);
  for (LLVMValueRef* each : {&met_, &meeting_}) *each = alloca_of(b_.i32);
  // Fields are read where they are needed; LLVM reads each once.
  frame_ = parameter(0);

  LLVMBasicBlockRef start = b_.block();
  l.BuildBr(allocas_, start);
  l.DisposeBuilder(allocas_);
  allocas_ = nullptr;
  b_.at(start);
  b_.store(parameter(1), at);
  l.BuildBr(b_.b, blocks);

  b_.at(blocks);
  LLVMValueRef n = b_.load(b_.i64, at);
  l.BuildCondBr(b_.b, b_.icmp(int_ult, n, parameter(2)), block, all_over_);
  b_.at(stopped_);
  l.BuildRet(b_.b, b_.c32(kStopped));
  b_.at(next_block_);
  b_.store(b_.op(op_add, b_.load(b_.i64, at), b_.c64(1)), at);
  l.BuildBr(b_.b, blocks);
  b_.at(next_warp_);
  b_.store(b_.op(op_add, b_.load(b_.i32, warp_), b_.c32(1)), warp_);
  l.BuildBr(b_.b, warps);

  b_.at(block);
  LLVMValueRef rest = n;
  for (unsigned axis = 0; axis < 3; ++axis) {
    LLVMValueRef size = b_.cast(op_zext, field(offsetof(Frame, grid) + 4 * axis, b_.i32), b_.i64);
    b_.store(b_.cast(op_trunc, axis < 2 ? b_.op(op_urem, rest, size) : rest, b_.i32),
             number_[axis]);
    if (axis < 2) rest = b_.op(op_udiv, rest, size);
  }
  b_.store(b_.c32(0), met_);
  LLVMBasicBlockRef round = b_.block();
  l.BuildBr(b_.b, round);
  b_.at(round);
  b_.store(parameter(3), warp_);
  l.BuildBr(b_.b, warps);

  b_.at(warps);
  LLVMValueRef w = b_.load(b_.i32, warp_);
  LLVMBasicBlockRef over = stops_.empty() ? next_block_ : b_.block();
  l.BuildCondBr(b_.b, b_.icmp(int_ult, w, parameter(4)), warp, over);
  if (over != next_block_) {
    b_.at(over);
    end_round(round);
  }

  b_.at(warp);
  begin_warp(w);
}

void Emitter::begin_warp(LLVMValueRef w) {
  first_ = b_.op(op_mul, w, b_.c32(b_.lanes));
  LLVMValueRef offset = b_.op(op_shl, b_.cast(op_zext, first_, b_.i64), b_.c64(2));
  index_ = b_.op(op_add, b_.splat(first_), b_.ramp(b_.i32, 1));
  for (unsigned axis = 0; axis < 3; ++axis) {
    LLVMValueRef ids = b_.op(op_add, field(offsetof(Frame, ids) + 8 * axis, b_.i64), offset);
    if (!kind_.rows) {
      ids_[axis] = b_.load_at(b_.vector(b_.i32), ids, true);
      continue;
    }
    ids_[axis] = b_.load_at(b_.i32, ids, true);
    if (axis == 0) ids_[0] = b_.op(op_add, b_.splat(ids_[0]), b_.ramp(b_.i32, 1));
  }
  local_ = b_.op(op_add, field(offsetof(Frame, local), b_.i64),
                 b_.op(op_mul, b_.cast(op_zext, w, b_.i64),
                       b_.cast(op_zext, field(offsetof(Frame, warps_apart), b_.i32), b_.i64)));
  LLVMValueRef lanes =
      kind_.whole ? b_.all_ones()
                  : b_.icmp(int_ult, index_, b_.splat(field(offsetof(Frame, threads), b_.i32)));
  for (std::uint32_t i = 1; i < shape_.places(); ++i)
    if (shape_.waits(i)) b_.store(b_.l.ConstNull(b_.mask_type), in_[i]);
  b_.store(lanes, in_[0]);
  if (stops_.empty())
    b_.l.BuildBr(b_.b, bodies_[0]);
  else
    begin_turn(w);
}

void Emitter::end_warps() {
  b_.at(all_over_);
  b_.l.BuildRet(b_.b, b_.c32(saved_bytes_));
  for (std::uint32_t i = 0; i < shape_.places(); ++i) {
    if (!tests_[i]) continue;
    b_.at(tests_[i]);
    LLVMBasicBlockRef otherwise = next_from(i + 1);
    b_.at(tests_[i]);
    b_.l.BuildCondBr(b_.b, b_.any(b_.load(b_.mask_type, in_[i])), bodies_[i], otherwise);
  }
}

Lifted Emitter::spread(Lifted v) {
  if (!v.uniform) return v;
  for (unsigned i = 0; i < v.parts; ++i) v.part[i] = b_.splat(v.part[i]);
  v.uniform = false;
  return v;
}

Lifted Emitter::value(Value v) {
  const ir::Inst& inst = f_.insts[v];
  if (inst.op == Op::constant || inst.op == Op::undef) {
    Lifted out{.parts = 1, .uniform = true};
    if (inst.type == Type::v2 || inst.type == Type::v4) out.parts = inst.type == Type::v2 ? 2 : 4;
    for (unsigned i = 0; i < out.parts; ++i)
      out.part[i] = b_.l.ConstInt(type(inst.type, true), inst.op == Op::undef ? 0 : inst.imm, 0);
    return out;
  }
  if (const auto known = known_.find(v); known != known_.end()) return known->second;
  const Home& home = homes_[v];
  Lifted out;
  out.uniform = shape_.uniform(v);
  const bool outside =
      out.uniform && shape_.escapes(v) && shape_.escapes_to(v, shape_.place(current_));
  if (outside) out.uniform = false;
  for (; out.parts < 4 && home.part[out.parts].type; ++out.parts)
    out.part[out.parts] = get((outside ? home.lanes : home.part)[out.parts]);
  if (out.parts == 0) {
    // Nothing saved it: an error of this code, which must not become one of the kernel's results.
    fail(inst);
    out.parts = 1;
    out.part[0] = b_.l.ConstNull(type(inst.type, out.uniform));
  }
  known_[v] = out;
  return out;
}

/// `result` may be vectors though the value is uniform: any lane has it then.
void Emitter::define(Value v, Lifted result) {
  if (shape_.uniform(v) && !result.uniform) {
    for (unsigned i = 0; i < result.parts; ++i) result.part[i] = b_.lane0(result.part[i]);
    result.uniform = true;
  } else if (!shape_.uniform(v)) {
    result = spread(result);
  }
  known_[v] = result;
  const auto found = homes_.find(v);
  if (found == homes_.end()) return;
  const Home& home = found->second;
  for (unsigned i = 0; i < result.parts; ++i) {
    LLVMValueRef lanes = result.part[i];
    if (!shape_.escapes(v)) {
      set(home.part[i], lanes);
      continue;
    }
    // Lanes that have left a loop keep theirs.
    const Variable* to = &home.part[i];
    if (result.uniform) {
      set(*to, lanes);
      lanes = b_.splat(lanes);
      to = &home.lanes[i];
    }
    set(*to, b_.select(mask_, lanes, get(*to)));
  }
}

LLVMValueRef Emitter::builtin(const ir::Inst& inst, bool uniform) {
  const auto axis = [&](Builtin first) {
    return static_cast<unsigned>(inst.builtin) - static_cast<unsigned>(first);
  };
  const auto number = [&](unsigned a) { return b_.load(b_.i32, number_[a]); };
  const auto size = [&](unsigned a) { return field(offsetof(Frame, block) + 4 * a, b_.i32); };
  switch (inst.builtin) {
    case Builtin::workgroup_id_x:
    case Builtin::workgroup_id_y:
    case Builtin::workgroup_id_z: return number(axis(Builtin::workgroup_id_x));
    case Builtin::local_id_x:
    case Builtin::local_id_y:
    case Builtin::local_id_z: return ids_[axis(Builtin::local_id_x)];
    case Builtin::local_index: return uniform ? b_.lane0(index_) : index_;
    case Builtin::workgroup_size_x:
    case Builtin::workgroup_size_y:
    case Builtin::workgroup_size_z: return size(axis(Builtin::workgroup_size_x));
    case Builtin::num_workgroups_x:
    case Builtin::num_workgroups_y:
    case Builtin::num_workgroups_z:
      return field(offsetof(Frame, grid) + 4 * axis(Builtin::num_workgroups_x), b_.i32);
    case Builtin::subgroup_lane: return b_.op(op_and, index_, b_.splat(b_.c32(kLanes - 1)));
    case Builtin::subgroup_size: return b_.c32(kLanes);
    case Builtin::shared_words:
      return b_.cast(op_trunc,
                     b_.op(op_lshr,
                           field(offsetof(Frame, regions) +
                                     static_cast<std::size_t>(ir::Space::shared) * sizeof(Region) +
                                     offsetof(Region, size),
                                 b_.i64),
                           b_.c64(2)),
                     b_.i32);
    case Builtin::global_id_x:
    case Builtin::global_id_y:
    case Builtin::global_id_z: {
      const unsigned a = axis(Builtin::global_id_x);
      LLVMValueRef base = b_.op(op_mul, number(a), size(a));
      LLVMValueRef id = ids_[a];
      if (kind_.rows && a != 0) id = b_.splat(id);
      return b_.op(op_add, b_.splat(base), id);
    }
  }
  return nullptr;
}

/// Selects by one condition, as the sanitizer notes faults: where it holds for all lanes, which it
/// mostly does, none chooses. The instructions that were made from `first` on, or 0.
std::size_t Emitter::choose_together(const std::vector<Value>& insts, std::size_t first) {
  constexpr std::size_t kFewest = 3, kFarthest = 16;
  const Value start = insts[first];
  if (f_.insts[start].op != Op::select || value(f_.arg(start, 0)).uniform) return 0;
  const Value condition = f_.arg(start, 0);
  std::vector<Value> chosen, others;
  std::size_t end = first;
  for (std::size_t i = first; i < std::min(insts.size(), first + kFarthest); ++i) {
    const Value v = insts[i];
    const ir::Inst& inst = f_.insts[v];
    const auto is_chosen = [&](Value a) { return std::ranges::find(chosen, a) != chosen.end(); };
    if (std::ranges::any_of(f_.args(v), is_chosen)) break;
    if (inst.op == Op::select && f_.arg(v, 0) == condition) {
      chosen.push_back(v);
      end = i + 1;
    } else if (inst.op != Op::constant && inst.op != Op::or_ && inst.op != Op::zext &&
               inst.op != Op::pack) {
      break;
    }
  }
  if (chosen.size() < kFewest) return 0;
  for (std::size_t i = first; i < end; ++i)
    if (std::ranges::find(chosen, insts[i]) == chosen.end() && !instruction(insts[i])) return 0;
  std::vector<std::pair<Lifted, Lifted>> arms;
  for (const Value v : chosen)
    arms.emplace_back(spread(value(f_.arg(v, 1))), spread(value(f_.arg(v, 2))));
  LLVMValueRef c = wide(condition);
  LLVMBasicBlockRef before = b_.l.GetInsertBlock(b_.b), seldom = b_.block(), join = b_.block();
  b_.likely(b_.all(b_.op(op_or, c, b_.op(op_xor, mask_, b_.all_ones()))), join, seldom);
  b_.at(seldom);
  for (auto& [yes, no] : arms)
    for (unsigned i = 0; i < yes.parts; ++i) no.part[i] = b_.select(c, yes.part[i], no.part[i]);
  b_.l.BuildBr(b_.b, join);
  b_.at(join);
  for (auto& [yes, no] : arms)
    for (unsigned i = 0; i < yes.parts; ++i)
      yes.part[i] = b_.phi(b_.l.TypeOf(yes.part[i]), {yes.part[i], no.part[i]}, {before, seldom});
  for (std::size_t i = 0; i < chosen.size(); ++i) define(chosen[i], arms[i].first);
  return end - first;
}

bool Emitter::instruction(Value v) {
  const ir::Inst& inst = f_.insts[v];
  const bool uniform = shape_.uniform(v);
  switch (inst.op) {
    case Op::constant:
    case Op::undef:
    case Op::phi:
    case Op::progress: return true;
    case Op::builtin: {
      LLVMValueRef made = builtin(inst, uniform);
      const bool vector =
          inst.builtin == Builtin::local_index || inst.builtin == Builtin::subgroup_lane ||
          inst.builtin >= Builtin::global_id_x || inst.builtin == Builtin::local_id_x ||
          (!kind_.rows &&
           (inst.builtin == Builtin::local_id_y || inst.builtin == Builtin::local_id_z));
      define(v, {.part = {made}, .parts = 1, .uniform = !vector || (uniform && vector)});
      return true;
    }
    case Op::load: return load(v);
    case Op::store: return store(v);
    case Op::yield: end_turn(v, b_.c32(0), b_.c32(0), b_.c32(0)); return true;
    case Op::memory_barrier: b_.l.BuildFence(b_.b, kSequentiallyConsistent, 0, ""); return true;
    case Op::library: return library(v) || by_step(v);
    case Op::read_clock: return by_step(v);
    case Op::atomic:
    case Op::atomic_cas: return atomic(v);
    case Op::compose: {
      Lifted out{.uniform = true};
      for (const Value a : f_.args(v)) out.uniform = out.uniform && value(a).uniform;
      for (const Value a : f_.args(v)) out.part[out.parts++] = out.uniform ? scalar(a) : wide(a);
      define(v, out);
      return true;
    }
    case Op::extract: {
      const Lifted from = value(f_.arg(v, 0));
      define(v, {.part = {from.part[inst.imm]}, .parts = 1, .uniform = from.uniform});
      return true;
    }
    case Op::select: {
      const Lifted c = value(f_.arg(v, 0));
      Lifted x = value(f_.arg(v, 1)), y = value(f_.arg(v, 2));
      const bool one = c.uniform && x.uniform && y.uniform;
      if (!one) x = spread(x), y = spread(y);
      Lifted out{.parts = x.parts, .uniform = one};
      for (unsigned i = 0; i < x.parts; ++i)
        out.part[i] = b_.select(c.part[0], x.part[i], y.part[i]);
      define(v, out);
      return true;
    }
    default: break;
  }
  if (is_barrier(inst.op)) return meet(v);
  if (is_warp_operation(inst.op)) return together(v);
  if (inst.count == 0 || inst.count > 4 || inst.type == Type::none) return fail(inst);
  const Type from = f_.insts[f_.arg(v, 0)].type;
  bool one = true;
  for (const Value a : f_.args(v)) one = one && value(a).uniform;
  LLVMValueRef in[4] = {};
  for (unsigned i = 0; i < inst.count; ++i) in[i] = one ? scalar(f_.arg(v, i)) : wide(f_.arg(v, i));
  LLVMValueRef out = integer(inst, from, in);
  if (!out) out = floating(v, inst, from, in);
  if (!out) return by_step(v);
  define(v, {.part = {out}, .parts = 1, .uniform = one});
  return true;
}

// Rows are 32 words each, whatever the number of lanes (program.hpp).

void Emitter::put_rows(Place at, Type t, const Lifted& from) {
  if (at & kConstant) return;
  LLVMValueRef rows = field(offsetof(Frame, rows), b_.i64);
  for (unsigned i = 0; i < from.parts; ++i) {
    LLVMValueRef part = from.part[i];
    if (t == Type::i1) part = b_.cast(op_zext, part, from.uniform ? b_.i32 : b_.vector(b_.i32));
    b_.store_at(part, b_.op(op_add, rows, b_.c64((std::uint64_t{at} + i) * sizeof(Row))));
  }
}

Lifted Emitter::take_rows(Place at, Type t, bool uniform) {
  Lifted out{.parts = t == Type::v2 ? 2u : t == Type::v4 ? 4u : 1u, .uniform = uniform};
  LLVMValueRef rows = field(offsetof(Frame, rows), b_.i64);
  for (unsigned i = 0; i < out.parts; ++i) {
    LLVMTypeRef in_memory = type(t == Type::i1 ? Type::i32 : t, uniform);
    LLVMValueRef part =
        b_.load_at(in_memory, b_.op(op_add, rows, b_.c64((std::uint64_t{at} + i) * sizeof(Row))));
    if (t == Type::i1) part = b_.icmp(int_ne, part, b_.l.ConstNull(in_memory));
    out.part[i] = part;
  }
  return out;
}

bool Emitter::by_step(Value v) {
  const ir::Inst& inst = f_.insts[v];
  const std::uint32_t number = steps_[v];
  const bool memory = is_atomic(inst.op);
  if (number == ~0u || (memory && inst.mem.space == ir::Space::local)) return fail(inst);
  const Step& step = program_.steps[number];
  const Call* call = inst.op == Op::library ? static_cast<const Call*>(step.more) : nullptr;
  bool one = shape_.uniform(v) && !memory;
  for (const Value a : f_.args(v)) one = one && value(a).uniform;
  for (unsigned i = 0; i < inst.count; ++i) {
    const Value a = f_.arg(v, i);
    put_rows(call ? call->arguments[i].place : step.in[i], f_.insts[a].type,
             one ? value(a) : spread(value(a)));
  }
  b_.call(b_.l.VoidTypeInContext(b_.context), field(offsetof(Frame, step), b_.i64),
          {frame_, b_.c32(number), one ? b_.c32(1) : mask_bits()});
  if (inst.type != Type::none)
    define(v, take_rows(call ? call->result.place : step.out, inst.type, one));
  return true;
}

}  // namespace ptx2spv::interpreter::llvm
