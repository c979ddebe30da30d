// The two copies of a loop that checked_loops has chosen, and the block where their results meet.
#include "translator/passes/legalise/checked_loops.hpp"

#include <algorithm>
#include <utility>

namespace ptx2spv::passes::checked {

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
  if (fma_alone_) {
    twin.entry_fails = b_.i1(false);
    for (const FmaChecks::Check& c : twin.fma_checks)
      if (home_[c.value] == kNoBlock || twin_of_[home_[c.value]] != at_)
        // A large addend is one because of its size, and not because it is a multiple.
        twin.entry_fails =
            b_.op2(Op::or_, twin.entry_fails,
                   twin.apart ? is_less(b_, c.value, c.grid) : is_tiny(b_, c.value, c.grid));
    if (!twin.apart) b_.set(bad_, twin.entry_fails);
    return;
  }
  b_.set(bad_, b_.i32(0));
  for (const bool narrow : {false, true})
    for (const Value v : twin.checked[narrow])
      if (home_[v] == kNoBlock || twin_of_[home_[v]] != at_)
        b_.set(bad_, check(v, narrow ? kNarrow : kPlain));
}

/// What `bad_` becomes: below zero where the value is neither zero nor within the bounds.
Value CheckedLoops::check(Value v, const Bounds& bounds) {
  const Value fails = failure(b_, v, bounds);
  return b_.op2(Op::or_, b_.get(bad_), fails);
}

/// level_ by value: 1 plain, 2 narrow; where fma alone lose denormals, the check's number from 1
/// on.
void CheckedLoops::set_checks(const Twin& twin, bool on) {
  for (const bool narrow : {false, true})
    for (const Value v : twin.checked[narrow]) level_[v] = !on ? 0 : narrow ? 2 : 1;
  std::uint8_t number = 0;
  for (const auto& check : twin.fma_checks) level_[check.value] = on ? ++number : 0;
}

/// Checks the copy of a value.
void CheckedLoops::check_copy(const Twin& twin, Value v) {
  const Value made = copy_of_[v];
  if (!fma_alone_) return b_.set(bad_, check(made, level_[v] == 2 ? kNarrow : kPlain));
  const int grid = twin.fma_checks[level_[v] - 1u].grid;
  const Value one = twin.to_end ? is_tiny(b_, made, grid) : is_less(b_, made, grid);
  b_.set(bad_, b_.op2(Op::or_, b_.get(bad_), one));
}

Value CheckedLoops::failed() {
  const Value bad = b_.get(bad_);
  return fma_alone_ ? bad : b_.cmp(Op::slt, bad, b_.i32(0));
}

void CheckedLoops::copy(Twin& twin) {
  set_checks(twin, true);
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
    bool at_phis = true;
    const auto end_phis = [&] {
      // Who comes around the loop has failed none; who failed one before it leaves at its test.
      if (std::exchange(at_phis, false) && fma_alone_ && !twin.apart && !twin.to_end &&
          b == twin.header)
        b_.set(bad_, twin.entry_fails);
      for (const Value phi_value : std::exchange(late, {})) check_copy(twin, phi_value);
    };
    const std::vector<Value> insts = f_.blocks[b].insts;
    for (const Value v : insts) {
      if (f_.insts[v].op != Op::phi) end_phis();
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
      if (!level_[v]) continue;
      if (inst.op == Op::phi)
        late.push_back(v);
      else
        check_copy(twin, v);
    }
    end_phis();
    Block& made = f_.blocks[to];
    const Block& block = f_.blocks[b];
    made.term = block.term;
    made.cond = mapped(block.cond);
    made.merge = block.merge;
    made.loc = block.loc;
    made.bounded = block.bounded;
    for (const BlockId s : block.succs) made.succs.push_back(block_at(s));
    for (const BlockId p : block.preds) made.preds.push_back(block_at(p));
    made.merge_block = block.merge_block == kNoBlock ? kNoBlock : block_at(block.merge_block);
    made.continue_block =
        block.continue_block == kNoBlock ? kNoBlock : block_at(block.continue_block);
  }
  set_checks(twin, false);
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
    const Value fails = failed();
    const bool leaves_if = leaving_side(loop, original) == 0;
    const Value stays = leaves_if ? 0 : b_.inst(Op::not_, Type::i1, {fails});
    const Value cond = f_.blocks[test].cond;
    const Value now = leaves_if ? b_.inst(Op::or_, Type::i1, {cond, fails})
                                : b_.inst(Op::and_, Type::i1, {cond, stays});
    f_.blocks[test].cond = now;
  }
}

void CheckedLoops::join(Twin& twin) {
  const BlockId done = b_.new_block(), again = b_.new_block(), after = b_.new_block();
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
  Block& end = f_.blocks[merge];
  Block& behind = f_.blocks[after];
  behind.insts = rest;
  behind.term = end.term, behind.cond = end.cond, behind.succs = end.succs, behind.loc = end.loc;
  behind.merge = end.merge, behind.merge_block = end.merge_block;
  behind.continue_block = end.continue_block, behind.bounded = end.bounded;
  behind.preds = {again};
  for (const BlockId s : behind.succs) std::ranges::replace(f_.blocks[s].preds, merge, after);
  end.succs.clear();
  end.merge = Merge::none, end.merge_block = end.continue_block = kNoBlock;
  end.bounded = false;
  const BlockId second_done = twin.apart ? merge : b_.new_block();
  f_.blocks[again].preds = {done, second_done};
  const std::size_t own = phis.size() - twin.live_out.size();
  behind_.resize(f_.insts.size() + phis.size() + 1, 0);
  for (std::size_t i = 0; i < phis.size(); ++i) {
    const Value result = phi(again, f_.insts[phis[i]].type, {firsts[i], phis[i]});
    behind_[i < own ? phis[i] : twin.live_out[i - own]] = result;
  }
  joins_.resize(f_.blocks.size());
  joins_[again] = true;
  twin.before.push_back(done);
  if (twin.apart)
    choose(twin, done, again, after);
  else
    repeat(twin, done, again, second_done, after);
  for (const BlockId b : twin.blocks) {
    block_of_[b] = kNoBlock;
    for (const Value v : f_.blocks[b].insts) copy_of_[v] = 0;
  }
}

/// A thread runs one of the copies.
void CheckedLoops::choose(Twin& twin, BlockId done, BlockId again, BlockId after) {
  b_.at(twin.entry);
  b_.cond_br(twin.entry_fails, twin.header, block_of_[twin.header]);
  f_.blocks[twin.entry].merge = Merge::selection;
  f_.blocks[twin.entry].merge_block = again;
  b_.at(done);
  b_.br(again);
  b_.at(twin.merge);
  b_.br(again);
  b_.at(again);
  b_.br(after);
  twin.behind = {again, after};
}

/// A thread runs the second copy if a check of the first one failed.
void CheckedLoops::repeat(Twin& twin, BlockId done, BlockId again, BlockId next, BlockId after) {
  const BlockId second = b_.new_block();
  b_.at(done);
  const Value fails = failed();
  const Value no = b_.i1(false);
  b_.br(again);

  const Value repeats = phi(again, Type::i1, {fails, no});
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

  b_.at(twin.merge);
  b_.br(next);
  f_.blocks[next].preds = {twin.merge};
  b_.at(next);
  b_.br(again);
  twin.before.insert(twin.before.end(), {again, second});
  twin.behind = {next, after};
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

}  // namespace ptx2spv::passes::checked
