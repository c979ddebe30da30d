/* Ends while the driver compiles and runs its kernel: nobody waits for it. What was registered
   before the device was opened, as destructors of C++ programs are, runs when there is no device
   any more: the answer is CUDA_ERROR_DEINITIALIZED. */
#include <unistd.h>

#include "driver.h"

/* A texture whose handle lies in memory: every format and filter is in the module. */
static const char kKernel[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry look(.param .u64 words) {\n"
    "  .reg .u64 %rd<3>; .reg .f32 %f<9>; .reg .u32 %r<2>;\n"
    "  ld.param.u64 %rd1, [words]; ld.global.u64 %rd2, [%rd1];\n"
    "  mov.u32 %r1, %tid.x; cvt.rn.f32.u32 %f1, %r1; mov.f32 %f2, 0f3F000000;\n"
    "  tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%rd2, {%f1, %f2}];\n"
    "  tex.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%rd2, {%f3, %f4}];\n"
    "  st.global.f32 [%rd1+8], %f5; ret;\n}\n";

static CUmodule module;
static CUdeviceptr p;

static void clean_up(void) {
  const int codes[] = {cuModuleUnload(module), cuMemFree_v2(p), cuCtxSynchronize(), cuInit(0)};
  for (int i = 0; i < 4; ++i) TRUE(codes[i] == 4);
  printf(failures ? "%d failures\n" : "good\n", failures);
  fflush(stdout);
  if (failures) _exit(1);
}

int main(int argc, char** argv) {
  const unsigned launches = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
  ArrayDesc desc = {16, 16, 0, 0x20, 4, 0};
  ResourceDesc resource;
  TextureDesc how;
  CUcontext context;
  CUfunction look;
  CUarray array;
  CUtexObject texture;
  TRUE(atexit(clean_up) == 0);
  OK(cuInit(0));
  OK(cuCtxCreate_v2(&context, 0, 0));
  OK(cuModuleLoadData(&module, kKernel));
  OK(cuModuleGetFunction(&look, module, "look"));
  OK(cuArray3DCreate_v2(&array, &desc));
  memset(&resource, 0, sizeof resource);
  memset(&how, 0, sizeof how);
  resource.of.array = array;
  OK(cuTexObjectCreate(&texture, &resource, &how, NULL));
  OK(cuMemAlloc_v2(&p, 16));
  OK(cuMemcpyHtoD_v2(p, &texture, 8));
  TRUE(launches > 0);
  void* params[] = {&p};
  for (unsigned i = 0; i < launches; ++i)
    OK(cuLaunchKernel(look, 8, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
  return 7;
}
