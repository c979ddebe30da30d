#include "translator/pipeline.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "ptx2spv/debug_setting.hpp"
#include "ptx2spv/limits.hpp"
#include "translator/function_facts.hpp"
#include "translator/pass_table.hpp"
#include "translator/passes/analysis/uniformity.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/sanitize/provenance.hpp"
#include "translator/passes/sanitize/sanitize.hpp"
#include "translator/passes/surface/lower_surfaces.hpp"
#include "translator/passes/texture/texture_records.hpp"
#include "translator/passes/threads/agree_on_loads.hpp"
#include "translator/passes/threads/spin_loops.hpp"
#include "translator/passes/threads/warp_lanes.hpp"

namespace ptx2spv {

namespace {

using ir::Op;

/// Whether the IR is checked after every pass, which costs a quarter of the time: debug builds do,
/// and others when PTX2SPV_DEBUG=validate-ir=1 asks for it, as the tests do. It is checked before
/// the first pass and after the last one always, so that a fault of ours is an error and never a
/// module.
bool validates() {
#ifdef PTX2SPV_DEBUG_IR
  return true;
#else
  static const bool asked = [] {
    const std::string_view text = debug_setting("validate-ir");
    return !text.empty() && text != "0" && text != "no" && text != "off" && text != "false";
  }();
  return asked;
#endif
}

/// The message for a fault of ours.
std::string internal_error(std::string_view kernel, const std::string& text) {
  return "internal error in '" + std::string(kernel) + "': " + text +
         "; please report it with this file";
}

/// Where no thread yields, nobody asks for progress.
void remove_progress(ir::Function& function) {
  for (ir::Block& block : function.blocks)
    std::erase_if(block.insts, [&](ir::Value v) { return function.insts[v].op == Op::progress; });
}

Form form_of(const PassContext& c) {
  if (c.ssa) return Form::ssa;
  return c.structured ? Form::structured : Form::variables;
}

/// What is wrong with the names of passes to leave out.
std::string refuses_skip(std::string_view names) {
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find('+'));
    const auto rows = passes_in_order();
    const auto row = std::ranges::find(rows, name, &Pass::name);
    if (row == rows.end()) return "there is no pass '" + std::string(name) + "' to skip";
    if (row->use == Use::required)
      return "pass '" + std::string(name) + "' is required: nothing may skip it";
    names.remove_prefix(std::min(name.size() + 1, names.size()));
  }
  return {};
}

/// For the debug setting stop-after.
void stop_after(PassContext& c, std::string_view pass) {
  c.stopped = pass == debug_setting("stop-after");
  if (c.stopped) c.problem = "stopped after pass " + std::string(pass);
}

/// Runs the rows of a phase: checks what each needs, times each, hands the function to the dump by
/// the pass's name, and checks it. Stops at a fault of ours and at a function that has become too
/// large.
void run_phase(PassContext& c, Phase phase) {
  for (const Pass& pass : passes_in_order()) {
    if (pass.phase != phase || names_pass(c.skip, pass.name)) continue;
    if (c.stopped || c.outgrown || !c.internal.empty() || !pass.when(c)) continue;
    if (pass.needs != form_of(c)) {
      c.internal = "pass " + std::string(pass.name) + " needs another form of the function";
      return;
    }
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
    stop_after(c, pass.name);
  }
}

}  // namespace

FrontEntry prepare_entry(lower::Program& program, lower::FunctionRef entry,
                         std::size_t inline_budget) {
  FrontEntry front{.lowered = lower::lower_entry(program, entry), .function = entry};
  lower::LoweredEntry& lowered = front.lowered;
  if (!lowered.ok) return front;
  for (const ir::Function& function : lowered.module.functions) front.size += function.insts.size();
  FrontContext c{program, entry, inline_budget, lowered, {}};
  std::string& problem = c.problem;
  std::span<const Pass> rows = passes_in_order();
  rows = rows.first(std::ranges::count(rows, Phase::front, &Pass::phase));
  for (const Pass& pass : rows) {
    if (!problem.empty()) break;
    const auto start = std::chrono::steady_clock::now();
    pass.front(c);
    const std::chrono::duration<double, std::milli> spent =
        std::chrono::steady_clock::now() - start;
    front.spent.push_back({pass.name, spent.count()});
    const bool last = &pass == &rows.back();
    if (!problem.empty() || (!last && !validates())) continue;
    const std::string wrong =
        ir::validate(lowered.module.functions[0], lowered.module, false, false);
    if (!wrong.empty())
      problem =
          internal_error(lowered.info.name, "after pass " + std::string(pass.name) + ": " + wrong);
  }
  if (!problem.empty()) {
    const ptx::Module& module = program.module(entry.module);
    lowered.messages.push_back(
        lower::message_at(module, Severity::error, program.function(entry).span, problem));
    lowered.ok = false;
    return front;
  }
  lowered.module.functions.resize(1);
  front.size = std::max(front.size, lowered.module.functions[0].insts.size());
  ir::Function& function = lowered.module.functions[0];
  passes::find_slots(function, lowered.info);
  passes::find_texture_slots(function, lowered.module, lowered.info);
  passes::find_pointer_params(function, lowered.info);
  if (lowered.info.waits.spins) passes::find_waited_memory(function, lowered.info);
  if (!has_op(function, Op::yield, Op::yield)) remove_progress(function);
  const bool waits_for_objects = yields_for(function, passes::kMbarrierYield);
  lowered.info.sync.barriers = has_op(function, Op::bar_sync, Op::bar_sync);
  lowered.info.sync.warp_operations =
      has_op(function, Op::warp_shfl, Op::warp_elect) || waits_for_objects;
  const bool plain = barriers_are_plain(function);
  lowered.info.sync.divergent_barriers =
      lowered.info.sync.barriers && (!plain || passes::barriers_diverge(function, lowered.module));
  // A barrier more would keep threads apart that wait for each other.
  if (lowered.info.sync.divergent_barriers && plain && !lowered.info.waits.spins &&
      !waits_for_objects) {
    front.agreed = passes::loads_to_agree_on(function, lowered.module);
    lowered.info.sync.divergent_barriers = front.agreed.empty();
  }
  // Threads that wait look again one by one.
  lowered.info.sync.divergent_warp_operations =
      lowered.info.sync.warp_operations &&
      (waits_for_objects || !passes::divergent_warp_operations(function, lowered.module).empty());
  const auto misses = [&](bool in_rows) {
    if (lowered.info.waits.spins) return lowered.info.sync.divergent_warp_operations || !in_rows;
    return waits_for_objects ||
           passes::warp_operations_are_missed(function, lowered.module, in_rows);
  };
  front.missed_in_rows = lowered.info.sync.divergent_warp_operations && misses(true);
  // Rows are no whole warps in blocks of several alone.
  front.missed = lowered.info.sync.warp_operations && (!knows_rows(function) || misses(false));
  lowered.info.sync.partial_warp_operations =
      lowered.info.sync.warp_operations && !passes::warp::names_all_lanes(function);
  return front;
}

// Which threads reach its warp operations decides the translation, which may take
// ThreadModel::regions yet (serves_as_warps).
bool native_warps(const EntryInfo& info, const Profile& profile, const std::uint32_t (&block)[3],
                  std::uint32_t checks) {
  // Who waits for whom is known where the threads are cut up.
  if ((checks & check_sync) || !native_subgroups(profile)) return false;
  // Lanes that a warp operation leaves out could be what others wait for behind it.
  if (info.waits.spins &&
      (!profile.exactness.independent_threads || info.sync.partial_warp_operations))
    return false;
  if (!info.sync.warp_operations) return info.waits.spins;
  const std::uint64_t threads = std::uint64_t{block[0]} * block[1] * block[2];
  // Invocations that fill the last warp end at once, and so miss what others wait for.
  return threads != 0 &&
         (threads % 32 == 0 || (!info.sync.barriers && !info.waits.spins &&
                                threads <= profile.max_workgroup_invocations / 32 * 32));
}

ThreadModel thread_model(const EntryInfo& info, ThreadModel asked, bool native_warps) {
  const bool synchronises = info.sync.barriers || info.sync.warp_operations;
  const bool emulated_warps = (info.sync.warp_operations || info.waits.spins) &&
                              !(native_warps && asked == ThreadModel::direct);
  if (emulated_warps || info.sync.divergent_barriers) return ThreadModel::regions;
  if (asked == ThreadModel::flat && (synchronises || info.shared_bytes || info.dynamic_shared))
    return ThreadModel::regions;
  return asked;
}

std::string too_much_local(std::string_view kernel, std::uint32_t bytes) {
  return fmt::format("kernel '{}' needs {} bytes of local memory for a thread; CUDA gives {}",
                     kernel, bytes, limits::kLocal);
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

/// Whether the device's subgroups do all warp operations of the kernel's blocks.
bool serves_as_warps(const FrontEntry& front, const TranslateOptions& options) {
  const EntryInfo& info = front.lowered.info;
  if (!native_warps(info, options.profile, options.block, options.checks)) return false;
  if (!info.sync.warp_operations) return true;
  const std::uint32_t* block = options.block;
  const bool in_rows = block[0] % 32 == 0 || block[1] * block[2] == 1;
  return !(in_rows ? front.missed_in_rows : front.missed);
}

/// The model that the translation has. Barriers that agree_on_loads adds are none of the kernel's,
/// by which the sanitizer tells threads' accesses apart.
ThreadModel model_of(const FrontEntry& front, const TranslateOptions& options) {
  const ThreadModel model =
      thread_model(front.lowered.info, options.threads, serves_as_warps(front, options));
  const bool agrees = options.checks == no_checks && !options.shared_in_memory;
  return model == ThreadModel::direct && !front.agreed.empty() && !agrees ? ThreadModel::regions
                                                                          : model;
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
  if (options.local_in_memory && info.local_bytes > limits::kLocal)
    return error(too_much_local(info.name, info.local_bytes));
  c.model = model_of(front, options);
  if (runs_grid(c)) c.model = ThreadModel::regions;
  if (c.steps) c.model = ThreadModel::direct;
  info.threads = c.model;
  // What threads yield at is cut as warp operations are.
  if (info.waits.spins && (c.steps || c.model == ThreadModel::regions))
    info.sync.warp_operations = info.sync.divergent_warp_operations = true;
  info.workgroup_threads =
      options.workgroup_threads ? options.workgroup_threads : c.profile.max_workgroup_invocations;
  info.threads_per_invocation = 1;
  if (const std::string refusal = passes::image_refusal(info, options); !refusal.empty())
    return error("kernel '" + info.name + "': " + refusal);

  c.skip = debug_setting("skip");
  if (const std::string wrong = refuses_skip(c.skip); !wrong.empty()) return error(wrong);
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
  const std::string_view last = front.spent.back().first;
  if (options.dump) options.dump(last, ir::print(c.function, module));
  stop_after(c, last);

  growth.limit(c.function);
  if (options.checks == no_checks) passes::forget_origins(c.function);
  run_phase(c, Phase::memory);
  run_phase(c, Phase::threads);
  if (c.model == ThreadModel::regions) info.shared_bytes = c.function.shared_bytes;
  for (const Phase phase : {Phase::structure, Phase::values, Phase::legalise, Phase::workarounds})
    run_phase(c, phase);
  if (c.outgrown)
    return error("kernel '" + info.name + "': " + growth.refusal(),
                 program.function(front.function).span);
  if (!c.problem.empty()) return error("kernel '" + info.name + "': " + c.problem);
  info.local_bytes = c.function.local_bytes;
  info.guards_loops = c.guard.on;
  info.local_accesses = local_accesses(c.function);
  run_phase(c, Phase::emission);
  if (!c.problem.empty())
    return error("kernel '" + info.name + "': " + c.problem, program.function(front.function).span);
  if (!c.internal.empty()) return error(internal_error(info.name, c.internal));
  return true;
}

}  // namespace

bool native_products(const FrontEntry& front, const TranslateOptions& options) {
  const EntryInfo& info = front.lowered.info;
  if (!front.lowered.ok || info.waits.spins || options.together[0] != 0 ||
      model_of(front, options) != ThreadModel::direct)
    return false;
  const ir::Function& function = front.lowered.module.functions[0];
  return std::ranges::any_of(function.blocks, [&](const ir::Block& block) {
    return std::ranges::any_of(block.insts, [&](ir::Value v) {
      const ir::Inst& inst = function.insts[v];
      return inst.op == Op::warp_product &&
             passes::native_product(ir::WarpProduct::of(inst.imm), options.profile);
    });
  });
}

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
