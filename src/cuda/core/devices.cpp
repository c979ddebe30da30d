// Which devices a CUDA program sees, and what is said of them.
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <fmt/format.h>

#include "ptx2spv/limits.hpp"
#include "src/cuda/core/backlog.hpp"
#include "src/cuda/core/core.hpp"
#include "src/cuda/core/crashes.hpp"
#include "src/device/device.hpp"
#include "src/options.hpp"

namespace ptx2spv::cuda {

namespace {

struct Devices {
  CUresult status = eInitializationError;
  std::vector<std::unique_ptr<DeviceObject>> all;
};

std::atomic<bool> g_initialized{false}, g_ended{false}, g_forked{false};
pid_t g_user = 0;  ///< the process that opened the devices

Devices& devices() {
  static auto* list = new Devices;
  return *list;
}

void add(Devices& list, const DeviceInfo& info, std::string select) {
  auto device = std::make_unique<DeviceObject>();
  device->ordinal = static_cast<int>(list.all.size());
  device->select = std::move(select);
  device->info = info;
  device->uuid = info.uuid;
  // One Vulkan device may be several of CUDA's, which programs tell apart by this number.
  const auto same = [&](const auto& each) { return each->info.uuid == info.uuid; };
  if (std::ranges::any_of(list.all, same))
    device->uuid[15] ^= static_cast<std::uint8_t>(device->ordinal);
  list.all.push_back(std::move(device));
}

/// Opening the device of one selection spares the drivers of the others.
CUresult add_selected(Devices& list, const char* variable, std::string name) {
  DeviceOptions options;
  options.select = name;
  auto device = Device::open(options);
  if (!device) {
    say(fmt::format("{}: {}", variable, device.error().to_string()));
    return eNoDevice;
  }
  add(list, device->info(), std::move(name));
  list.all.back()->device = std::move(*device);
  return eSuccess;
}

/// The devices of PTX2SPV_DEVICES: each entry is a selection, and one named twice is two devices.
/// All of them, or none.
CUresult add_named(Devices& list, std::string_view names) {
  constexpr const char* kVariable = "PTX2SPV_DEVICES";
  CUresult code = eSuccess;
  for (std::size_t at = 0; code == eSuccess && at <= names.size();) {
    const std::size_t comma = std::min(names.find(',', at), names.size());
    std::string name(names.substr(at, comma - at));
    at = comma + 1;
    if (name.find_first_not_of(' ') == std::string::npos) {
      say(fmt::format("{}: '{}' has an empty name", kVariable, names));
      code = eNoDevice;
    } else {
      code = add_selected(list, kVariable, std::move(name));
    }
  }
  if (code != eSuccess) list.all.clear();
  return code;
}

CUresult find_devices(Devices& list) {
  if (auto names = runtime::option_text(runtime::Option::devices); !names.empty())
    return add_named(list, names);
  if (const auto name = runtime::option_text(runtime::Option::device); !name.empty())
    return add_selected(list, "PTX2SPV_DEVICE", std::string(name));
  auto found = list_devices();
  if (!found) {
    say(found.error().to_string());
    return eNoDevice;
  }
  // list_devices gives a reason to every device but the one that it would choose; `usable` says
  // what the device itself can do.
  for (const DeviceInfo& info : *found)
    if (info.usable) add(list, info, "index:" + std::to_string(info.index));
  if (list.all.empty()) {
    for (const DeviceInfo& info : *found) say(info.name + " cannot be used: " + info.rejection);
    return eNoDevice;
  }
  return eSuccess;
}

void print_statistics() {
  if (!runtime::option_flag(runtime::Option::cuda_statistics, false)) return;
  for (const auto& each : devices().all) {
    std::lock_guard lock(each->mutex);
    if (!each->device) continue;
    const DeviceStatistics s = each->device->statistics();
    say(fmt::format(
        "device {} ({}): {} launches, {} of them interpreted, {} translations, {} from the cache, "
        "{:.1f} ms of reading and translating PTX, {} pipelines in {:.1f} ms, {} bytes in use",
        each->ordinal, each->info.name, s.launches, s.interpreted_launches, s.translations,
        s.translation_cache_hits, s.translation_ms, s.pipelines, s.pipeline_ms, s.memory_used));
  }
}

/// Says what the sanitizer found, once the program is over. A program that thinks it did well ends
/// with the exit code that says otherwise.
void finish_sanitizer(int status, void*) {
  std::string json;
  std::size_t places = 0, leaks = 0;
  std::uint64_t suppressed = 0;
  for (const auto& each : devices().all) {
    if (!each->device) continue;
    const SanitizerReport report = each->device->sanitizer_report();
    places += report.findings.size();
    suppressed += report.suppressed;
    json += (json.empty() ? "[" : ",\n") + report.to_json();
    if ((each->device->state()->checks & check_leaks) != 0) leaks += report_leaks(*each);
  }
  if (const auto file = runtime::option_text(runtime::Option::sanitize_json); !file.empty()) {
    std::FILE* out = std::fopen(std::string(file).c_str(), "w");
    const std::string text = (json.empty() ? "[" : json) + "]\n";
    bool written = out && std::fwrite(text.data(), 1, text.size(), out) == text.size();
    if (out) written = std::fclose(out) == 0 && written;
    if (!written) say(fmt::format("the sanitizer's report cannot be written to {}", file));
  }
  if (suppressed)
    say(fmt::format("findings of the sanitizer that were suppressed: {}", suppressed));
  if (places)
    say(fmt::format("the sanitizer found {} faulty place{}", places, places == 1 ? "" : "s"));
  if ((places == 0 && leaks == 0) || status != 0) return;
  const auto code =
      static_cast<int>(runtime::option_number(runtime::Option::sanitize_exit_code, 4));
  if (code == 0) return;
  std::fflush(nullptr);
  ::_exit(code);
}

/// Waits for what the devices were given: the threads of a CPU driver go on while the process ends,
/// which takes away what they work with. A child of fork has none of these threads.
void finish_devices() {
  if (::getpid() != g_user) return;
  for (const auto& each : devices().all)
    if (each->device) (void)each->device->synchronize();
}

/// A child of fork ends before the handlers of a GPU's driver: NVIDIA's would fail there, and take
/// the device away from the parent.
void end_child(int status, void*) {
  if (::getpid() == g_user) return;
  std::fflush(nullptr);
  ::_exit(status);
}

/// What the process does from here on must not reach drivers: they take themselves away.
void end_devices() {
  if (::getpid() == g_user) stop_backlogs();
  finish_devices();
  g_ended.store(true, std::memory_order_release);
}

int read_capability() {
  const auto text = runtime::option_text(runtime::Option::cuda_arch);
  std::string digits;
  for (char c : text)
    if (c >= '0' && c <= '9') digits += c;
  int value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (value >= 20 && value <= 130) return value;
  if (!text.empty())
    say_once(
        fmt::format("PTX2SPV_CUDA_ARCH: '{}' is no compute capability; 7.5 is reported", text));
  return 75;
}

}  // namespace

Tables& tables() {
  static auto* all = new Tables;
  return *all;
}

std::uint64_t next_id() {
  static std::atomic<std::uint64_t> id{1};
  return id.fetch_add(1);
}

CUresult initialize() {
  if (ended()) return why_not_initialized();
  if (in_host_function()) return eNotPermitted;
  if (g_initialized.load(std::memory_order_acquire)) return devices().status;
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  if (g_initialized.load(std::memory_order_relaxed)) return devices().status;
  devices().status = find_devices(devices());
  std::atexit(print_statistics);
  if (!runtime::option_text(runtime::Option::sanitize).empty())
    ::on_exit(finish_sanitizer, nullptr);
  // A child has none of the drivers' threads: what it gave them would never be done.
  ::pthread_atfork(nullptr, nullptr, [] { g_forked.store(true, std::memory_order_release); });
  g_initialized.store(true, std::memory_order_release);
  return devices().status;
}

void finish_at_exit() {
  static std::atomic<std::uint64_t> given{0};
  const std::uint64_t count = given.fetch_add(1, std::memory_order_relaxed) + 1;
  if (std::has_single_bit(count)) std::atexit(finish_devices);
}

bool initialized() { return g_initialized.load(std::memory_order_acquire) && !ended(); }
bool ended() {
  return g_ended.load(std::memory_order_acquire) || g_forked.load(std::memory_order_acquire);
}
CUresult why_not_initialized() {
  return g_ended.load(std::memory_order_acquire) ? eCudartUnloading : eInitializationError;
}
int device_count() { return static_cast<int>(devices().all.size()); }

DeviceObject* device_at(int ordinal) {
  const auto& all = devices().all;
  if (ordinal < 0 || static_cast<std::size_t>(ordinal) >= all.size()) return nullptr;
  return all[static_cast<std::size_t>(ordinal)].get();
}

CUresult open_device(DeviceObject& object) {
  std::lock_guard lock(object.mutex);
  if (!object.device) {
    DeviceOptions options;
    options.select = object.select;
    auto device = Device::open(options);
    if (!device) return report(device.error());
    object.device = std::move(*device);
  }
  report_crashes(*object.device);
  // Behind the driver's own handlers, so that it runs before them.
  static const bool registered = [] {
    g_user = ::getpid();
    return std::atexit(end_devices) == 0;
  }();
  if (!registered) return fail(eMemoryAllocation, "no room for a handler of the process's end");
  if (object.info.kind != DeviceKind::cpu) {
    static const bool ends_children = ::on_exit(end_child, nullptr) == 0;
    if (!ends_children) return fail(eMemoryAllocation, "no room for a handler of a child's end");
  }
  auto probe = Buffer::create(*object.device, 256);
  if (!probe) return report(probe.error());
  object.shared_addresses =
      reinterpret_cast<std::uint64_t>(probe->mapped()) == probe->address() && probe->address();
  object.managed = object.shared_addresses;
  if (object.managed) return eSuccess;
  auto host = Buffer::create(*object.device, 256, BufferMemory::host);
  object.managed = host && reinterpret_cast<std::uint64_t>(host->mapped()) == host->address();
  return eSuccess;
}

int compute_capability() {
  static const int value = read_capability();
  return value;
}

std::uint64_t total_memory(const DeviceObject& device) { return device.info.memory_bytes; }

std::string pci_bus_id(const DeviceObject& device) {
  return fmt::format("0000:{:02x}:00.0", device.ordinal + 1);
}

namespace {

/// What no Vulkan device tells: a program that asks wants a number that grids may be made of.
int multiprocessors(const DeviceObject& device) {
  if (device.info.kind != DeviceKind::cpu) return 32;
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

struct Attribute {
  int number, value;
};

// CUdevice_attribute by number, where the answer is the same for every device. Extents of textures
// and surfaces are those of compute capability 7.5 as CUDA's programming guide has them, where the
// runtime has no lower limit.
constexpr Attribute kFixed[] = {
    {9, 65536},   {10, 32},      {11, 0x7fffffff}, {12, 65536},  {13, 1000000}, {14, 512},
    {15, 0},      {17, 0},       {20, 0},          {21, 131072}, {22, 131072},  {23, 65536},
    {24, 16384},  {25, 16384},   {26, 16384},      {27, 32768},  {28, 32768},   {29, 2048},
    {30, 512},    {31, 1},       {32, 0},          {34, 0},      {35, 0},       {36, 0},
    {37, 0},      {38, 0},       {39, 1024},       {40, 0},      {42, 32768},   {43, 2048},
    {44, 1},      {45, 32768},   {46, 32768},      {47, 8192},   {48, 8192},    {49, 32768},
    {50, 0},      {51, 32},      {52, 32768},      {53, 32768},  {54, 2046},    {55, 32768},
    {56, 131072}, {57, 65536},   {58, 16384},      {59, 16384},  {60, 16384},   {61, 32768},
    {62, 2048},   {63, 32768},   {64, 32768},      {65, 2048},   {66, 32768},   {67, 32768},
    {68, 2046},   {69, 1 << 28}, {70, 131072},     {71, 65000},  {72, 2097120}, {73, 32768},
    {74, 32768},  {77, 32768},   {78, 0},          {79, 1},      {80, 1},       {82, 65536},
    {84, 0},      {87, 2},       {90, 0},          {92, 0},      {93, 0},       {94, 0},
    {96, 0},      {98, 0},       {103, 0},         {104, 0},     {105, 0},      {106, 16},
    {107, 0},     {108, 0},      {109, 0},         {110, 0},     {111, 0},      {112, 0},
    {114, 0},     {115, 1},      {116, 0},         {117, 0},     {118, 0},      {119, 0},
    {120, 0},     {121, 0},      {122, 1},         {123, 1},     {124, 0},      {125, 0},
    {126, 1},     {127, 0},      {128, 0},         {129, 0},     {130, 0},      {131, -1},
    {132, 0},     {133, 0},      {134, -1},        {135, 0},     {136, 0},      {137, 0},
    {138, 0},     {139, 0},      {140, 0},         {141, 0},     {142, 0},      {143, 0},
    {144, 0},     {145, 0},      {146, 0},         {147, 0}};

/// Whether kernels may take any memory of the host. The sanitizer knows allocations alone.
int pageable(const DeviceObject& device) {
  return device.shared_addresses && runtime::option_text(runtime::Option::sanitize).empty();
}

}  // namespace

std::optional<int> device_attribute(DeviceObject& device, int attribute) {
  const bool shared = device.shared_addresses;
  switch (attribute) {
    case 1: return limits::kThreads;
    case 2:
    case 3:
    case 4: return limits::kBlock[attribute - 2];
    case 5:
    case 6:
    case 7: return limits::kGrid[attribute - 5];
    case 8: return limits::kSharedUnasked;
    case 16: return multiprocessors(device);
    case 18:
      return device.info.kind == DeviceKind::cpu || device.info.kind == DeviceKind::integrated;
    case 19: return 1;                   // mapped host memory
    case 33: return device.ordinal + 1;  // bus
    case 34: return 0;
    case 81: return limits::kSharedOfProcessor;
    case 97: return limits::kShared;
    case 41: return device.managed;  // unified addressing
    case 75: return compute_capability() / 10;
    case 76: return compute_capability() % 10;
    case 83: return device.managed;  // managed memory
    case 85: return device.ordinal;  // board group
    case 86: return shared;          // host-native atomics
    case 88: return pageable(device);
    case 89: return 0;                  // the host may not touch managed memory under a kernel
    case 91: return shared;             // host pointers of registered memory
    case 95: return 1;                  // cooperative launches
    case 99: return shared;             // registering memory
    case 100: return pageable(device);  // by the host's own page tables
    case 101: return shared;            // direct access to managed memory
    case 102: return shared;            // memory that is mapped to addresses
    case 113: return shared;            // read-only registration
    default: break;
  }
  for (const Attribute& each : kFixed)
    if (each.number == attribute) return each.value;
  return std::nullopt;
}

}  // namespace ptx2spv::cuda
