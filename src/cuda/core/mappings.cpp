// Addresses and memory apart from each other: cuMemAddressReserve, cuMemCreate, cuMemMap.
#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "src/cuda/core/core.hpp"
#include "src/cuda/core/mapped_memory.hpp"
#include "src/device/device.hpp"

namespace ptx2spv::cuda {

namespace {

// CUmemAllocationType, CUmemLocationType, CUmemAccess_flags.
constexpr int kPinned = 1, kOnDevice = 1, kOnHost = 2, kNone = 0, kRead = 1, kReadWrite = 3;

struct Mapping {
  std::uint64_t handle = 0;
  std::shared_ptr<PhysicalMemory> pages;
  std::size_t offset = 0, bytes = 0;
  int access = kNone;
};

/// Everything by its first address, or by its handle.
struct Mappings {
  std::mutex mutex;
  std::map<CUdeviceptr, std::unique_ptr<AddressRange>> reserved;
  std::map<CUdeviceptr, Mapping> mapped;
  std::map<std::uint64_t, std::shared_ptr<PhysicalMemory>> memory;
};
Mappings& all() {
  static auto* mappings = new Mappings;
  return *mappings;
}

CUresult check_props(const CUmemAllocationProp* props) {
  if (!props || props->type != kPinned)
    return fail(eInvalidValue, "no properties of pinned memory");
  const bool host = props->location.type == kOnHost;
  if (!host && props->location.type != kOnDevice)
    return fail(eInvalidValue, "memory that is mapped is a device's or the host's");
  DeviceObject* device = device_at(host ? 0 : props->location.id);
  if (!device) return fail(eInvalidDevice, "no such device");
  if (CUresult code = open_device(*device); code != eSuccess) return code;
  if (props->requestedHandleTypes)
    return not_supported("memory for other processes", "memory is not shared between processes");
  return check_mapping(*device, host);
}

/// The range of `list` that has all of these bytes.
template <class List, class Size>
auto range_with(List& list, CUdeviceptr address, std::size_t bytes, Size&& size) {
  auto next = list.upper_bound(address);
  if (next == list.begin()) return list.end();
  --next;
  const std::size_t offset = address - next->first, whole = size(next->second);
  return offset < whole && bytes <= whole - offset ? next : list.end();
}
auto mapping_at(CUdeviceptr address) {
  return range_with(all().mapped, address, 1, [](const Mapping& each) { return each.bytes; });
}

AddressRange* range_of(CUdeviceptr address, std::size_t bytes) {
  const auto found =
      range_with(all().reserved, address, bytes, [](const auto& each) { return each->bytes; });
  return found == all().reserved.end() ? nullptr : found->second.get();
}

/// The mappings that fill a range, none of them in part; empty: there are gaps.
std::vector<CUdeviceptr> mappings_in(CUdeviceptr address, std::size_t bytes) {
  std::vector<CUdeviceptr> found;
  const CUdeviceptr end = address + bytes;
  while (address < end) {
    auto each = all().mapped.find(address);
    if (each == all().mapped.end() || each->second.bytes > end - address) return {};
    found.push_back(address);
    address += each->second.bytes;
  }
  return found;
}

/// Makes a mapping known to copies and to the sanitizer, or unknown.
CUresult publish(ContextObject& context, const AddressRange& range, CUdeviceptr address,
                 std::size_t bytes, int access) {
  auto allocation = std::make_shared<Allocation>();
  allocation->address = address;
  allocation->bytes = bytes;
  allocation->use = MemoryUse::mapped;
  allocation->flags = static_cast<unsigned>(access);
  allocation->context = &context;
  allocation->id = next_id();
  if (range.memory) {
    // As far as the range goes: a copy may go on in the mapping behind.
    auto view = Buffer::view(context.gpu(), address, range.address + range.bytes - address);
    if (!view) return report(view.error());
    allocation->buffer = std::move(*view);
  }
  if (!add_mapped(allocation)) return fail(eUnknown, "the address is in use");
  context.gpu().state()->allocations.add(address, bytes, true, "cuMemMap");
  return eSuccess;
}
void withdraw(CUdeviceptr address) {
  auto allocation = find_address(address);
  if (allocation && allocation->use == MemoryUse::mapped) forget(*allocation);
}

/// Whether nobody but the range's device gets access to it, in a context of that device.
bool of_one_device(const ContextObject& context, const CUmemAccessDesc* list, std::size_t count,
                   const AddressRange& range) {
  return context.device == range.device && std::all_of(list, list + count, [&](const auto& each) {
           return device_at(each.location.id) == range.device;
         });
}

bool whole_granules(CUdeviceptr address, std::size_t bytes) {
  return bytes && address % kGranularity == 0 && bytes % kGranularity == 0;
}

}  // namespace

CUresult mapping_granularity(std::size_t* bytes, const CUmemAllocationProp* props, int option) {
  if (!bytes || !props || option < 0 || option > 1)
    return fail(eInvalidValue, "no such granularity");
  *bytes = kGranularity;
  return eSuccess;
}

CUresult reserve_addresses(ContextObject& context, CUdeviceptr* made, std::size_t bytes,
                           std::size_t alignment, unsigned long long flags) {
  if (CUresult code = check_mapping(*context.device, false); code != eSuccess) return code;
  if (!made || flags || !whole_granules(0, bytes) || (alignment && !std::has_single_bit(alignment)))
    return fail(eInvalidValue, "a range is a multiple of the granularity");
  auto range = std::make_unique<AddressRange>();
  if (CUresult code = reserve(*context.device, bytes, std::max(alignment, kGranularity), *range);
      code != eSuccess)
    return code;
  std::lock_guard lock(all().mutex);
  *made = range->address;
  all().reserved[range->address] = std::move(range);
  return eSuccess;
}

CUresult free_addresses(CUdeviceptr address, std::size_t bytes) {
  std::lock_guard lock(all().mutex);
  auto found = all().reserved.find(address);
  if (found == all().reserved.end() || found->second->bytes != bytes)
    return fail(eInvalidValue, "no such range is reserved");
  auto next = all().mapped.lower_bound(address);
  if (next != all().mapped.end() && next->first < address + bytes)
    return fail(eInvalidValue, "memory is mapped in the range");
  all().reserved.erase(found);
  return eSuccess;
}

CUresult create_memory(std::uint64_t* made, std::size_t bytes, const CUmemAllocationProp* props,
                       unsigned long long flags) {
  if (!made || flags || !whole_granules(0, bytes))
    return fail(eInvalidValue, "the bytes of memory are a multiple of the granularity");
  if (CUresult code = check_props(props); code != eSuccess) return code;
  auto memory = std::make_shared<PhysicalMemory>();
  memory->props = *props;
  DeviceObject* device = device_at(props->location.type == kOnHost ? 0 : props->location.id);
  if (bytes > total_memory(*device)) return fail(eMemoryAllocation, "more than the device has");
  if (CUresult code = make_pages(*device, bytes, *memory); code != eSuccess) return code;
  std::lock_guard lock(all().mutex);
  *made = next_id();
  all().memory[*made] = std::move(memory);
  return eSuccess;
}

CUresult release_memory(std::uint64_t handle) {
  std::lock_guard lock(all().mutex);
  auto found = all().memory.find(handle);
  if (found == all().memory.end()) return fail(eInvalidValue, "no such memory");
  if (--found->second->handles == 0) all().memory.erase(found);
  return eSuccess;
}

CUresult map_memory(CUdeviceptr address, std::size_t bytes, std::size_t offset,
                    std::uint64_t handle, unsigned long long flags) {
  std::lock_guard lock(all().mutex);
  auto memory = all().memory.find(handle);
  if (memory == all().memory.end()) return fail(eInvalidValue, "no such memory");
  if (flags || !whole_granules(address, bytes) || offset % kGranularity ||
      offset > memory->second->bytes || bytes > memory->second->bytes - offset)
    return fail(eInvalidValue, "a mapping lies at multiples of the granularity, within the memory");
  AddressRange* range = range_of(address, bytes);
  if (!range) return fail(eInvalidValue, "the addresses are not reserved");
  auto next = all().mapped.lower_bound(address);
  if ((next != all().mapped.end() && next->first < address + bytes) ||
      mapping_at(address) != all().mapped.end())
    return fail(eInvalidValue, "memory is mapped there already");
  if (CUresult code = place(*range, address, bytes, *memory->second, offset); code != eSuccess)
    return code;
  all().mapped[address] = {handle, memory->second, offset, bytes, kNone};
  return eSuccess;
}

CUresult unmap_memory(ContextObject& context, CUdeviceptr address, std::size_t bytes) {
  if (CUresult code = synchronize(context); code != eSuccess) return code;
  std::lock_guard lock(all().mutex);
  const auto found = mappings_in(address, bytes);
  if (found.empty()) return fail(eInvalidValue, "the range is no number of whole mappings");
  for (CUdeviceptr each : found) {
    withdraw(each);
    auto mapping = all().mapped.find(each);
    const CUresult code = displace(*range_of(each, 1), each, mapping->second.bytes);
    all().mapped.erase(mapping);
    if (code != eSuccess) return code;
  }
  return eSuccess;
}

CUresult set_mapping_access(ContextObject& context, CUdeviceptr address, std::size_t bytes,
                            const CUmemAccessDesc* list, std::size_t count) {
  if (!list || !count) return fail(eInvalidValue, "no access is described");
  for (std::size_t i = 0; i < count; ++i) {
    const bool device = list[i].location.type == kOnDevice;
    if (!device) return fail(eInvalidValue, "access is a device's");
    if (!device_at(list[i].location.id)) return fail(eInvalidDevice, "no such device");
    if (list[i].flags != kNone && list[i].flags != kRead && list[i].flags != kReadWrite)
      return fail(eInvalidValue, "no such access");
  }
  if (CUresult code = synchronize(context); code != eSuccess) return code;
  std::lock_guard lock(all().mutex);
  const auto found = mappings_in(address, bytes);
  if (found.empty()) return fail(eInvalidValue, "the range is no number of whole mappings");
  for (CUdeviceptr each : found) {
    Mapping& mapping = all().mapped[each];
    const int flags = list[count - 1].flags;
    if (mapping.access == flags) continue;
    AddressRange& range = *range_of(each, mapping.bytes);
    if (range.memory && !of_one_device(context, list, count, range))
      return not_supported("access of several devices to one mapping",
                           "addresses are the device's for whose context they were reserved");
    const Access access{flags != kNone, flags == kReadWrite};
    if (CUresult code = allow(range, each, mapping.bytes, *mapping.pages, mapping.offset, access);
        code != eSuccess)
      return code;
    mapping.access = flags;
    withdraw(each);
    if (flags == kNone) continue;
    if (CUresult code = publish(context, range, each, mapping.bytes, flags); code != eSuccess)
      return code;
  }
  return eSuccess;
}

CUresult mapping_access(unsigned long long* flags, const CUmemLocation* location,
                        CUdeviceptr address) {
  if (!flags || !location || location->type != kOnDevice || !device_at(location->id))
    return fail(eInvalidValue, "no device, or no place for its access");
  std::lock_guard lock(all().mutex);
  auto found = mapping_at(address);
  if (found == all().mapped.end()) return fail(eInvalidValue, "no memory is mapped there");
  *flags = static_cast<unsigned long long>(found->second.access);
  return eSuccess;
}

CUresult retain_mapping(std::uint64_t* handle, const void* address) {
  std::lock_guard lock(all().mutex);
  auto found = mapping_at(reinterpret_cast<CUdeviceptr>(address));
  if (!handle || found == all().mapped.end())
    return fail(eInvalidValue, "no memory is mapped there");
  auto& memory = all().memory[found->second.handle];
  if (memory)
    ++memory->handles;
  else
    memory = found->second.pages, memory->handles = 1;
  *handle = found->second.handle;
  return eSuccess;
}

CUresult memory_properties(CUmemAllocationProp* props, std::uint64_t handle) {
  std::lock_guard lock(all().mutex);
  auto found = all().memory.find(handle);
  if (!props || found == all().memory.end()) return fail(eInvalidValue, "no such memory");
  *props = found->second->props;
  return eSuccess;
}

}  // namespace ptx2spv::cuda
