// Products of matrices of floats with less than 64 bits, as an H100 makes them
// (docs/reference/hardware.md). The shader library adds (shaders/matrix.glsl).
#include "translator/lower/lower_matrix.hpp"

namespace ptx2spv::lower {

using ir::Op;
using ir::Type;

namespace {

/// Exponent 0 on the scale of sums of two unpacked exponents: 512 and the format's bias, twice.
constexpr std::uint32_t kBiasF16 = 2 * (512 + 15), kBiasF32 = 2 * (512 + 127);

bool is_half(ptx::Type type) { return type == ptx::Type::f16; }

}  // namespace

bool FunctionLowering::Matrix::floating() const {
  using enum ptx::Type;
  const ptx::Type type = factor_type();
  return type == f16 || type == bf16 || type == tf32 || small();
}

bool FunctionLowering::Matrix::small() const {
  return factor_type() == ptx::Type::e4m3 || factor_type() == ptx::Type::e5m2;
}

std::vector<Value> FunctionLowering::Matrix::unpacked_floats(const Factor& f,
                                                             const std::vector<Value>& words) {
  std::vector<Value> elements;
  const auto add = [&](const char* routine, Value bits) {
    elements.push_back(l_.arith_.library(routine, Type::i32, {bits}));
  };
  for (const Value word : words) {
    if (f.element == ptx::Type::tf32) {
      add("matrix_tf32", word);
      continue;
    }
    if (!small()) {
      const char* routine = is_half(f.element) ? "matrix_f16" : "matrix_bf16";
      add(routine, l_.arith_.lo16(word));
      add(routine, l_.arith_.hi16(word));
      continue;
    }
    const NumKind kind = f.element == ptx::Type::e4m3 ? NumKind::e4m3 : NumKind::e5m2;
    for (unsigned i = 0; i < 4; ++i) {
      const Value byte = b_.op2(Op::and_, b_.op2(Op::lshr, word, b_.i32(8 * i)), b_.i32(0xff));
      add("matrix_f16", l_.arith_.convert(NumKind::f16, kind, byte, ir::Round::rn, false, false));
    }
  }
  return elements;
}

Value FunctionLowering::Matrix::sum_of(std::span<const Value> x, std::span<const Value> y,
                                       Value addend) {
  std::vector<Value> operands;
  for (const auto& side : {x, y})
    for (std::size_t i = 0; i < side.size(); i += 4)
      operands.push_back(b_.inst(Op::compose, Type::v4, side.subspan(i, 4)));
  operands.push_back(addend);
  const char* name = x.size() == 16  ? "matrix_sum_16"
                     : x.size() == 8 ? "matrix_sum_8"
                                     : "matrix_sum_4";
  return b_.inst(Op::library, Type::v4, operands, l_.ir_.library(name));
}

Value FunctionLowering::Matrix::bias() {
  const bool wide = factor_type() == ptx::Type::bf16 || factor_type() == ptx::Type::tf32;
  return b_.i32(wide ? kBiasF32 : kBiasF16);
}

Value FunctionLowering::Matrix::addend(Value value, bool half) {
  return l_.arith_.library(half ? "matrix_addend_f16" : "matrix_addend_f32", Type::v2,
                           {value, bias()});
}

Value FunctionLowering::Matrix::result(Value sum, bool half) {
  return l_.arith_.library(half ? "matrix_result_f16" : "matrix_result_f32", Type::i32,
                           {sum, bias()});
}

Value FunctionLowering::Matrix::float_product(std::span<const Value> x, std::span<const Value> y,
                                              Value sum) {
  const bool half = is_half(ptx::matrix_element(inst_, MatrixPart::d)),
             from_half = is_half(ptx::matrix_element(inst_, MatrixPart::c));
  const std::size_t n = x.size() / 2;
  if (half != from_half) {
    // Of f32, whatever c and d are.
    // The one case in which .satfinite has an effect.
    const ir::Round round = mods_.sat ? ir::Round::rz : ir::Round::rn;
    const auto to = [&](NumKind kind, NumKind from, Value v) {
      return l_.arith_.convert(kind, from, v, round, false, false);
    };
    if (from_half) sum = to(NumKind::f32, NumKind::f16, sum);
    sum = result(sum_of(x, y, addend(sum, false)), false);
    return half ? to(NumKind::f16, NumKind::f32, sum) : sum;
  }
  if (inst_.op == Opcode::wmma && factor_type() == ptx::Type::tf32) {
    const Value first = result(sum_of(x.first(n), y.first(n), addend(sum, false)), false);
    return result(sum_of(x.last(n), y.last(n), addend(first, false)), false);
  }
  if (!small()) return result(sum_of(x, y, addend(sum, from_half)), half);
  // Two products of f16 that begin with zero, of elements 4i and 4i + 1 and of the others, and a
  // rounded sum.
  Value both = b_.i32(0);
  for (const unsigned first : {0u, 2u}) {
    std::vector<Value> part[2];
    for (std::size_t i = first; i < x.size(); i += 4)
      for (const std::size_t k : {i, i + 1}) {
        part[0].push_back(x[k]);
        part[1].push_back(y[k]);
      }
    both = result(sum_of(part[0], part[1], addend(both, half)), half);
  }
  return b_.fp(Op::fadd, Type::i32, {both, sum}, {.kind = half ? NumKind::f16 : NumKind::f32});
}

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
  write_results(results);
}

void FunctionLowering::Matrix::write_results(const std::vector<Value>& results) {
  const bool half = is_half(ptx::matrix_element(inst_, MatrixPart::d));
  const std::vector<Value> words = half ? l_.memory_.words_of(results, 2) : results;
  const std::vector<Operand> to = l_.elements(a_[0]);
  for (std::size_t i = 0; i < to.size(); ++i)
    l_.write(to[i], words[i], wide(factor_type()) ? ptx::Type::b64 : ptx::Type::b32);
}

/// One by one, as the registers of operand c have them.
std::vector<Value> FunctionLowering::Matrix::read_sums() {
  const ptx::Type type = ptx::matrix_element(inst_, MatrixPart::c);
  const std::vector<Value> words =
      l_.read_elements(a_[3], wide(type)               ? ptx::Type::b64
                              : type == ptx::Type::f32 ? type
                                                       : ptx::Type::b32);
  if (!is_half(type)) return words;
  std::vector<Value> sums;
  for (const Value word : words) {
    sums.push_back(l_.arith_.lo16(word));
    sums.push_back(l_.arith_.hi16(word));
  }
  return sums;
}

}  // namespace ptx2spv::lower
