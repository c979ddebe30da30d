// What a module with checks and its host share (docs/abi.md, docs/sanitizer.md).
#pragma once

#include <cstdint>

namespace ptx2spv::abi {

/// What a translation with Specialization::checks reads at EntryInfo::sanitizer_words of the
/// parameter buffer, in words. Addresses and sizes are two words.
enum SanitizerWord : std::uint32_t {
  z_log = 0,       ///< address of the fault log, kFaultWords for each site
  z_table = 2,     ///< address of the table of allocations
  z_shadow = 4,    ///< address of the shadow of shared memory: of workgroup 0 of the dispatch
  z_pointers = 6,  ///< kPointerWords for each of EntryInfo::pointer_params
};
/// First byte and size of its allocation, and the address of its shadow or 0.
inline constexpr std::uint32_t kPointerWords = 6;
inline constexpr std::uint32_t kMostPointers = 64;
/// An entry of the table of allocations, which is sorted by address. Entry 0 begins at address 0
/// and has no bytes; entries past the last begin at the largest address.
enum AllocationWord : std::uint32_t {
  a_first = 0,     ///< address of the first byte
  a_bytes = 2,     ///< that may be read
  a_writable = 4,  ///< that may be written: as many, or 0
  a_shadow = 6,    ///< address of a bit for each byte, set where it was written; 0: all were
};
inline constexpr std::uint32_t kAllocationWords = 8;
/// The shadow of a workgroup's shared memory: a bit for each byte, set where it was written, in
/// whole words; then, for races, kRaceWords for each granule. Its size is a multiple of 16.
enum RaceWord : std::uint32_t {
  r_writer = 0,  ///< who wrote last: thread + 1 in bits 0 to 10, bit 11 an atomic, then the epoch
  r_write_site,  ///< access site of that
  r_reader,      ///< who read last: the same, bit 11: others before it in the same epoch
  r_read_site,
};
inline constexpr std::uint32_t kRaceWords = 4;
constexpr std::uint64_t shadow_init_bytes(std::uint64_t shared) { return (shared + 31) / 32 * 4; }
/// Bytes of a workgroup's shadow; `granule` 0: without races.
constexpr std::uint64_t shadow_bytes(std::uint64_t shared, std::uint64_t granule) {
  const std::uint64_t races =
      granule ? (shared + granule - 1) / granule * kRaceWords * 4 : std::uint64_t{0};
  return (shadow_init_bytes(shared) + races + 15) / 16 * 16;
}
/// A site of the fault log, which the host zeroes. The first faulting thread writes all of it.
enum FaultWord : std::uint32_t {
  f_threads = 0,  ///< threads that faulted here
  f_known,        ///< 1: the address is this thread's last fault here
  f_address,      ///< two words; of a race in the high one the other access: its site, and in bits
                  ///< 16 to 26 its thread + 1; of synchronisation what SyncFault says
  f_ctaid = 4,
  f_tid = 7,
};
inline constexpr std::uint32_t kFaultWords = 16;

}  // namespace ptx2spv::abi
