// Names and sizes of formats and geometries, and what suq calls them.
#include "ptx2spv/formats.hpp"
#include "src/array/array.hpp"

namespace ptx2spv {

const char* to_string(Geometry geometry) {
  return kGeometryNames[static_cast<std::size_t>(geometry)].data();
}

std::optional<Geometry> parse_geometry(std::string_view text) {
  for (std::size_t i = 0; i < kSurfaceGeometries; ++i)
    if (text == kGeometryNames[i]) return static_cast<Geometry>(i);
  return std::nullopt;
}

const char* to_string(abi::SurfaceFormat format) {
  return kFormatNames[static_cast<std::size_t>(format)].data();
}

std::optional<abi::SurfaceFormat> parse_format(std::string_view text) {
  for (std::size_t i = 0; i < std::size(kFormatNames); ++i)
    if (text == kFormatNames[i]) return static_cast<abi::SurfaceFormat>(i);
  return std::nullopt;
}

std::uint32_t format_bytes(abi::SurfaceFormat format) { return component_bytes(format); }

}  // namespace ptx2spv

namespace ptx2spv::runtime {

VkFormat storage_format(std::uint32_t texel_bytes) {
  switch (texel_bytes) {
    case 1: return VK_FORMAT_R8_UINT;
    case 2: return VK_FORMAT_R16_UINT;
    case 4: return VK_FORMAT_R32_UINT;
    case 8: return VK_FORMAT_R32G32_UINT;
    default: return VK_FORMAT_R32G32B32A32_UINT;
  }
}

// A device without 1D images gets 2D ones of height 1; translated modules go by the same
// capability.
VkImageType image_type(const DeviceState& device, Geometry geometry) {
  switch (geometry) {
    case Geometry::d1:
    case Geometry::a1d:
      return device.profile.features.image1d ? VK_IMAGE_TYPE_1D : VK_IMAGE_TYPE_2D;
    case Geometry::d3: return VK_IMAGE_TYPE_3D;
    default: return VK_IMAGE_TYPE_2D;
  }
}

VkImageViewType view_type(const DeviceState& device, Geometry geometry) {
  bool one = device.profile.features.image1d;
  switch (geometry) {
    case Geometry::d1: return one ? VK_IMAGE_VIEW_TYPE_1D : VK_IMAGE_VIEW_TYPE_2D;
    case Geometry::a1d: return one ? VK_IMAGE_VIEW_TYPE_1D_ARRAY : VK_IMAGE_VIEW_TYPE_2D_ARRAY;
    case Geometry::d2: return VK_IMAGE_VIEW_TYPE_2D;
    case Geometry::a2d: return VK_IMAGE_VIEW_TYPE_2D_ARRAY;
    case Geometry::d3: break;
  }
  return VK_IMAGE_VIEW_TYPE_3D;
}

namespace {
constexpr std::uint32_t bits(std::initializer_list<Geometry> all) {
  std::uint32_t mask = 0;
  for (const Geometry each : all) mask |= 1u << static_cast<unsigned>(each);
  return mask;
}
constexpr std::uint32_t kLines = bits({Geometry::d1, Geometry::a1d}),
                        kPlanes = bits({Geometry::d2, Geometry::a2d}),
                        kSlices = kPlanes | bits({Geometry::d3});
/// By the array's geometry, those of the instructions that find it.
constexpr std::uint32_t kFound[] = {kLines, kPlanes, kSlices, kLines, kPlanes};
}  // namespace

std::uint32_t found_by(Geometry array) { return kFound[static_cast<std::size_t>(array)]; }

std::uint8_t slot_geometry(Geometry geometry) {
  switch (geometry) {
    case Geometry::d1: return 1;
    case Geometry::d2: return 2;
    case Geometry::d3: return 3;
    case Geometry::a1d: return 4;
    case Geometry::a2d: break;
  }
  return 5;
}

}  // namespace ptx2spv::runtime
