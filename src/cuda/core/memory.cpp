// Memory by address: what cudaMalloc and its kind gave out, and what programs registered.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include "src/array/buffer.hpp"
#include "src/array/shared_memory.hpp"
#include "src/cuda/core/graph.hpp"
#include "src/device/device.hpp"

namespace ptx2spv::cuda {

namespace {

/// Ranges by their first address; none touches another's bytes.
class AddressRanges {
 public:
  bool add(std::uint64_t address, const std::shared_ptr<Allocation>& allocation) {
    std::unique_lock lock(mutex_);
    const std::uint64_t end = address + std::max<std::size_t>(allocation->bytes, 1);
    auto next = ranges_.lower_bound(address);
    if (next != ranges_.end() && next->first < end) return false;
    if (next != ranges_.begin()) {
      auto before = std::prev(next);
      if (before->first + before->second->bytes > address) return false;
    }
    ranges_.emplace(address, allocation);
    return true;
  }
  std::shared_ptr<Allocation> find(std::uint64_t address) const {
    std::shared_lock lock(mutex_);
    auto next = ranges_.upper_bound(address);
    if (next == ranges_.begin()) return nullptr;
    --next;
    return address - next->first < std::max<std::size_t>(next->second->bytes, 1) ? next->second
                                                                                 : nullptr;
  }
  void remove(std::uint64_t address) {
    std::unique_lock lock(mutex_);
    ranges_.erase(address);
  }
  std::vector<std::shared_ptr<Allocation>> of(const ContextObject& context) const {
    auto list = all();
    std::erase_if(list, [&](const auto& each) { return each->context != &context; });
    return list;
  }
  std::vector<std::shared_ptr<Allocation>> all() const {
    std::vector<std::shared_ptr<Allocation>> list;
    std::shared_lock lock(mutex_);
    for (const auto& [address, each] : ranges_) list.push_back(each);
    return list;
  }

 private:
  mutable std::shared_mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<Allocation>> ranges_;
};

AddressRanges& by_address() {
  static auto* ranges = new AddressRanges;
  return *ranges;
}
AddressRanges& by_host() {
  static auto* ranges = new AddressRanges;
  return *ranges;
}

/// Memory that is left to its pool while work that names it waits. A pool gives it again under the
/// same address: of those there, the one with most bytes is found.
class WaitedRanges {
 public:
  using Ranges = std::multimap<std::uint64_t, std::shared_ptr<Allocation>>;
  Ranges::iterator add(std::shared_ptr<Allocation> allocation) {
    std::lock_guard lock(mutex_);
    ++count_;
    const auto address = allocation->address;
    return ranges_.emplace(address, std::move(allocation));
  }
  void remove(Ranges::iterator which) {
    std::lock_guard lock(mutex_);
    --count_;
    ranges_.erase(which);
  }
  std::shared_ptr<Allocation> find(std::uint64_t address) const {
    if (count_ == 0) return nullptr;
    std::lock_guard lock(mutex_);
    auto end = ranges_.upper_bound(address);
    if (end == ranges_.begin()) return nullptr;
    std::shared_ptr<Allocation> most;
    for (auto at = ranges_.lower_bound(std::prev(end)->first); at != end; ++at)
      if (address - at->first < at->second->bytes && (!most || most->bytes < at->second->bytes))
        most = at->second;
    return most;
  }

 private:
  mutable std::mutex mutex_;
  std::atomic<std::size_t> count_{0};
  Ranges ranges_;
};

WaitedRanges& waited() {
  static auto* ranges = new WaitedRanges;
  return *ranges;
}

/// Page-locked memory of so many bytes at most holds what the host and a running kernel tell each
/// other, rather than data.
constexpr std::size_t kMailbox = 4096;

/// Whether the device's atomic operations on managed memory are not atomic with the host's: over a
/// bus, for one.
bool needs_guard(const ContextObject& context) {
  return context.device->info.kind != DeviceKind::cpu;
}

std::uint64_t number(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

/// CUDA's functions, for the sanitizer's reports.
const char* name_of(MemoryUse use) {
  switch (use) {
    case MemoryUse::host: return "cudaMallocHost";
    case MemoryUse::managed: return "cudaMallocManaged";
    default: return "cudaMalloc";
  }
}

}  // namespace

void forget(const Allocation& allocation) {
  if (!allocation.buffer || allocation.use == MemoryUse::mapped)
    allocation.context->gpu().state()->allocations.remove(allocation.address);
  by_address().remove(allocation.address);
  if (allocation.use == MemoryUse::managed && needs_guard(*allocation.context))
    allocation.context->gpu().state()->queue.guard().remove(allocation.host);
  if (allocation.host) by_host().remove(number(allocation.host));
}

bool add_mapped(const std::shared_ptr<Allocation>& allocation) {
  return by_address().add(allocation->address, allocation);
}

CUresult allocate(ContextObject& context, std::size_t bytes, MemoryUse use, unsigned flags,
                  std::shared_ptr<Allocation>& made, const Buffer* kept, BufferMemory own) {
  if (!bytes) return fail(eInvalidValue, "an allocation of no bytes");
  // Where the device's memory is not the host's, managed memory is the host's: kernels reach it.
  const bool host =
      use == MemoryUse::host || (use == MemoryUse::managed && !context.device->shared_addresses);
  const bool guarded = use == MemoryUse::managed && needs_guard(context);
  // Guards and advice are of whole pages; an H100's managed memory begins with one, too.
  const auto alignment = use == MemoryUse::managed
                             ? static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))
                             : runtime::Heap::kAlignment;
  auto buffer = with_room(context, [&]() -> Result<Buffer> {
    if (kept) return *kept;
    if (use == MemoryUse::host && bytes <= kMailbox)
      return runtime::create_mailbox(context.gpu(), bytes);
    return runtime::create_aligned(context.gpu(), bytes, host ? BufferMemory::host : own,
                                   alignment);
  });
  if (!buffer && use == MemoryUse::managed)
    if (auto beyond = runtime::create_beyond(context.gpu(), bytes, alignment)) buffer = beyond;
  if (!buffer) return report(buffer.error());
  if (use == MemoryUse::managed && number(buffer->mapped()) != buffer->address())
    return not_supported("managed memory",
                         "this device and the host reach memory by different addresses");
  auto allocation = std::make_shared<Allocation>();
  allocation->address = buffer->address();
  allocation->bytes = bytes;
  allocation->use = use;
  allocation->flags = flags;
  allocation->context = &context;
  allocation->id = next_id();
  if (use != MemoryUse::device) allocation->host = buffer->mapped();
  if (use != MemoryUse::device && !allocation->host)
    return fail(eMemoryAllocation, "the device's memory is not mapped");
  static std::array<std::atomic<std::uint64_t>, 6> calls{};
  buffer->set_name(fmt::format("{} {}", name_of(use), ++calls[static_cast<std::size_t>(use)]));
  allocation->buffer = std::move(*buffer);
  if (!by_address().add(allocation->address, allocation))
    return fail(eUnknown, "the device gave out an address that is in use");
  if (allocation->host) by_host().add(number(allocation->host), allocation);
  if (guarded) context.gpu().state()->queue.guard().add({allocation->host, bytes});
  made = std::move(allocation);
  return eSuccess;
}

std::shared_ptr<Allocation> find_address(CUdeviceptr address) { return by_address().find(address); }
std::shared_ptr<Allocation> find_for_work(CUdeviceptr address) {
  auto found = find_address(address), left = waited().find(address);
  return left && (!found || found->bytes < left->bytes) ? left : found;
}
std::shared_ptr<const void> keep_for_work(CUdeviceptr address) {
  auto found = find_address(address);
  if (!found) return nullptr;
  const auto at = waited().add(std::move(found));
  return {&*at, [at](const void*) { waited().remove(at); }};
}
std::shared_ptr<Allocation> find_host(const void* pointer) {
  return by_host().find(number(pointer));
}

CUresult check_release(CUdeviceptr address, MemoryUse use) {
  auto allocation = find_address(address);
  const bool fits = allocation && allocation->address == address &&
                    (allocation->use == use ||
                     (use == MemoryUse::device && allocation->use == MemoryUse::managed));
  return fits ? eSuccess
              : fail(eInvalidValue, fmt::format("{:#x} was not allocated, or is freed", address));
}

CUresult release(CUdeviceptr address, MemoryUse use) {
  auto allocation = find_address(address);
  if (CUresult code = check_release(address, use); code != eSuccess) return code;
  // What runs may still use it, and a launch that trapped is to be told of.
  const CUresult code = synchronize(*allocation->context);
  if (allocation->graph) {
    const CUresult freed = take_graph_memory(*allocation->graph, false);
    return code == eSuccess ? freed : code;
  }
  bury_objects_over(*allocation);
  forget(*allocation);
  if (allocation->pool) {
    std::lock_guard lock(allocation->pool->mutex);
    allocation->pool->used -= allocation->bytes;
    allocation->pool->reserved -= allocation->buffer->size();
  }
  return code;
}

CUresult release_host(const void* pointer) {
  auto allocation = find_host(pointer);
  if (!allocation || allocation->host != pointer || allocation->use != MemoryUse::host)
    return fail(eInvalidValue, "the pointer is of no page-locked allocation");
  return release(allocation->address, MemoryUse::host);
}

bool is_mapped(std::uintptr_t address, std::size_t bytes) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  constexpr std::size_t kPages = 4096;  // at a time
  std::array<unsigned char, kPages> resident{};
  const std::uintptr_t end = address + bytes;
  for (std::uintptr_t at = address / page * page; at < end; at += kPages * page)
    if (::mincore(reinterpret_cast<void*>(at), std::min<std::size_t>(end - at, kPages * page),
                  resident.data()) != 0)
      return false;
  return true;
}

CUresult register_host(ContextObject& context, void* pointer, std::size_t bytes, unsigned flags) {
  if (!pointer || !bytes || (flags & ~0xfu)) return fail(eInvalidValue, "nothing to register");
  constexpr unsigned kDeviceRegisters = 4;  // CU_MEMHOSTREGISTER_IOMEMORY
  if (flags & kDeviceRegisters) return fail(eInvalidValue, "the memory is no other device's");
  const auto known =
      context.device->shared_addresses ? find_address(number(pointer)) : find_host(pointer);
  if (known && known->use != MemoryUse::registered)
    return fail(eInvalidValue, "the memory is page-locked already");
  if (bytes > static_cast<std::size_t>(PTRDIFF_MAX))
    return fail(eInvalidValue, "more than there are addresses");
  if (!is_mapped(number(pointer), bytes))
    return fail(eInvalidValue, "the program has no memory at some of these addresses");
  if (CUresult code = begin_unsafe_call(); code != eSuccess) return code;
  auto allocation = std::make_shared<Allocation>();
  allocation->address = number(pointer);
  if (!context.device->shared_addresses) {
    if (known) return fail(eHostMemoryAlreadyRegistered, "the memory is registered already");
    auto pages = runtime::import_pages(context.gpu(), static_cast<std::byte*>(pointer), bytes);
    if (!pages && pages.error().code == ErrorCode::unsupported)
      return not_supported("registering host memory", pages.error().text.c_str());
    if (!pages) return report(pages.error());
    allocation->address = pages->address();
    allocation->buffer = std::move(*pages);
  }
  allocation->bytes = bytes;
  allocation->use = MemoryUse::registered;
  allocation->host = static_cast<std::byte*>(pointer);
  allocation->flags = flags;
  allocation->context = &context;
  allocation->id = next_id();
  if (!by_host().add(number(pointer), allocation))
    return fail(eHostMemoryAlreadyRegistered, "the memory, or a part of it, is registered already");
  if (!by_address().add(allocation->address, allocation)) {
    by_host().remove(number(pointer));
    return fail(eHostMemoryAlreadyRegistered, "the memory, or a part of it, is registered already");
  }
  if (!allocation->buffer)
    context.gpu().state()->allocations.add(allocation->address, bytes, true,
                                           "registered host memory");
  return eSuccess;
}

CUresult unregister_host(const void* pointer) {
  auto allocation = find_host(pointer);
  if (!pointer || (allocation && allocation->use != MemoryUse::registered))
    return fail(eInvalidValue, "the pointer is of no memory that a program registers");
  if (!allocation) return fail(eHostMemoryNotRegistered, "the memory is not registered");
  if (allocation->host != pointer)
    return fail(eInvalidValue, "the pointer is not the start of what was registered");
  if (CUresult refused = begin_unsafe_call(); refused != eSuccess) return refused;
  const CUresult code = synchronize(*allocation->context);
  forget(*allocation);
  return code;
}

void add_variable(ContextObject& context, CUdeviceptr address, std::size_t bytes, bool managed) {
  auto view = Buffer::view(context.gpu(), address, bytes);
  if (!view) return;
  auto allocation = std::make_shared<Allocation>();
  allocation->address = address;
  allocation->bytes = bytes;
  allocation->use = MemoryUse::variable;
  allocation->context = &context;
  allocation->id = next_id();
  if (managed) allocation->host = view->mapped();
  allocation->buffer = std::move(*view);
  by_address().add(address, allocation);
  if (managed && allocation->host) by_host().add(number(allocation->host), allocation);
}

void remove_variable(CUdeviceptr address) {
  auto allocation = find_address(address);
  if (allocation && allocation->address == address && allocation->use == MemoryUse::variable)
    forget(*allocation);
}

void release_memory_of(ContextObject& context) {
  for (const auto& each : by_address().of(context)) forget(*each);
  (void)empty_pools(context);
}

std::vector<std::shared_ptr<Allocation>> all_allocations() { return by_address().all(); }

CUresult pitch_of(std::size_t width, std::size_t& pitch) {
  constexpr std::size_t kPitch = 512;
  if (__builtin_add_overflow(width, kPitch - 1, &pitch)) return fail(eInvalidValue, "too wide");
  pitch = pitch / kPitch * kPitch;
  return eSuccess;
}

Place find_place(CUdeviceptr address) {
  auto* host = reinterpret_cast<const std::byte*>(address);
  Place place{find_for_work(address), 0};
  if (!place.allocation) place.allocation = find_host(host);
  if (!place.allocation) return place;
  const Allocation& found = *place.allocation;
  const bool by_host =
      found.host && address - number(found.host) < std::max<std::size_t>(found.bytes, 1);
  place.offset = address - (by_host ? number(found.host) : found.address);
  return place;
}

CUresult device_pointer(const void* host, CUdeviceptr& address) {
  auto allocation = find_host(host);
  if (!allocation || allocation->use == MemoryUse::managed)
    return fail(eInvalidValue, "the pointer is of no page-locked memory");
  address = allocation->address + (number(host) - number(allocation->host));
  return eSuccess;
}

CUresult host_flags(const void* host, unsigned& flags) {
  auto allocation = find_host(host);
  if (!allocation) return fail(eInvalidValue, "the pointer is of no page-locked memory");
  constexpr unsigned kMapped = 2, kHostReadOnly = 8;
  flags = (allocation->flags & ~kHostReadOnly) | kMapped;  // all of it is mapped
  return eSuccess;
}

CUresult check_managed(CUdeviceptr address, std::size_t bytes) {
  auto allocation = find_address(address);
  const bool managed = allocation && (allocation->use == MemoryUse::managed ||
                                      (allocation->use == MemoryUse::variable && allocation->host));
  if (!bytes || !managed || bytes > allocation->bytes - (address - allocation->address))
    return fail(eInvalidValue, "the memory is not managed");
  return eSuccess;
}

CUresult memory_info(ContextObject& context, std::size_t* free, std::size_t* total) {
  const std::uint64_t all = total_memory(*context.device);
  const std::uint64_t used = context.gpu().statistics().memory_used;
  if (total) *total = all;
  if (free) *free = all - std::min(used, all);
  return eSuccess;
}

}  // namespace ptx2spv::cuda
