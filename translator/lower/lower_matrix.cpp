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

ir::WarpProduct::Element element_of(ptx::Type type) {
  using enum ptx::Type;
  using Element = ir::WarpProduct::Element;
  switch (type) {
    case b1: return Element::b1;
    case u4: return Element::u4;
    case s4: return Element::s4;
    case u8: return Element::u8;
    case s8: return Element::s8;
    case e4m3: return Element::e4m3;
    case e5m2: return Element::e5m2;
    case bf16: return Element::bf16;
    case tf32: return Element::tf32;
    case f64: return Element::f64;
    default: return Element::f16;
  }
}

/// What the products of blocks of rows and columns have in common.
ir::WarpProduct FunctionLowering::Matrix::form_of(const Factor& x, const Factor& y) const {
  ir::WarpProduct form;
  form.x = element_of(x.element);
  form.y = element_of(y.element);
  form.words = static_cast<std::uint8_t>(x.words);
  form.tall = x.halves() == 2 && !wide(x.element);
  form.halves = is_half(ptx::matrix_element(inst_, MatrixPart::d)) &&
                is_half(ptx::matrix_element(inst_, MatrixPart::c));
  form.sparse = ptx::is_sparse(mods_);
  if (form.sparse) form.selector = static_cast<std::uint8_t>(a_[5].value);
  form.ands = mods_.op == Mod::and_;
  form.saturates = mods_.sat && !floating();
  form.round = round_of(mods_.rounding, ir::Round::rn);
  return form;
}

/// The registers of a block of the product, of which `operands` has those of x and y.
std::vector<Value> FunctionLowering::Matrix::product(const ir::WarpProduct& form,
                                                     std::vector<Value> operands,
                                                     std::span<const Value> sums) {
  operands.insert(operands.end(), sums.begin(), sums.end());
  if (form.sparse) operands.push_back(l_.read(a_[4], ptx::Type::b32));
  operands.push_back(b_.i32(~0u));
  const Value words = b_.inst(Op::warp_product, form.result(), operands, form.bits());
  b_.last(words).object = 1;
  const auto word = [&](unsigned i) { return b_.inst(Op::extract, Type::i32, {words}, i); };
  std::vector<Value> out;
  for (unsigned i = 0; i < form.sum_registers(); ++i)
    out.push_back(wide(factor_type()) ? b_.inst(Op::pack, Type::i64, {word(2 * i), word(2 * i + 1)})
                                      : word(i));
  return out;
}

void FunctionLowering::Matrix::multiply() {
  if (inst_.op == Opcode::mma && mods_.geom == Mod::m8n8k4 && floating()) return multiply_quads();
  const Factor factors[] = {factor(MatrixPart::a), factor(MatrixPart::b)};
  const Factor &tall = factors[transposed()], &flat = factors[!transposed()];
  const ptx::Type type = wide(tall.element) ? ptx::Type::b64 : ptx::Type::b32;
  const std::vector<Value> rows = l_.read_elements(a_[transposed() ? 2 : 1], type),
                           columns = l_.read_elements(a_[transposed() ? 1 : 2], type);
  ir::WarpProduct form = form_of(tall, flat);
  const std::vector<Value> sums = read_sums(!form.halves);
  // wmma's of tf32 is two, one after the other, and one of f64 has 8 rows.
  const bool twice = inst_.op == Opcode::wmma && tall.element == ptx::Type::tf32;
  const unsigned quarters = tall.quarters() / (twice ? 2 : 1);
  form.words = static_cast<std::uint8_t>(4 * quarters);
  std::vector<Value> results;
  for (unsigned column = 0; column < flat.blocks(); ++column)
    for (unsigned row = 0; row < tall.blocks() * tall.halves(); row += form.row_blocks()) {
      std::vector<Value> sum(
          sums.begin() + static_cast<std::ptrdiff_t>(results.size()),
          sums.begin() + static_cast<std::ptrdiff_t>(results.size() + form.sum_registers()));
      for (unsigned first = 0; first < tall.quarters(); first += quarters) {
        std::vector<Value> operands;
        for (unsigned i = first; i < first + quarters; ++i)
          for (unsigned k = row; k < row + form.row_blocks(); ++k)
            operands.push_back(rows[tall.reg(k / tall.halves(), i, k % tall.halves())]);
        const unsigned of_y = form.words_of_y() / 4;
        for (unsigned i = 0; i < of_y; ++i)
          operands.push_back(columns[flat.reg(column, first / quarters * of_y + i, 0)]);
        sum = product(form, std::move(operands), sum);
      }
      results.insert(results.end(), sum.begin(), sum.end());
    }
  if (!form.halves && is_half(ptx::matrix_element(inst_, MatrixPart::d))) {
    // Of f32, whatever c and d are. The one case in which .satfinite has an effect.
    const ir::Round round = mods_.sat ? ir::Round::rz : ir::Round::rn;
    for (Value& each : results)
      each = l_.arith_.convert(NumKind::f16, NumKind::f32, each, round, false, false);
  }
  write_results(results, !form.halves);
}

/// As the registers of operand c have them. `single`: one by one, of halves as f32.
std::vector<Value> FunctionLowering::Matrix::read_sums(bool single) {
  const ptx::Type type = ptx::matrix_element(inst_, MatrixPart::c);
  const std::vector<Value> words =
      l_.read_elements(a_[3], wide(type)               ? ptx::Type::b64
                              : type == ptx::Type::f32 ? type
                                                       : ptx::Type::b32);
  if (!is_half(type) || !single) return words;
  std::vector<Value> sums;
  for (const Value word : words)
    for (const Value half : {l_.arith_.lo16(word), l_.arith_.hi16(word)})
      sums.push_back(
          l_.arith_.convert(NumKind::f32, NumKind::f16, half, ir::Round::rn, false, false));
  return sums;
}

/// `single`: halves one by one.
void FunctionLowering::Matrix::write_results(const std::vector<Value>& results, bool single) {
  const bool half = is_half(ptx::matrix_element(inst_, MatrixPart::d));
  const std::vector<Value> words = half && single ? l_.memory_.words_of(results, 2) : results;
  const std::vector<Operand> to = l_.elements(a_[0]);
  for (std::size_t i = 0; i < to.size(); ++i)
    l_.write(to[i], words[i], wide(factor_type()) ? ptx::Type::b64 : ptx::Type::b32);
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
