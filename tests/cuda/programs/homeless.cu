// What the driver's functions answer in a thread without a current context, and in one where
// another is current than that of the object: each object is made in a context of its own first.
#include <functional>
#include <thread>

#include "driver.cuh"

namespace {

const char* kText =
    ".version 7.0\n.target sm_52\n.address_size 64\n.visible .global .align 4 .u32 v;\n"
    ".visible .global .texref t;\n.visible .entry k()\n{\nret;\n}\n";

CUcontext own = nullptr, other = nullptr;

void become(CUcontext context) {
  static const auto set = DRIVER(cuCtxSetCurrent);
  if (set(context) != CUDA_SUCCESS) std::printf("no context\n");
}

/// The answer in a new thread where `context` is current, if there is one.
CUresult answer(CUcontext context, const std::function<CUresult()>& call) {
  CUresult code = CUDA_SUCCESS;
  std::thread([&] {
    if (context) become(context);
    code = call();
  }).join();
  return code;
}

void need(CUresult code, const char* what) {
  if (code != CUDA_SUCCESS) std::printf("%s failed: %s\n", what, driver_name(code));
}

/// `prepare` in the object's context, then the function in both kinds of thread.
#define ASK(prepare, function, arguments)                                                \
  {                                                                                      \
    const auto f = driver_function<decltype(&function)>(#function);                      \
    CUresult codes[2];                                                                   \
    for (int i = 0; i < 2; ++i) {                                                        \
      become(own);                                                                       \
      prepare;                                                                           \
      codes[i] = answer(i ? other : nullptr, [&] { return f arguments; });               \
    }                                                                                    \
    tell_both(#function, codes);                                                         \
  }
/// A step of a preparation.
#define DO(function, arguments) \
  need(driver_function<decltype(&function)>(#function) arguments, #function)

void tell_both(const char* what, const CUresult (&codes)[2]) {
  std::printf("%-34s %-34s %s\n", what, driver_name(codes[0]), driver_name(codes[1]));
  std::fflush(stdout);
}

CUDA_ARRAY3D_DESCRIPTOR square() {
  CUDA_ARRAY3D_DESCRIPTOR desc{};
  desc.Width = desc.Height = 16;
  desc.Format = CU_AD_FORMAT_UNSIGNED_INT32;
  desc.NumChannels = 1;
  desc.Flags = CUDA_ARRAY3D_SURFACE_LDST;
  return desc;
}

CUarray make_array() {
  CUarray array = nullptr;
  const auto desc = square();
  DO(cuArray3DCreate, (&array, &desc));
  return array;
}

CUDA_RESOURCE_DESC over(CUarray array) {
  CUDA_RESOURCE_DESC resource{};
  resource.resType = CU_RESOURCE_TYPE_ARRAY;
  resource.res.array.hArray = array;
  return resource;
}

void arrays() {
  CUarray array = nullptr;
  auto desc = square();
  CUDA_ARRAY_DESCRIPTOR flat{};
  CUmipmappedArray mipmap = nullptr;
  CUarray level = nullptr;
  const auto made = [&] { DO(cuMipmappedArrayCreate, (&mipmap, &desc, 2)); };
  ASK(, cuArray3DCreate, (&array, &desc));
  ASK(, cuMipmappedArrayCreate, (&mipmap, &desc, 2));
  ASK(array = make_array(), cuArray3DGetDescriptor, (&desc, array));
  ASK(array = make_array(), cuArrayGetDescriptor, (&flat, array));
  ASK(array = make_array(), cuArrayDestroy, (array));
  ASK(made(), cuMipmappedArrayGetLevel, (&level, mipmap, 1));
  ASK(made(), cuMipmappedArrayDestroy, (mipmap));
}

void objects() {
  CUtexObject texture = 0;
  CUsurfObject surface = 0;
  CUtexref reference = nullptr;
  CUarray array = nullptr;
  CUDA_RESOURCE_DESC resource{};
  CUDA_TEXTURE_DESC desc{};
  const auto take = [&] { resource = over(array = make_array()); };
  const auto read = [&] {
    take();
    DO(cuTexObjectCreate, (&texture, &resource, &desc, nullptr));
  };
  const auto write = [&] {
    take();
    DO(cuSurfObjectCreate, (&surface, &resource));
  };
  const auto refer = [&] { DO(cuTexRefCreate, (&reference)); };
  ASK(take(), cuTexObjectCreate, (&texture, &resource, &desc, nullptr));
  ASK(read(), cuTexObjectGetResourceDesc, (&resource, texture));
  ASK(read(), cuTexObjectGetTextureDesc, (&desc, texture));
  ASK(read(), cuTexObjectDestroy, (texture));
  ASK(take(), cuSurfObjectCreate, (&surface, &resource));
  ASK(write(), cuSurfObjectGetResourceDesc, (&resource, surface));
  ASK(write(), cuSurfObjectDestroy, (surface));
  ASK(, cuTexRefCreate, (&reference));
  ASK(refer(), cuTexRefSetFlags, (reference, 0));
  ASK((refer(), take()), cuTexRefSetArray, (reference, array, CU_TRSA_OVERRIDE_FORMAT));
  ASK(refer(), cuTexRefDestroy, (reference));
}

void streams() {
  CUstream stream = nullptr;
  unsigned flags = 0;
  int priority = 0;
  unsigned long long id = 0;
  CUcontext context = nullptr;
  CUevent event = nullptr;
  CUstreamCaptureStatus status{};
  CUgraph graph = nullptr;
  const auto take = [&] { DO(cuStreamCreate, (&stream, CU_STREAM_NON_BLOCKING)); };
  const auto both = [&] {
    take();
    DO(cuEventCreate, (&event, CU_EVENT_DEFAULT));
  };
  const auto capture = [&] {
    take();
    DO(cuStreamBeginCapture, (stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  };
  ASK(, cuStreamCreate, (&stream, CU_STREAM_NON_BLOCKING));
  ASK(take(), cuStreamGetFlags, (stream, &flags));
  ASK(take(), cuStreamGetPriority, (stream, &priority));
  ASK(take(), cuStreamGetId, (stream, &id));
  ASK(take(), cuStreamGetCtx, (stream, &context));
  ASK(take(), cuStreamIsCapturing, (stream, &status));
  ASK(take(), cuStreamQuery, (stream));
  ASK(take(), cuStreamSynchronize, (stream));
  ASK(both(), cuStreamWaitEvent, (stream, event, 0));
  ASK(take(), cuStreamBeginCapture, (stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  ASK(capture(), cuStreamEndCapture, (stream, &graph));
  ASK(take(), cuLaunchHostFunc, (stream, [](void*) {}, nullptr));
  ASK(take(), cuStreamDestroy, (stream));
  ASK(, cuStreamQuery, (nullptr));
  ASK(, cuStreamSynchronize, (nullptr));
}

void events() {
  CUevent event = nullptr, second = nullptr;
  CUstream stream = nullptr;
  float time = 0;
  const auto take = [&] { DO(cuEventCreate, (&event, CU_EVENT_DEFAULT)); };
  const auto put = [&] {
    take();
    DO(cuStreamCreate, (&stream, CU_STREAM_NON_BLOCKING));
    DO(cuEventRecord, (event, stream));
    DO(cuStreamSynchronize, (stream));
  };
  ASK(, cuEventCreate, (&event, CU_EVENT_DEFAULT));
  ASK(put(), cuEventRecord, (event, stream));
  ASK(put(), cuEventQuery, (event));
  ASK(put(), cuEventSynchronize, (event));
  ASK((put(), second = event, put()), cuEventElapsedTime, (&time, second, event));
  ASK(take(), cuEventDestroy, (event));
}

void memory() {
  CUdeviceptr p = 0, q = 0;
  void* h = nullptr;
  std::size_t bytes = 0, total = 0;
  unsigned flags = 0, word = 0;
  CUstream stream = nullptr;
  alignas(4096) static char pages[4][4096];
  char* page = pages[0];
  CUcontext context = nullptr;
  const auto take = [&] { DO(cuMemAlloc, (&p, 4096)); };
  const auto pin = [&] { DO(cuMemHostAlloc, (&h, 4096, CU_MEMHOSTALLOC_DEVICEMAP)); };
  const auto flow = [&] {
    take();
    DO(cuStreamCreate, (&stream, CU_STREAM_NON_BLOCKING));
  };
  const auto in_order = [&] {
    flow();
    DO(cuMemAllocAsync, (&p, 4096, stream));
  };
  ASK(, cuMemAlloc, (&p, 64));
  ASK(, cuMemAllocManaged, (&p, 64, CU_MEM_ATTACH_GLOBAL));
  ASK(, cuMemHostAlloc, (&h, 64, 0));
  ASK(, cuMemGetInfo, (&bytes, &total));
  ASK(take(), cuMemGetAddressRange, (&q, &bytes, p));
  ASK(take(), cuPointerGetAttribute, (&context, CU_POINTER_ATTRIBUTE_CONTEXT, p));
  ASK(take(), cuMemsetD8, (p, 1, 64));
  ASK(flow(), cuMemsetD8Async, (p, 1, 64, stream));
  ASK(take(), cuMemcpyHtoD, (p, &word, 4));
  ASK(take(), cuMemcpyDtoH, (&word, p, 4));
  ASK(flow(), cuMemcpyHtoDAsync, (p, &word, 4, stream));
  ASK(flow(), cuMemAllocAsync, (&p, 64, stream));
  ASK(in_order(), cuMemFreeAsync, (p, stream));
  ASK(take(), cuMemFree, (p));
  ASK(, cuMemFree, (0));
  ASK(pin(), cuMemHostGetFlags, (&flags, h));
  ASK(pin(), cuMemHostGetDevicePointer, (&p, h, 0));
  ASK(pin(), cuMemFreeHost, (h));
  ASK(page += 4096, cuMemHostRegister, (page, 4096, 0));
  page = pages[0];
  DO(cuMemHostRegister, (page, 4096, 0));
  ASK((page += i * 3 * 4096, i ? DO(cuMemHostRegister, (page, 4096, 0)) : void()),
      cuMemHostUnregister, (page));
}

void pools() {
  CUmemoryPool pool = nullptr;
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  std::uint64_t value = 0;
  const auto take = [&] { DO(cuMemPoolCreate, (&pool, &props)); };
  ASK(, cuMemPoolCreate, (&pool, &props));
  ASK(take(), cuMemPoolGetAttribute, (pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &value));
  ASK(take(), cuMemPoolTrimTo, (pool, 0));
  ASK(take(), cuMemPoolDestroy, (pool));
}

void mappings() {
  CUmemAllocationProp props{};
  props.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  std::size_t granularity = 0;
  const std::size_t bytes = std::size_t{2} << 20;
  CUdeviceptr at = 0;
  CUmemGenericAllocationHandle handle{};
  CUmemAccessDesc access{props.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  const auto map = [&] {
    DO(cuMemAddressReserve, (&at, bytes, 0, 0, 0));
    DO(cuMemCreate, (&handle, bytes, &props, 0));
    DO(cuMemMap, (at, bytes, 0, handle, 0));
  };
  ASK(, cuMemGetAllocationGranularity, (&granularity, &props, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  ASK(, cuMemAddressReserve, (&at, bytes, 0, 0, 0));
  ASK(, cuMemCreate, (&handle, bytes, &props, 0));
  ASK((DO(cuMemAddressReserve, (&at, bytes, 0, 0, 0)),
       DO(cuMemCreate, (&handle, bytes, &props, 0))),
      cuMemMap, (at, bytes, 0, handle, 0));
  ASK(map(), cuMemSetAccess, (at, bytes, &access, 1));
  ASK(map(), cuMemUnmap, (at, bytes));
  ASK(DO(cuMemCreate, (&handle, bytes, &props, 0)), cuMemRelease, (handle));
  ASK(DO(cuMemAddressReserve, (&at, bytes, 0, 0, 0)), cuMemAddressFree, (at, bytes));
}

void modules() {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CUdeviceptr p = 0;
  std::size_t bytes = 0;
  CUtexref reference = nullptr;
  CUstream stream = nullptr;
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  CUlinkState link = nullptr;
  int value = 0;
  const char* name = nullptr;
  const auto take = [&] {
    DO(cuModuleLoadData, (&module, kText));
    DO(cuModuleGetFunction, (&function, module, "k"));
  };
  const auto flow = [&] {
    take();
    DO(cuStreamCreate, (&stream, CU_STREAM_NON_BLOCKING));
  };
  const auto open = [&] {
    DO(cuLibraryLoadData, (&library, kText, nullptr, nullptr, 0, nullptr, nullptr, 0));
    DO(cuLibraryGetKernel, (&kernel, library, "k"));
  };
  ASK(, cuModuleLoadData, (&module, kText));
  ASK(take(), cuModuleGetFunction, (&function, module, "k"));
  ASK(take(), cuModuleGetGlobal, (&p, &bytes, module, "v"));
  ASK(take(), cuModuleGetTexRef, (&reference, module, "t"));
  ASK(take(), cuFuncGetAttribute, (&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
  ASK(take(), cuFuncSetAttribute, (function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 64));
  ASK(take(), cuFuncSetCacheConfig, (function, CU_FUNC_CACHE_PREFER_L1));
  ASK(take(), cuFuncGetModule, (&module, function));
  ASK(take(), cuFuncGetName, (&name, function));
  ASK(take(), cuOccupancyMaxActiveBlocksPerMultiprocessor, (&value, function, 32, 0));
  ASK(take(), cuLaunchKernel, (function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  ASK(flow(), cuLaunchKernel, (function, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr));
  ASK(take(), cuModuleUnload, (module));
  ASK(, cuLibraryLoadData, (&library, kText, nullptr, nullptr, 0, nullptr, nullptr, 0));
  ASK(open(), cuLibraryGetKernel, (&kernel, library, "k"));
  ASK(open(), cuLibraryGetModule, (&module, library));
  ASK(open(), cuLibraryGetGlobal, (&p, &bytes, library, "v"));
  ASK(open(), cuKernelGetFunction, (&function, kernel));
  ASK(open(), cuKernelGetName, (&name, kernel));
  ASK(open(), cuKernelGetAttribute,
      (&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel, 0));
  ASK(open(), cuLibraryUnload, (library));
  ASK(, cuLinkCreate, (0, nullptr, nullptr, &link));
}

void graphs() {
  CUgraph graph = nullptr, copy = nullptr;
  CUgraphExec exec = nullptr;
  CUgraphNode node = nullptr;
  CUstream stream = nullptr;
  CUuserObject object = nullptr;
  const auto take = [&] {
    DO(cuGraphCreate, (&graph, 0));
    DO(cuGraphAddEmptyNode, (&node, graph, nullptr, 0));
  };
  const auto instantiate = [&] {
    take();
    DO(cuGraphInstantiate, (&exec, graph, 0));
    DO(cuStreamCreate, (&stream, CU_STREAM_NON_BLOCKING));
  };
  const auto own_object = [&] {
    DO(cuUserObjectCreate, (&object, nullptr, [](void*) {}, 2, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
  };
  ASK(, cuGraphCreate, (&graph, 0));
  ASK(take(), cuGraphAddEmptyNode, (&node, graph, nullptr, 0));
  ASK(take(), cuGraphClone, (&copy, graph));
  ASK(take(), cuGraphInstantiate, (&exec, graph, 0));
  ASK(instantiate(), cuGraphUpload, (exec, stream));
  ASK(instantiate(), cuGraphLaunch, (exec, stream));
  ASK(instantiate(), cuGraphExecDestroy, (exec));
  ASK(take(), cuGraphDestroyNode, (node));
  ASK(take(), cuGraphDestroy, (graph));
  ASK(, cuUserObjectCreate, (&object, nullptr, [](void*) {}, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
  ASK(own_object(), cuUserObjectRetain, (object, 1));
  ASK(own_object(), cuUserObjectRelease, (object, 1));
}

void contexts() {
  CUcontext made = nullptr;
  CUdevice device = 0;
  unsigned flags = 0;
  std::size_t value = 0;
  unsigned long long id = 0;
  unsigned version = 0;
  const auto take = [&] {
    DO(cuCtxCreate, (&made, nullptr, 0, 0));
    DO(cuCtxPopCurrent, (nullptr));
  };
  ASK(, cuCtxGetDevice, (&device));
  ASK(, cuCtxGetFlags, (&flags));
  ASK(, cuCtxGetLimit, (&value, CU_LIMIT_STACK_SIZE));
  ASK(, cuCtxSynchronize, ());
  ASK(take(), cuCtxGetId, (made, &id));
  ASK(take(), cuCtxGetApiVersion, (made, &version));
  ASK(, cuCtxGetApiVersion, (nullptr, &version));
  ASK(, cuCtxGetId, (nullptr, &id));
  ASK(take(), cuCtxDestroy, (made));
}

constexpr struct {
  const char* name;
  void (*run)();
} kGroups[] = {{"arrays", arrays},     {"objects", objects},   {"streams", streams},
               {"events", events},     {"memory", memory},     {"pools", pools},
               {"mappings", mappings}, {"modules", modules},   {"graphs", graphs},
               {"contexts", contexts}};

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IONBF, 0);
  for (const auto& each : kGroups) {
    if (argc == 1) std::printf("%s\n", each.name);
    if (argc != 2 || std::strcmp(each.name, argv[1]) != 0) continue;
    CUdevice device = 0;
    DO(cuInit, (0));
    DO(cuDeviceGet, (&device, 0));
    DO(cuDevicePrimaryCtxRetain, (&own, device));
    DO(cuCtxCreate, (&other, nullptr, 0, device));
    each.run();
  }
}
