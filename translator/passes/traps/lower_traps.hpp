// What a trapped thread does after its fault, and the record that it leaves.
#pragma once

#include "ptx2spv/translator.hpp"
#include "translator/ir/trap_state.hpp"
#include "translator/passes/fault_log.hpp"
#include "translator/passes/ir.hpp"
#include "translator/passes/loop_guard.hpp"

namespace ptx2spv::passes {

/// Sends the stores and atomics of a thread that has trapped to bytes that nothing reads. Runs
/// before lower_surfaces, which guards its own stores, and only in functions where a thread goes on
/// after a fault.
void suppress_after_trap(Function& function, AfterFault after);

/// Joins all ends of the thread in one exit block that writes the trap record, makes thread_trap a
/// jump to it, and ends loops once their thread has trapped. With `keep_barriers` threads do not
/// leave loops early, because they would miss a convergent barrier. With AfterFault::returns,
/// thread_trap writes the record itself and exits, unless there are many.
void lower_traps(Function& function, bool keep_barriers, AfterFault after = AfterFault::goes_on,
                 LoopGuard* guard = nullptr, const FaultLog& log = {});

/// For devices whose threads do not advance independently: a loop that may wait for another thread
/// traps after `iterations`. Runs first, before surfaces and atomics become loops of their own.
/// Returns what it looked at: instructions, their uses, and blocks of loops, once for each loop
/// around.
std::size_t bound_spin_loops(Function& function, EntryInfo& info, std::uint32_t iterations);

/// Where a driver ends loops silently: prepares a function that has loops for threads that were cut
/// off to be noticed; structurize then writes the guard's words. Leaves it off when there is none
/// that could iterate often.
void detect_loop_cutoff(Function& function, LoopGuard& guard);
/// At the end of a thread: one that was cut off counts itself and leaves the loop's number in
/// abi::t_cut_off; gives whether it was. The builder then stands in a new block.
Value report_cut_off(Builder& b, LoopGuard& guard);
/// The same wherever the function ends.
void report_at_exits(Function& function, LoopGuard& guard);

/// Gives the thread and CTA numbers their meaning in ThreadModel::direct and ThreadModel::flat.
void apply_thread_model(Function& function, ThreadModel model, bool whole_grid);

}  // namespace ptx2spv::passes
