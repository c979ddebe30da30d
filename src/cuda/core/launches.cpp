// Launches: CUDA's arguments to the runtime's, and what functions say of themselves.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "src/cuda/core/backlog.hpp"
#include "src/cuda/core/core.hpp"
#include "src/cuda/core/crashes.hpp"
#include "src/cuda/core/graph.hpp"
#include "src/cuda/core/trace.hpp"
#include "src/executor/executor.hpp"
#include "src/launch/shape.hpp"
#include "src/module/module.hpp"

namespace ptx2spv::cuda {

namespace {

constexpr int kSharedUnasked = limits::kSharedUnasked, kMostShared = limits::kShared;

CUresult bad_launch(const FunctionObject& function, const std::string& text) {
  return fail(eInvalidValue, fmt::format("launch of {}: {}", function.name, text));
}

CUresult check_extents(const FunctionObject& function, const LaunchConfig& config) {
  const std::string text = runtime::wrong_shape(config.grid, config.block);
  return text.empty() ? eSuccess : bad_launch(function, text);
}

CUresult check_shape(const FunctionObject& function, const LaunchConfig& config) {
  if (CUresult code = check_extents(function, config); code != eSuccess) return code;
  const EntryInfo& info = function.kernel.info();
  const int most =
      std::max(function.max_dynamic_shared + static_cast<int>(info.shared_bytes), kSharedUnasked);
  if (std::uint64_t{info.shared_bytes} + config.dynamic_shared > static_cast<std::uint64_t>(most))
    return bad_launch(function,
                      fmt::format("{} bytes of shared memory, {} of them dynamic, are over {}",
                                  std::uint64_t{info.shared_bytes} + config.dynamic_shared,
                                  config.dynamic_shared, most));
  return eSuccess;
}

std::size_t room_of(const ParamInfo& param) {
  return param.kind == ParamKind::scalar || param.kind == ParamKind::bytes ? param.bytes : 8;
}

/// The buffer of CU_LAUNCH_PARAM_BUFFER_POINTER and _SIZE.
CUresult read_extra(void** extra, std::span<const std::byte>& buffer) {
  const void* pointer = nullptr;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < 16; i += 2) {
    const auto tag = reinterpret_cast<std::uintptr_t>(extra[i]);
    if (tag == 0) {
      if (!pointer && bytes) return fail(eInvalidValue, "a launch without its parameter buffer");
      buffer = {static_cast<const std::byte*>(pointer), pointer ? bytes : 0};
      return eSuccess;
    }
    if (tag == 1)
      pointer = extra[i + 1];
    else if (tag == 2)
      std::memcpy(&bytes, extra[i + 1], sizeof bytes);
    else
      return fail(eInvalidValue, "unknown options of a launch");
  }
  return fail(eInvalidValue, "the options of a launch do not end");
}

CUresult make_args(FunctionObject& function, void** params, void** extra, Args& args,
                   std::vector<std::byte>* packed) {
  const EntryInfo& info = function.kernel.info();
  if (params && extra) return fail(eInvalidValue, "a launch has parameters in both forms");
  std::span<const std::byte> buffer;
  if (extra)
    if (CUresult code = read_extra(extra, buffer); code != eSuccess) return code;
  std::size_t end = 0;
  for (const ParamInfo& each : info.params) end = each.offset + room_of(each);
  if (extra && buffer.size() > end)
    return fail(eLaunchOutOfResources,
                fmt::format("launch of {}: the arguments have {} bytes, the parameters {}",
                            function.name, buffer.size(), end));
  if (packed) packed->assign(info.param_bytes, std::byte{0});
  args.items.reserve(info.params.size());
  args.data.reserve(info.param_bytes);
  for (std::size_t i = 0; i < info.params.size(); ++i) {
    const ParamInfo& param = info.params[i];
    const std::size_t room = room_of(param);
    const std::byte* from = nullptr;
    if (params) {
      from = static_cast<const std::byte*>(params[i]);
      if (!from) return fail(eInvalidValue, fmt::format("argument {} is a null pointer", i + 1));
    } else {
      if (param.offset > buffer.size() || room > buffer.size() - param.offset)
        return fail(eInvalidValue,
                    fmt::format("launch of {}: the arguments have {} bytes, and parameter {} ends "
                                "at {}",
                                function.name, buffer.size(), i + 1, param.offset + room));
      from = buffer.data() + param.offset;
    }
    args.bytes({from, room});
    if (packed && param.offset + room <= packed->size())
      std::memcpy(packed->data() + param.offset, from, room);
  }
  return eSuccess;
}

bool has_waits(const EntryInfo& info) {
  return info.waits.for_clock || info.waits.for_others || !info.waits.params.empty();
}

/// Whether the host writes there while kernels run.
bool is_shared(CUdeviceptr address) {
  const auto allocation = find_address(address);
  return allocation && allocation->use != MemoryUse::device;
}

}  // namespace

bool may_wait(const KernelOperation& kernel) {
  const EntryInfo& info = kernel.function->kernel.info();
  const bool others =
      info.waits.for_others || std::ranges::any_of(info.waits.params, [&](std::uint32_t offset) {
        CUdeviceptr address = 0;
        if (offset + sizeof address > kernel.packed.size()) return false;
        std::memcpy(&address, kernel.packed.data() + offset, sizeof address);
        return is_shared(address);
      });
  if (others) kernel.function->kernel.state()->tier.waits_for_others = true;
  return others || info.waits.for_clock;
}

CUresult make_launch(FunctionObject& function, const LaunchConfig& config, void** params,
                     void** extra, KernelOperation& made) {
  if (CUresult code = check_shape(function, config); code != eSuccess) return code;
  made.function = &function;
  made.module = tables().modules.find(function.module);
  made.config = config;
  return make_args(function, params, extra, made.args, &made.packed);
}

void** param_pointers(KernelOperation& operation) {
  operation.pointers.clear();
  for (const ParamInfo& each : operation.function->kernel.info().params)
    operation.pointers.push_back(operation.packed.data() + each.offset);
  return operation.pointers.data();
}

namespace {

CUresult check_context(const StreamObject& stream, const FunctionObject& function) {
  if (function.module->context == stream.context) return eSuccess;
  return fail(eInvalidResourceHandle, "the function and the stream are of different contexts");
}

/// Whether the host's processor may run it for long. Texture references are read from the program's
/// variables when the kernel runs: it does before the call returns.
bool may_be_long(const FunctionObject& function, const LaunchConfig& config) {
  return !function.module->has_texture_refs &&
         runtime::may_be_long(*function.kernel.state(), runtime::volume(config.grid));
}

/// A launch that is behind others of the stream, or may hold up the calling thread. What is wrong
/// with it is said at once, but for what texture references have when it runs.
CUresult defer_kernel(const std::shared_ptr<StreamObject>& stream, FunctionObject& function,
                      const LaunchConfig& config, void** params, void** extra) {
  KernelOperation kept;
  if (CUresult code = make_launch(function, config, params, extra, kept); code != eSuccess)
    return code;
  bool own_thread = may_wait(kept);
  if (!function.module->has_texture_refs) {
    const LaunchWatch watch(function.name);
    const auto for_host = runtime::is_for_host(function.kernel, config, kept.args);
    if (!for_host) return report(for_host.error());
    own_thread = own_thread || (*for_host && may_be_long(function, config));
  }
  await_room(*stream);
  Work work = [stream, kept = std::move(kept)] {
    const CUresult code = run_kernel(*stream, *kept.function, kept.config, kept.args);
    if (code == eSuccess) mark_dirty(stream);
    return code;
  };
  return own_thread ? in_own_thread(*stream, std::move(work)) : in_order(*stream, std::move(work));
}

}  // namespace

CUresult enqueue_kernel(const std::shared_ptr<StreamObject>& stream, FunctionObject& function,
                        const LaunchConfig& shape, void** params, void** extra, bool cooperative) {
  if (tracing())
    trace_note("kernel", fmt::format("{}<<<({}, {}, {}), ({}, {}, {}), {}>>>", function.name,
                                     shape.grid.x, shape.grid.y, shape.grid.z, shape.block.x,
                                     shape.block.y, shape.block.z, shape.dynamic_shared));
  LaunchConfig config = shape;
  config.cooperative = cooperative;
  bool captured = false;
  if (CUresult code = begin_work(*stream, captured); code != eSuccess) return code;
  if (CUresult code = check_context(*stream, function); code != eSuccess) return code;
  if (cooperative) {
    if (CUresult code = check_extents(function, config); code != eSuccess) return code;
    const int threads = static_cast<int>(config.block.x * config.block.y * config.block.z);
    const std::uint64_t blocks = runtime::volume(config.grid);
    const int processors = resident_multiprocessors(*stream->context->device);
    const int resident = occupancy(function, std::max(threads, 1), config.dynamic_shared);
    if (blocks > static_cast<std::uint64_t>(processors) * static_cast<std::uint64_t>(resident))
      return fail(eCooperativeLaunchTooLarge, "not all blocks fit the device at once");
  }
  if (captured) {
    KernelOperation operation;
    if (CUresult code = make_launch(function, config, params, extra, operation); code != eSuccess)
      return break_capture(*stream, code);
    return capture(*stream, Operation{std::move(operation)});
  }
  bool behind = is_held_up(*stream) || may_be_long(function, config);
  if (!behind && has_waits(function.kernel.info())) {
    KernelOperation waiting;
    if (CUresult code = make_launch(function, config, params, extra, waiting); code != eSuccess)
      return code;
    behind = may_wait(waiting);
  }
  if (behind) return defer_kernel(stream, function, config, params, extra);
  if (CUresult code = check_shape(function, config); code != eSuccess) return code;
  Args args;
  if (CUresult code = make_args(function, params, extra, args, nullptr); code != eSuccess)
    return code;
  if (CUresult code = run_kernel(*stream, function, config, args); code != eSuccess) return code;
  mark_dirty(stream);
  return eSuccess;
}

CUresult read_attributes(const CUlaunchAttribute* list, unsigned count, LaunchAttributes& read) {
  if (count && !list) return fail(eInvalidValue, "a launch without its attributes");
  for (unsigned i = 0; i < count; ++i) {
    const auto& value = list[i].value;
    switch (list[i].id) {
      case kLaunchCooperative: read.cooperative = value.cooperative != 0; break;
      case kLaunchClusterDimension:
      case kLaunchPreferredCluster:
        if (value.clusterDim.x * value.clusterDim.y * value.clusterDim.z > 1)
          return not_supported("a launch with clusters", "blocks have no shared memory in common");
        break;
      case kLaunchProgrammaticEvent: read.after = value.programmaticEvent.event; break;
      case kLaunchCompletionEvent: read.after = value.launchCompletionEvent.event; break;
      case kLaunchDeviceUpdatable:
        if (value.cooperative)  // the union's first word: whether it is
          return not_supported("a kernel node that kernels change", "kernels launch nothing");
        break;
      default:
        // Hints on caches, waiting, priorities, domains and carveouts; and kernels that may start
        // before the one before them has ended do so when it has.
        if (list[i].id < 0 || list[i].id > kLaunchLastHint)
          return fail(eInvalidValue, fmt::format("a launch has no attribute {}", list[i].id));
    }
  }
  return eSuccess;
}

CUresult run_kernel(StreamObject& stream, FunctionObject& function, const LaunchConfig& config,
                    const Args& args) {
  if (function.module->has_texture_refs)
    if (CUresult code = bind_textures(*function.module); code != eSuccess) return code;
  Stream* opened = nullptr;
  if (CUresult code = open_stream(stream, opened); code != eSuccess) return code;
  const LaunchWatch watch(function.name);
  Status status = opened->launch(function.kernel, config, args);
  return status ? eSuccess : report(status.error());
}

std::optional<int> function_attribute(FunctionObject& function, int attribute) {
  using A = FunctionAttribute;
  const EntryInfo& info = function.kernel.info();
  switch (attribute) {
    case A::MAX_THREADS_PER_BLOCK: {
      if (info.reqntid[0])
        return static_cast<int>(info.reqntid[0] * std::max(info.reqntid[1], 1u) *
                                std::max(info.reqntid[2], 1u));
      if (!info.maxntid[0]) return limits::kThreads;
      return static_cast<int>(info.maxntid[0] * std::max(info.maxntid[1], 1u) *
                              std::max(info.maxntid[2], 1u));
    }
    case A::SHARED_SIZE_BYTES: return static_cast<int>(info.shared_bytes);
    case A::CONST_SIZE_BYTES: {
      std::uint64_t bytes = 0;
      for (const VariableInfo& each : function.module->module.interface().variables)
        if (each.constant) bytes = std::max(bytes, each.offset + each.bytes);
      return static_cast<int>(std::min<std::uint64_t>(bytes, 65536));
    }
    case A::LOCAL_SIZE_BYTES: return static_cast<int>(info.local_bytes);
    case A::NUM_REGS: return 0;  // the Vulkan driver's compiler does not tell
    case A::PTX_VERSION: return function.module->target;
    case A::BINARY_VERSION: return compute_capability();
    case A::CACHE_MODE_CA: return 0;
    case A::MAX_DYNAMIC_SHARED_SIZE_BYTES:
      return function.max_dynamic_shared
                 ? function.max_dynamic_shared
                 : std::max(0, kSharedUnasked - static_cast<int>(info.shared_bytes));
    case A::PREFERRED_SHARED_MEMORY_CARVEOUT: return function.carveout;
    case A::CLUSTER_SIZE_MUST_BE_SET: return 0;
    case A::REQUIRED_CLUSTER_WIDTH:
    case A::REQUIRED_CLUSTER_HEIGHT:
    case A::REQUIRED_CLUSTER_DEPTH:
      return static_cast<int>(function.cluster[attribute - A::REQUIRED_CLUSTER_WIDTH]);
    case A::NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    case A::CLUSTER_SCHEDULING_POLICY_PREFERENCE: return 0;
    default: return std::nullopt;
  }
}

CUresult set_function_attribute(FunctionObject& function, int attribute, int value) {
  using A = FunctionAttribute;
  if (attribute == A::MAX_DYNAMIC_SHARED_SIZE_BYTES) {
    const int own = static_cast<int>(function.kernel.info().shared_bytes);
    if (value < 0 || value > kMostShared - own)
      return fail(eInvalidValue,
                  fmt::format("a block has at most {} bytes of shared memory", kMostShared));
    function.max_dynamic_shared = value;
    return eSuccess;
  }
  if (attribute == A::PREFERRED_SHARED_MEMORY_CARVEOUT) {
    if (value < -1 || value > 100) return fail(eInvalidValue, "a carveout is -1 to 100");
    function.carveout = value;
    return eSuccess;
  }
  if (attribute >= A::REQUIRED_CLUSTER_WIDTH &&
      attribute <= A::CLUSTER_SCHEDULING_POLICY_PREFERENCE && value)
    return not_supported("a cluster of blocks", "blocks have no shared memory in common");
  return fail(eInvalidValue, "the attribute of a function cannot be set");
}

int occupancy(FunctionObject& function, int threads, std::size_t dynamic_shared) {
  constexpr int kThreads = limits::kThreads;
  if (threads <= 0 ||
      threads >
          function_attribute(function, FunctionAttribute::MAX_THREADS_PER_BLOCK).value_or(kThreads))
    return 0;
  const std::size_t shared = function.kernel.info().shared_bytes + dynamic_shared;
  const auto of_processor = [&](int attribute) {
    return device_attribute(*function.module->context->device, attribute).value_or(0);
  };
  using A = DeviceAttribute;
  int blocks =
      std::min(of_processor(A::MAX_BLOCKS_PER_MULTIPROCESSOR),
               of_processor(A::MAX_THREADS_PER_MULTIPROCESSOR) / ((threads + 31) / 32 * 32));
  // A thread has 255 registers at most, a block of any size all that it needs: so many are there at
  // once whatever the driver gives them.
  const DeviceObject& device = *function.module->context->device;
  const EntryInfo& info = function.kernel.info();
  if ((info.waits.spins || info.sync.uses_grid_workspace) && device.info.multiprocessors) {
    constexpr int kSure = 65536 / 256;
    blocks = std::min(blocks, std::max(kSure / ((threads + 31) / 32 * 32), 1));
    if (shared)
      blocks = std::min(
          blocks, std::max(static_cast<int>(device.info.profile.max_shared_bytes / shared), 1));
  }
  if (shared)
    blocks = std::min(blocks, of_processor(A::MAX_SHARED_MEMORY_PER_MULTIPROCESSOR) /
                                  static_cast<int>(std::min<std::size_t>(
                                      shared + static_cast<std::size_t>(of_processor(
                                                   A::RESERVED_SHARED_MEMORY_PER_BLOCK)),
                                      1u << 30)));
  return shared > limits::kShared ? 0 : blocks;
}

CUresult available_shared(FunctionObject& function, int threads, int blocks, std::size_t& bytes) {
  if (blocks > occupancy(function, threads, 0))
    return fail(eInvalidValue, "a multiprocessor does not hold so many blocks");
  const std::size_t own = function.kernel.info().shared_bytes;
  const std::size_t each =
      std::min(limits::kSharedOfProcessor / static_cast<std::uint32_t>(blocks), limits::kShared);
  bytes = each > own ? each - own : 0;
  return eSuccess;
}

}  // namespace ptx2spv::cuda
