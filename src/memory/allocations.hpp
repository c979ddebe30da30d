// What programs have allocated on a device, by address: the sanitizer's table of allocations, and
// what its reports say of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace ptx2spv::runtime {

struct AllocationInfo {
  std::uint64_t address = 0, bytes = 0;
  bool writable = true;
  std::uint64_t number = 0;   ///< counts the allocations of a device, from 1
  std::string name;           ///< empty: it has none
  std::uint64_t shadow = 0;   ///< address of a bit for each byte, set where it was written; 0: none
  std::byte* bits = nullptr;  ///< the same, as the host sees it
  std::shared_ptr<std::vector<std::byte>> host_bits;  ///< those that the host or a copy has set
  std::uint64_t host_bytes = 0;                       ///< how many these are
  std::string made, freed;  ///< the host's calls, a line each; empty where they are not traced
  std::shared_ptr<const void> owner;  ///< of a suballocation's shadow
};

/// Sets bits of bytes which kernels may be setting others of.
void set_written_bits(std::byte* bits, std::uint64_t first, std::uint64_t count);

/// How many bytes of an allocation the host has written, or a copy, and kernels alone.
struct WrittenBytes {
  std::uint64_t host = 0, kernels = 0;
};

/// The allocations at one time.
struct AllocationList {
  std::vector<AllocationInfo> live;     ///< by address
  std::vector<AllocationInfo> freed;    ///< the latest first
  std::vector<AllocationInfo> divided;  ///< those that have pools
  /// The live allocation that an address lies in; null: none.
  const AllocationInfo* find(std::uint64_t address) const;
  /// The live one that has the fewest bytes between itself and the address; null: there is none.
  const AllocationInfo* nearest(std::uint64_t address) const;
  const AllocationInfo* find_freed(std::uint64_t address) const;
};

/// Thread-safe.
class Allocations {
 public:
  /// Where allocations begin that have shadows and race records, whose words no access may
  /// straddle.
  static constexpr std::uint64_t kShadowed = 16;
  /// `traced`: later calls note where the host made them.
  void trace(bool traced) { traced_ = traced; }
  /// Returns the allocation's number. One of no bytes is not entered.
  std::uint64_t add(std::uint64_t address, std::uint64_t bytes, bool writable, std::string name);
  void remove(std::uint64_t address);
  /// Gives an allocation a shadow, which outlives it. All of its bytes count as not written.
  void set_shadow(std::uint64_t address, std::uint64_t shadow, std::byte* bits);
  /// These bytes were written, or are from now on by somebody who is not watched.
  void written(std::uint64_t address, std::uint64_t bytes);
  /// The same of bits that no address leads to, `bytes` of them, until remove_bits().
  void add_bits(std::byte* bits, std::uint64_t bytes);
  void remove_bits(std::byte* bits);
  /// Of all shadows.
  void all_written();
  void rename(std::uint64_t address, std::string name);

  /// Makes a part of one allocation a pool, of which suballocations alone may be accessed. False:
  /// it lies in no allocation, or that one has a pool. `name`: for the reports; empty: the
  /// allocation's.
  bool add_pool(std::uint64_t address, std::uint64_t bytes, std::string name);
  bool has_pool(std::uint64_t address);
  /// The allocation is one again, and all of the pool counts as written.
  void remove_pool(std::uint64_t address);
  /// With nothing in it.
  void empty_pool(std::uint64_t address);
  /// False: it lies in no pool, or on another one. `shadow`, `bits`: as for set_shadow(), of memory
  /// that `owner` keeps; an address that is no multiple of kShadowed has none.
  bool add_suballocation(std::uint64_t address, std::uint64_t bytes, std::uint64_t shadow,
                         std::byte* bits, std::shared_ptr<const void> owner);
  /// What was written stays so. False: there is none, or no room for it.
  bool resize_suballocation(std::uint64_t address, std::uint64_t bytes, std::uint64_t shadow,
                            std::byte* bits, std::shared_ptr<const void> owner);
  void remove_suballocation(std::uint64_t address);
  /// Of a live allocation that begins there and has a shadow.
  std::optional<WrittenBytes> written_bytes(std::uint64_t address);
  /// Whether the host has written all of it, or it has no shadow.
  bool whole(std::uint64_t address);
  /// The same object as before where nothing has changed.
  std::shared_ptr<const AllocationList> list();

 private:
  /// A part of an allocation; `whole` is what it was before, without the suballocations in live_.
  struct Pool {
    AllocationInfo whole;
    std::uint64_t address = 0, bytes = 0, made = 0;  ///< suballocations made
    std::string name;
  };
  Pool* pool_of(std::uint64_t address);
  Pool* pool_with_room(std::uint64_t address, std::uint64_t bytes);
  void end(std::map<std::uint64_t, AllocationInfo>::iterator at);
  void end_parts(std::uint64_t first, std::uint64_t bytes);

  std::mutex mutex_;
  std::map<std::uint64_t, AllocationInfo> live_;
  std::map<std::uint64_t, Pool> pools_;  ///< by the allocation's address
  std::deque<AllocationInfo> freed_;
  std::map<std::byte*, std::uint64_t> bits_;
  std::uint64_t next_ = 1;
  bool traced_ = false;
  std::shared_ptr<const AllocationList> list_;
};

}  // namespace ptx2spv::runtime
