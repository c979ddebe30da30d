// Graphs by generic nodes, and memory that graphs allocate.
#include "common.cuh"

// CUDA 12 has the form with edges' data under another name.
#if CUDART_VERSION < 13000
#define cudaGraphAddNode cudaGraphAddNode_v2
#endif

#define TELL(call) std::printf("%-62s %s\n", #call, cudaGetErrorName(call))

namespace {

__global__ void add(int* p, int value) { p[threadIdx.x] += value; }

void CUDART_CB count(void* data) { ++*static_cast<int*>(data); }

void print(const char* what, int* p, cudaStream_t stream) {
  int values[32];
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaMemcpy(values, p, sizeof values, cudaMemcpyDeviceToHost));
  std::printf("%s %d %d\n", what, values[0], values[31]);
}

void generic(cudaStream_t stream) {
  int *p, *q, called = 0, by = 4;
  CHECK(cudaMalloc(&p, 128));
  CHECK(cudaMalloc(&q, 128));
  cudaGraph_t graph, child;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaGraphNode_t fill, kernel, copy, host, empty, inside;
  cudaGraphNodeParams node{};
  node.type = cudaGraphNodeTypeMemset;
  node.memset.dst = p;
  node.memset.value = 3;
  node.memset.elementSize = 4;
  node.memset.width = 32;
  node.memset.height = 1;
  TELL(cudaGraphAddNode(&fill, graph, nullptr, nullptr, 0, &node));
  void* args[] = {&p, &by};
  node = {};
  node.type = cudaGraphNodeTypeKernel;
  node.kernel.func = (void*)add;
  node.kernel.gridDim = dim3(1);
  node.kernel.blockDim = dim3(32);
  node.kernel.kernelParams = args;
  TELL(cudaGraphAddNode(&kernel, graph, &fill, nullptr, 1, &node));
  cudaGraphNodeParams other{};
  other.type = cudaGraphNodeTypeMemcpy;
  other.memcpy.copyParams.srcPtr = make_cudaPitchedPtr(p, 128, 128, 1);
  other.memcpy.copyParams.dstPtr = make_cudaPitchedPtr(q, 128, 128, 1);
  other.memcpy.copyParams.extent = make_cudaExtent(128, 1, 1);
  other.memcpy.copyParams.kind = cudaMemcpyDeviceToDevice;
  TELL(cudaGraphAddNode(&copy, graph, &kernel, nullptr, 1, &other));
  other = {};
  other.type = cudaGraphNodeTypeHost;
  other.host.fn = count;
  other.host.userData = &called;
  TELL(cudaGraphAddNode(&host, graph, &copy, nullptr, 1, &other));
  other = {};
  other.type = cudaGraphNodeTypeEmpty;
  TELL(cudaGraphAddNode(&empty, graph, &host, nullptr, 1, &other));
  CHECK(cudaGraphCreate(&child, 0));
  void* child_args[] = {&q, &by};
  cudaKernelNodeParams params{};
  params.func = (void*)add;
  params.gridDim = dim3(1);
  params.blockDim = dim3(16);
  params.kernelParams = child_args;
  CHECK(cudaGraphAddKernelNode(&inside, child, nullptr, 0, &params));
  other = {};
  other.type = cudaGraphNodeTypeGraph;
  other.graph.graph = child;
  TELL(cudaGraphAddNode(&inside, graph, &empty, nullptr, 1, &other));
  other = {};
  other.type = static_cast<cudaGraphNodeType>(77);
  TELL(cudaGraphAddNode(&inside, graph, nullptr, nullptr, 0, &other));
  other = {};
  other.type = cudaGraphNodeTypeEmpty;
  other.reserved2 = 1;
  TELL(cudaGraphAddNode(&inside, graph, nullptr, nullptr, 0, &other));
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, stream));
  print("generic", q, stream);
  by = 50;
  TELL(cudaGraphExecNodeSetParams(exec, kernel, &node));
  CHECK(cudaGraphLaunch(exec, stream));
  print("changed", q, stream);
  TELL(cudaGraphNodeSetParams(fill, &node));
  TELL(cudaGraphNodeSetParams(kernel, &node));
  std::printf("called %d\n", called);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaGraphDestroy(child));
  CHECK(cudaFree(p));
  CHECK(cudaFree(q));
}

void memory(cudaStream_t stream) {
  int *result, by = 7;
  CHECK(cudaMalloc(&result, 128));
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaGraphNode_t take, fill, kernel, copy, give;
  cudaMemAllocNodeParams alloc{};
  alloc.poolProps.allocType = cudaMemAllocationTypePinned;
  alloc.poolProps.location = {cudaMemLocationTypeDevice, 0};
  alloc.bytesize = 128;
  TELL(cudaGraphAddMemAllocNode(&take, graph, nullptr, 0, &alloc));
  cudaMemsetParams set{};
  set.dst = alloc.dptr;
  set.value = 2;
  set.elementSize = 4;
  set.width = 32;
  set.height = 1;
  CHECK(cudaGraphAddMemsetNode(&fill, graph, &take, 1, &set));
  void* args[] = {&alloc.dptr, &by};
  cudaKernelNodeParams params{};
  params.func = (void*)add;
  params.gridDim = dim3(1);
  params.blockDim = dim3(32);
  params.kernelParams = args;
  CHECK(cudaGraphAddKernelNode(&kernel, graph, &fill, 1, &params));
  CHECK(cudaGraphAddMemcpyNode1D(&copy, graph, &kernel, 1, result, alloc.dptr, 128,
                                 cudaMemcpyDeviceToDevice));
  cudaGraphExec_t exec;
  // Without a node that frees, a second launch needs the first one's memory freed.
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  TELL(cudaGraphLaunch(exec, stream));
  print("allocated", result, stream);
  TELL(cudaGraphLaunch(exec, stream));
  TELL(cudaFreeAsync(alloc.dptr, stream));
  CHECK(cudaStreamSynchronize(stream));
  TELL(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  TELL(cudaFree(alloc.dptr));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
  TELL(cudaGraphLaunch(exec, stream));
  TELL(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  TELL(cudaFreeAsync(alloc.dptr, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaGraphExecDestroy(exec));
  TELL(cudaGraphAddMemFreeNode(&give, graph, &copy, 1, alloc.dptr));
  TELL(cudaGraphAddMemFreeNode(&give, graph, &copy, 1, result));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  TELL(cudaGraphLaunch(exec, stream));
  TELL(cudaGraphLaunch(exec, stream));
  print("freed", result, stream);
  std::size_t used = 1;
  CHECK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &used));
  std::printf("used by graphs %d\n", used > 0);
  cudaMemAllocNodeParams asked{};
  TELL(cudaGraphMemAllocNodeGetParams(take, &asked));
  std::printf("same %d, %zu bytes\n", asked.dptr == alloc.dptr, asked.bytesize);
  TELL(cudaGraphMemAllocNodeGetParams(fill, &asked));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  TELL(cudaDeviceGraphMemTrim(0));
  CHECK(cudaFree(result));
}

void captured(cudaStream_t stream) {
  int *p, *result;
  CHECK(cudaMalloc(&result, 128));
  cudaGraph_t graph;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  CHECK(cudaMallocAsync(&p, 128, stream));
  CHECK(cudaMemsetAsync(p, 0, 128, stream));
  add<<<1, 32, 0, stream>>>(p, 11);
  CHECK(cudaMemcpyAsync(result, p, 128, cudaMemcpyDeviceToDevice, stream));
  CHECK(cudaFreeAsync(p, stream));
  CHECK(cudaStreamEndCapture(stream, &graph));
  std::size_t nodes = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
  std::printf("captured %zu nodes\n", nodes);
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 3; ++i) CHECK(cudaGraphLaunch(exec, stream));
  print("captured", result, stream);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaFree(result));
}

}  // namespace

int main() {
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  generic(stream);
  memory(stream);
  captured(stream);
  CHECK(cudaStreamDestroy(stream));
}
