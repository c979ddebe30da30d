// Memory that the host and kernels reach by one address: managed memory, pointers in it, and pinned
// memory that a kernel is given as it is. Prints "good".
#include "expect.cuh"

__global__ void add(int* p, std::size_t count, int value) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) p[i] += value;
}

/// The sum of what a list of pointers leads to.
__global__ void follow(int* const* list, int count, int* sum) {
  *sum = 0;
  for (int i = 0; i < count; ++i) *sum += *list[i];
}

__global__ void add_at_once(int* sum, int times) {
  for (int i = 0; i < times; ++i) atomicAdd_system(sum, 1);
}

namespace {

/// Neither loses what the other adds meanwhile.
void at_once() {
  constexpr int kTimes = 200, kOwn = 20'000;
  int* sum;
  CHECK(cudaMallocManaged(&sum, sizeof *sum));
  *sum = 0;
  for (int turn = 1; turn <= 5; ++turn) {
    add_at_once<<<16, 128>>>(sum, kTimes);
    for (int i = 0; i < kOwn; ++i) __sync_fetch_and_add(sum, 1);
    CHECK(cudaDeviceSynchronize());
    EXPECT(*sum == turn * (16 * 128 * kTimes + kOwn));
  }
  CHECK(cudaFree(sum));
}

/// Host and kernels write in turns; copies and fills take the pointer as any other.
void in_turns(std::size_t count) {
  const std::size_t bytes = count * sizeof(int);
  int *p, *device;
  CHECK(cudaMallocManaged(&p, bytes));
  CHECK(cudaMalloc(&device, bytes));
  for (std::size_t i = 0; i < count; ++i) p[i] = static_cast<int>(i);
  for (int turn = 0; turn < 3; ++turn) {
    add<<<64, 256>>>(p, count, 5);
    CHECK(cudaDeviceSynchronize());
    p[count / 2] += 100;
  }
  bool good = true;
  for (std::size_t i = 0; i < count; ++i)
    good = good && p[i] == static_cast<int>(i) + 15 + (i == count / 2 ? 300 : 0);
  EXPECT(good);
  CHECK(cudaMemcpy(device, p, bytes, cudaMemcpyDefault));
  CHECK(cudaMemset(p, 0, bytes));
  CHECK(cudaDeviceSynchronize());
  EXPECT(p[count - 1] == 0);
  CHECK(cudaMemcpy(p, device, bytes, cudaMemcpyDeviceToDevice));
  CHECK(cudaDeviceSynchronize());
  EXPECT(p[0] == 15 + (count == 1 ? 300 : 0));
  cudaPointerAttributes told;
  CHECK(cudaPointerGetAttributes(&told, p));
  EXPECT(told.type == cudaMemoryTypeManaged && told.devicePointer == p && told.hostPointer == p);
  CHECK(cudaFree(device));
  CHECK(cudaFree(p));
}

void pointers() {
  constexpr int kCount = 100;
  int **list, *sum;
  CHECK(cudaMallocManaged(&list, kCount * sizeof *list));
  CHECK(cudaMallocManaged(&sum, sizeof *sum));
  for (int i = 0; i < kCount; ++i) {
    CHECK(cudaMallocManaged(&list[i], sizeof **list));
    *list[i] = i;
  }
  follow<<<1, 1>>>(list, kCount, sum);
  CHECK(cudaDeviceSynchronize());
  EXPECT(*sum == kCount * (kCount - 1) / 2);
  for (int i = 0; i < kCount; ++i) CHECK(cudaFree(list[i]));
  CHECK(cudaFree(list));
  CHECK(cudaFree(sum));
}

void pinned() {
  constexpr int kCount = 1000;
  int* host;
  CHECK(cudaMallocHost(&host, kCount * sizeof *host));
  for (int i = 0; i < kCount; ++i) host[i] = i;
  add<<<4, 256>>>(host, kCount, 7);
  CHECK(cudaDeviceSynchronize());
  bool good = true;
  for (int i = 0; i < kCount; ++i) good = good && host[i] == i + 7;
  EXPECT(good);
  void* device = nullptr;
  CHECK(cudaHostGetDevicePointer(&device, host, 0));
  EXPECT(device == host);
  CHECK(cudaFreeHost(host));
}

}  // namespace

int main() {
  int managed = 0;
  CHECK(cudaDeviceGetAttribute(&managed, cudaDevAttrManagedMemory, 0));
  EXPECT(managed);
  for (std::size_t count : {1, 1000, 65536, 1000003}) in_turns(count);
  pointers();
  pinned();
  at_once();
  for (int i = 0; i < 100; ++i) in_turns(i + 1);
  return verdict();
}
