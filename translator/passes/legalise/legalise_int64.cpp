// 64-bit integers as pairs of 32-bit words where the device has none, and the cases that SPIR-V
// leaves open made exact at any width: shifts by the width and more, division by zero, the most
// negative number by -1.

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "translator/passes/analysis/known_bits.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/rewrite.hpp"

namespace ptx2spv::passes {

namespace {

class Int64 {
 public:
  Int64(Function& f, Module& module, bool native)
      : f_(f), module_(module), native_(native), rewrite_(f), b_(rewrite_.builder()) {
    const KnownBits known(f);
    for (Value v = 0; v < f.insts.size(); ++v) zeros_.push_back(known.zeros(v));
  }

  bool run() {
    if (native_) high_products_first();
    return rewrite_.run([&](Value v) {
      const Value next = replace(v);
      // What replaces a value has its zeros too.
      if (next >= zeros_.size()) zeros_.resize(f_.insts.size(), 0);
      zeros_[next] |= zeros_[v];
      return next;
    });
  }

 private:
  struct Pair {
    Value lo, hi;
  };
  using Factors = std::pair<Value, Value>;
  Factors factors(Value v) const { return std::minmax(f_.arg(v, 0), f_.arg(v, 1)); }

  /// A high half is made before the low half of the same product in its block, which is then made
  /// of the same parts.
  void high_products_first() {
    for (Block& block : f_.blocks) {
      std::map<Factors, Value> low;
      std::map<Value, Value> before;  // what comes before a low half
      for (const Value v : block.insts) {
        const Inst& inst = at(v);
        if (inst.type != Type::i64) continue;
        if (inst.op == Op::mul) low.emplace(factors(v), v);
        if (inst.op != Op::mulhi_u && inst.op != Op::mulhi_s) continue;
        if (const auto found = low.find(factors(v)); found != low.end()) before[found->second] = v;
      }
      if (before.empty()) continue;
      std::vector<Value> insts;
      std::set<Value> moved;
      for (const auto& [of, first] : before) moved.insert(first);
      for (const Value v : block.insts) {
        if (const auto found = before.find(v); found != before.end())
          insts.push_back(found->second);
        if (!moved.count(v)) insts.push_back(v);
      }
      block.insts = std::move(insts);
    }
  }
  const Inst& at(Value v) const { return f_.insts[v]; }
  std::uint64_t zeros(Value v) const { return v < zeros_.size() ? zeros_[v] : 0; }
  bool is_constant(Value v) const { return at(v).op == Op::constant; }
  Value c32(std::uint32_t v) { return b_.i32(v); }
  Value op(Op o, Value a, Value c) { return b_.inst(o, Type::i32, {a, c}); }
  Value select(Value c, Value a, Value d) { return b_.inst(Op::select, at(a).type, {c, a, d}); }
  Value call(std::string_view name, Type type, std::initializer_list<Value> args) {
    return b_.inst(Op::library, type, args, module_.library(name));
  }

  // Halves of a value; what it was made of, where that shows.
  Value low(Value v) {
    const Inst& inst = at(v);
    if (inst.op == Op::constant) return c32(static_cast<std::uint32_t>(inst.imm));
    if (inst.op == Op::pack) return f_.arg(v, 0);
    return b_.inst(Op::trunc, Type::i32, {v});
  }
  Value high(Value v) {
    const Inst& inst = at(v);
    if (inst.op == Op::constant) return c32(static_cast<std::uint32_t>(inst.imm >> 32));
    if (inst.op == Op::pack) return f_.arg(v, 1);
    return b_.inst(Op::high, Type::i32, {v});
  }
  Pair halves(Value v) { return {low(v), high(v)}; }
  Value pack(Value lo, Value hi) { return b_.inst(Op::pack, Type::i64, {lo, hi}); }
  bool zero_high(Value v) const {
    if (is_constant(v)) return at(v).imm >> 32 == 0;
    if (at(v).op == Op::pack && is_constant(f_.arg(v, 1))) return at(f_.arg(v, 1)).imm == 0;
    return zeros(v) >> 32 == 0xffffffffu;
  }

  // Amounts of 0 .. width - 1 are defined everywhere.
  bool in_range(Value amount, unsigned width) const {
    if (is_constant(amount)) return at(amount).imm < width;
    return (zeros(amount) | (width - 1)) == ~0ull;
  }

  Value replace(Value v) {
    const Inst inst = at(v);
    const bool wide_result = inst.type == Type::i64;
    const Value a = inst.count > 0 ? f_.arg(v, 0) : 0, d = inst.count > 1 ? f_.arg(v, 1) : 0;
    const bool wide = wide_result || (a && at(a).type == Type::i64);
    switch (inst.op) {
      case Op::shl:
      case Op::lshr:
      case Op::ashr: return shift(v, inst, a, d);
      case Op::udiv:
      case Op::sdiv:
      case Op::urem:
      case Op::srem: return division(v, inst, a, d);
      default: break;
    }
    if (native_) {
      // There is no 64-bit high product in SPIR-V, and its find and count instructions take 32
      // bits.
      if (wide_result && (inst.op == Op::mulhi_u || inst.op == Op::mulhi_s))
        return high_product(inst.op == Op::mulhi_s, a, d);
      if (inst.op == Op::popcount && wide) return popcount(a);
      if (inst.op == Op::mul && wide_result)
        if (const auto found = parts_.find(factors(v));
            found != parts_.end() && found->second.block == b_.block())
          return pack(low(found->second.first), low(found->second.second));
      return v;
    }
    if (!wide) return v;
    switch (inst.op) {
      case Op::add: return add(a, d);
      case Op::sub: return sub(halves(a), halves(d));
      case Op::neg: return sub({c32(0), c32(0)}, halves(a));
      case Op::mul: return multiply(a, d);
      case Op::mulhi_u: return call("u64_mulhi", Type::i64, {a, d});
      case Op::mulhi_s: return call("s64_mulhi", Type::i64, {a, d});
      case Op::and_:
      case Op::or_:
      case Op::xor_: return pack(op(inst.op, low(a), low(d)), op(inst.op, high(a), high(d)));
      case Op::not_: {
        const Value lo = b_.inst(Op::not_, Type::i32, {low(a)});
        return pack(lo, b_.inst(Op::not_, Type::i32, {high(a)}));
      }
      case Op::umin: return select(less(a, d, false, false), a, d);
      case Op::umax: return select(less(a, d, false, false), d, a);
      case Op::smin: return select(less(a, d, true, false), a, d);
      case Op::smax: return select(less(a, d, true, false), d, a);
      case Op::popcount: return popcount(a);
      case Op::eq:
      case Op::ne: {
        const Value different =
            op(Op::or_, op(Op::xor_, low(a), low(d)), op(Op::xor_, high(a), high(d)));
        return b_.cmp(inst.op, different, c32(0));
      }
      case Op::ult: return less(a, d, false, false);
      case Op::ule: return less(a, d, false, true);
      case Op::slt: return less(a, d, true, false);
      case Op::sle: return less(a, d, true, true);
      case Op::zext:
        return pack(at(a).type == Type::i1 ? b_.inst(Op::zext, Type::i32, {a}) : a, c32(0));
      case Op::sext: return pack(a, op(Op::ashr, a, c32(31)));
      case Op::trunc: return known_half(v, a, 0);
      case Op::high: return known_half(v, a, 1);
      default: return v;
    }
  }

  // trunc and high stay unless the pair is at hand.
  Value known_half(Value v, Value a, unsigned which) {
    if (at(a).op == Op::pack) return f_.arg(a, which);
    if (is_constant(a)) return c32(static_cast<std::uint32_t>(at(a).imm >> (32 * which)));
    return v;
  }

  Value add(Value a, Value d) {
    const Pair x = halves(a), y = halves(d);
    const Value lo = op(Op::add, x.lo, y.lo);
    Value hi = zero_high(d) ? x.hi : zero_high(a) ? y.hi : op(Op::add, x.hi, y.hi);
    // No carry out of halves whose common upper bit is clear, or when one half is 0.
    const bool no_carry =
        (zeros(a) & zeros(d) & 0x80000000u) || is_zero(x.lo) || is_zero(y.lo) || disjoint(a, d);
    if (!no_carry) {
      const Value carry = b_.inst(Op::zext, Type::i32, {b_.cmp(Op::ult, lo, x.lo)});
      hi = op(Op::add, hi, carry);
    }
    return pack(lo, hi);
  }
  bool disjoint(Value a, Value d) const {
    return ((zeros(a) | zeros(d)) & 0xffffffffu) == 0xffffffffu;
  }
  bool is_zero(Value v) const { return is_constant(v) && at(v).imm == 0; }

  Value sub(Pair x, Pair y) {
    const Value lo = op(Op::sub, x.lo, y.lo);
    Value hi = is_zero(y.hi) ? x.hi : op(Op::sub, x.hi, y.hi);
    if (!is_zero(y.lo)) {
      const Value borrow = b_.inst(Op::zext, Type::i32, {b_.cmp(Op::ult, x.lo, y.lo)});
      hi = op(Op::sub, hi, borrow);
    }
    return pack(lo, hi);
  }

  Value multiply(Value a, Value d) {
    // mul.wide and products of extended values need one high half and no cross products.
    const auto narrow = [&](Value v) { return zero_high(v); };
    const Pair x = halves(a), y = halves(d);
    const Value lo = op(Op::mul, x.lo, y.lo);
    if (sign_of(a) && sign_of(d)) return pack(lo, op(Op::mulhi_s, x.lo, y.lo));
    Value hi = op(Op::mulhi_u, x.lo, y.lo);
    if (!narrow(d)) hi = op(Op::add, hi, op(Op::mul, x.lo, y.hi));
    if (!narrow(a)) hi = op(Op::add, hi, op(Op::mul, x.hi, y.lo));
    return pack(lo, hi);
  }
  // Whether a pair is the sign extension of its low half.
  bool sign_of(Value v) const {
    if (is_constant(v))
      return static_cast<std::int64_t>(at(v).imm) == static_cast<std::int32_t>(at(v).imm);
    if (at(v).op != Op::pack) return false;
    const Value lo = f_.arg(v, 0), hi = f_.arg(v, 1);
    return at(hi).op == Op::ashr && f_.arg(hi, 0) == lo && is_constant(f_.arg(hi, 1)) &&
           at(f_.arg(hi, 1)).imm == 31;
  }

  /// By products of halves: no sum of one, a half of another and a carry leaves 64 bits.
  Value high_product(bool is_signed, Value a, Value d) {
    const auto op64 = [&](Op o, Value x, Value y) { return b_.inst(o, Type::i64, {x, y}); };
    const auto wide = [&](Value half) { return b_.inst(Op::zext, Type::i64, {half}); };
    const Pair x = halves(a), y = halves(d);
    const Value xl = wide(x.lo), xh = wide(x.hi), yl = wide(y.lo), yh = wide(y.hi);
    const Value least = op64(Op::mul, xl, yl);
    const Value first = op64(Op::add, op64(Op::mul, xh, yl), wide(high(least)));
    const Value second = op64(Op::add, op64(Op::mul, xl, yh), wide(low(first)));
    parts_[std::minmax(a, d)] = {b_.block(), least, second};
    Value top = op64(Op::add, op64(Op::mul, xh, yh), wide(high(first)));
    top = op64(Op::add, top, wide(high(second)));
    if (!is_signed) return top;
    // A negative factor was taken for 2^64 more.
    const auto where_negative = [&](Value sign, Value other) {
      return op64(Op::and_, b_.inst(Op::ashr, Type::i64, {sign, c32(63)}), other);
    };
    return op64(Op::sub, op64(Op::sub, top, where_negative(a, d)), where_negative(d, a));
  }

  Value popcount(Value a) {
    const Value lo = b_.inst(Op::popcount, Type::i32, {low(a)});
    return op(Op::add, lo, b_.inst(Op::popcount, Type::i32, {high(a)}));
  }

  Value less(Value a, Value d, bool is_signed, bool or_equal) {
    const Pair x = halves(a), y = halves(d);
    const Value lo = b_.cmp(or_equal ? Op::ule : Op::ult, x.lo, y.lo);
    if (!is_signed && zero_high(a) && zero_high(d)) return lo;
    const Value hi = b_.cmp(is_signed ? Op::slt : Op::ult, x.hi, y.hi);
    const Value same = b_.cmp(Op::eq, x.hi, y.hi);
    return b_.inst(Op::select, Type::i1, {same, lo, hi});
  }

  Value shift(Value v, const Inst& inst, Value a, Value n) {
    const bool wide = inst.type == Type::i64;
    const unsigned width = wide ? 64 : 32;
    if (!wide || native_) {
      if (in_range(n, width)) return v;
      if (inst.op == Op::ashr)
        return b_.inst(Op::ashr, inst.type, {a, op(Op::umin, n, c32(width - 1))});
      const Value inside = b_.cmp(Op::ult, n, c32(width));
      const Value shifted = b_.inst(inst.op, inst.type, {a, op(Op::and_, n, c32(width - 1))});
      return select(inside, shifted, wide ? b_.i64(0) : c32(0));
    }
    if (!is_constant(n)) {
      const char* name = inst.op == Op::shl    ? "u64_shl"
                         : inst.op == Op::lshr ? "u64_shr"
                                               : "s64_shr";
      return call(name, Type::i64, {a, n});
    }
    const auto c = static_cast<std::uint32_t>(at(n).imm);
    const Pair x = halves(a);
    if (c == 0) return a;
    switch (inst.op) {
      case Op::shl:
        if (c >= 64) return pack(c32(0), c32(0));
        if (c >= 32) return pack(c32(0), c == 32 ? x.lo : op(Op::shl, x.lo, c32(c - 32)));
        return pack(op(Op::shl, x.lo, c32(c)), zero_high(a) ? op(Op::lshr, x.lo, c32(32 - c))
                                                            : op(Op::or_, op(Op::shl, x.hi, c32(c)),
                                                                 op(Op::lshr, x.lo, c32(32 - c))));
      case Op::lshr:
        if (c >= 64) return pack(c32(0), c32(0));
        if (c >= 32) return pack(c == 32 ? x.hi : op(Op::lshr, x.hi, c32(c - 32)), c32(0));
        return pack(op(Op::or_, op(Op::lshr, x.lo, c32(c)), op(Op::shl, x.hi, c32(32 - c))),
                    op(Op::lshr, x.hi, c32(c)));
      default: {
        const Value sign = op(Op::ashr, x.hi, c32(31));
        if (c >= 63) return pack(sign, sign);
        if (c >= 32) return pack(c == 32 ? x.hi : op(Op::ashr, x.hi, c32(c - 32)), sign);
        return pack(op(Op::or_, op(Op::lshr, x.lo, c32(c)), op(Op::shl, x.hi, c32(32 - c))),
                    op(Op::ashr, x.hi, c32(c)));
      }
    }
  }

  Value division(Value v, const Inst& inst, Value a, Value d) {
    const bool is_signed = inst.op == Op::sdiv || inst.op == Op::srem;
    const bool quotient = inst.op == Op::udiv || inst.op == Op::sdiv;
    const bool wide = inst.type == Type::i64;
    const std::uint64_t all = wide ? ~0ull : 0xffffffffull;
    if (wide && zero_high(a) && zero_high(d) && (!is_signed || is_constant(d))) {
      // Both are unsigned 32-bit numbers. By zero, quotient and remainder are all 64 ones.
      if (!is_constant(d) || at(d).imm != 0) {
        const Value narrow = op(quotient ? Op::udiv : Op::urem, low(a), low(d));
        const Value value = native_ ? b_.inst(Op::zext, Type::i64, {narrow}) : pack(narrow, c32(0));
        if (is_constant(d)) return value;
        const Value zero = b_.cmp(Op::eq, low(d), c32(0));
        return select(zero, b_.i64(all), value);
      }
    }
    if (wide && !native_) {
      const char* name =
          is_signed ? (quotient ? "s64_div" : "s64_rem") : (quotient ? "u64_div" : "u64_rem");
      return call(name, Type::i64, {a, d});
    }
    return v;
  }

  Function& f_;
  Module& module_;
  const bool native_;
  std::vector<std::uint64_t> zeros_;
  struct Parts {
    BlockId block = 0;
    Value first = 0, second = 0;  ///< whose low halves are those of the product
  };
  std::map<Factors, Parts> parts_;  ///< of high products
  SsaRewriter rewrite_;
  Builder& b_;
};

}  // namespace

bool legalise_int64(Function& function, Module& module, const Profile& profile) {
  return Int64(function, module, profile.features.int64).run();
}

}  // namespace ptx2spv::passes
