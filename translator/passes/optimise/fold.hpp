// Algebra on single instructions, for passes/simplify.
#pragma once

#include <vector>

#include "translator/passes/analysis/ranges.hpp"
#include "translator/passes/ir.hpp"

namespace ptx2spv::passes {

/// Rewrites instructions as they stream by. New instructions are appended to `out` before the one
/// at hand.
class Folder {
 public:
  /// `int64`: operations on i64 may be made; without it only pairs of words.
  Folder(Function& function, std::vector<Value>& out, bool int64)
      : f_(function), out_(out), int64_(int64) {}
  /// A value that replaces `v` (its operands are final), or `v`, which may have been changed in
  /// place.
  Value fold(Value v);
  /// zeros of KnownBits, by value; values made since count as unknown.
  void set_zeros(std::vector<std::uint64_t> zeros) { zeros_ = std::move(zeros); }
  /// Comparisons are decided by the bounds of their operands.
  void set_ranges(Ranges* ranges) { ranges_ = ranges; }

 private:
  Value once(Value v);
  bool choices(Value v, std::vector<std::uint64_t>& out, unsigned depth) const;
  bool decided(Value v, bool& result) const;
  Value integer(Value v);
  Value compare(Value v);
  Value convert(Value v);
  Value fused(Value v);
  Value select(Value v);
  Value shift(Value v);
  bool absorbs(Value part, Op op, Value whole) const;
  bool opposite(Value a, Value b) const;
  bool all_constant(Value v, Value& result);

  Value constant(Type type, std::uint64_t value);
  Value make(Op op, Type type, std::initializer_list<Value> args, std::uint64_t imm = 0);
  Value become(Value v, Op op, std::initializer_list<Value> args);
  const Inst& at(Value v) const { return f_.insts[v]; }
  Value arg(Value v, unsigned i) const { return f_.arg(v, i); }
  bool is(Value v, Op op) const { return f_.insts[v].op == op; }
  bool is_constant(Value v) const { return f_.insts[v].op == Op::constant; }
  bool is_constant(Value v, std::uint64_t value) const {
    return is_constant(v) && at(v).imm == value;
  }
  /// Whether it is the sum of a value and a constant.
  bool has_constant(Value v) const { return is(v, Op::add) && is_constant(arg(v, 1)); }
  std::uint64_t zeros(Value v) const { return v < zeros_.size() ? zeros_[v] : 0; }

  Function& f_;
  std::vector<Value>& out_;
  std::vector<std::uint64_t> zeros_;
  Ranges* ranges_ = nullptr;
  const bool int64_;
};

}  // namespace ptx2spv::passes
