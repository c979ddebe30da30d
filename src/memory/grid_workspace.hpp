// Where the blocks of a cooperative launch meet: one for a device, whose launches run one after the
// other, made when first needed.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>

#include "ptx2spv/abi.hpp"
#include "src/memory/device.hpp"

namespace ptx2spv::runtime {

/// Thread-safe.
class GridWorkspace {
 public:
  /// abi::kGridWorkspace bytes, which each launch clears.
  Result<const Memory*> get(MemoryDevice& device) {
    std::lock_guard lock(mutex_);
    if (!memory_) {
      auto memory = device.heap.allocate(MemoryKind::device, abi::kGridWorkspace);
      if (!memory) return memory.error();
      memory_ = std::move(*memory);
      if (when_made_) when_made_(memory_.address(), abi::kGridWorkspace);
    }
    return &memory_;
  }
  /// Called with its range when it is made.
  void when_made(std::function<void(std::uint64_t address, std::uint64_t bytes)> call) {
    when_made_ = std::move(call);
  }

 private:
  std::mutex mutex_;
  std::function<void(std::uint64_t, std::uint64_t)> when_made_;
  Memory memory_;
};

}  // namespace ptx2spv::runtime
