// A device as far as copies need it: a queue, memory, and commands that are waited for.
#pragma once

#include "src/memory/copy_kernel.hpp"
#include "src/memory/heap.hpp"
#include "src/vulkan/queue.hpp"

namespace ptx2spv::runtime {

struct MemoryDevice : VulkanDevice {
  Queue queue{*this};
  Heap heap{*this, queue};
  CopyKernel copy_kernel{*this};
};

}  // namespace ptx2spv::runtime
