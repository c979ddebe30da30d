// Emits IR functions as entry points of a SPIR-V module.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ptx2spv/profile.hpp"
#include "ptx2spv/translator.hpp"
#include "translator/backend/spirv/builder.hpp"
#include "translator/ir/ir.hpp"

namespace ptx2spv::spirv {

/// A PTX file as debuggers see it.
struct PtxSource {
  std::string name, text;  ///< no text: the file is named only
};

struct EmitOptions {
  Profile profile;
  std::span<const SlotSpec> slots;  ///< by slot number; missing ones are buffers
  std::uint32_t push_words = abi::kPushWords;
  std::string_view entry_name;  ///< empty: the function's name
  bool debug_info = false;      ///< names, source text and a line for every instruction
  /// The PTX file of that number (ir::Loc::module), for debug_info. Asked once for each file that a
  /// Builder's functions have places in.
  std::function<PtxSource(std::uint32_t module)> ptx_source;
  /// The name of the CUDA source that a place with a source_line is in; debug_info then gives its
  /// lines and not the PTX file's. May be empty.
  std::function<std::string(const ir::Loc&)> cuda_source;
  bool differences = false;     ///< a sum with a negated term may be a difference (of NaN, the sign
                                ///< is another)
  bool float_controls = false;  ///< declare what float results depend on, where the device can
};

/// An emission that cannot be done is an error of the translator, not of its input.
struct EmitError {
  std::string text;
  std::uint32_t loc = 0;  ///< index into Function::locs
};

/// Adds `function` to the module as an entry point. Needs: variables gone (ssa), blocks ordered
/// with merge information (structurize), legal operations for the profile (legalise_*). After an
/// error the builder's contents are of no use.
std::optional<EmitError> emit(const ir::Module& module, const ir::Function& function,
                              const EmitOptions& options, Builder& builder);

}  // namespace ptx2spv::spirv
