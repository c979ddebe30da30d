// Streams and events.
#include <algorithm>
#include <cstring>

#include "src/cuda/cudart/face.hpp"

namespace ptx2spv::cuda {

extern "C" {

CUresult cudaStreamAttachMemAsync(CUstream handle, void* pointer, std::size_t bytes,
                                  unsigned flags) {
  if (flags != 1 && flags != 2 && flags != 4) return keep(eInvalidValue);
  return call_in(handle, [&](ContextObject& context, const auto& stream) -> CUresult {
    constexpr unsigned kSingle = 4;
    auto allocation = find_address(reinterpret_cast<CUdeviceptr>(pointer));
    if (flags == kSingle && stream == context.legacy)
      return fail(eInvalidValue, "memory is not attached to the legacy stream");
    if (allocation && bytes && bytes != allocation->bytes)
      return fail(eInvalidValue, "a part of the memory is not attached");
    if (!pointer) return fail(eInvalidValue, "a null pointer is no managed memory");
    if (allocation ? allocation->use != MemoryUse::managed && allocation->use != MemoryUse::variable
                   : !context.device->shared_addresses)
      return fail(eInvalidValue, "the memory is not managed");
    return eSuccess;
  });
}

PTX2SPV_IF_12(CUresult cudaEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end) {
  return cudaEventElapsedTime(milliseconds, start, end);
})

}  // extern "C"

}  // namespace ptx2spv::cuda
