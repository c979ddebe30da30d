// The registers that hold a thread's first fault. Where the thread goes on, only selects at the
// access keep the site and the coordinates; the record is written where it ends (lower_traps.cpp).
#pragma once

#include <cstdint>
#include <vector>

#include "ptx2spv/abi.hpp"
#include "translator/ir/ir.hpp"

namespace ptx2spv::ir {

struct TrapState {
  std::uint32_t code = 0;  ///< 0, or site * 16 + TrapKind
  std::uint32_t x = 0, y = 0, z = 0, handle = 0;
  std::uint32_t handle_hi = 0;  ///< set for handles that no parameter holds
};

/// The function's trap variables, made on first use. All are per_thread.
TrapState trap_state(ir::Function& function);
/// The function's trap variables if it has any fault site; code is then a valid variable.
bool find_trap_state(const ir::Function& function, TrapState& state);

/// What a thread does after a fault at a surface instruction.
enum class AfterFault : std::uint8_t {
  goes_on,  ///< registers hold the fault, later stores have no effect, the thread's end records it
  returns,  ///< it records the fault and ends there, where no barrier or warp operation is ahead
};

/// By value: the surface operations after whose fault the thread goes on.
std::vector<bool> faults_that_go_on(const Function& function, AfterFault after);

inline std::uint32_t trap_code(std::uint32_t site, abi::TrapKind kind) {
  return site * 16 + static_cast<std::uint32_t>(kind);
}

}  // namespace ptx2spv::ir
