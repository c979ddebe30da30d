// .texref and .samplerref variables: what is bound to them, and the initialisers that hold until
// then.
#include <algorithm>

#include <fmt/format.h>

#include "ptx2spv/abi.hpp"
#include "src/array/array.hpp"
#include "src/array/texture.hpp"
#include "src/module/module.hpp"

namespace ptx2spv::runtime {

namespace {

/// wrap 0, mirror 1, clamp_ogl 2, clamp_to_edge 3, clamp_to_border 4 of the manual.
constexpr std::int64_t kClampOgl = 2;
AddressMode address_mode(std::int64_t value) {
  constexpr AddressMode kModes[] = {AddressMode::wrap, AddressMode::mirror, AddressMode::clamp,
                                    AddressMode::clamp, AddressMode::border};
  return value >= 0 && value < 5 ? kModes[value] : AddressMode::wrap;
}

std::uint64_t find_handle(
    const std::map<std::string, std::shared_ptr<TextureState>, std::less<>>& bound,
    const ModuleState& module, const std::string& name) {
  if (auto it = bound.find(name); it != bound.end()) return it->second->handle;
  auto fixed = module.static_textures.find(name);
  return fixed == module.static_textures.end() ? 0 : fixed->second;
}

}  // namespace

std::uint64_t ModuleState::texref_handle(const std::string& name) const {
  return find_handle(textures, *this, name);
}

std::uint64_t ModuleState::samplerref_handle(const std::string& name) const {
  return find_handle(samplers, *this, name);
}

bool ModuleState::has_texref(std::string_view name, bool sampler) const {
  const Interface& all = ptx.interface();
  if (std::any_of(all.texrefs.begin(), all.texrefs.end(), [&](const StaticTexref& each) {
        return each.name == name && each.sampler == sampler;
      }))
    return true;
  return std::any_of(all.entries.begin(), all.entries.end(), [&](const EntryInfo& entry) {
    const auto& refs = sampler ? entry.samplerrefs : entry.texrefs;
    return std::any_of(refs.begin(), refs.end(),
                       [&](const RefInfo& each) { return each.name == name; });
  });
}

Status create_static_texture(ModuleState& module, const StaticTexref& ref) {
  DeviceState& device = *module.device;
  const std::int64_t members[] = {ref.width,
                                  ref.height,
                                  ref.depth,
                                  ref.array_size,
                                  ref.channel_data_type,
                                  ref.channel_order,
                                  ref.num_mipmap_levels,
                                  ref.num_samples,
                                  ref.normalized_coords,
                                  ref.force_unnormalized_coords,
                                  ref.filter_mode,
                                  ref.addr_mode[0],
                                  ref.addr_mode[1],
                                  ref.addr_mode[2]};
  const bool initialised = std::any_of(std::begin(members), std::end(members),
                                       [](std::int64_t each) { return each >= 0; });
  // A sampler without initialisers is one of zeros: nearest, wrap.
  if (!initialised && !ref.sampler) return {};
  // A texture of no texels: queries answer from the initialisers, every read gives zeros, as linear
  // memory of no elements does.
  std::array<std::uint32_t, abi::kTextureWords> record{};
  const std::uint64_t base = device.discard.address();
  record[abi::x_base_lo] = static_cast<std::uint32_t>(base);
  record[abi::x_base_hi] = static_cast<std::uint32_t>(base >> 32);
  record[abi::x_height] = record[abi::x_depth] = record[abi::x_layers] = 1;
  record[abi::x_component_bytes] = record[abi::x_texel_bytes] = 4;
  record[abi::x_format] = static_cast<std::uint32_t>(abi::SurfaceFormat::u32);
  if (!ref.sampler) {
    record[abi::x_channels] = 1;
    record[abi::x_sampler] = abi::sample_memory | abi::sample_nothing;
  }
  record[abi::x_levels] = ref.sampler ? abi::kTextureLevels : 1;
  TextureDesc desc;
  for (std::size_t i = 0; i < 3; ++i) desc.address[i] = address_mode(ref.addr_mode[i]);
  desc.linear_filter = ref.filter_mode == 1;
  desc.normalized_coordinates =
      ref.sampler ? ref.force_unnormalized_coords <= 0 : ref.normalized_coords == 1;
  set_sampler(record, desc);
  for (std::size_t i = 0; i < 3; ++i)
    if (ref.addr_mode[i] == kClampOgl) record[abi::x_sampler] |= abi::sample_clamp_ogl << i;
  const auto set = [&](abi::TextureWord word, std::int64_t value) {
    if (value >= 0) record[word] = static_cast<std::uint32_t>(value);
  };
  set(abi::x_query_width, ref.width);
  set(abi::x_query_height, ref.height);
  set(abi::x_query_depth, ref.depth);
  set(abi::x_channel_data_type, ref.channel_data_type);
  set(abi::x_channel_order, ref.channel_order);
  set(abi::x_array_size, ref.array_size);
  if (ref.num_mipmap_levels > 0) set(abi::x_levels, ref.num_mipmap_levels);
  if (ref.num_samples > 0) record[abi::x_samples] = static_cast<std::uint32_t>(ref.num_samples);
  auto handle = device.textures.add(record, ref.name, {}, ref.sampler ? abi::kSamplerHandleBit : 0);
  if (!handle) return handle.error();
  module.static_textures[ref.name] = *handle;
  return {};
}

}  // namespace ptx2spv::runtime

namespace ptx2spv {

namespace {

template <class Bound, class Object>
Status bind_object(ModuleState& module, Bound& bound, bool known, const char* type,
                   const char* what, std::string_view name,
                   const std::shared_ptr<DeviceState>& device, const Object& object) {
  if (!known) return make_error(ErrorCode::not_found, "{} has no {} '{}'", module.file, type, name);
  if (device != module.device)
    return bad_argument("the {} for '{}' is of another device", what, name);
  std::lock_guard lock(module.mutex);
  bound[std::string(name)] = object;
  return {};
}

}  // namespace

Status Module::bind_texture(std::string_view texref, const Texture& texture) {
  return bind_object(*state_, state_->textures, state_->has_texref(texref, false), ".texref",
                     "texture", texref, texture.state()->device, texture.state());
}

Status Module::bind_sampler(std::string_view samplerref, const Sampler& sampler) {
  return bind_object(*state_, state_->samplers, state_->has_texref(samplerref, true), ".samplerref",
                     "sampler", samplerref, sampler.state()->device, sampler.state());
}

Status Module::bind_surface(std::string_view surfref, const Surface& surface) {
  return bind_object(*state_, state_->surfaces, state_->has_surfref(surfref), ".surfref", "surface",
                     surfref, surface.state()->array->device, surface.state());
}

}  // namespace ptx2spv
