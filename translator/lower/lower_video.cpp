// 9.7.18 video instructions: scalar forms in 64 bits, so that no intermediate overflows, and SIMD
// forms lane by lane. No GPU since sm_50 has the scalar ones; they are what ptxas expands them to,
// which is not everywhere what the manual says, and the record of an H200 holds.
#include "translator/lower/function.hpp"

namespace ptx2spv::lower {

using ir::Op;
using ir::Type;

namespace {

/// Numbers of a signed or unsigned type of `bits` bits, as i64.
struct Range {
  std::int64_t low, high;
};
Range range(bool is_signed, unsigned bits) {
  if (is_signed) return {-(std::int64_t{1} << (bits - 1)), (std::int64_t{1} << (bits - 1)) - 1};
  return {0, (std::int64_t{1} << bits) - 1};
}

Op order(bool less_equal) { return less_equal ? Op::sle : Op::slt; }

}  // namespace

void FunctionLowering::lower_video(const Instruction& inst) {
  using enum Opcode;
  const auto a = args(inst);
  const ptx::Modifiers& mods = *inst.mods;
  const bool sets = inst.op == vset || inst.op == vset2 || inst.op == vset4;
  const ptx::Type dtype = sets ? ptx::Type::u32 : mods.types[0];
  const ptx::Type atype = mods.types[sets ? 0 : 1], btype = mods.types[sets ? 1 : 2];
  const bool dsigned = dtype == ptx::Type::s32, asigned = atype == ptx::Type::s32,
             bsigned = btype == ptx::Type::s32;
  const auto c64 = [&](std::int64_t v) { return b_.i64(static_cast<std::uint64_t>(v)); };
  const auto clamp = [&](Value v, Range r) {
    return b_.op2(Op::smin, b_.op2(Op::smax, v, c64(r.low)), c64(r.high));
  };
  const auto extend = [&](Value v, unsigned bits, bool is_signed) {
    if (bits < 32)
      v = is_signed ? arith_.sext_bits(v, bits) : b_.op2(Op::and_, v, b_.i32((1u << bits) - 1));
    return b_.inst(is_signed ? Op::sext : Op::zext, Type::i64, {v});
  };
  const auto pick = [&](Value v, unsigned bits, unsigned lane) {
    return lane ? b_.op2(Op::lshr, v, b_.i32(bits * lane)) : v;
  };
  const auto compare = [&](Value x, Value y) {
    switch (mods.cmp) {
      case Mod::eq: return b_.cmp(Op::eq, x, y);
      case Mod::ne: return b_.cmp(Op::ne, x, y);
      case Mod::lt: return b_.cmp(order(false), x, y);
      case Mod::le: return b_.cmp(order(true), x, y);
      case Mod::gt: return b_.cmp(order(false), y, x);
      default: return b_.cmp(order(true), y, x);
    }
  };
  const auto combine = [&](Value x, Value y) -> Value {
    switch (inst.op) {
      case vadd:
      case vadd2:
      case vadd4: return b_.op2(Op::add, x, y);
      case vsub:
      case vsub2:
      case vsub4: return b_.op2(Op::sub, x, y);
      case vabsdiff:
      case vabsdiff2:
      case vabsdiff4: return b_.op2(Op::sub, b_.op2(Op::smax, x, y), b_.op2(Op::smin, x, y));
      case vmin:
      case vmin2:
      case vmin4: return b_.op2(Op::smin, x, y);
      case vmax:
      case vmax2:
      case vmax4: return b_.op2(Op::smax, x, y);
      case vavrg2:
      case vavrg4: {
        // Half of the sum, rounded away from zero at the half.
        const Value sum = b_.op2(Op::add, x, y);
        const Value up = b_.inst(Op::zext, Type::i64, {b_.cmp(Op::sle, c64(0), sum)});
        return b_.op2(Op::ashr, b_.op2(Op::add, sum, up), b_.i32(1));
      }
      case vset:
      case vset2:
      case vset4: return b_.inst(Op::zext, Type::i64, {compare(x, y)});
      default: {
        Value n = b_.inst(Op::trunc, Type::i32, {y});
        n = mods.has(Mod::wrap) ? b_.op2(Op::and_, n, b_.i32(31)) : b_.op2(Op::umin, n, b_.i32(32));
        if (inst.op != vshl) return b_.op2(Op::ashr, x, n);
        Value shifted = b_.op2(Op::shl, x, n);
        if (!mods.sat) return shifted;
        // What saturates is a number of 34 bits: the rest of the product is lost before.
        shifted = b_.op2(Op::ashr, b_.op2(Op::shl, shifted, b_.i32(30)), b_.i32(30));
        return dsigned ? shifted : clamp(shifted, range(false, 32));
      }
    }
  };
  const auto any_of = [&](std::initializer_list<Opcode> list) {
    for (const Opcode op : list)
      if (inst.op == op) return true;
    return false;
  };
  const bool two = any_of({vadd2, vsub2, vavrg2, vabsdiff2, vmin2, vmax2, vset2});
  const bool four = any_of({vadd4, vsub4, vavrg4, vabsdiff4, vmin4, vmax4, vset4});
  if (!two && !four) {
    const auto operand = [&](const Operand& o, bool is_signed) {
      const Value v = read(o, ptx::Type::b32);
      if (o.selectors == 0) return extend(v, 32, is_signed);
      const unsigned bits = o.part == ptx::Part::halves ? 16 : 8;
      return extend(pick(v, bits, o.selector & 3), bits, is_signed);
    };
    if (inst.op == vmad) {
      // Whole words and the addend count as signed whatever the type says; the type decides how
      // the sum is shifted and saturated.
      const auto factor = [&](const Operand& o, bool is_signed) {
        return operand(o, is_signed || o.selectors == 0);
      };
      const bool negate_product = a[1].negated != a[2].negated;
      const bool final_signed = asigned || bsigned || negate_product || a[3].negated;
      Value product = b_.op2(Op::mul, factor(a[1], asigned), factor(a[2], bsigned));
      if (negate_product) product = b_.inst(Op::neg, Type::i64, {product});
      const Value c = extend(read(a[3], ptx::Type::b32), 32, true);
      Value r = b_.op2(a[3].negated ? Op::sub : Op::add, product, c);
      if (mods.has(Mod::po)) r = b_.op2(Op::add, r, c64(1));
      const unsigned shift = mods.has(Mod::shr7) ? 7 : mods.has(Mod::shr15) ? 15 : 0;
      if (shift) r = b_.op2(final_signed ? Op::ashr : Op::lshr, r, b_.i32(shift));
      if (mods.sat) r = clamp(r, range(final_signed, 32));
      return write(a[0], b_.inst(Op::trunc, Type::i32, {r}), ptx::Type::b32);
    }
    const Value exact = combine(operand(a[1], asigned), operand(a[2], bsigned));
    const Operand& d = a[0];
    Operand to = d;
    to.part = ptx::Part::none;
    Value held = exact;
    // Unsigned results are held up from below only; above, they wrap.
    if (mods.sat) held = dsigned ? clamp(exact, range(true, 32)) : b_.op2(Op::smax, exact, c64(0));
    const Value word = b_.inst(Op::trunc, Type::i32, {held});
    if (d.selectors) {
      const Value c = read(a[3], ptx::Type::b32);
      const unsigned bits = d.part == ptx::Part::halves ? 16 : 8, shift = bits * (d.selector & 3);
      const std::uint32_t mask = (1u << bits) - 1;
      Value field = word;
      if (mods.sat && inst.op != vshl && inst.op != vshr) {
        // Saturation into a part takes the result for unsigned, so that negative ones come out
        // as the largest number.
        field = b_.op2(Op::umin, exact, c64(dsigned ? mask >> 1 : mask));
        field = b_.inst(Op::trunc, Type::i32, {field});
      }
      // The upper half is filled from the upper half of the result, as ptxas expands it.
      if (bits == 16 && shift != 0) field = b_.op2(Op::lshr, field, b_.i32(16));
      const Value kept = b_.op2(Op::and_, c, b_.i32(~(mask << shift)));
      const Value placed =
          b_.op2(Op::and_, b_.op2(Op::shl, field, b_.i32(shift)), b_.i32(mask << shift));
      return write(to, b_.op2(Op::or_, kept, placed), ptx::Type::b32);
    }
    if (a.size() < 4) return write(to, word, ptx::Type::b32);
    const Value c = read(a[3], ptx::Type::b32);
    Value second = word;
    const bool max = mods.op == Mod::max;
    if (mods.op == Mod::add) {
      second = b_.op2(Op::add, word, c);
    } else if (mods.op == Mod::min || max) {
      // The comparison is with the result before it is cut to 32 bits; unsigned, a negative one is
      // large. But sums, differences and saturated shifts are cut, and unsigned ones
      // with the highest bit set count as larger than any c.
      const bool c_signed = sets ? asigned : dsigned;
      const Value wide_c = extend(c, 32, c_signed);
      Value less;
      const bool cut = any_of({vadd, vsub}) || (mods.sat && any_of({vshl, vshr}));
      if (!cut) {
        less = b_.cmp(c_signed ? Op::slt : Op::ult, held, wide_c);
      } else if (dsigned) {
        less = b_.cmp(Op::slt, word, c);
      } else {
        less = b_.op2(Op::and_, b_.cmp(Op::ult, word, c), b_.cmp(Op::sle, b_.i32(0), word));
      }
      second = max ? b_.select(less, c, word) : b_.select(less, word, c);
    }
    return write(to, second, ptx::Type::b32);
  }
  // SIMD: lanes 0 .. n-1 of a and n .. 2n-1 of b; a lane outside the mask keeps c's.
  const unsigned lanes = two ? 2 : 4, bits = 32 / lanes;
  const Value x = read(a[1], ptx::Type::b32), y = read(a[2], ptx::Type::b32),
              c = read(a[3], ptx::Type::b32);
  const auto lane_of = [&](const Operand& o, unsigned i, unsigned first, bool is_signed) {
    const unsigned which = o.selectors ? (o.selector >> (4 * i)) & 7u : first + i;
    return extend(pick(which < lanes ? x : y, bits, which % lanes), bits, is_signed);
  };
  unsigned mask = (1u << lanes) - 1;
  if (a[0].selectors) {
    mask = 0;
    for (unsigned i = 0; i < a[0].selectors; ++i) mask |= 1u << ((a[0].selector >> (4 * i)) & 3u);
  }
  const bool sums = mods.op == Mod::add || mods.has(Mod::add);
  Value result = sums ? c : 0;
  for (unsigned i = 0; i < lanes; ++i) {
    const std::uint32_t field = ((bits == 32 ? 0 : (1u << bits)) - 1) << (bits * i);
    Value part;
    if (mask >> i & 1) {
      Value r = combine(lane_of(a[1], i, 0, asigned), lane_of(a[2], i, lanes, bsigned));
      if (mods.sat) r = clamp(r, range(dsigned, bits));
      const Value word = b_.inst(Op::trunc, Type::i32, {r});
      if (sums) {
        result = b_.op2(Op::add, result, word);
        continue;
      }
      part = b_.op2(Op::and_, i ? b_.op2(Op::shl, word, b_.i32(bits * i)) : word, b_.i32(field));
    } else {
      if (sums) continue;
      part = b_.op2(Op::and_, c, b_.i32(field));
    }
    result = result ? b_.op2(Op::or_, result, part) : part;
  }
  Operand to = a[0];
  to.part = ptx::Part::none;
  write(to, result, ptx::Type::b32);
}

}  // namespace ptx2spv::lower
