// Devices, buffers, arrays and surfaces in C.
#include <algorithm>
#include <cstring>

#include "src/c_api/handles.hpp"
#include "src/device/device.hpp"

using namespace ptx2spv;
using namespace ptx2spv::runtime;

namespace {

DeviceOptions read_options(const ptx2spv_device_options* from) {
  DeviceOptions options;
  if (!from) return options;
  if (from->select) options.select = from->select;
  for (uint32_t i = 0; from->disable && i < from->disable_count; ++i)
    options.disable.emplace_back(from->disable[i]);
  if (from->profile) options.profile = from->profile;
  if (from->validation) options.validation = from->validation > 0;
  if (from->cache) options.cache = from->cache > 0;
  if (from->cache_directory) options.cache_directory = from->cache_directory;
  std::string unknown;
  if (from->sanitize) options.checks = parse_checks(from->sanitize, unknown);
  if (from->timeout != 0) options.timeout = std::max(from->timeout, 0.0);
  if (from->print)
    options.print = [print = from->print, user = from->print_user](std::string_view text) {
      print(user, text.data(), text.size());
    };
  return options;
}

template <std::size_t N>
void copy_text(char (&to)[N], const std::string& from) {
  std::size_t count = std::min(from.size(), N - 1);
  std::memcpy(to, from.data(), count);
  to[count] = '\0';
}

void write_info(const DeviceInfo& from, ptx2spv_device_info& to) {
  to.index = from.index;
  copy_text(to.name, from.name);
  copy_text(to.driver, from.driver);
  copy_text(to.uuid, from.uuid_text());
  copy_text(to.rejection, from.rejection);
  to.kind = static_cast<uint32_t>(from.kind);
  to.vendor = from.vendor;
  to.device = from.device;
  to.api_version = from.api_version;
  to.driver_version = from.driver_version;
  to.memory_bytes = from.memory_bytes;
  to.usable = from.usable;
}

Status check_options(const ptx2spv_device_options* options) {
  if (!options) return {};
  if (Status status = check_struct(options, "the device options"); !status) return status;
  std::string unknown;
  if (options->sanitize && !parse_checks(options->sanitize, unknown))
    return make_error(ErrorCode::invalid_argument, unknown_check(unknown));
  return {};
}

Status unknown(const char* what, std::uint32_t value) {
  return make_error(ErrorCode::invalid_argument,
                    std::string(what) + " has no value " + std::to_string(value));
}

Status read_texture(const ptx2spv_texture_desc* desc, TextureDesc& to) {
  if (Status status = check_struct(desc, "the texture's description"); !status) return status;
  const ptx2spv_texture_desc& from = *desc;
  for (int i = 0; i < 3; ++i) {
    if (const std::uint32_t mode = number_in(from.address[i]); mode > PTX2SPV_BORDER)
      return unknown("an address mode", mode);
    to.address[i] = static_cast<AddressMode>(from.address[i]);
  }
  to.linear_filter = from.linear_filter;
  to.linear_mipmap_filter = from.linear_mipmap_filter;
  to.normalized_coordinates = from.normalized_coordinates;
  to.read_as_integer = !from.read_as_float;
  to.srgb = from.srgb;
  to.cube = from.cube;
  to.seamless_cube = from.seamless_cube;
  to.full_trilinear = from.full_trilinear;
  to.mipmapped = from.mipmapped;
  std::copy(from.border, from.border + 4, to.border.begin());
  to.mipmap_bias = from.mipmap_bias;
  to.min_level = from.min_level;
  to.max_level = from.max_level;
  to.max_anisotropy = from.max_anisotropy ? from.max_anisotropy : 1;
  return {};
}

Status read_desc(const ptx2spv_array_desc* struct_, ArrayDesc& desc) {
  if (Status status = check_struct(struct_, "the array's description"); !status) return status;
  const ptx2spv_array_desc& from = *struct_;
  if (number_in(from.geometry) > PTX2SPV_A2D) return unknown("geometry", number_in(from.geometry));
  if (number_in(from.format) > PTX2SPV_SNORM16) return unknown("format", number_in(from.format));
  if (number_in(from.backing) > PTX2SPV_IMAGE) return unknown("backing", number_in(from.backing));
  if (!from.width)
    return make_error(ErrorCode::invalid_argument, "the array's description has no width");
  auto one = [](uint32_t value) { return value ? value : 1; };
  desc.geometry = static_cast<Geometry>(from.geometry);
  desc.format = static_cast<abi::SurfaceFormat>(from.format);
  desc.channels = one(from.channels);
  desc.width = one(from.width);
  desc.height = one(from.height);
  desc.depth = one(from.depth);
  desc.layers = one(from.layers);
  desc.levels = one(from.levels);
  const std::uint32_t backing = number_in(from.backing);
  desc.backing = backing == PTX2SPV_LINEAR  ? ArrayBacking::linear
                 : backing == PTX2SPV_IMAGE ? ArrayBacking::image
                                            : ArrayBacking::automatic;
  if (from.name) desc.name = from.name;
  return {};
}

Status read_region(const ptx2spv_region* struct_, Region& region) {
  if (Status status = check_struct(struct_, "the region"); !status) return status;
  const ptx2spv_region& from = *struct_;
  region.offset = from.offset;
  region.row_bytes = from.row_bytes;
  region.rows = from.rows ? from.rows : 1;
  region.slices = from.slices ? from.slices : 1;
  region.row_pitch = from.row_pitch;
  region.slice_pitch = from.slice_pitch;
  region.host_row_pitch = from.host_row_pitch;
  region.host_slice_pitch = from.host_slice_pitch;
  return {};
}

std::span<const std::byte> input(const void* data, uint64_t bytes) {
  return {static_cast<const std::byte*>(data), bytes};
}
std::span<std::byte> output(void* data, uint64_t bytes) {
  return {static_cast<std::byte*>(data), bytes};
}

}  // namespace

namespace ptx2spv::runtime {

Status read_array_region(const ptx2spv_array_region* from, ArrayRegion& to) {
  if (Status status = check_struct(from, "the region"); !status) return status;
  to.level = from->level;
  to.x = from->x;
  to.y = from->y;
  to.z = from->z;
  to.width = from->width;
  to.height = from->height;
  to.depth = from->depth;
  to.row_pitch = from->row_pitch;
  to.slice_pitch = from->slice_pitch;
  return {};
}

}  // namespace ptx2spv::runtime

extern "C" {

ptx2spv_status ptx2spv_list_devices(const ptx2spv_device_options* options,
                                    ptx2spv_device_info* infos, uint32_t* count) {
  if (!count) return fail_null("the count");
  auto list = list_devices(read_options(options));
  if (!list) return fail(list.error());
  uint32_t room = infos ? *count : 0;
  for (uint32_t i = 0; i < room && i < list->size(); ++i) {
    if (Status status = check_struct(&infos[i], "an info"); !status)
      return finish(std::move(status));
    write_info((*list)[i], infos[i]);
  }
  *count = static_cast<uint32_t>(list->size());
  return PTX2SPV_OK;
}

ptx2spv_status ptx2spv_device_open(const ptx2spv_device_options* options, ptx2spv_device** device) {
  if (!device) return fail_null("the device");
  if (Status status = check_options(options); !status) return finish(std::move(status));
  return give(Device::open(read_options(options)), device);
}

ptx2spv_status ptx2spv_device_adopt(const ptx2spv_vulkan_device* external,
                                    const ptx2spv_device_options* options,
                                    ptx2spv_device** device) {
  if (!device) return fail_null("the device");
  if (Status status = check_struct(external, "the Vulkan device"); !status)
    return finish(std::move(status));
  if (Status status = check_options(options); !status) return finish(std::move(status));
  ExternalDevice from;
  from.get_instance_proc_addr = external->get_instance_proc_addr;
  from.instance = external->instance;
  from.physical_device = external->physical_device;
  from.device = external->device;
  from.queue = external->queue;
  from.queue_family = external->queue_family;
  return give(Device::adopt(from, read_options(options)), device);
}

ptx2spv_status ptx2spv_device_get_info(const ptx2spv_device* device, ptx2spv_device_info* info) {
  if (!device) return fail_null("the device");
  if (Status status = check_struct(info, "the info"); !status) return finish(std::move(status));
  write_info(device->it.info(), *info);
  return PTX2SPV_OK;
}

ptx2spv_status ptx2spv_device_handles(const ptx2spv_device* device,
                                      ptx2spv_vulkan_device* handles) {
  if (!device) return fail_null("the device");
  if (Status status = check_struct(handles, "the Vulkan device"); !status)
    return finish(std::move(status));
  VulkanHandles from = vulkan_handles(device->it);
  handles->get_instance_proc_addr = from.get_instance_proc_addr;
  handles->instance = from.instance;
  handles->physical_device = from.physical_device;
  handles->device = from.device;
  handles->queue = from.queue;
  handles->queue_family = from.queue_family;
  return PTX2SPV_OK;
}

ptx2spv_status ptx2spv_device_synchronize(ptx2spv_device* device) {
  return device ? finish(device->it.synchronize()) : fail_null("the device");
}
ptx2spv_status ptx2spv_device_set_malloc_heap_bytes(ptx2spv_device* device, uint64_t bytes) {
  return device ? finish(device->it.set_malloc_heap_bytes(bytes)) : fail_null("the device");
}
ptx2spv_status ptx2spv_device_get_statistics(const ptx2spv_device* device,
                                             ptx2spv_device_statistics* statistics) {
  if (!device) return fail_null("the device");
  if (Status status = check_struct(statistics, "the statistics"); !status)
    return finish(std::move(status));
  const DeviceStatistics from = device->it.statistics();
  statistics->translations = from.translations;
  statistics->translation_cache_hits = from.translation_cache_hits;
  statistics->pipelines = from.pipelines;
  statistics->launches = from.launches;
  statistics->translation_ms = from.translation_ms;
  statistics->pipeline_ms = from.pipeline_ms;
  statistics->memory_blocks = from.memory_blocks;
  statistics->memory_bytes = from.memory_bytes;
  statistics->memory_used = from.memory_used;
  statistics->validation_messages = from.validation_messages;
  statistics->array_copies = from.array_copies;
  return PTX2SPV_OK;
}
const char* ptx2spv_device_sanitizer_report(ptx2spv_device* device) {
  if (!device) return "";
  device->sanitizer_report = device->it.sanitizer_report().to_json();
  return device->sanitizer_report.c_str();
}
void ptx2spv_device_destroy(ptx2spv_device* device) { delete device; }

ptx2spv_status ptx2spv_buffer_create(ptx2spv_device* device, uint64_t bytes,
                                     ptx2spv_buffer** buffer) {
  if (!device || !buffer) return fail_null("the device or the buffer");
  return give(Buffer::create(device->it, bytes), buffer);
}
uint64_t ptx2spv_buffer_address(const ptx2spv_buffer* buffer) {
  return buffer ? buffer->it.address() : 0;
}
uint64_t ptx2spv_buffer_size(const ptx2spv_buffer* buffer) {
  return buffer ? buffer->it.size() : 0;
}

void* ptx2spv_buffer_mapped(const ptx2spv_buffer* buffer) {
  return buffer ? buffer->it.mapped() : nullptr;
}

ptx2spv_status ptx2spv_buffer_upload(ptx2spv_buffer* buffer, uint64_t offset, const void* data,
                                     uint64_t bytes) {
  if (!buffer || (!data && bytes)) return fail_null("the buffer or the data");
  return finish(buffer->it.upload(offset, input(data, bytes)));
}

ptx2spv_status ptx2spv_buffer_download(const ptx2spv_buffer* buffer, uint64_t offset, void* data,
                                       uint64_t bytes) {
  if (!buffer || (!data && bytes)) return fail_null("the buffer or the data");
  return finish(buffer->it.download(offset, output(data, bytes)));
}

ptx2spv_status ptx2spv_buffer_fill(ptx2spv_buffer* buffer, uint64_t offset, uint64_t bytes,
                                   uint32_t pattern, uint32_t pattern_bytes) {
  if (!buffer) return fail_null("the buffer");
  return finish(buffer->it.fill(offset, bytes, pattern, static_cast<int>(pattern_bytes & 0xff)));
}

ptx2spv_status ptx2spv_buffer_copy(const ptx2spv_buffer* from, uint64_t from_offset,
                                   ptx2spv_buffer* to, uint64_t to_offset, uint64_t bytes) {
  if (!from || !to) return fail_null("a buffer");
  return finish(to->it.copy_from(from->it, from_offset, to_offset, bytes));
}

ptx2spv_status ptx2spv_buffer_upload_region(ptx2spv_buffer* buffer, const ptx2spv_region* region,
                                            const void* data, uint64_t bytes) {
  if (!buffer || !data) return fail_null("the buffer or the data");
  Region where;
  if (Status status = read_region(region, where); !status) return finish(std::move(status));
  return finish(buffer->it.upload(where, input(data, bytes)));
}

ptx2spv_status ptx2spv_buffer_download_region(const ptx2spv_buffer* buffer,
                                              const ptx2spv_region* region, void* data,
                                              uint64_t bytes) {
  if (!buffer || !data) return fail_null("the buffer or the data");
  Region where;
  if (Status status = read_region(region, where); !status) return finish(std::move(status));
  return finish(buffer->it.download(where, output(data, bytes)));
}

ptx2spv_status ptx2spv_buffer_export(const ptx2spv_buffer* buffer, uint64_t* handle,
                                     uint64_t* offset, uint64_t* bytes) {
  if (!buffer || !handle) return fail_null("the buffer or the Vulkan buffer");
  const VulkanBuffer exported = vulkan_buffer(buffer->it);
  *handle = exported.buffer;
  if (offset) *offset = exported.offset;
  if (bytes) *bytes = exported.bytes;
  return PTX2SPV_OK;
}

ptx2spv_status ptx2spv_buffer_import(ptx2spv_device* device, uint64_t handle, uint64_t offset,
                                     uint64_t bytes, ptx2spv_buffer** buffer) {
  if (!device || !buffer) return fail_null("the device or the buffer");
  return give(import_buffer(device->it, VulkanBuffer{handle, offset, bytes}), buffer);
}
void ptx2spv_buffer_destroy(ptx2spv_buffer* buffer) { delete buffer; }

ptx2spv_status ptx2spv_array_create(ptx2spv_device* device, const ptx2spv_array_desc* desc,
                                    ptx2spv_array** array) {
  if (!device || !array) return fail_null("the device or the array");
  ArrayDesc to;
  if (Status status = read_desc(desc, to); !status) return finish(std::move(status));
  return give(Array::create(device->it, to), array);
}
uint64_t ptx2spv_array_bytes(const ptx2spv_array* array, uint32_t level) {
  return array ? array->it.bytes(level) : 0;
}

ptx2spv_status ptx2spv_array_upload(ptx2spv_array* array, uint32_t level, const void* data,
                                    uint64_t bytes) {
  if (!array || !data) return fail_null("the array or the data");
  return finish(array->it.upload(input(data, bytes), level));
}

ptx2spv_status ptx2spv_array_download(const ptx2spv_array* array, uint32_t level, void* data,
                                      uint64_t bytes) {
  if (!array || !data) return fail_null("the array or the data");
  return finish(array->it.download(output(data, bytes), level));
}

ptx2spv_status ptx2spv_array_upload_region(ptx2spv_array* array, const ptx2spv_array_region* region,
                                           const void* data, uint64_t bytes) {
  if (!array || !data) return fail_null("the array or the data");
  ArrayRegion where;
  if (Status status = read_array_region(region, where); !status) return finish(std::move(status));
  return finish(array->it.upload(where, input(data, bytes)));
}

ptx2spv_status ptx2spv_array_download_region(const ptx2spv_array* array,
                                             const ptx2spv_array_region* region, void* data,
                                             uint64_t bytes) {
  if (!array || !data) return fail_null("the array or the data");
  ArrayRegion where;
  if (Status status = read_array_region(region, where); !status) return finish(std::move(status));
  return finish(array->it.download(where, output(data, bytes)));
}

ptx2spv_status ptx2spv_array_copy_from_buffer(ptx2spv_array* array,
                                              const ptx2spv_array_region* region,
                                              const ptx2spv_buffer* buffer, uint64_t offset) {
  if (!array || !buffer) return fail_null("the array or the buffer");
  ArrayRegion where;
  if (Status status = read_array_region(region, where); !status) return finish(std::move(status));
  return finish(array->it.copy_from(buffer->it, offset, where));
}

ptx2spv_status ptx2spv_array_copy_to_buffer(const ptx2spv_array* array,
                                            const ptx2spv_array_region* region,
                                            ptx2spv_buffer* buffer, uint64_t offset) {
  if (!array || !buffer) return fail_null("the array or the buffer");
  ArrayRegion where;
  if (Status status = read_array_region(region, where); !status) return finish(std::move(status));
  return finish(array->it.copy_to(buffer->it, offset, where));
}

ptx2spv_status ptx2spv_array_fill(ptx2spv_array* array, uint32_t level, uint32_t pattern,
                                  uint32_t pattern_bytes) {
  if (!array) return fail_null("the array");
  return finish(array->it.fill(pattern, static_cast<int>(pattern_bytes & 0xff), level));
}

ptx2spv_status ptx2spv_array_copy(const ptx2spv_array* from, ptx2spv_array* to) {
  if (!from || !to) return fail_null("an array");
  return finish(to->it.copy_from(from->it));
}

ptx2spv_status ptx2spv_array_export(const ptx2spv_array* array, uint64_t* image, uint32_t* format) {
  if (!array || !image) return fail_null("the array or the image");
  auto exported = vulkan_image(array->it);
  if (!exported) return fail(exported.error());
  *image = exported->image;
  if (format) *format = exported->format;
  return PTX2SPV_OK;
}

ptx2spv_status ptx2spv_array_import(ptx2spv_device* device, uint64_t image,
                                    const ptx2spv_array_desc* desc, ptx2spv_array** array) {
  if (!device || !array) return fail_null("the device or the array");
  ArrayDesc to;
  if (Status status = read_desc(desc, to); !status) return finish(std::move(status));
  return give(import_image(device->it, VulkanImage{image, 0}, to), array);
}
void ptx2spv_array_destroy(ptx2spv_array* array) { delete array; }

ptx2spv_status ptx2spv_surface_create(ptx2spv_array* array, uint32_t level,
                                      ptx2spv_surface** surface) {
  if (!array || !surface) return fail_null("the array or the surface");
  return give(Surface::create(array->it, level), surface);
}
uint64_t ptx2spv_surface_handle(const ptx2spv_surface* surface) {
  return surface ? surface->it.handle() : 0;
}
ptx2spv_status ptx2spv_surface_set_name(ptx2spv_surface* surface, const char* name) {
  if (!surface || !name) return fail_null("the surface or the name");
  surface->it.set_name(name);
  return PTX2SPV_OK;
}
void ptx2spv_surface_destroy(ptx2spv_surface* surface) { delete surface; }

ptx2spv_status ptx2spv_texture_create(ptx2spv_array* array, const ptx2spv_texture_desc* desc,
                                      ptx2spv_texture** texture) {
  if (!array || !texture) return fail_null("the array or the texture");
  TextureDesc to;
  if (Status status = read_texture(desc, to); !status) return finish(std::move(status));
  return give(Texture::create(array->it, to), texture);
}
ptx2spv_status ptx2spv_texture_create_level(ptx2spv_array* array, uint32_t level,
                                            const ptx2spv_texture_desc* desc,
                                            ptx2spv_texture** texture) {
  if (!array || !texture) return fail_null("the array or the texture");
  TextureDesc to;
  if (Status status = read_texture(desc, to); !status) return finish(std::move(status));
  return give(Texture::create_level(array->it, level, to), texture);
}
ptx2spv_status ptx2spv_texture_create_memory(ptx2spv_buffer* buffer,
                                             const ptx2spv_texture_memory* memory,
                                             const ptx2spv_texture_desc* desc,
                                             ptx2spv_texture** texture) {
  if (!buffer || !texture) return fail_null("the buffer or the texture");
  TextureDesc to;
  if (Status status = check_struct(memory, "the texture's memory"); !status)
    return finish(std::move(status));
  if (Status status = read_texture(desc, to); !status) return finish(std::move(status));
  TextureMemory from;
  from.format = static_cast<abi::SurfaceFormat>(number_in(memory->format));
  from.channels = memory->channels;
  from.offset = memory->offset;
  from.width = memory->width;
  from.height = memory->height;
  from.pitch = memory->pitch;
  return give(Texture::create(buffer->it, from, to), texture);
}
uint64_t ptx2spv_texture_handle(const ptx2spv_texture* texture) {
  return texture ? texture->it.handle() : 0;
}
void ptx2spv_texture_destroy(ptx2spv_texture* texture) { delete texture; }

ptx2spv_status ptx2spv_sampler_create(ptx2spv_device* device, const ptx2spv_texture_desc* desc,
                                      ptx2spv_sampler** sampler) {
  if (!device || !sampler) return fail_null("the device or the sampler");
  TextureDesc to;
  if (Status status = read_texture(desc, to); !status) return finish(std::move(status));
  return give(Sampler::create(device->it, to), sampler);
}
uint64_t ptx2spv_sampler_handle(const ptx2spv_sampler* sampler) {
  return sampler ? sampler->it.handle() : 0;
}
void ptx2spv_sampler_destroy(ptx2spv_sampler* sampler) { delete sampler; }

}  // extern "C"
