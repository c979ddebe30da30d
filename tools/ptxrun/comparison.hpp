// Outputs compared with what is expected of them, element by element.
#pragma once

#include <span>
#include <string>

#include "tools/ptxrun/manifest.hpp"

namespace ptx2spv::tools {

/// The elements of an output: of a surface's level x, y, z (or layer) and channels; of a buffer or
/// variable a row.
struct ElementShape {
  std::string type;                                ///< u8 ... f64; normalised texels are integers
  std::uint64_t width = 0, height = 1, depth = 1;  ///< texels
  std::uint32_t channels = 1;
  bool texels = false;   ///< of a surface, so that places are texels and channels
  bool layered = false;  ///< `depth` counts layers
};

/// The shape of a level's texels.
ElementShape texel_shape(const ArrayDesc& desc, std::uint32_t level);
/// A row of elements; `type` as the output's dtype.
ElementShape row_shape(const std::string& type, std::uint64_t bytes);

struct Comparison {
  std::uint64_t elements = 0, different = 0;  ///< different: beyond the tolerance
  std::uint64_t first = 0;                    ///< position of the first of them
  double largest = 0;                         ///< of all distances
  std::uint64_t largest_at = 0;
  bool equal_bits = true;
  std::string text;  ///< what differs; empty where nothing does
};

/// Compares two outputs of this shape, whose sizes are equal and a whole number of elements. An
/// element passes where its bits are equal, both are no numbers, or the distance is within any
/// part of the tolerance.
Comparison compare_elements(const ElementShape& shape, std::span<const std::byte> got,
                            std::span<const std::byte> wanted, const Tolerance& tolerance);

/// Where an element stands: "texel (5, 3), channel 2", "element 12".
std::string element_name(const ElementShape& shape, std::uint64_t index);

/// A grey picture of the distances, the largest channel of each texel, slices below each other:
/// black where none, white for the largest.
std::string make_difference(const ElementShape& shape, std::span<const std::byte> got,
                            std::span<const std::byte> wanted, Bytes& png);

}  // namespace ptx2spv::tools
