// Textures by handle: entries of the texture table.
#include "src/array/texture.hpp"

namespace ptx2spv::runtime {

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
  if (Status status = array.state()->ensure_linear(); !status) return status.error();
  auto handle = array.state()->device->textures.add(array.state()->surface_record(0),
                                                    array.desc().name, texture);
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
