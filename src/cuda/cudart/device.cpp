// Errors, devices and their properties.
#include <cstring>
#include <type_traits>

#include "src/cuda/cudart/face.hpp"

namespace ptx2spv::cuda {

namespace {

thread_local CUresult g_last = eSuccess;

CUresult sticky() {
  auto& stack = context_stack();
  if (stack.empty() || !stack.back()) return eSuccess;
  return static_cast<CUresult>(stack.back()->sticky.load());
}

/// A field's value out of device attributes, from `first` on.
template <class T>
void set_field(DeviceObject& device, int first, T& field) {
  if constexpr (std::is_array_v<T>) {
    for (std::size_t i = 0; first && i < std::extent_v<T>; ++i)
      set_field(device, first + static_cast<int>(i), field[i]);
  } else if constexpr (std::is_arithmetic_v<T>) {
    if (first) field = static_cast<T>(device_attribute(device, first).value_or(0));
  }
}

void fill_attributes(DeviceObject& device, cudaDeviceProp& p) {
#define PTX2SPV_FIELD_0(attribute, name)
#define PTX2SPV_FIELD_1(attribute, name) set_field(device, DeviceAttribute::attribute, p.name);
#if PTX2SPV_CUDART >= 13
#define PTX2SPV_PROP(since12, since13, attribute, type, name, count) \
  PTX2SPV_FIELD_##since13(attribute, name)
#else
#define PTX2SPV_PROP(since12, since13, attribute, type, name, count) \
  PTX2SPV_FIELD_##since12(attribute, name)
#endif
#include "src/cuda/device_properties.def"
}

CUresult properties(cudaDeviceProp& p, int ordinal) {
  if (CUresult code = initialize(); code != eSuccess) return code;
  DeviceObject* device = device_at(ordinal);
  if (!device) return fail(eInvalidDevice, "no such device");
  if (CUresult code = open_device(*device); code != eSuccess) return code;
  std::memset(static_cast<void*>(&p), 0, sizeof p);
  std::strncpy(p.name, device_name(*device).c_str(), sizeof p.name - 1);
  std::memcpy(p.uuid.bytes, device->uuid.data(), 16);
  p.totalGlobalMem = total_memory(*device);
  fill_attributes(*device, p);
  return eSuccess;
}

CUresult with_device(int ordinal, DeviceObject*& device) {
  if (CUresult code = initialize(); code != eSuccess) return code;
  device = device_at(ordinal);
  return device ? open_device(*device) : fail(eInvalidDevice, "no such device");
}

}  // namespace

CUresult keep(CUresult code) {
  // Of what is not over yet, cudaGetLastError says nothing.
  if (code == eSuccess || code == eNotReady) return code;
  g_last = code;
  log_returned(code);
  return code;
}

extern "C" {

CUresult cudaGetLastError() {
  const CUresult code = std::exchange(g_last, eSuccess);
  const CUresult stuck = sticky();
  return stuck != eSuccess ? stuck : code;
}

CUresult cudaPeekAtLastError() {
  const CUresult stuck = sticky();
  return stuck != eSuccess ? stuck : g_last;
}

PTX2SPV_EXPORT const char* cudaGetErrorName(CUresult code) {
  const ErrorRow* row = find_error(code);
  return row && *row->runtime ? row->runtime : "unrecognized error code";
}

PTX2SPV_EXPORT const char* cudaGetErrorString(CUresult code) {
  const ErrorRow* row = find_error(code);
  return row && *row->runtime ? row->text : "unrecognized error code";
}

CUresult cudaGetDeviceCount(int* count) {
  if (!count) return keep(eInvalidValue);
  const CUresult code = initialize();
  *count = code == eSuccess ? device_count() : 0;
  return keep(code);
}

CUresult cudaSetDevice(int ordinal) {
  if (CUresult code = initialize(); code != eSuccess) return keep(code);
  DeviceObject* device = device_at(ordinal);
  if (!device) return keep(fail(eInvalidDevice, "no such device"));
  runtime_device() = ordinal;
  ContextObject* primary = nullptr;
  if (CUresult code = retain_primary(*device, primary); code != eSuccess) return keep(code);
  auto& stack = context_stack();
  auto context = tables().contexts.find(primary);
  if (stack.empty())
    stack.push_back(std::move(context));
  else
    stack.back() = std::move(context);
  return keep(static_cast<CUresult>(primary->sticky.load()));
}

CUresult cudaInitDevice(int ordinal, unsigned device_flags, unsigned flags) {
  constexpr unsigned kFlagsAreValid = 1;
  const bool valid = flags & kFlagsAreValid;
  if (valid && device_flags & ~0x7fu) return keep(eInvalidValue);
  DeviceObject* device = nullptr;
  CUresult code = with_device(ordinal, device);
  if (code == eSuccess && valid) device->primary_flags = device_flags;
  ContextObject* primary = nullptr;
  if (code == eSuccess) code = retain_primary(*device, primary);
  return keep(code);
}

CUresult cudaGetDevice(int* ordinal) {
  if (!ordinal) return keep(eInvalidValue);
  if (CUresult code = initialize(); code != eSuccess) return keep(code);
  auto& stack = context_stack();
  *ordinal = !stack.empty() && stack.back() ? stack.back()->device->ordinal : runtime_device();
  return eSuccess;
}

CUresult cudaSetValidDevices(int* devices, int count) {
  if (CUresult code = initialize(); code != eSuccess) return keep(code);
  if (count < 0 || (count && !devices)) return keep(eInvalidValue);
  for (int i = 0; i < count; ++i)
    if (!device_at(devices[i])) return keep(eInvalidValue);
  if (count) runtime_device() = devices[0];
  return eSuccess;
}

CUresult cudaGetDeviceProperties(cudaDeviceProp* prop, int ordinal) {
  if (!prop) return keep(eInvalidValue);
  cudaDeviceProp full;
  if (CUresult code = properties(full, ordinal); code != eSuccess) return keep(code);
#if PTX2SPV_CUDART < 13
  // Under this name programs of CUDA 11 ask, whose struct ends where CUDA 12's goes on.
  std::memcpy(static_cast<void*>(prop), &full, offsetof(cudaDeviceProp, hostRegisterSupported));
#else
  *prop = full;
#endif
  return eSuccess;
}

PTX2SPV_IF_12(CUresult cudaGetDeviceProperties_v2(cudaDeviceProp* prop, int ordinal) {
  if (!prop) return keep(eInvalidValue);
  return keep(properties(*prop, ordinal));
})

CUresult cudaDeviceGetAttribute(int* value, int attribute, int ordinal) {
  if (!value) return keep(eInvalidValue);
  DeviceObject* device = nullptr;
  if (CUresult code = with_device(ordinal, device); code != eSuccess) return keep(code);
  auto found = device_attribute(*device, attribute);
  if (!found) return keep(fail(eInvalidValue, "no such attribute"));
  *value = *found;
  return eSuccess;
}

CUresult cudaChooseDevice(int* ordinal, const cudaDeviceProp* wanted) {
  if (!ordinal || !wanted) return keep(eInvalidValue);
  if (CUresult code = initialize(); code != eSuccess) return keep(code);
  // As CUDA: the device that has what is named, else the first.
  *ordinal = 0;
  for (int i = 0; i < device_count(); ++i)
    if (std::strncmp(device_name(*device_at(i)).c_str(), wanted->name, sizeof wanted->name) == 0 &&
        wanted->name[0]) {
      *ordinal = i;
      break;
    }
  return eSuccess;
}

CUresult cudaDeviceReset() {
  if (CUresult code = initialize(); code != eSuccess) return keep(code);
  auto& stack = context_stack();
  DeviceObject* device =
      !stack.empty() && stack.back() ? stack.back()->device : device_at(runtime_device());
  if (!device) return keep(eInvalidDevice);
  g_last = eSuccess;
  // After a trap the reset takes the error away, but the process has no device any more.
  if (sticky() != eSuccess) {
    stack.back()->sticky = eDevicesUnavailable;
    return eSuccess;
  }
  return keep(release_primary(*device, true));
}

CUresult cudaSetDeviceFlags(unsigned flags) {
  // The lowest three bits are ways to wait, of which there is one.
  const unsigned wait = flags & 7;
  if ((flags & ~0x7fu) || (wait & (wait - 1))) return keep(eInvalidValue);
  if (CUresult code = initialize(); code != eSuccess) return keep(code);
  if (DeviceObject* device = device_at(runtime_device())) device->primary_flags = flags;
  return eSuccess;
}

CUresult cudaDeviceGetByPCIBusId(int* ordinal, const char* text) {
  if (!ordinal || !text) return keep(eInvalidValue);
  if (CUresult code = initialize(); code != eSuccess) return keep(code);
  for (int i = 0; i < device_count(); ++i) {
    if (has_bus_id(*device_at(i), text)) {
      *ordinal = i;
      return eSuccess;
    }
  }
  // An address that no device has is another error than a text that is none.
  unsigned domain = 0, bus = 0, slot = 0;
  const bool address = std::sscanf(text, "%x:%x:%x", &domain, &bus, &slot) == 3 ||
                       std::sscanf(text, "%x:%x", &bus, &slot) == 2;
  return keep(address ? eInvalidDevice : eInvalidValue);
}

CUresult cudaDeviceGetTexture1DLinearMaxWidth(std::size_t* width, const cudaChannelFormatDesc* desc,
                                              int ordinal) {
  if (!width || !desc) return keep(eInvalidValue);
  DeviceObject* device = nullptr;
  if (CUresult code = with_device(ordinal, device); code != eSuccess) return keep(code);
  *width = std::size_t{1} << 28;
  return eSuccess;
}

}  // extern "C"

}  // namespace ptx2spv::cuda
