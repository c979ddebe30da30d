#include "src/launch/allocation_table.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>

#include "ptx2spv/abi_sanitizer.hpp"
#include "src/array/array.hpp"
#include "src/memory/kernel_heap_name.hpp"

namespace ptx2spv::runtime {

void put_words(std::byte* at, std::uint32_t word, std::uint64_t value) {
  std::memcpy(at + std::size_t{word} * 4, &value, 8);
}

namespace {

/// Tables grow by this many steps of the search at once, so that few translations serve all.
constexpr std::uint32_t kStepsAtOnce = 4;
/// Of race records, which take four times what they are of.
constexpr std::uint64_t kMostRecords = 256ull << 20;

void put32(std::byte* at, std::uint32_t word, std::uint64_t value) {
  const auto low = static_cast<std::uint32_t>(value);
  std::memcpy(at + std::size_t{word} * 4, &low, 4);
}

/// Where the race records of memories lie, while there is room for more.
class RecordPlan {
 public:
  /// Offset plus 1 of the records of `bytes` of memory; 0: there is no room.
  std::uint64_t add(std::uint64_t bytes) {
    constexpr std::uint64_t kBytes = abi::kRaceWords * 4;
    if (bytes > (kMostRecords - size_) / kBytes * 4) return 0;
    const std::uint64_t at = size_ + 1;
    size_ += (bytes + 3) / 4 * kBytes;
    return at;
  }
  std::uint64_t size() const { return std::max<std::uint64_t>(size_, 16); }

 private:
  std::uint64_t size_ = 0;
};

/// A level of an array that surfaces show.
using ShownLevel = std::pair<const ArrayState*, std::uint32_t>;

struct Shown {
  std::vector<std::pair<std::uint32_t, std::shared_ptr<SurfaceState>>> surfaces;  ///< by index
  std::map<ShownLevel, std::uint64_t> records;  ///< offset plus 1, 0: none
};

Shown shown_surfaces(const DeviceState& device) {
  Shown shown;
  for (auto& [index, owner] : device.surfaces.owners()) {
    auto surface = std::static_pointer_cast<SurfaceState>(owner);
    if (!surface) continue;
    shown.records.try_emplace({surface->array.get(), surface->level}, 0);
    shown.surfaces.emplace_back(index, std::move(surface));
  }
  return shown;
}

Status add_texels(DeviceState& device, const Shown& shown, AllocationTable& table) {
  table.texel_count = device.surfaces.count();
  constexpr std::size_t kBytes = abi::kLevelWords * 4;
  const std::size_t bytes = std::max<std::size_t>(table.texel_count, 1) * kBytes;
  auto memory = device.heap.allocate(MemoryKind::visible, bytes);
  if (!memory) return memory.error();
  std::memset(memory->mapped(), 0, bytes);
  for (const auto& [index, surface] : shown.surfaces) {
    if (index >= table.texel_count) continue;
    const ArrayState& array = *surface->array;
    const Level& level = array.levels[surface->level];
    std::byte* at = memory->mapped() + index * kBytes;
    put32(at, abi::lv_generation, surface->handle >> 32);
    put32(at, abi::lv_row_bytes, level.row_bytes);
    put32(at, abi::lv_width, level.width);
    put32(at, abi::lv_rows, level.height);
    put32(at, abi::lv_slices, array.slices(level));
    put32(at, abi::lv_row_pitch, level.row_pitch);
    put32(at, abi::lv_texel_bytes, array.desc.texel_bytes());
    put_words(at, abi::lv_slice_pitch, level.slice_pitch);
    put_words(at, abi::lv_bitmap, array.shadow ? array.shadow.address() + level.offset / 8 : 0);
    const std::uint64_t records = shown.records.at({&array, surface->level});
    put_words(at, abi::lv_races, records ? table.races.address() + records - 1 : 0);
  }
  table.texels = std::move(*memory);
  return {};
}

/// The heap of malloc has no records: its memory passes from one thread to another.
Status add_records(DeviceState& device, Shown& shown, AllocationTable& table) {
  RecordPlan plan;
  for (const AllocationInfo& each : table.list->live)
    table.race_records.push_back(
        each.writable && each.name != kKernelHeapName ? plan.add(each.bytes) : 0);
  for (auto& [level, records] : shown.records)
    records = plan.add(level.first->levels[level.second].bytes);
  auto memory = device.heap.allocate(MemoryKind::visible, plan.size());
  if (!memory) return memory.error();
  std::memset(memory->mapped(), 0, plan.size());
  table.races = std::move(*memory);
  for (std::uint64_t& each : table.race_records)
    if (each) each += table.races.address() - 1;
  return {};
}

Status add_allocations(DeviceState& device, AllocationTable& table) {
  const std::vector<AllocationInfo>& live = table.list->live;
  const auto bits = static_cast<std::uint32_t>(std::bit_width(live.size()));
  table.steps = std::max((bits + kStepsAtOnce - 1) / kStepsAtOnce, 1u) * kStepsAtOnce;
  const std::size_t entries = std::size_t{1} << table.steps;
  constexpr std::size_t kBytes = abi::kAllocationWords * 4;
  auto memory = device.heap.allocate(MemoryKind::visible, entries * kBytes);
  if (!memory) return memory.error();
  std::byte* at = memory->mapped();
  std::memset(at, 0, entries * kBytes);
  for (std::size_t i = 1; i < entries; ++i) {
    std::byte* entry = at + i * kBytes;
    if (i > live.size()) {
      put_words(entry, abi::a_first, UINT64_MAX);
      continue;
    }
    const AllocationInfo& each = live[i - 1];
    put_words(entry, abi::a_first, each.address);
    put_words(entry, abi::a_bytes, each.bytes);
    put_words(entry, abi::a_writable, each.writable ? each.bytes : 0);
    put_words(entry, abi::a_shadow, each.shadow);
    put_words(entry, abi::a_races, table.races ? table.race_records[i - 1] : 0);
  }
  table.memory = std::move(*memory);
  return {};
}

}  // namespace

Result<std::shared_ptr<const AllocationTable>> table_of(DeviceState& device, bool races,
                                                        bool texels) {
  auto list = device.allocations.list();
  const std::uint64_t changes = device.surfaces.changes();
  std::lock_guard lock(device.table_mutex);
  if (auto known = std::static_pointer_cast<const AllocationTable>(device.table);
      known && known->list == list &&
      (!races || (known->races && known->launches < abi::kGlobalLaunches)) &&
      (!texels || (known->texels && known->surface_changes == changes)))
    return known;
  auto table = std::make_shared<AllocationTable>();
  table->list = std::move(list);
  table->surface_changes = changes;
  Shown shown;
  if (texels) shown = shown_surfaces(device);
  if (races)
    if (Status status = add_records(device, shown, *table); !status) return status.error();
  if (texels)
    if (Status status = add_texels(device, shown, *table); !status) return status.error();
  if (Status status = add_allocations(device, *table); !status) return status.error();
  device.table = table;
  return std::shared_ptr<const AllocationTable>(std::move(table));
}

}  // namespace ptx2spv::runtime
