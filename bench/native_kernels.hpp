// The kernels of kernels/kernels.cu and four of kernels/textures.cu as C++ for the processor: what
// its user would write instead. Images are dense; extents are in texels.
#pragma once

#include <cstdint>

namespace ptx2spv::bench::native {

void copy4(const std::uint32_t* from, std::uint32_t* to, int width, int height);
/// Texels of four words.
void copy16(const std::uint32_t* from, std::uint32_t* to, int width, int height);
void stencil2d(const float* from, float* to, int width, int height);
void stencil3d(const float* from, float* to, int width, int height, int depth);
/// Adds to the 4,096 cells of `to`.
void histogram(const std::uint32_t* from, std::uint32_t* to, int width, int height);
/// `layers` splats for every second pixel of every second row.
void zbuffer(std::uint64_t* to, int width, int height, int layers);
void blur(const float* from, float* to, int width, int height, int layers);
void mandelbrot(std::uint32_t* to, int width, int height, int iterations, float scale);

// Square textures, whose texels are multiples of 1/256 below 1: their sums need no rounding.
/// Both textures are `from`; texels of `to` have four floats.
void advect(const float* from, float* to, int side, float step);
/// Texels of four bytes.
void scale(const std::uint32_t* from, std::uint32_t* to, int side, float over);
/// One layer. Up to 1,024 texels the weights are the same everywhere.
void gauss(const float* from, float* to, int side);
/// `steps` is also the volume's side.
void march(const float* volume, float* to, int side, int steps, float over);

}  // namespace ptx2spv::bench::native
