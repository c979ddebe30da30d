// A product of matrices as each thread of a warp computes its part of it.
#pragma once

#include <functional>
#include <vector>

#include "translator/passes/ir.hpp"

namespace ptx2spv::passes {

/// Writes the operations of a thread at the builder's place.
class ProductBuilder {
 public:
  /// What a lane (i32) has of an operand of the warp_product.
  using FromLane = std::function<Value(unsigned operand, Value lane)>;

  /// `operands`: the thread's own; `lane`: its number in the warp.
  ProductBuilder(Builder& b, Module& module, WarpProduct form, std::vector<Value> operands,
                 Value lane, FromLane from_lane);
  /// The result of the warp_product.
  Value run();

 private:
  using Values = std::vector<Value>;

  Value plus(Value a, Value c) { return b_.op2(Op::add, a, c); }
  Value lo16(Value v) { return b_.op2(Op::and_, v, b_.i32(0xffff)); }
  Value hi16(Value v) { return b_.op2(Op::lshr, v, b_.i32(16)); }
  Value pair16(Value low, Value high) {
    return b_.op2(Op::or_, low, b_.op2(Op::shl, high, b_.i32(16)));
  }
  Value library(const char* name, Type type, const Values& args) {
    return b_.inst(Op::library, type, args, module_->library(name));
  }
  Values exchanged_x(unsigned half);
  Values exchanged_y(unsigned odd);
  Values unpacked(WarpProduct::Element element, const Values& words);
  Values metadata(unsigned half);
  Values units(const Values& y, const Values& metadata);
  Values chosen(const Values& y, const Values& metadata);
  Value product(const Values& x, const Values& y, Value sum);
  Value float_product(const Values& x, const Values& y, Value sum);
  Value float_sum(const Values& x, const Values& y, Value addend);
  Values sums();

  Builder& b_;
  Module* module_;
  const WarpProduct form_;
  const Values operands_;
  const FromLane from_lane_;
  Value lane_ = 0, group_ = 0, within_ = 0;
};

}  // namespace ptx2spv::passes
