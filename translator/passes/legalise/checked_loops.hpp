// Loops that stand twice, natively with checks and exactly: private to checked_loops.
#pragma once

#include <span>
#include <vector>

#include "translator/ir/loops.hpp"
#include "translator/passes/legalise/fma_checks.hpp"
#include "translator/passes/passes.hpp"

namespace ptx2spv::passes::checked {

class CheckedLoops {
 public:
  CheckedLoops(ir::Function& function, ir::Module& module)
      : f_(function),
        module_(module),
        b_(function),
        nest_(function, function.order),
        checks_(function) {}
  bool run();

 private:
  using Check = FmaChecks::Check;
  static constexpr std::uint32_t kNone = ir::StructuredLoops::kNone;

  /// A loop that stands twice.
  struct Twin {
    std::uint32_t loop = 0;
    ir::BlockId header = 0, merge = 0;
    ir::BlockId test = 0;  ///< whose branch leaves it, behind all else of an iteration
    std::vector<ir::BlockId> blocks;
    std::vector<ir::Value> live_out;   ///< used behind the loop, beside the phis of its merge block
    std::vector<Check> checks;         ///< of values in it or before it
    ir::Value entry_fails = 0;         ///< whether one of before it fails
    std::vector<ir::Value> least;      ///< by number of a check: what its value is at least
    std::vector<ir::BlockId> before;   ///< new blocks before the header
    std::vector<ir::BlockId> behind;   ///< and behind the merge
    ir::BlockId entry = ir::kNoBlock;  ///< before it
  };

  bool can_repeat(const Twin& twin) const;
  int leaving_side(const Twin& twin, ir::BlockId b) const;
  ir::BlockId test_of(const Twin& twin) const;
  void consider(std::uint32_t loop);

  // What to check
  bool plan(Twin& twin);
  void find_uses(const Twin& twin);
  bool checks_come_before_test(const Twin& twin) const;
  std::vector<Check> assume_phis(const Twin& twin);
  bool reads_are_safe(const Twin& twin, std::span<const ir::Value> native);

  // Both copies
  void find_live_out();
  void enter(Twin& twin);
  void copy(Twin& twin);
  void set_checks(const Twin& twin, bool on);
  void check_copy(const Twin& twin, ir::Value v);
  void leave_on_failure(const Twin& twin);
  void join(Twin& twin);
  void rename_behind();
  void order_preds();

  ir::Value mapped(ir::Value v) const {
    return v < copy_of_.size() && copy_of_[v] ? copy_of_[v] : v;
  }
  /// A phi at the head of the block, whose predecessors are set.
  ir::Value phi(ir::BlockId block, ir::Type type, const std::vector<ir::Value>& args) {
    b_.at(block);
    return b_.inst(ir::Op::phi, type, args);
  }

  ir::Function& f_;
  ir::Module& module_;
  ir::Builder b_;
  const ir::StructuredLoops nest_;
  std::vector<Twin> twins_;
  std::vector<std::uint32_t> twin_of_;  ///< by block
  std::vector<ir::BlockId> home_;       ///< by value: its block

  // Of the loop in work
  std::uint32_t at_ = kNone;  ///< its place in twins_ once it is there
  std::vector<bool> inside_;  ///< by block
  FmaChecks checks_;
  std::vector<std::uint8_t> number_;  ///< by value of the loop that is copied: its check's, from 1
  std::vector<bool> factor_, taken_;  ///< by value of the loop: by fma, as numbers
  std::vector<bool> follows_;         ///< by value of the loop: from numbers that may be wrong
  std::uint32_t bad_ = 0;             ///< variable: whether a check has failed
  std::vector<ir::Value> copy_of_;
  std::vector<ir::BlockId> block_of_;
  std::vector<ir::Value> behind_;  ///< by value of a loop: what stands for it behind the loop
  std::vector<bool> joins_;        ///< by block: where the two copies' results meet
};

}  // namespace ptx2spv::passes::checked
