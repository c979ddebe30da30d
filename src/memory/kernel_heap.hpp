// The heap that kernels' malloc and free share: one for a device, made when first needed.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>

#include "src/memory/device.hpp"

namespace ptx2spv::runtime {

/// Thread-safe. docs/reference/abi.md has its layout.
class KernelHeap {
 public:
  static constexpr std::uint64_t kDefaultBytes = 8 << 20;  ///< as CUDA's
  static constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 32;

  /// Of the blocks, without what tells where they are.
  std::uint64_t bytes() const;
  /// Rounded up to 32. An error when the heap is there already, or beyond kMostBytes.
  Status set_bytes(std::uint64_t bytes);
  /// Its address, for the push constants.
  Result<std::uint64_t> address(MemoryDevice& device);
  /// Called with the blocks' range when the heap is made.
  void when_made(std::function<void(std::uint64_t address, std::uint64_t bytes)> call) {
    when_made_ = std::move(call);
  }

 private:
  Status make(MemoryDevice& device);

  mutable std::mutex mutex_;
  std::uint64_t bytes_ = kDefaultBytes;
  std::function<void(std::uint64_t, std::uint64_t)> when_made_;
  Memory memory_;
};

}  // namespace ptx2spv::runtime
