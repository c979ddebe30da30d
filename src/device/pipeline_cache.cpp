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

}  // namespace

std::vector<std::byte> load_pipelines(const DeviceState& device) {
  if (!device.disk) return {};
  auto bytes = device.disk->load(pipeline_key(device));
  return bytes ? std::move(*bytes) : std::vector<std::byte>();
}

void store_pipelines(const DeviceState& device) {
  if (!device.disk) return;
  std::size_t count = 0;
  VkPipelineCache cache = device.pipeline_cache;
  if (device.vk.GetPipelineCacheData(device.handle, cache, &count, nullptr) != VK_SUCCESS) return;
  // The CPU drivers' caches are a bare header of 32 bytes: nothing to keep.
  if (count <= 32 || device.queue.lost()) return;
  std::vector<std::byte> bytes(count);
  if (device.vk.GetPipelineCacheData(device.handle, cache, &count, bytes.data()) != VK_SUCCESS)
    return;
  bytes.resize(count);
  const std::string key = pipeline_key(device);
  if (auto old = device.disk->load(key); old && *old == bytes) return;
  device.disk->store(key, bytes);
}

}  // namespace ptx2spv::runtime
