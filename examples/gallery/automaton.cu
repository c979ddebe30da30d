// A cyclic cellular automaton on an 8-bit surface: a cell takes the next of fourteen states as soon
// as one of its eight neighbours has it. Out of noise come spirals that eat everything else.
#include <cuda_runtime.h>

constexpr unsigned kStates = 14;

__device__ unsigned scramble(unsigned h) {
  h ^= h >> 16;
  h *= 0x7feb352du;
  h ^= h >> 15;
  h *= 0x846ca68bu;
  return h ^ h >> 16;
}

extern "C" __global__ void scatter(cudaSurfaceObject_t cells, int size) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= size || y >= size) return;
  const unsigned char state = scramble(y * size + x + 77) % kStates;
  surf2Dwrite(state, cells, x, y);
}

extern "C" __global__ void step(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int size) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= size || y >= size) return;
  const unsigned here = surf2Dread<unsigned char>(from, x, y);
  const unsigned next = (here + 1) % kStates;
  bool eaten = false;
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx)
      // The plane is a torus.
      eaten |=
          surf2Dread<unsigned char>(from, (x + dx + size) % size, (y + dy + size) % size) == next;
  surf2Dwrite(static_cast<unsigned char>(eaten ? next : here), to, x, y);
}

extern "C" __global__ void paint(cudaSurfaceObject_t cells, cudaSurfaceObject_t picture, int size) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= size || y >= size) return;
  const unsigned state = surf2Dread<unsigned char>(cells, x, y);
  const unsigned bright = state < 7 ? state : 13 - state;  // up and down again
  const uchar4 colour = make_uchar4(20 + 36 * bright, 30 + 12 * state, 200 - 26 * bright, 255);
  surf2Dwrite(colour, picture, x * 4, y);
}
