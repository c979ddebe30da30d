// The registers that hold a thread's first fault. At a faulting access only selects keep the site
// and the coordinates; the record is written once, where the thread ends (lower_traps.cpp).
#pragma once

#include <cstdint>

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

inline std::uint32_t trap_code(std::uint32_t site, abi::TrapKind kind) {
  return site * 16 + static_cast<std::uint32_t>(kind);
}

}  // namespace ptx2spv::ir
