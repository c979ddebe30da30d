// Work in a stream of one context with objects of another, captured and in graphs too; captures
// whose context is destroyed; and attributes of addresses that CUDA does not know. NVIDIA's driver
// crashes for graphs whose kernels', fills', copies' or events' context is destroyed.
#include <functional>
#include <string>

#include "driver.cuh"

namespace {

const char* kText =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .entry put(.param .u64 p, .param .u32 v)\n{\n.reg .b64 %rd<2>;\n.reg .b32 %r<2>;\n"
    "ld.param.u64 %rd1, [p];\nld.param.u32 %r1, [v];\nst.global.u32 [%rd1], %r1;\nret;\n}\n";

#define DO(function, arguments)                                                                 \
  if (CUresult code = driver_function<decltype(&function)>(#function) arguments;                \
      code != CUDA_SUCCESS)                                                                     \
  std::printf(#function " failed: %s\n", driver_name(code))
#define SAY(what, function, arguments) \
  tell_driver(what, driver_function<decltype(&function)>(#function) arguments)

/// A context with one object of each kind.
struct Home {
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction put = nullptr;
  CUstream stream = nullptr;
  CUdeviceptr memory = 0;
  CUevent event = nullptr;
};

void become(const Home& home) { DO(cuCtxSetCurrent, (home.context)); }

Home make_home() {
  Home home;
  CUdevice device = 0;
  DO(cuDeviceGet, (&device, 0));
  DO(cuCtxCreate, (&home.context, nullptr, 0, device));
  DO(cuModuleLoadData, (&home.module, kText));
  DO(cuModuleGetFunction, (&home.put, home.module, "put"));
  DO(cuStreamCreate, (&home.stream, CU_STREAM_NON_BLOCKING));
  DO(cuMemAlloc, (&home.memory, 64));
  DO(cuMemsetD8, (home.memory, 0, 64));
  DO(cuEventCreate, (&home.event, CU_EVENT_DEFAULT));
  return home;
}

/// Arguments of `put`, which stores 7.
struct Arguments {
  CUdeviceptr p;
  unsigned v = 7;
  void* list[2] = {&p, &v};
  explicit Arguments(CUdeviceptr to) : p(to) {}
};

CUresult launch(CUfunction function, CUdeviceptr to, CUstream stream) {
  Arguments arguments(to);
  return DRIVER(cuLaunchKernel)(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments.list, nullptr);
}

void show_word(const Home& home, const char* what) {
  unsigned word = 0;
  become(home);
  DO(cuCtxSynchronize, ());
  DO(cuMemcpyDtoH, (&word, home.memory, 4));
  std::printf("%s: %u\n", what, word);
  DO(cuMemsetD8, (home.memory, 0, 64));
}

std::string with(const char* what, const char* then) { return std::string(what) + then; }

/// Ends a capture, launches what it made, and names the nodes' number.
void finish(const char* what, CUstream stream) {
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  SAY(with(what, ": end").c_str(), cuStreamEndCapture, (stream, &graph));
  if (!graph) return;
  std::size_t nodes = 0;
  DO(cuGraphGetNodes, (graph, nullptr, &nodes));
  std::printf("%s: %zu nodes\n", what, nodes);
  SAY(with(what, ": instance").c_str(), cuGraphInstantiate, (&exec, graph, 0));
  if (exec) SAY(with(what, ": launch").c_str(), cuGraphLaunch, (exec, stream));
  SAY(with(what, ": wait").c_str(), cuStreamSynchronize, (stream));
}

void launches() {
  const Home other = make_home(), own = make_home();
  for (const bool home : {true, false}) {
    become(home ? own : other);
    const char* where = home ? "the stream's context is current" : "the function's is";
    std::printf("%s\n", where);
    tell_driver("another's function", launch(other.put, other.memory, own.stream));
    tell_driver("another's function, no stream", launch(other.put, other.memory, nullptr));
    tell_driver("own function, no stream", launch(own.put, own.memory, nullptr));
    SAY("another's event", cuEventRecord, (other.event, own.stream));
    SAY("wait for another's event", cuStreamWaitEvent, (own.stream, other.event, 0));
    SAY("its stream", cuStreamSynchronize, (own.stream));
    SAY("host function", cuLaunchHostFunc, (own.stream, [](void*) {}, nullptr));
    SAY("free", cuMemFreeAsync, (0, own.stream));
  }
}

/// `call` alone in a capture of own's stream, with either context current.
void within(const char* what, const Home& own, const Home& other,
            const std::function<CUresult()>& call) {
  for (const bool home : {true, false}) {
    become(home ? own : other);
    std::printf("-- %s, %s current\n", what, home ? "the stream's" : "another");
    SAY("begin", cuStreamBeginCapture, (own.stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    tell_driver(what, call());
    CUstreamCaptureStatus status{};
    SAY("status", cuStreamIsCapturing, (own.stream, &status));
    std::printf("status %d\n", status);
    finish(what, own.stream);
    show_word(own, "own");
    show_word(other, "other");
  }
}

void captures() {
  const Home other = make_home(), own = make_home();
  const auto ask = [&](const char* what, const std::function<CUresult()>& call) {
    within(what, own, other, call);
  };
  ask("own function", [&] { return launch(own.put, own.memory, own.stream); });
  ask("another's function", [&] { return launch(other.put, other.memory, own.stream); });
  ask("another's function, own memory",
      [&] { return launch(other.put, own.memory, own.stream); });
  ask("record of another's event", [&] { return DRIVER(cuEventRecord)(other.event, own.stream); });
  ask("external record of another's event", [&] {
    return DRIVER(cuEventRecordWithFlags)(other.event, own.stream, CU_EVENT_RECORD_EXTERNAL);
  });
  ask("external wait for another's event", [&] {
    return DRIVER(cuStreamWaitEvent)(own.stream, other.event, CU_EVENT_WAIT_EXTERNAL);
  });
  ask("another's stream that joins", [&] {
    const auto record = DRIVER(cuEventRecord);
    const auto wait = DRIVER(cuStreamWaitEvent);
    tell_driver("  record", record(own.event, own.stream));
    tell_driver("  wait", wait(other.stream, own.event, 0));
    become(other);
    tell_driver("  launch", launch(other.put, other.memory, other.stream));
    tell_driver("  record", record(other.event, other.stream));
    return wait(own.stream, other.event, 0);
  });
}

CUDA_KERNEL_NODE_PARAMS kernel_params(const Home& home, Arguments& arguments, CUcontext context) {
  CUDA_KERNEL_NODE_PARAMS params{};
  params.func = home.put;
  params.gridDimX = params.gridDimY = params.gridDimZ = 1;
  params.blockDimX = params.blockDimY = params.blockDimZ = 1;
  params.kernelParams = arguments.list;
  params.ctx = context;
  return params;
}

/// A graph whose node is `add`ed with own's context current.
void built(const char* what, const Home& own, const Home& other,
           const std::function<CUresult(CUgraph, CUgraphNode*)>& add) {
  std::printf("-- %s\n", what);
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec exec = nullptr;
  become(own);
  DO(cuGraphCreate, (&graph, 0));
  const CUresult code = add(graph, &node);
  tell_driver("node", code);
  if (code != CUDA_SUCCESS) return;
  for (const bool home : {true, false}) {
    become(home ? own : other);
    SAY("instance", cuGraphInstantiate, (&exec, graph, 0));
    for (const Home* each : {&own, &other})
      for (const bool current : {true, false}) {
        become(current ? own : other);
        SAY(with(each == &own ? "in own stream, " : "in another's stream, ",
                 current ? "own current" : "another current")
                .c_str(),
            cuGraphLaunch, (exec, each->stream));
        show_word(own, "own");
        show_word(other, "other");
      }
  }
}

void nodes() {
  const Home other = make_home(), own = make_home();
  Arguments here(own.memory), there(other.memory);
  const auto kernel_of = [&](CUcontext context) {
    return [&other, &there, context](CUgraph graph, CUgraphNode* node) {
      const auto params = kernel_params(other, there, context);
      return DRIVER(cuGraphAddKernelNode)(node, graph, nullptr, 0, &params);
    };
  };
  built("kernel, no context", own, other, kernel_of(nullptr));
  built("kernel, own", own, other, kernel_of(own.context));
  built("kernel, another", own, other, kernel_of(other.context));
  built("two kernels", own, other, [&](CUgraph graph, CUgraphNode* node) {
    auto params = kernel_params(own, here, nullptr);
    const CUresult code = DRIVER(cuGraphAddKernelNode)(node, graph, nullptr, 0, &params);
    if (code != CUDA_SUCCESS) return code;
    const CUgraphNode first = *node;
    params = kernel_params(other, there, other.context);
    return DRIVER(cuGraphAddKernelNode)(node, graph, &first, 1, &params);
  });
  built("record of another's event", own, other, [&](CUgraph graph, CUgraphNode* node) {
    return DRIVER(cuGraphAddEventRecordNode)(node, graph, nullptr, 0, other.event);
  });
}

/// A graph whose kernel's module is gone.
void unloaded() {
  const Home own = make_home();
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec exec = nullptr;
  DO(cuGraphCreate, (&graph, 0));
  Arguments arguments(own.memory);
  const auto params = kernel_params(own, arguments, nullptr);
  SAY("node", cuGraphAddKernelNode, (&node, graph, nullptr, 0, &params));
  SAY("instance", cuGraphInstantiate, (&exec, graph, 0));
  SAY("unloaded", cuModuleUnload, (own.module));
  SAY("launch", cuGraphLaunch, (exec, own.stream));
  SAY("wait", cuStreamSynchronize, (own.stream));
  SAY("instance's end", cuGraphExecDestroy, (exec));
  SAY("graph's end", cuGraphDestroy, (graph));
}

/// Contexts that are destroyed while their streams capture.
void unfinished() {
  for (const auto mode : {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                          CU_STREAM_CAPTURE_MODE_RELAXED}) {
    const Home other = make_home();
    DO(cuStreamBeginCapture, (other.stream, mode));
    SAY("destroyed", cuCtxDestroy, (other.context));
    const Home own = make_home();
    CUdeviceptr memory = 0;
    SAY("allocation", cuMemAlloc, (&memory, 64));
    SAY("the context", cuCtxSynchronize, ());
  }
}

/// One that is destroyed when a stream of it has joined another's capture.
void joined() {
  const Home other = make_home(), own = make_home();
  CUstreamCaptureStatus status{};
  CUgraph graph = nullptr;
  DO(cuStreamBeginCapture, (own.stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  SAY("record", cuEventRecord, (own.event, own.stream));
  SAY("wait", cuStreamWaitEvent, (other.stream, own.event, 0));
  SAY("destroyed", cuCtxDestroy, (other.context));
  SAY("status", cuStreamIsCapturing, (own.stream, &status));
  std::printf("status %d\n", status);
  SAY("end", cuStreamEndCapture, (own.stream, &graph));
}

void events() {
  const Home other = make_home(), own = make_home();
  float time = 0;
  for (const bool home : {true, false}) {
    become(home ? own : other);
    std::printf("-- %s current\n", home ? "own" : "another");
    SAY("record of another's", cuEventRecord, (other.event, own.stream));
    SAY("record of another's, flags", cuEventRecordWithFlags, (other.event, own.stream, 0));
    SAY("external record", cuEventRecordWithFlags, (other.event, own.stream, 1));
    SAY("another's, no stream", cuEventRecord, (other.event, nullptr));
    SAY("own, no stream", cuEventRecord, (own.event, nullptr));
    SAY("another's in its stream", cuEventRecord, (other.event, other.stream));
    SAY("own in its stream", cuEventRecord, (own.event, own.stream));
    SAY("another's is awaited", cuEventSynchronize, (other.event));
    SAY("own is awaited", cuEventSynchronize, (own.event));
    SAY("another's is asked", cuEventQuery, (other.event));
    SAY("between them", cuEventElapsedTime, (&time, other.event, own.event));
    SAY("and back", cuEventElapsedTime, (&time, own.event, other.event));
    SAY("a stream waits", cuStreamWaitEvent, (own.stream, other.event, 0));
  }
  become(own);
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec exec = nullptr;
  DO(cuGraphCreate, (&graph, 0));
  SAY("record node", cuGraphAddEventRecordNode, (&node, graph, nullptr, 0, own.event));
  SAY("instance", cuGraphInstantiate, (&exec, graph, 0));
  SAY("another's in it", cuGraphExecEventRecordNodeSetEvent, (exec, node, other.event));
  SAY("launch", cuGraphLaunch, (exec, own.stream));
  SAY("wait", cuStreamSynchronize, (own.stream));
}

/// No memory is freed, in a capture too.
void nothing() {
  const Home own = make_home();
  CUgraph graph = nullptr;
  SAY("free", cuMemFreeAsync, (0, own.stream));
  SAY("free, no stream", cuMemFreeAsync, (0, nullptr));
  DO(cuStreamBeginCapture, (own.stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  SAY("free in a capture", cuMemFreeAsync, (0, own.stream));
  SAY("end", cuStreamEndCapture, (own.stream, &graph));
  std::size_t nodes = 9;
  DO(cuGraphGetNodes, (graph, nullptr, &nodes));
  std::printf("%zu nodes\n", nodes);
}

/// Attributes of an address: what of 64 bits is written, and that.
void show_attributes(const char* what, CUdeviceptr address) {
  constexpr unsigned long long kBefore = 0x5555555555555555;
  for (int each = 1; each <= 21; ++each) {
    if (each == CU_POINTER_ATTRIBUTE_P2P_TOKENS) continue;
    unsigned long long words[4] = {kBefore, kBefore};
    auto attribute = static_cast<CUpointer_attribute>(each);
    void* data[] = {words};
    const CUresult code = DRIVER(cuPointerGetAttributes)(1, &attribute, data, address);
    const bool half = words[0] >> 32 == kBefore >> 32;
    std::string text = "other";
    if (words[0] == 0) text = "0";
    if (words[0] == address && address) text = "the address";
    if (half) text = "word " + std::to_string(static_cast<int>(words[0]));
    if (words[0] == kBefore) text = "nothing";
    std::printf("%s %d: %s %s\n", what, each, driver_name(code), text.c_str());
  }
}

void addresses() {
  const Home own = make_home();
  char unknown[64] = {};
  show_attributes("unknown", reinterpret_cast<CUdeviceptr>(unknown));
  show_attributes("null", 0);
  for (const int each : {CU_POINTER_ATTRIBUTE_HOST_POINTER, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                         CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_MAPPED}) {
    unsigned long long word = 0x5555555555555555;
    auto attribute = static_cast<CUpointer_attribute>(each);
    void* data[] = {&word};
    DO(cuPointerGetAttributes, (1, &attribute, data, own.memory));
    std::printf("device's %d: %llx\n", each, word);
  }
}

constexpr Group kGroups[] = {
    {"launches", launches},     {"captures", captures}, {"nodes", nodes},   {"unloaded", unloaded},
    {"unfinished", unfinished}, {"joined", joined},     {"events", events}, {"nothing", nothing},
    {"addresses", addresses}};

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IONBF, 0);
  for (const auto& each : kGroups) {
    if (argc == 1) std::printf("%s\n", each.name);
    if (argc != 2 || std::strcmp(each.name, argv[1]) != 0) continue;
    DO(cuInit, (0));
    each.run();
  }
}
