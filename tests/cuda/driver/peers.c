/* What two devices have of each other. Argument: 1 where kernels reach the other's memory. */
#include "driver.h"

enum { kPrimary = 2, kWords = 3 << 20, kBytes = 4 * kWords, kSide = 5, kWide = 1200, kHigh = 870 };

/* Doubles a word of the other device's. */
static const char kKernel[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry twice(.param .u64 to, .param .u64 from) {\n"
    "  .reg .u64 %rd<3>; .reg .u32 %r<4>; ld.param.u64 %rd1, [to]; ld.param.u64 %rd2, [from];\n"
    "  mov.u32 %r1, %tid.x; mul.wide.u32 %rd0, %r1, 4; add.u64 %rd1, %rd1, %rd0;\n"
    "  add.u64 %rd2, %rd2, %rd0; ld.u32 %r2, [%rd2]; add.u32 %r2, %r2, %r2;\n"
    "  st.u32 [%rd1], %r2; atom.add.u32 %r3, [%rd2], 1; ret;\n}\n";

typedef struct {
  size_t src_x, src_y, src_z, src_level;
  unsigned src_type;
  const void* src_host;
  CUdeviceptr src_device;
  CUarray src_array;
  CUcontext src_context;
  size_t src_pitch, src_height, dst_x, dst_y, dst_z, dst_level;
  unsigned dst_type;
  void* dst_host;
  CUdeviceptr dst_device;
  CUarray dst_array;
  CUcontext dst_context;
  size_t dst_pitch, dst_height, width, height, depth;
} PeerCopy3D;
extern CUresult cuDeviceCanAccessPeer(int*, CUdevice, CUdevice);
extern CUresult cuDeviceGetP2PAttribute(int*, int, CUdevice, CUdevice);
extern CUresult cuCtxEnablePeerAccess(CUcontext, unsigned);
extern CUresult cuCtxDisablePeerAccess(CUcontext);
extern CUresult cuMemcpyPeer(CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t);
extern CUresult cuMemcpyPeerAsync(CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t, CUstream);
extern CUresult cuMemcpy3DPeer(const PeerCopy3D*);

static CUcontext contexts[2];
static CUdeviceptr memory[2];
static unsigned words[kWords], got[kWords];

static void check_access(int can) {
  for (int i = 0; i < 2; ++i) {
    int value = 7;
    const CUcontext other = contexts[!i];
    OK(cuDeviceCanAccessPeer(&value, i, !i));
    TRUE(value == can);
    OK(cuDeviceCanAccessPeer(&value, i, i));
    TRUE(value == 0);
    for (int attribute = 1; attribute <= 4; ++attribute) {
      OK(cuDeviceGetP2PAttribute(&value, attribute, i, !i));
      TRUE(value == (attribute == 2 || attribute == 3 ? can : 0));
    }
    FAILS(101, cuDeviceCanAccessPeer(&value, i, 9));
    OK(cuCtxSetCurrent(contexts[i]));
    FAILS(705, cuCtxDisablePeerAccess(other));
    FAILS(1, cuCtxEnablePeerAccess(other, 1));
    if (!can) {
      FAILS(217, cuCtxEnablePeerAccess(other, 0));
      continue;
    }
    OK(cuCtxEnablePeerAccess(other, 0));
    FAILS(704, cuCtxEnablePeerAccess(other, 0));
    OK(cuCtxDisablePeerAccess(other));
    OK(cuCtxEnablePeerAccess(other, 0));
  }
}

static void check_kernel(int i) {
  CUmodule module;
  CUfunction twice;
  void* parameters[] = {&memory[i], &memory[!i]};
  OK(cuCtxSetCurrent(contexts[!i]));
  OK(cuMemcpyHtoD_v2(memory[!i], words, 128));
  OK(cuCtxSetCurrent(contexts[i]));
  OK(cuModuleLoadData(&module, kKernel));
  OK(cuModuleGetFunction(&twice, module, "twice"));
  OK(cuLaunchKernel(twice, 1, 1, 1, 32, 1, 1, 0, NULL, parameters, NULL));
  OK(cuMemcpyDtoH_v2(got, memory[i], 128));
  for (int k = 0; k < 32; ++k) TRUE(got[k] == 2 * words[k]);
  OK(cuMemcpyDtoH_v2(got, memory[!i], 128));
  for (int k = 0; k < 32; ++k) TRUE(got[k] == words[k] + 1);
}

/* All of it but a word at both ends, which stay. */
static void check_copy(int i, int in_stream) {
  const CUdeviceptr to = memory[i], from = memory[!i];
  const size_t bytes = kBytes - 8;
  CUstream stream = NULL;
  memset(got, 0, kBytes);
  OK(cuCtxSetCurrent(contexts[!i]));
  OK(cuMemcpyHtoD_v2(from, words, kBytes));
  OK(cuCtxSetCurrent(contexts[i]));
  OK(cuMemcpyHtoD_v2(to, got, kBytes));
  if (in_stream) {
    OK(cuStreamCreate(&stream, 0));
    OK(cuMemcpyPeerAsync(to + 4, contexts[i], from + 4, contexts[!i], bytes, stream));
    OK(cuStreamSynchronize(stream));
  } else {
    OK(cuMemcpyPeer(to + 4, contexts[i], from + 4, contexts[!i], bytes));
  }
  OK(cuMemcpyDtoH_v2(got, to, kBytes));
  TRUE(got[0] == 0 && got[kWords - 1] == 0);
  TRUE(memcmp(got + 1, words + 1, bytes) == 0);
}

/* A box from an array to the middle of rows in memory, and from there to the other array. */
static void check_boxes(int i) {
  const ArrayDesc volume = {kSide, kSide, kSide, 0x20, 1, 2};
  CUarray arrays[2];
  PeerCopy3D copy = {0};
  for (int k = 0; k < 2; ++k) {
    OK(cuCtxSetCurrent(contexts[k]));
    OK(cuArray3DCreate_v2(&arrays[k], &volume));
  }
  copy.src_type = 1;
  copy.src_host = words;
  copy.src_pitch = copy.width = 4 * kSide;
  copy.src_height = copy.height = copy.depth = kSide;
  copy.dst_type = 3;
  copy.dst_array = arrays[!i];
  copy.dst_context = contexts[!i];
  OK(cuMemcpy3DPeer(&copy));
  OK(cuCtxSetCurrent(contexts[i]));
  copy.src_type = 3;
  copy.src_array = arrays[!i];
  copy.src_context = contexts[!i];
  copy.dst_type = 2;
  copy.dst_device = memory[i];
  copy.dst_context = contexts[i];
  copy.dst_pitch = 64;
  copy.dst_height = 8;
  copy.dst_x = 8;
  copy.dst_y = 2;
  OK(cuMemcpy3DPeer(&copy));
  OK(cuMemcpyDtoH_v2(got, memory[i], 64 * 8 * kSide));
  for (int z = 0; z < kSide; ++z)
    for (int y = 0; y < kSide; ++y)
      TRUE(memcmp(got + 16 * (8 * z + y + 2) + 2, words + kSide * (kSide * z + y), 4 * kSide) == 0);
  copy.src_type = 2;
  copy.src_device = memory[i];
  copy.src_context = contexts[i];
  copy.src_pitch = 64;
  copy.src_height = 8;
  copy.src_x = 8;
  copy.src_y = 2;
  copy.dst_type = 3;
  copy.dst_array = arrays[!i];
  copy.dst_context = contexts[!i];
  copy.dst_x = copy.dst_y = 0;
  copy.src_z = 1;
  copy.depth = 1;
  OK(cuMemcpy3DPeer(&copy));
  copy.src_type = 3;
  copy.src_array = arrays[!i];
  copy.src_context = contexts[!i];
  copy.src_x = copy.src_y = copy.src_z = 0;
  copy.dst_type = 1;
  copy.dst_host = got;
  copy.dst_pitch = 4 * kSide;
  copy.dst_height = kSide;
  OK(cuMemcpy3DPeer(&copy));
  TRUE(memcmp(got, words + kSide * kSide, 4 * kSide * kSide) == 0);
  for (int k = 0; k < 2; ++k) OK(cuArrayDestroy(arrays[k]));
}

/* More than goes at once: three slices between arrays, then a part of the rows of memory. */
static void check_large(int i) {
  const ArrayDesc volume = {kWide, kHigh, 3, 0x20, 1, 2};
  CUarray arrays[2];
  PeerCopy3D copy = {0}, rows = {0};
  for (int k = 0; k < 2; ++k) {
    OK(cuCtxSetCurrent(contexts[k]));
    OK(cuArray3DCreate_v2(&arrays[k], &volume));
  }
  copy.src_type = 1;
  copy.src_host = words;
  copy.src_pitch = copy.width = 4 * kWide;
  copy.src_height = copy.height = kHigh;
  copy.depth = 3;
  copy.dst_type = 3;
  copy.dst_array = arrays[!i];
  OK(cuMemcpy3DPeer(&copy));
  copy.src_type = 3;
  copy.src_array = arrays[!i];
  copy.src_context = contexts[!i];
  copy.dst_array = arrays[i];
  copy.dst_context = contexts[i];
  OK(cuMemcpy3DPeer(&copy));
  memset(got, 0, kBytes);
  copy.src_array = arrays[i];
  copy.dst_type = 1;
  copy.dst_host = got;
  copy.dst_pitch = 4 * kWide;
  copy.dst_height = kHigh;
  OK(cuMemcpy3DPeer(&copy));
  TRUE(memcmp(got, words, 4 * kWide * kHigh * 3) == 0);
  for (int k = 0; k < 2; ++k) OK(cuArrayDestroy(arrays[k]));
  OK(cuCtxSetCurrent(contexts[!i]));
  OK(cuMemcpyHtoD_v2(memory[!i], words, kBytes));
  OK(cuCtxSetCurrent(contexts[i]));
  memset(got, 0, kBytes);
  OK(cuMemcpyHtoD_v2(memory[i], got, kBytes));
  rows.src_type = rows.dst_type = 2;
  rows.src_device = memory[!i];
  rows.src_context = contexts[!i];
  rows.dst_device = memory[i];
  rows.dst_context = contexts[i];
  rows.src_pitch = 4 * kWide;
  rows.dst_pitch = 4 * (kWide - 50);
  rows.width = 4 * (kWide - 80);
  rows.height = kHigh * 3;
  rows.depth = 1;
  rows.src_x = 28;
  rows.dst_x = 8;
  OK(cuMemcpy3DPeer(&rows));
  OK(cuMemcpyDtoH_v2(got, memory[i], kBytes));
  for (int y = 0; y < kHigh * 3; ++y) {
    const unsigned* row = got + y * (kWide - 50);
    TRUE(row[1] == 0 && row[kWide - 78] == 0);
    TRUE(memcmp(row + 2, words + y * kWide + 7, 4 * (kWide - 80)) == 0);
  }
}

int main(int argc, char** argv) {
  if (argc != 2) return 1;
  const int can = atoi(argv[1]);
  for (unsigned i = 0; i < kWords; ++i) words[i] = i * 2654435761u + 1;
  OK(cuInit(0));
  for (int i = 0; i < kPrimary; ++i) {
    OK(cuDevicePrimaryCtxRetain(&contexts[i], i));
    OK(cuCtxSetCurrent(contexts[i]));
    OK(cuMemAlloc_v2(&memory[i], kBytes));
  }
  if (!failures) check_access(can);
  for (int i = 0; i < 2 && !failures; ++i) {
    if (can) check_kernel(i);
    check_copy(i, 0);
    check_copy(i, 1);
    check_boxes(i);
    check_large(i);
  }
  printf(failures ? "%d failures\n" : "good\n", failures);
  return failures != 0;
}
