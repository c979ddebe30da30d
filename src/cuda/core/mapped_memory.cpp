#include "src/cuda/core/mapped_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "src/cuda/core/core.hpp"
#include "src/device/device.hpp"

namespace ptx2spv::cuda {

namespace {

constexpr int kUnmapped = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

void* to_pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

CUresult system_error(const char* what) {
  return fail(eMemoryAllocation, fmt::format("{}: {}", what, std::strerror(errno)));
}

CUresult reserve_of_system(std::size_t bytes, std::size_t alignment, AddressRange& made) {
  std::size_t room = 0;
  if (__builtin_add_overflow(bytes, alignment, &room))
    return fail(eMemoryAllocation, "there are not as many addresses");
  void* found = ::mmap(nullptr, room, PROT_NONE, kUnmapped, -1, 0);
  if (found == MAP_FAILED) return system_error("the range cannot be reserved");
  const auto start = reinterpret_cast<CUdeviceptr>(found);
  made.address = (start + alignment - 1) / alignment * alignment;
  made.bytes = bytes;
  if (made.address > start) ::munmap(found, made.address - start);
  if (const std::size_t rest = room - bytes - (made.address - start))
    ::munmap(to_pointer(made.address + bytes), rest);
  return eSuccess;
}

CUresult bind(AddressRange& range, CUdeviceptr address, std::size_t bytes,
              const PhysicalMemory* pages, std::size_t offset) {
  const Status status = range.state->heap.bind(range.memory, address - range.address, bytes,
                                               pages ? &pages->memory : nullptr, offset);
  return status ? eSuccess : report(status.error());
}

}  // namespace

AddressRange::~AddressRange() {
  if (address && !memory) ::munmap(to_pointer(address), bytes);
}

PhysicalMemory::~PhysicalMemory() {
  if (file >= 0) ::close(file);
}

CUresult check_mapping(const DeviceObject& device, bool host) {
  if (device.shared_addresses) return eSuccess;
  if (!device.maps_memory)
    return not_supported("mapping memory to addresses",
                         "this device binds no memory to parts of buffers");
  if (host)
    return not_supported("mapping the host's memory to addresses",
                         "this device and the host reach memory by different addresses");
  return eSuccess;
}

CUresult reserve(DeviceObject& device, std::size_t bytes, std::size_t alignment,
                 AddressRange& made) {
  made.device = &device;
  if (device.shared_addresses) return reserve_of_system(bytes, alignment, made);
  made.state = device.device->state();
  auto memory = made.state->heap.reserve(bytes, alignment);
  if (!memory) return report(memory.error());
  made.memory = std::move(*memory);
  made.address = made.memory.address();
  made.bytes = bytes;
  return eSuccess;
}

CUresult make_pages(DeviceObject& device, std::size_t bytes, PhysicalMemory& made) {
  made.bytes = bytes;
  made.device = &device;
  if (device.shared_addresses) {
    made.file = ::memfd_create("ptx2spv", MFD_CLOEXEC);
    if (made.file < 0 || ::ftruncate(made.file, static_cast<off_t>(bytes)) != 0)
      return system_error("the memory cannot be made");
    return eSuccess;
  }
  made.state = device.device->state();
  auto memory = made.state->heap.allocate_pages(bytes, kGranularity);
  if (!memory) return report(memory.error());
  made.memory = std::move(*memory);
  return eSuccess;
}

CUresult place(AddressRange& range, CUdeviceptr address, std::size_t bytes,
               const PhysicalMemory& pages, std::size_t offset) {
  if (range.memory && pages.device != range.device)
    return not_supported("mapping one device's memory to addresses of another",
                         "addresses are the device's for whose context they were reserved");
  // Bound memory can be read and written: that waits for access.
  if (range.memory) return eSuccess;
  if (::mmap(to_pointer(address), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, pages.file,
             static_cast<off_t>(offset)) == MAP_FAILED)
    return system_error("the memory cannot be mapped");
  return eSuccess;
}

CUresult allow(AddressRange& range, CUdeviceptr address, std::size_t bytes,
               const PhysicalMemory& pages, std::size_t offset, Access access) {
  if (range.memory) return bind(range, address, bytes, access.read ? &pages : nullptr, offset);
  const int protection = (access.read ? PROT_READ : 0) | (access.write ? PROT_WRITE : 0);
  if (::mprotect(to_pointer(address), bytes, protection) != 0)
    return system_error("the access cannot be changed");
  return eSuccess;
}

CUresult displace(AddressRange& range, CUdeviceptr address, std::size_t bytes) {
  if (range.memory) return bind(range, address, bytes, nullptr, 0);
  if (::mmap(to_pointer(address), bytes, PROT_NONE, kUnmapped | MAP_FIXED, -1, 0) == MAP_FAILED)
    return system_error("the memory cannot be unmapped");
  return eSuccess;
}

}  // namespace ptx2spv::cuda
