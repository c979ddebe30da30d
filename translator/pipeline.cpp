#include "translator/pipeline.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include "translator/debug_source.hpp"
#include "translator/front.hpp"
#include "translator/function_facts.hpp"
#include "translator/backend/host/assemble.hpp"
#include "translator/passes/analysis/uniformity.hpp"
#include "translator/passes/cfg/demote_to_stack.hpp"
#include "translator/passes/cfg/expand_recursion.hpp"
#include "translator/passes/legalise/legalise_atomics.hpp"
#include "translator/passes/legalise/move_shared_memory.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/sanitize/provenance.hpp"
#include "translator/passes/sanitize/sanitize.hpp"
#include "translator/passes/surface/lower_surfaces.hpp"
#include "translator/passes/texture/expand_texture_reads.hpp"
#include "translator/passes/texture/texture_records.hpp"
#include "translator/passes/threads/spin_loops.hpp"
#include "translator/passes/threads/warp_lanes.hpp"
#include "translator/passes/traps/lower_traps.hpp"
#include "translator/backend/spirv/emit.hpp"
#include "translator/backend/spirv/library.hpp"

namespace ptx2spv {

namespace {

using ir::Op;

/// In the direct model a workgroup is a block, so the whole block's barrier is the device's own.
void native_barriers(ir::Function& function) {
  for (ir::Block& block : function.blocks)
    for (const ir::Value v : block.insts) {
      ir::Inst& inst = function.insts[v];
      if (inst.op != Op::bar_sync) continue;
      inst.op = Op::control_barrier;
      inst.count = 0;
      inst.imm = 0;
    }
}

/// A word of the launch that the translation knows becomes a constant.
void fix_push_word(ir::Function& function, std::uint32_t word, std::uint32_t known) {
  for (const ir::Block& block : function.blocks)
    for (const ir::Value value : block.insts) {
      ir::Inst& inst = function.insts[value];
      if (inst.op != Op::load || inst.mem.space != ir::Space::push) continue;
      const ir::Inst& address = function.insts[function.arg(value, 0)];
      if (address.op != Op::constant || address.imm != word * 4) continue;
      inst.op = Op::constant;
      inst.count = 0;
      inst.mem = {};
      inst.imm = known;
    }
}

std::uint32_t routine_cost(std::string_view name) { return spirv::Library::embedded().cost(name); }

/// Whether subgroups of 32 can be had that are warps.
bool native_subgroups(const Profile& profile) {
  return profile.features.subgroup_ops && profile.exactness.native_warps;
}

/// How a kernel whose blocks are no workgroups of their own is cut up.
enum class BlockForm : std::uint8_t {
  whole,      ///< no need to: the direct and flat models
  coarsened,  ///< threads side by side between the device's own barriers
  split,      ///< pieces between barriers and warp operations
};

/// What the passes of one translation share.
struct PassContext {
  const FrontEntry& front;
  const lower::Program& program;
  const TranslateOptions& options;
  const Profile& profile;
  ir::Module& module;
  ir::Function& function;
  EntryInfo& info;
  spirv::Builder* builder;                ///< null: for the interpreter
  interpreter::Program* steps = nullptr;  ///< else null
  std::vector<Message>& messages;
  Growth& growth;

  ThreadModel model = ThreadModel::direct;
  BlockForm form = BlockForm::whole;
  passes::BlockOptions block{};
  bool optimize = false;
  bool loops_cut_off = false;   ///< the driver ends loops silently
  bool coarsened = false;       ///< thread-coarsening did what it was asked for
  bool few_iterations = false;  ///< loop-trip-count took the guard away
  bool structured = false, ssa = false;
  bool outgrown = false;  ///< the function has become too large
  std::string problem;    ///< what cannot be translated
  std::string internal;   ///< what must not happen
};

struct Pass {
  Phase phase;
  std::string_view name;
  bool (*when)(const PassContext& c);
  void (*run)(PassContext& c);
  std::string_view why;
};

bool always(const PassContext&) { return true; }
bool for_device(const PassContext& c) { return c.steps == nullptr; }
bool for_interpreter(const PassContext& c) { return c.steps != nullptr; }
bool optimizes(const PassContext& c) { return c.optimize; }
bool coarsens(const PassContext& c) { return c.form == BlockForm::coarsened; }

/// Whether a workgroup runs all blocks of the grid.
bool runs_grid(const PassContext& c) { return c.options.together[0] != 0; }

void fix_block_size(PassContext& c) {
  const std::uint32_t* size = c.options.block;
  const std::uint32_t threads = c.block.max_block_threads;
  std::uint32_t workgroup = std::min(c.info.workgroup_threads, threads);
  c.info.threads_per_invocation = (threads + workgroup - 1) / workgroup;
  // No thread too many where that can be.
  if (size[0])
    workgroup = (threads + c.info.threads_per_invocation - 1) / c.info.threads_per_invocation;
  c.info.workgroup_threads = c.block.workgroup_threads = workgroup;
  for (std::uint32_t axis = 0; axis < 3 && size[0]; ++axis)
    fix_push_word(c.function, abi::Push::block_x + axis, size[axis]);
  for (std::uint32_t axis = 0; axis < 3 && runs_grid(c); ++axis)
    fix_push_word(c.function, abi::Push::grid_x + axis, c.options.together[axis]);
}

void coarsen_threads(PassContext& c) {
  passes::BlockOptions fewer = c.block;
  fewer.fewer = c.options.workgroup_threads == 0;
  fewer.warps = c.info.warp_operations;
  c.coarsened = passes::thread_coarsening(c.function, c.module, fewer).empty();
  if (!c.coarsened) return;
  c.info.workgroup_threads = fewer.workgroup_threads;
  c.info.threads_per_invocation = c.function.region_threads;
}

/// The workgroup with whole warps where the threads of a block are cut up by warps that are the
/// device's subgroups, otherwise 0.
std::uint32_t workgroup_of_warps(const PassContext& c) {
  if (!c.info.warp_operations || c.model != ThreadModel::regions || !native_subgroups(c.profile) ||
      c.info.threads_per_invocation != 1 || has_op(c.function, Op::yield, Op::yield))
    return 0;
  const std::uint32_t most = c.options.workgroup_threads ? c.options.workgroup_threads
                                                         : c.profile.max_workgroup_invocations;
  const std::uint32_t whole = (c.block.workgroup_threads + 31) & ~31u;
  return whole <= most ? whole : 0;
}

void split_threads(PassContext& c) {
  const std::uint32_t whole = c.block.checked ? 0 : workgroup_of_warps(c);
  if (whole) {
    c.block.warps = c.info.warp_subgroups = true;
    c.block.workgroup_threads = c.info.workgroup_threads = whole;
  }
  c.problem = passes::split_at_barriers(c.function, c.module, c.block);
  if (!runs_grid(c) || c.function.shared_bytes <= c.profile.max_shared_bytes) return;
  c.info.control_bytes = c.function.shared_bytes;
  const EntryInfo& front = c.front.lowered.info;
  const std::uint32_t* grid = c.options.together;
  passes::move_shared_memory(c.function, {.blocks = grid[0] * grid[1] * grid[2],
                                          .static_bytes = front.shared_bytes,
                                          .dynamic = front.dynamic_shared});
}

void structurize(PassContext& c) {
  c.function.loop_guard.first_number = static_cast<std::uint32_t>(c.info.trap_sites.size()) + 1;
  passes::structurize(c.function, c.module);
  c.structured = true;
  for (const std::uint32_t loc : c.function.loop_guard.loops) {
    TrapSite site;
    site.line = c.function.locs[loc].line;
    site.source_line = c.function.locs[loc].source_line;
    site.message = "the driver ends the loops of a group of threads after " +
                   std::to_string(c.profile.max_loop_iterations) + " iterations in total";
    c.info.trap_sites.push_back(std::move(site));
    c.info.trap_site_locs.push_back(loc);
  }
  if (passes::too_many_exits(c.function) && c.problem.empty())
    c.problem = "more than 65535 branches leave one of its loops";
}

/// The module that the entry's text is in.
const ptx::Module& source_of(const PassContext& c) {
  const auto& locs = c.front.lowered.module.functions[0].locs;
  return c.program.module(locs.size() > 1 ? locs[1].module : 0);
}

/// Holds the function against the IR's rules.
void check(PassContext& c, std::string_view name) {
  const std::string wrong = ir::validate(c.function, c.module, c.ssa, c.structured);
  if (!wrong.empty()) c.internal = "after pass " + std::string(name) + ": " + wrong;
}

/// Where traps and checked accesses stand, and what the module binds.
void describe(PassContext& c) {
  const auto complete = [&](TrapSite& site, std::uint32_t at) {
    if (!at) return;
    const ir::Loc& loc = c.function.locs[at];
    site.column = loc.column;
    site.text = c.program.module(loc.module).text({loc.begin, loc.length});
    lower::set_source(site, c.program.module(loc.module), loc.source_loc);
  };
  for (std::size_t i = 1; i < c.info.trap_sites.size(); ++i)
    complete(c.info.trap_sites[i], c.info.trap_site_locs[i]);
  for (AccessSite& site : c.info.access_sites) complete(site.place, site.loc);
  c.info.bindings = bindings(c.function, c.profile);
}

void assemble(PassContext& c) {
  check(c, "assemble");
  if (!c.internal.empty()) return;
  describe(c);
  auto steps = interpreter::assemble(c.function, c.module, c.problem);
  if (steps) *c.steps = std::move(*steps);
}

void emit(PassContext& c) {
  check(c, "promote-params-to-push-constants");
  if (!c.internal.empty()) return;
  describe(c);
  spirv::EmitOptions options;
  options.profile = c.profile;
  options.slots = c.options.slots;
  options.push_words = c.info.push_words;
  options.differences = c.options.fp == FpPolicy::fast;
  options.entry_name = c.info.name;
  options.debug_info = c.options.debug_info;
  const bool alone = !c.options.entry.empty();
  options.ptx_source = [&c, alone](std::uint32_t module) {
    return debug_source(c.program, module, c.function, alone);
  };
  options.cuda_source = [&c](const ir::Loc& loc) {
    TrapSite site;
    lower::set_source(site, c.program.module(loc.module), loc.source_loc);
    return site.source_file;
  };
  options.float_controls = c.options.fp == FpPolicy::exact;
  if (const auto failed = spirv::emit(c.module, c.function, options, *c.builder))
    c.internal = failed->text;
}

/// Instructions of a function as it stands, those of the library's routines counted.
std::uint64_t instructions(const ir::Function& function, const ir::Module& module) {
  std::uint64_t sum = 0;
  for (const ir::Block& block : function.blocks)
    for (const ir::Value v : block.insts) {
      const ir::Inst& inst = function.insts[v];
      if (inst.op == Op::library)
        sum += routine_cost(module.library_names[inst.imm]);
      else
        sum += inst.op != Op::constant;
    }
  return sum;
}

/// A round of a block costs what thousands of iterations of one thread do. A loop may wait for
/// another block as long as that takes, where blocks advance independently.
std::uint32_t idle_rounds(const PassContext& c) {
  if (c.info.waits && c.profile.exactness.independent_threads) return 0;
  const std::uint32_t iterations = c.options.wait_iterations;
  return iterations ? std::max(iterations / 4096, 1u) : 0;
}

std::uint32_t routine_budget(const PassContext& c) {
  return c.options.routine_budget.value_or(c.profile.routine_budget);
}

void expand_texture_reads(PassContext& c) {
  const auto fix_features = [&](ir::Function& f) {
    // The lowering, which every translation shares, reads it like a word of the launch.
    fix_push_word(f, abi::Push::texture_features, c.options.texture_features);
  };
  const passes::ReadOptions reads{
      .budget = routine_budget(c),
      .few_iterations = c.loops_cut_off,
      .count = [&](const ir::Function& f) { return instructions(f, c.module); },
      .measure =
          [&](ir::Function& f) {
            fix_features(f);
            passes::structurize(f, c.module);
            passes::ssa(f, c.module);
            passes::simplify(f, c.module);
            return instructions(f, c.module);
          }};
  passes::expand_texture_reads(c.function, c.module, c.info, c.options.textures, c.options.table,
                               reads);
  fix_features(c.function);
}

/// The passes in the order in which they run; design.md has them as a table. The rows of
/// Phase::threads run for each form that is tried.
constexpr Pass kPasses[] = {
    {Phase::memory, "mark-fetches",
     [](const PassContext& c) {
       return c.info.uses_textures && (c.options.checks & kKernelChecks) != 0;
     },
     [](PassContext& c) { passes::mark_fetches(c.function, c.module.texture_ops); },
     "the sanitizer's: a read of a texture is one operation here alone"},
    {Phase::memory, "expand-texture-reads",
     [](const PassContext& c) { return c.info.uses_textures; }, expand_texture_reads,
     "each read becomes code; what the launch knows of its textures removes the code for others. "
     "Past a budget reads share code, which needs registers to be variables"},
    {Phase::memory, "bound-spin-loops",
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
    {Phase::memory, "yield-at-clocks",
     [](const PassContext& c) { return for_interpreter(c) && c.info.waits_for_clock; },
     [](PassContext& c) { passes::yield_at_clocks(c.function); },
     "the interpreter's: warps and blocks that wait for a clock do so at the same time"},
    {Phase::memory, "check-accesses",
     [](const PassContext& c) { return (c.options.checks & kKernelChecks) != 0; },
     [](PassContext& c) {
       passes::check_accesses(c.function, c.options,
                              {.several = c.model == ThreadModel::regions,
                               .skipped_branches = c.profile.costs.skipped_branches,
                               .atomics64 = c.profile.features.buffer_atomics64},
                              c.info);
     },
     "the sanitizer's: while every access is still one that PTX makes, and before stores of "
     "trapped threads go elsewhere"},
    {Phase::memory, "suppress-after-trap", always,
     [](PassContext& c) { passes::suppress_after_trap(c.function); },
     "a thread that has trapped writes nothing more; lower-surfaces guards its own stores"},
    {Phase::memory, "lower-surfaces", always,
     [](PassContext& c) { passes::lower_surfaces(c.function, c.module, c.options, c.info); },
     "after inlining, because a handle that is a parameter has a binding of its own; the last "
     "pass to need registers as variables and calls gone"},
    {Phase::memory, "legalise-atomics", always,
     [](PassContext& c) {
       Profile atomics = c.profile;
       if (c.options.shared_in_memory)
         atomics.features.shared_atomics64 =
             atomics.features.shared_atomics64 && atomics.features.buffer_atomics64;
       passes::legalise_atomics(c.function, atomics);
     },
     "atomics that the device lacks become loops, which structurize handles as any others"},
    {Phase::memory, "move-shared-memory",
     [](const PassContext& c) { return c.options.shared_in_memory; },
     [](PassContext& c) { passes::move_shared_memory(c.function); },
     "shared memory that exceeds the device's moves into a buffer"},
    {Phase::memory, "fix-block-size",
     [](const PassContext& c) { return c.model == ThreadModel::regions; }, fix_block_size,
     "the number of threads per invocation follows from the block's size"},

    {Phase::threads, "lower-fault-notes",
     [](const PassContext& c) { return c.function.fault_log.sites && !coarsens(c); },
     [](PassContext& c) { passes::lower_fault_notes(c.function, c.model == ThreadModel::regions); },
     "the sanitizer's: a thread's faults become registers of its own; thread-coarsening gives an "
     "invocation registers for all of its threads"},
    {Phase::threads, "detect-loop-cutoff",
     [](const PassContext& c) { return c.loops_cut_off && c.form == BlockForm::whole; },
     [](PassContext& c) { passes::detect_loop_cutoff(c.function); },
     "where the driver ends loops silently: a thread records that it left a loop by an exit, and "
     "checks at its end that it left all of them"},
    {Phase::threads, "lower-traps", always,
     [](PassContext& c) {
       // Threads that would miss a barrier others wait at stay in their loops, and those of a warp
       // that one invocation runs.
       const bool together = coarsens(c) || (c.model == ThreadModel::direct && for_device(c));
       passes::lower_traps(
           c.function, (together && c.info.barriers) || (coarsens(c) && c.info.warp_operations));
     },
     "one exit block per kernel, once every instruction that may fault is known"},
    {Phase::threads, "thread-model", always,
     [](PassContext& c) {
       passes::apply_thread_model(c.function, c.model, c.options.assume_small_grid || runs_grid(c));
     },
     "%tid and %ctaid become numbers of invocations"},
    {Phase::threads, "native-warps",
     [](const PassContext& c) {
       return c.info.warp_operations && c.model == ThreadModel::direct && for_device(c);
     },
     [](PassContext& c) { c.info.warp_subgroups = passes::native_warps(c.function); },
     "warp operations that all threads reach together are the subgroups', where those are warps"},
    {Phase::threads, "demote-to-stack", always,
     [](PassContext& c) { passes::demote_to_stack(c.function); },
     "values used outside their block become variables, so that control flow may be rearranged"},
    {Phase::threads, "thread-coarsening", coarsens, coarsen_threads,
     "for blocks that are larger than a workgroup or of unknown size, and for warps where "
     "subgroups are smaller: tried first, because it keeps loops whole; before structurize, "
     "because it rearranges the graph"},
    {Phase::threads, "split-at-barriers",
     [](const PassContext& c) { return c.form == BlockForm::split; }, split_threads,
     "for barriers that some threads miss, and warp operations: cuts the kernel there"},

    {Phase::structure, "loop-cutoff-of-regions",
     [](const PassContext& c) { return c.loops_cut_off && c.model == ThreadModel::regions; },
     [](PassContext& c) {
       if (passes::detect_loop_cutoff(c.function)) passes::report_at_exits(c.function);
     },
     "where an invocation runs several threads, the driver cuts off the loops over them"},
    {Phase::structure, "native-barriers", for_device,
     [](PassContext& c) { native_barriers(c.function); },
     "the barriers that are left are the workgroup's own"},
    {Phase::structure, "structurize", always, structurize,
     "makes SPIR-V's nested constructs out of any graph; only irreducible parts become a "
     "dispatcher"},
    {Phase::structure, "ssa", always,
     [](PassContext& c) {
       passes::ssa(c.function, c.module);
       c.ssa = true;
     },
     "on structured code, so that phis appear only where SPIR-V has merges"},

    {Phase::values, "simplify", optimizes,
     [](PassContext& c) { passes::simplify(c.function, c.module); },
     "folding, value numbering, known zero bits, dead code: before legalisation, which multiplies "
     "code"},
    {Phase::values, "global-ids",
     [](const PassContext& c) { return c.optimize && c.model == ThreadModel::direct; },
     [](PassContext& c) { passes::global_ids(c.function); },
     "in launches of one dispatch, ctaid * ntid + tid is a number that the device has"},
    {Phase::values, "fma-contract", always,
     [](PassContext& c) { passes::fma_contract(c.function, c.module); },
     "fuses products and sums where ptxas does; before legalise-float, while operations are "
     "still PTX's"},

    {Phase::legalise, "legalise-clocks", [](const PassContext& c) { return c.info.reads_clock; },
     [](PassContext& c) {
       passes::legalise_clocks(c.function, c.profile.features, c.info.clock_rates);
     },
     "a clock is the device's, or counts its readings"},
    {Phase::legalise, "checked-loops",
     // Guards store in every loop.
     [](const PassContext& c) { return c.optimize && !c.function.loop_guard.on; },
     [](PassContext& c) {
       passes::checked_loops(c.function, c.module, {.profile = c.profile, .fp = c.options.fp});
     },
     "on devices that flush denormals, a loop runs natively with checks, and exactly only where "
     "one fails"},
    {Phase::legalise, "checked-segments",
     [](const PassContext& c) { return c.optimize && !c.function.loop_guard.on; },
     [](PassContext& c) {
       passes::checked_segments(c.function, {.profile = c.profile, .fp = c.options.fp});
     },
     "the same for straight lines: one check for all operations of a line, which a loop repeats "
     "where it fails"},
    {Phase::legalise, "legalise-float", always,
     [](PassContext& c) {
       passes::legalise_float(c.function, c.module, {.profile = c.profile, .fp = c.options.fp});
     },
     "one instruction each where the device is exact, otherwise a routine of the shader library"},
    {Phase::legalise, "elide-nan-selects",
     [](const PassContext& c) { return !c.profile.exactness.canonical_nan32 && c.optimize; },
     [](PassContext& c) { passes::elide_nan_selects(c.function); },
     "which NaN it is matters only where something looks at the bits"},
    {Phase::legalise, "legalise-int64", always,
     [](PassContext& c) { passes::legalise_int64(c.function, c.module, c.profile); },
     "pairs of words where the device has no 64-bit integers"},
    {Phase::legalise, "if-convert", optimizes,
     [](PassContext& c) { passes::if_convert(c.function, c.module); },
     "small branches become selects, once their size is known"},
    {Phase::legalise, "outline-library-calls",
     [](const PassContext& c) { return c.optimize && c.profile.costs.outlined_calls; },
     [](PassContext& c) {
       passes::outline_library_calls(c.function, c.module, routine_cost, routine_budget(c));
     },
     "a kernel with much emulated arithmetic calls each long routine from a few loops, because "
     "drivers inline every call"},
    {Phase::legalise, "relax-barrier-scope", always,
     [](PassContext& c) { passes::relax_barrier_scope(c.function, c.module); },
     "barriers that order only shared memory say so"},
    {Phase::legalise, "scale-addresses", for_device,
     [](PassContext& c) { passes::scale_addresses(c.function, c.module); },
     "offsets are counted in elements, as in SPIR-V"},
    {Phase::legalise, "simplify-last", optimizes,
     [](PassContext& c) { passes::simplify(c.function, c.module, c.profile.features.int64); },
     "removes what legalisation left over"},

    {Phase::workarounds, "loop-trip-count",
     [](const PassContext& c) { return c.loops_cut_off && c.optimize; },
     [](PassContext& c) {
       // What the driver counts is not known to the iteration.
       const std::uint32_t most =
           c.profile.max_loop_iterations - c.profile.max_loop_iterations / 16;
       c.few_iterations =
           passes::loop_trip_count(c.function, most, c.options.assume_trip_counts, c.info);
     },
     "removes guards where all loops have bounds"},
    {Phase::workarounds, "simplify-bounded", [](const PassContext& c) { return c.few_iterations; },
     [](PassContext& c) { passes::simplify(c.function, c.module, c.profile.features.int64); },
     "removes what the guards leave"},
    {Phase::workarounds, "merge-loop-exits",
     // What guards have to notice is left alone.
     [](const PassContext& c) {
       return !c.profile.costs.skipped_branches && c.optimize && !c.function.loop_guard.on;
     },
     [](PassContext& c) { passes::merge_loop_exits(c.function); },
     "CPU drivers execute both sides of every branch: fewer exits cost less"},
    {Phase::workarounds, "lcssa",
     [](const PassContext& c) {
       return c.profile.workarounds.lcssa_loads || c.profile.workarounds.lcssa_values;
     },
     [](PassContext& c) { passes::lcssa(c.function, c.profile.workarounds.lcssa_values); },
     "on CPU drivers, a value that a thread loaded in a loop is lost after the loop unless an "
     "exit phi has it; on some, a computed value too"},
    {Phase::workarounds, "bitcast-atomic-operands",
     [](const PassContext& c) { return c.profile.workarounds.bitcast_atomic_operands; },
     [](PassContext& c) { passes::bitcast_atomic_operands(c.function); },
     "an integer atomic takes the result of a float operation as an integer"},
    {Phase::workarounds, "opaque-zero-operands",
     [](const PassContext& c) { return c.profile.workarounds.opaque_zero_operands; },
     [](PassContext& c) { passes::opaque_zero_operands(c.function, c.module); },
     "hides known zeros in float products, quotients and sums"},
    {Phase::workarounds, "break-bitfield-insert-select",
     [](const PassContext& c) { return c.profile.workarounds.break_bitfield_insert_select; },
     [](PassContext& c) { passes::break_bitfield_insert_select(c.function); },
     "separates a selection from the merge of bits that it selects"},
    {Phase::workarounds, "limit-uniformity-search",
     [](const PassContext& c) { return c.profile.workarounds.limit_uniformity_search; },
     [](PassContext& c) { passes::limit_uniformity_search(c.function); },
     "the driver tests whether an offset is uniform, in exponential time"},
    {Phase::workarounds, "limit-strength-reduction",
     [](const PassContext& c) { return c.profile.workarounds.limit_strength_reduction; },
     [](PassContext& c) { passes::limit_strength_reduction(c.function); },
     "in loops that make no access to memory, compile time grows by the cube of their number"},
    {Phase::workarounds, "lower-bool-loop-phis",
     [](const PassContext& c) { return c.profile.workarounds.lower_bool_loop_phis; },
     [](PassContext& c) { passes::lower_bool_loop_phis(c.function); },
     "truth values that loops carry become words"},
    {Phase::workarounds, "split-long-blocks",
     [](const PassContext& c) { return c.profile.workarounds.split_long_blocks && c.optimize; },
     [](PassContext& c) { passes::split_long_blocks(c.function, c.module, routine_cost); },
     "compile time grows by the square of a block's length: an empty loop ends a block every 600 "
     "instructions"},

    {Phase::emission, "promote-params-to-push-constants", for_device,
     [](PassContext& c) {
       passes::promote_params_to_push_constants(
           c.function,
           {.push_words = c.options.push_words, .dear_shifts = !c.profile.costs.vector_shifts},
           c.info);
     },
     "once it is known which parameters are still read"},
    {Phase::emission, "fenced-accesses", for_device,
     [](PassContext& c) { passes::fenced_accesses(c.function); },
     "what a fence orders with other blocks is coherent"},
    {Phase::emission, "assemble", for_interpreter, assemble,
     "steps for the interpreter, where no device runs the kernel"},
    {Phase::emission, "emit", for_device, emit,
     "SPIR-V, with the library's routines that are called"},
};

/// Runs the rows of a phase: times each, hands the function to the dump by the pass's name, and
/// checks it. Stops at a fault of ours and at a function that has become too large.
void run_phase(PassContext& c, Phase phase) {
  for (const Pass& pass : kPasses) {
    if (pass.phase != phase || c.outgrown || !c.internal.empty() || !pass.when(c)) continue;
    const auto start = std::chrono::steady_clock::now();
    try {
      pass.run(c);
    } catch (const ir::Outgrown&) {
      c.growth.fits(c.function);
      c.outgrown = true;
      return;
    } catch (const spirv::TooLong&) {
      c.problem = "a switch or a join of its branches has more cases than an instruction can have";
      return;
    }
    if (c.options.timing) {
      const std::chrono::duration<double, std::milli> spent =
          std::chrono::steady_clock::now() - start;
      c.options.timing(pass.name, spent.count());
    }
    if (c.options.dump) c.options.dump(pass.name, ir::print(c.function, c.module));
    if (validates() && c.internal.empty()) check(c, pass.name);
    c.outgrown = !c.growth.fits(c.function);
  }
}

/// Whether an invocation that runs a whole warp leaves the device enough to do: a CPU's vector
/// units, where subgroups are smaller than warps.
bool small_subgroups(const Profile& profile) {
  return profile.subgroup_size != 0 && profile.subgroup_size < 32;
}

/// Whether all 32 lanes reach each warp operation together and are its members, so that the
/// sanitizer has nothing to look for there.
bool whole_warps(const PassContext& c) {
  const std::uint32_t* size = c.options.block;
  return !c.info.divergent_warp_operations && size[0] && size[0] * size[1] * size[2] % 32 == 0 &&
         passes::warp::names_all_lanes(c.function);
}

/// The threads' phase in the forms that may do, the better one first.
void run_threads(PassContext& c) {
  if (c.model != ThreadModel::regions) return run_phase(c, Phase::threads);
  const bool checked =
      c.block.checked && ((c.info.warp_operations && !whole_warps(c)) || c.info.divergent_barriers);
  if (!runs_grid(c) && !checked &&
      (c.info.warp_operations ? small_subgroups(c.profile) : c.info.barriers)) {
    const ir::Function function = c.function;
    const EntryInfo info = c.info;
    c.form = BlockForm::coarsened;
    run_phase(c, Phase::threads);
    if (c.coarsened && !c.outgrown) return;
    c.coarsened = c.outgrown = false;
    c.function = function;
    c.info = info;
  }
  c.form = BlockForm::split;
  run_phase(c, Phase::threads);
}

}  // namespace

bool native_warps(const EntryInfo& info, const Profile& profile, const std::uint32_t (&block)[3],
                  std::uint32_t checks) {
  // Who waits for whom is known where the threads are cut up.
  return !(checks & check_sync) && info.warp_operations && !info.divergent_warp_operations &&
         native_subgroups(profile) && block[0] != 0 && block[0] % 32 == 0;
}

ThreadModel thread_model(const EntryInfo& info, ThreadModel asked, bool native_warps) {
  const bool synchronises = info.barriers || info.warp_operations;
  const bool emulated_warps =
      info.warp_operations && !(native_warps && asked == ThreadModel::direct);
  if (emulated_warps || info.divergent_barriers || info.waits) return ThreadModel::regions;
  if (asked == ThreadModel::flat && (synchronises || info.shared_bytes || info.dynamic_shared))
    return ThreadModel::regions;
  return asked;
}

std::vector<PassRow> pass_rows() {
  std::vector<PassRow> rows;
  add_front_rows(rows);
  for (const Pass& pass : kPasses) rows.push_back({pass.phase, pass.name, pass.why});
  return rows;
}

namespace {

/// EntryInfo::local_accesses.
std::uint32_t local_accesses(const ir::Function& f) {
  std::uint32_t all = 0;
  bool dynamic = false;
  for (const ir::Block& block : f.blocks)
    for (const ir::Value v : block.insts) {
      const ir::Inst& inst = f.insts[v];
      if ((inst.op != Op::load && inst.op != Op::store) || inst.mem.space != ir::Space::local)
        continue;
      ++all;
      dynamic = dynamic || f.insts[f.arg(v, 0)].op != Op::constant;
    }
  return dynamic ? all : 0;
}

bool run_passes(const FrontEntry& front, const lower::Program& program,
                const TranslateOptions& options, spirv::Builder* builder,
                interpreter::Program* steps, EntryInfo& info, std::vector<Message>& messages,
                Growth& growth) {
  info = front.lowered.info;
  ir::Module module = front.lowered.module;
  PassContext c{.front = front,
                .program = program,
                .options = options,
                .profile = options.profile,
                .module = module,
                .function = module.functions[0],
                .info = info,
                .builder = builder,
                .steps = steps,
                .messages = messages,
                .growth = growth};
  const auto error = [&](const std::string& text, Span span = {}) {
    messages.push_back(lower::message_at(source_of(c), Severity::error, span, text));
    return false;
  };
  if (const std::string wrong = refuses_grid(options); !wrong.empty())
    return error("kernel '" + info.name + "': " + wrong);
  c.model = thread_model(info, options.threads,
                         native_warps(info, c.profile, options.block, options.checks));
  if (runs_grid(c)) c.model = ThreadModel::regions;
  if (for_interpreter(c)) c.model = ThreadModel::direct;
  info.threads = c.model;
  // What threads yield at is cut as warp operations are.
  if (info.waits) info.warp_operations = info.divergent_warp_operations = true;
  info.workgroup_threads =
      options.workgroup_threads ? options.workgroup_threads : c.profile.max_workgroup_invocations;
  info.threads_per_invocation = 1;
  if (const std::string refusal = passes::image_refusal(info, options); !refusal.empty())
    return error("kernel '" + info.name + "': " + refusal);

  c.optimize = options.optimize > 0;
  c.loops_cut_off = c.profile.max_loop_iterations != 0;
  const std::uint32_t* size = options.block;
  const std::uint32_t* grid = options.together;
  c.block = {.max_block_threads = threads_of_workgroup(options),
             .block = {size[0], size[1], size[2]},
             .together = {grid[0], grid[1], grid[2]},
             .idle_rounds = idle_rounds(c),
             .checked = options.checks & check_sync ? &info : nullptr};
  if (c.model == ThreadModel::direct) std::ranges::copy(options.block, c.function.block_size);
  if (options.timing)
    for (const auto& [name, milliseconds] : front.spent) options.timing(name, milliseconds);
  if (options.dump) options.dump(front.spent.back().first, ir::print(c.function, module));

  growth.limit(c.function);
  if (options.checks == no_checks) passes::forget_origins(c.function);
  run_phase(c, Phase::memory);
  run_threads(c);
  if (c.model == ThreadModel::regions) {
    info.shared_bytes = c.function.shared_bytes;
    info.local_bytes = c.function.local_bytes;
  }
  for (const Phase phase : {Phase::structure, Phase::values, Phase::legalise, Phase::workarounds})
    run_phase(c, phase);
  if (c.outgrown)
    return error("kernel '" + info.name + "': " + growth.refusal(),
                 program.function(front.function).span);
  if (!c.problem.empty()) return error("kernel '" + info.name + "': " + c.problem);
  info.guarded_loops = c.function.loop_guard.on;
  info.local_accesses = local_accesses(c.function);
  run_phase(c, Phase::emission);
  if (!c.problem.empty())
    return error("kernel '" + info.name + "': " + c.problem, program.function(front.function).span);
  if (!c.internal.empty()) return error(internal_error(info.name, c.internal));
  return true;
}

}  // namespace

bool translate_entry(const FrontEntry& front, const lower::Program& program,
                     const TranslateOptions& options, spirv::Builder& builder, EntryInfo& info,
                     std::vector<Message>& messages, Growth& growth) {
  return run_passes(front, program, options, &builder, nullptr, info, messages, growth);
}

bool assemble_entry(const FrontEntry& front, const lower::Program& program,
                    const TranslateOptions& options, interpreter::Program& steps, EntryInfo& info,
                    std::vector<Message>& messages, Growth& growth) {
  return run_passes(front, program, options, nullptr, &steps, info, messages, growth);
}

}  // namespace ptx2spv
