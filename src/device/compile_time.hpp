// How long a driver takes to compile a module.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/device/device.hpp"

namespace ptx2spv::runtime {

/// Microseconds that the driver's compiler is expected to take for a module of so many bytes and
/// accesses to local memory (EntryInfo::local_accesses), by what was measured (interpreter.md); 0
/// where the driver is not known for long compilations.
/// `cut`: an invocation runs several threads from barrier to barrier, or from one warp operation to
/// the next, and keeps their registers in between.
std::uint64_t compile_microseconds(const PhysicalTraits& traits, std::size_t code_bytes,
                                   std::uint32_t local_accesses, bool cut);

/// Whether kernels with barriers or warp operations take longer as the driver's code than in the
/// interpreter (docs/develop/interpreter.md).
bool meets_slowly(const PhysicalTraits& traits, bool barriers, bool warp_operations);

}  // namespace ptx2spv::runtime
