// 9.7.3 floating point, 9.7.4 half precision, 9.7.5 mixed precision: one IR operation per
// instruction, with what PTX writes as modifiers in its attributes.
#include "translator/lower/function.hpp"

namespace ptx2spv::lower {

namespace {

/// What is one operation of one operand.
Op unary_op(Opcode op) {
  switch (op) {
    case Opcode::rcp: return Op::frcp;
    case Opcode::sqrt: return Op::fsqrt;
    case Opcode::rsqrt: return Op::frsqrt;
    case Opcode::ex2: return Op::fex2;
    case Opcode::lg2: return Op::flg2;
    case Opcode::sin: return Op::fsin;
    case Opcode::cos: return Op::fcos;
    default: return Op::ftanh;
  }
}

NumKind kind_of(ptx::Type type) {
  switch (type) {
    case ptx::Type::f16x2: return NumKind::f16;
    case ptx::Type::bf16x2: return NumKind::bf16;
    case ptx::Type::f32x2: return NumKind::f32;
    default: return num_kind(type);
  }
}

bool is_packed(ptx::Type type) {
  return type == ptx::Type::f16x2 || type == ptx::Type::bf16x2 || type == ptx::Type::f32x2;
}

}  // namespace

/// The lowering of one instruction.
class FunctionLowering::Float {
 public:
  Float(FunctionLowering& lowering, const Instruction& inst)
      : l_(lowering),
        b_(lowering.b_),
        arith_(lowering.arith_),
        inst_(inst),
        a_(lowering.args(inst)),
        mods_(*inst.mods),
        type_(mods_.type()),
        kind_(kind_of(type_)),
        mixed_(mods_.type_count == 2 && (inst.op == add || inst.op == sub || inst.op == fma)) {
    attr_.kind = kind_;
    attr_.ftz = mods_.ftz;
    attr_.sat = mods_.sat;
    attr_.nan = mods_.has(Mod::NaN);
  }

  void lower() {
    if (inst_.op == fma && kind_ == NumKind::bf16 && mods_.rounding != Mod::rn)
      return l_.refuse(
          inst_, "the manual has .rn only, and what hardware does in the others is no rounding");
    if (mixed_) return mixed();
    if (is_packed(type_)) return packed();
    const Value x = l_.read(a_[1], type_), y = a_.size() > 2 ? l_.read(a_[2], type_) : 0,
                z = a_.size() > 3 ? l_.read(a_[3], type_) : 0;
    l_.write(a_[0], compute(x, y, z), type_);
  }

 private:
  using enum Opcode;

  Value fp(Op op, std::initializer_list<Value> operands, FpAttr with) {
    return b_.fp(op, type_of(kind_), operands, with);
  }
  Value is_nan(Value v) { return arith_.testp(kind_, Testp::notanumber, v); }

  Value relu(Value v);
  Value zero_out_of_bounds(Value x, Value y, Value r);
  Value extreme(Op op, Value x, Value y);
  Value extreme(Op op, Value x, Value y, Value z);
  Value sign(Value x);
  Value flush(Value v);
  Value difference(Value x, Value y, FpAttr rounded);
  Value compute(Value x, Value y, Value z);
  void mixed();
  void packed();

  FunctionLowering& l_;
  ir::Builder& b_;
  Arith& arith_;
  const Instruction& inst_;
  const std::span<const Operand> a_;
  const ptx::Modifiers& mods_;
  const ptx::Type type_;
  const NumKind kind_;
  const bool mixed_;
  FpAttr attr_;
};

/// Negative results become +0; NaN becomes the canonical one, which fmax with .nan keeps.
Value FunctionLowering::Float::relu(Value v) {
  if (!mods_.has(Mod::relu)) return v;
  FpAttr with{.kind = kind_};
  with.nan = true;
  return fp(Op::fmax, {v, arith_.constant(kind_, 0)}, with);
}

/// .oob: a factor that is the NaN of loads out of bounds, of either sign, makes the result zero.
Value FunctionLowering::Float::zero_out_of_bounds(Value x, Value y, Value r) {
  const auto is_outside = [&](Value v) {
    return b_.cmp(Op::eq, b_.op2(Op::and_, v, b_.i32(0x7fff)), b_.i32(0x7ff7));
  };
  return b_.select(b_.op2(Op::or_, is_outside(x), is_outside(y)), b_.i32(0), r);
}

Value FunctionLowering::Float::extreme(Op op, Value x, Value y) {
  if (!mods_.has(Mod::xorsign)) {
    // Of three operands .abs takes the magnitudes.
    if (mods_.has(Mod::abs)) x = arith_.fabs(kind_, x), y = arith_.fabs(kind_, y);
    return fp(op, {x, y}, attr_);
  }
  const Value magnitude = fp(op, {arith_.fabs(kind_, x), arith_.fabs(kind_, y)}, attr_);
  // A NaN takes no sign.
  return b_.select(is_nan(magnitude), magnitude,
                   arith_.copysign(kind_, b_.op2(Op::xor_, x, y), magnitude));
}

Value FunctionLowering::Float::extreme(Op op, Value x, Value y, Value z) {
  // Of two NaN the library keeps the first, and the hardware, in f64, the second.
  if (kind_ == NumKind::f64) return extreme(op, y, x);
  return z ? extreme(op, extreme(op, x, y), z) : relu(extreme(op, x, y));
}

/// Denormals become zeros of their sign: adding nothing with .ftz would do, a compare is cheaper.
Value FunctionLowering::Float::flush(Value v) {
  const std::uint64_t exponent = kind_ == NumKind::f16    ? 0x7c00
                                 : kind_ == NumKind::bf16 ? 0x7f80
                                                          : 0x7f800000;
  const Value tiny = b_.cmp(Op::eq, b_.op2(Op::and_, v, arith_.constant(kind_, exponent)),
                            arith_.constant(kind_, 0));
  return b_.select(
      tiny, b_.op2(Op::and_, v, arith_.constant(kind_, std::uint64_t{1} << (bits_of(kind_) - 1))),
      v);
}

/// neg and abs.
Value FunctionLowering::Float::sign(Value x) {
  Value v = inst_.op == neg ? arith_.fneg(kind_, x) : arith_.fabs(kind_, x);
  // NaN becomes the canonical one; of f64 it keeps its sign and payload.
  if (kind_ == NumKind::f64) {
    const Value quiet = b_.op2(Op::or_, x, arith_.constant(kind_, std::uint64_t{1} << 51));
    v = b_.select(is_nan(x), quiet, v);
  } else {
    const std::uint64_t nan = bits_of(kind_) == 32 ? 0x7fffffffu : 0x7fffu;
    v = b_.select(is_nan(x), arith_.constant(kind_, nan), v);
  }
  return mods_.ftz ? flush(v) : v;
}

Value FunctionLowering::Float::difference(Value x, Value y, FpAttr rounded) {
  // Of f64 a NaN comes through as it is, so the subtraction must not flip its sign.
  Value minus = arith_.fneg(kind_, y);
  if (kind_ == NumKind::f64) minus = b_.select(is_nan(y), y, minus);
  return fp(Op::fadd, {x, minus}, rounded);
}

/// One result from scalar operands x, y, z of `kind_`.
Value FunctionLowering::Float::compute(Value x, Value y, Value z) {
  FpAttr rounded = attr_;
  rounded.round = round_of(mods_.rounding, Round::rn);
  rounded.contract = mods_.rounding == Mod::none && !mixed_ &&
                     (inst_.op == add || inst_.op == sub || inst_.op == mul);
  FpAttr approximate = attr_;
  approximate.round = round_of(mods_.rounding, Round::approx);
  switch (inst_.op) {
    case add: return fp(Op::fadd, {x, y}, rounded);
    case sub: return difference(x, y, rounded);
    case mul: return fp(Op::fmul, {x, y}, rounded);
    case fma:
    case mad: {
      const Value r = relu(fp(Op::ffma, {x, y, z}, rounded));
      return mods_.has(Mod::oob) ? zero_out_of_bounds(x, y, r) : r;
    }
    case div: return fp(Op::fdiv, {x, y}, approximate);
    case rcp:
    case sqrt:
    case rsqrt:
    case ex2:
    case lg2:
    case sin:
    case cos:
    case tanh: return fp(unary_op(inst_.op), {x}, approximate);
    case neg:
    case abs: return sign(x);
    case min: return extreme(Op::fmin, x, y, z);
    case max: return extreme(Op::fmax, x, y, z);
    case copysign: return arith_.copysign(kind_, x, y);
    default: l_.refuse(inst_); return x;
  }
}

/// add.f32.f16: the narrow operands are widened exactly, the last one is f32 already.
void FunctionLowering::Float::mixed() {
  const ptx::Type narrow = mods_.types[1];
  const auto wide = [&](unsigned i) {
    return arith_.convert(NumKind::f32, num_kind(narrow), l_.read(a_[i], narrow), Round::none,
                          false, false);
  };
  const Value x = wide(1), y = inst_.op == fma ? wide(2) : l_.read(a_[2], type_);
  l_.write(a_[0], compute(x, y, inst_.op == fma ? l_.read(a_[3], type_) : 0), type_);
}

void FunctionLowering::Float::packed() {
  const bool wide = type_ == ptx::Type::f32x2;
  Value low[3] = {}, high[3] = {};
  for (std::size_t i = 0; i + 1 < a_.size() && i < 3; ++i) {
    const Value v = l_.read(a_[i + 1], wide ? ptx::Type::b64 : ptx::Type::b32);
    low[i] = wide ? b_.inst(Op::trunc, Type::i32, {v}) : arith_.lo16(v);
    high[i] = wide ? b_.inst(Op::high, Type::i32, {v}) : arith_.hi16(v);
  }
  const Value l = compute(low[0], low[1], low[2]), h = compute(high[0], high[1], high[2]);
  if (wide) return l_.write(a_[0], b_.inst(Op::pack, Type::i64, {l, h}), ptx::Type::b64);
  l_.write(a_[0], arith_.pair16(l, h), ptx::Type::b32);
}

void FunctionLowering::lower_float(const Instruction& inst) { Float(*this, inst).lower(); }

}  // namespace ptx2spv::lower
