// Algebra on single instructions, for passes/simplify.
#pragma once

#include <vector>

#include "translator/ir/ir.hpp"
#include "translator/passes/analysis/ranges.hpp"

namespace ptx2spv::passes {

/// Rewrites instructions as they stream by. New instructions are appended to `out` before the one
/// at hand.
class Folder {
 public:
  /// `int64`: operations on i64 may be made; without it only pairs of words.
  Folder(ir::Function& function, std::vector<ir::Value>& out, bool int64)
      : f_(function), out_(out), int64_(int64) {}
  /// A value that replaces `v` (its operands are final), or `v`, which may have been changed in
  /// place.
  ir::Value fold(ir::Value v);
  /// zeros of KnownBits, by value; values made since count as unknown.
  void set_zeros(std::vector<std::uint64_t> zeros) { zeros_ = std::move(zeros); }
  /// Comparisons are decided by the bounds of their operands.
  void set_ranges(Ranges* ranges) { ranges_ = ranges; }

 private:
  ir::Value once(ir::Value v);
  bool choices(ir::Value v, std::vector<std::uint64_t>& out, unsigned depth) const;
  bool decided(ir::Value v, bool& result) const;
  ir::Value integer(ir::Value v);
  ir::Value compare(ir::Value v);
  ir::Value convert(ir::Value v);
  ir::Value select(ir::Value v);
  ir::Value shift(ir::Value v);
  bool absorbs(ir::Value part, ir::Op op, ir::Value whole) const;
  bool opposite(ir::Value a, ir::Value b) const;
  bool all_constant(ir::Value v, ir::Value& result);

  ir::Value constant(ir::Type type, std::uint64_t value);
  ir::Value make(ir::Op op, ir::Type type, std::initializer_list<ir::Value> args,
                 std::uint64_t imm = 0);
  ir::Value become(ir::Value v, ir::Op op, std::initializer_list<ir::Value> args);
  const ir::Inst& at(ir::Value v) const { return f_.insts[v]; }
  ir::Value arg(ir::Value v, unsigned i) const { return f_.arg(v, i); }
  bool is(ir::Value v, ir::Op op) const { return f_.insts[v].op == op; }
  bool is_constant(ir::Value v) const { return f_.insts[v].op == ir::Op::constant; }
  bool is_constant(ir::Value v, std::uint64_t value) const {
    return is_constant(v) && at(v).imm == value;
  }
  std::uint64_t zeros(ir::Value v) const { return v < zeros_.size() ? zeros_[v] : 0; }

  ir::Function& f_;
  std::vector<ir::Value>& out_;
  std::vector<std::uint64_t> zeros_;
  Ranges* ranges_ = nullptr;
  const bool int64_;
};

}  // namespace ptx2spv::passes
