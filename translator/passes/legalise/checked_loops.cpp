// Loops of float arithmetic on devices that flush denormals. A loop without side effects stands
// twice. The first copy runs with the device's own operations and with integer checks of a few
// values, from which follows that all the others come out as they should: they are zero, or not so
// small that a product or sum of theirs could be flushed. Threads whose checks fail leave it. They
// alone run the second copy, with exact operations, from the start.
//
//     before --> first copy --> W: does a check say so? --> second copy --+
//                                        |        ^                       |
//                                        |        +------- (once) --------+
//                                        +--> after
//
// CPU drivers execute branches that no thread takes. W is a loop: where no thread enters it, they
// execute one iteration at most.
//
// Where fma alone lose denormals, the checks are those of checked_fma, which makes lines of the
// second copy. Where fma do not decide a loop's trip count, a thread may run the first copy to its
// end, whatever its checks say: drivers then see the trip count, and zeros pass the checks. That
// pays if checks are a small part of the work, or if an element of an array is subtracted from
// itself, as in sums over all pairs, unless numbers other than zero fail often. Other loops stand
// twice if they are innermost and test at their end: behind all checks of an iteration, so that a
// thread whose check failed leaves before the next one. If values from before the loop are all that
// has to be checked, a thread runs one of the copies alone, and loops of any kind stand twice.
//
//     before: does a check fail? --> first copy --> after
//                        |                           ^
//                        +---------> second copy ----+
#include "translator/passes/legalise/checked_loops.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "translator/passes/cfg/block_ends.hpp"

namespace ptx2spv::passes {

namespace checked {

namespace {

/// The largest loops that stand twice, in instructions.
constexpr std::size_t kMostInstructions = 600;
/// Checks of fma in a loop, at most.
constexpr std::size_t kMostChecks = 200;
/// The least number of instructions in a loop for each check if zeros are to pass.
constexpr unsigned kMostForZeros = 9;

/// About how many instructions a device that keeps denormals takes for an operation.
unsigned work_of(Op op) {
  switch (op) {
    case Op::phi:
    case Op::constant: return 0;
    case Op::fdiv: return 10;
    case Op::fsqrt: return 8;
    case Op::frcp:
    case Op::frsqrt:
    case Op::fex2:
    case Op::flg2:
    case Op::fsin:
    case Op::fcos:
    case Op::ftanh: return 4;
    default: return 1;
  }
}

}  // namespace

// ---- Which loops ----

/// Whether nobody notices when a thread runs the loop twice.
bool CheckedLoops::can_repeat(std::uint32_t loop) const {
  return std::ranges::all_of(blocks_of(loop), [&](BlockId b) {
    const Block& block = f_.blocks[b];
    const auto is_seen = [&](Value v) {
      const Inst& inst = f_.insts[v];
      return (info(inst.op).flags & flag::W) != 0 || (inst.op == Op::load && inst.mem.is_volatile);
    };
    return std::ranges::none_of(block.insts, is_seen);
  });
}

/// Whether a thread whose check failed can leave the loops at their tests. Where fma alone lose
/// denormals, that is one loop, whose checks stand before it, or before its test.
bool CheckedLoops::can_leave(const Twin& twin) const {
  for (const BlockId b : twin.blocks)
    if (f_.blocks[b].merge == Merge::loop &&
        (test_of(nest_.innermost[b]) == kNoBlock || (fma_alone_ && b != twin.header)))
      return false;
  if (!fma_alone_) return true;
  const BlockId test = test_of(twin.loop);
  const auto place = [&](BlockId b) { return std::ranges::find(twin.blocks, b); };
  return std::ranges::all_of(twin.fma_checks, [&](const FmaChecks::Check& check) {
    const BlockId home = home_[check.value];
    return home == kNoBlock || !inside_[home] || place(home) <= place(test);
  });
}

/// Whether the loop may stand twice.
bool CheckedLoops::can_copy(std::uint32_t loop) const {
  std::size_t size = 0;
  for (const BlockId b : blocks_of(loop)) {
    const Block& block = f_.blocks[b];
    if (block.term != Term::br && block.term != Term::cond_br) return false;
    size += 1 + block.insts.size();
    if (size > kMostInstructions) return false;
    for (const Value v : block.insts)
      if (info(f_.insts[v].op).flags & flag::C) return false;
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

/// The block at a loop's end whose branch may leave it, before blocks that only go on; none where
/// there is no such one.
BlockId CheckedLoops::end_test_of(std::uint32_t loop) const {
  BlockId b = f_.blocks[nest_.loops[loop].header].continue_block;
  for (const Block* block = &f_.blocks[b]; block->preds.size() == 1; block = &f_.blocks[b]) {
    b = block->preds[0];
    if (leaving_side(loop, b) >= 0) return b;
    if (f_.blocks[b].term != Term::br || !f_.blocks[b].insts.empty()) break;
  }
  return kNoBlock;
}

/// A block on every way around the loop whose branch may leave it; none where there is no such one
/// in the two places that are looked at.
BlockId CheckedLoops::test_of(std::uint32_t loop) const {
  // Behind all checks of an iteration, so that none has to be carried around the loop.
  if (fma_alone_) return end_test_of(loop);
  BlockId b = nest_.loops[loop].header;
  const BlockId end = f_.blocks[b].continue_block;
  while (f_.blocks[b].term == Term::br && f_.blocks[b].succs[0] != end &&
         nest_.innermost[f_.blocks[b].succs[0]] == loop &&
         nest_.within(f_.blocks[b].succs[0], loop))
    b = f_.blocks[b].succs[0];
  return leaving_side(loop, b) >= 0 ? b : end_test_of(loop);
}

void CheckedLoops::consider(std::uint32_t loop) {
  const BlockId header = nest_.loops[loop].header;
  if (can_copy(loop) && f_.blocks[header].merge == Merge::loop) {
    Twin twin;
    twin.loop = loop, twin.header = header, twin.merge = nest_.loops[loop].merge;
    const auto blocks = blocks_of(loop);
    twin.blocks.assign(blocks.begin(), blocks.end());
    twin.apart = fma_alone_ && plan_apart(twin);
    if (twin.apart || (can_repeat(loop) && (fma_alone_ ? plan_fma(twin) : plan(twin)))) {
      twins_.push_back(std::move(twin));
      return;
    }
  }
  for (const std::uint32_t inner : inner_[loop]) consider(inner);
}

// ---- What to check ----

/// Of a sum's operands, which one to check where either would do: what does not change in the loop
/// is checked once.
unsigned CheckedLoops::preferred(Value v) const {
  if (f_.insts[v].op != Op::fadd) return 0;
  const BlockId home = home_[f_.arg(v, 0)];
  return home == kNoBlock || !inside_[home] ? 0 : 1;
}

/// Values that loops carry are what their checks say, where arithmetic takes them.
void CheckedLoops::assume_phis(const Twin& twin) {
  std::vector<bool> taken(f_.insts.size());
  for (const BlockId b : twin.blocks)
    for (const Value v : f_.blocks[b].insts)
      if (checks_.takes_part(f_.insts[v]) && !is_comparison(f_.insts[v].op))
        for (const Value a : f_.args(v)) taken[a] = true;
  for (const BlockId b : twin.blocks) {
    if (f_.blocks[b].merge != Merge::loop) continue;
    for (const Value v : f_.blocks[b].insts) {
      if (f_.insts[v].op != Op::phi) break;
      if (taken[v]) checks_.assume(v, kPlain);
    }
  }
}

/// What comes to a loop's phi from before it and around it has to be what was assumed.
bool CheckedLoops::check_edges(const Twin& twin) {
  for (const BlockId b : twin.blocks) {
    if (f_.blocks[b].merge != Merge::loop) continue;
    for (const Value v : f_.blocks[b].insts) {
      if (f_.insts[v].op != Op::phi) break;
      if (checks_.is_unknown(v) || checks_.is_narrow(v)) continue;  // a stronger check of its own
      for (const Value a : f_.args(v))
        if (!checks_.knows(a, kPlain) && !checks_.ground(a, kPlain)) return false;
    }
  }
  return true;
}

bool CheckedLoops::reads(Value v) const {
  return f_.insts[v].op == Op::load && f_.insts[f_.arg(v, 0)].op != Op::constant;
}

/// Whether the block's branch only chooses what is computed: between it and where its ways meet,
/// nothing is read, and nothing but straight lines leads there.
bool CheckedLoops::only_chooses(BlockId b) const {
  const Block& branch = f_.blocks[b];
  if (branch.merge != Merge::selection) return false;
  const std::uint32_t first = nest_.place[b], end = nest_.place[branch.merge_block];
  for (std::uint32_t at = first; at < end; ++at) {
    const Block& block = f_.blocks[f_.order[at]];
    const auto leads_on = [&](BlockId s) { return nest_.place[s] > at && nest_.place[s] <= end; };
    if (!std::ranges::all_of(block.succs, leads_on) ||
        (at != first && std::ranges::any_of(block.insts, [&](Value v) { return reads(v); })))
      return false;
  }
  return true;
}

/// Between a check that fails and the loop's next test a thread computes with wrong numbers. Its
/// reads stay where the kernel reads: neither their addresses nor the branches that lead to them
/// follow from such numbers, nor others, unless it may choose by them.
bool CheckedLoops::reads_are_safe(const Twin& twin, std::span<const Value> native, bool chooses) {
  bool any = false;
  for (const Value v : native) follows_[v] = true;
  const auto follow = [&](Value v) {
    const bool known = follows_[v];
    follows_[v] = true;
    return !known;
  };
  // Once more for what comes around a loop.
  for (bool more = true; more;) {
    more = false;
    for (const BlockId b : twin.blocks) {
      const Block& block = f_.blocks[b];
      for (const Value v : block.insts) {
        any = any || reads(v);
        if (std::ranges::any_of(f_.args(v), [&](Value a) { return follows_[a]; }) && follow(v))
          more = true;
      }
      if (!block.cond || !follows_[block.cond] || block.merge != Merge::selection) continue;
      // And for what the ways of a branch make.
      const std::uint32_t end = nest_.place[block.merge_block];
      for (std::uint32_t at = nest_.place[b] + 1; at <= end; ++at)
        for (const Value v : f_.blocks[f_.order[at]].insts)
          if (f_.insts[v].op == Op::phi && nest_.within(f_.order[at], twin.loop) && follow(v))
            more = true;
    }
  }
  if (!any) return true;
  for (const BlockId b : twin.blocks) {
    const Block& block = f_.blocks[b];
    if (block.cond && follows_[block.cond] && b != test_of(nest_.innermost[b]) &&
        !(chooses && only_chooses(b)))
      return false;
    for (const Value v : block.insts)
      if (reads(v) && follows_[f_.arg(v, 0)]) return false;
  }
  return true;
}

/// Whether how often loops turn does not follow from numbers that may be wrong, once
/// reads_are_safe has found those.
bool CheckedLoops::turns_are_safe(const Twin& twin) const {
  return std::ranges::all_of(twin.blocks, [&](BlockId b) {
    const Value condition = f_.blocks[b].cond;
    return !condition || !follows_[condition] || only_chooses(b);
  });
}

/// The kernel's parameter that an address leads back to; none where that is not seen.
std::optional<std::uint64_t> CheckedLoops::array_of(Value address, unsigned steps) const {
  const Inst& inst = f_.insts[address];
  if (inst.op == Op::load && !reads(address)) return f_.insts[f_.arg(address, 0)].imm;
  if (steps != 0 && (inst.op == Op::add || inst.op == Op::phi))
    for (const Value a : f_.args(address))
      if (const auto array = array_of(a, steps - 1)) return array;
  return std::nullopt;
}

/// Whether it is the difference of two elements of an array, which may be one and the same.
bool CheckedLoops::is_within_array(Value difference) const {
  if (f_.insts[difference].op != Op::fadd) return false;
  std::optional<std::uint64_t> arrays[2];
  for (const unsigned i : {0u, 1u}) {
    Value a = f_.arg(difference, i);
    if (f_.insts[a].op == Op::xor_) a = f_.arg(a, 0);
    if (reads(a)) arrays[i] = array_of(f_.arg(a, 0));
  }
  return arrays[0] && arrays[0] == arrays[1];
}

/// The factors of a value that may be differences.
void CheckedLoops::find_differences(Value v, unsigned steps, std::vector<Value>& found) const {
  const Inst& inst = f_.insts[v];
  if (inst.op == Op::fadd || inst.op == Op::ffma) return found.push_back(v);
  const bool is_product = inst.op == Op::fmul;
  if (steps == 0 || (!is_product && inst.op != Op::xor_ && inst.op != Op::and_)) return;
  for (unsigned i = 0; i < (is_product ? 2 : 1); ++i)
    find_differences(f_.arg(v, i), steps - 1, found);
}

/// About log2 of the loop's trip count if a counter runs from one constant to another; otherwise
/// that of a long loop.
int CheckedLoops::log2_trip_count(std::uint32_t loop) const {
  constexpr int kLong = 15;
  const auto is_constant = [&](Value v) { return f_.insts[v].op == Op::constant; };
  const auto word = [&](Value v) {
    return std::int64_t{static_cast<std::int32_t>(f_.insts[v].imm)};
  };
  const BlockId test = end_test_of(loop);
  const Value condition = test == kNoBlock ? 0 : f_.blocks[test].cond;
  if (!condition || f_.insts[condition].count != 2 || !is_constant(f_.arg(condition, 1)))
    return kLong;
  Value counter = f_.arg(condition, 0);
  if (f_.insts[counter].op == Op::add) counter = f_.arg(counter, 0);
  if (f_.insts[counter].op != Op::phi || f_.insts[counter].type != Type::i32) return kLong;
  std::int64_t first = 0, step = 0;
  for (const Value a : f_.args(counter))
    if (is_constant(a))
      first = word(a);
    else if (f_.insts[a].op == Op::add && f_.arg(a, 0) == counter && is_constant(f_.arg(a, 1)))
      step = word(f_.arg(a, 1));
  const std::int64_t trips = step != 0 ? (word(f_.arg(condition, 1)) - first) / step : 0;
  return trips < 1 ? kLong : std::bit_width(static_cast<std::uint64_t>(trips));
}

/// Whether a thread should run the first copy to its end, for zeros to pass its checks. Those are
/// longer then, and where one fails for another reason, a warp runs all of the loop twice.
bool CheckedLoops::pays_to_end(const Twin& twin) const {
  constexpr int kThreads = 5;  // of a warp: 2^5
  constexpr int kFraction = 23;
  unsigned work = 0, checks = 0;
  int often = kThreads;
  for (const BlockId b : twin.blocks) {
    if (f_.blocks[b].merge == Merge::loop) often += log2_trip_count(nest_.innermost[b]);
    for (const Value v : f_.blocks[b].insts) work += work_of(f_.insts[v].op);
  }
  bool has_zeros = false, is_rare = true;
  for (const FmaChecks::Check& check : twin.fma_checks) {
    if (home_[check.value] == kNoBlock || !inside_[home_[check.value]]) continue;
    ++checks;
    std::vector<Value> found;
    find_differences(check.value, FmaChecks::kSteps, found);
    has_zeros =
        has_zeros || std::ranges::any_of(found, [&](Value d) { return is_within_array(d); });
    // One of 2^n differences is below 2^-n, and so are the factors of a product.
    is_rare = is_rare && check.grid - kFraction > often * static_cast<int>(found.size());
  }
  return is_rare && (has_zeros || kMostForZeros * checks <= work);
}

bool CheckedLoops::plan(Twin& twin) {
  if (!can_leave(twin)) return false;
  for (const BlockId b : twin.blocks) inside_[b] = true;
  assume_phis(twin);
  bool can = true;
  for (const BlockId b : twin.blocks)
    for (const Value v : f_.blocks[b].insts) can = can && checks_.follow(v, preferred(v));
  can = can && check_edges(twin) && reads_are_safe(twin, checks_.native(), true);
  unsigned saved = 0, spent = 0;
  for (const Value v : checks_.native()) saved += saved_by(f_.insts[v].op);
  for (const Value v : checks_.checks()) {
    twin.checked[checks_.is_narrow(v)].push_back(v);
    if (home_[v] != kNoBlock && inside_[home_[v]]) spent += kCheck;
  }
  const bool pays = can && saved > 2 * spent + 30;
  if (pays)
    for (const Value v : checks_.native()) f_.insts[v].fp.checked = true;
  // Loops that are looked at next start anew.
  for (const BlockId b : twin.blocks) {
    inside_[b] = false;
    for (const Value v : f_.blocks[b].insts) follows_[v] = false;
  }
  checks_.forget();
  return pays;
}

// ---- What to check where fma alone lose denormals ----

/// What fma take as factors, and what sums and signs make those of; and what numbers take at all.
void CheckedLoops::find_uses(const Twin& twin) {
  for (auto b = twin.blocks.rbegin(); b != twin.blocks.rend(); ++b) {
    const std::vector<Value>& insts = f_.blocks[*b].insts;
    for (auto v = insts.rbegin(); v != insts.rend(); ++v) {
      const Inst& inst = f_.insts[*v];
      const bool as_factor =
          factor_[*v] && (inst.op == Op::fadd || inst.op == Op::xor_ || inst.op == Op::and_);
      for (const Value a : f_.args(*v)) {
        if (inst.fp.kind == NumKind::f32) taken_[a] = true;
        if (as_factor) factor_[a] = true;
      }
      if (fma_.rests_on_checks(*v)) factor_[f_.arg(*v, 0)] = factor_[f_.arg(*v, 1)] = true;
    }
  }
}

/// What comes to the loop's phis has their grids, or is checked to.
std::vector<FmaChecks::Check> CheckedLoops::assume_fma_phis(const Twin& twin) {
  find_uses(twin);
  std::vector<FmaChecks::Check> phis;
  for (const BlockId b : twin.blocks)
    for (const Value v : f_.blocks[b].insts) {
      if (f_.blocks[b].merge != Merge::loop || f_.insts[v].op != Op::phi) break;
      if (f_.insts[v].type != Type::i32 || (!taken_[v] && !factor_[v])) continue;
      phis.push_back({v, factor_[v] ? FmaChecks::kFactor : FmaChecks::kSum});
      fma_.assume(v, phis.back().grid);
    }
  for (const BlockId b : twin.blocks)
    for (const Value v : f_.blocks[b].insts)
      for (const Value a : f_.args(v)) taken_[a] = factor_[a] = false;
  return phis;
}

/// The loop's phis are within what branches on both ways to its header bound.
void CheckedLoops::suppose_phis(const Twin& twin) {
  const Block& header = f_.blocks[twin.header];
  std::vector<std::pair<Value, FmaChecks::Bound>> bounds;
  for (std::size_t way = 0; way < header.preds.size(); ++way) {
    BlockId b = twin.header, before = header.preds[way];
    for (unsigned steps = FmaChecks::kSteps;; --steps) {
      const Block& branch = f_.blocks[before];
      if (branch.term == Term::cond_br && branch.succs[0] != branch.succs[1])
        fma_.suppose(branch.cond, branch.succs[0] == b);
      if (steps == 0 || branch.preds.size() != 1) break;
      b = std::exchange(before, branch.preds[0]);
    }
    std::size_t phi = 0;
    for (const Value v : header.insts) {
      if (f_.insts[v].op != Op::phi) break;
      if (f_.insts[v].type != Type::i32) continue;
      const FmaChecks::Bound one = fma_.supposed(f_.arg(v, way));
      if (way == 0) bounds.emplace_back(v, one);
      FmaChecks::Bound& all = bounds[phi++].second;
      all.top = all.top && one.top ? std::optional(std::max(*all.top, *one.top)) : std::nullopt;
      all.nan = all.nan || one.nan;
    }
    fma_.forget();
  }
  for (const auto& [v, bound] : bounds) fma_.suppose(v, bound);
}

/// Whether all that has to be checked does not change in the loop. Branches that leave it bound
/// what goes on behind them, and what comes around it.
bool CheckedLoops::plan_apart(Twin& twin) {
  for (const BlockId b : twin.blocks) inside_[b] = true;
  const auto changes = [&](Value v) { return home_[v] != kNoBlock && inside_[home_[v]]; };
  suppose_phis(twin);
  std::vector<Value> native;
  bool can = true;
  BlockId next = twin.header;  // of those that lead from the header to all the others
  for (const BlockId b : twin.blocks) {
    const Block& block = f_.blocks[b];
    for (const Value v : block.insts) {
      if (fma_.rests_on_checks(v)) {
        native.push_back(v);
        can = can && !changes(f_.arg(v, 2)) && fma_.check_addend(v);
      }
      fma_.follow(v);
    }
    if (b != next) continue;
    const int leaving = leaving_side(twin.loop, b);
    if (leaving >= 0) fma_.suppose(block.cond, leaving == 1);
    next = leaving == 0                             ? block.succs[1]
           : block.term == Term::br || leaving == 1 ? block.succs[0]
                                                    : kNoBlock;
    if (next != kNoBlock && f_.blocks[next].preds.size() != 1) next = kNoBlock;
  }
  twin.fma_checks.assign(fma_.checks().begin(), fma_.checks().end());
  for (const BlockId b : twin.blocks) inside_[b] = false;
  can = can && !twin.fma_checks.empty();
  if (can)
    for (const Value v : native) f_.insts[v].fp.checked = true;
  fma_.forget();
  return can;
}

bool CheckedLoops::plan_fma(Twin& twin) {
  const std::vector<FmaChecks::Check> phis = assume_fma_phis(twin);
  const auto carried = [&](BlockId b, Value v) {
    return f_.blocks[b].merge == Merge::loop && f_.insts[v].op == Op::phi;
  };
  std::vector<Value> native;
  bool can = true;
  for (const BlockId b : twin.blocks)
    for (const Value v : f_.blocks[b].insts) {
      if (carried(b, v)) continue;
      if (fma_.rests_on_checks(v)) {
        native.push_back(v);
        can = can && fma_.check_operands(v);
      }
      fma_.follow(v);
    }
  for (const FmaChecks::Check& phi : phis)
    for (const Value a : f_.args(phi.value)) {
      if (fma_.has_grid(a, phi.grid)) continue;
      can = can && f_.insts[a].op != Op::constant;
      fma_.require(a, phi.grid);
    }
  for (const BlockId b : twin.blocks)
    for (const Value v : f_.blocks[b].insts)
      if (!carried(b, v)) fma_.drop_implied(v);
  twin.fma_checks.assign(fma_.checks().begin(), fma_.checks().end());
  for (const BlockId b : twin.blocks) inside_[b] = true;
  can = can && !native.empty() && twin.fma_checks.size() <= kMostChecks &&
        reads_are_safe(twin, native, true);
  twin.to_end = can && turns_are_safe(twin) && pays_to_end(twin);
  can = can && (twin.to_end || (can_leave(twin) && reads_are_safe(twin, native, false)));
  for (const BlockId b : twin.blocks) inside_[b] = false;
  if (can)
    for (const Value v : native) f_.insts[v].fp.checked = true;
  for (const BlockId b : twin.blocks)
    for (const Value v : f_.blocks[b].insts) follows_[v] = false;
  fma_.forget();
  return can;
}

bool CheckedLoops::run() {
  if (nest_.loops.empty()) return false;
  for (const BlockId b : f_.order)
    for (const Value v : f_.blocks[b].insts) fma_.know(v);
  home_.assign(f_.insts.size(), kNoBlock);
  for (BlockId b = 0; b < f_.blocks.size(); ++b)
    for (const Value v : f_.blocks[b].insts) home_[v] = b;
  inside_.assign(f_.blocks.size(), false);
  level_.assign(f_.insts.size(), 0);
  follows_.assign(f_.insts.size(), false);
  factor_.assign(f_.insts.size(), false);
  taken_.assign(f_.insts.size(), false);
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
  f_.vars.push_back({fma_alone_ ? Type::i1 : Type::i32, "check", false});
  for (at_ = 0; at_ < twins_.size(); ++at_) {
    Twin& twin = twins_[at_];
    enter(twin);
    copy(twin);
    if (!twin.apart && !twin.to_end) leave_on_failure(twin);
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
  order_preds(f_);
  ssa(f_, module_);
  return true;
}

}  // namespace checked

bool checked_loops(Function& function, Module& module, const FloatOptions& options) {
  const Exactness& device = options.profile.exactness;
  const bool flushes = device.flushes_denormals32 && !device.denormals32;
  const bool fma_flush = device.denormals32 && device.fused_fma32 && !device.fma_denormals32;
  if (options.fp != FpPolicy::exact || (!flushes && !fma_flush)) return false;
  return checked::CheckedLoops(function, module, options.profile).run();
}

}  // namespace ptx2spv::passes
