/* A program that does wrong what its argument names: bounds, race, unwritten, leak, endless or
 * objects (which it does not destroy). Without the sanitizer it ends with 0, whatever that is. */
#include "driver.h"

static const char kKernels[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry store(.param .u64 to, .param .u32 step) {\n"
    "  .reg .u64 %rd<4>; .reg .u32 %r<4>;\n"
    "  ld.param.u64 %rd1, [to]; ld.param.u32 %r1, [step]; mov.u32 %r2, %tid.x;\n"
    "  mul.lo.u32 %r3, %r1, %r2; mul.wide.u32 %rd2, %r3, 4; add.u64 %rd3, %rd1, %rd2;\n"
    "  st.global.u32 [%rd3], %r2;\n  ret;\n}\n"
    ".visible .entry load(.param .u64 from, .param .u64 to) {\n"
    "  .reg .u64 %rd<4>; .reg .u32 %r<4>;\n"
    "  ld.param.u64 %rd1, [from]; ld.param.u64 %rd2, [to];\n"
    "  ld.global.u32 %r1, [%rd1];\n  st.global.u32 [%rd2], %r1;\n  ret;\n}\n"
    ".visible .entry forever(.param .u64 to) {\n"
    "  .reg .u64 %rd<2>; .reg .u32 %r<4>;\n  ld.param.u64 %rd1, [to]; mov.u32 %r1, 0;\n"
    "again:\n  add.u32 %r1, %r1, 1; st.volatile.global.u32 [%rd1], %r1;\n"
    "  mul.lo.u32 %r2, %r1, %r1; st.volatile.global.u32 [%rd1+4], %r2;\n  bra again;\n}\n";

/* An array, and a texture and a surface object of it. */
static void objects(int destroy) {
  ArrayDesc form = {.width = 32, .height = 16, .format = 0x20, .channels = 1, .flags = 2};
  CUarray array;
  ResourceDesc resource = {0};
  TextureDesc texture = {0};
  CUtexObject reader;
  CUsurfObject writer;
  OK(cuArray3DCreate_v2(&array, &form));
  resource.of.array = array;
  OK(cuTexObjectCreate(&reader, &resource, &texture, NULL));
  OK(cuSurfObjectCreate(&writer, &resource));
  if (!destroy) return;
  OK(cuTexObjectDestroy(reader));
  OK(cuSurfObjectDestroy(writer));
  OK(cuArrayDestroy(array));
}

int main(int argc, char** argv) {
  const char* fault = argc > 1 ? argv[1] : "nothing";
  const int bounds = !strcmp(fault, "bounds"), race = !strcmp(fault, "race");
  CUdevice device;
  CUcontext context;
  CUmodule module;
  CUfunction store, load, forever;
  CUdeviceptr one, other;
  OK(cuInit(0));
  OK(cuDeviceGet(&device, 0));
  OK(cuCtxCreate_v2(&context, 0, device));
  OK(cuModuleLoadData(&module, kKernels));
  OK(cuModuleGetFunction(&store, module, "store"));
  OK(cuModuleGetFunction(&load, module, "load"));
  OK(cuModuleGetFunction(&forever, module, "forever"));
  OK(cuMemAlloc_v2(&one, bounds ? 124 : 128));
  OK(cuMemAlloc_v2(&other, 4096));
  TRUE(one + 124 <= other || other + 4096 <= one);
  unsigned step = race ? 0 : 1;
  void* to_store[] = {&one, &step};
  OK(cuLaunchKernel(store, 1, 1, 1, 32, 1, 1, 0, NULL, to_store, NULL));
  if (!strcmp(fault, "unwritten")) {
    void* to_load[] = {&other, &one};
    OK(cuLaunchKernel(load, 1, 1, 1, 1, 1, 1, 0, NULL, to_load, NULL));
  }
  if (!strcmp(fault, "endless")) {
    void* to_wait[] = {&one};
    OK(cuLaunchKernel(forever, 1, 1, 1, 1, 1, 1, 0, NULL, to_wait, NULL));
    const int code = cuCtxSynchronize();
    printf("code %d\n", code);
    return 0;
  }
  OK(cuCtxSynchronize());
  objects(strcmp(fault, "objects"));
  OK(cuMemFree_v2(one));
  if (strcmp(fault, "leak")) OK(cuMemFree_v2(other));
  puts(failures ? "bad" : "good");
  return 0;
}
