// How the lanes of a warp go through a function's blocks when they go together: blocks run in the
// function's order, each for the lanes that have come to it.
#pragma once

#include <string>
#include <vector>

#include "translator/passes/analysis/uniformity.hpp"

namespace ptx2spv::interpreter::llvm {

using namespace ir;

/// Of a structured function in SSA form, with preds. Linear but for the loops of a nest.
class Shape {
 public:
  /// `rows`: the x size of a block is a multiple of the lanes, so that lanes differ in x alone.
  Shape(const ir::Function& function, bool rows);

  /// Why its lanes cannot go together; empty where they can.
  const std::string& problem() const { return problem_; }
  bool uniform(ir::Value v) const { return !uniformity_.divergent(v); }
  std::uint32_t place(ir::BlockId b) const { return nest_.place[b]; }
  std::uint32_t places() const { return static_cast<std::uint32_t>(f_.order.size()); }
  /// Whether lanes may wait at the block of that place while others run elsewhere.
  bool waits(std::uint32_t place) const { return waits_[place]; }
  /// Whether all lanes that have not ended are there when one is.
  bool alone(std::uint32_t place) const { return zone_[place] == ir::StructuredLoops::kNone; }
  /// The same, and none has ended.
  bool whole(std::uint32_t place) const { return ends_once_ && alone(place); }
  /// The first place from `place` on where lanes may wait; places() where there is none.
  std::uint32_t next_wait(std::uint32_t place) const { return next_[place]; }
  /// Whether the value is read in another block than its own.
  bool crosses(ir::Value v) const { return crosses_[v]; }
  /// Whether it is read outside a loop that it is made in and that lanes leave one by one.
  bool escapes(ir::Value v) const { return escapes_[v]; }
  /// The same of a read at a place.
  bool escapes_to(ir::Value v, std::uint32_t place) const;
  /// Whether lanes that go from `from` to `to` must leave those that wait there what they have of
  /// the block's phis.
  bool keeps_phis(ir::BlockId from, ir::BlockId to) const;
  ir::BlockId home(ir::Value v) const { return home_[v]; }
  const ir::StructuredLoops& nest() const { return nest_; }

 private:
  bool splits(ir::BlockId b) const;
  void find_zones();
  void find_waits();
  void find_uses();
  bool may_wait() const;
  bool names_those_here(ir::Value v) const;
  bool others_are_through(ir::BlockId b) const;
  template <typename Is>
  bool finds_behind(std::uint32_t end, Is&& is, bool past_meetings) const;
  bool waits_for_itself(std::uint32_t loop) const;
  bool whole_warp(std::uint32_t loop) const;
  void check_wait(ir::Value yield, std::uint32_t loop);
  void check();

  const ir::Function& f_;
  const ir::StructuredLoops nest_;
  const passes::Uniformity uniformity_;
  std::vector<ir::BlockId> home_;    ///< by value
  std::vector<std::uint32_t> zone_;  ///< by place: of the innermost branch or loop that splits
  std::vector<bool> uneven_;         ///< by loop: lanes leave it one by one
  std::vector<bool> waits_, crosses_, escapes_;
  std::vector<bool> yielding_;  ///< by loop: whether it waits for other warps
  std::vector<std::uint32_t> next_;
  bool ends_once_ = false;  ///< all threads end in the last block
  std::string problem_;
};

}  // namespace ptx2spv::interpreter::llvm
