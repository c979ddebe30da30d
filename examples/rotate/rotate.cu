// Draws a picture through a surface, then samples the same array, turned, through a texture.
//
// The texture filters linearly and repeats the picture in both directions; its coordinates are
// normalised and its bytes read as fractions of 255.
#include <cuda_runtime.h>

// Rings around the middle over a chequered ground.
extern "C" __global__ void draw(cudaSurfaceObject_t picture, int size) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= size || y >= size) return;
  const int dx = 2 * x + 1 - size, dy = 2 * y + 1 - size;
  const int distance = dx * dx + dy * dy;
  const bool light = (x * 8 / size + y * 8 / size) % 2 != 0;
  uchar4 colour = light ? make_uchar4(236, 226, 200, 255) : make_uchar4(60, 76, 104, 255);
  if (distance < size * size * 3 / 4) {
    const int ring = distance * 8 / (size * size);
    if (ring % 2 != 0) colour = make_uchar4(40 + 40 * ring, 110, 240 - 35 * ring, 255);
  }
  surf2Dwrite(colour, picture, x * static_cast<int>(sizeof(uchar4)), y);
}

// A turn about the middle, and a scale: (c, s) is the cosine and sine over the scale.
extern "C" __global__ void rotate(cudaTextureObject_t picture, cudaSurfaceObject_t to, int width,
                                  int height, float c, float s) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  const float u = (x + 0.5f) / height - 0.5f * width / height;
  const float v = (y + 0.5f) / height - 0.5f;
  const float4 sample = tex2D<float4>(picture, u * c - v * s + 0.5f, v * c + u * s + 0.5f);
  const auto level = [](float value) { return static_cast<unsigned char>(value * 255.0f + 0.5f); };
  surf2Dwrite(make_uchar4(level(sample.x), level(sample.y), level(sample.z), level(sample.w)), to,
              x * static_cast<int>(sizeof(uchar4)), y);
}
