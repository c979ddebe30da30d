// Loops of float arithmetic on devices that flush denormals. A loop without side effects stands
// twice. The first copy runs with the device's own operations and with integer checks of a few
// values, from which follows that all the others come out as they should: they are zero, or neither
// so small that a product or sum of theirs could be flushed nor a NaN. Threads whose checks fail
// leave it. They alone run the second copy, with exact operations, from the start.
//
//     before --> first copy --> W: does a check say so? --> second copy --+
//                                        |        ^                       |
//                                        |        +------- (once) --------+
//                                        +--> after
//
// CPU drivers execute branches that no thread takes. W is a loop: where no thread enters it, they
// execute one iteration at most.
#include "translator/passes/legalise/checked_loops.hpp"

#include <algorithm>
#include <utility>

namespace ptx2spv::passes {

using namespace ir;

namespace checked {

namespace {

/// The largest loops that stand twice, in instructions.
constexpr std::size_t kMostInstructions = 600;

/// What is known of a single-precision value that is no denormal: unless it is zero, its magnitude
/// is at least 2^low. A zero alone meets every bound.
constexpr int kUnknown = -1000, kNormal = -126, kZero = 1000;

/// The least a sum's larger operand may be: below, the sum can be a denormal.
constexpr int kLeastOfSum = -102;

bool is_comparison(Op op) { return op == Op::feq || op == Op::flt || op == Op::fle; }

/// Instructions that an exact operation takes beyond the device's own.
unsigned saved_by(Op op) {
  switch (op) {
    case Op::fmul: return 46;
    case Op::fadd: return 28;
    case Op::ffma: return 73;
    case Op::fdiv:
    case Op::frcp: return 50;
    case Op::fsqrt: return 12;
    default: return 8;
  }
}
constexpr unsigned kCheck = 8;

}  // namespace

// ---- Which loops ----

/// Whether nobody notices when a thread runs the loop twice.
bool CheckedLoops::can_repeat(std::uint32_t loop) const {
  const auto blocks = blocks_of(loop);
  std::size_t size = 0;
  for (const BlockId b : blocks) {
    const Block& block = f_.blocks[b];
    if (block.term != Term::br && block.term != Term::cond_br) return false;
    size += 1 + block.insts.size();
    if (size > kMostInstructions) return false;
    for (const Value v : block.insts) {
      const Inst& inst = f_.insts[v];
      if (info(inst.op).flags & (flag::W | flag::C)) return false;
      if (inst.op == Op::load && inst.mem.is_volatile) return false;
      if (inst.op == Op::builtin &&
          (inst.builtin == Builtin::clock_lo || inst.builtin == Builtin::clock_hi))
        return false;
    }
    const std::uint32_t inner = nest_.innermost[b];
    if (f_.blocks[b].merge == Merge::loop && test_of(inner) == kNoBlock) return false;
  }
  const BlockId merge = nest_.loops[loop].merge;
  return std::ranges::all_of(f_.blocks[merge].preds,
                             [&](BlockId p) { return nest_.within(p, loop); });
}

/// Which successor of the block leaves the loop, itself or by a block of its own; -1 where none or
/// both do.
int CheckedLoops::leaving_side(std::uint32_t loop, BlockId b) const {
  const Block& block = f_.blocks[b];
  const BlockId merge = nest_.loops[loop].merge;
  if (block.term != Term::cond_br || nest_.innermost[b] != loop) return -1;
  const auto leaves = [&](BlockId s) {
    const Block& next = f_.blocks[s];
    return s == merge ||
           (next.term == Term::br && next.succs[0] == merge && next.preds.size() == 1);
  };
  const bool first = leaves(block.succs[0]), second = leaves(block.succs[1]);
  return first == second ? -1 : first ? 0 : 1;
}

/// A block on every way around the loop whose branch may leave it; none where there is no such one
/// in the two places that are looked at.
BlockId CheckedLoops::test_of(std::uint32_t loop) const {
  BlockId b = nest_.loops[loop].header;
  const BlockId end = f_.blocks[b].continue_block;
  while (f_.blocks[b].term == Term::br && f_.blocks[b].succs[0] != end &&
         nest_.innermost[f_.blocks[b].succs[0]] == loop &&
         nest_.within(f_.blocks[b].succs[0], loop))
    b = f_.blocks[b].succs[0];
  if (leaving_side(loop, b) >= 0) return b;
  const auto& latches = f_.blocks[end].preds;
  return latches.size() == 1 && leaving_side(loop, latches[0]) >= 0 ? latches[0] : kNoBlock;
}

void CheckedLoops::consider(std::uint32_t loop) {
  const BlockId header = nest_.loops[loop].header;
  if (can_repeat(loop) && f_.blocks[header].merge == Merge::loop) {
    Twin twin;
    twin.loop = loop, twin.header = header, twin.merge = nest_.loops[loop].merge;
    const auto blocks = blocks_of(loop);
    twin.blocks.assign(blocks.begin(), blocks.end());
    if (plan(twin)) {
      twins_.push_back(std::move(twin));
      return;
    }
  }
  for (const std::uint32_t inner : inner_[loop]) consider(inner);
}

// ---- What to check ----

/// Operations that the device does itself once their operands are what checks say.
bool CheckedLoops::takes_part(const Inst& inst) const {
  if (inst.fp.kind != NumKind::f32 || inst.fp.ftz || inst.fp.sat) return false;
  const bool nearest = inst.fp.round == Round::rn || inst.fp.round == Round::none;
  switch (inst.op) {
    case Op::fadd:
    case Op::fmul:
    case Op::ffma: return nearest;
    case Op::fdiv:
    case Op::frcp: return nearest && p_.exactness.exact_div32;
    case Op::fsqrt: return nearest && p_.exactness.exact_sqrt32;
    default: return is_comparison(inst.op);
  }
}

int CheckedLoops::low(Value v) const {
  const Inst& inst = f_.insts[v];
  if (inst.op != Op::constant) return low_[v];
  const auto magnitude = static_cast<std::uint32_t>(inst.imm) & 0x7fffffff;
  if (magnitude == 0) return kZero;
  return magnitude < 0x00800000 ? kUnknown : static_cast<int>(magnitude >> 23) - 127;
}

int CheckedLoops::least(std::span<const Value> values) const {
  int least = kZero;
  for (const Value v : values) least = std::min(least, low(v));
  return least;
}

/// Has the value checked; false for a constant that would fail.
bool CheckedLoops::ground(Value v, const Bounds& bounds) {
  const Inst& inst = f_.insts[v];
  const bool narrow = bounds.low == kNarrow.low;
  if (inst.op == Op::constant) {
    const auto magnitude = static_cast<std::uint32_t>(inst.imm) & 0x7fffffff;
    return magnitude == 0 || (low(v) >= bounds.low && magnitude <= bounds.top);
  }
  if (inst.type != Type::i32) return false;
  const std::uint8_t level = narrow ? 2 : 1;
  if (grounded_[v] >= level) return true;
  if (grounded_[v] == 0) grounds_.push_back(v);
  grounded_[v] = level;
  low_[v] = std::max(low_[v], bounds.low);
  return true;
}

/// What follows for the value from its operands, which are checked where that is not enough. False
/// where no check can help.
bool CheckedLoops::follow(Value v) {
  const Inst inst = f_.insts[v];
  const auto arg = [&](unsigned i) { return f_.arg(v, i); };
  if (!takes_part(inst)) {
    if (inst.op == Op::fcvt && inst.fp.to == NumKind::f32 && inst.fp.kind < NumKind::f16)
      low_[v] = 0;  // whole numbers
    else if (inst.op == Op::select && inst.type == Type::i32)
      low_[v] = least(f_.args(v).subspan(1));
    else if (inst.op == Op::phi && inst.type == Type::i32 && low_[v] == kUnknown)
      low_[v] = least(f_.args(v));
    else if (inst.op == Op::xor_ || inst.op == Op::and_)
      for (unsigned i = 0; i < 2; ++i)
        if (const Inst& c = f_.insts[arg(i)];
            c.op == Op::constant && c.imm == (inst.op == Op::xor_ ? 0x80000000u : 0x7fffffffu))
          low_[v] = low(arg(1 - i));
    return true;
  }
  const auto known = [&](unsigned i) { return low(arg(i)) != kUnknown || ground(arg(i), kPlain); };
  const auto narrow = [&](unsigned operands) {
    for (unsigned i = 0; i < operands; ++i)
      if (!ground(arg(i), kNarrow)) return false;
    return true;
  };
  switch (inst.op) {
    case Op::fmul: {
      if (!known(0) || !known(1)) return false;
      for (unsigned i = 0; i < 2; ++i)
        if (low(arg(0)) + low(arg(1)) < kNormal && low(arg(i)) < kPlain.low &&
            !ground(arg(i), kPlain))
          return false;
      low_[v] = std::min(low(arg(0)) + low(arg(1)), 127);
      if (low_[v] < kNormal) return false;
      break;
    }
    case Op::fadd: {
      if (!known(0) || !known(1)) return false;
      // What does not change in the loop is checked once.
      const bool first = home_[arg(0)] == kNoBlock || !inside_[home_[arg(0)]];
      for (const unsigned i : {first ? 0u : 1u, first ? 1u : 0u})
        if (std::max(low(arg(0)), low(arg(1))) < kLeastOfSum && !ground(arg(i), kPlain))
          return false;
      low_[v] = std::min(std::max(std::min(low(arg(0)), low(arg(1))) - 23, kNormal), 127);
      break;
    }
    case Op::ffma:
      if (!narrow(3)) return false;
      low_[v] = -103;
      break;
    case Op::fdiv:
      if (!narrow(2)) return false;
      low_[v] = -102;
      break;
    case Op::frcp:
    case Op::fsqrt:
      if (!narrow(1)) return false;
      low_[v] = -62;
      break;
    default: {
      // A comparison is not worth a check.
      if (low(arg(0)) == kUnknown || low(arg(1)) == kUnknown) return true;
      break;
    }
  }
  native_.push_back(v);
  return true;
}

/// Values that loops carry are what their checks say, where arithmetic takes them.
void CheckedLoops::assume_phis(const Twin& twin) {
  std::vector<bool> taken(f_.insts.size());
  for (const BlockId b : twin.blocks)
    for (const Value v : f_.blocks[b].insts)
      if (takes_part(f_.insts[v]) && !is_comparison(f_.insts[v].op))
        for (const Value a : f_.args(v)) taken[a] = true;
  for (const BlockId b : twin.blocks) {
    if (f_.blocks[b].merge != Merge::loop) continue;
    for (const Value v : f_.blocks[b].insts) {
      if (f_.insts[v].op != Op::phi) break;
      if (taken[v]) low_[v] = kPlain.low;
    }
  }
}

/// What comes to a loop's phi from before it and around it has to be what was assumed.
bool CheckedLoops::check_edges(const Twin& twin) {
  for (const BlockId b : twin.blocks) {
    if (f_.blocks[b].merge != Merge::loop) continue;
    for (const Value v : f_.blocks[b].insts) {
      if (f_.insts[v].op != Op::phi) break;
      if (low_[v] == kUnknown || grounded_[v] == 2) continue;  // a check of its own is stronger
      for (const Value a : f_.args(v))
        if (low(a) < kPlain.low && !ground(a, kPlain)) return false;
    }
  }
  return true;
}

/// Between a check that fails and the loop's next test a thread computes with wrong numbers. Its
/// reads stay where the kernel reads: neither their addresses nor the branches that lead to them
/// follow from such numbers.
bool CheckedLoops::reads_are_safe(const Twin& twin) {
  const auto reads = [&](Value v) {
    return f_.insts[v].op == Op::load && f_.insts[f_.arg(v, 0)].op != Op::constant;
  };
  bool any = false;
  for (const Value v : native_) follows_[v] = true;
  // Once more for what comes around a loop.
  for (bool more = true; more;) {
    more = false;
    for (const BlockId b : twin.blocks)
      for (const Value v : f_.blocks[b].insts) {
        any = any || reads(v);
        if (follows_[v]) continue;
        follows_[v] = std::ranges::any_of(f_.args(v), [&](Value a) { return follows_[a]; });
        more = more || follows_[v];
      }
  }
  if (!any) return true;
  for (const BlockId b : twin.blocks) {
    const Block& block = f_.blocks[b];
    if (block.cond && follows_[block.cond] && b != test_of(nest_.innermost[b])) return false;
    for (const Value v : block.insts)
      if (reads(v) && follows_[f_.arg(v, 0)]) return false;
  }
  return true;
}

bool CheckedLoops::plan(Twin& twin) {
  for (const BlockId b : twin.blocks) inside_[b] = true;
  grounds_.clear();
  native_.clear();
  assume_phis(twin);
  bool can = true;
  for (const BlockId b : twin.blocks)
    for (const Value v : f_.blocks[b].insts) can = can && follow(v);
  can = can && check_edges(twin) && reads_are_safe(twin);
  unsigned saved = 0, spent = 0;
  for (const Value v : native_) saved += saved_by(f_.insts[v].op);
  for (const Value v : grounds_) {
    twin.checked[grounded_[v] - 1].push_back(v);
    if (home_[v] != kNoBlock && inside_[home_[v]]) spent += kCheck;
  }
  const bool pays = can && saved > 2 * spent + 30;
  if (pays)
    for (const Value v : native_) f_.insts[v].fp.checked = true;
  // Loops that are looked at next start anew.
  for (const BlockId b : twin.blocks) {
    inside_[b] = false;
    for (const Value v : f_.blocks[b].insts)
      low_[v] = kUnknown, grounded_[v] = 0, follows_[v] = false;
  }
  for (const Value v : grounds_) low_[v] = kUnknown, grounded_[v] = 0;
  return pays;
}

bool CheckedLoops::run() {
  if (nest_.loops.empty()) return false;
  home_.assign(f_.insts.size(), kNoBlock);
  for (BlockId b = 0; b < f_.blocks.size(); ++b)
    for (const Value v : f_.blocks[b].insts) home_[v] = b;
  inside_.assign(f_.blocks.size(), false);
  low_.assign(f_.insts.size(), kUnknown);
  grounded_.assign(f_.insts.size(), 0);
  follows_.assign(f_.insts.size(), false);
  copy_of_.assign(f_.insts.size(), 0);
  block_of_.assign(f_.blocks.size(), kNoBlock);
  inner_.resize(nest_.loops.size());
  for (std::uint32_t loop = 0; loop < nest_.loops.size(); ++loop)
    if (nest_.loops[loop].parent != StructuredLoops::kNone)
      inner_[nest_.loops[loop].parent].push_back(loop);
  for (std::uint32_t loop = 0; loop < nest_.loops.size(); ++loop)
    if (nest_.loops[loop].parent == StructuredLoops::kNone) consider(loop);
  if (twins_.empty()) return false;
  find_live_out();
  bad_ = static_cast<std::uint32_t>(f_.vars.size());
  f_.vars.push_back({Type::i32, "check", false});
  for (at_ = 0; at_ < twins_.size(); ++at_) {
    Twin& twin = twins_[at_];
    enter(twin);
    copy(twin);
    leave_on_failure(twin);
    join(twin);
  }
  joins_.resize(f_.blocks.size());
  rename_behind();
  std::vector<BlockId> order;
  std::vector<std::uint32_t> starts(f_.blocks.size(), kNone), ends = starts;
  for (std::uint32_t t = 0; t < twins_.size(); ++t) {
    starts[twins_[t].header] = t;
    ends[twins_[t].merge] = t;
  }
  for (const BlockId b : f_.order) {
    if (starts[b] != kNone)
      order.insert(order.end(), twins_[starts[b]].before.begin(), twins_[starts[b]].before.end());
    order.push_back(b);
    if (ends[b] != kNone)
      order.insert(order.end(), twins_[ends[b]].behind.begin(), twins_[ends[b]].behind.end());
  }
  f_.order = std::move(order);
  order_preds();
  ssa(f_, module_);
  return true;
}

}  // namespace checked

bool checked_loops(Function& function, Module& module, const FloatOptions& options) {
  const Exactness& device = options.profile.exactness;
  if (options.fp != FpPolicy::exact || !device.flushes_denormals32 || device.denormals32)
    return false;
  return checked::CheckedLoops(function, module, options.profile).run();
}

}  // namespace ptx2spv::passes
