// What a module with checks and its host share (docs/reference/abi.md, docs/user/sanitizer.md).
#pragma once

#include <cstdint>

namespace ptx2spv::abi {

/// What a translation with Specialization::checks reads at EntryInfo::sanitizer.words of the
/// parameter buffer, in words. Addresses and sizes are two words.
enum SanitizerWord : std::uint32_t {
  z_log = 0,     ///< address of the fault log, kFaultWords for each site
  z_table = 2,   ///< address of the table of allocations
  z_shadow = 4,  ///< address of the shadow of shared memory: of workgroup 0 of the dispatch
  z_launch = 6,  ///< number of the launch in g_launch's place; 0: races in global memory are not
                 ///< looked at
  z_surfaces =
      8,  ///< address of kLevelWords for each record of the surface table; 0: not looked at
  z_surface_count = 10,  ///< how many these are; one word
  z_pointers = 12,       ///< kPointerWords for each of EntryInfo::sanitizer.pointer_params
};
/// First byte and size of its allocation, and the addresses of its shadow and of its race records,
/// or 0.
inline constexpr std::uint32_t kPointerWords = 8;
inline constexpr std::uint32_t kMostPointers = 64;
/// An entry of the table of allocations, which is sorted by address. Entry 0 begins at address 0
/// and has no bytes; entries past the last begin at the largest address.
enum AllocationWord : std::uint32_t {
  a_first = 0,     ///< address of the first byte
  a_bytes = 2,     ///< that may be read
  a_writable = 4,  ///< that may be written: as many, or 0
  a_shadow = 6,    ///< address of a bit for each byte, set where it was written; 0: all were
  a_races = 8,     ///< address of kRaceWords for each four bytes; 0: races are not looked at
};
inline constexpr std::uint32_t kAllocationWords = 10;
/// What is known of a surface, at its record's index.
enum LevelWord : std::uint32_t {
  lv_generation = 0,  ///< high word of the live handle; 0: there is none
  lv_row_bytes,
  lv_width,
  lv_rows,
  lv_slices,
  lv_row_pitch,
  lv_texel_bytes,
  lv_geometries,       ///< bit k: instructions of geometry k (1d, 2d, 3d, a1d, a2d) find it;
                       ///< kLayersAreSlice0
  lv_slice_pitch = 8,  ///< two words, as those below
  lv_bitmap = 10,      ///< address of the level's bits, one for each byte of its linear form, or 0
  lv_races = 12,       ///< address of kRaceWords for each four bytes of it, or 0
};
inline constexpr std::uint32_t kLevelWords = 16;
inline constexpr std::uint32_t kLayersAreSlice0 = 1u << 8;
/// The shadow of a workgroup's shared memory: a bit for each byte, set where it was written, in
/// whole words; then, for races, from a multiple of 16 on, kRaceWords for each granule. Its size is
/// a multiple of 16.
enum RaceWord : std::uint32_t {
  r_writer = 0,  ///< who wrote last: thread + 1 in bits 0 to 10, bit 11 an atomic, then the epoch
  r_write_mark,  ///< access site of that
  r_reader,      ///< the epoch's first reader: the same, bit 11: others read it too
  r_read_mark,
};
inline constexpr std::uint32_t kRaceWords = 4;
/// Races in global memory have the same four words. Who: thread + 1 in bits 0 to 10, the block's
/// number above. The mark:
enum GlobalRaceMark : std::uint32_t {
  g_site = 0x3ff,
  g_bytes = 0xfu << 10,   ///< which of the four
  g_epoch = 0xffu << 14,  ///< barriers that the thread has passed; all ones: so many or more
  g_flag = 1u << 22,      ///< of a writer: an atomic; of a reader: others read the same bytes
  g_tag = 0x1fu << 23,    ///< of the word before, to tell whether both are of one thread
  g_launch = 0xfu << 28,
};
inline constexpr std::uint32_t kGlobalBytesShift = 10, kGlobalEpochShift = 14, kGlobalTagShift = 23;
inline constexpr std::uint32_t kGlobalLaunchShift = 28, kGlobalLaunches = 15;
inline constexpr std::uint32_t kGlobalThreads = 0x7ff, kGlobalBlockShift = 11;
constexpr std::uint64_t shadow_init_bytes(std::uint64_t shared) { return (shared + 31) / 32 * 4; }
/// Bytes of a workgroup's shadow; `granule` 0: without races.
constexpr std::uint64_t shadow_bytes(std::uint64_t shared, std::uint64_t granule) {
  const std::uint64_t races =
      granule ? (shared + granule - 1) / granule * kRaceWords * 4 : std::uint64_t{0};
  return (shadow_init_bytes(shared) + 15) / 16 * 16 + (races + 15) / 16 * 16;
}
/// A site of the fault log, which the host zeroes. The first faulting thread writes all of it.
enum FaultWord : std::uint32_t {
  f_threads = 0,  ///< threads that faulted here
  f_known,        ///< 1: the address is this thread's last fault here
  f_address,      ///< two words; of a race in the high one the other access: its site, and in bits
                  ///< 16 to 26 its thread + 1; of synchronisation what SyncFault says
  f_ctaid = 4,
  f_tid = 7,
  f_other = 10,  ///< of a race in global memory: who made the other access
  f_other_mark,  ///< its site in bits 0 to 9, above bit 16 this site; else it is another race's
};
inline constexpr std::uint32_t kFaultWords = 16;

}  // namespace ptx2spv::abi
