// Addresses and memory apart from each other: cuMemAddressReserve, cuMemCreate, cuMemMap. Where
// kernels and the host reach memory by the same addresses, both are the system's: a range of pages
// without access, and files in memory whose pages are mapped into it.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "src/cuda/core/core.hpp"
#include "src/device/device.hpp"

namespace ptx2spv::cuda {

namespace {

constexpr std::size_t kGranularity = std::size_t{2} << 20;
// CUmemAllocationType, CUmemLocationType, CUmemAccess_flags.
constexpr int kPinned = 1, kOnDevice = 1, kOnHost = 2, kNone = 0, kRead = 1, kReadWrite = 3;

/// Memory that cuMemCreate made: there as long as the program has handles or mappings of it.
struct Physical {
  int file = -1;
  std::size_t bytes = 0;
  CUmemAllocationProp props{};
  std::uint64_t handles = 1;
  Physical() = default;
  Physical(const Physical&) = delete;
  Physical& operator=(const Physical&) = delete;
  ~Physical() {
    if (file >= 0) ::close(file);
  }
};

struct Mapping {
  std::uint64_t handle = 0;
  std::shared_ptr<Physical> memory;
  std::size_t bytes = 0;
  int access = kNone;
};

/// Everything by its first address, or by its handle.
struct Mappings {
  std::mutex mutex;
  std::map<CUdeviceptr, std::size_t> reserved;
  std::map<CUdeviceptr, Mapping> mapped;
  std::map<std::uint64_t, std::shared_ptr<Physical>> memory;
};
Mappings& all() {
  static auto* mappings = new Mappings;
  return *mappings;
}

void* pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

CUresult check_device(const DeviceObject& device) {
  if (device.shared_addresses) return eSuccess;
  return not_supported("mapping memory to addresses",
                       "this device and the host reach memory by different addresses");
}

CUresult check_props(const CUmemAllocationProp* props) {
  if (!props || props->type != kPinned)
    return fail(eInvalidValue, "no properties of pinned memory");
  const bool host = props->location.type == kOnHost;
  if (!host && props->location.type != kOnDevice)
    return fail(eInvalidValue, "memory that is mapped is a device's or the host's");
  DeviceObject* device = device_at(host ? 0 : props->location.id);
  if (!device) return fail(eInvalidDevice, "no such device");
  if (props->requestedHandleTypes)
    return not_supported("memory for other processes", "memory is not shared between processes");
  return check_device(*device);
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

/// Makes the range known to copies and to the sanitizer, or unknown.
CUresult publish(ContextObject& context, CUdeviceptr address, std::size_t bytes, int access) {
  auto allocation = std::make_shared<Allocation>();
  allocation->address = address;
  allocation->bytes = bytes;
  allocation->use = MemoryUse::mapped;
  allocation->flags = static_cast<unsigned>(access);
  allocation->context = &context;
  allocation->id = next_id();
  if (!add_mapped(allocation)) return fail(eUnknown, "the address is in use");
  context.gpu().state()->allocations.add(address, bytes, true, "cuMemMap");
  return eSuccess;
}
void withdraw(CUdeviceptr address) {
  auto allocation = find_address(address);
  if (allocation && allocation->use == MemoryUse::mapped) forget(*allocation);
}

CUresult system_error(const char* what) {
  return fail(eMemoryAllocation, fmt::format("{}: {}", what, std::strerror(errno)));
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
  if (CUresult code = check_device(*context.device); code != eSuccess) return code;
  if (!made || flags || !whole_granules(0, bytes) || (alignment && !std::has_single_bit(alignment)))
    return fail(eInvalidValue, "a range is a multiple of the granularity");
  alignment = std::max(alignment, kGranularity);
  std::size_t room = 0;
  if (__builtin_add_overflow(bytes, alignment, &room))
    return fail(eMemoryAllocation, "there are not as many addresses");
  void* found =
      ::mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (found == MAP_FAILED) return system_error("the range cannot be reserved");
  const auto start = reinterpret_cast<CUdeviceptr>(found);
  const CUdeviceptr first = (start + alignment - 1) / alignment * alignment;
  if (first > start) ::munmap(found, first - start);
  if (const std::size_t rest = room - bytes - (first - start))
    ::munmap(pointer(first + bytes), rest);
  std::lock_guard lock(all().mutex);
  all().reserved[first] = bytes;
  *made = first;
  return eSuccess;
}

CUresult free_addresses(CUdeviceptr address, std::size_t bytes) {
  std::lock_guard lock(all().mutex);
  auto found = all().reserved.find(address);
  if (found == all().reserved.end() || found->second != bytes)
    return fail(eInvalidValue, "no such range is reserved");
  auto next = all().mapped.lower_bound(address);
  if (next != all().mapped.end() && next->first < address + bytes)
    return fail(eInvalidValue, "memory is mapped in the range");
  ::munmap(pointer(address), bytes);
  all().reserved.erase(found);
  return eSuccess;
}

CUresult create_memory(std::uint64_t* made, std::size_t bytes, const CUmemAllocationProp* props,
                       unsigned long long flags) {
  if (!made || flags || !whole_granules(0, bytes))
    return fail(eInvalidValue, "the bytes of memory are a multiple of the granularity");
  if (CUresult code = check_props(props); code != eSuccess) return code;
  auto memory = std::make_shared<Physical>();
  memory->bytes = bytes;
  memory->props = *props;
  const DeviceObject* device = device_at(props->location.type == kOnHost ? 0 : props->location.id);
  if (bytes > total_memory(*device)) return fail(eMemoryAllocation, "more than the device has");
  memory->file = ::memfd_create("ptx2spv", MFD_CLOEXEC);
  if (memory->file < 0 || ::ftruncate(memory->file, static_cast<off_t>(bytes)) != 0)
    return system_error("the memory cannot be made");
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
  const auto size = [](std::size_t each) { return each; };
  if (range_with(all().reserved, address, bytes, size) == all().reserved.end())
    return fail(eInvalidValue, "the addresses are not reserved");
  auto next = all().mapped.lower_bound(address);
  if ((next != all().mapped.end() && next->first < address + bytes) ||
      mapping_at(address) != all().mapped.end())
    return fail(eInvalidValue, "memory is mapped there already");
  if (::mmap(pointer(address), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, memory->second->file,
             static_cast<off_t>(offset)) == MAP_FAILED)
    return system_error("the memory cannot be mapped");
  all().mapped[address] = {handle, memory->second, bytes, kNone};
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
    const void* got = ::mmap(pointer(each), mapping->second.bytes, PROT_NONE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    all().mapped.erase(mapping);
    if (got == MAP_FAILED) return system_error("the memory cannot be unmapped");
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
    const int protection = flags == kReadWrite ? PROT_READ | PROT_WRITE
                           : flags == kRead    ? PROT_READ
                                               : PROT_NONE;
    if (::mprotect(pointer(each), mapping.bytes, protection) != 0)
      return system_error("the access cannot be changed");
    mapping.access = flags;
    withdraw(each);
    if (flags == kNone) continue;
    if (CUresult code = publish(context, each, mapping.bytes, flags); code != eSuccess) return code;
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
    memory = found->second.memory, memory->handles = 1;
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
