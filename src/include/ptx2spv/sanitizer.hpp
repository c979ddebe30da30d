// What the sanitizer found (docs/user/sanitizer.md).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ptx2spv/translator.hpp"

namespace ptx2spv {

enum class FindingKind : std::uint8_t {
  out_of_bounds,   ///< outside of every allocation, or of the one that the pointer is of
  null_pointer,    ///< an address below 4096
  freed_memory,    ///< in an allocation that was freed
  misaligned,      ///< the address is no multiple of the access's size
  constant_store,  ///< in memory that kernels may only read
  uninitialised,   ///< a byte was read that neither the host nor a kernel had written
  race,            ///< another thread did the same, and no barrier, atomic or launch lies between
  other_geometry,  ///< a surface instruction of one geometry on an array of another
  other_width,     ///< a surface access of more or fewer bytes than a texel has
  // Of synchronisation
  endless_wait,       ///< for threads that wait elsewhere or never come
  missed_barrier,     ///< other threads of the block did something and ended without reaching it
  divergent_barrier,  ///< `.aligned`, and other threads of the warp were at another one
  barrier_count,      ///< the barrier's number or count of threads is wrong
  missing_lanes,      ///< the member mask lacks the thread, or names lanes that are elsewhere
  undefined_lane,     ///< a shuffle reads a lane that is no member or is not there
  differing_members,  ///< another lane that the member mask names is there with another mask
};
const char* to_string(FindingKind kind);

/// A place in a kernel and what it did wrong, with one of the threads that did it.
struct Finding {
  FindingKind kind = FindingKind::out_of_bounds;
  std::string kernel, file;  ///< file: the PTX as it was named to the module
  std::uint32_t line = 0, column = 0;
  std::string instruction;
  std::string source_file;  ///< CUDA source by .loc, may be empty
  std::uint32_t source_line = 0;
  std::vector<SourcePlace> inlined_at;  ///< the nearest call first
  AccessKind access = AccessKind::load;
  MemorySpace space = MemorySpace::global;   ///< as the instruction names it
  MemorySpace memory = MemorySpace::global;  ///< that it reached
  std::uint32_t bytes = 0;  ///< 0: synchronisation, which has no memory, or a dead handle
  std::array<std::uint32_t, 3> cta{}, thread{};
  /// Of synchronisation: what was found, as a sentence without a stop. Of a dead handle: the
  /// handle, and why it is dead. Of another geometry or width: both of them.
  std::string detail;
  bool address_known = true;  ///< false: the thread had another fault since
  std::uint64_t address = 0;  ///< outside of global memory an offset in that memory
  /// Of surfaces and textures instead: "x", in bytes or as the format counts, and "y".
  std::vector<std::pair<std::string, std::int32_t>> coordinates;
  std::uint64_t threads = 0;  ///< that did this, over all launches
  /// The allocation or variable that the address is nearest to; empty where there is none.
  std::string object;
  std::uint64_t object_bytes = 0;
  std::int64_t distance = 0;  ///< bytes from its end, or before its start (negative); inside: from
                              ///< its start
  bool inside = false;
  /// Of a race: what the other thread did, and where. Of a divergent barrier where the warp's first
  /// thread was.
  struct Other {
    std::uint32_t line = 0, column = 0;
    std::string instruction, source_file;
    std::uint32_t source_line = 0;
    AccessKind access = AccessKind::load;
    std::uint32_t thread = 0;  ///< numbered through its block, x first
    std::array<std::uint32_t, 3> block{};
    bool block_known = false;  ///< else it is the same block, or one of a very large grid
    bool thread_known = true;  ///< false: one of several that read there
    bool known = false;
  } other;
  std::string pointer;      ///< the parameter that the address comes from, may be empty
  std::string made, freed;  ///< where the host allocated and freed it, a line for each call
  /// All of it, a fact a line. The first line has the form file:line:col: error: text.
  std::string to_string() const;
};

/// What has been found on a device.
struct SanitizerReport {
  std::vector<Finding> findings;      ///< distinct places, in the order in which they were found
  std::uint64_t places_left_out = 0;  ///< that were beyond the number which is kept
  std::uint64_t suppressed = 0;  ///< findings that a list covers, once for each launch and place
  /// One JSON object (docs/user/sanitizer.md).
  std::string to_json() const;
};

/// What is wrong with a list of suppressions, as file:line:column: error: text; empty: nothing.
std::string suppressions_problem(std::string_view text, std::string_view file);

}  // namespace ptx2spv
