// Memory pools and allocations in a stream's order. A pool keeps freed memory for later allocations
// until the program waits for the work before the free; what it keeps is whole allocations.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "src/cuda/core/backlog.hpp"
#include "src/cuda/core/core.hpp"
#include "src/cuda/core/graph.hpp"

namespace ptx2spv::cuda {

std::uint64_t blocks_of(std::uint64_t bytes) {
  constexpr std::uint64_t kBlock = 32 << 20;
  return bytes / kBlock * kBlock + (bytes % kBlock ? kBlock : 0);
}

namespace {

// CUmemPool_attribute.
constexpr int kFirstReuse = 1, kReuseOfIdle = 2, kReuseInOrder = 3, kLastReuse = 3,
              kReleaseThreshold = 4, kReserved = 5, kReservedHigh = 6, kUsed = 7, kUsedHigh = 8;
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

/// How many pieces of memory all pools keep.
std::atomic<std::uint64_t> g_kept{0};

bool work_is_over(const KeptMemory& memory) {
  StreamObject& stream = *memory.stream;
  if (is_held_up(stream)) return false;
  std::lock_guard lock(stream.mutex);
  return !stream.stream || stream.stream->idle();
}

/// Takes what is `free` from the pool, the oldest first, as long as it has more than `most` bytes
/// and has `least` without it.
template <class F>
void give_back(PoolObject& pool, std::uint64_t most, std::uint64_t least, F&& free) {
  std::vector<KeptMemory> out;  // ends without the lock
  std::lock_guard lock(pool.mutex);
  for (std::size_t i = 0; i < pool.kept.size() && pool.reserved > most;) {
    const std::uint64_t bytes = pool.kept[i].buffer.size();
    if (pool.reserved - bytes < least || !free(pool.kept[i])) {
      ++i;
      continue;
    }
    pool.reserved -= bytes;
    out.push_back(std::move(pool.kept[i]));
    pool.kept.erase(pool.kept.begin() + static_cast<std::ptrdiff_t>(i));
  }
  g_kept -= out.size();
}

}  // namespace

void shrink_pools(ContextObject& context, const StreamObject* stream) {
  if (!g_kept) return;
  for (const auto& pool : tables().pools.all()) {
    const auto free = [&](const KeptMemory& each) {
      return (stream ? each.stream.get() == stream : each.stream->context == &context) &&
             work_is_over(each);
    };
    give_back(*pool, pool->release_threshold, 0, free);
  }
}

bool empty_pools(ContextObject& context) {
  if (!g_kept) return false;
  (void)synchronize(context);
  const std::uint64_t before = g_kept;
  for (const auto& pool : tables().pools.all())
    give_back(*pool, 0, 0,
              [&](const KeptMemory& each) { return each.stream->context == &context; });
  return g_kept < before;
}

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
  pool->most = blocks_of(props->maxSize);
  *made = tables().pools.add(std::move(pool));
  return eSuccess;
}

CUresult destroy_pool(CUmemoryPool handle) {
  auto pool = tables().pools.find(handle);
  if (!pool) return no_pool();
  if (pool->builtin) return fail(eInvalidValue, "a device's own pool is not destroyed");
  std::set<ContextObject*> users;
  {
    std::lock_guard lock(pool->mutex);
    pool->destroyed = true;
    for (const KeptMemory& each : pool->kept) users.insert(each.stream->context);
  }
  for (ContextObject* each : users) (void)empty_pools(*each);
  tables().pools.take(handle);
  DeviceObject& device = *device_at(pool->device);
  std::lock_guard lock(device.mutex);
  if (device.current_pool == pool) device.current_pool = nullptr;
  return eSuccess;
}

CUresult trim_pool(CUmemoryPool handle, std::size_t least) {
  auto pool = tables().pools.find(handle);
  if (!pool) return no_pool();
  give_back(*pool, least, least, work_is_over);
  return eSuccess;
}

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
  if (attribute == kUsedHigh)
    pool->used_high = pool->used;
  else
    pool->reserved_high = pool->reserved;
  return eSuccess;
}

CUresult pool_attribute(CUmemoryPool handle, int attribute, void* value) {
  auto pool = tables().pools.find(handle);
  if (!pool || !value) return no_pool();
  std::lock_guard lock(pool->mutex);
  std::uint64_t number = 0;
  switch (attribute) {
    case kReleaseThreshold: number = pool->release_threshold; break;
    case kReserved: number = pool->reserved; break;
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
    if (own) continue;
    int can = 0;
    if (CUresult code = can_access_peer(each.location.id, pool->device, can); code != eSuccess)
      return code;
    if (each.flags != kAccessNone && each.flags != kAccessReadWrite)
      return fail(eInvalidValue, "no such access to a pool");
    if (each.flags != kAccessNone && !can)
      return fail(ePeerAccessUnsupported, "kernels do not reach that device's memory");
    std::lock_guard lock(pool->mutex);
    std::erase(pool->peers, each.location.id);
    if (each.flags != kAccessNone) pool->peers.push_back(each.location.id);
  }
  return eSuccess;
}

CUresult pool_access(int* flags, CUmemoryPool handle, const CUmemLocation* location) {
  auto pool = tables().pools.find(handle);
  if (!pool || !flags || !location) return no_pool();
  if (location->type != kLocationDevice || !device_at(location->id))
    return fail(eInvalidValue, "access to a pool is a device's");
  std::lock_guard lock(pool->mutex);
  const bool access = location->id == pool->device || std::ranges::count(pool->peers, location->id);
  *flags = access ? kAccessReadWrite : kAccessNone;
  return eSuccess;
}

namespace {

/// Memory that the pool keeps and an allocation in the stream may have: of the stream's own frees,
/// of others' whose work is over, or whose work the device has, which the stream's comes after from
/// then on; the smallest, and at most twice as large. With the pool's lock.
std::optional<KeptMemory> find_kept(PoolObject& pool, const StreamObject& stream,
                                    std::size_t bytes) {
  const auto may = [&](int attribute) { return pool.reuse[attribute - kFirstReuse] != 0; };
  auto best = pool.kept.end();
  for (auto each = pool.kept.begin(); each != pool.kept.end(); ++each) {
    const std::uint64_t size = each->buffer.size();
    if (size < bytes || size / 2 > bytes || each->stream->context != stream.context) continue;
    if (best != pool.kept.end() && best->buffer.size() <= size) continue;
    if (each->stream.get() == &stream || (may(kReuseOfIdle) && work_is_over(*each)) ||
        (may(kReuseInOrder) && !is_held_up(*each->stream)))
      best = each;
  }
  if (best == pool.kept.end()) return std::nullopt;
  KeptMemory found = std::move(*best);
  pool.kept.erase(best);
  --g_kept;
  return found;
}

/// Leaves freed memory to its pool; false: it is no pool's, or kernels are checked, which are to
/// find uses of what is freed.
bool leave_to_pool(StreamObject& stream, CUdeviceptr address) {
  const auto allocation = find_address(address);
  if (!allocation || allocation->address != address || !allocation->pool ||
      allocation->context != stream.context || kernels_are_checked(*stream.context))
    return false;
  PoolObject& pool = *allocation->pool;
  std::lock_guard lock(pool.mutex);
  if (pool.destroyed || find_address(address) != allocation) return false;
  forget(*allocation);
  pool.used -= allocation->bytes;
  pool.kept.push_back({*allocation->buffer, stream.shared_from_this()});
  ++g_kept;
  return true;
}

CUresult take_from(ContextObject& context, StreamObject& stream,
                   const std::shared_ptr<PoolObject>& pool, std::size_t bytes,
                   CUdeviceptr& address) {
  DeviceObject& device = *device_at(pool->device);
  if (&device != context.device)
    return fail(eInvalidValue, "the pool and the stream are of different devices");
  std::optional<KeptMemory> kept;
  {
    std::lock_guard lock(pool->mutex);
    if (pool->most && (pool->used > pool->most || bytes > pool->most - pool->used))
      return fail(eMemoryAllocation,
                  fmt::format("the pool holds at most {} bytes (maxSize)", pool->most));
    kept = find_kept(*pool, stream, bytes);
    pool->used += bytes;
    pool->reserved += kept ? 0 : bytes;
    pool->used_high = std::max(pool->used_high, pool->used);
    pool->reserved_high = std::max(pool->reserved_high, pool->reserved);
  }
  CUresult code =
      kept && kept->stream.get() != &stream ? come_after(stream, *kept->stream) : eSuccess;
  std::shared_ptr<Allocation> made;
  if (code == eSuccess)
    code = allocate(context, bytes, MemoryUse::device, 0, made, kept ? &kept->buffer : nullptr);
  if (code != eSuccess) {
    std::lock_guard lock(pool->mutex);
    pool->used -= bytes;
    pool->reserved -= kept ? kept->buffer.size() : bytes;
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
    return take_from(context, stream, pool, bytes, address);
  }
  std::shared_ptr<GraphMemory> memory;
  if (CUresult code = make_graph_memory(context, bytes, memory); code != eSuccess) return code;
  address = memory->allocation->address;
  return capture(stream, Operation{AllocateOperation{std::move(memory)}});
}

CUresult free_in_stream(StreamObject& stream, CUdeviceptr address) {
  if (!address) return eSuccess;
  bool captured = false;
  if (CUresult code = begin_work(stream, captured); code != eSuccess) return code;
  if (!captured) {
    if (CUresult code = begin_unsafe_call(); code != eSuccess) return code;
    const auto waited = is_held_up(stream) ? keep_for_work(address) : nullptr;
    if (leave_to_pool(stream, address))
      return waited ? in_order(stream, [waited] { return eSuccess; }) : eSuccess;
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

/// Graphs that need `more` beside what is taken keep that much from now on.
void keep_for_graphs(GraphMemoryCount& count, std::uint64_t more) {
  count.kept = std::max(count.kept, count.taken + more);
  count.most_used = std::max(count.most_used, count.kept);
  count.most_reserved = std::max(count.most_reserved, count.kept);
}

void count_taken(DeviceObject& device, std::uint64_t bytes, bool more) {
  GraphMemoryCount& count = device.graph_memory;
  std::lock_guard lock(count.mutex);
  count.taken = more ? count.taken + blocks_of(bytes) : count.taken - blocks_of(bytes);
  keep_for_graphs(count, 0);
}

}  // namespace

GraphMemory::~GraphMemory() {
  if (!allocation) return;
  if (live) {
    // Nobody freed it: from now on it is the program's, as memory that cudaMalloc gave.
    count_taken(*device, allocation->bytes, false);
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
  count_taken(*memory.device, memory.allocation->bytes, take);
  return eSuccess;
}

CUresult graph_memory_attribute(int ordinal, int attribute, std::uint64_t* value, bool reset) {
  DeviceObject* device = device_at(ordinal);
  if (!device) return fail(eInvalidDevice, "no such device");
  if (!value || attribute < kGraphUsed || attribute > kGraphReservedHigh)
    return fail(eInvalidValue, "no such attribute of graphs' memory");
  GraphMemoryCount& count = device->graph_memory;
  std::lock_guard lock(count.mutex);
  std::uint64_t* most = attribute == kGraphUsedHigh       ? &count.most_used
                        : attribute == kGraphReservedHigh ? &count.most_reserved
                                                          : nullptr;
  if (!reset) {
    *value = most ? *most : count.kept;
    return eSuccess;
  }
  if (!most || *value) return fail(eInvalidValue, "only the highest counts are set, to 0");
  *most = count.kept;
  return eSuccess;
}

void reserve_graph_memory(DeviceObject& device, std::uint64_t bytes) {
  std::lock_guard lock(device.graph_memory.mutex);
  keep_for_graphs(device.graph_memory, bytes);
}

CUresult trim_graph_memory(int ordinal) {
  DeviceObject* device = device_at(ordinal);
  if (!device) return fail(eInvalidDevice, "no such device");
  std::lock_guard lock(device->graph_memory.mutex);
  device->graph_memory.kept = device->graph_memory.taken;
  return eSuccess;
}

}  // namespace ptx2spv::cuda
