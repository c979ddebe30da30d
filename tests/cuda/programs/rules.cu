// What the manual says of graphs that allocate, captures and registered memory: errors, no guesses.
#include "expect.cuh"

#include <sys/mman.h>

namespace {

cudaMemAllocNodeParams allocation() {
  cudaMemAllocNodeParams params{};
  params.bytesize = 1024;
  params.poolProps.allocType = cudaMemAllocationTypePinned;
  params.poolProps.location.type = cudaMemLocationTypeDevice;
  return params;
}

/// "Nodes and edges of the graph cannot be deleted", it is instantiated once at a time, not cloned,
/// and no child of another graph.
void graphs_with_memory() {
  cudaGraph_t graph = nullptr, other = nullptr;
  cudaGraphNode_t allocates = nullptr, empty = nullptr, frees = nullptr, child = nullptr;
  CHECK(cudaGraphCreate(&graph, 0));
  auto params = allocation();
  CHECK(cudaGraphAddMemAllocNode(&allocates, graph, nullptr, 0, &params));
  CHECK(cudaGraphAddEmptyNode(&empty, graph, &allocates, 1));
  CHECK(cudaGraphAddMemFreeNode(&frees, graph, &empty, 1, params.dptr));
  EXPECT(cudaGraphClone(&other, graph) == cudaErrorNotSupported);
  EXPECT(cudaGraphRemoveDependencies(graph, &allocates, &empty, nullptr, 1) ==
         cudaErrorNotSupported);
  EXPECT(cudaGraphDestroyNode(empty) == cudaErrorNotSupported);
  CHECK(cudaGraphCreate(&other, 0));
  EXPECT(cudaGraphAddChildGraphNode(&child, other, nullptr, 0, graph) == cudaErrorNotSupported);
  cudaGraphExec_t first = nullptr, second = nullptr;
  CHECK(cudaGraphInstantiate(&first, graph, 0));
  EXPECT(cudaGraphInstantiate(&second, graph, 0) == cudaErrorNotSupported);
  CHECK(cudaGraphLaunch(first, nullptr));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaGraphExecDestroy(first));
  CHECK(cudaGraphInstantiate(&second, graph, 0));
  CHECK(cudaGraphLaunch(second, nullptr));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaGraphExecDestroy(second));
  CHECK(cudaGraphDestroy(other));
  CHECK(cudaGraphDestroy(graph));
}

void accesses_of_nodes() {
  cudaGraph_t graph = nullptr;
  cudaGraphNode_t node = nullptr;
  int devices = 0;
  CHECK(cudaGetDeviceCount(&devices));
  CHECK(cudaGraphCreate(&graph, 0));
  auto params = allocation();
  std::vector<cudaMemAccessDesc> accesses(static_cast<std::size_t>(devices) + 1);
  for (auto& each : accesses) each.location.type = cudaMemLocationTypeDevice;
  params.accessDescs = accesses.data();
  params.accessDescCount = accesses.size();
  EXPECT(cudaGraphAddMemAllocNode(&node, graph, nullptr, 0, &params) == cudaErrorInvalidValue);
  params = allocation();
  params.bytesize = SIZE_MAX;
  EXPECT(cudaGraphAddMemAllocNode(&node, graph, nullptr, 0, &params) == cudaErrorMemoryAllocation);
  CHECK(cudaGraphDestroy(graph));
}

/// The legacy stream would wait for a capture.
void captures() {
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaStreamCaptureStatus status{};
  unsigned long long id = 0;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamGetCaptureInfo(nullptr, &status, &id));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  EXPECT(cudaStreamGetCaptureInfo(nullptr, &status, &id) == cudaErrorStreamCaptureImplicit);
  CHECK(cudaStreamGetCaptureInfo(stream, &status, &id));
  EXPECT(status == cudaStreamCaptureStatusActive);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(stream));
}

/// Memory that is registered has to be there, all of it.
void registrations() {
  constexpr std::size_t page = 4096, gap = 64 * page;
  auto* pages = static_cast<char*>(mmap(nullptr, 3 * gap, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  munmap(pages + gap, gap);
  CHECK(cudaHostRegister(pages, gap, 0));
  CHECK(cudaHostUnregister(pages));
  EXPECT(cudaHostRegister(pages, gap + 1, 0) == cudaErrorInvalidValue);
  EXPECT(cudaHostRegister(pages, 3 * gap, 0) == cudaErrorInvalidValue);
  EXPECT(cudaHostRegister(pages + gap, page, 0) == cudaErrorInvalidValue);
  CHECK(cudaHostRegister(pages + 2 * gap + 1, page, 0));
  CHECK(cudaHostUnregister(pages + 2 * gap + 1));
  munmap(pages, 3 * gap);
  (void)cudaGetLastError();
}

}  // namespace

int main() {
  CHECK(cudaFree(nullptr));
  graphs_with_memory();
  accesses_of_nodes();
  captures();
  registrations();
  return verdict();
}
