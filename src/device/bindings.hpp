// Descriptor set 0 in Vulkan's terms. What changes from launch to launch stands at dynamic offsets,
// so that sets can be kept.
#pragma once

#include <iterator>

#include "ptx2spv/abi.hpp"
#include "src/vulkan/api.hpp"

namespace ptx2spv::runtime {

inline constexpr VkDescriptorType kBindingTypes[] = {
#define PTX2SPV_BINDING(name, number, space, readonly, moves, holds) \
  moves ? VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
#include "ptx2spv/bindings.def"
};
static_assert(std::size(kBindingTypes) == abi::kBindings);

}  // namespace ptx2spv::runtime
