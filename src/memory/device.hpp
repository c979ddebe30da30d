// A device as far as copies need it: a queue, memory, and commands that are waited for.
#pragma once

#include "src/memory/heap.hpp"
#include "src/vulkan/commands.hpp"

namespace ptx2spv::runtime {

struct MemoryDevice : VulkanDevice {
  Queue queue{*this};
  Heap heap{*this, queue};
  CommandRunner commands{*this, queue};
};

}  // namespace ptx2spv::runtime
