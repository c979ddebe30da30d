// What the device's own float operations do, exactly or as NVIDIA's do.
#include "translator/passes/legalise/legalise_float.hpp"

namespace ptx2spv::passes::floats {

bool FloatLegaliser::is_normal_constant(NumKind kind, Value v) const {
  const Format f = format_of(kind);
  return f_.insts[v].op == Op::constant && (f_.insts[v].imm & f.exponent) != 0;
}

bool FloatLegaliser::native_exact(Op op, NumKind kind, bool ftz, bool against_normal) const {
  if (kind == NumKind::f64) {
    if (!p_.features.float64 || !p_.exactness.exact_float64) return false;
    if (op == Op::fdiv || op == Op::frcp || op == Op::fsqrt) return p_.exactness.exact_div64;
    return op == Op::fadd || op == Op::fmul || op == Op::feq || op == Op::flt || op == Op::fle ||
           (op == Op::ffma && p_.exactness.fused_fma64);
  }
  if (kind != NumKind::f32) return false;
  switch (op) {
    case Op::fadd:
    case Op::fmul: return p_.exactness.denormals32 || ftz;
    case Op::feq:
    case Op::flt:
    case Op::fle: return p_.exactness.exact_compare32 || ftz || against_normal;
    case Op::ffma: return p_.exactness.fused_fma32 && (p_.exactness.fma_denormals32 || ftz);
    case Op::fdiv:
    case Op::frcp: return p_.exactness.exact_div32 && p_.exactness.denormals32;
    case Op::fsqrt: return p_.exactness.exact_sqrt32 && p_.exactness.denormals32;
    default: return false;
  }
}

std::optional<Value> FloatLegaliser::with_constant(Op op, NumKind kind,
                                                   const std::vector<Value>& args) {
  if (op != Op::fadd && op != Op::fmul) return std::nullopt;
  const Format f = format_of(kind);
  for (unsigned i = 0; i < 2; ++i) {
    const Inst& c = f_.insts[args[i]];
    const std::uint64_t magnitude_bits = c.imm & (f.sign - 1);
    if (c.op != Op::constant ||
        (magnitude_bits != 0 && (op != Op::fmul || magnitude_bits != f.one)))
      continue;
    const bool negative = c.imm & f.sign;
    const Value x = args[1 - i];
    // Single precision has one NaN, double precision keeps the operand's.
    const bool wide = kind == NumKind::f64;
    const Value nan = wide ? b_.op2(Op::or_, x, constant(kind, kQuiet64)) : constant(kind, f.nan);
    if (op == Op::fmul && magnitude_bits != 0) {
      const Value product = negative ? b_.op2(Op::xor_, x, constant(kind, f.sign)) : x;
      return b_.select(is_nan(kind, x), nan, product);
    }
    if (op == Op::fmul) {
      Value sign = b_.op2(Op::and_, x, constant(kind, f.sign));
      if (negative) sign = b_.op2(Op::xor_, sign, constant(kind, f.sign));
      const Value magnitude = b_.op2(Op::and_, x, constant(kind, f.sign - 1));
      Value special = nan;
      if (wide)
        special = b_.select(b_.cmp(Op::eq, magnitude, constant(kind, f.exponent)),
                            constant(kind, f.sign | f.exponent | kQuiet64), nan);
      return b_.select(b_.cmp(Op::ult, magnitude, constant(kind, f.exponent)), sign, special);
    }
    const Value sum =
        negative ? x : b_.select(b_.cmp(Op::eq, x, constant(kind, f.sign)), constant(kind, 0), x);
    return b_.select(is_nan(kind, x), nan, sum);
  }
  return std::nullopt;
}

std::optional<Value> FloatLegaliser::chosen(Op op, const std::vector<Value>& args) {
  const bool least = op == Op::fmin;
  if (p_.exactness.exact_min32) {
    const Op own = least ? Op::native_fmin : Op::native_fmax;
    return canonical(NumKind::f32, b_.inst(own, Type::i32, args));
  }
  for (unsigned i = 0; i < 2; ++i) {
    const Value limit = args[i], x = args[1 - i];
    const auto bits = static_cast<std::uint32_t>(f_.insts[limit].imm);
    const bool number = (bits & 0x7fffffffu) <= 0x7f800000u;
    if (f_.insts[limit].op != Op::constant || !number) continue;
    Value within = 0;
    if (bits & 0x7f800000u)
      within = b_.inst(Op::native_flt, Type::i1, {least ? x : limit, least ? limit : x});
    else if (bits == 0 && least)
      within = b_.cmp(Op::ult, b_.op2(Op::xor_, x, b_.i32(0x80000000u)), b_.i32(0x7f800001));
    else if (bits == 0)
      within = b_.cmp(Op::ult, b_.op2(Op::sub, x, b_.i32(1)), b_.i32(0x7f800000));
    else
      continue;
    return b_.select(within, x, limit);
  }
  return std::nullopt;
}

std::optional<Value> FloatLegaliser::compare(const Inst& inst, const std::vector<Value>& args) {
  constexpr std::uint32_t kSign = 0x80000000, kInfinity = 0x7f800000;
  if (inst.fp.kind != NumKind::f32) return std::nullopt;
  const Value a = args[0], b = args[1];
  const auto is_zero = [&](Value v) {
    return f_.insts[v].op == Op::constant && !(f_.insts[v].imm & (kSign - 1));
  };
  // Zero and NaN lie outside.
  const auto from = [&](Value x, std::uint32_t least) {
    return b_.cmp(Op::ult, b_.op2(Op::sub, x, b_.i32(least)), b_.i32(kInfinity));
  };
  if (inst.op == Op::flt && is_zero(b)) return from(a, kSign + 1);
  if (inst.op == Op::flt && is_zero(a)) return from(b, 1);
  if (inst.op == Op::feq && (is_zero(a) || is_zero(b)))
    return b_.cmp(Op::eq, b_.op2(Op::and_, is_zero(a) ? b : a, b_.i32(kSign - 1)), b_.i32(0));
  if (!p_.exactness.denormals32 || !p_.exactness.canonical_nan32) return std::nullopt;
  // No difference but of equal numbers is zero. It is NaN, 0x7fffffff, of infinities that are equal
  // too.
  const auto difference = [&](Value x, Value y) {
    return b_.inst(Op::native_fsub, Type::i32, {x, y});
  };
  const auto and_own = [&](Op op, Value rest) {
    return b_.op2(Op::and_, b_.inst(op, Type::i1, {a, b}), rest);
  };
  switch (inst.op) {
    case Op::flt: return b_.cmp(Op::ult, b_.i32(kSign), difference(a, b));
    // The device's own is wrong of denormals alone.
    case Op::fle: return and_own(Op::native_fle, b_.cmp(Op::ule, difference(b, a), b_.i32(kSign)));
    case Op::feq: {
      const Value twice = b_.op2(Op::shl, difference(a, b), b_.i32(1));
      return and_own(Op::native_feq, b_.cmp(Op::slt, twice, b_.i32(1)));
    }
    default: return std::nullopt;
  }
}

Value FloatLegaliser::native(const Row& row, NumKind kind, const std::vector<Value>& args,
                             Type type) {
  if (row.op == Op::frcp)
    return b_.inst(row.native, type, {constant(kind, format_of(kind).one), args[0]});
  if (row.op == Op::fsqrt && kind == NumKind::f64 && p_.exactness.native_approx &&
      p_.exactness.fused_fma64)
    return double_root(args[0]);
  // GPUs negate an operand for nothing, but compilers do not see the difference in a sum whose
  // zeros have signs to keep.
  if (row.op == Op::fadd && kind == NumKind::f32)
    for (const unsigned i : {1u, 0u})
      if (const auto plain = negated(args[i]))
        return b_.inst(Op::native_fsub, type, {args[1 - i], *plain});
  return b_.inst(row.native, type, args);
}

Value FloatLegaliser::sum_to_odd(Type type, Value x, Value y) {
  const auto op = [&](Op code, Value a, Value b) { return b_.inst(code, type, {a, b}); };
  const auto bits = [&](std::uint64_t value) {
    return type == Type::i64 ? b_.i64(value) : b_.i32(static_cast<std::uint32_t>(value));
  };
  const std::uint64_t magnitude = type == Type::i64 ? ~0ull >> 1 : 0x7fffffffu;
  const Value sum = op(Op::native_fadd, x, y);
  // What the sum lost (Knuth's TwoSum). It is a NaN where the sum is no number, and then not above
  // 0.
  const Value part = op(Op::native_fsub, sum, x);
  const Value lost = op(Op::native_fadd, op(Op::native_fsub, x, op(Op::native_fsub, sum, part)),
                        op(Op::native_fsub, y, part));
  const Value size = b_.op2(Op::and_, lost, bits(magnitude));
  // By its bits where it may be a denormal.
  const Value inexact = type == Type::i64
                            ? b_.inst(Op::native_flt, Type::i1, {bits(0), size})
                            : b_.cmp(Op::ult, b_.op2(Op::sub, size, bits(1)), bits(0x7f7fffff));
  const Value down = b_.cmp(Op::slt, b_.op2(Op::xor_, sum, lost), bits(0));
  const Value toward_zero = b_.op2(Op::add, sum, b_.select(down, bits(~0ull), bits(0)));
  return b_.select(inexact, b_.op2(Op::or_, toward_zero, bits(1)), sum);
}

Value FloatLegaliser::brain_fma(const std::vector<Value>& args) {
  constexpr std::uint32_t kSign = 0x80000000u, kInfinity = 0x7f800000, kOne = 0x3f800000,
                          kQuarter = 0x3e800000, kFour = 0x40800000, kTwo119 = 0x7b000000,
                          kTwoMinus16 = 0x37800000;
  const auto mul = [&](Value a, Value b) { return b_.inst(Op::native_fmul, Type::i32, {a, b}); };
  const auto size = [&](Value a) { return b_.op2(Op::and_, a, b_.i32(~kSign)); };
  const auto is_constant = [&](Value v, std::uint32_t least, std::uint32_t most) {
    const Inst& inst = f_.insts[v];
    const std::uint64_t magnitude = inst.imm & ~kSign;
    return inst.op == Op::constant && magnitude >= least && magnitude <= most;
  };
  const auto a_factor = [&](std::uint32_t least, std::uint32_t most) {
    return is_constant(args[0], least, most) || is_constant(args[1], least, most);
  };
  const Value y = args[1];
  Value x = args[0], z = args[2], back = 0;
  // A product beyond the greatest number counts where the addend can bring the sum back: then all
  // is a quarter. The product is no denormal there that matters.
  if (!is_constant(z, 0, kTwo119 - 1) && !a_factor(0, kOne)) {
    const Value far = b_.cmp(Op::ult, b_.i32(kTwo119 - 1), size(z));
    const Value scale = b_.select(far, b_.i32(kQuarter), b_.i32(kOne));
    back = b_.select(far, b_.i32(kFour), b_.i32(kOne));
    x = mul(x, scale), z = mul(z, scale);
  }
  // A product that vanishes keeps its sign where the addend is +0.
  if (!a_factor(kTwoMinus16, kInfinity) && !is_constant(z, 1, kInfinity) &&
      !(is_constant(z, 0, 0) && f_.insts[z].imm != 0)) {
    const auto is_some = [&](Value a) { return b_.cmp(Op::ne, size(a), b_.i32(0)); };
    const Value some = b_.op2(Op::and_, is_some(x), is_some(y));
    const Value vanishes = b_.op2(Op::and_, some, b_.cmp(Op::eq, z, b_.i32(0)));
    z = b_.select(vanishes, b_.i32(kSign), z);
  }
  const Value product = is_constant(x, 0, 0) || is_constant(y, 0, 0)
                            ? *with_constant(Op::fmul, NumKind::f32, {x, y})
                            : mul(x, y);
  const auto easy = with_constant(Op::fadd, NumKind::f32, {product, z});
  const Value sum = easy ? *easy : sum_to_odd(Type::i32, product, z);
  if (!back) return canonical(NumKind::f32, sum);
  // Beside an infinity every finite product is finite.
  const Value most = b_.op2(Op::umax, size(args[0]), size(y));
  const Value alone = b_.op2(Op::and_, b_.cmp(Op::ult, most, b_.i32(kInfinity)),
                             b_.cmp(Op::ule, b_.i32(kInfinity), size(args[2])));
  return canonical(NumKind::f32, b_.select(alone, args[2], mul(sum, back)));
}

Value FloatLegaliser::fma_by_doubles(const std::vector<Value>& args, bool bounded) {
  const auto wide = [&](Value a) { return fconvert(NumKind::f32, NumKind::f64, a); };
  const Value product = b_.inst(Op::native_fmul, Type::i64, {wide(args[0]), wide(args[1])});
  const Value odd = sum_to_odd(Type::i64, product, wide(args[2]));
  const Value result = fconvert(NumKind::f64, NumKind::f32, odd);
  return bounded ? result : canonical(NumKind::f32, result);
}

std::optional<Value> FloatLegaliser::fma_down(const Inst& inst, const std::vector<Value>& args) {
  if (inst.op != Op::ffma || inst.fp.kind != NumKind::f32 || !p_.exactness.fused_fma32 ||
      !ranges_.shows_remainder(args[0], args[1], args[2]))
    return std::nullopt;
  const bool above_zero = ranges_.of(args[2]).positive;
  if (inst.fp.round != Round::rm && (inst.fp.round != Round::rz || !above_zero))
    return std::nullopt;
  const Value nearest = b_.inst(Op::native_ffma, Type::i32, args);
  const Value by = b_.inst(Op::native_fsub, Type::i32, {args[2], nearest});
  const Value left = b_.inst(Op::native_ffma, Type::i32, {args[0], args[1], by});
  // What is left has a sign of its own, even if it is a denormal that the device takes for zero: it
  // is -0 in no other case.
  const Value went_up = b_.op2(Op::ashr, left, b_.i32(31));
  return b_.op2(above_zero ? Op::add : Op::sub, nearest, went_up);
}

std::optional<Value> FloatLegaliser::approximate_natively(const Inst& inst,
                                                          const std::vector<Value>& args) {
  constexpr std::uint32_t kTwo24 = 0x4b800000, kHalf = 0x3f000000, kTwo12 = 0x45800000,
                          kTwoMinus12 = 0x39800000, kMinus24 = 0xc1c00000, kMinus126 = 0xc2fc0000,
                          kLeast = 0x00800000;
  const auto times = [&](Value a, std::uint32_t factor) {
    return b_.inst(Op::native_fmul, Type::i32, {a, b_.i32(factor)});
  };
  const auto times_if = [&](Value condition, Value a, std::uint32_t factor) {
    return b_.select(condition, times(a, factor), a);
  };
  const auto own = [&](Value a) {
    const Row& row = *find_row(inst.op);
    if (row.native != Op::undef) return native(row, NumKind::f32, {a}, Type::i32);
    const Value result = b_.inst(Op::native_unary, Type::i32, {a}, row.glsl);
    return p_.exactness.native_approx ? result : better_root(a, result);
  };
  // NVIDIA's own take denormals for zeros.
  const bool flushes = inst.fp.ftz && !p_.exactness.native_approx;
  const Value x = flushes ? flush_number(args[0]) : args[0];
  const bool unscaled = inst.fp.ftz || ranges_.of(x).normal();
  const auto denormal = [&] {
    return b_.cmp(Op::ult, b_.op2(Op::and_, x, b_.i32(0x7fffffff)), b_.i32(kLeast));
  };
  switch (inst.op) {
    case Op::fsin:
    case Op::fcos: return own(x);
    case Op::fex2: {
      if (inst.fp.ftz) return own(x);
      const Value low = b_.cmp(Op::ult, b_.i32(kMinus126), x);
      const Value power = own(times_if(low, x, kHalf));
      return b_.select(low, b_.inst(Op::native_fmul, Type::i32, {power, power}), power);
    }
    case Op::flg2: {
      if (unscaled) return own(x);
      const Value low = denormal(), logarithm = own(times_if(low, x, kTwo24));
      const Value less = b_.inst(Op::native_fadd, Type::i32, {logarithm, b_.i32(kMinus24)});
      return b_.select(low, less, logarithm);
    }
    case Op::frsqrt:
    case Op::fsqrt: {
      if (unscaled) return own(x);
      const Value low = denormal();
      return times_if(low, own(times_if(low, x, kTwo24)),
                      inst.op == Op::fsqrt ? kTwoMinus12 : kTwo12);
    }
    default: return std::nullopt;
  }
}

Value FloatLegaliser::approximate_quotient(const Inst& inst, std::vector<Value> args) {
  constexpr std::uint32_t kOne = 0x3f800000, kTwo24 = 0x4b800000, kTwoMinus24 = 0x33800000,
                          kTwo125 = 0x7e000000, kTwo126 = 0x7e800000, kLeast = 0x00800000,
                          kSign = 0x80000000u;
  constexpr int kGrid = 100;  // of multiples that 2^-24 leaves normal
  const auto op = [&](Op o, std::initializer_list<Value> of) { return b_.inst(o, Type::i32, of); };
  if (inst.fp.ftz)
    for (Value& a : args) a = flush_number(a);
  const bool reciprocal = inst.op == Op::frcp;
  const Value y = args.back();
  const FloatRange range = ranges_.of(y);
  const Value magnitude = b_.op2(Op::and_, y, b_.i32(~kSign));
  const auto above = [&](std::uint32_t limit) { return b_.cmp(Op::ult, b_.i32(limit), magnitude); };
  // Both y and 1 / y are to be normal: y is scaled, and the dividend or the result with it.
  const bool far = !range.top || *range.top > 125, low = !inst.fp.ftz && !range.normal();
  Value scale = 0;
  if (far && reciprocal && range.grid && *range.grid <= kGrid)
    scale = b_.i32(kTwoMinus24);
  else if (far)
    scale = b_.select(above(kTwo125), b_.i32(kTwoMinus24), b_.i32(kOne));
  if (low)
    scale = b_.select(b_.cmp(Op::ult, magnitude, b_.i32(kLeast)), b_.i32(kTwo24),
                      scale ? scale : b_.i32(kOne));
  const Value scaled = scale ? op(Op::native_fmul, {y, scale}) : y;
  const Value root =
      b_.inst(Op::native_unary, Type::i32, {b_.op2(Op::and_, scaled, b_.i32(~kSign))},
              find_row(Op::frsqrt)->glsl);
  const Value same = b_.op2(Op::or_, root, b_.op2(Op::and_, y, b_.i32(kSign)));
  const Value estimate = op(Op::native_fmul, {root, same});
  const Value error =
      op(Op::native_ffma, {b_.op2(Op::xor_, scaled, b_.i32(kSign)), estimate, b_.i32(kOne)});
  // Of zeros and infinities the error is no number, and the estimate right.
  const Value inverse = b_.select(is_nan(NumKind::f32, error), estimate,
                                  op(Op::native_ffma, {estimate, error, estimate}));
  Value result = inverse;
  if (!reciprocal) {
    // A divisor above 2^126 has an inverse of zero.
    if (far && inst.fp.round != Round::full) scale = b_.select(above(kTwo126), b_.i32(0), scale);
    result =
        op(Op::native_fmul, {inverse, scale ? op(Op::native_fmul, {args[0], scale}) : args[0]});
  } else if (scale) {
    result = op(Op::native_fmul, {inverse, scale});
  }
  result = canonical(NumKind::f32, result);
  return inst.fp.ftz && (far || !reciprocal) ? flush_number(result) : result;
}

Value FloatLegaliser::double_root(Value number) {
  constexpr std::uint32_t kOneHigh = 0x3ff00000, kSmallHigh = 0x03600000,
                          kInfinityHigh = 0x7ff00000, kBiases = (1023 - 127) << 20,
                          kMiddleLow = 0x80000000;
  constexpr std::uint64_t kOne = 0x3ff0000000000000, kTwo108 = 0x46b0000000000000,
                          kTwoMinus54 = 0x3c90000000000000, kHalf = 0x3fe0000000000000,
                          kThreeEighths = 0x3fd8000000000000, kSign = 0x8000000000000000,
                          kInvalidNan = 0xfff8000000000000;
  const auto op = [&](Op o, std::initializer_list<Value> of) { return b_.inst(o, Type::i64, of); };
  const auto minus = [&](Value a) { return b_.op2(Op::xor_, a, b_.i64(kSign)); };
  const auto shifted = [&](Op o, Value a, std::uint32_t by) { return b_.op2(o, a, b_.i32(by)); };
  const Value number_high = b_.inst(Op::high, Type::i32, {number});
  const Value small = b_.cmp(Op::ult, number_high, b_.i32(kSmallHigh));
  const Value x = op(Op::native_fmul, {number, b_.select(small, b_.i64(kTwo108), b_.i64(kOne))});
  const Value high = b_.inst(Op::high, Type::i32, {x});
  // In the exponent's place: k, with x between 1 and 4 times 4^k.
  const Value k =
      shifted(Op::shl, shifted(Op::ashr, b_.op2(Op::sub, high, b_.i32(kOneHigh)), 21), 20);
  const Value scaled = b_.op2(Op::sub, high, shifted(Op::shl, k, 1));
  const Value single = shifted(Op::shl, b_.op2(Op::sub, scaled, b_.i32(kBiases)), 3);
  const Value root = b_.inst(Op::native_unary, Type::i32, {single}, find_row(Op::frsqrt)->glsl);
  const Value first_high =
      b_.op2(Op::add, shifted(Op::lshr, root, 3), b_.op2(Op::sub, b_.i32(kBiases), k));
  const Value first = b_.inst(Op::pack, Type::i64, {b_.i32(kMiddleLow), first_high});
  const Value error =
      op(Op::native_ffma, {minus(op(Op::native_fmul, {x, first})), first, b_.i64(kOne)});
  const Value by = op(Op::native_ffma, {error, b_.i64(kThreeEighths), b_.i64(kHalf)});
  const Value inverse = op(Op::native_ffma, {by, op(Op::native_fmul, {first, error}), first});
  const Value near = op(Op::native_fmul, {x, inverse});
  const Value rest = op(Op::native_ffma, {minus(near), near, x});
  const Value rounded =
      op(Op::native_ffma, {rest, op(Op::native_fmul, {inverse, b_.i64(kHalf)}), near});
  const Value result =
      op(Op::native_fmul, {rounded, b_.select(small, b_.i64(kTwoMinus54), b_.i64(kOne))});
  // Infinities, NaN, -0 and what is below.
  const Value below = b_.inst(Op::native_flt, Type::i1, {number, b_.i64(0)});
  const Value other = b_.select(below, b_.i64(kInvalidNan), op(Op::native_fadd, {number, number}));
  return b_.select(b_.cmp(Op::ult, number_high, b_.i32(kInfinityHigh)), result, other);
}

Value FloatLegaliser::better_root(Value x, Value y) {
  constexpr std::uint32_t kMinusOne = 0xbf800000, kMinusHalf = 0xbf000000;
  const Value root = b_.inst(Op::native_fmul, Type::i32, {x, y});
  const Value excess = b_.inst(Op::native_ffma, Type::i32, {root, y, b_.i32(kMinusOne)});
  const Value half = b_.inst(Op::native_fmul, Type::i32, {y, b_.i32(kMinusHalf)});
  const Value better = b_.inst(Op::native_ffma, Type::i32, {half, excess, y});
  return canonical(NumKind::f32, b_.select(is_nan(NumKind::f32, excess), y, better));
}

std::optional<Value> FloatLegaliser::negated(Value v) const {
  const Inst& inst = f_.insts[v];
  if (inst.op != Op::xor_) return std::nullopt;
  for (unsigned i = 0; i < 2; ++i) {
    const Inst& c = f_.insts[f_.arg(v, i)];
    if (c.op == Op::constant && c.imm == 0x80000000u) return f_.arg(v, 1 - i);
  }
  return std::nullopt;
}

Value FloatLegaliser::beyond_divisor(const std::vector<Value>& args, Value quotient) {
  const auto magnitude = [&](Value a) { return b_.op2(Op::and_, a, b_.i32(0x7fffffff)); };
  const Value distance = b_.op2(Op::sub, magnitude(args[1]), b_.i32(0x7e800001));
  const Value beyond = b_.cmp(Op::ult, distance, b_.i32(0x7f800000 - 0x7e800001));
  const Value sign = b_.op2(Op::and_, b_.op2(Op::xor_, args[0], args[1]), b_.i32(0x80000000u));
  const Value finite = b_.cmp(Op::ult, magnitude(args[0]), b_.i32(0x7f800000));
  return b_.select(beyond, b_.select(finite, sign, b_.i32(0x7fffffff)), quotient);
}

}  // namespace ptx2spv::passes::floats
