/* What the C interface shares with an application's own Vulkan: vulkan.hpp in C, which documents
 * each function. docs/user/engine.md says who owns what. */
#ifndef PTX2SPV_VULKAN_H
#define PTX2SPV_VULKAN_H

#include <ptx2spv/ptx2spv.h>
#include <vulkan/vulkan_core.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ptx2spv_vulkan_needs ptx2spv_vulkan_needs;
typedef struct ptx2spv_recording ptx2spv_recording;

/* What a VkDevice has to be created with. */
ptx2spv_status ptx2spv_vulkan_needs_query(PFN_vkGetInstanceProcAddr get_instance_proc_addr,
                                          VkInstance instance, VkPhysicalDevice physical_device,
                                          ptx2spv_vulkan_needs** needs);
/* For VkDeviceCreateInfo::pNext, with pEnabledFeatures null; as long as `needs`. */
VkPhysicalDeviceFeatures2* ptx2spv_vulkan_needs_features(ptx2spv_vulkan_needs* needs);
/* The extensions; *count is their number. */
const char* const* ptx2spv_vulkan_needs_extensions(const ptx2spv_vulkan_needs* needs,
                                                   uint32_t* count);
uint32_t ptx2spv_vulkan_needs_queue_family(const ptx2spv_vulkan_needs* needs);
void ptx2spv_vulkan_needs_destroy(ptx2spv_vulkan_needs* needs);

/* The application's device. `created` is what it was created with, or null: with all that is
 * needed. */
typedef struct ptx2spv_adopted_device {
  uint32_t size;
  PFN_vkGetInstanceProcAddr get_instance_proc_addr;
  VkInstance instance;
  VkPhysicalDevice physical_device;
  VkDevice device;
  VkQueue queue;
  uint32_t queue_family;
  const VkDeviceCreateInfo* created;
  void (*lock_queue)(void* user);
  void (*unlock_queue)(void* user);
  void* lock_user;
} ptx2spv_adopted_device;
/* PTX2SPV_NO_DEVICE names every feature and extension that is missing. */
ptx2spv_status ptx2spv_vulkan_adopt(const ptx2spv_adopted_device* external,
                                    const ptx2spv_device_options* options, ptx2spv_device** device);
ptx2spv_status ptx2spv_vulkan_handles(const ptx2spv_device* device,
                                      ptx2spv_adopted_device* handles);

ptx2spv_status ptx2spv_vulkan_buffer_of(const ptx2spv_buffer* buffer, VkBuffer* vulkan,
                                        VkDeviceSize* offset, VkDeviceSize* bytes);
ptx2spv_status ptx2spv_vulkan_import_buffer(ptx2spv_device* device, VkBuffer vulkan,
                                            VkDeviceSize offset, VkDeviceSize bytes,
                                            ptx2spv_buffer** buffer);
ptx2spv_status ptx2spv_vulkan_image_of(const ptx2spv_array* array, VkImage* image,
                                       VkFormat* format);
ptx2spv_status ptx2spv_vulkan_import_image(ptx2spv_device* device, VkImage image,
                                           const ptx2spv_array_desc* desc, ptx2spv_array** array);

/* Later work of the device starts when the semaphores are signalled; `values` are those of timeline
 * semaphores, and null where all are binary. */
ptx2spv_status ptx2spv_vulkan_wait(ptx2spv_stream* stream, const VkSemaphore* semaphores,
                                   const uint64_t* values, uint32_t count);
/* Signals once all earlier work of the device is over. */
ptx2spv_status ptx2spv_vulkan_signal(ptx2spv_stream* stream, const VkSemaphore* semaphores,
                                     const uint64_t* values, uint32_t count);

/* Launches in command buffers of the application's. */
ptx2spv_status ptx2spv_recording_create(ptx2spv_device* device, ptx2spv_recording** recording);
ptx2spv_status ptx2spv_recording_launch(ptx2spv_recording* recording, VkCommandBuffer commands,
                                        const ptx2spv_kernel* kernel, const ptx2spv_launch* launch);
/* The first trap since the last check; no submission of the launches may be running. */
ptx2spv_status ptx2spv_recording_check(ptx2spv_recording* recording);
void ptx2spv_recording_destroy(ptx2spv_recording* recording);

/* An allocation by an opaque file descriptor. */
typedef struct ptx2spv_memory_descriptor {
  uint32_t size;
  int32_t fd;
  uint64_t bytes;
  uint32_t memory_type;
  int32_t dedicated;
} ptx2spv_memory_descriptor;
ptx2spv_status ptx2spv_vulkan_create_exportable(ptx2spv_device* device, uint64_t bytes,
                                                ptx2spv_buffer** buffer);
/* The caller owns the descriptor. */
ptx2spv_status ptx2spv_vulkan_export_memory(const ptx2spv_buffer* buffer,
                                            ptx2spv_memory_descriptor* memory);
/* On success the library owns the descriptor. */
ptx2spv_status ptx2spv_vulkan_import_memory(ptx2spv_device* device,
                                            const ptx2spv_memory_descriptor* memory,
                                            uint64_t offset, uint64_t bytes,
                                            ptx2spv_buffer** buffer);

/* The same of arrays; `desc` has the fields that the array was created with. */
ptx2spv_status ptx2spv_vulkan_create_exportable_array(ptx2spv_device* device,
                                                      const ptx2spv_array_desc* desc,
                                                      ptx2spv_array** array);
ptx2spv_status ptx2spv_vulkan_export_array_memory(const ptx2spv_array* array,
                                                  ptx2spv_memory_descriptor* memory);
ptx2spv_status ptx2spv_vulkan_import_array_memory(ptx2spv_device* device,
                                                  const ptx2spv_memory_descriptor* memory,
                                                  const ptx2spv_array_desc* desc,
                                                  ptx2spv_array** array);

/* A semaphore by an opaque file descriptor. `timeline`: 1, or 0 for a binary one. */
typedef struct ptx2spv_external_semaphore ptx2spv_external_semaphore;
ptx2spv_status ptx2spv_external_semaphore_create(ptx2spv_device* device, int32_t timeline,
                                                 ptx2spv_external_semaphore** semaphore);
/* On success the library owns the descriptor. */
ptx2spv_status ptx2spv_external_semaphore_import(ptx2spv_device* device, int32_t fd,
                                                 int32_t timeline,
                                                 ptx2spv_external_semaphore** semaphore);
/* The caller owns the descriptor. */
ptx2spv_status ptx2spv_external_semaphore_export(const ptx2spv_external_semaphore* semaphore,
                                                 int32_t* fd);
/* For ptx2spv_vulkan_wait and ptx2spv_vulkan_signal. */
VkSemaphore ptx2spv_external_semaphore_handle(const ptx2spv_external_semaphore* semaphore);
void ptx2spv_external_semaphore_destroy(ptx2spv_external_semaphore* semaphore);

#ifdef __cplusplus
}
#endif
#endif
