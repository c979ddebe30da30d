// The checks that a kernel may be translated with (docs/user/sanitizer.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ptx2spv {

/// A set of checks, one bit each.
enum Check : std::uint32_t {
  no_checks = 0,
#define PTX2SPV_CHECK(name, bit, in_all, help) check_##name = 1u << (bit),
#include "ptx2spv/sanitize.def"
};

/// What `all` stands for.
inline constexpr std::uint32_t kAllChecks = 0
#define PTX2SPV_CHECK(name, bit, in_all, help) | ((in_all) ? 1u << (bit) : 0u)
#include "ptx2spv/sanitize.def"
    ;

/// Those that change a kernel's translation.
inline constexpr std::uint32_t kKernelChecks =
    check_memory | check_init | check_race | check_clamp | check_sync | check_width;

struct CheckRow {
  std::string_view name;
  std::uint32_t bit = 0;
  bool in_all = false;
  std::string_view help;
};
const std::vector<CheckRow>& check_rows();

/// The checks that `text` names, separated by commas; "all" is kAllChecks, "none" and an empty text
/// are no check. Nothing where a name is none of them; `unknown` is then that name.
std::optional<std::uint32_t> parse_checks(std::string_view text, std::string& unknown);
/// "there is no check 'NAME'; there are all, ...", for messages.
std::string unknown_check(std::string_view name);

/// A variable of PTX that a kernel can address, in one of its memories.
enum class MemorySpace : std::uint8_t {
  generic,
  global,
  shared,
  local,
  constant,
  param,
  surface,
  texture
};
const char* to_string(MemorySpace space);
struct MemoryObject {
  std::string name;
  MemorySpace space = MemorySpace::global;
  std::uint64_t offset = 0;  ///< from the start of that memory
  std::uint64_t bytes = 0;   ///< 0: its size is the launch's (dynamic shared memory)
};

/// What an instrumented access does. The last three are synchronisation: a wait is one for another
/// thread's store or for an mbarrier object.
enum class AccessKind : std::uint8_t { load, store, atomic, barrier, warp_operation, wait };
const char* to_string(AccessKind kind);

/// What may be wrong with synchronisation. A module gives two words with each.
enum class SyncFault : std::uint8_t {
  endless_wait,       ///< threads that have arrived, and threads that are waited for
  missed_barrier,     ///< threads that have arrived, and threads that had ended before
  divergent_barrier,  ///< synchronisation point and number in the block of the warp's first thread
  barrier_count,      ///< CountFault, and the number or count
  missing_lanes,      ///< the mask, and its lanes that are not there; 0: the thread's own lane
  undefined_lane,     ///< the lanes that are there, and the lane that is read
  other_members,      ///< the mask, and that of another lane which it names
};
inline constexpr std::uint32_t kSyncFaults = 7;
enum class CountFault : std::uint32_t {
  number,         ///< of the barrier: above 15
  no_multiple,    ///< of 32
  above_block,    ///< more threads than the block has
  arrive_zero,    ///< `arrive` for no threads
  other_threads,  ///< other threads named another count for the same barrier
};

}  // namespace ptx2spv
