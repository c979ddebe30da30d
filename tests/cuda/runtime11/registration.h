/* What compilers emit for a program's kernels, by hand: a fat binary of one PTX text, its
 * registration, and what launches need. */
#ifndef PTX2SPV_TESTS_CUDA_REGISTRATION_H
#define PTX2SPV_TESTS_CUDA_REGISTRATION_H
#include "runtime.h"

typedef struct {
  unsigned x, y, z;
} dim3;
void** __cudaRegisterFatBinary(void* wrapper);
void __cudaRegisterFatBinaryEnd(void** handle);
void __cudaUnregisterFatBinary(void** handle);
void __cudaRegisterFunction(void** handle, const char* host, char* device, const char* name,
                            int limit, void* tid, void* bid, dim3* block, dim3* grid, int* size);
cudaError_t cudaLaunchKernel(const void* host, dim3 grid, dim3 block, void** args, size_t shared,
                             cudaStream_t stream);

/* The fat binary and its wrapper: PTX for compute capability 7.5, not compressed. */
static struct {
  uint32_t magic;
  uint16_t version, header_bytes;
  uint64_t payload_bytes;
  struct {
    uint16_t kind, version;
    uint32_t header_bytes;
    uint64_t payload_bytes;
    uint32_t compressed, options;
    uint16_t minor, major;
    uint32_t arch, name, name_bytes;
    uint64_t flags, zero, bytes;
  } entry;
  char text[8192];
} fatbin;
static struct {
  uint32_t magic, version;
  const void* data;
  void* prelinked;
} wrapper = {0x466243b1, 1, &fatbin, NULL};

static void** handle;

static void reg(void (*host)(void), const char* name) {
  __cudaRegisterFunction(handle, (const char*)(uintptr_t)host, (char*)(uintptr_t)name, name, -1,
                         NULL, NULL, NULL, NULL, NULL);
}

/* Registers `ptx`; kernels and variables follow, then __cudaRegisterFatBinaryEnd. */
static void begin(const char* ptx) {
  if (strlen(ptx) >= sizeof fatbin.text) printf("the PTX is too long\n"), exit(2);
  fatbin.magic = 0xba55ed50;
  fatbin.version = 1;
  fatbin.header_bytes = 16;
  fatbin.payload_bytes = sizeof fatbin.entry + sizeof fatbin.text;
  fatbin.entry.kind = 1;
  fatbin.entry.version = 0x101;
  fatbin.entry.header_bytes = sizeof fatbin.entry;
  fatbin.entry.payload_bytes = sizeof fatbin.text;
  fatbin.entry.major = 6;
  fatbin.entry.minor = 3;
  fatbin.entry.arch = 75;
  fatbin.entry.flags = 0x11;
  strcpy(fatbin.text, ptx);
  handle = __cudaRegisterFatBinary(&wrapper);
}
#endif
