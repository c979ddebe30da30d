// Streams.

#include "src/cuda/driver/face.hpp"

namespace ptx2spv::cuda {

extern "C" {

CUresult cuStreamBatchMemOp_v2(CUstream handle, unsigned count, CUstreamBatchMemOpParams* list,
                               unsigned flags) {
  return call_in(handle, [&](ContextObject& context, const auto& stream) -> CUresult {
    Operation operation;
    CUresult code = batch_operation(list, count, flags, &context, operation);
    return code == eSuccess ? enqueue(*stream, std::move(operation)) : code;
  });
}
// Waits and writes of 32 and 64 bits are batches of one. The numbers are CUstreamBatchMemOpType.
#define PTX2SPV_WORD(name, operation, type)                                         \
  CUresult name(CUstream handle, CUdeviceptr address, type value, unsigned flags) { \
    CUstreamBatchMemOpParams one{operation, 0, address, value, flags, 0, 0};        \
    return cuStreamBatchMemOp_v2(handle, 1, &one, 0);                               \
  }
PTX2SPV_WORD(cuStreamWaitValue32, 1, std::uint32_t)
PTX2SPV_WORD(cuStreamWaitValue32_v2, 1, std::uint32_t)
PTX2SPV_WORD(cuStreamWriteValue32, 2, std::uint32_t)
PTX2SPV_WORD(cuStreamWriteValue32_v2, 2, std::uint32_t)
PTX2SPV_WORD(cuStreamWaitValue64, 4, std::uint64_t)
PTX2SPV_WORD(cuStreamWaitValue64_v2, 4, std::uint64_t)
PTX2SPV_WORD(cuStreamWriteValue64, 5, std::uint64_t)
PTX2SPV_WORD(cuStreamWriteValue64_v2, 5, std::uint64_t)
#undef PTX2SPV_WORD

CUresult cuStreamGetCtx_v2(CUstream handle, CUcontext* context, void** green) {
  if (green) *green = nullptr;  // a stream of a whole device's context
  return cuStreamGetCtx(handle, context);
}

}  // extern "C"

}  // namespace ptx2spv::cuda
