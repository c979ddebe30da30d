#include "src/stream/descriptors.hpp"

#include "src/device/bindings.hpp"

namespace ptx2spv::runtime {

namespace {
constexpr std::uint32_t kSetsPerPool = 128;
}

Descriptors::~Descriptors() {
  for (VkDescriptorPool pool : pools_)
    device_->vk.DestroyDescriptorPool(device_->handle, pool, nullptr);
}

void Descriptors::clear() {
  sets_.clear();
  elements_ = 0;
  while (pools_.size() > 1) {
    device_->vk.DestroyDescriptorPool(device_->handle, pools_.back(), nullptr);
    pools_.pop_back();
  }
  if (!pools_.empty()) device_->vk.ResetDescriptorPool(device_->handle, pools_[0], 0);
}

Result<VkDescriptorSet> Descriptors::allocate(VkDescriptorSetLayout layout,
                                              std::uint32_t elements) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (!pools_.empty()) {
      VkDescriptorSetAllocateInfo allocate{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
      allocate.descriptorPool = pools_.back();
      allocate.descriptorSetCount = 1;
      allocate.pSetLayouts = &layout;
      VkDescriptorSet set = VK_NULL_HANDLE;
      VkResult result = device_->vk.AllocateDescriptorSets(device_->handle, &allocate, &set);
      if (result == VK_SUCCESS) return set;
      if (result != VK_ERROR_OUT_OF_POOL_MEMORY && result != VK_ERROR_FRAGMENTED_POOL)
        return vulkan_error(result, "AllocateDescriptorSets");
    }
    const VkDescriptorPoolSize sizes[] = {
        {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC, 2 * kSetsPerPool},
        {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 8 * kSetsPerPool},
        {VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 8 * kSetsPerPool},
        {VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 2 * kSetsPerPool + 4 * elements}};
    VkDescriptorPoolCreateInfo create{VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
    create.maxSets = kSetsPerPool;
    create.poolSizeCount = 4;
    create.pPoolSizes = sizes;
    VkDescriptorPool pool = VK_NULL_HANDLE;
    VkResult result = device_->vk.CreateDescriptorPool(device_->handle, &create, nullptr, &pool);
    if (result != VK_SUCCESS) return vulkan_error(result, "CreateDescriptorPool");
    pools_.push_back(pool);
  }
  return make_error(ErrorCode::out_of_memory, "a new descriptor pool holds no set");
}

Result<VkDescriptorSet> Descriptors::common(const LaunchPlan& plan, const Ring& ring) {
  const std::uint32_t bindings = plan.variant->info.bindings;
  key_.assign({0, plan.facts->module->serial, bindings});
  if (auto known = sets_.find(key_); known != sets_.end()) return known->second;
  auto set = allocate(plan.variant->layout->sets[0]);
  if (!set) return set.error();
  VkDescriptorBufferInfo infos[abi::kBindings];
  auto whole = [](const Memory& memory) {
    return VkDescriptorBufferInfo{memory.buffer(), memory.offset(), memory.size()};
  };
  infos[abi::params] = {ring.memory().buffer(), ring.memory().offset(), Ring::kWindow};
  infos[abi::trap] = {ring.traps().buffer(), ring.traps().offset(), Ring::kTrapBytes};
  infos[abi::surfaces] = whole(device_->surfaces.memory());
  infos[abi::constants] =
      whole(plan.facts->module->constants ? plan.facts->module->constants : device_->discard);
  infos[abi::locks] = whole(device_->locks);
  infos[abi::textures] = whole(device_->textures.memory());
  infos[abi::memory] = {device_->heap.bound_buffer(), 0, VK_WHOLE_SIZE};
  std::vector<VkWriteDescriptorSet> writes;
  for (std::uint32_t i = 0; i < abi::kBindings; ++i) {
    if (!(bindings >> i & 1)) continue;
    VkWriteDescriptorSet write{VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
    write.dstSet = *set;
    write.dstBinding = i;
    write.descriptorCount = 1;
    write.descriptorType = kBindingTypes[i];
    write.pBufferInfo = &infos[i];
    writes.push_back(write);
  }
  device_->vk.UpdateDescriptorSets(device_->handle, static_cast<std::uint32_t>(writes.size()),
                                   writes.data(), 0, nullptr);
  sets_.emplace(key_, *set);
  return *set;
}

Result<VkDescriptorSet> Descriptors::textures(const LaunchPlan& plan) {
  if (plan.vulkan.textures.empty() && plan.vulkan.table.empty())
    return VkDescriptorSet{VK_NULL_HANDLE};
  key_.assign({2, plan.variant->serial});
  for (const TextureBinding& texture : plan.vulkan.textures) key_.push_back(texture.serial);
  // What the table holds, and where.
  if (!plan.vulkan.table.empty()) key_.insert(key_.end(), {plan.table_changes, plan.moves});
  if (auto known = sets_.find(key_); known != sets_.end()) return known->second;
  std::uint32_t elements = 0;
  for (const TableBinding& array : plan.vulkan.table)
    elements += static_cast<std::uint32_t>(array.elements.size());
  auto set = allocate(plan.variant->layout->sets[2], elements);
  if (!set) return set.error();
  elements_ += elements;
  std::vector<VkDescriptorImageInfo> images;
  for (const TextureBinding& texture : plan.vulkan.textures)
    images.push_back({texture.sampler, texture.view, VK_IMAGE_LAYOUT_GENERAL});
  std::vector<VkWriteDescriptorSet> writes;
  const auto write = [&](std::uint32_t binding, const VkDescriptorImageInfo* first,
                         std::size_t count) {
    VkWriteDescriptorSet each{VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
    each.dstSet = *set;
    each.dstBinding = binding;
    each.descriptorCount = static_cast<std::uint32_t>(count);
    each.descriptorType = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
    each.pImageInfo = first;
    writes.push_back(each);
  };
  for (std::size_t i = 0; i < images.size(); ++i)
    write(plan.vulkan.textures[i].slot, &images[i], 1);
  for (const TableBinding& array : plan.vulkan.table)
    write(array.binding, array.elements.data(), array.elements.size());
  device_->vk.UpdateDescriptorSets(device_->handle, static_cast<std::uint32_t>(writes.size()),
                                   writes.data(), 0, nullptr);
  sets_.emplace(key_, *set);
  return *set;
}

Result<VkDescriptorSet> Descriptors::slots(const LaunchPlan& plan) {
  // Serial numbers, not handles: a handle may come back for something else.
  key_.assign({1, plan.variant->serial});
  for (const SlotBinding& slot : plan.vulkan.slots) key_.push_back(slot.serial);
  if (auto known = sets_.find(key_); known != sets_.end()) return known->second;
  auto set = allocate(plan.variant->layout->sets[1]);
  if (!set) return set.error();
  std::vector<VkDescriptorBufferInfo> buffers(plan.vulkan.slots.size());
  std::vector<VkDescriptorImageInfo> images(plan.vulkan.slots.size());
  std::vector<VkWriteDescriptorSet> writes;
  for (std::uint32_t i = 0; i < plan.vulkan.slots.size(); ++i) {
    const SlotBinding& slot = plan.vulkan.slots[i];
    if (slot.backing == Backing::address) continue;
    VkWriteDescriptorSet write{VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
    write.dstSet = *set;
    write.dstBinding = i;
    write.descriptorCount = 1;
    if (slot.backing == Backing::image) {
      images[i] = {VK_NULL_HANDLE, slot.view, VK_IMAGE_LAYOUT_GENERAL};
      write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_IMAGE;
      write.pImageInfo = &images[i];
    } else {
      buffers[i] = {slot.buffer, slot.offset, slot.range};
      write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
      write.pBufferInfo = &buffers[i];
    }
    writes.push_back(write);
  }
  device_->vk.UpdateDescriptorSets(device_->handle, static_cast<std::uint32_t>(writes.size()),
                                   writes.data(), 0, nullptr);
  sets_.emplace(key_, *set);
  return *set;
}

}  // namespace ptx2spv::runtime
