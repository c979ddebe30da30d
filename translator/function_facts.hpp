// What the pipeline asks of a function before it chooses passes.
#pragma once

#include <cstdint>

#include "ptx2spv/profile.hpp"
#include "translator/ir/ir.hpp"

namespace ptx2spv {

/// Whether the function has one of the operations from `first` to `last` of ops.def.
bool has_op(const ir::Function& function, ir::Op first, ir::Op last);
/// A barrier that only some threads meet, or that does not wait, is no workgroup barrier.
bool barriers_are_plain(const ir::Function& function);
/// Whether threads yield for a reason: kMbarrierYield or kSpinYield.
bool yields_for(const ir::Function& function, std::uint64_t reason);
/// The bindings of set 0 that the function reaches, by bits.
std::uint32_t bindings(const ir::Function& function, const Profile& profile);

}  // namespace ptx2spv
