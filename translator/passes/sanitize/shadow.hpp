// The shadow of a block's shared memory: which bytes were written, and who accessed each granule
// last (abi::RaceWord).
#pragma once

#include <cstdint>

#include "ptx2spv/translator.hpp"
#include "translator/ir/ir.hpp"
#include "translator/passes/sanitize/races.hpp"

namespace ptx2spv::passes {

/// Whether all bytes of an access have their bits in a bitmap at `base` (i64; of local memory i32),
/// and sets them where it writes. Both only where the access is made.
ir::Value bits_set(ir::Builder& b, ir::Value base, const ShadowAccess& access);
void set_bits(ir::Builder& b, ir::Value base, const ShadowAccess& access);
/// i32: a bit for each byte of an access without its bit, the lowest first.
ir::Value missing_bits(ir::Builder& b, ir::Value base, const ShadowAccess& access);
/// Takes away the bits of such bytes.
void clear_bits(ir::Builder& b, ir::Value base, const ShadowAccess& access, ir::Value missing);
/// Whether any byte of an access has its bit, and so the others may be padding of a structure.
ir::Value any_bit_set(ir::Builder& b, ir::Value base, const ShadowAccess& access);

class SharedShadow : public RaceRecords {
 public:
  /// `prologue` writes what all accesses of a thread need. `acquires`: something orders threads
  /// beside barriers.
  SharedShadow(ir::Function& function, const EntryInfo& entry, bool races, bool acquires,
               ir::Builder& prologue, bool atomics64);

  ir::Value base() const { return base_; }  ///< i64: of the block's bitmap
  /// Looks for a race and takes the access's place in the shadow. `site`: of the access.
  Race race(ir::Builder& b, const ShadowAccess& access, std::uint32_t site);
  /// i32: the other access of a race, as abi::f_address has it.
  static ir::Value other(ir::Builder& b, const Race& race);
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
  ir::Value me(ir::Builder& b);

  const EntryInfo& entry_;
  bool warps_ = false, acquires_ = false;
  std::uint32_t epoch_ = 0, ordered_ = 0, site_ = 0;
  ir::Value base_ = 0, races_ = 0, number_ = 0;
};

}  // namespace ptx2spv::passes
