// Runs several threads of a block side by side in an invocation, between the device's own barriers.
// Code that the threads have in common stands once in an invocation, the rest once for each of its
// threads. Threads that have ended, or that the block does not have, are masked. They still reach
// every barrier, because a workgroup's barrier waits for every invocation.
#include "translator/passes/threads/thread_coarsening.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "ptx2spv/abi.hpp"
#include "translator/passes/cfg/demote_to_stack.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/threads/warp_lanes.hpp"

namespace ptx2spv::passes {

using namespace ir;

namespace coarse {

namespace {

/// Copies of short parts multiply the code of a kernel with many barriers. The loops over the
/// threads from cut to cut do not (split_at_barriers.cpp).
constexpr std::size_t kMostInstructions = 400000;

}  // namespace

std::optional<Function> Coarsener::run() {
  b_.new_block();
  for (const BlockId b : p_.order) {
    const std::uint32_t piece = p_.piece_of[b];
    if (piece == kNone || (p_.pieces[piece].head == kNoBlock && p_.pieces[piece].blocks[0] == b))
      blocks_[b] = b_.new_block();
  }
  prologue();
  for (const BlockId b : p_.order)
    if (blocks_[b] != kNoBlock && !too_long()) block(b);
  if (too_long()) return std::nullopt;
  demote_to_stack(out_);
  out_.compute_preds();
  return std::move(out_);
}

bool Coarsener::too_long() const {
  return out_.insts.size() > kMostInstructions && out_.insts.size() > 2 * p_.f.insts.size();
}

// Thread k of an invocation is k workgroups on, so that neighbours stay neighbours. There are at
// most 1,024, for which (t * ceil(2^20 / d)) >> 20 is t / d: the factor's error is below d, and
// t * d < 2^20.
void Coarsener::prologue() {
  b_.at(0);
  constexpr std::uint32_t kScale = 1u << 20;
  const std::uint32_t words[2] = {abi::Push::block_x, abi::Push::block_y};
  const bool numbers = used_[0] || used_[1] || used_[2];
  for (std::uint32_t axis = 0; axis < 2 && numbers && !flat_; ++axis) {
    if (known_) {
      size_[axis] = b_.i32(options_.block[axis]);
      factor_[axis] = b_.i32((kScale + options_.block[axis] - 1) / options_.block[axis]);
    } else {
      size_[axis] = push(words[axis]);
      const Value sum = b_.op2(Op::add, size_[axis], b_.i32(kScale - 1));
      factor_[axis] = b_.op2(Op::udiv, sum, size_[axis]);
    }
  }
  if (rows_ && numbers && !flat_) {
    k_ = 0;
    const bool repeats = std::exchange(rows_, false);
    for (std::uint32_t axis = 0; axis < 3; ++axis) first_[axis] = local_id(axis);
    rows_ = repeats;
  }
  count_threads();
  if (faults_) faults_->start(b_);
  b_.br(blocks_[p_.order[0]]);
}

void Coarsener::count_threads() {
  if (!partial()) return;
  count_ =
      known_ ? b_.i32(threads_)
             : b_.op2(Op::mul, b_.op2(Op::mul, push(abi::Push::block_x), push(abi::Push::block_y)),
                      push(abi::Push::block_z));
}

Value Coarsener::local_id(std::uint32_t axis) {
  if (flat_) return axis == 0 ? thread() : b_.i32(0);
  if (rows_ && p_.warps) {
    // A warp is a part of a row.
    return axis == 0 ? b_.op2(Op::add, first_[0], lane()) : first_[axis];
  }
  if (rows_) {
    if (axis == 2) return b_.i32(0);
    if (axis == 0) return first_[0];
    return b_.op2(Op::add, first_[1], times_before(invocations_ / options_.block[0]));
  }
  const auto divide = [&](Value value, std::uint32_t by, Value& rest) {
    const Value quotient = b_.op2(Op::lshr, b_.op2(Op::mul, value, factor_[by]), b_.i32(20));
    rest = b_.op2(Op::sub, value, b_.op2(Op::mul, quotient, size_[by]));
    return quotient;
  };
  Value x = 0, y = 0;
  const Value row = divide(thread(), 0, x);
  if (axis == 0) return x;
  if (known_ && options_.block[2] == 1) return axis == 1 ? row : b_.i32(0);
  const Value z = divide(row, 1, y);
  return axis == 1 ? y : z;
}

// What the thread at hand brings into the phis of `to`.
void Coarsener::phis(BlockId from, BlockId to) {
  for (const Value v : p_.f.blocks[to].insts) {
    if (!is_phi(v)) break;
    if (p_.own[v]) write(phi_vars_[v], fetch(operand(from, to, v)));
  }
}

void Coarsener::common_phis(BlockId from, BlockId to) {
  for (const Value v : p_.f.blocks[to].insts) {
    if (!is_phi(v)) break;
    if (!p_.own[v]) b_.set(phi_vars_[v], values_[operand(from, to, v)]);
  }
}

/// The operand for the thread at hand.
Value Coarsener::fetch(Value v) {
  if (!p_.own[v] || instance_of_[v] == instance_) return values_[v];
  return repeated_[v] ? copy(v) : read(kept_[v]);
}

Value Coarsener::copy(Value v) {
  const Inst inst = p_.f.insts[v];
  if (inst.op == Op::phi) return p_.own[v] ? read(phi_vars_[v]) : b_.get(phi_vars_[v]);
  if (inst.op == Op::builtin) {
    switch (inst.builtin) {
      case Builtin::local_id_x: return local_id(0);
      case Builtin::local_id_y: return local_id(1);
      case Builtin::local_id_z: return local_id(2);
      case Builtin::local_index: return thread();
      default: return b_.builtin(inst.builtin);
    }
  }
  std::vector<Value> args;
  for (const Value a : p_.f.args(v)) args.push_back(fetch(a));
  if (is_access(inst.op) && inst.mem.space == Space::local && n_ > 1)
    args[0] = b_.op2(Op::add, args[0], times_before(local_bytes_));
  const Value made = b_.inst(inst.op, inst.type, args, inst.imm);
  Inst& same = b_.last(made);
  same.fp = inst.fp;
  same.mem = inst.mem;
  same.builtin = inst.builtin;
  return made;
}

void Coarsener::clone(Value v) {
  b_.set_loc(p_.f.insts[v].loc);
  if (const Inst& inst = p_.f.insts[v]; inst.op == Op::note_fault) {
    std::vector<Value> args;
    for (const Value a : p_.f.args(v)) args.push_back(fetch(a));
    return faults_->note(b_, static_cast<std::uint32_t>(inst.imm), args, times_before(1));
  }
  values_[v] = copy(v);
  instance_of_[v] = instance_;
  if (kept_[v] != kNone) write(kept_[v], values_[v]);
}

/// Whether the thread at hand is one that the block has and that has not ended; 0 where it must be.
Value Coarsener::mask(std::uint32_t guard) {
  if (guard != kNone)
    return p_.warps ? warp::Lanes(b_).has(b_.get(masks_[guard]), lane()) : read(masks_[guard]);
  const std::uint32_t last =
      p_.warps ? (invocations_ - 1) * kWarp + k_ + 1 : (k_ + 1) * invocations_;
  if (!partial() || (known_ && !looped_ && last <= threads_)) return 0;
  return b_.cmp(Op::ult, thread(), count_);
}

/// Whether so many instructions are to stand once for each thread, which this counts.
bool Coarsener::copies(std::size_t size) {
  const std::size_t all = size * n_;
  if (!p_.warps) return all <= kMostCopied;
  if (all > most_copied_) return false;
  wanted_ += all;
  return wanted_ <= kMostCopiesOfWarp;
}

/// What an instruction of the kernel comes to in a thread's code.
std::size_t Coarsener::size_of(const Inst& inst) {
  constexpr std::size_t kNote = 6;
  return inst.op == Op::note_fault ? kNote : 1;
}

std::size_t Coarsener::size_of(BlockId block) const {
  std::size_t size = 0;
  for (const Value v : p_.f.blocks[block].insts) size += size_of(p_.f.insts[v]);
  return size;
}

void Coarsener::common_part(const std::vector<Value>& insts) {
  ++instance_;  // a warp's number follows from that of any of its threads
  for (const Value v : insts) {
    if (p_.own[v]) continue;
    b_.set_loc(p_.f.insts[v].loc);
    values_[v] = copy(v);
  }
}

// A block that all threads of the block are in together.
void Coarsener::block(BlockId b) {
  b_.at(blocks_[b]);
  if (p_.piece_of[b] != kNone) {
    const Piece& each = p_.pieces[p_.piece_of[b]];
    std::size_t size = 0;
    for (const BlockId inside : each.blocks) size += size_of(inside);
    for_each_thread(size + 1, p_.guard_of[b], true, {}, [&](BlockId next) {
      const BlockId start = b_.block();
      piece(each, next);
      const BlockId end = b_.block();
      b_.at(start);
      b_.br(clones_[b]);
      b_.at(end);
    });
    return b_.br(blocks_[each.exit]);
  }
  std::vector<Value> part;
  std::size_t own = 0;
  bool acts = false;
  const auto end_part = [&](bool masked, const std::optional<Bound>& most, auto&& tail) {
    common_part(part);
    for_each_thread(own, p_.guard_of[b], acts || masked, most, [&](BlockId next) {
      for (const Value v : part)
        if (p_.own[v]) clone(v);
      tail(next);
    });
    part.clear();
    own = 0;
    acts = false;
  };
  for (const Value v : p_.f.blocks[b].insts) {
    const Inst& inst = p_.f.insts[v];
    const bool warp = is_warp_operation(inst.op);
    if (is_barrier(inst.op) || warp) {
      if (too_long()) return;
      end_part(false, {}, [&](BlockId next) { b_.br(next); });
      b_.set_loc(inst.loc);
      if (warp)
        warp_operation(v, p_.guard_of[b]);
      else
        b_.inst(Op::control_barrier, Type::none, {});
      continue;
    }
    part.push_back(v);
    if (!p_.own[v]) continue;
    own += size_of(inst);
    acts = acts ||
           (!is_phi(v) && (info(inst.op).flags & (flag::R | flag::W)) && !is_launch_word(inst));
  }
  // The block's branch and what it brings into phis belong to its last part.
  const Block& block = p_.f.blocks[b];
  const std::uint32_t number = guard_at_[b], into = piece_at_[b];
  std::size_t more = number != kNone ? 1 : 0;
  bool meets = false;
  if (into != kNone)
    for (const BlockId inside : p_.pieces[into].blocks) more += 1 + size_of(inside);
  for (const BlockId s : block.succs)
    for (const Value v : p_.f.blocks[s].insts) {
      if (!is_phi(v)) break;
      more += p_.own[v];
      meets = meets || merge_of_[s] != kNone;
    }
  own += more;
  const auto most = bound(b, part);
  if (number != kNone) begin_guard(number);
  end_part(meets || number != kNone || into != kNone, most, [&](BlockId next) {
    b_.set_loc(block.loc);
    if (number != kNone) return stay(p_.guards[number], number, next);
    if (into != kNone) return split(b, next);
    for (const BlockId s : block.succs) phis(b, s);
    b_.br(next);
  });
  b_.set_loc(block.loc);
  for (const BlockId s : block.succs)
    if (p_.piece_of[s] == kNone || blocks_[s] != kNoBlock) common_phis(b, s);
  if (number != kNone) {
    const Guard& guard = p_.guards[number];
    if (!guard.risky) return b_.br(blocks_[guard.inside]);
    const Value any = anyone(number);
    return b_.cond_br(any, blocks_[guard.inside], blocks_[guard.merge]);
  }
  if (into != kNone) return b_.br(blocks_[p_.pieces[into].exit]);
  switch (block.term) {
    case Term::br: b_.br(blocks_[block.succs[0]]); break;
    case Term::cond_br:
      b_.cond_br(values_[block.cond], blocks_[block.succs[0]], blocks_[block.succs[1]]);
      break;
    case Term::exit:
      write_faults();
      b_.exit();
      break;
    default: out_.blocks[b_.block()].term = Term::unreachable;
  }
}

/// What the invocation's threads have noted.
void Coarsener::write_faults() {
  if (!faults_) return;
  faults_->write(b_, [&](Value number) {
    // That thread's numbers are worked out as in a loop over the threads.
    counter_ = word("thread");
    b_.set(counter_, number);
    looped_ = true;
    std::vector<Value> ids;
    for (const Builtin id :
         {Builtin::workgroup_id_x, Builtin::workgroup_id_y, Builtin::workgroup_id_z})
      ids.push_back(b_.builtin(id));
    for (std::uint32_t axis = 0; axis < 3; ++axis) ids.push_back(local_id(axis));
    looped_ = false;
    return ids;
  });
}

// Those who leave go their way at once, for the others' barriers count on them to be done.
void Coarsener::stay(const Guard& guard, std::uint32_t number, BlockId next) {
  Value stays = fetch(p_.f.blocks[guard.head].cond);
  if (!guard.inside_if) stays = b_.inst(Op::not_, Type::i1, {stays});
  if (p_.warps) {
    const Value bit = b_.op2(Op::shl, b_.inst(Op::zext, Type::i32, {stays}), lane());
    b_.set(masks_[number], b_.op2(Op::or_, b_.get(masks_[number]), bit));
  } else {
    write(masks_[number], stays);
  }
  phis(guard.head, guard.inside);
  if (guard.arm == kNone) {
    phis(guard.head, guard.merge);
    return b_.br(next);
  }
  const Piece& each = p_.pieces[guard.arm];
  phis(guard.head, each.blocks[0]);
  const BlockId start = b_.block();
  piece(each, next);
  b_.at(start);
  b_.cond_br(stays, next, clones_[each.blocks[0]]);
}

void Coarsener::begin_guard(std::uint32_t guard) {
  if (p_.warps) b_.set(masks_[guard], b_.i32(0));
}

/// Whether any thread stays, of the whole block where they meet at barriers, else of the warp.
Value Coarsener::anyone(std::uint32_t guard) {
  const auto any_of_warp = [&] { return b_.cmp(Op::ne, b_.get(masks_[guard]), b_.i32(0)); };
  if (p_.warps && !p_.guards[guard].barriers) return any_of_warp();
  std::uint32_t word = word_;
  for (std::uint32_t g = 0; g < guard; ++g)
    if (p_.guards[g].risky) word += 4;
  const auto address = [&] {
    if (!out_.uses_dynamic_shared) return b_.i32(word);
    const Value dynamic =
        b_.op2(Op::and_, b_.op2(Op::add, push(abi::Push::dynamic_shared), b_.i32(3)), b_.i32(~3u));
    return b_.op2(Op::add, dynamic, b_.i32(word));
  };
  const auto store_if = [&](Value condition, std::uint32_t value) {
    const BlockId inside = b_.new_block(), next = b_.new_block();
    b_.cond_br(condition, inside, next);
    b_.at(inside);
    b_.store(address(), b_.i32(value), {.space = Space::shared, .bytes = 4});
    b_.br(next);
    b_.at(next);
    b_.inst(Op::control_barrier, Type::none, {});
  };
  store_if(b_.cmp(Op::eq, b_.builtin(Builtin::local_index), b_.i32(0)), 0);
  Value mine = p_.warps ? any_of_warp() : b_.get(masks_[guard]);
  for (std::uint32_t k = 1; k < n_ && !p_.warps; ++k)
    mine = b_.op2(Op::or_, mine, b_.get(masks_[guard] + k));
  store_if(mine, 1);
  const Value seen = b_.load(Type::i32, address(), {.space = Space::shared, .bytes = 4});
  return b_.cmp(Op::ne, seen, b_.i32(0));
}

// The branch at the end of `b`, and all up to where threads meet again.
void Coarsener::split(BlockId b, BlockId next) {
  const Block& block = p_.f.blocks[b];
  const Piece& each = p_.pieces[piece_at_[b]];
  for (const BlockId s : block.succs) phis(b, s);
  const Value condition = fetch(block.cond);
  const BlockId start = b_.block();
  piece(each, next);
  b_.at(start);
  const auto target = [&](BlockId s) { return s == each.exit ? next : clones_[s]; };
  b_.cond_br(condition, target(block.succs[0]), target(block.succs[1]));
}

void Coarsener::piece(const Piece& each, BlockId next) {
  for (const BlockId b : each.blocks) clones_[b] = b_.new_block();
  for (const BlockId b : each.blocks) {
    const Block& block = p_.f.blocks[b];
    b_.at(clones_[b]);
    for (const Value v : block.insts) clone(v);
    b_.set_loc(block.loc);
    for (const BlockId s : block.succs) phis(b, s);
    const auto target = [&](BlockId s) { return s == each.exit ? next : clones_[s]; };
    if (block.term == Term::br) {
      b_.br(target(block.succs[0]));
    } else if (block.term == Term::cond_br) {
      const Value condition = fetch(block.cond);
      b_.cond_br(condition, target(block.succs[0]), target(block.succs[1]));
    } else {
      out_.blocks[b_.block()].term = Term::unreachable;
    }
  }
}

}  // namespace coarse

namespace {

constexpr std::size_t kMostKept = 4096;
constexpr const char* kTooLong = "too many copies of its instructions";
/// Bytes of local memory for all threads of a warp.
constexpr std::uint32_t kMostLocalOfWarp = 16 * 1024;

/// An invocation for each warp of the block.
std::string coarsen_warps(Function& function, const coarse::Plan& plan, BlockOptions& options) {
  if (!InvocationFaults::fits(function.fault_log, coarse::kWarp))
    return "too many places for an invocation's fault log";
  std::optional<coarse::Coarsener> copies;
  std::optional<Function> made;
  std::size_t most = coarse::kMostCopiedOfWarp;
  const auto write = [&] {
    copies.emplace(plan, function, options, std::vector<std::uint32_t>{}, most);
    made = copies->run();
  };
  write();
  if (copies->kept() * coarse::kWarp > kMostKept) return "too much for its threads to keep";
  if (copies->wants_too_many_copies() && function.fault_log.sites) {
    most = coarse::kMostCopiedOfCheckedWarp;
    write();
  }
  if (copies->wants_too_many_copies()) return kTooLong;
  // What loops over the threads use is reached by the thread's number: arrays.
  if (made && !copies->looped().empty())
    made = coarse::Coarsener(plan, function, options, copies->looped(), most).run();
  if (!made) return kTooLong;
  if (made->local_bytes > kMostLocalOfWarp) return "too much local memory for its threads";
  function = std::move(*made);
  options.workgroup_threads = copies->invocations();
  return {};
}

}  // namespace

std::string thread_coarsening(Function& function, Module& module, BlockOptions& options) {
  const coarse::Plan plan(function, module, options);
  if (!plan.refusal().empty()) return plan.refusal();
  if (options.warps) return coarsen_warps(function, plan, options);
  const auto per_invocation = [&] {
    const std::uint32_t most = std::max(1u, options.workgroup_threads);
    return (std::max(1u, options.max_block_threads) + most - 1) / most;
  };
  const std::size_t kept = coarse::Coarsener(plan, function, options).kept();
  if (options.fewer && per_invocation() > 1) {
    // A CPU driver switches between all subgroups of a workgroup at each barrier. Values that
    // threads keep move up in each iteration of a loop over the threads, so more threads in an
    // invocation cost more. Where the block's size is known, there are no surplus threads if
    // possible.
    constexpr std::uint32_t kFew = 32, kSome = 128;
    const bool free = kept == 0 && plan.f.local_bytes == 0;
    options.workgroup_threads = std::min(options.workgroup_threads, free ? kFew : kSome);
    if (options.block[0])
      options.workgroup_threads =
          (options.max_block_threads + per_invocation() - 1) / per_invocation();
  }
  if (kept * per_invocation() > kMostKept) return "too much for its threads to keep";
  if (!InvocationFaults::fits(function.fault_log, per_invocation()))
    return "too many threads for an invocation's fault log";
  auto coarsened = coarse::Coarsener(plan, function, options).run();
  if (!coarsened) return kTooLong;
  function = std::move(*coarsened);
  return {};
}

}  // namespace ptx2spv::passes
