// Loops in which a thread may wait for what another one writes.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "ptx2spv/translator.hpp"
#include "translator/ir/loops.hpp"
#include "translator/passes/ir.hpp"

namespace ptx2spv::passes {

/// A loop that reads what another thread may write at any time, and whose branches depend on it.
struct SpinLoop : NaturalLoop {
  Value seed = 0;           ///< what it waits on, the first that stands in no inner loop
  bool waits_alone = true;  ///< no exit is free of such reads: it ends by another thread's doing
};

/// Whether the instruction reads what another thread may write at any time.
bool reads_others(const Inst& inst);

/// By value: computed from what a read that `source` names gave. Memory in between is not followed.
/// Adds to `steps` what it looked at.
std::vector<bool> computed_from(const Function& function,
                                const std::function<bool(const Inst& inst)>& source,
                                std::size_t& steps);

/// Computes preds where there is any such read. Adds to `steps` what it looked at: instructions,
/// their uses, and blocks of loops, once for each loop around.
std::vector<SpinLoop> find_spin_loops(Function& function, std::size_t& steps);

/// Puts a yield into loops that do nothing but wait, so that the threads of a warp, and those of a
/// block that one invocation runs in turn, get to what the loop waits for. Such a loop ends by
/// another thread's doing alone, and an iteration of it reads memory, or tries to take a lock, at
/// an address that stays the same, and changes nothing else. Registers are variables. Returns
/// whether there is one.
bool yield_in_spin_loops(Function& function);

/// Fills EntryInfo::waits.params and waits_for_others. Registers are variables.
void find_waited_memory(Function& function, EntryInfo& entry);

/// Whether a loop ends by what a clock says. Registers are variables.
bool waits_for_clock(Function& function);
/// Puts a yield before each reading of a clock in such loops.
void yield_at_clocks(Function& function);

/// Op::yield's imm: why, and from bit kYieldSite on the trap site of a wait in vain, 0 where there
/// is none.
inline constexpr std::uint64_t kMbarrierYield = 0, kSpinYield = 1, kClockYield = 2;
inline constexpr unsigned kYieldSite = 2;

}  // namespace ptx2spv::passes
