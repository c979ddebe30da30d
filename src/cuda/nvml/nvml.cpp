// NVIDIA's management library, as far as programs ask it before they use devices: which there are,
// their names, identities and memory. What it would measure (load, temperature, power, processes)
// is answered as not supported. It opens no device, so that a child of fork may.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <type_traits>

#include <fmt/format.h>

#include "src/cuda/core/core.hpp"

#define PTX2SPV_EXPORT __attribute__((visibility("default")))

namespace ptx2spv::cuda {

namespace {

#define PTX2SPV_NVML_RETURNS(X)                \
  X(success, 0, "Success")                     \
  X(uninitialized, 1, "Uninitialized")         \
  X(invalid_argument, 2, "Invalid Argument")   \
  X(not_supported_here, 3, "Not Supported")    \
  X(not_found, 6, "Not Found")                 \
  X(insufficient_size, 7, "Insufficient Size") \
  X(unknown, 999, "Unknown Error")

enum Return : int {
#define PTX2SPV_CODE(name, code, text) name = code,
  PTX2SPV_NVML_RETURNS(PTX2SPV_CODE)
#undef PTX2SPV_CODE
};

/// The driver of CUDA 13.0, which the libraries stand for.
constexpr const char* kDriver = "580.00.00";
constexpr const char* kLibrary = "13.580.00.00";

std::atomic<int> g_users{0};

struct Memory {
  unsigned long long total, free, used;
};
struct Memory2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
/// What all versions have; programs built for the older ones have room for that and no more.
struct PciInfo {
  char legacy[16];
  unsigned domain, bus, device, device_id, subsystem_id;
};
struct PciInfo2 : PciInfo {
  unsigned reserved[4];
};
struct PciInfo3 : PciInfo {
  char id[32];
};
static_assert(sizeof(PciInfo2) == 52 && sizeof(PciInfo3) == 68);

int give(const std::string& text, char* out, unsigned bytes) {
  if (!out) return invalid_argument;
  if (text.size() + 1 > bytes) return insufficient_size;
  std::memcpy(out, text.c_str(), text.size() + 1);
  return success;
}

std::string uuid_of(const DeviceObject& device) {
  std::string text = "GPU-";
  for (std::size_t i = 0; i < device.uuid.size(); ++i)
    text +=
        fmt::format("{}{:02x}", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", device.uuid[i]);
  return text;
}

/// Bytes that are free in the machine, for devices that use its memory.
std::uint64_t available() {
  std::ifstream in("/proc/meminfo");
  for (std::string word; in >> word;) {
    std::uint64_t kib = 0;
    if (word == "MemAvailable:" && in >> kib) return kib << 10;
  }
  return 0;
}

Memory memory_of(const DeviceObject& device) {
  Memory memory{nvml_memory(device), 0, 0};
  const bool shares = device.info.kind == DeviceKind::cpu;
  memory.free = shares ? std::min<std::uint64_t>(memory.total, available()) : memory.total;
  memory.used = memory.total - memory.free;
  return memory;
}

/// Runs `function(device)` for a handle, which is the device's address.
template <class F>
int with(void* handle, F&& function) {
  if (g_users.load() <= 0) return uninitialized;
  for (const auto& each : listed_devices())
    if (each.get() == handle) return function(*each);
  return invalid_argument;
}

template <class F>
int find(void** found, F&& is_it) {
  if (g_users.load() <= 0) return uninitialized;
  if (!found) return invalid_argument;
  for (const auto& each : listed_devices())
    if (is_it(*each)) {
      *found = each.get();
      return success;
    }
  return not_found;
}

int begin() {
  (void)listed_devices();
  ++g_users;
  return success;
}

int count(unsigned* number) {
  if (g_users.load() <= 0) return uninitialized;
  if (!number) return invalid_argument;
  *number = static_cast<unsigned>(listed_devices().size());
  return success;
}

int by_index(unsigned index, void** found) {
  const int code = find(
      found, [&](const DeviceObject& each) { return each.ordinal == static_cast<int>(index); });
  return code == not_found ? invalid_argument : code;
}

int by_bus(const char* id, void** found) {
  const std::string text = id ? id : "";
  return find(found, [&](const DeviceObject& each) { return has_bus_id(each, text); });
}

template <class Info>
int pci_info(void* handle, Info* info) {
  if (!info) return invalid_argument;
  return with(handle, [&](const DeviceObject& device) {
    *info = {};
    std::snprintf(info->legacy, sizeof info->legacy, "%s", pci_bus_id(device).c_str());
    if constexpr (std::is_same_v<Info, PciInfo3>)
      std::snprintf(info->id, sizeof info->id, "0000%s", info->legacy);
    info->bus = static_cast<unsigned>(device.ordinal + 1);
    return static_cast<int>(success);
  });
}

}  // namespace

extern "C" {

PTX2SPV_EXPORT int nvmlInit() { return begin(); }
PTX2SPV_EXPORT int nvmlInit_v2() { return begin(); }
PTX2SPV_EXPORT int nvmlInitWithFlags(unsigned) { return begin(); }
PTX2SPV_EXPORT int nvmlShutdown() {
  if (g_users.load() <= 0) return uninitialized;
  --g_users;
  return success;
}

PTX2SPV_EXPORT const char* nvmlErrorString(int code) {
  switch (code) {
#define PTX2SPV_TEXT(name, code, text) \
  case name: return text;
    PTX2SPV_NVML_RETURNS(PTX2SPV_TEXT)
#undef PTX2SPV_TEXT
    default: return "Unknown Error";
  }
}

PTX2SPV_EXPORT int nvmlSystemGetDriverVersion(char* text, unsigned bytes) {
  return g_users.load() > 0 ? give(kDriver, text, bytes) : uninitialized;
}
PTX2SPV_EXPORT int nvmlSystemGetNVMLVersion(char* text, unsigned bytes) {
  return give(kLibrary, text, bytes);
}
PTX2SPV_EXPORT int nvmlSystemGetCudaDriverVersion(int* version) {
  if (!version) return invalid_argument;
  *version = kVersion;
  return success;
}
PTX2SPV_EXPORT int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  return nvmlSystemGetCudaDriverVersion(version);
}

PTX2SPV_EXPORT int nvmlDeviceGetCount(unsigned* number) { return count(number); }
PTX2SPV_EXPORT int nvmlDeviceGetCount_v2(unsigned* number) { return count(number); }
PTX2SPV_EXPORT int nvmlDeviceGetHandleByIndex(unsigned index, void** found) {
  return by_index(index, found);
}
PTX2SPV_EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** found) {
  return by_index(index, found);
}
PTX2SPV_EXPORT int nvmlDeviceGetHandleByUUID(const char* uuid, void** found) {
  return find(found, [&](const DeviceObject& each) { return uuid && uuid == uuid_of(each); });
}
PTX2SPV_EXPORT int nvmlDeviceGetHandleByPciBusId(const char* id, void** found) {
  return by_bus(id, found);
}
PTX2SPV_EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char* id, void** found) {
  return by_bus(id, found);
}

PTX2SPV_EXPORT int nvmlDeviceGetName(void* handle, char* text, unsigned bytes) {
  return with(handle,
              [&](const DeviceObject& device) { return give(device_name(device), text, bytes); });
}
PTX2SPV_EXPORT int nvmlDeviceGetUUID(void* handle, char* text, unsigned bytes) {
  return with(handle,
              [&](const DeviceObject& device) { return give(uuid_of(device), text, bytes); });
}
PTX2SPV_EXPORT int nvmlDeviceGetIndex(void* handle, unsigned* index) {
  return with(handle, [&](const DeviceObject& device) -> int {
    if (!index) return invalid_argument;
    *index = static_cast<unsigned>(device.ordinal);
    return success;
  });
}
PTX2SPV_EXPORT int nvmlDeviceGetMinorNumber(void* handle, unsigned* number) {
  return nvmlDeviceGetIndex(handle, number);
}
PTX2SPV_EXPORT int nvmlDeviceGetPciInfo(void* handle, PciInfo2* info) {
  return pci_info(handle, info);
}
PTX2SPV_EXPORT int nvmlDeviceGetPciInfo_v2(void* handle, PciInfo2* info) {
  return pci_info(handle, info);
}
PTX2SPV_EXPORT int nvmlDeviceGetPciInfo_v3(void* handle, PciInfo3* info) {
  return pci_info(handle, info);
}
PTX2SPV_EXPORT int nvmlDeviceGetMemoryInfo(void* handle, Memory* memory) {
  return with(handle, [&](const DeviceObject& device) -> int {
    if (!memory) return invalid_argument;
    *memory = memory_of(device);
    return success;
  });
}
PTX2SPV_EXPORT int nvmlDeviceGetMemoryInfo_v2(void* handle, Memory2* memory) {
  return with(handle, [&](const DeviceObject& device) -> int {
    if (!memory) return invalid_argument;
    const Memory found = memory_of(device);
    *memory = {memory->version, found.total, 0, found.free, found.used};
    return success;
  });
}
PTX2SPV_EXPORT int nvmlDeviceGetCudaComputeCapability(void* handle, int* major, int* minor) {
  return with(handle, [&](const DeviceObject&) -> int {
    if (!major || !minor) return invalid_argument;
    *major = compute_capability() / 10;
    *minor = compute_capability() % 10;
    return success;
  });
}

#define PTX2SPV_NOT_SUPPORTED(name)                                                                \
  PTX2SPV_EXPORT int name(void* handle) {                                                          \
    return with(handle, [](const DeviceObject&) { return static_cast<int>(not_supported_here); }); \
  }
PTX2SPV_NOT_SUPPORTED(nvmlDeviceGetUtilizationRates)
PTX2SPV_NOT_SUPPORTED(nvmlDeviceGetTemperature)
PTX2SPV_NOT_SUPPORTED(nvmlDeviceGetPowerUsage)
PTX2SPV_NOT_SUPPORTED(nvmlDeviceGetEnforcedPowerLimit)
PTX2SPV_NOT_SUPPORTED(nvmlDeviceGetPowerManagementLimit)
PTX2SPV_NOT_SUPPORTED(nvmlDeviceGetTotalEnergyConsumption)
PTX2SPV_NOT_SUPPORTED(nvmlDeviceGetFanSpeed)
PTX2SPV_NOT_SUPPORTED(nvmlDeviceGetClockInfo)
PTX2SPV_NOT_SUPPORTED(nvmlDeviceGetMaxClockInfo)
PTX2SPV_NOT_SUPPORTED(nvmlDeviceGetPersistenceMode)
PTX2SPV_NOT_SUPPORTED(nvmlDeviceGetComputeMode)
PTX2SPV_NOT_SUPPORTED(nvmlDeviceGetEccMode)
PTX2SPV_NOT_SUPPORTED(nvmlDeviceGetMigMode)
PTX2SPV_NOT_SUPPORTED(nvmlDeviceGetNvLinkState)
PTX2SPV_NOT_SUPPORTED(nvmlDeviceGetComputeRunningProcesses)
PTX2SPV_NOT_SUPPORTED(nvmlDeviceGetComputeRunningProcesses_v2)
PTX2SPV_NOT_SUPPORTED(nvmlDeviceGetComputeRunningProcesses_v3)
PTX2SPV_NOT_SUPPORTED(nvmlDeviceGetGraphicsRunningProcesses)
PTX2SPV_NOT_SUPPORTED(nvmlDeviceGetGraphicsRunningProcesses_v2)
PTX2SPV_NOT_SUPPORTED(nvmlDeviceGetGraphicsRunningProcesses_v3)

}  // extern "C"

}  // namespace ptx2spv::cuda
