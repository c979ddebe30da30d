// The state behind Texture.
#pragma once

#include "src/array/array.hpp"
#include "src/launch/arguments.hpp"

namespace ptx2spv::runtime {

struct TextureState {
  TextureState() = default;
  TextureState(const TextureState&) = delete;
  TextureState& operator=(const TextureState&) = delete;
  ~TextureState();
  std::shared_ptr<ArrayState> array;
  TextureDesc desc;
  std::uint64_t handle = 0;
};

/// The record of the texture that reads level 0 of `array`.
std::array<std::uint32_t, abi::kTextureWords> texture_record(const ArrayState& array,
                                                             const TextureDesc& desc);

}  // namespace ptx2spv::runtime
