// Memory pools and allocations in a stream's order. Freed memory goes back at once, so that a pool
// is a limit and a count; its attributes for reuse are kept for who asks.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "src/cuda/core/backlog.hpp"
#include "src/cuda/core/core.hpp"
#include "src/cuda/core/graph.hpp"

namespace ptx2spv::cuda {

namespace {

// CUmemPool_attribute.
constexpr int kFirstReuse = 1, kLastReuse = 3, kReleaseThreshold = 4, kReserved = 5,
              kReservedHigh = 6, kUsed = 7, kUsedHigh = 8;
// CUmemLocationType, CUmemAllocationType and CUmemAccess_flags.
constexpr int kLocationDevice = 1, kAllocationPinned = 1, kAccessNone = 0, kAccessReadWrite = 3;

std::shared_ptr<PoolObject> builtin_pool(DeviceObject& device) {
  std::lock_guard lock(device.mutex);
  if (!device.builtin_pool) {
    device.builtin_pool = std::make_shared<PoolObject>();
    device.builtin_pool->device = device.ordinal;
    device.builtin_pool->builtin = true;
    tables().pools.add(device.builtin_pool);
  }
  return device.builtin_pool;
}

/// What a device allocates from when no pool is named.
std::shared_ptr<PoolObject> current_pool(DeviceObject& device) {
  {
    std::lock_guard lock(device.mutex);
    if (device.current_pool) return device.current_pool;
  }
  return builtin_pool(device);
}

CUresult no_pool() { return fail(eInvalidValue, "no such memory pool"); }

}  // namespace

CUresult default_pool(int ordinal, CUmemoryPool* pool) {
  DeviceObject* device = device_at(ordinal);
  if (!device) return fail(eInvalidDevice, "no such device");
  if (!pool) return eInvalidValue;
  *pool = builtin_pool(*device).get();
  return eSuccess;
}

CUresult current_pool(int ordinal, CUmemoryPool* pool) {
  DeviceObject* device = device_at(ordinal);
  if (!device) return fail(eInvalidDevice, "no such device");
  if (!pool) return eInvalidValue;
  *pool = current_pool(*device).get();
  return eSuccess;
}

CUresult set_current_pool(int ordinal, CUmemoryPool handle) {
  DeviceObject* device = device_at(ordinal);
  if (!device) return fail(eInvalidDevice, "no such device");
  auto pool = tables().pools.find(handle);
  if (!pool) return no_pool();
  if (pool->device != ordinal) return fail(eInvalidValue, "the pool is another device's");
  std::lock_guard lock(device->mutex);
  device->current_pool = std::move(pool);
  return eSuccess;
}

CUresult create_pool(CUmemoryPool* made, const CUmemPoolProps* props) {
  if (!made || !props) return eInvalidValue;
  constexpr int kHandleTypes = 0xf;
  if (props->handleTypes & ~kHandleTypes) return fail(eInvalidValue, "no such kind of handle");
  if (props->handleTypes)
    return not_supported("a memory pool for other processes",
                         "memory is not shared between processes");
  if (props->allocType != kAllocationPinned)
    return fail(eInvalidValue, "a pool's memory is pinned (cudaMemAllocationTypePinned)");
  if (!props->location.type) return fail(eInvalidValue, "a pool has a place");
  if (props->location.type != kLocationDevice)
    return not_supported("a memory pool of the host", "pools are of a device's memory");
  if (!device_at(props->location.id)) return fail(eInvalidValue, "no such device");
  auto pool = std::make_shared<PoolObject>();
  pool->device = props->location.id;
  pool->most = props->maxSize;
  *made = tables().pools.add(std::move(pool));
  return eSuccess;
}

CUresult destroy_pool(CUmemoryPool handle) {
  auto pool = tables().pools.find(handle);
  if (!pool) return no_pool();
  if (pool->builtin) return fail(eInvalidValue, "a device's own pool is not destroyed");
  tables().pools.take(handle);
  DeviceObject& device = *device_at(pool->device);
  std::lock_guard lock(device.mutex);
  if (device.current_pool == pool) device.current_pool = nullptr;
  return eSuccess;
}

CUresult trim_pool(CUmemoryPool pool) { return tables().pools.has(pool) ? eSuccess : no_pool(); }

CUresult set_pool_attribute(CUmemoryPool handle, int attribute, const void* value) {
  auto pool = tables().pools.find(handle);
  if (!pool || !value) return no_pool();
  std::lock_guard lock(pool->mutex);
  if (attribute >= kFirstReuse && attribute <= kLastReuse) {
    std::memcpy(&pool->reuse[attribute - kFirstReuse], value, sizeof(int));
    return eSuccess;
  }
  std::uint64_t number = 0;
  std::memcpy(&number, value, sizeof number);
  if (attribute == kReleaseThreshold) {
    pool->release_threshold = number;
    return eSuccess;
  }
  if ((attribute != kReservedHigh && attribute != kUsedHigh) || number)
    return fail(eInvalidValue, "the attribute is not set, or to 0 alone");
  (attribute == kUsedHigh ? pool->used_high : pool->reserved_high) = pool->used;
  return eSuccess;
}

CUresult pool_attribute(CUmemoryPool handle, int attribute, void* value) {
  auto pool = tables().pools.find(handle);
  if (!pool || !value) return no_pool();
  std::lock_guard lock(pool->mutex);
  std::uint64_t number = 0;
  switch (attribute) {
    case kReleaseThreshold: number = pool->release_threshold; break;
    case kReserved:
    case kUsed: number = pool->used; break;
    case kReservedHigh: number = pool->reserved_high; break;
    case kUsedHigh: number = pool->used_high; break;
    default:
      if (attribute < kFirstReuse || attribute > kLastReuse)
        return fail(eInvalidValue, "no such attribute of a pool");
      std::memcpy(value, &pool->reuse[attribute - kFirstReuse], sizeof(int));
      return eSuccess;
  }
  std::memcpy(value, &number, sizeof number);
  return eSuccess;
}

CUresult set_pool_access(CUmemoryPool handle, const CUmemAccessDesc* list, std::size_t count) {
  auto pool = tables().pools.find(handle);
  if (!pool || (count && !list)) return no_pool();
  for (std::size_t i = 0; i < count; ++i) {
    const CUmemAccessDesc& each = list[i];
    if (each.location.type != kLocationDevice || !device_at(each.location.id))
      return fail(eInvalidDevice, "access to a pool is a device's");
    const bool own = each.location.id == pool->device;
    if (own && each.flags != kAccessReadWrite)
      return fail(eInvalidDevice, "a device has access to its own pool");
    if (!own && each.flags != kAccessNone)
      return fail(ePeerAccessUnsupported, "Vulkan devices do not read each other's memory");
  }
  return eSuccess;
}

CUresult pool_access(int* flags, CUmemoryPool handle, const CUmemLocation* location) {
  auto pool = tables().pools.find(handle);
  if (!pool || !flags || !location) return no_pool();
  if (location->type != kLocationDevice || !device_at(location->id))
    return fail(eInvalidValue, "access to a pool is a device's");
  *flags = location->id == pool->device ? kAccessReadWrite : kAccessNone;
  return eSuccess;
}

namespace {

CUresult take_from(ContextObject& context, const std::shared_ptr<PoolObject>& pool,
                   std::size_t bytes, CUdeviceptr& address) {
  DeviceObject& device = *device_at(pool->device);
  if (&device != context.device)
    return fail(eInvalidValue, "the pool and the stream are of different devices");
  {
    std::lock_guard lock(pool->mutex);
    if (pool->most && (pool->used > pool->most || bytes > pool->most - pool->used))
      return fail(eMemoryAllocation,
                  fmt::format("the pool holds at most {} bytes (maxSize)", pool->most));
    pool->used += bytes;
    pool->used_high = std::max(pool->used_high, pool->used);
    pool->reserved_high = std::max(pool->reserved_high, pool->used);
  }
  std::shared_ptr<Allocation> made;
  CUresult code = allocate(context, bytes, MemoryUse::device, 0, made);
  if (code != eSuccess) {
    std::lock_guard lock(pool->mutex);
    pool->used -= bytes;
    return code;
  }
  made->pool = pool;
  address = made->address;
  return eSuccess;
}

}  // namespace

CUresult allocate_in_stream(ContextObject& context, StreamObject& stream, CUmemoryPool handle,
                            std::size_t bytes, CUdeviceptr& address) {
  address = 0;
  std::shared_ptr<PoolObject> pool =
      handle ? tables().pools.find(handle) : current_pool(*context.device);
  if (!pool) return no_pool();
  bool captured = false;
  if (CUresult code = begin_work(stream, captured); code != eSuccess) return code;
  if (!captured) {
    if (CUresult code = begin_unsafe_call(); code != eSuccess) return code;
    return take_from(context, pool, bytes, address);
  }
  std::shared_ptr<GraphMemory> memory;
  if (CUresult code = make_graph_memory(context, bytes, memory); code != eSuccess) return code;
  address = memory->allocation->address;
  return capture(stream, Operation{AllocateOperation{std::move(memory)}});
}

CUresult free_in_stream(StreamObject& stream, CUdeviceptr address) {
  bool captured = false;
  if (CUresult code = begin_work(stream, captured); code != eSuccess) return code;
  if (!captured) {
    if (CUresult code = begin_unsafe_call(); code != eSuccess) return code;
    if (!is_held_up(stream)) return release(address, MemoryUse::device);
    if (CUresult code = check_release(address, MemoryUse::device); code != eSuccess) return code;
    return in_order(stream, [address] { return release(address, MemoryUse::device); });
  }
  FreeOperation operation;
  if (CUresult code = make_graph_free(address, operation); code != eSuccess) return code;
  return capture(stream, Operation{std::move(operation)});
}

// ------------------------------------------------------------------------------ memory of graphs

namespace {

// CUgraphMem_attribute.
constexpr int kGraphUsed = 0, kGraphUsedHigh = 1, kGraphReserved = 2, kGraphReservedHigh = 3;

void count(GraphMemoryCount& counter, std::uint64_t bytes, bool more) {
  if (!more) {
    counter.now -= bytes;
    return;
  }
  const std::uint64_t now = counter.now += bytes;
  std::uint64_t high = counter.high;
  while (high < now && !counter.high.compare_exchange_weak(high, now)) {
  }
}

}  // namespace

GraphMemory::~GraphMemory() {
  if (!allocation) return;
  count(device->graph_reserved, allocation->bytes, false);
  if (live) {
    // Nobody freed it: from now on it is the program's, as memory that cudaMalloc gave.
    count(device->graph_used, allocation->bytes, false);
    allocation->graph = nullptr;
  } else {
    forget(*allocation);
  }
}

CUresult make_graph_memory(ContextObject& context, std::size_t bytes,
                           std::shared_ptr<GraphMemory>& made) {
  auto memory = std::make_shared<GraphMemory>();
  CUresult code = allocate(context, bytes, MemoryUse::device, 0, memory->allocation);
  if (code != eSuccess) return code;
  memory->device = context.device;
  memory->allocation->graph = memory.get();
  count(context.device->graph_reserved, bytes, true);
  made = std::move(memory);
  return eSuccess;
}

CUresult make_graph_free(CUdeviceptr address, FreeOperation& made) {
  auto allocation = find_address(address);
  if (!allocation || allocation->address != address || !allocation->graph)
    return fail(eInvalidValue, fmt::format("{:#x} is no memory of a graph's node", address));
  made.memory = allocation->graph->weak_from_this();
  made.address = address;
  return eSuccess;
}

CUresult take_graph_memory(GraphMemory& memory, bool take) {
  if (memory.live.exchange(take) == take)
    return fail(eInvalidValue, take ? "the graph's memory was not freed since its last launch"
                                    : "the graph's memory is freed already");
  count(memory.device->graph_used, memory.allocation->bytes, take);
  return eSuccess;
}

CUresult graph_memory_attribute(int ordinal, int attribute, std::uint64_t* value, bool reset) {
  DeviceObject* device = device_at(ordinal);
  if (!device) return fail(eInvalidDevice, "no such device");
  if (!value || attribute < kGraphUsed || attribute > kGraphReservedHigh)
    return fail(eInvalidValue, "no such attribute of graphs' memory");
  GraphMemoryCount& counter =
      attribute >= kGraphReserved ? device->graph_reserved : device->graph_used;
  const bool high = attribute == kGraphUsedHigh || attribute == kGraphReservedHigh;
  if (!reset) {
    *value = high ? counter.high : counter.now;
    return eSuccess;
  }
  if (!high || *value) return fail(eInvalidValue, "only the highest counts are set, to 0");
  counter.high = counter.now.load();
  return eSuccess;
}

}  // namespace ptx2spv::cuda
