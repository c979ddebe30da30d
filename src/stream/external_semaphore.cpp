// Semaphores that other processes and APIs have too, by file descriptors.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "ptx2spv/vulkan.hpp"
#include "src/array/shared_memory.hpp"

namespace ptx2spv::runtime {

struct ExternalSemaphoreState {
  explicit ExternalSemaphoreState(std::shared_ptr<DeviceState> owner) : device(std::move(owner)) {}
  ExternalSemaphoreState(const ExternalSemaphoreState&) = delete;
  ExternalSemaphoreState& operator=(const ExternalSemaphoreState&) = delete;
  ~ExternalSemaphoreState() {
    // A submission may still wait for it or signal it.
    (void)device->queue.wait(device->queue.submitted());
    if (handle) device->vk.DestroySemaphore(device->handle, handle, nullptr);
  }

  std::shared_ptr<DeviceState> device;
  VkSemaphore handle = VK_NULL_HANDLE;
  bool exportable = false;
};

namespace {

constexpr VkExternalSemaphoreHandleTypeFlagBits kHandle =
    VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT;

template <typename F>
F find(const DeviceState& device, const char* name) {
  return reinterpret_cast<F>(device.instance->vk.GetDeviceProcAddr(device.handle, name));
}

/// The semaphore, where the device does what is `wanted` with its kind.
Result<std::shared_ptr<ExternalSemaphoreState>> make(const Device& device, bool timeline,
                                                     VkExternalSemaphoreFeatureFlags wanted) {
  const std::shared_ptr<DeviceState>& state = device.state();
  if (!find<PFN_vkGetSemaphoreFdKHR>(*state, "vkGetSemaphoreFdKHR"))
    return lacks(*state, VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME);
  constexpr const char* kQuery = "vkGetPhysicalDeviceExternalSemaphoreProperties";
  const auto query = reinterpret_cast<PFN_vkGetPhysicalDeviceExternalSemaphoreProperties>(
      state->instance->get_proc(state->instance->handle, kQuery));
  if (!query) return lacks(*state, kQuery);
  VkSemaphoreTypeCreateInfo type{VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO};
  type.semaphoreType = timeline ? VK_SEMAPHORE_TYPE_TIMELINE : VK_SEMAPHORE_TYPE_BINARY;
  VkPhysicalDeviceExternalSemaphoreInfo info{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_SEMAPHORE_INFO};
  info.pNext = &type;
  info.handleType = kHandle;
  VkExternalSemaphoreProperties has{VK_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_PROPERTIES};
  query(state->physical, &info, &has);
  if ((has.externalSemaphoreFeatures & wanted) != wanted)
    return lacks(*state, fmt::format("{} semaphores with opaque descriptors",
                                     timeline ? "timeline" : "binary"));
  VkExportSemaphoreCreateInfo exported{VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO};
  exported.handleTypes = kHandle;
  if (wanted & VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT) type.pNext = &exported;
  VkSemaphoreCreateInfo create{VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
  create.pNext = &type;
  auto made = std::make_shared<ExternalSemaphoreState>(state);
  made->exportable = wanted & VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT;
  const VkResult result = state->vk.CreateSemaphore(state->handle, &create, nullptr, &made->handle);
  if (result != VK_SUCCESS) return vulkan_error(result, "CreateSemaphore");
  return made;
}

}  // namespace

}  // namespace ptx2spv::runtime

namespace ptx2spv::vulkan {

Result<ExternalSemaphore> ExternalSemaphore::create(const Device& device, bool timeline) {
  auto made = make(device, timeline, VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT);
  if (!made) return made.error();
  return ExternalSemaphore(std::move(*made));
}

Result<ExternalSemaphore> ExternalSemaphore::import(const Device& device, int fd, bool timeline) {
  if (fd < 0) return bad_argument("the descriptor is negative");
  auto made = make(device, timeline, VK_EXTERNAL_SEMAPHORE_FEATURE_IMPORTABLE_BIT);
  if (!made) return made.error();
  const DeviceState& state = *(*made)->device;
  VkImportSemaphoreFdInfoKHR info{VK_STRUCTURE_TYPE_IMPORT_SEMAPHORE_FD_INFO_KHR};
  info.semaphore = (*made)->handle;
  info.handleType = kHandle;
  // The driver takes what it imports: until that is certain it gets a copy.
  info.fd = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (info.fd < 0) return bad_argument("the descriptor is not open");
  const VkResult result =
      find<PFN_vkImportSemaphoreFdKHR>(state, "vkImportSemaphoreFdKHR")(state.handle, &info);
  if (result != VK_SUCCESS) {
    ::close(info.fd);
    return vulkan_error(result, "ImportSemaphoreFdKHR");
  }
  ::close(fd);
  return ExternalSemaphore(std::move(*made));
}

Result<int> ExternalSemaphore::export_descriptor() const {
  if (!state_->exportable)
    return bad_argument("an imported semaphore is not exported again; duplicate its descriptor");
  const DeviceState& device = *state_->device;
  VkSemaphoreGetFdInfoKHR info{VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR};
  info.semaphore = state_->handle;
  info.handleType = kHandle;
  int fd = -1;
  const VkResult result =
      find<PFN_vkGetSemaphoreFdKHR>(device, "vkGetSemaphoreFdKHR")(device.handle, &info, &fd);
  if (result != VK_SUCCESS) return vulkan_error(result, "GetSemaphoreFdKHR");
  return fd;
}

SemaphoreValue ExternalSemaphore::at(std::uint64_t value) const { return {state_->handle, value}; }

}  // namespace ptx2spv::vulkan
