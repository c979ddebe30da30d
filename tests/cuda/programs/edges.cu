// What is asked seldom: memory that graphs take and keep, objects that only graphs still hold, and
// the order in which prefetches and launches check their arguments.
#include <vector>

#include "mistakes.cuh"

__global__ void nothing() {}
__global__ void store(int* p, int value) { *p = value; }

namespace {

void tell_memory(const char* what) {
  unsigned long long value[4] = {};
  for (int i = 0; i < 4; ++i)
    CHECK(cudaDeviceGetGraphMemAttribute(0, static_cast<cudaGraphMemAttributeType>(i), value + i));
  std::printf("  %-24s used %llu, most %llu, reserved %llu, most %llu\n", what, value[0], value[1],
              value[2], value[3]);
}

void reset_most() {
  unsigned long long none = 0;
  TELL(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &none));
  TELL(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrReservedMemHigh, &none));
}

struct Taker {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  cudaMemAllocNodeParams params{};
};

/// A graph that takes memory of these sizes, one after the other, stores there, and frees it.
Taker taker(const std::vector<std::size_t>& sizes, bool frees) {
  Taker made;
  CHECK(cudaGraphCreate(&made.graph, 0));
  cudaGraphNode_t last = nullptr;
  for (const std::size_t bytes : sizes) {
    made.params = {};
    made.params.bytesize = bytes;
    made.params.poolProps.allocType = cudaMemAllocationTypePinned;
    made.params.poolProps.location.type = cudaMemLocationTypeDevice;
    cudaGraphNode_t take = nullptr, use = nullptr;
    CHECK(cudaGraphAddMemAllocNode(&take, made.graph, &last, last ? 1 : 0, &made.params));
    cudaKernelNodeParams kernel{};
    int* p = static_cast<int*>(made.params.dptr);
    int value = 7;
    void* arguments[] = {&p, &value};
    kernel.func = reinterpret_cast<void*>(store);
    kernel.gridDim = kernel.blockDim = dim3(1);
    kernel.kernelParams = arguments;
    CHECK(cudaGraphAddKernelNode(&use, made.graph, &take, 1, &kernel));
    last = use;
    if (frees) CHECK(cudaGraphAddMemFreeNode(&last, made.graph, &use, 1, made.params.dptr));
  }
  return made;
}

void life(const std::vector<std::size_t>& sizes, bool frees) {
  std::printf("%zu of %zu bytes, %s\n", sizes.size(), sizes[0], frees ? "freed" : "kept");
  Taker graph = taker(sizes, frees);
  tell_memory("made");
  CHECK(cudaGraphInstantiate(&graph.exec, graph.graph, 0));
  tell_memory("instantiated");
  CHECK(cudaGraphUpload(graph.exec, nullptr));
  CHECK(cudaDeviceSynchronize());
  tell_memory("uploaded");
  CHECK(cudaGraphLaunch(graph.exec, nullptr));
  CHECK(cudaDeviceSynchronize());
  tell_memory("launched");
  if (!frees) {
    NOTE("  launched again", cudaGraphLaunch(graph.exec, nullptr));
    NOTE("  freed", cudaFree(graph.params.dptr));
    tell_memory("freed");
  }
  NOTE("  launched again", cudaGraphLaunch(graph.exec, nullptr));
  CHECK(cudaDeviceSynchronize());
  tell_memory("launched again");
  if (!frees) {
    NOTE("  freed behind", cudaFreeAsync(graph.params.dptr, nullptr));
    CHECK(cudaDeviceSynchronize());
    tell_memory("freed behind");
  }
  CHECK(cudaDeviceGraphMemTrim(0));
  tell_memory("trimmed");
  CHECK(cudaGraphLaunch(graph.exec, nullptr));
  CHECK(cudaDeviceSynchronize());
  tell_memory("launched once more");
  if (!frees) CHECK(cudaFree(graph.params.dptr));
  CHECK(cudaGraphExecDestroy(graph.exec));
  tell_memory("instance destroyed");
  CHECK(cudaGraphDestroy(graph.graph));
  tell_memory("graph destroyed");
  CHECK(cudaDeviceGraphMemTrim(0));
  tell_memory("trimmed");
  reset_most();
  tell_memory("reset");
}

constexpr std::size_t kMiB = 1 << 20;

void graph_memory() {
  tell_memory("nothing");
  for (const bool frees : {true, false}) {
    life({1}, frees);
    life({kMiB}, frees);
    life({33 * kMiB}, frees);
  }
  life({kMiB, 2 * kMiB, kMiB}, true);
  life({20 * kMiB, 20 * kMiB}, true);
}

/// Two instances that are not launched at the same time share what they take.
void graphs_in_turn() {
  Taker one = taker({20 * kMiB}, true), other = taker({40 * kMiB}, true);
  CHECK(cudaGraphInstantiate(&one.exec, one.graph, 0));
  CHECK(cudaGraphInstantiate(&other.exec, other.graph, 0));
  CHECK(cudaGraphLaunch(one.exec, nullptr));
  CHECK(cudaDeviceSynchronize());
  tell_memory("one");
  CHECK(cudaGraphLaunch(other.exec, nullptr));
  CHECK(cudaDeviceSynchronize());
  tell_memory("other");
  CHECK(cudaGraphLaunch(one.exec, nullptr));
  CHECK(cudaGraphLaunch(other.exec, nullptr));
  CHECK(cudaDeviceSynchronize());
  tell_memory("both");
  CHECK(cudaGraphExecDestroy(one.exec));
  CHECK(cudaDeviceGraphMemTrim(0));
  tell_memory("one destroyed");
  CHECK(cudaGraphExecDestroy(other.exec));
  CHECK(cudaDeviceGraphMemTrim(0));
  tell_memory("both destroyed");
}

/// What is not freed stays taken, beside what other instances need.
void graphs_that_keep() {
  Taker one = taker({kMiB}, false), other = taker({2 * kMiB}, false);
  Taker large = taker({40 * kMiB}, false);
  for (Taker* each : {&one, &other, &large}) {
    CHECK(cudaGraphInstantiate(&each->exec, each->graph, 0));
    CHECK(cudaGraphLaunch(each->exec, nullptr));
    CHECK(cudaDeviceSynchronize());
    tell_memory("launched");
  }
  CHECK(cudaDeviceGraphMemTrim(0));
  tell_memory("trimmed");
  NOTE("freed", cudaFree(one.params.dptr));
  CHECK(cudaDeviceGraphMemTrim(0));
  tell_memory("one freed");
  NOTE("freed", cudaFree(large.params.dptr));
  CHECK(cudaGraphExecDestroy(other.exec));
  CHECK(cudaGraphDestroy(other.graph));
  CHECK(cudaDeviceGraphMemTrim(0));
  tell_memory("another destroyed");
  NOTE("freed", cudaFree(other.params.dptr));
  CHECK(cudaDeviceGraphMemTrim(0));
  tell_memory("all freed");
}

/// Sizes that are taken beside each other, not one after the other.
void graph_of_branches() {
  Taker made;
  CHECK(cudaGraphCreate(&made.graph, 0));
  for (const std::size_t bytes : {20 * kMiB, 20 * kMiB, 30 * kMiB}) {
    made.params = {};
    made.params.bytesize = bytes;
    made.params.poolProps.allocType = cudaMemAllocationTypePinned;
    made.params.poolProps.location.type = cudaMemLocationTypeDevice;
    cudaGraphNode_t take = nullptr, free = nullptr;
    CHECK(cudaGraphAddMemAllocNode(&take, made.graph, nullptr, 0, &made.params));
    CHECK(cudaGraphAddMemFreeNode(&free, made.graph, &take, 1, made.params.dptr));
  }
  CHECK(cudaGraphInstantiate(&made.exec, made.graph, 0));
  CHECK(cudaGraphLaunch(made.exec, nullptr));
  CHECK(cudaDeviceSynchronize());
  tell_memory("launched");
}

void CUDART_CB destroyed(void* p) { ++*static_cast<int*>(p); }

struct Held {
  cudaUserObject_t object = nullptr;
  int count = 0;
};

void make_object(Held& held, unsigned references) {
  CHECK(cudaUserObjectCreate(&held.object, &held.count, destroyed, references,
                             cudaUserObjectNoDestructorSync));
}

void tell_destroyed(const Held& held) { std::printf("  destroyed %d times\n", held.count); }

void objects_of_graphs() {
  static Held held[2];
  cudaGraph_t graph = nullptr, copy = nullptr;
  CHECK(cudaGraphCreate(&graph, 0));
  make_object(held[0], 2);
  TELL(cudaGraphRetainUserObject(graph, held[0].object, 1, 0));
  TELL(cudaUserObjectRelease(held[0].object, 2));
  tell_destroyed(held[0]);
  TELL(cudaUserObjectRetain(held[0].object, 1));
  TELL(cudaGraphReleaseUserObject(graph, held[0].object, 1));
  tell_destroyed(held[0]);
  TELL(cudaUserObjectRelease(held[0].object, 1));
  tell_destroyed(held[0]);
  make_object(held[1], 1);
  TELL(cudaGraphRetainUserObject(graph, held[1].object, 1, cudaGraphUserObjectMove));
  TELL(cudaGraphClone(&copy, graph));
  TELL(cudaGraphReleaseUserObject(graph, held[1].object, 1));
  tell_destroyed(held[1]);
  TELL(cudaGraphReleaseUserObject(copy, held[1].object, 1));
  tell_destroyed(held[1]);
  TELL(cudaGraphDestroy(copy));
  TELL(cudaGraphDestroy(graph));
  for (const Held& each : held) tell_destroyed(each);
}

/// References that the graph does not have. More than there are end the process.
void others_references() {
  static Held held[2];
  cudaGraph_t graph = nullptr, other = nullptr;
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaGraphCreate(&other, 0));
  make_object(held[0], 2);
  TELL(cudaGraphReleaseUserObject(other, held[0].object, 1));
  tell_destroyed(held[0]);
  make_object(held[1], 4);
  TELL(cudaGraphRetainUserObject(graph, held[1].object, 1, cudaGraphUserObjectMove));
  TELL(cudaGraphReleaseUserObject(other, held[1].object, 1));
  TELL(cudaGraphReleaseUserObject(graph, held[1].object, 2));
  tell_destroyed(held[1]);
  TELL(cudaUserObjectRelease(held[1].object, 1));
  tell_destroyed(held[1]);
}

void prefetches() {
  void *m = nullptr, *d = nullptr;
  CHECK(cudaMallocManaged(&m, 8192));
  CHECK(cudaMalloc(&d, 8192));
  const auto ask = [](const char* what, void* p, std::size_t bytes) {
    for (int type = 0; type < 6; ++type)
      for (const int id : {0, 2, -1}) {
        const cudaMemLocation place{static_cast<cudaMemLocationType>(type), id};
        char line[80];
        std::snprintf(line, sizeof line, "%s, type %d, id %d", what, type, id);
        NOTE(line, cudaMemPrefetchAsync(p, bytes, place, 0, nullptr));
        // An H100 takes advice about the host's nodes on any memory, and on none.
        if ((type == 3 || type == 4) && std::strcmp(what, "managed memory") != 0) continue;
        std::snprintf(line, sizeof line, "advice on %s, type %d, id %d", what, type, id);
        NOTE(line, cudaMemAdvise(p, bytes, cudaMemAdviseSetPreferredLocation, place));
      }
  };
  ask("null, no bytes", nullptr, 0);
  ask("null", nullptr, 4096);
  ask("no bytes", m, 0);
  ask("managed memory", m, 4096);
  ask("memory of cudaMalloc", d, 4096);
  NOTE("flags", cudaMemPrefetchAsync(nullptr, 0, {cudaMemLocationTypeDevice, 9}, 1, nullptr));
}

void launches() {
  int* p = nullptr;
  int value = 1;
  void* arguments[] = {&p, &value};
  struct Shape {
    dim3 grid, block;
    std::size_t shared;
  };
  const Shape kShapes[] = {{{0, 1, 1}, {32, 1, 1}, 0},      {{1, 0, 1}, {32, 1, 1}, 0},
                           {{1, 1, 0}, {32, 1, 1}, 0},      {{1, 1, 1}, {0, 1, 1}, 0},
                           {{1, 1, 1}, {1, 0, 1}, 0},       {{1, 1, 1}, {1, 1, 0}, 0},
                           {{0, 1, 1}, {0, 1, 1}, 0},       {{1, 65536, 1}, {1, 1, 1}, 0},
                           {{0x80000000u, 1, 1}, {1, 1, 1}, 0}, {{1, 1, 1}, {1, 1, 65}, 0},
                           {{1, 1, 1}, {1, 1, 1}, 1 << 20}, {{0, 1, 1}, {1, 1, 1}, 1 << 20},
                           {{1, 1, 1}, {2048, 1, 1}, 1 << 20}};
  for (const Shape& each : kShapes) {
    char line[100];
    const auto name = [&](const char* what) {
      std::snprintf(line, sizeof line, "%s, (%u, %u, %u) of (%u, %u, %u), %zu bytes", what,
                    each.grid.x, each.grid.y, each.grid.z, each.block.x, each.block.y,
                    each.block.z, each.shared);
      return line;
    };
    nothing<<<each.grid, each.block, each.shared>>>();
    const cudaError_t code = cudaGetLastError();
    std::printf("%-72s %s\n", name("by the language"), cudaGetErrorName(code));
    NOTE(name("launch"), cudaLaunchKernel(reinterpret_cast<const void*>(nothing), each.grid,
                                          each.block, arguments, each.shared, nullptr));
    NOTE(name("cooperative"),
         cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(nothing), each.grid, each.block,
                                     arguments, each.shared, nullptr));
    cudaLaunchConfig_t config{};
    config.gridDim = each.grid;
    config.blockDim = each.block;
    config.dynamicSmemBytes = each.shared;
    NOTE(name("by a configuration"),
         cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(nothing), arguments));
  }
}

constexpr Group kGroups[] = {{"graph_memory", graph_memory},
                             {"graphs_in_turn", graphs_in_turn},
                             {"graphs_that_keep", graphs_that_keep},
                             {"graph_of_branches", graph_of_branches},
                             {"objects_of_graphs", objects_of_graphs},
                             {"others_references", others_references},
                             {"prefetches", prefetches},
                             {"launches", launches}};

}  // namespace

int main(int argc, char** argv) { return run_group(kGroups, argc, argv); }
