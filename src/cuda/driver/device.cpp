// Errors, devices, primary contexts and contexts.
#include <cstring>

#include "src/cuda/driver/face.hpp"

namespace ptx2spv::cuda {

namespace {

CUresult push(const std::shared_ptr<ContextObject>& context) {
  context_stack().push_back(context);
  return eSuccess;
}

}  // namespace

CUresult make_context(CUcontext* made, unsigned flags, CUdevice ordinal) {
  if (!made || (flags & ~0x7fu)) return fail(eInvalidValue, "no place for a context, or bad flags");
  return with_device(ordinal, [&](DeviceObject& device) -> CUresult {
    std::shared_ptr<ContextObject> context;
    if (CUresult code = create_context(device, flags, context); code != eSuccess) return code;
    *made = context.get();
    return push(context);
  });
}

namespace {

/// The context of a function that came with CUDA 13, for which null is the current one. Programs of
/// older versions look for the newest name of a function, and leave the argument out that it added:
/// what stands in its place is no context.
template <class F>
CUresult with_given(const char* function, CUcontext given, F&& what) {
  if (given)
    if (auto context = tables().contexts.find(given)) return what(*context);
  if (given)
    say_once(std::string(function) +
             " was given what is no context. A program for CUDA 12 or older (numba is one) gives "
             "none, and gets the current one");
  return call([&](ContextObject& context) { return what(context); });
}

}  // namespace

extern "C" {

CUresult cuGetErrorName(CUresult code, const char** name) {
  const ErrorRow* row = find_error(code);
  if (!name) return eInvalidValue;
  *name = row && *row->driver ? row->driver : nullptr;
  return *name ? eSuccess : eInvalidValue;
}

CUresult cuGetErrorString(CUresult code, const char** text) {
  const ErrorRow* row = find_error(code);
  if (!text) return eInvalidValue;
  *text = row && *row->driver ? row->text : nullptr;
  return *text ? eSuccess : eInvalidValue;
}

CUresult cuInit(unsigned flags) {
  if (flags) return fail(eInvalidValue, "cuInit takes no flags");
  return initialize();
}

CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice ordinal) {
  if (!uuid) return eInvalidValue;
  return with_device(ordinal, [&](DeviceObject& device) {
    std::memcpy(uuid->bytes, device.uuid.data(), 16);
    return eSuccess;
  });
}

CUresult cuDeviceGetAttribute(int* value, int attribute, CUdevice ordinal) {
  if (!value) return eInvalidValue;
  return with_device(ordinal, [&](DeviceObject& device) -> CUresult {
    if (CUresult code = open_device(device); code != eSuccess) return code;
    auto found = device_attribute(device, attribute);
    if (!found) return fail(eInvalidValue, "no such attribute of a device");
    *value = *found;
    return eSuccess;
  });
}

CUresult cuDeviceGetProperties(CUdevprop* prop, CUdevice ordinal) {
  if (!prop) return eInvalidValue;
  return with_device(ordinal, [&](DeviceObject& device) {
    const auto get = [&](int number) { return device_attribute(device, number).value_or(0); };
    using A = DeviceAttribute;
    *prop = {get(A::MAX_THREADS_PER_BLOCK),
             {get(A::MAX_BLOCK_DIM_X), get(A::MAX_BLOCK_DIM_Y), get(A::MAX_BLOCK_DIM_Z)},
             {get(A::MAX_GRID_DIM_X), get(A::MAX_GRID_DIM_Y), get(A::MAX_GRID_DIM_Z)},
             get(A::MAX_SHARED_MEMORY_PER_BLOCK),
             get(A::TOTAL_CONSTANT_MEMORY),
             get(A::WARP_SIZE),
             get(A::MAX_PITCH),
             get(A::MAX_REGISTERS_PER_BLOCK),
             get(A::CLOCK_RATE),
             get(A::TEXTURE_ALIGNMENT)};
    return eSuccess;
  });
}

CUresult cuDeviceGetByPCIBusId(CUdevice* ordinal, const char* text) {
  if (!ordinal || !text) return eInvalidValue;
  if (!initialized()) return why_not_initialized();
  for (int i = 0; i < device_count(); ++i) {
    if (!has_bus_id(*device_at(i), text)) continue;
    *ordinal = i;
    return eSuccess;
  }
  return fail(eInvalidDevice, "no device has that bus");
}

// ------------------------------------------------------------------------------ primary contexts

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice ordinal, unsigned flags) {
  if (flags & ~0x7fu) return eInvalidValue;
  return with_device(ordinal, [&](DeviceObject& device) {
    std::lock_guard lock(device.mutex);
    device.primary_flags = flags;
    if (device.primary) device.primary->flags = flags;
    return eSuccess;
  });
}

CUresult cuDevicePrimaryCtxGetState(CUdevice ordinal, unsigned* flags, int* active) {
  if (!flags || !active) return eInvalidValue;
  return with_device(ordinal, [&](DeviceObject& device) {
    std::lock_guard lock(device.mutex);
    *flags = device.primary_flags;
    *active = device.primary != nullptr;
    return eSuccess;
  });
}

// -------------------------------------------------------------------------------------- contexts

CUresult cuCtxCreate_v3(CUcontext* made, void*, int affinities, unsigned flags, CUdevice device) {
  if (affinities)
    return not_supported("cuCtxCreate with affinities", "devices are not partitioned");
  return make_context(made, flags, device);
}
CUresult cuCtxCreate_v4(CUcontext* made, void* params, unsigned flags, CUdevice device) {
  // CUctxCreateParams: affinities, their number, and a pointer to CIG parameters.
  struct Params {
    void* affinities;
    int count;
    void* shared;
  };
  const auto* given = static_cast<const Params*>(params);
  if (given && (given->count || given->shared))
    return not_supported("cuCtxCreate with parameters", "devices are not partitioned");
  return make_context(made, flags, device);
}

CUresult cuCtxDestroy_v2(CUcontext context) {
  if (!initialized()) return why_not_initialized();
  if (!context) return fail(eInvalidValue, "no context");
  return with(tables().contexts, context, [](ContextObject& object) -> CUresult {
    if (object.primary) return fail(eDeviceUninitialized, "a primary context is released");
    const CUresult code = destroy_context(object);
    auto& stack = context_stack();
    if (!stack.empty() && stack.back().get() == &object) stack.pop_back();
    return code;
  });
}

CUresult cuCtxPushCurrent_v2(CUcontext context) {
  if (!initialized()) return why_not_initialized();
  if (!context) return fail(eInvalidValue, "no context");
  auto object = tables().contexts.find(context);
  return object ? push(object) : fail(eDeviceUninitialized, "no such context");
}

CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  if (!initialized()) return why_not_initialized();
  auto& stack = context_stack();
  if (stack.empty()) return fail(eDeviceUninitialized, "no context is current");
  if (context) *context = stack.back().get();
  stack.pop_back();
  return eSuccess;
}

CUresult cuCtxSetCurrent(CUcontext context) {
  if (!initialized()) return why_not_initialized();
  auto& stack = context_stack();
  if (!context) {
    if (!stack.empty()) stack.pop_back();
    return eSuccess;
  }
  auto object = tables().contexts.find(context);
  if (!object) return fail(eDeviceUninitialized, "no such context");
  if (stack.empty())
    stack.push_back(std::move(object));
  else
    stack.back() = std::move(object);
  return eSuccess;
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  if (!context) return eInvalidValue;
  if (!initialized()) return why_not_initialized();
  auto& stack = context_stack();
  *context = stack.empty() ? nullptr : stack.back().get();
  return eSuccess;
}

CUresult cuCtxGetDevice_v2(CUdevice* ordinal, CUcontext context) {
  if (!ordinal) return eInvalidValue;
  return with_given("cuCtxGetDevice_v2", context, [&](ContextObject& object) {
    *ordinal = object.device->ordinal;
    return eSuccess;
  });
}

CUresult cuCtxSynchronize_v2(CUcontext context) {
  return with_given("cuCtxSynchronize_v2", context, [](ContextObject& object) {
    const CUresult code = begin_wait(object);
    return code == eSuccess ? wait_for(object) : code;
  });
}

}  // extern "C"

}  // namespace ptx2spv::cuda
