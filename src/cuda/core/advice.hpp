// What programs say of ranges of managed or pageable memory, and are told when they ask. Nothing
// follows from it: the memory is where devices and the host reach it.
#pragma once

#include "src/cuda/core/core.hpp"

namespace ptx2spv::cuda {

/// Where a device's ordinal, or -1 for the host, is in a location; nothing: it is no such place.
std::optional<int> location_of(const CUmemLocation& location);
/// The same of an ordinal.
std::optional<int> location_of_ordinal(int ordinal);
/// Ordinals stand for devices, -1 for the host.
CUresult advise(CUdeviceptr address, std::size_t bytes, int advice, std::optional<int> place);
CUresult prefetch(CUdeviceptr address, std::size_t bytes, std::optional<int> place, unsigned flags);
/// What cudaStreamAttachMemAsync checks: managed memory as a whole, pageable memory with a length.
CUresult attach(const StreamObject& stream, CUdeviceptr address, std::size_t bytes, unsigned flags);
CUresult range_attribute(void* data, std::size_t data_bytes, int attribute, CUdeviceptr address,
                         std::size_t bytes);
CUresult range_attributes(void** data, const std::size_t* data_bytes, const int* attributes,
                          std::size_t count, CUdeviceptr address, std::size_t bytes);

}  // namespace ptx2spv::cuda
