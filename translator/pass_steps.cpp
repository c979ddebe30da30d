// Steps of the table of passes that are more than a call: what they share with other passes of the
// same translation, and the two back ends.
#include <algorithm>

#include <fmt/format.h>

#include "translator/backend/host/assemble.hpp"
#include "translator/backend/spirv/emit.hpp"
#include "translator/backend/spirv/library.hpp"
#include "translator/function_facts.hpp"
#include "translator/lower/program.hpp"
#include "translator/pass_table.hpp"
#include "translator/passes/legalise/move_shared_memory.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/texture/expand_texture_reads.hpp"

namespace ptx2spv {

using ir::Op;

namespace {

/// What the module of `kernel` holds of the PTX file of that number. All kernels of a translation
/// share the whole text. A module of one kernel among several (`alone`) has the lines around that
/// kernel's where the text is longer than the kernel pays for, so that the modules of a file come
/// to a bounded size.
spirv::PtxSource debug_source(const lower::Program& program, std::uint32_t module,
                              const ir::Function& kernel, bool alone) {
  constexpr std::size_t kFree = 32768, kOfPlace = 256;
  const SourceFile& source = program.module(module).source;
  if (!alone || program.interface().entries.size() == 1)
    return {source.name(), std::string(source.text())};
  std::vector<std::uint32_t> lines;
  for (const ir::Loc& loc : kernel.locs)
    if (loc.line != 0 && loc.module == module) lines.push_back(loc.line);
  const std::size_t most = kFree + kOfPlace * kernel.locs.size();
  return {source.name(), source.excerpt(std::move(lines), most)};
}

}  // namespace

std::uint32_t routine_cost(std::string_view name) { return spirv::Library::embedded().cost(name); }

bool native_subgroups(const Profile& profile) {
  return profile.features.subgroup_ops && profile.exactness.native_warps;
}

bool runs_grid(const PassContext& c) { return c.options.together[0] != 0; }

void steps::fix_block_size(PassContext& c) {
  const std::uint32_t* size = c.options.block;
  const std::uint32_t threads = c.block.max_block_threads;
  std::uint32_t workgroup = std::min(c.info.workgroup_threads, threads);
  c.info.threads_per_invocation = (threads + workgroup - 1) / workgroup;
  // No thread too many where that can be.
  if (size[0])
    workgroup = (threads + c.info.threads_per_invocation - 1) / c.info.threads_per_invocation;
  c.info.workgroup_threads = c.block.workgroup_threads = workgroup;
  for (std::uint32_t axis = 0; axis < 3 && size[0]; ++axis)
    passes::fix_push_word(c.function, abi::Push::block_x + axis, size[axis]);
  for (std::uint32_t axis = 0; axis < 3 && runs_grid(c); ++axis)
    passes::fix_push_word(c.function, abi::Push::grid_x + axis, c.options.together[axis]);
}

namespace {

/// The workgroup with whole warps where the threads of a block are cut up by warps that are the
/// device's subgroups, otherwise 0.
std::uint32_t workgroup_of_warps(const PassContext& c) {
  if (!c.info.sync.warp_operations || c.model != ThreadModel::regions ||
      !native_subgroups(c.profile) || c.info.threads_per_invocation != 1 ||
      has_op(c.function, Op::yield, Op::yield))
    return 0;
  const std::uint32_t most = c.options.workgroup_threads ? c.options.workgroup_threads
                                                         : c.profile.max_workgroup_invocations;
  const std::uint32_t whole = (c.block.workgroup_threads + 31) & ~31u;
  return whole <= most ? whole : 0;
}

}  // namespace

/// Where threads exchange by shared memory, and their factors take half of it at most.
bool meets_for_products(const PassContext& c) {
  if (c.model != ThreadModel::regions || (!c.block.checked && workgroup_of_warps(c))) return false;
  std::uint64_t words = 0;
  for (const ir::Block& block : c.function.blocks)
    for (const ir::Value v : block.insts)
      if (const ir::Inst& inst = c.function.insts[v]; inst.op == ir::Op::warp_product)
        words = std::max<std::uint64_t>(words, ir::WarpProduct::of(inst.imm).factor_words());
  return words * 4 * c.block.max_block_threads <= c.profile.max_shared_bytes / 2;
}

void steps::split_threads(PassContext& c) {
  const std::uint32_t whole = c.block.checked ? 0 : workgroup_of_warps(c);
  if (whole) {
    c.block.warps = c.info.sync.warp_subgroups = true;
    c.block.workgroup_threads = c.info.workgroup_threads = whole;
  }
  c.block.faults = c.faults;
  c.problem = passes::split_at_barriers(c.function, c.module, c.block);
  if (!runs_grid(c) || c.function.shared_bytes <= c.profile.max_shared_bytes) return;
  c.info.sync.control_bytes = c.function.shared_bytes;
  const EntryInfo& front = c.front.lowered.info;
  const std::uint32_t* grid = c.options.together;
  passes::move_shared_memory(c.function, {.blocks = grid[0] * grid[1] * grid[2],
                                          .static_bytes = front.shared_bytes,
                                          .dynamic = front.dynamic_shared});
}

void steps::structurize(PassContext& c) {
  c.guard.first_number = static_cast<std::uint32_t>(c.info.trap_sites.size()) + 1;
  passes::structurize(c.function, c.module, &c.guard);
  c.structured = true;
  for (const std::uint32_t loc : c.guard.loops) {
    TrapSite site;
    site.line = c.function.locs[loc].line;
    site.source_line = c.function.locs[loc].source_line;
    site.message =
        fmt::format("the driver ends the loops of a group of threads after {} iterations in total",
                    c.profile.max_loop_iterations);
    c.info.trap_sites.push_back(std::move(site));
    c.info.trap_site_locs.push_back(loc);
  }
  if (passes::too_many_exits(c.function) && c.problem.empty())
    c.problem = "more than 65535 branches leave one of its loops";
}

const ptx::Module& source_of(const PassContext& c) {
  const auto& locs = c.front.lowered.module.functions[0].locs;
  return c.program.module(locs.size() > 1 ? locs[1].module : 0);
}

void check(PassContext& c, std::string_view name) {
  const std::string wrong = ir::validate(c.function, c.module, c.ssa, c.structured);
  if (!wrong.empty()) c.internal = "after pass " + std::string(name) + ": " + wrong;
}

namespace {

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
  for (AccessSite& site : c.info.sanitizer.sites) complete(site.place, site.loc);
  c.info.bindings = bindings(c.function, c.profile);
}

}  // namespace

void steps::assemble(PassContext& c) {
  check(c, "assemble");
  if (!c.internal.empty()) return;
  describe(c);
  auto steps = interpreter::assemble(c.function, c.module, c.problem);
  if (steps) *c.steps = std::move(*steps);
}

void steps::emit(PassContext& c) {
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

namespace {

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

}  // namespace

/// A round of a block costs what thousands of iterations of one thread do. A loop may wait for
/// another block as long as that takes, where blocks advance independently.
std::uint32_t idle_rounds(const PassContext& c) {
  if (c.info.waits.spins && c.profile.exactness.independent_threads) return 0;
  const std::uint32_t iterations = c.options.wait_iterations;
  return iterations ? std::max(iterations / 4096, 1u) : 0;
}

std::uint32_t routine_budget(const PassContext& c) {
  return c.options.routine_budget.value_or(c.profile.routine_budget);
}

void steps::expand_texture_reads(PassContext& c) {
  const auto fix_features = [&](ir::Function& f) {
    // The lowering, which every translation shares, reads it like a word of the launch.
    passes::fix_push_word(f, abi::Push::texture_features, c.options.texture_features);
  };
  const passes::ReadOptions reads{
      .budget = routine_budget(c),
      .few_iterations = c.loops_cut_off,
      .fused_fma = c.profile.exactness.fused_fma32,
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

}  // namespace ptx2spv
