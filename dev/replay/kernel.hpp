// The kernel that runs an instruction of a record, one thread a line.
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

/// A thread's input in memory: four coordinates, the handle, four values of 8 bytes; and its
/// output, four values.
struct LineInput {
  std::uint32_t coordinates[4] = {};
  std::uint64_t handle = 0;
  std::uint64_t values[4] = {};
};
static_assert(sizeof(LineInput) == 56);
struct LineOutput {
  std::uint64_t values[4] = {};
};

inline constexpr const char* kReplayKernel = "replay";
inline constexpr const char* kReplaySurfref = "bound_surface";
/// Parameters: the surface (param and reference), input, output, lines.
std::string replay_ptx(const RecordInstruction& instruction, HandleSource source);

}  // namespace ptx2spv::tools
