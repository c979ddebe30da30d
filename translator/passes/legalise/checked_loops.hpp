// Loops that stand twice, natively with checks and exactly: private to checked_loops.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "translator/ir/loops.hpp"
#include "translator/passes/legalise/float_checks.hpp"
#include "translator/passes/legalise/fma_checks.hpp"
#include "translator/passes/passes.hpp"

namespace ptx2spv::passes::checked {

class CheckedLoops {
 public:
  CheckedLoops(Function& function, Module& module, const Profile& profile)
      : f_(function),
        module_(module),
        b_(function),
        nest_(function, function.order),
        fma_alone_(profile.exactness.denormals32),
        checks_(function, profile),
        fma_(function) {}
  bool run();

 private:
  /// A loop that stands twice.
  struct Twin {
    std::uint32_t loop = 0;
    BlockId header = 0, merge = 0;
    std::vector<BlockId> blocks;
    std::vector<Value> live_out;    ///< used behind the loop, beside the phis of its merge block
    std::vector<Value> checked[2];  ///< plain, narrow: values to check, in it or before it
    std::vector<FmaChecks::Check> fma_checks;  ///< the same where fma alone lose denormals
    Value entry_fails = 0;                     ///< of these, whether one of before it fails
    bool apart = false;           ///< that decides it: a thread runs one of the copies alone
    bool to_end = false;          ///< a thread whose check failed runs the first copy to its end
    std::vector<BlockId> before;  ///< new blocks before the header
    std::vector<BlockId> behind;  ///< and behind the merge
    BlockId entry = kNoBlock;     ///< before it
  };

  std::span<const BlockId> blocks_of(std::uint32_t loop) const {
    return {f_.order.data() + nest_.loops[loop].first,
            nest_.loops[loop].end - nest_.loops[loop].first};
  }
  /// New blocks, such as the end of a loop that stands twice already, are in none of the loops.
  bool in_loop(BlockId b, std::uint32_t loop) const {
    return b < nest_.place.size() && nest_.within(b, loop);
  }
  bool can_repeat(std::uint32_t loop) const;
  bool can_leave(const Twin& twin) const;
  bool can_copy(std::uint32_t loop) const;
  int leaving_side(std::uint32_t loop, BlockId b) const;
  BlockId end_test_of(std::uint32_t loop) const;
  BlockId test_of(std::uint32_t loop) const;
  void consider(std::uint32_t loop);

  // What to check
  bool plan(Twin& twin);
  bool plan_fma(Twin& twin);
  bool plan_apart(Twin& twin);
  void suppose_phis(const Twin& twin);
  void find_uses(const Twin& twin);
  std::vector<FmaChecks::Check> assume_fma_phis(const Twin& twin);
  unsigned preferred(Value v) const;
  void assume_phis(const Twin& twin);
  bool check_edges(const Twin& twin);
  bool reads_are_safe(const Twin& twin, std::span<const Value> native, bool chooses);
  bool turns_are_safe(const Twin& twin) const;
  std::optional<std::uint64_t> array_of(Value address, unsigned steps = FmaChecks::kSteps) const;
  bool is_within_array(Value difference) const;
  void find_differences(Value v, unsigned steps, std::vector<Value>& found) const;
  int log2_trip_count(std::uint32_t loop) const;
  bool pays_to_end(const Twin& twin) const;
  bool reads(Value v) const;
  bool only_chooses(BlockId b) const;

  // Both copies
  void find_live_out();
  void enter(Twin& twin);
  void copy(Twin& twin);
  Value check(Value v, const Bounds& bounds);
  void set_checks(const Twin& twin, bool on);
  void check_copy(const Twin& twin, Value v);
  Value failed();
  void leave_on_failure(const Twin& twin);
  void join(Twin& twin);
  void choose(Twin& twin, BlockId done, BlockId again, BlockId after);
  void repeat(Twin& twin, BlockId done, BlockId again, BlockId next, BlockId after);
  void rename_behind();

  Value mapped(Value v) const { return v < copy_of_.size() && copy_of_[v] ? copy_of_[v] : v; }
  /// A phi at the head of the block, whose predecessors are set.
  Value phi(BlockId block, Type type, const std::vector<Value>& args) {
    b_.at(block);
    return b_.inst(Op::phi, type, args);
  }

  Function& f_;
  Module& module_;
  Builder b_;
  const StructuredLoops nest_;
  std::vector<Twin> twins_;
  std::vector<std::uint32_t> twin_of_;             ///< by block
  std::vector<BlockId> home_;                      ///< by value: its block
  std::vector<std::vector<std::uint32_t>> inner_;  ///< by loop: those right inside of it

  // Of the loop in work
  std::uint32_t at_ = kNone;  ///< its place in twins_ once it is there
  std::vector<bool> inside_;  ///< by block
  /// Whether fma alone lose denormals: sums and products keep them, and a check is one comparison.
  const bool fma_alone_;
  FloatChecks checks_;
  FmaChecks fma_;
  std::vector<std::uint8_t>
      level_;  ///< by value of the loop that is copied: as twin.checked has it
  std::vector<bool> factor_, taken_;  ///< by value of the loop: by fma, as numbers
  std::vector<bool> follows_;         ///< by value of the loop: from numbers that may be wrong
  std::uint32_t bad_ = 0;             ///< variable: below zero once a check has failed
  std::vector<Value> copy_of_;
  std::vector<BlockId> block_of_;
  std::vector<Value> behind_;  ///< by value of a loop: what stands for it behind the loop
  std::vector<bool> joins_;    ///< by block: where the two copies' results meet
};

}  // namespace ptx2spv::passes::checked
