// What surface instructions do, as a small model of the hardware's rules: surfaces.md in code,
// written from the records' description and not from the translator.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/surface_forms.hpp"

namespace ptx2spv::test {

/// A surface's memory: rows and slices without gaps, as records and downloads have it.
struct ModelSurface {
  std::string geometry;                                          ///< 1d, 2d, 3d, a1d, a2d
  std::string format;                                            ///< u8 ... snorm16
  std::uint32_t channels = 1, width = 1, height = 1, depth = 1;  ///< depth: or layers
  std::vector<std::uint8_t> bytes;

  ModelSurface(std::string geometry, std::string format, std::uint32_t channels,
               std::uint32_t width, std::uint32_t height, std::uint32_t depth, std::uint32_t seed);
  std::uint32_t component_bytes() const;
  std::uint32_t texel_bytes() const { return component_bytes() * channels; }
  std::uint32_t row_bytes() const { return width * texel_bytes(); }
};

/// The manual's answer to a query.
std::uint32_t model_query(const ModelSurface& surface, const std::string& query);

/// One component of a texel as sust.p writes it.
std::uint32_t model_convert(const std::string& format, std::uint32_t u);

struct ModelResult {
  bool trap = false;
  std::vector<std::uint64_t> elements;  ///< of a load
};
/// Runs `form` on `surface` at `coordinates` (as the instruction takes them) with `values`.
ModelResult model_run(ModelSurface& surface, const SurfaceForm& form,
                      const std::vector<std::int32_t>& coordinates,
                      const std::vector<std::uint64_t>& values);

}  // namespace ptx2spv::test
