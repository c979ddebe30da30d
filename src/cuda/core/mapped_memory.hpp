// What mappings.cpp puts together: ranges of addresses, and pages that are mapped into them. Where
// kernels and the host reach memory by the same addresses, both are the system's: a range without
// access, and a file in memory. Elsewhere both are the device's: a sparse buffer, and memory that
// is bound to parts of it.
#pragma once

#include "src/cuda/core/objects.hpp"
#include "src/memory/heap.hpp"

namespace ptx2spv::cuda {

/// What addresses and bytes of mappings are multiples of.
constexpr std::size_t kGranularity = std::size_t{2} << 20;

struct AddressRange {
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
  DeviceObject* device = nullptr;
  std::shared_ptr<runtime::DeviceState> state;  ///< outlives `memory`
  runtime::Memory memory;                       ///< none: the addresses are the system's
  AddressRange() = default;
  AddressRange(const AddressRange&) = delete;
  AddressRange& operator=(const AddressRange&) = delete;
  ~AddressRange();
};

/// Memory that cuMemCreate made: there as long as the program has handles or mappings of it.
struct PhysicalMemory {
  int file = -1;
  std::size_t bytes = 0;
  CUmemAllocationProp props{};
  std::uint64_t handles = 1;
  DeviceObject* device = nullptr;
  std::shared_ptr<runtime::DeviceState> state;
  runtime::Memory memory;  ///< none: they are a file's
  PhysicalMemory() = default;
  PhysicalMemory(const PhysicalMemory&) = delete;
  PhysicalMemory& operator=(const PhysicalMemory&) = delete;
  ~PhysicalMemory();
};

struct Access {
  bool read = false, write = false;
};

/// Whether the device maps memory, of the host's where `host` says so.
CUresult check_mapping(const DeviceObject& device, bool host);
CUresult reserve(DeviceObject& device, std::size_t bytes, std::size_t alignment,
                 AddressRange& made);
CUresult make_pages(DeviceObject& device, std::size_t bytes, PhysicalMemory& made);
/// Maps `bytes` of `pages` from `offset` on, without access.
CUresult place(AddressRange& range, CUdeviceptr address, std::size_t bytes,
               const PhysicalMemory& pages, std::size_t offset);
/// Changes the access to what place() mapped.
CUresult allow(AddressRange& range, CUdeviceptr address, std::size_t bytes,
               const PhysicalMemory& pages, std::size_t offset, Access access);
CUresult displace(AddressRange& range, CUdeviceptr address, std::size_t bytes);

}  // namespace ptx2spv::cuda
