// nvidia-smi, as far as scripts use it to see which devices there are. ptxexec puts it first on the
// path.
#include <array>
#include <cstdio>
#include <string>
#include <vector>

struct PciPlace {
  char legacy[16];
  unsigned numbers[5];
  char id[32];
};

extern "C" {
int nvmlInit_v2();
int nvmlSystemGetDriverVersion(char* text, unsigned bytes);
int nvmlSystemGetCudaDriverVersion_v2(int* version);
int nvmlDeviceGetCount_v2(unsigned* count);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device);
int nvmlDeviceGetName(void* device, char* text, unsigned bytes);
int nvmlDeviceGetUUID(void* device, char* text, unsigned bytes);
int nvmlDeviceGetPciInfo_v3(void* device, PciPlace* info);
int nvmlDeviceGetMemoryInfo(void* device, unsigned long long* total_free_used);
int nvmlDeviceGetCudaComputeCapability(void* device, int* major, int* minor);
}

namespace {

struct Gpu {
  unsigned index = 0;
  std::string name, uuid, bus, capability;
  unsigned long long memory[3] = {};  // total, free, used
};

std::string g_driver;
std::string g_only;  ///< indices, identities or places of the devices that count; empty: all
unsigned g_count = 0;

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text)
    if (c == ',')
      parts.emplace_back();
    else if (c != ' ')
      parts.back() += c;
  return parts;
}

bool is_asked_for(const Gpu& gpu) {
  for (const std::string& each : parts_of(g_only))
    if (each == std::to_string(gpu.index) || each == gpu.uuid || each == gpu.bus) return true;
  return g_only.empty();
}

std::vector<Gpu> gpus() {
  char text[96] = "";
  std::vector<Gpu> all;
  if (nvmlInit_v2() || nvmlDeviceGetCount_v2(&g_count)) return all;
  if (nvmlSystemGetDriverVersion(text, sizeof text) == 0) g_driver = text;
  for (unsigned i = 0; i < g_count; ++i) {
    void* device = nullptr;
    if (nvmlDeviceGetHandleByIndex_v2(i, &device)) continue;
    Gpu gpu;
    gpu.index = i;
    if (nvmlDeviceGetName(device, text, sizeof text) == 0) gpu.name = text;
    if (nvmlDeviceGetUUID(device, text, sizeof text) == 0) gpu.uuid = text;
    PciPlace info{};
    if (nvmlDeviceGetPciInfo_v3(device, &info) == 0) gpu.bus = info.id;
    int major = 0, minor = 0;
    nvmlDeviceGetCudaComputeCapability(device, &major, &minor);
    gpu.capability = std::to_string(major) + "." + std::to_string(minor);
    nvmlDeviceGetMemoryInfo(device, gpu.memory);
    if (is_asked_for(gpu)) all.push_back(gpu);
  }
  return all;
}

std::string mib(unsigned long long bytes, bool units) {
  return std::to_string(bytes >> 20) + (units ? " MiB" : "");
}

/// The value of a field of --query-gpu; false: there is no such field. What nobody measures is N/A.
bool field(const std::string& name, const Gpu& gpu, bool units, std::string& value) {
  constexpr std::array<const char*, 8> kNobodys = {
      "utilization.gpu", "utilization.memory", "temperature.gpu", "power.draw",
      "power.limit",     "fan.speed",          "clocks.sm",       "clocks.mem"};
  if (name == "name" || name == "gpu_name")
    value = gpu.name;
  else if (name == "uuid" || name == "gpu_uuid")
    value = gpu.uuid;
  else if (name == "index")
    value = std::to_string(gpu.index);
  else if (name == "count")
    value = std::to_string(g_count);
  else if (name == "driver_version")
    value = g_driver;
  else if (name == "compute_cap")
    value = gpu.capability;
  else if (name == "pci.bus_id" || name == "gpu_bus_id")
    value = gpu.bus;
  else if (name == "memory.total")
    value = mib(gpu.memory[0], units);
  else if (name == "memory.free")
    value = mib(gpu.memory[1], units);
  else if (name == "memory.used")
    value = mib(gpu.memory[2], units);
  else {
    for (const char* each : kNobodys)
      if (name == each) return value = "[N/A]", true;
    return false;
  }
  return true;
}

int query(const std::string& fields, const std::string& format) {
  const std::vector<Gpu> all = gpus();
  const bool units = format.find("nounits") == format.npos;
  const std::vector<std::string> names = parts_of(fields);
  std::string value, header;
  for (const std::string& each : names) {
    if (!field(each, {}, units, value)) {
      std::printf("Field \"%s\" is not a valid field to query.\n", each.c_str());
      return 2;
    }
    header += (header.empty() ? "" : ", ") + each;
    if (units && each.starts_with("memory.")) header += " [MiB]";
  }
  if (format.find("noheader") == format.npos) std::printf("%s\n", header.c_str());
  for (const Gpu& gpu : all) {
    std::string line;
    for (const std::string& each : names) {
      field(each, gpu, units, value);
      line += (line.empty() ? "" : ", ") + value;
    }
    std::printf("%s\n", line.c_str());
  }
  return all.empty() ? 6 : 0;
}

int list() {
  const std::vector<Gpu> all = gpus();
  for (const Gpu& gpu : all)
    std::printf("GPU %u: %s (UUID: %s)\n", gpu.index, gpu.name.c_str(), gpu.uuid.c_str());
  return all.empty() ? 6 : 0;
}

int table() {
  const std::vector<Gpu> all = gpus();
  if (all.empty()) return std::puts("No devices were found"), 6;
  int version = 0;
  nvmlSystemGetCudaDriverVersion_v2(&version);
  std::printf("NVIDIA-SMI of ptx2spv    Driver Version: %s    CUDA Version: %d.%d\n",
              g_driver.c_str(), version / 1000, version % 1000 / 10);
  for (const Gpu& gpu : all)
    std::printf("| %3u  %-36s | %s | %9s / %9s |\n", gpu.index, gpu.name.substr(0, 36).c_str(),
                gpu.bus.c_str(), (std::to_string(gpu.memory[2] >> 20) + "MiB").c_str(),
                (std::to_string(gpu.memory[0] >> 20) + "MiB").c_str());
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  std::string fields, format;
  bool lists = false;
  for (int i = 1; i < count; ++i) {
    const std::string word = arguments[i];
    if (word == "-L" || word == "--list-gpus")
      lists = true;
    else if (word == "-i" && i + 1 < count)
      g_only = arguments[++i];
    else if (word.starts_with("-i=") || word.starts_with("--id="))
      g_only = word.substr(word.find('=') + 1);
    else if (word.starts_with("--query-gpu="))
      fields = word.substr(12);
    else if (word.starts_with("--format="))
      format = word.substr(9);
    else {
      std::fprintf(stderr,
                   "nvidia-smi of ptx2spv has -L, -i and --query-gpu=FIELDS --format=csv, not %s\n",
                   word.c_str());
      return 2;
    }
  }
  if (lists) return list();
  if (fields.empty()) return table();
  if (!format.starts_with("csv")) return std::puts("\"--format=\" is missing csv."), 2;
  return query(fields, format);
}
