// Addresses of blocks of memory. Each GPU has addresses of its own, which begin at the same number;
// CUDA tells its devices' memory apart by the address alone.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace ptx2spv::runtime {

/// The ranges that are taken, of all devices. Thread-safe.
class AddressClaims {
 public:
  /// False: a part of the range is taken.
  bool take(std::uint64_t address, std::uint64_t bytes, const void* owner) {
    std::lock_guard lock(mutex_);
    auto next = ranges_.lower_bound(address);
    if (next != ranges_.end() && next->first - address < bytes) return false;
    if (next != ranges_.begin()) {
      const auto before = std::prev(next);
      if (address - before->first < before->second.bytes) return false;
    }
    ranges_[address] = {bytes, owner};
    return true;
  }
  /// Nothing happens unless `owner` took it.
  void give_back(std::uint64_t address, const void* owner) {
    std::lock_guard lock(mutex_);
    const auto found = ranges_.find(address);
    if (found != ranges_.end() && found->second.owner == owner) ranges_.erase(found);
  }

 private:
  struct Range {
    std::uint64_t bytes;
    const void* owner;
  };
  std::mutex mutex_;
  std::map<std::uint64_t, Range> ranges_;
};

/// The result of make(bytes) that `take` accepts, or an error. What it refuses is kept until then,
/// so that the driver gives other addresses, with more beside it, so that a few rounds pass over
/// much; then `drop` gets it.
template <class Make, class Take, class Drop>
auto make_apart(std::uint64_t bytes, Make&& make, Take&& take, Drop&& drop) {
  auto made = make(bytes);
  std::vector<std::decay_t<decltype(*made)>> passed_over;
  for (std::uint64_t more = bytes; made && !take(*made); made = make(bytes)) {
    passed_over.push_back(std::move(*made));
    if (auto spacer = make(more)) {
      passed_over.push_back(std::move(*spacer));
      more *= 2;
    }
  }
  for (auto& each : passed_over) drop(each);
  return made;
}

}  // namespace ptx2spv::runtime
