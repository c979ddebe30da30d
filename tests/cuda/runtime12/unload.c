/* A program that opens the runtime library, has a thread of its own launch, and closes it twice
   over: threads that serve launches stay in the library's code, so that has to stay as well. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static const char kPtx[] =
    ".version 7.8\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 to) {\n"
    ".reg .b32 %r<2>; .reg .b64 %d<3>;\nld.param.u64 %d0, [to]; mov.u32 %r0, %ctaid.x;\n"
    "mul.wide.u32 %d1, %r0, 4; add.u64 %d2, %d0, %d1; st.global.u32 [%d2], %r0; ret;\n}\n";
enum { kBlocks = 10000 };

typedef struct {
  unsigned x, y, z;
} Dim3;

static void* library;
static int failures = 0;

static void good(int holds, const char* what) {
  if (holds) return;
  printf("%s\n", what);
  ++failures;
}

static void* launch(void* unused) {
  (void)unused;
  int (*allocate)(void**, size_t) = (int (*)(void**, size_t))dlsym(library, "cudaMalloc");
  int (*load)(void**, const void*, void*, void*, unsigned, void*, void*, unsigned) =
      (int (*)(void**, const void*, void*, void*, unsigned, void*, void*, unsigned))dlsym(
          library, "cudaLibraryLoadData");
  int (*find)(void**, void*, const char*) =
      (int (*)(void**, void*, const char*))dlsym(library, "cudaLibraryGetKernel");
  int (*run)(const void*, Dim3, Dim3, void**, size_t, void*) =
      (int (*)(const void*, Dim3, Dim3, void**, size_t, void*))dlsym(library, "cudaLaunchKernel");
  int (*copy)(void*, const void*, size_t, int) =
      (int (*)(void*, const void*, size_t, int))dlsym(library, "cudaMemcpy");
  if (!allocate || !load || !find || !run || !copy) return good(0, "a function is missing"), NULL;
  void *module = NULL, *kernel = NULL, *to = NULL;
  static unsigned words[kBlocks];
  good(!allocate(&to, sizeof words), "cudaMalloc");
  good(!load(&module, kPtx, NULL, NULL, 0, NULL, NULL, 0), "cudaLibraryLoadData");
  good(!find(&kernel, module, "k"), "cudaLibraryGetKernel");
  void* arguments[] = {&to};
  const Dim3 blocks = {kBlocks, 1, 1}, threads = {32, 1, 1};
  good(!run(kernel, blocks, threads, arguments, 0, NULL), "cudaLaunchKernel");
  for (unsigned i = 0; i < kBlocks; ++i) words[i] = ~0u;
  good(!copy(words, to, sizeof words, 2), "cudaMemcpy");
  unsigned right = 0;
  while (right < kBlocks && words[right] == right) ++right;
  good(right == kBlocks, "a word is wrong");
  return NULL;
}

int main(int count, char** arguments) {
  if (count != 2) return 2;
  for (int round = 0; round < 2; ++round) {
    library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) return puts(dlerror()), 1;
    /* What this thread keeps for itself would keep the library too. */
    pthread_t thread;
    if (pthread_create(&thread, NULL, launch, NULL) || pthread_join(thread, NULL)) return 2;
    good(dlclose(library) == 0, "dlclose");
    void* stays = dlopen(arguments[1], RTLD_NOW | RTLD_NOLOAD);
    good(stays && dlclose(stays) == 0, "the library's code is gone");
  }
  puts(failures ? "bad" : "good");
  return failures != 0;
}
