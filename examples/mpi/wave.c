/* The wave equation on several devices: each rank of MPI has a part of the grid, slices of it in z,
 * and exchanges the outermost ones with its neighbours after each step. Rank 0 prints a checksum of
 * the whole field, which no number of ranks changes.
 *
 *   wave [-n WIDTH,HEIGHT,DEPTH] [-s STEPS] [-x managed|device|pinned] [-t] [PTX]
 *
 * -x: the memory for slices on their way; -t: print times, too. PTX: wave.ptx when not given.
 */
#define _DEFAULT_SOURCE
#include <cuda.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

typedef struct {
  int width, height, depth, first;
} Part;

typedef struct {
  CUarray array;
  CUsurfObject surface;
} Field;

/* Memory that MPI takes. Managed memory has one address for the device and the host, so that any
 * MPI does, if the host reaches it where it is; an MPI that knows CUDA takes the device's own. */
typedef enum { kManaged, kDevice, kPinned, kChosen } Kind;
static const char* const kKinds[] = {"managed", "device", "pinned"};

typedef struct {
  CUmemorytype type;
  CUdeviceptr device;
  float* host; /* what MPI is given: a device's pointer or the host's */
} Memory;

typedef struct {
  int width, height, depth, steps, times;
  Kind kind;
  const char* ptx;
} Options;

static void check(CUresult code, const char* what) {
  if (code == CUDA_SUCCESS) return;
  fprintf(stderr, "%s: error %d\n", what, (int)code);
  MPI_Abort(MPI_COMM_WORLD, 1);
}
#define CHECK(call) check(call, #call)

static void refuse(const char* why) {
  fprintf(stderr, "%s\n", why);
  MPI_Abort(MPI_COMM_WORLD, 2);
}

static int least(int a, int b) { return a < b ? a : b; }

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static Options read_options(int count, char** words) {
  Options o = {48, 40, 37, 60, 0, kChosen, "wave.ptx"};
  int letter;
  while ((letter = getopt(count, words, "n:s:x:t")) != -1) switch (letter) {
      case 'n':
        if (sscanf(optarg, "%d,%d,%d", &o.width, &o.height, &o.depth) != 3 || o.width < 1 ||
            o.height < 1 || o.depth < 1)
          refuse("-n takes three sizes");
        break;
      case 's':
        if ((o.steps = atoi(optarg)) < 2) refuse("-s takes a number of steps, two or more");
        break;
      case 'x':
        for (o.kind = kManaged; o.kind != kChosen && strcmp(kKinds[o.kind], optarg) != 0;) ++o.kind;
        if (o.kind == kChosen) refuse("-x takes managed, device or pinned");
        break;
      case 't': o.times = 1; break;
      default: refuse("wave [-n WIDTH,HEIGHT,DEPTH] [-s STEPS] [-x KIND] [-t] [PTX]");
    }
  if (optind < count) o.ptx = words[optind];
  return o;
}

/* The devices of a machine are for the ranks on it, in turns. */
static CUdevice choose_device(void) {
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
  return device;
}

static int mpi_knows_cuda(void) {
#if defined(MPIX_CUDA_AWARE_SUPPORT) || (defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 40000000)
  return MPIX_Query_cuda_support();
#else
  return 0;
#endif
}

static Kind choose_kind(CUdevice device) {
  int direct;
  CHECK(cuDeviceGetAttribute(&direct, CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST,
                             device));
  if (direct) return kManaged;
  return mpi_knows_cuda() ? kDevice : kPinned;
}

static Memory make_memory(Kind kind, size_t bytes) {
  Memory made = {CU_MEMORYTYPE_DEVICE, 0, NULL};
  if (kind == kPinned) {
    made.type = CU_MEMORYTYPE_HOST;
    CHECK(cuMemHostAlloc((void**)&made.host, bytes, 0));
    return made;
  }
  if (kind == kManaged)
    CHECK(cuMemAllocManaged(&made.device, bytes, CU_MEM_ATTACH_GLOBAL));
  else
    CHECK(cuMemAlloc(&made.device, bytes));
  made.host = (float*)(uintptr_t)made.device;
  return made;
}

static void free_memory(Memory memory) {
  if (memory.type == CU_MEMORYTYPE_HOST)
    CHECK(cuMemFreeHost(memory.host));
  else
    CHECK(cuMemFree(memory.device));
}

static Field make_field(Part part) {
  Field field;
  CUDA_ARRAY3D_DESCRIPTOR format = {0};
  CUDA_RESOURCE_DESC resource = {0};
  format.Width = (size_t)part.width;
  format.Height = (size_t)part.height;
  format.Depth = (size_t)part.depth + 2;
  format.Format = CU_AD_FORMAT_FLOAT;
  format.NumChannels = 1;
  format.Flags = CUDA_ARRAY3D_SURFACE_LDST;
  CHECK(cuArray3DCreate(&field.array, &format));
  resource.resType = CU_RESOURCE_TYPE_ARRAY;
  resource.res.array.hArray = field.array;
  CHECK(cuSurfObjectCreate(&field.surface, &resource));
  return field;
}

static size_t cells_of(Part part, int slices) {
  return (size_t)part.width * (size_t)part.height * (size_t)slices;
}

/* Copies slices of an array, from `first` on, to the slices of memory from `at` on, or back. */
static void copy(CUarray array, Part part, int first, int count, Memory memory, int at,
                 int to_array) {
  CUDA_MEMCPY3D copy = {0};
  const size_t pitch = (size_t)part.width * sizeof(float);
  copy.WidthInBytes = pitch;
  copy.Height = (size_t)part.height;
  copy.Depth = (size_t)count;
  if (to_array) {
    copy.srcMemoryType = memory.type;
    copy.srcHost = memory.host;
    copy.srcDevice = memory.device;
    copy.srcZ = (size_t)at;
    copy.srcPitch = pitch;
    copy.srcHeight = (size_t)part.height;
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = array;
    copy.dstZ = (size_t)first;
  } else {
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.srcArray = array;
    copy.srcZ = (size_t)first;
    copy.dstMemoryType = memory.type;
    copy.dstHost = memory.host;
    copy.dstDevice = memory.device;
    copy.dstZ = (size_t)at;
    copy.dstPitch = pitch;
    copy.dstHeight = (size_t)part.height;
  }
  CHECK(cuMemcpy3D(&copy));
}

/* Sends an own slice to one neighbour and receives a slice from the other; MPI_PROC_NULL is none.
 * MPI does not know of streams: what it is to read must be there. */
static void pass(CUarray array, Part part, int own, int to, int outer, int from, Memory memory) {
  const int count = (int)cells_of(part, 1);
  if (to != MPI_PROC_NULL) copy(array, part, own, 1, memory, 0, 0);
  CHECK(cuCtxSynchronize());
  MPI_Sendrecv(memory.host, count, MPI_FLOAT, to, 0, memory.host + count, count, MPI_FLOAT, from, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (from != MPI_PROC_NULL) copy(array, part, outer, 1, memory, 1, 1);
}

static void exchange(CUarray array, Part part, int rank, int ranks, Memory memory) {
  const int below = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  const int above = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
  if (ranks == 1) return;
  pass(array, part, part.depth, above, 0, below, memory);
  pass(array, part, 1, below, part.depth + 1, above, memory);
}

static void launch(CUfunction kernel, const Field* before, const Field* now, Part part, int depth) {
  CUsurfObject surfaces[2] = {before->surface, now->surface};
  void* parameters[] = {&surfaces[0], &surfaces[1], &part};
  CHECK(cuLaunchKernel(kernel, (unsigned)(part.width + 15) / 16, (unsigned)(part.height + 7) / 8,
                       (unsigned)depth, 16, 8, 1, 0, NULL, parameters, NULL));
}

/* FNV-1a of every part's slices, in order. */
static void print_checksum(const float* own, Part part, int depth, int rank, int ranks) {
  const size_t bytes = sizeof(float) * cells_of(part, depth);
  unsigned char* whole = rank == 0 ? malloc(bytes) : NULL;
  int* counts = malloc(sizeof(int) * (size_t)ranks);
  int* places = malloc(sizeof(int) * (size_t)ranks);
  uint64_t sum = 0xcbf29ce484222325u;
  MPI_Datatype slice;
  MPI_Type_contiguous((int)cells_of(part, 1), MPI_FLOAT, &slice);
  MPI_Type_commit(&slice);
  MPI_Gather(&part.depth, 1, MPI_INT, counts, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Gather(&part.first, 1, MPI_INT, places, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Gatherv(own, part.depth, slice, whole, counts, places, slice, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    for (size_t i = 0; i < bytes; ++i) sum = (sum ^ whole[i]) * 0x100000001b3u;
    printf("%016llx\n", (unsigned long long)sum);
  }
  MPI_Type_free(&slice);
  free(whole);
  free(counts);
  free(places);
}

/* Of the rank that took longest, or most. */
static double most(double own) {
  double all = own;
  MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return all;
}

static void print_times(double start, double step, double mib, Kind kind, int rank, int ranks) {
  start = most(start);
  step = most(step);
  mib = most(mib);
  if (rank == 0)
    printf("%d ranks, %s memory: %.3f ms a step, first step done after %.2f s, %.0f MiB a rank\n",
           ranks, kKinds[kind], 1e3 * step, start, mib);
}

int main(int count, char** arguments) {
  const double begin = seconds();
  int rank, ranks;
  CUmodule module;
  CUfunction start, step;
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const Options options = read_options(count, arguments);
  if (ranks > options.depth) refuse("there are more ranks than slices");
  const CUdevice device = choose_device();
  const Kind kind = options.kind == kChosen ? choose_kind(device) : options.kind;
  CHECK(cuModuleLoad(&module, options.ptx));
  CHECK(cuModuleGetFunction(&start, module, "start"));
  CHECK(cuModuleGetFunction(&step, module, "step"));

  /* The first parts have a slice more where they cannot be equal. */
  const int each = options.depth / ranks, more = options.depth % ranks;
  const Part part = {options.width, options.height, each + (rank < more),
                     rank * each + least(rank, more)};
  Field before = make_field(part), now = make_field(part);
  Memory memory = make_memory(kind, sizeof(float) * cells_of(part, 2));

  double first = 0, half = 0;
  const int untimed = options.steps / 2; /* until kernels are compiled */
  launch(start, &before, &now, part, part.depth + 2);
  for (int i = 0; i < options.steps; ++i) {
    exchange(now.array, part, rank, ranks, memory);
    launch(step, &before, &now, part, part.depth);
    const Field swapped = before;
    before = now;
    now = swapped;
    if (i != 0 && i + 1 != untimed) continue;
    CHECK(cuCtxSynchronize());
    if (i == 0) first = seconds() - begin;
    half = seconds();
  }
  CHECK(cuCtxSynchronize());
  const double each_step = (seconds() - half) / (options.steps - untimed);

  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  Memory own = {CU_MEMORYTYPE_HOST, 0, malloc(sizeof(float) * cells_of(part, part.depth))};
  copy(now.array, part, 1, part.depth, own, 0, 0);
  print_checksum(own.host, part, options.depth, rank, ranks);
  if (options.times)
    print_times(first, each_step, (double)used.ru_maxrss / 1024, kind, rank, ranks);
  free(own.host);
  free_memory(memory);
  MPI_Finalize();
  return 0;
}
