// Long blocks, split for drivers whose compile time grows with the square of a block's length. In
// SwiftShader the search for equal values does so. It treats branches as part of a block and only
// loops as its end.
#include <utility>

#include "translator/passes/cfg/block_ends.hpp"
#include "translator/passes/passes.hpp"

namespace ptx2spv::passes {

namespace {

/// Numbers of conditions (never) that other passes do not use.
constexpr std::uint32_t kFirstCut = 1u << 26;

}  // namespace

bool split_long_blocks(Function& f, const Module& module, const RoutineCost& cost,
                       std::uint32_t most) {
  std::vector<std::uint32_t> of_name(module.library_names.size());
  for (std::size_t i = 0; i < of_name.size(); ++i) of_name[i] = cost(module.library_names[i]);
  const auto cost_of = [&](Value v) -> std::uint32_t {
    const Inst& inst = f.insts[v];
    if (inst.op == Op::library) return of_name[inst.imm] + 1;
    return inst.op == Op::constant || inst.op == Op::phi ? 0 : 1;
  };
  Builder b(f);
  BlockCutter cutter(f, b);
  std::uint32_t cuts = 0;
  // A branch does not end the driver's line: it goes on in the order.
  std::uint32_t length = 0;
  std::vector<bool> in_continue(f.blocks.size(), false);
  for (const Block& block : f.blocks)
    if (block.merge == Merge::loop) in_continue[block.continue_block] = true;
  const std::vector<BlockId> order = f.order;
  for (const BlockId first : order) {
    if (f.blocks[first].merge == Merge::loop) length = 0;
    const std::size_t count = f.blocks[first].insts.size();
    if (in_continue[first] || count == 0) continue;
    cutter.start(first);
    BlockId at = first;
    const std::vector<Value> insts = std::exchange(f.blocks[first].insts, {});
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t more = cost_of(insts[i]);
      if (length != 0 && length + more > most && f.insts[insts[i]].op != Op::phi) {
        at = cut_line(cutter, b, at, kFirstCut + cuts++);
        length = 0;
      }
      length += more;
      f.blocks[at].insts.push_back(insts[i]);
    }
  }
  cutter.finish();
  return cuts != 0;
}

}  // namespace ptx2spv::passes
