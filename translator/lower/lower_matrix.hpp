// The lowering of matrix instructions. translator/ptx/matrix.hpp says which thread holds what.
#pragma once

#include <bit>

#include "translator/lower/function.hpp"
#include "translator/ptx/matrix.hpp"

namespace ptx2spv::lower {

using ptx::MatrixPart;

ir::WarpProduct::Element element_of(ptx::Type type);
inline bool is_half(ptx::Type type) { return type == ptx::Type::f16; }

class FunctionLowering::Matrix {
 public:
  Matrix(FunctionLowering& lowering, const Instruction& inst)
      : l_(lowering), b_(lowering.b_), inst_(inst), mods_(*inst.mods), a_(lowering.args(inst)) {
    l_.context_.out.info.sync.warp_operations = true;
    lane_ = b_.op2(ir::Op::and_, ir::linear_thread(b_), b_.i32(31));
    group_ = b_.op2(ir::Op::lshr, lane_, b_.i32(2));
    within_ = b_.op2(ir::Op::and_, lane_, b_.i32(3));
  }

  void load_rows();
  void store_rows();
  void transpose();
  void load();
  void store();
  void multiply();

 private:
  /// A matrix with 8 or more rows, or columns, whose words lie along k.
  struct Factor {
    MatrixPart part = MatrixPart::a;
    ptx::Type element = ptx::Type::none;
    bool tall = false;   ///< in blocks of 16, else of 8
    unsigned sides = 0;  ///< rows of a, columns of b
    unsigned words = 0;  ///< of 32 bits, or f64
    unsigned halves() const { return tall && sides > 8 ? 2 : 1; }
    unsigned blocks() const { return sides / 8 / halves(); }
    unsigned quarters() const { return words / 4; }
    unsigned registers() const { return blocks() * quarters() * halves(); }
    unsigned reg(unsigned block, unsigned quarter, unsigned half) const {
      return (block * quarters() + quarter) * halves() + half;
    }
  };
  Factor factor(MatrixPart part) const;
  bool transposed() const { return mods_.geom == Mod::m8n32k16; }
  bool wide(ptx::Type type) const { return type == ptx::Type::f64; }

  Value plus(Value a, Value c) { return b_.op2(ir::Op::add, a, c); }
  Value times(Value a, unsigned by) {
    return by == 1 ? a
                   : b_.op2(ir::Op::shl, a, b_.i32(static_cast<unsigned>(std::countr_zero(by))));
  }
  Value from_lane(Value value, Value lane);
  Place place_of_rows(const Operand& memory);
  Value shared_row(const Place& at, Value row) { return from_lane(at.address, row); }
  unsigned matrices() const { return mods_.mode == Mod::x4 ? 4 : mods_.mode == Mod::x2 ? 2 : 1; }

  // wmma's matrices in memory
  struct Stored {
    Place at;
    ptx::Type element = ptx::Type::none;
    Value stride = 0;
    bool rows = true;  ///< rows lie together, else columns
  };
  Stored stored(const Operand& memory, MatrixPart part);
  Value address(const Stored& in, Value row, Value column);
  Value load_element(const Stored& in, Value row, Value column) {
    return l_.memory_.load(in.at.access, address(in, row, column), ptx::bytes(in.element));
  }
  Value load_word(const Stored& in, const Factor& f, Value side, unsigned quarter);
  std::vector<Value> load_factor(const Stored& in, const Factor& f);
  /// Calls with row and column of each element of the product that the thread has, in order.
  template <typename Each>
  void each_element(Each&& each);

  ptx::Type factor_type() const { return ptx::matrix_element(inst_, MatrixPart::a); }
  bool floating() const { return ir::WarpProduct::is_float(element_of(factor_type())); }
  ir::WarpProduct form_of(const Factor& x, const Factor& y) const;
  std::vector<Value> product(const ir::WarpProduct& form, std::vector<Value> operands,
                             std::span<const Value> sums);
  std::vector<Value> read_sums(bool single);
  void write_results(const std::vector<Value>& results, bool single);
  void multiply_quads();

  FunctionLowering& l_;
  ir::Builder& b_;
  const Instruction& inst_;
  const ptx::Modifiers& mods_;
  std::span<const Operand> a_;
  Value lane_ = 0, group_ = 0, within_ = 0;
};

}  // namespace ptx2spv::lower
