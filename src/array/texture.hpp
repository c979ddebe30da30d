// The state behind Texture and Sampler.
#pragma once

#include "src/array/array.hpp"
#include "src/array/buffer.hpp"

namespace ptx2spv::runtime {

/// What a sampler reads a texture by, while the array's level has this serial number.
struct SampledView {
  std::uint64_t level_serial = 0, serial = 0;
  TextureGeometry view = TextureGeometry::d2;
  bool divides = false, indexed = false;
  VkImageView image_view = VK_NULL_HANDLE;
  VkSampler sampler = VK_NULL_HANDLE;
};

struct TextureState {
  TextureState() = default;
  TextureState(const TextureState&) = delete;
  TextureState& operator=(const TextureState&) = delete;
  ~TextureState();
  std::shared_ptr<DeviceState> device;
  std::shared_ptr<ArrayState> array;          ///< what is read: an array,
  std::shared_ptr<const BufferState> buffer;  ///< or memory; neither: a sampler
  TextureDesc desc;
  std::uint64_t handle = 0;
  std::array<std::uint32_t, abi::kTextureWords> record{};
  std::uint32_t first_level = 0, first_layer = 0;  ///< of the array
  bool view = false;  ///< of another format, or of some layers: samplers do not know it

  std::mutex sampled_mutex;
  bool memory_image_tried = false;
  VkImage memory_image = VK_NULL_HANDLE;  ///< over pitched memory (src/array/memory_image.hpp)
  std::vector<SampledView> sampled;
};

/// Writes into the texture's record where its array is.
void update_record(TextureState& texture);
/// Destroys what samplers read the texture by.
void forget_sampled(TextureState& texture);

/// The texels of a texture.
struct TextureSource {
  Geometry geometry = Geometry::d2;
  abi::SurfaceFormat format = abi::SurfaceFormat::u32;
  std::uint32_t channels = 1, width = 1, height = 1, depth = 1, layers = 1;
  std::uint64_t address = 0, row_pitch = 0, slice_pitch = 0;
  std::vector<std::uint64_t> offsets;  ///< of each level from the first; empty: one level
  bool linear = false;                 ///< read at integer coordinates alone
};

std::array<std::uint32_t, abi::kTextureWords> texture_record(const TextureSource& source,
                                                             const TextureDesc& desc);
/// The words of `record` that say how to read; its levels are known before.
void set_sampler(std::array<std::uint32_t, abi::kTextureWords>& record, const TextureDesc& desc);
/// What a byte of sRGB means: an exponent, and 8 bits below it (abi::kSrgbTable).
std::uint32_t srgb_entry(std::uint32_t byte);
/// Later translations have `feature`.
void use_texture_feature(DeviceState& device, abi::TextureFeature feature);

}  // namespace ptx2spv::runtime
