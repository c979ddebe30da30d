// Modules, kernels, streams, events and graphs in C.
#include "src/c_api/handles.hpp"

#include <fmt/format.h>

#include "src/device/device.hpp"

namespace ptx2spv::runtime {

Status read_launch(const ptx2spv_launch* launch, LaunchConfig& config, Args& args) {
  if (Status status = check_struct(launch, "the launch"); !status) return status;
  auto one = [](uint32_t value) { return value ? value : 1; };
  config.grid = {one(launch->grid[0]), one(launch->grid[1]), one(launch->grid[2])};
  config.block = {one(launch->block[0]), one(launch->block[1]), one(launch->block[2])};
  config.dynamic_shared = launch->dynamic_shared;
  config.repeat = one(launch->repeat);
  if (launch->sanitize) {
    std::string unknown;
    config.checks = parse_checks(launch->sanitize, unknown);
    if (!config.checks) return bad_argument(unknown_check(unknown));
  }
  if (launch->suppressions) config.suppressions = launch->suppressions;
  switch (const std::uint32_t filter = number_in(launch->filter)) {
    case PTX2SPV_FILTER_DEFAULT: break;
    case PTX2SPV_FILTER_EXACT: config.filter = FilterPolicy::exact; break;
    case PTX2SPV_FILTER_DEVICE: config.filter = FilterPolicy::device; break;
    default: return bad_argument("the launch's filter is {}, and none is that", filter);
  }
  switch (const std::uint32_t fp = number_in(launch->fp)) {
    case PTX2SPV_FP_DEFAULT: break;
    case PTX2SPV_FP_EXACT: config.fp = FpPolicy::exact; break;
    case PTX2SPV_FP_FAST: config.fp = FpPolicy::fast; break;
    default: return bad_argument("the launch's fp is {}, and none is that", fp);
  }
  auto threads = read_threads(launch->threads);
  if (!threads) return threads.error();
  config.threads = *threads;
  config.bind_slots = !launch->no_slots;
  config.cooperative = launch->cooperative != 0;
  if (launch->argument_count && !launch->arguments)
    return bad_argument("the launch's arguments are null, and there are {}",
                        launch->argument_count);
  for (uint32_t i = 0; i < launch->argument_count; ++i) {
    const ptx2spv_argument& each = launch->arguments[i];
    const int set = (each.surface != nullptr) + (each.texture != nullptr) +
                    (each.buffer != nullptr) + (each.data != nullptr) + (each.sampler != nullptr);
    if (set != 1)
      return bad_argument(
          "argument {} sets {} of surface, texture, sampler, buffer and data, not one", i + 1, set);
    // Before it is read: no kernel has more bytes of parameters.
    if (each.data && each.bytes > 32764)
      return bad_argument("argument {} has more than 32764 bytes", i + 1);
    if (each.surface)
      args.surface(each.surface->it);
    else if (each.texture)
      args.texture(each.texture->it);
    else if (each.sampler)
      args.sampler(each.sampler->it);
    else if (each.buffer)
      args.buffer(each.buffer->it, each.buffer_offset);
    else
      args.bytes({static_cast<const std::byte*>(each.data), each.bytes});
  }
  if (launch->reference_count && !launch->references)
    return bad_argument("the launch's references are null");
  for (uint32_t i = 0; i < launch->reference_count; ++i) {
    const ptx2spv_reference& each = launch->references[i];
    const int set =
        (each.surface != nullptr) + (each.texture != nullptr) + (each.sampler != nullptr);
    if (!each.name || set != 1)
      return bad_argument(
          "reference {} has no name, or not exactly one of surface, texture and sampler", i + 1);
    if (each.surface)
      args.surfref(each.name, each.surface->it);
    else if (each.texture)
      args.texref(each.name, each.texture->it);
    else
      args.samplerref(each.name, each.sampler->it);
  }
  return {};
}

Result<std::optional<ThreadModel>> read_threads(const ptx2spv_threads& from) {
  switch (const std::uint32_t threads = number_in(from)) {
    case PTX2SPV_THREADS_DEFAULT: return std::optional<ThreadModel>();
    case PTX2SPV_THREADS_DIRECT: return std::optional(ThreadModel::direct);
    case PTX2SPV_THREADS_FLAT: return std::optional(ThreadModel::flat);
    case PTX2SPV_THREADS_REGIONS: return std::optional(ThreadModel::regions);
    default: return bad_argument("threads is {}, and no thread model is that", threads);
  }
}

Status read_inputs(const char* const* ptx, const size_t* bytes, const char* const* files,
                   uint32_t count, std::vector<PtxModule::Input>& inputs) {
  const auto null = [](const char* what) { return bad_argument(std::string(what) + " is null"); };
  if (!ptx || !bytes || !files) return null("the texts, their sizes or their names");
  for (uint32_t i = 0; i < count; ++i) {
    if (!ptx[i] || !files[i]) return null("a text or its name");
    inputs.push_back({std::string_view(ptx[i], bytes[i]), files[i]});
  }
  return {};
}

}  // namespace ptx2spv::runtime

namespace {

Status read_options(const ptx2spv_module_options* from, ModuleOptions& options) {
  if (!from) return {};
  if (Status status = check_struct(from, "the module options"); !status) return status;
  options.fp = from->fast ? FpPolicy::fast : FpPolicy::exact;
  options.debug_info = from->debug_info;
  options.relax_versions = from->relax_versions;
  options.optimize = from->no_optimize ? 0 : 1;
  if (from->inline_budget) options.inline_budget = *from->inline_budget;
  return {};
}

ptx2spv_status give_module(Result<Module> module, ptx2spv_module** out) {
  if (!module) return fail(module.error());
  std::string interface = to_json(module->interface()), warnings;
  for (const Message& each : module->warnings()) warnings += each.rendered;
  *out = new ptx2spv_module{std::move(*module), std::move(interface), std::move(warnings)};
  return PTX2SPV_OK;
}

}  // namespace

extern "C" {

ptx2spv_status ptx2spv_module_load(ptx2spv_device* device, const char* ptx, size_t bytes,
                                   const char* file, const ptx2spv_module_options* options,
                                   ptx2spv_module** module) {
  if (!device || !ptx || !module) return fail_null("the device, the PTX or the module");
  ModuleOptions how;
  if (Status status = read_options(options, how); !status) return finish(std::move(status));
  return give_module(
      Module::load(device->it, std::string_view(ptx, bytes), file ? file : "module.ptx", how),
      module);
}

ptx2spv_status ptx2spv_module_load_file(ptx2spv_device* device, const char* path,
                                        const ptx2spv_module_options* options,
                                        ptx2spv_module** module) {
  if (!device || !path || !module) return fail_null("the device, the path or the module");
  ModuleOptions how;
  if (Status status = read_options(options, how); !status) return finish(std::move(status));
  return give_module(Module::load_file(device->it, path, how), module);
}

ptx2spv_status ptx2spv_module_load_linked(ptx2spv_device* device, const char* const* ptx,
                                          const size_t* bytes, const char* const* files,
                                          uint32_t count, const ptx2spv_module_options* options,
                                          ptx2spv_module** module) {
  if (!device || !module) return fail_null("the device or the module");
  std::vector<PtxModule::Input> inputs;
  if (Status status = read_inputs(ptx, bytes, files, count, inputs); !status)
    return finish(std::move(status));
  ModuleOptions how;
  if (Status status = read_options(options, how); !status) return finish(std::move(status));
  return give_module(Module::load(device->it, inputs, how), module);
}

const char* ptx2spv_module_warnings(const ptx2spv_module* module) {
  return module ? module->warnings.c_str() : "";
}

const char* ptx2spv_module_interface(const ptx2spv_module* module) {
  return module ? module->interface.c_str() : "";
}

ptx2spv_status ptx2spv_module_global(const ptx2spv_module* module, const char* name,
                                     uint64_t* address, uint64_t* bytes) {
  if (!module || !name) return fail_null("the module or the name");
  auto at = module->it.global_address(name);
  if (!at) return fail(at.error());
  auto size = module->it.global_size(name);
  if (!size) return fail(size.error());
  if (address) *address = *at;
  if (bytes) *bytes = *size;
  return PTX2SPV_OK;
}

ptx2spv_status ptx2spv_module_set_global(ptx2spv_module* module, const char* name, uint64_t offset,
                                         const void* data, uint64_t bytes) {
  if (!module || !name || !data) return fail_null("the module, the name or the data");
  return finish(module->it.set_global(name, {static_cast<const std::byte*>(data), bytes}, offset));
}

ptx2spv_status ptx2spv_module_get_global(const ptx2spv_module* module, const char* name,
                                         uint64_t offset, void* data, uint64_t bytes) {
  if (!module || !name || !data) return fail_null("the module, the name or the data");
  return finish(module->it.get_global(name, {static_cast<std::byte*>(data), bytes}, offset));
}

ptx2spv_status ptx2spv_module_bind_surface(ptx2spv_module* module, const char* surfref,
                                           const ptx2spv_surface* surface) {
  if (!module || !surfref || !surface) return fail_null("the module, the name or the surface");
  return finish(module->it.bind_surface(surfref, surface->it));
}

ptx2spv_status ptx2spv_module_bind_texture(ptx2spv_module* module, const char* texref,
                                           const ptx2spv_texture* texture) {
  if (!module || !texref || !texture) return fail_null("the module, the name or the texture");
  return finish(module->it.bind_texture(texref, texture->it));
}
ptx2spv_status ptx2spv_module_bind_sampler(ptx2spv_module* module, const char* samplerref,
                                           const ptx2spv_sampler* sampler) {
  if (!module || !samplerref || !sampler) return fail_null("the module, the name or the sampler");
  return finish(module->it.bind_sampler(samplerref, sampler->it));
}
void ptx2spv_module_destroy(ptx2spv_module* module) { delete module; }

ptx2spv_status ptx2spv_kernel_get(const ptx2spv_module* module, const char* name,
                                  ptx2spv_kernel** kernel) {
  if (!module || !name || !kernel) return fail_null("the module, the name or the kernel");
  return give(module->it.kernel(name), kernel);
}
const char* ptx2spv_kernel_name(const ptx2spv_kernel* kernel) {
  return kernel ? kernel->it.name().c_str() : "";
}
uint32_t ptx2spv_kernel_parameter_count(const ptx2spv_kernel* kernel) {
  return kernel ? static_cast<uint32_t>(kernel->it.info().params.size()) : 0;
}

ptx2spv_status ptx2spv_kernel_parameter(const ptx2spv_kernel* kernel, uint32_t index,
                                        const char** name, uint32_t* offset, uint32_t* bytes) {
  if (!kernel) return fail_null("the kernel");
  const auto& params = kernel->it.info().params;
  if (index >= params.size())
    return fail(bad_argument("the kernel has no parameter of that index"));
  if (name) *name = params[index].name.c_str();
  if (offset) *offset = params[index].offset;
  if (bytes) *bytes = params[index].bytes;
  return PTX2SPV_OK;
}
const char* ptx2spv_kernel_parameter_type(const ptx2spv_kernel* kernel, uint32_t index) {
  if (!kernel || index >= kernel->it.info().params.size()) return "";
  return kernel->it.info().params[index].type.c_str();
}
void ptx2spv_kernel_destroy(ptx2spv_kernel* kernel) { delete kernel; }

ptx2spv_status ptx2spv_kernel_launch(const ptx2spv_kernel* kernel, const ptx2spv_launch* launch,
                                     double* device_ms) {
  if (!kernel) return fail_null("the kernel");
  LaunchConfig config;
  Args args;
  if (Status status = read_launch(launch, config, args); !status) return fail(status.error());
  config.time = device_ms != nullptr;
  auto timing = kernel->it.launch(config, args);
  if (!timing) return fail(timing.error());
  if (device_ms) *device_ms = timing->device_ms;
  return PTX2SPV_OK;
}

ptx2spv_status ptx2spv_kernel_launch_timed(const ptx2spv_kernel* kernel,
                                           const ptx2spv_launch* launch,
                                           ptx2spv_launch_timing* timing) {
  if (!kernel) return fail_null("the kernel");
  if (Status status = check_struct(timing, "the timing"); !status) return finish(std::move(status));
  LaunchConfig config;
  Args args;
  if (Status status = read_launch(launch, config, args); !status) return fail(status.error());
  config.time = true;
  auto timed = kernel->it.launch(config, args);
  if (!timed) return fail(timed.error());
  timing->sampled_textures = timed->sampled_textures;
  timing->device_ms = timed->device_ms;
  timing->wall_ms = timed->wall_ms;
  timing->prepare_ms = timed->prepare_ms;
  timing->threads = static_cast<ptx2spv_threads>(static_cast<uint32_t>(timed->threads) + 1);
  return PTX2SPV_OK;
}

ptx2spv_status ptx2spv_kernel_prepare(const ptx2spv_kernel* kernel, const ptx2spv_launch* launch) {
  if (!kernel) return fail_null("the kernel");
  LaunchConfig config;
  Args args;
  if (Status status = read_launch(launch, config, args); !status) return fail(status.error());
  return finish(kernel->it.prepare(config, args));
}

ptx2spv_status ptx2spv_stream_create(ptx2spv_device* device, ptx2spv_stream** stream) {
  if (!device || !stream) return fail_null("the device or the stream");
  return give(Stream::create(device->it), stream);
}

ptx2spv_status ptx2spv_stream_launch(ptx2spv_stream* stream, const ptx2spv_kernel* kernel,
                                     const ptx2spv_launch* launch) {
  if (!stream || !kernel) return fail_null("the stream or the kernel");
  LaunchConfig config;
  Args args;
  if (Status status = read_launch(launch, config, args); !status) return fail(status.error());
  return finish(stream->it.launch(kernel->it, config, args));
}

ptx2spv_status ptx2spv_stream_upload(ptx2spv_stream* stream, ptx2spv_buffer* buffer,
                                     uint64_t offset, const void* data, uint64_t bytes) {
  if (!stream || !buffer || (!data && bytes))
    return fail_null("the stream, the buffer or the data");
  return finish(
      stream->it.upload(buffer->it, offset, {static_cast<const std::byte*>(data), bytes}));
}

ptx2spv_status ptx2spv_stream_download(ptx2spv_stream* stream, const ptx2spv_buffer* buffer,
                                       uint64_t offset, void* data, uint64_t bytes) {
  if (!stream || !buffer || (!data && bytes))
    return fail_null("the stream, the buffer or the data");
  return finish(stream->it.download(buffer->it, offset, {static_cast<std::byte*>(data), bytes}));
}

ptx2spv_status ptx2spv_stream_copy(ptx2spv_stream* stream, const ptx2spv_buffer* from,
                                   uint64_t from_offset, ptx2spv_buffer* to, uint64_t to_offset,
                                   uint64_t bytes) {
  if (!stream || !from || !to) return fail_null("the stream or a buffer");
  return finish(stream->it.copy(from->it, from_offset, to->it, to_offset, bytes));
}

ptx2spv_status ptx2spv_stream_upload_array(ptx2spv_stream* stream, ptx2spv_array* array,
                                           const ptx2spv_array_region* region, const void* data,
                                           uint64_t bytes) {
  if (!stream || !array || !data) return fail_null("the stream, the array or the data");
  ArrayRegion where;
  if (Status status = read_array_region(region, where); !status) return finish(std::move(status));
  return finish(stream->it.upload(array->it, where, {static_cast<const std::byte*>(data), bytes}));
}

ptx2spv_status ptx2spv_stream_download_array(ptx2spv_stream* stream, const ptx2spv_array* array,
                                             const ptx2spv_array_region* region, void* data,
                                             uint64_t bytes) {
  if (!stream || !array || !data) return fail_null("the stream, the array or the data");
  ArrayRegion where;
  if (Status status = read_array_region(region, where); !status) return finish(std::move(status));
  return finish(stream->it.download(array->it, where, {static_cast<std::byte*>(data), bytes}));
}

ptx2spv_status ptx2spv_stream_copy_to_array(ptx2spv_stream* stream, const ptx2spv_buffer* from,
                                            uint64_t offset, ptx2spv_array* to,
                                            const ptx2spv_array_region* region) {
  if (!stream || !from || !to) return fail_null("the stream, the buffer or the array");
  ArrayRegion where;
  if (Status status = read_array_region(region, where); !status) return finish(std::move(status));
  return finish(stream->it.copy(from->it, offset, to->it, where));
}

ptx2spv_status ptx2spv_stream_copy_from_array(ptx2spv_stream* stream, const ptx2spv_array* from,
                                              const ptx2spv_array_region* region,
                                              ptx2spv_buffer* to, uint64_t offset) {
  if (!stream || !from || !to) return fail_null("the stream, the array or the buffer");
  ArrayRegion where;
  if (Status status = read_array_region(region, where); !status) return finish(std::move(status));
  return finish(stream->it.copy(from->it, to->it, offset, where));
}

ptx2spv_status ptx2spv_stream_fill(ptx2spv_stream* stream, ptx2spv_buffer* buffer, uint64_t offset,
                                   uint64_t bytes, uint32_t word) {
  if (!stream || !buffer) return fail_null("the stream or the buffer");
  return finish(stream->it.fill(buffer->it, offset, bytes, word));
}

int32_t ptx2spv_stream_idle(const ptx2spv_stream* stream) { return stream && stream->it.idle(); }

ptx2spv_status ptx2spv_stream_record(ptx2spv_stream* stream, ptx2spv_event* event) {
  if (!stream || !event) return fail_null("the stream or the event");
  return finish(stream->it.record(event->it));
}

ptx2spv_status ptx2spv_stream_wait(ptx2spv_stream* stream, const ptx2spv_event* event) {
  if (!stream || !event) return fail_null("the stream or the event");
  return finish(stream->it.wait(event->it));
}

ptx2spv_status ptx2spv_stream_replay(ptx2spv_stream* stream, const ptx2spv_graph* graph) {
  if (!stream || !graph) return fail_null("the stream or the graph");
  return finish(stream->it.replay(graph->it));
}

ptx2spv_status ptx2spv_stream_synchronize(ptx2spv_stream* stream) {
  return stream ? finish(stream->it.synchronize()) : fail_null("the stream");
}
void ptx2spv_stream_destroy(ptx2spv_stream* stream) { delete stream; }

ptx2spv_status ptx2spv_event_create(ptx2spv_device* device, ptx2spv_event** event) {
  if (!device || !event) return fail_null("the device or the event");
  return give(Event::create(device->it), event);
}
int32_t ptx2spv_event_recorded(const ptx2spv_event* event) { return event && event->it.recorded(); }
int32_t ptx2spv_event_done(const ptx2spv_event* event) { return event && event->it.done(); }
ptx2spv_status ptx2spv_event_wait(const ptx2spv_event* event) {
  return event ? finish(event->it.wait()) : fail_null("the event");
}

ptx2spv_status ptx2spv_event_elapsed(const ptx2spv_event* start, const ptx2spv_event* end,
                                     double* milliseconds) {
  if (!start || !end || !milliseconds) return fail_null("an event or the result");
  auto elapsed = end->it.since(start->it);
  if (!elapsed) return fail(elapsed.error());
  *milliseconds = *elapsed;
  return PTX2SPV_OK;
}
void ptx2spv_event_destroy(ptx2spv_event* event) { delete event; }

ptx2spv_status ptx2spv_graph_create(ptx2spv_device* device, ptx2spv_graph** graph) {
  if (!device || !graph) return fail_null("the device or the graph");
  return give(Graph::create(device->it), graph);
}

ptx2spv_status ptx2spv_graph_add_launch(ptx2spv_graph* graph, const ptx2spv_kernel* kernel,
                                        const ptx2spv_launch* launch) {
  if (!graph || !kernel) return fail_null("the graph or the kernel");
  LaunchConfig config;
  Args args;
  if (Status status = read_launch(launch, config, args); !status) return fail(status.error());
  return finish(graph->it.add(kernel->it, config, args));
}

ptx2spv_status ptx2spv_graph_add_copy(ptx2spv_graph* graph, const ptx2spv_buffer* from,
                                      uint64_t from_offset, ptx2spv_buffer* to, uint64_t to_offset,
                                      uint64_t bytes) {
  if (!graph || !from || !to) return fail_null("the graph or a buffer");
  return finish(graph->it.add_copy(from->it, from_offset, to->it, to_offset, bytes));
}

uint32_t ptx2spv_graph_size(const ptx2spv_graph* graph) {
  return graph ? static_cast<uint32_t>(graph->it.size()) : 0;
}
void ptx2spv_graph_destroy(ptx2spv_graph* graph) { delete graph; }

}  // extern "C"
