// Contexts: what belongs together on a device, and which is current on a thread.
#include <limits>

#include "src/cuda/core/backlog.hpp"
#include "src/cuda/core/external.hpp"
#include "src/cuda/core/graph.hpp"
#include "src/cuda/core/graphics.hpp"
#include "src/cuda/core/of_thread.hpp"

namespace ptx2spv::cuda {

std::vector<std::shared_ptr<ContextObject>>& context_stack() {
  return of_thread<std::vector<std::shared_ptr<ContextObject>>>();
}

int& runtime_device() {
  static thread_local int device = 0;
  return device;
}

CUresult create_context(DeviceObject& device, unsigned flags,
                        std::shared_ptr<ContextObject>& made) {
  if (CUresult code = open_device(device); code != eSuccess) return code;
  auto context = std::make_shared<ContextObject>();
  context->device = &device;
  context->flags = flags;
  context->id = next_id();
  auto legacy = std::make_shared<StreamObject>();
  legacy->context = context.get();
  legacy->builtin = true;
  legacy->id = next_id();
  context->legacy = std::move(legacy);
  tables().contexts.add(context);
  made = std::move(context);
  return eSuccess;
}

CUresult retain_primary(DeviceObject& device, ContextObject*& context) {
  static std::mutex mutex;  // of creation, which opens the device
  std::lock_guard creation(mutex);
  for (;;) {
    {
      std::lock_guard lock(device.mutex);
      if (device.primary) {
        ++device.primary_users;
        context = device.primary.get();
        return eSuccess;
      }
    }
    std::shared_ptr<ContextObject> made;
    if (CUresult code = create_context(device, device.primary_flags, made); code != eSuccess)
      return code;
    made->primary = true;
    std::lock_guard lock(device.mutex);
    device.primary = std::move(made);
  }
}

CUresult release_primary(DeviceObject& device, bool reset) {
  std::shared_ptr<ContextObject> context;
  {
    std::lock_guard lock(device.mutex);
    if (!device.primary)
      return reset ? eSuccess : fail(eDeviceUninitialized, "the device has no primary context");
    if (device.primary_users) --device.primary_users;
    if (device.primary_users && !reset) return eSuccess;
    context = std::move(device.primary);
    device.primary = nullptr;
    device.primary_users = 0;
  }
  return destroy_context(*context);
}

CUresult destroy_context(ContextObject& object) {
  auto context = tables().contexts.find(&object);
  if (!context || !context->alive.exchange(false))
    return fail(eDeviceUninitialized, "the context is destroyed already");
  for (const auto& each : tables().streams.all())
    if (each->context == context.get()) abandon_capture(*each);
  const CUresult last = synchronize(*context);
  const auto mine = [&](const auto& each) { return each.context == context.get(); };
  Tables& all = tables();
  all.textures.take_if(mine);
  all.surfaces.take_if(mine);
  all.events.take_if(mine);
  all.streams.take_if(mine);
  forget_context(*context);
  forget_resources(*context);
  forget_externals(*context);
  all.mipmaps.take_if(mine);
  all.arrays.take_if(mine);
  release_memory_of(*context);
  {
    std::lock_guard lock(context->mutex);
    context->dirty.clear();
    std::lock_guard stream_lock(context->legacy->mutex);
    context->legacy->stream.reset();
  }
  all.contexts.take(context.get());
  return last;
}

CUresult set_limit(ContextObject& context, int limit, std::size_t value) {
  constexpr int kStack = 0, kMallocHeap = 2;
  if (CUresult code = begin_unsafe_call(); code != eSuccess) return code;
  if (limit < 0 || limit > 6) return fail(eInvalidValue, "no such limit");
  if (limit == kMallocHeap)
    if (Status status = context.gpu().set_malloc_heap_bytes(value); !status)
      return report(status.error());
  if (limit == kStack && value > std::numeric_limits<std::int32_t>::max())
    return fail(eInvalidValue, "no stack is so large");
  context.limits[static_cast<std::size_t>(limit)] = value;
  return eSuccess;
}

namespace {
constexpr const char* kInHostFunction = "a host function makes no calls of CUDA";
}  // namespace

CUresult enter(ContextObject*& context, bool needed) {
  note_interface(Api::driver);
  if (in_host_function()) return fail(eNotPermitted, kInHostFunction);
  if (ended()) return why_not_initialized();
  if (!initialized()) return fail(eInitializationError, "cuInit was not called");
  auto& stack = context_stack();
  context = stack.empty() ? nullptr : stack.back().get();
  if (!context)
    return needed ? fail(eDeviceUninitialized, "no context is current on this thread") : eSuccess;
  if (!context->alive.load(std::memory_order_relaxed))
    return fail(eContextIsDestroyed, "the thread's context is destroyed");
  return static_cast<CUresult>(context->sticky.load(std::memory_order_relaxed));
}

CUresult enter_any(ContextObject*& context) {
  if (CUresult code = enter(context, false); code != eSuccess || context) return code;
  DeviceObject* device = device_at(0);
  if (!device) return eNoDevice;
  if (CUresult code = retain_primary(*device, context); code != eSuccess) return code;
  std::lock_guard lock(device->mutex);
  if (device->primary_users > 1) --device->primary_users;
  return static_cast<CUresult>(context->sticky.load(std::memory_order_relaxed));
}

CUresult enter_runtime(ContextObject*& context) {
  note_interface(Api::runtime);
  if (in_host_function()) return fail(eNotPermitted, kInHostFunction);
  if (!initialized())
    if (CUresult code = initialize(); code != eSuccess) return code;
  auto& stack = context_stack();
  if (!stack.empty() && stack.back() && stack.back()->alive.load(std::memory_order_relaxed)) {
    context = stack.back().get();
    return static_cast<CUresult>(context->sticky.load(std::memory_order_relaxed));
  }
  if (device_count() == 0) return eNoDevice;
  DeviceObject* device = device_at(runtime_device());
  if (!device) return eInvalidDevice;
  ContextObject* primary = nullptr;
  if (CUresult code = retain_primary(*device, primary); code != eSuccess) return code;
  while (!stack.empty() && !(stack.back() && stack.back()->alive)) stack.pop_back();
  stack.push_back(tables().contexts.find(primary));
  context = primary;
  return static_cast<CUresult>(context->sticky.load(std::memory_order_relaxed));
}

}  // namespace ptx2spv::cuda
