// Races in global memory: a record for every four bytes of an allocation (abi::GlobalRaceMark).
#pragma once

#include "translator/passes/sanitize/races.hpp"

namespace ptx2spv::passes {

class GlobalRaces : public RaceRecords {
 public:
  /// `prologue` writes what all accesses of a thread need. `words`: EntryInfo::sanitizer.words.
  GlobalRaces(ir::Function& function, std::uint32_t words, bool acquires, ir::Builder& prologue,
              bool atomics64);

  /// `records` (i64): of the access's allocation; 0: it has none. `site`: of the access.
  Race race(ir::Builder& b, const ShadowAccess& access, ir::Value records, std::uint32_t site);
  /// Behind a barrier.
  void next_epoch(ir::Builder& b);
  /// Behind what orders the thread.
  void acquire(ir::Builder& b);

 private:
  Entry own(ir::Builder& b, bool flagged) override;
  ir::Value rival(ir::Builder& b, const Entry& entry) override;
  ir::Value recent(ir::Builder& b, const Entry& entry) override;
  ir::Value same_bytes(ir::Builder& b, const Entry& entry) override;
  ir::Value flagged(ir::Builder& b, const Entry& entry) override;
  Entry with_flag(ir::Builder& b, const Entry& entry, ir::Value flag) override;
  ir::Value unordered(ir::Builder& b) override;
  /// i1: the entry is whole, and of this launch and of bytes of the access in work.
  ir::Value meets(ir::Builder& b, const Entry& entry);
  ir::Value same_block(ir::Builder& b, const Entry& entry);
  ir::Value same_epoch(ir::Builder& b, const Entry& entry);
  ir::Value order_bit(ir::Builder& b, std::uint32_t bit);

  bool warps_ = false, acquires_ = false;
  std::uint32_t epoch_ = 0, order_ = 0;
  ir::Value me_ = 0, fixed_ = 0, counted_ = 0;
  ir::Value bytes_ = 0;  ///< of the access in work: which of the four
  std::uint32_t site_ = 0;
};

}  // namespace ptx2spv::passes
