// Nodes of graphs and of executable graphs that are changed after they were made: what a launch
// then does, and what wrong changes answer.
#include "mistakes.cuh"

#include <string>

__device__ int table[16];

__global__ void add(int* p, int value) { p[threadIdx.x] += value; }
__global__ void multiply(int* p, int value) { p[threadIdx.x] *= value; }

namespace {

void set_to(void* data) { *static_cast<int*>(data) += 1; }

int *p, *q;
cudaStream_t stream;

void begin() {
  CHECK(cudaMalloc(&p, 256));
  CHECK(cudaMalloc(&q, 256));
  CHECK(cudaMemset(p, 0, 256));
  CHECK(cudaMemset(q, 0, 256));
  CHECK(cudaStreamCreate(&stream));
}

/// The first eight words of memory once the stream is done.
void words(const char* what, const int* device) {
  int host[8];
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
  std::printf("%s:", what);
  for (int each : host) std::printf(" %d", each);
  std::printf("\n");
}

cudaKernelNodeParams kernel_params(void (*function)(int*, int), void** arguments) {
  cudaKernelNodeParams params{};
  params.func = reinterpret_cast<void*>(function);
  params.gridDim = dim3(1);
  params.blockDim = dim3(8);
  params.kernelParams = arguments;
  return params;
}

void kernels() {
  begin();
  int value = 3;
  void* arguments[] = {&p, &value};
  cudaKernelNodeParams params = kernel_params(add, arguments);
  cudaGraph_t graph, clone;
  cudaGraphNode_t first, second, found = nullptr;
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaGraphAddKernelNode(&first, graph, nullptr, 0, &params));
  CHECK(cudaGraphAddKernelNode(&second, graph, &first, 1, &params));
  CHECK(cudaGraphClone(&clone, graph));
  TELL(cudaGraphNodeFindInClone(&found, second, clone));
  std::printf("another node %d\n", found != second);
  TELL(cudaGraphNodeFindInClone(&found, second, graph));
  TELL(cudaGraphNodeFindInClone(nullptr, second, clone));
  std::size_t roots = 9;
  cudaGraphNode_t nodes[9] = {};
  TELL(cudaGraphGetRootNodes(graph, nodes, &roots));
  std::printf("%zu roots, the first %d, %d\n", roots, nodes[0] == first, nodes[1] == nullptr);
  TELL(cudaGraphGetRootNodes(graph, nullptr, &roots));
  TELL(cudaGraphGetRootNodes(nullptr, nullptr, &roots));
  TELL(cudaGraphGetRootNodes(graph, nodes, nullptr));
  // A graph's node changes the graphs that are instantiated later.
  cudaGraphExec_t before, after;
  TELL(cudaGraphInstantiateWithFlags(&before, graph, 0));
  TELL(cudaGraphInstantiateWithFlags(&after, graph, 0x100));
  value = 2;
  params = kernel_params(multiply, arguments);
  TELL(cudaGraphKernelNodeSetParams(second, &params));
  TELL(cudaGraphKernelNodeSetParams(second, nullptr));
  params.blockDim = dim3(2048);
  TELL(cudaGraphKernelNodeSetParams(second, &params));
  cudaGraphInstantiateParams how{};
  TELL(cudaGraphInstantiateWithParams(&after, graph, &how));
  std::printf("result %d\n", static_cast<int>(how.result_out));
  TELL(cudaGraphInstantiateWithParams(&after, graph, nullptr));
  unsigned long long flags = 9;
  TELL(cudaGraphExecGetFlags(after, &flags));
  std::printf("flags %llu\n", flags);
  TELL(cudaGraphExecGetFlags(after, nullptr));
  CHECK(cudaGraphLaunch(before, stream));
  words("added twice", p);
  CHECK(cudaGraphLaunch(after, stream));
  words("added and doubled", p);
  unsigned enabled = 9;
  TELL(cudaGraphNodeGetEnabled(after, second, &enabled));
  std::printf("enabled %u\n", enabled);
  TELL(cudaGraphNodeSetEnabled(after, second, 0));
  TELL(cudaGraphNodeGetEnabled(after, second, &enabled));
  std::printf("enabled %u\n", enabled);
  CHECK(cudaGraphLaunch(after, stream));
  words("added alone", p);
  TELL(cudaGraphNodeSetEnabled(after, second, 7));
  TELL(cudaGraphNodeSetEnabled(after, found, 1));
  TELL(cudaGraphNodeGetEnabled(after, second, nullptr));
  CHECK(cudaGraphExecDestroy(before));
  CHECK(cudaGraphExecDestroy(after));
  CHECK(cudaGraphDestroy(clone));
  CHECK(cudaGraphDestroy(graph));
}

void copies() {
  begin();
  int host[16] = {1, 2, 3, 4, 5, 6, 7, 8};
  cudaGraph_t graph;
  cudaGraphNode_t fill, to, from, line, box;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaMemsetParams set{};
  set.dst = p;
  set.elementSize = 4;
  set.value = 7;
  set.width = 8;
  set.height = 1;
  CHECK(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &set));
  TELL(cudaGraphAddMemcpyNodeToSymbol(&to, graph, &fill, 1, table, p, 16, 16,
                                      cudaMemcpyDeviceToDevice));
  TELL(cudaGraphAddMemcpyNodeFromSymbol(&from, graph, &to, 1, q, table, 32, 8,
                                        cudaMemcpyDeviceToDevice));
  TELL(cudaGraphAddMemcpyNodeToSymbol(&line, graph, &fill, 1, table, p, 65, 0,
                                      cudaMemcpyDeviceToDevice));
  TELL(cudaGraphAddMemcpyNodeFromSymbol(&line, graph, &to, 1, q, host, 4, 0,
                                        cudaMemcpyDeviceToDevice));
  CHECK(cudaGraphAddMemcpyNode1D(&line, graph, &from, 1, q + 6, p, 4, cudaMemcpyDeviceToDevice));
  cudaMemcpy3DParms rows{};
  rows.srcPtr = make_cudaPitchedPtr(q, 16, 4, 2);
  rows.dstPtr = make_cudaPitchedPtr(p, 16, 4, 2);
  rows.extent = make_cudaExtent(8, 2, 1);
  rows.kind = cudaMemcpyDeviceToDevice;
  CHECK(cudaGraphAddMemcpyNode(&box, graph, &line, 1, &rows));
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, stream));
  words("p", p);
  words("q", q);
  cudaMemsetParams told{};
  TELL(cudaGraphMemsetNodeGetParams(fill, &told));
  std::printf("value %u, %zu x %zu of %u\n", told.value, told.width, told.height, told.elementSize);
  TELL(cudaGraphMemsetNodeGetParams(to, &told));
  set.value = 300;
  set.elementSize = 2;
  TELL(cudaGraphExecMemsetNodeSetParams(exec, fill, &set));
  set.elementSize = 3;
  TELL(cudaGraphExecMemsetNodeSetParams(exec, fill, &set));
  set.elementSize = 1;
  set.value = 9;
  TELL(cudaGraphMemsetNodeSetParams(fill, &set));
  TELL(cudaGraphMemsetNodeSetParams(fill, nullptr));
  CHECK(cudaGraphLaunch(exec, stream));
  words("p", p);
  TELL(
      cudaGraphExecMemcpyNodeSetParamsToSymbol(exec, to, table, p, 8, 8, cudaMemcpyDeviceToDevice));
  TELL(cudaGraphExecMemcpyNodeSetParamsFromSymbol(exec, from, q, table, 16, 0,
                                                  cudaMemcpyDeviceToDevice));
  TELL(cudaGraphExecMemcpyNodeSetParams1D(exec, line, q + 5, p, 8, cudaMemcpyDeviceToDevice));
  TELL(cudaGraphExecMemcpyNodeSetParams1D(exec, line, q + 5, p, 512, cudaMemcpyDeviceToDevice));
  TELL(cudaGraphExecMemcpyNodeSetParams1D(exec, fill, q + 5, p, 8, cudaMemcpyDeviceToDevice));
  rows.extent = make_cudaExtent(16, 1, 1);
  TELL(cudaGraphExecMemcpyNodeSetParams(exec, box, &rows));
  TELL(cudaGraphExecMemcpyNodeSetParams(exec, box, nullptr));
  CHECK(cudaGraphLaunch(exec, stream));
  words("p", p);
  words("q", q);
  TELL(cudaGraphMemcpyNodeSetParamsToSymbol(to, table, host, 16, 0, cudaMemcpyHostToDevice));
  TELL(cudaGraphMemcpyNodeSetParamsFromSymbol(from, q, table, 16, 4, cudaMemcpyDeviceToDevice));
  TELL(cudaGraphMemcpyNodeSetParams1D(line, q + 4, p, 4, cudaMemcpyDeviceToDevice));
  TELL(cudaGraphMemcpyNodeSetParams(box, &rows));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, stream));
  words("p", p);
  words("q", q);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
}

void hosts() {
  begin();
  int first = 10, second = 20;
  cudaHostNodeParams params{};
  params.fn = set_to;
  params.userData = &first;
  cudaGraph_t graph;
  cudaGraphNode_t node;
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaGraphAddHostNode(&node, graph, nullptr, 0, &params));
  cudaHostNodeParams told{};
  TELL(cudaGraphHostNodeGetParams(node, &told));
  std::printf("same %d %d\n", told.fn == set_to, told.userData == &first);
  TELL(cudaGraphHostNodeGetParams(node, nullptr));
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  params.userData = &second;
  TELL(cudaGraphExecHostNodeSetParams(exec, node, &params));
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  std::printf("%d %d\n", first, second);
  TELL(cudaGraphHostNodeSetParams(node, &params));
  params.fn = nullptr;
  TELL(cudaGraphHostNodeSetParams(node, &params));
  TELL(cudaGraphExecHostNodeSetParams(exec, node, &params));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  std::printf("%d %d\n", first, second);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
}

void events() {
  begin();
  cudaEvent_t first, second, told = nullptr;
  CHECK(cudaEventCreate(&first));
  CHECK(cudaEventCreate(&second));
  cudaGraph_t graph;
  cudaGraphNode_t record, wait;
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaGraphAddEventRecordNode(&record, graph, nullptr, 0, first));
  TELL(cudaGraphAddEventWaitNode(&wait, graph, &record, 1, second));
  TELL(cudaGraphAddEventWaitNode(&wait, graph, &record, 1, nullptr));
  TELL(cudaGraphEventRecordNodeGetEvent(record, &told));
  std::printf("first %d\n", told == first);
  TELL(cudaGraphEventWaitNodeGetEvent(wait, &told));
  std::printf("second %d\n", told == second);
  TELL(cudaGraphEventWaitNodeGetEvent(record, &told));
  TELL(cudaGraphEventRecordNodeGetEvent(record, nullptr));
  TELL(cudaGraphEventRecordNodeSetEvent(record, second));
  TELL(cudaGraphEventRecordNodeSetEvent(record, nullptr));
  TELL(cudaGraphEventWaitNodeSetEvent(wait, first));
  TELL(cudaGraphEventRecordNodeGetEvent(record, &told));
  std::printf("second %d\n", told == second);
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  float ms = 0;
  TELL(cudaEventElapsedTime(&ms, second, first));
  TELL(cudaGraphExecEventRecordNodeSetEvent(exec, record, first));
  TELL(cudaGraphExecEventWaitNodeSetEvent(exec, wait, second));
  TELL(cudaGraphExecEventWaitNodeSetEvent(exec, record, second));
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  TELL(cudaEventElapsedTime(&ms, second, first));
  std::printf("later %d\n", ms >= 0);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
}

void children() {
  begin();
  int value = 4;
  void* arguments[] = {&p, &value};
  cudaKernelNodeParams params = kernel_params(add, arguments);
  cudaGraph_t graph, child, inner = nullptr, replacement;
  cudaGraphNode_t inside, node;
  CHECK(cudaGraphCreate(&child, 0));
  CHECK(cudaGraphAddKernelNode(&inside, child, nullptr, 0, &params));
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaGraphAddChildGraphNode(&node, graph, nullptr, 0, child));
  TELL(cudaGraphChildGraphNodeGetGraph(node, &inner));
  std::printf("a copy %d\n", inner != child);
  TELL(cudaGraphChildGraphNodeGetGraph(node, nullptr));
  TELL(cudaGraphChildGraphNodeGetGraph(inside, &inner));
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, stream));
  words("four", p);
  CHECK(cudaGraphClone(&replacement, child));
  cudaGraphNode_t cloned;
  CHECK(cudaGraphNodeFindInClone(&cloned, inside, replacement));
  value = 100;
  TELL(cudaGraphKernelNodeSetParams(cloned, &params));
  TELL(cudaGraphExecChildGraphNodeSetParams(exec, node, replacement));
  CHECK(cudaGraphLaunch(exec, stream));
  words("a hundred and four", p);
  cudaGraph_t nothing;
  CHECK(cudaGraphCreate(&nothing, 0));
  TELL(cudaGraphExecChildGraphNodeSetParams(exec, node, nothing));
  TELL(cudaGraphExecChildGraphNodeSetParams(exec, node, nullptr));
  // The graph of a node may itself be changed.
  TELL(cudaGraphChildGraphNodeGetGraph(node, &inner));
  std::size_t count = 1;
  CHECK(cudaGraphGetNodes(inner, &inside, &count));
  value = 1000;
  TELL(cudaGraphKernelNodeSetParams(inside, &params));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, stream));
  words("a thousand more", p);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaGraphDestroy(child));
}

/// An executable graph takes the parameters of a graph of the same shape, and says why not.
void updates() {
  begin();
  int value = 5;
  void* arguments[] = {&p, &value};
  cudaKernelNodeParams params = kernel_params(add, arguments);
  cudaGraph_t graph, same, longer, other;
  cudaGraphNode_t node;
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &params));
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  value = 6;
  CHECK(cudaGraphCreate(&same, 0));
  CHECK(cudaGraphAddKernelNode(&node, same, nullptr, 0, &params));
  CHECK(cudaGraphCreate(&longer, 0));
  CHECK(cudaGraphAddKernelNode(&node, longer, nullptr, 0, &params));
  CHECK(cudaGraphAddKernelNode(&node, longer, &node, 1, &params));
  CHECK(cudaGraphCreate(&other, 0));
  CHECK(cudaGraphAddEmptyNode(&node, other, nullptr, 0));
  for (cudaGraph_t each : {same, longer, other}) {
    cudaGraphExecUpdateResultInfo info{};
    NOTE("update", cudaGraphExecUpdate(exec, each, &info));
    std::printf("result %d\n", static_cast<int>(info.result));
  }
  CHECK(cudaGraphLaunch(exec, stream));
  words("six", p);
  CHECK(cudaGraphExecDestroy(exec));
}

}  // namespace

int main(int argc, char** argv) {
  const Group groups[] = {{"kernels", kernels}, {"copies", copies},     {"hosts", hosts},
                          {"events", events},   {"children", children}, {"updates", updates}};
  return run_group(groups, argc, argv);
}
