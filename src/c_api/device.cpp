// Devices and buffers in C.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "src/c_api/handles.hpp"
#include "src/device/device.hpp"

namespace {

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
  to.multiprocessors = from.multiprocessors;
  to.multiprocessor_threads = from.multiprocessor_threads;
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

}  // namespace

namespace ptx2spv::runtime {

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
  for (uint32_t i = 0; from->enable && i < from->enable_count; ++i)
    options.enable.emplace_back(from->enable[i]);
  for (uint32_t i = 0; from->require && i < from->require_count; ++i)
    options.require.emplace_back(from->require[i]);
  if (from->within) options.within = from->within->it;
  std::string unknown;
  if (from->sanitize) options.checks = parse_checks(from->sanitize, unknown);
  if (from->suppressions) options.suppressions = from->suppressions;
  if (const std::uint32_t executor = number_in(from->executor))
    options.executor = static_cast<ExecutorPolicy>(executor - 1);
  if (from->timeout != 0) options.timeout = std::max(from->timeout, 0.0);
  if (from->print)
    options.print = [print = from->print, user = from->print_user](std::string_view text) {
      print(user, text.data(), text.size());
    };
  if (from->report)
    options.report = [report = from->report, user = from->report_user](std::string_view text) {
      report(user, text.data(), text.size());
    };
  return options;
}

Status check_options(const ptx2spv_device_options* options) {
  if (!options) return {};
  if (Status status = check_struct(options, "the device options"); !status) return status;
  const auto check_names = [](const char* const* names, uint32_t count) {
    for (uint32_t i = 0; names && i < count; ++i)
      if (!names[i]) return false;
    return true;
  };
  if (!check_names(options->disable, options->disable_count) ||
      !check_names(options->enable, options->enable_count) ||
      !check_names(options->require, options->require_count))
    return bad_argument("a name in the device options is null");
  if (const std::uint32_t executor = number_in(options->executor); executor > PTX2SPV_EXECUTOR_HOST)
    return bad_argument("the device options' executor is {}, and none is that", executor);
  std::string unknown;
  if (options->sanitize && !parse_checks(options->sanitize, unknown))
    return bad_argument(unknown_check(unknown));
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

ptx2spv_status ptx2spv_device_get_info(const ptx2spv_device* device, ptx2spv_device_info* info) {
  if (!device) return fail_null("the device");
  if (Status status = check_struct(info, "the info"); !status) return finish(std::move(status));
  write_info(device->it.info(), *info);
  return PTX2SPV_OK;
}

ptx2spv_status ptx2spv_device_synchronize(ptx2spv_device* device) {
  return device ? finish(device->it.synchronize()) : fail_null("the device");
}
uint64_t ptx2spv_device_malloc_heap_bytes(const ptx2spv_device* device) {
  return device ? device->it.malloc_heap_bytes() : 0;
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
  statistics->interpreted_launches = from.interpreted_launches;
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
ptx2spv_status ptx2spv_buffer_create_rows(ptx2spv_device* device, uint64_t bytes,
                                          ptx2spv_buffer** buffer) {
  if (!device || !buffer) return fail_null("the device or the buffer");
  return give(Buffer::create(device->it, bytes, BufferMemory::rows), buffer);
}
ptx2spv_status ptx2spv_buffer_create_host(ptx2spv_device* device, uint64_t bytes,
                                          ptx2spv_buffer** buffer) {
  if (!device || !buffer) return fail_null("the device or the buffer");
  return give(Buffer::create(device->it, bytes, BufferMemory::host), buffer);
}
ptx2spv_status ptx2spv_buffer_view(ptx2spv_device* device, uint64_t address, uint64_t bytes,
                                   ptx2spv_buffer** buffer) {
  if (!device || !buffer) return fail_null("the device or the buffer");
  return give(Buffer::view(device->it, address, bytes), buffer);
}
ptx2spv_status ptx2spv_buffer_set_name(ptx2spv_buffer* buffer, const char* name) {
  if (!buffer || !name) return fail_null("the buffer or the name");
  buffer->it.set_name(name);
  return PTX2SPV_OK;
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

ptx2spv_status ptx2spv_buffer_copy_region(const ptx2spv_buffer* from, uint64_t from_offset,
                                          ptx2spv_buffer* to, const ptx2spv_region* region) {
  if (!from || !to) return fail_null("a buffer");
  Region where;
  if (Status status = read_region(region, where); !status) return finish(std::move(status));
  return finish(to->it.copy_from(from->it, from_offset, where));
}

void ptx2spv_buffer_destroy(ptx2spv_buffer* buffer) { delete buffer; }

}  // extern "C"
