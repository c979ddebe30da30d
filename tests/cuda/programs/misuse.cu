// Graphs and captures used wrongly, and objects that are destroyed twice.
#include <thread>

#include "mistakes.cuh"

__global__ void nothing() {}
__global__ void add(int* p, int value) { p[threadIdx.x] += value; }

namespace {

void graphs() {
  int* p = nullptr;
  CHECK(cudaMalloc(&p, 4096));
  cudaGraph_t graph = nullptr, other = nullptr;
  cudaGraphNode_t first = nullptr, second = nullptr, foreign = nullptr;
  cudaGraphExec_t exec = nullptr;
  std::size_t count = 0;
  TELL(cudaGraphCreate(nullptr, 0));
  TELL(cudaGraphCreate(&graph, 1));
  TELL(cudaGraphCreate(&graph, 0));
  TELL(cudaGraphCreate(&other, 0));
  TELL(cudaGraphAddEmptyNode(nullptr, graph, nullptr, 0));
  TELL(cudaGraphAddEmptyNode(&first, nullptr, nullptr, 0));
  TELL(cudaGraphAddEmptyNode(&first, graph, nullptr, 1));
  TELL(cudaGraphAddEmptyNode(&first, graph, nullptr, 0));
  TELL(cudaGraphAddEmptyNode(&foreign, other, nullptr, 0));
  TELL(cudaGraphAddEmptyNode(&second, graph, &foreign, 1));
  cudaGraphNode_t twice[] = {first, first};
  TELL(cudaGraphAddEmptyNode(&second, graph, twice, 2));
  TELL(cudaGraphAddEmptyNode(&second, graph, &first, 1));
  TELL(cudaGraphNodeGetType(nullptr, nullptr));
  cudaGraphNodeType type;
  TELL(cudaGraphNodeGetType(first, &type));
  TELL(cudaGraphNodeGetType(first, nullptr));
  TELL(cudaGraphGetNodes(graph, nullptr, &count));
  std::printf("%zu nodes\n", count);
  TELL(cudaGraphGetNodes(graph, nullptr, nullptr));
  TELL(cudaGraphGetNodes(nullptr, nullptr, &count));
  cudaKernelNodeParams kernel{};
  TELL(cudaGraphKernelNodeGetParams(first, &kernel));
  TELL(cudaGraphAddKernelNode(&second, graph, nullptr, 0, nullptr));
  TELL(cudaGraphAddKernelNode(&second, graph, nullptr, 0, &kernel));
  kernel.func = reinterpret_cast<void*>(add);
  kernel.gridDim = dim3(0);
  kernel.blockDim = dim3(32);
  int value = 1;
  void* arguments[] = {&p, &value};
  kernel.kernelParams = arguments;
  NOTE("kernel node without blocks", cudaGraphAddKernelNode(&second, graph, nullptr, 0, &kernel));
  kernel.gridDim = dim3(1);
  kernel.blockDim = dim3(2048);
  NOTE("kernel node of 2,048 threads", cudaGraphAddKernelNode(&second, graph, nullptr, 0, &kernel));
  kernel.blockDim = dim3(32);
  kernel.sharedMemBytes = 1 << 20;
  NOTE("kernel node of 1 MiB of shared memory",
       cudaGraphAddKernelNode(&second, graph, nullptr, 0, &kernel));
  kernel.sharedMemBytes = 0;
  kernel.kernelParams = nullptr;
  NOTE("kernel node without arguments",
       cudaGraphAddKernelNode(&second, graph, nullptr, 0, &kernel));
  kernel.kernelParams = arguments;
  NOTE("kernel node", cudaGraphAddKernelNode(&second, graph, nullptr, 0, &kernel));
  cudaMemsetParams fill{p, 0, 0, 4, 1024, 1};
  NOTE("fill of 4 KiB", cudaGraphAddMemsetNode(&second, graph, nullptr, 0, &fill));
  fill.width = 1025;
  NOTE("fill beyond the memory", cudaGraphAddMemsetNode(&second, graph, nullptr, 0, &fill));
  fill.width = 4;
  fill.elementSize = 3;
  NOTE("fill of elements of 3 bytes", cudaGraphAddMemsetNode(&second, graph, nullptr, 0, &fill));
  fill.elementSize = 4;
  fill.dst = nullptr;
  NOTE("fill of no memory", cudaGraphAddMemsetNode(&second, graph, nullptr, 0, &fill));
  TELL(cudaGraphAddMemsetNode(&second, graph, nullptr, 0, nullptr));
  TELL(cudaGraphAddMemcpyNode1D(&second, graph, nullptr, 0, p, &value, 4, cudaMemcpyHostToDevice));
  TELL(cudaGraphAddMemcpyNode1D(&second, graph, nullptr, 0, p, nullptr, 4, cudaMemcpyHostToDevice));
  TELL(cudaGraphAddMemcpyNode1D(&second, graph, nullptr, 0, p, p, 5000, cudaMemcpyDeviceToDevice));
  TELL(cudaGraphAddMemcpyNode1D(&second, graph, nullptr, 0, p, p, 0, cudaMemcpyDeviceToDevice));
  TELL(cudaGraphAddHostNode(&second, graph, nullptr, 0, nullptr));
  cudaHostNodeParams call{};
  NOTE("host node without a function", cudaGraphAddHostNode(&second, graph, nullptr, 0, &call));
  TELL(cudaGraphAddChildGraphNode(&second, graph, nullptr, 0, nullptr));
  TELL(cudaGraphAddEventRecordNode(&second, graph, nullptr, 0, nullptr));
  TELL(cudaGraphInstantiate(nullptr, graph, 0));
  TELL(cudaGraphInstantiate(&exec, nullptr, 0));
  TELL(cudaGraphInstantiate(&exec, graph, 0x1000));
  TELL(cudaGraphInstantiate(&exec, graph, 0));
  TELL(cudaGraphLaunch(nullptr, nullptr));
  TELL(cudaGraphLaunch(exec, nullptr));
  TELL(cudaGraphUpload(exec, nullptr));
  TELL(cudaGraphUpload(nullptr, nullptr));
  cudaGraphExecUpdateResultInfo info{};
  TELL(cudaGraphExecUpdate(exec, graph, &info));
  std::printf("update %d\n", info.result);
  TELL(cudaGraphExecUpdate(exec, other, &info));
  std::printf("update %d\n", info.result);
  TELL(cudaGraphDestroyNode(nullptr));
  TELL(cudaGraphDestroyNode(first));
  TELL(cudaGraphDestroy(nullptr));
  TELL(cudaGraphExecDestroy(nullptr));
  TELL(cudaGraphExecDestroy(exec));
  TELL(cudaGraphDestroy(graph));
  TELL(cudaGraphDestroy(other));
  CHECK(cudaFree(p));
}

/// What a call within a capture answers, and how the capture ends.
template <class F>
void within(const char* what, F&& function,
            cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal) {
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamBeginCapture(stream, mode));
  tell(what, function(stream));
  cudaStreamCaptureStatus status{};
  tell("  status", cudaStreamIsCapturing(stream, &status));
  cudaGraph_t graph = nullptr;
  const cudaError_t code = cudaStreamEndCapture(stream, &graph);
  std::size_t nodes = 0;
  if (graph) CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
  std::printf("  status %d, graph %d, %zu nodes\n", status, graph != nullptr, nodes);
  tell("  end", code);
  if (graph) CHECK(cudaGraphDestroy(graph));
  while (cudaGetLastError() != cudaSuccess) {
  }
  CHECK(cudaStreamDestroy(stream));
}

void captures() {
  int *p = nullptr, *pinned = nullptr;
  int pageable[64] = {};
  CHECK(cudaMalloc(&p, 4096));
  CHECK(cudaMallocHost(&pinned, 4096));
  cudaStream_t other = nullptr, free_stream = nullptr;
  cudaEvent_t event = nullptr;
  CHECK(cudaStreamCreate(&other));
  CHECK(cudaStreamCreateWithFlags(&free_stream, cudaStreamNonBlocking));
  CHECK(cudaEventCreate(&event));
  within("nothing", [](cudaStream_t) { return cudaSuccess; });
  within("a launch", [](cudaStream_t s) {
    nothing<<<1, 1, 0, s>>>();
    return cudaPeekAtLastError();
  });
  within("a wrong launch", [](cudaStream_t s) {
    nothing<<<1, 2048, 0, s>>>();
    return cudaPeekAtLastError();
  });
  within("a launch into the legacy stream", [](cudaStream_t) {
    nothing<<<1, 1>>>();
    return cudaPeekAtLastError();
  });
  within("waiting for the stream", [](cudaStream_t s) { return cudaStreamSynchronize(s); });
  within("asking the stream", [](cudaStream_t s) { return cudaStreamQuery(s); });
  within("waiting for the device", [](cudaStream_t) { return cudaDeviceSynchronize(); });
  within("waiting for another stream",
         [&](cudaStream_t) { return cudaStreamSynchronize(other); });
  within("allocation", [&](cudaStream_t) {
    void* more = nullptr;
    return cudaMalloc(&more, 64);
  });
  within("allocation, relaxed", [&](cudaStream_t) {
    void* more = nullptr;
    return cudaMalloc(&more, 64);
  }, cudaStreamCaptureModeRelaxed);
  within("a copy that waits",
         [&](cudaStream_t) { return cudaMemcpy(p, pinned, 64, cudaMemcpyHostToDevice); });
  within("a copy in the stream", [&](cudaStream_t s) {
    return cudaMemcpyAsync(p, pinned, 64, cudaMemcpyHostToDevice, s);
  });
  within("a copy of pageable memory in the stream", [&](cudaStream_t s) {
    return cudaMemcpyAsync(p, pageable, 64, cudaMemcpyHostToDevice, s);
  });
  within("a copy beyond the memory", [&](cudaStream_t s) {
    return cudaMemcpyAsync(p, pinned, 8192, cudaMemcpyHostToDevice, s);
  });
  within("a fill that waits", [&](cudaStream_t) { return cudaMemset(p, 0, 64); });
  within("a fill in the stream", [&](cudaStream_t s) { return cudaMemsetAsync(p, 0, 64, s); });
  within("a fill beyond the memory",
         [&](cudaStream_t s) { return cudaMemsetAsync(p, 0, 8192, s); });
  within("a second begin", [](cudaStream_t s) {
    return cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
  });
  within("a callback", [](cudaStream_t s) {
    return cudaStreamAddCallback(s, [](cudaStream_t, cudaError_t, void*) {}, nullptr, 0);
  });
  within("a host function", [](cudaStream_t s) {
    return cudaLaunchHostFunc(s, [](void*) {}, nullptr);
  });
  within("an event that another waits for and does not join", [&](cudaStream_t s) {
    cudaError_t code = cudaEventRecord(event, s);
    if (code == cudaSuccess) code = cudaStreamWaitEvent(other, event, 0);
    nothing<<<1, 1, 0, other>>>();
    return code;
  });
  within("asking a captured event", [&](cudaStream_t s) {
    cudaError_t code = cudaEventRecord(event, s);
    return code == cudaSuccess ? cudaEventQuery(event) : code;
  });
  within("waiting for a captured event", [&](cudaStream_t s) {
    cudaError_t code = cudaEventRecord(event, s);
    return code == cudaSuccess ? cudaEventSynchronize(event) : code;
  });
  CHECK(cudaEventRecord(event, free_stream));
  within("waiting for an event outside", [&](cudaStream_t s) {
    return cudaStreamWaitEvent(s, event, 0);
  });
  within("an end by another stream", [&](cudaStream_t) {
    cudaGraph_t graph = nullptr;
    return cudaStreamEndCapture(other, &graph);
  });
  within("the last error and attributes", [&](cudaStream_t) {
    int value = 0;
    return cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 0);
  });
  cudaGraph_t graph = nullptr;
  TELL(cudaStreamBeginCapture(other, static_cast<cudaStreamCaptureMode>(9)));
  TELL(cudaStreamEndCapture(other, &graph));
  TELL(cudaStreamEndCapture(nullptr, &graph));
  TELL(cudaStreamIsCapturing(other, nullptr));
  cudaStreamCaptureStatus status{};
  TELL(cudaStreamIsCapturing(nullptr, &status));
  CHECK(cudaStreamBeginCapture(other, cudaStreamCaptureModeGlobal));
  TELL(cudaStreamIsCapturing(nullptr, &status));
  TELL(cudaStreamDestroy(other));
}

void objects() {
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t array = nullptr;
  CHECK(cudaMallocArray(&array, &format, 4, 4, cudaArraySurfaceLoadStore));
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc desc{};
  cudaSurfaceObject_t surface = 0;
  cudaTextureObject_t texture = 0;
  CHECK(cudaCreateSurfaceObject(&surface, &resource));
  CHECK(cudaCreateTextureObject(&texture, &resource, &desc, nullptr));
  TELL(cudaDestroySurfaceObject(surface));
  TELL(cudaDestroySurfaceObject(surface));
  TELL(cudaGetSurfaceObjectResourceDesc(&resource, surface));
  TELL(cudaGetSurfaceObjectResourceDesc(&resource, 12345));
  TELL(cudaDestroyTextureObject(texture));
  TELL(cudaDestroyTextureObject(texture));
  TELL(cudaGetTextureObjectResourceDesc(&resource, texture));
  TELL(cudaGetTextureObjectResourceDesc(&resource, 12345));
  TELL(cudaDestroyTextureObject(12345));
  TELL(cudaDestroySurfaceObject(12345));
}

/// Calls that CUDA may call unsafe while a stream captures: what they answer and do to the capture.
void unsafe() {
  int *p = nullptr, *pinned = nullptr;
  CHECK(cudaMalloc(&p, 4096));
  CHECK(cudaMallocHost(&pinned, 4096));
  cudaStream_t other = nullptr;
  cudaEvent_t event = nullptr, second = nullptr;
  CHECK(cudaStreamCreate(&other));
  CHECK(cudaEventCreate(&event));
  CHECK(cudaEventCreate(&second));
  CHECK(cudaEventRecord(event, other));
  CHECK(cudaEventRecord(second, other));
  CHECK(cudaDeviceSynchronize());
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t array = nullptr;
  CHECK(cudaMallocArray(&array, &format, 8, 8));
  void* made = nullptr;
  std::size_t size = 0, total = 0;
  within("asking an event", [&](cudaStream_t) { return cudaEventQuery(event); });
  within("waiting for an event", [&](cudaStream_t) { return cudaEventSynchronize(event); });
  within("the time between events", [&](cudaStream_t) {
    float ms = 0;
    return cudaEventElapsedTime(&ms, event, second);
  });
  within("recording an event elsewhere",
         [&](cudaStream_t) { return cudaEventRecord(event, other); });
  within("asking another stream", [&](cudaStream_t) { return cudaStreamQuery(other); });
  within("a launch elsewhere", [&](cudaStream_t) {
    nothing<<<1, 1, 0, other>>>();
    return cudaPeekAtLastError();
  });
  within("pinned memory", [&](cudaStream_t) { return cudaMallocHost(&made, 64); });
  within("freeing pinned memory", [&](cudaStream_t) {
    cudaError_t code = cudaFreeHost(pinned);
    pinned = nullptr;
    return code;
  });
  within("managed memory", [&](cudaStream_t) { return cudaMallocManaged(&made, 64); });
  within("rows", [&](cudaStream_t) { return cudaMallocPitch(&made, &size, 64, 4); });
  within("an array", [&](cudaStream_t) {
    cudaArray_t another = nullptr;
    return cudaMallocArray(&another, &format, 8, 8);
  });
  within("freeing an array", [&](cudaStream_t) { return cudaFreeArray(array); });
  within("freeing", [&](cudaStream_t) { return cudaFree(p); });
  within("freeing nothing", [&](cudaStream_t) { return cudaFree(nullptr); });
  within("how much memory", [&](cudaStream_t) { return cudaMemGetInfo(&size, &total); });
  within("a new stream", [&](cudaStream_t) {
    cudaStream_t another = nullptr;
    return cudaStreamCreate(&another);
  });
  within("a new event", [&](cudaStream_t) {
    cudaEvent_t another = nullptr;
    return cudaEventCreate(&another);
  });
  within("stream-ordered memory", [&](cudaStream_t s) { return cudaMallocAsync(&made, 64, s); });
  within("stream-ordered memory elsewhere",
         [&](cudaStream_t) { return cudaMallocAsync(&made, 64, other); });
  within("an attribute of a function", [](cudaStream_t) {
    return cudaFuncSetAttribute(nothing, cudaFuncAttributePreferredSharedMemoryCarveout, 50);
  });
  within("a limit", [](cudaStream_t) { return cudaDeviceSetLimit(cudaLimitStackSize, 2048); });
  within("an allocation of a thread that may", [&](cudaStream_t) {
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    cudaThreadExchangeStreamCaptureMode(&mode);
    cudaError_t code = cudaMalloc(&made, 64);
    cudaThreadExchangeStreamCaptureMode(&mode);
    return code;
  });
  within("an allocation, where the thread's own captures forbid it", [&](cudaStream_t) {
    cudaStreamCaptureMode mode = cudaStreamCaptureModeThreadLocal;
    cudaThreadExchangeStreamCaptureMode(&mode);
    cudaError_t code = cudaMalloc(&made, 64);
    cudaThreadExchangeStreamCaptureMode(&mode);
    return code;
  });
  const auto in_thread = [&] {
    cudaError_t code = cudaSuccess;
    std::thread([&] { code = cudaMalloc(&made, 64); }).join();
    return code;
  };
  within("an allocation of another thread", [&](cudaStream_t) { return in_thread(); });
  within("an allocation of another thread, local",
         [&](cudaStream_t) { return in_thread(); }, cudaStreamCaptureModeThreadLocal);
  within("waiting for another stream, relaxed",
         [&](cudaStream_t) { return cudaStreamSynchronize(other); },
         cudaStreamCaptureModeRelaxed);
  within("waiting for the device, relaxed", [&](cudaStream_t) { return cudaDeviceSynchronize(); },
         cudaStreamCaptureModeRelaxed);
  within("a launch into the legacy stream, relaxed", [](cudaStream_t) {
    nothing<<<1, 1>>>();
    return cudaPeekAtLastError();
  }, cudaStreamCaptureModeRelaxed);
  within("a launch behind a failure", [](cudaStream_t s) {
    nothing<<<1, 2048, 0, s>>>();
    (void)cudaGetLastError();
    nothing<<<1, 1, 0, s>>>();
    return cudaPeekAtLastError();
  });
  // A stream that does not wait for the legacy one.
  cudaStream_t free_stream = nullptr;
  CHECK(cudaStreamCreateWithFlags(&free_stream, cudaStreamNonBlocking));
  const auto freely = [&](const char* what, auto&& call) {
    CHECK(cudaStreamBeginCapture(free_stream, cudaStreamCaptureModeGlobal));
    tell(what, call());
    cudaGraph_t graph = nullptr;
    NOTE("  end", cudaStreamEndCapture(free_stream, &graph));
    if (graph) CHECK(cudaGraphDestroy(graph));
  };
  char* q = nullptr;
  char bytes[64] = {};
  CHECK(cudaMalloc(&q, 4096));
  freely("a launch into the legacy stream beside", [] {
    nothing<<<1, 1>>>();
    return cudaPeekAtLastError();
  });
  freely("a copy that waits beside",
         [&] { return cudaMemcpy(q, bytes, 64, cudaMemcpyHostToDevice); });
  freely("a fill in the legacy stream beside", [&] { return cudaMemset(q, 0, 64); });
  freely("the legacy stream's state", [&] {
    cudaStreamCaptureStatus status{};
    return cudaStreamIsCapturing(nullptr, &status);
  });
  freely("waiting for the legacy stream", [] { return cudaStreamSynchronize(nullptr); });
}

constexpr Group kGroups[] = {{"graphs", graphs},
                             {"captures", captures},
                             {"unsafe", unsafe},
                             {"objects", objects}};

}  // namespace

int main(int argc, char** argv) { return run_group(kGroups, argc, argv); }
