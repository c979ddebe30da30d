// The kernels of kernels.cu in OpenCL C, over buffers with the same bounds behaviour. All take the
// same parameters.
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
#pragma OPENCL FP_CONTRACT OFF

#define KERNEL(name, word)                                                              \
  __kernel __attribute__((reqd_work_group_size(16, 16, 1))) void name(                  \
      __global const word* from, __global word* to, int width, int height, int depth,   \
      int iterations, float scale)

#define CLAMPED(i, n) clamp(i, 0, n - 1)
#define AT2(i, j) from[CLAMPED(j, height) * width + CLAMPED(i, width)]
#define AT3(i, j, k) from[(CLAMPED(k, depth) * height + CLAMPED(j, height)) * width + CLAMPED(i, width)]
#define INSIDE(i, j) ((uint)(i) < (uint)width && (uint)(j) < (uint)height)

KERNEL(copy4, uint) {
  const int x = get_global_id(0), y = get_global_id(1);
  if (INSIDE(x, y)) to[y * width + x] = AT2(x, y);
}

KERNEL(copy16, uint4) {
  const int x = get_global_id(0), y = get_global_id(1);
  if (INSIDE(x, y)) to[y * width + x] = AT2(x, y);
}

KERNEL(stencil2d, float) {
  const int x = get_global_id(0), y = get_global_id(1);
  const float sum = AT2(x - 1, y) + AT2(x + 1, y) + AT2(x, y - 1) + AT2(x, y + 1);
  if (INSIDE(x, y)) to[y * width + x] = 0.5f * AT2(x, y) + 0.125f * sum;
}

KERNEL(stencil3d, float) {
  const int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
  const float sum = AT3(x - 1, y, z) + AT3(x + 1, y, z) + AT3(x, y - 1, z) + AT3(x, y + 1, z) +
                    AT3(x, y, z - 1) + AT3(x, y, z + 1);
  if (INSIDE(x, y) && z < depth)
    to[(z * height + y) * width + x] = 0.25f * AT3(x, y, z) + 0.125f * sum;
}

KERNEL(histogram, uint) {
  const int x = get_global_id(0), y = get_global_id(1);
  atomic_add(&to[AT2(x, y) >> 20], 1u);
}

KERNEL(mandelbrot, uint) {
  const int px = get_global_id(0), py = get_global_id(1);
  const float cx = px * scale - 2.0f, cy = py * scale - 1.5f;
  float x = 0, y = 0;
  int n = 0;
  for (; n < iterations; ++n) {
    const float xx = x * x, yy = y * y;
    if (xx + yy > 4.0f) break;
    y = 2.0f * x * y + cy;
    x = xx - yy + cx;
  }
  if (INSIDE(px, py)) to[py * width + px] = n;
}

KERNEL(zbuffer, ulong) {
  const uint x = get_global_id(0), y = get_global_id(1);
  const uint id = (get_global_id(2) * get_global_size(1) + y) * get_global_size(0) + x;
  uint hash = id * 0x9e3779b1u;
  hash ^= hash >> 15;
  hash *= 0x85ebca77u;
  hash ^= hash >> 13;
  const int px = (int)(2 * x + (hash & 31)) - 16, py = (int)(2 * y + (hash >> 5 & 31)) - 16;
  for (int j = 0; j < 3; ++j)
    for (int i = 0; i < 3; ++i) {
      const ulong value = (ulong)((hash >> 1) + 977 * i + 131 * j) << 32 | id;
      if (INSIDE(px + i, py + j)) atom_min(&to[(py + j) * width + px + i], value);
    }
}

float nine(__local const float* at, int step) {
  return 0.2734375f * at[0] + 0.21875f * (at[-step] + at[step]) +
         0.109375f * (at[-2 * step] + at[2 * step]) + 0.03125f * (at[-3 * step] + at[3 * step]) +
         0.00390625f * (at[-4 * step] + at[4 * step]);
}

KERNEL(blur, float) {
  __local float tile[24 * 24], rows[24 * 16];
  const int x0 = get_group_id(0) * 16, y0 = get_group_id(1) * 16, layer = get_group_id(2);
  const int tx = get_local_id(0), ty = get_local_id(1), thread = ty * 16 + tx;
  for (int k = thread; k < 24 * 24; k += 256)
    tile[k] = AT3(x0 - 4 + k % 24, y0 - 4 + k / 24, layer);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = thread; k < 24 * 16; k += 256) rows[k] = nine(&tile[k / 16 * 24 + k % 16 + 4], 1);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (INSIDE(x0 + tx, y0 + ty))
    to[(layer * height + y0 + ty) * width + x0 + tx] = nine(&rows[(ty + 4) * 16 + tx], 16);
}
