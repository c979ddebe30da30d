// 9.7.18 video instructions: scalar forms in 64 bits, so that no intermediate overflows, and SIMD
// forms lane by lane, whose results 32 bits hold. No GPU since sm_50 has the scalar ones; they are
// what ptxas expands them to, which is not everywhere what the manual says, and the record of an
// H200 holds.
#include <algorithm>

#include "translator/lower/function.hpp"

namespace ptx2spv::lower {

namespace {

/// Numbers of a signed or unsigned type of `bits` bits.
struct Range {
  std::int64_t low, high;
};
Range range(bool is_signed, unsigned bits) {
  if (is_signed) return {-(std::int64_t{1} << (bits - 1)), (std::int64_t{1} << (bits - 1)) - 1};
  return {0, (std::int64_t{1} << bits) - 1};
}

Op order(bool less_equal) { return less_equal ? Op::sle : Op::slt; }

}  // namespace

/// The lowering of one instruction.
class FunctionLowering::Video {
 public:
  Video(FunctionLowering& lowering, const Instruction& inst)
      : l_(lowering),
        b_(lowering.b_),
        arith_(lowering.arith_),
        inst_(inst),
        a_(lowering.args(inst)),
        mods_(*inst.mods),
        sets_(is({vset, vset2, vset4})) {
    asigned_ = mods_.types[sets_ ? 0 : 1] == ptx::Type::s32;
    bsigned_ = mods_.types[sets_ ? 1 : 2] == ptx::Type::s32;
    dsigned_ = !sets_ && mods_.types[0] == ptx::Type::s32;
  }

  void lower() {
    if (is({vadd2, vsub2, vavrg2, vabsdiff2, vmin2, vmax2, vset2})) return simd(2);
    if (is({vadd4, vsub4, vavrg4, vabsdiff4, vmin4, vmax4, vset4})) return simd(4);
    if (inst_.op == vmad) return multiply_add();
    scalar();
  }

 private:
  using enum Opcode;

  bool is(std::initializer_list<Opcode> list) const {
    return std::find(list.begin(), list.end(), inst_.op) != list.end();
  }
  Value number(std::int64_t v) {
    return width_ == Type::i64 ? b_.i64(static_cast<std::uint64_t>(v))
                               : b_.i32(static_cast<std::uint32_t>(v));
  }
  Value number_of(Value truth) { return b_.inst(Op::zext, width_, {truth}); }
  Value low_word(Value v) { return width_ == Type::i64 ? b_.inst(Op::trunc, Type::i32, {v}) : v; }
  Value clamp(Value v, Range r) {
    return b_.op2(Op::smin, b_.op2(Op::smax, v, number(r.low)), number(r.high));
  }
  Value extend(Value v, unsigned bits, bool is_signed) {
    if (bits < 32)
      v = is_signed ? arith_.sext_bits(v, bits) : b_.op2(Op::and_, v, b_.i32((1u << bits) - 1));
    if (width_ == Type::i32) return v;
    return b_.inst(is_signed ? Op::sext : Op::zext, Type::i64, {v});
  }
  Value pick(Value v, unsigned bits, unsigned lane) {
    return lane ? b_.op2(Op::lshr, v, b_.i32(bits * lane)) : v;
  }

  Value compare(Value x, Value y);
  Value shift(Value x, Value y);
  Value combine(Value x, Value y);

  static unsigned part_bits(const Operand& o) { return o.part == ptx::Part::halves ? 16 : 8; }
  Value operand(const Operand& o, bool is_signed);
  Value factor(const Operand& o, bool is_signed) {
    return operand(o, is_signed || o.selectors == 0);
  }
  void write(Value word) {
    Operand to = a_[0];
    to.part = ptx::Part::none;
    l_.write(to, word, ptx::Type::b32);
  }

  void multiply_add();
  void scalar();
  Value into_part(Value exact, Value word);
  Value second_operation(Value held, Value word);
  void simd(unsigned lanes);
  Value distances(Value x, Value y, unsigned lanes);
  unsigned lane_mask(unsigned lanes) const;

  FunctionLowering& l_;
  ir::Builder& b_;
  Arith& arith_;
  const Instruction& inst_;
  const std::span<const Operand> a_;
  const ptx::Modifiers& mods_;
  const bool sets_;
  bool dsigned_, asigned_, bsigned_;
  Type width_ = Type::i64;  ///< of the numbers in between
};

Value FunctionLowering::Video::compare(Value x, Value y) {
  switch (mods_.cmp) {
    case Mod::eq: return b_.cmp(Op::eq, x, y);
    case Mod::ne: return b_.cmp(Op::ne, x, y);
    case Mod::lt: return b_.cmp(order(false), x, y);
    case Mod::le: return b_.cmp(order(true), x, y);
    case Mod::gt: return b_.cmp(order(false), y, x);
    default: return b_.cmp(order(true), y, x);
  }
}

Value FunctionLowering::Video::shift(Value x, Value y) {
  Value n = low_word(y);
  n = mods_.has(Mod::wrap) ? b_.op2(Op::and_, n, b_.i32(31)) : b_.op2(Op::umin, n, b_.i32(32));
  if (inst_.op != vshl) return b_.op2(Op::ashr, x, n);
  Value shifted = b_.op2(Op::shl, x, n);
  if (!mods_.sat) return shifted;
  // What saturates is a number of 34 bits: the rest of the product is lost before.
  shifted = b_.op2(Op::ashr, b_.op2(Op::shl, shifted, b_.i32(30)), b_.i32(30));
  return dsigned_ ? shifted : clamp(shifted, range(false, 32));
}

Value FunctionLowering::Video::combine(Value x, Value y) {
  switch (inst_.op) {
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
      const Value up = number_of(b_.cmp(Op::sle, number(0), sum));
      return b_.op2(Op::ashr, b_.op2(Op::add, sum, up), b_.i32(1));
    }
    case vset:
    case vset2:
    case vset4: return number_of(compare(x, y));
    default: return shift(x, y);
  }
}

Value FunctionLowering::Video::operand(const Operand& o, bool is_signed) {
  const Value v = l_.read(o, ptx::Type::b32);
  if (o.selectors == 0) return extend(v, 32, is_signed);
  const unsigned bits = part_bits(o);
  return extend(pick(v, bits, o.selector & 3), bits, is_signed);
}

/// Whole words and the addend count as signed whatever the type says; the type decides how the sum
/// is shifted and saturated.
void FunctionLowering::Video::multiply_add() {
  const bool negate_product = a_[1].negated != a_[2].negated;
  const bool final_signed = asigned_ || bsigned_ || negate_product || a_[3].negated;
  Value product = b_.op2(Op::mul, factor(a_[1], asigned_), factor(a_[2], bsigned_));
  if (negate_product) product = b_.inst(Op::neg, Type::i64, {product});
  const Value c = extend(l_.read(a_[3], ptx::Type::b32), 32, true);
  Value r = b_.op2(a_[3].negated ? Op::sub : Op::add, product, c);
  if (mods_.has(Mod::po)) r = b_.op2(Op::add, r, number(1));
  const unsigned shift = mods_.has(Mod::shr7) ? 7 : mods_.has(Mod::shr15) ? 15 : 0;
  if (shift) r = b_.op2(final_signed ? Op::ashr : Op::lshr, r, b_.i32(shift));
  if (mods_.sat) r = clamp(r, range(final_signed, 32));
  l_.write(a_[0], low_word(r), ptx::Type::b32);
}

void FunctionLowering::Video::scalar() {
  const Value exact = combine(operand(a_[1], asigned_), operand(a_[2], bsigned_));
  Value held = exact;
  // Unsigned results are held up from below only; above, they wrap.
  if (mods_.sat)
    held = dsigned_ ? clamp(exact, range(true, 32)) : b_.op2(Op::smax, exact, number(0));
  const Value word = low_word(held);
  if (a_[0].selectors) return write(into_part(exact, word));
  write(a_.size() < 4 ? word : second_operation(held, word));
}

/// The result in the part of d that its selector names, in the rest c.
Value FunctionLowering::Video::into_part(Value exact, Value word) {
  const Operand& d = a_[0];
  const Value c = l_.read(a_[3], ptx::Type::b32);
  const unsigned bits = part_bits(d), shift = bits * (d.selector & 3);
  const std::uint32_t mask = (1u << bits) - 1;
  Value field = word;
  if (mods_.sat && inst_.op != vshl && inst_.op != vshr) {
    // Saturation into a part takes the result for unsigned, so that negative ones come out as the
    // largest number.
    field = b_.op2(Op::umin, exact, number(dsigned_ ? mask >> 1 : mask));
    field = low_word(field);
  }
  // The upper half is filled from the upper half of the result, as ptxas expands it.
  if (bits == 16 && shift != 0) field = b_.op2(Op::lshr, field, b_.i32(16));
  const Value kept = b_.op2(Op::and_, c, b_.i32(~(mask << shift)));
  const Value placed =
      b_.op2(Op::and_, b_.op2(Op::shl, field, b_.i32(shift)), b_.i32(mask << shift));
  return b_.op2(Op::or_, kept, placed);
}

Value FunctionLowering::Video::second_operation(Value held, Value word) {
  const Value c = l_.read(a_[3], ptx::Type::b32);
  if (mods_.op == Mod::add) return b_.op2(Op::add, word, c);
  if (mods_.op != Mod::min && mods_.op != Mod::max) return word;
  // The comparison is with the result before it is cut to 32 bits; unsigned, a negative one is
  // large. But sums, differences and saturated shifts are cut, and unsigned ones with the highest
  // bit set count as larger than any c.
  const bool c_signed = sets_ ? asigned_ : dsigned_;
  const Value wide_c = extend(c, 32, c_signed);
  const bool cut = is({vadd, vsub}) || (mods_.sat && is({vshl, vshr}));
  Value less;
  if (!cut) {
    less = b_.cmp(c_signed ? Op::slt : Op::ult, held, wide_c);
  } else if (dsigned_) {
    less = b_.cmp(Op::slt, word, c);
  } else {
    less = b_.op2(Op::and_, b_.cmp(Op::ult, word, c), b_.cmp(Op::sle, b_.i32(0), word));
  }
  return mods_.op == Mod::max ? b_.select(less, c, word) : b_.select(less, word, c);
}

unsigned FunctionLowering::Video::lane_mask(unsigned lanes) const {
  const Operand& d = a_[0];
  if (!d.selectors) return (1u << lanes) - 1;
  unsigned mask = 0;
  for (unsigned i = 0; i < d.selectors; ++i) mask |= 1u << ((d.selector >> (4 * i)) & 3u);
  return mask;
}

/// |x - y| of all lanes at once, whose numbers have the same signs.
Value FunctionLowering::Video::distances(Value x, Value y, unsigned lanes) {
  const unsigned bits = 32 / lanes;
  const std::uint32_t field = (1u << bits) - 1, ones = ~0u / field, top = ones << (bits - 1);
  if (asigned_) {
    // Signed numbers have the order of unsigned ones with the other highest bit.
    x = b_.op2(Op::xor_, x, b_.i32(top));
    y = b_.op2(Op::xor_, y, b_.i32(top));
  }
  // The mean of x and -1 - y, rounded up: its highest bit says that x is not less.
  const Value other = b_.inst(Op::not_, Type::i32, {y});
  const Value half =
      b_.op2(Op::and_, b_.op2(Op::lshr, b_.op2(Op::xor_, x, other), b_.i32(1)), b_.i32(~top));
  const Value mean = b_.op2(Op::sub, b_.op2(Op::or_, x, other), half);
  const Value not_less = b_.op2(Op::lshr, b_.op2(Op::and_, mean, b_.i32(top)), b_.i32(bits - 1));
  const Value larger = b_.op2(Op::mul, not_less, b_.i32(field));
  const Value swap = b_.op2(Op::and_, b_.op2(Op::xor_, x, y), larger);
  return b_.op2(Op::sub, b_.op2(Op::xor_, y, swap), b_.op2(Op::xor_, x, swap));
}

/// Lanes 0 .. n-1 of a and n .. 2n-1 of b; a lane outside the mask keeps c's.
void FunctionLowering::Video::simd(unsigned lanes) {
  const unsigned bits = 32 / lanes;
  width_ = Type::i32;
  const Value x = l_.read(a_[1], ptx::Type::b32), y = l_.read(a_[2], ptx::Type::b32),
              c = l_.read(a_[3], ptx::Type::b32);
  const auto lane_of = [&](const Operand& o, unsigned i, unsigned first, bool is_signed) {
    const unsigned which = o.selectors ? (o.selector >> (4 * i)) & 7u : first + i;
    return extend(pick(which < lanes ? x : y, bits, which % lanes), bits, is_signed);
  };
  const unsigned mask = lane_mask(lanes);
  const bool sums = mods_.op == Mod::add || mods_.has(Mod::add);
  if (is({vabsdiff2, vabsdiff4}) && asigned_ == bsigned_ && !(mods_.sat && dsigned_) &&
      !a_[1].selectors && !a_[2].selectors && mask == (1u << lanes) - 1 && (!sums || lanes == 4)) {
    const Value all = distances(x, y, lanes);
    return write(sums ? arith_.dp4a(false, false, all, b_.i32(0x01010101), c) : all);
  }
  Value result = sums ? c : 0;
  for (unsigned i = 0; i < lanes; ++i) {
    const std::uint32_t field = ((1u << bits) - 1) << (bits * i);
    Value part;
    if (mask >> i & 1) {
      Value r = combine(lane_of(a_[1], i, 0, asigned_), lane_of(a_[2], i, lanes, bsigned_));
      if (mods_.sat) r = clamp(r, range(dsigned_, bits));
      const Value word = low_word(r);
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
  write(result);
}

void FunctionLowering::lower_video(const Instruction& inst) { Video(*this, inst).lower(); }

}  // namespace ptx2spv::lower
