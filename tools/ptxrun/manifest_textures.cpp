// The manifest's textures and samplers.
#include <algorithm>

#include "tools/ptxrun/manifest_parser.hpp"

namespace ptx2spv::tools {

int Parser::choice(const Reader& field, std::initializer_list<const char*> names) {
  const auto text = field.string();
  if (!text) return -1;
  std::string list;
  int k = 0;
  for (const char* candidate : names) {
    if (*text == candidate) return k;
    list += (k++ ? ", " : "") + std::string(candidate);
  }
  field.error("there is no \"" + *text + "\"; there are " + list);
  return -1;
}

/// What textures and samplers share.
void Parser::sampling(const Reader& reader, TextureDesc& desc) {
  if (const auto field = reader.find("filter"))
    desc.linear_filter = choice(*field, {"point", "linear"}) == 1;
  if (const auto field = reader.find("mipmap_filter"))
    desc.linear_mipmap_filter = choice(*field, {"point", "linear"}) == 1;
  if (const auto field = reader.find("normalized"))
    desc.normalized_coordinates = field->boolean().value_or(false);
  const auto address = [&](const Reader& field) {
    const int k = choice(field, {"wrap", "clamp", "mirror", "border"});
    return k < 0 ? AddressMode::clamp : AddressMode(k);
  };
  if (const auto field = reader.find("address")) {
    if (field->json().kind == Json::Kind::string) {
      desc.address.fill(address(*field));
    } else if (field->is_array()) {
      if (field->json().items.empty() || field->json().items.size() > 3)
        field->error("takes one to three modes");
      for (std::size_t k = 0; k < std::min<std::size_t>(3, field->json().items.size()); ++k)
        desc.address[k] = address(field->item(k));
    }
  }
  const auto number = [&](const char* field_name, float& place) {
    if (const auto field = reader.find(field_name)) place = float(field->number().value_or(0));
  };
  number("bias", desc.mipmap_bias);
  number("min_level", desc.min_level);
  number("max_level", desc.max_level);
}

/// Textures come before buffers, which may hold their handles: of a buffer its place is known, no
/// more.
void Parser::texture_memory(const Reader& reader, const Reader& field, TextureSpec& spec) {
  const auto name = field.string();
  if (!name) return;
  const auto at = std::find(buffer_names_.begin(), buffer_names_.end(), *name);
  if (at == buffer_names_.end()) field.error("there is no buffer \"" + *name + "\"");
  spec.buffer = std::uint32_t(at - buffer_names_.begin());
  if (const auto format = reader.need("format")) {
    const auto text = format->string();
    const auto known = text ? parse_format(*text) : std::nullopt;
    if (text && !known)
      format->error("there is no format \"" + *text +
                    "\"; there are u8 u16 u32 s8 s16 s32 f16 f32 unorm8 unorm16 snorm8 snorm16");
    if (known) spec.memory.format = *known;
  }
  if (const auto channels = reader.need("channels")) {
    const auto value = channels->integer(1, 4);
    if (value && *value == 3) channels->error("a texture has 1, 2 or 4 channels");
    spec.memory.channels = std::uint32_t(value.value_or(1));
  }
  if (const auto width = reader.need("width"))
    spec.memory.width = std::uint32_t(width->integer(1, 1u << 28).value_or(1));
  if (const auto offset = reader.find("offset"))
    spec.memory.offset = offset->integer(0, kMostBytes).value_or(0);
  const std::uint64_t row =
      std::uint64_t(spec.memory.width) * spec.memory.channels * format_bytes(spec.memory.format);
  spec.memory.pitch = row;
  if (const auto height = reader.find("height")) {
    spec.memory.height = std::uint32_t(height->integer(1, 65536).value_or(1));
    if (const auto pitch = reader.find("pitch"))
      spec.memory.pitch = pitch->integer(row, kMostBytes).value_or(row);
  } else if (const auto pitch = reader.find("pitch")) {
    pitch->error("takes a height as well");
  }
}

void Parser::texture(const std::string& name, const Reader& reader) {
  const bool over_memory = reader.find("buffer").has_value();
  if (over_memory) {
    reader.only({"buffer", "offset", "format", "channels", "width", "height", "pitch", "read",
                 "address", "filter", "mipmap_filter", "normalized", "srgb", "border", "bias",
                 "min_level", "max_level", "anisotropy", "full_trilinear"});
  } else {
    reader.only({"resource", "level", "cube", "seamless", "mipmapped", "full_trilinear", "read",
                 "address", "filter", "mipmap_filter", "normalized", "srgb", "border", "bias",
                 "min_level", "max_level", "anisotropy"});
  }
  TextureSpec spec;
  spec.name = name;
  spec.where = reader.where();
  spec.desc.read_as_integer = true;
  if (over_memory) {
    texture_memory(reader, *reader.find("buffer"), spec);
  } else if (const auto field = reader.need("resource")) {
    const auto index = named(out_.surfaces, "surface", *field);
    if (index) spec.surface = *index;
    if (const auto level = reader.find("level"); level && index)
      if (const auto value = level->integer(0, out_.surfaces[*index].desc.levels - 1))
        spec.level = std::uint32_t(*value);
  }
  if (const auto field = reader.find("cube")) spec.desc.cube = field->boolean().value_or(false);
  if (const auto field = reader.find("seamless"))
    spec.desc.seamless_cube = field->boolean().value_or(false);
  if (const auto field = reader.find("mipmapped"))
    spec.desc.mipmapped = field->boolean().value_or(false);
  if (const auto field = reader.find("full_trilinear"))
    spec.desc.full_trilinear = field->boolean().value_or(false);
  if (const auto field = reader.find("read"))
    spec.desc.read_as_integer = choice(*field, {"element", "normalized_float"}) != 1;
  if (const auto field = reader.find("srgb")) spec.desc.srgb = field->boolean().value_or(false);
  sampling(reader, spec.desc);
  if (const auto field = reader.find("border"); field && field->is_array()) {
    if (field->json().items.size() > 4) field->error("takes at most four numbers");
    for (std::size_t k = 0; k < std::min<std::size_t>(4, field->json().items.size()); ++k)
      spec.desc.border[k] = float(field->item(k).number().value_or(0));
  }
  if (const auto field = reader.find("anisotropy"))
    spec.desc.max_anisotropy = std::uint32_t(field->integer(1, 16).value_or(1));
  out_.textures.push_back(std::move(spec));
}

void Parser::sampler(const std::string& name, const Reader& reader) {
  reader.only(
      {"address", "filter", "mipmap_filter", "normalized", "bias", "min_level", "max_level"});
  SamplerSpec spec;
  spec.name = name;
  spec.where = reader.where();
  spec.desc.normalized_coordinates = true;
  sampling(reader, spec.desc);
  out_.samplers.push_back(std::move(spec));
}

}  // namespace ptx2spv::tools
