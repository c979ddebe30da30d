// 9.7.9 conversions between registers: cvt, cvta, isspacep; mov is in lower_mov.cpp.
#include "translator/lower/function.hpp"

namespace ptx2spv::lower {

/// The lowering of one cvt.
class FunctionLowering::Convert {
 public:
  Convert(FunctionLowering& lowering, const Instruction& inst)
      : l_(lowering),
        b_(lowering.b_),
        arith_(lowering.arith_),
        inst_(inst),
        a_(lowering.args(inst)),
        mods_(*inst.mods),
        to_(mods_.types[0]),
        from_(mods_.types[1]),
        round_(round_of(mods_.rounding, Round::none)),
        finite_(mods_.has(Mod::satfinite)) {}

  void lower() {
    if (mods_.has(Mod::pack)) return integer_pack();
    if (mods_.has(Mod::rs) || mods_.has(Mod::scaled))
      return l_.refuse(inst_, "stochastic and scaled rounding");
    switch (to_) {
      case ptx::Type::f16x2: return to_halves(NumKind::f16);
      case ptx::Type::bf16x2: return to_halves(NumKind::bf16);
      case ptx::Type::e4m3x2: return to_bytes(NumKind::e4m3);
      case ptx::Type::e5m2x2: return to_bytes(NumKind::e5m2);
      case ptx::Type::tf32: return to_tf32();
      default: break;
    }
    if (type_class(to_) == ptx::TypeClass::packed || type_class(from_) == ptx::TypeClass::packed)
      return l_.refuse(inst_, "a conversion of this packed format");
    const Value value = l_.read(a_[1], from_);
    const bool sat = mods_.sat && !finite_;
    Value result = arith_.convert(num_kind(to_), num_kind(from_), value, round_, mods_.ftz, sat);
    if (ptx::is_float(to_))
      result = relu(num_kind(to_), finite_ ? satfinite(num_kind(to_), result) : result);
    l_.write(a_[0], result, to_);
  }

 private:
  Value satfinite(NumKind half, Value v);
  Value relu(NumKind kind, Value v);
  void integer_pack();
  void to_halves(NumKind half);
  void to_bytes(NumKind small);
  void to_tf32();

  FunctionLowering& l_;
  ir::Builder& b_;
  Arith& arith_;
  const Instruction& inst_;
  const std::span<const Operand> a_;
  const ptx::Modifiers& mods_;
  const ptx::Type to_, from_;
  const Round round_;
  const bool finite_;
};

/// .satfinite: infinities, and what overflowed to them, become the largest finite number.
Value FunctionLowering::Convert::satfinite(NumKind half, Value v) {
  if (!finite_) return v;
  const Value magnitude = b_.op2(Op::and_, v, b_.i32(0x7fff));
  const Value infinite = b_.cmp(Op::eq, magnitude, b_.i32(half == NumKind::f16 ? 0x7c00 : 0x7f80));
  return b_.op2(Op::sub, v, b_.inst(Op::zext, Type::i32, {infinite}));
}

Value FunctionLowering::Convert::relu(NumKind kind, Value v) {
  if (!mods_.has(Mod::relu)) return v;
  return b_.fp(Op::fmax, type_of(kind), {v, arith_.constant(kind, 0)}, {.kind = kind, .nan = true});
}

/// Two integers saturated, above them the low bits of a third operand.
void FunctionLowering::Convert::integer_pack() {
  const bool is_signed = to_ == ptx::Type::s16 || to_ == ptx::Type::s8 || mods_.mode == Mod::s4 ||
                         mods_.mode == Mod::s2;
  const unsigned bits = mods_.mode == Mod::u4 || mods_.mode == Mod::s4   ? 4
                        : mods_.mode == Mod::u2 || mods_.mode == Mod::s2 ? 2
                                                                         : ptx::bits(to_);
  const std::uint32_t mask = (1u << bits) - 1;
  const auto saturated = [&](const Operand& operand) {
    Value v = l_.read(operand, ptx::Type::s32);
    v = b_.op2(Op::smax, v, b_.i32(is_signed ? ~(mask >> 1) : 0));
    v = b_.op2(Op::smin, v, b_.i32(is_signed ? mask >> 1 : mask));
    return is_signed ? b_.op2(Op::and_, v, b_.i32(mask)) : v;
  };
  const Value high = b_.op2(Op::shl, saturated(a_[1]), b_.i32(bits));
  Value result = b_.op2(Op::or_, saturated(a_[2]), high);
  if (a_.size() > 3)
    result =
        b_.op2(Op::or_, result, b_.op2(Op::shl, l_.read(a_[3], ptx::Type::b32), b_.i32(2 * bits)));
  l_.write(a_[0], result, ptx::Type::b32);
}

void FunctionLowering::Convert::to_halves(NumKind half) {
  if (from_ == ptx::Type::f32) {
    const auto one = [&](const Operand& operand) {
      const Value v = arith_.convert(half, NumKind::f32, l_.read(operand, ptx::Type::f32), round_,
                                     mods_.ftz, false);
      return relu(half, satfinite(half, v));
    };
    const Value high = one(a_[1]), low = one(a_[2]);
    return l_.write(a_[0], arith_.pair16(low, high), ptx::Type::b32);
  }
  if (from_ != ptx::Type::e4m3x2 && from_ != ptx::Type::e5m2x2) return l_.refuse(inst_);
  const NumKind small = from_ == ptx::Type::e4m3x2 ? NumKind::e4m3 : NumKind::e5m2;
  const Value v = l_.read(a_[1], ptx::Type::b16);
  const auto one = [&](Value byte) {
    return relu(half, arith_.convert(half, small, byte, Round::rn, false, false));
  };
  const Value low = one(b_.op2(Op::and_, v, b_.i32(0xff)));
  l_.write(a_[0], arith_.pair16(low, one(b_.op2(Op::lshr, v, b_.i32(8)))), ptx::Type::b32);
}

void FunctionLowering::Convert::to_bytes(NumKind small) {
  const auto one = [&](NumKind kind, Value v) {
    if (mods_.has(Mod::relu))
      v = b_.fp(Op::fmax, Type::i32, {v, b_.i32(0)}, {.kind = kind, .nan = true});
    return arith_.convert(small, kind, v, Round::rn, false, true);
  };
  Value low, high;
  if (from_ == ptx::Type::f32) {
    high = one(NumKind::f32, l_.read(a_[1], ptx::Type::f32));
    low = one(NumKind::f32, l_.read(a_[2], ptx::Type::f32));
  } else if (from_ == ptx::Type::f16x2 || from_ == ptx::Type::bf16x2) {
    const NumKind half = from_ == ptx::Type::f16x2 ? NumKind::f16 : NumKind::bf16;
    const Value v = l_.read(a_[1], ptx::Type::b32);
    low = one(half, arith_.lo16(v));
    high = one(half, arith_.hi16(v));
  } else {
    return l_.refuse(inst_);
  }
  l_.write(a_[0], b_.op2(Op::or_, low, b_.op2(Op::shl, high, b_.i32(8))), ptx::Type::b16);
}

void FunctionLowering::Convert::to_tf32() {
  Value v = arith_.convert(NumKind::tf32, NumKind::f32, l_.read(a_[1], ptx::Type::f32), round_,
                           false, false);
  if (finite_) {
    // One step down from infinity and from what is above it: the hardware takes NaN along.
    const Value exponent = b_.i32(0x7f800000);
    const Value special = b_.cmp(Op::eq, b_.op2(Op::and_, v, exponent), exponent);
    v = b_.select(special, b_.op2(Op::sub, v, b_.i32(0x2000)), v);
  }
  // The one NaN of .relu keeps to the format's nineteen bits.
  if (mods_.has(Mod::relu)) v = b_.op2(Op::and_, relu(NumKind::f32, v), b_.i32(0xffffe000));
  l_.write(a_[0], v, ptx::Type::b32);
}

void FunctionLowering::lower_cvt(const Instruction& inst) { Convert(*this, inst).lower(); }

void FunctionLowering::lower_cvta(const Instruction& inst) {
  const auto a = args(inst);
  const ptx::Modifiers& mods = *inst.mods;
  if (inst.op == Opcode::isspacep) {
    const Value address = read(a[1], ptx::Type::b64);
    const Value high = b_.inst(Op::high, Type::i32, {address});
    const Value shared = b_.cmp(Op::eq, high, b_.i32(abi::kSharedWindowHi));
    const Value local = b_.cmp(Op::eq, high, b_.i32(abi::kLocalWindowHi));
    const auto in_image = [&](std::uint32_t push, std::uint64_t bytes) {
      const Value distance = b_.op2(Op::sub, address, memory_.push_address(push));
      return b_.cmp(Op::ult, distance, b_.i64(bytes));
    };
    Value is;
    switch (mods.space) {
      case ptx::Space::shared: is = shared; break;
      case ptx::Space::local: is = local; break;
      case ptx::Space::const_:
        is = in_image(abi::Push::constants_address,
                      context_.program.interface().constants_image.size());
        break;
      case ptx::Space::param:
        is = in_image(abi::Push::params_address, context_.out.info.param_bytes);
        break;
      default:
        is = b_.inst(Op::xor_, Type::i1, {b_.op2(Op::or_, shared, local), b_.i1(true)});
        break;
    }
    return write_pred(a[0], is);
  }
  const ptx::Type type = mods.type();
  const Value address = memory_.as64(read(a[1], type));
  const bool to_space = mods.has(Mod::to);
  const auto window = [&](std::uint32_t high) {
    const Value low = b_.inst(Op::trunc, Type::i32, {address});
    if (to_space) return b_.inst(Op::zext, Type::i64, {low});
    return b_.inst(Op::pack, Type::i64, {low, b_.i32(high)});
  };
  const auto based = [&](std::uint32_t push) {
    return b_.op2(to_space ? Op::sub : Op::add, address, memory_.push_address(push));
  };
  Value result = address;
  switch (mods.space) {
    case ptx::Space::shared: result = window(abi::kSharedWindowHi); break;
    case ptx::Space::local: result = window(abi::kLocalWindowHi); break;
    case ptx::Space::const_: result = based(abi::Push::constants_address); break;
    case ptx::Space::param:
      result = f_.is_entry ? based(abi::Push::params_address) : window(abi::kLocalWindowHi);
      break;
    default: break;
  }
  write(a[0], fit(result, ir_type(type)), type);
}

}  // namespace ptx2spv::lower
