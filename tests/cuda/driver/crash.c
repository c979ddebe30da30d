/* A program that crashes as its argument says: kernel (a wild store), far (one beyond all
 * addresses), own (in its own code after a launch), abort; with "before" or "after" as the second
 * argument it has a handler of its own, from before or after the first call of CUDA. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "driver.h"

static const char kKernels[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry wild(.param .u64 to) {\n"
    "  .reg .u64 %rd; .reg .u32 %r;\n  ld.param.u64 %rd, [to]; mov.u32 %r, 7;\n"
    "  st.global.u32 [%rd], %r;\n  ret;\n}\n";

static void handler(int number) {
  static const char kText[] = "the program's handler\n";
  (void)number;
  if (write(1, kText, sizeof kText - 1) < 0) _exit(1);
  _exit(42);
}

static void install(void) {
  signal(SIGSEGV, handler);
  signal(SIGABRT, handler);
}

int main(int argc, char** argv) {
  const char *crash = argc > 1 ? argv[1] : "nothing", *when = argc > 2 ? argv[2] : "never";
  CUdevice device;
  CUcontext context;
  CUmodule module;
  CUfunction wild;
  CUdeviceptr good, bad = 64;
  void* arguments[] = {&good};
  if (!strcmp(when, "before")) install();
  OK(cuInit(0));
  OK(cuDeviceGet(&device, 0));
  TRUE(device == 0);
  OK(cuCtxCreate_v2(&context, 0, device));
  OK(cuModuleLoadData(&module, kKernels));
  OK(cuModuleGetFunction(&wild, module, "wild"));
  OK(cuMemAlloc_v2(&good, 128));
  OK(cuLaunchKernel(wild, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
  OK(cuCtxSynchronize());
  if (!strcmp(when, "after")) install();
  if (!strcmp(crash, "kernel") || !strcmp(crash, "far")) {
    if (!strcmp(crash, "far")) bad <<= 44;
    arguments[0] = &bad;
    OK(cuLaunchKernel(wild, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    OK(cuCtxSynchronize());
  }
  if (!strcmp(crash, "own")) *(volatile int*)(size_t)argc = 7;
  if (!strcmp(crash, "abort")) abort();
  puts("good");
  return 0;
}
