// Loops that end in their first iteration. A kernel whose accesses cannot fault still has the loop
// that writes the trap record, and CPU drivers pay for a loop that no thread enters. Loops over a
// block's words have one iteration where the block's size is known and its threads are as many.
#include "translator/passes/analysis/ranges.hpp"
#include "translator/passes/cfg/blocks.hpp"

namespace ptx2spv::passes {

namespace {

bool leave(Function& f, BlockId header) {
  Block& head = f.blocks[header];
  if (head.preds.size() != 2) return false;
  const BlockId latch = head.continue_block;
  if (head.preds[0] != latch && head.preds[1] != latch) return false;
  const unsigned entry = head.preds[0] == latch ? 1 : 0;

  // The test stands in the header, in a block that follows it directly, or at the end of a body
  // that has no other exit.
  const auto only = [&](BlockId b, BlockId pred) {
    return f.blocks[b].preds.size() == 1 && f.blocks[b].preds[0] == pred;
  };
  // Where a driver ends loops silently, a block before the exit records that the thread left.
  const auto leads_out = [&](BlockId b) {
    const Block& block = f.blocks[b];
    return b == head.merge_block || (b != latch && block.term == Term::br &&
                                     block.preds.size() == 1 && block.succs[0] == head.merge_block);
  };
  BlockId at = header;
  bool straight = true;
  for (unsigned steps = 0;; ++steps) {
    const Block& block = f.blocks[at];
    const bool test =
        block.term == Term::cond_br && (leads_out(block.succs[0]) || leads_out(block.succs[1]));
    if (test) break;
    if (steps == 16) return false;
    if (block.merge == Merge::selection) {
      at = block.merge_block;
      straight = false;
    } else {
      if (block.term != Term::br) return false;
      const BlockId next = block.succs[0];
      if (f.blocks[next].preds.size() != 1) return false;
      at = next;
    }
    if (at == latch || at == head.merge_block || f.blocks[at].merge == Merge::loop) return false;
  }
  Block& test = f.blocks[at];
  if (test.succs[0] == test.succs[1]) return false;
  Ranges first_iteration(f);
  for (const Value v : head.insts) {
    if (f.insts[v].op != Op::phi) break;
    first_iteration.assume(v, f.arg(v, entry));
  }
  const auto taken = first_iteration.constant(test.cond);
  if (!taken) return false;
  const BlockId out = test.succs[*taken ? 0 : 1];
  if (!leads_out(out)) return false;
  const BlockId last = out == head.merge_block ? at : out;
  if (!straight && !(only(head.merge_block, last) && only(latch, at))) return false;

  test.succs.assign(1, out);
  test.term = Term::br;
  test.cond = 0;
  test.merge = Merge::none;
  test.merge_block = kNoBlock;
  head.merge = Merge::none;
  head.merge_block = head.continue_block = kNoBlock;
  return true;
}

}  // namespace

bool delete_single_trip_loops(Function& f) {
  bool any = false;
  for (BlockId b = 0; b < f.blocks.size(); ++b)
    if (f.blocks[b].merge == Merge::loop) any = leave(f, b) || any;
  return any;
}

}  // namespace ptx2spv::passes
