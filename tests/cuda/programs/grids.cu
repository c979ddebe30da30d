// Cooperative launches: blocks that meet in the middle of a kernel, launched in every way there is.
// Results are compared on the host.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include "common.cuh"

namespace cg = cooperative_groups;

namespace {

int failures = 0;

void same(const char* what, unsigned got, unsigned wanted) {
  if (got == wanted) return;
  ++failures;
  std::printf("%s: %u instead of %u\n", what, got, wanted);
}

__host__ __device__ unsigned scrambled(unsigned x) { return x * 2654435761u ^ x >> 7; }

/// Each pass halves what is left to add: threads of other blocks have written what a pass reads.
__global__ void sum(unsigned* data, unsigned count) {
  cg::grid_group grid = cg::this_grid();
  for (unsigned left = count; left > 1; left = (left + 1) / 2) {
    const unsigned half = (left + 1) / 2;
    for (auto i = grid.thread_rank(); i + half < left; i += grid.size()) data[i] += data[i + half];
    grid.sync();
  }
}

/// Blocks have their own shared memory, and a sum that they exchange through the grid.
__global__ void shares(const unsigned* in, unsigned* parts, unsigned* out, unsigned count) {
  extern __shared__ unsigned scratch[];
  cg::grid_group grid = cg::this_grid();
  cg::thread_block block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  unsigned own = 0;
  for (auto i = grid.thread_rank(); i < count; i += grid.size()) own += in[i];
  own = cg::reduce(warp, own, cg::plus<unsigned>());
  if (warp.thread_rank() == 0) scratch[block.thread_rank() / 32] = own;
  block.sync();
  if (block.thread_rank() == 0) {
    unsigned total = 0;
    for (unsigned i = 0; i < block.size() / 32; ++i) total += scratch[i];
    parts[grid.block_rank()] = total;
  }
  grid.sync();
  unsigned before = 0;
  for (unsigned i = 0; i < grid.block_rank(); ++i) before += parts[i];
  out[grid.thread_rank()] = before;
}

/// A surface is turned over by other blocks than those that wrote it. They have not read it before:
/// a second read need not see what was written since the first one.
__global__ void turned(cudaSurfaceObject_t surface, unsigned width, unsigned* out) {
  cg::grid_group grid = cg::this_grid();
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = threadIdx.y;
  surf2Dwrite(scrambled(x * 100 + y), surface, x * sizeof(unsigned), y);
  grid.sync();
  surf2Dread(out + y * width + x, surface, (width - 1 - x) * sizeof(unsigned), y);
}

__global__ void valid(unsigned* out) { *out = cg::this_grid().is_valid(); }

constexpr unsigned kCount = 3000, kThreads = 96;

struct Data {
  unsigned *in, *out, *parts;
};

std::vector<unsigned> numbers() {
  std::vector<unsigned> made(kCount);
  for (unsigned i = 0; i < kCount; ++i) made[i] = scrambled(i);
  return made;
}

unsigned sum_of(const std::vector<unsigned>& in) {
  unsigned all = 0;
  for (const unsigned each : in) all += each;
  return all;
}

unsigned first(const unsigned* from) {
  unsigned word = 0;
  CHECK(cudaMemcpy(&word, from, sizeof word, cudaMemcpyDeviceToHost));
  return word;
}

/// As many blocks as are there at once, at most eight of them.
unsigned resident(const void* kernel, unsigned threads, unsigned shared) {
  int processors = 0, each = 0;
  CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, threads, shared));
  const unsigned all = processors * each;
  return all < 8 ? all : 8;
}

void sums(const Data& data) {
  const std::vector<unsigned> in = numbers();
  const unsigned blocks = resident(reinterpret_cast<void*>(sum), kThreads, 0);
  unsigned count = kCount;
  unsigned* to = data.out;
  void* arguments[] = {&to, &count};
  const auto fill = [&] {
    CHECK(cudaMemcpy(to, in.data(), kCount * 4, cudaMemcpyHostToDevice));
  };
  fill();
  CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(sum), dim3(blocks), dim3(kThreads),
                                    arguments, 0, nullptr));
  same("sum", first(to), sum_of(in));

  fill();
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(1, blocks);
  config.blockDim = dim3(8, 3, 4);
  config.attrs = &attribute;
  config.numAttrs = 1;
  CHECK(cudaLaunchKernelEx(&config, sum, to, count));
  same("sum by a launch's attribute", first(to), sum_of(in));

  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t runs;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(sum), dim3(blocks), dim3(kThreads),
                                    arguments, 0, stream));
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&runs, graph, 0));
  for (int i = 0; i < 3; ++i) {
    fill();
    CHECK(cudaGraphLaunch(runs, stream));
    CHECK(cudaStreamSynchronize(stream));
    same("sum of a graph", first(to), sum_of(in));
  }
  CHECK(cudaGraphExecDestroy(runs));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(stream));
}

void parts(const Data& data) {
  const std::vector<unsigned> in = numbers();
  const unsigned blocks = resident(reinterpret_cast<void*>(shares), kThreads, kThreads / 8);
  const unsigned threads = blocks * kThreads;
  unsigned count = kCount;
  CHECK(cudaMemcpy(data.in, in.data(), kCount * 4, cudaMemcpyHostToDevice));
  const void* arguments[] = {&data.in, &data.parts, &data.out, &count};
  CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(shares), dim3(blocks), dim3(kThreads),
                                    const_cast<void**>(arguments), kThreads / 8, nullptr));
  std::vector<unsigned> out(threads), before(blocks + 1);
  CHECK(cudaMemcpy(out.data(), data.out, threads * 4, cudaMemcpyDeviceToHost));
  for (unsigned i = 0; i < kCount; ++i) before[i % threads / kThreads + 1] += in[i];
  for (unsigned i = 1; i <= blocks; ++i) before[i] += before[i - 1];
  for (unsigned i = 0; i < threads; ++i) same("part", out[i], before[i / kThreads]);
}

void surfaces(const Data& data) {
  constexpr unsigned kHeight = 4, kBlock = 16;
  const unsigned blocks = resident(reinterpret_cast<void*>(turned), kBlock * kHeight, 0);
  unsigned width = blocks * kBlock;
  cudaArray_t array;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<unsigned>();
  CHECK(cudaMallocArray(&array, &format, width, kHeight, cudaArraySurfaceLoadStore));
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaSurfaceObject_t surface;
  CHECK(cudaCreateSurfaceObject(&surface, &resource));
  unsigned* to = data.out;
  void* arguments[] = {&surface, &width, &to};
  CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(turned), dim3(blocks),
                                    dim3(kBlock, kHeight), arguments, 0, nullptr));
  std::vector<unsigned> out(kHeight * width);
  CHECK(cudaMemcpy(out.data(), to, out.size() * 4, cudaMemcpyDeviceToHost));
  for (unsigned y = 0; y < kHeight; ++y)
    for (unsigned x = 0; x < width; ++x)
      same("turned", out[y * width + x], scrambled((width - 1 - x) * 100 + y));
  CHECK(cudaDestroySurfaceObject(surface));
  CHECK(cudaFreeArray(array));
}

void limits(const Data& data) {
  unsigned* to = data.out;
  void* arguments[] = {&to};
  const auto kernel = reinterpret_cast<void*>(valid);
  CHECK(cudaLaunchCooperativeKernel(kernel, dim3(1), dim3(1), arguments, 0, nullptr));
  same("valid", first(to), 1);
  const cudaError_t code =
      cudaLaunchCooperativeKernel(kernel, dim3(1 << 20), dim3(1024), arguments, 0, nullptr);
  same("too large", code, cudaErrorCooperativeLaunchTooLarge);
  same("last error", cudaGetLastError(), cudaErrorCooperativeLaunchTooLarge);
}

}  // namespace

int main() {
  int can = 0;
  CHECK(cudaDeviceGetAttribute(&can, cudaDevAttrCooperativeLaunch, 0));
  same("cooperative launches", can, 1);
  Data data{};
  for (unsigned** each : {&data.in, &data.out, &data.parts})
    CHECK(cudaMalloc(each, kCount * sizeof(unsigned)));
  // Once there was a cooperative launch, an H200 tells others the same.
  valid<<<1, 1>>>(data.out);
  same("not valid", first(data.out), 0);
  sums(data);
  parts(data);
  surfaces(data);
  limits(data);
  std::printf(failures ? "%d failures\n" : "good\n", failures);
  return failures != 0;
}
