// NVTX's memory extension: a program's own allocators tell what they give out of their pools, and
// the sanitizer takes these suballocations for allocations. As in nvtx.cpp, the headers in the
// program open this library and let it fill a table of functions.
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "ptx2spv/abi_sanitizer.hpp"
#include "src/cuda/core/backlog.hpp"
#include "src/cuda/core/core.hpp"
#include "src/cuda/core/objects.hpp"
#include "src/device/device.hpp"
#include "src/options.hpp"

namespace ptx2spv::cuda::nvtx::memory {

namespace {

constexpr std::uint16_t kMemoryModule = 1, kMemoryVersion = 0x0102;
constexpr std::uint32_t kSubAllocator = 1, kVirtualAddresses = 1, kByPointer = 1, kByHandle = 2;
constexpr std::uint32_t kAscii = 1;

/// nvtxMemVirtualRangeDesc_t.
struct Range {
  std::size_t bytes;
  std::uint64_t address;
};

/// nvtxMemHeapDesc_t.
struct Heap {
  std::uint16_t version, size;
  std::uint32_t reserved, usage, type;
  std::size_t range_size;
  const Range* range;
  std::uint32_t category, message_type;
  const char* message;
};

/// nvtxMemRegionsRegisterBatch_t.
struct Regions {
  std::uint16_t version, size;
  std::uint32_t type;
  std::uint64_t heap;
  std::size_t count, element_size;
  const std::byte* elements;
  std::uint64_t* handles;
};

/// nvtxMemRegionsResizeBatch_t and nvtxMemMarkInitializedBatch_t.
struct Ranges {
  std::uint16_t version, size;
  std::uint32_t type;
  std::size_t count, element_size;
  const std::byte* elements;
};

/// nvtxMemRegionsUnregisterBatch_t: pointers or handles, which are equal here.
struct References {
  std::uint16_t version, size;
  std::uint32_t type;
  std::size_t count, element_size;
  const std::byte* elements;
};

/// nvtxMemRegionNameDesc_t.
struct RegionName {
  std::uint32_t reference_type, name_type;
  std::uint64_t address;
  const char* name;
};

/// nvtxMemRegionsNameBatch_t.
struct RegionNames {
  std::uint16_t version, size;
  std::uint32_t reserved;
  std::size_t count, element_size;
  const std::byte* elements;
};

/// The device whose memory an address is of; null: it is no device's.
runtime::DeviceState* device_of(std::uint64_t address) {
  const auto allocation = initialized() ? find_address(address) : nullptr;
  return allocation && allocation->context ? allocation->context->gpu().state().get() : nullptr;
}

/// Before memory ends: allocators give it back while kernels that use it wait in a stream.
void finish_kernels(std::uint64_t address) {
  const auto allocation = initialized() && !in_host_function() ? find_address(address) : nullptr;
  if (allocation && allocation->context) (void)synchronize(*allocation->context);
}

/// Calls each(element, device) for the elements of a batch, which may be longer than we know. An
/// element's address is its handle.
template <class T, class Batch, class Each>
void for_each(const Batch* batch, Each&& each) {
  if (!batch || batch->version != kMemoryVersion || batch->element_size < sizeof(T)) return;
  for (std::size_t i = 0; i < batch->count; ++i) {
    T element;
    std::memcpy(&element, batch->elements + i * batch->element_size, sizeof element);
    if constexpr (requires { batch->handles; })
      if (batch->handles) batch->handles[i] = element.address;
    if (runtime::DeviceState* device = device_of(element.address)) each(element, *device);
  }
}

/// A bit for each byte, where the sanitizer looks for what nobody wrote.
std::shared_ptr<const runtime::Memory> shadow_for(runtime::DeviceState& device, std::size_t bytes) {
  if (!(device.checks & check_init)) return nullptr;
  auto memory = device.heap.allocate(runtime::MemoryKind::visible, abi::shadow_init_bytes(bytes));
  if (!memory) {
    say_once("no memory for what is written in suballocations: it counts as written");
    return nullptr;
  }
  std::memset(memory->mapped(), 0, memory->size());
  return std::make_shared<const runtime::Memory>(std::move(*memory));
}

std::uint64_t register_heap(void*, const Heap* heap) {
  if (!heap || heap->version != kMemoryVersion || heap->type != kVirtualAddresses || !heap->range ||
      heap->range_size < sizeof(Range))
    return 0;
  const Range range = *heap->range;
  runtime::DeviceState* device = device_of(range.address);
  if (!device || heap->usage != kSubAllocator) return range.address;
  const bool named = heap->message_type == kAscii && heap->message;
  if (!device->allocations.add_pool(range.address, range.bytes,
                                    named ? fmt::format("pool '{}'", heap->message) : ""))
    say(
        fmt::format("nvtxMemHeapRegister: {} bytes at {:#x} do not lie in one allocation without a "
                    "pool; the sanitizer does not divide it",
                    range.bytes, range.address));
  return range.address;
}

void unregister_heap(void*, std::uint64_t heap) {
  finish_kernels(heap);
  if (auto* device = device_of(heap)) device->allocations.remove_pool(heap);
}

void reset_heap(void*, std::uint64_t heap) {
  finish_kernels(heap);
  if (auto* device = device_of(heap)) device->allocations.empty_pool(heap);
}

void register_regions(void*, const Regions* batch) {
  if (!batch || batch->type != kVirtualAddresses) return;
  for_each<Range>(batch, [&](const Range& range, runtime::DeviceState& device) {
    if (!device.allocations.has_pool(batch->heap)) return;  // another kind of heap
    const auto shadow = shadow_for(device, range.bytes);
    if (!device.allocations.add_suballocation(range.address, range.bytes,
                                              shadow ? shadow->address() : 0,
                                              shadow ? shadow->mapped() : nullptr, shadow))
      say(
          fmt::format("nvtxMemRegionsRegister: {} bytes at {:#x} lie in no pool, or on another "
                      "region; the sanitizer does not know them",
                      range.bytes, range.address));
  });
}

void resize_regions(void*, const Ranges* batch) {
  if (!batch || batch->type != kVirtualAddresses) return;
  for_each<Range>(batch, [](const Range& range, runtime::DeviceState& device) {
    finish_kernels(range.address);
    const auto shadow = shadow_for(device, range.bytes);
    if (!device.allocations.resize_suballocation(range.address, range.bytes,
                                                 shadow ? shadow->address() : 0,
                                                 shadow ? shadow->mapped() : nullptr, shadow))
      say(fmt::format("nvtxMemRegionsResize: there is no region at {:#x} that can have {} bytes",
                      range.address, range.bytes));
  });
}

void unregister_regions(void*, const References* batch) {
  struct Reference {
    std::uint64_t address;
  };
  if (!batch || (batch->type != kByPointer && batch->type != kByHandle)) return;
  for_each<Reference>(batch, [](const Reference& reference, runtime::DeviceState& device) {
    finish_kernels(reference.address);
    device.allocations.remove_suballocation(reference.address);
  });
}

void name_regions(void*, const RegionNames* batch) {
  for_each<RegionName>(batch, [](const RegionName& named, runtime::DeviceState& device) {
    if (named.name_type == kAscii && named.name)
      device.allocations.rename(named.address, fmt::format("suballocation '{}'", named.name));
  });
}

void mark_initialized(void*, void*, std::uint8_t, const Ranges* batch) {
  if (!batch || batch->type != kVirtualAddresses) return;
  for_each<Range>(batch, [](const Range& range, runtime::DeviceState& device) {
    device.allocations.written(range.address, range.bytes);
  });
}

/// In the place of functions that only permissions have; a null handle is none.
void* permissions() {
  say_once("permissions of memory by NVTX are not checked");
  return nullptr;
}

}  // namespace

struct Segment {
  std::size_t id, count;
  std::intptr_t* slots;
};

/// nvtxExtModuleInfo_t.
struct Extension {
  std::uint16_t nvtx, size, module, version;
  std::size_t count;
  Segment* segments;
};

}  // namespace ptx2spv::cuda::nvtx::memory

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(
    ptx2spv::cuda::nvtx::memory::Extension* info) {
  using namespace ptx2spv;
  using namespace ptx2spv::cuda;
  using namespace ptx2spv::cuda::nvtx::memory;
  if (!info || info->module != kMemoryModule || info->count < 1 ||
      runtime::option_text(runtime::Option::sanitize).empty())
    return 0;
  if (info->version != kMemoryVersion) {
    say_once(
        fmt::format("NVTX's memory extension has version {:#x} here, and {:#x} is known: "
                    "pools are not divided",
                    info->version, kMemoryVersion));
    return 0;
  }
  const auto address = [](auto* function) { return reinterpret_cast<std::intptr_t>(function); };
  const std::intptr_t unchecked = address(&permissions);
  const std::intptr_t functions[] = {address(&register_heap),
                                     address(&unregister_heap),
                                     address(&reset_heap),
                                     address(&register_regions),
                                     address(&resize_regions),
                                     address(&unregister_regions),
                                     address(&name_regions),
                                     unchecked,
                                     unchecked,
                                     unchecked,
                                     unchecked,
                                     unchecked,
                                     unchecked,
                                     unchecked,
                                     unchecked,
                                     unchecked,
                                     address(&mark_initialized)};
  for (std::size_t i = 0; i < std::size(functions) && i < info->segments[0].count; ++i)
    info->segments[0].slots[i] = functions[i];
  return 1;
}
