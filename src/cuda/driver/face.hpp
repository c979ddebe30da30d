// What the files of the driver interface share.
#pragma once

#include "src/cuda/face.hpp"

/// The name of a function that both interfaces have (src/cuda/both.hpp).
#define PTX2SPV_BOTH(runtime, driver) driver
#define PTX2SPV_CU(name) cu##name

namespace ptx2spv::cuda {

using CUstreamCallback = void (*)(CUstream stream, CUresult status, void* data);
using CUoccupancyB2DSize = std::size_t (*)(int threads);

// Every function is declared by its row of the table.
extern "C" {
#define PTX2SPV_DRIVER_FUNCTION(base, name, since, variant, ...) PTX2SPV_DECLARE(name, __VA_ARGS__)
#define PTX2SPV_DRIVER_MISSING(base, name, since, variant, reason)
#include "src/cuda/driver/functions.def"
}

inline CUresult keep(CUresult code) { return code; }

/// Runs `function(context)` in the current context.
template <class F>
CUresult call(F&& function) {
  ContextObject* context = nullptr;
  if (CUresult code = enter(context); code != eSuccess) return code;
  return function(*context);
}

template <class F>
CUresult call_in_any(F&& function) {
  ContextObject* context = nullptr;
  if (CUresult code = enter_any(context); code != eSuccess) return code;
  return function(*context);
}

/// Runs `function(context)` with a null pointer where no context is current: of objects that say
/// themselves whose they are.
template <class F>
CUresult call_anywhere(F&& function) {
  ContextObject* context = nullptr;
  if (CUresult code = enter(context, false); code != eSuccess) return code;
  return function(context);
}

template <class F>
CUresult initialized_call(F&& function) {
  return initialized() ? function() : why_not_initialized();
}

/// What `value` says of an object, if there is one.
template <class T, class To, class F>
CUresult describe(const std::shared_ptr<T>& object, To* to, F&& value) {
  if (!object || !to) return eInvalidValue;
  *to = value(*object);
  return eSuccess;
}

/// Runs `function(device)` for an ordinal, after cuInit.
template <class F>
CUresult with_device(CUdevice ordinal, F&& function) {
  if (!initialized()) return why_not_initialized();
  DeviceObject* device = device_at(ordinal);
  if (!device) return fail(eInvalidDevice, "no such device");
  return function(*device);
}

inline CUresult with_function(CUfunction handle,
                              const std::function<CUresult(FunctionObject&)>& function) {
  if (tables().functions.has(handle))
    return call_anywhere([&](ContextObject*) { return function(*handle); });
  return call([&](ContextObject& context) -> CUresult {
    FunctionObject* found = nullptr;
    if (CUresult code = resolve_function(context, handle, found); code != eSuccess) return code;
    return function(*found);
  });
}

inline CUresult in_function(CUkernel handle,
                            const std::function<CUresult(FunctionObject&)>& function) {
  return call_in_any([&](ContextObject& context) -> CUresult {
    auto kernel = tables().kernels.find(handle);
    if (!kernel) return fail(eInvalidResourceHandle, "no such kernel");
    FunctionObject* found = nullptr;
    if (CUresult code = function_of(*kernel, context, found); code != eSuccess) return code;
    return function(*found);
  });
}

template <class F>
CUresult with_texref(CUtexref reference, F&& function) {
  return call_anywhere([&](ContextObject*) {
    return with(tables().texture_refs, reference,
                [&](TextureRefObject& object) -> CUresult { return function(object); });
  });
}

/// The same for what a launch has to see.
template <class F>
CUresult change_texref(CUtexref reference, F&& function) {
  return with_texref(reference, [&](TextureRefObject& object) -> CUresult {
    CUresult code = function(object);
    if (code == eSuccess) object.changed = true;
    return code;
  });
}

template <class Out, class F>
CUresult read_texref(Out* out, CUtexref reference, F&& value) {
  if (!out) return eInvalidValue;
  return with_texref(reference, [&](TextureRefObject& object) {
    *out = static_cast<Out>(value(object));
    return eSuccess;
  });
}

// Operations of a graph's nodes.
CUresult kernel_operation(const CUDA_KERNEL_NODE_PARAMS* params, bool second, Operation& made);
CUresult copy_operation(const CUDA_MEMCPY3D* params, Operation& made);
CUresult generic_operation(CUgraphNodeParams* params, Operation& made);

CUresult copy_in_stream(CUstream handle, const CUDA_MEMCPY3D_PEER& copy_of);
CUresult copy_linear(CUstream stream, void* to, unsigned to_kind, const void* from,
                     unsigned from_kind, std::size_t bytes);
/// A row of an array and memory. `x`: bytes from the row's start.
CUresult copy_row(CUstream stream, CUarray to_array, CUarray from_array, std::size_t to_x,
                  std::size_t from_x, unsigned kind, void* memory, std::size_t bytes);
CUresult fill_in_stream(CUstream handle, CUdeviceptr to, std::size_t pitch, unsigned value,
                        unsigned element, std::size_t width, std::size_t height);

CUresult make_context(CUcontext* made, unsigned flags, CUdevice ordinal);
CUresult pointer_attribute(void* data, int attribute, CUdeviceptr address);
LaunchConfig config_of(Dim3 grid, Dim3 block, unsigned shared);
CUresult enqueue_function(CUfunction handle, const LaunchConfig& config, CUstream stream_handle,
                          void** params, void** extra, bool cooperative);
/// cuLaunchGrid and its kind: block, shared memory and arguments were set before.
CUresult launch_set(CUfunction handle, unsigned width, unsigned height, CUstream stream);
CUresult set_param(CUfunction handle, int offset, const void* value, std::size_t bytes);
CUresult best_block(int* grid, int* block, CUfunction handle, CUoccupancyB2DSize shared_of,
                    std::size_t shared, int limit);

/// Bytes of the value of a launch's attribute.
inline constexpr std::size_t kAttributeBytes = 64;

inline void* pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

}  // namespace ptx2spv::cuda
