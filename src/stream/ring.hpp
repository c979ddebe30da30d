// Mapped memory for what a launch brings along: its parameters, and its trap record, which lies at
// the slice's offset in memory that the host reads fast.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "src/memory/heap.hpp"

namespace ptx2spv::runtime {

struct Slice {
  std::byte *mapped = nullptr, *trap = nullptr;
  std::uint64_t offset = 0;  ///< from the ring's start, for dynamic descriptors
  std::uint64_t address = 0;
};

/// Not thread-safe.
class Ring {
 public:
  /// Descriptors over the ring span this many bytes from any slice.
  static constexpr std::uint64_t kWindow = 40960;
  static constexpr std::uint64_t kBytes = 256 * 1024;
  static constexpr std::uint64_t kTrapBytes = abi::kTrapWords * 4;

  Status open(Heap& heap, std::uint64_t bytes = kBytes);
  /// The submission that has to be released before `bytes` fit; 0: they fit now.
  std::uint64_t blocked_by(std::uint64_t bytes);
  Result<Slice> take(std::uint64_t bytes);  ///< kTrapBytes or more
  void close(std::uint64_t value);  ///< slices taken since the last close belong to this submission
  void cancel();                    ///< they belong to none
  /// Slices of submissions up to `value` have been looked at and may be overwritten.
  void release(std::uint64_t value) { released_ = value; }
  const Memory& memory() const { return memory_; }
  const Memory& traps() const { return traps_; }

 private:
  struct Span {
    std::uint64_t begin, end, value;
  };
  Memory memory_, traps_;
  std::uint64_t bytes_ = 0, head_ = 0, released_ = 0;
  std::deque<Span> spans_;  ///< oldest first; value 0: not submitted yet
};

}  // namespace ptx2spv::runtime
