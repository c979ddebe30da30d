#include "tools/ptxrun/comparison.hpp"

#include <cmath>

#include <fmt/format.h>

#include "tools/common/elements.hpp"
#include "tools/common/png.hpp"
#include "tools/ptxrun/contents.hpp"

namespace ptx2spv::tools {
namespace {

bool within(ElementType type, std::uint64_t got, std::uint64_t wanted, double distance,
            const Tolerance& tolerance) {
  if (distance <= tolerance.absolute) return true;
  if (tolerance.relative > 0 &&
      distance <= tolerance.relative * std::fabs(element_value(type, wanted)))
    return true;
  return tolerance.ulps && element_ulps(type, got, wanted) <= tolerance.ulps;
}

}  // namespace

ElementShape texel_shape(const ArrayDesc& desc, std::uint32_t level) {
  ElementShape shape;
  shape.type = component_type(desc.format);
  const auto extent = level_extent(desc, level);
  shape.width = extent[0];
  shape.height = extent[1];
  shape.depth = extent[2];
  shape.channels = desc.channels;
  shape.texels = true;
  shape.layered = desc.geometry == Geometry::a1d || desc.geometry == Geometry::a2d;
  return shape;
}

ElementShape row_shape(const std::string& type, std::uint64_t bytes) {
  ElementShape shape;
  shape.type = type;
  shape.width = bytes / element_type(type).bytes;
  return shape;
}

std::string element_name(const ElementShape& shape, std::uint64_t index) {
  if (!shape.texels) return fmt::format("element {}", index);
  const std::uint64_t texel = index / shape.channels, row = texel / shape.width;
  std::string text = fmt::format("texel ({}", texel % shape.width);
  if (shape.height > 1) text += fmt::format(", {}", row % shape.height);
  if (shape.depth > 1 && !shape.layered) text += fmt::format(", {}", row / shape.height);
  text += ")";
  if (shape.layered) text += fmt::format(" of layer {}", row / shape.height);
  if (shape.channels > 1) text += fmt::format(", channel {}", index % shape.channels);
  return text;
}

Comparison compare_elements(const ElementShape& shape, std::span<const std::byte> got,
                            std::span<const std::byte> wanted, const Tolerance& tolerance) {
  const ElementType type = element_type(shape.type);
  Comparison result;
  result.elements = got.size() / type.bytes;
  for (std::uint64_t k = 0; k < result.elements; ++k) {
    const std::uint64_t ours = element_bits(type, got.data() + k * type.bytes);
    const std::uint64_t theirs = element_bits(type, wanted.data() + k * type.bytes);
    if (ours == theirs) continue;
    result.equal_bits = false;
    const double distance = element_distance(type, ours, theirs);
    if (distance > result.largest) {
      result.largest = distance;
      result.largest_at = k;
    }
    const bool exact = tolerance.none();
    if (!exact && within(type, ours, theirs, distance, tolerance)) continue;
    if (!result.different++) result.first = k;
  }
  if (!result.different) return result;
  const auto text = [&](std::span<const std::byte> bytes) {
    return element_text(type, element_bits(type, bytes.data() + result.first * type.bytes));
  };
  const char* noun = shape.texels ? "component" : "element";
  result.text =
      fmt::format("{} of {} {}s differ{}, the first at {}: {} instead of {}", result.different,
                  result.elements, noun, tolerance.none() ? "" : " by more than the tolerance",
                  element_name(shape, result.first), text(got), text(wanted));
  if (result.largest > 0 && result.different > 1)
    result.text += fmt::format("; the largest difference is {} at {}", result.largest,
                               element_name(shape, result.largest_at));
  return result;
}

std::string make_difference(const ElementShape& shape, std::span<const std::byte> got,
                            std::span<const std::byte> wanted, Bytes& png) {
  const ElementType type = element_type(shape.type);
  Picture picture{std::uint32_t(shape.width), std::uint32_t(shape.height * shape.depth), 1, {}};
  std::vector<double> distances(std::size_t(shape.width * shape.height * shape.depth));
  double largest = 0;
  for (std::size_t k = 0; k < distances.size() * shape.channels; ++k) {
    const std::uint64_t ours = element_bits(type, got.data() + k * type.bytes);
    const std::uint64_t theirs = element_bits(type, wanted.data() + k * type.bytes);
    const double distance = element_distance(type, ours, theirs);
    double& place = distances[k / shape.channels];
    place = std::max(place, distance);
    if (std::isfinite(distance)) largest = std::max(largest, distance);
  }
  picture.pixels.reserve(distances.size());
  for (const double distance : distances) {
    // A distance is never invisible: the smallest shows as the darkest grey that is not black.
    const double shade = distance == 0        ? 0
                         : distance > largest ? 255
                                              : std::max(1.0, distance / largest * 255.0);
    picture.pixels.push_back(std::byte(int(shade + 0.5)));
  }
  return write_png(picture, png);
}

}  // namespace ptx2spv::tools
