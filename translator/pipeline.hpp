// The order of the passes, and what one translation of an entry needs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ptx2spv/translator.hpp"
#include "translator/backend/host/program.hpp"
#include "translator/backend/spirv/builder.hpp"
#include "translator/growth.hpp"
#include "translator/lower/lower.hpp"

namespace ptx2spv {

/// An entry after lowering and inlining: what every translation of it starts from.
struct FrontEntry {
  lower::LoweredEntry lowered;
  lower::FunctionRef function;
  std::vector<std::pair<std::string_view, double>> spent;  ///< passes and their milliseconds
  std::size_t size = 0;  ///< instructions, of the functions that it calls too
  /// Whether threads of a warp miss a warp operation that they cannot be brought by, in blocks
  /// whose rows are whole warps and in any.
  bool missed_in_rows = false, missed = false;
  std::vector<ir::Value> agreed;  ///< passes::loads_to_agree_on, where barriers are not native else
};

/// Lowers and inlines an entry, and finds its slots and what it needs of the device.
/// `inline_budget`: of PtxModule::parse.
FrontEntry prepare_entry(lower::Program& program, lower::FunctionRef entry,
                         std::size_t inline_budget);

/// What is said of a kernel whose thread takes more local memory than limits::kLocal.
std::string too_much_local(std::string_view kernel, std::uint32_t bytes);

enum class Phase : std::uint8_t {
  front,        ///< once an entry, whatever the device
  memory,       ///< surfaces, textures and atomics become accesses
  threads,      ///< who runs a block's threads, and where they end
  structure,    ///< SPIR-V's control flow, and registers as values within it
  values,       ///< what holds for every device
  legalise,     ///< what this device has
  workarounds,  ///< what this driver gets wrong or does slowly
  emission,
};

/// What a pass needs of the function.
enum class Form : std::uint8_t {
  variables,   ///< registers are variables, in any control flow
  structured,  ///< the same in structured control flow
  ssa,         ///< values with phis in structured control flow
};

/// A pass as its page lists it: its name for --dump-ir and the reason for its place.
struct PassRow {
  Phase phase;
  std::string_view name, why;
  Form needs;
  bool optional;  ///< --skip may leave it out
};
/// All passes, in the order in which they run.
std::vector<PassRow> pass_rows();

/// Whether the entry has products of matrices that stay the device's own, as cooperative matrices.
bool native_products(const FrontEntry& front, const TranslateOptions& options);

/// Runs the passes on a copy of `front` and adds the entry point to `builder`. False after an
/// error; a function that exceeds `growth` between two passes is one.
bool translate_entry(const FrontEntry& front, const lower::Program& program,
                     const TranslateOptions& options, spirv::Builder& builder, EntryInfo& info,
                     std::vector<Message>& messages, Growth& growth);
/// The same for the interpreter.
bool assemble_entry(const FrontEntry& front, const lower::Program& program,
                    const TranslateOptions& options, interpreter::Program& steps, EntryInfo& info,
                    std::vector<Message>& messages, Growth& growth);

}  // namespace ptx2spv
