// Runs a manifest on the project's own runtime.
#include "tools/ptxrun/backend.hpp"

#include <fmt/format.h>

#include "tools/ptxrun/check.hpp"
#include "tools/ptxrun/contents.hpp"
#include "tools/ptxrun/crash.hpp"

namespace ptx2spv::tools {
namespace {

Exit exit_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::translation: return Exit::translation;
    case ErrorCode::trap: return Exit::trap;
    case ErrorCode::timed_out: return Exit::timed_out;
    case ErrorCode::no_device:
    case ErrorCode::device_lost: return Exit::no_device;
    case ErrorCode::unsupported:
    case ErrorCode::out_of_memory: return Exit::too_small;
    default: return Exit::usage;
  }
}

class VulkanRunner {
 public:
  VulkanRunner(const Manifest& manifest, const RunOptions& options)
      : manifest_(manifest), options_(options) {}
  RunResult run() {
    run_all();
    if (device_) result_.sanitized = device_->sanitizer_report();
    return std::move(result_);
  }

 private:
  void run_all();
  bool fail(const Error& error, const std::string& where);
  bool check(const Status& status, const std::string& where) {
    return status.ok() || fail(status.error(), where);
  }
  bool open();
  bool make_resources();
  bool fill(const Init& init, const ArrayDesc* desc, Bytes& bytes);
  bool load();
  bool launch(const LaunchSpec& spec, const std::string& entry, LaunchTime& time);
  /// Adds a span from `start` to now to the trace, when one is asked for.
  void span(std::string name, const char* category, double start, std::string detail = {});
  /// Adds the spans of a launch that started at `start`, with what it prepared.
  void launch_spans(const std::string& name, double start, const DeviceStatistics& before);
  bool read_outputs();
  /// Null after a failure.
  const Surface* surface(std::uint32_t index, std::uint32_t level, const std::string& where);
  std::uint64_t handle(std::uint32_t position);

  const Manifest& manifest_;
  const RunOptions& options_;
  RunResult result_;
  std::optional<Device> device_;
  std::optional<Module> module_;
  std::vector<std::string> kernels_;  // by launch
  std::vector<Array> arrays_;
  std::vector<std::vector<std::optional<Surface>>> surfaces_;  // by array and level
  std::vector<Texture> textures_;
  std::vector<Sampler> samplers_;
  std::vector<Buffer> buffers_;
};

bool VulkanRunner::fail(const Error& error, const std::string& where) {
  result_.exit = exit_of(error.code);
  const bool located = error.trap || !error.messages.empty();
  result_.error = located ? error.to_string() : where + error.text;
  return false;
}

void VulkanRunner::span(std::string name, const char* category, double start, std::string detail) {
  if (options_.trace)
    result_.spans.push_back({std::move(name), category, start, now_ms(), std::move(detail)});
}

void VulkanRunner::launch_spans(const std::string& name, double start,
                                const DeviceStatistics& before) {
  if (!options_.trace) return;
  const DeviceStatistics after = device_->statistics();
  const double translated = start + after.translation_ms - before.translation_ms;
  const double built = translated + after.pipeline_ms - before.pipeline_ms;
  if (after.translations != before.translations)
    result_.spans.push_back({"translate " + name, "translation", start, translated, {}});
  if (after.pipelines != before.pipelines)
    result_.spans.push_back({"pipeline of " + name, "pipeline", translated, built, {}});
  span("launch " + name, "launch", start);
}

bool VulkanRunner::open() {
  const double start = now_ms();
  DeviceOptions form;
  form.select = options_.device;
  form.disable = options_.disable;
  form.within = options_.profile;
  if (options_.validate) form.validation = true;
  form.checks = options_.checks;
  form.suppressions = options_.suppressions;
  form.timeout = options_.timeout;
  form.executor = options_.executor;
  form.report = options_.finding;
  auto device = Device::open(form);
  if (!device) return fail(device.error(), "ptxrun: error: ");
  device_ = *std::move(device);
  if (options_.malloc_heap)
    if (Status status = device_->set_malloc_heap_bytes(*options_.malloc_heap); !status)
      return fail(status.error(), "--malloc-heap: ");
  result_.device = device_->info().name + ", " + device_->info().driver;
  result_.on_cpu = device_->info().kind == DeviceKind::cpu;
  // Which of the CPU's drivers it is depends on what is installed.
  if (options_.device == "cpu" && options_.warn)
    options_.warn("ptxrun: note: --device cpu takes " + device_->info().name +
                  "; swiftshader and lavapipe each name one");
  span("open the device", "device", start, result_.device);
  return load();
}

bool VulkanRunner::load() {
  const double start = now_ms();
  std::vector<std::string> texts;
  if (const std::string error = read_modules(manifest_, texts); !error.empty()) {
    result_.exit = Exit::usage;
    result_.error = error;
    return false;
  }
  ModuleOptions how;
  how.fp = options_.fp;
  how.optimize = options_.optimize;
  how.debug_info = options_.debug_info;
  how.relax_versions = options_.relax;
  auto module = Module::load(*device_, inputs_of(manifest_, texts), how);
  if (!module) return fail(module.error(), manifest_.modules[0] + ": error: ");
  module_ = *std::move(module);
  if (options_.warn)
    for (const Message& message : module_->warnings()) options_.warn(message.rendered);
  span("load " + manifest_.modules[0], "translation", start);
  CheckedLaunches checked = check_launches(manifest_, module_->interface());
  kernels_ = std::move(checked.kernels);
  if (checked.errors.empty()) return true;
  result_.exit = Exit::usage;
  for (const std::string& error : checked.errors) result_.error += error + "\n";
  return false;
}

const Surface* VulkanRunner::surface(std::uint32_t index, std::uint32_t level,
                                     const std::string& where) {
  auto& place = surfaces_[index][level];
  if (!place) {
    auto made = Surface::create(arrays_[index], level);
    if (!made) {
      fail(made.error(), where);
      return nullptr;
    }
    place = *std::move(made);
    place->set_name(manifest_.surfaces[index].name);
  }
  return &*place;
}

std::uint64_t VulkanRunner::handle(std::uint32_t position) {
  if (position >= kSamplerBase) return samplers_[position - kSamplerBase].handle();
  if (position >= kTextureBase) return textures_[position - kTextureBase].handle();
  const Surface* found = surface(position, 0, manifest_.surfaces[position].init.where);
  return found ? found->handle() : 0;
}

bool VulkanRunner::fill(const Init& init, const ArrayDesc* desc, Bytes& bytes) {
  const std::string error = make_contents(
      init, desc, [this](std::uint32_t position) { return handle(position); }, bytes);
  if (error.empty()) return result_.exit == Exit::good;
  result_.exit = Exit::usage;
  result_.error = error;
  return false;
}

bool VulkanRunner::make_resources() {
  for (const SurfaceSpec& spec : manifest_.surfaces) {
    ArrayDesc desc = spec.desc;
    if (options_.backing) desc.backing = *options_.backing;
    auto array = Array::create(*device_, desc);
    if (!array) return fail(array.error(), spec.init.where);
    arrays_.push_back(*std::move(array));
    surfaces_.emplace_back(desc.levels);
    for (std::uint32_t level = 0; level < desc.levels; ++level) {
      Bytes bytes(level_bytes(desc, level));
      if (level == 0 && !fill(spec.init, &desc, bytes)) return false;
      if (level && level <= spec.level_inits.size()) {
        const ArrayDesc form = level_desc(desc, level);
        if (!fill(spec.level_inits[level - 1], &form, bytes)) return false;
      }
      const double start = now_ms();
      if (!check(arrays_.back().upload(bytes, level), spec.init.where)) return false;
      span("upload " + spec.name, "copy", start, fmt::format("{} bytes", bytes.size()));
    }
  }
  for (const BufferSpec& spec : manifest_.buffers) {
    auto buffer = Buffer::create(*device_, spec.bytes);
    if (!buffer) return fail(buffer.error(), spec.init.where);
    buffers_.push_back(*std::move(buffer));
    buffers_.back().set_name("buffer '" + spec.name + "'");
  }
  for (const SamplerSpec& spec : manifest_.samplers) {
    auto sampler = Sampler::create(*device_, spec.desc);
    if (!sampler) return fail(sampler.error(), spec.where);
    samplers_.push_back(*std::move(sampler));
  }
  for (const TextureSpec& spec : manifest_.textures) {
    auto texture = spec.buffer ? Texture::create(buffers_[*spec.buffer], spec.memory, spec.desc)
                   : spec.level
                       ? Texture::create_level(arrays_[spec.surface], *spec.level, spec.desc)
                       : Texture::create(arrays_[spec.surface], spec.desc);
    if (!texture) return fail(texture.error(), spec.where);
    textures_.push_back(*std::move(texture));
  }
  for (std::size_t k = 0; k < buffers_.size(); ++k) {
    const BufferSpec& spec = manifest_.buffers[k];
    Bytes bytes(spec.bytes);
    if (!fill(spec.init, nullptr, bytes)) return false;
    const double start = now_ms();
    if (!check(buffers_[k].upload(0, bytes), spec.init.where)) return false;
    span("upload " + spec.name, "copy", start, fmt::format("{} bytes", bytes.size()));
  }
  for (const GlobalSpec& spec : manifest_.globals) {
    const auto size = module_->global_size(spec.name);
    if (!size) return fail(size.error(), spec.init.where);
    Bytes bytes(*size);
    if (!fill(spec.init, nullptr, bytes)) return false;
    if (!check(module_->set_global(spec.name, bytes), spec.init.where)) return false;
  }
  return true;
}

bool VulkanRunner::launch(const LaunchSpec& spec, const std::string& entry, LaunchTime& time) {
  const auto kernel = module_->kernel(entry);
  if (!kernel) return fail(kernel.error(), spec.where);
  Args args;
  for (const ArgSpec& arg : spec.args) {
    switch (arg.kind) {
      case ArgSpec::Kind::surface: {
        const Surface* found = surface(arg.index, arg.level, spec.where);
        if (!found) return false;
        args.surface(*found);
        break;
      }
      case ArgSpec::Kind::texture: args.texture(textures_[arg.index]); break;
      case ArgSpec::Kind::sampler: args.sampler(samplers_[arg.index]); break;
      case ArgSpec::Kind::buffer: args.buffer(buffers_[arg.index], arg.offset); break;
      case ArgSpec::Kind::bytes: args.bytes(arg.bytes); break;
    }
  }
  for (const auto& [name, index] : spec.surfrefs) {
    const Surface* found = surface(index, 0, spec.where);
    if (!found) return false;
    args.surfref(name, *found);
  }
  for (const auto& [name, index] : spec.texrefs) args.texref(name, textures_[index]);
  for (const auto& [name, index] : spec.samplerrefs) args.samplerref(name, samplers_[index]);

  LaunchConfig config;
  config.grid = spec.grid;
  config.block = spec.block;
  config.dynamic_shared = spec.shared;
  config.threads = options_.threads;
  config.filter = options_.filter;
  config.bind_slots = options_.bind_slots;
  config.time = options_.time;
  config.repeat = options_.time ? 1 : spec.repeat;
  for (std::uint32_t k = 0; k < (options_.time ? spec.repeat : 1); ++k) {
    const CrashContext context(spec.kernel);
    const double start = now_ms();
    const DeviceStatistics before = options_.trace ? device_->statistics() : DeviceStatistics();
    const auto timing = kernel->launch(config, args);
    if (!timing) return fail(timing.error(), spec.where);
    launch_spans(spec.kernel, start, before);
    if (timing->device_ms >= 0) time.device_ms.push_back(timing->device_ms);
    time.wall_ms.push_back(timing->wall_ms);
    time.prepare_ms += timing->prepare_ms;
  }
  return true;
}

bool VulkanRunner::read_outputs() {
  for (const OutputSpec& output : manifest_.outputs) {
    Bytes& bytes = result_.outputs.emplace_back();
    const double start = now_ms();
    if (output.kind == OutputSpec::Kind::surface) {
      bytes.resize(level_bytes(manifest_.surfaces[output.index].desc, output.level));
      if (!check(arrays_[output.index].download(bytes, output.level), output.where)) return false;
    } else if (output.kind == OutputSpec::Kind::buffer) {
      bytes.resize(manifest_.buffers[output.index].bytes);
      if (!check(buffers_[output.index].download(0, bytes), output.where)) return false;
    } else {
      const auto size = module_->global_size(output.name);
      if (!size) return fail(size.error(), output.where);
      bytes.resize(*size);
      if (!check(module_->get_global(output.name, bytes), output.where)) return false;
    }
    span("download " + output.name, "copy", start, fmt::format("{} bytes", bytes.size()));
  }
  return true;
}

void VulkanRunner::run_all() {
  const double start = now_ms();
  if (!open()) return;
  const double opened = now_ms();
  result_.setup_ms = opened - start;
  if (!make_resources()) return;
  const double filled = now_ms();
  result_.upload_ms = filled - opened;
  for (std::size_t k = 0; k < manifest_.launches.size(); ++k) {
    if (!launch(manifest_.launches[k], kernels_[k], result_.launches.emplace_back())) return;
    if (options_.progress) options_.progress(k + 1);
  }
  const double launched = now_ms();
  result_.launch_ms = launched - filled;
  if (read_outputs()) result_.download_ms = now_ms() - launched;
  if (result_.exit == Exit::good && options_.validate && device_->validation_messages()) {
    result_.exit = Exit::mismatch;
    result_.error =
        fmt::format("{} messages of the validation layer", device_->validation_messages());
  }
}

}  // namespace

RunResult run_vulkan(const Manifest& manifest, const RunOptions& options) {
  return VulkanRunner(manifest, options).run();
}

}  // namespace ptx2spv::tools
