// Device memory in large blocks, each covered by one VkBuffer, given out in ranges. A range that is
// released while work is in flight is only reused when that work is over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "ptx2spv/abi.hpp"
#include "src/vulkan/map_placed.hpp"
#include "src/vulkan/queue.hpp"

namespace ptx2spv::runtime {

enum class MemoryKind : std::uint8_t {
  device,    ///< kernels' own memory; mapped where the device's memory is the host's
  rows,      ///< the same, and images may be bound to it
  visible,   ///< written by the host, read by kernels, mapped: tables, parameters, trap records
  readback,  ///< mapped and cached: what the host reads
  mailbox,   ///< mapped, where running kernels see what the host stores
  image,     ///< bound to images, no buffer over it
  range,     ///< addresses, and no memory: a sparse buffer
  pages,     ///< bound to parts of ranges
};

struct Block {
  MemoryKind kind = MemoryKind::device;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  VkBuffer buffer = VK_NULL_HANDLE;
  std::uint64_t size = 0, used = 0, address = 0;
  std::byte* mapped = nullptr;
  void* imported =
      nullptr;  ///< pages of the process that the memory is made of; null: the driver's
  std::uint64_t imported_bytes = 0;
  bool beyond = false;  ///< what the device has
  std::uint32_t type = 0;
  bool dedicated = false;  ///< to its buffer or image: nothing else may be bound there
  std::map<std::uint64_t, std::uint64_t> free;  ///< offset -> bytes, never touching one another
};

class Heap;

/// A VkBuffer, and where the host and kernels reach its start; null and 0: they do not.
struct BufferBase {
  VkBuffer buffer = VK_NULL_HANDLE;
  std::byte* mapped = nullptr;
  std::uint64_t address = 0;
};

/// A range of a block; goes back when destroyed.
class Memory {
 public:
  Memory() = default;
  Memory(Heap* heap, Block* block, std::uint64_t offset, std::uint64_t size)
      : heap_(heap), block_(block), offset_(offset), size_(size) {}
  Memory(Memory&& other) noexcept { swap(other); }
  Memory& operator=(Memory&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Memory();
  /// A range of it that owns nothing: the whole outlives it.
  Memory part(std::uint64_t offset, std::uint64_t size) const {
    return Memory(nullptr, block_, offset_ + offset, size);
  }
  explicit operator bool() const { return block_; }
  /// Null: pages of the process, over the driver's limits, which no command reaches.
  VkBuffer buffer() const { return block_->buffer; }
  BufferBase base() const { return {block_->buffer, block_->mapped, block_->address}; }
  VkDeviceMemory memory() const { return block_->memory; }
  std::uint64_t offset() const { return offset_; }
  std::uint64_t size() const { return size_; }
  std::uint64_t address() const { return block_->address + offset_; }
  std::byte* mapped() const { return block_->mapped ? block_->mapped + offset_ : nullptr; }

 private:
  void swap(Memory& other);
  Heap* heap_ = nullptr;
  Block* block_ = nullptr;
  std::uint64_t offset_ = 0, size_ = 0;
};

/// Thread-safe.
class Heap {
 public:
  static constexpr std::uint64_t kAlignment = 256;

  Heap(const VulkanDevice& device, Queue& queue) : device_(device), queue_(queue) {}
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;
  ~Heap();
  /// Once the device exists. `unified`: its memory is the host's.
  void configure(bool unified);
  /// For a CPU's driver, where kernels reach the process's memory by its addresses: `bytes` are all
  /// that may be taken. Ranges for kernels that are larger than `allocation`, the driver's largest,
  /// are pages of the process without a VkBuffer over them.
  void serve_pages(std::uint64_t bytes, std::uint64_t allocation);

  /// For devices without buffer addresses: what kernels reach lies in one buffer of up to `bytes`,
  /// which is bound, and an address is its base plus the offset in it. Called after configure.
  Status without_addresses(std::uint64_t bytes);
  /// That buffer, or null.
  VkBuffer bound_buffer() const { return bound_ ? bound_->buffer : VK_NULL_HANDLE; }
  std::uint64_t bound_address() const { return bound_ ? bound_->address : 0; }

  Result<Memory> allocate(MemoryKind kind, std::uint64_t bytes,
                          std::uint64_t alignment = kAlignment);
  /// Pages of the process, beyond what the device has: an error unless serve_pages was called.
  Result<Memory> allocate_beyond(std::uint64_t bytes, std::uint64_t alignment);
  /// For `image` alone.
  Result<Memory> allocate_image(const VkMemoryRequirements& needs, VkImage image);

  /// The device binds memory to parts of buffers, by this function of `queue`.
  void bind_by(PFN_vkQueueBindSparse function, Queue& queue) {
    bind_sparse_ = function;
    binding_queue_ = &queue;
  }
  bool binds() const { return bind_sparse_ && has_addresses_; }
  /// Addresses of which a kernel may use those that pages are bound to. An error unless binds().
  Result<Memory> reserve(std::uint64_t bytes, std::uint64_t alignment);
  Result<Memory> allocate_pages(std::uint64_t bytes, std::uint64_t alignment);
  /// Binds `bytes` of `pages`, or nothing, to a part of a range, all at multiples of the alignment.
  /// Other work that uses the part is over, and it is bound on return.
  Status bind(const Memory& range, std::uint64_t at, std::uint64_t bytes, const Memory* pages,
              std::uint64_t from);
  /// The best memory type of `type_bits` for a kind; -1: there is none.
  int pick_type(MemoryKind kind, std::uint32_t type_bits) const;
  /// The device's memory is the host's: MemoryKind::device is mapped.
  bool unified() const { return unified_; }
  /// Memory of the host's is mapped at its device address by this function, where that range of the
  /// process is free: the two reach it by the same address. Called before the first allocation.
  void map_by(MapMemory2 function) { map_placed_ = function; }
  /// Kernels' own memory consists of pages of the process, which are there once they are touched:
  /// for drivers that touch all that they allocate. `function` says which memory types take them.
  /// Called before the first allocation.
  void import_pages(PFN_vkGetMemoryHostPointerPropertiesEXT function) { pages_ = function; }
  /// Large ranges of kernels' memory that were freed are kept for later ones, up to `bytes` of
  /// them, as long as there is memory for others: drivers take a millisecond for 32 MiB.
  void keep_freed(std::uint64_t bytes) { most_kept_ = bytes; }
  /// So many bytes behind each range from now on belong to nobody.
  void set_red_zone(std::uint64_t bytes) { red_zone_ = bytes; }
  /// Where `address` lies: the block and the offset in it, or null.
  const Block* find(std::uint64_t address, std::uint64_t& offset);
  void statistics(std::uint64_t& blocks, std::uint64_t& bytes, std::uint64_t& used);

 private:
  friend class Memory;
  struct Retired {
    std::uint64_t value;
    Block* block;
    std::uint64_t offset, size;
  };
  Result<Memory> take(MemoryKind kind, std::uint64_t bytes, std::uint64_t alignment,
                      std::uint32_t type_bits);
  Result<Block*> add_block(MemoryKind kind, std::uint64_t bytes, std::uint32_t type_bits);
  /// A block of the driver's memory.
  Result<std::unique_ptr<Block>> make_block(MemoryKind kind, std::uint64_t bytes,
                                            std::uint32_t type_bits);
  /// A block of an image's own.
  Result<Block*> add_image(const VkMemoryRequirements& needs, VkImage image);
  /// A block of kernels' memory out of pages of the process alone; null: there are none.
  std::unique_ptr<Block> block_of_pages(std::uint64_t bytes);
  /// Whether blocks of that kind are pages of the process.
  bool imports(MemoryKind kind) const { return pages_ && kind == MemoryKind::device; }
  /// Whether ranges of that kind come out of the block.
  bool serves(const Block& block, MemoryKind kind, std::uint32_t type_bits) const;
  /// A free range of a block that is there, or nothing.
  Memory carve(MemoryKind kind, std::uint64_t bytes, std::uint64_t alignment,
               std::uint32_t type_bits);
  void release(Block* block, std::uint64_t offset, std::uint64_t size);
  void give_back(Block* block, std::uint64_t offset, std::uint64_t size);
  void collect(bool everything);
  void drop_kept(std::uint64_t most);  ///< but for so many bytes
  void remove(Block* block);
  void destroy(Block& block);
  /// Memory for a block's buffer out of the driver, or out of pages of the process.
  VkResult allocate_block(Block& block, std::uint64_t bytes, std::uint32_t type_bits);
  /// Pages of the process for a block, and the memory types that take them; 0: there are none.
  std::uint32_t import_types(Block& block, std::uint64_t bytes) const;
  Result<VkBuffer> make_sparse(std::uint64_t bytes) const;
  /// Maps a block's memory, at its device address where the device can.
  VkResult map(Block& block, std::uint64_t bytes);

  const VulkanDevice& device_;
  Queue& queue_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::deque<Retired> retired_;
  std::deque<Block*> kept_;  ///< blocks of one range each that nothing is in; the oldest first
  std::uint64_t kept_bytes_ = 0, most_kept_ = 0;
  VkPhysicalDeviceMemoryProperties properties_{};
  bool unified_ = false;
  MapMemory2 map_placed_ = nullptr;
  PFN_vkGetMemoryHostPointerPropertiesEXT pages_ = nullptr;
  PFN_vkQueueBindSparse bind_sparse_ = nullptr;
  Queue* binding_queue_ = nullptr;
  bool has_addresses_ = true;
  std::uint64_t limit_ = 0, largest_ = 0;  ///< see serve_pages; 0: nothing is served so
  Block* bound_ = nullptr;                 ///< see without_addresses
  std::uint64_t red_zone_ = 0;
};

/// Memory that was freed and is kept back, so that it is not given out at once and accesses to it
/// can be told from others. Thread-safe. It keeps nothing unless it is opened.
class Quarantine {
 public:
  static constexpr std::uint64_t kMostBytes = 256ull << 20;
  void open() { open_ = true; }
  void keep(Memory&& memory);

 private:
  std::mutex mutex_;
  std::deque<Memory> kept_;
  std::uint64_t bytes_ = 0;
  bool open_ = false;
};

}  // namespace ptx2spv::runtime
