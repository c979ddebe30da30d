#include "src/device/pipeline_cache.hpp"

#include "src/cache/digest.hpp"
#include "src/cache/disk_cache.hpp"
#include "src/device/device.hpp"

namespace ptx2spv::runtime {

namespace {

std::string pipeline_key(const DeviceState& device) {
  const VkPhysicalDeviceProperties& properties = device.traits.properties;
  Digest digest;
  digest.add(version());
  digest.add(properties.deviceName);
  digest.add(
      std::string_view(reinterpret_cast<const char*>(properties.pipelineCacheUUID), VK_UUID_SIZE));
  for (std::uint32_t number : {properties.vendorID, properties.deviceID, properties.driverVersion})
    digest.add_number(number);
  return "p-" + digest.text();
}

std::vector<std::byte> load(const DeviceState& device) {
  if (!device.disk) return {};
  auto bytes = device.disk->load(pipeline_key(device));
  if (!bytes || bytes->size() > PipelineCache::kMostData) return {};
  return std::move(*bytes);
}

/// Bytes that the driver would give to keep; 0: the bare header of 32 bytes, as CPU drivers do.
std::size_t data_bytes(const DeviceState& device, VkPipelineCache cache) {
  std::size_t count = 0;
  const VkResult result = device.vk.GetPipelineCacheData(device.handle, cache, &count, nullptr);
  return result == VK_SUCCESS && count > 32 ? count : 0;
}

/// Where it holds anything new.
void store(const DeviceState& device, VkPipelineCache cache) {
  if (!device.disk || device.queue.lost()) return;
  std::size_t count = data_bytes(device, cache);
  if (count == 0) return;
  std::vector<std::byte> bytes(count);
  if (device.vk.GetPipelineCacheData(device.handle, cache, &count, bytes.data()) != VK_SUCCESS)
    return;
  bytes.resize(count);
  const std::string key = pipeline_key(device);
  if (auto old = device.disk->load(key); old && *old == bytes) return;
  device.disk->store(key, bytes);
}

Result<std::shared_ptr<const PipelineCache::Owned>> make(const DeviceState& device,
                                                         const std::vector<std::byte>& data) {
  auto made = std::make_shared<PipelineCache::Owned>(device);
  VkPipelineCacheCreateInfo create{VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
  create.initialDataSize = data.size();
  create.pInitialData = data.data();
  const VkResult result =
      device.vk.CreatePipelineCache(device.handle, &create, nullptr, &made->handle);
  if (result != VK_SUCCESS) return vulkan_error(result, "CreatePipelineCache");
  return std::shared_ptr<const PipelineCache::Owned>(std::move(made));
}

}  // namespace

PipelineCache::Owned::~Owned() {
  if (handle) device.vk.DestroyPipelineCache(device.handle, handle, nullptr);
}

Status PipelineCache::open(const DeviceState& device) {
  const std::vector<std::byte> data = load(device);
  auto made = make(device, data);
  if (!made && !data.empty()) made = make(device, {});
  if (!made) return made.error();
  std::lock_guard lock(mutex_);
  current_ = std::move(*made);
  return {};
}

void PipelineCache::close(const DeviceState& device) {
  std::lock_guard lock(mutex_);
  if (current_) store(device, current_->handle);
  current_.reset();
}

std::shared_ptr<const PipelineCache::Owned> PipelineCache::current() const {
  std::lock_guard lock(mutex_);
  return current_;
}

void PipelineCache::grown(const DeviceState& device, std::size_t code_bytes) {
  std::lock_guard lock(mutex_);
  code_ += code_bytes + kEach;
  if (code_ <= kMostCode) return;
  code_ = 0;
  const std::size_t held = data_bytes(device, current_->handle);
  if (held > 0 && held <= kMostData) return;
  store(device, current_->handle);
  // Where there is none to be had, the old one goes on.
  if (auto made = make(device, {})) current_ = std::move(*made);
}

}  // namespace ptx2spv::runtime
