// Streams and events.
#include <algorithm>
#include <cstring>

#include "src/cuda/core/advice.hpp"
#include "src/cuda/cudart/face.hpp"

namespace ptx2spv::cuda {

extern "C" {

CUresult cudaStreamAttachMemAsync(CUstream handle, void* pointer, std::size_t bytes,
                                  unsigned flags) {
  return call_in(handle, [&](ContextObject&, const auto& stream) {
    return attach(*stream, reinterpret_cast<CUdeviceptr>(pointer), bytes, flags);
  });
}

PTX2SPV_IF_12(CUresult cudaEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end) {
  return cudaEventElapsedTime(milliseconds, start, end);
})

}  // extern "C"

}  // namespace ptx2spv::cuda
