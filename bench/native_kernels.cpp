#include "bench/native_kernels.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <vector>

namespace ptx2spv::bench::native {

namespace {

std::size_t at(int row, int width) {
  return static_cast<std::size_t>(row) * static_cast<std::size_t>(width);
}
int clamped(int i, int n) { return std::clamp(i, 0, n - 1); }

/// `make(x, left, right)` of each texel of a row; the neighbours at its ends are the texel's own.
template <class Make>
void row_of(float* to, int width, Make&& make) {
  to[0] = make(0, 0, std::min(1, width - 1));
#pragma omp simd
  for (int x = 1; x < width - 1; ++x) to[x] = make(x, x - 1, x + 1);
  if (width > 1) to[width - 1] = make(width - 1, width - 2, width - 1);
}

}  // namespace

void copy4(const std::uint32_t* from, std::uint32_t* to, int width, int height) {
#pragma omp parallel for
  for (int y = 0; y < height; ++y)
    std::memcpy(to + at(y, width), from + at(y, width), at(4, width));
}

void copy16(const std::uint32_t* from, std::uint32_t* to, int width, int height) {
  copy4(from, to, 4 * width, height);
}

void stencil2d(const float* from, float* to, int width, int height) {
#pragma omp parallel for
  for (int y = 0; y < height; ++y) {
    const float* here = from + at(y, width);
    const float* above = from + at(clamped(y - 1, height), width);
    const float* below = from + at(clamped(y + 1, height), width);
    row_of(to + at(y, width), width, [=](int x, int left, int right) {
      return 0.5f * here[x] + 0.125f * (here[left] + here[right] + above[x] + below[x]);
    });
  }
}

void stencil3d(const float* from, float* to, int width, int height, int depth) {
#pragma omp parallel for collapse(2)
  for (int z = 0; z < depth; ++z)
    for (int y = 0; y < height; ++y) {
      const auto row = [&](int j, int k) {
        return from + at(clamped(k, depth) * height + clamped(j, height), width);
      };
      const float *here = row(y, z), *above = row(y - 1, z), *below = row(y + 1, z);
      const float *front = row(y, z - 1), *behind = row(y, z + 1);
      row_of(to + at(z * height + y, width), width, [=](int x, int left, int right) {
        const float sum = here[left] + here[right] + above[x] + below[x] + front[x] + behind[x];
        return 0.25f * here[x] + 0.125f * sum;
      });
    }
}

void histogram(const std::uint32_t* from, std::uint32_t* to, int width, int height) {
  std::uint32_t* cells = to;
#pragma omp parallel for reduction(+ : cells[:4096])
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) ++cells[from[at(y, width) + static_cast<std::size_t>(x)] >> 20];
}

/// Each thread draws a band of rows, so that none waits for another.
void zbuffer(std::uint64_t* to, int width, int height, int layers) {
  const int columns = width / 2, rows = height / 2;
#pragma omp parallel
  {
    const int band = omp_get_thread_num(), bands = omp_get_num_threads();
    const int first = height * band / bands, end = height * (band + 1) / bands;
    std::vector<std::uint32_t> hashes(static_cast<std::size_t>(columns));
    for (int z = 0; z < layers; ++z)
      for (int y = std::max(0, (first - 18) / 2); y < std::min(rows, (end + 17) / 2); ++y) {
        const auto base = static_cast<std::uint32_t>((z * rows + y) * columns);
#pragma omp simd
        for (int x = 0; x < columns; ++x) {
          std::uint32_t hash = (base + static_cast<std::uint32_t>(x)) * 0x9e3779b1u;
          hash ^= hash >> 15;
          hash *= 0x85ebca77u;
          hashes[static_cast<std::size_t>(x)] = hash ^ hash >> 13;
        }
        for (int x = 0; x < columns; ++x) {
          const std::uint32_t hash = hashes[static_cast<std::size_t>(x)];
          const int px = 2 * x + static_cast<int>(hash & 31) - 16;
          const int py = 2 * y + static_cast<int>(hash >> 5 & 31) - 16;
          const std::uint64_t id = base + static_cast<std::uint32_t>(x);
          for (int j = std::max(py, first); j < std::min(py + 3, end); ++j)
            for (int i = std::max(px, 0); i < std::min(px + 3, width); ++i) {
              const std::uint32_t depth =
                  (hash >> 1) + static_cast<std::uint32_t>(977 * (i - px) + 131 * (j - py));
              std::uint64_t& pixel = to[at(j, width) + static_cast<std::size_t>(i)];
              pixel = std::min(pixel, std::uint64_t{depth} << 32 | id);
            }
        }
      }
  }
}

void blur(const float* from, float* to, int width, int height, int layers) {
  constexpr int kRows = 32;
  constexpr float kWeights[] = {0.2734375f, 0.21875f, 0.109375f, 0.03125f, 0.00390625f};
  const auto nine = [&](const float* middle, std::ptrdiff_t step) {
    float sum = kWeights[0] * middle[0];
    for (int k = 1; k <= 4; ++k) sum += kWeights[k] * (middle[-k * step] + middle[k * step]);
    return sum;
  };
#pragma omp parallel
  {
    std::vector<float> padded(static_cast<std::size_t>(width) + 8), across(at(kRows + 8, width));
#pragma omp for collapse(2)
    for (int layer = 0; layer < layers; ++layer)
      for (int first = 0; first < height; first += kRows) {
        const int rows = std::min(kRows, height - first);
        for (int j = 0; j < rows + 8; ++j) {
          const float* row = from + at(layer * height + clamped(first + j - 4, height), width);
          std::fill_n(padded.data(), 4, row[0]);
          std::copy_n(row, width, padded.data() + 4);
          std::fill_n(padded.data() + 4 + width, 4, row[width - 1]);
#pragma omp simd
          for (int x = 0; x < width; ++x) across[at(j, width) + x] = nine(&padded[x + 4], 1);
        }
        for (int j = 0; j < rows; ++j) {
          float* row = to + at(layer * height + first + j, width);
#pragma omp simd
          for (int x = 0; x < width; ++x) row[x] = nine(&across[at(j + 4, width) + x], width);
        }
      }
  }
}

void mandelbrot(std::uint32_t* to, int width, int height, int iterations, float scale) {
  constexpr int kSide = 32;  // pixels side by side
#pragma omp parallel for collapse(2) schedule(dynamic, 16)
  for (int py = 0; py < height; ++py)
    for (int first = 0; first < width; first += kSide) {
      const float cy = static_cast<float>(py) * scale - 1.5f;
      float cx[kSide], x[kSide] = {}, y[kSide] = {};
      std::uint32_t n[kSide] = {}, runs[kSide];
      for (int i = 0; i < kSide; ++i) {
        cx[i] = static_cast<float>(first + i) * scale - 2.0f;
        runs[i] = 1;
      }
      std::uint32_t any = 1;
      for (int turn = 0; turn < iterations && any; ++turn) {
        any = 0;
#pragma omp simd reduction(| : any)
        for (int i = 0; i < kSide; ++i) {
          const float xx = x[i] * x[i], yy = y[i] * y[i];
          runs[i] = xx + yy > 4.0f ? 0 : runs[i];
          n[i] += runs[i];
          any |= runs[i];
          y[i] = 2.0f * x[i] * y[i] + cy;
          x[i] = xx - yy + cx[i];
        }
      }
      std::copy_n(n, std::min(kSide, width - first), to + at(py, width) + first);
    }
}

namespace {

/// A coordinate in texels as 256ths of one, of the first texel of two.
inline int parts(float x) {
  const float all = x * 256.0f, whole = std::floor(all);
  return static_cast<int>(whole) + (all - whole >= 0.5f ? 1 : 0) - 128;
}
/// The same of a normalised one above -1 / n, which keeps 21 bits.
inline int parts_normalised(float x, int n) {
  return ((static_cast<int>(std::floor(x * 2097152.0f)) * n + 4096) >> 13) - 128;
}

inline int between(int i, int most) {
  const int low = i > 0 ? i : 0;
  return low < most ? low : most;
}

/// The share of the second of two neighbours, in 256ths: rounded to nearest, ties up in the right
/// column and down in the left one.
inline int right_share(int total, int weight) { return (total * weight + 128) >> 8; }
inline int left_share(int total, int weight) { return (total * weight + 127) >> 8; }

/// `of(i)` is a texel; four of them are mixed by weights that share `total` as NVIDIA's hardware
/// splits them: a of the right column, b of the lower row.
template <class Of>
inline auto mixed(int first, int right, int below, int a, int b, int total, Of&& of) {
  const int at_right = right_share(a, total), at_left = total - at_right;
  const int right_below = right_share(at_right, b), left_below = left_share(at_left, b);
  return of(first, at_left - left_below) + of(first + right, at_right - right_below) +
         of(first + below, left_below) + of(first + below + right, right_below);
}

/// 256 times the sum of a plane's texels.
inline float mixed_floats(const float* plane, int first, int right, int below, int a, int b,
                          int total) {
  return mixed(first, right, below, a, b, total,
               [plane](int i, int weight) { return plane[i] * static_cast<float>(weight); });
}

/// A texture of texels under clamp, at 256ths.
[[gnu::always_inline]] inline float read(const float* from, int side, int x, int y) {
  x = between(x, 256 * (side - 1));
  y = between(y, 256 * (side - 1));
  const int column = x >> 8, row = y >> 8;
  const float sum = mixed_floats(from, row * side + column, between(side - 1 - column, 1),
                                 between(side - 1 - row, 1) * side, x & 255, y & 255, 256);
  return sum * 0.00390625f;
}

}  // namespace

void advect(const float* from, float* to, int side, float step) {
#pragma omp parallel
  {
    std::vector<float> backward(static_cast<std::size_t>(side));
    float* a = backward.data();
#pragma omp for
    for (int y = 0; y < side; ++y) {
      const float fy = static_cast<float>(y) + 0.5f;
      float* row = to + 4 * at(y, side);
      // Reads at a texel's centre give the texel.
      const float *u = from + at(y, side), *v = from + y;
#pragma omp simd
      for (int x = 0; x < side; ++x)
        a[x] = read(from, side, parts(__builtin_fmaf(-step, u[x], static_cast<float>(x) + 0.5f)),
                    parts(__builtin_fmaf(-step, v[x * side], fy)));
#pragma omp simd
      for (int x = 0; x < side; ++x) {
        const float b =
            read(from, side, parts(__builtin_fmaf(step, u[x], static_cast<float>(x) + 0.5f)),
                 parts(__builtin_fmaf(step, v[x * side], fy)));
        row[4 * x] = a[x];
        row[4 * x + 1] = b;
        row[4 * x + 2] = a[x] - b;
        row[4 * x + 3] = u[x] + v[x * side];
      }
    }
  }
}

void scale(const std::uint32_t* from, std::uint32_t* to, int side, float over) {
#pragma omp parallel for
  for (int y = 0; y < side; ++y) {
    const int py = parts_normalised((static_cast<float>(y) + 0.25f) * over, side);
    const int above = (py >> 8) < 0 ? side - 1 : py >> 8, below = above + 1 < side ? above + 1 : 0;
    const int down = side * (below - above);
    const std::uint32_t* upper = from + at(above, side);
    std::uint32_t* row = to + at(y, side);
#pragma omp simd
    for (int x = 0; x < side; ++x) {
      const int px = parts_normalised((static_cast<float>(x) + 0.25f) * over, side);
      const int left = (px >> 8) < 0 ? side - 1 : px >> 8;
      const int right = left + 1 < side ? 1 : 1 - side;
      const auto channel = [=](int shift) {
        const int sum = mixed(left, right, down, px & 255, py & 255, 256, [=](int i, int weight) {
          return static_cast<int>(upper[i] >> shift & 255) * weight;
        });
        const float value = static_cast<float>((257 * sum + 128) >> 8) / 65535.0f;
        return static_cast<std::uint32_t>(static_cast<int>(__builtin_fmaf(value, 255.0f, 0.5f)))
               << shift;
      };
      row[x] = channel(0) | channel(8) | channel(16) | channel(24);
    }
  }
}

void gauss(const float* from, float* to, int side) {
  // nvcc's constants.
  constexpr float kAcross[] = {-0x1.f33334p+0f, -0x1.4cccdp-1f, 0x1.4cccc8p-1f, 0x1.f3333p+0f};
  constexpr float kDown[] = {-0x1.666666p+0f, 0, 0x1.666666p+0f};
  constexpr int kBorder = 4;
  // Where the taps of any texel lie, in 256ths from it.
  int across[4], down[3];
  for (int i = 0; i < 4; ++i) across[i] = parts(0.5f + kBorder + kAcross[i]) - 256 * kBorder;
  for (int j = 0; j < 3; ++j) down[j] = parts(0.5f + kBorder + kDown[j]) - 256 * kBorder;
  const int pitch = side + 2 * kBorder;
  std::vector<float> padded(at(pitch, pitch));
#pragma omp parallel
  {
#pragma omp for
    for (int y = 0; y < pitch; ++y) {
      const float* row = from + at(clamped(y - kBorder, side), side);
      float* out = &padded[at(y, pitch)];
      std::fill_n(out, kBorder, row[0]);
      std::copy_n(row, side, out + kBorder);
      std::fill_n(out + kBorder + side, kBorder, row[side - 1]);
    }
#pragma omp for
    for (int y = 0; y < side; ++y) {
      const float* here = &padded[at(y + kBorder, pitch) + kBorder];
      float* row = to + at(y, side);
      const auto tap = [&](int x, int i, int j) {
        const int down_rows = (down[j] >> 8) * pitch;
        return mixed_floats(here, down_rows + (across[i] >> 8) + x, 1, pitch, across[i] & 255,
                            down[j] & 255, 256) *
               0.00390625f;
      };
#pragma omp simd
      for (int x = 0; x < side; ++x) {
        float sum = __builtin_fmaf(here[x], 0.16f, tap(x, 0, 0) * 0.07f);
#pragma GCC unroll 12
        for (int k = 1; k < 12; ++k) sum = __builtin_fmaf(tap(x, k % 4, k / 4), 0.07f, sum);
        row[x] = sum;
      }
    }
  }
}

void march(const float* volume, float* to, int side, int steps, float over) {
  const int n = steps, most = 256 * (n - 1), plane = n * n;
  const float step = 1.0f / static_cast<float>(steps);
#pragma omp parallel for
  for (int y = 0; y < side; ++y) {
    const float v = (static_cast<float>(y) + 0.5f) * over;
    float* sums = to + at(y, side);
    std::fill_n(sums, side, 0.0f);
    float w = 0.5f * step;
    for (int k = 0; k < steps; ++k, w += step) {
      // A step's plane and rows are those of all texels.
      const float moved = w * 0.1f;
      const int pz = between(parts_normalised(w, n), most);
      const int py = between(parts_normalised(v - moved, n), most);
      const int below = (py >> 8) + 1 < n ? n : 0;
      const float* front = volume + (pz >> 8) * plane + (py >> 8) * n;
      const float* behind = front + ((pz >> 8) + 1 < n ? plane : 0);
#pragma omp simd
      for (int x = 0; x < side; ++x) {
        const float u = (static_cast<float>(x) + 0.5f) * over;
        const int px = between(parts_normalised(u + moved, n), most);
        const int column = px >> 8, right = column + 1 < n ? 1 : 0;
        const float sum =
            mixed_floats(front, column, right, below, px & 255, py & 255, 256 - (pz & 255)) +
            mixed_floats(behind, column, right, below, px & 255, py & 255, pz & 255);
        sums[x] += sum * 0.00390625f;
      }
    }
    for (int x = 0; x < side; ++x) sums[x] *= step;
  }
}

}  // namespace ptx2spv::bench::native
