// Addresses and memory apart from each other: sparse buffers, and the pages that are bound to them.
#include <algorithm>

#include <fmt/format.h>

#include "src/memory/heap.hpp"

namespace ptx2spv::runtime {

Result<VkBuffer> Heap::make_sparse(std::uint64_t bytes) const {
  if (!binds())
    return make_error(ErrorCode::unsupported, "the device binds no memory to parts of buffers");
  VkBufferCreateInfo create{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  device_.share(create);
  create.flags = VK_BUFFER_CREATE_SPARSE_BINDING_BIT | VK_BUFFER_CREATE_SPARSE_RESIDENCY_BIT |
                 VK_BUFFER_CREATE_SPARSE_ALIASED_BIT;
  create.size = bytes;
  create.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                 VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
  VkBuffer buffer = VK_NULL_HANDLE;
  const VkResult result = device_.vk.CreateBuffer(device_.handle, &create, nullptr, &buffer);
  if (result != VK_SUCCESS) return vulkan_error(result, "CreateBuffer");
  return buffer;
}

Result<Memory> Heap::reserve(std::uint64_t bytes, std::uint64_t alignment) {
  std::uint64_t room = 0;
  if (__builtin_add_overflow(bytes, alignment, &room))
    return make_error(ErrorCode::out_of_memory, "there are not as many addresses");
  auto block = std::make_unique<Block>();
  block->kind = MemoryKind::range;
  // Most buffers begin at such a multiple; another one gets room for it.
  for (const std::uint64_t size : {bytes, room}) {
    if (block->buffer) device_.vk.DestroyBuffer(device_.handle, block->buffer, nullptr);
    block->buffer = VK_NULL_HANDLE;
    auto buffer = make_sparse(size);
    if (!buffer) return buffer.error();
    block->buffer = *buffer;
    VkBufferDeviceAddressInfo info{VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO};
    info.buffer = block->buffer;
    block->address = device_.vk.GetBufferDeviceAddress(device_.handle, &info);
    block->size = size;
    if (block->address % alignment == 0) break;
  }
  const std::uint64_t skipped = (alignment - block->address % alignment) % alignment;
  block->used = bytes;
  std::lock_guard lock(mutex_);
  blocks_.push_back(std::move(block));
  return Memory(this, blocks_.back().get(), skipped, bytes);
}

Result<Memory> Heap::allocate_pages(std::uint64_t bytes, std::uint64_t alignment) {
  auto buffer = make_sparse(std::max<std::uint64_t>(bytes, 1));
  if (!buffer) return buffer.error();
  VkMemoryRequirements needs{};
  device_.vk.GetBufferMemoryRequirements(device_.handle, *buffer, &needs);
  device_.vk.DestroyBuffer(device_.handle, *buffer, nullptr);
  if (alignment % needs.alignment)
    return make_error(ErrorCode::unsupported, "the device binds memory at multiples of {} bytes",
                      needs.alignment);
  return take(MemoryKind::pages, bytes, alignment, needs.memoryTypeBits);
}

Status Heap::bind(const Memory& range, std::uint64_t at, std::uint64_t bytes, const Memory* pages,
                  std::uint64_t from) {
  VkSparseMemoryBind part{};
  part.resourceOffset = range.offset() + at;
  part.size = bytes;
  if (pages) {
    part.memory = pages->memory();
    part.memoryOffset = pages->offset() + from;
  }
  return binding_queue_->bind(bind_sparse_, {range.buffer(), 1, &part});
}

}  // namespace ptx2spv::runtime
