/* A program of nvcc -cudart none: the runtime interface out of the installed archive. */
#include <stdio.h>
#include <string.h>

int cudaMalloc(void** pointer, size_t bytes);
int cudaMemset(void* pointer, int value, size_t bytes);
int cudaMemcpy(void* to, const void* from, size_t bytes, int kind);
int cudaFree(void* pointer);
int cudaRuntimeGetVersion(int* version);

int main(void) {
  unsigned char bytes[64];
  int version = 0;
  void* memory = NULL;
  if (cudaMalloc(&memory, sizeof bytes) || cudaMemset(memory, 7, sizeof bytes) ||
      cudaMemcpy(bytes, memory, sizeof bytes, 2) || cudaFree(memory) ||
      cudaRuntimeGetVersion(&version))
    return 1;
  for (size_t i = 0; i < sizeof bytes; ++i)
    if (bytes[i] != 7) return 1;
  printf("good, CUDA %d\n", version / 1000);
  return 0;
}
