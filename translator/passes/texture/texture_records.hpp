// Textures whose handles are known before the launch: parameters and module variables.
#pragma once

#include <optional>
#include <vector>

#include "ptx2spv/translator.hpp"
#include "translator/passes/ir.hpp"
#include "translator/passes/surface/surface_record.hpp"

namespace ptx2spv::passes {

/// Where in the table the record of a handle lies whose low word is `low`, in the form that
/// TextureLowering::open_record gives it: record 0, which is nobody's, unless `exists`.
Value record_place(Builder& builder, Value low, Value exists);
/// The index in the table of a record_place.
Value record_index(Builder& builder, Value record);
/// The parameter that holds the handle whose record_place `record` is.
std::optional<std::uint32_t> record_parameter(const HandleTracer& tracer, const Function& function,
                                              Value record);
/// Fills entry.textures.slots, uses, dynamic and table_uses. Before SSA, after
/// inlining.
void find_texture_slots(const Function& function, const Module& module, EntryInfo& entry);
/// Lets the slots that the host knows read their records' copies in the parameters, and what it
/// says of them be constants, so that a read keeps only what its texture needs. Before SSA.
void fix_texture_records(Function& function, const EntryInfo& entry,
                         const std::vector<TextureSpec>& specs);

/// Makes loads of every Op::texel_load, after fix_texture_records, which fixes sizes. Before SSA.
void lower_texel_loads(Function& function, Module& module);

}  // namespace ptx2spv::passes
