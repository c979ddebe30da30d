/* 10,000 cycles of making, using and destroying one of everything: the process does not grow. */
#include <limits.h>
#include <unistd.h>

#include "driver.h"

enum { kParts = 3 };

static const char kKernel[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry paint(.param .u64 s, .param .u64 t, .param .u64 out) {\n"
    "  .reg .u64 %rd<4>; .reg .u32 %r<8>; .reg .f32 %f<2>;\n"
    "  ld.param.u64 %rd1, [s]; ld.param.u64 %rd2, [t]; ld.param.u64 %rd3, [out];\n"
    "  sust.b.2d.b32.trap [%rd1, {0, 0}], {7}; mov.f32 %f1, 0f00000000;\n"
    "  tex.2d.v4.u32.f32 {%r4, %r5, %r6, %r7}, [%rd2, {%f1, %f1}];\n"
    "  st.global.u32 [%rd3], %r4; ret;\n}\n";

/* Without pages of files, such as libraries' code: they come and go as the kernel likes. */
static long resident_kib(void) {
  char line[128];
  long all = -1, of_files = -1;
  FILE* file = fopen("/proc/self/status", "r");
  while (file && fgets(line, sizeof line, file)) {
    sscanf(line, "VmRSS: %ld", &all);
    sscanf(line, "RssFile: %ld", &of_files);
  }
  if (!file || all < 0 || of_files < 0) exit(3);
  fclose(file);
  return all - of_files;
}

static void cycle(CUfunction paint) {
  ArrayDesc desc = {64, 64, 0, 3, 1, 2};
  CUarray array;
  CUsurfObject surface;
  CUtexObject texture;
  CUdeviceptr p;
  CUstream stream;
  CUevent event;
  ResourceDesc resource;
  TextureDesc how;
  void* host;
  OK(cuMemAlloc_v2(&p, 10000));
  OK(cuMemHostAlloc(&host, 5000, 0));
  OK(cuArray3DCreate_v2(&array, &desc));
  memset(&resource, 0, sizeof resource);
  memset(&how, 0, sizeof how);
  resource.of.array = array;
  how.flags = 1;
  OK(cuSurfObjectCreate(&surface, &resource));
  OK(cuTexObjectCreate(&texture, &resource, &how, NULL));
  OK(cuStreamCreate(&stream, 0));
  OK(cuEventCreate(&event, 0));
  void* params[] = {&surface, &texture, &p};
  OK(cuLaunchKernel(paint, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
  OK(cuEventRecord(event, stream));
  OK(cuEventSynchronize(event));
  OK(cuEventDestroy_v2(event));
  OK(cuStreamDestroy_v2(stream));
  OK(cuSurfObjectDestroy(surface));
  OK(cuTexObjectDestroy(texture));
  OK(cuArrayDestroy(array));
  OK(cuMemFreeHost(host));
  OK(cuMemFree_v2(p));
}

int main(int argc, char** argv) {
  const int cycles = argc > 1 ? atoi(argv[1]) : 10000;
  CUcontext context;
  CUmodule module;
  CUfunction paint;
  OK(cuInit(0));
  OK(cuCtxCreate_v2(&context, 0, 0));
  OK(cuModuleLoadData(&module, kKernel));
  OK(cuModuleGetFunction(&paint, module, "paint"));
  for (int i = 0; i < cycles / 10; ++i) cycle(paint); /* allocators have what they keep */
  /* What is lost makes the process grow in every part; what allocators take makes it grow in one.
   */
  long grown = LONG_MAX;
  for (int part = 0; part < kParts; ++part) {
    const long before = resident_kib();
    for (int i = 0; i < cycles / kParts && !failures; ++i) cycle(paint);
    const long more = resident_kib() - before;
    if (more < grown) grown = more;
  }
  TRUE(grown < 2048 / kParts);
  OK(cuModuleUnload(module));
  OK(cuCtxDestroy_v2(context));
  if (failures) printf("each part grown by %ld KiB\n", grown);
  printf(failures ? "%d failures\n" : "good\n", failures);
  return failures != 0;
}
