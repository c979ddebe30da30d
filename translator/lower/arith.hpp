// PTX arithmetic as IR sequences, by number format. Operands and results follow the IR's
// convention: 8- and 16-bit values are zero-extended in i32. Section numbers are those of the PTX
// manual, chapter 9.7.
#pragma once

#include <cstdint>

#include "translator/ir/ir.hpp"

namespace ptx2spv::lower {

using namespace ir;

enum class Cmp : std::uint8_t {
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  lo,
  ls,
  hi,
  hs,
  equ,
  neu,
  ltu,
  leu,
  gtu,
  geu,
  num,
  nan
};
enum class MulHalf : std::uint8_t { lo, hi, wide };
enum class PrmtMode : std::uint8_t { none, f4e, b4e, rc8, ecl, ecr, rc16 };
enum class Testp : std::uint8_t { finite, infinite, number, notanumber, normal, subnormal };

constexpr unsigned bits_of(NumKind kind) {
  switch (kind) {
    case NumKind::u8:
    case NumKind::s8:
    case NumKind::e4m3:
    case NumKind::e5m2: return 8;
    case NumKind::u16:
    case NumKind::s16:
    case NumKind::f16:
    case NumKind::bf16: return 16;
    case NumKind::u64:
    case NumKind::s64:
    case NumKind::f64: return 64;
    default: return 32;
  }
}
constexpr bool is_signed(NumKind kind) {
  return kind == NumKind::s8 || kind == NumKind::s16 || kind == NumKind::s32 ||
         kind == NumKind::s64;
}
constexpr bool is_float(NumKind kind) { return kind >= NumKind::f16; }
constexpr ir::Type type_of(NumKind kind) {
  return bits_of(kind) == 64 ? ir::Type::i64 : ir::Type::i32;
}

class Arith {
 public:
  Arith(ir::Builder& builder, ir::Module& module) : b_(builder), m_(module) {}

  Value constant(NumKind kind, std::uint64_t value) {
    return bits_of(kind) == 64 ? b_.i64(value) : b_.i32(static_cast<std::uint32_t>(value));
  }
  /// Zero-extends a narrow result again; wider kinds pass.
  Value canonical(NumKind kind, Value v);
  /// Sign-extends a narrow signed operand to i32; everything else passes.
  Value extended(NumKind kind, Value v);

  Value add(NumKind kind, Value a, Value c, bool sat = false);
  Value sub(NumKind kind, Value a, Value c, bool sat = false);
  Value mul(NumKind kind, MulHalf half, Value a, Value c);
  Value mad(NumKind kind, MulHalf half, Value a, Value c, Value d, bool sat);
  Value mul24(NumKind kind, bool high, Value a, Value c);
  Value sad(NumKind kind, Value a, Value c, Value d);
  Value div(NumKind kind, Value a, Value c);
  Value rem(NumKind kind, Value a, Value c);
  Value abs(NumKind kind, Value a);
  Value neg(NumKind kind, Value a);
  Value min(NumKind kind, Value a, Value c);
  Value max(NumKind kind, Value a, Value c);
  Value not_(NumKind kind, Value a);
  Value cnot(NumKind kind, Value a);
  Value shl(NumKind kind, Value a, Value amount);
  Value shr(NumKind kind, Value a, Value amount);

  Value popc(NumKind kind, Value a);
  Value clz(NumKind kind, Value a);
  Value bfind(NumKind kind, Value a, bool shift_amount);
  Value brev(NumKind kind, Value a);
  Value bfe(NumKind kind, Value a, Value pos, Value len);
  Value bfi(NumKind kind, Value a, Value base, Value pos, Value len);
  Value bmsk(bool wrap, Value pos, Value len);
  Value szext(NumKind kind, bool wrap, Value a, Value n);
  Value prmt(PrmtMode mode, Value a, Value c, Value selector);
  Value prmt(std::uint32_t selector, Value a, Value c);
  Value fns(Value mask, Value base, Value offset);
  Value lop3(Value a, Value c, Value d, unsigned lut);
  Value shf(bool left, bool wrap, Value a, Value c, Value amount);
  Value dp4a(bool a_signed, bool b_signed, Value a, Value c, Value d);
  Value dp2a(bool a_signed, bool b_signed, bool high, Value a, Value c, Value d);

  /// i1. Floats: ordered for lt .. ge, unordered for the -u forms; ftz treats denormals as zero.
  Value compare(NumKind kind, Cmp op, Value a, Value c, bool ftz);
  Value testp(NumKind kind, Testp what, Value a);
  Value copysign(NumKind kind, Value sign, Value magnitude);
  Value fneg(NumKind kind, Value a);
  Value fabs(NumKind kind, Value a);

  /// cvt between any two kinds; `round` as written, Round::none where the manual needs none.
  Value convert(NumKind to, NumKind from, Value v, ir::Round round, bool ftz, bool sat);

  Value library(const char* name, ir::Type type, std::initializer_list<Value> args) {
    return b_.inst(ir::Op::library, type, args, m_.library(name));
  }
  Value lo16(Value v) { return b_.op2(ir::Op::and_, v, b_.i32(0xffff)); }
  Value hi16(Value v) { return b_.op2(ir::Op::lshr, v, b_.i32(16)); }
  Value pair16(Value lo, Value hi) {
    return b_.op2(ir::Op::or_, lo, b_.op2(ir::Op::shl, hi, b_.i32(16)));
  }
  Value sext_bits(Value v, unsigned bits) {
    const Value k = b_.i32(32 - bits);
    return b_.op2(ir::Op::ashr, b_.op2(ir::Op::shl, v, k), k);
  }
  /// An integer of `kind` as i64.
  Value widen(NumKind kind, Value v);

 private:
  Value integer_convert(NumKind to, NumKind from, Value v, bool sat);
  ir::Builder& b_;
  ir::Module& m_;
};

}  // namespace ptx2spv::lower
