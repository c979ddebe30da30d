// What a trapped thread does after its fault, and the record that it leaves.
#pragma once

#include <functional>

#include "ptx2spv/translator.hpp"
#include "translator/ir/ir.hpp"

namespace ptx2spv::lower {

/// Sends the stores and atomics of a thread that has trapped to the sink. Runs before
/// lower_surfaces, which guards its own stores, and only in functions that can fault at a surface
/// instruction.
void suppress_after_trap(ir::Function& function);

/// Joins all ends of the thread in one exit block that writes the trap record, turns thread_trap
/// into a jump to it, and lets loops end once their thread has trapped. `keep_barriers`: threads
/// must not leave early, because they would miss a convergent barrier; such loops end by
/// themselves. Where a driver cuts loops off silently (LoopLimit::turns), a thread counts its turns
/// and traps before that, a barrier or not: its loop would end all the same.
struct LoopLimit {
  std::uint32_t turns = 0;                           ///< 0: the driver has no limit
  std::function<std::uint32_t(std::uint32_t)> site;  ///< the trap site of a loop, by its location
};
void finish_traps(ir::Function& function, bool keep_barriers, LoopLimit limit = {});

/// Where threads do not advance independently: a loop whose threads may wait for another one traps
/// after so many turns. Runs first, before surfaces and atomics become loops of their own.
void bound_waits(ir::Function& function, EntryInfo& info, std::uint32_t turns);

/// Whether the function has a loop.
bool has_loops(const ir::Function& function);

/// Gives the thread and CTA numbers their meaning in ThreadModel::direct and ThreadModel::flat.
void apply_thread_model(ir::Function& function, ThreadModel model);

/// Values used outside their block become variables, so that control flow may be rearranged freely.
void demote_values(ir::Function& function);

}  // namespace ptx2spv::lower
