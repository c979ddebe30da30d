#include "translator/ptx/symbol_table.hpp"

#include <cstring>

namespace ptx2spv::ptx {
namespace {

std::size_t hash(std::string_view name) {
  std::uint64_t h = 0x9e3779b97f4a7c15u ^ name.size();
  const char* p = name.data();
  std::size_t left = name.size();
  for (; left >= 8; left -= 8, p += 8) {
    std::uint64_t word;
    std::memcpy(&word, p, 8);
    h = (h ^ word) * 0xff51afd7ed558ccdu;
    h ^= h >> 32;
  }
  std::uint64_t word = 0;
  std::memcpy(&word, p, left);
  h = (h ^ word) * 0xc4ceb9fe1a85ec53u;
  return static_cast<std::size_t>(h ^ h >> 29);
}

}  // namespace

std::size_t NameMap::slot(std::string_view name) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t i = hash(name) & mask;
  while (!slots_[i].name.empty() && slots_[i].name != name) i = (i + 1) & mask;
  return i;
}

void NameMap::grow() {
  std::vector<Entry> old(slots_.size() * 2);
  old.swap(slots_);
  for (const Entry& entry : old) {
    if (!entry.name.empty()) slots_[slot(entry.name)] = entry;
  }
}

void NameMap::bind(std::string_view name, std::uint32_t value, std::uint32_t scope) {
  if (name.empty()) return;
  std::size_t i = slot(name);
  if (slots_[i].name.empty()) {
    if (++used_ * 2 > slots_.size()) {
      grow();
      i = slot(name);
    }
    slots_[i].name = name;
  }
  if (scope > 0) undo_[scope].push_back({name, slots_[i].value, slots_[i].scope});
  slots_[i].value = value;
  slots_[i].scope = scope;
}

void NameMap::pop() {
  std::vector<Undo>& undo = undo_.back();
  for (std::size_t k = undo.size(); k-- > 0;) {
    Entry& entry = slots_[slot(undo[k].name)];
    entry.value = undo[k].value;
    entry.scope = undo[k].scope;
  }
  undo_.pop_back();
}

void NameMap::clear() {
  slots_.assign(kFirstSize, {});
  used_ = 0;
  undo_.assign(1, {});
}

}  // namespace ptx2spv::ptx
