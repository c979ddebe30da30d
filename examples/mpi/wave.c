/* The wave equation on several devices: each rank of MPI has a part of the grid, slices of it in z,
 * and exchanges the outermost ones with its neighbours after each step. Rank 0 prints a checksum of
 * the whole field, which no number of ranks changes.
 *
 *   wave [PTX]    wave.ptx when not given
 */
#include <cuda.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kWidth = 48, kHeight = 40, kDepth = 37, kSteps = 60, kSlice = kWidth * kHeight };

typedef struct {
  int width, height, depth, first;
} Part;

typedef struct {
  CUarray array;
  CUsurfObject surface;
} Field;

static void check(CUresult code, const char* what) {
  if (code == CUDA_SUCCESS) return;
  fprintf(stderr, "%s: error %d\n", what, (int)code);
  MPI_Abort(MPI_COMM_WORLD, 1);
}
#define CHECK(call) check(call, #call)

static int least(int a, int b) { return a < b ? a : b; }

/* The devices of a machine are for the ranks on it, in turns. */
static void choose_device(void) {
  MPI_Comm machine;
  int rank, count;
  CUdevice device;
  CUcontext context;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
  MPI_Comm_rank(machine, &rank);
  MPI_Comm_free(&machine);
  CHECK(cuInit(0));
  CHECK(cuDeviceGetCount(&count));
  CHECK(cuDeviceGet(&device, rank % count));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
}

static Field make_field(int depth) {
  Field field;
  CUDA_ARRAY3D_DESCRIPTOR format = {0};
  CUDA_RESOURCE_DESC resource = {0};
  format.Width = kWidth;
  format.Height = kHeight;
  format.Depth = (size_t)depth + 2;
  format.Format = CU_AD_FORMAT_FLOAT;
  format.NumChannels = 1;
  format.Flags = CUDA_ARRAY3D_SURFACE_LDST;
  CHECK(cuArray3DCreate(&field.array, &format));
  resource.resType = CU_RESOURCE_TYPE_ARRAY;
  resource.res.array.hArray = field.array;
  CHECK(cuSurfObjectCreate(&field.surface, &resource));
  return field;
}

/* Copies slices from `first` on to page-locked memory, or back. */
static void copy(CUarray array, int first, int count, float* memory, int to_array) {
  CUDA_MEMCPY3D copy = {0};
  copy.WidthInBytes = kWidth * sizeof(float);
  copy.Height = kHeight;
  copy.Depth = (size_t)count;
  if (to_array) {
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = memory;
    copy.srcPitch = kWidth * sizeof(float);
    copy.srcHeight = kHeight;
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = array;
    copy.dstZ = (size_t)first;
  } else {
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.srcArray = array;
    copy.srcZ = (size_t)first;
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = memory;
    copy.dstPitch = kWidth * sizeof(float);
    copy.dstHeight = kHeight;
  }
  CHECK(cuMemcpy3D(&copy));
}

/* Sends an own slice to one neighbour and receives a slice from the other; MPI_PROC_NULL is none.
 */
static void pass(CUarray array, int own, int to, int outer, int from, float* memory) {
  if (to != MPI_PROC_NULL) copy(array, own, 1, memory, 0);
  MPI_Sendrecv(memory, kSlice, MPI_FLOAT, to, 0, memory + kSlice, kSlice, MPI_FLOAT, from, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (from != MPI_PROC_NULL) copy(array, outer, 1, memory + kSlice, 1);
}

static void exchange(CUarray array, int depth, int rank, int ranks, float* memory) {
  const int below = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  const int above = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
  pass(array, depth, above, 0, below, memory);
  pass(array, 1, below, depth + 1, above, memory);
}

static void launch(CUfunction kernel, const Field* before, const Field* now, Part part, int depth) {
  CUsurfObject surfaces[2] = {before->surface, now->surface};
  void* parameters[] = {&surfaces[0], &surfaces[1], &part};
  CHECK(cuLaunchKernel(kernel, (kWidth + 15) / 16, (kHeight + 7) / 8, (unsigned)depth, 16, 8, 1, 0,
                       NULL, parameters, NULL));
}

/* FNV-1a of every part's slices, in order. */
static void print_checksum(const float* own, Part part, int rank, int ranks) {
  float* whole = malloc(sizeof(float) * kSlice * kDepth);
  int* counts = malloc(sizeof(int) * (size_t)ranks);
  int* places = malloc(sizeof(int) * (size_t)ranks);
  int count = part.depth * kSlice, place = part.first * kSlice;
  uint64_t sum = 0xcbf29ce484222325u;
  MPI_Gather(&count, 1, MPI_INT, counts, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Gather(&place, 1, MPI_INT, places, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Gatherv(own, count, MPI_FLOAT, whole, counts, places, MPI_FLOAT, 0, MPI_COMM_WORLD);
  for (size_t i = 0; i < sizeof(float) * kSlice * kDepth; ++i)
    sum = (sum ^ ((const unsigned char*)whole)[i]) * 0x100000001b3u;
  if (rank == 0) printf("%016llx\n", (unsigned long long)sum);
  free(whole);
  free(counts);
  free(places);
}

int main(int count, char** arguments) {
  int rank, ranks;
  CUmodule module;
  CUfunction start, step;
  float* memory;
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks > kDepth) {
    if (rank == 0) fprintf(stderr, "%d slices are too few for %d ranks\n", kDepth, ranks);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  choose_device();
  CHECK(cuModuleLoad(&module, count > 1 ? arguments[1] : "wave.ptx"));
  CHECK(cuModuleGetFunction(&start, module, "start"));
  CHECK(cuModuleGetFunction(&step, module, "step"));

  /* The first parts have a slice more where they cannot be equal. */
  const int each = kDepth / ranks, more = kDepth % ranks;
  const Part part = {kWidth, kHeight, each + (rank < more), rank * each + least(rank, more)};
  Field before = make_field(part.depth), now = make_field(part.depth);
  CHECK(cuMemHostAlloc((void**)&memory, sizeof(float) * kSlice * (size_t)(part.depth + 2), 0));

  launch(start, &before, &now, part, part.depth + 2);
  for (int i = 0; i < kSteps; ++i) {
    exchange(now.array, part.depth, rank, ranks, memory);
    launch(step, &before, &now, part, part.depth);
    const Field swapped = before;
    before = now;
    now = swapped;
  }
  copy(now.array, 1, part.depth, memory, 0);
  print_checksum(memory, part, rank, ranks);
  CHECK(cuMemFreeHost(memory));
  MPI_Finalize();
  return 0;
}
