// Kernels in which thread 5 of block 1 makes one wrong access if asked to, in ways that C++ has. A
// comment with an exclamation mark stands behind each and has its kind.
#include <cstdint>
#include <cstdio>
#include <cstring>

struct Node {
  int value;
  Node* next;
};

struct Given {
  int *freed, *host, *end, *managed, *none;
  int** table;
  Node* nodes;
  int bad;
};

#define KERNEL(name) __global__ void name(int* a, int* out, Given g)
#define WRONG (g.bad && blockIdx.x == 1 && threadIdx.x == 5)
#define I static_cast<int>(threadIdx.x)
#define OUT out[blockIdx.x * 32 + I]

__constant__ int* constant_table[4];
__constant__ int constants[16], more_constants[16];
__device__ int variables[16], more_variables[16];
extern __shared__ int dynamic[];

KERNEL(none_or_one) {
  const int* p = WRONG ? nullptr : a;
  OUT = p[WRONG ? 0 : I];  //! null-pointer
}
KERNEL(gone) {
  const int* p = WRONG ? g.freed : a;
  OUT = p[I];  //! freed-memory
}
KERNEL(of_the_host) {
  const int* p = WRONG ? g.host : a;
  OUT = p[I];  //! out-of-bounds
}
KERNEL(one_round_more) {
  int sum = 0;
  for (int i = I; i < (WRONG ? 65 : 64); i += WRONG ? 59 : 32) sum += a[i];  //! out-of-bounds
  OUT = sum;
}
KERNEL(pointer_that_moves) {
  int sum = 0;
  const int* last = WRONG ? a + 80 : a + 64;
  for (const int* p = a + I; p < last; p += 30) sum += *p;  //! out-of-bounds
  OUT = sum;
}
KERNEL(backwards) {
  int sum = 0;
  for (int i = 63; i >= (WRONG ? -1 : 0); --i) sum += a[i];  //! out-of-bounds
  OUT = sum;
}
KERNEL(table_in_memory) {
  const int* p = g.table[WRONG ? 1 : 0];
  OUT = p[I];  //! null-pointer
}
KERNEL(table_of_constants) {
  const int* p = constant_table[WRONG ? 2 : 0];
  OUT = p[I];  //! freed-memory
}
KERNEL(behind_a_table) {
  const int* p = g.table[WRONG ? 4 : 0];  //! out-of-bounds
  OUT = p ? p[I] : 0;
}
KERNEL(another_bit) {
  const std::uintptr_t p = reinterpret_cast<std::uintptr_t>(a) ^ (WRONG ? 1ull << 40 : 0);
  OUT = reinterpret_cast<int*>(p)[I];  //! out-of-bounds
}
KERNEL(half_of_a_pointer) {
  const auto p = reinterpret_cast<unsigned long long>(a);
  const unsigned high = WRONG ? 0 : static_cast<unsigned>(p >> 32), low = WRONG ? 8 : p;
  const auto both = static_cast<unsigned long long>(high) << 32 | low;
  OUT = *reinterpret_cast<int*>(both);  //! null-pointer
}
KERNEL(end_of_a_list) {
  const Node* p = g.nodes;
  for (int i = 0; i < (WRONG ? 4 : 3); ++i) p = p->next;
  OUT = p->value;  //! null-pointer
}
KERNEL(array_of_pointers) {
  int* p[4] = {a, a, g.freed, a};
  OUT = p[WRONG ? 2 : I & 1][I];  //! freed-memory
}
KERNEL(member_of_a_parameter) {
  const int* p = WRONG ? g.none : a;
  OUT = p[I];  //! null-pointer
}
KERNEL(lesser_of_two) {
  OUT = *reinterpret_cast<int*>(
      min(reinterpret_cast<unsigned long long>(a), WRONG ? 16ull : ~0ull));  //! null-pointer
}
KERNEL(neighbours_pointer) {
  const bool wrong = g.bad && blockIdx.x == 1 && threadIdx.x == 9;
  const auto p = reinterpret_cast<unsigned long long>(wrong ? nullptr : a);
  OUT = reinterpret_cast<int*>(__shfl_sync(~0u, p, I == 5 ? 9 : 3))[I];  //! null-pointer
}
KERNEL(pointers_in_shared_memory) {
  __shared__ int* p[32];
  p[I] = WRONG ? g.freed : a;
  __syncthreads();
  OUT = p[I][I];  //! freed-memory
}
KERNEL(next_variable) {
  __shared__ int one[32], other[32];
  one[I] = other[I] = I;
  __syncthreads();
  OUT = one[WRONG ? 32 : I] + other[31 - I];  //! out-of-bounds
}
KERNEL(behind_dynamic_memory) {
  dynamic[I] = dynamic[I + 32] = I;
  __syncthreads();
  OUT = dynamic[WRONG ? 64 : I];  //! out-of-bounds
}
__device__ __noinline__ int* none_or(int* a, bool none) { return none ? nullptr : a + 1; }
__device__ __noinline__ int* before(int* a, bool wrong) { return wrong ? a - 1 : a; }
KERNEL(result) { OUT = *none_or(a, WRONG); }  //! null-pointer
__device__ int* (*functions[2])(int*, bool) = {before, none_or};
KERNEL(function_of_a_table) { OUT = *functions[I & 1 ? 0 : 1](a, WRONG); }  //! out-of-bounds
KERNEL(volatile_load) {
  const volatile int* p = WRONG ? nullptr : a;
  OUT = p[I];  //! null-pointer
}
KERNEL(vectors) {
  const int4 v = reinterpret_cast<const int4*>(a)[WRONG ? 16 : I & 15];  //! out-of-bounds
  OUT = v.x + v.w;
}
KERNEL(two_bytes_on) {
  OUT = *reinterpret_cast<const int*>(reinterpret_cast<char*>(a) + (WRONG ? 2 : 4));  //! misaligned
}
KERNEL(pointers_by_exchange) {
  __shared__ unsigned long long cell[32];
  cell[I] = reinterpret_cast<unsigned long long>(WRONG ? g.end : a);
  OUT = *reinterpret_cast<int*>(atomicExch(&cell[I], 0ull));  //! out-of-bounds
}
KERNEL(local_array) {
  int own[8];
  for (int i = 0; i < 8; ++i) own[i] = a[i] + I;
  own[I * 3 & 7] = 5;
  OUT = own[WRONG ? 8 + g.bad : I & 7];  //! out-of-bounds
}
KERNEL(behind_constants) {
  OUT = more_constants[I & 15] + constants[WRONG ? 16 : I & 15];  //! out-of-bounds
}
KERNEL(behind_a_variable) {
  OUT = more_variables[I & 15] + variables[WRONG ? 16 : I & 15];  //! out-of-bounds
}
KERNEL(rows) {
  OUT = reinterpret_cast<int(*)[8]>(a)[WRONG ? 8 : I / 8][I % 8];  //! out-of-bounds
}
KERNEL(switched) {
  const int* p = a;
  switch (WRONG ? 3 : I & 1) {
    case 1: p = a + 1; break;
    case 3: p = g.freed; break;
  }
  OUT = p[I];  //! freed-memory
}
KERNEL(by_a_double) {
  int* p = WRONG ? g.end : a;
  volatile double number;
  std::memcpy(const_cast<double*>(&number), &p, 8);
  const double read = number;
  std::memcpy(&p, &read, 8);
  OUT = *p;  //! out-of-bounds
}
__device__ __noinline__ int deep(const int* p, int n) {
  if (n == 0) return *p;  //! out-of-bounds
  return deep(p + 1, n - 1) + 1;
}
KERNEL(recursion) { OUT = deep(a, WRONG ? 64 : I & 7); }
KERNEL(either_memory) {
  __shared__ int own[32];
  own[I] = I;
  __syncthreads();
  const int* p = I & 1 ? own : a;
  OUT = p[WRONG ? 32 : I];  //! out-of-bounds
}
KERNEL(captured) {
  int* p = WRONG ? nullptr : out;
  const auto store = [=](int i) {
    p[i] = 2;  //! null-pointer
  };
  store(blockIdx.x * 32 + I);
}
KERNEL(behind_managed_memory) { OUT = g.managed[WRONG ? 64 : I]; }  //! out-of-bounds
KERNEL(by_a_vote) {
  const int* p = __ballot_sync(~0u, WRONG) && I == 5 ? g.freed : a;
  OUT = p[I];  //! freed-memory
}
KERNEL(two_that_change_places) {
  int *p = a, *q = g.freed;
  for (int i = 0; i < (WRONG ? 3 : 2) + 2 * (I & 1); ++i) {
    int* const kept = p;
    p = q;
    q = kept;
  }
  OUT = p[I & 7];  //! freed-memory
}
KERNEL(far) {
  const long long i = WRONG ? 1ll << 40 : I;
  OUT = a[i];  //! out-of-bounds
}
KERNEL(below_zero) {
  const unsigned i = WRONG ? ~0u : I;
  OUT = a[i];  //! out-of-bounds
}
KERNEL(last_byte) {
  reinterpret_cast<char*>(out)[WRONG ? 256 : blockIdx.x * 32 + I] = 1;  //! out-of-bounds
}

#define CHECK(call)                                                                 \
  if (const cudaError_t error = call; error != cudaSuccess) {                       \
    std::printf("line %d: %s\n", __LINE__, cudaGetErrorName(error));                \
    return 1;                                                                       \
  }

int main(int argc, char** argv) {
  void (*const kernels[])(int*, int*, Given) = {
      none_or_one, gone, of_the_host, one_round_more, pointer_that_moves, backwards,
      table_in_memory, table_of_constants, behind_a_table, another_bit, half_of_a_pointer,
      end_of_a_list, array_of_pointers, member_of_a_parameter, lesser_of_two, neighbours_pointer,
      pointers_in_shared_memory, next_variable, behind_dynamic_memory, result, function_of_a_table,
      volatile_load, vectors, two_bytes_on, pointers_by_exchange, local_array, behind_constants,
      behind_a_variable, rows, switched, by_a_double, recursion, either_memory, captured,
      behind_managed_memory, by_a_vote, two_that_change_places, far, below_zero, last_byte};
  static int numbers[64], on_host[64];
  for (int i = 0; i < 64; ++i) numbers[i] = i;
  int *a, *out;
  Given g = {};
  CHECK(cudaMalloc(&a, 256));
  CHECK(cudaMalloc(&out, 256));
  CHECK(cudaMalloc(&g.freed, 256));
  CHECK(cudaMalloc(&g.table, 32));
  CHECK(cudaMalloc(&g.nodes, 4 * sizeof(Node)));
  CHECK(cudaMallocManaged(&g.managed, 256));
  CHECK(cudaMemcpy(a, numbers, 256, cudaMemcpyDefault));
  int* const table[4] = {a, nullptr, g.freed, a};
  CHECK(cudaMemcpy(g.table, table, 32, cudaMemcpyDefault));
  CHECK(cudaMemcpyToSymbol(constant_table, table, 32));
  for (const auto* symbol : {&constants, &more_constants, &variables, &more_variables})
    CHECK(cudaMemcpyToSymbol(*symbol, numbers, 64));
  Node nodes[4];
  for (int i = 0; i < 4; ++i) nodes[i] = {i, i < 3 ? g.nodes + i + 1 : nullptr};
  CHECK(cudaMemcpy(g.nodes, nodes, sizeof nodes, cudaMemcpyDefault));
  std::memset(g.managed, 1, 256);
  g.host = on_host, g.end = a + 64, g.bad = argc > 1;
  CHECK(cudaFree(g.freed));
  for (const auto kernel : kernels) {
    CHECK(cudaMemset(out, 0, 256));
    kernel<<<2, 32, 256>>>(a, out, g);
    CHECK(cudaDeviceSynchronize());
  }
  std::printf("good\n");
}
