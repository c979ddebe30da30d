// Textures by handle: entries of the texture table.
#include "src/array/texture.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "src/array/buffer.hpp"
#include "src/array/sampler.hpp"

namespace ptx2spv::runtime {

namespace {

/// What the 256 bytes of sRGB mean, rounded as the hardware does (docs/reference/hardware.md).
void write_srgb_table(std::uint32_t* words) {
  for (std::uint32_t i = 0; i < abi::kSrgbWords; ++i)
    words[i] = srgb_entry(2 * i) | srgb_entry(2 * i + 1) << 16;
}

}  // namespace

void use_texture_feature(DeviceState& device, abi::TextureFeature feature) {
  if (feature == abi::feature_srgb) write_srgb_table(device.textures.extra());
  device.texture_features.fetch_or(feature, std::memory_order_relaxed);
}

TextureState::~TextureState() {
  if (!device) return;
  if (handle) device->textures.remove(handle);
  if (array) {
    std::lock_guard lock(array->mutex);
    std::erase(array->textures, this);
  }
  forget_sampled(*this);
  if (memory_image) device->vk.DestroyImage(device->handle, memory_image, nullptr);
}

void update_record(TextureState& texture) {
  const ArrayState& array = *texture.array;
  // As of surfaces: what is in an image alone is not read by address.
  const Level& level = array.levels[texture.first_level];
  const std::uint64_t base =
      array.linear ? array.linear.address() + level.offset + texture.first_layer * level.slice_pitch
                   : array.device->discard.address();
  texture.record[abi::x_base_lo] = static_cast<std::uint32_t>(base);
  texture.record[abi::x_base_hi] = static_cast<std::uint32_t>(base >> 32);
  texture.record[abi::x_sampled] = array.image_backed ? table_bits(texture) : 0;
  if (texture.handle) array.device->textures.update(texture.handle, texture.record);
}

}  // namespace ptx2spv::runtime

namespace ptx2spv {

namespace {

/// What textures and samplers have in common.
Status check(const TextureDesc& desc) {
  for (const AddressMode mode : desc.address)
    if (mode > AddressMode::border)
      return bad_argument("there is no address mode {}", static_cast<unsigned>(mode));
  if (desc.max_anisotropy < 1 || desc.max_anisotropy > 16)
    return bad_argument("a texture's anisotropy is 1 to 16, not {}", desc.max_anisotropy);
  return {};
}

Status check(const TextureSource& source, const TextureDesc& desc) {
  if (Status status = check(desc); !status) return status;
  const bool real =
      source.format == abi::SurfaceFormat::f16 || source.format == abi::SurfaceFormat::f32;
  const bool integers = !real && source.format < abi::SurfaceFormat::unorm8 &&
                        (desc.read_as_integer || format_bytes(source.format) == 4);
  if (desc.linear_filter && integers)
    return bad_argument("a texture that is read as integers has no linear filter");
  if (desc.mipmapped && source.offsets.empty()) return bad_argument("memory is no mipmapped array");
  if (desc.linear_mipmap_filter && integers && (source.offsets.size() > 1 || desc.mipmapped))
    return bad_argument("levels that are read as integers have no linear mipmap filter");
  if (desc.seamless_cube && !desc.cube) return bad_argument("only a cube map is seamless");
  if (desc.cube &&
      (source.geometry != Geometry::a2d || source.layers % 6 != 0 || source.width != source.height))
    return bad_argument("a cube map has square layers, six for each cube");
  if (!source.linear && (source.width > 131072 || source.height > 65536 || source.depth > 65536))
    return bad_argument(
        "a texture has at most 131072 texels in a row and 65536 in the other directions");
  return {};
}

Result<Texture> make(const std::shared_ptr<DeviceState>& device, const TextureSource& source,
                     const TextureDesc& desc, std::shared_ptr<TextureState> texture,
                     const std::string& name) {
  texture->device = device;
  texture->desc = desc;
  texture->record = texture_record(source, desc);
  std::unique_lock<std::mutex> lock;
  if (texture->array) {
    lock = std::unique_lock(texture->array->mutex);
    update_record(*texture);
  }
  const auto& record = texture->record;
  if (record[abi::x_levels] > 1 && (desc.max_level > 0 || device->has_samplers))
    use_texture_feature(*device, abi::feature_levels);
  if (record[abi::x_levels] > 1) device->has_level_textures = true;
  if (record[abi::x_sampler] & abi::sample_srgb) use_texture_feature(*device, abi::feature_srgb);
  if (record[abi::x_sampler] & abi::sample_seamless)
    use_texture_feature(*device, abi::feature_seamless);
  if (record[abi::x_sampler] & abi::sample_anisotropy)
    use_texture_feature(*device, abi::feature_anisotropy);
  auto handle = device->textures.add(record, name, texture);
  if (!handle) return handle.error();
  texture->handle = *handle;
  if (texture->array) texture->array->textures.push_back(texture.get());
  return Texture(std::move(texture));
}

/// The whole of an array as a view of it.
TextureView whole(const Array& array) {
  const ArrayDesc& desc = array.desc();
  return {desc.format, desc.channels, 0, static_cast<std::uint32_t>(array.state()->levels.size()),
          0,           desc.layers};
}

Result<Texture> over_view(const Array& array, const TextureView& view, const TextureDesc& desc) {
  ArrayState& state = *array.state();
  const ArrayDesc& memory = array.desc();
  const std::uint32_t first = view.first_level, count = view.levels;
  const Level& level = state.levels[first];
  TextureSource source;
  source.geometry = memory.geometry;
  source.format = view.format;
  source.channels = view.channels;
  source.width = level.width;
  source.height = level.height;
  source.depth = level.depth;
  source.layers = view.layers;
  source.row_pitch = level.row_pitch;
  source.slice_pitch = level.slice_pitch;
  const std::uint64_t start = level.offset + view.first_layer * level.slice_pitch;
  for (std::uint32_t i = first; i < first + count; ++i)
    source.offsets.push_back(state.levels[i].offset +
                             view.first_layer * state.levels[i].slice_pitch - start);
  if (Status status = check(source, desc); !status) return status.error();
  const Level& last = state.levels[first + count - 1];
  if ((last.offset + last.bytes - level.offset) >> 32)
    return bad_argument("a texture of 4 GiB or more is not supported");
  auto texture = std::make_shared<TextureState>();
  texture->array = array.state();
  texture->first_level = first;
  texture->first_layer = view.first_layer;
  texture->view = view.format != memory.format || view.channels != memory.channels ||
                  view.layers != memory.layers;
  return make(state.device, source, desc, std::move(texture), memory.name);
}

}  // namespace

Result<Texture> Texture::create(const Array& array, const TextureDesc& desc) {
  return over_view(array, whole(array), desc);
}

Result<Texture> Texture::create_view(const Array& array, const TextureView& view,
                                     const TextureDesc& desc) {
  const ArrayDesc& memory = array.desc();
  const TextureView most = whole(array);
  if (view.format > abi::SurfaceFormat::snorm16 ||
      (view.channels != 1 && view.channels != 2 && view.channels != 4))
    return bad_argument("a texture has no such format");
  const std::uint32_t texel = format_bytes(view.format) * view.channels;
  if (texel != memory.texel_bytes())
    return bad_argument("a view of {} bytes a texel does not fit an array of {}", texel,
                        memory.texel_bytes());
  const auto inside = [](std::uint32_t first, std::uint32_t count, std::uint32_t all) {
    return count && first < all && count <= all - first;
  };
  if (!inside(view.first_level, view.levels, most.levels))
    return bad_argument("the array has {} levels, and the view shows {} from level {}", most.levels,
                        view.levels, view.first_level);
  if (!inside(view.first_layer, view.layers, most.layers))
    return bad_argument("the array has {} layers, and the view shows {} from layer {}", most.layers,
                        view.layers, view.first_layer);
  return over_view(array, view, desc);
}

Result<Texture> Texture::create_level(const Array& array, std::uint32_t level,
                                      const TextureDesc& desc) {
  if (level >= array.state()->levels.size())
    return bad_argument("the array has no level {}", level);
  TextureView view = whole(array);
  view.first_level = level;
  view.levels = 1;
  return over_view(array, view, desc);
}

Result<Texture> Texture::create(const Buffer& buffer, const TextureMemory& memory,
                                const TextureDesc& desc) {
  if (memory.channels != 1 && memory.channels != 2 && memory.channels != 4)
    return bad_argument("a texture has 1, 2 or 4 channels, not {}", memory.channels);
  if (memory.format > abi::SurfaceFormat::snorm16)
    return bad_argument("a texture has no such format");
  const std::uint64_t texel = std::uint64_t{format_bytes(memory.format)} * memory.channels;
  const std::uint64_t row = texel * memory.width;
  if (!memory.width) return bad_argument("a texture has no texels");
  if (memory.offset % 16 || (memory.height && memory.pitch % 16))
    return bad_argument(
        "the memory of a texture starts, and its rows follow, at multiples of 16 bytes");
  if (memory.height && memory.pitch < row)
    return bad_argument("a row of the texture has {} bytes, and its pitch is {}", row,
                        memory.pitch);
  if (memory.height && memory.pitch >> 32)
    return bad_argument("rows of a texture lie less than 4 GiB apart, not {} bytes in any buffer",
                        memory.pitch);
  const std::uint64_t bytes = memory.height ? memory.pitch * (memory.height - 1) + row : row;
  if (memory.offset > buffer.state()->bytes || bytes > buffer.state()->bytes - memory.offset)
    return bad_argument("{} bytes at {} do not lie in a buffer of {} bytes", bytes, memory.offset,
                        buffer.state()->bytes);
  if (bytes >> 32) return bad_argument("a texture of 4 GiB or more is not supported");
  TextureSource source;
  source.geometry = memory.height ? Geometry::d2 : Geometry::d1;
  source.format = memory.format;
  source.channels = memory.channels;
  source.width = memory.width;
  source.height = std::max(memory.height, 1u);
  source.row_pitch = memory.height ? memory.pitch : row;
  source.linear = memory.height == 0;
  source.address = buffer.address() + memory.offset;
  if (source.address % 16)
    return bad_argument("the memory of a texture starts at a multiple of 16 bytes");
  if (source.linear && memory.width > 1u << 28)
    return bad_argument("linear memory is read as at most 2^28 texels");
  if (Status status = check(source, desc); !status) return status.error();
  auto texture = std::make_shared<TextureState>();
  texture->buffer = buffer.state();
  return make(buffer.state()->device, source, desc, std::move(texture), "");
}

std::uint64_t Texture::handle() const { return state_->handle; }

Result<Sampler> Sampler::create(const Device& device, const TextureDesc& desc) {
  if (Status status = check(desc); !status) return status.error();
  auto sampler = std::make_shared<TextureState>();
  sampler->device = device.state();
  sampler->desc = desc;
  std::array<std::uint32_t, abi::kTextureWords> record{};
  record[abi::x_levels] = abi::kTextureLevels;
  set_sampler(record, desc);
  sampler->device->has_samplers = true;
  if (record[abi::x_sampler] & abi::sample_anisotropy)
    use_texture_feature(*sampler->device, abi::feature_anisotropy);
  if (sampler->device->has_level_textures)
    use_texture_feature(*sampler->device, abi::feature_levels);
  auto handle = sampler->device->textures.add(record, "", sampler, abi::kSamplerHandleBit);
  if (!handle) return handle.error();
  sampler->handle = *handle;
  return Sampler(std::move(sampler));
}

std::uint64_t Sampler::handle() const { return state_->handle; }

}  // namespace ptx2spv
