// 9.7.1 and 9.7.8: bit counting, bit fields, permutation, logic and shifts across words.
#include <cstdlib>

#include "translator/lower/arith.hpp"

namespace ptx2spv::lower {

Value Arith::popc(NumKind, Value a) { return b_.inst(Op::popcount, Type::i32, {a}); }

Value Arith::clz(NumKind kind, Value a) {
  // find_msb of 0 is all ones, so 31 - find_msb is 32 there.
  const auto clz32 = [&](Value v) {
    return b_.op2(Op::sub, b_.i32(31), b_.inst(Op::find_msb, Type::i32, {v}));
  };
  if (bits_of(kind) == 32) return clz32(a);
  const Value high = b_.inst(Op::high, Type::i32, {a});
  const Value low = b_.op2(Op::add, clz32(b_.inst(Op::trunc, Type::i32, {a})), b_.i32(32));
  return b_.select(b_.cmp(Op::ne, high, b_.i32(0)), clz32(high), low);
}

Value Arith::bfind(NumKind kind, Value a, bool shift_amount) {
  const unsigned bits = bits_of(kind);
  // Signed: the highest bit that differs from the sign.
  if (is_signed(kind)) a = b_.op2(Op::xor_, a, b_.op2(Op::ashr, a, b_.i32(bits - 1)));
  Value msb;
  if (bits == 32) {
    msb = b_.inst(Op::find_msb, Type::i32, {a});
  } else {
    const Value high = b_.inst(Op::high, Type::i32, {a});
    const Value in_high = b_.op2(Op::add, b_.inst(Op::find_msb, Type::i32, {high}), b_.i32(32));
    const Value in_low = b_.inst(Op::find_msb, Type::i32, {b_.inst(Op::trunc, Type::i32, {a})});
    msb = b_.select(b_.cmp(Op::ne, high, b_.i32(0)), in_high, in_low);
  }
  if (!shift_amount) return msb;
  const Value none = b_.cmp(Op::eq, msb, b_.i32(0xffffffffu));
  return b_.select(none, msb, b_.op2(Op::sub, b_.i32(bits - 1), msb));
}

Value Arith::brev(NumKind kind, Value a) {
  if (bits_of(kind) == 32) return b_.inst(Op::bit_reverse, Type::i32, {a});
  const Value low = b_.inst(Op::bit_reverse, Type::i32, {b_.inst(Op::high, Type::i32, {a})});
  const Value high = b_.inst(Op::bit_reverse, Type::i32, {b_.inst(Op::trunc, Type::i32, {a})});
  return b_.inst(Op::pack, Type::i64, {low, high});
}

Value Arith::bfe(NumKind kind, Value a, Value pos, Value len) {
  // The low byte of position and length counts; of the 64-bit forms the whole word does.
  if (bits_of(kind) == 32) {
    pos = b_.op2(Op::and_, pos, b_.i32(0xff));
    len = b_.op2(Op::and_, len, b_.i32(0xff));
  }
  const unsigned bits = bits_of(kind);
  if (!is_signed(kind)) {
    // Shifting 1 out of the word gives 0, and 0 - 1 the full mask.
    const Value mask = b_.op2(Op::sub, b_.op2(Op::shl, constant(kind, 1), len), constant(kind, 1));
    return b_.op2(Op::and_, b_.op2(Op::lshr, a, pos), mask);
  }
  // A field past the word's end repeats the word's sign, which the arithmetic shift brings in.
  const Value up = b_.op2(Op::sub, b_.i32(bits), b_.op2(Op::umin, len, b_.i32(bits)));
  return b_.op2(Op::ashr, b_.op2(Op::shl, b_.op2(Op::ashr, a, pos), up), up);
}

Value Arith::bfi(NumKind kind, Value a, Value base, Value pos, Value len) {
  // The low byte of position and length counts; of the 64-bit forms the whole word does.
  if (bits_of(kind) == 32) {
    pos = b_.op2(Op::and_, pos, b_.i32(0xff));
    len = b_.op2(Op::and_, len, b_.i32(0xff));
  }
  const Value ones = b_.op2(Op::sub, b_.op2(Op::shl, constant(kind, 1), len), constant(kind, 1));
  const Value mask = b_.op2(Op::shl, ones, pos);
  const Value placed = b_.op2(Op::and_, b_.op2(Op::shl, a, pos), mask);
  return b_.op2(Op::or_, b_.op2(Op::and_, base, b_.inst(Op::not_, type_of(kind), {mask})), placed);
}

Value Arith::bmsk(bool wrap, Value pos, Value len) {
  if (wrap) {
    pos = b_.op2(Op::and_, pos, b_.i32(31));
    len = b_.op2(Op::and_, len, b_.i32(31));
  }
  const Value ones = b_.op2(Op::sub, b_.op2(Op::shl, b_.i32(1), len), b_.i32(1));
  return b_.op2(Op::shl, ones, pos);
}

Value Arith::szext(NumKind kind, bool wrap, Value a, Value n) {
  if (wrap) n = b_.op2(Op::and_, n, b_.i32(31));
  const Value up = b_.op2(Op::sub, b_.i32(32), b_.op2(Op::umin, n, b_.i32(32)));
  return b_.op2(is_signed(kind) ? Op::ashr : Op::lshr, b_.op2(Op::shl, a, up), up);
}

/// The offset-th set bit from `base` upward, or downward where the offset is negative; of offset 0
/// bit `base` itself. A search in halves, by population counts.
Value Arith::fns(Value mask, Value base, Value offset) {
  const Value none = b_.i32(~0u);
  const Value down = b_.cmp(Op::slt, offset, b_.i32(0));
  const Value zero = b_.cmp(Op::eq, offset, b_.i32(0));
  Value bits = b_.select(down, b_.inst(Op::bit_reverse, Type::i32, {mask}), mask);
  const Value first = b_.select(down, b_.op2(Op::sub, b_.i32(31), base), base);
  bits = b_.op2(Op::and_, bits, b_.op2(Op::shl, none, first));
  bits = b_.select(zero, b_.op2(Op::and_, bits, b_.op2(Op::shl, b_.i32(1), base)), bits);
  Value wanted = b_.select(down, b_.inst(Op::neg, Type::i32, {offset}), offset);
  wanted = b_.select(zero, b_.i32(1), wanted);
  const Value total = b_.inst(Op::popcount, Type::i32, {bits});
  const Value found =
      b_.op2(Op::and_, b_.cmp(Op::ule, wanted, total), b_.cmp(Op::ult, base, b_.i32(32)));
  Value at = b_.i32(0);
  for (unsigned width = 16; width != 0; width /= 2) {
    const Value low = b_.op2(Op::and_, bits, b_.i32((1u << width) - 1));
    const Value count = b_.inst(Op::popcount, Type::i32, {low});
    const Value above = b_.cmp(Op::ult, count, wanted);
    wanted = b_.select(above, b_.op2(Op::sub, wanted, count), wanted);
    bits = b_.select(above, b_.op2(Op::lshr, bits, b_.i32(width)), low);
    at = b_.select(above, b_.op2(Op::add, at, b_.i32(width)), at);
  }
  at = b_.select(down, b_.op2(Op::sub, b_.i32(31), at), at);
  // The hardware's answer to the one offset that has no magnitude is bit 0.
  const Value least = b_.cmp(Op::eq, offset, b_.i32(0x80000000u));
  return b_.select(least, b_.i32(0), b_.select(found, at, none));
}

/// Bytes that move alike from the same word move together.
Value Arith::prmt(std::uint32_t selector, Value a, Value c) {
  const auto nibble = [&](unsigned i) { return selector >> (4 * i) & 15; };
  const auto moved = [&](bool signs) {
    const std::uint32_t bits = signs ? 0x80 : 0xff;
    Value all = 0;
    for (const bool upper : {false, true})
      for (int by = -3; by <= 3; ++by) {
        std::uint32_t mask = 0;
        for (unsigned i = 0; i < 4; ++i)
          if ((nibble(i) >= 8) == signs && (nibble(i) >> 2 & 1) == upper &&
              static_cast<int>(i) - static_cast<int>(nibble(i) & 3) == by)
            mask |= bits << (8 * i);
        if (!mask) continue;
        Value part = upper ? c : a;
        if (by) part = b_.op2(by > 0 ? Op::shl : Op::lshr, part, b_.i32(8 * std::abs(by)));
        part = b_.op2(Op::and_, part, b_.i32(mask));
        all = all ? b_.op2(Op::or_, all, part) : part;
      }
    return all;
  };
  if ((selector & 0xffff) == nibble(0) * 0x1111 && nibble(0) < 8) {
    const Value word = b_.op2(Op::lshr, nibble(0) & 4 ? c : a, b_.i32(8 * (nibble(0) & 3)));
    return b_.op2(Op::mul, b_.op2(Op::and_, word, b_.i32(0xff)), b_.i32(0x01010101));
  }
  const Value plain = moved(false);
  Value signs = moved(true);
  if (!signs) return plain;
  signs = b_.op2(Op::mul, b_.op2(Op::lshr, signs, b_.i32(7)), b_.i32(0xff));
  return plain ? b_.op2(Op::or_, plain, signs) : signs;
}

Value Arith::prmt(PrmtMode mode, Value a, Value c, Value selector) {
  // Each mode is the generic form with one of four selectors, by the low two bits.
  static constexpr std::uint32_t kSelectors[][4] = {
      {0x3210, 0x4321, 0x5432, 0x6543}, {0x5670, 0x6701, 0x7012, 0x0123},
      {0x0000, 0x1111, 0x2222, 0x3333}, {0x3210, 0x3211, 0x3222, 0x3333},
      {0x0000, 0x1110, 0x2210, 0x3210}, {0x1010, 0x3232, 0x1010, 0x3232}};
  const auto* const row = mode == PrmtMode::none ? nullptr : kSelectors[static_cast<int>(mode) - 1];
  if (const ir::Inst& given = b_.last(selector); given.op == Op::constant)
    return prmt(row ? row[given.imm & 3] : static_cast<std::uint32_t>(given.imm), a, c);
  if (row) {
    const Value low = b_.op2(Op::and_, selector, b_.i32(3));
    Value chosen = b_.i32(row[3]);
    for (unsigned i = 0; i < 3; ++i)
      chosen = b_.select(b_.cmp(Op::eq, low, b_.i32(i)), b_.i32(row[i]), chosen);
    selector = chosen;
  }
  Value result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const Value s = i ? b_.op2(Op::lshr, selector, b_.i32(4 * i)) : selector;
    const Value upper = b_.cmp(Op::ne, b_.op2(Op::and_, s, b_.i32(4)), b_.i32(0));
    const Value word = b_.select(upper, c, a);
    const Value shift = b_.op2(Op::shl, b_.op2(Op::and_, s, b_.i32(3)), b_.i32(3));
    const Value moved = b_.op2(Op::lshr, word, shift);
    const Value byte = b_.op2(Op::and_, moved, b_.i32(0xff));
    const Value sign =
        b_.op2(Op::and_, sext_bits(b_.op2(Op::lshr, byte, b_.i32(7)), 1), b_.i32(0xff));
    const Value replicate = b_.cmp(Op::ne, b_.op2(Op::and_, s, b_.i32(8)), b_.i32(0));
    Value part = b_.select(replicate, sign, byte);
    if (i) part = b_.op2(Op::shl, part, b_.i32(8 * i));
    result = result ? b_.op2(Op::or_, result, part) : part;
  }
  return result;
}

Value Arith::lop3(Value a, Value c, Value d, unsigned lut) {
  // lut bit index is a*4 + b*2 + c. Split on a: f0 ^ (a & (f0 ^ f1)), each half a function of two
  // inputs.
  const auto two = [&](unsigned table) -> Value {
    const auto no = [&](Value v) { return b_.inst(Op::not_, Type::i32, {v}); };
    switch (table & 15) {
      case 0: return b_.i32(0);
      case 1: return no(b_.op2(Op::or_, c, d));
      case 2: return b_.op2(Op::and_, no(c), d);
      case 3: return no(c);
      case 4: return b_.op2(Op::and_, c, no(d));
      case 5: return no(d);
      case 6: return b_.op2(Op::xor_, c, d);
      case 7: return no(b_.op2(Op::and_, c, d));
      case 8: return b_.op2(Op::and_, c, d);
      case 9: return no(b_.op2(Op::xor_, c, d));
      case 10: return d;
      case 11: return b_.op2(Op::or_, no(c), d);
      case 12: return c;
      case 13: return b_.op2(Op::or_, c, no(d));
      case 14: return b_.op2(Op::or_, c, d);
      default: return b_.i32(0xffffffffu);
    }
  };
  const unsigned f0 = lut & 15, f1 = lut >> 4 & 15;
  if (f0 == f1) return two(f0);
  const Value picked = b_.op2(Op::and_, a, two(f0 ^ f1));
  return f0 ? b_.op2(Op::xor_, two(f0), picked) : picked;
}

Value Arith::shf(bool left, bool wrap, Value a, Value c, Value amount) {
  const Value n =
      wrap ? b_.op2(Op::and_, amount, b_.i32(31)) : b_.op2(Op::umin, amount, b_.i32(32));
  const Value rest = b_.op2(Op::sub, b_.i32(32), n);
  if (left) return b_.op2(Op::or_, b_.op2(Op::shl, c, n), b_.op2(Op::lshr, a, rest));
  return b_.op2(Op::or_, b_.op2(Op::shl, c, rest), b_.op2(Op::lshr, a, n));
}

}  // namespace ptx2spv::lower
