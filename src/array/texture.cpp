// Textures by handle: entries of the texture table.
#include "src/array/texture.hpp"

#include <bit>
#include <cmath>

namespace ptx2spv::runtime {

namespace {

using abi::SurfaceFormat;

/// The memory format: normalised formats are integers, read as floats.
SurfaceFormat memory_format(SurfaceFormat format) {
  switch (format) {
    case SurfaceFormat::unorm8: return SurfaceFormat::u8;
    case SurfaceFormat::unorm16: return SurfaceFormat::u16;
    case SurfaceFormat::snorm8: return SurfaceFormat::s8;
    case SurfaceFormat::snorm16: return SurfaceFormat::s16;
    default: return format;
  }
}

bool is_normalised(SurfaceFormat format) { return format >= SurfaceFormat::unorm8; }

/// f32 to f16, toward zero; a NaN stays one.
std::uint32_t half_toward_zero(std::uint32_t bits) {
  const std::uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude >= 0x7f800000u) return sign | 0x7c00u | (magnitude > 0x7f800000u ? 0x200u : 0u);
  if (magnitude >= 0x47800000u) return sign | 0x7bffu;
  if (magnitude >= 0x38800000u) return sign | (magnitude - 0x38000000u) >> 13;
  const std::uint32_t shift = 126 - (magnitude >> 23);
  return shift > 24 ? sign : sign | ((magnitude & 0x7fffffu) | 0x800000u) >> shift;
}

/// A border component as the texture's memory would hold it. What is read as an integer takes the
/// float's low bits.
std::uint32_t border_component(float value, SurfaceFormat format, bool element) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t size = format_bytes(format) * 8;
  if (format == SurfaceFormat::f16) return half_toward_zero(bits);
  if (size == 32) return bits;
  const std::uint32_t mask = (1u << size) - 1;
  if (element) return bits & mask;
  const bool is_signed = format == SurfaceFormat::s8 || format == SurfaceFormat::s16;
  const auto most = static_cast<float>(is_signed ? mask >> 1 : mask);
  const float inside =
      std::isnan(value) ? 0.0f : std::fmin(std::fmax(value, is_signed ? -1.0f : 0.0f), 1.0f);
  return static_cast<std::uint32_t>(static_cast<std::int32_t>(std::floor(inside * most + 0.5f))) &
         mask;
}

}  // namespace

std::array<std::uint32_t, abi::kTextureWords> texture_record(const ArrayState& array,
                                                             const TextureDesc& desc) {
  const Level& level = array.levels[0];
  const auto surface = array.surface_record(0);
  std::array<std::uint32_t, abi::kTextureWords> record{};
  record[abi::x_base_lo] = surface[abi::s_base_lo];
  record[abi::x_base_hi] = surface[abi::s_base_hi];
  record[abi::x_row_pitch] = static_cast<std::uint32_t>(level.row_pitch);
  record[abi::x_slice_pitch] = static_cast<std::uint32_t>(level.slice_pitch);
  record[abi::x_width] = level.width;
  record[abi::x_height] = level.height;
  record[abi::x_depth] = level.depth;
  record[abi::x_layers] = array.desc.layers;
  const SurfaceFormat format = memory_format(array.desc.format);
  const std::uint32_t component = format_bytes(format);
  record[abi::x_texel_bytes] = array.desc.texel_bytes();
  record[abi::x_component_bytes] = component;
  record[abi::x_channels] = array.desc.channels;
  record[abi::x_format] = static_cast<std::uint32_t>(format);
  // 32-bit integers have no normalised form, and floats are floats either way.
  const bool element =
      component == 4 || (desc.read_as_integer && !is_normalised(array.desc.format));
  std::uint32_t sampler = 0;
  for (std::uint32_t i = 0; i < 3; ++i)
    sampler |= static_cast<std::uint32_t>(desc.address[i]) << (2 * i);
  if (desc.linear_filter) sampler |= abi::sample_linear;
  if (desc.normalized_coordinates) sampler |= abi::sample_normalized;
  if (element) sampler |= abi::sample_element;
  record[abi::x_sampler] = sampler;
  for (std::uint32_t i = 0; i < 4; ++i)
    record[abi::x_border + i] = border_component(desc.border[i], format, element);
  // Queries give an array's layers as the extent behind its last one.
  const Geometry geometry = array.desc.geometry;
  record[abi::x_query_width] = level.width;
  record[abi::x_query_height] = geometry == Geometry::a1d ? array.desc.layers : level.height;
  record[abi::x_query_depth] = geometry == Geometry::d3    ? level.depth
                               : geometry == Geometry::a2d ? array.desc.layers
                                                           : 0;
  record[abi::x_channel_data_type] = surface[abi::s_channel_data_type];
  record[abi::x_channel_order] = surface[abi::s_channel_order];
  record[abi::x_array_size] = surface[abi::s_array_size];
  return record;
}

TextureState::~TextureState() {
  if (array && handle) array->device->textures.remove(handle);
}

std::uint64_t texture_handle(const TextureState& texture) { return texture.handle; }

std::uint64_t ModuleState::texref_handle(const std::string& name) const {
  auto bound = textures.find(name);
  return bound == textures.end() ? 0 : bound->second->handle;
}

}  // namespace ptx2spv::runtime

namespace ptx2spv {

using namespace runtime;

Result<Texture> Texture::create(const Array& array, const TextureDesc& desc) {
  auto texture = std::make_shared<TextureState>();
  texture->array = array.state();
  texture->desc = desc;
  const ArrayDesc& memory = array.desc();
  const auto bad = [](std::string text) {
    return make_error(ErrorCode::invalid_argument, std::move(text));
  };
  const bool real =
      memory.format == abi::SurfaceFormat::f16 || memory.format == abi::SurfaceFormat::f32;
  const bool integers = !real && memory.format < abi::SurfaceFormat::unorm8 &&
                        (desc.read_as_integer || format_bytes(memory.format) == 4);
  if (desc.linear_filter && integers)
    return bad("a texture that is read as integers has no linear filter");
  if (desc.srgb) return bad("sRGB textures are not supported");
  if (desc.max_anisotropy > 1 || desc.max_level > 0 || desc.min_level > 0 ||
      desc.linear_mipmap_filter)
    return bad(
        "a texture reads the first level of its array: mipmap levels and anisotropy are not "
        "supported");
  if (memory.width > 131072 || memory.height > 65536 || memory.depth > 65536)
    return bad("a texture has at most 131072 texels in a row and 65536 in the other directions");
  if (Status status = array.state()->ensure_linear(); !status) return status.error();
  if (array.state()->linear.size() >> 32) return bad("a texture of 4 GiB or more is not supported");
  auto handle = array.state()->device->textures.add(texture_record(*array.state(), desc),
                                                    memory.name, texture);
  if (!handle) return handle.error();
  texture->handle = *handle;
  return Texture(std::move(texture));
}

std::uint64_t Texture::handle() const { return state_->handle; }

Status Module::bind_texture(std::string_view texref, const Texture& texture) {
  const Interface& all = interface();
  bool known = false;
  for (const EntryInfo& entry : all.entries)
    for (const RefInfo& each : entry.texrefs) known |= each.name == texref;
  if (!known)
    return make_error(ErrorCode::not_found,
                      state_->file + " has no .texref '" + std::string(texref) + "'");
  std::lock_guard lock(state_->mutex);
  std::string name(texref);
  state_->textures[name] = texture.state();
  return rewrite_handles(*state_, name, true);
}

}  // namespace ptx2spv
