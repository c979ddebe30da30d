// The kernel is cut at its synchronisation points into regions. In every round each thread that may
// continue runs from where it stopped to its next point or its end. A workgroup barrier ends the
// round, and the workgroup exits when no thread is left. One invocation runs several threads in
// turn where the block is larger than the workgroup. Waiting is thus exact for any flow of control:
// early exits, barriers in divergent loops, and warps of 32 on any subgroup size.
#include "translator/passes/threads/split_at_barriers.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "ptx2spv/abi.hpp"
#include "translator/ir/loops.hpp"
#include "translator/passes/cfg/demote_to_stack.hpp"
#include "translator/passes/cfg/spill_variables.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/threads/warp_lanes.hpp"

namespace ptx2spv::passes {

namespace split {

namespace {

std::uint32_t words_of(Type type) {
  return type == Type::i64 || type == Type::v2 ? 2 : type == Type::v4 ? 4 : 1;
}

}  // namespace

BarrierSplitter::BarrierSplitter(Function& function, Module& module, std::uint32_t invocations,
                                 std::uint32_t threads, const BlockOptions& options)
    : f_(function),
      module_(module),
      b_(function),
      invocations_(invocations),
      per_invocation_((threads + invocations - 1) / invocations),
      idle_rounds_(options.idle_rounds),
      grid_{options.together[0], options.together[1], options.together[2]},
      blocks_(grid_[0] ? grid_[0] * grid_[1] * grid_[2] : 1),
      block_threads_(threads / blocks_),
      subgroups_(options.warps && !options.checked && blocks_ == 1),
      checked_(options.checked),
      log_(options.faults) {}

std::uint32_t BarrierSplitter::var(Type type, std::string name) {
  f_.vars.push_back({type, std::move(name), false});
  return static_cast<std::uint32_t>(f_.vars.size() - 1);
}

Value BarrierSplitter::push(std::uint32_t word) {
  return b_.load(Type::i32, b_.i32(word * 4), {.space = Space::push, .bytes = 4, .readonly = true});
}

// Blocks end at synchronisation points; the results come out of variables behind them.
void BarrierSplitter::cut() {
  for (BlockId b = 0, end = static_cast<BlockId>(f_.blocks.size()); b < end; ++b) {
    for (std::size_t k = f_.blocks[b].insts.size(); k-- > 0;) {
      const Value v = f_.blocks[b].insts[k];
      const Inst inst = f_.insts[v];
      if (inst.op != Op::bar_sync && inst.op != Op::yield && !is_warp_operation(inst.op)) continue;
      SyncPoint point;
      point.inst = v;
      point.warp = is_warp_operation(inst.op);
      point.yields = inst.op == Op::yield;
      point.stops =
          point.warp || point.yields || inst.imm != static_cast<std::uint64_t>(BarKind::arrive);
      point.before = b;
      point.after = b_.new_block();
      // A later point of the same block, cut before, now stands in the new block.
      if (!points_.empty() && points_.back().before == b) points_.back().before = point.after;
      Block& from = f_.blocks[b];
      Block& to = f_.blocks[point.after];
      const std::vector<Value> rest(from.insts.begin() + static_cast<std::ptrdiff_t>(k) + 1,
                                    from.insts.end());
      to.term = from.term;
      to.cond = from.cond;
      to.succs = std::move(from.succs);
      to.loc = from.loc;
      from.insts.resize(k);
      b_.at(point.after);
      b_.set_loc(inst.loc);
      if (inst.type != Type::none) {
        // The value keeps its number; what it waits for is copied to an instruction of its own.
        const std::vector<Value> args(f_.args(v).begin(), f_.args(v).end());
        b_.at(b);
        point.inst = b_.inst(inst.op, inst.type, args, inst.imm);
        f_.insts[point.inst].object = inst.object;
        f_.blocks[b].insts.pop_back();
        b_.at(point.after);
        if (inst.type == Type::v2 || inst.type == Type::v4) {
          std::vector<Value> words{b_.get(result0_), b_.get(result1_)};
          if (inst.type == Type::v4)
            words.insert(words.end(), {b_.get(result2_), b_.get(result3_)});
          const Value all = b_.inst(Op::compose, inst.type, words);
          f_.blocks[point.after].insts.pop_back();
          f_.insts[v] = f_.insts[all];
        } else {
          f_.insts[v] = Inst{};
          f_.insts[v].op = Op::get_var;
          f_.insts[v].type = Type::i32;
          f_.insts[v].imm = result0_;
        }
        f_.insts[v].loc = inst.loc;
        f_.blocks[point.after].insts.push_back(v);
      }
      auto& behind = f_.blocks[point.after].insts;
      behind.insert(behind.end(), rest.begin(), rest.end());
      b_.at(b);
      b_.br(point.after);
      // The operands are values of the block; the instruction stands there again for liveness and
      // demotion to the stack.
      f_.blocks[b].insts.push_back(point.inst);
      points_.push_back(point);
      if (point.warp) {
        warps_ = true;
        if (inst.op == Op::warp_product)
          factor_words_ = std::max(factor_words_, WarpProduct::of(inst.imm).factor_words());
      } else if (point.yields) {
        // Threads at a barrier stay there while this one goes on.
        general_barriers_ = yields_ = true;
      } else {
        const Inst& id = f_.insts[f_.arg(point.inst, 0)];
        const bool plain = inst.count == 1 &&
                           inst.imm == static_cast<std::uint64_t>(BarKind::sync) &&
                           id.op == Op::constant && id.imm == 0;
        general_barriers_ = general_barriers_ || !plain || checked_;
      }
    }
  }
}

void BarrierSplitter::replace_builtins() {
  for (Block& block : f_.blocks) {
    for (std::size_t k = 0; k < block.insts.size(); ++k) {
      Inst& inst = f_.insts[block.insts[k]];
      if (inst.op != Op::builtin) continue;
      const auto to_var = [&](std::uint32_t which) {
        inst.op = Op::get_var;
        inst.imm = which;
      };
      switch (inst.builtin) {
        case Builtin::local_id_x: to_var(tid_[0]); break;
        case Builtin::local_id_y: to_var(tid_[1]); break;
        case Builtin::local_id_z: to_var(tid_[2]); break;
        case Builtin::local_index: to_var(local_); break;
        case Builtin::workgroup_id_x:
        case Builtin::workgroup_id_y:
        case Builtin::workgroup_id_z:
          if (blocks_ > 1)
            to_var(ctaid_[static_cast<unsigned>(inst.builtin) -
                          static_cast<unsigned>(Builtin::workgroup_id_x)]);
          break;
        case Builtin::num_workgroups_x:
        case Builtin::num_workgroups_y:
        case Builtin::num_workgroups_z:
          if (blocks_ == 1) break;
          inst.op = Op::constant;
          inst.imm = grid_[static_cast<unsigned>(inst.builtin) -
                           static_cast<unsigned>(Builtin::num_workgroups_x)];
          break;
        default: break;
      }
    }
  }
}

// Each thread of an invocation has its own .local memory.
void BarrierSplitter::shift_local_memory() {
  thread_local_bytes_ = (f_.local_bytes + 15) & ~15u;
  if (per_invocation_ == 1 || f_.local_bytes == 0) return;
  log_.base = local_base_;
  for (BlockId b = 0; b < f_.blocks.size(); ++b) {
    const std::vector<Value> old = std::move(f_.blocks[b].insts);
    f_.blocks[b].insts.clear();
    b_.at(b);
    for (const Value v : old) {
      if (is_access(f_.insts[v].op) && f_.insts[v].mem.space == Space::local) {
        const Value moved = b_.op2(Op::add, f_.arg(v, 0), b_.get(local_base_));
        f_.args(v)[0] = moved;
      }
      f_.blocks[b].insts.push_back(v);
    }
  }
}

// The variables that each point saves: those that are live behind it. One that points would save
// and restore more often than the kernel reads and writes it lives in the thread's memory instead,
// where nobody saves it. So do variables that live behind many points where all saves together are
// more than kMostSaved for the kernel.
void BarrierSplitter::find_live() {
  constexpr std::size_t kMostSaved = std::size_t{1} << 18, kSaved = 16;
  std::size_t most = kMostSaved;
  for (const Block& block : f_.blocks) most += kSaved * block.insts.size();
  std::vector<bool> many(f_.vars.size());
  count_accesses();
  // A trial's walk is bounded by what it allows each variable. The first one allows all of them as
  // much as fits for sure, so that the trials together walk little more than the last.
  LiveVariables live(f_);
  const auto fits = [&](unsigned halvings) {
    return live_within(live, most >> halvings, 2 * most, kSaved, many);
  };
  unsigned halvings = 0;
  while ((most >> halvings) > 2 * most / many.size()) ++halvings;
  while (!fits(halvings)) ++halvings;
  while (halvings > 0 && std::ranges::find(many, true) != many.end()) {
    if (!fits(halvings - 1)) {
      fits(halvings);
      break;
    }
    --halvings;
  }
  accesses_.clear();
  if (std::ranges::find(many, true) == many.end()) return;
  spill_variables(f_, many, start_);
  many.assign(many.size(), false);
  LiveVariables rest(f_);
  live_within(rest, ~std::size_t{0}, ~std::size_t{0}, kSaved, many);
}

/// How often the kernel reads and writes each variable, and how often each point is met. A loop
/// counts as eight iterations.
void BarrierSplitter::count_accesses() {
  constexpr std::uint32_t kIterationsLog2 = 3, kMostLoops = 8;
  f_.compute_preds();
  const Loops loops(f_);
  const auto times = [&](BlockId b) {
    const std::uint32_t depth = std::min(loops.depth[b], kMostLoops);
    return std::uint64_t{1} << (depth * kIterationsLog2);
  };
  accesses_.assign(f_.vars.size(), 0);
  for (BlockId b = 0; b < f_.blocks.size(); ++b)
    for (const Value v : f_.blocks[b].insts) {
      const Inst& inst = f_.insts[v];
      if (inst.op == Op::get_var || inst.op == Op::set_var) accesses_[inst.imm] += times(b);
    }
  for (SyncPoint& point : points_) point.times = times(point.before);
}

/// Notes what each point saves. A variable that costs more than `each`, a save as much as `saved`
/// blocks, becomes one of `many`, and so does one that is saved more often than it is accessed.
/// False: all of them cost more than `most`.
bool BarrierSplitter::live_within(LiveVariables& live, std::size_t each, std::size_t most,
                                  std::size_t saved, std::vector<bool>& many) {
  std::vector<std::uint32_t> point_at(f_.blocks.size(), kNoBlock);
  for (std::uint32_t i = 0; i < points_.size(); ++i) {
    points_[i].live.clear();
    if (points_[i].stops) point_at[points_[i].after] = i;
  }
  undefined_.clear();
  std::size_t sum = 0;
  for (std::uint32_t v = 0; v < f_.vars.size(); ++v) {
    if ((v >= result0_ && v <= result3_) || v == thread_ || v == local_ || v == local_base_ ||
        (blocks_ > 1 && v == block_))
      continue;
    const bool own = v >= resume_ && v <= tid_[2];
    std::size_t cost = 0;
    std::uint64_t moves = 0;  // saves and restores
    const bool few = live.visit(v, [&](BlockId b) {
      if (b == start_) undefined_.push_back(v);
      if (const std::uint32_t at = point_at[b]; at != kNoBlock) {
        points_[at].live.push_back(v);
        moves += 2 * points_[at].times;
        cost += saved;
      } else {
        ++cost;
      }
      return own || (cost <= each && (accesses_.empty() || moves <= accesses_[v]));
    });
    many[v] = !few;
    sum += cost;
    if (sum > most && each > 0) return false;
  }
  return true;
}

/// A thread that waits for ever writes its log where it stands.
void BarrierSplitter::keep_fault_log() {
  const std::vector<std::uint32_t> log = fault_variables();
  for (SyncPoint& point : points_) {
    for (const std::uint32_t v : log)
      if (std::ranges::find(point.live, v) == point.live.end()) point.live.push_back(v);
  }
}

void BarrierSplitter::lay_out_state() {
  if (per_invocation_ == 1) return;
  const auto add = [&](std::uint32_t v) {
    if (state_word_.emplace(v, state_words_).second) state_words_ += words_of(f_.vars[v].type);
  };
  for (const std::uint32_t v : {resume_, ready_, mask_, operand_, operand2_, key_})
    if (v == resume_ || !simple()) add(v);
  for (const std::uint32_t v : results())
    if (!simple()) add(v);
  for (const SyncPoint& point : points_)
    for (const std::uint32_t v : point.live) add(v);
  state_offset_ = thread_local_bytes_ * per_invocation_;
  f_.local_bytes = state_offset_ + state_words_ * 4 * per_invocation_;
}

// A variable's words to and from the state of the thread in turn.
void BarrierSplitter::save(std::uint32_t v) {
  if (per_invocation_ == 1) return;
  const std::uint32_t word = state_word_.at(v);
  const Type type = f_.vars[v].type;
  const Value value = b_.get(v);
  const auto put = [&](std::uint32_t i, Value part) {
    const Value at = b_.op2(Op::add, b_.get(state_base_), b_.i32((word + i) * 4));
    b_.store(at, part, {.space = Space::local, .bytes = 4});
  };
  switch (type) {
    case Type::i1: put(0, b_.inst(Op::zext, Type::i32, {value})); break;
    case Type::i64:
      put(0, b_.inst(Op::trunc, Type::i32, {value}));
      put(1, b_.inst(Op::high, Type::i32, {value}));
      break;
    case Type::v2:
    case Type::v4:
      for (std::uint32_t i = 0; i < words_of(type); ++i)
        put(i, b_.inst(Op::extract, Type::i32, {value}, i));
      break;
    default: put(0, value);
  }
}

void BarrierSplitter::restore(std::uint32_t v) {
  if (per_invocation_ == 1) return;
  const std::uint32_t word = state_word_.at(v);
  const Type type = f_.vars[v].type;
  std::vector<Value> parts;
  for (std::uint32_t i = 0; i < words_of(type); ++i) {
    const Value at = b_.op2(Op::add, b_.get(state_base_), b_.i32((word + i) * 4));
    parts.push_back(b_.load(Type::i32, at, {.space = Space::local, .bytes = 4}));
  }
  switch (type) {
    case Type::i1: b_.set(v, b_.cmp(Op::ne, parts[0], b_.i32(0))); break;
    case Type::i64: b_.set(v, b_.inst(Op::pack, type, {parts[0], parts[1]})); break;
    case Type::v2:
    case Type::v4: b_.set(v, b_.inst(Op::compose, type, parts)); break;
    default: b_.set(v, parts[0]);
  }
}

// Selects the thread that the invocation runs now.
void BarrierSplitter::set_thread() {
  if (per_invocation_ == 1) return;
  const Value iteration = b_.get(iteration_);
  b_.set(thread_, b_.op2(Op::add, b_.builtin(Builtin::local_index),
                         b_.op2(Op::mul, iteration, b_.builtin(Builtin::workgroup_size_x))));
  b_.set(state_base_, b_.op2(Op::add, b_.op2(Op::mul, iteration, b_.i32(state_words_ * 4)),
                             b_.i32(state_offset_)));
  b_.set(local_base_, b_.op2(Op::mul, iteration, b_.i32(thread_local_bytes_)));
  set_block();
}

/// Of the thread in turn.
void BarrierSplitter::set_block() {
  if (blocks_ == 1) return;
  const Value number = b_.op2(Op::udiv, thread(), b_.i32(block_threads_));
  b_.set(block_, number);
  b_.set(local_, b_.op2(Op::sub, thread(), b_.op2(Op::mul, number, b_.i32(block_threads_))));
}

void BarrierSplitter::clear_control_words() {
  // There are few words compared with invocations, so this loop has one or two iterations.
  const BlockId header = b_.new_block(), body = b_.new_block(), out = b_.new_block();
  b_.set(iteration_, b_.builtin(Builtin::local_index));
  b_.br(header);
  b_.at(header);
  branch(b_.cmp(Op::ult, b_.get(iteration_), b_.i32(control_words_)), body, out);
  b_.at(body);
  write(shared_at(0, b_.get(iteration_)), b_.i32(0));
  b_.set(iteration_, b_.op2(Op::add, b_.get(iteration_), b_.builtin(Builtin::workgroup_size_x)));
  b_.br(header);
  b_.at(out);
}

// Control words to zero, threads beyond the block ended, the others at the start.
void BarrierSplitter::emit_entry(BlockId rounds) {
  b_.at(0);
  b_.set_loc(0);
  b_.set(count_,
         b_.op2(Op::mul, b_.op2(Op::mul, push(abi::Push::block_x), push(abi::Push::block_y)),
                push(abi::Push::block_z)));
  if (f_.uses_dynamic_shared) {
    const Value dynamic =
        b_.op2(Op::and_, b_.op2(Op::add, push(abi::Push::dynamic_shared), b_.i32(3)), b_.i32(~3u));
    b_.set(base_, b_.op2(Op::add, dynamic, b_.i32(shared_offset_)));
  }
  b_.set(slot_, b_.i32(0));
  b_.set(force_, b_.i32(0));
  if (yields_) b_.set(idle_, b_.i32(0));
  if (block_meets()) clear_control_words();
  b_.set(iteration_, b_.i32(0));
  const auto begin = [&] {
    Value inside = b_.cmp(Op::ult, local(), b_.get(count_));
    // Invocations may have a thread more than the blocks together.
    if (blocks_ > 1) inside = b_.op2(Op::and_, inside, b_.cmp(Op::ult, block(), b_.i32(blocks_)));
    b_.set(resume_, b_.select(inside, b_.i32(kStart), b_.i32(kDone)));
    save(resume_);
    if (simple()) return;
    b_.set(ready_, b_.i32(1));
    b_.set(key_, b_.i32(0));
    save(ready_);
    save(key_);
  };
  if (per_invocation_ == 1) {
    b_.set(thread_, b_.builtin(Builtin::local_index));
    set_block();
    begin();
  } else {
    loop(iteration_, per_invocation_, [&] {
      set_thread();
      begin();
    });
  }
  if (subgroups_) {
    b_.set(moved_on_, b_.i32(0));
    b_.set(living_, ballot(b_.cmp(Op::ne, b_.get(resume_), b_.i32(kDone))));
  }
  if (block_meets()) b_.inst(Op::control_barrier, Type::none, {});
  b_.br(rounds);
}

std::array<Value, 3> BarrierSplitter::coordinates() {
  const Value t = local(), x = push(abi::Push::block_x), y = push(abi::Push::block_y);
  const Value row = b_.op2(Op::udiv, t, x);
  const Value slice = b_.op2(Op::udiv, row, y);
  return {b_.op2(Op::sub, t, b_.op2(Op::mul, row, x)),
          b_.op2(Op::sub, row, b_.op2(Op::mul, slice, y)), slice};
}

/// %ctaid: the dispatch may be one of several.
Value BarrierSplitter::block_number(unsigned axis) {
  if (blocks_ > 1) {
    Value number = block();
    for (unsigned before = 0; before < axis; ++before)
      number = b_.op2(Op::udiv, number, b_.i32(grid_[before]));
    return axis == 2 ? number : b_.op2(Op::urem, number, b_.i32(grid_[axis]));
  }
  const auto id = static_cast<Builtin>(static_cast<unsigned>(Builtin::workgroup_id_x) + axis);
  return b_.op2(Op::add, b_.builtin(id), push(abi::Push::base_x + axis));
}

// The thread's coordinates, before its first instruction.
BlockId BarrierSplitter::emit_start(BlockId start) {
  const BlockId block = b_.new_block();
  b_.at(block);
  // What a thread reads before it writes is 0, not what the thread before left.
  for (const std::uint32_t v : undefined_) {
    const Type type = f_.vars[v].type;
    if (type == Type::v2 || type == Type::v4)
      b_.set(v, b_.inst(Op::compose, type, std::vector<Value>(words_of(type), b_.i32(0))));
    else
      b_.set(v, b_.inst(Op::constant, type, {}));
  }
  const std::array<Value, 3> tid = coordinates();
  for (unsigned axis = 0; axis < 3; ++axis) b_.set(tid_[axis], tid[axis]);
  for (unsigned axis = 0; axis < 3 && blocks_ > 1; ++axis) b_.set(ctaid_[axis], block_number(axis));
  b_.br(start);
  return block;
}

void BarrierSplitter::emit_stop(const SyncPoint& point, std::uint32_t number) {
  b_.at(point.before);
  f_.blocks[point.before].insts.pop_back();  // the synchronising instruction itself
  b_.set_loc(f_.insts[point.inst].loc);
  const Fault fault = checked_ ? arrival_fault(point, number) : Fault{};
  if (!point.stops) {
    arrive_at_barrier(point);
    note(fault);
    b_.br(point.after);
    return;
  }
  if (point.warp) {
    arrive_at_warp(point);
    if (subgroups_) resolve_at_once(point);
  } else if (point.yields) {
    give_way(point);
  } else if (!simple()) {
    arrive_at_barrier(point);
  }
  b_.set(resume_, b_.i32(2 + number));
  for (const std::uint32_t v : point.live) save(v);
  note(fault);
  b_.br(point.warp ? warp_stop_ : stop_);
}

/// What a thread does at every stop, whatever it waits for.
void BarrierSplitter::emit_end_of_stops(BlockId next) {
  b_.at(warp_stop_);
  b_.set_loc(0);
  if (warps_ && !subgroups_) announce_at_warp();
  b_.br(stop_);
  b_.at(stop_);
  save(resume_);
  if (!simple())
    for (const std::uint32_t v : {ready_, mask_, operand_, operand2_, key_}) save(v);
  if (factor_words_)
    for (const std::uint32_t v : results()) save(v);
  if (!subgroups_) write(shared_at(alive_, b_.get(slot_)), b_.i32(1));
  if (checked_) write(shared_at(where_, thread()), b_.get(resume_));
  b_.br(next);
}

BlockId BarrierSplitter::emit_resume(const SyncPoint& point) {
  const BlockId block = b_.new_block();
  b_.at(block);
  b_.set_loc(f_.insts[point.inst].loc);
  if (!point.warp && f_.insts[point.inst].type != Type::none) {
    const BarKind kind = static_cast<BarKind>(f_.insts[point.inst].imm);
    const Value sum = read(barrier_word(b_.get(operand_), 4)),
                all = read(barrier_word(b_.get(operand_), 5));
    Value result = sum;
    if (kind == BarKind::red_and) result = b_.inst(Op::zext, Type::i32, {b_.cmp(Op::eq, sum, all)});
    if (kind == BarKind::red_or)
      result = b_.inst(Op::zext, Type::i32, {b_.cmp(Op::ne, sum, b_.i32(0))});
    b_.set(result0_, result);
  }
  for (const std::uint32_t v : point.live) restore(v);
  b_.br(point.after);
  return block;
}

// Runs one thread in a round: it continues where it stopped, if it may.
void BarrierSplitter::emit_iteration(BlockId start, BlockId next) {
  set_thread();
  restore(resume_);
  const BlockId dispatch = b_.new_block();
  if (simple()) {
    b_.br(dispatch);
  } else {
    for (const std::uint32_t v : {ready_, operand_, operand2_, key_}) restore(v);
    const BlockId living = b_.new_block(), waiting = b_.new_block();
    branch(b_.cmp(Op::eq, b_.get(resume_), b_.i32(kDone)), next, living);
    b_.at(living);
    branch(may_go_on(), dispatch, waiting);
    b_.at(waiting);
    if (!subgroups_) write(shared_at(alive_, b_.get(slot_)), b_.i32(1));
    b_.br(next);
  }
  std::vector<BlockId> targets{next, emit_start(start)};
  for (const SyncPoint& point : points_) targets.push_back(point.stops ? emit_resume(point) : next);
  b_.at(dispatch);
  leave_warp();
  if (warps_)
    for (const std::uint32_t v : results()) restore(v);
  Block& block = f_.blocks[dispatch];
  block.cond = b_.get(resume_);
  f_.blocks[dispatch].term = Term::switch_;
  f_.blocks[dispatch].succs = std::move(targets);
}

void BarrierSplitter::emit_exits(BlockId next, BlockId end) {
  for (BlockId b = 0; b < end; ++b) {
    if (f_.blocks[b].term != Term::exit && f_.blocks[b].term != Term::ret) continue;
    b_.at(b);
    b_.set_loc(f_.blocks[b].loc);
    b_.set(resume_, b_.i32(kDone));
    save(resume_);
    if (!simple() && block_meets()) atomic(AtomicOp::add, shared_at(done_, block()), b_.i32(1));
    if ((warps_ && !subgroups_) || checked_)
      atomic(AtomicOp::or_, shared_at(gone_, warp()), lane_bit());
    if (checked_) check_end();
    mark_progress();
    b_.br(next);
  }
}

// Everyone meets; the workgroup leaves together when no thread is left. Three slots in turn: one is
// read while the next round writes the second and the third is cleared.
void BarrierSplitter::emit_end_of_round(BlockId rounds) {
  b_.set_loc(0);
  b_.inst(Op::control_barrier, Type::none, {});
  if (!simple()) {
    if (general_barriers_ || !points_.empty()) emit_agent();
    if (checked_) check_opened();
    if (warps_ && !subgroups_) emit_resolve();
    b_.inst(Op::control_barrier, Type::none, {});
  }
  const Value slot = b_.get(slot_);
  const Value alive = read(shared_at(alive_, slot));
  const Value first = b_.cmp(Op::eq, slot, b_.i32(0));
  const Value cleared = b_.select(first, b_.i32(2), b_.op2(Op::sub, slot, b_.i32(1)));
  write(shared_at(alive_, cleared), b_.i32(0));
  const Value wraps = b_.cmp(Op::eq, slot, b_.i32(2));
  const Value following = b_.select(wraps, b_.i32(0), b_.op2(Op::add, slot, b_.i32(1)));
  const BlockId out = b_.new_block();
  f_.blocks[out].term = Term::exit;
  if (simple()) {
    b_.set(slot_, following);
    branch(b_.cmp(Op::ne, alive, b_.i32(0)), rounds, out);
    return;
  }
  const Value stuck = b_.cmp(Op::eq, read(shared_at(progress_, slot)), b_.i32(0));
  write(shared_at(progress_, cleared), b_.i32(0));
  // Without progress, warp operations are next resolved with the lanes that are there: those of a
  // kernel that runs them in divergent code without naming its members. Stuck once more, the
  // threads wait for ever.
  Value hopeless = b_.op2(Op::and_, stuck, b_.cmp(Op::ne, b_.get(force_), b_.i32(0)));
  if (yields_) hopeless = b_.op2(Op::or_, hopeless, idle_too_long(slot, cleared));
  b_.set(force_, b_.inst(Op::zext, Type::i32, {stuck}));
  b_.set(slot_, following);
  const BlockId more = b_.new_block(), stalled = b_.new_block();
  branch(b_.cmp(Op::ne, alive, b_.i32(0)), more, out);
  b_.at(more);
  branch(hopeless, stalled, rounds);
  b_.at(stalled);
  if (checked_) check_stalled();
  emit_stall_record(out);
}

void BarrierSplitter::emit_stall_record(BlockId out) {
  const auto put = [&](std::uint32_t word, Value value) {
    b_.store(b_.i32(word * 4), value, {.space = Space::trap, .bytes = 4});
  };
  const BlockId one = b_.new_block(), record = b_.new_block();
  branch(b_.cmp(Op::eq, b_.builtin(Builtin::local_index), b_.i32(0)), one, out);
  b_.at(one);
  const auto on_trap = [&](std::uint32_t word, AtomicOp op) {
    const Value old = b_.inst(Op::atomic, Type::i32, {b_.i32(word * 4), b_.i32(1)});
    f_.insts[old].mem = {.space = Space::trap, .bytes = 4, .atomic = op};
    return old;
  };
  on_trap(abi::t_count, AtomicOp::add);
  branch(b_.cmp(Op::eq, on_trap(abi::t_claimed, AtomicOp::or_), b_.i32(0)), record, out);
  b_.at(record);
  put(abi::t_kind, b_.i32(static_cast<std::uint32_t>(abi::TrapKind::no_progress)));
  if (yields_ && idle_rounds_ != 0) {
    const Value idle = b_.cmp(Op::ult, b_.i32(idle_rounds_), b_.get(idle_));
    put(abi::t_site, b_.select(idle, read(shared_at(waits_in_, b_.i32(0))), b_.i32(0)));
  }
  for (unsigned axis = 0; axis < 3; ++axis) put(abi::t_ctaid_x + axis, block_number(axis));
  b_.br(out);
}

std::string BarrierSplitter::run() {
  const auto i32 = [&](const char* name) { return var(Type::i32, name); };
  resume_ = i32("resume"), thread_ = i32("thread"), mask_ = i32("members"),
  operand_ = i32("operand");
  operand2_ = i32("operand2"), key_ = i32("key"), ready_ = i32("ready"), result0_ = i32("result");
  result1_ = i32("result2"), result2_ = i32("result3"), result3_ = i32("result4");
  iteration_ = i32("iteration"), slot_ = i32("slot"), force_ = i32("force"), base_ = i32("base");
  state_base_ = i32("state_base"), local_base_ = i32("local_base"), count_ = i32("threads");
  lane_counter_ = i32("lane"), accumulator_ = i32("sum"), idle_ = i32("idle");
  for (std::uint32_t* each : {&value_[0], &value_[1]}) *each = i32("offer");
  for (std::uint32_t* each : {&living_, &left_, &group_, &group_key_, &taken_, &present_,
                              &waiting_[0], &waiting_[1], &moved_on_})
    if (subgroups_) *each = i32("subgroup");
  local_ = thread_;
  if (blocks_ > 1) local_ = i32("thread_of_block"), block_ = i32("block");
  for (std::uint32_t& each : ctaid_)
    if (blocks_ > 1) each = i32("ctaid");
  for (int i = 0; i < 3; ++i) tid_[i] = i32(i == 0 ? "tid_x" : i == 1 ? "tid_y" : "tid_z");

  const BlockId start = start_ = b_.new_block();
  std::swap(f_.blocks[start], f_.blocks[0]);
  cut();
  subgroups_ = subgroups_ && warps_ && !yields_ && per_invocation_ == 1;
  replace_builtins();
  demote_to_stack(f_);
  if (checked_) add_sites();
  if (per_invocation_ > 1) find_live();
  if (checked_) keep_fault_log();
  shift_local_memory();
  lay_out_shared();
  lay_out_state();
  if (blocks_ == 1 && f_.shared_bytes > 0x100000)
    return fmt::format("{} bytes of shared memory for its threads to meet", f_.shared_bytes);

  const auto end = static_cast<BlockId>(f_.blocks.size());
  const BlockId rounds = b_.new_block(), next = b_.new_block();
  warp_stop_ = b_.new_block();
  stop_ = b_.new_block();
  replace_progress();
  emit_exits(next, end);
  emit_entry(rounds);
  b_.at(rounds);
  const auto iteration = [&] {
    emit_iteration(start, next);
    for (std::uint32_t i = 0; i < points_.size(); ++i) emit_stop(points_[i], i);
    emit_end_of_stops(next);
    b_.at(next);
    b_.set_loc(0);
  };
  if (per_invocation_ == 1)
    iteration();
  else
    loop(iteration_, per_invocation_, iteration);
  if (subgroups_)
    emit_end_of_warp_round(rounds);
  else
    emit_end_of_round(rounds);
  f_.region_threads = per_invocation_;
  f_.compute_preds();
  return {};
}

}  // namespace split

std::string split_at_barriers(Function& function, Module& module, const BlockOptions& options) {
  const std::uint32_t invocations = std::max(1u, options.workgroup_threads);
  return split::BarrierSplitter(function, module, invocations,
                                std::max(1u, options.max_block_threads), options)
      .run();
}

}  // namespace ptx2spv::passes
