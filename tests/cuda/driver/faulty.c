/* A program that does wrong what its argument names: bounds, far, race, unwritten, leak, endless,
 * objects (which it does not destroy) or dead-... (what a kernel reads is gone). Without the
 * sanitizer it ends with 0, whatever that is. */
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
    ".visible .entry texel(.param .u64 surface, .param .u64 to) {\n"
    "  .reg .u64 %rd<4>; .reg .u32 %r<4>;\n"
    "  ld.param.u64 %rd1, [surface]; ld.param.u64 %rd2, [to]; mov.u32 %r1, 4;\n"
    "  suld.b.2d.b32.trap {%r2}, [%rd1, {%r1, %r1}];\n  st.global.u32 [%rd2], %r2;\n  ret;\n}\n"
    ".visible .entry fetch(.param .u64 texture, .param .u64 to) {\n"
    "  .reg .u64 %rd<4>; .reg .u32 %r<8>;\n"
    "  ld.param.u64 %rd1, [texture]; ld.param.u64 %rd2, [to]; mov.u32 %r1, 2;\n"
    "  tex.2d.v4.u32.s32 {%r2, %r3, %r4, %r5}, [%rd1, {%r1, %r1}];\n"
    "  st.global.u32 [%rd2], %r2;\n  ret;\n}\n"
    ".visible .entry element(.param .u64 texture, .param .u64 to) {\n"
    "  .reg .u64 %rd<4>; .reg .u32 %r<8>;\n"
    "  ld.param.u64 %rd1, [texture]; ld.param.u64 %rd2, [to]; mov.u32 %r1, 2;\n"
    "  tex.1d.v4.u32.s32 {%r2, %r3, %r4, %r5}, [%rd1, {%r1}];\n"
    "  st.global.u32 [%rd2], %r2;\n  ret;\n}\n"
    ".visible .entry forever(.param .u64 to) {\n"
    "  .reg .u64 %rd<2>; .reg .u32 %r<4>;\n  ld.param.u64 %rd1, [to]; mov.u32 %r1, 0;\n"
    "again:\n  add.u32 %r1, %r1, 1; st.volatile.global.u32 [%rd1], %r1;\n"
    "  mul.lo.u32 %r2, %r1, %r1; st.volatile.global.u32 [%rd1+4], %r2;\n  bra again;\n}\n";

/* An array, and a texture and a surface object of it. */
typedef struct {
  CUarray array;
  CUtexObject reader;
  CUsurfObject writer;
} Objects;
static Objects make_objects(void) {
  ArrayDesc form = {.width = 32, .height = 16, .format = 3, .channels = 1, .flags = 2};
  ResourceDesc resource = {0};
  TextureDesc texture = {.flags = 1};
  Objects made;
  OK(cuArray3DCreate_v2(&made.array, &form));
  resource.of.array = made.array;
  OK(cuTexObjectCreate(&made.reader, &resource, &texture, NULL));
  OK(cuSurfObjectCreate(&made.writer, &resource));
  return made;
}
static void objects(int destroy) {
  const Objects made = make_objects();
  if (!destroy) return;
  OK(cuTexObjectDestroy(made.reader));
  OK(cuSurfObjectDestroy(made.writer));
  OK(cuArrayDestroy(made.array));
}

/* A kernel by name that reads through `handle`, after what it shows is gone. */
static void read_dead(CUmodule module, const char* kernel, unsigned long long handle,
                      CUdeviceptr to) {
  CUfunction function;
  void* params[] = {&handle, &to};
  OK(cuModuleGetFunction(&function, module, kernel));
  OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
  printf("code %d\n", cuCtxSynchronize());
}

/* What is gone: the surface or texture object, the array of either, or a texture's memory. */
static void dead(const char* what, CUmodule module, CUdeviceptr to) {
  const Objects made = make_objects();
  TextureDesc texture = {.flags = 1};
  CUtexObject linear;
  CUdeviceptr memory;
  OK(cuMemAlloc_v2(&memory, 256));
  OK(cuMemsetD32_v2(memory, 5, 64));
  ResourceDesc rows = {.type = 2};
  rows.of.linear.address = memory;
  rows.of.linear.format = 3;
  rows.of.linear.channels = 1;
  rows.of.linear.bytes = 256;
  OK(cuTexObjectCreate(&linear, &rows, &texture, NULL));
  if (strstr(what, "-array")) OK(cuArrayDestroy(made.array));
  if (!strcmp(what, "dead-surface")) OK(cuSurfObjectDestroy(made.writer));
  if (!strcmp(what, "dead-texture")) OK(cuTexObjectDestroy(made.reader));
  if (!strcmp(what, "dead-memory")) {
    OK(cuMemFree_v2(memory));
    read_dead(module, "element", linear, to);
  } else if (strstr(what, "surface")) {
    read_dead(module, "texel", made.writer, to);
  } else {
    read_dead(module, "fetch", made.reader, to);
  }
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
  CUdeviceptr low = one < other ? one : other, high = one < other ? other : one;
  if (!strcmp(fault, "far")) {
    step = (unsigned)(high + 64 - low) / 4;
    printf("%s\n", low == one ? "the first" : "the second");
  } else {
    low = one;
  }
  void* to_store[] = {&low, &step};
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
  if (!strncmp(fault, "dead-", 5)) {
    dead(fault, module, other);
    return 0;
  }
  objects(strcmp(fault, "objects"));
  OK(cuMemFree_v2(one));
  if (strcmp(fault, "leak")) OK(cuMemFree_v2(other));
  puts(failures ? "bad" : "good");
  return 0;
}
