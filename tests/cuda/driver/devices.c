/* Several devices: work on each, copies between them, and their UUIDs. Arguments: how many there
   are, and the UUIDs of the first ones. */
#include "driver.h"

static const char kKernel[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry store(.param .u64 out, .param .u32 value) {\n"
    "  .reg .u64 %rd1; .reg .u32 %r1; ld.param.u64 %rd1, [out]; ld.param.u32 %r1, [value];\n"
    "  st.global.u32 [%rd1], %r1; ret;\n}\n";

extern CUresult cuDeviceGetUuid(unsigned char*, CUdevice);

static void check_uuids(int count, char** expected, int known) {
  unsigned char uuids[8][16];
  for (int i = 0; i < count; ++i) {
    char text[33];
    OK(cuDeviceGetUuid(uuids[i], i));
    for (int k = 0; k < 16; ++k) snprintf(text + 2 * k, 3, "%02x", uuids[i][k]);
    if (i < known) TRUE(strcmp(text, expected[i]) == 0);
    for (int k = 0; k < i; ++k) TRUE(memcmp(uuids[k], uuids[i], 16) != 0);
  }
}

int main(int argc, char** argv) {
  int count = 0;
  CUcontext contexts[8];
  CUdeviceptr memory[8];
  OK(cuInit(0));
  OK(cuDeviceGetCount(&count));
  if (failures || argc < 2) return 1;
  /* A function that is refused, in its variant for per-thread streams. */
  void* refused = NULL;
  int found = 0;
  OK(cuGetProcAddress_v2("cuStreamBeginCapture", &refused, 10000, 2, &found));
  FAILS(801, ((CUresult(*)(void))refused)());
  TRUE(count == atoi(argv[1]) && count <= 8);
  if (!failures) check_uuids(count, argv + 2, argc - 2);
  for (int i = 0; i < count && !failures; ++i) {
    CUmodule module;
    CUfunction store;
    unsigned value = 1000u + (unsigned)i;
    OK(cuCtxCreate_v2(&contexts[i], 0, i));
    OK(cuModuleLoadData(&module, kKernel));
    OK(cuModuleGetFunction(&store, module, "store"));
    OK(cuMemAlloc_v2(&memory[i], 4));
    void* params[] = {&memory[i], &value};
    OK(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    OK(cuCtxSynchronize());
  }
  /* Each device's word goes to the next one. */
  for (int i = 0; i < count && !failures; ++i) {
    unsigned word = 0;
    CUdeviceptr copy;
    OK(cuCtxSetCurrent(contexts[(i + 1) % count]));
    OK(cuMemAlloc_v2(&copy, 4));
    OK(cuMemcpyDtoD_v2(copy, memory[i], 4));
    OK(cuMemcpyDtoH_v2(&word, copy, 4));
    TRUE(word == 1000u + (unsigned)i);
  }
  for (int i = 0; i < count && !failures; ++i) OK(cuCtxDestroy_v2(contexts[i]));
  printf(failures ? "%d failures\n" : "good\n", failures);
  return failures != 0;
}
