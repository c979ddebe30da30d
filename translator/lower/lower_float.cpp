// 9.7.3 floating point, 9.7.4 half precision, 9.7.5 mixed precision: one IR operation per
// instruction, with what PTX writes as modifiers in its attributes.
#include "translator/lower/function.hpp"

namespace ptx2spv::lower {

using ir::FpAttr;
using ir::Op;
using ir::Round;
using ir::Type;

namespace {

Round round_of(Mod mod, Round otherwise) {
  switch (mod) {
    case Mod::rn: return Round::rn;
    case Mod::rz: return Round::rz;
    case Mod::rm: return Round::rm;
    case Mod::rp: return Round::rp;
    case Mod::rna: return Round::rna;
    case Mod::approx: return Round::approx;
    case Mod::full: return Round::full;
    default: return otherwise;
  }
}

}  // namespace

void FunctionLowering::lower_float(const Instruction& inst) {
  using enum Opcode;
  const auto a = args(inst);
  const ptx::Modifiers& mods = *inst.mods;
  const ptx::Type type = mods.type();
  const bool packed =
      type == ptx::Type::f16x2 || type == ptx::Type::bf16x2 || type == ptx::Type::f32x2;
  const NumKind kind = type == ptx::Type::f16x2    ? NumKind::f16
                       : type == ptx::Type::bf16x2 ? NumKind::bf16
                       : type == ptx::Type::f32x2  ? NumKind::f32
                                                   : num_kind(type);
  const Type word = type_of(kind);
  FpAttr attr;
  attr.kind = kind;
  attr.ftz = mods.ftz;
  attr.sat = mods.sat;
  attr.nan = mods.has(Mod::NaN);

  const auto fp = [&](Op op, std::initializer_list<Value> operands, FpAttr with) {
    return b_.fp(op, word, operands, with);
  };
  const auto relu = [&](Value v) {
    // Negative results become +0; NaN becomes the canonical one, which fmax with .nan keeps.
    if (!mods.has(Mod::relu)) return v;
    FpAttr with{.kind = kind};
    with.nan = true;
    return fp(Op::fmax, {v, arith_.constant(kind, 0)}, with);
  };
  // .oob: a factor that is the NaN of loads out of bounds, of either sign, makes the result zero.
  const auto zero_out_of_bounds = [&](Value x, Value y, Value r) {
    const auto is_outside = [&](Value v) {
      return b_.cmp(Op::eq, b_.op2(Op::and_, v, b_.i32(0x7fff)), b_.i32(0x7ff7));
    };
    return b_.select(b_.op2(Op::or_, is_outside(x), is_outside(y)), b_.i32(0), r);
  };
  const auto min_max = [&](Op op, Value x, Value y) {
    FpAttr with = attr;
    if (!mods.has(Mod::xorsign)) {
      // Of three operands .abs takes the magnitudes.
      if (mods.has(Mod::abs)) x = arith_.fabs(kind, x), y = arith_.fabs(kind, y);
      return fp(op, {x, y}, with);
    }
    const Value magnitude = fp(op, {arith_.fabs(kind, x), arith_.fabs(kind, y)}, with);
    // A NaN takes no sign.
    return b_.select(arith_.testp(kind, Testp::notanumber, magnitude), magnitude,
                     arith_.copysign(kind, b_.op2(Op::xor_, x, y), magnitude));
  };
  if (inst.op == fma && kind == NumKind::bf16 && mods.rounding != Mod::rn)
    return refuse(inst,
                  "the manual has .rn only, and what hardware does in the others is no rounding");
  const bool mixed = mods.type_count == 2 && (inst.op == add || inst.op == sub || inst.op == fma);

  // One result from scalar operands x, y, z of `kind`.
  const auto compute = [&](Value x, Value y, Value z) -> Value {
    FpAttr rounded = attr;
    rounded.round = round_of(mods.rounding, Round::rn);
    rounded.contract = mods.rounding == Mod::none && !mixed &&
                       (inst.op == add || inst.op == sub || inst.op == mul);
    // Of two NaN the library keeps the first, and the hardware, in f64 extremes, the second.
    const bool extreme = inst.op == min || inst.op == max;
    const bool swap = kind == NumKind::f64 && extreme;
    switch (inst.op) {
      case add: return fp(Op::fadd, {x, y}, rounded);
      case sub: {
        // Of f64 a NaN comes through as it is, so the subtraction must not turn its sign.
        Value minus = arith_.fneg(kind, y);
        if (kind == NumKind::f64)
          minus = b_.select(arith_.testp(kind, Testp::notanumber, y), y, minus);
        return fp(Op::fadd, {x, minus}, rounded);
      }
      case mul: return fp(Op::fmul, {x, y}, rounded);
      case fma:
      case mad: {
        const Value r = relu(fp(Op::ffma, {x, y, z}, rounded));
        return mods.has(Mod::oob) ? zero_out_of_bounds(x, y, r) : r;
      }
      case div:
        rounded.round = round_of(mods.rounding, Round::approx);
        return fp(Op::fdiv, {x, y}, rounded);
      case rcp:
        rounded.round = round_of(mods.rounding, Round::approx);
        return fp(Op::frcp, {x}, rounded);
      case sqrt:
        rounded.round = round_of(mods.rounding, Round::approx);
        return fp(Op::fsqrt, {x}, rounded);
      case rsqrt: rounded.round = Round::approx; return fp(Op::frsqrt, {x}, rounded);
      case ex2: rounded.round = Round::approx; return fp(Op::fex2, {x}, rounded);
      case lg2: rounded.round = Round::approx; return fp(Op::flg2, {x}, rounded);
      case sin: rounded.round = Round::approx; return fp(Op::fsin, {x}, rounded);
      case cos: rounded.round = Round::approx; return fp(Op::fcos, {x}, rounded);
      case tanh: rounded.round = Round::approx; return fp(Op::ftanh, {x}, rounded);
      case neg:
      case abs: {
        Value v = inst.op == neg ? arith_.fneg(kind, x) : arith_.fabs(kind, x);
        // NaN becomes the canonical one; of f64 it keeps its sign and payload.
        if (kind == NumKind::f64) {
          const Value quiet = b_.op2(Op::or_, x, arith_.constant(kind, std::uint64_t{1} << 51));
          v = b_.select(arith_.testp(kind, Testp::notanumber, x), quiet, v);
        } else {
          const std::uint64_t nan = bits_of(kind) == 32 ? 0x7fffffffu : 0x7fffu;
          v = b_.select(arith_.testp(kind, Testp::notanumber, x), arith_.constant(kind, nan), v);
        }
        if (!mods.ftz) return v;
        // Denormals become zeros of their sign: adding nothing with .ftz would do, a compare is
        // cheaper.
        const std::uint64_t exponent = kind == NumKind::f16    ? 0x7c00
                                       : kind == NumKind::bf16 ? 0x7f80
                                                               : 0x7f800000;
        const Value tiny = b_.cmp(Op::eq, b_.op2(Op::and_, v, arith_.constant(kind, exponent)),
                                  arith_.constant(kind, 0));
        return b_.select(
            tiny,
            b_.op2(Op::and_, v, arith_.constant(kind, std::uint64_t{1} << (bits_of(kind) - 1))), v);
      }
      case min:
        if (swap) return min_max(Op::fmin, y, x);
        return z ? min_max(Op::fmin, min_max(Op::fmin, x, y), z) : relu(min_max(Op::fmin, x, y));
      case max:
        if (swap) return min_max(Op::fmax, y, x);
        return z ? min_max(Op::fmax, min_max(Op::fmax, x, y), z) : relu(min_max(Op::fmax, x, y));
      case copysign: return arith_.copysign(kind, x, y);
      default: refuse(inst); return x;
    }
  };

  const std::size_t count = a.size() - 1;
  if (mixed) {
    // add.f32.f16: the narrow operands are widened exactly, the last one is f32 already.
    const ptx::Type narrow = mods.types[1];
    const auto wide = [&](unsigned i) {
      return arith_.convert(NumKind::f32, num_kind(narrow), read(a[i], narrow), Round::none, false,
                            false);
    };
    const Value x = wide(1), y = inst.op == fma ? wide(2) : read(a[2], type);
    return write(a[0], compute(x, y, inst.op == fma ? read(a[3], type) : 0), type);
  }
  if (!packed) {
    const Value x = read(a[1], type), y = count > 1 ? read(a[2], type) : 0,
                z = count > 2 ? read(a[3], type) : 0;
    return write(a[0], compute(x, y, z), type);
  }
  const bool wide = type == ptx::Type::f32x2;
  Value low[3] = {}, high[3] = {};
  for (std::size_t i = 0; i < count && i < 3; ++i) {
    const Value v = read(a[i + 1], wide ? ptx::Type::b64 : ptx::Type::b32);
    low[i] = wide ? b_.inst(Op::trunc, Type::i32, {v}) : arith_.lo16(v);
    high[i] = wide ? b_.inst(Op::high, Type::i32, {v}) : arith_.hi16(v);
  }
  const Value l = compute(low[0], low[1], low[2]), h = compute(high[0], high[1], high[2]);
  if (wide) return write(a[0], b_.inst(Op::pack, Type::i64, {l, h}), ptx::Type::b64);
  write(a[0], arith_.pair16(l, h), ptx::Type::b32);
}

}  // namespace ptx2spv::lower
