// What calls return before their work is done, and operations of streams on words of memory.
#include "driver.cuh"

#include <chrono>
#include <string>
#include <thread>

namespace {

void CUDART_CB rest(void* ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(*static_cast<int*>(ms)));
}
int kRest = 50;

/// What a stream answers right after a call behind work of 50 ms, and whether the call waited.
template <class F>
void after(const char* what, F&& call, bool busy = true) {
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreate(&stream));
  if (busy) CHECK(cudaLaunchHostFunc(stream, rest, &kRest));
  const cudaError_t code = call(stream);
  const cudaError_t query = cudaStreamQuery(stream);
  const cudaError_t kept = cudaPeekAtLastError();
  CHECK(cudaStreamSynchronize(stream));
  (void)cudaGetLastError();
  std::printf("%-44s %s, query %s, last %s\n", what, cudaGetErrorName(code),
              cudaGetErrorName(query), cudaGetErrorName(kept));
  CHECK(cudaStreamDestroy(stream));
}
#define AFTER(text) after(#text, [&](cudaStream_t s) -> cudaError_t { return text; })

void asynchronous() {
  constexpr std::size_t n = 1 << 20;
  char *a, *b, *pinned, *pageable = static_cast<char*>(std::calloc(n, 1)), *managed;
  CHECK(cudaMalloc(&a, n));
  CHECK(cudaMalloc(&b, n));
  CHECK(cudaMallocHost(&pinned, n));
  CHECK(cudaMallocManaged(&managed, n));
  cudaChannelFormatDesc desc = cudaCreateChannelDesc<char>();
  cudaArray_t array = nullptr, other = nullptr;
  CHECK(cudaMallocArray(&array, &desc, 1024, 1024));
  CHECK(cudaMallocArray(&other, &desc, 1024, 1024));
  AFTER(cudaMemcpyAsync(b, a, n, cudaMemcpyDeviceToDevice, s));
  AFTER(cudaMemcpyAsync(b, pinned, n, cudaMemcpyHostToDevice, s));
  AFTER(cudaMemcpyAsync(pinned, a, n, cudaMemcpyDeviceToHost, s));
  AFTER(cudaMemcpyAsync(pageable, a, n, cudaMemcpyDeviceToHost, s));
  AFTER(cudaMemcpyAsync(b, pageable, 1024, cudaMemcpyHostToDevice, s));
  AFTER(cudaMemcpyAsync(b, pageable, n, cudaMemcpyHostToDevice, s));
  AFTER(cudaMemcpyAsync(managed, a, n, cudaMemcpyDefault, s));
  AFTER(cudaMemcpyAsync(pinned, pinned + n / 2, n / 2, cudaMemcpyHostToHost, s));
  AFTER(cudaMemsetAsync(a, 1, n, s));
  AFTER(cudaMemset2DAsync(a, 1024, 1, 1000, 1000, s));
  AFTER(cudaMemcpy2DAsync(b, 1024, a, 1024, 1000, 1000, cudaMemcpyDeviceToDevice, s));
  AFTER(cudaMemcpy2DToArrayAsync(array, 0, 0, a, 1024, 1024, 1024, cudaMemcpyDeviceToDevice, s));
  AFTER(cudaMemcpy2DToArrayAsync(array, 0, 0, pinned, 1024, 1024, 1024, cudaMemcpyHostToDevice, s));
  AFTER(
      cudaMemcpy2DToArrayAsync(array, 0, 0, pageable, 1024, 1024, 1024, cudaMemcpyHostToDevice, s));
  AFTER(cudaMemcpy2DFromArrayAsync(a, 1024, array, 0, 0, 1024, 1024, cudaMemcpyDeviceToDevice, s));
  AFTER(cudaMemPrefetchAsync(managed, n, cudaMemLocation{cudaMemLocationTypeDevice, 0}, 0, s));
  AFTER((cudaFree(a), cudaMalloc(&a, n)));
  cudaMemcpy3DParms box{};
  box.srcArray = array;
  box.dstArray = other;
  box.extent = {1024, 1024, 1};
  box.kind = cudaMemcpyDeviceToDevice;
  AFTER(cudaMemcpy3DAsync(&box, s));
}

void last_errors() {
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr, other = nullptr;
  float ms = 0;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaEventCreate(&event));
  CHECK(cudaEventCreate(&other));
  TELL(cudaEventQuery(event));
  CHECK(cudaLaunchHostFunc(stream, rest, &kRest));
  CHECK(cudaEventRecord(event, stream));
  TELL(cudaStreamQuery(stream));
  TELL(cudaEventQuery(event));
  TELL(cudaEventElapsedTime(&ms, event, event));
  TELL(cudaEventElapsedTime(&ms, other, event));
  CHECK(cudaStreamSynchronize(stream));
  TELL(cudaStreamQuery(stream));
  TELL(cudaMalloc(nullptr, 4));
  (void)cudaMalloc(nullptr, 4);
  TELL(cudaStreamQuery(stream));
  (void)cudaMalloc(nullptr, 4);
  TELL(cudaMemset(nullptr, 0, 0));
  (void)cudaMalloc(nullptr, 4);
  std::printf("peek %s\n", cudaGetErrorName(cudaPeekAtLastError()));
  std::printf("get %s\n", cudaGetErrorName(cudaGetLastError()));
  std::printf("get %s\n", cudaGetErrorName(cudaGetLastError()));
  int n = 0;
  TELL(cudaGetDeviceCount(nullptr));
  TELL(cudaSetDevice(99));
  TELL(cudaGetDevice(nullptr));
  TELL(cudaDeviceCanAccessPeer(&n, 0, 0));
  TELL(cudaDeviceEnablePeerAccess(0, 0));
  TELL(cudaDeviceDisablePeerAccess(0));
}

struct Words {
  cudaStream_t stream = nullptr;
  std::uint32_t* host = nullptr;
  CUdeviceptr p = 0, d = 0;
  Words() {
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMallocHost(reinterpret_cast<void**>(&host), 256));
    std::memset(host, 0, 256);
    CHECK(cudaMalloc(reinterpret_cast<void**>(&d), 256));
    CHECK(cudaMemset(reinterpret_cast<void*>(d), 0, 256));
    p = reinterpret_cast<CUdeviceptr>(host);
  }
};

void write_values() {
  Words w;
  const auto s = w.stream;
  for (int bit = 0; bit < 32; bit += 1) {
    const CUresult code = DRIVER(cuStreamWriteValue32)(s, w.p, 7, 1u << bit);
    if (code || bit == 0) std::printf("flag %d: %s\n", bit, driver_name(code));
  }
  DTELL(cuStreamWriteValue32, (s, w.p, 5, 0));
  DTELL(cuStreamWriteValue32, (s, w.p + 2, 5, 0));
  DTELL(cuStreamWriteValue32, (s, w.p + 4, 5, CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER));
  DTELL(cuStreamWriteValue32, (s, 0, 5, 0));
  DTELL(cuStreamWriteValue32, (s, 0x1000, 5, 0));
  DTELL(cuStreamWriteValue32, (s, w.d, 5, 0));
  DTELL(cuStreamWriteValue32, (s, w.d + 256, 5, 0));
  DTELL(cuStreamWriteValue32, (nullptr, w.d + 4, 6, 0));
  DTELL(cuStreamWriteValue64, (s, w.p + 8, 0x123456789abull, 0));
  DTELL(cuStreamWriteValue64, (s, w.p + 4, 5, 0));
  DTELL(cuStreamWriteValue64, (s, w.p + 12, 5, 2));
  DTELL(cuStreamWriteValue64, (s, w.d + 8, 0x123456789abull, 0));
  TELL(cudaStreamSynchronize(s));
  std::uint32_t words[8];
  CHECK(cudaMemcpy(words, reinterpret_cast<void*>(w.d), 32, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 6; ++i) std::printf("%x %x\n", w.host[i], words[i]);
  int local = 0;
  DTELL(cuStreamWriteValue32, (s, reinterpret_cast<CUdeviceptr>(&local), 5, 0));
  TELL(cudaStreamSynchronize(s));
}

void wait_values() {
  Words w;
  const auto s = w.stream;
  for (int flag = 0; flag < 16; ++flag) {
    // value 5 in memory 5: GEQ, EQ and AND are met, NOR needs bits that are clear in both
    w.host[0] = 5;
    const unsigned value = (flag & 3) == 3 ? 2 : 5;
    const CUresult code = DRIVER(cuStreamWaitValue32)(s, w.p, value, flag);
    std::printf("flag %d: %s\n", flag, driver_name(code));
    std::fflush(stdout);
    TELL(cudaStreamSynchronize(s));
  }
  for (int bit = 4; bit < 32; ++bit) {
    const CUresult code = DRIVER(cuStreamWaitValue32)(s, w.p, 5, 1u << bit);
    if (bit == 30 || !code) std::printf("bit %d: %s\n", bit, driver_name(code));
  }
  DTELL(cuStreamWaitValue32, (s, w.p, 0, 0x40000000));
  DTELL(cuStreamWaitValue32, (s, w.p + 2, 0, 0));
  DTELL(cuStreamWaitValue32, (s, 0, 0, 0));
  DTELL(cuStreamWaitValue32, (s, 0x1000, 0, 0));
  DTELL(cuStreamWaitValue64, (s, w.p + 4, 0, 0));
  DTELL(cuStreamWaitValue64, (s, w.p + 8, 0, 0));
  DTELL(cuStreamWaitValue64, (s, w.p + 8, 0, 4));
  DTELL(cuStreamWaitValue64, (s, w.d + 8, 0, 0));
  TELL(cudaStreamSynchronize(s));
  // cyclic comparison: value 0xfffffff0 >= 5 in memory is not met, 0x10 against 0xfffffff0 is
  w.host[0] = 0x10;
  DTELL(cuStreamWaitValue32, (s, w.p, 0xfffffff0u, 0));
  TELL(cudaStreamSynchronize(s));
  volatile std::uint32_t* host = w.host;
  host[0] = 0;
  DTELL(cuStreamWaitValue32, (s, w.p, 9, CU_STREAM_WAIT_VALUE_GEQ));
  DTELL(cuStreamWriteValue32, (s, w.p + 4, 77, 0));
  TELL(cudaStreamQuery(s));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::printf("before: %u\n", host[1]);
  host[0] = 9;
  TELL(cudaStreamSynchronize(s));
  std::printf("after: %u\n", host[1]);
  // another stream signals
  cudaStream_t other = nullptr;
  CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  DTELL(cuStreamWaitValue32, (s, w.d + 16, 3, CU_STREAM_WAIT_VALUE_EQ));
  TELL(cudaStreamQuery(s));
  DTELL(cuStreamWriteValue32, (other, w.d + 16, 3, 0));
  TELL(cudaStreamSynchronize(s));
  host[0] = 0xf0;
  DTELL(cuStreamWaitValue32, (s, w.p, 0x0f, CU_STREAM_WAIT_VALUE_AND));
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  TELL(cudaStreamQuery(s));
  host[0] = 0xf8;
  TELL(cudaStreamSynchronize(s));
}

void captured_words() {
  Words w;
  const auto s = w.stream;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  DTELL(cuStreamWriteValue32, (s, w.p, 11, 0));
  DTELL(cuStreamWaitValue32, (s, w.p, 11, 0));
  TELL(cudaStreamEndCapture(s, &graph));
  if (graph) {
    TELL(cudaGraphInstantiate(&exec, graph, 0));
    TELL(cudaGraphLaunch(exec, s));
    TELL(cudaStreamSynchronize(s));
    std::printf("%u\n", w.host[0]);
  }
  CUgraph g = nullptr;
  CUgraphNode node = nullptr;
  CUstreamBatchMemOpParams op{};
  op.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  op.writeValue.address = w.p;
  op.writeValue.value = 21;
  CUcontext context = nullptr;
  DTELL(cuCtxGetCurrent, (&context));
  CUDA_BATCH_MEM_OP_NODE_PARAMS params{context, 1, &op, 0};
  DTELL(cuGraphCreate, (&g, 0));
  DTELL(cuGraphAddBatchMemOpNode, (&node, g, nullptr, 0, &params));
  CUgraphNodeType type{};
  DTELL(cuGraphNodeGetType, (node, &type));
  std::printf("type %d\n", static_cast<int>(type));
  CUDA_BATCH_MEM_OP_NODE_PARAMS got{};
  DTELL(cuGraphBatchMemOpNodeGetParams, (node, &got));
  std::printf("%u operations, flags %u, type %d, value %u\n", got.count, got.flags,
              got.paramArray ? static_cast<int>(got.paramArray->operation) : -1,
              got.paramArray ? got.paramArray->writeValue.value : 0);
  CUgraphExec x = nullptr;
  DTELL(cuGraphInstantiate, (&x, g, 0));
  op.writeValue.value = 22;
  DTELL(cuGraphBatchMemOpNodeSetParams, (node, &params));
  DTELL(cuGraphLaunch, (x, s));
  TELL(cudaStreamSynchronize(s));
  std::printf("%u\n", w.host[0]);
  op.writeValue.value = 23;
  DTELL(cuGraphExecBatchMemOpNodeSetParams, (x, node, &params));
  DTELL(cuGraphLaunch, (x, s));
  TELL(cudaStreamSynchronize(s));
  std::printf("%u\n", w.host[0]);
}

constexpr Group kGroups[] = {{"asynchronous", asynchronous},
                             {"last_errors", last_errors},
                             {"write_values", write_values},
                             {"wait_values", wait_values},
                             {"captured_words", captured_words}};

}  // namespace

int main(int argc, char** argv) { return run_group(kGroups, argc, argv); }
