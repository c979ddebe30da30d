// Atomic operations that a device lacks: 64-bit ones under a try-lock or as two 32-bit ones,
// floating-point additions, inc, dec and 16-bit compare-and-swap as compare-and-swap loops.
#pragma once

#include "ptx2spv/profile.hpp"
#include "translator/passes/ir.hpp"

namespace ptx2spv::passes {

/// Runs on variables, before structuring. Afterwards every atomic is one that `profile` has.
/// `host`: the host back end runs the function, whose handlers have all but those on halves.
void legalise_atomics(Function& function, const Profile& profile, bool host = false);

}  // namespace ptx2spv::passes
