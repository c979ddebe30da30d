// Races in global memory: a record for every four bytes of an allocation (abi::GlobalRaceMark).
#pragma once

#include "translator/passes/sanitize/races.hpp"

namespace ptx2spv::passes {

class GlobalRaces : public RaceRecords {
 public:
  /// `prologue` writes what all accesses of a thread need. `words`: EntryInfo::sanitizer.words.
  GlobalRaces(Function& function, std::uint32_t words, bool acquires, Builder& prologue,
              bool atomics64);

  /// `records` (i64): of the access's allocation; 0: it has none. `site`: of the access.
  Race race(Builder& b, const ShadowAccess& access, Value records, std::uint32_t site);
  /// Behind a barrier.
  void next_epoch(Builder& b);
  /// Behind what orders the thread.
  void acquire(Builder& b);

 private:
  Entry own(Builder& b, bool flagged) override;
  Value rival(Builder& b, const Entry& entry) override;
  Value recent(Builder& b, const Entry& entry) override;
  Value same_bytes(Builder& b, const Entry& entry) override;
  Value flagged(Builder& b, const Entry& entry) override;
  Entry with_flag(Builder& b, const Entry& entry, Value flag) override;
  Value unordered(Builder& b) override;
  /// i1: the entry is whole, and of this launch and of bytes of the access in work.
  Value meets(Builder& b, const Entry& entry);
  Value same_block(Builder& b, const Entry& entry);
  Value same_epoch(Builder& b, const Entry& entry);
  Value order_bit(Builder& b, std::uint32_t bit);

  bool warps_ = false, acquires_ = false;
  std::uint32_t epoch_ = 0, order_ = 0;
  Value me_ = 0, fixed_ = 0, counted_ = 0;
  Value bytes_ = 0;  ///< of the access in work: which of the four
  std::uint32_t site_ = 0;
};

}  // namespace ptx2spv::passes
