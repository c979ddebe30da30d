// The kernel that runs instructions of a record, one thread a line.
#pragma once

#include <string>

#include "dev/replay/record.hpp"

namespace ptx2spv::tools {

/// How the kernel gets its surface.
enum class HandleSource : std::uint8_t {
  param,      ///< a u64 parameter
  surfref,    ///< a .surfref variable
  reference,  ///< a .surfref parameter
  memory,     ///< a handle that each thread loads
};

/// A thread's input in memory: three coordinates, which elements of a load stay unread, the handle,
/// four values of 8 bytes; and its output, four values.
struct LineInput {
  std::uint32_t coordinates[3] = {};
  std::uint32_t unread = 0;
  std::uint64_t handle = 0;
  std::uint64_t values[4] = {};
};
static_assert(sizeof(LineInput) == 56);
struct LineOutput {
  std::uint64_t values[4] = {};
};

inline constexpr const char* kReplayKernel = "replay";
inline constexpr const char* kReplaySurfref = "bound_surface";
/// The module of `records.kernels[kernel]`. Parameters: the surface (param and reference), input,
/// output, lines.
std::string replay_ptx(const Records& records, std::uint32_t kernel, HandleSource source);

}  // namespace ptx2spv::tools
