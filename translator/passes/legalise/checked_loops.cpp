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
#include <algorithm>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "translator/ir/loops.hpp"
#include "translator/passes/passes.hpp"

namespace ptx2spv::passes {

using namespace ir;

namespace {

constexpr std::uint32_t kNone = 0xffffffffu;

/// The largest loops that stand twice, in instructions.
constexpr std::size_t kMostInstructions = 600;

/// What is known of a single-precision value that is no denormal: unless it is zero, its magnitude
/// is at least 2^low. A zero alone meets every bound.
constexpr int kUnknown = -1000, kNormal = -126, kZero = 1000;

/// What a check makes certain of a value that is not zero.
struct Bounds {
  int low;            ///< magnitude of at least 2^low
  std::uint32_t top;  ///< and at most this number, as bits
};
/// Of operands of sums and products: those of products are at least 2^-102, so that their sums are
/// zero or normal. Infinities are numbers here.
constexpr Bounds kPlain{-51, 0x7f800000};
/// Of fma, quotients and roots: the product and its parts are multiples of 2^-126, nothing
/// overflows (2^62).
constexpr Bounds kNarrow{-40, 0x5e800000};

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

class CheckedLoops {
 public:
  CheckedLoops(Function& function, Module& module, const Profile& profile)
      : f_(function), module_(module), p_(profile), b_(function), nest_(function, function.order) {}
  bool run();

 private:
  /// A loop that stands twice.
  struct Twin {
    std::uint32_t loop = 0;
    BlockId header = 0, merge = 0;
    std::vector<BlockId> blocks;
    std::vector<Value> live_out;    ///< used behind the loop, beside the phis of its merge block
    std::vector<Value> checked[2];  ///< by Bounds: values to check, in the loop or before it
    std::vector<BlockId> before, behind;  ///< new blocks, before the header and behind the merge
    BlockId entry = kNoBlock;             ///< before it
  };

  std::span<const BlockId> blocks_of(std::uint32_t loop) const {
    return {f_.order.data() + nest_.loops[loop].first,
            nest_.loops[loop].end - nest_.loops[loop].first};
  }
  /// New blocks, such as the end of a loop that stands twice already, are in none of the loops.
  bool in_loop(BlockId b, std::uint32_t loop) const {
    return b < nest_.place.size() && nest_.within(b, loop);
  }
  bool can_repeat(std::uint32_t loop) const;
  int leaving_side(std::uint32_t loop, BlockId b) const;
  BlockId test_of(std::uint32_t loop) const;
  void consider(std::uint32_t loop);

  // What to check
  bool plan(Twin& twin);
  bool takes_part(const Inst& inst) const;
  int low(Value v) const;
  int least(std::span<const Value> values) const;
  bool ground(Value v, const Bounds& bounds);
  bool follow(Value v);
  void assume_phis(const Twin& twin);
  bool check_edges(const Twin& twin);
  bool reads_are_safe(const Twin& twin);

  // Both copies
  void find_live_out();
  void enter(Twin& twin);
  void copy(Twin& twin);
  Value check(Value v, const Bounds& bounds);
  void leave_on_failure(const Twin& twin);
  void join(Twin& twin);
  void rename_behind();
  void order_preds();

  Value mapped(Value v) const { return v < copy_of_.size() && copy_of_[v] ? copy_of_[v] : v; }
  /// A phi at the head of the block, whose predecessors are set.
  Value phi(BlockId block, Type type, const std::vector<Value>& args) {
    b_.at(block);
    return b_.inst(Op::phi, type, args);
  }

  Function& f_;
  Module& module_;
  const Profile& p_;
  Builder b_;
  const StructuredLoops nest_;
  std::vector<Twin> twins_;
  std::vector<std::uint32_t> twin_of_;             ///< by block
  std::vector<BlockId> home_;                      ///< by value: its block
  std::vector<std::vector<std::uint32_t>> inner_;  ///< by loop: those right inside of it

  // Of the loop in work
  std::uint32_t at_ = kNone;            ///< its place in twins_ once it is there
  std::vector<bool> inside_;            ///< by block
  std::vector<int> low_;                ///< by value
  std::vector<std::uint8_t> grounded_;  ///< by value: 1 plain, 2 narrow
  std::vector<Value> grounds_, native_;
  std::vector<bool> follows_;  ///< by value of the loop: from numbers that may be wrong
  std::uint32_t bad_ = 0;      ///< variable: below zero once a check has failed
  std::vector<Value> copy_of_;
  std::vector<BlockId> block_of_;
  std::vector<Value> behind_;  ///< by value of a loop: what stands for it behind the loop
  std::vector<bool> joins_;    ///< by block: where the two copies' results meet
};

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

// ---- Both copies ----

void CheckedLoops::find_live_out() {
  twin_of_.assign(f_.blocks.size(), kNone);
  for (std::uint32_t t = 0; t < twins_.size(); ++t)
    for (const BlockId b : twins_[t].blocks) twin_of_[b] = t;
  std::vector<bool> seen(f_.insts.size());
  const auto use = [&](Value a, BlockId block) {
    if (home_[a] == kNoBlock || seen[a]) return;
    const std::uint32_t t = twin_of_[home_[a]];
    if (t == kNone || twin_of_[block] == t) return;
    seen[a] = true;
    twins_[t].live_out.push_back(a);
  };
  for (BlockId b = 0; b < f_.blocks.size(); ++b) {
    const Block& block = f_.blocks[b];
    for (const Value v : block.insts) {
      const bool is_phi = f_.insts[v].op == Op::phi;
      for (unsigned i = 0; i < f_.insts[v].count; ++i)
        use(f_.arg(v, i), is_phi ? block.preds[i] : b);
    }
    if (block.cond) use(block.cond, b);
  }
}

/// A block of its own before the loop, where values that do not change in it are checked.
void CheckedLoops::enter(Twin& twin) {
  const BlockId entry = twin.entry = b_.new_block();
  Block& header = f_.blocks[twin.header];
  std::vector<unsigned> outer, inner;
  for (unsigned i = 0; i < header.preds.size(); ++i)
    (in_loop(header.preds[i], twin.loop) ? inner : outer).push_back(i);
  std::vector<BlockId> from;
  for (const unsigned i : outer) from.push_back(header.preds[i]);
  f_.blocks[entry].preds = from;
  for (const Value v : std::vector<Value>(header.insts)) {
    if (f_.insts[v].op != Op::phi) break;
    std::vector<Value> args, now;
    for (const unsigned i : outer) args.push_back(f_.arg(v, i));
    const bool one = std::ranges::all_of(args, [&](Value a) { return a == args[0]; });
    now.push_back(one ? args[0] : phi(entry, f_.insts[v].type, args));
    for (const unsigned i : inner) now.push_back(f_.arg(v, i));
    f_.insts[v].first = static_cast<std::uint32_t>(f_.operands.size());
    f_.insts[v].count = static_cast<std::uint16_t>(now.size());
    f_.operands.insert(f_.operands.end(), now.begin(), now.end());
  }
  std::vector<BlockId> preds{entry};
  for (const unsigned i : inner) preds.push_back(f_.blocks[twin.header].preds[i]);
  f_.blocks[twin.header].preds = std::move(preds);
  for (const BlockId p : from) std::ranges::replace(f_.blocks[p].succs, twin.header, entry);
  b_.at(entry);
  b_.set(bad_, b_.i32(0));
  for (const bool narrow : {false, true})
    for (const Value v : twin.checked[narrow])
      if (home_[v] == kNoBlock || twin_of_[home_[v]] != at_)
        b_.set(bad_, check(v, narrow ? kNarrow : kPlain));
}

/// What `bad_` becomes: below zero where the value is neither zero nor within the bounds.
Value CheckedLoops::check(Value v, const Bounds& bounds) {
  const Value magnitude = b_.op2(Op::and_, v, b_.i32(0x7fffffff));
  const auto least = static_cast<std::uint32_t>(bounds.low + 127) << 23;
  const Value below = b_.op2(Op::sub, magnitude, b_.i32(least));
  const Value above = b_.op2(Op::sub, b_.i32(bounds.top), magnitude);
  const Value nonzero = b_.op2(Op::sub, b_.i32(0), magnitude);
  const Value fails = b_.op2(Op::and_, b_.op2(Op::or_, below, above), nonzero);
  return b_.op2(Op::or_, b_.get(bad_), fails);
}

void CheckedLoops::copy(Twin& twin) {
  // By value: 1 plain, 2 narrow.
  std::vector<std::uint8_t>& level = grounded_;
  for (const bool narrow : {false, true})
    for (const Value v : twin.checked[narrow]) level[v] = narrow ? 2 : 1;
  twin.before.push_back(twin.entry);
  for (const BlockId b : twin.blocks) {
    block_of_[b] = b_.new_block();
    twin.before.push_back(block_of_[b]);
  }
  const auto block_at = [&](BlockId b) {
    return b < block_of_.size() && block_of_[b] != kNoBlock ? block_of_[b] : b;
  };
  for (const BlockId b : twin.blocks) {
    const BlockId to = block_of_[b];
    b_.at(to);
    std::vector<Value> late;  // checks of phis stand behind all of them
    const std::vector<Value> insts = f_.blocks[b].insts;
    for (const Value v : insts) {
      if (f_.insts[v].op != Op::phi)
        for (const Value phi_value : std::exchange(late, {}))
          b_.set(bad_, check(copy_of_[phi_value], level[phi_value] == 2 ? kNarrow : kPlain));
      const Inst inst = f_.insts[v];
      b_.set_loc(inst.loc);
      std::vector<Value> args(f_.args(v).begin(), f_.args(v).end());
      for (Value& a : args) a = mapped(a);
      const Value made = b_.inst(inst.op, inst.type, args, inst.imm);
      Inst& same = b_.last(made);
      same.fp = inst.fp;
      same.mem = inst.mem;
      same.builtin = inst.builtin;
      copy_of_[v] = made;
      f_.insts[v].fp.checked = false;  // of the second copy
      if (!level[v]) continue;
      if (inst.op == Op::phi)
        late.push_back(v);
      else
        b_.set(bad_, check(made, level[v] == 2 ? kNarrow : kPlain));
    }
    for (const Value phi_value : late)
      b_.set(bad_, check(copy_of_[phi_value], level[phi_value] == 2 ? kNarrow : kPlain));
    Block& made = f_.blocks[to];
    const Block& block = f_.blocks[b];
    made.term = block.term;
    made.cond = mapped(block.cond);
    made.merge = block.merge;
    made.loc = block.loc;
    made.loop_trip_count = block.loop_trip_count;
    for (const BlockId s : block.succs) made.succs.push_back(block_at(s));
    for (const BlockId p : block.preds) made.preds.push_back(block_at(p));
    made.merge_block = block.merge_block == kNoBlock ? kNoBlock : block_at(block.merge_block);
    made.continue_block =
        block.continue_block == kNoBlock ? kNoBlock : block_at(block.continue_block);
  }
  for (const bool narrow : {false, true})
    for (const Value v : twin.checked[narrow]) level[v] = 0;
  // Values around a loop, and conditions, are those of the copy.
  for (const BlockId b : twin.blocks) {
    for (const Value v : f_.blocks[block_of_[b]].insts) {
      if (f_.insts[v].op != Op::phi) break;
      for (Value& a : f_.args(v)) a = mapped(a);
    }
  }
}

// A thread whose check failed computes with what it should not: its loops have to end.
void CheckedLoops::leave_on_failure(const Twin& twin) {
  for (const BlockId b : twin.blocks) {
    if (f_.blocks[b].merge != Merge::loop) continue;
    const std::uint32_t loop = nest_.innermost[b];
    const BlockId original = test_of(loop), test = block_of_[original];
    b_.at(test);
    const Value fails = b_.cmp(Op::slt, b_.get(bad_), b_.i32(0));
    const bool leaves_if = leaving_side(loop, original) == 0;
    const Value stays = leaves_if ? 0 : b_.inst(Op::not_, Type::i1, {fails});
    const Value cond = f_.blocks[test].cond;
    const Value now = leaves_if ? b_.inst(Op::or_, Type::i1, {cond, fails})
                                : b_.inst(Op::and_, Type::i1, {cond, stays});
    f_.blocks[test].cond = now;
  }
}

void CheckedLoops::join(Twin& twin) {
  const BlockId done = b_.new_block(), again = b_.new_block(), second = b_.new_block(),
                next = b_.new_block(), after = b_.new_block();
  const BlockId merge = twin.merge;
  // The first copy ends in a block with the same phis as the second one's.
  for (const BlockId b : twin.blocks)
    std::ranges::replace(f_.blocks[block_of_[b]].succs, merge, done);
  Block& head = f_.blocks[block_of_[twin.header]];
  head.merge_block = done;
  for (const BlockId p : f_.blocks[merge].preds) f_.blocks[done].preds.push_back(block_of_[p]);
  std::vector<Value> phis, rest;
  for (const Value v : f_.blocks[merge].insts)
    (f_.insts[v].op == Op::phi ? phis : rest).push_back(v);
  f_.blocks[merge].insts = phis;
  for (const Value v : twin.live_out) {
    const std::vector<Value> same(f_.blocks[merge].preds.size(), v);
    phis.push_back(phi(merge, f_.insts[v].type, same));
  }
  std::vector<Value> firsts;
  for (const Value v : phis) {
    std::vector<Value> args(f_.args(v).begin(), f_.args(v).end());
    for (Value& a : args) a = mapped(a);
    firsts.push_back(phi(done, f_.insts[v].type, args));
  }
  b_.at(done);
  const Value fails = b_.cmp(Op::slt, b_.get(bad_), b_.i32(0)), no = b_.i1(false);
  b_.br(again);

  f_.blocks[again].preds = {done, next};
  const std::size_t own = phis.size() - twin.live_out.size();
  behind_.resize(f_.insts.size() + phis.size() + 1, 0);
  for (std::size_t i = 0; i < phis.size(); ++i) {
    const Value result = phi(again, f_.insts[phis[i]].type, {firsts[i], phis[i]});
    behind_[i < own ? phis[i] : twin.live_out[i - own]] = result;
  }
  const Value repeats = phi(again, Type::i1, {fails, no});
  b_.at(again);
  b_.cond_br(repeats, second, after);
  f_.blocks[again].merge = Merge::loop;
  f_.blocks[again].merge_block = after;
  f_.blocks[again].continue_block = next;

  f_.blocks[second].preds = {again};
  b_.at(second);
  b_.br(twin.header);
  std::ranges::replace(f_.blocks[twin.header].preds, twin.entry, second);
  b_.at(twin.entry);
  b_.br(block_of_[twin.header]);

  Block& end = f_.blocks[merge];
  Block& behind = f_.blocks[after];
  behind.insts = rest;
  behind.term = end.term, behind.cond = end.cond, behind.succs = end.succs, behind.loc = end.loc;
  behind.merge = end.merge, behind.merge_block = end.merge_block;
  behind.continue_block = end.continue_block, behind.loop_trip_count = end.loop_trip_count;
  behind.preds = {again};
  for (const BlockId s : behind.succs) std::ranges::replace(f_.blocks[s].preds, merge, after);
  end.succs.clear();
  end.merge = Merge::none, end.merge_block = end.continue_block = kNoBlock;
  end.loop_trip_count = false;
  b_.at(merge);
  b_.br(next);
  f_.blocks[next].preds = {merge};
  b_.at(next);
  b_.br(again);
  joins_.resize(f_.blocks.size());
  joins_[again] = true;
  for (const BlockId b : {done, again, second}) twin.before.push_back(b);
  twin.behind = {next, after};
  for (const BlockId b : twin.blocks) {
    block_of_[b] = kNoBlock;
    for (const Value v : f_.blocks[b].insts) copy_of_[v] = 0;
  }
}

/// Behind a loop its values are those of the copy that counts; blocks that led to it, or were led
/// to from its end, have other neighbours.
void CheckedLoops::rename_behind() {
  std::vector<BlockId> entry_of(f_.blocks.size(), kNoBlock), after_of = entry_of;
  std::vector<std::uint32_t> owner(f_.blocks.size(), kNone);
  std::vector<bool> made(f_.blocks.size());
  for (std::uint32_t t = 0; t < twins_.size(); ++t) {
    const Twin& twin = twins_[t];
    entry_of[twin.header] = twin.entry;
    after_of[twin.merge] = twin.behind[1];
    for (const BlockId b : twin.blocks) owner[b] = t;
    owner[twin.merge] = t;
    for (const BlockId b : twin.before) made[b] = b != twin.entry;
  }
  for (BlockId b = 0; b < f_.blocks.size(); ++b) {
    Block& block = f_.blocks[b];
    // A loop's own values are those of its copy; it may take what another one left.
    const auto renamed = [&](Value a) {
      if (a >= behind_.size() || !behind_[a]) return a;
      const bool own = owner[b] != kNone && home_[a] != kNoBlock && owner[home_[a]] == owner[b];
      return own ? a : behind_[a];
    };
    if (!joins_[b]) {
      for (const Value v : block.insts)
        for (Value& a : f_.args(v)) a = renamed(a);
      if (block.cond) block.cond = renamed(block.cond);
    }
    if (made[b] || owner[b] != kNone || block.merge == Merge::none) continue;
    if (entry_of[block.merge_block] != kNoBlock) block.merge_block = entry_of[block.merge_block];
    if (block.continue_block != kNoBlock && after_of[block.continue_block] != kNoBlock)
      block.continue_block = after_of[block.continue_block];
  }
}

/// Predecessors in the order of Function::compute_preds, and operands of phis with them.
void CheckedLoops::order_preds() {
  std::vector<std::vector<BlockId>> before(f_.blocks.size());
  for (BlockId b = 0; b < f_.blocks.size(); ++b) before[b] = f_.blocks[b].preds;
  f_.compute_preds();
  for (BlockId b = 0; b < f_.blocks.size(); ++b) {
    const std::vector<BlockId>& now = f_.blocks[b].preds;
    if (now == before[b]) continue;
    // Where a predecessor stands twice, its operands are the same.
    std::map<BlockId, unsigned> place;
    for (unsigned i = 0; i < before[b].size(); ++i) place[before[b][i]] = i;
    for (const Value v : f_.blocks[b].insts) {
      if (f_.insts[v].op != Op::phi) break;
      const std::vector<Value> old(f_.args(v).begin(), f_.args(v).end());
      for (unsigned i = 0; i < now.size(); ++i) f_.args(v)[i] = old[place.at(now[i])];
    }
  }
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

}  // namespace

bool checked_loops(Function& function, Module& module, const FloatOptions& options) {
  const Exactness& device = options.profile.exactness;
  if (options.fp != FpPolicy::exact || !device.flushes_denormals32 || device.denormals32)
    return false;
  return CheckedLoops(function, module, options.profile).run();
}

}  // namespace ptx2spv::passes
