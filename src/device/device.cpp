// Opening and closing a device.
#include "src/device/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

#include "ptx2spv/text.hpp"
#include "src/cache/disk_cache.hpp"
#include "src/device/calibrate.hpp"
#include "src/device/host_runs.hpp"
#include "src/device/needs.hpp"
#include "src/memory/kernel_heap_name.hpp"
#include "src/options.hpp"

namespace ptx2spv::runtime {

namespace {

Status create_vulkan_device(DeviceState& device) {
  FeatureChain chain;
  query_needs(*device.instance, device.physical, chain);
  const PhysicalTraits& traits = device.traits;
  const bool splits = traits.splits();
  const std::vector<float> priorities(traits.side_queues + 2, 1.0f);
  std::array<VkDeviceQueueCreateInfo, 4> queues{};
  VkDeviceCreateInfo create{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
  create.pNext = &chain.features;
  const auto want = [&](std::uint32_t family, std::uint32_t count) {
    VkDeviceQueueCreateInfo& queue = queues[create.queueCreateInfoCount++];
    queue = {VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
    queue.queueFamilyIndex = family;
    queue.queueCount = count;
    queue.pQueuePriorities = priorities.data();
  };
  want(traits.queue_family, splits ? 1 + traits.side_queues : 1);
  device.families = {traits.queue_family};
  const auto also = [&](std::uint32_t family, std::uint32_t count) {
    want(family, count);
    device.families.push_back(family);
  };
  device.sides.configure(traits.side_family, splits ? 1 : 0, traits.side_queues);
  if (splits) {
    // Kernels that are checked share what the checks note.
    const bool checks = device.checks != no_checks;
    device.queue.add_lanes(checks ? 0 : traits.side_queues);
    if (traits.copy_queues && !checks) {
      also(traits.copy_family, traits.copy_queues);
      device.queue.add_copy_lanes(traits.copy_family, traits.copy_queues);
    }
  } else if (traits.side_queues) {
    also(traits.side_family, traits.side_queues);
  }
  const bool binds = chain.features.features.sparseBinding && traits.binding_family;
  const bool binds_apart = binds && *traits.binding_family != traits.queue_family;
  if (binds_apart) want(*traits.binding_family, 1);
  create.pQueueCreateInfos = queues.data();
  create.enabledExtensionCount = static_cast<std::uint32_t>(chain.names.size());
  create.ppEnabledExtensionNames = chain.names.data();
  VkResult result =
      device.instance->vk.CreateDevice(device.physical, &create, nullptr, &device.handle);
  if (result != VK_SUCCESS) {
    device.handle = VK_NULL_HANDLE;
    return vulkan_error(result, "CreateDevice");
  }
  if (binds)
    device.heap.bind_by(
        reinterpret_cast<PFN_vkQueueBindSparse>(
            device.instance->vk.GetDeviceProcAddr(device.handle, "vkQueueBindSparse")),
        binds_apart ? device.binding_queue : device.queue);
  if (chain.placed.memoryMapPlaced)
    device.heap.map_by(reinterpret_cast<MapMemory2>(
        device.instance->vk.GetDeviceProcAddr(device.handle, "vkMapMemory2KHR")));
  // SwiftShader touches all memory that it allocates: six seconds a GiB.
  if (chain.imports_pages && device.traits.driver == VK_DRIVER_ID_GOOGLE_SWIFTSHADER)
    device.heap.import_pages(reinterpret_cast<PFN_vkGetMemoryHostPointerPropertiesEXT>(
        device.instance->vk.GetDeviceProcAddr(device.handle,
                                              "vkGetMemoryHostPointerPropertiesEXT")));
  return {};
}

}  // namespace

DeviceState::DeviceState() = default;

DeviceState::~DeviceState() {
  synchronous.reset();
  queue.close();
  sides.close();
  binding_queue.close();
  if (!handle) return;
  for (const auto& [key, sampler] : samplers) vk.DestroySampler(handle, sampler, nullptr);
  layouts.clear();
  pipeline_cache.close(*this);
}

namespace {

/// Without device addresses: bytes of the one buffer that all memory of kernels lies in.
std::uint64_t most_bytes_bound(const DeviceState& device) {
  const std::uint64_t mib = option_number(Option::memory_mib, 256);
  std::uint64_t bytes =
      std::min<std::uint64_t>(mib << 20, device.traits.properties.limits.maxStorageBufferRange);
  if (device.traits.max_allocation) bytes = std::min(bytes, device.traits.max_allocation);
  return bytes / Heap::kAlignment * Heap::kAlignment;
}

}  // namespace

void DeviceState::print(std::string_view text) const {
  if (options.print) {
    options.print(text);
    return;
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

void DeviceState::print_finding(std::string_view text) const {
  if (options.report) {
    options.report(text);
    return;
  }
  std::fwrite(text.data(), 1, text.size(), stderr);
}

namespace {

/// The checks of launches that do not say, and what memory needs for them.
Status set_checks(DeviceState& device) {
  std::string unknown;
  const auto asked = parse_checks(option_text(Option::sanitize), unknown);
  if (!asked && !device.options.checks)
    return bad_argument("PTX2SPV_SANITIZE: " + unknown_check(unknown));
  device.kernel_heap.when_made([&device](std::uint64_t address, std::uint64_t bytes) {
    device.allocations.add(address, bytes, true, kKernelHeapName);
  });
  device.grid_workspace.when_made([&device](std::uint64_t address, std::uint64_t bytes) {
    device.allocations.add(address, bytes, true, kGridWorkspaceName);
  });
  device.checks = device.options.checks.value_or(asked.value_or(no_checks));
  auto suppressions = device.options.suppressions
                          ? Suppressions::parse(*device.options.suppressions, "suppressions")
                          : Suppressions::from_environment();
  if (!suppressions) return suppressions.error();
  device.findings.suppress(std::move(*suppressions));
  if (device.checks == no_checks) return {};
  device.heap.set_red_zone(Heap::kAlignment);
  device.allocations.trace(true);
  device.quarantine.open();
  return {};
}

Status set_timeout(DeviceState& device) {
  const std::string_view text = option_text(Option::timeout);
  double seconds = 0;
  if (!text.empty() && (!read_number(text, seconds) || !(seconds >= 0)))
    return bad_argument("PTX2SPV_TIMEOUT: '{}' is no number of seconds", text);
  device.queue.set_timeout(device.options.timeout.value_or(seconds));
  return {};
}

/// In bytes, of kernels' memory.
std::uint64_t largest_allocation(const DeviceState& device) {
  VkPhysicalDeviceMemoryProperties memory{};
  device.instance->vk.GetPhysicalDeviceMemoryProperties(device.physical, &memory);
  const int type = device.heap.pick_type(MemoryKind::device, ~0u);
  const std::uint64_t heap =
      type < 0 ? 0 : memory.memoryHeaps[memory.memoryTypes[type].heapIndex].size;
  const std::uint64_t most = device.traits.max_allocation;
  return most ? std::min(most, heap) : heap;
}

/// The host runs launches where the process reaches the device's memory by the addresses that
/// kernels use.
Status set_executor(DeviceState& device) {
  const std::string_view text = option_text(Option::executor);
  const ExecutorPolicy asked =
      device.options.executor.value_or(text == "host"     ? ExecutorPolicy::host
                                       : text == "device" ? ExecutorPolicy::device
                                                          : ExecutorPolicy::automatic);
  const Memory& memory = device.discard;
  const bool reached = device.heap.unified() && device.profile.features.device_addresses &&
                       reinterpret_cast<std::uint64_t>(memory.mapped()) == memory.address();
  if (!reached && asked == ExecutorPolicy::host)
    return make_error(ErrorCode::unsupported,
                      "the host runs no kernels for {}: it does not reach its memory "
                      "by the addresses that kernels use",
                      device.info.name);
  device.executor = reached ? asked : ExecutorPolicy::device;
  if (reached && device.info.kind == DeviceKind::cpu)
    device.heap.serve_pages(device.info.memory_bytes, largest_allocation(device));
  return {};
}

}  // namespace

Status open_device(DeviceState& device) {
  if (const std::string wrong = wrong_option(); !wrong.empty()) return bad_argument(wrong);
  if (Status status = set_checks(device); !status) return status;
  if (Status status = set_timeout(device); !status) return status;
  if (option_text(Option::filter) == "device") device.filter = FilterPolicy::device;
  if (!device.handle)
    if (Status status = create_vulkan_device(device); !status) return status;
  auto get_device_proc = device.instance->vk.GetDeviceProcAddr;
  if (const char* missing = device.vk.load(get_device_proc, device.handle))
    return make_error(ErrorCode::no_device, "the device has no {}", missing);
  if (Status status = device.queue.open(device.traits.queue_family, device.external_queue); !status)
    return status;
  if (const auto family = device.traits.binding_family;
      device.heap.binds() && *family != device.traits.queue_family)
    if (Status status = device.binding_queue.open(*family, VK_NULL_HANDLE); !status) return status;
  device.queue.set_polls(device.info.kind == DeviceKind::discrete);
  device.heap.configure(device.info.kind == DeviceKind::cpu ||
                        device.info.kind == DeviceKind::integrated);
  if (!device.heap.unified()) device.heap.keep_freed(device.info.memory_bytes / 32);
  const Features& has = device.profile.features;
  if (!device.heap.unified() && has.device_addresses && has.int64 && has.storage8)
    device.copy_kernel.enable(device.traits.properties.limits.maxComputeWorkGroupCount);
  if (!device.profile.features.device_addresses)
    if (Status status = device.heap.without_addresses(most_bytes_bound(device)); !status)
      return status;
  if (Status status = device.surfaces.open(device.heap); !status) return status;
  if (Status status = device.textures.open(device.heap); !status) return status;
  auto locks = device.heap.allocate(MemoryKind::visible, abi::kLockWords * 4);
  if (!locks) return locks.error();
  device.locks = std::move(*locks);
  std::memset(device.locks.mapped(), 0, abi::kLockWords * 4);
  auto discard = device.heap.allocate(MemoryKind::device, 256);
  if (!discard) return discard.error();
  device.discard = std::move(*discard);
  if (Status status = set_executor(device); !status) return status;

  if (device.options.cache.value_or(option_flag(Option::cache, true)))
    device.disk = DiskCache::open(device.options.cache_directory);
  return device.pipeline_cache.open(device);
}

namespace {

/// `names` and those of the setting, which has + between them.
std::vector<std::string> with_option(std::vector<std::string> names, Option option) {
  std::string_view rest = option_text(option);
  while (!rest.empty()) {
    std::size_t plus = rest.find('+');
    if (plus != 0) names.emplace_back(rest.substr(0, plus));
    rest = plus == std::string_view::npos ? std::string_view() : rest.substr(plus + 1);
  }
  return names;
}

/// The float controls that modules declare, by width, and the widths with OpFmaKHR.
struct FloatControls {
  std::array<bool, 3> of16, of32, of64, fma;
  explicit FloatControls(const Features& f)
      : of16{f.preserves_denormals16, f.rounds_even16, f.keeps_specials16},
        of32{f.preserves_denormals32, f.rounds_even32, f.keeps_specials32},
        of64{f.preserves_denormals64, f.rounds_even64, f.keeps_specials64},
        fma{f.shader_fma16, f.shader_fma32, f.shader_fma64} {}
  void put(Features& f) const {
    f.preserves_denormals16 = of16[0], f.rounds_even16 = of16[1], f.keeps_specials16 = of16[2];
    f.preserves_denormals32 = of32[0], f.rounds_even32 = of32[1], f.keeps_specials32 = of32[2];
    f.preserves_denormals64 = of64[0], f.rounds_even64 = of64[1], f.keeps_specials64 = of64[2];
    f.shader_fma16 = fma[0], f.shader_fma32 = fma[1], f.shader_fma64 = fma[2];
  }
};

/// What floats give was asked of modules that declare the device's float controls. Of a width that
/// is to do without one of them nothing is known: an H200's division was seen to be exact with
/// them, and an ulp off in a module without them.
void forget_floats(Profile& profile, const FloatControls& had) {
  const FloatControls now(profile.features);
  auto& e = profile.exactness;
  if (now.of16 != had.of16) e.exact_float16 = false;
  if (now.of32 != had.of32)
    e.denormals32 = e.flushes_denormals32 = e.exact_div32 = e.exact_sqrt32 = e.exact_compare32 =
        e.fused_fma32 = e.fma_denormals32 = e.exact_convert32 = e.canonical_nan32 =
            e.exact_round32 = e.exact_min32 = e.native_approx = e.exact_widen64 = e.exact_narrow64 =
                e.exact_widen16 = e.canonical_nan16 = false;
  if (now.of64 != had.of64)
    e.exact_float64 = e.exact_div64 = e.fused_fma64 = e.second_nan64 = e.nan_signs64 =
        e.exact_round64 = e.exact_widen64 = e.exact_narrow64 = false;
  if (now.fma[0] != had.fma[0]) e.exact_float16 = false;
  if (now.fma[1] != had.fma[1]) e.fused_fma32 = e.fma_denormals32 = false;
  if (now.fma[2] != had.fma[2]) e.fused_fma64 = e.second_nan64 = false;
}

}  // namespace

Status restrict_profile(Profile& profile, const DeviceOptions& options, const std::string& device) {
  const FloatControls controls(profile.features);
  std::string name =
      options.profile.empty() ? std::string(option_text(Option::profile)) : options.profile;
  if (!name.empty() || options.within) {
    auto named = options.within ? options.within : find_profile(name);
    if (!named) return bad_argument("there is no profile '{}'", name);
    for (const Capability& each : capabilities()) {
      // Only what both have, and what either needs.
      if (each.value(*named) != each.best()) each.in(profile) = !each.best();
    }
    // A profile of another device says nothing of what this one gives without them.
    controls.put(profile.features);
    profile.max_workgroup_invocations =
        std::min(profile.max_workgroup_invocations, named->max_workgroup_invocations);
    profile.max_shared_bytes = std::min(profile.max_shared_bytes, named->max_shared_bytes);
    profile.max_slots = std::min(profile.max_slots, named->max_slots);
  }
  auto unknown = [](const std::string& each) {
    return bad_argument("there is no capability '{}'", each);
  };
  for (const std::string& each : with_option(options.disable, Option::disable))
    if (!set_capability(profile, each, false)) return unknown(each);
  for (const std::string& each : with_option(options.enable, Option::enable)) {
    const Capability* capability = find_capability(each);
    if (!capability) return unknown(each);
    if (capability->group != Capability::Group::workaround)
      return bad_argument("'{}' is no workaround: a device has it or has it not", each);
    capability->in(profile) = true;
  }
  forget_floats(profile, controls);
  // What is asked for and not there is not replaced by something slower in silence.
  for (const std::string& each : with_option(options.require, Option::require)) {
    const Capability* capability = find_capability(each);
    if (!capability) return unknown(each);
    if (!capability->value(profile))
      return make_error(ErrorCode::unsupported,
                        "{} lacks the required capability '{}' ({}), or it was disabled", device,
                        each, capability->help);
  }
  return {};
}

namespace {

/// What the device can do, as its driver answers and the options allow.
Status settle_profile(DeviceState& state, const DeviceOptions& options) {
  if (Status status = calibrate(state.traits, state.info, options, state.info.profile); !status)
    return status;
  state.profile = state.info.profile;
  state.options = options;
  state.push_words =
      std::min(state.traits.properties.limits.maxPushConstantsSize / 4, abi::kMostPushWords);
  return restrict_profile(state.profile, options, state.info.name);
}

}  // namespace

}  // namespace ptx2spv::runtime

namespace ptx2spv {

Result<Device> Device::open(const DeviceOptions& options) {
  std::string notes;
  auto candidates = enumerate_candidates(options, notes, false);
  std::string requested =
      options.select.empty() ? std::string(option_text(Option::device)) : options.select;
  int chosen = select_candidate(candidates, requested);
  if (chosen < 0) {
    std::string text = requested.empty() ? "no Vulkan device can be used"
                                         : fmt::format("no usable device matches '{}'", requested);
    for (const Candidate& each : candidates)
      text += fmt::format("; {}: {}", each.info.name, each.info.rejection);
    if (!notes.empty()) text += "; " + notes;
    return make_error(ErrorCode::no_device, std::move(text));
  }
  Candidate& candidate = candidates[static_cast<std::size_t>(chosen)];
  auto state = std::make_shared<DeviceState>();
  state->instance = candidate.instance;
  state->physical = candidate.physical;
  state->traits = candidate.traits;
  state->info = candidate.info;
  if (Status status = settle_profile(*state, options); !status) return status.error();
  if (Status status = open_device(*state); !status) return status.error();
  return Device(std::move(state));
}

Result<Device> vulkan::adopt(const AdoptedDevice& external, const DeviceOptions& options) {
  const PFN_vkGetInstanceProcAddr get = external.get_instance_proc_addr;
  const VkDeviceCreateInfo* created = external.created;
  if (!get || !external.instance || !external.physical_device || !external.device ||
      !external.queue)
    return bad_argument("a handle of the external device is null");
  auto instance = std::make_shared<Instance>();
  instance->get_proc = get;
  instance->handle = external.instance;
  instance->owned = false;
  instance->origin = "the application";
  if (const char* missing = instance->vk.load(get, instance->handle))
    return make_error(ErrorCode::no_device, "the instance has no {}", missing);
  auto state = std::make_shared<DeviceState>();
  state->instance = std::move(instance);
  state->physical = external.physical_device;
  std::string reason =
      inspect_device(*state->instance, state->physical, state->traits, state->info);
  if (!reason.empty())
    return make_error(ErrorCode::no_device, state->info.name + " cannot be used: " + reason);
  state->info.usable = true;
  state->handle = external.device;
  state->owned = false;
  state->external_queue = external.queue;
  state->traits.queue_family = external.queue_family;
  // The application need not have enabled what is merely better.
  FeatureChain has;
  if (created) {
    read_created(*created, has);
    state->traits.storage_image_formats = has.features.features.shaderStorageImageExtendedFormats;
  }
  state->traits.cube_arrays = has.features.features.imageCubeArray;
  state->traits.anisotropy = has.features.features.samplerAnisotropy;
  state->traits.cubes_with_seams = has.cubes_with_seams.nonSeamlessCubeMap;
  if (!has.borders.customBorderColors) state->traits.border_colours = 0;
  state->queue.lock_outside = external.lock_queue;
  state->queue.unlock_outside = external.unlock_queue;
  if (Status status = settle_profile(*state, options); !status) return status.error();
  Features& features = state->profile.features;
  const bool matrices = has.matrices.cooperativeMatrix && has.memory_model.vulkanMemoryModel &&
                        has.memory_model.vulkanMemoryModelDeviceScope;
  features.float16 = features.float16 && has.int8.shaderFloat16;
  features.matrices_f16 = features.matrices_f16 && matrices && has.int8.shaderFloat16;
  features.matrices_bf16 =
      features.matrices_bf16 && matrices && has.bfloat16.shaderBFloat16CooperativeMatrix;
  features.matrices_s8 = features.matrices_s8 && matrices;
  const FloatControls controls(features);
  features.shader_fma16 = features.shader_fma16 && has.fma.shaderFmaFloat16;
  features.shader_fma32 = features.shader_fma32 && has.fma.shaderFmaFloat32;
  features.shader_fma64 = features.shader_fma64 && has.fma.shaderFmaFloat64;
  forget_floats(state->profile, controls);
  if (created) {
    FeatureChain needs;
    query_needs(*state->instance, state->physical, needs);
    if (const std::string missing = missing_needs(*created, needs, state->profile);
        !missing.empty())
      return make_error(ErrorCode::no_device, "the VkDevice was created without " + missing);
  }
  if (Status status = open_device(*state); !status) return status.error();
  return Device(std::move(state));
}

const DeviceInfo& Device::info() const { return state_->info; }
const Profile& Device::profile() const { return state_->profile; }

DeviceStatistics Device::statistics() const {
  DeviceStatistics result;
  {
    std::lock_guard lock(state_->statistics_mutex);
    result = state_->statistics;
  }
  state_->heap.statistics(result.memory_blocks, result.memory_bytes, result.memory_used);
  result.validation_messages = validation_messages();
  return result;
}

std::uint64_t Device::validation_messages() const {
  return state_->instance->validation_messages.load();
}

std::uint64_t Device::malloc_heap_bytes() const { return state_->kernel_heap.bytes(); }
Status Device::set_malloc_heap_bytes(std::uint64_t bytes) {
  return state_->kernel_heap.set_bytes(bytes);
}

SanitizerReport Device::sanitizer_report() const { return state_->findings.report(); }

Status Device::synchronize() {
  runtime::wait_for_host_runs(*state_);
  return state_->queue.wait(state_->queue.submitted());
}

}  // namespace ptx2spv
