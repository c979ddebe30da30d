// The shadow of a block's shared memory: which bytes were written, and who accessed each granule
// last (abi::RaceWord).
#pragma once

#include <cstdint>

#include "ptx2spv/translator.hpp"
#include "translator/passes/ir.hpp"
#include "translator/passes/sanitize/races.hpp"

namespace ptx2spv::passes {

/// Whether all bytes of an access have their bits in a bitmap at `base` (i64; of local memory i32),
/// and sets them where it writes. Both only where the access is made.
Value bits_set(Builder& b, Value base, const ShadowAccess& access);
void set_bits(Builder& b, Value base, const ShadowAccess& access);
/// i32: a bit for each byte of an access without its bit, the lowest first.
Value missing_bits(Builder& b, Value base, const ShadowAccess& access);
/// Takes away the bits of such bytes.
void clear_bits(Builder& b, Value base, const ShadowAccess& access, Value missing);
/// Whether any byte of an access has its bit, and so the others may be padding of a structure.
Value any_bit_set(Builder& b, Value base, const ShadowAccess& access);

class SharedShadow : public RaceRecords {
 public:
  /// `prologue` writes what all accesses of a thread need. `acquires`: something orders threads
  /// beside barriers.
  SharedShadow(Function& function, const EntryInfo& entry, bool races, bool acquires,
               Builder& prologue, bool atomics64);

  Value base() const { return base_; }  ///< i64: of the block's bitmap
  /// Looks for a race and takes the access's place in the shadow. `site`: of the access.
  Race race(Builder& b, const ShadowAccess& access, std::uint32_t site);
  /// i32: the other access of a race, as abi::f_address has it.
  static Value other(Builder& b, const Race& race);
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
  Value me(Builder& b);

  const EntryInfo& entry_;
  bool warps_ = false, acquires_ = false;
  std::uint32_t epoch_ = 0, ordered_ = 0, site_ = 0;
  Value base_ = 0, races_ = 0, number_ = 0;
};

}  // namespace ptx2spv::passes
