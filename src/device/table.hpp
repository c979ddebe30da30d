// The surface table (and, with other words, the texture table): records that kernels read, and the
// handles that name them. A handle is dead as soon as its record is released.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ptx2spv/abi.hpp"
#include "src/memory/heap.hpp"

namespace ptx2spv::runtime {

/// Thread-safe.
class Table {
 public:
  static constexpr std::uint32_t kCapacity = abi::kTextureCapacity;

  /// `generation_word`: the word that holds the live handle's high word. `handle_bits` are set in
  /// each. `extra`: words behind the last record.
  Table(std::uint32_t words, std::uint32_t generation_word, std::uint32_t handle_bits,
        std::uint32_t extra = 0)
      : words_(words),
        generation_word_(generation_word),
        handle_bits_(handle_bits),
        extra_(extra) {}
  Status open(Heap& heap);

  /// Enters a record; its generation word is filled in, with `bits` set, too. The handle is never
  /// 0.
  Result<std::uint64_t> add(std::span<const std::uint32_t> record, std::string name,
                            std::weak_ptr<void> owner, std::uint32_t bits = 0);
  std::uint32_t* extra() const { return record(kCapacity); }
  void update(std::uint64_t handle, std::span<const std::uint32_t> record);
  void remove(std::uint64_t handle);
  bool live(std::uint64_t handle) const;
  std::shared_ptr<void> owner(
      std::uint64_t handle) const;  ///< as given to add; null for a dead handle
  /// All live handles' owners, by index; null: it has none.
  std::vector<std::pair<std::uint32_t, std::shared_ptr<void>>> owners() const;
  void rename(std::uint64_t handle, std::string name);
  /// The record and name that `handle` had, also shortly after it died. False: never seen.
  bool describe(std::uint64_t handle, std::vector<std::uint32_t>& record, std::string& name) const;
  /// Before a live handle is removed: why it will be dead ("its array was freed"), and the host's
  /// calls, a line each.
  void note_death(std::uint64_t handle, std::string why, std::string calls);
  /// Why a handle that is not alive is none: "its surface was destroyed", where `what` is
  /// "surface".
  std::string why_dead(std::uint64_t handle, std::string_view what) const;
  /// Whether the handle was alive once; `calls`: what note_death() was given.
  bool was_alive(std::uint64_t handle, std::string& calls) const;
  std::uint64_t changes() const;  ///< counts what was entered and removed
  std::uint32_t count() const;    ///< records in use or used before, record 0 included
  const Memory& memory() const { return memory_; }

 private:
  struct Entry {
    std::uint32_t generation = 0;
    bool live = false;
    std::weak_ptr<void> owner;
    std::string name;
    std::string why, calls;  ///< of note_death()
  };
  std::uint32_t* record(std::uint32_t index) const;
  bool live_locked(std::uint64_t handle) const;

  std::uint32_t words_, generation_word_, handle_bits_, extra_;
  mutable std::mutex mutex_;
  std::uint64_t changes_ = 0;
  Memory memory_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> mirror_;  ///< host copy: reading the table's own memory may be slow
  std::vector<std::uint32_t> free_;
};

}  // namespace ptx2spv::runtime
