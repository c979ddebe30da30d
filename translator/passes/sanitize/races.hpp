// Who accessed a piece of memory last: a record of two words for the last writer and of two for a
// reader. What the words say is the memory's: shadow.hpp has shared memory, global_races.hpp
// global memory.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx2spv/translator.hpp"
#include "translator/passes/ir.hpp"

namespace ptx2spv::passes {

/// A checked access as its shadow sees it.
struct ShadowAccess {
  Value ok = 0;      ///< it is made
  Value offset = 0;  ///< i32: from the start of shared memory; of global memory i64: of its
                     ///< allocation
  unsigned bytes = 4;
  AccessKind kind = AccessKind::load;
  Value size = 0;  ///< i32: the bytes where the translation does not know, up to `bytes`; 0: it
                   ///< does
  std::uint32_t spare = 0;  ///< of local memory: a word that nobody reads
};

/// What orders a thread's accesses behind what other threads did before: fences, waits, volatile
/// loads, and atomics whose result is read. By instruction.
std::vector<bool> find_acquires(const Function& function);

/// A word or two of the push constants.
Value push_word(Builder& b, std::uint32_t word, Type type = Type::i32);

/// Threads of a warp wait for one another.
bool has_warp_operations(const Function& function);

class RaceRecords {
 public:
  struct Race {
    Value ok = 0;             ///< i1: there was none
    Value who = 0, mark = 0;  ///< i32: of the other access
  };
  virtual ~RaceRecords() = default;

 protected:
  /// `atomics64`: the device exchanges both words of an entry at once.
  explicit RaceRecords(bool atomics64) : atomics64_(atomics64) {}
  /// The two words of an access, i32.
  struct Entry {
    Value who = 0, mark = 0;
  };
  /// Of the access in work. `flagged`: an atomic.
  virtual Entry own(Builder& b, bool flagged) = 0;
  /// i1: another thread made it, and nothing orders it before the access in work.
  virtual Value rival(Builder& b, const Entry& entry) = 0;
  /// i1: a thread of the block made it between the same two barriers, perhaps this one.
  virtual Value recent(Builder& b, const Entry& entry) = 0;
  /// i1: it was of the same bytes.
  virtual Value same_bytes(Builder& b, const Entry& entry) = 0;
  /// i1: of a writer, it was an atomic; of a reader, several threads read these bytes.
  virtual Value flagged(Builder& b, const Entry& entry) = 0;
  virtual Entry with_flag(Builder& b, const Entry& entry, Value flag) = 0;
  /// i1: nothing orders accesses of the block's other threads before the one in work.
  virtual Value unordered(Builder& b) = 0;

  /// Looks at the record at `place` (i64), puts the access in work there, and adds to `race`.
  void visit(Builder& b, Value place, AccessKind kind, Race& race);

 private:
  void visit_load(Builder& b, Value place, Race& race);
  Entry exchange_writer(Builder& b, Value place, const Entry& mine);
  Value exchange(Builder& b, Value place, std::uint32_t word, Value value);
  void conflict(Builder& b, Race& race, Value bad, const Entry& entry);

  bool atomics64_;
};

}  // namespace ptx2spv::passes
