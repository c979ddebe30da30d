// Where a launch finds its surfaces and textures.
#pragma once

#include <cstring>

#include "src/array/sampler.hpp"
#include "src/launch/plan.hpp"

namespace ptx2spv::runtime {

struct TextureSlot {
  std::shared_ptr<TextureState> texture;  ///< null: dead, or of no array
  SamplerUse use;                         ///< possible: the device's sampler reads it
};

/// A texture that handles out of memory may name.
struct TableTexture {
  std::uint32_t index = 0;  ///< low word of its handle
  std::shared_ptr<TextureState> texture;
  TextureGeometry geometry = TextureGeometry::d2;
  SamplerUse use;
};

struct Slots {
  std::vector<std::shared_ptr<SurfaceState>> surfaces;  ///< null: dead
  std::vector<SlotSpec> specs;
  bool checked = true, wide = false;  ///< every slot is live, and its rows hold each access
  bool settled = true;                ///< and no surface's array may want to be elsewhere
  std::vector<TextureSlot> textures;
  std::vector<TableTexture> table;  ///< all of the geometries that are read so
  TableSpecs table_specs;
  std::uint32_t table_size = 0;
};

/// The handle at an offset of the parameters.
inline std::uint64_t word64(const std::vector<std::byte>& bytes, std::uint32_t offset) {
  std::uint64_t value = 0;
  if (offset + 8u <= bytes.size()) std::memcpy(&value, bytes.data() + offset, 8);
  return value;
}

FilterPolicy filter_of(const LaunchFacts& facts);

/// Decides how each slot is reached, in LaunchPlan::slots. Arrays move to where the kernel wants
/// them, or are mirrored (LaunchPlan::mirrored) where they may not. Sets LaunchPlan::moves.
Status choose_backings(LaunchPlan& plan, bool reads_images);

}  // namespace ptx2spv::runtime
