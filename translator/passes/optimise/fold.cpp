#include "translator/passes/optimise/fold.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "translator/ir/evaluate.hpp"

namespace ptx2spv::passes {

namespace {

std::uint64_t mask_of(Type type) {
  return type == Type::i64 ? ~0ull : type == Type::i1 ? 1 : 0xffffffffull;
}
unsigned width_of(Type type) { return type == Type::i64 ? 64 : type == Type::i1 ? 1 : 32; }

Op inverse(Op op) { return op == Op::eq ? Op::ne : Op::eq; }

}  // namespace

Value Folder::constant(Type type, std::uint64_t value) {
  return make(Op::constant, type, {}, value & mask_of(type));
}

Value Folder::make(Op op, Type type, std::initializer_list<Value> args, std::uint64_t imm) {
  Inst inst;
  inst.op = op;
  inst.type = type;
  inst.imm = imm;
  inst.count = static_cast<std::uint16_t>(args.size());
  inst.first = static_cast<std::uint32_t>(f_.operands.size());
  f_.operands.insert(f_.operands.end(), args.begin(), args.end());
  f_.insts.push_back(inst);
  out_.push_back(static_cast<Value>(f_.insts.size() - 1));
  return out_.back();
}

// Changes an instruction in place; type, location and users stay.
Value Folder::become(Value v, Op op, std::initializer_list<Value> args) {
  const std::vector<Value> copy(args);
  Inst& inst = f_.insts[v];
  inst.op = op;
  inst.imm = 0;
  inst.count = static_cast<std::uint16_t>(copy.size());
  inst.first = static_cast<std::uint32_t>(f_.operands.size());
  f_.operands.insert(f_.operands.end(), copy.begin(), copy.end());
  return v;
}

bool Folder::all_constant(Value v, Value& result) {
  const Inst& inst = at(v);
  if (!(info(inst.op).flags & flag::P) || inst.count == 0 || inst.count > 4 || inst.op == Op::phi)
    return false;
  Bits bits[4];
  for (unsigned i = 0; i < inst.count; ++i) {
    if (!is_constant(arg(v, i))) return false;
    bits[i] = Bits::of(at(arg(v, i)).imm);
  }
  if (inst.type == Type::v2 || inst.type == Type::v4) return false;
  const Type from = inst.op == Op::select ? inst.type : at(arg(v, 0)).type;
  const auto value = evaluate(inst, from, {bits, inst.count});
  if (!value) return false;
  result = constant(inst.type, value->u64());
  return true;
}

Value Folder::fold(Value v) {
  // Each rewriting makes the instruction simpler; the bound is for safety alone.
  for (int i = 0; i < 16; ++i) {
    const Inst before = at(v);
    const Value next = once(v);
    if (next != v) return next;
    if (before.op == at(v).op && before.first == at(v).first) break;
  }
  return v;
}

Value Folder::once(Value v) {
  Value folded;
  if (all_constant(v, folded)) return folded;
  const Inst& inst = at(v);
  // Constants stand on the right.
  if ((info(inst.op).flags & flag::M) && inst.count == 2 && is_constant(arg(v, 0)) &&
      !is_constant(arg(v, 1)))
    return become(v, inst.op, {arg(v, 1), arg(v, 0)});
  const Op op = inst.op;
  if (is_within(op, Op::shl, Op::ashr) || op == Op::bfe_u) return shift(v);
  if (is_within(op, Op::add, Op::smax)) return integer(v);
  if (is_within(op, Op::eq, Op::sle)) return compare(v);
  if (op == Op::select) return select(v);
  if (op == Op::ffma && inst.fp.kind == NumKind::f32) return fused(v);
  return is_within(op, Op::zext, Op::extract) ? convert(v) : v;
}

/// Whether `whole` is `op` of `part` and something else.
bool Folder::absorbs(Value part, Op op, Value whole) const {
  return is(whole, op) && (arg(whole, 0) == part || arg(whole, 1) == part);
}

/// Whether one of two bit patterns is the complement of the other.
bool Folder::opposite(Value a, Value b) const {
  if ((is(a, Op::not_) && arg(a, 0) == b) || (is(b, Op::not_) && arg(b, 0) == a)) return true;
  if (at(a).type != Type::i1 || at(a).count != 2 || at(b).count != 2) return false;
  const bool straight = arg(a, 0) == arg(b, 0) && arg(a, 1) == arg(b, 1);
  const bool crossed = arg(a, 0) == arg(b, 1) && arg(a, 1) == arg(b, 0);
  const auto pair = [&](Op x, Op y) { return (is(a, x) && is(b, y)) || (is(a, y) && is(b, x)); };
  if (pair(Op::eq, Op::ne)) return straight || crossed;
  return crossed && (pair(Op::ult, Op::ule) || pair(Op::slt, Op::sle));
}

/// Of a product that is a factor or its negative the sum is left, which devices without a fused
/// multiply-add have, too. (Of double precision the operands' places say which NaN it is.)
Value Folder::fused(Value v) {
  constexpr std::uint32_t kOne = 0x3f800000, kSign = 0x80000000;
  for (const unsigned i : {0u, 1u}) {
    const bool negative = is_constant(arg(v, i), kOne | kSign);
    if (!negative && !is_constant(arg(v, i), kOne)) continue;
    const Value x = arg(v, 1 - i), addend = arg(v, 2);
    f_.insts[v].fp.contract = false;
    return become(
        v, Op::fadd,
        {negative ? make(Op::xor_, Type::i32, {x, constant(Type::i32, kSign)}) : x, addend});
  }
  return v;
}

Value Folder::integer(Value v) {
  const Inst inst = at(v);
  const Type type = inst.type;
  const std::uint64_t mask = mask_of(type);
  const Value a = arg(v, 0), b = inst.count > 1 ? arg(v, 1) : 0;
  const bool cb = b && is_constant(b);
  const std::uint64_t c = cb ? at(b).imm : 0;
  switch (inst.op) {
    case Op::add:
      if (cb && c == 0) return a;
      if (cb && is(a, Op::add) && is_constant(arg(a, 1)))
        return become(v, Op::add, {arg(a, 0), constant(type, c + at(arg(a, 1)).imm)});
      if (is(b, Op::neg)) return become(v, Op::sub, {a, arg(b, 0)});
      // Addresses that differ by constants are one sum and the constants, which loads take.
      if (type == Type::i64 && !cb && (has_constant(a) || has_constant(b))) {
        const std::uint64_t offset =
            (has_constant(a) ? at(arg(a, 1)).imm : 0) + (has_constant(b) ? at(arg(b, 1)).imm : 0);
        const Value sum =
            make(Op::add, type, {has_constant(a) ? arg(a, 0) : a, has_constant(b) ? arg(b, 0) : b});
        return become(v, Op::add, {sum, constant(type, offset)});
      }
      break;
    case Op::sub:
      if (a == b) return constant(type, 0);
      if (cb) return c == 0 ? a : become(v, Op::add, {a, constant(type, 0 - c)});
      if (is_constant(a, 0)) return become(v, Op::neg, {b});
      break;
    case Op::mul:
      if (!cb) break;
      if (c == 0) return constant(type, 0);
      if (c == 1) return a;
      if (c == mask) return become(v, Op::neg, {a});
      if (std::has_single_bit(c))
        return become(v, Op::shl,
                      {a, constant(Type::i32, static_cast<unsigned>(std::countr_zero(c)))});
      break;
    case Op::mulhi_u:
      if (cb && c <= 1) return constant(type, 0);
      break;
    case Op::udiv:
      if (cb && std::has_single_bit(c))
        return become(v, Op::lshr,
                      {a, constant(Type::i32, static_cast<unsigned>(std::countr_zero(c)))});
      break;
    case Op::urem:
      if (cb && std::has_single_bit(c)) return become(v, Op::and_, {a, constant(type, c - 1)});
      break;
    case Op::and_:
      if (a == b) return a;
      if (opposite(a, b)) return constant(type, 0);
      if (absorbs(a, Op::and_, b)) return b;
      if (absorbs(b, Op::and_, a)) return a;
      if (absorbs(a, Op::or_, b)) return a;
      if (absorbs(b, Op::or_, a)) return b;
      if (cb && c == 0) return b;
      if (cb && (c | zeros(a)) == ~0ull) return a;
      if (cb && (~c | zeros(a)) == ~0ull && zeros(a)) return constant(type, 0);
      if (cb && c == mask) return a;
      if (cb && is(a, Op::and_) && is_constant(arg(a, 1)))
        return become(v, Op::and_, {arg(a, 0), constant(type, c & at(arg(a, 1)).imm)});
      break;
    case Op::or_:
      if (a == b || (cb && c == 0)) return a;
      if (cb && c == mask) return b;
      if (opposite(a, b)) return constant(type, mask);
      if (absorbs(a, Op::or_, b)) return b;
      if (absorbs(b, Op::or_, a)) return a;
      if (absorbs(a, Op::and_, b)) return a;
      if (absorbs(b, Op::and_, a)) return b;
      if (cb && is(a, Op::or_) && is_constant(arg(a, 1)))
        return become(v, Op::or_, {arg(a, 0), constant(type, c | at(arg(a, 1)).imm)});
      break;
    case Op::xor_:
      if (a == b) return constant(type, 0);
      if (cb && c == 0) return a;
      if (cb && c == mask) return become(v, Op::not_, {a});
      if (cb && is(a, Op::xor_) && is_constant(arg(a, 1)))
        return become(v, Op::xor_, {arg(a, 0), constant(type, c ^ at(arg(a, 1)).imm)});
      // What a mask leaves out.
      for (const auto& [whole, part] : {std::pair(a, b), std::pair(b, a)})
        if (is(part, Op::and_) && arg(part, 0) == whole && is_constant(arg(part, 1)))
          return become(v, Op::and_, {whole, constant(type, ~at(arg(part, 1)).imm)});
      break;
    case Op::not_:
      if (is(a, Op::not_)) return arg(a, 0);
      if (type != Type::i1) break;
      if (is(a, Op::eq) || is(a, Op::ne))
        return become(v, inverse(at(a).op), {arg(a, 0), arg(a, 1)});
      if (is(a, Op::ult)) return become(v, Op::ule, {arg(a, 1), arg(a, 0)});
      if (is(a, Op::ule)) return become(v, Op::ult, {arg(a, 1), arg(a, 0)});
      if (is(a, Op::slt)) return become(v, Op::sle, {arg(a, 1), arg(a, 0)});
      if (is(a, Op::sle)) return become(v, Op::slt, {arg(a, 1), arg(a, 0)});
      break;
    case Op::neg:
      if (is(a, Op::neg)) return arg(a, 0);
      if (is(a, Op::sub)) return become(v, Op::sub, {arg(a, 1), arg(a, 0)});
      break;
    case Op::umin:
    case Op::umax:
    case Op::smin:
    case Op::smax:
      if (a == b) return a;
      if (inst.op == Op::smax && type == Type::i32 && cb && (c == 0 || c >> 31) &&
          zeros(a) & 0x80000000u)
        return a;
      break;
    default: break;
  }
  return v;
}

Value Folder::shift(Value v) {
  const Inst inst = at(v);
  const Value a = arg(v, 0), n = arg(v, 1);
  if (inst.op == Op::bfe_u) {
    const Value count = arg(v, 2);
    if (is_constant(count, 0)) return constant(Type::i32, 0);
    if (!is_constant(n) || !is_constant(count) || at(count).imm >= 32) return v;
    const std::uint64_t field = (1ull << at(count).imm) - 1;
    if (at(n).imm == 0) return become(v, Op::and_, {a, constant(Type::i32, field)});
    if (at(n).imm + at(count).imm == 32) return become(v, Op::lshr, {a, n});
    return v;
  }
  if (is_constant(a, 0)) return a;
  if (!is_constant(n)) return v;
  const std::uint64_t c = at(n).imm;
  const unsigned width = width_of(inst.type);
  if (c == 0) return a;
  if (c >= width) {
    if (inst.op == Op::ashr) return become(v, Op::ashr, {a, constant(Type::i32, width - 1)});
    return constant(inst.type, 0);
  }
  if (is(a, inst.op) && is_constant(arg(a, 1))) {
    const std::uint64_t sum = c + at(arg(a, 1)).imm;
    if (at(arg(a, 1)).imm < width) return become(v, inst.op, {arg(a, 0), constant(Type::i32, sum)});
  }
  if (inst.op == Op::shl && inst.type == Type::i64 && has_constant(a))
    return become(
        v, Op::add,
        {make(Op::shl, inst.type, {arg(a, 0), n}), constant(inst.type, at(arg(a, 1)).imm << c)});
  if (inst.op == Op::ashr && (zeros(a) >> (width - 1) & 1)) return become(v, Op::lshr, {a, n});
  if (inst.op == Op::lshr && (zeros(a) >> c) == (~0ull >> c) && zeros(a))
    return constant(inst.type, 0);
  return v;
}

/// The constants of which `v` is one, through phis and selects. False where it may be something
/// else, or one of very many.
bool Folder::choices(Value v, std::vector<std::uint64_t>& out, unsigned depth) const {
  constexpr unsigned kMost = 8, kDepth = 4;
  const Inst& inst = at(v);
  if (inst.op == Op::constant) {
    if (std::find(out.begin(), out.end(), inst.imm) == out.end()) out.push_back(inst.imm);
    return out.size() <= kMost;
  }
  if (depth == kDepth || inst.count > kMost + 1) return false;
  if (inst.op != Op::phi && inst.op != Op::select) return false;
  for (unsigned i = inst.op == Op::select ? 1 : 0; i < inst.count; ++i)
    if (arg(v, i) != v && !choices(arg(v, i), out, depth + 1)) return false;
  return !out.empty();
}

/// Whether a comparison comes out alike for every constant that its one varying operand can be.
bool Folder::decided(Value v, bool& result) const {
  const unsigned varying = is_constant(arg(v, 0)) ? 1 : 0;
  const Op op = at(arg(v, varying)).op;
  if ((op != Op::phi && op != Op::select) || !is_constant(arg(v, 1 - varying))) return false;
  std::vector<std::uint64_t> values;
  if (!choices(arg(v, varying), values, 0)) return false;
  bool seen[2] = {};
  for (const std::uint64_t value : values) {
    Bits bits[2];
    bits[varying] = Bits::of(value);
    bits[1 - varying] = Bits::of(at(arg(v, 1 - varying)).imm);
    const auto outcome = evaluate(at(v), at(arg(v, 0)).type, bits);
    if (!outcome) return false;
    seen[outcome->u64() & 1] = true;
  }
  result = seen[1];
  return seen[0] != seen[1];
}

Value Folder::compare(Value v) {
  if (bool result = false; decided(v, result)) return constant(Type::i1, result);
  const Inst inst = at(v);
  const Value a = arg(v, 0), b = arg(v, 1);
  const Type type = at(a).type;
  const bool cb = is_constant(b);
  const std::uint64_t c = cb ? at(b).imm : 0;
  const bool equality = inst.op == Op::eq || inst.op == Op::ne;
  if (a == b)
    return constant(Type::i1, inst.op == Op::eq || inst.op == Op::ule || inst.op == Op::sle);
  if (type == Type::i1 && equality && cb) {
    if ((c == 1) == (inst.op == Op::eq)) return a;
    return become(v, Op::not_, {a});
  }
  if (ranges_)
    if (const auto known = ranges_->constant(v)) return constant(Type::i1, *known);
  if (inst.op == Op::ult && cb && c == 0) return constant(Type::i1, 0);
  if (inst.op == Op::ule && is_constant(a, 0)) return constant(Type::i1, 1);
  if (inst.op == Op::ult && cb && c == 1) return become(v, Op::eq, {a, constant(type, 0)});
  if (inst.op == Op::ult && is_constant(a, 0)) return become(v, Op::ne, {b, a});
  if (inst.op == Op::ule && cb && c == 0) return become(v, Op::eq, {a, b});
  if (equality && cb) {
    if (c & zeros(a) & mask_of(type)) return constant(Type::i1, inst.op == Op::ne);
    if (is(a, Op::zext) && at(arg(a, 0)).type == Type::i1 && c <= 1)
      return (c == 1) == (inst.op == Op::eq) ? arg(a, 0) : become(v, Op::not_, {arg(a, 0)});
    if (is(a, Op::select) && is_constant(arg(a, 1)) && is_constant(arg(a, 2))) {
      const bool t = (at(arg(a, 1)).imm == c) == (inst.op == Op::eq),
                 e = (at(arg(a, 2)).imm == c) == (inst.op == Op::eq);
      if (t == e) return constant(Type::i1, t);
      return t ? arg(a, 0) : become(v, Op::not_, {arg(a, 0)});
    }
    if (is(a, Op::add) && is_constant(arg(a, 1)))
      return become(v, inst.op, {arg(a, 0), constant(type, c - at(arg(a, 1)).imm)});
    if (is(a, Op::xor_) && is_constant(arg(a, 1)))
      return become(v, inst.op, {arg(a, 0), constant(type, c ^ at(arg(a, 1)).imm)});
  }
  if (type != Type::i64) return v;
  // 64-bit comparisons of extended values are 32-bit ones.
  const auto narrow = [&](Value x, Op extension, Value& out) {
    if (is(x, extension) && at(arg(x, 0)).type == Type::i32) {
      out = arg(x, 0);
      return true;
    }
    if (!is_constant(x)) return false;
    const std::uint64_t imm = at(x).imm;
    const bool fits = extension == Op::zext
                          ? imm <= 0xffffffffu
                          : imm == static_cast<std::uint64_t>(
                                       static_cast<std::int64_t>(static_cast<std::int32_t>(imm)));
    if (fits) out = constant(Type::i32, imm);
    return fits;
  };
  const bool is_signed = inst.op == Op::slt || inst.op == Op::sle;
  for (const Op extension : {Op::zext, Op::sext}) {
    if (!is(a, extension) && !is(b, extension)) continue;
    Value x = 0, y = 0;
    if (!narrow(a, extension, x) || !narrow(b, extension, y)) continue;
    // Zero-extended values are positive, so that signed comparisons of them are unsigned; sign
    // extension keeps both orders.
    Op op = inst.op;
    if (extension == Op::zext && is_signed) op = inst.op == Op::slt ? Op::ult : Op::ule;
    return become(v, op, {x, y});
  }
  return v;
}

Value Folder::select(Value v) {
  const Value c = arg(v, 0), a = arg(v, 1), b = arg(v, 2);
  if (a == b) return a;
  if (is_constant(c)) return at(c).imm ? a : b;
  if (is(c, Op::not_)) return become(v, Op::select, {arg(c, 0), b, a});
  // One condition decides once.
  if (is(a, Op::select) && arg(a, 0) == c) return become(v, Op::select, {c, arg(a, 1), b});
  if (is(b, Op::select) && arg(b, 0) == c) return become(v, Op::select, {c, a, arg(b, 2)});
  if (at(v).type == Type::i1) {
    if (is_constant(a, 1) && is_constant(b, 0)) return c;
    if (is_constant(a, 0) && is_constant(b, 1)) return become(v, Op::not_, {c});
    if (is_constant(a, 1)) return become(v, Op::or_, {c, b});
    if (is_constant(b, 0)) return become(v, Op::and_, {c, a});
    return v;
  }
  const bool can_extend = at(v).type == Type::i32 || (at(v).type == Type::i64 && int64_);
  if (can_extend && is_constant(a, 1) && is_constant(b, 0)) return become(v, Op::zext, {c});
  return v;
}

Value Folder::convert(Value v) {
  const Inst inst = at(v);
  const Value a = arg(v, 0);
  switch (inst.op) {
    case Op::zext:
      if (is(a, Op::zext)) return become(v, Op::zext, {arg(a, 0)});
      if (at(a).type == inst.type) return a;
      // A sum that stays below 2^32.
      if (inst.type == Type::i64 && at(a).type == Type::i32 && has_constant(a) &&
          ((~zeros(arg(a, 0)) & 0xffffffffu) + at(arg(a, 1)).imm) >> 32 == 0)
        return become(
            v, Op::add,
            {make(Op::zext, inst.type, {arg(a, 0)}), constant(inst.type, at(arg(a, 1)).imm)});
      break;
    case Op::sext:
      if (is(a, Op::zext) || (zeros(a) & 0x80000000u)) return become(v, Op::zext, {a});
      break;
    case Op::trunc:
      if (is(a, Op::pack)) return arg(a, 0);
      if (is(a, Op::sext)) return arg(a, 0);
      if (is(a, Op::zext))
        return at(arg(a, 0)).type == Type::i32 ? arg(a, 0) : become(v, Op::zext, {arg(a, 0)});
      if (is(a, Op::lshr) && is_constant(arg(a, 1), 32)) return become(v, Op::high, {arg(a, 0)});
      break;
    case Op::high:
      if (is(a, Op::pack)) return arg(a, 1);
      if (is(a, Op::zext)) return constant(Type::i32, 0);
      if (is(a, Op::shl) && is_constant(arg(a, 1), 32)) return become(v, Op::trunc, {arg(a, 0)});
      if ((zeros(a) >> 32) == 0xffffffffu) return constant(Type::i32, 0);
      break;
    case Op::pack: {
      const Value b = arg(v, 1);
      if (is(a, Op::trunc) && is(b, Op::high) && arg(a, 0) == arg(b, 0)) return arg(a, 0);
      if (int64_ && is_constant(b, 0)) return become(v, Op::zext, {a});
      break;
    }
    case Op::extract:
      if (is(a, Op::compose)) return arg(a, static_cast<unsigned>(inst.imm));
      break;
    case Op::compose: {
      const unsigned n = inst.count;
      if (!is(a, Op::extract)) break;
      const Value whole = arg(a, 0);
      if (at(whole).type != inst.type) break;
      bool same = true;
      for (unsigned i = 0; i < n; ++i) {
        const Value part = arg(v, i);
        same = same && is(part, Op::extract) && arg(part, 0) == whole && at(part).imm == i;
      }
      if (same) return whole;
      break;
    }
    default: break;
  }
  return v;
}

}  // namespace ptx2spv::passes
