// What the process may take of the machine's memory.
#pragma once

#include <cstdint>

namespace ptx2spv::runtime {

/// Bytes of the machine, or of the least limit of the process's control groups (either version) and
/// its address space.
std::uint64_t host_memory();

}  // namespace ptx2spv::runtime
