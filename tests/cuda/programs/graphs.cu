// Graphs: captured from two streams, built by hand, launched again with other parameters.
#include "common.cuh"

__global__ void add(int* p, int value) { p[threadIdx.x] += value; }
__global__ void twice(int* p) { p[threadIdx.x] *= 2; }
__global__ void step(unsigned* p, unsigned by) { p[threadIdx.x] = p[threadIdx.x] * 3 + by; }
__global__ void meet(unsigned* p) {
  p[threadIdx.x] += p[threadIdx.x + 32] ^ p[threadIdx.x + 64];
}

// Chains that nothing orders, which meet at the end: launched again and again, also with another
// parameter and without a node.
void launch_chains(cudaStream_t stream) {
  constexpr unsigned kChains = 3, kSteps = 5;
  unsigned *cells, values[kChains * 32], expected[kChains] = {};
  CHECK(cudaMalloc(&cells, sizeof values));
  CHECK(cudaMemset(cells, 0, sizeof values));
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaGraphNode_t nodes[kChains][kSteps], last;
  unsigned by[kChains][kSteps];
  cudaKernelNodeParams params{};
  params.gridDim = dim3(1);
  params.blockDim = dim3(32);
  params.func = (void*)step;
  unsigned* at = nullptr;
  const auto describe = [&](unsigned chain, unsigned rank, void** args) {
    at = cells + 32 * chain;
    args[0] = &at;
    args[1] = &by[chain][rank];
    params.kernelParams = args;
  };
  void* args[2];
  for (unsigned chain = 0; chain < kChains; ++chain)
    for (unsigned rank = 0; rank < kSteps; ++rank) {
      by[chain][rank] = 7 * chain + rank;
      describe(chain, rank, args);
      CHECK(cudaGraphAddKernelNode(&nodes[chain][rank], graph,
                                   rank ? &nodes[chain][rank - 1] : nullptr, rank ? 1 : 0,
                                   &params));
    }
  cudaGraphNode_t ends[kChains] = {nodes[0][kSteps - 1], nodes[1][kSteps - 1],
                                   nodes[2][kSteps - 1]};
  cudaKernelNodeParams meeting = params;
  void* all[] = {&cells};
  meeting.func = (void*)meet;
  meeting.kernelParams = all;
  CHECK(cudaGraphAddKernelNode(&last, graph, ends, kChains, &meeting));
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  bool enabled = true;
  const auto launch = [&](int times) {
    for (int i = 0; i < times; ++i) {
      CHECK(cudaGraphLaunch(exec, stream));
      for (unsigned chain = 0; chain < kChains; ++chain)
        for (unsigned rank = 0; rank < kSteps; ++rank)
          if (enabled || chain != 2 || rank != 1)
            expected[chain] = expected[chain] * 3 + by[chain][rank];
      expected[0] += expected[1] ^ expected[2];
    }
  };
  launch(4);
  by[1][2] = 1000;
  describe(1, 2, args);
  CHECK(cudaGraphExecKernelNodeSetParams(exec, nodes[1][2], &params));
  launch(3);
  CHECK(cudaGraphNodeSetEnabled(exec, nodes[2][1], 0));
  enabled = false;
  launch(3);
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaMemcpy(values, cells, sizeof values, cudaMemcpyDeviceToHost));
  bool right = true;
  for (unsigned i = 0; i < kChains * 32; ++i) right = right && values[i] == expected[i / 32];
  std::printf("chains %u %u %u, right %d\n", values[0], values[32], values[64], right);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaFree(cells));
}

int main() {
  int *p, values[32];
  CHECK(cudaMalloc(&p, sizeof values));
  cudaStream_t a, b;
  CHECK(cudaStreamCreate(&a));
  CHECK(cudaStreamCreate(&b));
  cudaEvent_t fork, join;
  CHECK(cudaEventCreate(&fork));
  CHECK(cudaEventCreate(&join));
  cudaGraph_t graph;
  CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
  CHECK(cudaMemsetAsync(p, 0, sizeof values, a));
  add<<<1, 16, 0, a>>>(p, 5);
  CHECK(cudaEventRecord(fork, a));
  CHECK(cudaStreamWaitEvent(b, fork, 0));
  add<<<1, 16, 0, b>>>(p + 16, 9);
  twice<<<1, 16, 0, a>>>(p);
  CHECK(cudaEventRecord(join, b));
  CHECK(cudaStreamWaitEvent(a, join, 0));
  add<<<1, 32, 0, a>>>(p, 1);
  cudaStreamCaptureStatus status;
  CHECK(cudaStreamIsCapturing(a, &status));
  std::printf("capturing %d\n", (int)status);
  CHECK(cudaStreamEndCapture(a, &graph));
  size_t nodes = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
  std::printf("%zu nodes\n", nodes);
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 3; ++i) CHECK(cudaGraphLaunch(exec, a));
  CHECK(cudaStreamSynchronize(a));
  CHECK(cudaMemcpy(values, p, sizeof values, cudaMemcpyDeviceToHost));
  std::printf("captured %d %d\n", values[0], values[31]);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));

  CHECK(cudaGraphCreate(&graph, 0));
  cudaGraphNode_t fill, kernel, copy;
  cudaMemsetParams set{};
  set.dst = p;
  set.value = 3;
  set.elementSize = 4;
  set.width = 32;
  set.height = 1;
  CHECK(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &set));
  int by = 4;
  void* args[] = {&p, &by};
  cudaKernelNodeParams params{};
  params.func = (void*)add;
  params.gridDim = dim3(1);
  params.blockDim = dim3(32);
  params.kernelParams = args;
  CHECK(cudaGraphAddKernelNode(&kernel, graph, &fill, 1, &params));
  CHECK(cudaGraphAddMemcpyNode1D(&copy, graph, &kernel, 1, values, p, sizeof values,
                                 cudaMemcpyDeviceToHost));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, a));
  CHECK(cudaStreamSynchronize(a));
  std::printf("built %d\n", values[7]);
  by = 40;
  CHECK(cudaGraphExecKernelNodeSetParams(exec, kernel, &params));
  CHECK(cudaGraphLaunch(exec, a));
  CHECK(cudaStreamSynchronize(a));
  std::printf("changed %d\n", values[7]);
  cudaGraphNodeType type;
  CHECK(cudaGraphNodeGetType(kernel, &type));
  std::printf("type %d\n", (int)type);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaFree(p));
  launch_chains(a);
  launch_chains(nullptr);
}
