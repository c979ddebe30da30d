/* A program of CUDA 12 as its compiler makes it, linked with libcudart.so.12: that version's
 * symbols, the layouts that programs of 12 pass, functions that 13 declares otherwise, and
 * functions that 12 has no more. What kernels write is compared with what was put there. */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "../runtime11/registration.h"

/* CUDA 12's structures, where 11 and 13 have others. */
typedef struct {
  int addressMode[3], filterMode, readMode, sRGB;
  float borderColor[4];
  int normalizedCoords;
  unsigned maxAnisotropy;
  int mipmapFilterMode;
  float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
  int disableTrilinearOptimization, seamlessCubemap;
} cudaTextureDesc;
typedef struct {
  int resType;
  union {
    cudaArray_t array;
    unsigned char room[56];
  } res;
} cudaResourceDesc;
typedef struct {
  size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
  int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA,
      maxDynamicSharedSizeBytes, preferredShmemCarveout, clusterDimMustBeSet, requiredClusterWidth,
      requiredClusterHeight, requiredClusterDepth, clusterSchedulingPolicyPreference,
      nonPortableClusterSizeAllowed, reserved[16];
} cudaFuncAttributes;
typedef struct {
  void* dst;
  size_t pitch;
  unsigned value, elementSize;
  size_t width, height;
} cudaMemsetParams;
typedef struct {
  int type, id;
} cudaMemLocation;
typedef struct {
  int result;
  void *errorNode, *errorFromNode;
} cudaGraphExecUpdateResultInfo;

/* Offsets in CUDA 12's cudaDeviceProp of 1,032 bytes; CUDA 11's ends at 728. */
enum {
  kPropBytes = 1032,
  kPropBytesOf11 = 728,
  kTotalGlobalMem = 288,
  kWarpSize = 308,
  kMaxThreadsPerBlock = 320,
  kMajor = 360,
  kMinor = 364,
  kMultiProcessorCount = 388,
  kManagedMemory = 652,
  kMemoryPoolsSupported = 744,
  kInvalidPitchValue = 12,
  kInvalidDeviceFunction = 98,
  kNotSupported = 801
};

typedef void *cudaGraph_t, *cudaGraphNode_t, *cudaGraphExec_t;
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream);
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream);
void __cudaRegisterTexture(void** handle, const void* host, const void** device, const char* name,
                           int dimensions, int normalized, int external);
cudaError_t cudaGetDeviceProperties_v2(void* prop, int device);
cudaError_t cudaGetDeviceProperties(void* prop, int device);
cudaError_t cudaDeviceGetAttribute(int* value, int attribute, int device);
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function);
cudaError_t cudaCreateTextureObject(uint64_t* object, const cudaResourceDesc* resource,
                                    const cudaTextureDesc* desc, const void* view);
cudaError_t cudaDestroyTextureObject(uint64_t object);
cudaError_t cudaCreateSurfaceObject(uint64_t* object, const cudaResourceDesc* resource);
cudaError_t cudaDestroySurfaceObject(uint64_t object);
cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc* desc, uint64_t object);
cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned flags);
cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes, int device, cudaStream_t);
cudaError_t cudaMemPrefetchAsync_v2(const void* pointer, size_t bytes, cudaMemLocation location,
                                    unsigned flags, cudaStream_t stream);
cudaError_t cudaMemAdvise(const void* pointer, size_t bytes, int advice, int device);
cudaError_t cudaMemAdvise_v2(const void* pointer, size_t bytes, int advice, cudaMemLocation);
cudaError_t cudaThreadSynchronize(void);
cudaError_t cudaThreadSetLimit(int limit, size_t value);
cudaError_t cudaThreadGetLimit(size_t* value, int limit);
cudaError_t cudaThreadSetCacheConfig(int config);
cudaError_t cudaThreadGetCacheConfig(int* config);
cudaError_t cudaThreadExit(void);
cudaError_t cudaSetDoubleForDevice(double* value);
cudaError_t cudaSetDoubleForHost(double* value);
cudaError_t cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long flags,
                                    int* result);
cudaError_t cudaStreamCreate(cudaStream_t* stream);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t stream);
cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, int mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, int* status, unsigned long long* id,
                                        cudaGraph_t* graph, const cudaGraphNode_t** nodes,
                                        size_t* count);
cudaError_t cudaStreamGetCaptureInfo_v3(cudaStream_t stream, int* status, unsigned long long* id,
                                        cudaGraph_t* graph, const cudaGraphNode_t** nodes,
                                        const void** edges, size_t* count);
cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned flags);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* before, size_t count,
                                   const cudaMemsetParams* params);
cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                    const cudaGraphNode_t* before, size_t count, void* pointer);
cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                     const cudaGraphNode_t* to, size_t count);
cudaError_t cudaGraphAddDependencies_v2(cudaGraph_t graph, const cudaGraphNode_t* from,
                                        const cudaGraphNode_t* to, const void* edges, size_t count);
cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                        const cudaGraphNode_t* to, size_t count);
cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                              size_t* count);
cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* before,
                                         size_t* count);
cudaError_t cudaGraphNodeGetDependentNodes_v2(cudaGraphNode_t node, cudaGraphNode_t* after,
                                              void* edges, size_t* count);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph,
                                 unsigned long long flags);
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo* result);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);
cudaError_t cudaGLGetDevices(unsigned* count, int* devices, unsigned room, int list);
cudaError_t cudaVDPAUGetDevice(int* device, unsigned vdpau, void* get);

static const char kPtx[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .global .texref reference;\n"
    /* surface(x, y) = 2 * texture(x, y) + y */
    ".visible .entry twice(.param .u64 texture, .param .u64 surface) {\n"
    "  .reg .u64 %rd<4>; .reg .u32 %r<8>; .reg .f32 %f<8>;\n"
    "  ld.param.u64 %rd1, [texture]; ld.param.u64 %rd2, [surface];\n"
    "  mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;\n"
    "  cvt.rn.f32.u32 %f1, %r1; add.f32 %f1, %f1, 0f3F000000;\n"
    "  cvt.rn.f32.u32 %f2, %r2; add.f32 %f2, %f2, 0f3F000000;\n"
    "  tex.2d.v4.u32.f32 {%r3, %r4, %r5, %r6}, [%rd1, {%f1, %f2}];\n"
    "  mad.lo.u32 %r3, %r3, 2, %r2; shl.b32 %r4, %r1, 2;\n"
    "  sust.b.2d.b32.trap [%rd2, {%r4, %r2}], {%r3}; ret;\n}\n";

static void twice(void) {}
static int not_a_kernel;
static struct textureReference reference;

/* Programs of 12 call functions by name and version; what 12 took away has to be missing. */
static void symbols(void) {
  int version = 0;
  void* library = dlopen("libcudart.so.12", RTLD_NOW | RTLD_NOLOAD);
  TRUE(library != NULL);
  if (!library) return;
  TRUE(dlvsym(library, "cudaMalloc", "libcudart.so.12") == (void*)(uintptr_t)&cudaMalloc);
  TRUE(dlvsym(library, "cudaMalloc", "libcudart.so.13") == NULL);
  TRUE(dlsym(library, "cudaMemcpyToArray") != NULL);
  TRUE(dlsym(library, "cudaBindTexture") == NULL);
  TRUE(dlsym(library, "cudaBindSurfaceToArray") == NULL);
  OK(cudaRuntimeGetVersion(&version));
  TRUE(version / 1000 == 12);
}

static int word(const unsigned char* prop, int offset) {
  int value;
  memcpy(&value, prop + offset, sizeof value);
  return value;
}

static void properties(void) {
  unsigned char prop[kPropBytes + 8], short_one[kPropBytes + 8];
  size_t total = 0;
  int value = 0;
  memset(prop, 0xa5, sizeof prop);
  memset(short_one, 0xa5, sizeof short_one);
  OK(cudaGetDeviceProperties_v2(prop, 0));
  OK(cudaGetDeviceProperties(short_one, 0)); /* as programs of 11 call it */
  TRUE(prop[0] && memchr(prop, 0, 256));
  TRUE(!memcmp(prop, short_one, kPropBytesOf11));
  for (int i = kPropBytesOf11; i < kPropBytes + 8; ++i) TRUE(short_one[i] == 0xa5);
  for (int i = kPropBytes; i < kPropBytes + 8; ++i) TRUE(prop[i] == 0xa5);
  memcpy(&total, prop + kTotalGlobalMem, sizeof total);
  TRUE(total >= 1u << 28);
  TRUE(word(prop, kWarpSize) == 32 && word(prop, kMaxThreadsPerBlock) == 1024);
  TRUE(word(prop, kMajor) == 7 && word(prop, kMinor) == 5);
  TRUE(word(prop, kMemoryPoolsSupported) == 1);
  OK(cudaDeviceGetAttribute(&value, 16, 0));
  TRUE(value > 0 && value == word(prop, kMultiProcessorCount));
  OK(cudaDeviceGetAttribute(&value, 83, 0));
  TRUE(value == word(prop, kManagedMemory));
}

/* A launch as <<<>>> makes it of CUDA 12's compiler. */
static void launch_twice(uint64_t texture, uint64_t surface) {
  const dim3 blocks = {4, 1, 1}, threads = {8, 1, 1};
  dim3 grid, block;
  size_t shared;
  cudaStream_t stream;
  void* args[] = {&texture, &surface};
  TRUE(__cudaPushCallConfiguration(blocks, threads, 0, NULL) == 0);
  OK(__cudaPopCallConfiguration(&grid, &block, &shared, &stream));
  OK(cudaLaunchKernel((const void*)(uintptr_t)&twice, grid, block, args, shared, stream));
}

static void objects(void) {
  const cudaChannelFormatDesc format = {32, 0, 0, 0, kUnsigned};
  const dim3 one = {1, 1, 1};
  uint32_t texels[4][8], read[4][8];
  cudaArray_t from, to;
  cudaResourceDesc resource;
  cudaTextureDesc desc, asked;
  cudaFuncAttributes attributes;
  uint64_t texture = 0, surface = 0;
  for (unsigned i = 0; i < 32; ++i) texels[i / 8][i % 8] = i * i;
  memset(&desc, 0, sizeof desc);
  memset(&resource, 0, sizeof resource);
  desc.addressMode[0] = desc.addressMode[1] = kClamp;
  OK(cudaMallocArray(&from, &format, 8, 4, 0));
  OK(cudaMallocArray(&to, &format, 8, 4, 2));
  OK(cudaMemcpy2DToArray(from, 0, 0, texels, 32, 32, 4, kToDevice));
  resource.res.array = from;
  OK(cudaCreateTextureObject(&texture, &resource, &desc, NULL));
  resource.res.array = to;
  OK(cudaCreateSurfaceObject(&surface, &resource));
  memset(&asked, 0xa5, sizeof asked);
  OK(cudaGetTextureObjectTextureDesc(&asked, texture));
  TRUE(asked.addressMode[1] == kClamp && asked.seamlessCubemap == 0);
  launch_twice(texture, surface);
  OK(cudaMemcpy2DFromArray(read, 32, to, 0, 0, 32, 4, kToHost));
  for (unsigned i = 0; i < 32; ++i) TRUE(read[i / 8][i % 8] == 2 * i * i + i / 8);
  IS(cudaMemcpy2DFromArray(read, 31, to, 0, 0, 32, 4, kToHost), kInvalidPitchValue);
  IS(cudaMemcpy2DToArray(to, 0, 0, read, 31, 32, 4, kToDevice), kInvalidPitchValue);
  /* One row needs no pitch. */
  OK(cudaMemcpy2DToArray(to, 0, 2, texels[3], 0, 32, 1, kToDevice));
  OK(cudaMemcpy2DFromArray(read, 0, to, 0, 2, 32, 1, kToHost));
  TRUE(!memcmp(read, texels[3], 32));
  memset(&attributes, 0xa5, sizeof attributes);
  OK(cudaFuncGetAttributes(&attributes, (const void*)(uintptr_t)&twice));
  TRUE(attributes.maxThreadsPerBlock == 1024 && attributes.requiredClusterWidth == 0);
  IS(cudaLaunchKernel(&not_a_kernel, one, one, NULL, 0, NULL), kInvalidDeviceFunction);
  OK(cudaDestroyTextureObject(texture));
  OK(cudaDestroySurfaceObject(surface));
  OK(cudaFreeArray(from));
  OK(cudaFreeArray(to));
}

/* Graphs by the signatures without edges' data, which 13 has no more. */
static void graphs(void) {
  uint32_t* memory;
  uint32_t read[2];
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaGraphNode_t first, second, from[4], to[4];
  size_t count = 4;
  cudaGraphExecUpdateResultInfo info;
  cudaMemsetParams set = {NULL, 0, 3, 4, 2, 1};
  OK(cudaMalloc((void**)&memory, 8));
  set.dst = memory;
  OK(cudaGraphCreate(&graph, 0));
  OK(cudaGraphAddMemsetNode(&first, graph, NULL, 0, &set));
  set.value = 7;
  set.width = 1;
  OK(cudaGraphAddMemsetNode(&second, graph, NULL, 0, &set));
  OK(cudaGraphAddDependencies(graph, &second, &first, 1));
  OK(cudaGraphRemoveDependencies(graph, &second, &first, 1));
  OK(cudaGraphAddDependencies_v2(graph, &first, &second, NULL, 1));
  OK(cudaGraphGetEdges(graph, from, to, &count));
  TRUE(count == 1 && from[0] == first && to[0] == second);
  count = 4;
  OK(cudaGraphNodeGetDependencies(second, from, &count));
  TRUE(count == 1 && from[0] == first);
  count = 4;
  OK(cudaGraphNodeGetDependentNodes_v2(first, to, NULL, &count));
  TRUE(count == 1 && to[0] == second);
  OK(cudaGraphInstantiate(&exec, graph, 0));
  OK(cudaGraphExecUpdate(exec, graph, &info));
  TRUE(info.result == 0);
  OK(cudaGraphLaunch(exec, NULL));
  OK(cudaMemcpy(read, memory, 8, kToHost));
  TRUE(read[0] == 7 && read[1] == 3);
  OK(cudaGraphExecDestroy(exec));
  OK(cudaGraphDestroy(graph));
  OK(cudaFree(memory));
}

static void captures(void) {
  unsigned char* memory;
  cudaStream_t stream;
  cudaGraph_t graph = NULL, ended = NULL;
  const cudaGraphNode_t* nodes = NULL;
  const void* edges = &memory;
  unsigned long long id = 0, same = 0;
  size_t count = 9;
  int status = 9;
  OK(cudaMalloc((void**)&memory, 8));
  OK(cudaStreamCreate(&stream));
  OK(cudaStreamGetCaptureInfo_v2(stream, &status, NULL, NULL, NULL, NULL));
  TRUE(status == 0);
  OK(cudaStreamBeginCapture(stream, 2));
  OK(cudaMemsetAsync(memory, 1, 8, stream));
  OK(cudaStreamGetCaptureInfo_v2(stream, &status, &id, &graph, &nodes, &count));
  TRUE(status == 1 && id && graph && count == 1 && nodes);
  OK(cudaStreamGetCaptureInfo_v3(stream, &status, &same, NULL, NULL, &edges, &count));
  TRUE(same == id && !edges && count == 1);
  OK(cudaStreamEndCapture(stream, &ended));
  TRUE(ended == graph);
  OK(cudaGraphDestroy(ended));
  OK(cudaStreamDestroy(stream));
  OK(cudaFree(memory));
}

/* Memory that one graph allocates and another frees. */
static void graph_memory(void) {
  uint32_t* memory = NULL;
  uint32_t read = 0;
  cudaStream_t stream;
  cudaGraph_t takes, gives;
  cudaGraphExec_t take, give;
  cudaGraphNode_t node;
  OK(cudaStreamCreate(&stream));
  OK(cudaStreamBeginCapture(stream, 2));
  OK(cudaMallocAsync((void**)&memory, 4, stream));
  OK(cudaMemsetAsync(memory, 9, 4, stream));
  OK(cudaStreamEndCapture(stream, &takes));
  OK(cudaGraphInstantiate(&take, takes, 0));
  OK(cudaGraphCreate(&gives, 0));
  OK(cudaGraphAddMemFreeNode(&node, gives, NULL, 0, memory));
  IS(cudaGraphAddMemFreeNode(&node, takes, NULL, 0, memory), kInvalidValue);
  OK(cudaGraphInstantiate(&give, gives, 0));
  for (int i = 0; i < 2; ++i) {
    OK(cudaGraphLaunch(take, stream));
    IS(cudaGraphLaunch(take, stream), kInvalidValue);
    OK(cudaMemcpy(&read, memory, 4, kToHost));
    TRUE(read == 0x09090909);
    OK(cudaGraphLaunch(give, stream));
    OK(cudaStreamSynchronize(stream));
  }
  OK(cudaGraphExecDestroy(take));
  OK(cudaGraphExecDestroy(give));
  OK(cudaGraphDestroy(takes));
  OK(cudaGraphDestroy(gives));
  OK(cudaStreamDestroy(stream));
}

/* Managed memory by the signatures that name a device's number, and those that name a location. */
static void managed(void) {
  const cudaMemLocation here = {1, 0};
  int* memory;
  const cudaError_t code = cudaMallocManaged((void**)&memory, 4096, 1);
  if (code == kNotSupported) return; /* the device and the host have other addresses */
  OK(code);
  memory[5] = 1;
  OK(cudaMemAdvise(memory, 4096, 1, 0));
  OK(cudaMemAdvise_v2(memory, 4096, 1, here));
  OK(cudaMemPrefetchAsync(memory, 4096, 0, NULL));
  OK(cudaMemPrefetchAsync_v2(memory, 4096, here, 0, NULL));
  OK(cudaThreadSynchronize());
  TRUE(memory[5] == 1);
  OK(cudaFree(memory));
}

/* libcuda.so.1 in the same process: the runtime's primary context and its memory. */
static void driver(void) {
  int (*current)(void**) = NULL, (*download)(void*, unsigned long long, size_t) = NULL;
  int (*retain)(void**, int) = NULL, result = 9;
  void *function = NULL, *context = NULL, *primary = NULL;
  uint32_t *memory, word = 77, read = 0;
  OK(cudaMalloc((void**)&memory, 4));
  OK(cudaMemcpy(memory, &word, 4, kToDevice));
  OK(cudaGetDriverEntryPoint("cuCtxGetCurrent", &function, 0, &result));
  TRUE(result == 0 && function);
  if (!function) return;
  memcpy(&current, &function, sizeof function);
  OK(cudaGetDriverEntryPoint("cuMemcpyDtoH", &function, 0, &result));
  memcpy(&download, &function, sizeof function);
  OK(cudaGetDriverEntryPoint("cuDevicePrimaryCtxRetain", &function, 0, &result));
  memcpy(&retain, &function, sizeof function);
  TRUE(current(&context) == 0 && context);
  TRUE(retain(&primary, 0) == 0 && primary == context);
  TRUE(download(&read, (unsigned long long)(uintptr_t)memory, 4) == 0 && read == 77);
  OK(cudaFree(memory));
}

/* What CUDA 3 called cudaDevice..., and conversions for devices without doubles. */
static void old_names(void) {
  double value = 0.5;
  size_t stack = 0;
  int config = 9;
  OK(cudaThreadSetLimit(0, 2048));
  OK(cudaThreadGetLimit(&stack, 0));
  TRUE(stack == 2048);
  OK(cudaThreadSetCacheConfig(2));
  OK(cudaThreadGetCacheConfig(&config));
  TRUE(config == 2);
  IS(cudaThreadGetLimit(NULL, 0), kInvalidValue);
  IS(cudaThreadGetCacheConfig(NULL), kInvalidValue);
  OK(cudaSetDoubleForDevice(&value));
  OK(cudaSetDoubleForHost(&value));
  TRUE(value == 0.5);
  OK(cudaThreadExit());
  OK(cudaThreadSynchronize());
}

int main(void) {
  unsigned devices = 0;
  begin(kPtx);
  reg(twice, "twice");
  __cudaRegisterTexture(handle, &reference, (const void**)"reference", "::reference", 2, 0, 0);
  __cudaRegisterFatBinaryEnd(handle);
  symbols();
  properties();
  objects();
  graphs();
  captures();
  graph_memory();
  managed();
  driver();
  old_names();
  IS(cudaVDPAUGetDevice(NULL, 0, NULL), kNotSupported);
  int device = 0;
  IS(cudaGLGetDevices(&devices, &device, 1, 1), 219); /* no context of OpenGL is current */
  OK(cudaDeviceSynchronize());
  __cudaUnregisterFatBinary(handle);
  printf(failures ? "%d failures\n" : "good\n", failures);
  return failures != 0;
}
