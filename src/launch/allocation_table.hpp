// What kernels with checks look addresses and surfaces up in: the device's allocations and
// surfaces, with the shadows and race records of each.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "src/memory/allocations.hpp"
#include "src/module/module.hpp"

namespace ptx2spv::runtime {

/// The allocations of a device at one time, in its memory.
struct AllocationTable {
  std::shared_ptr<const AllocationList> list;
  Memory memory;
  std::uint32_t steps = 0;
  Memory texels;  ///< kLevelWords for each record of the surface table; empty: not asked for
  std::uint32_t texel_count = 0;
  std::uint64_t surface_changes = 0;
  Memory races;  ///< records of races in global memory and of surfaces; empty: not looked at
  std::vector<std::uint64_t> race_records;         ///< by live allocation: their address, 0: none
  std::uint64_t without_records = 0;               ///< bytes that there was no room for
  mutable std::atomic<std::uint32_t> launches{0};  ///< that have had the records
};

/// Two words, as addresses and sizes take.
void put_words(std::byte* at, std::uint32_t word, std::uint64_t value);

/// The table as it is now: an earlier one where nothing has changed. `races`: with race records
/// that this launch may use; `texels`: with the device's surfaces.
Result<std::shared_ptr<const AllocationTable>> table_of(DeviceState& device, bool races,
                                                        bool texels);

}  // namespace ptx2spv::runtime
