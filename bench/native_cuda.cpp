#include "bench/native_cuda.hpp"

#include <chrono>
#include <vector>

#include "tools/common/cuda_api.hpp"

namespace ptx2spv::bench {

using namespace tools::cuda;

struct NativeCuda::State {
  Api api;
  std::string error;
  DeviceNumber device = 0;
  bool context = false;
  ModuleHandle module = nullptr;
  Function function = nullptr;
  EventHandle begin = nullptr, end = nullptr;
  ArrayHandle from = nullptr, to = nullptr;
  Object surfaces[2] = {};
  DevicePointer initial = 0;  ///< the result's first contents
  const Job* job = nullptr;
  std::vector<void*> arguments;

  bool check(int result, const char* what) {
    if (result == 0) return true;
    const char* name = nullptr;
    if (api.error_name) api.error_name(result, &name);
    error = std::string(what) + ": " + (name ? name : std::to_string(result).c_str());
    return false;
  }
  void clear() {
    if (from) api.array_destroy(from);
    if (to) api.array_destroy(to);
    if (initial) api.mem_free(initial);
    from = to = nullptr;
    initial = 0;
  }
  bool make_array(const ArrayDesc& desc, ArrayHandle& array, Object& surface) {
    Array3DDescriptor form;
    form.width = desc.width;
    if (desc.geometry != Geometry::d1) form.height = desc.height;
    if (desc.geometry == Geometry::d3) form.depth = desc.depth;
    if (desc.geometry == Geometry::a2d) form.depth = desc.layers;
    form.format = 0x03;  // 32 bits, unsigned
    form.channels = desc.channels;
    form.flags = kSurfaceLoadStore | (desc.geometry == Geometry::a2d ? kLayered : 0);
    if (!check(api.array_create(&array, &form), "cuArray3DCreate")) return false;
    ResourceDescriptor resource{};
    resource.array = array;
    return check(api.surface_create(&surface, &resource), "cuSurfObjectCreate");
  }
  Memcpy3D copy_of(const ArrayDesc& desc) const {
    Memcpy3D copy;
    copy.width_bytes = std::size_t(desc.width) * desc.texel_bytes();
    copy.height = desc.height;
    copy.depth = std::size_t(desc.depth) * desc.layers;
    copy.src_pitch = copy.dst_pitch = copy.width_bytes;
    copy.src_height = copy.dst_height = copy.height;
    return copy;
  }
  bool launch() {
    const LaunchConfig& config = job->config;
    return check(api.launch(function, config.grid.x, config.grid.y, config.grid.z, config.block.x,
                            config.block.y, config.block.z, 0, nullptr, arguments.data(), nullptr),
                 "cuLaunchKernel");
  }
};

NativeCuda::NativeCuda() : state_(std::make_unique<State>()) {}

NativeCuda::~NativeCuda() {
  State& s = *state_;
  if (!s.context) return;
  s.clear();
  if (s.begin) s.api.event_destroy(s.begin);
  if (s.end) s.api.event_destroy(s.end);
  s.api.context_release(s.device);
}

const std::string& NativeCuda::error() const { return state_->error; }

bool NativeCuda::open(const std::string& name, const std::string& ptx, std::string& reason) {
  State& s = *state_;
  if (!load_api(s.api, reason)) return false;
  int count = 0, found = -1;
  if (s.check(s.api.init(0), "cuInit") && s.check(s.api.device_count(&count), "cuDeviceGetCount"))
    for (int k = 0; k < count && found < 0; ++k) {
      char text[256] = {};
      if (s.api.device_name(text, sizeof text - 1, k) == 0 && name == text) found = k;
    }
  if (found < 0) {
    reason = s.error.empty() ? "the CUDA driver has no device called " + name : s.error;
    return false;
  }
  Context context = nullptr;
  const bool opened = s.check(s.api.device_get(&s.device, found), "cuDeviceGet") &&
                      s.check(s.api.context_retain(&context, s.device), "cuDevicePrimaryCtxRetain");
  s.context = opened;
  if (opened && s.check(s.api.context_current(context), "cuCtxSetCurrent") &&
      s.check(s.api.module_load(&s.module, ptx.c_str(), 0, nullptr, nullptr),
              "cuModuleLoadDataEx") &&
      s.check(s.api.event_create(&s.begin, 0), "cuEventCreate") &&
      s.check(s.api.event_create(&s.end, 0), "cuEventCreate"))
    return true;
  reason = s.error;
  return false;
}

bool NativeCuda::prepare(const Job& job) {
  State& s = *state_;
  s.clear();
  s.job = &job;
  s.arguments.clear();
  if (!s.check(s.api.module_function(&s.function, s.module, job.form.name), job.form.name))
    return false;
  if (job.form.input != Input::none) {
    if (!s.make_array(job.from, s.from, s.surfaces[0])) return false;
    Memcpy3D copy = s.copy_of(job.from);
    copy.src_type = kHostMemory;
    copy.src_host = job.input.data();
    copy.dst_type = kArrayMemory;
    copy.dst_array = s.from;
    if (!s.check(s.api.copy3d(&copy), "cuMemcpy3D")) return false;
    s.arguments.push_back(&s.surfaces[0]);
  }
  if (!s.make_array(job.to, s.to, s.surfaces[1])) return false;
  s.arguments.push_back(&s.surfaces[1]);
  for (const std::uint32_t& argument : job.arguments)
    s.arguments.push_back(const_cast<std::uint32_t*>(&argument));
  const std::vector<std::uint32_t> words(job.to_bytes / 4, job.form.initial);
  return s.check(s.api.mem_alloc(&s.initial, job.to_bytes), "cuMemAlloc") &&
         s.check(s.api.to_device(s.initial, words.data(), job.to_bytes), "cuMemcpyHtoD") && reset();
}

bool NativeCuda::reset() {
  State& s = *state_;
  Memcpy3D copy = s.copy_of(s.job->to);
  copy.src_type = kDeviceMemory;
  copy.src_device = s.initial;
  copy.dst_type = kArrayMemory;
  copy.dst_array = s.to;
  return s.check(s.api.copy3d(&copy), "cuMemcpy3D") &&
         s.check(s.api.synchronize(), "cuCtxSynchronize");
}

double NativeCuda::run() {
  State& s = *state_;
  float milliseconds = -1;
  s.api.event_record(s.begin, nullptr);
  if (!s.launch()) return -1;
  s.api.event_record(s.end, nullptr);
  if (!s.check(s.api.synchronize(), "cuCtxSynchronize")) return -1;
  return s.check(s.api.event_elapsed(&milliseconds, s.begin, s.end), "cuEventElapsedTime")
             ? milliseconds
             : -1;
}

double NativeCuda::latency(int count) {
  State& s = *state_;
  const auto start = std::chrono::steady_clock::now();
  for (int k = 0; k < count; ++k)
    if (!s.launch()) return -1;
  if (!s.check(s.api.synchronize(), "cuCtxSynchronize")) return -1;
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

bool NativeCuda::download(std::span<std::byte> result) {
  State& s = *state_;
  Memcpy3D copy = s.copy_of(s.job->to);
  copy.src_type = kArrayMemory;
  copy.src_array = s.to;
  copy.dst_type = kHostMemory;
  copy.dst_host = result.data();
  return s.check(s.api.copy3d(&copy), "cuMemcpy3D");
}

}  // namespace ptx2spv::bench
