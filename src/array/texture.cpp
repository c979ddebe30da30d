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

std::uint64_t Texture::handle() const { return state_->handle; }

}  // namespace ptx2spv
