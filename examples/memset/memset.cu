// Sets a run of elements of a 1D surface, for any element type, and rectangles of a 2D surface.
//
// Surfaces are addressed in bytes along x: the element index times the element's size.
#include <cuda_runtime.h>

template <typename T>
__device__ void set_run(cudaSurfaceObject_t surface, int first, int count, T value) {
  const int stride = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
    surf1Dwrite(value, surface, (first + i) * static_cast<int>(sizeof(T)));
  }
}

// One kernel per type, with a name that a manifest can write.
#define SET_KERNEL(name, type)                                                                    \
  extern "C" __global__ void name(cudaSurfaceObject_t surface, int first, int count, type value) { \
    set_run(surface, first, count, value);                                                        \
  }

SET_KERNEL(set_char, char)
SET_KERNEL(set_short, short)
SET_KERNEL(set_int, int)
SET_KERNEL(set_float2, float2)
SET_KERNEL(set_int4, int4)

struct Rectangle {
  int x, y, width, height;
};

extern "C" __global__ void set_rectangle(cudaSurfaceObject_t surface, Rectangle where,
                                         uchar4 colour) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= where.width || y >= where.height) return;
  surf2Dwrite(colour, surface, (where.x + x) * static_cast<int>(sizeof(uchar4)), where.y + y);
}
