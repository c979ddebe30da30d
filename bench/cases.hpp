// The kernels of the benchmark: their surfaces at each size, their inputs, and the shaders that do
// the same by hand.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ptx2spv/runtime.hpp"

namespace ptx2spv::bench {

/// What the source surface holds. Floats are such that every sum and product of a kernel that does
/// not round is exact, and none is a denormal, which a hand-written shader may flush.
enum class Input : std::uint8_t { none, words, floats, bytes_as_floats, bodies };

/// tiny is for tests, small for CPUs, large fills a data centre's GPU.
enum class Size : std::uint8_t { tiny, small, large };

struct Extent {
  std::uint32_t width = 1, height = 1, depth = 1;  ///< depth: slices or layers
};

struct Case {
  const char* name;
  const char* shaders[2];  ///< passes in GLSL, one or two
  Geometry geometry;
  std::uint32_t channels;         ///< of 32 bits
  std::array<Extent, 3> extents;  ///< by Size
  Input input;
  std::uint32_t cells = 0;    ///< of a one-dimensional result; 0: the result is as the source
  std::uint32_t initial = 0;  ///< every word of the result before each launch
  bool accumulates = false;   ///< what the result held counts
  std::uint32_t threads_divisor = 1;  ///< threads a row and a column: the extent divided by this
  std::uint32_t layers = 0;           ///< of the grid; 0: the extent's depth
  bool rounds =
      false;  ///< what a compiler fuses shows: `exact` and CUDA alone are equal to the bit
};

std::span<const Case> all_cases();

constexpr int kIterations = 256;  ///< of mandelbrot
struct Push {
  std::int32_t width, height, depth, iterations;
  float scale;
};

/// A case at one size.
struct Job {
  const Case& form;
  Extent extent;
  ArrayDesc from, to;
  LaunchConfig config;
  Push push;
  std::vector<std::uint32_t> arguments;  ///< of the kernel, behind its surfaces
  std::vector<std::uint32_t> input;      ///< the source's texels; empty without one
  std::uint64_t to_bytes = 0;
};
Job make_job(const Case& form, Size size, bool with_input);

}  // namespace ptx2spv::bench
