// What each thread keeps from part to part of a kernel, and what it recomputes.
#include <algorithm>

#include "translator/passes/threads/thread_coarsening.hpp"
#include "translator/passes/threads/warp_lanes.hpp"

namespace ptx2spv::passes::coarse {

using namespace ir;

namespace {

/// Instructions that are cheaper to repeat in each part than to keep their value for each thread.
constexpr unsigned kMostRepeated = 8;

std::uint32_t words_of(Type type) {
  return type == Type::i64 || type == Type::v2 ? 2 : type == Type::v4 ? 4 : 1;
}

}  // namespace

Coarsener::Coarsener(const Plan& plan, const Function& original, const BlockOptions& options,
                     const std::vector<std::uint32_t>& arrays, std::size_t most_copied)
    : p_(plan),
      out_(original),
      b_(out_),
      options_(options),
      invocations_(plan.warps ? (std::max(1u, options.max_block_threads) + kWarp - 1) / kWarp
                              : std::max(1u, options.workgroup_threads)),
      n_(plan.warps ? kWarp
                    : (std::max(1u, options.max_block_threads) + invocations_ - 1) / invocations_),
      most_copied_(most_copied),
      known_(options.block[0] != 0),
      threads_(known_ ? options.block[0] * options.block[1] * options.block[2] : 0) {
  out_.insts.assign(1, Inst{});
  out_.operands.clear();
  out_.blocks.clear();
  out_.vars.clear();
  out_.order.clear();
  out_.calls.clear();
  const Function& f = p_.f;
  values_.assign(f.insts.size(), 0);
  instance_of_.assign(f.insts.size(), 0);
  blocks_.assign(f.blocks.size(), kNoBlock);
  clones_ = blocks_;
  guard_at_.assign(f.blocks.size(), kNone);
  merge_of_ = piece_at_ = guard_at_;
  std::uint32_t words = 0;
  for (std::uint32_t g = 0; g < p_.guards.size(); ++g) {
    guard_at_[p_.guards[g].head] = g;
    merge_of_[p_.guards[g].merge] = g;
    if (p_.warps)
      masks_.push_back(word("stays"));
    else
      masks_.push_back(slots(Type::i1, "stays"));
    if (p_.guards[g].risky) ++words;
  }
  for (std::uint32_t i = 0; i < p_.pieces.size(); ++i)
    if (p_.pieces[i].head != kNoBlock) piece_at_[p_.pieces[i].head] = i;
  phi_vars_.assign(f.insts.size(), kNone);
  for (const BlockId b : p_.order)
    for (const Value v : f.blocks[b].insts) {
      const Inst& inst = f.insts[v];
      if (inst.op == Op::phi) {
        phi_vars_[v] = static_cast<std::uint32_t>(out_.vars.size());
        out_.vars.resize(out_.vars.size() + (p_.own[v] ? n_ : 1), {inst.type, "phi", false});
      }
      const auto axis = static_cast<std::uint32_t>(inst.builtin) -
                        static_cast<std::uint32_t>(Builtin::local_id_x);
      if (inst.op == Op::builtin && axis < 3) used_[axis] = true;
    }
  local_bytes_ = (f.local_bytes + 15) & ~15u;
  if (n_ > 1) out_.local_bytes = local_bytes_ * n_;
  // Words in which a block tells whether any of its threads stays, behind the kernel's own.
  word_ = (f.shared_bytes + 3) & ~3u;
  if (words) out_.shared_bytes = word_ + 4 * words;
  out_.region_threads = n_;
  flat_ = known_ && options.block[1] * options.block[2] == 1;
  rows_ = known_ && (p_.warps ? options.block[0] % kWarp == 0
                              : invocations_ % options.block[0] == 0 && options.block[2] == 1);
  if (f.fault_log.sites) std::ranges::fill(used_, true);
  number_parts();
  find_repeated();
  find_kept();
  lay_out_arrays(arrays);
  if (f.fault_log.sites) {
    const bool others = std::ranges::any_of(
        f.insts, [](const Inst& inst) { return inst.op == Op::note_fault && inst.count > 2; });
    faults_.emplace(out_, f.fault_log, others);
  }
}

// Behind the threads' own local memory.
void Coarsener::lay_out_arrays(const std::vector<std::uint32_t>& bases) {
  array_of_.assign(out_.vars.size(), kNone);
  if (!p_.warps) return;
  std::uint32_t at = local_bytes_ * n_;
  scratch_ = at;
  at += kScratchWords * 4;
  for (const std::uint32_t base : bases) {
    array_of_[base] = at;
    at += 4 * words_of(out_.vars[base].type) * n_;
  }
  out_.local_bytes = at;
}

Value Coarsener::array_at(std::uint32_t base) {
  const std::uint32_t bytes = 4 * words_of(out_.vars[base].type);
  return b_.op2(Op::add, b_.i32(array_of_[base]), times_before(bytes));
}

Value Coarsener::read(std::uint32_t base) {
  if (array_of_[base] == kNone) return b_.get(slot(base));
  const Type type = out_.vars[base].type;
  const bool truth = type == Type::i1;
  const MemAttr mem{.space = Space::local, .bytes = static_cast<std::uint8_t>(4 * words_of(type))};
  const Value value = b_.load(truth ? Type::i32 : type, array_at(base), mem);
  return truth ? b_.cmp(Op::ne, value, b_.i32(0)) : value;
}

void Coarsener::write(std::uint32_t base, Value value) {
  if (array_of_[base] == kNone) return b_.set(slot(base), value);
  const Type type = out_.vars[base].type;
  const MemAttr mem{.space = Space::local, .bytes = static_cast<std::uint8_t>(4 * words_of(type))};
  if (type == Type::i1) value = b_.inst(Op::zext, Type::i32, {value});
  b_.store(array_at(base), value, mem);
}

std::size_t Coarsener::kept() const {
  std::size_t count = masks_.size();
  for (const BlockId b : p_.order)
    for (const Value v : p_.f.blocks[b].insts)
      count += p_.own[v] ? (kept_[v] != kNone) + (phi_vars_[v] != kNone) : 0;
  return count;
}

// A part is what one thread does between two places where all meet.
void Coarsener::number_parts() {
  std::uint32_t parts = 0;
  part_of_.assign(p_.f.insts.size(), kNone);
  last_part_.assign(p_.f.blocks.size(), kNone);
  for (const BlockId b : p_.order) {
    const std::uint32_t piece = p_.piece_of[b];
    if (piece != kNone) {
      const BlockId head = p_.pieces[piece].head;
      const BlockId first = p_.pieces[piece].blocks[0];
      last_part_[b] = head != kNoBlock ? last_part_[head]
                      : b == first     ? parts++
                                       : last_part_[first];
    } else {
      last_part_[b] = parts++;
    }
    for (const Value v : p_.f.blocks[b].insts) {
      const bool warp = is_warp_operation(p_.f.insts[v].op);
      if (warp || is_barrier(p_.f.insts[v].op)) last_part_[b] = parts++;
      part_of_[v] = last_part_[b];
      if (warp) last_part_[b] = parts++;
    }
  }
}

unsigned Coarsener::cost(Value v) const {
  const Inst& inst = p_.f.insts[v];
  switch (inst.op) {
    case Op::constant: return 0;
    case Op::builtin:
      switch (inst.builtin) {
        case Builtin::local_id_x:
        case Builtin::local_id_y:
        case Builtin::local_id_z: return flat_ || rows_ ? 2 : 6;
        case Builtin::local_index: return 2;
        default: return kMostRepeated + 1;
      }
    case Op::phi:
    case Op::undef:
    case Op::udiv:
    case Op::sdiv:
    case Op::urem:
    case Op::srem:
    case Op::library: return kMostRepeated + 1;
    default: {
      const unsigned flags = info(inst.op).flags;
      return (flags & flag::P) && !(flags & flag::S) ? 1 : kMostRepeated + 1;
    }
  }
}

void Coarsener::find_repeated() {
  repeated_.assign(p_.f.insts.size(), false);
  std::vector<unsigned> sum(p_.f.insts.size(), 0);
  for (const BlockId b : p_.order)
    for (const Value v : p_.f.blocks[b].insts) {
      if (!p_.own[v]) continue;
      sum[v] = cost(v);
      for (const Value a : p_.f.args(v)) sum[v] += p_.own[a] ? sum[a] : 0;
      sum[v] = std::min(sum[v], kMostRepeated + 1);
      repeated_[v] = sum[v] <= kMostRepeated;
    }
}

void Coarsener::find_kept() {
  kept_.assign(p_.f.insts.size(), kNone);
  // A repeated value is worked out of others, which have to be there too.
  std::vector<Value> work;
  const auto use = [&](Value v, std::uint32_t part) {
    work.push_back(v);
    while (!work.empty()) {
      const Value a = work.back();
      work.pop_back();
      if (!p_.own[a] || part_of_[a] == part) continue;
      if (repeated_[a])
        work.insert(work.end(), p_.f.args(a).begin(), p_.f.args(a).end());
      else if (kept_[a] == kNone)
        kept_[a] = slots(p_.f.insts[a].type, "kept");
    }
  };
  for (const BlockId b : p_.order) {
    const Block& block = p_.f.blocks[b];
    for (const Value v : block.insts)
      if ((p_.own[v] && !is_phi(v)) || is_warp_operation(p_.f.insts[v].op))
        for (const Value a : p_.f.args(v)) use(a, part_of_[v]);
    if (block.cond) use(block.cond, last_part_[b]);
    for (const BlockId s : block.succs)
      for (const Value v : p_.f.blocks[s].insts) {
        if (!is_phi(v)) break;
        if (p_.own[v]) use(operand(b, s, v), last_part_[b]);
      }
  }
}

// A branch by the thread's number around what needs and leaves nothing that threads keep.
std::optional<Bound> Coarsener::bound(BlockId b, const std::vector<Value>& part) const {
  const Block& block = p_.f.blocks[b];
  const std::uint32_t into = piece_at_[b];
  if (n_ == 1 || into == kNone || guard_at_[b] != kNone || p_.guard_of[b] != kNone) return {};
  const Piece& each = p_.pieces[into];
  if (block.succs[0] != each.exit && block.succs[1] != each.exit) return {};
  const auto kept = [&](Value v) {
    const auto used = [&](Value a) {
      return p_.own[a] && part_of_[a] != last_part_[b] && !repeated_[a];
    };
    return kept_[v] != kNone || (!is_phi(v) && std::ranges::any_of(p_.f.args(v), used));
  };
  for (const Value v : part)
    if (p_.own[v] && (!repeated_[v] || kept(v))) return {};
  for (const BlockId inside : each.blocks)
    if (std::ranges::any_of(p_.f.blocks[inside].insts, kept)) return {};
  const auto& behind = p_.f.blocks[each.exit].insts;
  if (!behind.empty() && is_phi(behind[0])) return {};

  const Inst& cond = p_.f.insts[block.cond];
  const bool if_true = block.succs[1] == each.exit;
  if (cond.count != 2) return {};
  const auto is_thread = [&](Value v) {
    const Inst& inst = p_.f.insts[v];
    return inst.op == Op::builtin &&
           (inst.builtin == Builtin::local_index || (flat_ && inst.builtin == Builtin::local_id_x));
  };
  const Value a = p_.f.arg(block.cond, 0), c = p_.f.arg(block.cond, 1);
  const bool first = is_thread(a);
  const Value other = first ? c : a;
  if ((!first && !is_thread(c)) || p_.own[other]) return {};
  switch (cond.op) {
    case Op::eq: return if_true ? std::optional(Bound{Op::ule, other}) : std::nullopt;
    case Op::ne: return if_true ? std::nullopt : std::optional(Bound{Op::ule, other});
    case Op::ult:
    case Op::slt:
      // t < n, or not n < t
      if (first != if_true) return {};
      return first ? Bound{cond.op, other} : Bound{cond.op == Op::ult ? Op::ule : Op::sle, other};
    case Op::ule:
    case Op::sle:
      if (first != if_true) return {};
      return first ? Bound{cond.op, other} : Bound{cond.op == Op::ule ? Op::ult : Op::slt, other};
    default: return {};
  }
}

}  // namespace ptx2spv::passes::coarse
