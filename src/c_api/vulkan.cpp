// Sharing with an application's own Vulkan, in C.
#include "ptx2spv/vulkan.h"

#include "ptx2spv/vulkan.hpp"
#include "src/c_api/handles.hpp"
#include "src/device/device.hpp"

struct ptx2spv_vulkan_needs {
  vulkan::DeviceNeeds it;
};
struct ptx2spv_recording {
  vulkan::Recording it;
};
struct ptx2spv_external_semaphore {
  vulkan::ExternalSemaphore it;
};

namespace {

std::vector<vulkan::SemaphoreValue> read_semaphores(const VkSemaphore* semaphores,
                                                    const uint64_t* values, uint32_t count) {
  std::vector<vulkan::SemaphoreValue> all;
  for (uint32_t i = 0; semaphores && i < count; ++i)
    all.push_back({semaphores[i], values ? values[i] : 0});
  return all;
}

vulkan::MemoryDescriptor read_memory(const ptx2spv_memory_descriptor& memory) {
  return {memory.fd, memory.bytes, memory.memory_type, memory.dedicated != 0};
}

template <typename Object>
ptx2spv_status export_memory(const Object* object, ptx2spv_memory_descriptor* memory) {
  if (!object) return fail_null("the buffer or array");
  if (Status status = check_struct(memory, "the descriptor"); !status)
    return finish(std::move(status));
  auto exported = vulkan::export_memory(object->it);
  if (!exported) return fail(exported.error());
  memory->fd = exported->fd;
  memory->bytes = exported->bytes;
  memory->memory_type = exported->memory_type;
  memory->dedicated = exported->dedicated;
  return PTX2SPV_OK;
}

/// `make` gives an array of the description.
template <typename Make>
ptx2spv_status give_array(ptx2spv_device* device, const ptx2spv_array_desc* desc,
                          ptx2spv_array** array, Make make) {
  if (!device || !array) return fail_null("the device or the array");
  ArrayDesc to;
  if (Status status = read_desc(desc, to); !status) return finish(std::move(status));
  return give(make(to), array);
}

}  // namespace

extern "C" {

ptx2spv_status ptx2spv_vulkan_needs_query(PFN_vkGetInstanceProcAddr get_instance_proc_addr,
                                          VkInstance instance, VkPhysicalDevice physical_device,
                                          ptx2spv_vulkan_needs** needs) {
  if (!needs) return fail_null("the needs");
  return give(vulkan::DeviceNeeds::query(get_instance_proc_addr, instance, physical_device), needs);
}

VkPhysicalDeviceFeatures2* ptx2spv_vulkan_needs_features(ptx2spv_vulkan_needs* needs) {
  return needs ? needs->it.features() : nullptr;
}

const char* const* ptx2spv_vulkan_needs_extensions(const ptx2spv_vulkan_needs* needs,
                                                   uint32_t* count) {
  const auto names = needs ? needs->it.extensions() : std::span<const char* const>();
  if (count) *count = static_cast<uint32_t>(names.size());
  return names.data();
}

uint32_t ptx2spv_vulkan_needs_queue_family(const ptx2spv_vulkan_needs* needs) {
  return needs ? needs->it.queue_family() : 0;
}
void ptx2spv_vulkan_needs_destroy(ptx2spv_vulkan_needs* needs) { delete needs; }

ptx2spv_status ptx2spv_vulkan_adopt(const ptx2spv_adopted_device* external,
                                    const ptx2spv_device_options* options,
                                    ptx2spv_device** device) {
  if (!device) return fail_null("the device");
  if (Status status = check_struct(external, "the adopted device"); !status)
    return finish(std::move(status));
  if (Status status = check_options(options); !status) return finish(std::move(status));
  const auto lock = [external](void (*call)(void* user)) -> std::function<void()> {
    if (!call) return {};
    return [call, user = external->lock_user] { call(user); };
  };
  return give(vulkan::adopt(
                  {external->get_instance_proc_addr, external->instance, external->physical_device,
                   external->device, external->queue, external->queue_family, external->created,
                   lock(external->lock_queue), lock(external->unlock_queue)},
                  read_options(options)),
              device);
}

ptx2spv_status ptx2spv_vulkan_handles(const ptx2spv_device* device,
                                      ptx2spv_adopted_device* handles) {
  if (!device) return fail_null("the device");
  if (Status status = check_struct(handles, "the adopted device"); !status)
    return finish(std::move(status));
  const vulkan::AdoptedDevice from = vulkan::handles(device->it);
  PTX2SPV_INIT(*handles);
  handles->get_instance_proc_addr = from.get_instance_proc_addr;
  handles->instance = from.instance;
  handles->physical_device = from.physical_device;
  handles->device = from.device;
  handles->queue = from.queue;
  handles->queue_family = from.queue_family;
  return PTX2SPV_OK;
}

ptx2spv_status ptx2spv_vulkan_buffer_of(const ptx2spv_buffer* buffer, VkBuffer* vulkan,
                                        VkDeviceSize* offset, VkDeviceSize* bytes) {
  if (!buffer || !vulkan) return fail_null("the buffer or the VkBuffer");
  const vulkan::BufferRange range = vulkan::buffer_of(buffer->it);
  *vulkan = range.buffer;
  if (offset) *offset = range.offset;
  if (bytes) *bytes = range.bytes;
  return PTX2SPV_OK;
}

ptx2spv_status ptx2spv_vulkan_import_buffer(ptx2spv_device* device, VkBuffer vulkan,
                                            VkDeviceSize offset, VkDeviceSize bytes,
                                            ptx2spv_buffer** buffer) {
  if (!device || !buffer) return fail_null("the device or the buffer");
  return give(vulkan::import(device->it, vulkan::BufferRange{vulkan, offset, bytes}), buffer);
}

ptx2spv_status ptx2spv_vulkan_image_of(const ptx2spv_array* array, VkImage* image,
                                       VkFormat* format) {
  if (!array || !image) return fail_null("the array or the image");
  auto handle = vulkan::image_of(array->it);
  if (!handle) return fail(handle.error());
  *image = handle->image;
  if (format) *format = handle->format;
  return PTX2SPV_OK;
}

ptx2spv_status ptx2spv_vulkan_import_image(ptx2spv_device* device, VkImage image,
                                           const ptx2spv_array_desc* desc, ptx2spv_array** array) {
  return give_array(device, desc, array, [&](const ArrayDesc& to) {
    return vulkan::import(device->it, vulkan::ImageHandle{image, VK_FORMAT_UNDEFINED}, to);
  });
}

ptx2spv_status ptx2spv_vulkan_wait(ptx2spv_stream* stream, const VkSemaphore* semaphores,
                                   const uint64_t* values, uint32_t count) {
  if (!stream || !semaphores) return fail_null("the stream or the semaphores");
  return finish(vulkan::wait(stream->it, read_semaphores(semaphores, values, count)));
}

ptx2spv_status ptx2spv_vulkan_signal(ptx2spv_stream* stream, const VkSemaphore* semaphores,
                                     const uint64_t* values, uint32_t count) {
  if (!stream || !semaphores) return fail_null("the stream or the semaphores");
  return finish(vulkan::signal(stream->it, read_semaphores(semaphores, values, count)));
}

ptx2spv_status ptx2spv_recording_create(ptx2spv_device* device, ptx2spv_recording** recording) {
  if (!device || !recording) return fail_null("the device or the recording");
  return give(vulkan::Recording::create(device->it), recording);
}

ptx2spv_status ptx2spv_recording_launch(ptx2spv_recording* recording, VkCommandBuffer commands,
                                        const ptx2spv_kernel* kernel,
                                        const ptx2spv_launch* launch) {
  if (!recording || !kernel) return fail_null("the recording or the kernel");
  LaunchConfig config;
  Args args;
  if (Status status = read_launch(launch, config, args); !status) return fail(status.error());
  return finish(recording->it.launch(commands, kernel->it, config, args));
}

ptx2spv_status ptx2spv_recording_check(ptx2spv_recording* recording) {
  return recording ? finish(recording->it.check()) : fail_null("the recording");
}
void ptx2spv_recording_destroy(ptx2spv_recording* recording) { delete recording; }

ptx2spv_status ptx2spv_vulkan_create_exportable(ptx2spv_device* device, uint64_t bytes,
                                                ptx2spv_buffer** buffer) {
  if (!device || !buffer) return fail_null("the device or the buffer");
  return give(vulkan::create_exportable(device->it, bytes), buffer);
}

ptx2spv_status ptx2spv_vulkan_export_memory(const ptx2spv_buffer* buffer,
                                            ptx2spv_memory_descriptor* memory) {
  return export_memory(buffer, memory);
}

ptx2spv_status ptx2spv_vulkan_import_memory(ptx2spv_device* device,
                                            const ptx2spv_memory_descriptor* memory,
                                            uint64_t offset, uint64_t bytes,
                                            ptx2spv_buffer** buffer) {
  if (!device || !buffer) return fail_null("the device or the buffer");
  if (Status status = check_struct(memory, "the descriptor"); !status)
    return finish(std::move(status));
  return give(vulkan::import_memory(device->it, read_memory(*memory), offset, bytes), buffer);
}

ptx2spv_status ptx2spv_vulkan_create_exportable_array(ptx2spv_device* device,
                                                      const ptx2spv_array_desc* desc,
                                                      ptx2spv_array** array) {
  return give_array(device, desc, array,
                    [&](const ArrayDesc& to) { return vulkan::create_exportable(device->it, to); });
}

ptx2spv_status ptx2spv_vulkan_export_array_memory(const ptx2spv_array* array,
                                                  ptx2spv_memory_descriptor* memory) {
  return export_memory(array, memory);
}

ptx2spv_status ptx2spv_vulkan_import_array_memory(ptx2spv_device* device,
                                                  const ptx2spv_memory_descriptor* memory,
                                                  const ptx2spv_array_desc* desc,
                                                  ptx2spv_array** array) {
  if (Status status = check_struct(memory, "the descriptor"); !status)
    return finish(std::move(status));
  return give_array(device, desc, array, [&](const ArrayDesc& to) {
    return vulkan::import_memory(device->it, read_memory(*memory), to);
  });
}

ptx2spv_status ptx2spv_external_semaphore_create(ptx2spv_device* device, int32_t timeline,
                                                 ptx2spv_external_semaphore** semaphore) {
  if (!device || !semaphore) return fail_null("the device or the semaphore");
  return give(vulkan::ExternalSemaphore::create(device->it, timeline != 0), semaphore);
}

ptx2spv_status ptx2spv_external_semaphore_import(ptx2spv_device* device, int32_t fd,
                                                 int32_t timeline,
                                                 ptx2spv_external_semaphore** semaphore) {
  if (!device || !semaphore) return fail_null("the device or the semaphore");
  return give(vulkan::ExternalSemaphore::import(device->it, fd, timeline != 0), semaphore);
}

ptx2spv_status ptx2spv_external_semaphore_export(const ptx2spv_external_semaphore* semaphore,
                                                 int32_t* fd) {
  if (!semaphore || !fd) return fail_null("the semaphore or the descriptor");
  auto exported = semaphore->it.export_descriptor();
  if (!exported) return fail(exported.error());
  *fd = *exported;
  return PTX2SPV_OK;
}

VkSemaphore ptx2spv_external_semaphore_handle(const ptx2spv_external_semaphore* semaphore) {
  return semaphore ? semaphore->it.at().semaphore : VK_NULL_HANDLE;
}
void ptx2spv_external_semaphore_destroy(ptx2spv_external_semaphore* semaphore) { delete semaphore; }

}  // extern "C"
