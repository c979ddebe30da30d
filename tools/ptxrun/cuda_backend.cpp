// Runs a manifest natively on NVIDIA hardware, for comparison. CUDA ends a context at its first
// trap, so there is no record: the driver's own words are what is printed.
#include <chrono>
#include <cstring>

#include <fmt/format.h>

#include "tools/common/cuda_api.hpp"
#include "tools/ptxrun/backend.hpp"
#include "tools/ptxrun/check.hpp"
#include "tools/ptxrun/contents.hpp"

namespace ptx2spv::tools {
namespace {

using namespace cuda;

int array_format(abi::SurfaceFormat format, std::uint32_t channels) {
  const int normalised = channels == 1 ? 0 : channels == 2 ? 1 : 2;
  switch (format) {
    case abi::SurfaceFormat::u8: return 0x01;
    case abi::SurfaceFormat::u16: return 0x02;
    case abi::SurfaceFormat::u32: return 0x03;
    case abi::SurfaceFormat::s8: return 0x08;
    case abi::SurfaceFormat::s16: return 0x09;
    case abi::SurfaceFormat::s32: return 0x0a;
    case abi::SurfaceFormat::f16: return 0x10;
    case abi::SurfaceFormat::f32: return 0x20;
    case abi::SurfaceFormat::unorm8: return 0xc0 + normalised;
    case abi::SurfaceFormat::unorm16: return 0xc3 + normalised;
    case abi::SurfaceFormat::snorm8: return 0xc6 + normalised;
    case abi::SurfaceFormat::snorm16: return 0xc9 + normalised;
  }
  return 0;
}

class CudaRunner {
 public:
  CudaRunner(const Manifest& manifest, const RunOptions& options)
      : manifest_(manifest), options_(options) {}
  ~CudaRunner();
  RunResult run();

 private:
  struct ArrayState {
    MipmappedArray mipmap = nullptr;
    std::vector<ArrayHandle> levels;
    std::vector<Object> objects;  // by level, made when first asked for
  };

  bool check(Result result, const std::string& what, Exit exit = Exit::usage);
  bool open_device();
  bool load_modules();
  bool make_arrays();
  bool make_textures();
  bool fill_memory();
  bool launch(const LaunchSpec& spec, const std::string& name, LaunchTime& time);
  bool bind_references(const LaunchSpec& spec);
  bool bind_texref(const std::string& name, const TextureSpec& texture, const std::string& what);
  bool read_outputs();
  bool copy_level(std::uint32_t index, std::uint32_t level, std::byte* host, bool to_array);
  bool surface_object(std::uint32_t index, std::uint32_t level, Object& object);
  std::uint64_t handle(std::uint32_t position);

  const Manifest& manifest_;
  const RunOptions& options_;
  Api api_;
  RunResult result_;
  DeviceNumber device_ = 0;
  bool context_ = false;
  bool broken_ = false;  // a trap ended the context: nothing can be freed
  ModuleHandle module_ = nullptr;
  std::vector<std::string> kernels_;  // by launch
  std::vector<ArrayState> arrays_;
  std::vector<DevicePointer> buffers_;
  std::vector<Object> textures_;
  EventHandle begin_ = nullptr, end_ = nullptr;
};

CudaRunner::~CudaRunner() {
  if (!context_) return;
  if (!broken_) {
    for (DevicePointer pointer : buffers_)
      if (pointer) api_.mem_free(pointer);
    for (ArrayState& array : arrays_) {
      if (array.mipmap) {
        api_.mipmap_destroy(array.mipmap);
      } else {
        for (ArrayHandle level : array.levels) api_.array_destroy(level);
      }
    }
    if (begin_) api_.event_destroy(begin_);
    if (end_) api_.event_destroy(end_);
  }
  api_.context_release(device_);
}

bool CudaRunner::check(Result result, const std::string& what, Exit exit) {
  if (result == 0) return true;
  const char *name = nullptr, *text = nullptr;
  if (api_.error_name) api_.error_name(result, &name);
  if (api_.error_text) api_.error_text(result, &text);
  result_.exit = exit;
  result_.error = what + ": " + (name ? name : fmt::format("error {}", result)) +
                  (text ? std::string(", ") + text : "");
  return false;
}

bool CudaRunner::open_device() {
  std::string reason;
  if (!manifest_.samplers.empty()) {
    result_.exit = Exit::usage;
    result_.error = manifest_.file + ": error: CUDA has no samplers of their own; take textures";
    return false;
  }
  if (!load_api(api_, reason)) {
    result_.exit = Exit::no_device;
    result_.error = "no CUDA device: " + reason;
    return false;
  }
  int count = 0, wanted = -1;
  if (!check(api_.init(0), "no CUDA device", Exit::no_device)) return false;
  if (!check(api_.device_count(&count), "no CUDA device", Exit::no_device)) return false;
  for (int k = 0; k < count && wanted < 0; ++k) {
    char name[256] = {};
    api_.device_name(name, sizeof name - 1, k);
    if (options_.device.empty() || options_.device == "gpu" ||
        options_.device == std::to_string(k) ||
        std::string(name).find(options_.device) != std::string::npos)
      wanted = k;
  }
  if (wanted < 0) {
    result_.exit = Exit::no_device;
    result_.error = count ? "no CUDA device is called " + options_.device
                          : "no CUDA device: the driver lists none";
    return false;
  }
  char name[256] = {};
  int version = 0;
  if (!check(api_.device_get(&device_, wanted), "no CUDA device", Exit::no_device)) return false;
  api_.device_name(name, sizeof name - 1, device_);
  api_.driver_version(&version);
  result_.device = fmt::format("{}, CUDA {}.{}", name, version / 1000, version % 1000 / 10);
  Context context = nullptr;
  if (!check(api_.context_retain(&context, device_), "the CUDA device does not start",
             Exit::no_device))
    return false;
  context_ = true;
  return check(api_.context_current(context), "the CUDA device does not start", Exit::no_device) &&
         check(api_.event_create(&begin_, 0), "no event") &&
         check(api_.event_create(&end_, 0), "no event");
}

bool CudaRunner::load_modules() {
  std::string log(16384, '\0');
  // An option's value stands in the pointer itself.
  int keys[] = {kJitErrorLog, kJitErrorLogBytes, kJitLevel};
  void* values[] = {log.data(), reinterpret_cast<void*>(log.size() - 1),
                    reinterpret_cast<void*>(std::uintptr_t(options_.jit_level.value_or(4)))};
  const unsigned options = options_.jit_level ? 3 : 2;
  const auto failed = [&](Result result, const std::string& file) {
    if (check(result, file + ": the driver refuses the module", Exit::translation)) return false;
    log.resize(std::strlen(log.c_str()));
    if (!log.empty()) result_.error += "\n" + log;
    return true;
  };
  std::vector<std::string> texts;
  if (const std::string error = read_modules(manifest_, texts); !error.empty()) {
    result_.exit = Exit::usage;
    result_.error = error;
    return false;
  }
  kernels_ = kernel_names(manifest_, texts);
  if (texts.size() == 1)
    return !failed(api_.module_load(&module_, texts[0].c_str(), options, keys, values),
                   manifest_.modules[0]);
  LinkState link = nullptr;
  if (failed(api_.link_create(options, keys, values, &link), manifest_.modules[0])) return false;
  for (std::size_t k = 0; k < texts.size(); ++k)
    if (failed(api_.link_add(link, kInputPtx, texts[k].data(), texts[k].size() + 1,
                             manifest_.modules[k].c_str(), 0, nullptr, nullptr),
               manifest_.modules[k]))
      return false;
  void* image = nullptr;
  std::size_t bytes = 0;
  if (failed(api_.link_complete(link, &image, &bytes), manifest_.modules[0])) return false;
  return !failed(api_.module_load(&module_, image, 0, nullptr, nullptr), manifest_.modules[0]);
}

bool CudaRunner::make_arrays() {
  for (const SurfaceSpec& spec : manifest_.surfaces) {
    const ArrayDesc& desc = spec.desc;
    Array3DDescriptor form;
    form.width = desc.width;
    form.format = array_format(desc.format, desc.channels);
    form.channels = desc.channels;
    form.flags = kSurfaceLoadStore;
    const Geometry g = desc.geometry;
    if (g == Geometry::d2 || g == Geometry::d3 || g == Geometry::a2d) form.height = desc.height;
    if (g == Geometry::d3) form.depth = desc.depth;
    if (g == Geometry::a1d || g == Geometry::a2d) {
      form.depth = desc.layers;
      form.flags |= kLayered;
    }
    ArrayState& state = arrays_.emplace_back();
    state.objects.resize(desc.levels);
    const std::string what = spec.init.where + "the CUDA array";
    bool mipmapped = desc.levels != 1;
    for (const TextureSpec& texture : manifest_.textures) {
      if (texture.buffer || &manifest_.surfaces[texture.surface] != &spec) continue;
      if (texture.desc.cube)
        form.flags = kSurfaceLoadStore | kCubemap | (desc.layers > 6 ? kLayered : 0);
      if (g == Geometry::d2) form.flags |= kGather;
      mipmapped = mipmapped || texture.desc.mipmapped;
    }
    const auto create = [&] {
      if (mipmapped) return api_.mipmap_create(&state.mipmap, &form, desc.levels);
      state.levels.resize(1);
      return api_.array_create(state.levels.data(), &form);
    };
    Result made = create();
    if (made && form.flags & kGather) {  // arrays beyond gathers' limits
      form.flags &= ~kGather;
      made = create();
    }
    if (!check(made, what)) return state.levels.clear(), false;
    if (mipmapped) {
      state.levels.resize(desc.levels);
      for (std::uint32_t level = 0; level < desc.levels; ++level)
        if (!check(api_.mipmap_level(&state.levels[level], state.mipmap, level), what))
          return false;
    }
  }
  return true;
}

bool CudaRunner::make_textures() {
  for (const BufferSpec& spec : manifest_.buffers)
    if (!check(api_.mem_alloc(&buffers_.emplace_back(), spec.bytes),
               spec.init.where + "the memory"))
      return false;
  for (const TextureSpec& spec : manifest_.textures) {
    ResourceDescriptor resource{};
    if (spec.buffer) {
      const TextureMemory& memory = spec.memory;
      const DevicePointer pointer = buffers_[*spec.buffer] + memory.offset;
      const int format = array_format(memory.format, memory.channels);
      if (memory.height) {
        resource.type = 3;
        resource.pitched = {pointer,      format,        memory.channels,
                            memory.width, memory.height, memory.pitch};
      } else {
        resource.type = 2;
        const std::uint64_t bytes =
            std::uint64_t(memory.width) * memory.channels * format_bytes(memory.format);
        resource.linear = {pointer, format, memory.channels, bytes};
      }
    } else {
      const ArrayState& array = arrays_[spec.surface];
      const bool whole = array.mipmap && !spec.level;
      resource.type = whole ? 1 : 0;
      resource.array = whole ? array.mipmap : array.levels[spec.level.value_or(0)];
    }
    TextureDescriptor form;
    for (int k = 0; k < 3; ++k) form.address[k] = int(spec.desc.address[k]);
    form.filter = spec.desc.linear_filter;
    form.mipmap_filter = spec.desc.linear_mipmap_filter;
    form.flags = (spec.desc.read_as_integer ? kReadAsInteger : 0) |
                 (spec.desc.normalized_coordinates ? kNormalizedCoordinates : 0) |
                 (spec.desc.srgb ? kSrgb : 0) | (spec.desc.seamless_cube ? kSeamless : 0) |
                 (spec.desc.full_trilinear ? kFullTrilinear : 0);
    form.max_anisotropy = spec.desc.max_anisotropy > 1 ? spec.desc.max_anisotropy : 0;
    form.mipmap_bias = spec.desc.mipmap_bias;
    form.min_level = spec.desc.min_level;
    form.max_level = spec.desc.max_level;
    std::copy(spec.desc.border.begin(), spec.desc.border.end(), form.border);
    if (!check(api_.texture_create(&textures_.emplace_back(), &resource, &form, nullptr),
               spec.where + "the texture object"))
      return false;
  }
  return true;
}

bool CudaRunner::surface_object(std::uint32_t index, std::uint32_t level, Object& object) {
  ArrayState& array = arrays_[index];
  if (!array.objects[level]) {
    ResourceDescriptor resource{};
    resource.array = array.levels[level];
    if (!check(api_.surface_create(&array.objects[level], &resource),
               manifest_.surfaces[index].init.where + "the surface object"))
      return false;
  }
  object = array.objects[level];
  return true;
}

std::uint64_t CudaRunner::handle(std::uint32_t position) {
  if (position >= kTextureBase) return textures_[position - kTextureBase];
  Object object = 0;
  surface_object(position, 0, object);
  return object;
}

bool CudaRunner::copy_level(std::uint32_t index, std::uint32_t level, std::byte* host,
                            bool to_array) {
  const ArrayDesc& desc = manifest_.surfaces[index].desc;
  const auto extent = level_extent(desc, level);
  Memcpy3D copy;
  copy.width_bytes = std::size_t(extent[0]) * desc.texel_bytes();
  copy.height = extent[1];
  copy.depth = extent[2];
  ArrayHandle array = arrays_[index].levels[level];
  if (to_array) {
    copy.src_type = kHostMemory;
    copy.src_host = host;
    copy.src_pitch = copy.width_bytes;
    copy.src_height = copy.height;
    copy.dst_type = kArrayMemory;
    copy.dst_array = array;
  } else {
    copy.src_type = kArrayMemory;
    copy.src_array = array;
    copy.dst_type = kHostMemory;
    copy.dst_host = host;
    copy.dst_pitch = copy.width_bytes;
    copy.dst_height = copy.height;
  }
  return check(api_.copy3d(&copy), manifest_.surfaces[index].init.where + "the copy");
}

bool CudaRunner::fill_memory() {
  const auto value = [this](std::uint32_t position) { return handle(position); };
  const auto fail = [&](const std::string& error) {
    if (error.empty()) return result_.exit != Exit::good;
    result_.exit = Exit::usage;
    result_.error = error;
    return true;
  };
  for (std::size_t k = 0; k < manifest_.surfaces.size(); ++k) {
    const SurfaceSpec& spec = manifest_.surfaces[k];
    for (std::uint32_t level = 0; level < spec.desc.levels; ++level) {
      Bytes bytes(level_bytes(spec.desc, level));
      if (level == 0 && fail(make_contents(spec.init, &spec.desc, value, bytes))) return false;
      if (level && level <= spec.level_inits.size()) {
        const ArrayDesc form = level_desc(spec.desc, level);
        if (fail(make_contents(spec.level_inits[level - 1], &form, value, bytes))) return false;
      }
      if (!copy_level(std::uint32_t(k), level, bytes.data(), true)) return false;
    }
  }
  for (std::size_t k = 0; k < buffers_.size(); ++k) {
    const BufferSpec& spec = manifest_.buffers[k];
    Bytes bytes(spec.bytes);
    if (fail(make_contents(spec.init, nullptr, value, bytes))) return false;
    if (!check(api_.to_device(buffers_[k], bytes.data(), bytes.size()),
               spec.init.where + "the copy"))
      return false;
  }
  for (const GlobalSpec& spec : manifest_.globals) {
    DevicePointer pointer = 0;
    std::size_t size = 0;
    if (!check(api_.module_global(&pointer, &size, module_, spec.name.c_str()),
               spec.init.where + "the module's variable"))
      return false;
    Bytes bytes(size);
    if (fail(make_contents(spec.init, nullptr, value, bytes))) return false;
    if (!check(api_.to_device(pointer, bytes.data(), size), spec.init.where + "the copy"))
      return false;
  }
  return true;
}

bool CudaRunner::bind_references(const LaunchSpec& spec) {
  for (const auto& [name, index] : spec.surfrefs) {
    if (!api_.module_surfref || !api_.surfref_array) {
      result_.exit = Exit::usage;
      result_.error = spec.where + "this driver no longer has surface references";
      return false;
    }
    SurfRef reference = nullptr;
    if (!check(api_.module_surfref(&reference, module_, name.c_str()),
               spec.where + "surfref " + name) ||
        !check(api_.surfref_array(reference, arrays_[index].levels[0], 0),
               spec.where + "surfref " + name))
      return false;
  }
  for (const auto& [name, index] : spec.texrefs) {
    if (!api_.module_texref || !api_.texref_array || !api_.texref_mipmap || !api_.texref_format ||
        !api_.texref_linear) {
      result_.exit = Exit::usage;
      result_.error = spec.where + "this driver no longer has texture references";
      return false;
    }
    if (!bind_texref(name, manifest_.textures[index], spec.where + "texref " + name)) return false;
  }
  return true;
}

bool CudaRunner::bind_texref(const std::string& name, const TextureSpec& texture,
                             const std::string& what) {
  constexpr unsigned kOverrideFormat = 1;
  TexRef reference = nullptr;
  if (!check(api_.module_texref(&reference, module_, name.c_str()), what)) return false;
  const TextureDesc& desc = texture.desc;
  Result result = 0;
  const auto set = [&](Result each) {
    if (result == 0) result = each;
  };
  for (int k = 0; k < 3; ++k) set(api_.texref_address(reference, k, int(desc.address[k])));
  set(api_.texref_filter(reference, desc.linear_filter));
  set(api_.texref_flags(reference, (desc.read_as_integer ? kReadAsInteger : 0) |
                                       (desc.normalized_coordinates ? kNormalizedCoordinates : 0) |
                                       (desc.srgb ? kSrgb : 0)));
  std::array<float, 4> border = desc.border;
  if (api_.texref_border) set(api_.texref_border(reference, border.data()));
  if (texture.buffer) {
    const TextureMemory& memory = texture.memory;
    const DevicePointer pointer = buffers_[*texture.buffer] + memory.offset;
    const int format = array_format(memory.format, memory.channels);
    set(api_.texref_format(reference, format, int(memory.channels)));
    if (memory.height) {
      Array2DDescriptor form{memory.width, memory.height, format, memory.channels};
      set(api_.texref_address_2d(reference, &form, pointer, memory.pitch));
    } else {
      std::size_t offset = 0;
      const std::size_t bytes =
          std::size_t(memory.width) * memory.channels * format_bytes(memory.format);
      set(api_.texref_linear(&offset, reference, pointer, bytes));
    }
    return check(result, what);
  }
  const ArrayState& array = arrays_[texture.surface];
  if (array.mipmap && !texture.level) {
    set(api_.texref_mipmap_filter(reference, desc.linear_mipmap_filter));
    set(api_.texref_mipmap_bias(reference, desc.mipmap_bias));
    set(api_.texref_mipmap_clamp(reference, desc.min_level, desc.max_level));
    set(api_.texref_anisotropy(reference, desc.max_anisotropy));
    set(api_.texref_mipmap(reference, array.mipmap, kOverrideFormat));
  } else {
    set(api_.texref_array(reference, array.levels[texture.level.value_or(0)], kOverrideFormat));
  }
  return check(result, what);
}

bool CudaRunner::launch(const LaunchSpec& spec, const std::string& name, LaunchTime& time) {
  const std::string what = spec.where + "kernel " + spec.kernel;
  Function function = nullptr;
  if (!check(api_.module_function(&function, module_, name.c_str()), what)) return false;
  if (spec.shared > 49152 &&
      !check(api_.function_attribute(function, kMaxDynamicShared, int(spec.shared)), what))
    return false;
  if (!bind_references(spec)) return false;
  // The driver reads as many bytes as the kernel declares, however many the manifest gives.
  std::vector<Bytes> values;
  std::vector<void*> pointers;
  for (const ArgSpec& arg : spec.args) {
    Bytes value(std::max<std::size_t>(4096, arg.bytes.size() + 256));
    std::uint64_t word = 0;
    Object object = 0;
    switch (arg.kind) {
      case ArgSpec::Kind::surface:
        if (!surface_object(arg.index, arg.level, object)) return false;
        word = object;
        break;
      case ArgSpec::Kind::sampler: break;  // refused by open_device()
      case ArgSpec::Kind::texture: word = textures_[arg.index]; break;
      case ArgSpec::Kind::buffer: word = buffers_[arg.index] + arg.offset; break;
      case ArgSpec::Kind::bytes:
        std::memcpy(value.data(), arg.bytes.data(), arg.bytes.size());
        break;
    }
    if (arg.kind != ArgSpec::Kind::bytes) std::memcpy(value.data(), &word, 8);
    values.push_back(std::move(value));
  }
  for (Bytes& value : values) pointers.push_back(value.data());
  for (std::uint32_t k = 0; k < spec.repeat; ++k) {
    const double start = now_ms();
    api_.event_record(begin_, nullptr);
    if (!check(
            api_.launch(function, spec.grid.x, spec.grid.y, spec.grid.z, spec.block.x, spec.block.y,
                        spec.block.z, spec.shared, nullptr, pointers.data(), nullptr),
            what))
      return false;
    api_.event_record(end_, nullptr);
    if (!options_.time && k + 1 < spec.repeat) continue;
    if (!check(api_.synchronize(), what, Exit::trap)) {
      broken_ = true;
      return false;
    }
    float milliseconds = 0;
    if (api_.event_elapsed(&milliseconds, begin_, end_) == 0)
      time.device_ms.push_back(milliseconds);
    time.wall_ms.push_back(now_ms() - start);
  }
  return true;
}

bool CudaRunner::read_outputs() {
  for (const OutputSpec& output : manifest_.outputs) {
    Bytes& bytes = result_.outputs.emplace_back();
    if (output.kind == OutputSpec::Kind::surface) {
      bytes.resize(level_bytes(manifest_.surfaces[output.index].desc, output.level));
      if (!copy_level(output.index, output.level, bytes.data(), false)) return false;
    } else if (output.kind == OutputSpec::Kind::buffer) {
      bytes.resize(manifest_.buffers[output.index].bytes);
      if (!check(api_.to_host(bytes.data(), buffers_[output.index], bytes.size()),
                 output.where + "the copy"))
        return false;
    } else {
      DevicePointer pointer = 0;
      std::size_t size = 0;
      if (!check(api_.module_global(&pointer, &size, module_, output.name.c_str()),
                 output.where + "the module's variable"))
        return false;
      bytes.resize(size);
      if (!check(api_.to_host(bytes.data(), pointer, size), output.where + "the copy"))
        return false;
    }
  }
  return true;
}

RunResult CudaRunner::run() {
  const double start = now_ms();
  if (!open_device() || !load_modules()) return std::move(result_);
  const double opened = now_ms();
  result_.setup_ms = opened - start;
  if (!make_arrays() || !make_textures() || !fill_memory()) return std::move(result_);
  const double filled = now_ms();
  result_.upload_ms = filled - opened;
  for (std::size_t k = 0; k < manifest_.launches.size(); ++k) {
    if (!launch(manifest_.launches[k], kernels_[k], result_.launches.emplace_back()))
      return std::move(result_);
    if (options_.progress) options_.progress(k + 1);
  }
  const double launched = now_ms();
  result_.launch_ms = launched - filled;
  if (read_outputs()) result_.download_ms = now_ms() - launched;
  return std::move(result_);
}

}  // namespace

RunResult run_cuda(const Manifest& manifest, const RunOptions& options) {
  return CudaRunner(manifest, options).run();
}

double now_ms() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace ptx2spv::tools
