// 9.7.14 products of matrices and moves of them, by exchanges between the threads of a warp that
// are all there.
#include "translator/lower/lower_matrix.hpp"

namespace ptx2spv::lower {

using ir::Op;
using ir::Type;

Value FunctionLowering::Matrix::from_lane(Value value, Value lane) {
  if (b_.last(value).type == Type::i64) {
    const Value low = from_lane(b_.inst(Op::trunc, Type::i32, {value}), lane);
    return b_.inst(Op::pack, Type::i64,
                   {low, from_lane(b_.inst(Op::high, Type::i32, {value}), lane)});
  }
  const Value both = b_.inst(Op::warp_shfl, Type::v2, {value, lane, b_.i32(31), b_.i32(~0u)},
                             static_cast<std::uint64_t>(ir::ShflMode::idx));
  b_.last(both).object = 1;
  return b_.inst(Op::extract, Type::i32, {both}, 0);
}

/// Rows are accesses of 16 bytes, of which a thread's part is added to the address of its row.
FunctionLowering::Place FunctionLowering::Matrix::place_of_rows(const Operand& memory) {
  Place at = l_.shared_place(inst_, memory);
  at.access.whole = at.access.part = 16;
  return at;
}

/// ldmatrix: thread 8i + j has the address of row j of matrix i.
void FunctionLowering::Matrix::load_rows() {
  const Place at = place_of_rows(a_[1]);
  const std::vector<Operand> to = l_.elements(a_[0]);
  const bool trans = mods_.has(Mod::trans);
  std::vector<Value> rows;
  for (unsigned i = 0; i < matrices(); ++i) {
    const Value first = b_.i32(8 * i);
    if (!trans) {
      rows.push_back(shared_row(at, plus(group_, first)));
      continue;
    }
    const Value even = plus(times(within_, 2), first);
    rows.push_back(shared_row(at, even));
    rows.push_back(shared_row(at, plus(even, b_.i32(1))));
  }
  for (unsigned i = 0; i < matrices(); ++i) {
    const auto word = [&](unsigned row, Value by, unsigned bytes) {
      return l_.memory_.load(at.access, plus(rows[row], by), bytes);
    };
    const Value value = trans ? l_.arith_.pair16(word(2 * i, times(group_, 2), 2),
                                                 word(2 * i + 1, times(group_, 2), 2))
                              : word(i, times(within_, 4), 4);
    l_.write(to[i], value, ptx::Type::b32);
  }
}

void FunctionLowering::Matrix::store_rows() {
  const Place at = place_of_rows(a_[0]);
  const std::vector<Operand> from = l_.elements(a_[1]);
  const bool trans = mods_.has(Mod::trans);
  std::vector<std::pair<Value, Value>> stores;  // address, value
  for (unsigned i = 0; i < matrices(); ++i) {
    const Value value = l_.read(from[i], ptx::Type::b32), first = b_.i32(8 * i);
    if (!trans) {
      stores.emplace_back(plus(shared_row(at, plus(group_, first)), times(within_, 4)), value);
      continue;
    }
    const Value even = plus(times(within_, 2), first), by = times(group_, 2);
    stores.emplace_back(plus(shared_row(at, even), by), l_.arith_.lo16(value));
    stores.emplace_back(plus(shared_row(at, plus(even, b_.i32(1))), by), l_.arith_.hi16(value));
  }
  for (const auto& [address, value] : stores)
    l_.memory_.store(at.access, address, value, trans ? 2 : 4);
}

/// movmatrix
void FunctionLowering::Matrix::transpose() {
  const Value value = l_.read(a_[1], ptx::Type::b32);
  const Value lane = plus(times(within_, 8), b_.op2(Op::lshr, group_, b_.i32(1)));
  const Value shift = times(b_.op2(Op::and_, group_, b_.i32(1)), 16);
  const auto half = [&](Value from) {
    return l_.arith_.lo16(b_.op2(Op::lshr, from_lane(value, from), shift));
  };
  const Value low = half(lane), high = half(plus(lane, b_.i32(4)));
  l_.write(a_[0], l_.arith_.pair16(low, high), ptx::Type::b32);
}

FunctionLowering::Matrix::Factor FunctionLowering::Matrix::factor(MatrixPart part) const {
  const auto [m, n, k] = ptx::matrix_shape(mods_.geom);
  Factor f;
  f.part = part;
  f.element = ptx::matrix_element(inst_, part);
  f.tall = (part == MatrixPart::a) != transposed();
  f.sides = part == MatrixPart::a ? m : n;
  f.words = wide(f.element) ? k : k * ptx::bits(f.element) / 32;
  if (part == MatrixPart::a && ptx::is_sparse(mods_)) f.words /= 2;
  return f;
}

FunctionLowering::Matrix::Stored FunctionLowering::Matrix::stored(const Operand& memory,
                                                                  MatrixPart part) {
  const auto [m, n, k] = ptx::matrix_shape(mods_.geom);
  Stored in;
  in.at = l_.place(inst_, memory, mods_.space);
  in.element = ptx::matrix_element(inst_, part);
  in.rows = mods_.layouts[0] == Mod::row;
  const unsigned rows = part == MatrixPart::b ? k : m, columns = part == MatrixPart::a ? k : n;
  in.stride = a_.size() > 2 ? l_.read(a_[2], ptx::Type::b32) : b_.i32(in.rows ? columns : rows);
  return in;
}

Value FunctionLowering::Matrix::address(const Stored& in, Value row, Value column) {
  if (!in.rows) std::swap(row, column);
  const Value index = plus(b_.op2(Op::mul, row, in.stride), column);
  const unsigned bits = ptx::bits(in.element);
  const bool i64 = b_.last(in.at.address).type == Type::i64;
  Value offset = i64 ? l_.memory_.as64(index) : index;
  if (bits < 8) {
    offset = b_.op2(Op::lshr, offset, b_.i32(static_cast<unsigned>(std::countr_zero(8 / bits))));
  } else if (bits > 8) {
    offset = times(offset, bits / 8);
  }
  return plus(in.at.address, offset);
}

/// Word `within_` of a quarter, of one row of a or one column of b.
Value FunctionLowering::Matrix::load_word(const Stored& in, const Factor& f, Value side,
                                          unsigned quarter) {
  const unsigned bits = ptx::bits(f.element), each = bits < 32 ? 32 / bits : 1;
  const Value first = times(plus(within_, b_.i32(4 * quarter)), each);
  const bool a = f.part == MatrixPart::a;
  const auto at = [&](Value k) { return a ? std::pair(side, k) : std::pair(k, side); };
  if (in.rows == a) {
    const auto [row, column] = at(first);
    return l_.memory_.load(in.at.access, address(in, row, column), bits == 64 ? 8 : 4);
  }
  std::vector<Value> elements;
  for (unsigned i = 0; i < each; ++i) {
    const auto [row, column] = at(plus(first, b_.i32(i)));
    elements.push_back(load_element(in, row, column));
  }
  return l_.memory_.join(elements, ptx::bytes(f.element));
}

std::vector<Value> FunctionLowering::Matrix::load_factor(const Stored& in, const Factor& f) {
  std::vector<Value> registers;
  for (unsigned block = 0; block < f.blocks(); ++block)
    for (unsigned quarter = 0; quarter < f.quarters(); ++quarter)
      for (unsigned half = 0; half < f.halves(); ++half)
        registers.push_back(
            load_word(in, f, plus(group_, b_.i32(8 * (f.halves() * block + half))), quarter));
  return registers;
}

template <typename Each>
void FunctionLowering::Matrix::each_element(Each&& each) {
  const auto [m, n, k] = ptx::matrix_shape(mods_.geom);
  const unsigned tall = transposed() ? n : m, flat = transposed() ? m : n;
  for (unsigned column = 0; column < flat; column += 8)
    for (unsigned row = 0; row < tall; row += 8)
      for (unsigned i = 0; i < 2; ++i) {
        const Value down = plus(group_, b_.i32(row)),
                    across = plus(times(within_, 2), b_.i32(column + i));
        transposed() ? each(across, down) : each(down, across);
      }
}

void FunctionLowering::Matrix::load() {
  const MatrixPart part = ptx::matrix_part(mods_);
  const Stored in = stored(a_[1], part);
  std::vector<Value> registers;
  if (part == MatrixPart::c) {
    each_element(
        [&](Value row, Value column) { registers.push_back(load_element(in, row, column)); });
    if (in.element == ptx::Type::f16) registers = l_.memory_.words_of(registers, 2);
  } else {
    registers = load_factor(in, factor(part));
  }
  const ptx::Type type = wide(in.element) ? ptx::Type::b64 : ptx::Type::b32;
  const std::vector<Operand> to = l_.elements(a_[0]);
  // Of f16 there are registers for more than there is.
  for (std::size_t i = 0; i < to.size(); ++i)
    l_.write(to[i], registers[i % registers.size()], type);
}

void FunctionLowering::Matrix::store() {
  const Stored in = stored(a_[0], MatrixPart::d);
  const bool halves = in.element == ptx::Type::f16;
  std::vector<Value> values;
  for (const Operand& each : l_.elements(a_[1])) {
    values.push_back(l_.read(each, wide(in.element) ? ptx::Type::b64 : ptx::Type::b32));
    if (!halves) continue;
    const Value both = values.back();
    values.back() = l_.arith_.lo16(both);
    values.push_back(l_.arith_.hi16(both));
  }
  std::size_t next = 0;
  each_element([&](Value row, Value column) {
    l_.memory_.store(in.at.access, address(in, row, column), values[next++],
                     ptx::bytes(in.element));
  });
}

/// The words of a row or column that the thread's elements need, from those that hold them: rows
/// `group_` of a block, or columns 2 * within_ + odd.
std::vector<Value> FunctionLowering::Matrix::exchanged(const Factor& f,
                                                       const std::vector<Value>& registers,
                                                       unsigned block, unsigned half,
                                                       unsigned odd) {
  const Value first = f.tall ? times(group_, 4) : plus(times(within_, 8), b_.i32(4 * odd));
  std::vector<Value> words;
  for (unsigned i = 0; i < f.words; ++i)
    words.push_back(from_lane(registers[f.reg(block, i / 4, half)], plus(first, b_.i32(i % 4))));
  return words;
}

Value FunctionLowering::Matrix::integer(Value word, ptx::Type type, unsigned i) {
  const unsigned bits = ptx::bits(type), above = 32 - bits * (i + 1);
  const bool is_signed = type == ptx::Type::s8 || type == ptx::Type::s4;
  const Value top = above ? b_.op2(Op::shl, word, b_.i32(above)) : word;
  return b_.op2(is_signed ? Op::ashr : Op::lshr, top, b_.i32(32 - bits));
}

/// The elements of words in the order of k; b1's and f64's words themselves.
std::vector<Value> FunctionLowering::Matrix::unpacked(const Factor& f,
                                                      const std::vector<Value>& words) {
  if (floating()) return unpacked_floats(f, words);
  if (wide(f.element) || f.element == ptx::Type::b1) return words;
  std::vector<Value> elements;
  for (const Value word : words)
    for (unsigned k = 0; k < 32 / ptx::bits(f.element); ++k)
      elements.push_back(integer(word, f.element, k));
  return elements;
}

Value FunctionLowering::Matrix::product(const std::vector<Value>& x, const std::vector<Value>& y,
                                        Value sum) {
  if (floating()) return float_product(x, y, sum);
  if (wide(factor_type())) {
    const ir::FpAttr how{
        .kind = NumKind::f64, .round = round_of(mods_.rounding, ir::Round::rn), .nan = true};
    for (std::size_t i = 0; i < x.size(); ++i)
      sum = b_.fp(Op::ffma, Type::i64, {x[i], y[i], sum}, how);
    return sum;
  }
  Value products = b_.i32(0);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (factor_type() == ptx::Type::b1) {
      const Value both = b_.op2(mods_.op == Mod::and_ ? Op::and_ : Op::xor_, x[i], y[i]);
      products = plus(products, b_.inst(Op::popcount, Type::i32, {both}));
    } else {
      products = plus(products, b_.op2(Op::mul, x[i], y[i]));
    }
  }
  return l_.arith_.add(NumKind::s32, products, sum, mods_.sat);
}

/// The metadata of row `group_` or, of the other half, group_ + 8: words of which each four bits
/// are of one group of b's elements. Elements of 16 bits and more have four groups in a half of a
/// word of the thread that the selector names, narrower ones a word in one of every other thread.
std::vector<Value> FunctionLowering::Matrix::metadata(unsigned half) {
  const Value given = l_.read(a_[4], ptx::Type::b32), first = times(group_, 4);
  const auto selector = static_cast<unsigned>(a_[5].value);
  const auto from = [&](unsigned lane) { return from_lane(given, plus(first, b_.i32(lane))); };
  const unsigned words = factor(MatrixPart::a).words / 4;
  const bool narrow = ptx::bits(factor_type()) < 16;
  std::vector<Value> found;
  for (unsigned i = 0; i < words; ++i) {
    if (narrow) {
      found.push_back(from(2 * (words == 1 ? selector : i) + half));
    } else {
      const Value word = from(words == 1 ? selector : 2 * selector + i);
      found.push_back(half ? l_.arith_.hi16(word) : l_.arith_.lo16(word));
    }
  }
  return found;
}

/// Of each group of y's elements those that the metadata names, half of them. It names units of 8
/// or 16 bits: two s4, and either half of a tf32.
std::vector<Value> FunctionLowering::Matrix::chosen(const std::vector<Value>& y,
                                                    const std::vector<Value>& metadata) {
  if (factor_type() == ptx::Type::tf32) {
    std::vector<Value> halves;
    for (const Value word : y) {
      halves.push_back(l_.arith_.lo16(word));
      halves.push_back(l_.arith_.hi16(word));
    }
    return unpacked(factor(MatrixPart::b), l_.memory_.words_of(units(halves, metadata), 2));
  }
  return units(y, metadata);
}

std::vector<Value> FunctionLowering::Matrix::units(const std::vector<Value>& y,
                                                   const std::vector<Value>& metadata) {
  const unsigned groups = ptx::bits(factor_type()) < 16 ? 8 : 4;  // of a word
  const std::size_t size = y.size() / (groups * metadata.size());
  std::vector<Value> elements;
  for (std::size_t group = 0; group < groups * metadata.size(); ++group)
    for (unsigned i = 0; i < 2; ++i) {
      const auto bit = [&](unsigned at) {
        const Value word = metadata[group / groups];
        const std::uint32_t mask = 1u << (4 * (group % groups) + 2 * i + at);
        return b_.cmp(Op::ne, b_.op2(Op::and_, word, b_.i32(mask)), b_.i32(0));
      };
      const auto at = [&](std::size_t k) { return y[group * size + k]; };
      const std::size_t unit = size / 4;
      for (std::size_t k = 0; k < unit; ++k)
        elements.push_back(b_.select(bit(1), b_.select(bit(0), at(3 * unit + k), at(2 * unit + k)),
                                     b_.select(bit(0), at(unit + k), at(k))));
    }
  return elements;
}

void FunctionLowering::Matrix::multiply() {
  if (inst_.op == Opcode::mma && mods_.geom == Mod::m8n8k4 && floating()) return multiply_quads();
  const Factor factors[] = {factor(MatrixPart::a), factor(MatrixPart::b)};
  const Factor &tall = factors[transposed()], &flat = factors[!transposed()];
  const ptx::Type word = wide(tall.element) ? ptx::Type::b64 : ptx::Type::b32;
  const std::vector<Value> rows = l_.read_elements(a_[transposed() ? 2 : 1], word),
                           columns = l_.read_elements(a_[transposed() ? 1 : 2], word);
  const std::vector<Value> sums = read_sums();
  const bool sparse = ptx::is_sparse(mods_);
  std::vector<std::vector<Value>> x, y;
  for (unsigned block = 0; block < tall.blocks(); ++block)
    for (unsigned half = 0; half < tall.halves(); ++half)
      x.push_back(unpacked(tall, exchanged(tall, rows, block, half, 0)));
  for (unsigned block = 0; block < flat.blocks(); ++block)
    for (unsigned odd = 0; odd < 2; ++odd) {
      const std::vector<Value> words = exchanged(flat, columns, block, 0, odd);
      y.push_back(sparse && flat.element == ptx::Type::tf32 ? words : unpacked(flat, words));
    }
  std::vector<Value> results;
  for (std::size_t column = 0; column < y.size(); column += 2)
    for (unsigned row = 0; row < x.size(); ++row) {
      const std::vector<Value> choice = sparse ? metadata(row) : std::vector<Value>{};
      for (unsigned odd = 0; odd < 2; ++odd)
        results.push_back(product(x[row],
                                  sparse ? chosen(y[column + odd], choice) : y[column + odd],
                                  sums[results.size()]));
    }
  write_results(results);
}

void FunctionLowering::lower_matrix(const Instruction& inst) {
  Matrix matrix(*this, inst);
  if (inst.op == Opcode::ldmatrix) return matrix.load_rows();
  if (inst.op == Opcode::stmatrix) return matrix.store_rows();
  if (inst.op == Opcode::movmatrix) return matrix.transpose();
  if (inst.mods->has(Mod::load)) return matrix.load();
  if (inst.mods->has(Mod::store)) return matrix.store();
  matrix.multiply();
}

}  // namespace ptx2spv::lower
