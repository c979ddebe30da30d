// What programs say of ranges of managed or pageable memory, and are told when they ask. Nothing
// follows from it: the memory is where devices and the host reach it.
#pragma once

#include "src/cuda/core/core.hpp"

namespace ptx2spv::cuda {

/// A device's ordinal, or -1 for the host.
struct AdvisedPlace {
  int ordinal = 0;
  CUresult code = eSuccess;  ///< what a prefetch there answers: there may be no such place
  int type = 1;              ///< CUmemLocationType
};
AdvisedPlace location_of(const CUmemLocation& location);
/// The same of an ordinal.
AdvisedPlace location_of_ordinal(int ordinal);
CUresult advise(CUdeviceptr address, std::size_t bytes, int advice, AdvisedPlace place);
CUresult prefetch(CUdeviceptr address, std::size_t bytes, AdvisedPlace place, unsigned flags);
/// What cudaStreamAttachMemAsync checks: managed memory as a whole, pageable memory with a length.
CUresult attach(const StreamObject& stream, CUdeviceptr address, std::size_t bytes, unsigned flags);
CUresult range_attribute(void* data, std::size_t data_bytes, int attribute, CUdeviceptr address,
                         std::size_t bytes);
CUresult range_attributes(void** data, const std::size_t* data_bytes, const int* attributes,
                          std::size_t count, CUdeviceptr address, std::size_t bytes);

}  // namespace ptx2spv::cuda
