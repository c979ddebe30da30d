// What every translation of an entry starts from.
#include "translator/front.hpp"
#include "ptx2spv/debug_setting.hpp"

#include <algorithm>
#include <chrono>

#include "translator/function_facts.hpp"
#include "translator/pass_table.hpp"
#include "translator/passes/analysis/uniformity.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/sanitize/provenance.hpp"
#include "translator/passes/surface/lower_surfaces.hpp"
#include "translator/passes/texture/texture_records.hpp"
#include "translator/passes/threads/spin_loops.hpp"
#include "translator/passes/threads/warp_lanes.hpp"

namespace ptx2spv {

using ir::Op;

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

std::string internal_error(std::string_view kernel, const std::string& text) {
  return "internal error in '" + std::string(kernel) + "': " + text +
         "; please report it with this file";
}

namespace {

/// Where no thread yields, nobody asks for progress.
void remove_progress(ir::Function& function) {
  for (ir::Block& block : function.blocks)
    std::erase_if(block.insts, [&](ir::Value v) { return function.insts[v].op == Op::progress; });
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
  lowered.info.sync.divergent_barriers =
      lowered.info.sync.barriers &&
      (!barriers_are_plain(function) || passes::barriers_diverge(function, lowered.module));
  // Threads that wait look again one by one.
  lowered.info.sync.divergent_warp_operations =
      lowered.info.sync.warp_operations &&
      (waits_for_objects || !passes::divergent_warp_operations(function, lowered.module).empty());
  lowered.info.sync.partial_warp_operations =
      lowered.info.sync.warp_operations && !passes::warp::names_all_lanes(function);
  return front;
}

}  // namespace ptx2spv
