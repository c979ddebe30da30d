// What the pipeline asks of a function and of its options before it chooses passes.
#pragma once

#include <cstdint>
#include <string>

#include "ptx2spv/translator.hpp"
#include "translator/ir/ir.hpp"

namespace ptx2spv {

/// Whether the function has one of the operations from `first` to `last` of ops.def.
bool has_op(const ir::Function& function, ir::Op first, ir::Op last);
/// Whether the function reads %tid.y or %tid.z.
bool knows_rows(const ir::Function& function);
/// A barrier that only some threads meet, or that does not wait, is no workgroup barrier.
bool barriers_are_plain(const ir::Function& function);
/// Whether threads yield for a reason: kMbarrierYield or kSpinYield.
bool yields_for(const ir::Function& function, std::uint64_t reason);
/// The bindings of set 0 that the function reaches, by bits.
std::uint32_t bindings(const ir::Function& function, const Profile& profile);

/// The threads of all blocks that a workgroup runs. In a grid each block has whole warps.
std::uint32_t threads_of_workgroup(const TranslateOptions& options);
/// Why a workgroup cannot run all blocks of a grid, empty where it can or need not.
std::string refuses_grid(const TranslateOptions& options);

}  // namespace ptx2spv
