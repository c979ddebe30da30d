// Loops that LLVM's loop strength reduction is kept from. Mesa's software renderer counts the
// iterations of all loops in one word, so that each loop's count starts where the one before ends.
// The reduction follows that chain back in every loop, and the time grows by the cube of the loops
// in sequence: 32 take 1.75 seconds, 97 more than a minute. It takes innermost loops alone, and an
// access to memory that differs between lanes is a loop over them there. So a loop without one gets
// one.
#include <vector>

#include "ptx2spv/abi.hpp"
#include "translator/ir/loops.hpp"
#include "translator/passes/passes.hpp"

namespace ptx2spv::passes {

namespace {

/// What is a loop over the lanes in the driver's code.
bool loops_over_lanes(const Inst& inst) {
  return is_access(inst.op) && inst.mem.space != Space::push && inst.mem.space != Space::local;
}

}  // namespace

bool limit_strength_reduction(Function& f, std::size_t most) {
  const StructuredLoops nest(f, f.order);
  constexpr std::uint32_t kNone = StructuredLoops::kNone;
  std::vector<bool> holds(nest.loops.size(), false);  // a loop of its own or the driver's
  for (const StructuredLoops::Loop& loop : nest.loops)
    if (loop.parent != kNone) holds[loop.parent] = true;
  for (const BlockId b : f.order) {
    const std::uint32_t loop = nest.innermost[b];
    if (loop == kNone) continue;
    for (const Value v : f.blocks[b].insts)
      holds[loop] = holds[loop] || loops_over_lanes(f.insts[v]);
  }
  std::vector<BlockId> latches;
  for (std::size_t l = 0; l < nest.loops.size(); ++l)
    if (!holds[l]) latches.push_back(f.blocks[nest.loops[l].header].continue_block);
  if (latches.size() <= most) return false;
  Builder b(f);
  for (const BlockId latch : latches) {
    b.at(latch);
    // A load that nothing uses is removed, and an access that all lanes make alike is no loop.
    const Value lane = b.op2(Op::and_, b.builtin(Builtin::local_index), b.i32(3));
    const Value word = b.op2(Op::add, lane, b.i32(abi::t_unread));
    b.store(b.op2(Op::shl, word, b.i32(2)), b.i32(0),
            {.space = Space::trap, .bytes = 4, .is_volatile = true});
  }
  return true;
}

}  // namespace ptx2spv::passes
