#include "src/memory/allocations.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

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
  if (const auto pool = pools_.find(address); pool != pools_.end()) {
    AllocationInfo whole = std::move(pool->second.whole);
    end_parts(whole.address, whole.bytes);
    pools_.erase(pool);
    live_.insert_or_assign(address, std::move(whole));
  }
  if (const auto found = live_.find(address); found != live_.end()) end(found);
}

void Allocations::end(std::map<std::uint64_t, AllocationInfo>::iterator at) {
  if (traced_) {
    at->second.freed = call_site();
    at->second.owner.reset();
    freed_.push_front(std::move(at->second));
    if (freed_.size() > kMostFreed) freed_.pop_back();
  }
  live_.erase(at);
  list_.reset();
}

void Allocations::end_parts(std::uint64_t first, std::uint64_t bytes) {
  live_.erase(live_.lower_bound(first), live_.lower_bound(first + bytes));
  list_.reset();
}

Allocations::Pool* Allocations::pool_of(std::uint64_t address) {
  auto next = pools_.upper_bound(address);
  if (next == pools_.begin()) return nullptr;
  Pool& pool = std::prev(next)->second;
  return address - pool.address < pool.bytes ? &pool : nullptr;
}

namespace {

/// A part of an allocation, with its part of the shadow where that begins with a byte.
AllocationInfo part_of(const AllocationInfo& whole, std::uint64_t first, std::uint64_t end) {
  AllocationInfo part = whole;
  const std::uint64_t offset = first - whole.address;
  part.address = first;
  part.bytes = end - first;
  if (!whole.bits) return part;
  // Which bytes the host wrote is known no more; that they were written still is.
  part.host_bits = std::make_shared<std::vector<std::byte>>(part.bytes / 8 + 1);
  part.host_bytes = 0;
  part.shadow = offset % 32 ? 0 : whole.shadow + offset / 8;
  part.bits = offset % 32 ? nullptr : whole.bits + offset / 8;
  return part;
}

}  // namespace

bool Allocations::add_pool(std::uint64_t address, std::uint64_t bytes, std::string name) {
  std::lock_guard lock(mutex_);
  auto found = live_.upper_bound(address);
  if (found == live_.begin()) return false;
  --found;
  const std::uint64_t offset = address - found->first;
  if (offset >= found->second.bytes || bytes > found->second.bytes - offset || pool_of(address) ||
      pools_.contains(found->first))
    return false;
  Pool pool{std::move(found->second), address, bytes, 0, std::move(name)};
  live_.erase(found);
  const AllocationInfo& whole = pool.whole;
  if (pool.name.empty()) pool.name = whole.name;
  if (offset) live_.emplace(whole.address, part_of(whole, whole.address, address));
  if (const std::uint64_t end = whole.address + whole.bytes; end > address + bytes)
    live_.emplace(address + bytes, part_of(whole, address + bytes, end));
  pools_.emplace(whole.address, std::move(pool));
  list_.reset();
  return true;
}

bool Allocations::has_pool(std::uint64_t address) {
  std::lock_guard lock(mutex_);
  return pool_of(address) != nullptr;
}

void Allocations::remove_pool(std::uint64_t address) {
  std::lock_guard lock(mutex_);
  Pool* pool = pool_of(address);
  if (!pool) return;
  AllocationInfo whole = std::move(pool->whole);
  end_parts(whole.address, whole.bytes);
  if (whole.bits) set_written_bits(whole.bits, pool->address - whole.address, pool->bytes);
  pools_.erase(whole.address);
  live_.insert_or_assign(whole.address, std::move(whole));
}

void Allocations::empty_pool(std::uint64_t address) {
  std::lock_guard lock(mutex_);
  if (const Pool* pool = pool_of(address)) end_parts(pool->address, pool->bytes);
}

/// Of a suballocation that begins there, whatever else begins there.
Allocations::Pool* Allocations::pool_with_room(std::uint64_t address, std::uint64_t bytes) {
  Pool* pool = pool_of(address);
  if (!pool || !bytes || bytes > pool->bytes - (address - pool->address)) return nullptr;
  const auto next = live_.upper_bound(address);
  if (next != live_.end() && next->first - address < bytes) return nullptr;
  const auto at = live_.lower_bound(address);
  if (at == live_.begin()) return pool;
  const AllocationInfo& before = std::prev(at)->second;
  return address - before.address < before.bytes ? nullptr : pool;
}

namespace {

void give_shadow(AllocationInfo& info, std::uint64_t shadow, std::byte* bits,
                 std::shared_ptr<const void> owner) {
  if (!bits || info.address % Allocations::kShadowed) return;
  info.shadow = shadow;
  info.bits = bits;
  info.host_bits = std::make_shared<std::vector<std::byte>>(info.bytes / 8 + 1);
  info.host_bytes = 0;
  info.owner = std::move(owner);
}

}  // namespace

bool Allocations::add_suballocation(std::uint64_t address, std::uint64_t bytes,
                                    std::uint64_t shadow, std::byte* bits,
                                    std::shared_ptr<const void> owner) {
  std::lock_guard lock(mutex_);
  Pool* pool = pool_with_room(address, bytes);
  if (!pool || live_.contains(address)) return false;
  AllocationInfo info;
  info.address = address;
  info.bytes = bytes;
  info.number = next_++;
  info.name = fmt::format("suballocation {} of {}", ++pool->made, pool->name);
  if (traced_) info.made = call_site();
  give_shadow(info, shadow, bits, std::move(owner));
  live_.emplace(address, std::move(info));
  list_.reset();
  return true;
}

bool Allocations::resize_suballocation(std::uint64_t address, std::uint64_t bytes,
                                       std::uint64_t shadow, std::byte* bits,
                                       std::shared_ptr<const void> owner) {
  std::lock_guard lock(mutex_);
  const auto at = live_.find(address);
  if (at == live_.end() || !pool_with_room(address, bytes)) return false;
  const AllocationInfo before = at->second;
  AllocationInfo& info = at->second;
  info.bytes = bytes;
  info.shadow = 0;
  info.bits = nullptr;
  info.owner.reset();
  give_shadow(info, shadow, bits, std::move(owner));
  for (std::uint64_t byte = 0; before.bits && info.bits && byte < std::min(bytes, before.bytes);
       ++byte)
    if ((std::to_integer<unsigned>(before.bits[byte / 8]) >> byte % 8 & 1) != 0)
      set_written_bits(info.bits, byte, 1);
  list_.reset();
  return true;
}

void Allocations::remove_suballocation(std::uint64_t address) {
  std::lock_guard lock(mutex_);
  const auto found = live_.find(address);
  if (found != live_.end() && pool_of(address)) end(found);
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
  auto at = live_.upper_bound(address);
  if (at != live_.begin()) --at;
  // More than one where there are suballocations.
  for (const std::uint64_t end = address + bytes; at != live_.end() && at->first < end; ++at) {
    AllocationInfo& info = at->second;
    const std::uint64_t first = std::max(address, info.address);
    const std::uint64_t offset = first - info.address;
    if (!info.bits || offset >= info.bytes) continue;
    const std::uint64_t count = std::min(end - first, info.bytes - offset);
    set_written_bits(info.bits, offset, count);
    if (info.host_bytes == info.bytes) continue;
    info.host_bytes += count - bits_among(info.host_bits->data(), offset, count);
    set_written_bits(info.host_bits->data(), offset, count);
  }
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
  for (const auto& [address, each] : pools_) made->divided.push_back(each.whole);
  list_ = std::move(made);
  return list_;
}

}  // namespace ptx2spv::runtime
