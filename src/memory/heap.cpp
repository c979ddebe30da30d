#include "src/memory/heap.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>

#include <fmt/format.h>

#include "src/memory/address_claims.hpp"

namespace ptx2spv::runtime {

namespace {

constexpr std::uint64_t kBlockBytes = 32ull << 20;
constexpr std::uint64_t kVisibleBlockBytes = 8ull << 20;
/// Images of so many bytes have memory of their own.
constexpr std::uint64_t kOwnImage = 4ull << 20;
/// What mappings at chosen addresses are multiples of, on every device that has them.
constexpr std::uint64_t kPlacedBytes = 64ull << 10;
constexpr std::uint64_t kLargest = 1ull << 46;  // over any device's memory, far from overflow

constexpr std::uint64_t align_up(std::uint64_t value, std::uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

constexpr VkBufferUsageFlags kUsage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                      VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                      VK_BUFFER_USAGE_TRANSFER_DST_BIT;
constexpr bool has_buffer(MemoryKind kind) {
  return kind != MemoryKind::image && kind != MemoryKind::pages;
}
constexpr bool is_kernels(MemoryKind kind) {
  return kind == MemoryKind::device || kind == MemoryKind::rows;
}
/// Whether the host uses it as its own.
constexpr bool host_reads(MemoryKind kind) {
  return kind == MemoryKind::readback || kind == MemoryKind::mailbox;
}

/// Large pages for as much of it as they fill: kernels stream through it.
void ask_for_large_pages(void* memory, std::uint64_t bytes) {
  constexpr std::uint64_t kPage = 2ull << 20;
  const std::uint64_t at = reinterpret_cast<std::uint64_t>(memory), first = align_up(at, kPage);
  const std::uint64_t end = (at + bytes) / kPage * kPage;
  if (first < end)
    ::madvise(static_cast<std::byte*>(memory) + (first - at), end - first, MADV_HUGEPAGE);
}

/// Pages of the process for a block, which are there once they are touched.
bool map_pages(Block& block, std::uint64_t bytes) {
  bytes = align_up(bytes, kPlacedBytes);
  void* pages = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) return false;
  ask_for_large_pages(pages, bytes);
  block.imported = pages;
  block.imported_bytes = bytes;
  return true;
}

/// No address of the host's has these upper bits, nor one of another device's: the high word counts
/// the devices of the process. Kernels look at the low word alone.
std::uint64_t next_base() {
  static std::atomic<std::uint64_t> number{0x000a5000};
  return number.fetch_add(1) << 32;
}

/// Vulkan forbids to ask for more than a type's heap has.
Status check_heap(const VkPhysicalDeviceMemoryProperties& properties, int type,
                  std::uint64_t bytes) {
  if (type < 0)
    return Error{ErrorCode::unsupported, "the device has no suitable memory type", {}, {}};
  const std::uint64_t has = properties.memoryHeaps[properties.memoryTypes[type].heapIndex].size;
  if (bytes <= has) return {};
  return Error{ErrorCode::out_of_memory,
               fmt::format("{} bytes are more than the device's {}", bytes, has),
               {},
               {}};
}

AddressClaims& claims() {
  static auto* all = new AddressClaims;
  return *all;
}

}  // namespace

Memory::~Memory() {
  if (heap_) heap_->release(block_, offset_, size_);
}

void Memory::swap(Memory& other) {
  std::swap(heap_, other.heap_);
  std::swap(block_, other.block_);
  std::swap(offset_, other.offset_);
  std::swap(size_, other.size_);
}

Heap::~Heap() {
  for (auto& block : blocks_) destroy(*block);
}

void Heap::configure(bool unified) {
  device_.instance->vk.GetPhysicalDeviceMemoryProperties(device_.physical, &properties_);
  unified_ = unified;
}

int Heap::pick_type(MemoryKind kind, std::uint32_t type_bits) const {
  using Flags = VkMemoryPropertyFlags;
  const Flags local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
  const Flags host = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  const Flags cached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  // In order of preference; every host access relies on coherence, so that is never given up.
  std::vector<Flags> choices;
  switch (kind) {
    case MemoryKind::device:
    case MemoryKind::rows:
      if (unified_) choices = {local | host | cached, local | host, host};
      choices.push_back(local);
      choices.push_back(0);
      break;
    case MemoryKind::visible: choices = {local | host, host}; break;
    case MemoryKind::readback: choices = {host | cached, host}; break;
    case MemoryKind::mailbox: choices = {local | host}; break;
    case MemoryKind::range: break;
    case MemoryKind::image:
    case MemoryKind::pages: choices = {local, 0}; break;
  }
  for (Flags choice : choices)
    for (std::uint32_t i = 0; i < properties_.memoryTypeCount; ++i)
      if ((type_bits >> i & 1) && (properties_.memoryTypes[i].propertyFlags & choice) == choice)
        return static_cast<int>(i);
  return -1;
}

void Heap::serve_pages(std::uint64_t bytes, std::uint64_t allocation) {
  limit_ = bytes;
  largest_ = allocation;
}

std::unique_ptr<Block> Heap::block_of_pages(std::uint64_t bytes) {
  auto block = std::make_unique<Block>();
  if (!map_pages(*block, bytes)) return nullptr;
  block->size = bytes;
  block->address = reinterpret_cast<std::uint64_t>(block->imported);
  block->mapped = static_cast<std::byte*>(block->imported);
  block->type = static_cast<std::uint32_t>(pick_type(MemoryKind::device, ~0u));
  return block;
}

Result<Block*> Heap::add_block(MemoryKind kind, std::uint64_t bytes, std::uint32_t type_bits) {
  std::uint64_t taken = bytes;
  for (const auto& block : blocks_) taken += block->beyond ? 0 : block->size;
  if (limit_ && taken > limit_)
    return Error{ErrorCode::out_of_memory,
                 fmt::format("{} bytes are more than is left of the device's {}", bytes, limit_),
                 {},
                 {}};
  std::unique_ptr<Block> block;
  // A driver may take less than the largest allocation that it reports.
  if (!largest_ || bytes + kPlacedBytes <= largest_ || kind != MemoryKind::device) {
    auto made = make_apart(
        bytes, [&](std::uint64_t size) { return make_block(kind, size, type_bits); },
        [](const auto& each) {
          return !each->address || claims().take(each->address, each->size, each.get());
        },
        [this](auto& each) { destroy(*each); });
    if (!made) return made.error();
    block = std::move(*made);
  } else if (block = block_of_pages(bytes); !block) {
    return Error{ErrorCode::out_of_memory, fmt::format("no {} bytes of memory", bytes), {}, {}};
  }
  block->free[0] = block->size;
  blocks_.push_back(std::move(block));
  return blocks_.back().get();
}

Result<std::unique_ptr<Block>> Heap::make_block(MemoryKind kind, std::uint64_t bytes,
                                                std::uint32_t type_bits) {
  const DeviceFunctions& vk = device_.vk;
  auto block = std::make_unique<Block>();
  block->kind = kind;
  if (map_placed_ && host_reads(kind)) bytes = align_up(bytes, kPlacedBytes);
  block->size = bytes;
  if (has_buffer(kind)) {
    VkExternalMemoryBufferCreateInfo from_pages{
        VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO};
    from_pages.handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
    VkBufferCreateInfo create{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
    if (imports(kind)) create.pNext = &from_pages;
    device_.share(create);
    create.size = bytes;
    create.usage = kUsage | (has_addresses_ ? VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT : 0);
    VkResult result = vk.CreateBuffer(device_.handle, &create, nullptr, &block->buffer);
    if (result != VK_SUCCESS) return vulkan_error(result, "CreateBuffer");
    VkMemoryRequirements needs{};
    vk.GetBufferMemoryRequirements(device_.handle, block->buffer, &needs);
    type_bits &= needs.memoryTypeBits;
    bytes = needs.size;
  }
  auto fail = [&](Error error) {
    destroy(*block);
    return error;
  };
  int type = pick_type(kind, type_bits);
  if (Status status = check_heap(properties_, type, bytes); !status) return fail(status.error());
  block->type = static_cast<std::uint32_t>(type);
  VkResult result = allocate_block(*block, bytes, type_bits);
  if (result != VK_SUCCESS) return fail(vulkan_error(result, "AllocateMemory"));
  if (block->buffer) {
    result = vk.BindBufferMemory(device_.handle, block->buffer, block->memory, 0);
    if (result != VK_SUCCESS) return fail(vulkan_error(result, "BindBufferMemory"));
    if (has_addresses_) {
      VkBufferDeviceAddressInfo info{VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO};
      info.buffer = block->buffer;
      block->address = vk.GetBufferDeviceAddress(device_.handle, &info);
    }
    VkMemoryPropertyFlags has = properties_.memoryTypes[type].propertyFlags;
    const bool wants_map = !is_kernels(kind) || unified_;
    if (wants_map && (has & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT)) {
      result = map(*block, bytes);
      if (result != VK_SUCCESS) return fail(vulkan_error(result, "MapMemory"));
    }
  }
  return block;
}

std::uint32_t Heap::import_types(Block& block, std::uint64_t bytes) const {
  if (!map_pages(block, bytes)) return 0;
  VkMemoryHostPointerPropertiesEXT takes{VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT};
  const VkResult result =
      pages_(device_.handle, VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT, block.imported,
             &takes);
  return result == VK_SUCCESS ? takes.memoryTypeBits : 0;
}

VkResult Heap::allocate_block(Block& block, std::uint64_t bytes, std::uint32_t type_bits) {
  VkMemoryAllocateFlagsInfo flags{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO};
  flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
  VkImportMemoryHostPointerInfoEXT pages{VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT};
  pages.handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
  VkMemoryDedicatedAllocateInfo dedicated{VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO};
  dedicated.buffer = block.buffer;
  VkMemoryAllocateInfo allocate{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
  if ((block.buffer || block.kind == MemoryKind::pages) && has_addresses_) allocate.pNext = &flags;
  if (imports(block.kind)) {
    const std::uint32_t types = import_types(block, bytes) & type_bits;
    if (const int type = types ? pick_type(block.kind, types) : -1; type >= 0) {
      block.type = static_cast<std::uint32_t>(type);
      pages.pHostPointer = block.imported;
      pages.pNext = allocate.pNext;
      allocate.pNext = &pages;
      bytes = block.imported_bytes;
    }
  }
  // With NVIDIA's driver random reads of 16 MiB of such memory take 0.4 of the time, as in CUDA.
  block.dedicated = block.kind == MemoryKind::device && !unified_ && !imports(block.kind);
  if (block.dedicated) {
    dedicated.pNext = allocate.pNext;
    allocate.pNext = &dedicated;
  }
  allocate.allocationSize = bytes;
  allocate.memoryTypeIndex = block.type;
  return device_.vk.AllocateMemory(device_.handle, &allocate, nullptr, &block.memory);
}

VkResult Heap::map(Block& block, std::uint64_t bytes) {
  void* mapped = nullptr;
  auto* wanted = reinterpret_cast<void*>(block.address);  // NOLINT(performance-no-int-to-ptr)
  const bool place = map_placed_ && wanted && host_reads(block.kind) &&
                     block.address % kPlacedBytes == 0 && bytes % kPlacedBytes == 0;
  // What is reserved here the placed mapping replaces; what the process has there stays.
  if (place &&
      ::mmap(wanted, bytes, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) == wanted) {
    MemoryMapPlacedInfo where;
    where.pPlacedAddress = wanted;
    MemoryMapInfo info;
    info.pNext = &where;
    info.flags = kMapPlaced;
    info.memory = block.memory;
    if (map_placed_(device_.handle, &info, &mapped) == VK_SUCCESS) {
      block.mapped = static_cast<std::byte*>(mapped);
      return VK_SUCCESS;
    }
    ::munmap(wanted, bytes);
  }
  const VkResult result =
      device_.vk.MapMemory(device_.handle, block.memory, 0, VK_WHOLE_SIZE, 0, &mapped);
  block.mapped = static_cast<std::byte*>(mapped);
  if (result == VK_SUCCESS && limit_ && !block.imported) ask_for_large_pages(mapped, bytes);
  return result;
}

Status Heap::without_addresses(std::uint64_t bytes) {
  std::lock_guard lock(mutex_);
  has_addresses_ = false;
  // Kernels and the host both reach it.
  const MemoryKind kind = unified_ ? MemoryKind::device : MemoryKind::visible;
  auto block = add_block(kind, bytes, ~0u);
  while (!block && block.error().code == ErrorCode::out_of_memory && bytes > kBlockBytes) {
    bytes = bytes / 2 / kAlignment * kAlignment;
    block = add_block(kind, bytes, ~0u);
  }
  if (!block) return block.error();
  bound_ = *block;
  bound_->address = next_base();
  bound_->free = {{abi::kNullBytes, bytes - abi::kNullBytes}};
  bound_->used = abi::kNullBytes;
  return {};
}

void Heap::destroy(Block& block) {
  claims().give_back(block.address, &block);
  if (block.buffer) device_.vk.DestroyBuffer(device_.handle, block.buffer, nullptr);
  if (block.memory) device_.vk.FreeMemory(device_.handle, block.memory, nullptr);
  // A CPU driver runs a kernel on that was given up for its time: its pages stay.
  if (block.imported && !queue_.lost()) ::munmap(block.imported, block.imported_bytes);
}

bool Heap::serves(const Block& block, MemoryKind kind, std::uint32_t type_bits) const {
  if (!(type_bits >> block.type & 1)) return false;
  if (bound_ && kind != MemoryKind::image) return &block == bound_;
  return block.kind == kind && &block != bound_;
}

Memory Heap::carve(MemoryKind kind, std::uint64_t bytes, std::uint64_t alignment,
                   std::uint32_t type_bits) {
  for (auto& block : blocks_) {
    if (!serves(*block, kind, type_bits) || block->size - block->used < bytes) continue;
    const auto kept = block->used ? kept_.end() : std::ranges::find(kept_, block.get());
    if (kept != kept_.end() && bytes <= block->size / 2) continue;
    // First fit: ranges live long and blocks hold few of them.
    for (auto& [start, size] : block->free) {
      std::uint64_t offset = align_up(start, alignment);
      if (offset + bytes > start + size) continue;
      if (kept != kept_.end()) {
        kept_bytes_ -= block->size;
        kept_.erase(kept);
      }
      std::uint64_t begin = start, end = start + size;
      block->free.erase(begin);
      if (offset > begin) block->free[begin] = offset - begin;
      if (offset + bytes < end) block->free[offset + bytes] = end - offset - bytes;
      block->used += bytes;
      return Memory(this, block.get(), offset, bytes);
    }
  }
  return {};
}

Result<Memory> Heap::take(MemoryKind kind, std::uint64_t bytes, std::uint64_t alignment,
                          std::uint32_t type_bits) {
  if (bytes > kLargest)
    return Error{ErrorCode::out_of_memory, fmt::format("{} bytes are too many", bytes), {}, {}};
  bytes = align_up(std::max<std::uint64_t>(bytes, 1), kAlignment);
  if (is_kernels(kind) || host_reads(kind)) bytes += red_zone_;
  alignment = std::max(alignment, kAlignment);
  if (kind != MemoryKind::image) bytes = align_up(bytes, alignment);
  std::lock_guard lock(mutex_);
  collect(false);
  if (Memory found = carve(kind, bytes, alignment, type_bits)) return found;
  if (bound_ && kind != MemoryKind::image) {
    collect(true);
    if (Memory found = carve(kind, bytes, alignment, type_bits)) return found;
    return Error{
        ErrorCode::out_of_memory,
        fmt::format("no {} bytes in a row are free: the device has no buffer addresses, so "
                    "all memory of kernels lies in one buffer of {} MiB "
                    "(PTX2SPV_MEMORY_MIB)",
                    bytes, bound_->size >> 20),
        {},
        {}};
  }
  std::uint64_t usual =
      kind == MemoryKind::visible || host_reads(kind) ? kVisibleBlockBytes : kBlockBytes;
  // Large ranges get a block of their own, which goes when they do.
  std::uint64_t size = bytes > usual / 2 ? bytes : usual;
  auto block = add_block(kind, size, type_bits);
  if (!block && block.error().code == ErrorCode::out_of_memory) {
    collect(true);
    block = add_block(kind, bytes, type_bits);
  }
  if (!block) return block.error();
  Block* taken = *block;
  taken->free.clear();
  if (bytes < taken->size) taken->free[bytes] = taken->size - bytes;
  taken->used = bytes;
  return Memory(this, taken, 0, bytes);
}

Result<Memory> Heap::allocate(MemoryKind kind, std::uint64_t bytes, std::uint64_t alignment) {
  if (kind == MemoryKind::rows && unified_) kind = MemoryKind::device;
  return take(kind, bytes, alignment, ~0u);
}

Result<Memory> Heap::allocate_beyond(std::uint64_t bytes, std::uint64_t alignment) {
  std::lock_guard lock(mutex_);
  auto block = limit_ && bytes <= kLargest ? block_of_pages(align_up(bytes, alignment)) : nullptr;
  if (!block)
    return Error{ErrorCode::out_of_memory, fmt::format("no {} bytes of memory", bytes), {}, {}};
  block->beyond = true;
  block->used = block->size;
  blocks_.push_back(std::move(block));
  Block* taken = blocks_.back().get();
  return Memory(this, taken, 0, taken->size);
}

Result<Block*> Heap::add_image(const VkMemoryRequirements& needs, VkImage image) {
  const int type = pick_type(MemoryKind::image, needs.memoryTypeBits);
  if (Status status = check_heap(properties_, type, needs.size); !status) return status.error();
  auto block = std::make_unique<Block>();
  block->kind = MemoryKind::image;
  block->size = block->used = needs.size;
  block->type = static_cast<std::uint32_t>(type);
  block->dedicated = true;
  VkMemoryDedicatedAllocateInfo dedicated{VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO};
  dedicated.image = image;
  const VkMemoryAllocateInfo allocate{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, &dedicated,
                                      needs.size, block->type};
  const VkResult result =
      device_.vk.AllocateMemory(device_.handle, &allocate, nullptr, &block->memory);
  if (result != VK_SUCCESS) return vulkan_error(result, "AllocateMemory");
  blocks_.push_back(std::move(block));
  return blocks_.back().get();
}

Result<Memory> Heap::allocate_image(const VkMemoryRequirements& needs, VkImage image) {
  if (unified_ || needs.size < kOwnImage)
    return take(MemoryKind::image, needs.size, needs.alignment, needs.memoryTypeBits);
  std::lock_guard lock(mutex_);
  collect(false);
  auto block = add_image(needs, image);
  if (!block && block.error().code == ErrorCode::out_of_memory) {
    collect(true);
    block = add_image(needs, image);
  }
  if (!block) return block.error();
  return Memory(this, *block, 0, needs.size);
}

void Heap::release(Block* block, std::uint64_t offset, std::uint64_t size) {
  std::lock_guard lock(mutex_);
  std::uint64_t value = queue_.submitted();
  if (queue_.reached(value)) {
    give_back(block, offset, size);
  } else {
    retired_.push_back({value, block, offset, size});
  }
}

void Heap::give_back(Block* block, std::uint64_t offset, std::uint64_t size) {
  block->used -= size;
  auto next = block->free.lower_bound(offset);
  if (next != block->free.end() && next->first == offset + size) {
    size += next->second;
    next = block->free.erase(next);
  }
  if (next != block->free.begin()) {
    auto before = std::prev(next);
    if (before->first + before->second == offset) {
      offset = before->first;
      size += before->second;
      block->free.erase(before);
    }
  }
  block->free[offset] = size;
  if (block->used) return;
  bool usual = block->size == kBlockBytes || block->size == kVisibleBlockBytes;
  const bool owned = block->kind == MemoryKind::image && block->dedicated;
  if (usual && block->kind != MemoryKind::range && !owned) return;  // kept for the next one
  if (!is_kernels(block->kind) || block->beyond || block->size > most_kept_) return remove(block);
  kept_.push_back(block);
  kept_bytes_ += block->size;
  drop_kept(most_kept_);
}

void Heap::remove(Block* block) {
  auto it = std::find_if(blocks_.begin(), blocks_.end(),
                         [&](const auto& each) { return each.get() == block; });
  destroy(*block);
  blocks_.erase(it);
}

void Heap::drop_kept(std::uint64_t most) {
  while (kept_bytes_ > most) {
    kept_bytes_ -= kept_.front()->size;
    remove(kept_.front());
    kept_.pop_front();
  }
}

void Heap::collect(bool everything) {
  if (everything && !retired_.empty()) (void)queue_.wait(retired_.back().value);
  while (!retired_.empty() && queue_.reached(retired_.front().value)) {
    Retired first = retired_.front();
    retired_.pop_front();
    give_back(first.block, first.offset, first.size);
  }
  if (everything) drop_kept(0);
}

const Block* Heap::find(std::uint64_t address, std::uint64_t& offset) {
  std::lock_guard lock(mutex_);
  for (auto& block : blocks_) {
    if (!block->address || address < block->address) continue;
    if (address - block->address >= block->size) continue;
    offset = address - block->address;
    return block.get();
  }
  return nullptr;
}

void Quarantine::keep(Memory&& memory) {
  if (!open_ || !memory) return;
  std::lock_guard lock(mutex_);
  bytes_ += memory.size();
  kept_.push_back(std::move(memory));
  while (bytes_ > kMostBytes) {
    bytes_ -= kept_.front().size();
    kept_.pop_front();
  }
}

void Heap::statistics(std::uint64_t& blocks, std::uint64_t& bytes, std::uint64_t& used) {
  std::lock_guard lock(mutex_);
  for (auto& block : blocks_) {
    if (block->kind == MemoryKind::range) continue;
    ++blocks;
    bytes += block->size;
    used += block->used;
  }
}

}  // namespace ptx2spv::runtime
