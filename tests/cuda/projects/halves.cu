__device__ int half_of(int number) { return number / 2; }
