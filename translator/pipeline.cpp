#include "translator/pipeline.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "translator/lower/finish_traps.hpp"
#include "translator/lower/legalise_atomics.hpp"
#include "translator/lower/lower_surfaces.hpp"
#include "translator/lower/recursion.hpp"
#include "translator/lower/shared_memory.hpp"
#include "translator/lower/texture_records.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/uniformity.hpp"
#include "translator/spirv/emit.hpp"
#include "translator/spirv/library.hpp"

namespace ptx2spv {

namespace {

using ir::Op;

/// Whether the IR is checked after every pass, which costs a quarter of the time: debug builds do,
/// and others when PTX2SPV_VALIDATE_IR asks for it, as the tests do. It is checked before the first
/// pass and after the last one always, so that a fault of ours is an error and never a module.
bool validates() {
#ifdef PTX2SPV_DEBUG_IR
  return true;
#else
  static const bool asked = [] {
    const char* text = std::getenv("PTX2SPV_VALIDATE_IR");
    return text && *text && std::string_view(text) != "0";
  }();
  return asked;
#endif
}

/// Times a pass and hands the function to the dump, by the pass's name.
class Runner {
 public:
  Runner(const TranslateOptions& options, ir::Function& function, ir::Module& module)
      : options_(options), function_(function), module_(module) {}
  template <typename Pass>
  void operator()(std::string_view name, Pass&& pass) {
    const auto start = std::chrono::steady_clock::now();
    pass();
    if (options_.timing) {
      const std::chrono::duration<double, std::milli> spent =
          std::chrono::steady_clock::now() - start;
      options_.timing(name, spent.count());
    }
    if (options_.dump) options_.dump(name, ir::print(function_, module_));
    if (validates()) check(name);
  }
  void structured() { structured_ = true; }
  void ssa() { ssa_ = true; }
  const std::string& problem() const { return problem_; }

  void check(std::string_view name) {
    if (!problem_.empty()) return;
    const std::string wrong = ir::validate(function_, module_, ssa_, structured_);
    if (!wrong.empty()) problem_ = "after pass " + std::string(name) + ": " + wrong;
  }

 private:
  const TranslateOptions& options_;
  ir::Function& function_;
  ir::Module& module_;
  bool structured_ = false, ssa_ = false;
  std::string problem_;
};

std::string internal_error(std::string_view kernel, const std::string& text) {
  return "internal error in '" + std::string(kernel) + "': " + text +
         "; please report it with this file";
}

bool has_op(const ir::Function& function, Op first, Op last) {
  for (const ir::Block& block : function.blocks)
    for (const ir::Value v : block.insts)
      if (function.insts[v].op >= first && function.insts[v].op <= last) return true;
  return false;
}

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

/// A barrier that only some threads meet, or that does not wait, is no workgroup barrier.
bool barriers_are_plain(const ir::Function& function) {
  for (const ir::Block& block : function.blocks)
    for (const ir::Value v : block.insts) {
      const ir::Inst& inst = function.insts[v];
      if (inst.op == Op::bar_sync &&
          (inst.imm != static_cast<std::uint64_t>(ir::BarKind::sync) || inst.count > 1))
        return false;
    }
  return true;
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

}  // namespace

FrontEntry prepare_entry(lower::Program& program, lower::FunctionRef entry,
                         std::size_t inline_budget) {
  FrontEntry front{lower::lower_entry(program, entry)};
  lower::LoweredEntry& lowered = front.lowered;
  if (!lowered.ok) return front;
  std::string problem;
  if (const auto recursive = lower::recursive_functions(lowered.module); !recursive.empty()) {
    lowered = lower::lower_entry(program, entry, recursive);
    problem = lower::expand_recursion(lowered.module, lowered.stack_at);
  }
  if (problem.empty()) problem = passes::inline_calls(lowered.module, inline_budget);
  if (problem.empty()) {
    const std::string wrong =
        ir::validate(lowered.module.functions[0], lowered.module, false, false);
    if (!wrong.empty()) problem = internal_error(lowered.info.name, "after lowering: " + wrong);
  }
  if (!problem.empty()) {
    const ptx::Module& module = program.module(entry.module);
    lowered.messages.push_back(
        lower::message_at(module, Severity::error, program.function(entry).span, problem));
    lowered.ok = false;
    return front;
  }
  lowered.module.functions.resize(1);
  ir::Function& function = lowered.module.functions[0];
  lower::find_slots(function, lowered.info);
  lower::find_texture_slots(function, lowered.info);
  lowered.info.barriers = has_op(function, Op::bar_sync, Op::bar_sync);
  lowered.info.warp_operations = has_op(function, Op::warp_shfl, Op::warp_elect);
  lowered.info.divergent_barriers =
      lowered.info.barriers &&
      (!barriers_are_plain(function) || passes::barriers_diverge(function, lowered.module));
  return front;
}

bool translate_entry(const FrontEntry& front, const lower::Program& program,
                     const TranslateOptions& options, spirv::Builder& builder, EntryInfo& info,
                     std::vector<Message>& messages) {
  info = front.lowered.info;
  ir::Module module = front.lowered.module;
  ir::Function& function = module.functions[0];
  const Profile& profile = options.profile;

  ThreadModel model = options.threads;
  const bool synchronises = info.barriers || info.warp_operations;
  if (info.warp_operations || info.divergent_barriers) model = ThreadModel::regions;
  if (model == ThreadModel::flat && (synchronises || info.shared_bytes || info.dynamic_shared))
    model = ThreadModel::regions;
  info.threads = model;
  info.workgroup_threads =
      options.workgroup_threads ? options.workgroup_threads : profile.max_workgroup_invocations;
  info.threads_per_invocation = 1;

  if (const std::string refusal = lower::image_refusal(info, options); !refusal.empty()) {
    const ptx::Module& text =
        program.module(function.locs.size() > 1 ? function.locs[1].module : 0);
    messages.push_back(
        lower::message_at(text, Severity::error, {}, "kernel '" + info.name + "': " + refusal));
    return false;
  }

  if (model == ThreadModel::direct) std::ranges::copy(options.block, function.block_size);
  Runner run(options, function, module);
  if (info.uses_textures) {
    // The lowering, which every translation shares, reads it like a word of the launch.
    fix_push_word(function, abi::Push::texture_features, options.texture_features);
    lower::fix_texture_records(function, info, options.textures);
  }
  // Surfaces first: they are the last to need registers as variables and calls gone.
  if (!profile.independent_threads && options.wait_turns)
    run("bound-waits", [&] {
      const std::uint32_t most = profile.max_loop_turns ? profile.max_loop_turns - 4096 : ~0u;
      lower::bound_waits(function, info, std::min(options.wait_turns, most));
    });
  run("suppress-after-trap", [&] { lower::suppress_after_trap(function); });
  run("lower-surfaces", [&] { lower::lower_surfaces(function, module, options, info); });
  Profile atomics = profile;
  if (options.shared_in_memory)
    atomics.shared_atomics64 = atomics.shared_atomics64 && atomics.buffer_atomics64;
  run("legalise-atomics", [&] { lower::legalise_atomics(function, atomics); });
  if (options.shared_in_memory)
    run("move-shared-memory", [&] { lower::move_shared_memory(function); });
  const bool guard = profile.max_loop_turns != 0;
  const std::uint32_t* size = options.block;
  const std::uint32_t threads =
      size[0] ? size[0] * size[1] * size[2] : std::max<std::uint32_t>(options.max_block_threads, 1);
  passes::RegionOptions block{.max_block_threads = threads, .block = {size[0], size[1], size[2]}};
  if (model == ThreadModel::regions) {
    std::uint32_t workgroup = std::min(info.workgroup_threads, threads);
    info.threads_per_invocation = (threads + workgroup - 1) / workgroup;
    // No thread too many where that can be.
    if (size[0])
      workgroup = (threads + info.threads_per_invocation - 1) / info.threads_per_invocation;
    info.workgroup_threads = block.workgroup_threads = workgroup;
    for (std::uint32_t axis = 0; axis < 3 && size[0]; ++axis)
      fix_push_word(function, abi::Push::block_x + axis, size[axis]);
  }
  // Threads that would miss a barrier others wait at stay in their loops.
  const auto end_threads = [&](bool together) {
    if (guard && model != ThreadModel::regions)
      run("guard-loops", [&] { lower::guard_loops(function); });
    run("finish-traps", [&] { lower::finish_traps(function, together && info.barriers); });
    run("thread-model",
        [&] { lower::apply_thread_model(function, model, options.assume_small_grid); });
    run("demote-values", [&] { lower::demote_values(function); });
  };
  bool done = model != ThreadModel::regions;
  std::string problem;
  if (!done && info.barriers && !info.warp_operations) {
    const ir::Function before = function;
    const EntryInfo info_before = info;
    end_threads(true);
    passes::RegionOptions fewer = block;
    fewer.fewer = options.workgroup_threads == 0;
    run("coarsen", [&] { done = passes::coarsen(function, module, fewer).empty(); });
    if (done) {
      info.workgroup_threads = fewer.workgroup_threads;
      info.threads_per_invocation = function.region_threads;
    } else {
      function = before;
      info = info_before;
    }
  } else if (done) {
    end_threads(model == ThreadModel::direct);
  }
  if (!done) {
    end_threads(false);
    run("regions", [&] { problem = passes::regions(function, module, block); });
  }
  if (model == ThreadModel::regions) {
    info.shared_bytes = function.shared_bytes;
    info.local_bytes = function.local_bytes;
  }
  // Where invocations run several threads, it is their loops that are cut off.
  if (guard && model == ThreadModel::regions)
    run("guard-loops", [&] {
      if (lower::guard_loops(function)) lower::report_at_exits(function);
    });
  native_barriers(function);
  // From here on the control flow is SPIR-V's, and registers become values within it.
  function.loop_guard.first_number = static_cast<std::uint32_t>(info.trap_sites.size()) + 1;
  run("structurize", [&] {
    passes::structurize(function, module);
    run.structured();
  });
  for (const std::uint32_t loc : function.loop_guard.loops) {
    TrapSite site;
    site.line = function.locs[loc].line;
    site.source_line = function.locs[loc].source_line;
    site.message = "the driver ends the loops of a group of threads after " +
                   std::to_string(profile.max_loop_turns) + " turns in total";
    info.trap_sites.push_back(std::move(site));
    info.trap_site_locs.push_back(loc);
  }
  if (passes::too_many_ways(function) && problem.empty())
    problem = "more than 65535 branches leave one of its loops";
  run("ssa", [&] {
    passes::ssa(function, module);
    run.ssa();
  });
  if (options.optimize > 0) run("simplify", [&] { passes::simplify(function, module); });
  if (options.optimize > 0 && model == ThreadModel::direct)
    run("global-ids", [&] { passes::global_ids(function); });
  run("contract", [&] { passes::contract(function, module); });
  run("legalise-float",
      [&] { passes::legalise_float(function, module, {.profile = profile, .fp = options.fp}); });
  run("legalise-int64", [&] { passes::legalise_int64(function, module, profile); });
  if (options.optimize > 0) run("flatten", [&] { passes::flatten(function, module); });
  if (options.optimize > 0 && !profile.max_loop_turns)
    run("share-routines",
        [&] { passes::share_routines(function, module, routine_cost, options.routine_budget); });
  run("narrow-barriers", [&] { passes::narrow_barriers(function, module); });
  run("word-addresses", [&] { passes::word_addresses(function, module); });
  if (options.optimize > 0)
    run("simplify-last", [&] { passes::simplify(function, module, profile.int64); });

  if (guard && options.optimize > 0) {
    // What the driver counts is not known to the turn.
    const std::uint32_t most = profile.max_loop_turns - profile.max_loop_turns / 16;
    bool bounded = false;
    run("few-turns",
        [&] { bounded = passes::few_turns(function, most, options.assume_few_turns, info); });
    if (bounded)
      run("simplify-bounded", [&] { passes::simplify(function, module, profile.int64); });
  }
  // What guards have to notice is left alone.
  if (!profile.skipped_branches && options.optimize > 0 && !function.loop_guard.on)
    run("join-exits", [&] { passes::join_exits(function); });
  if (!profile.loads_outlive_loops || !profile.values_outlive_loops)
    run("keep-leaving",
        [&] { passes::keep_leaving_values(function, !profile.values_outlive_loops); });
  if (!profile.float_operands) run("hide-floats", [&] { passes::hide_floats(function); });
  if (!profile.zero_operands) run("hide-zeros", [&] { passes::hide_zeros(function, module); });
  if (!profile.selected_merges) run("hide-merges", [&] { passes::hide_merges(function); });
  if (!profile.quick_uniformity) run("cut-uniform", [&] { passes::cut_uniform(function); });
  if (!profile.loop_bools) run("carry-words", [&] { passes::carry_words(function); });
  if (!profile.long_lines && options.optimize > 0)
    run("cut-lines", [&] { passes::cut_lines(function, module, routine_cost); });

  const passes::ParamPlaces places = {.push_words = options.push_words,
                                      .dear_shifts = !profile.vector_shifts};
  run("place-params", [&] { passes::place_params(function, places, info); });

  const ptx::Module& source = program.module(front.lowered.module.functions[0].locs.size() > 1
                                                 ? front.lowered.module.functions[0].locs[1].module
                                                 : 0);
  const auto internal = [&](const std::string& text) {
    messages.push_back(
        lower::message_at(source, Severity::error, {}, internal_error(info.name, text)));
    return false;
  };
  if (!problem.empty()) {
    messages.push_back(
        lower::message_at(source, Severity::error, {}, "kernel '" + info.name + "': " + problem));
    return false;
  }
  run.check("place-params");
  if (!run.problem().empty()) return internal(run.problem());

  for (std::size_t i = 1; i < info.trap_sites.size(); ++i) {
    TrapSite& site = info.trap_sites[i];
    const std::uint32_t at = info.trap_site_locs[i];
    if (!at) continue;
    const ir::Loc& loc = function.locs[at];
    site.column = loc.column;
    site.text = program.module(loc.module).text({loc.begin, loc.length});
    lower::set_source(site, program.module(loc.module), loc.source_loc);
  }
  spirv::EmitOptions emit;
  emit.profile = profile;
  emit.slots = options.slots;
  emit.push_words = info.push_words;
  emit.differences = options.fp == FpPolicy::fast;
  emit.entry_name = info.name;
  emit.debug_info = options.debug_info;
  emit.source_name = source.source.name();
  emit.source_text = source.source.text();
  emit.float_controls = profile.declared_rounding && options.fp == FpPolicy::exact;
  std::optional<spirv::EmitError> failed;
  run("emit", [&] { failed = spirv::emit(module, function, emit, builder); });
  if (failed) return internal(failed->text);
  return true;
}

}  // namespace ptx2spv
