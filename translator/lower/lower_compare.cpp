// 9.7.6 comparison and selection: set, setp, selp, slct, and testp.
#include "translator/lower/function.hpp"

namespace ptx2spv::lower {

namespace {

Cmp cmp_of(Mod mod) {
  switch (mod) {
    case Mod::eq: return Cmp::eq;
    case Mod::ne: return Cmp::ne;
    case Mod::lt: return Cmp::lt;
    case Mod::le: return Cmp::le;
    case Mod::gt: return Cmp::gt;
    case Mod::ge: return Cmp::ge;
    case Mod::lo: return Cmp::lo;
    case Mod::ls: return Cmp::ls;
    case Mod::hi: return Cmp::hi;
    case Mod::hs: return Cmp::hs;
    case Mod::equ: return Cmp::equ;
    case Mod::neu: return Cmp::neu;
    case Mod::ltu: return Cmp::ltu;
    case Mod::leu: return Cmp::leu;
    case Mod::gtu: return Cmp::gtu;
    case Mod::geu: return Cmp::geu;
    case Mod::num: return Cmp::num;
    default: return Cmp::nan;
  }
}

Op bool_op(Mod mod) { return mod == Mod::and_ ? Op::and_ : mod == Mod::or_ ? Op::or_ : Op::xor_; }

/// Of a packed type the kind of a half.
NumKind half_kind(ptx::Type type) {
  return type == ptx::Type::f16x2    ? NumKind::f16
         : type == ptx::Type::bf16x2 ? NumKind::bf16
                                     : NumKind::none;
}

}  // namespace

void FunctionLowering::lower_compare(const Instruction& inst) {
  const auto a = args(inst);
  const ptx::Modifiers& mods = *inst.mods;
  switch (inst.op) {
    case Opcode::selp: {
      const ptx::Type type = mods.type();
      const Value x = read(a[1], type), y = read(a[2], type);
      return write(a[0], b_.select(read_pred(a[3]), x, y), type);
    }
    case Opcode::slct: {
      const ptx::Type type = mods.types[0], by = mods.types[1];
      const Value c = read(a[3], by);
      const Value keep = by == ptx::Type::s32
                             ? b_.cmp(Op::sle, b_.i32(0), c)
                             : arith_.compare(NumKind::f32, Cmp::ge, c, b_.i32(0), mods.ftz);
      const Value x = read(a[1], type), y = read(a[2], type);
      return write(a[0], b_.select(keep, x, y), type);
    }
    case Opcode::testp: {
      Testp what = Testp::finite;
      if (mods.has(Mod::infinite)) what = Testp::infinite;
      if (mods.has(Mod::number)) what = Testp::number;
      if (mods.has(Mod::notanumber)) what = Testp::notanumber;
      if (mods.has(Mod::normal)) what = Testp::normal;
      if (mods.has(Mod::subnormal)) what = Testp::subnormal;
      const ptx::Type type = mods.type();
      return write_pred(a[0], arith_.testp(num_kind(type), what, read(a[1], type)));
    }
    case Opcode::setp: return lower_setp(inst);
    default: return lower_set(inst);
  }
}

void FunctionLowering::lower_setp(const Instruction& inst) {
  const auto a = args(inst);
  const ptx::Modifiers& mods = *inst.mods;
  const auto no = [&](Value v) { return b_.inst(Op::xor_, Type::i1, {v, b_.i1(true)}); };
  const ptx::Type type = mods.type();
  const Cmp cmp = cmp_of(mods.cmp);
  Operand p = a[0], q = a[0];
  q.kind = OperandKind::none;
  if (p.kind == OperandKind::pair) {
    const auto pair = f_.list(a[0]);
    p = pair[0];
    q = pair[1];
  }
  if (const NumKind half = half_kind(type); half != NumKind::none) {
    const Value x = read(a[1], ptx::Type::b32), y = read(a[2], ptx::Type::b32);
    Value low = arith_.compare(half, cmp, arith_.lo16(x), arith_.lo16(y), mods.ftz);
    Value high = arith_.compare(half, cmp, arith_.hi16(x), arith_.hi16(y), mods.ftz);
    if (mods.bool_op != Mod::none) {
      const Value c = read_pred(a[3]);
      low = b_.op2(bool_op(mods.bool_op), low, c);
      high = b_.op2(bool_op(mods.bool_op), high, c);
    }
    write_pred(p, low);
    return write_pred(q, high);
  }
  const Value x = read(a[1], type), y = read(a[2], type);
  const Value is = arith_.compare(num_kind(type), cmp, x, y, mods.ftz);
  if (mods.bool_op == Mod::none) {
    write_pred(p, is);
    if (q.kind != OperandKind::none) write_pred(q, no(is));
    return;
  }
  const Value c = read_pred(a[3]);
  const Value first = b_.op2(bool_op(mods.bool_op), is, c);
  const Value second = q.kind != OperandKind::none ? b_.op2(bool_op(mods.bool_op), no(is), c) : 0;
  write_pred(p, first);
  if (second) write_pred(q, second);
}

void FunctionLowering::lower_set(const Instruction& inst) {
  const auto a = args(inst);
  const ptx::Modifiers& mods = *inst.mods;
  const ptx::Type to = mods.types[0],
                  from = mods.types[1] == ptx::Type::none ? mods.types[0] : mods.types[1];
  const Cmp cmp = cmp_of(mods.cmp);
  const Value x = read(a[1], half_kind(from) != NumKind::none ? ptx::Type::b32 : from);
  const Value y = read(a[2], half_kind(from) != NumKind::none ? ptx::Type::b32 : from);
  const auto combine = [&](Value is) {
    return mods.bool_op == Mod::none ? is : b_.op2(bool_op(mods.bool_op), is, read_pred(a[3]));
  };
  if (const NumKind half = half_kind(from); half != NumKind::none) {
    const std::uint32_t yes = to == ptx::Type::f16x2    ? 0x3c00
                              : to == ptx::Type::bf16x2 ? 0x3f80
                                                        : 0xffff;
    const auto value = [&](Value u, Value v) {
      return b_.select(combine(arith_.compare(half, cmp, u, v, mods.ftz)), b_.i32(yes), b_.i32(0));
    };
    const Value low = value(arith_.lo16(x), arith_.lo16(y));
    return write(a[0], arith_.pair16(low, value(arith_.hi16(x), arith_.hi16(y))), ptx::Type::b32);
  }
  const Value is = combine(arith_.compare(num_kind(from), cmp, x, y, mods.ftz));
  const NumKind kind = num_kind(to);
  std::uint64_t yes = kind == NumKind::f32    ? 0x3f800000
                      : kind == NumKind::f16  ? 0x3c00
                      : kind == NumKind::bf16 ? 0x3f80
                                              : ~std::uint64_t{0};
  if (bits_of(kind) == 16) yes &= 0xffff;
  write(a[0], b_.select(is, arith_.constant(kind, yes), arith_.constant(kind, 0)), to);
}

}  // namespace ptx2spv::lower
