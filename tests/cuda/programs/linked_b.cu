#include "common.cuh"

__device__ int offset = 7;
__constant__ int weights[4];
__device__ __noinline__ int scale(int value) { return value * value + 1; }
void set_weights(const int* values) { CHECK(cudaMemcpyToSymbol(weights, values, sizeof weights)); }
