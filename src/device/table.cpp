#include "src/device/table.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cstring>

namespace ptx2spv::runtime {

Status Table::open(Heap& heap) {
  auto memory =
      heap.allocate(MemoryKind::visible, (std::uint64_t{kCapacity} * words_ + extra_) * 4);
  if (!memory) return memory.error();
  memory_ = std::move(*memory);
  entries_.resize(1);
  mirror_.resize(words_);
  std::memset(memory_.mapped(), 0, words_ * 4);
  return {};
}

std::uint32_t* Table::record(std::uint32_t index) const {
  return reinterpret_cast<std::uint32_t*>(memory_.mapped()) + std::size_t{index} * words_;
}

Result<std::uint64_t> Table::add(std::span<const std::uint32_t> words, std::string name,
                                 std::weak_ptr<void> owner, std::uint32_t bits) {
  std::lock_guard lock(mutex_);
  std::uint32_t index = 0;
  if (!free_.empty()) {
    index = free_.back();
    free_.pop_back();
  } else {
    if (entries_.size() >= kCapacity)
      return Error{
          ErrorCode::out_of_memory, "65535 surfaces are alive, and no more can be", {}, {}};
    index = static_cast<std::uint32_t>(entries_.size());
    entries_.emplace_back();
    mirror_.resize(entries_.size() * words_);
  }
  // Generations do not follow one another, so that a handle made up from another one is dead. They
  // are the process's, so that a handle of another device is.
  static std::atomic<std::uint32_t> next_generation{0};
  std::uint32_t generation = 0;
  do {
    generation = (++next_generation * 2654435761u) & 0x3fffffffu;
  } while (generation == 0);
  generation |= handle_bits_ | bits;
  ++changes_;
  Entry& entry = entries_[index];
  entry = {generation, true, std::move(owner), std::move(name), {}, {}};
  std::uint32_t* mirror = mirror_.data() + std::size_t{index} * words_;
  std::memcpy(mirror, words.data(), words_ * 4);
  mirror[generation_word_] = generation;
  std::memcpy(record(index), mirror, words_ * 4);
  return std::uint64_t{generation} << 32 | index;
}

bool Table::live_locked(std::uint64_t handle) const {
  auto index = static_cast<std::uint32_t>(handle);
  return index && index < entries_.size() && entries_[index].live &&
         entries_[index].generation == handle >> 32;
}

void Table::update(std::uint64_t handle, std::span<const std::uint32_t> words) {
  std::lock_guard lock(mutex_);
  if (!live_locked(handle)) return;
  auto index = static_cast<std::uint32_t>(handle);
  std::uint32_t* mirror = mirror_.data() + std::size_t{index} * words_;
  std::memcpy(mirror, words.data(), words_ * 4);
  mirror[generation_word_] = static_cast<std::uint32_t>(handle >> 32);
  std::memcpy(record(index), mirror, words_ * 4);
}

void Table::remove(std::uint64_t handle) {
  std::lock_guard lock(mutex_);
  if (!live_locked(handle)) return;
  auto index = static_cast<std::uint32_t>(handle);
  ++changes_;
  entries_[index].live = false;
  entries_[index].owner.reset();
  record(index)[generation_word_] = 0;
  free_.push_back(index);
}

std::uint64_t Table::changes() const {
  std::lock_guard lock(mutex_);
  return changes_;
}

bool Table::live(std::uint64_t handle) const {
  std::lock_guard lock(mutex_);
  return live_locked(handle);
}

std::shared_ptr<void> Table::owner(std::uint64_t handle) const {
  std::lock_guard lock(mutex_);
  if (!live_locked(handle)) return nullptr;
  return entries_[static_cast<std::uint32_t>(handle)].owner.lock();
}

std::vector<std::pair<std::uint32_t, std::shared_ptr<void>>> Table::owners() const {
  std::vector<std::pair<std::uint32_t, std::shared_ptr<void>>> all;
  std::lock_guard lock(mutex_);
  for (std::uint32_t i = 1; i < entries_.size(); ++i)
    if (entries_[i].live) all.emplace_back(i, entries_[i].owner.lock());
  return all;
}

void Table::rename(std::uint64_t handle, std::string name) {
  std::lock_guard lock(mutex_);
  if (live_locked(handle)) entries_[static_cast<std::uint32_t>(handle)].name = std::move(name);
}

bool Table::describe(std::uint64_t handle, std::vector<std::uint32_t>& words,
                     std::string& name) const {
  std::lock_guard lock(mutex_);
  auto index = static_cast<std::uint32_t>(handle);
  if (!index || index >= entries_.size() || entries_[index].generation != handle >> 32)
    return false;
  const std::uint32_t* mirror = mirror_.data() + std::size_t{index} * words_;
  words.assign(mirror, mirror + words_);
  name = entries_[index].name;
  return true;
}

void Table::note_death(std::uint64_t handle, std::string why, std::string calls) {
  std::lock_guard lock(mutex_);
  if (!live_locked(handle)) return;
  Entry& entry = entries_[static_cast<std::uint32_t>(handle)];
  entry.why = std::move(why);
  entry.calls = std::move(calls);
}

bool Table::was_alive(std::uint64_t handle, std::string& calls) const {
  std::lock_guard lock(mutex_);
  const auto index = static_cast<std::uint32_t>(handle);
  if (!index || index >= entries_.size()) return false;
  const Entry& entry = entries_[index];
  calls = entry.calls;
  return !entry.live && entry.generation == handle >> 32;
}

std::string Table::why_dead(std::uint64_t handle, std::string_view what) const {
  std::lock_guard lock(mutex_);
  const auto index = static_cast<std::uint32_t>(handle);
  if (!handle) return "it is 0";
  if (!index || index >= entries_.size())
    return fmt::format("no {} has had its number, {}", what, index);
  const Entry& entry = entries_[index];
  const std::string name = entry.name.empty() ? "" : " '" + entry.name + "'";
  if (entry.generation == handle >> 32)
    return entry.why.empty() ? fmt::format("its {}{} was destroyed", what, name) : entry.why;
  if (!entry.live) return fmt::format("the {} of its number, {}, was destroyed", what, index);
  return fmt::format("its number, {}, is that of another {}{}, {:#018x}", index, what, name,
                     std::uint64_t{entry.generation} << 32 | index);
}

std::uint32_t Table::count() const {
  std::lock_guard lock(mutex_);
  return static_cast<std::uint32_t>(entries_.size());
}

}  // namespace ptx2spv::runtime
