#include "src/launch/allocation_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>

#include "ptx2spv/abi_sanitizer.hpp"
#include "src/array/array.hpp"
#include "src/memory/kernel_heap_name.hpp"
#include "src/options.hpp"

namespace ptx2spv::runtime {

void put_words(std::byte* at, std::uint32_t word, std::uint64_t value) {
  std::memcpy(at + std::size_t{word} * 4, &value, 8);
}

namespace {

/// Tables grow by this many steps of the search at once, so that few translations serve all.
constexpr std::uint32_t kStepsAtOnce = 4;
/// Bytes of race records, which take four times what they are of.
std::uint64_t most_records(const DeviceState& device) {
  const std::uint64_t bytes = option_number(Option::race_mib, 1024) << 20;
  const std::uint64_t most = device.traits.max_allocation;
  return most ? std::min(bytes, most) : bytes;
}

void put32(std::byte* at, std::uint32_t word, std::uint64_t value) {
  const auto low = static_cast<std::uint32_t>(value);
  std::memcpy(at + std::size_t{word} * 4, &low, 4);
}

/// Where the race records of memories lie. The smallest come first, so that most have some.
class RecordPlan {
 public:
  explicit RecordPlan(std::uint64_t most) : most_(most) {}
  /// Has `records` set by place(): offset plus 1; 0: there is no room.
  void add(std::uint64_t bytes, std::uint64_t& records) {
    if (bytes) wanted_.push_back({bytes, &records});
  }
  void place() {
    constexpr std::uint64_t kBytes = abi::kRaceWords * 4;
    std::ranges::stable_sort(wanted_, {}, &Wanted::bytes);
    for (const Wanted& each : wanted_) {
      if (each.bytes > (most_ - size_) / kBytes * 4) {
        left_out_ += each.bytes;
        continue;
      }
      *each.records = size_ + 1;
      size_ += (each.bytes + 3) / 4 * kBytes;
    }
  }
  std::uint64_t size() const { return std::max<std::uint64_t>(size_, 16); }
  /// Bytes of memory without records.
  std::uint64_t left_out() const { return left_out_; }

 private:
  struct Wanted {
    std::uint64_t bytes;
    std::uint64_t* records;
  };
  std::vector<Wanted> wanted_;
  std::uint64_t most_, size_ = 0, left_out_ = 0;
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
    put32(at, abi::lv_geometries,
          found_by(array.desc.geometry) |
              (array.desc.geometry == Geometry::d3 ? abi::kLayersAreSlice0 : 0));
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
  RecordPlan plan(most_records(device));
  const std::vector<AllocationInfo>& live = table.list->live;
  table.race_records.resize(live.size());
  for (std::size_t i = 0; i < live.size(); ++i)
    if (live[i].writable && live[i].address % Allocations::kShadowed == 0 &&
        live[i].name != kKernelHeapName && live[i].name != kGridWorkspaceName)
      plan.add(live[i].bytes, table.race_records[i]);
  for (auto& [level, records] : shown.records)
    plan.add(level.first->levels[level.second].bytes, records);
  plan.place();
  table.without_records = plan.left_out();
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

/// Says that memory has no records, unless the table before said so.
void report_left_out(const DeviceState& device, const AllocationTable* before,
                     const AllocationTable& table) {
  if (!table.without_records || (before && before->without_records)) return;
  device.print_finding(fmt::format(
      "ptx2spv: races in global memory and of surfaces: {:.1f} MiB of the program's memory are not "
      "looked at, whose records take more than PTX2SPV_DEBUG=sanitize-race-mib allows ({} MiB)\n",
      static_cast<double>(table.without_records) / (1 << 20), most_records(device) >> 20));
}

}  // namespace

Result<std::shared_ptr<const AllocationTable>> table_of(DeviceState& device, bool races,
                                                        bool texels) {
  auto list = device.allocations.list();
  const std::uint64_t changes = device.surfaces.changes();
  std::lock_guard lock(device.table_mutex);
  auto known = std::static_pointer_cast<const AllocationTable>(device.table);
  if (known && known->list == list &&
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
  report_left_out(device, known.get(), *table);
  device.table = table;
  return std::shared_ptr<const AllocationTable>(std::move(table));
}

}  // namespace ptx2spv::runtime
