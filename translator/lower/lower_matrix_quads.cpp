// Products of matrices of 8 by 8 by 4 halves, as an H100 makes them (docs/reference/hardware.md).
#include "translator/lower/lower_matrix.hpp"

namespace ptx2spv::lower {

using ir::Op;
using ir::Type;

/// m8n8k4 of halves: the threads 4i to 4i + 3 and 16 more make a product of their own, of which
/// each has 4 elements of a row or a column of a and b, and 8 of c and d.
void FunctionLowering::Matrix::multiply_quads() {
  using Pair = std::pair<Value, Value>;
  const bool half = is_half(ptx::matrix_element(inst_, MatrixPart::d)),
             from_half = is_half(ptx::matrix_element(inst_, MatrixPart::c));
  const Value quad = b_.op2(Op::and_, lane_, b_.i32(12)),
              upper = b_.op2(Op::and_, lane_, b_.i32(16));
  const auto regs = [&](unsigned i) { return l_.read_elements(a_[i], ptx::Type::b32); };
  const std::vector<Value> a = regs(1), c = regs(2),
                           sums =
                               l_.read_elements(a_[3], from_half ? ptx::Type::b32 : ptx::Type::f32);
  const auto pair = [&](const std::vector<Value>& of, unsigned first, Value lane) -> Pair {
    return {from_lane(of[first], lane), from_lane(of[first + 1], lane)};
  };
  const auto single = [&](Value bits) {
    return l_.arith_.convert(NumKind::f32, NumKind::f16, bits, ir::Round::none, false, false);
  };
  const auto bit = [&](Value v, unsigned mask) {
    return b_.cmp(Op::ne, b_.op2(Op::and_, v, b_.i32(mask)), b_.i32(0));
  };
  // Half `index` of four.
  const auto pick = [&](const Pair& of, Value index) {
    const Value word = b_.select(bit(index, 2), of.second, of.first);
    return b_.select(bit(index, 1), l_.arith_.hi16(word), l_.arith_.lo16(word));
  };
  // Where the thread's elements are: rows within its four, and columns.
  std::vector<Value> rows, columns;
  for (unsigned i = 0; i < 8; ++i) {
    const Value within = half ? within_ : plus(b_.op2(Op::and_, lane_, b_.i32(1)), b_.i32(i & 2));
    rows.push_back(within);
    columns.push_back(half ? b_.i32(i)
                           : plus(b_.op2(Op::and_, lane_, b_.i32(2)), b_.i32((i & 4) + (i & 1))));
  }
  std::vector<Pair> across, down[2];  // of a by k, of b by k in its two halves
  for (unsigned k = 0; k < 4; ++k) {
    if (mods_.layouts[0] == Mod::col)
      across.push_back(pair(a, 0, plus(plus(quad, upper), b_.i32(k))));
    for (unsigned side = 0; side < 2 && mods_.layouts[1] == Mod::row; ++side)
      down[side].push_back(pair(c, 0, plus(quad, b_.i32(k + 16 * side))));
  }
  const ir::FpAttr how{.kind = NumKind::f32};
  std::vector<Value> results;
  for (unsigned i = 0; i < 8; ++i) {
    const unsigned side = half ? i / 4 : (i & 4) / 4;
    const Value column = b_.op2(Op::and_, columns[i], b_.i32(3)),
                row_lane = plus(plus(quad, upper), rows[i]),
                column_lane = plus(plus(quad, column), b_.i32(16 * side));
    std::vector<Value> x, y;
    const Pair row = across.empty() ? pair(a, 0, row_lane) : Pair{},
               col = down[0].empty() ? pair(c, 0, column_lane) : Pair{};
    for (unsigned k = 0; k < 4; ++k) {
      x.push_back(single(across.empty() ? pick(row, b_.i32(k)) : pick(across[k], rows[i])));
      y.push_back(single(down[0].empty() ? pick(col, b_.i32(k)) : pick(down[side][k], column)));
    }
    Value sum;
    if (!from_half) {
      sum = sums[i];
    } else if (half) {
      sum = single(i % 2 ? l_.arith_.hi16(sums[i / 2]) : l_.arith_.lo16(sums[i / 2]));
    } else {
      sum = single(pick(pair(sums, 2 * side, row_lane), column));
    }
    const auto fma = [&](unsigned k, Value to) {
      return b_.fp(Op::ffma, Type::i32, {x[k], y[k], to}, how);
    };
    const auto add = [&](Value u, Value v) { return b_.fp(Op::fadd, Type::i32, {u, v}, how); };
    if (half) {
      const auto two = [&](unsigned k) {
        return fma(k + 1, b_.fp(Op::fmul, Type::i32, {x[k], y[k]}, how));
      };
      const Value all = add(add(sum, two(0)), two(2));
      results.push_back(
          l_.arith_.convert(NumKind::f16, NumKind::f32, all, ir::Round::rn, false, false));
    } else {
      Value products = b_.i32(0);
      for (unsigned k = 0; k < 4; ++k) products = fma(k, products);
      results.push_back(add(sum, products));
    }
  }
  write_results(results, true);
}

}  // namespace ptx2spv::lower
