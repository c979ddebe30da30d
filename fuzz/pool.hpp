// Inputs that a target takes, from which mutants are made.
#pragma once

#include <unordered_set>

#include "fuzz/target.hpp"

namespace ptx2spv::fuzz {

class Pool {
 public:
  /// `start` runs first, as it is.
  Pool(const Target& target, std::vector<std::string> start, std::uint64_t seed)
      : target_(target), start_(std::move(start)), random_(seed) {}

  bool seeding() const { return next_ < start_.size(); }
  std::uint64_t ran() const { return ran_; }
  std::uint64_t taken() const { return taken_; }
  std::size_t size() const { return pool_.size(); }
  static std::uint64_t hash_of(const std::string& text) {
    return hash({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  }

  /// Gives the next input to `run`, which says whether it was taken. Null where it was not, or is
  /// no new one.
  template <typename Run>
  const std::string* step(Run&& run) {
    std::string text;
    if (seeding()) {
      text = start_[next_++];
    } else {
      // A target that takes none of its seeds mutates them all the same.
      const std::vector<std::string>& from = pool_.empty() ? start_ : pool_;
      text = target_.mutate(from[random_.below(from.size())], from[random_.below(from.size())],
                            random_);
    }
    ++ran_;
    if (!run(text)) return nullptr;
    ++taken_;
    if (!known_.insert(hash_of(text)).second) return nullptr;
    // A full pool forgets: old inputs give way to new ones.
    constexpr std::size_t kMost = 4096;
    if (pool_.size() < kMost) {
      pool_.push_back(std::move(text));
      return &pool_.back();
    }
    std::string& place = pool_[random_.below(kMost)];
    place = std::move(text);
    if (known_.size() > 1'000'000) known_.clear();
    return &place;
  }

 private:
  const Target& target_;
  std::vector<std::string> start_, pool_;
  std::unordered_set<std::uint64_t> known_;
  Random random_;
  std::size_t next_ = 0;
  std::uint64_t ran_ = 0, taken_ = 0;
};

}  // namespace ptx2spv::fuzz
