/* Code that a program loads by itself (cudaLibrary_t), and what programs hang on graphs: objects
 * with destructors, attributes of kernel nodes, edges of captures, a picture. */
#define _GNU_SOURCE
#include <unistd.h>

#include "../runtime11/runtime.h"

typedef struct {
  unsigned x, y, z;
} dim3;
typedef struct {
  void* ptr;
  size_t pitch, xsize, ysize;
} cudaPitchedPtr;
typedef struct {
  size_t x, y, z;
} cudaPos;
typedef struct {
  cudaArray_t srcArray;
  cudaPos srcPos;
  cudaPitchedPtr srcPtr;
  cudaArray_t dstArray;
  cudaPos dstPos;
  cudaPitchedPtr dstPtr;
  cudaExtent extent;
  int kind;
} cudaMemcpy3DParms;
typedef struct {
  void* func;
  dim3 gridDim, blockDim;
  unsigned sharedMemBytes;
  void **kernelParams, **extra;
} cudaKernelNodeParams;
typedef union {
  unsigned cluster[3];
  int value;
  char room[64];
} cudaLaunchAttributeValue;
enum {
  kCooperative = 2,
  kClusterDimension = 4,
  kPriority = 8,
  kNotFound = 500,
  kNotSupported = 801
};

typedef void *cudaLibrary_t, *cudaKernel_t, *cudaGraph_t, *cudaGraphNode_t, *cudaGraphExec_t,
    *cudaUserObject_t;
cudaError_t cudaLaunchKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t);
cudaError_t cudaLibraryLoadData(cudaLibrary_t*, const void*, int*, void**, unsigned, int*, void**,
                                unsigned);
cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t*, const char*, int*, void**, unsigned, int*,
                                    void**, unsigned);
cudaError_t cudaLibraryUnload(cudaLibrary_t);
cudaError_t cudaLibraryGetKernel(cudaKernel_t*, cudaLibrary_t, const char*);
cudaError_t cudaLibraryGetKernelCount(unsigned*, cudaLibrary_t);
cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t*, unsigned, cudaLibrary_t);
cudaError_t cudaLibraryGetGlobal(void**, size_t*, cudaLibrary_t, const char*);
cudaError_t cudaUserObjectCreate(cudaUserObject_t*, void*, void (*)(void*), unsigned, unsigned);
cudaError_t cudaUserObjectRetain(cudaUserObject_t, unsigned);
cudaError_t cudaUserObjectRelease(cudaUserObject_t, unsigned);
cudaError_t cudaGraphRetainUserObject(cudaGraph_t, cudaUserObject_t, unsigned, unsigned);
cudaError_t cudaGraphReleaseUserObject(cudaGraph_t, cudaUserObject_t, unsigned);
cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms*);
cudaError_t cudaGraphCreate(cudaGraph_t*, unsigned);
cudaError_t cudaGraphClone(cudaGraph_t*, cudaGraph_t);
cudaError_t cudaGraphDestroy(cudaGraph_t);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t*, cudaGraph_t, unsigned long long);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t);
cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, size_t,
                                   const cudaKernelNodeParams*);
cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, size_t,
                                   const cudaMemcpy3DParms*);
cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t, cudaMemcpy3DParms*);
cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*,
                                       size_t, cudaGraph_t);
cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t, int, const cudaLaunchAttributeValue*);
cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t, int, cudaLaunchAttributeValue*);
cudaError_t cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t, cudaGraphNode_t);
cudaError_t cudaGraphDebugDotPrint(cudaGraph_t, const char*, unsigned);
cudaError_t cudaGraphGetEdges(cudaGraph_t, cudaGraphNode_t*, cudaGraphNode_t*, size_t*);
cudaError_t cudaStreamCreate(cudaStream_t*);
cudaError_t cudaStreamDestroy(cudaStream_t);
cudaError_t cudaStreamBeginCapture(cudaStream_t, int);
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t*);
cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t, cudaGraphNode_t*, size_t, unsigned);
cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t, int*, unsigned long long*, cudaGraph_t*,
                                        const cudaGraphNode_t**, size_t*);
cudaError_t cudaMemsetAsync(void*, int, size_t, cudaStream_t);
cudaError_t cudaMalloc3DArray(cudaArray_t*, const cudaChannelFormatDesc*, cudaExtent, unsigned);

static const char kPtx[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .global .align 4 .u32 step = 3;\n"
    ".visible .entry count(.param .u64 out) {\n"
    "  .reg .u64 %rd<4>; .reg .u32 %r<4>;\n"
    "  ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; ld.global.u32 %r2, [step];\n"
    "  mul.lo.u32 %r3, %r1, %r2; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2;\n"
    "  st.global.u32 [%rd3], %r3; ret;\n}\n"
    ".visible .entry nothing() { ret; }\n";

static void run_library(cudaLibrary_t library) {
  const dim3 one = {1, 1, 1}, block = {32, 1, 1};
  uint32_t step = 5, words[32];
  cudaKernel_t kernel = NULL, all[3] = {NULL, NULL, NULL};
  unsigned count = 0;
  size_t bytes = 0;
  void *out, *address = NULL;
  OK(cudaLibraryGetKernelCount(&count, library));
  TRUE(count == 2);
  OK(cudaLibraryEnumerateKernels(all, 3, library));
  TRUE(all[0] && all[1] && !all[2]);
  OK(cudaLibraryGetKernel(&kernel, library, "count"));
  TRUE(kernel == all[0] || kernel == all[1]);
  IS(cudaLibraryGetKernel(&kernel, library, "missing"), kNotFound);
  IS(cudaLibraryGetKernel(&kernel, library, NULL), kInvalidValue);
  OK(cudaLibraryGetGlobal(&address, &bytes, library, "step"));
  TRUE(address && bytes == 4);
  IS(cudaLibraryGetGlobal(&address, &bytes, library, "missing"), kNotFound);
  OK(cudaMalloc(&out, sizeof words));
  void* args[] = {&out};
  for (unsigned factor = 3; factor <= 5; factor += 2) {
    OK(cudaLaunchKernel(kernel, one, block, args, 0, NULL));
    OK(cudaMemcpy(words, out, sizeof words, kToHost));
    for (unsigned i = 0; i < 32; ++i) TRUE(words[i] == factor * i);
    OK(cudaMemcpy(address, &step, sizeof step, kToDevice));
  }
  OK(cudaFree(out));
  OK(cudaLibraryUnload(library));
}

static void libraries(void) {
  cudaLibrary_t library = NULL;
  char path[] = "/tmp/ptx2spv-library-XXXXXX";
  const int file = mkstemp(path);
  TRUE(file >= 0 && write(file, kPtx, sizeof kPtx - 1) == (ssize_t)(sizeof kPtx - 1));
  OK(cudaLibraryLoadData(&library, kPtx, NULL, NULL, 0, NULL, NULL, 0));
  run_library(library);
  OK(cudaLibraryLoadFromFile(&library, path, NULL, NULL, 0, NULL, NULL, 0));
  run_library(library);
  close(file);
  unlink(path);
  IS(cudaLibraryLoadFromFile(&library, path, NULL, NULL, 0, NULL, NULL, 0), 301);
  IS(cudaLibraryLoadData(NULL, kPtx, NULL, NULL, 0, NULL, NULL, 0), kInvalidValue);
  IS(cudaLibraryLoadData(&library, NULL, NULL, NULL, 0, NULL, NULL, 0), kInvalidValue);
}

static int destroyed = 0;
static void destroy(void* pointer) { destroyed += *(int*)pointer; }

static void user_objects(void) {
  static int one = 1, ten = 10;
  cudaUserObject_t object, other;
  cudaGraph_t graph, copy;
  cudaGraphExec_t exec;
  IS(cudaUserObjectCreate(&object, &one, destroy, 1, 0), kInvalidValue);
  IS(cudaUserObjectCreate(&object, &one, destroy, 0, 1), kInvalidValue);
  OK(cudaUserObjectCreate(&object, &one, destroy, 1, 1));
  OK(cudaUserObjectRetain(object, 2));
  OK(cudaUserObjectRelease(object, 2));
  TRUE(destroyed == 0);
  OK(cudaGraphCreate(&graph, 0));
  OK(cudaGraphRetainUserObject(graph, object, 1, 1)); /* the program has none any more */
  OK(cudaUserObjectCreate(&other, &ten, destroy, 1, 1));
  OK(cudaGraphRetainUserObject(graph, other, 2, 0));
  OK(cudaUserObjectRelease(other, 1));
  OK(cudaGraphReleaseUserObject(graph, other, 1));
  TRUE(destroyed == 0);
  OK(cudaGraphReleaseUserObject(graph, other, 1));
  TRUE(destroyed == 10);
  OK(cudaGraphClone(&copy, graph));
  OK(cudaGraphInstantiate(&exec, graph, 0));
  OK(cudaGraphDestroy(graph));
  OK(cudaGraphDestroy(copy));
  TRUE(destroyed == 10);
  OK(cudaGraphExecDestroy(exec));
  TRUE(destroyed == 11);
}

/* References are one number, whoever releases them: what an H100 gave. */
static void counts_of_references(void) {
  static int one = 1;
  cudaUserObject_t object;
  cudaGraph_t graph;
  destroyed = 0;
  OK(cudaGraphCreate(&graph, 0));
  OK(cudaUserObjectCreate(&object, &one, destroy, 1, 1));
  OK(cudaGraphRetainUserObject(graph, object, 1, 1));
  OK(cudaUserObjectRelease(object, 1)); /* the graph's */
  TRUE(destroyed == 1);
  OK(cudaGraphCreate(&graph, 0)); /* the other would release what is gone */
  OK(cudaUserObjectCreate(&object, &one, destroy, 2, 1));
  OK(cudaGraphRetainUserObject(graph, object, 1, 0));
  IS(cudaGraphReleaseUserObject(graph, object, 0), kInvalidValue);
  IS(cudaUserObjectRelease(object, 1u << 31), kInvalidValue);
  OK(cudaGraphReleaseUserObject(graph, object, 2)); /* one of the program's */
  TRUE(destroyed == 1);
  OK(cudaUserObjectRelease(object, 1));
  TRUE(destroyed == 2);
}

static void nodes(void) {
  cudaLibrary_t library;
  cudaKernel_t kernel;
  cudaGraph_t graph, inner;
  cudaGraphNode_t first, second, copy_node, child;
  cudaLaunchAttributeValue value;
  OK(cudaLibraryLoadData(&library, kPtx, NULL, NULL, 0, NULL, NULL, 0));
  OK(cudaLibraryGetKernel(&kernel, library, "nothing"));
  cudaKernelNodeParams params = {kernel, {7, 1, 1}, {32, 1, 1}, 0, NULL, NULL};
  OK(cudaGraphCreate(&graph, 0));
  OK(cudaGraphCreate(&inner, 0));
  OK(cudaGraphAddKernelNode(&first, graph, NULL, 0, &params));
  OK(cudaGraphAddKernelNode(&second, graph, &first, 1, &params));
  memset(&value, 0xa5, sizeof value);
  OK(cudaGraphKernelNodeGetAttribute(first, kPriority, &value));
  TRUE(value.value == 0);
  value.value = -3;
  OK(cudaGraphKernelNodeSetAttribute(first, kPriority, &value));
  OK(cudaGraphKernelNodeCopyAttributes(first, second));
  value.value = 0;
  OK(cudaGraphKernelNodeGetAttribute(second, kPriority, &value));
  TRUE(value.value == -3);
  value.value = 1;
  OK(cudaGraphKernelNodeSetAttribute(first, kCooperative, &value));
  value.cluster[0] = 2, value.cluster[1] = value.cluster[2] = 1;
  IS(cudaGraphKernelNodeSetAttribute(first, kClusterDimension, &value), kNotSupported);
  IS(cudaGraphKernelNodeSetAttribute(first, 99, &value), kInvalidValue);
  /* A copy into an array, whose extents count texels. */
  const cudaChannelFormatDesc format = {32, 0, 0, 0, kUnsigned};
  const cudaExtent extent = {8, 4, 2};
  cudaArray_t array;
  uint32_t texels[64];
  cudaMemcpy3DParms copy, asked;
  OK(cudaMalloc3DArray(&array, &format, extent, 0));
  memset(&copy, 0, sizeof copy);
  copy.srcPtr.ptr = texels, copy.srcPtr.pitch = 32, copy.srcPtr.xsize = 32, copy.srcPtr.ysize = 4;
  copy.dstArray = array;
  copy.dstPos.x = 2;
  copy.extent.width = 6, copy.extent.height = 4, copy.extent.depth = 2;
  copy.kind = kToDevice;
  OK(cudaGraphAddMemcpyNode(&copy_node, graph, NULL, 0, &copy));
  OK(cudaGraphMemcpyNodeGetParams(copy_node, &asked));
  TRUE(asked.srcPtr.ptr == texels && asked.srcPtr.pitch == 32 && asked.srcPtr.ysize == 4);
  TRUE(asked.dstArray == array && asked.dstPos.x == 2 && !asked.srcArray && !asked.dstPtr.ptr);
  TRUE(asked.extent.width == 6 && asked.extent.height == 4 && asked.extent.depth == 2);
  TRUE(asked.kind == kToDevice);
  IS(cudaGraphMemcpyNodeGetParams(first, &asked), kInvalidValue);
  /* The picture has every node, and those of the graph in a node. */
  OK(cudaGraphAddKernelNode(&second, inner, NULL, 0, &params));
  OK(cudaGraphAddChildGraphNode(&child, graph, &copy_node, 1, inner));
  FILE* again = NULL;
  char path[] = "/tmp/ptx2spv-dot-XXXXXX", text[8192] = "";
  const int file = mkstemp(path);
  OK(cudaGraphDebugDotPrint(graph, path, 0));
  TRUE(read(file, text, sizeof text - 1) > 0);
  close(file);
  unlink(path);
  TRUE(!strncmp(text, "digraph", 7));
  unsigned outer = 0, within = 0;
  TRUE(sscanf(strstr(text, "cluster_"), "cluster_%u", &outer) == 1);
  char line[200];
  snprintf(line, sizeof line,
           "\"graph_%u_node_0\"[style=\"bold\" shape=\"octagon\" label=\"0\nnothing\n\"];", outer);
  TRUE(strstr(text, line));
  TRUE(strstr(text, "label=\"2\nMEMCPY\n(HtoA,192)\n\"];"));
  snprintf(line, sizeof line, "\"graph_%u_node_2\" -> \"graph_%u_node_3\";", outer, outer);
  TRUE(strstr(text, line));
  TRUE(sscanf(strstr(text, "label=\"3\ngraph_"), "label=\"3\ngraph_%u", &within) == 1);
  snprintf(line, sizeof line, "\"graph_%u_node_0\"[", within);
  TRUE(within != outer && strstr(text, line));
  /* With details. */
  OK(cudaGraphDebugDotPrint(graph, path, 1));
  memset(text, 0, sizeof text);
  TRUE((again = fopen(path, "r")) && fread(text, 1, sizeof text - 1, again) > 0);
  fclose(again);
  unlink(path);
  TRUE(strstr(text, "label=\"0\nKERNEL\nnothing\n<<<{7,1,1},{32,1,1},0>>>\n"));
  TRUE(strstr(text, "kind: HtoA (HOST PAGEABLE to DEVICE)\n"));
  IS(cudaGraphDebugDotPrint(graph, "/nowhere/graph.dot", 0), 304);
  OK(cudaGraphDestroy(graph));
  OK(cudaGraphDestroy(inner));
  OK(cudaFreeArray(array));
  OK(cudaLibraryUnload(library));
}

/* Beside an array, extents and the positions in memory count texels: what an H200 gave. */
static void positions_beside_arrays(void) {
  const cudaChannelFormatDesc format = {16, 16, 16, 16, kUnsigned};
  const cudaExtent extent = {4, 2, 2};
  uint16_t in[64], out[64];
  cudaArray_t array;
  cudaMemcpy3DParms copy;
  for (unsigned i = 0; i < 64; ++i) in[i] = (uint16_t)(i + 1), out[i] = 0;
  OK(cudaMalloc3DArray(&array, &format, extent, 0));
  memset(&copy, 0, sizeof copy);
  copy.srcPtr.ptr = in, copy.srcPtr.pitch = 32, copy.srcPtr.xsize = 32, copy.srcPtr.ysize = 2;
  copy.srcPos.x = 1, copy.srcPos.y = 1, copy.srcPos.z = 1;
  copy.dstArray = array;
  copy.extent.width = 3, copy.extent.height = 1, copy.extent.depth = 1;
  copy.kind = kToDevice;
  OK(cudaMemcpy3D(&copy));
  memset(&copy, 0, sizeof copy);
  copy.srcArray = array;
  copy.dstPtr.ptr = out, copy.dstPtr.pitch = 32, copy.dstPtr.xsize = 32, copy.dstPtr.ysize = 2;
  copy.dstPos.x = 1, copy.dstPos.y = 0, copy.dstPos.z = 1;
  copy.extent.width = 3, copy.extent.height = 1, copy.extent.depth = 1;
  copy.kind = kToHost;
  OK(cudaMemcpy3D(&copy));
  for (unsigned i = 0; i < 64; ++i)
    TRUE(out[i] == (i >= 36 && i < 48 ? 53 + i - 36 : 0)); /* texel 1 of the second slice */
  copy.dstPos.x = (size_t)1 << 61;                         /* times 8 bytes: 0 */
  IS(cudaMemcpy3D(&copy), kInvalidValue);
  OK(cudaFreeArray(array));
}

static void captures(void) {
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphNode_t from[4], to[4], first;
  const cudaGraphNode_t* tail;
  size_t count = 4;
  int status;
  void* memory;
  OK(cudaMalloc(&memory, 64));
  OK(cudaStreamCreate(&stream));
  IS(cudaStreamUpdateCaptureDependencies(stream, NULL, 0, 1), 401);
  OK(cudaStreamBeginCapture(stream, 2));
  OK(cudaMemsetAsync(memory, 0, 16, stream));
  OK(cudaStreamGetCaptureInfo_v2(stream, &status, NULL, NULL, &tail, &count));
  TRUE(count == 1);
  first = tail[0];
  OK(cudaStreamUpdateCaptureDependencies(stream, NULL, 0, 1)); /* after nothing */
  OK(cudaMemsetAsync((char*)memory + 16, 0, 16, stream));
  OK(cudaStreamUpdateCaptureDependencies(stream, &first, 1, 0)); /* after both */
  OK(cudaMemsetAsync((char*)memory + 32, 0, 16, stream));
  OK(cudaStreamEndCapture(stream, &graph));
  count = 4;
  OK(cudaGraphGetEdges(graph, from, to, &count));
  TRUE(count == 2 && to[0] == to[1] && (from[0] == first || from[1] == first));
  OK(cudaGraphDestroy(graph));
  OK(cudaStreamDestroy(stream));
  OK(cudaFree(memory));
}

/* CUDA copies parts of texels, too. */
static void parts_of_texels(void) {
  const cudaChannelFormatDesc format = {32, 0, 0, 0, kUnsigned};
  unsigned char rows[2][16], part[2][6], read[2][16], wanted[2][16];
  cudaArray_t array;
  for (int i = 0; i < 32; ++i) rows[i / 16][i % 16] = (unsigned char)i;
  for (int i = 0; i < 12; ++i) part[i / 6][i % 6] = (unsigned char)(100 + i);
  memcpy(wanted, rows, sizeof wanted);
  for (int y = 0; y < 2; ++y) memcpy(wanted[y] + 5, part[y], 6);
  OK(cudaMallocArray(&array, &format, 4, 2, 0));
  OK(cudaMemcpy2DToArray(array, 0, 0, rows, 16, 16, 2, kToDevice));
  OK(cudaMemcpy2DToArray(array, 5, 0, part, 6, 6, 2, kToDevice));
  OK(cudaMemcpy2DFromArray(read, 16, array, 0, 0, 16, 2, kToHost));
  TRUE(!memcmp(read, wanted, sizeof wanted));
  memset(read, 0xa5, sizeof read);
  OK(cudaMemcpy2DFromArray(read, 16, array, 7, 0, 3, 2, kToHost));
  for (int y = 0; y < 2; ++y) TRUE(!memcmp(read[y], wanted[y] + 7, 3) && read[y][3] == 0xa5);
  IS(cudaMemcpy2DFromArray(read, 16, array, 15, 0, 2, 2, kToHost), kInvalidValue);
  OK(cudaFreeArray(array));
}

int main(void) {
  parts_of_texels();
  libraries();
  user_objects();
  counts_of_references();
  nodes();
  positions_beside_arrays();
  captures();
  printf(failures ? "%d failures\n" : "good\n", failures);
  return failures != 0;
}
