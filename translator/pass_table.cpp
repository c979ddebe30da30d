#include "translator/pass_table.hpp"

#include <algorithm>

#include "translator/passes/analysis/uniformity.hpp"
#include "translator/passes/cfg/demote_to_stack.hpp"
#include "translator/passes/cfg/expand_recursion.hpp"
#include "translator/passes/legalise/legalise_atomics.hpp"
#include "translator/passes/legalise/move_shared_memory.hpp"
#include "translator/passes/sanitize/sanitize.hpp"
#include "translator/passes/surface/lower_surfaces.hpp"
#include "translator/passes/threads/agree_on_loads.hpp"
#include "translator/passes/threads/spin_loops.hpp"
#include "translator/passes/traps/lower_traps.hpp"

namespace ptx2spv {

namespace {

constexpr Use kRequired = Use::required, kOptional = Use::optional;

bool always(const PassContext&) { return true; }
bool for_device(const PassContext& c) { return c.steps == nullptr; }
bool for_interpreter(const PassContext& c) { return c.steps != nullptr; }
bool optimizes(const PassContext& c) { return c.optimize; }
bool in_regions(const PassContext& c) { return c.model == ThreadModel::regions; }
/// Where an invocation is a thread and nobody waits for it, it returns. What looks at a thread's
/// end needs it to come there.
passes::AfterFault after_fault(const PassContext& c) {
  const bool ends = c.loops_cut_off || c.options.checks != no_checks;
  const bool returns = for_device(c) && !in_regions(c) && !c.info.waits.spins && !ends;
  return returns ? passes::AfterFault::returns : passes::AfterFault::goes_on;
}

constexpr Pass front(std::string_view name, void (*run)(FrontContext& c), std::string_view why) {
  return {Phase::front, name, Form::variables, kRequired, nullptr, nullptr, why, run};
}

constexpr Pass kPasses[] = {
    // Once an entry: registers are variables, and calls are there.
    front(
        "expand-recursion",
        [](FrontContext& c) {
          const auto recursive = passes::recursive_functions(c.lowered.module);
          if (recursive.empty()) return;
          c.lowered = lower::lower_entry(c.program, c.entry, recursive);
          c.problem = passes::expand_recursion(c.lowered.module);
        },
        "recursive functions become one function with a stack in local memory, so that inlining "
        "ends"),
    front(
        "inline-calls",
        [](FrontContext& c) {
          c.problem = passes::inline_calls(c.lowered.module, c.inline_budget);
        },
        "once inlined, a handle passed through a function is known again; past the budget, calls "
        "share bodies"),
    front(
        "narrow-surface-loads",
        [](FrontContext& c) {
          passes::narrow_surface_loads(c.lowered.module.functions[0], c.lowered.module);
        },
        "a load of a vector's first components is one of less, as on NVIDIA's hardware; before the "
        "slots' accesses are known"),
    front(
        "drop-idle-votes",
        [](FrontContext& c) {
          passes::drop_idle_votes(c.lowered.module.functions[0], c.lowered.module);
        },
        "loops that threads leave one by one often hold a vote that nobody reads; before it is "
        "known whether warp operations diverge"),
    front(
        "yield-in-spin-loops",
        [](FrontContext& c) {
          ir::Function& function = c.lowered.module.functions[0];
          c.lowered.info.waits.spins = passes::yield_in_spin_loops(function);
          c.lowered.info.waits.for_clock =
              c.lowered.info.waits.reads_clock && passes::waits_for_clock(function);
        },
        "a thread of a warp, or one of several that an invocation runs, lets the next one go on "
        "where it would wait; before atomics become loops of their own"),
    front(
        "order-warp-accesses",
        [](FrontContext& c) {
          if (!c.lowered.info.waits.spins)
            passes::order_warp_accesses(c.lowered.module.functions[0], c.lowered.module);
        },
        "on NVIDIA's hardware, lanes make volatile accesses to shared memory together; before it "
        "is "
        "known which warp operations there are"),

    {Phase::memory, "agree-on-loads", Form::variables, kRequired,
     [](const PassContext& c) {
       return !c.front.agreed.empty() && c.model == ThreadModel::direct && for_device(c);
     },
     [](PassContext& c) {
       passes::agree_on_loads(c.function, c.front.agreed);
       c.info.shared_bytes = c.function.shared_bytes;
     },
     "threads that load from one place and then choose their way to a barrier choose the same one; "
     "while loads are those that the front knows"},
    {Phase::memory, "meet-at-warp-operations", Form::variables, kRequired,
     [](const PassContext& c) {
       return c.info.sync.warp_operations && c.model == ThreadModel::direct && for_device(c) &&
              (c.info.sync.divergent_warp_operations || c.options.block[0] % 32 != 0);
     },
     [](PassContext& c) {
       passes::meet_at_warp_operations(c.function, c.module, c.options.block[0] % 32 == 0);
     },
     "operations that some threads of a warp miss, who only end: while a block is one of PTX"},
    {Phase::memory, "mark-fetches", Form::variables, kRequired,
     [](const PassContext& c) {
       return c.info.uses_textures && (c.options.checks & kKernelChecks) != 0;
     },
     [](PassContext& c) { passes::mark_fetches(c.function, c.module.texture_ops); },
     "the sanitizer's: a read of a texture is one operation here alone"},
    {Phase::memory, "expand-texture-reads", Form::variables, kRequired,
     [](const PassContext& c) { return c.info.uses_textures; }, steps::expand_texture_reads,
     "each read becomes code; what the launch knows of its textures removes the code for others. "
     "Past a budget reads share code, which needs registers to be variables"},
    {Phase::memory, "bound-spin-loops", Form::variables, kRequired,
     [](const PassContext& c) {
       return !c.profile.exactness.independent_threads && c.options.wait_iterations;
     },
     [](PassContext& c) {
       const std::uint32_t most =
           c.profile.max_loop_iterations ? c.profile.max_loop_iterations - 4096 : ~0u;
       passes::bound_spin_loops(c.function, c.info, std::min(c.options.wait_iterations, most));
     },
     "where threads do not advance independently, a loop that waits for another thread traps "
     "after a number of iterations; before surfaces and atomics become loops of their own"},
    {Phase::memory, "yield-at-clocks", Form::variables, kRequired,
     [](const PassContext& c) { return for_interpreter(c) && c.info.waits.for_clock; },
     [](PassContext& c) { passes::yield_at_clocks(c.function); },
     "the interpreter's: warps and blocks that wait for a clock do so at the same time"},
    {Phase::memory, "check-accesses", Form::variables, kRequired,
     [](const PassContext& c) { return (c.options.checks & kKernelChecks) != 0; },
     [](PassContext& c) {
       passes::check_accesses(c.function, c.options,
                              {.several = in_regions(c),
                               .atomics64 = c.profile.features.buffer_atomics64,
                               .stores_end = for_interpreter(c)},
                              c.info, c.faults);
     },
     "the sanitizer's: while every access is still one that PTX makes, and before stores of "
     "trapped threads go elsewhere"},
    {Phase::memory, "suppress-after-trap", Form::variables, kRequired, always,
     [](PassContext& c) { passes::suppress_after_trap(c.function, after_fault(c)); },
     "a thread that has trapped writes nothing more; lower-surfaces guards its own stores"},
    {Phase::memory, "lower-surfaces", Form::variables, kRequired, always,
     [](PassContext& c) {
       passes::lower_surfaces(c.function, c.module, c.options, c.info, after_fault(c));
     },
     "after inlining, because a handle that is a parameter has a binding of its own; the last "
     "pass to need registers as variables and calls gone"},
    {Phase::memory, "legalise-dots", Form::variables, kRequired, always,
     [](PassContext& c) { passes::legalise_dots(c.function, c.profile.features); },
     "before anything is simplified, so that what is known of the bytes counts"},
    {Phase::memory, "legalise-nanosleep", Form::variables, kRequired, always,
     [](PassContext& c) {
       const bool apart = c.profile.exactness.independent_threads && !in_regions(c);
       passes::legalise_nanosleep(c.function,
                                  apart && for_device(c) && c.profile.features.shader_clock,
                                  c.profile.features.device_clock);
     },
     "where threads advance independently, those that pause leave the memory to others; before "
     "control flow is rearranged"},
    {Phase::memory, "legalise-atomics", Form::variables, kRequired, always,
     [](PassContext& c) {
       Profile atomics = c.profile;
       if (c.options.shared_in_memory)
         atomics.features.shared_atomics64 =
             atomics.features.shared_atomics64 && atomics.features.buffer_atomics64;
       passes::legalise_atomics(c.function, atomics, c.steps != nullptr);
     },
     "atomics that the device lacks become loops, which structurize handles as any others"},
    {Phase::memory, "move-shared-memory", Form::variables, kRequired,
     [](const PassContext& c) { return c.options.shared_in_memory; },
     [](PassContext& c) { passes::move_shared_memory(c.function); },
     "shared memory that exceeds the device's moves into a buffer"},
    {Phase::memory, "fix-block-size", Form::variables, kRequired, in_regions, steps::fix_block_size,
     "the number of threads per invocation follows from the block's size"},
    {Phase::memory, "expand-products", Form::variables, kRequired,
     [](const PassContext& c) {
       return c.info.sync.warp_operations && for_device(c) && !meets_for_products(c);
     },
     [](PassContext& c) {
       const bool native =
           c.builder->vulkan_memory() && c.model == ThreadModel::direct && !c.info.waits.spins;
       passes::expand_products(c.function, c.module, native ? &c.profile : nullptr);
     },
     "products of matrices that neither the device nor threads that meet in shared memory make are "
     "shuffles; before these become the device's, and %tid the invocation's"},

    {Phase::threads, "lower-fault-notes", Form::variables, kRequired,
     [](const PassContext& c) { return c.faults.sites != 0; },
     [](PassContext& c) { passes::lower_fault_notes(c.function, c.faults, in_regions(c)); },
     "the sanitizer's: a thread's faults become registers of its own"},
    {Phase::threads, "detect-loop-cutoff", Form::variables, kRequired,
     [](const PassContext& c) { return c.loops_cut_off && !in_regions(c); },
     [](PassContext& c) { passes::detect_loop_cutoff(c.function, c.guard); },
     "where the driver ends loops silently: a thread records that it left a loop by an exit, and "
     "checks at its end that it left all of them"},
    {Phase::threads, "lower-traps", Form::variables, kRequired, always,
     [](PassContext& c) {
       // Threads that would miss a barrier others wait at stay in their loops.
       const bool together = c.model == ThreadModel::direct && for_device(c);
       passes::lower_traps(c.function, together && c.info.sync.barriers, after_fault(c), &c.guard,
                           c.faults);
     },
     "one exit block per kernel, once every instruction that may fault is known"},
    {Phase::threads, "thread-model", Form::variables, kRequired, always,
     [](PassContext& c) {
       passes::apply_thread_model(c.function, c.model, c.options.assume_small_grid || runs_grid(c));
     },
     "%tid and %ctaid become numbers of invocations"},
    {Phase::threads, "wait-in-rounds", Form::variables, kRequired,
     [](const PassContext& c) {
       return c.info.waits.spins && c.model == ThreadModel::direct && for_device(c);
     },
     [](PassContext& c) { passes::wait_in_rounds(c.function); },
     "a lane that waits lets the others of its warp go on; while warp operations can be told, and "
     "before values of one block are needed in another"},
    {Phase::threads, "native-reductions", Form::variables, kRequired,
     [](const PassContext& c) {
       return c.info.sync.barriers && c.model == ThreadModel::direct && for_device(c);
     },
     [](PassContext& c) {
       if (passes::native_reductions(c.function) && !c.options.shared_in_memory)
         c.info.shared_bytes = c.function.shared_bytes;
     },
     "bar.red is the workgroup's barriers around a sum in shared memory"},
    {Phase::threads, "native-warps", Form::variables, kRequired,
     [](const PassContext& c) {
       return c.info.sync.warp_operations && c.model == ThreadModel::direct && for_device(c);
     },
     [](PassContext& c) {
       const std::uint32_t* block = c.options.block;
       const bool all_come = block[0] != 0 && block[0] % 32 == 0 && !c.info.waits.spins &&
                             !c.info.sync.divergent_warp_operations;
       c.info.sync.warp_subgroups =
           passes::native_warps(c.function, c.profile.features.subgroup_arithmetic, all_come);
     },
     "warp operations that all threads reach together are the subgroups', where those are warps"},
    {Phase::threads, "number-in-one-row", Form::variables, kRequired,
     [](const PassContext& c) {
       return c.info.sync.warp_subgroups && c.options.block[0] % 32 != 0;
     },
     [](PassContext& c) { passes::number_in_one_row(c.function, c.options.block); },
     "where rows of the block are no whole warps, the workgroup is one row"},
    {Phase::threads, "demote-to-stack", Form::variables, kRequired, always,
     [](PassContext& c) { passes::demote_to_stack(c.function); },
     "values used outside their block become variables, so that control flow may be rearranged"},
    {Phase::threads, "split-at-barriers", Form::variables, kRequired, in_regions,
     steps::split_threads,
     "for blocks larger than a workgroup, barriers that some threads miss, and warp operations: "
     "cuts the kernel there; before structurize, because it rearranges the graph"},

    {Phase::structure, "loop-cutoff-of-regions", Form::variables, kRequired,
     [](const PassContext& c) { return c.loops_cut_off && in_regions(c); },
     [](PassContext& c) {
       passes::detect_loop_cutoff(c.function, c.guard);
       if (c.guard.on) passes::report_at_exits(c.function, c.guard);
     },
     "where an invocation runs several threads, the driver cuts off the loops over them"},
    {Phase::structure, "native-barriers", Form::variables, kRequired, for_device,
     [](PassContext& c) { passes::native_barriers(c.function); },
     "the barriers that are left are the workgroup's own"},
    {Phase::structure, "batch-loads", Form::variables, kOptional,
     [](const PassContext& c) {
       return c.optimize && c.model == ThreadModel::direct && for_device(c) &&
              native_subgroups(c.profile);
     },
     [](PassContext& c) { passes::batch_loads(c.function); },
     "where warps wait for memory together: before structurize, while a loop is easily copied"},
    {Phase::structure, "structurize", Form::variables, kRequired, always, steps::structurize,
     "makes SPIR-V's nested constructs out of any graph; only irreducible parts become a "
     "dispatcher"},
    {Phase::structure, "ssa", Form::structured, kRequired, always,
     [](PassContext& c) {
       passes::ssa(c.function, c.module);
       c.ssa = true;
     },
     "on structured code, so that phis appear only where SPIR-V has merges"},

    {Phase::values, "fma-contract", Form::ssa, kOptional, always,
     [](PassContext& c) { passes::fma_contract(c.function, c.module); },
     "fuses products and sums where ptxas does; before simplify, as ptxas fuses equal products "
     "apart, and before legalise-float, while operations are still PTX's"},
    {Phase::values, "simplify", Form::ssa, kOptional, optimizes,
     [](PassContext& c) { passes::simplify(c.function, c.module); },
     "folding, value numbering, known zero bits, dead code: before legalisation, which multiplies "
     "code"},
    {Phase::values, "hoist-traps", Form::ssa, kOptional, optimizes,
     [](PassContext& c) { passes::hoist_traps(c.function); },
     "before what works on the lines between two branches"},
    {Phase::values, "global-ids", Form::ssa, kOptional,
     [](const PassContext& c) { return c.optimize && c.model == ThreadModel::direct; },
     [](PassContext& c) { passes::global_ids(c.function); },
     "in launches of one dispatch, ctaid * ntid + tid is a number that the device has"},
    {Phase::values, "merge-shared-loads", Form::ssa, kOptional,
     [](const PassContext& c) {
       return c.optimize && for_device(c) && c.profile.features.shared_layout;
     },
     [](PassContext& c) { passes::merge_shared_loads(c.function, c.module); },
     "neighbouring words are one access: before checked-fma, which parts blocks"},
    {Phase::values, "elide-nan-selects", Form::ssa, kOptional, optimizes,
     [](PassContext& c) { passes::elide_nan_selects(c.function); },
     "which NaN it is matters only where something looks at the bits: before checked-fma, so that "
     "changed signs need no test for NaN"},

    {Phase::legalise, "legalise-clocks", Form::ssa, kRequired,
     [](const PassContext& c) { return c.info.waits.reads_clock; },
     [](PassContext& c) {
       Features clocks = c.profile.features;
       if (for_device(c) && clocks.device_clock) clocks.shader_clock = false;
       passes::legalise_clocks(c.function, clocks, c.info.waits.clock_rates);
     },
     "a clock is the device's, or counts its readings; that of a subgroup goes faster when its "
     "processor does, so it is used where there is no other"},
    {Phase::legalise, "checked-loops", Form::ssa, kOptional,
     // Guards store in every loop.
     [](const PassContext& c) { return c.optimize && !c.guard.on; },
     [](PassContext& c) {
       passes::checked_loops(c.function, c.module, {.profile = c.profile, .fp = c.options.fp});
     },
     "on devices that flush denormals, a loop runs natively with checks, and exactly only where "
     "one fails"},
    {Phase::legalise, "checked-fma", Form::ssa, kOptional, optimizes,
     [](PassContext& c) {
       if (passes::checked_fma(c.function, c.module, {.profile = c.profile, .fp = c.options.fp}) &&
           !c.options.shared_in_memory)
         c.info.shared_bytes = c.function.shared_bytes;
     },
     "where the device's fma lose denormals, they are its own with one check for all of a line"},
    {Phase::legalise, "legalise-float", Form::ssa, kRequired, always,
     [](PassContext& c) {
       passes::legalise_float(c.function, c.module, {.profile = c.profile, .fp = c.options.fp});
     },
     "one instruction each where the device is exact, otherwise a routine of the shader library"},
    {Phase::legalise, "fast-matrix-sums", Form::ssa, kRequired,
     [](const PassContext& c) { return c.options.fp == FpPolicy::fast; },
     [](PassContext& c) {
       for (std::string& name : c.module.library_names)
         if (name.starts_with("matrix_")) name += "_fast";
     },
     "products of matrices by the device's own float operations"},
    {Phase::legalise, "elide-nan-selects-last", Form::ssa, kOptional,
     [](const PassContext& c) { return !c.profile.exactness.canonical_nan32 && c.optimize; },
     [](PassContext& c) { passes::elide_nan_selects(c.function); },
     "the same of those that legalise-float made"},
    {Phase::legalise, "move-local-memory", Form::ssa, kRequired,
     [](const PassContext& c) { return c.options.local_in_memory; },
     [](PassContext& c) {
       c.info.local_slab_bytes = passes::move_local_memory(c.function, c.profile.features);
     },
     "local memory that exceeds the driver's moves into a buffer; before 64-bit addresses become "
     "pairs"},
    {Phase::legalise, "legalise-int64", Form::ssa, kRequired, always,
     [](PassContext& c) { passes::legalise_int64(c.function, c.module, c.profile); },
     "pairs of words where the device has no 64-bit integers"},
    {Phase::legalise, "invariant-divisors", Form::ssa, kOptional,
     [](const PassContext& c) { return c.optimize && for_device(c); },
     [](PassContext& c) { passes::invariant_divisors(c.function); },
     "divisions in a loop by what it does not change are products; before if-convert, which counts "
     "instructions"},
    {Phase::legalise, "if-convert", Form::ssa, kOptional, optimizes,
     [](PassContext& c) {
       passes::if_convert(c.function, for_device(c) && c.profile.features.robust_images);
     },
     "small branches become selects, once their size is known"},
    {Phase::legalise, "outline-library-calls", Form::ssa, kOptional,
     // Calls share a routine through a loop, and some compilers' time explodes with loops in
     // sequence. Their operands take local memory, of which a driver may have too little; one that
     // takes long blocks well takes calls instead.
     [](const PassContext& c) {
       return c.optimize && for_device(c) && !c.profile.workarounds.limit_strength_reduction &&
              (!c.options.local_in_memory || c.profile.workarounds.split_long_blocks);
     },
     [](PassContext& c) {
       passes::outline_library_calls(c.function, c.module, routine_cost, routine_budget(c));
     },
     "a kernel with much emulated arithmetic calls each long routine from a few loops, because "
     "drivers inline every call"},
    {Phase::legalise, "relax-barrier-scope", Form::ssa, kOptional, always,
     [](PassContext& c) { passes::relax_barrier_scope(c.function, c.module); },
     "barriers that order only shared memory say so"},
    {Phase::legalise, "scale-addresses", Form::ssa, kRequired, for_device,
     [](PassContext& c) {
       passes::scale_addresses(c.function, c.module, c.profile.features.shared_layout);
     },
     "offsets are counted in elements, as in SPIR-V"},
    {Phase::legalise, "simplify-last", Form::ssa, kOptional, optimizes,
     [](PassContext& c) { passes::simplify(c.function, c.module, c.profile.features.int64); },
     "removes what legalisation left over"},

    {Phase::workarounds, "lcssa", Form::ssa, kOptional,
     [](const PassContext& c) {
       return c.profile.workarounds.lcssa_loads || c.profile.workarounds.lcssa_values;
     },
     [](PassContext& c) { passes::lcssa(c.function, c.profile.workarounds.lcssa_values); },
     "on CPU drivers, a value that a thread loaded in a loop is lost after the loop unless an "
     "exit phi has it; on some, a computed value too"},
    {Phase::workarounds, "bitcast-atomic-operands", Form::ssa, kOptional,
     [](const PassContext& c) { return c.profile.workarounds.bitcast_atomic_operands; },
     [](PassContext& c) { passes::bitcast_atomic_operands(c.function); },
     "an integer atomic takes the result of a float operation as an integer"},
    {Phase::workarounds, "opaque-zero-operands", Form::ssa, kOptional,
     [](const PassContext& c) { return c.profile.workarounds.opaque_zero_operands; },
     [](PassContext& c) { passes::opaque_zero_operands(c.function, c.module); },
     "hides known zeros in float products, quotients and sums"},
    {Phase::workarounds, "break-bitfield-insert-select", Form::ssa, kOptional,
     [](const PassContext& c) { return c.profile.workarounds.break_bitfield_insert_select; },
     [](PassContext& c) { passes::break_bitfield_insert_select(c.function); },
     "separates a selection from the merge of bits that it selects"},
    {Phase::workarounds, "limit-uniformity-search", Form::ssa, kOptional,
     [](const PassContext& c) { return c.profile.workarounds.limit_uniformity_search; },
     [](PassContext& c) { passes::limit_uniformity_search(c.function); },
     "the driver tests whether an offset is uniform, in exponential time"},
    {Phase::workarounds, "limit-strength-reduction", Form::ssa, kOptional,
     [](const PassContext& c) { return c.profile.workarounds.limit_strength_reduction; },
     [](PassContext& c) { passes::limit_strength_reduction(c.function); },
     "in loops that make no access to memory, compile time grows by the cube of their number"},
    {Phase::workarounds, "lower-bool-loop-phis", Form::ssa, kOptional,
     [](const PassContext& c) { return c.profile.workarounds.lower_bool_loop_phis; },
     [](PassContext& c) { passes::lower_bool_loop_phis(c.function); },
     "truth values that loops carry become words"},
    {Phase::workarounds, "split-long-blocks", Form::ssa, kOptional,
     [](const PassContext& c) { return c.profile.workarounds.split_long_blocks && c.optimize; },
     [](PassContext& c) { passes::split_long_blocks(c.function, c.module, routine_cost); },
     "compile time grows by the square of a block's length: an empty loop ends a block every 600 "
     "instructions"},

    {Phase::emission, "promote-params-to-push-constants", Form::ssa, kOptional, for_device,
     [](PassContext& c) {
       passes::promote_params_to_push_constants(c.function, c.options.push_words, c.info);
     },
     "once it is known which parameters are still read"},
    {Phase::emission, "fenced-accesses", Form::ssa, kRequired, for_device,
     [](PassContext& c) { passes::fenced_accesses(c.function); },
     "what a fence orders with other blocks is coherent"},
    {Phase::emission, "assemble", Form::ssa, kRequired, for_interpreter, steps::assemble,
     "steps for the interpreter, where no device runs the kernel"},
    {Phase::emission, "emit", Form::ssa, kRequired, for_device, steps::emit,
     "SPIR-V, with the library's routines that are called"},
};

}  // namespace

std::span<const Pass> passes_in_order() { return kPasses; }

bool names_pass(std::string_view names, std::string_view pass) {
  while (!names.empty()) {
    const std::size_t end = std::min(names.find('+'), names.size());
    if (names.substr(0, end) == pass) return true;
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return false;
}

std::vector<PassRow> pass_rows() {
  std::vector<PassRow> rows;
  for (const Pass& pass : kPasses)
    rows.push_back({pass.phase, pass.name, pass.why, pass.needs, pass.use == Use::optional});
  return rows;
}

}  // namespace ptx2spv
