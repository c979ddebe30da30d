// The parts of the structurizer, private to it.
#pragma once

#include <cstdint>
#include <vector>

#include "translator/passes/ir.hpp"
#include "translator/passes/loop_guard.hpp"

namespace ptx2spv::passes::structured {

/// Drivers give wrong results from a nesting of 80 on; loops of deep programs need some room above
/// this.
inline constexpr unsigned kMaxDepth = 60;

/// A loop's body, or the whole function: a single-entry set of blocks. Branches to `header`
/// continue the loop, branches to `merge` leave it; there are no others to the outside.
struct Region {
  BlockId entry = 0;
  std::vector<BlockId> nodes;
  BlockId header =
      kNoBlock;  ///< the loop's first block as the graph has it, the target of its back edges
  BlockId shell = kNoBlock;  ///< the empty block that becomes the loop's header in SPIR-V's sense
  BlockId latch = kNoBlock;
  BlockId merge = kNoBlock;
  unsigned depth = 0;
  std::uint32_t number = 0;  ///< of a guarded loop, else 0 (LoopGuard)
};

class Structurizer {
 public:
  Structurizer(Function& function, LoopGuard* guard)
      : f_(function), builder_(function), guard_(guard) {}
  void run();

 private:
  // structurize.cpp: before and after
  void lower_switches();
  void unify_exits();
  void find_dead_ends();
  void tidy();

  // structurize_loops.cpp
  void find_loops(Region& region);
  std::vector<std::vector<BlockId>> components(const Region& region);
  void form_loop(Region& outer, Region& loop, std::uint32_t n);
  void make_reducible(Region& region, std::vector<std::vector<BlockId>>& loops,
                      std::vector<BlockId>& headers);
  void add_inner_headers(std::uint32_t n, std::vector<BlockId>& entries);
  void locate(const Region& loop);
  void finish_guard();
  void mark(BlockId at, std::uint32_t number, std::uint32_t value);
  void guard_entries(Region& region, const std::vector<BlockId>& headers,
                     std::vector<std::uint32_t>& numbers);
  void dispatch(BlockId at, std::uint32_t var, const std::vector<BlockId>& targets,
                std::vector<BlockId>& nodes);
  bool inside(BlockId target) const {
    return target != region_->header && target != region_->merge;
  }
  BlockId setter(std::uint32_t var, std::uint32_t value, BlockId target);

  // structurize_acyclic.cpp
  void build_nodes(const Region& region);
  void place(bool chunked);
  bool copy_joins();
  void set_depths(const Region& region);
  bool too_deep() const;
  void choose_chunks();
  void emit(std::uint32_t node, BlockId exit_to, bool guard);
  BlockId emit_arm(std::uint32_t succ, BlockId join, bool guard);
  BlockId entry_of(std::uint32_t node);
  bool jumps(std::uint32_t succ) const;

  BlockId new_block() {
    const BlockId b = builder_.new_block();
    loop_of_.push_back(kNone);
    stamp_.push_back(kNone);
    index_.push_back(kNone);
    low_.push_back(0);
    is_entry_.push_back(false);
    dead_end_.push_back(false);
    return b;
  }

  static constexpr std::uint32_t kNone = 0xffffffffu;
  static constexpr std::uint32_t kLeave = 0xfffffffeu;  ///< a successor that is the merge or latch

  struct Node {
    BlockId block = 0;  ///< a plain block, or the header of a loop
    BlockId tail = 0;   ///< where its successors stand: itself, or the loop's merge block
    std::uint32_t loop = kNone;
    std::uint32_t succ[2] = {kNone, kNone};
    BlockId leave[2] = {kNoBlock, kNoBlock};
    std::uint32_t succs = 0, preds = 0;
    std::uint32_t idom = kNone, tree_depth = 0, jump = 0;
    unsigned depth = 0;
    bool guarded = false, falls_out = false, head = false, tail_placed = false;
    std::uint32_t root = kNone;
    std::vector<std::uint32_t> placed;
  };

  Function& f_;
  Builder builder_;
  LoopGuard* const guard_;  ///< null: loops have none
  std::vector<Region> regions_;
  const Region* region_ = nullptr;
  std::vector<std::uint32_t> loop_of_;  ///< by header block: its region
  std::vector<std::uint32_t> stamp_;    ///< by block: scratch of the region in work
  std::vector<std::uint32_t> index_, low_;
  std::vector<bool> is_entry_;
  std::vector<bool> dead_end_;  ///< by block: leads to an end that stays apart; one predecessor
  std::uint32_t path_var_ = kNone, select_var_ = kNone;
  std::vector<Node> nodes_;
};

}  // namespace ptx2spv::passes::structured
