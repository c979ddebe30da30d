// The walk over a function's float operations, and which way each goes.
#include <fmt/format.h>

#include "translator/ir/double_signs.hpp"
#include "translator/ir/names.hpp"
#include "translator/passes/legalise/legalise_float.hpp"
#include "translator/passes/legalise/nan_uses.hpp"

namespace ptx2spv::passes::floats {

bool FloatLegaliser::run() {
  find_flushed();
  for (const Block& block : f_.blocks)
    for (const Value v : block.insts) {
      const Inst& inst = f_.insts[v];
      if (!known_ && is_within(inst.op, Op::fadd, Op::ffma) && inst.fp.kind == NumKind::f64)
        known_.emplace(f_), observed_ = observed_nans(f_);
    }
  return rewrite_.run([&](Value v) {
    nan_is_observed_ = v < observed_.size() && observed_[v];
    const Inst inst = f_.insts[v];
    const bool semantic = inst.op == Op::fcvt || inst.op == Op::funord || find_row(inst.op);
    if (!semantic) {
      if (const auto word = word_of_halves(v)) return *word;
      ranges_.follow(v);
      follow_nan(v);
      return v;
    }
    std::vector<Value> args(f_.args(v).begin(), f_.args(v).end());
    if (inst.op == Op::fcvt) {
      const Value result = convert(inst, args[0]);
      ranges_.follow(v);
      ranges_.set(result, ranges_.of(v));
      if (inst.fp.to == NumKind::f64 && !is_float(inst.fp.kind))
        nans_[result] = {.of = 0, .finite = true};
      return result;
    }
    if (inst.op == Op::funord)
      return b_.op2(Op::or_, is_nan(inst.fp.kind, args[0]), is_nan(inst.fp.kind, args[1]));
    const Value result = arithmetic(inst, args);
    if (is_flushed(v)) set_flushed(result);
    return result;
  });
}

Value FloatLegaliser::is_nan(NumKind kind, Value a) {
  const Format f = format_of(kind);
  return b_.cmp(Op::ult, constant(kind, f.exponent),
                b_.op2(Op::and_, a, constant(kind, f.sign - 1)));
}

Value FloatLegaliser::saturate(NumKind kind, Value a) {
  if (kind == NumKind::f32 && p_.exactness.exact_min32) {
    const Value low = b_.op2(Op::native_fmax, a, b_.i32(0));
    return b_.op2(Op::native_fmin, low, constant(kind, format_of(kind).one));
  }
  const Format f = format_of(kind);
  const Value low = b_.cmp(Op::ult, constant(kind, f.exponent), a);
  return b_.select(low, constant(kind, 0), b_.op2(Op::umin, a, constant(kind, f.one)));
}

Value FloatLegaliser::canonical(NumKind kind, Value a) {
  if (kind != NumKind::f32 || p_.exactness.canonical_nan32) return a;
  return only_nan(kind, a);
}

Value FloatLegaliser::only_nan(NumKind kind, Value a) {
  return b_.select(is_nan(kind, a), constant(kind, format_of(kind).nan), a);
}

std::optional<std::uint32_t> FloatLegaliser::exponent(Value high) const {
  constexpr std::uint32_t kMantissaBits = 20, kField = 0x7ff;
  const Inst& inst = f_.insts[high];
  const auto field = [](std::uint64_t word) {
    return static_cast<std::uint32_t>(word) >> kMantissaBits & kField;
  };
  if (inst.op == Op::constant) return field(inst.imm);
  if (inst.op != Op::or_ && inst.op != Op::add) return std::nullopt;
  const Value a = f_.arg(high, 0);
  const Inst& by = f_.insts[f_.arg(high, 1)];
  if (by.op != Op::constant) return std::nullopt;
  if (inst.op == Op::or_)
    return field(known_->zeros(a)) == kField ? std::optional(field(by.imm)) : std::nullopt;
  if (by.imm & ((1u << kMantissaBits) - 1)) return std::nullopt;
  const auto of = exponent(a);
  return of ? std::optional((*of + field(by.imm)) & kField) : std::nullopt;
}

bool FloatLegaliser::is_finite(Value a) const {
  const Format f = format_of(NumKind::f64);
  const Inst& inst = f_.insts[a];
  if (inst.op == Op::constant) return (inst.imm & f.exponent) != f.exponent;
  if (!known_) return false;
  if (known_->zeros(a) & f.exponent) return true;
  const auto shown = inst.op == Op::pack ? exponent(f_.arg(a, 1)) : std::nullopt;
  return shown && *shown != f.exponent >> 52;
}

FloatLegaliser::Nan FloatLegaliser::nan_of(Value a) const {
  const auto found = nans_.find(a);
  if (found != nans_.end()) return found->second;
  if (is_finite(a)) return {.of = 0, .finite = true};
  const Format f = format_of(NumKind::f64);
  const bool infinite = f_.insts[a].op == Op::constant && (f_.insts[a].imm & ~f.sign) == f.exponent;
  return {.of = infinite ? 0 : a, .quiet = infinite};
}

void FloatLegaliser::follow_nan(Value v) {
  const Inst& inst = f_.insts[v];
  if (!known_ || inst.type != Type::i64 || (inst.op != Op::select && inst.op != Op::phi)) return;
  if (const DoubleSign sign = double_sign(f_, v); sign.changed) {
    Nan nan = nan_of(sign.of);
    nan.quiet = nan.quiet || sign.quiet;
    nans_[v] = nan;
    return;
  }
  const unsigned first = inst.op == Op::select ? 1 : 0;
  Nan nan = nan_of(f_.arg(v, first));
  for (unsigned i = first + 1; i < inst.count; ++i) {
    const Nan next = nan_of(f_.arg(v, i));
    if (next.of != nan.of) return;
    nan.quiet = nan.quiet && next.quiet;
    nan.finite = nan.finite && next.finite;
  }
  nans_[v] = nan;
}

FloatLegaliser::Nan FloatLegaliser::nan_of_operation(const Inst& inst,
                                                     const std::vector<Value>& args,
                                                     Value result) const {
  if (inst.op == Op::frcp) return {.of = nan_of(args[0]).of ? result : 0};
  const bool is_root = inst.op == Op::fsqrt, is_quotient = inst.op == Op::fdiv;
  if (!is_within(inst.op, Op::fadd, Op::ffma) && !is_root && !is_quotient) return {.of = result};
  Value of = 0;
  for (const Value a : args) {
    const Value next = nan_of(a).of;
    if (of && next && next != of) return {.of = result};
    if (next) of = next;
  }
  if (of || is_root) return {.of = of ? of : kInvalid};
  // An infinity less another, or by zero, is invalid.
  const auto finite = [&](unsigned i) { return nan_of(args[i]).finite; };
  const auto nonzero = [&](unsigned i) {
    return finite(i) && f_.insts[args[i]].op == Op::constant && f_.insts[args[i]].imm << 1 != 0;
  };
  if (inst.op == Op::fadd) return {.of = finite(0) || finite(1) ? 0 : kInvalid};
  const bool finite_factors = !is_quotient && finite(0) && finite(1);
  const bool valid = finite_factors || nonzero(0) || nonzero(1);
  // Of finite factors the product within an fma is finite.
  const bool sums = inst.op != Op::ffma || finite(2) || finite_factors;
  return {.of = valid && sums ? 0 : kInvalid};
}

/// Of several NaN the hardware's f64 sum and product keep the second, and an fma that of the second
/// factor, then the addend's. Processors keep the first. NVIDIA's driver swaps the factors of an
/// fma where ptxas does, but matrix instructions have an order.
Value FloatLegaliser::choose_nan(const Inst& inst, const std::vector<Value>& args, Value result) {
  const bool fma = inst.op == Op::ffma;
  if (p_.exactness.second_nan64 || !nan_is_observed_ ||
      (!fma && inst.op != Op::fadd && inst.op != Op::fmul) ||
      (fma && p_.exactness.canonical_nan32 && !inst.fp.nan))
    return result;
  const Value first = nan_of(args[0]).of, second = nan_of(args[1]).of;
  const Value addend = fma ? nan_of(args[2]).of : 0;
  const auto prefer = [&](Value a) {
    if (nan_of(a).quiet) {
      const Value top = b_.op2(Op::and_, b_.inst(Op::high, Type::i32, {a}), b_.i32(0x7fffffff));
      result = b_.select(b_.cmp(Op::ult, b_.i32(kInfinity64High), top), a, result);
      return;
    }
    const Value quiet = b_.op2(Op::or_, a, b_.i64(kQuiet64));
    result = b_.select(is_nan(NumKind::f64, a), quiet, result);
  };
  // Some processors have no NaN of infinity * 0 + NaN but their own.
  if (addend && addend != (first ? first : second ? second : kInvalid)) prefer(args[2]);
  if (second && ((first && first != second) || (addend && addend != second))) prefer(args[1]);
  return result;
}

FloatLegaliser::Known FloatLegaliser::know(const Inst& inst, const std::vector<Value>& args) const {
  Known k;
  if (inst.fp.kind != NumKind::f32) return k;
  const auto of = [&](unsigned i) { return ranges_.of(args[i]); };
  const auto small = [](const FloatRange& b) { return b.finite() && *b.top <= 126; };
  if (inst.type == Type::i32) k.result = ranges_.of_operation(inst, args);
  // A factor that is a denormal is lost, however large the product is.
  const auto product = [&] {
    const bool normal = (of(0).normal() && of(1).normal()) || of(0).zero() || of(1).zero();
    return normal ? FloatRange::product(of(0), of(1)) : FloatRange{};
  };
  switch (inst.op) {
    case Op::feq:
    case Op::flt:
    case Op::fle: k.native = of(0).normal() && of(1).normal(); break;
    case Op::fadd:
      k.native = (of(0).normal() && of(1).normal()) || ranges_.sum_with_constant(args[0], args[1]);
      break;
    case Op::fmul: k.native = product().normal(); break;
    case Op::ffma: {
      const bool normal = product().normal() && of(2).normal();
      k.bounded = normal && small(product()) && small(of(2));
      k.native = p_.exactness.fused_fma32 &&
                 (normal || ranges_.fma_with_constants(args[0], args[1], args[2]) ||
                  ranges_.fma_with_factor(args[0], args[1], args[2]));
      break;
    }
    default: break;
  }
  return k;
}

Value FloatLegaliser::arithmetic(const Inst& inst, std::vector<Value> args) {
  const Known known = know(inst, args);
  const Value result = arithmetic(inst, args, known);
  if (inst.fp.kind == NumKind::f64 && is_within(inst.op, Op::fadd, Op::fsqrt))
    nans_[result] = nan_of_operation(inst, args, result);
  if (inst.fp.kind == NumKind::f32 && inst.type == Type::i32) ranges_.set(result, known.result);
  return result;
}

Value FloatLegaliser::arithmetic(const Inst& inst, std::vector<Value> args, const Known& known) {
  const Row& row = *find_row(inst.op);
  const NumKind kind = inst.fp.kind;
  const bool compares = inst.type == Type::i1;
  if (kind == NumKind::f16 || kind == NumKind::bf16) return half(inst, row, args);
  const bool approximates =
      p_.exactness.native_approx || (p_.exactness.fused_fma32 && inst.op == Op::frsqrt);
  if (!fast_ && kind == NumKind::f32 && approximates && is_approximate(inst.fp.round))
    if (const auto own = approximate_natively(inst, args))
      return inst.fp.sat ? saturate(kind, *own) : *own;
  const bool quotient_or_root = inst.op == Op::fdiv || inst.op == Op::frcp || inst.op == Op::fsqrt;
  if (!fast_ && kind == NumKind::f32 && quotient_or_root && is_approximate(inst.fp.round)) {
    if (by_root(inst.op)) {
      const Value result = approximate_quotient(inst, args);
      return inst.fp.sat ? saturate(kind, result) : result;
    }
    // Exact is within every bound.
    Inst rounded = inst;
    rounded.fp.round = Round::rn;
    const Value result = arithmetic(rounded, args, known);
    if (inst.op != Op::fdiv || inst.fp.round == Round::full) return result;
    if (inst.fp.ftz)
      for (Value& a : args) a = flush(kind, a);
    return beyond_divisor(args, result);
  }
  const bool approximate = row.rounded && is_approximate(inst.fp.round);
  const bool nearest = !row.rounded || inst.fp.round == Round::rn || inst.fp.round == Round::none;
  Value result = 0;
  if (native_fast(kind) && (nearest || approximate) && row.native != Op::undef) {
    result = native(row, kind, args, inst.type);
    return inst.fp.sat ? saturate(kind, result) : result;
  }
  if (native_fast(kind) && kind == NumKind::f32 && row.glsl != kNoNative) {
    result = b_.inst(Op::native_unary, Type::i32, args, row.glsl);
    return inst.fp.sat ? saturate(kind, result) : result;
  }
  const bool against_normal =
      compares && (is_normal_constant(kind, args[0]) || is_normal_constant(kind, args[1]));
  const bool fuses = inst.op == Op::ffma && kind == NumKind::f32 && nearest &&
                     !p_.exactness.fused_fma32 && !native_exact(inst.op, kind, inst.fp.ftz, false);
  const bool bounded = known.bounded || inst.fp.checked;
  if (fuses && (bounded || (by_doubles() && !inst.fp.ftz))) {
    result =
        by_doubles() ? fma_by_doubles(args, bounded) : call("f32_fma_rn_bounded", Type::i32, args);
    return inst.fp.sat ? saturate(kind, result) : result;
  }
  if (const auto down = fma_down(inst, args)) return inst.fp.sat ? saturate(kind, *down) : *down;
  const bool use_native =
      nearest && row.native != Op::undef &&
      (known.native || inst.fp.checked || native_exact(inst.op, kind, inst.fp.ftz, against_normal));
  const bool flush_here = inst.fp.ftz && kind == NumKind::f32 && !(use_native && device_flushes());
  if (flush_here)
    for (Value& a : args) a = use_native ? flush_number(a) : flush(kind, a);
  if (flush_here && row.rounded && !approximate) {
    if (const auto flushed = flushing(inst, row, args, use_native))
      return inst.fp.sat ? saturate(kind, *flushed) : *flushed;
  }
  // What needs no arithmetic is not flushed by the device.
  std::vector<Value> operands = args;
  if (kind == NumKind::f32 && inst.fp.ftz && !flush_here && with_constant(inst.op, kind, args))
    for (Value& a : operands) a = flush(kind, a);
  const auto easy = nearest && (kind == NumKind::f32 || kind == NumKind::f64)
                        ? with_constant(inst.op, kind, operands)
                        : std::nullopt;
  const bool chooses = inst.op == Op::fmin || inst.op == Op::fmax;
  const auto limit =
      chooses && kind == NumKind::f32 && !inst.fp.nan ? chosen(inst.op, args) : std::nullopt;
  if (const auto compared = compares && !use_native ? compare(inst, args) : std::nullopt)
    return *compared;
  if (easy || limit) {
    result = easy ? *easy : *limit;
  } else if (use_native) {
    result = native(row, kind, args, inst.type);
    if (!compares && !known.result.finite()) result = canonical(kind, result);
    if (kind == NumKind::f64) result = choose_nan(inst, args, result);
  } else {
    if (inst.op == Op::fadd && kind == NumKind::f64) std::swap(args[0], args[1]);
    result = call(routine(row, inst.fp), inst.type, args);
  }
  if (compares) return result;
  if (flush_here && row.rounded) result = use_native ? flush_number(result) : flush(kind, result);
  return inst.fp.sat ? saturate(kind, result) : result;
}

std::string FloatLegaliser::library_name(const Row& row, const FpAttr& fp) {
  std::string text = fmt::format("{}_{}", name(fp.kind), row.stem);
  if (row.rounded) text += fmt::format("_{}", name(fp.round == Round::none ? Round::rn : fp.round));
  if (!row.rounded && fp.nan) text += "_nan";
  return text;
}

std::string FloatLegaliser::routine(const Row& row, const FpAttr& fp) const {
  std::string text = library_name(row, fp);
  const bool nearest = fp.round == Round::rn || fp.round == Round::none;
  const bool quotient_or_root = row.op == Op::fdiv || row.op == Op::frcp || row.op == Op::fsqrt;
  if (!nearest || fp.kind != NumKind::f32) return text;
  if (row.op == Op::ffma && p_.exactness.fused_fma32) return text + "_fused";
  if (!quotient_or_root) return text;
  if (row.op == Op::fsqrt ? p_.exactness.exact_sqrt32 : p_.exactness.exact_div32)
    return text + "_scaled";
  return p_.exactness.fused_fma32 ? text + "_fused" : text;
}

Value FloatLegaliser::half(const Inst& inst, const Row& row, std::vector<Value> args) {
  const NumKind kind = inst.fp.kind;
  if (const auto two = two_halves(inst)) {
    const Value own = native_half(inst, *two, args);
    return inst.fp.sat ? saturate(kind, own) : own;
  }
  if (inst.fp.ftz)
    for (Value& a : args) a = flush(kind, a);
  const bool chosen = row.op == Op::fmin || row.op == Op::fmax;
  if (kind == NumKind::f16 && chosen) return extreme_half(inst, args);
  Value result, exact;
  if (inst.op == Op::ffma) {
    // Rounded to odd in single precision first, so that the second rounding sees what the first
    // one dropped. Products of f16 are exact there, and multiples of 2^-48.
    constexpr std::uint32_t kRoundOdd = 4;
    for (Value& a : args) a = widen(kind, a);
    if (kind == NumKind::f16) {
      const Value product = b_.inst(Op::native_fmul, Type::i32, {args[0], args[1]});
      exact = only_nan(NumKind::f32, sum_to_odd(Type::i32, product, args[2]));
    } else if (native_exact(Op::fadd, NumKind::f32, false, false)) {
      exact = brain_fma(args);
    } else {
      args.push_back(b_.i32(kRoundOdd));
      exact = call("f32_fma_mode", Type::i32, args);
    }
    result = call(fmt::format("{}_from_f32_{}", name(kind), rounding(inst.fp.round)), Type::i32,
                  {exact});
  } else {
    for (Value& a : args) a = widen(kind, a);
    Inst single = inst;
    single.fp.kind = NumKind::f32;
    single.fp.ftz = single.fp.sat = false;
    // Half-precision values and their sums and products are no single-precision denormals.
    single.fp.ftz = kind == NumKind::f16 && device_flushes();
    single.fp.checked = kind == NumKind::f16 && inst.type == Type::i1;
    result = exact = arithmetic(single, args);
    if (inst.type == Type::i1) return result;
    if (kind == NumKind::bf16 && chosen)
      result = b_.op2(Op::lshr, result, b_.i32(16));
    else
      result = call(fmt::format("{}_from_f32_rn", name(kind)), Type::i32, {result});
  }
  if (inst.fp.ftz && kind == NumKind::f16) {
    // Flushed is what eleven bits and more exponents would round to less than the least normal.
    const Value magnitude = b_.op2(Op::and_, exact, b_.i32(0x7fffffff));
    const Value tiny = b_.cmp(Op::ult, magnitude, b_.i32(0x387ff000));
    result = b_.select(tiny, b_.op2(Op::and_, result, b_.i32(0x8000)), result);
  } else if (inst.fp.ftz) {
    result = flush(kind, result);
  }
  return inst.fp.sat ? saturate(kind, result) : result;
}

Value FloatLegaliser::widen(NumKind kind, Value a) {
  if (kind == NumKind::bf16) {
    const Inst& inst = f_.insts[a];
    if (inst.op == Op::constant) return b_.i32(static_cast<std::uint32_t>(inst.imm) << 16);
    return b_.op2(Op::shl, a, b_.i32(16));
  }
  if (kind != NumKind::f16) return a;
  return p_.exactness.exact_widen16 ? b_.inst(Op::native_widen16, Type::i32, {a})
                                    : call("f32_from_f16", Type::i32, {a});
}

}  // namespace ptx2spv::passes::floats

namespace ptx2spv::passes {

bool legalise_float(Function& function, Module& module, const FloatOptions& options) {
  return floats::FloatLegaliser(function, module, options).run();
}

}  // namespace ptx2spv::passes
