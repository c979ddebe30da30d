// Which node of a graph becomes which of an instance that is updated by it, told by where updates
// fail; and what may be done with graphs that belong to a node.
#include <string>

#include "mistakes.cuh"

__global__ void nothing(int*) {}

namespace {

int *device = nullptr, *pinned = nullptr;

void add(cudaGraph_t graph, std::vector<cudaGraphNode_t>& nodes, char type,
         const std::vector<cudaGraphNode_t>& before) {
  cudaGraphNode_t node = nullptr;
  if (type == 'c')
    CHECK(cudaGraphAddMemcpyNode1D(&node, graph, before.data(), before.size(), device, pinned, 64,
                                   cudaMemcpyHostToDevice));
  if (type == 'e') CHECK(cudaGraphAddEmptyNode(&node, graph, before.data(), before.size()));
  if (type == 'f') {
    cudaMemsetParams params{};
    params.dst = device;
    params.elementSize = 1;
    params.width = 8;
    params.height = 1;
    CHECK(cudaGraphAddMemsetNode(&node, graph, before.data(), before.size(), &params));
  }
  if (type == 'k') {
    void* arguments[] = {&device};
    cudaKernelNodeParams params{};
    params.func = reinterpret_cast<void*>(nothing);
    params.gridDim = params.blockDim = dim3(1);
    params.kernelParams = arguments;
    CHECK(cudaGraphAddKernelNode(&node, graph, before.data(), before.size(), &params));
  }
  nodes.push_back(node);
}

/// "e c0 k01": an empty node, a copy after it, and a kernel after both.
void build(cudaGraph_t graph, std::vector<cudaGraphNode_t>& nodes, const std::string& text) {
  for (std::size_t at = 0, end = 0; at < text.size(); at = end + 1) {
    end = std::min(text.find(' ', at), text.size());
    std::vector<cudaGraphNode_t> before;
    for (std::size_t i = at + 1; i < end; ++i)
      before.push_back(nodes[static_cast<std::size_t>(text[i] - '0')]);
    add(graph, nodes, text[at], before);
  }
}

void begin() {
  CHECK(cudaMalloc(&device, 256));
  CHECK(cudaMallocHost(&pinned, 256));
}

constexpr const char* kShapes[] = {
    "e c0 f0 k12",  "e c0 f0 k21",  "e f0 c0 k21", "e f0 c0 k12",    "e c0 f0 k1",  "e c0 f0 k2",
    "e c0 f1 k2",   "e f0 c1 k2",   "e c0 f k2",   "e k0 f c2",      "f k0 e c2",   "c c c c",
    "c c0 c c2",    "c c c0 c1",    "c c c1 c0",   "c c0 c0 c0",     "c c c c012",  "c c0 c1 c2",
    "c c0 c0 c12",  "c c c01 c2",   "c c0 c0 c1",  "c c c0 c02",     "c c c0 c12",  "c c0 c1 c02",
    "c c0 c01 c2",  "c c0 c01 c012", "e c0 e c2",  "e e0 c c2",      "c e0 e c",    "e f c k012",
    "e f c k210",   "f e c k012",   "f c e k210"};

/// The number of the node of `nodes`, or a minus.
char place_of(cudaGraphNode_t node, const std::vector<cudaGraphNode_t>& nodes) {
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (node == nodes[i]) return static_cast<char>('0' + i);
  return node ? '?' : '-';
}

/// A line for each instance: what updates by each graph answer, and at which node.
void updates() {
  begin();
  for (const char* is : kShapes) {
    std::printf("%s:", is);
    for (const char* becomes : kShapes) {
      cudaGraph_t first = nullptr, second = nullptr;
      std::vector<cudaGraphNode_t> own, others;
      cudaGraphExec_t exec = nullptr;
      cudaGraphExecUpdateResultInfo info{};
      CHECK(cudaGraphCreate(&first, 0));
      CHECK(cudaGraphCreate(&second, 0));
      build(first, own, is);
      build(second, others, becomes);
      CHECK(cudaGraphInstantiate(&exec, first, 0));
      const cudaError_t code = cudaGraphExecUpdate(exec, second, &info);
      (void)cudaGetLastError();
      const bool told = (code == cudaErrorGraphExecUpdateFailure) == (info.result != 0);
      std::printf(" %d%c%s", info.result, place_of(info.errorNode, others), told ? "" : "!");
      CHECK(cudaGraphExecDestroy(exec));
      CHECK(cudaGraphDestroy(first));
      CHECK(cudaGraphDestroy(second));
    }
    std::printf("\n");
  }
}

cudaError_t add_child(cudaGraph_t graph) {
  cudaGraph_t whole = nullptr;
  cudaGraphNode_t node = nullptr;
  CHECK(cudaGraphCreate(&whole, 0));
  return cudaGraphAddChildGraphNode(&node, whole, nullptr, 0, graph);
}

void children() {
  begin();
  cudaGraph_t graph = nullptr, given = nullptr, child = nullptr, clone = nullptr;
  cudaGraphNode_t node = nullptr, more = nullptr;
  cudaGraphExec_t exec = nullptr;
  cudaStream_t stream = nullptr;
  std::vector<cudaGraphNode_t> nodes;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaGraphCreate(&given, 0));
  build(given, nodes, "c f0");
  CHECK(cudaGraphAddChildGraphNode(&node, graph, nullptr, 0, given));
  CHECK(cudaGraphChildGraphNodeGetGraph(node, &child));
  NOTE("instantiate", cudaGraphInstantiate(&exec, child, 0));
  cudaGraphInstantiateParams params{};
  NOTE("with params", cudaGraphInstantiateWithParams(&exec, child, &params));
  std::printf("result %d\n", params.result_out);
  NOTE("clone", cudaGraphClone(&clone, child));
  NOTE("instantiate clone", cudaGraphInstantiate(&exec, clone, 0));
  cudaGraphExecUpdateResultInfo info{};
  NOTE("update by it", cudaGraphExecUpdate(exec, child, &info));
  NOTE("child of another", add_child(child));
  NOTE("add node", cudaGraphAddEmptyNode(&more, child, nullptr, 0));
  NOTE("given is instantiated", cudaGraphInstantiate(&exec, given, 0));
  NOTE("capture into it", cudaStreamBeginCaptureToGraph(stream, child, nullptr, nullptr, 0,
                                                        cudaStreamCaptureModeRelaxed));
  NOTE("end", cudaStreamEndCapture(stream, &clone));
  std::size_t count = 0;
  NOTE("nodes", cudaGraphGetNodes(child, nullptr, &count));
  std::printf("%zu\n", count);
  NOTE("destroy", cudaGraphDestroy(child));
  NOTE("nodes", cudaGraphGetNodes(child, nullptr, &count));
  NOTE("instance of whole", cudaGraphInstantiate(&exec, graph, 0));
  NOTE("launch", cudaGraphLaunch(exec, stream));
  NOTE("wait", cudaStreamSynchronize(stream));
  NOTE("node's end", cudaGraphDestroyNode(node));
  NOTE("graph's end", cudaGraphDestroy(graph));
}

void bodies() {
  cudaGraph_t graph = nullptr, clone = nullptr;
  cudaGraphNode_t node = nullptr;
  cudaGraphExec_t exec = nullptr;
  cudaGraphConditionalHandle handle = 0;
  std::vector<cudaGraphNode_t> nodes;
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
  cudaGraphNodeParams params{};
  params.type = cudaGraphNodeTypeConditional;
  params.conditional.handle = handle;
  params.conditional.type = cudaGraphCondTypeIf;
  params.conditional.size = 1;
  CHECK(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &params));
  const cudaGraph_t body = params.conditional.phGraph_out[0];
  build(body, nodes, "e e0");
  NOTE("instantiate", cudaGraphInstantiate(&exec, body, 0));
  NOTE("clone", cudaGraphClone(&clone, body));
  NOTE("child of another", add_child(body));
  NOTE("destroy", cudaGraphDestroy(body));
}

/// What is left of the flags of an instance.
void flags() {
  cudaGraph_t graph = nullptr;
  cudaGraphNode_t node = nullptr;
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaGraphAddEmptyNode(&node, graph, nullptr, 0));
  for (const unsigned long long each : {0, 1, 2, 3, 8, 9, 10, 16}) {
    cudaGraphExec_t exec = nullptr;
    unsigned long long found = 99;
    cudaGraphInstantiateParams params{};
    params.flags = each;
    NOTE("with params", cudaGraphInstantiateWithParams(&exec, graph, &params));
    if (exec) CHECK(cudaGraphExecGetFlags(exec, &found));
    std::printf("%llu: result %d, flags %llu\n", each, params.result_out, found);
  }
}

constexpr Group kGroups[] = {
    {"updates", updates}, {"children", children}, {"bodies", bodies}, {"flags", flags}};

}  // namespace

int main(int argc, char** argv) { return run_group(kGroups, argc, argv); }
