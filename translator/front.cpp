// What every translation of an entry starts from.
#include "translator/front.hpp"
#include "ptx2spv/debug_setting.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "translator/function_facts.hpp"
#include "translator/passes/analysis/uniformity.hpp"
#include "translator/passes/cfg/expand_recursion.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/sanitize/provenance.hpp"
#include "translator/passes/surface/lower_surfaces.hpp"
#include "translator/passes/texture/texture_records.hpp"
#include "translator/passes/threads/spin_loops.hpp"

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

/// What every translation of an entry shares: registers are variables, functions stand by
/// themselves.
struct FrontPass {
  std::string_view name;
  /// Message, empty when well.
  std::string (*run)(lower::Program& program, lower::FunctionRef entry, std::size_t inline_budget,
                     lower::LoweredEntry& lowered);
  std::string_view why;
};

constexpr FrontPass kFrontPasses[] = {
    {"expand-recursion",
     [](lower::Program& program, lower::FunctionRef entry, std::size_t,
        lower::LoweredEntry& lowered) -> std::string {
       const auto recursive = passes::recursive_functions(lowered.module);
       if (recursive.empty()) return {};
       lowered = lower::lower_entry(program, entry, recursive);
       return passes::expand_recursion(lowered.module, lowered.stack_at);
     },
     "recursive functions become one function with a stack in local memory, so that inlining ends"},
    {"inline-calls",
     [](lower::Program&, lower::FunctionRef, std::size_t inline_budget,
        lower::LoweredEntry& lowered) {
       return passes::inline_calls(lowered.module, inline_budget);
     },
     "once inlined, a handle passed through a function is known again; past the budget, calls "
     "share bodies"},
    {"yield-in-spin-loops",
     [](lower::Program&, lower::FunctionRef, std::size_t,
        lower::LoweredEntry& lowered) -> std::string {
       lowered.info.waits = passes::yield_in_spin_loops(lowered.module.functions[0]);
       lowered.info.waits_for_clock =
           lowered.info.reads_clock && passes::waits_for_clock(lowered.module.functions[0]);
       return {};
     },
     "a thread of a warp, or one of several that an invocation runs, lets the next one go on where "
     "it would wait; before atomics become loops of their own"},
};

}  // namespace

void add_front_rows(std::vector<PassRow>& rows) {
  for (const FrontPass& pass : kFrontPasses) rows.push_back({Phase::front, pass.name, pass.why});
}

FrontEntry prepare_entry(lower::Program& program, lower::FunctionRef entry,
                         std::size_t inline_budget) {
  FrontEntry front{.lowered = lower::lower_entry(program, entry), .function = entry};
  lower::LoweredEntry& lowered = front.lowered;
  if (!lowered.ok) return front;
  for (const ir::Function& function : lowered.module.functions) front.size += function.insts.size();
  std::string problem;
  for (const FrontPass& pass : kFrontPasses) {
    if (!problem.empty()) break;
    const auto start = std::chrono::steady_clock::now();
    problem = pass.run(program, entry, inline_budget, lowered);
    const std::chrono::duration<double, std::milli> spent =
        std::chrono::steady_clock::now() - start;
    front.spent.push_back({pass.name, spent.count()});
    const bool last = &pass == std::end(kFrontPasses) - 1;
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
  if (!has_op(function, Op::yield, Op::yield)) remove_progress(function);
  const bool waits_for_objects = yields_for(function, passes::kMbarrierYield);
  lowered.info.barriers = has_op(function, Op::bar_sync, Op::bar_sync);
  lowered.info.warp_operations =
      has_op(function, Op::warp_shfl, Op::warp_elect) || waits_for_objects;
  lowered.info.divergent_barriers =
      lowered.info.barriers &&
      (!barriers_are_plain(function) || passes::barriers_diverge(function, lowered.module));
  // Threads that wait look again one by one.
  lowered.info.divergent_warp_operations =
      lowered.info.warp_operations &&
      (waits_for_objects || passes::warp_operations_diverge(function, lowered.module));
  return front;
}

}  // namespace ptx2spv
