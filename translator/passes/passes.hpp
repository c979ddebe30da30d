// The passes over the IR; translator/pass_table.cpp has their order. Each comment says what a pass
// needs and promises. A function pass returns whether it changed anything. A pass that can fail
// returns a message, which is empty on success.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "ptx2spv/profile.hpp"
#include "ptx2spv/translator.hpp"
#include "translator/passes/fault_log.hpp"
#include "translator/passes/ir.hpp"

namespace ptx2spv::passes {

struct LoopGuard;

/// Inlines all that function 0 calls: as copies, or past `budget` instructions as bodies that calls
/// share (passes/cfg/inline.cpp). Message on recursion (which passes/cfg/expand_recursion.hpp
/// removes), or when the result is too large. Needs variables; the called functions stay as they
/// are.
std::string inline_calls(Module& module, std::size_t budget = kInlineBudget);

struct BlockOptions {
  std::uint32_t workgroup_threads = 128;  ///< invocations of a workgroup: its size is (this, 1, 1)
  std::uint32_t max_block_threads = 1024;
  std::uint32_t block[3] = {0, 0, 0};     ///< every block's size where it is known
  std::uint32_t together[3] = {0, 0, 0};  ///< the grid, where one workgroup runs all of its blocks;
                                          ///< max_block_threads are then those of all blocks, each
                                          ///< rounded up to whole warps
  bool warps = false;                     ///< a subgroup is a warp
  std::uint32_t idle_rounds = 0;  ///< in which threads did nothing but wait for one another's
                                  ///< stores, after which they trap; 0: no bound
  EntryInfo* checked = nullptr;   ///< gets the sites of check_sync; null: none
  FaultLog faults;                ///< of what else is checked: the splitter's own copy
};
/// Removes votes whose result only their own member masks depend on. Needs variables.
void drop_idle_votes(Function& function, Module& module);
/// Makes surface loads as narrow as ptxas does, by which of their words are used
/// (surface/narrow_surface_loads.cpp). Needs variables and calls gone.
void narrow_surface_loads(Function& function, Module& module);
/// Lanes of a warp meet between volatile accesses to shared memory of which one is a store. Where
/// some may miss the place, those that come together meet (Op::warp_active with kOrdersAccesses).
/// Not for kernels that spin: lanes may wait for a store of one that would wait for them. Needs
/// variables.
void order_warp_accesses(Function& function, Module& module);
/// Op::warp_active's imm where its result is not read.
inline constexpr std::uint64_t kOrdersAccesses = 1;
/// Makes bar.red barriers around an atomic operation on a word of shared memory, which it adds.
/// Needs variables and ThreadModel::direct. Returns whether there was one.
bool native_reductions(Function& function);
/// Lanes that wait (Op::yield) and those that no longer do take turns, until all have come to the
/// next barrier or warp operation, which all threads of a warp reach. Needs variables and
/// ThreadModel::direct; removes Op::yield and Op::progress.
void wait_in_rounds(Function& function);
/// In the direct model a workgroup is a block, so the barriers that are left are the device's own.
void native_barriers(Function& function);
/// A word of the push constants that the translation knows becomes a constant.
void fix_push_word(Function& function, std::uint32_t word, std::uint32_t known);

/// Whether a device of that profile has the product as one of cooperative matrices.
bool native_product(const WarpProduct& form, const Profile& profile);
/// Makes products of matrices exchanges between the threads of a warp and arithmetic, but those
/// that are native on a device of `native`. Returns whether there was one. Needs variables.
bool expand_products(Function& function, Module& module, const Profile* native = nullptr);
/// Where iterations of a loop are certain to come, their loads of global memory are one after the
/// other. Needs variables. Returns whether there was such a loop.
bool batch_loads(Function& function);
/// Makes warp operations the device's subgroups'. Needs: the direct model, and operations that all
/// threads of a warp reach together, but those that have ended: none where `all_come`, and then
/// rows of the block are whole warps. Products of matrices stay. Returns whether it changed
/// anything.
bool native_warps(Function& function, bool arithmetic, bool all_come);
/// Whether some threads of a warp miss a warp operation, and meet_at_warp_operations does not help.
/// In blocks whose rows are whole warps, or any.
bool warp_operations_are_missed(const Function& function, Module& module, bool rows);
/// Has all threads of a warp come by the operations that some would miss, where those only end:
/// they are no members.
void meet_at_warp_operations(Function& function, Module& module, bool rows);
/// Has a workgroup with the block's threads in one row.
void number_in_one_row(Function& function, const std::uint32_t (&block)[3]);

/// ThreadModel::regions: cuts the kernel at its barriers and warp operations, sets
/// Function::region_threads and enlarges shared and local memory. With `warps`, warp operations are
/// resolved by the device's subgroups where an invocation runs one thread and no thread yields.
/// Needs variables, before structurizing; message when it cannot.
std::string split_at_barriers(Function& function, Module& module, const BlockOptions& options);

/// Structured control flow as SPIR-V wants it, from any graph. Needs variables (no phis).
/// Afterwards every branch has its merge information, there is at most one exit block,
/// Function::order is set, unreachable blocks are gone (merge blocks that no thread reaches remain,
/// ending in Term::unreachable) and no barrier stands in a continue construct.
bool structurize(Function& function, Module& module, LoopGuard* guard = nullptr);

/// Whether a block has more predecessors than a phi can have operands (65,535 exits of one loop).
bool too_many_exits(const Function& function);
/// Variables become values with pruned phis. A register read before it is written is 0. Does
/// nothing where there are too_many_exits.
bool ssa(Function& function, Module& module);

/// Folding, value numbering, constant branches and dead code. Needs SSA form; keeps structure
/// valid. `int64`: operations on i64 may arise; false after legalise_int64 for a device without
/// them.
bool simplify(Function& function, Module& module, bool int64 = true);

/// ctaid * ntid + tid becomes the device's number of the thread. Needs SSA form,
/// ThreadModel::direct and TranslateOptions::assume_small_grid.
bool global_ids(Function& function);

/// Fuses products with sums where ptxas would. Needs SSA form, before legalise_float.
bool fma_contract(Function& function, Module& module);

/// Branches to the ends of threads that trap move up as far as nothing is lost. Needs structured
/// SSA form.
bool hoist_traps(Function& function);

/// Small selections without side effects become selects. Needs structured SSA form, best after
/// legalisation. `robust_images`: a load may name a texel that an image has not.
bool if_convert(Function& function, bool robust_images);

/// 32-bit divisions in loops that do not change the divisor multiply by its inverse. Needs
/// structured SSA form, best after legalise_int64, which makes some.
bool invariant_divisors(Function& function);

/// Instructions of a library routine, with all that it calls inlined.
using RoutineCost = std::function<std::uint32_t(std::string_view name)>;
/// Calls the library's long routines from loops where a kernel's calls of them exceed `budget`.
/// Needs structured SSA form and a driver without a limit of iterations; after legalise_float and
/// before scale_addresses.
bool outline_library_calls(Function& function, Module& module, const RoutineCost& cost,
                           std::uint64_t budget);
/// For Workarounds::split_long_blocks: splits blocks after `most` instructions, with library
/// routines inlined. Below the default, the values that cross a split cost more than it saves.
/// Needs structured SSA form; simplify keeps the splits.
bool split_long_blocks(Function& function, const Module& module, const RoutineCost& cost,
                       std::uint32_t most = 600);

/// Offsets into bound buffers, shared and local memory as (element << k), which the emitter turns
/// into an index. Needs SSA form, after legalise_int64; always runs, for the emitter relies on it.
/// `shared_layout`: accesses to shared memory count in elements of their own size, not in words.
bool scale_addresses(Function& function, Module& module, bool shared_layout = false);
/// Makes loads of two or four neighbouring words of shared memory one load.
bool merge_shared_loads(Function& function, Module& module);

/// Makes loads of global memory behind a fence of the device and stores before one coherent
/// (fenced_accesses.cpp). Last, because other passes leave volatile accesses alone.
void fenced_accesses(Function& function);

/// Marks the barriers (imm 1) that order only shared memory.
bool relax_barrier_scope(Function& function, Module& module);

/// Exit phis for values that are loaded in a loop and used after it, and with `computed` for values
/// that are computed there. Needs structured SSA form; last, because simplify would remove these
/// phis.
bool lcssa(Function& function, bool computed = false);

/// Puts parameter words into push constants (EntryInfo::push_params), which have `push_words`, 0
/// for none, and joins loads of the others. Needs SSA form; the last pass.
bool promote_params_to_push_constants(Function& function, std::uint32_t push_words,
                                      EntryInfo& info);

/// Makes truth values that loops carry words of 0 and 1. Needs structured SSA form; last, because
/// simplify would undo it.
bool lower_bool_loop_phis(Function& function);

/// Keeps a driver from fusing merges of bits by a constant mask with a selection. Needs structured
/// SSA form; after the last simplify.
bool break_bitfield_insert_select(Function& function);

/// Hides operands of arithmetic that a driver may know to be zero. Needs structured SSA form; after
/// the last simplify.
bool opaque_zero_operands(Function& function, const Module& module);
/// Cuts computations that are the same in all threads, so that a driver does not search them for
/// long (limit_uniformity_search.cpp). Needs structured SSA form; after the last simplify.
bool limit_uniformity_search(Function& function);
/// For Workarounds::limit_strength_reduction: where more than `most` innermost loops hold no access
/// to memory, each gets a store that nobody reads (limit_strength_reduction.cpp). Needs structured
/// SSA form; after the last simplify. Returns whether it changed anything.
bool limit_strength_reduction(Function& function, std::size_t most = 12);
/// For drivers that pass the result of a float operation to an integer atomic as a float
/// (bitcast_atomic_operands.cpp).
bool bitcast_atomic_operands(Function& function);

struct FloatOptions {
  const Profile& profile;
  FpPolicy fp = FpPolicy::exact;
};
/// Loops of single-precision arithmetic run with the device's own operations first, and once more
/// with exact ones in threads that met a denormal: where the device flushes them.
/// Needs structured SSA form, before legalise_float.
bool checked_loops(Function& function, Module& module, const FloatOptions& options);
/// Fused multiply-adds are the device's own where its own lose nothing but denormals, checked for
/// all of a block together. Needs structured SSA form, before legalise_float.
bool checked_fma(Function& function, Module& module, const FloatOptions& options);
/// PTX's floating point becomes native operations and library calls. Needs SSA form.
bool legalise_float(Function& function, Module& module, const FloatOptions& options);

/// Selections of the one NaN go where no bits of the value are looked at. Needs SSA form, after
/// legalise_float.
bool elide_nan_selects(Function& function);

/// Clocks become readings of the device's, scaled by the rates at that offset of the parameter
/// buffer, or what they count where it has none. On SSA form, before legalise_int64.
void legalise_clocks(Function& function, const Features& features, std::uint32_t rates);

/// Op::dot4 becomes products of bytes where the device has none for its signs. Registers are
/// variables.
void legalise_dots(Function& function, const Features& features);

/// Op::nanosleep waits by the subgroup's clock, and the device's if there is one, or goes.
/// Registers are variables.
void legalise_nanosleep(Function& function, bool by_clock, bool device_clock);

/// Shifts and divisions exact as the IR defines them, and without 64-bit integers everything on i64
/// as pairs of words: constant, undef, phi, select, pack, trunc, high, load, store, atomics and
/// library calls remain. Runs once, on SSA form; needs no second round.
bool legalise_int64(Function& function, Module& module, const Profile& profile);

}  // namespace ptx2spv::passes
