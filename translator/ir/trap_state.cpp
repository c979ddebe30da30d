#include "translator/ir/trap_state.hpp"

#include <algorithm>
#include <array>
#include <ranges>

namespace ptx2spv::ir {

namespace {
constexpr std::array<const char*, 6> kNames = {"trap.code", "trap.x",      "trap.y",
                                               "trap.z",    "trap.handle", "trap.handle_hi"};
}

bool find_trap_state(const ir::Function& function, TrapState& state) {
  for (std::uint32_t v = 0; v + kNames.size() <= function.vars.size(); ++v) {
    if (!function.vars[v].per_thread || function.vars[v].name != kNames[0]) continue;
    state = {v, v + 1, v + 2, v + 3, v + 4, v + 5};
    return true;
  }
  return false;
}

TrapState trap_state(ir::Function& function) {
  TrapState state;
  if (find_trap_state(function, state)) return state;
  const auto first = static_cast<std::uint32_t>(function.vars.size());
  for (const char* name : kNames) function.vars.push_back({ir::Type::i32, name, true});
  return {first, first + 1, first + 2, first + 3, first + 4, first + 5};
}

std::vector<bool> faults_that_go_on(const Function& function, AfterFault after) {
  std::vector<bool> result(function.insts.size());
  const auto meets = [&](Value v) {
    const Op op = function.insts[v].op;
    return is_barrier(op) || is_warp_operation(op);
  };
  // By block: whether threads meet in it, or behind it.
  std::vector<bool> meeting(function.blocks.size());
  std::vector<std::vector<BlockId>> preds(function.blocks.size());
  std::vector<BlockId> work;
  for (BlockId b = 0; b < function.blocks.size(); ++b) {
    for (const BlockId s : function.blocks[b].succs) preds[s].push_back(b);
    if (!std::ranges::any_of(function.blocks[b].insts, meets)) continue;
    meeting[b] = true;
    work.push_back(b);
  }
  while (!work.empty()) {
    const BlockId b = work.back();
    work.pop_back();
    for (const BlockId p : preds[b])
      if (!meeting[p]) {
        meeting[p] = true;
        work.push_back(p);
      }
  }
  for (const Block& block : function.blocks) {
    bool ahead = after == AfterFault::goes_on ||
                 std::ranges::any_of(block.succs, [&](BlockId s) { return meeting[s]; });
    for (const Value v : std::views::reverse(block.insts)) {
      if (is_surface_operation(function.insts[v].op)) result[v] = ahead;
      ahead = ahead || meets(v);
    }
  }
  return result;
}

}  // namespace ptx2spv::ir
