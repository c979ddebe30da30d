// neg and abs of doubles, which leave a NaN's sign as it is.
#pragma once

#include "translator/ir/ir.hpp"

namespace ptx2spv::ir {

/// Of isnan(x) ? x : y, where y is x with its sign changed or cleared and the x chosen may be
/// quiet: `changed` is y, 0 if `v` is no such selection.
struct DoubleSign {
  Value changed = 0, of = 0;
  bool quiet = false;
};

inline DoubleSign double_sign(const Function& f, Value v) {
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63, kInfinity = 0x7ff0000000000000,
                          kQuiet = std::uint64_t{1} << 51;
  const auto is_constant = [&](Value c, std::uint64_t imm) {
    return f.insts[c].op == Op::constant && f.insts[c].imm == imm;
  };
  const auto is = [&](Value of, Op op, Value x, std::uint64_t imm) {
    return f.insts[of].op == op && f.arg(of, 0) == x && is_constant(f.arg(of, 1), imm);
  };
  if (f.insts[v].op != Op::select || f.insts[v].type != Type::i64) return {};
  const Value condition = f.arg(v, 0), nan = f.arg(v, 1), changed = f.arg(v, 2);
  const Op op = f.insts[changed].op;
  if (f.insts[condition].op != Op::ult || (op != Op::xor_ && op != Op::and_)) return {};
  const Value x = f.arg(changed, 0);
  if (!is_constant(f.arg(changed, 1), op == Op::xor_ ? kSign : kSign - 1) ||
      !is_constant(f.arg(condition, 0), kInfinity) ||
      !is(f.arg(condition, 1), Op::and_, x, kSign - 1))
    return {};
  const bool quiet = is(nan, Op::or_, x, kQuiet);
  return quiet || nan == x ? DoubleSign{changed, x, quiet} : DoubleSign{};
}

}  // namespace ptx2spv::ir
