// Which devices a CUDA program sees, and what is said of them.
#include <pthread.h>
#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

#include "ptx2spv/limits.hpp"
#include "src/array/shared_memory.hpp"
#include "src/cuda/core/backlog.hpp"
#include "src/cuda/core/core.hpp"
#include "src/cuda/core/crashes.hpp"
#include "src/device/device.hpp"
#include "src/device/host_limits.hpp"
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
CUresult add_opened(Devices& list, const char* variable, std::string name) {
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

/// As that, without opening it.
CUresult add_listed(Devices& list, const char* variable, std::string name) {
  DeviceOptions options;
  options.select = name;
  const auto found = list_devices(options);
  if (found)
    for (const DeviceInfo& info : *found)
      if (info.usable && info.rejection.empty()) {
        add(list, info, std::move(name));
        return eSuccess;
      }
  say(fmt::format("{}: no usable device matches '{}'", variable, name));
  return eNoDevice;
}

using AddSelected = CUresult (*)(Devices& list, const char* variable, std::string name);

constexpr const char* kVariable = "PTX2SPV_DEVICES";

/// The devices of PTX2SPV_DEVICES: each entry is a selection, and one named twice is two devices.
/// All of them, or none.
CUresult add_named(Devices& list, std::string_view names, AddSelected add_selected) {
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

/// The process's number among those that a launcher of parallel programs started on this machine.
std::optional<std::size_t> local_rank() {
  // Slurm sets its own for a batch script, too: the launcher that the script starts goes before.
  for (const char* variable :
       {"OMPI_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
        "PALS_LOCAL_RANKID", "FLUX_TASK_LOCAL_ID", "LOCAL_RANK", "SLURM_LOCALID"}) {
    const char* text = std::getenv(variable);
    if (!text) continue;
    const std::string_view digits(text);
    std::size_t value = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (read.ec == std::errc() && read.ptr == digits.data() + digits.size()) return value;
  }
  return std::nullopt;
}

/// What `rank` takes in turns when no devices follow it: the GPUs, or the CPU device that a program
/// would get, since another one is the same processor.
std::string devices_for_ranks() {
  const auto found = list_devices();
  std::string names;
  if (found)
    for (const DeviceInfo& info : *found)
      if (info.usable && info.kind != DeviceKind::cpu)
        names += fmt::format("{}index:{}", names.empty() ? "" : ",", info.index);
  return names.empty() ? "cpu" : names;
}

/// The one of the named devices whose turn it is for this rank.
CUresult add_by_rank(Devices& list, std::string names, AddSelected add_selected) {
  const auto rank = local_rank();
  if (!rank) {
    say(fmt::format("{}: rank: no launcher says which of its processes this is", kVariable));
    return eNoDevice;
  }
  if (names.empty()) names = devices_for_ranks();
  const auto count = static_cast<std::size_t>(std::ranges::count(names, ',')) + 1;
  std::size_t at = 0;
  for (std::size_t i = 0; i < *rank % count; ++i) at = names.find(',', at) + 1;
  return add_named(list, std::string_view(names).substr(at, names.find(',', at) - at),
                   add_selected);
}

CUresult find_devices(Devices& list, AddSelected add_selected) {
  auto names = runtime::option_text(runtime::Option::devices);
  constexpr std::string_view kRank = "rank";
  if (names == kRank) return add_by_rank(list, {}, add_selected);
  if (names.starts_with("rank,"))
    return add_by_rank(list, std::string(names.substr(kRank.size() + 1)), add_selected);
  if (!names.empty()) return add_named(list, names, add_selected);
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
    if (info.usable) add(list, info, fmt::format("index:{}", info.index));
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
  const int own = part() ? part()->capability : 75;
  if (!text.empty())
    say_once(fmt::format("PTX2SPV_CUDA_ARCH: '{}' is no compute capability; {}.{} is reported",
                         text, own / 10, own % 10));
  return own;
}

/// What compute capabilities bound (src/cuda/parts.def).
struct Limits {
  int capability, threads, blocks, shared_kib, reserved_kib, double_ratio;
};
constexpr Limits kLimits[] = {
#define LIMITS(...) {__VA_ARGS__},
#include "src/cuda/parts.def"
};

constexpr Part kParts[] = {
#define PART(word, name, capability, bytes, mib, processors, cache, mhz, memory, bus, source) \
  {#word, name, capability, bytes, mib, processors, cache, mhz, memory, bus},
#include "src/cuda/parts.def"
};

static_assert(std::ranges::all_of(kParts, [](const Part& part) {
  return std::ranges::count(kLimits, part.capability, &Limits::capability) == 1;
}));

const Part* read_part() {
  const auto word = runtime::option_text(runtime::Option::cuda_as);
  if (word.empty()) return nullptr;
  const auto* found =
      std::ranges::find_if(kParts, [&](const Part& each) { return each.word == word; });
  if (found != std::end(kParts)) return found;
  say(fmt::format("PTX2SPV_CUDA_AS: there is no part '{}'; devices say what they are", word));
  return nullptr;
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
  devices().status = find_devices(devices(), add_opened);
  std::atexit(print_statistics);
  if (!runtime::option_text(runtime::Option::sanitize).empty())
    ::on_exit(finish_sanitizer, nullptr);
  // A child has none of the drivers' threads: what it gave them would never be done.
  ::pthread_atfork(nullptr, nullptr, [] { g_forked.store(true, std::memory_order_release); });
  g_initialized.store(true, std::memory_order_release);
  return devices().status;
}

const std::vector<std::unique_ptr<DeviceObject>>& listed_devices() {
  static auto* list = [] {
    auto* made = new Devices;
    made->status = find_devices(*made, add_listed);
    return made;
  }();
  return list->all;
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
  if (object.open.load(std::memory_order_acquire)) return eSuccess;
  std::lock_guard lock(object.mutex);
  if (!object.device) {
    DeviceOptions options;
    options.select = object.select;
    auto device = Device::open(options);
    if (!device) {
      const Error& error = device.error();
      // A setting is wrong, which the call's arguments do not show; the log would say it anyway.
      if (error.code == ErrorCode::invalid_argument &&
          !runtime::option_flag(runtime::Option::cuda_log, false))
        say_once(error.text);
      return report(error);
    }
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
  object.registers = object.shared_addresses || runtime::imports_pages(*object.device->state());
  object.maps_memory = object.shared_addresses || object.device->state()->heap.binds();
  if (!object.managed) {
    auto host = Buffer::create(*object.device, 256, BufferMemory::host);
    object.managed = host && reinterpret_cast<std::uint64_t>(host->mapped()) == host->address();
  }
  object.open.store(true, std::memory_order_release);
  return eSuccess;
}

int compute_capability() {
  static const int value = read_capability();
  return value;
}

bool capability_is_chosen() {
  return part() || !runtime::option_text(runtime::Option::cuda_arch).empty();
}

const Part* part() {
  static const Part* const value = read_part();
  return value;
}

std::string device_name(const DeviceObject& device) {
  return part() ? part()->name : device.info.name;
}

std::uint64_t total_memory(const DeviceObject& device) {
  return part() ? part()->bytes : device.info.memory_bytes;
}

std::uint64_t nvml_memory(const DeviceObject& device) {
  return part() ? static_cast<std::uint64_t>(part()->nvml_mib) << 20 : total_memory(device);
}

std::string pci_bus_id(const DeviceObject& device) {
  return fmt::format("0000:{:02X}:00.0", device.ordinal + 1);
}

bool has_bus_id(const DeviceObject& device, const std::string& text) {
  const std::string id = "0000" + pci_bus_id(device);
  for (const std::size_t start : {0, 4, 9})
    if (::strcasecmp(id.c_str() + start, text.c_str()) == 0) return true;
  return false;
}

namespace {

/// Where the driver does not tell, a number that grids may be made of.
int own_multiprocessors(const DeviceObject& device) {
  if (device.info.multiprocessors) return static_cast<int>(device.info.multiprocessors);
  if (device.info.kind != DeviceKind::cpu) return 32;
  return static_cast<int>(runtime::host_processors());
}
int own_threads(const DeviceObject& device) {
  const std::uint32_t told = device.info.multiprocessor_threads;
  return told ? static_cast<int>(told) : 1024;
}

int multiprocessors(const DeviceObject& device) {
  return part() ? part()->processors : own_multiprocessors(device);
}

/// Of the part that devices say they are, or `own`.
int of_part(int Part::*value, int own) { return part() ? part()->*value : own; }
int of_part(int Limits::*value, int own) {
  if (!part()) return own;
  return std::ranges::find(kLimits, part()->capability, &Limits::capability)->*value;
}
int shared_of_processor() {
  return of_part(&Limits::shared_kib, static_cast<int>(limits::kSharedOfProcessor >> 10)) << 10;
}
int reserved_shared() { return of_part(&Limits::reserved_kib, 0) << 10; }
int most_shared() {
  return part() ? shared_of_processor() - reserved_shared() : static_cast<int>(limits::kShared);
}

int shares_memory(const DeviceObject& device) {
  return device.info.kind == DeviceKind::cpu || device.info.kind == DeviceKind::integrated;
}

/// Whether kernels may take any memory of the host. The sanitizer knows allocations alone.
int pageable(const DeviceObject& device) {
  return device.shared_addresses && runtime::option_text(runtime::Option::sanitize).empty();
}

}  // namespace

// All blocks of a GPU's cooperative launch have to be there at once; a CPU runs any number.
int resident_multiprocessors(const DeviceObject& device) {
  const int all = multiprocessors(device);
  return device.info.kind == DeviceKind::cpu ? all : std::min(all, own_multiprocessors(device));
}

std::optional<int> device_attribute(DeviceObject& device, int attribute) {
  const bool shared = device.shared_addresses;
  switch (attribute) {
#define ATTRIBUTE(number, name, value) \
  case number:                         \
    return value;
#include "src/cuda/device_attributes.def"
#undef ATTRIBUTE  // for clang-format
    default: return std::nullopt;
  }
}

}  // namespace ptx2spv::cuda
