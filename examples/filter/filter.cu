// A Kuwahara filter: smooths a picture as a painter would, without blurring its edges.
//
// Of the four square windows that touch a pixel with a corner, the one with the least variance in
// brightness gives the pixel its mean colour. Reads beyond the border return the border's pixel:
// that is the surface's doing (cudaBoundaryModeClamp), the kernel has no test for it.
#include <cuda_runtime.h>

constexpr int kReach = 3;
constexpr int kCount = (kReach + 1) * (kReach + 1);

struct Window {
  int r = 0, g = 0, b = 0;
  int light = 0;
  long long squares = 0;

  __device__ void add(uchar4 texel) {
    const int brightness = 54 * texel.x + 183 * texel.y + 19 * texel.z;
    r += texel.x;
    g += texel.y;
    b += texel.z;
    light += brightness;
    squares += static_cast<long long>(brightness) * brightness;
  }

  // kCount^2 times the variance.
  __device__ long long spread() const {
    return kCount * squares - static_cast<long long>(light) * light;
  }
};

extern "C" __global__ void kuwahara(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int width,
                                    int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;

  Window best;
  long long least = 0;
  for (int quarter = 0; quarter < 4; ++quarter) {
    const int left = x - (quarter & 1 ? 0 : kReach);
    const int top = y - (quarter & 2 ? 0 : kReach);
    Window window;
    for (int dy = 0; dy <= kReach; ++dy) {
      for (int dx = 0; dx <= kReach; ++dx) {
        window.add(surf2Dread<uchar4>(from, (left + dx) * static_cast<int>(sizeof(uchar4)),
                                      top + dy, cudaBoundaryModeClamp));
      }
    }
    const long long spread = window.spread();
    if (quarter == 0 || spread < least) {
      least = spread;
      best = window;
    }
  }
  const auto mean = [](int sum) { return static_cast<unsigned char>((sum + kCount / 2) / kCount); };
  surf2Dwrite(make_uchar4(mean(best.r), mean(best.g), mean(best.b), 255), to,
              x * static_cast<int>(sizeof(uchar4)), y);
}
