/* Compiles a kernel at run time, loads what stands for its machine code and runs it. The library is
   the one that this program is linked with, or the one of the first argument. */
#define _GNU_SOURCE
#include "driver.h"

#include <dlfcn.h>

typedef void* nvrtcProgram;
int nvrtcGetCUBINSize(nvrtcProgram program, size_t* size);
int nvrtcGetCUBIN(nvrtcProgram program, char* code);

#define CHECK(call)                                       \
  do {                                                    \
    const CUresult result = (call);                       \
    if (result) return printf(#call ": %d\n", result), 1; \
  } while (0)

static void* library = NULL;

static void* function(const char* name) {
  void* found = dlsym(library ? library : RTLD_DEFAULT, name);
  if (!found) printf("there is no %s\n", name);
  if (!found) exit(1);
  return found;
}

static size_t code_size(nvrtcProgram program) {
  size_t size = 0;
#ifdef LINKED
  const int result = nvrtcGetCUBINSize(program, &size);
#else
  const int result =
      ((int (*)(nvrtcProgram, size_t*))function("nvrtcGetCUBINSize"))(program, &size);
#endif
  return result ? 0 : size;
}

static int get_code(nvrtcProgram program, char* code) {
#ifdef LINKED
  return nvrtcGetCUBIN(program, code);
#else
  return ((int (*)(nvrtcProgram, char*))function("nvrtcGetCUBIN"))(program, code);
#endif
}

int main(int count, char** arguments) {
  if (count > 1 && !(library = dlopen(arguments[1], RTLD_NOW))) return puts(dlerror()), 1;
  int (*create)(nvrtcProgram*, const char*, const char*, int, const char**, const char**) =
      function("nvrtcCreateProgram");
  int (*compile)(nvrtcProgram, int, const char**) = function("nvrtcCompileProgram");
  const char* source =
      "extern \"C\" __global__ void seven(int* out) { out[threadIdx.x] = 7 * threadIdx.x; }\n";
  const char* machine[] = {"--gpu-architecture=sm_75"};
  const char* virtual[] = {"--gpu-architecture=compute_75"};
  nvrtcProgram program, no_machine_code;
  if (create(&program, source, "seven.cu", 0, NULL, NULL) || compile(program, 1, machine)) return 1;
  if (create(&no_machine_code, source, "seven.cu", 0, NULL, NULL) ||
      compile(no_machine_code, 1, virtual))
    return 1;
  if (code_size(no_machine_code) != 0) return puts("PTX alone has machine code"), 1;
  char* code = calloc(1, code_size(program) + 1);
  if (!code || get_code(program, code)) return puts("no code"), 1;

  CUcontext context;
  CUmodule module;
  CUfunction kernel;
  CUdeviceptr memory;
  int host[32];
  CHECK(cuInit(0));
  CHECK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuModuleLoadData(&module, code));
  CHECK(cuModuleGetFunction(&kernel, module, "seven"));
  CHECK(cuMemAlloc_v2(&memory, sizeof host));
  void* parameters[] = {&memory};
  CHECK(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, parameters, NULL));
  CHECK(cuMemcpyDtoH_v2(host, memory, sizeof host));
  for (int i = 0; i < 32; ++i)
    if (host[i] != 7 * i) return printf("%d is not %d\n", host[i], 7 * i), 1;
  puts("good");
  return 0;
}
