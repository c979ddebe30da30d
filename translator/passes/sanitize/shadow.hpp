// The shadow of a block's shared memory: which bytes were written, and who accessed each granule
// last (abi::RaceWord).
#pragma once

#include <cstdint>

#include "ptx2spv/translator.hpp"
#include "translator/ir/ir.hpp"

namespace ptx2spv::passes {

/// A checked access as its shadow sees it.
struct ShadowAccess {
  ir::Value ok = 0;      ///< it is made
  ir::Value offset = 0;  ///< i32: from the start of shared memory; of global memory i64: of its
                         ///< allocation
  unsigned bytes = 4;
  AccessKind kind = AccessKind::load;
};

/// Whether all bytes of an access have their bits in a bitmap at `base` (i64), and sets them where
/// it writes. Both only where the access is made.
ir::Value bits_set(ir::Builder& b, ir::Value base, const ShadowAccess& access);
void set_bits(ir::Builder& b, ir::Value base, const ShadowAccess& access);

class SharedShadow {
 public:
  /// `prologue` writes what all accesses of a thread need.
  SharedShadow(ir::Function& function, const EntryInfo& entry, bool races, ir::Builder& prologue);

  ir::Value base() const { return base_; }  ///< i64: of the block's bitmap
  struct Race {
    ir::Value ok = 0;     ///< i1: there was none
    ir::Value other = 0;  ///< i32: the other access, as abi::f_address has it
  };
  /// Looks for a race and takes the access's place in the shadow. `site`: of the access.
  Race race(ir::Builder& b, const ShadowAccess& access, std::uint32_t site);
  /// Behind a barrier.
  void next_epoch(ir::Builder& b);

 private:
  struct Piece {
    ir::Value place = 0;  ///< i64: of its race words
    ir::Value bad = 0;    ///< i1, or 0: no conflict yet
    ir::Value other = 0;
  };
  ir::Value load(ir::Builder& b, ir::Value place, std::uint32_t word);
  ir::Value exchange(ir::Builder& b, ir::Value place, std::uint32_t word, ir::Value value);
  void conflict(ir::Builder& b, Piece& piece, ir::Value bad, ir::Value who, ir::Value site);
  /// `who` accessed in this epoch, and is another thread that nothing else orders.
  ir::Value rival(ir::Builder& b, ir::Value who);
  ir::Value me(ir::Builder& b);

  const EntryInfo& entry_;
  bool warps_ = false;  ///< threads of a warp wait for one another
  std::uint32_t epoch_ = 0;
  ir::Value base_ = 0, races_ = 0, number_ = 0;
};

}  // namespace ptx2spv::passes
