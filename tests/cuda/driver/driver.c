/* Most of the driver interface: contexts, modules, memory, arrays, objects, references, launches.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include "driver.h"

static const char kKernels[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".global .align 4 .u32 total = 5;\n"
    ".global .surfref plane;\n"
    ".global .texref image;\n"
    ".visible .entry add(.param .u64 out, .param .u32 by) {\n"
    "  .reg .u64 %rd<4>; .reg .u32 %r<6>;\n"
    "  ld.param.u64 %rd1, [out]; ld.param.u32 %r1, [by];\n"
    "  mov.u32 %r2, %tid.x; mov.u32 %r4, %ctaid.x; mov.u32 %r5, %ntid.x; mad.lo.u32 %r2, %r4, %r5, "
    "%r2;\n"
    "  mul.wide.u32 %rd2, %r2, 4; add.u64 %rd3, %rd1, %rd2;\n"
    "  ld.global.u32 %r3, [%rd3]; add.u32 %r3, %r3, %r1; st.global.u32 [%rd3], %r3;\n"
    "  atom.global.add.u32 %r3, [total], 1;\n"
    "  ret;\n}\n"
    ".visible .entry paint(.param .u64 s) {\n"
    "  .reg .u64 %rd<2>; .reg .u32 %r<6>;\n"
    "  ld.param.u64 %rd1, [s]; mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y;\n"
    "  mad.lo.u32 %r3, %r2, 100, %r1; shl.b32 %r4, %r1, 2;\n"
    "  sust.b.2d.b32.trap [%rd1, {%r4, %r2}], {%r3};\n  ret;\n}\n"
    ".visible .entry paint_ref() {\n"
    "  .reg .u32 %r<6>;\n"
    "  mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y;\n"
    "  mad.lo.u32 %r3, %r2, 1000, %r1; shl.b32 %r4, %r1, 2;\n"
    "  sust.b.2d.b32.trap [plane, {%r4, %r2}], {%r3};\n  ret;\n}\n"
    ".visible .entry look(.param .u64 t, .param .u64 out) {\n"
    "  .reg .u64 %rd<5>; .reg .u32 %r<8>; .reg .f32 %f<3>;\n"
    "  ld.param.u64 %rd1, [t]; ld.param.u64 %rd2, [out];\n"
    "  mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %ntid.x;\n"
    "  cvt.rn.f32.u32 %f1, %r1; cvt.rn.f32.u32 %f2, %r2;\n"
    "  tex.2d.v4.u32.f32 {%r4, %r5, %r6, %r7}, [%rd1, {%f1, %f2}];\n"
    "  mad.lo.u32 %r5, %r2, %r3, %r1; mul.wide.u32 %rd3, %r5, 4; add.u64 %rd4, %rd2, %rd3;\n"
    "  st.global.u32 [%rd4], %r4;\n  ret;\n}\n"
    ".visible .entry look_ref(.param .u64 out) {\n"
    "  .reg .u64 %rd<5>; .reg .u32 %r<8>;\n"
    "  ld.param.u64 %rd2, [out]; mov.u32 %r1, %tid.x;\n"
    "  tex.1d.v4.u32.s32 {%r4, %r5, %r6, %r7}, [image, {%r1}];\n"
    "  mul.wide.u32 %rd3, %r1, 4; add.u64 %rd4, %rd2, %rd3; st.global.u32 [%rd4], %r4;\n  "
    "ret;\n}\n";

static CUmodule module;
static CUfunction function(const char* name) {
  CUfunction found = NULL;
  OK(cuModuleGetFunction(&found, module, name));
  return found;
}

static void launches(void) {
  CUdeviceptr p, total;
  unsigned words[64], by = 3;
  size_t size = 0, bytes = 12;
  CUfunction add = function("add");
  OK(cuMemAlloc_v2(&p, sizeof words));
  OK(cuMemsetD32_v2(p, 7, 64));
  void* params[] = {&p, &by};
  OK(cuLaunchKernel(add, 2, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
  struct {
    CUdeviceptr p;
    unsigned by;
  } buffer = {p, 10};
  void* extra[] = {(void*)1, &buffer, (void*)2, &bytes, NULL};
  OK(cuLaunchKernel(add, 2, 1, 1, 32, 1, 1, 0, NULL, NULL, extra));
  LaunchConfig config = {2, 1, 1, 32, 1, 1, 0, NULL, NULL, 0};
  by = 100;
  OK(cuLaunchKernelEx(&config, add, params, NULL));
  OK(cuLaunchCooperativeKernel(add, 2, 1, 1, 32, 1, 1, 0, NULL, params));
  OK(cuFuncSetBlockShape(add, 32, 1, 1));
  OK(cuParamSetSize(add, 12));
  OK(cuParamSetv(add, 0, &p, 8));
  OK(cuParamSeti(add, 8, 1000));
  OK(cuLaunchGrid(add, 2, 1));
  OK(cuCtxSynchronize());
  OK(cuMemcpyDtoH_v2(words, p, sizeof words));
  for (int i = 0; i < 64; ++i) TRUE(words[i] == 7 + 3 + 10 + 100 + 100 + 1000);
  OK(cuModuleGetGlobal_v2(&total, &size, module, "total"));
  TRUE(size == 4);
  OK(cuMemcpyDtoH_v2(words, total, 4));
  TRUE(words[0] == 5 + 5 * 64);
  FAILS(500, cuModuleGetGlobal_v2(&total, &size, module, "nowhere"));
  FAILS(500, cuModuleGetFunction(&add, module, "nothing"));
  add = function("add");
  bytes = 8;
  FAILS(1, cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
  FAILS(1, cuLaunchKernel(add, 0, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
  FAILS(1, cuLaunchKernel(add, 1, 1, 1, 2048, 1, 1, 0, NULL, params, NULL));
  FAILS(1, cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 1 << 20, NULL, params, NULL));
  FAILS(400, cuLaunchKernel((CUfunction)&bytes, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
  FAILS(400, cuStreamSynchronize((CUstream)&bytes));
  int value = 0, grid = 0, block = 0;
  OK(cuFuncGetAttribute(&value, 0, add));
  TRUE(value == 1024);
  OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, add, NULL, 0, 0));
  TRUE(grid > 0 && block > 0 && block <= 1024);
  OK(cuMemFree_v2(p));
  FAILS(1, cuMemFree_v2(p));
}

static void memory(void) {
  CUdeviceptr p, q, base;
  unsigned char bytes[256];
  unsigned short halves[128];
  size_t size, free_bytes, total;
  unsigned type = 0;
  void* host = NULL;
  OK(cuMemAlloc_v2(&p, 4096));
  OK(cuMemAlloc_v2(&q, 4096));
  FAILS(1, cuMemAlloc_v2(&base, 0));
  FAILS(2, cuMemAlloc_v2(&base, (size_t)1 << 46));
  OK(cuMemsetD8_v2(p, 0x5a, 4096));
  OK(cuMemsetD16_v2(p + 64, 0x1234, 64));
  OK(cuMemcpyDtoD_v2(q + 100, p + 60, 200));
  OK(cuMemcpyDtoH_v2(bytes, q + 100, 200));
  TRUE(bytes[0] == 0x5a && bytes[3] == 0x5a && bytes[4] == 0x34 && bytes[5] == 0x12);
  OK(cuMemcpyDtoH_v2(halves, p + 64, sizeof halves));
  TRUE(halves[63] == 0x1234 && halves[64] == 0x5a5a);
  OK(cuMemGetAddressRange_v2(&base, &size, p + 1000));
  TRUE(base == p && size == 4096);
  FAILS(1, cuMemcpyHtoD_v2(p + 4000, bytes, 200));
  FAILS(1, cuMemcpyHtoD_v2(16, bytes, 4));
  OK(cuPointerGetAttribute(&type, 2, p + 5));
  TRUE(type == 2);
  OK(cuMemGetInfo_v2(&free_bytes, &total));
  TRUE(free_bytes > 0 && free_bytes <= total);
  OK(cuMemHostAlloc(&host, 1024, 2));
  memset(host, 9, 1024);
  OK(cuMemHostGetDevicePointer_v2(&base, (char*)host + 16, 0));
  OK(cuMemcpyDtoD_v2(q, base, 64));
  OK(cuMemcpyDtoH_v2(bytes, q, 64));
  TRUE(bytes[0] == 9 && bytes[63] == 9);
  OK(cuPointerGetAttribute(&type, 2, (CUdeviceptr)(size_t)host));
  TRUE(type == 1);
  int attributes[2] = {2, 9999};
  void* told[2] = {&type, &type};
  type = 77;
  FAILS(1, cuPointerGetAttributes(2, attributes, told, p));
  TRUE(type == 77);
  OK(cuPointerGetAttributes(1, attributes, told, p));
  TRUE(type == 2);
  OK(cuMemFreeHost(host));
  FAILS(1, cuMemFreeHost(host));
  OK(cuMemFree_v2(p));
  OK(cuMemFree_v2(q));
}

static void read_back(CUarray array, unsigned* words) {
  Copy2D copy;
  memset(&copy, 0, sizeof copy);
  copy.src_type = 3;
  copy.src_array = array;
  copy.dst_type = 1;
  copy.dst_host = words;
  copy.width = 16 * 4;
  copy.height = 8;
  OK(cuMemcpy2D_v2(&copy));
}

static void objects(void) {
  ArrayDesc desc = {16, 8, 0, 3, 1, 2}, again;
  CUarray array, other = NULL;
  CUsurfObject surface;
  CUtexObject texture;
  CUdeviceptr out;
  ResourceDesc resource;
  TextureDesc how;
  unsigned words[128];
  OK(cuArray3DCreate_v2(&array, &desc));
  OK(cuArray3DGetDescriptor_v2(&again, array));
  TRUE(again.width == 16 && again.height == 8 && again.format == 3 && again.flags == 2);
  memset(&resource, 0, sizeof resource);
  resource.of.array = array;
  OK(cuSurfObjectCreate(&surface, &resource));
  void* params[] = {&surface};
  OK(cuLaunchKernel(function("paint"), 1, 1, 1, 16, 8, 1, 0, NULL, params, NULL));
  read_back(array, words);
  for (unsigned i = 0; i < 128; ++i) TRUE(words[i] == i / 16 * 100 + i % 16);
  OK(cuSurfObjectDestroy(surface));
  OK(cuSurfObjectDestroy(surface)); /* CUDA takes a handle twice */

  memset(&how, 0, sizeof how);
  how.address[0] = how.address[1] = how.address[2] = 1;
  how.flags = 1;
  OK(cuTexObjectCreate(&texture, &resource, &how, NULL));
  OK(cuMemAlloc_v2(&out, sizeof words));
  void* look[] = {&texture, &out};
  OK(cuLaunchKernel(function("look"), 1, 1, 1, 16, 8, 1, 0, NULL, look, NULL));
  OK(cuMemcpyDtoH_v2(words, out, sizeof words));
  for (unsigned i = 0; i < 128; ++i) TRUE(words[i] == i / 16 * 100 + i % 16);
  OK(cuTexObjectDestroy(texture));

  CUsurfref plane;
  OK(cuModuleGetSurfRef(&plane, module, "plane"));
  FAILS(500, cuModuleGetSurfRef(&plane, module, "plain"));
  OK(cuModuleGetSurfRef(&plane, module, "plane"));
  OK(cuSurfRefSetArray(plane, array, 0));
  OK(cuSurfRefGetArray(&other, plane));
  TRUE(other == array);
  OK(cuLaunchKernel(function("paint_ref"), 1, 1, 1, 16, 8, 1, 0, NULL, NULL, NULL));
  read_back(array, words);
  for (unsigned i = 0; i < 128; ++i) TRUE(words[i] == i / 16 * 1000 + i % 16);

  CUtexref image;
  size_t offset = 9;
  OK(cuModuleGetTexRef(&image, module, "image"));
  OK(cuTexRefSetFormat(image, 3, 1));
  OK(cuTexRefSetFlags(image, 1));
  OK(cuMemsetD32_v2(out, 77, 64));
  OK(cuTexRefSetAddress_v2(&offset, image, out, 64 * 4));
  TRUE(offset == 0);
  CUdeviceptr second = out + 64 * 4;
  void* ref[] = {&second};
  OK(cuLaunchKernel(function("look_ref"), 1, 1, 1, 32, 1, 1, 0, NULL, ref, NULL));
  OK(cuMemcpyDtoH_v2(words, second, 32 * 4));
  for (unsigned i = 0; i < 32; ++i) TRUE(words[i] == 77);
  OK(cuArrayDestroy(array));
  FAILS(709, cuArrayDestroy(array));
  OK(cuMemFree_v2(out));
}

static void linking(void) {
  static const char main_text[] =
      ".version 7.0\n.target sm_75\n.address_size 64\n"
      ".extern .func (.param .b32 r) twice(.param .b32 x);\n"
      ".visible .entry use(.param .u64 out) {\n  .reg .u64 %rd1; .reg .b32 %r1;\n"
      "  { .param .b32 x; .param .b32 r; st.param.b32 [x], 21; call (r), twice, (x);\n"
      "    ld.param.b32 %r1, [r]; }\n"
      "  ld.param.u64 %rd1, [out]; st.global.b32 [%rd1], %r1; ret;\n}\n";
  static const char other_text[] =
      ".version 7.0\n.target sm_75\n.address_size 64\n"
      ".visible .func (.param .b32 r) twice(.param .b32 x) {\n  .reg .b32 %r1;\n"
      "  ld.param.b32 %r1, [x]; add.u32 %r1, %r1, %r1; st.param.b32 [r], %r1; ret;\n}\n";
  char log[1024] = "";
  int options[] = {5, 6};
  void* values[] = {log, (void*)(size_t)sizeof log};
  CUlinkState link;
  void* image = NULL;
  size_t bytes = 0;
  CUmodule linked;
  CUfunction use;
  CUdeviceptr out;
  unsigned word = 0;
  OK(cuLinkCreate_v2(2, options, values, &link));
  OK(cuLinkAddData_v2(link, 1, (void*)main_text, sizeof main_text, "main", 0, NULL, NULL));
  FAILS(218, cuLinkComplete(link, &image, &bytes));
  TRUE(strstr(log, "twice") != NULL);
  OK(cuLinkAddData_v2(link, 1, (void*)other_text, sizeof other_text, "other", 0, NULL, NULL));
  OK(cuLinkComplete(link, &image, &bytes));
  OK(cuModuleLoadData(&linked, image));
  OK(cuLinkDestroy(link));
  OK(cuModuleGetFunction(&use, linked, "use"));
  OK(cuMemAlloc_v2(&out, 4));
  void* params[] = {&out};
  OK(cuLaunchKernel(use, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
  OK(cuMemcpyDtoH_v2(&word, out, 4));
  TRUE(word == 42);
  OK(cuMemFree_v2(out));
  OK(cuModuleUnload(linked));
  FAILS(400, cuModuleUnload(linked));
  FAILS(301, cuModuleLoad(&linked, "/nowhere"));
  TRUE(cuModuleLoad(&linked, "/") != 0);
  /* Machine code for NVIDIA's devices, in a file and in memory. */
  const Elf64_Ehdr cubin = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                            .e_machine = EM_CUDA};
  char cubin_file[32];
  const int memory_file = memfd_create("cubin", 0);
  TRUE(write(memory_file, &cubin, sizeof cubin) == sizeof cubin);
  snprintf(cubin_file, sizeof cubin_file, "/proc/self/fd/%d", memory_file);
  FAILS(209, cuModuleLoad(&linked, cubin_file));
  FAILS(209, cuModuleLoadData(&linked, &cubin));

  log[0] = 0;
  values[1] = (void*)(size_t)sizeof log;
  FAILS(218, cuModuleLoadDataEx(&linked, ".version 7.0\n.target sm_75\nnonsense;\n", 2, options,
                                values));
  TRUE(strstr(log, "error") != NULL);

  CUlibrary library;
  CUkernel kernel;
  OK(cuLibraryLoadData(&library, kKernels, NULL, NULL, 0, NULL, NULL, 0));
  OK(cuLibraryGetKernel(&kernel, library, "add"));
  OK(cuMemAlloc_v2(&out, 128));
  OK(cuMemsetD8_v2(out, 0, 128));
  unsigned by = 6;
  void* add[] = {&out, &by};
  OK(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 32, 1, 1, 0, NULL, add, NULL));
  OK(cuMemcpyDtoH_v2(&word, out + 124, 4));
  TRUE(word == 6);
  OK(cuLibraryUnload(library));
  OK(cuMemFree_v2(out));
}

static void contexts(CUcontext own) {
  CUcontext current = NULL, primary = NULL, second = NULL;
  CUdeviceptr p;
  OK(cuDevicePrimaryCtxRetain(&primary, 0));
  OK(cuCtxPushCurrent_v2(primary));
  OK(cuMemAlloc_v2(&p, 64));
  OK(cuCtxPopCurrent_v2(&current));
  TRUE(current == primary);
  OK(cuCtxGetCurrent(&current));
  TRUE(current == own);
  CUdevice device = -1;
  OK(cuCtxGetDevice_v2(&device, primary));
  TRUE(device == 0);
  OK(cuCtxSynchronize_v2(primary));
  OK(cuDevicePrimaryCtxRelease_v2(0));
  FAILS(1, cuMemFree_v2(p)); /* it went with its context */
  /* What a program of CUDA 12 leaves in the argument that it does not know. */
  device = -1;
  OK(cuCtxGetDevice_v2(&device, (CUcontext)(size_t)0x1234));
  TRUE(device == 0);
  OK(cuCtxCreate_v2(&second, 0, 0));
  OK(cuMemAlloc_v2(&p, 64));
  OK(cuCtxDestroy_v2(second));
  OK(cuCtxGetCurrent(&current));
  TRUE(current == own);
  FAILS(201, cuCtxSetCurrent(second));
  FAILS(1, cuMemFree_v2(p));
}

static void streams(void) {
  CUstream stream;
  CUevent start, end;
  CUdeviceptr p;
  float ms = -1;
  unsigned by = 1, word = 0;
  OK(cuStreamCreate(&stream, 1));
  OK(cuEventCreate(&start, 0));
  OK(cuEventCreate(&end, 0));
  OK(cuMemAlloc_v2(&p, 128));
  OK(cuMemsetD32_v2(p, 0, 32));
  FAILS(400, cuEventElapsedTime_v2(&ms, start, end));
  OK(cuEventRecord(start, stream));
  void* params[] = {&p, &by};
  for (int i = 0; i < 50; ++i)
    OK(cuLaunchKernel(function("add"), 1, 1, 1, 32, 1, 1, 0, stream, params, NULL));
  OK(cuEventRecord(end, stream));
  OK(cuEventSynchronize(end));
  OK(cuEventElapsedTime_v2(&ms, start, end));
  TRUE(ms >= 0);
  OK(cuStreamQuery(stream));
  OK(cuMemcpyDtoH_v2(&word, p, 4));
  TRUE(word == 50);
  OK(cuMemFree_v2(p));
  OK(cuEventDestroy_v2(start));
  OK(cuEventDestroy_v2(end));
  FAILS(400, cuEventDestroy_v2(end));
  OK(cuStreamDestroy_v2(stream));
  FAILS(400, cuStreamDestroy_v2(stream));
  FAILS(709, cuStreamSynchronize(stream));
}

static void addresses(void) {
  void* found = NULL;
  int result = -1;
  const void* table = &found;
  /* The table that NVIDIA's runtime library begins with; another one is refused silently. */
  const unsigned char runtime_table[16] = {0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a,
                                           0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9};
  char uuid[16] = {0};
  OK(cuGetProcAddress_v2("cuMemAlloc", &found, 13000, 0, &result));
  TRUE(found == (void*)&cuMemAlloc_v2 && result == 0);
  OK(cuGetProcAddress_v2("cuCtxSynchronize", &found, 12000, 0, &result));
  TRUE(found == (void*)&cuCtxSynchronize);
  OK(cuGetProcAddress_v2("cuLaunchKernel", &found, 13000, 2, &result));
  TRUE(found != NULL && found != (void*)&cuLaunchKernel);
  FAILS(500, cuGetProcAddress_v2("cuLibraryLoadData", &found, 11000, 0, &result));
  TRUE(found == NULL && result == 2);
  FAILS(500, cuGetProcAddress_v2("cuNothing", &found, 13000, 0, &result));
  TRUE(result == 1);
  FAILS(500, cuGetExportTable(&table, uuid));
  FAILS(500, cuGetExportTable(&table, runtime_table));
  FAILS(801, cuIpcGetMemHandle(uuid, 0));
}

int main(void) {
  CUcontext context;
  CUdevice device;
  int count = 0, value = 0, major = 0, minor = 0;
  char name[128] = "";
  const char* text = NULL;
  FAILS(3, cuDeviceGetCount(&count));
  OK(cuInit(0));
  OK(cuDriverGetVersion(&value));
  TRUE(value >= 12000);
  OK(cuDeviceGetCount(&count));
  TRUE(count >= 1);
  OK(cuDeviceGet(&device, 0));
  FAILS(101, cuDeviceGet(&device, count));
  memset(name, 'x', sizeof name);
  OK(cuDeviceGetName(name, sizeof name, device));
  TRUE(name[0] != 0 && memchr(name, 0, sizeof name - 1) && name[sizeof name - 1] == 'x');
  OK(cuDeviceGetAttribute(&major, 75, device));
  OK(cuDeviceGetAttribute(&minor, 76, device));
  TRUE(major == 7 && minor == 5);
  OK(cuGetErrorString(700, &text));
  TRUE(text && strstr(text, "illegal"));
  FAILS(1, cuGetErrorName(123456, &text));
  FAILS(201, cuCtxSynchronize());
  OK(cuCtxCreate_v2(&context, 0, device));
  OK(cuModuleLoadData(&module, kKernels));
  launches();
  memory();
  objects();
  linking();
  contexts(context);
  streams();
  addresses();
  OK(cuModuleUnload(module));
  OK(cuCtxDestroy_v2(context));
  printf(failures ? "%d failures\n" : "good\n", failures);
  return failures != 0;
}
