#include "src/memory/allocations.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "src/memory/call_site.hpp"

namespace ptx2spv::runtime {

namespace {
constexpr std::size_t kMostFreed = 4096;  ///< allocations that are remembered after their end

std::uint64_t distance(const AllocationInfo& each, std::uint64_t address) {
  if (address < each.address) return each.address - address;
  const std::uint64_t offset = address - each.address;
  return offset < each.bytes ? 0 : offset - each.bytes;
}
}  // namespace

const AllocationInfo* AllocationList::find(std::uint64_t address) const {
  auto next = std::upper_bound(
      live.begin(), live.end(), address,
      [](std::uint64_t value, const AllocationInfo& each) { return value < each.address; });
  if (next == live.begin()) return nullptr;
  --next;
  return address - next->address < next->bytes ? &*next : nullptr;
}

const AllocationInfo* AllocationList::nearest(std::uint64_t address) const {
  const auto found = std::min_element(live.begin(), live.end(), [&](const auto& a, const auto& b) {
    return distance(a, address) < distance(b, address);
  });
  return found == live.end() ? nullptr : &*found;
}

const AllocationInfo* AllocationList::find_freed(std::uint64_t address) const {
  for (const AllocationInfo& each : freed)
    if (address - each.address < each.bytes) return &each;
  return nullptr;
}

std::uint64_t Allocations::add(std::uint64_t address, std::uint64_t bytes, bool writable,
                               std::string name) {
  std::lock_guard lock(mutex_);
  AllocationInfo info;
  info.address = address;
  info.bytes = bytes;
  info.writable = writable;
  info.number = next_++;
  info.name = std::move(name);
  if (traced_) info.made = call_site();
  const std::uint64_t number = info.number;
  if (bytes) live_.insert_or_assign(address, std::move(info));
  list_.reset();
  return number;
}

void Allocations::remove(std::uint64_t address) {
  std::lock_guard lock(mutex_);
  const auto found = live_.find(address);
  if (found == live_.end()) return;
  if (traced_) {
    found->second.freed = call_site();
    freed_.push_front(std::move(found->second));
    if (freed_.size() > kMostFreed) freed_.pop_back();
  }
  live_.erase(found);
  list_.reset();
}

void Allocations::set_shadow(std::uint64_t address, std::uint64_t shadow, std::byte* bits) {
  std::lock_guard lock(mutex_);
  const auto found = live_.find(address);
  if (found == live_.end()) return;
  found->second.shadow = shadow;
  found->second.bits = bits;
  found->second.host_bits = std::make_shared<std::vector<std::byte>>(found->second.bytes / 8 + 1);
  list_.reset();
}

void set_written_bits(std::byte* bits, std::uint64_t first, std::uint64_t count) {
  const auto set = [&](std::uint64_t byte, unsigned mask) {
    auto* at = reinterpret_cast<unsigned char*>(bits + byte);
    __atomic_fetch_or(at, static_cast<unsigned char>(mask), __ATOMIC_RELAXED);
  };
  const std::uint64_t end = first + count;
  std::uint64_t at = first;
  for (; at < end && at % 8; ++at) set(at / 8, 1u << at % 8);
  if (end - at >= 8) {
    std::memset(bits + at / 8, 0xff, (end - at) / 8);
    at += (end - at) / 8 * 8;
  }
  for (; at < end; ++at) set(at / 8, 1u << at % 8);
}

namespace {

/// Bits that are set among `count` from `first` on.
std::uint64_t bits_among(const std::byte* bits, std::uint64_t first, std::uint64_t count) {
  std::uint64_t found = 0;
  for (std::uint64_t at = first, end = first + count; at < end;) {
    const auto byte = std::to_integer<unsigned>(bits[at / 8]);
    const std::uint64_t here = std::min(8 - at % 8, end - at);
    found += static_cast<std::uint64_t>(std::popcount(byte >> at % 8 & ((1u << here) - 1)));
    at += here;
  }
  return found;
}

}  // namespace

std::optional<WrittenBytes> Allocations::written_bytes(std::uint64_t address) {
  std::lock_guard lock(mutex_);
  const auto at = live_.find(address);
  if (at == live_.end() || !at->second.bits) return std::nullopt;
  const AllocationInfo& info = at->second;
  WrittenBytes found;
  for (std::uint64_t byte = 0; byte < info.bytes; ++byte) {
    const auto has = [&](const std::byte* bits) {
      return (std::to_integer<unsigned>(bits[byte / 8]) >> byte % 8 & 1) != 0;
    };
    if (has(info.host_bits->data()))
      ++found.host;
    else if (has(info.bits))
      ++found.kernels;
  }
  return found;
}

bool Allocations::whole(std::uint64_t address) {
  std::lock_guard lock(mutex_);
  const auto at = live_.find(address);
  return at != live_.end() && (!at->second.bits || at->second.host_bytes == at->second.bytes);
}

void Allocations::add_bits(std::byte* bits, std::uint64_t bytes) {
  std::lock_guard lock(mutex_);
  bits_.emplace(bits, bytes);
}

void Allocations::remove_bits(std::byte* bits) {
  std::lock_guard lock(mutex_);
  bits_.erase(bits);
}

void Allocations::written(std::uint64_t address, std::uint64_t bytes) {
  std::lock_guard lock(mutex_);
  auto next = live_.upper_bound(address);
  if (next == live_.begin()) return;
  AllocationInfo& info = std::prev(next)->second;
  const std::uint64_t offset = address - info.address;
  if (!info.bits || offset >= info.bytes) return;
  const std::uint64_t count = std::min(bytes, info.bytes - offset);
  set_written_bits(info.bits, offset, count);
  if (info.host_bytes == info.bytes) return;
  info.host_bytes += count - bits_among(info.host_bits->data(), offset, count);
  set_written_bits(info.host_bits->data(), offset, count);
}

void Allocations::all_written() {
  std::lock_guard lock(mutex_);
  for (auto& [address, each] : live_)
    if (each.bits) set_written_bits(each.bits, 0, each.bytes);
  for (const auto& [bits, bytes] : bits_) set_written_bits(bits, 0, bytes);
}

void Allocations::rename(std::uint64_t address, std::string name) {
  std::lock_guard lock(mutex_);
  if (const auto found = live_.find(address); found != live_.end())
    found->second.name = std::move(name);
  list_.reset();
}

std::shared_ptr<const AllocationList> Allocations::list() {
  std::lock_guard lock(mutex_);
  if (list_) return list_;
  auto made = std::make_shared<AllocationList>();
  for (const auto& [address, each] : live_) made->live.push_back(each);
  made->freed.assign(freed_.begin(), freed_.end());
  list_ = std::move(made);
  return list_;
}

}  // namespace ptx2spv::runtime
