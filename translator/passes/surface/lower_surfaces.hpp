// Surface instructions to plain IR: record look-up, bounds, faults, address, memory or image
// access.
#pragma once

#include <string>

#include "ptx2spv/translator.hpp"
#include "translator/ir/trap_state.hpp"
#include "translator/passes/ir.hpp"

namespace ptx2spv::passes {

/// The slots of a function and what reaches each, from its surf_* operations; fills entry.slots and
/// entry.dynamic_handles.
void find_slots(const Function& function, EntryInfo& entry);

/// For the sanitizer: the site of a surface access. `surface`: its name, empty where the handle
/// comes from memory.
AccessSite surface_site(const Function& function, Value value, std::uint32_t check,
                        std::string surface);

/// Why a slot's image cannot serve an access that the kernel makes, or empty. Loads always work;
/// stores take whole texels or bytes of 4-byte ones, reductions 4 bytes on 4-byte texels.
std::string image_refusal(const EntryInfo& entry, const TranslateOptions& options);

/// Replaces every surf_* operation. Needs inlined calls and variables; the trap sites it makes are
/// appended to `entry.trap_sites` (line, coordinates and slot name; the text is the caller's).
/// `after` is the one that lower_traps gets.
/// Behaviour: docs/reference/hardware.md, derived from the records in tests/data/hardware.
void lower_surfaces(Function& function, Module& module, const TranslateOptions& options,
                    EntryInfo& entry, AfterFault after);

}  // namespace ptx2spv::passes
