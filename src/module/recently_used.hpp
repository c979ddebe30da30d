// Objects of which those used last are kept.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace ptx2spv::runtime {

/// Objects by their member `key`. Who holds one keeps it alive after it has left. Not thread-safe.
template <typename Object>
class RecentlyUsed {
 public:
  using Pointer = std::shared_ptr<const Object>;

  /// The object with `key`, which counts as used now; null: there is none.
  template <typename Key>
  Pointer find(const Key& key) {
    for (Entry& each : entries_)
      if (each.object->key == key) {
        each.used = ++now_;
        return each.object;
      }
    return nullptr;
  }

  /// One that find() gave counts as used now.
  void use(const Object& object) {
    for (Entry& each : entries_)
      if (each.object.get() == &object) each.used = ++now_;
  }

  /// Adds one. Where there are more than `limit` then, which is 1 or more, the one that was not
  /// used for the longest time leaves, and is returned.
  Pointer add(Pointer object, std::size_t limit) {
    Pointer gone;
    if (entries_.size() >= limit) {
      const auto oldest = std::min_element(
          entries_.begin(), entries_.end(),
          [](const Entry& one, const Entry& other) { return one.used < other.used; });
      gone = std::move(oldest->object);
      entries_.erase(oldest);
    }
    entries_.push_back({std::move(object), ++now_});
    return gone;
  }

  template <typename Predicate>
  void erase_if(Predicate&& predicate) {
    std::erase_if(entries_, [&](const Entry& each) { return predicate(*each.object); });
  }

  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    Pointer object;
    std::uint64_t used;
  };
  std::vector<Entry> entries_;  ///< in the order of their making
  std::uint64_t now_ = 0;
};

}  // namespace ptx2spv::runtime
