// Graphs: captured from two streams, built by hand, launched again with other parameters.
#include "common.cuh"

__global__ void add(int* p, int value) { p[threadIdx.x] += value; }
__global__ void twice(int* p) { p[threadIdx.x] *= 2; }

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
}
