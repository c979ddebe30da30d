// Conditional nodes of graphs: bodies that a value of the device chooses.
#include "driver.cuh"

#include <string>

namespace {

__global__ void set_condition(cudaGraphConditionalHandle handle, unsigned value) {
  cudaGraphSetConditional(handle, value);
}
__global__ void add(int* p, int value) { atomicAdd(p, value); }
__global__ void count_down(cudaGraphConditionalHandle handle, int* left, int* sum) {
  *sum += *left;
  *left -= 1;
  cudaGraphSetConditional(handle, *left > 0);
}

struct Made {
  cudaGraph_t graph = nullptr;
  cudaStream_t stream = nullptr;
  int* p = nullptr;
  Made() {
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc(&p, 64));
    CHECK(cudaMemset(p, 0, 64));
  }
  void run(const char* what, int times = 1) {
    cudaGraphExec_t exec = nullptr;
    TELL(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < times && exec; ++i) {
      TELL(cudaGraphLaunch(exec, stream));
      TELL(cudaStreamSynchronize(stream));
      int words[4];
      CHECK(cudaMemcpy(words, p, 16, cudaMemcpyDeviceToHost));
      std::printf("%s: %d %d %d %d\n", what, words[0], words[1], words[2], words[3]);
    }
    if (exec) CHECK(cudaGraphExecDestroy(exec));
  }
};

template <class... A>
cudaGraphNode_t kernel(cudaGraph_t graph, const std::vector<cudaGraphNode_t>& before,
                       void (*f)(A...), A... arguments) {
  void* list[] = {&arguments...};
  cudaKernelNodeParams params{};
  params.func = reinterpret_cast<void*>(f);
  params.gridDim = params.blockDim = dim3(1);
  params.kernelParams = list;
  cudaGraphNode_t node = nullptr;
  CHECK(cudaGraphAddKernelNode(&node, graph, before.data(), before.size(), &params));
  return node;
}

cudaGraphNode_t condition(cudaGraph_t graph, cudaGraphNode_t before,
                          cudaGraphConditionalHandle handle, cudaGraphConditionalNodeType type,
                          unsigned size, cudaGraph_t* bodies) {
  cudaGraphNodeParams params{};
  params.type = cudaGraphNodeTypeConditional;
  params.conditional.handle = handle;
  params.conditional.type = type;
  params.conditional.size = size;
  cudaGraphNode_t node = nullptr;
#if CUDART_VERSION >= 13000
  const cudaError_t code =
      cudaGraphAddNode(&node, graph, before ? &before : nullptr, nullptr, before ? 1 : 0, &params);
#else
  const cudaError_t code =
      cudaGraphAddNode(&node, graph, before ? &before : nullptr, before ? 1 : 0, &params);
#endif
  std::printf("conditional node of type %d, size %u: %s\n", static_cast<int>(type), size,
              cudaGetErrorName(code));
  (void)cudaGetLastError();
  if (code == cudaSuccess && bodies)
    for (unsigned i = 0; i < size; ++i) bodies[i] = params.conditional.phGraph_out[i];
  return node;
}

void ifs() {
  for (unsigned value : {0u, 1u, 7u}) {
    Made m;
    cudaGraphConditionalHandle handle{};
    TELL(cudaGraphConditionalHandleCreate(&handle, m.graph, 0, 0));
    cudaGraph_t body = nullptr;
    const auto first = kernel(m.graph, {}, set_condition, handle, value);
    const auto node = condition(m.graph, first, handle, cudaGraphCondTypeIf, 1, &body);
    kernel(body, {}, add, m.p, 10);
    kernel(m.graph, {node}, add, m.p + 1, 1);
    cudaGraphNodeType type{};
    TELL(cudaGraphNodeGetType(node, &type));
    std::printf("type %d\n", static_cast<int>(type));
    std::size_t count = 0;
    TELL(cudaGraphGetNodes(m.graph, nullptr, &count));
    std::printf("%zu nodes\n", count);
    m.run("if", 2);
  }
}
void if_else() {
  for (unsigned value : {0u, 1u}) {
    Made m;
    cudaGraphConditionalHandle handle{};
    TELL(cudaGraphConditionalHandleCreate(&handle, m.graph, 0, 0));
    cudaGraph_t bodies[2]{};
    const auto first = kernel(m.graph, {}, set_condition, handle, value);
    condition(m.graph, first, handle, cudaGraphCondTypeIf, 2, bodies);
    kernel(bodies[0], {}, add, m.p, 10);
    kernel(bodies[1], {}, add, m.p + 1, 20);
    m.run("if and else", 2);
  }
}
void defaults() {
  for (unsigned initial : {0u, 1u}) {
    Made m;
    cudaGraphConditionalHandle handle{};
    TELL(cudaGraphConditionalHandleCreate(&handle, m.graph, initial, cudaGraphCondAssignDefault));
    cudaGraph_t body = nullptr;
    condition(m.graph, nullptr, handle, cudaGraphCondTypeIf, 1, &body);
    kernel(body, {}, add, m.p, 1);
    const auto off = kernel(body, {}, set_condition, handle, 0u);
    (void)off;
    m.run("default", 3);
  }
}
void whiles() {
  Made m;
  cudaGraphConditionalHandle handle{};
  TELL(cudaGraphConditionalHandleCreate(&handle, m.graph, 1, cudaGraphCondAssignDefault));
  cudaGraph_t body = nullptr;
  const int ten = 10;
  CHECK(cudaMemcpy(m.p, &ten, 4, cudaMemcpyHostToDevice));
  const auto node = condition(m.graph, nullptr, handle, cudaGraphCondTypeWhile, 1, &body);
  kernel(body, {}, count_down, handle, m.p, m.p + 1);
  kernel(m.graph, {node}, add, m.p + 2, 1);
  m.run("while", 2);
}
void switches() {
  for (unsigned value : {0u, 2u, 3u, 99u}) {
    Made m;
    cudaGraphConditionalHandle handle{};
    TELL(cudaGraphConditionalHandleCreate(&handle, m.graph, value, cudaGraphCondAssignDefault));
    cudaGraph_t bodies[3]{};
    const auto node = condition(m.graph, nullptr, handle, cudaGraphCondTypeSwitch, 3, bodies);
    for (int i = 0; i < 3; ++i) kernel(bodies[i], {}, add, m.p + i, i + 1);
    kernel(m.graph, {node}, add, m.p + 3, 1);
    m.run("switch");
  }
}
void nested() {
  Made m;
  cudaGraphConditionalHandle outer{}, inner{};
  TELL(cudaGraphConditionalHandleCreate(&outer, m.graph, 1, cudaGraphCondAssignDefault));
  const int four = 4;
  CHECK(cudaMemcpy(m.p, &four, 4, cudaMemcpyHostToDevice));
  cudaGraph_t body = nullptr, inside = nullptr;
  condition(m.graph, nullptr, outer, cudaGraphCondTypeWhile, 1, &body);
  const auto last = kernel(body, {}, count_down, outer, m.p, m.p + 1);
  TELL(cudaGraphConditionalHandleCreate(&inner, body, 1, cudaGraphCondAssignDefault));
  condition(body, last, inner, cudaGraphCondTypeIf, 1, &inside);
  if (inside) {
    const auto a = kernel(inside, {}, add, m.p + 2, 5);
    kernel(inside, {a}, set_condition, inner, 0u);
  }
  m.run("nested", 1);
}
void captured() {
  Made m;
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamBeginCapture(m.stream, cudaStreamCaptureModeGlobal));
  cudaStreamCaptureStatus status{};
  const cudaGraphNode_t* before = nullptr;
  std::size_t count = 0;
#if CUDART_VERSION >= 13000
  TELL(cudaStreamGetCaptureInfo(m.stream, &status, nullptr, &graph, &before, nullptr, &count));
#else
  TELL(cudaStreamGetCaptureInfo_v2(m.stream, &status, nullptr, &graph, &before, &count));
#endif
  cudaGraphConditionalHandle handle{};
  TELL(cudaGraphConditionalHandleCreate(&handle, graph, 0, 0));
  set_condition<<<1, 1, 0, m.stream>>>(handle, 1);
#if CUDART_VERSION >= 13000
  TELL(cudaStreamGetCaptureInfo(m.stream, &status, nullptr, &graph, &before, nullptr, &count));
#else
  TELL(cudaStreamGetCaptureInfo_v2(m.stream, &status, nullptr, &graph, &before, &count));
#endif
  cudaGraph_t body = nullptr;
  cudaGraphNode_t node = condition(graph, before[0], handle, cudaGraphCondTypeIf, 1, &body);
#if CUDART_VERSION >= 13000
  TELL(cudaStreamUpdateCaptureDependencies(m.stream, &node, nullptr, 1,
                                           cudaStreamSetCaptureDependencies));
#else
  TELL(cudaStreamUpdateCaptureDependencies(m.stream, &node, 1, cudaStreamSetCaptureDependencies));
#endif
  cudaStream_t other = nullptr;
  CHECK(cudaStreamCreate(&other));
  TELL(cudaStreamBeginCaptureToGraph(other, body, nullptr, nullptr, 0,
                                     cudaStreamCaptureModeRelaxed));
  add<<<1, 1, 0, other>>>(m.p, 3);
  cudaGraph_t same = nullptr;
  TELL(cudaStreamEndCapture(other, &same));
  std::printf("same %d\n", same == body);
  add<<<1, 1, 0, m.stream>>>(m.p + 1, 4);
  TELL(cudaStreamEndCapture(m.stream, &graph));
  m.graph = graph;
  if (graph) m.run("captured", 2);
}
void mistakes() {
  Made m;
  cudaGraphConditionalHandle handle{}, second{};
  TELL(cudaGraphConditionalHandleCreate(nullptr, m.graph, 0, 0));
  TELL(cudaGraphConditionalHandleCreate(&handle, nullptr, 0, 0));
  TELL(cudaGraphConditionalHandleCreate(&handle, m.graph, 0, 2));
  TELL(cudaGraphConditionalHandleCreate(&handle, m.graph, 5, 0));
  cudaGraph_t bodies[8]{};
  condition(m.graph, nullptr, 0, cudaGraphCondTypeIf, 1, nullptr);
  condition(m.graph, nullptr, handle, cudaGraphCondTypeIf, 0, nullptr);
  condition(m.graph, nullptr, handle, cudaGraphCondTypeIf, 3, nullptr);
  condition(m.graph, nullptr, handle, cudaGraphCondTypeWhile, 2, nullptr);
  condition(m.graph, nullptr, handle, cudaGraphCondTypeWhile, 0, nullptr);
  condition(m.graph, nullptr, handle, cudaGraphCondTypeSwitch, 0, nullptr);
  condition(m.graph, nullptr, handle, static_cast<cudaGraphConditionalNodeType>(7), 1, nullptr);
  auto node = condition(m.graph, nullptr, handle, cudaGraphCondTypeIf, 1, bodies);
  condition(m.graph, nullptr, handle, cudaGraphCondTypeIf, 1, nullptr);
  TELL(cudaGraphConditionalHandleCreate(&second, m.graph, 0, 0));
  cudaGraph_t clone = nullptr;
  TELL(cudaGraphClone(&clone, m.graph));
  TELL(cudaGraphDestroy(bodies[0]));
  cudaGraphNode_t inside = nullptr;
  TELL(cudaGraphAddEmptyNode(&inside, bodies[0], nullptr, 0));
  cudaHostNodeParams host{[](void*) {}, nullptr};
  TELL(cudaGraphAddHostNode(&inside, bodies[0], nullptr, 0, &host));
  TELL(cudaGraphAddMemcpyNode1D(&inside, bodies[0], nullptr, 0, m.p, m.p + 4, 8,
                                cudaMemcpyDeviceToDevice));
  int local = 0;
  TELL(cudaGraphAddMemcpyNode1D(&inside, bodies[0], nullptr, 0, m.p, &local, 4,
                                cudaMemcpyHostToDevice));
  cudaEvent_t event = nullptr;
  CHECK(cudaEventCreate(&event));
  TELL(cudaGraphAddEventRecordNode(&inside, bodies[0], nullptr, 0, event));
  TELL(cudaGraphAddChildGraphNode(&inside, bodies[0], nullptr, 0, m.graph));
  cudaGraph_t outer = nullptr;
  TELL(cudaGraphCreate(&outer, 0));
  TELL(cudaGraphAddChildGraphNode(&inside, outer, nullptr, 0, m.graph));
  m.run("mistakes");
  TELL(cudaGraphDestroyNode(node));
  TELL(cudaGraphDestroy(m.graph));
}

constexpr Group kGroups[] = {{"ifs", ifs},           {"if_else", if_else},   {"defaults", defaults},
                             {"whiles", whiles},     {"switches", switches}, {"nested", nested},
                             {"captured", captured}, {"mistakes", mistakes}};

}  // namespace

int main(int argc, char** argv) { return run_group(kGroups, argc, argv); }
