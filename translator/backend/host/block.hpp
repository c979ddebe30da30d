// The threads of a block, as warps that take turns.
//
// Lanes of a warp that stand at the same place go on together, as a group; where several groups
// may go on, the one that is furthest behind does, so that lanes that went other ways meet again.
// Groups wait at barriers and at warp operations whose members are missing. A group that yields
// lets all others of its block go first.
#pragma once

#include <vector>

#include "translator/backend/host/program.hpp"

namespace ptx2spv::interpreter {

struct Group {
  enum class State : std::uint8_t { ready, yielded, at_warp_operation, at_barrier };
  std::uint32_t mask = 0;   ///< lanes
  std::uint32_t block = 0;  ///< of the program
  std::uint32_t at = 0;     ///< step to do next
  State state = State::ready;
  std::uint32_t barrier = 0;
};

class BlockRun;

class Warp {
 public:
  /// `registers`: rows of the program.
  void begin(BlockRun& owner, Row* registers, std::byte* local, std::uint32_t first_thread,
             std::uint32_t threads);
  /// Runs until no group is ready. True if one has more to do, whose turn was over.
  bool run();
  bool over() const { return groups_.empty(); }
  /// Those that have yielded may go on. True if there are any.
  bool wake_yielded();
  /// Those that wait at a warp operation go on with the lanes that are there. True if one did.
  bool force();
  /// The barrier opens: all that wait at it go on, with its result.
  bool release(std::uint32_t barrier, std::uint32_t result);

 private:
  enum class Next : std::uint8_t { same, other };

  std::size_t choose() const;
  void run_group(std::size_t index);
  bool leave(std::size_t index);
  void follow(Group& group, const Edge& edge);
  void merge(std::size_t index);
  Next together(std::size_t index);
  Next meet(std::size_t index);
  Next warp_operation(std::size_t index, bool forced);
  void select(std::uint32_t mask);
  void ended(std::uint32_t lanes);

  BlockRun* owner_ = nullptr;
  const Program* program_ = nullptr;
  Lanes lanes_;
  std::uint32_t live_ = 0;  ///< lanes whose threads have not ended
  bool masked_ = false, late_ = false;
  std::uint32_t left_ = 0;  ///< blocks of the program until others get their turn
  std::vector<Group> groups_;
};

/// The barriers of a block.
class Barriers {
 public:
  static constexpr std::uint32_t kCount = 16;

  void clear() { *this = {}; }
  /// Of threads that have come to one. `expected`: threads, 0: all; `votes`: true predicates.
  void arrive(std::uint32_t barrier, std::uint32_t threads, std::uint32_t expected,
              std::uint32_t votes, ir::BarKind kind);
  /// Calls `release` with the number and the result of each at which all have come who must, of
  /// `live` threads. True if there was one.
  template <typename Release>
  bool open(std::uint32_t live, Release&& release) {
    bool any = false;
    for (std::uint32_t i = 0; i < kCount; ++i) any = open_one(i, live, release) || any;
    return any;
  }
  /// The same of one.
  template <typename Release>
  bool open_one(std::uint32_t barrier, std::uint32_t live, Release&& release) {
    One& b = each_[barrier];
    if (b.arrived == 0 || b.arrived < (b.expected ? b.expected : live)) return false;
    const std::uint32_t gives = result(b);
    b = {};
    release(barrier, gives);
    return true;
  }

 private:
  struct One {
    std::uint32_t arrived = 0, expected = 0, votes = 0;
    ir::BarKind kind = ir::BarKind::sync;
  };
  static std::uint32_t result(const One& barrier);

  One each_[kCount];
};

/// One block of the grid.
class BlockRun {
 public:
  BlockRun(const Program& program, const Launch& launch, std::uint32_t dynamic_shared);
  /// Starts block `number` of the grid.
  void begin(std::uint64_t number);

  enum class Status : std::uint8_t { over, going, idle, stuck };
  /// Lets each warp run once. idle: all that may go on have yielded. stuck: nobody can go on.
  Status turn();

  const Program& program() const { return program_; }
  const Launch& launch() const { return launch_; }
  const std::uint32_t* number() const { return number_; }
  std::uint64_t block() const { return block_; }
  Region shared() { return {shared_.data(), shared_bytes_}; }
  Barriers& barriers() { return barriers_; }
  void ended(std::uint32_t threads) { done_ += threads; }
  void waits_for_clock() { clock_ = true; }
  /// Whether a thread has waited for a clock, which goes on by itself, in the last turn.
  bool waited_for_clock() const { return clock_; }
  /// Registers, shared and local memory.
  static std::uint64_t bytes(const Program& program, const Launch& launch,
                             std::uint32_t dynamic_shared);

 private:
  const Program& program_;
  const Launch& launch_;
  std::uint32_t threads_ = 0, done_ = 0, shared_bytes_ = 0;
  std::uint64_t block_ = 0;
  std::uint32_t number_[3] = {0, 0, 0};
  bool clock_ = false;
  Barriers barriers_;
  std::vector<Warp> warps_;
  std::vector<Row> registers_;
  std::vector<std::byte> shared_, local_;
};

}  // namespace ptx2spv::interpreter
