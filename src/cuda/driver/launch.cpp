// Functions, launches in every form, and occupancy.
#include <algorithm>
#include <cstring>

#include "src/cuda/driver/face.hpp"

namespace ptx2spv::cuda {

CUresult enqueue_function(CUfunction handle, const LaunchConfig& config, CUstream stream_handle,
                          void** params, void** extra, bool cooperative) {
  return call_in(stream_handle, [&](ContextObject& context, const auto& stream) -> CUresult {
    FunctionObject* function = nullptr;
    if (CUresult code = resolve_function(context, handle, function); code != eSuccess) return code;
    return enqueue_kernel(stream, *function, config, params, extra, cooperative);
  });
}

LaunchConfig config_of(Dim3 grid, Dim3 block, unsigned shared) {
  LaunchConfig config;
  config.grid = grid;
  config.block = block;
  config.dynamic_shared = shared;
  return config;
}

CUresult launch_set(CUfunction handle, unsigned width, unsigned height, CUstream stream) {
  return with_function(handle, [&](FunctionObject& function) {
    std::size_t bytes = function.params.size();
    void* extra[] = {reinterpret_cast<void*>(std::uintptr_t{1}),
                     function.params.data(),
                     reinterpret_cast<void*>(std::uintptr_t{2}),
                     &bytes,
                     nullptr,
                     nullptr};
    return enqueue_function(&function,
                            config_of({width, height, 1}, function.block, function.shared), stream,
                            nullptr, extra, false);
  });
}

CUresult set_param(CUfunction handle, int offset, const void* value, std::size_t bytes) {
  return with_function(handle, [&](FunctionObject& function) -> CUresult {
    if (offset < 0 || bytes > (1u << 16)) return fail(eInvalidValue, "no such parameter");
    const std::size_t end = static_cast<std::size_t>(offset) + bytes;
    if (end > (1u << 16)) return fail(eInvalidValue, "no such parameter");
    if (function.params.size() < end) function.params.resize(end);
    std::memcpy(function.params.data() + offset, value, bytes);
    return eSuccess;
  });
}

CUresult best_block(int* grid, int* block, CUfunction handle, CUoccupancyB2DSize shared_of,
                    std::size_t shared, int limit) {
  if (!grid || !block) return eInvalidValue;
  return call([&](ContextObject& context) -> CUresult {
    FunctionObject* function = nullptr;
    if (CUresult code = resolve_function(context, handle, function); code != eSuccess) return code;
    int most =
        function_attribute(*function, FunctionAttribute::MAX_THREADS_PER_BLOCK).value_or(1024);
    if (limit > 0) most = std::min(most, limit);
    int best = 0, threads = 0;
    for (int each = (most + 31) / 32 * 32; each > 0; each -= 32) {
      const int tried = std::min(each, most);
      const int blocks = occupancy(*function, tried, shared_of ? shared_of(tried) : shared);
      if (blocks * tried <= best) continue;
      best = blocks * tried;
      threads = tried;
      *grid = blocks;
    }
    if (!best) return fail(eInvalidValue, "no block of the function fits");
    *block = threads;
    *grid *= device_attribute(*context.device, DeviceAttribute::MULTIPROCESSOR_COUNT).value_or(1);
    return eSuccess;
  });
}

extern "C" {

CUresult cuFuncGetAttribute(int* value, int attribute, CUfunction handle) {
  if (!value) return eInvalidValue;
  return with_function(handle, [&](FunctionObject& function) -> CUresult {
    auto found = function_attribute(function, attribute);
    if (!found) return fail(eInvalidValue, "no such attribute of a function");
    *value = *found;
    return eSuccess;
  });
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** params,
                          void** extra) {
  if (!config) return eInvalidValue;
  LaunchAttributes attributes;
  if (CUresult code = read_attributes(config->attrs, config->numAttrs, attributes);
      code != eSuccess)
    return code;
  CUresult code = enqueue_function(
      function,
      config_of({config->gridDimX, config->gridDimY, config->gridDimZ},
                {config->blockDimX, config->blockDimY, config->blockDimZ}, config->sharedMemBytes),
      config->hStream, params, extra, attributes.cooperative);
  return code == eSuccess && attributes.after ? cuEventRecord(attributes.after, config->hStream)
                                              : code;
}

CUresult cuFuncSetBlockShape(CUfunction handle, int x, int y, int z) {
  if (x <= 0 || y <= 0 || z <= 0) return eInvalidValue;
  return with_function(handle, [&](FunctionObject& function) {
    function.block = {static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z)};
    return eSuccess;
  });
}
CUresult cuParamSetSize(CUfunction handle, unsigned bytes) {
  return with_function(handle, [&](FunctionObject& function) -> CUresult {
    if (bytes > (1u << 16)) return fail(eInvalidValue, "too many bytes of parameters");
    function.params.resize(bytes);
    return eSuccess;
  });
}
CUresult cuParamSetTexRef(CUfunction handle, int, CUtexref reference) {
  if (!tables().texture_refs.has(reference)) return eInvalidResourceHandle;
  return with_function(handle, [](FunctionObject&) { return eSuccess; });
}

}  // extern "C"

}  // namespace ptx2spv::cuda
