// Several threads of a block side by side in one invocation: private to passes/coarsen.
#pragma once

#include <string>
#include <vector>

#include "translator/ir/ir.hpp"
#include "translator/passes/uniformity.hpp"

namespace ptx2spv::passes::coarse {

inline constexpr std::uint32_t kNone = 0xffffffffu;

/// A branch by which threads leave for good while the others meet barriers.
struct Guard {
  ir::BlockId head = 0, merge = 0;
  ir::BlockId inside = 0;     ///< where the threads that stay go on
  bool inside_if = true;      ///< they are those for whom the condition holds
  bool risky = false;         ///< what they share may not be run where no thread of the block stays
  std::uint32_t arm = kNone;  ///< the piece of those who leave; none when they go to the merge
};

/// A run of blocks in which threads go different ways. Each thread goes through it by itself.
struct Piece {
  std::vector<ir::BlockId> blocks;
  ir::BlockId head = ir::kNoBlock;  ///< the block whose branch leads in; none: only its first block
  ir::BlockId exit = ir::kNoBlock;
};

/// What of a kernel is the same for all threads of a block and what each one does by itself.
class Plan {
 public:
  Plan(const ir::Function& function, ir::Module& module);
  /// Empty, or why the kernel cannot run so.
  const std::string& refusal() const { return refusal_; }

  ir::Function f;                  ///< the kernel, structured and in SSA form
  std::vector<ir::BlockId> order;  ///< its blocks that threads reach, dominators first
  std::vector<Guard> guards;
  std::vector<Piece> pieces;
  std::vector<std::uint32_t> piece_of;  ///< by block
  std::vector<std::uint32_t> guard_of;  ///< by block: the innermost guard that it stands in
  std::vector<bool> own;                ///< by value: each thread has its own

 private:
  void check_operations();
  void structure(ir::Module& module);
  void find_guards();
  bool add_guard(ir::BlockId head);
  std::vector<ir::BlockId> arm(ir::BlockId from, ir::BlockId merge) const;
  bool quiet_from(ir::BlockId block) const;
  bool has_barrier(ir::BlockId block) const;
  void find_pieces(const Uniformity& uniformity);
  void close(Piece& piece, const Uniformity& uniformity);
  void find_own(const Uniformity& uniformity);
  void find_risks();
  void refuse(const char* why) {
    if (refusal_.empty()) refusal_ = why;
  }

  EarlyExits early_;
  std::vector<bool> reached_;
  std::vector<std::uint32_t> place_;
  std::vector<std::vector<ir::BlockId>> inside_, leaving_;  ///< by guard: the blocks of its arms
  std::string refusal_;
};

bool is_barrier(const ir::Inst& inst);
/// Reads of what the launch brought, wherever no thread can fault.
bool is_launch_word(const ir::Inst& inst);

}  // namespace ptx2spv::passes::coarse
