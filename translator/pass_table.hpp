// The table of passes: every pass of a translation in the order in which they run, what it needs,
// when and how it runs, and why it has its place.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "translator/passes/fault_log.hpp"
#include "translator/passes/loop_guard.hpp"
#include "translator/passes/passes.hpp"
#include "translator/pipeline.hpp"

namespace ptx2spv {

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
  passes::BlockOptions block{};
  passes::LoopGuard guard{};
  passes::FaultLog faults{};
  bool optimize = false;
  bool loops_cut_off = false;  ///< the driver ends loops silently
  bool structured = false, ssa = false;
  std::string_view skip;  ///< names of passes that are left out, with + between
  bool stopped = false;   ///< after the pass that the debug setting stop-after names
  bool outgrown = false;  ///< the function has become too large
  std::string problem;    ///< what cannot be translated
  std::string internal;   ///< what must not happen
};

/// What the passes of Phase::front share.
struct FrontContext {
  lower::Program& program;
  lower::FunctionRef entry;
  std::size_t inline_budget;
  lower::LoweredEntry& lowered;
  std::string problem;  ///< what cannot be translated
};

/// Whether a module is right without the pass too: it only optimises, or mends a driver's fault.
enum class Use : std::uint8_t { required, optional };

struct Pass {
  Phase phase;
  std::string_view name;
  Form needs;
  Use use;
  bool (*when)(const PassContext& c);
  void (*run)(PassContext& c);
  std::string_view why;
  void (*front)(FrontContext& c) = nullptr;  ///< Phase::front: instead of `when` and `run`
};

/// All passes.
std::span<const Pass> passes_in_order();

/// Whether the pass is one of the names in `names`, with + between them.
bool names_pass(std::string_view names, std::string_view pass);

// What the rows ask.
bool native_subgroups(const Profile& profile);  ///< subgroups of 32 can be had that are warps
bool runs_grid(const PassContext& c);           ///< a workgroup runs all blocks of the grid
bool meets_for_products(const PassContext& c);  ///< split-at-barriers multiplies matrices
std::uint32_t idle_rounds(const PassContext& c);
std::uint32_t routine_budget(const PassContext& c);
std::uint32_t routine_cost(std::string_view name);
const ptx::Module& source_of(const PassContext& c);  ///< the module that the entry's text is in

/// Checks the function by the IR's rules.
void check(PassContext& c, std::string_view name);

/// Rows that are more than one call (pass_steps.cpp).
namespace steps {
void fix_block_size(PassContext& c);
void expand_texture_reads(PassContext& c);
void split_threads(PassContext& c);
void structurize(PassContext& c);
void assemble(PassContext& c);
void emit(PassContext& c);
}  // namespace steps

}  // namespace ptx2spv
