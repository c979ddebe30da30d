// Loops of fused multiply-adds on devices whose own lose denormals. An innermost loop without side
// effects that tests at its end stands twice. The first copy runs with the device's own fma and
// with the checks of checked_fma, of a few values, each one comparison. Threads whose checks fail
// leave it at its test, behind all checks of an iteration. They alone run the second copy, of which
// checked_fma makes lines, from the start.
//
//     before --> first copy --> W: does a check say so? --> second copy --+
//                                        |        ^                       |
//                                        |        +------- (once) --------+
//                                        +--> after
//
// W is a loop of one iteration or none, whose phis take the results of the copy that counts.
#include "translator/passes/legalise/checked_loops.hpp"

#include <algorithm>
#include <utility>

namespace ptx2spv::passes {

namespace checked {

namespace {

/// The largest loops that stand twice, in instructions.
constexpr std::size_t kMostInstructions = 600;
/// Checks of fma in a loop, at most.
constexpr std::size_t kMostChecks = 200;

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
    }
    if (block.merge == Merge::loop && b != nest_.loops[loop].header) return false;
  }
  if (test_of(loop) == kNoBlock) return false;
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

/// The block at a loop's end whose branch may leave it; none where there is no such one.
BlockId CheckedLoops::test_of(std::uint32_t loop) const {
  const BlockId end = f_.blocks[nest_.loops[loop].header].continue_block;
  const auto& latches = f_.blocks[end].preds;
  return latches.size() == 1 && leaving_side(loop, latches[0]) >= 0 ? latches[0] : kNoBlock;
}

void CheckedLoops::consider(std::uint32_t loop) {
  const BlockId header = nest_.loops[loop].header;
  if (f_.blocks[header].merge == Merge::loop && can_repeat(loop)) {
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

/// Between a check that fails and the loop's next test a thread computes with wrong numbers. Its
/// reads stay where the kernel reads: neither their addresses nor the branches that lead to them
/// follow from such numbers.
bool CheckedLoops::reads_are_safe(const Twin& twin, std::span<const Value> native) {
  const auto reads = [&](Value v) {
    return f_.insts[v].op == Op::load && f_.insts[f_.arg(v, 0)].op != Op::constant;
  };
  bool any = false;
  for (const Value v : native) follows_[v] = true;
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
    if (block.cond && follows_[block.cond] && b != test_of(twin.loop)) return false;
    for (const Value v : block.insts)
      if (reads(v) && follows_[f_.arg(v, 0)]) return false;
  }
  return true;
}

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
      if (checks_.rests_on_checks(*v)) factor_[f_.arg(*v, 0)] = factor_[f_.arg(*v, 1)] = true;
    }
  }
}

/// What comes to the loop's phis has their grids, or is checked to.
std::vector<FmaChecks::Check> CheckedLoops::assume_phis(const Twin& twin) {
  find_uses(twin);
  std::vector<FmaChecks::Check> phis;
  for (const Value v : f_.blocks[twin.header].insts) {
    if (f_.insts[v].op != Op::phi) break;
    if (f_.insts[v].type != Type::i32 || (!taken_[v] && !factor_[v])) continue;
    phis.push_back({v, factor_[v] ? FmaChecks::kFactor : FmaChecks::kSum});
    checks_.assume(v, phis.back().grid);
  }
  for (const BlockId b : twin.blocks)
    for (const Value v : f_.blocks[b].insts)
      for (const Value a : f_.args(v)) taken_[a] = factor_[a] = false;
  return phis;
}

/// Whether every check stands before the loop, or before its test.
bool CheckedLoops::checks_come_before_test(const Twin& twin) const {
  const BlockId test = test_of(twin.loop);
  const auto place = [&](BlockId b) { return std::ranges::find(twin.blocks, b); };
  return std::ranges::all_of(twin.checks, [&](const FmaChecks::Check& check) {
    const BlockId home = home_[check.value];
    return home == kNoBlock || !inside_[home] || place(home) <= place(test);
  });
}

bool CheckedLoops::plan(Twin& twin) {
  const std::vector<FmaChecks::Check> phis = assume_phis(twin);
  std::vector<Value> native;
  bool can = true;
  for (const BlockId b : twin.blocks)
    for (const Value v : f_.blocks[b].insts) {
      if (b == twin.header && f_.insts[v].op == Op::phi) continue;
      if (checks_.rests_on_checks(v)) {
        native.push_back(v);
        can = can && checks_.check_operands(v);
      }
      checks_.follow(v);
    }
  for (const FmaChecks::Check& phi : phis)
    for (const Value a : f_.args(phi.value)) {
      if (checks_.has_grid(a, phi.grid)) continue;
      can = can && f_.insts[a].op != Op::constant;
      checks_.require(a, phi.grid);
    }
  twin.checks.assign(checks_.checks().begin(), checks_.checks().end());
  for (const BlockId b : twin.blocks) inside_[b] = true;
  can = can && !native.empty() && twin.checks.size() <= kMostChecks &&
        checks_come_before_test(twin) && reads_are_safe(twin, native);
  for (const BlockId b : twin.blocks) inside_[b] = false;
  if (can)
    for (const Value v : native) f_.insts[v].fp.checked = true;
  for (const BlockId b : twin.blocks)
    for (const Value v : f_.blocks[b].insts) follows_[v] = false;
  checks_.forget();
  return can;
}

bool CheckedLoops::run() {
  if (nest_.loops.empty()) return false;
  for (const BlockId b : f_.order)
    for (const Value v : f_.blocks[b].insts) checks_.know(v);
  home_.assign(f_.insts.size(), kNoBlock);
  for (BlockId b = 0; b < f_.blocks.size(); ++b)
    for (const Value v : f_.blocks[b].insts) home_[v] = b;
  inside_.assign(f_.blocks.size(), false);
  check_.assign(f_.insts.size(), 0);
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
  f_.vars.push_back({Type::i1, "check", false});
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
  const bool loses = device.denormals32 && device.fused_fma32 && !device.fma_denormals32;
  return options.fp == FpPolicy::exact && loses && checked::CheckedLoops(function, module).run();
}

}  // namespace ptx2spv::passes
