// Ranges and marks of NVTX around a kernel.
#include <nvtx3/nvToolsExt.h>

#include <cstdio>

__global__ void seven(int* out) { *out = 7; }

int main() {
  nvtxRangePushA("outer \"range\"");
  nvtxMarkA("mark \xff");
  const nvtxRangeId_t range = nvtxRangeStartA("across threads");
  int *memory = nullptr, host = 0;
  cudaMalloc(&memory, 4);
  seven<<<dim3(1, 1, 1), dim3(32, 1, 1)>>>(memory);
  cudaMemcpy(&host, memory, 4, cudaMemcpyDeviceToHost);
  cudaFree(reinterpret_cast<void*>(8));
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("domain");
  nvtxEventAttributes_t event = {};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  event.message.registered = nvtxDomainRegisterStringA(domain, "registered");
  nvtxDomainRangePushEx(domain, &event);
  nvtxDomainRangePop(domain);
  nvtxRangeEnd(range);
  // What NVTX did not give is no range and no text.
  nvtxRangeEnd(range);
  nvtxRangeEnd(0);
  nvtxRangeEnd(0xdeadbeefdeadbeef);
  event.message.registered = reinterpret_cast<nvtxStringHandle_t>(0xdeadbeef);
  nvtxDomainMarkEx(domain, &event);
  nvtxRangePop();
  std::printf("%d\n", host);
  return host != 7;
}
