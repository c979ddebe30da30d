#include "translator/ir/trap_state.hpp"

#include <array>

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

}  // namespace ptx2spv::ir
