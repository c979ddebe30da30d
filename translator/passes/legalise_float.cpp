// PTX's floating point to what the device does exactly, and to library functions for the rest. A
// library function's name is made of the format, the operation and the rounding: f32_add_rz,
// f64_from_s64_rn, f32_to_u32_rzi, f32_round_rni; the rows below say which parts an operation has.
#include <optional>

#include <fmt/format.h>

#include "translator/ir/names.hpp"
#include "translator/passes/float_bounds.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/rewrite.hpp"

namespace ptx2spv::passes {

using namespace ir;

namespace {

constexpr std::uint64_t kNoNative = 0;
constexpr std::uint64_t kQuiet64 = 0x0008000000000000ull;

/// One operation: its name in the library, the native operation for round to nearest even, and the
/// GLSL.std.450 instruction that `fast` takes for the approximate form.
struct Row {
  Op op;
  std::string_view stem;
  bool rounded;
  Op native;
  std::uint64_t glsl;
};
constexpr Row kRows[] = {
    {Op::fadd, "add", true, Op::native_fadd, kNoNative},
    {Op::fmul, "mul", true, Op::native_fmul, kNoNative},
    {Op::ffma, "fma", true, Op::native_ffma, kNoNative},
    {Op::fdiv, "div", true, Op::native_fdiv, kNoNative},
    {Op::frcp, "rcp", true, Op::native_fdiv, kNoNative},
    {Op::fsqrt, "sqrt", true, Op::native_fsqrt, kNoNative},
    {Op::frsqrt, "rsqrt", true, Op::undef, 32},
    {Op::fex2, "ex2", true, Op::undef, 29},
    {Op::flg2, "lg2", true, Op::undef, 30},
    {Op::fsin, "sin", true, Op::undef, 13},
    {Op::fcos, "cos", true, Op::undef, 14},
    {Op::ftanh, "tanh", true, Op::undef, 21},
    {Op::fmin, "min", false, Op::undef, kNoNative},
    {Op::fmax, "max", false, Op::undef, kNoNative},
    {Op::feq, "eq", false, Op::native_feq, kNoNative},
    {Op::flt, "lt", false, Op::native_flt, kNoNative},
    {Op::fle, "le", false, Op::native_fle, kNoNative},
};

const Row* find_row(Op op) {
  for (const Row& row : kRows)
    if (row.op == op) return &row;
  return nullptr;
}

/// A float format in its bits: sign, exponent field, one, and whether it lives in an i64.
struct Format {
  std::uint64_t sign, exponent, one, nan;
  Type type;
};
Format format_of(NumKind kind) {
  switch (kind) {
    case NumKind::f64:
      return {1ull << 63, 0x7ff0000000000000ull, 0x3ff0000000000000ull, 0x7fffffffffffffffull,
              Type::i64};
    case NumKind::f16: return {0x8000, 0x7c00, 0x3c00, 0x7fff, Type::i32};
    case NumKind::bf16: return {0x8000, 0x7f80, 0x3f80, 0x7fff, Type::i32};
    default: return {0x80000000u, 0x7f800000u, 0x3f800000u, 0x7fffffffu, Type::i32};
  }
}

bool is_float(NumKind k) { return k >= NumKind::f16; }
bool is_signed(NumKind k) {
  return k == NumKind::s8 || k == NumKind::s16 || k == NumKind::s32 || k == NumKind::s64;
}
bool is_wide(NumKind k) { return k == NumKind::u64 || k == NumKind::s64 || k == NumKind::f64; }
bool to_integral(Round r) {
  return r == Round::rni || r == Round::rzi || r == Round::rmi || r == Round::rpi;
}
bool is_approximate(Round r) { return r == Round::approx || r == Round::full; }
Type type_of(NumKind k) { return is_wide(k) ? Type::i64 : Type::i32; }

class Legaliser {
 public:
  Legaliser(Function& f, Module& module, const FloatOptions& options)
      : f_(f),
        module_(module),
        p_(options.profile),
        fast_(options.fp == FpPolicy::fast),
        rewrite_(f),
        b_(rewrite_.builder()),
        ranges_(f) {}

  bool run() {
    return rewrite_.run([&](Value v) {
      const Inst inst = f_.insts[v];
      const bool semantic = inst.op == Op::fcvt || inst.op == Op::funord || find_row(inst.op);
      if (!semantic) {
        ranges_.follow(v);
        return v;
      }
      std::vector<Value> args(f_.args(v).begin(), f_.args(v).end());
      if (inst.op == Op::fcvt) {
        const Value result = convert(inst, args[0]);
        note_conversion(inst.fp, args[0], result);
        return result;
      }
      if (inst.op == Op::funord)
        return b_.op2(Op::or_, is_nan(inst.fp.kind, args[0]), is_nan(inst.fp.kind, args[1]));
      return arithmetic(inst, args);
    });
  }

 private:
  Value constant(NumKind kind, std::uint64_t bits) {
    return is_wide(kind) ? b_.i64(bits) : b_.i32(static_cast<std::uint32_t>(bits));
  }
  Value call(std::string_view name, Type type, std::initializer_list<Value> args) {
    return b_.inst(Op::library, type, args, module_.library(name));
  }
  Value call(std::string_view name, Type type, const std::vector<Value>& args) {
    return b_.inst(Op::library, type, args, module_.library(name));
  }

  Value is_nan(NumKind kind, Value a) {
    const Format f = format_of(kind);
    return b_.cmp(Op::ult, constant(kind, f.exponent),
                  b_.op2(Op::and_, a, constant(kind, f.sign - 1)));
  }
  Value flush(NumKind kind, Value a) {
    const Format f = format_of(kind);
    // A constant stays one, for with_constant.
    if (const Inst& c = f_.insts[a]; c.op == Op::constant)
      return c.imm & f.exponent ? a : constant(kind, c.imm & f.sign);
    const Value small =
        b_.cmp(Op::eq, b_.op2(Op::and_, a, constant(kind, f.exponent)), constant(kind, 0));
    return b_.select(small, b_.op2(Op::and_, a, constant(kind, f.sign)), a);
  }
  // Everything above +infinity, as an unsigned number, is negative or NaN, and both saturate to +0.
  Value saturate(NumKind kind, Value a) {
    const Format f = format_of(kind);
    const Value low = b_.cmp(Op::ult, constant(kind, f.exponent), a);
    return b_.select(low, constant(kind, 0), b_.op2(Op::umin, a, constant(kind, f.one)));
  }
  // The CPUs' NaNs carry sign and payload, PTX's single precision gives one NaN only. The device
  // whose fma is fused in single precision is NVIDIA's, which does so by itself.
  Value canonical(NumKind kind, Value a) {
    if (kind != NumKind::f32 || (p_.fused_fma32 && p_.denormals32)) return a;
    return only_nan(kind, a);
  }
  Value only_nan(NumKind kind, Value a) {
    return b_.select(is_nan(kind, a), constant(kind, format_of(kind).nan), a);
  }
  bool device_flushes() const { return p_.name == "swiftshader"; }

  // A comparison with a normal number comes out the same where the device takes denormals for zero.
  bool is_normal_constant(NumKind kind, Value v) const {
    const Format f = format_of(kind);
    return f_.insts[v].op == Op::constant && (f_.insts[v].imm & f.exponent) != 0;
  }

  bool native_exact(Op op, NumKind kind, bool ftz, bool against_normal) const {
    if (kind == NumKind::f64) {
      if (!p_.float64 || !p_.exact_float64) return false;
      if (op == Op::fdiv || op == Op::frcp || op == Op::fsqrt) return p_.exact_div64;
      return op == Op::fadd || op == Op::fmul || op == Op::feq || op == Op::flt || op == Op::fle ||
             (op == Op::ffma && p_.fused_fma64);
    }
    if (kind != NumKind::f32) return false;
    switch (op) {
      case Op::fadd:
      case Op::fmul: return p_.denormals32 || ftz;
      case Op::feq:
      case Op::flt:
      case Op::fle: return p_.exact_compare32 || ftz || against_normal;
      case Op::ffma: return p_.fused_fma32;
      case Op::fdiv:
      case Op::frcp: return p_.exact_div32 && p_.denormals32;
      case Op::fsqrt: return p_.exact_sqrt32 && p_.denormals32;
      default: return false;
    }
  }
  bool native_fast(NumKind kind) const {
    return fast_ && (kind == NumKind::f32 || (kind == NumKind::f64 && p_.float64));
  }

  // Drivers fold x + 0 and x * 0 and lose the sign of zero; and these need no arithmetic at all.
  std::optional<Value> with_constant(Op op, NumKind kind, const std::vector<Value>& args) {
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

  Value native(const Row& row, NumKind kind, const std::vector<Value>& args, Type type) {
    if (row.op == Op::frcp)
      return b_.inst(row.native, type, {constant(kind, format_of(kind).one), args[0]});
    // GPUs negate an operand for nothing, but NVIDIA's compiler does not see the difference in a
    // sum whose zeros have signs to keep.
    if (row.op == Op::fadd && kind == NumKind::f32)
      for (const unsigned i : {1u, 0u})
        if (const auto plain = negated(args[i]))
          return b_.inst(Op::native_fsub, type, {args[1 - i], *plain});
    return b_.inst(row.native, type, args);
  }
  // A product of single-precision numbers is exact in double precision, which leaves their sum
  // with the addend to be rounded to odd (Boldo and Melquiond): to its other neighbour where it was
  // rounded and came out even. The conversion then rounds as if once, to denormals too.
  bool by_doubles() const {
    return p_.float64 && p_.exact_float64 && p_.exact_convert64 && p_.int64;
  }
  Value fma_by_doubles(const std::vector<Value>& args, bool bounded) {
    const auto wide = [&](Value a) { return fconvert(NumKind::f32, NumKind::f64, a); };
    const auto op = [&](Op code, Value a, Value b) { return b_.inst(code, Type::i64, {a, b}); };
    const Value product = op(Op::native_fmul, wide(args[0]), wide(args[1]));
    const Value addend = wide(args[2]);
    const Value sum = op(Op::native_fadd, product, addend);
    // What the sum lost (Knuth's TwoSum).
    const Value part = op(Op::native_fsub, sum, product);
    const Value lost =
        op(Op::native_fadd, op(Op::native_fsub, product, op(Op::native_fsub, sum, part)),
           op(Op::native_fsub, addend, part));
    const Value inexact =
        b_.inst(Op::native_flt, Type::i1,
                {b_.i64(0), b_.op2(Op::and_, lost, b_.i64(0x7fffffffffffffffull))});
    const Value even = b_.cmp(Op::eq, b_.op2(Op::and_, sum, b_.i64(1)), b_.i64(0));
    const Value down = b_.cmp(Op::slt, b_.op2(Op::xor_, sum, lost), b_.i64(0));
    const Value step = b_.select(down, b_.i64(~0ull), b_.i64(1));
    const Value odd =
        b_.op2(Op::add, sum, b_.select(b_.op2(Op::and_, inexact, even), step, b_.i64(0)));
    const Value result = fconvert(NumKind::f64, NumKind::f32, odd);
    return bounded ? result : canonical(NumKind::f32, result);
  }
  /// What a sign change changes, in single precision.
  std::optional<Value> negated(Value v) const {
    const Inst& inst = f_.insts[v];
    if (inst.op != Op::xor_) return std::nullopt;
    for (unsigned i = 0; i < 2; ++i) {
      const Inst& c = f_.insts[f_.arg(v, i)];
      if (c.op == Op::constant && c.imm == 0x80000000u) return f_.arg(v, 1 - i);
    }
    return std::nullopt;
  }

  /// What the operands say of a sum, a product or both, in single precision.
  struct Known {
    FloatBounds result;
    bool native = false;   ///< as by a device that keeps denormals
    bool bounded = false;  ///< no denormal, overflow or NaN anywhere within
  };
  Known know(const Inst& inst, const std::vector<Value>& args) const {
    Known k;
    if (inst.fp.kind != NumKind::f32 || inst.type != Type::i32) return k;
    const auto of = [&](unsigned i) { return ranges_.of(args[i]); };
    const auto small = [](const FloatBounds& b) { return b.finite() && *b.top <= 126; };
    switch (inst.op) {
      case Op::fadd: {
        k.result = FloatBounds::sum(of(0), of(1));
        k.native = of(0).normal() && of(1).normal();
        if (k.native) break;
        if (const auto with_one = ranges_.sum_with_constant(args[0], args[1])) {
          k.native = true;
          k.result = *with_one;
        }
        break;
      }
      case Op::fmul:
        k.result = FloatBounds::product(of(0), of(1));
        k.native = k.result.normal();
        break;
      case Op::ffma: {
        const FloatBounds product = FloatBounds::product(of(0), of(1));
        k.result = FloatBounds::sum(product, of(2));
        k.bounded = product.normal() && of(2).normal() && small(product) && small(of(2));
        break;
      }
      case Op::fmin:
      case Op::fmax: k.result = FloatBounds::either(of(0), of(1)); break;
      default: break;
    }
    if (inst.fp.sat) k.result.top = 1;
    return k;
  }
  void note_conversion(const FpAttr& fp, Value from, Value result) {
    if (fp.to != NumKind::f32) return;
    if (!is_float(fp.kind))
      ranges_.set(result, FloatBounds::integer(is_wide(fp.kind) ? 64 : 32));
    else if (fp.kind == NumKind::f16)
      ranges_.set(result, {.grid = 24, .top = std::nullopt});
    else if (fp.kind == NumKind::f32 && to_integral(fp.round))
      ranges_.set(result, FloatBounds::sum({.grid = 0, .top = 1},
                                           {.grid = 0, .top = ranges_.of(from).top}));
  }

  Value arithmetic(const Inst& inst, std::vector<Value> args) {
    const Known known = know(inst, args);
    const Value result = arithmetic(inst, std::move(args), known);
    if (inst.fp.kind == NumKind::f32 && inst.type == Type::i32) ranges_.set(result, known.result);
    return result;
  }

  // Of an approximate quotient the manual says: a divisor above 2^126 gives 0, or NaN for an
  // infinite dividend.
  Value beyond_divisor(const std::vector<Value>& args, Value quotient) {
    const auto magnitude = [&](Value a) { return b_.op2(Op::and_, a, b_.i32(0x7fffffff)); };
    const Value distance = b_.op2(Op::sub, magnitude(args[1]), b_.i32(0x7e800001));
    const Value beyond = b_.cmp(Op::ult, distance, b_.i32(0x7f800000 - 0x7e800001));
    const Value sign = b_.op2(Op::and_, b_.op2(Op::xor_, args[0], args[1]), b_.i32(0x80000000u));
    const Value finite = b_.cmp(Op::ult, magnitude(args[0]), b_.i32(0x7f800000));
    return b_.select(beyond, b_.select(finite, sign, b_.i32(0x7fffffff)), quotient);
  }

  Value arithmetic(const Inst& inst, std::vector<Value> args, const Known& known) {
    const Row& row = *find_row(inst.op);
    const NumKind kind = inst.fp.kind;
    const bool compares = inst.type == Type::i1;
    if (kind == NumKind::f16 || kind == NumKind::bf16) return half(inst, row, args);
    const bool quotient_or_root =
        inst.op == Op::fdiv || inst.op == Op::frcp || inst.op == Op::fsqrt;
    if (!fast_ && kind == NumKind::f32 && quotient_or_root && is_approximate(inst.fp.round)) {
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
                       !native_exact(inst.op, kind, inst.fp.ftz, false);
    if (fuses && (known.bounded || (by_doubles() && !inst.fp.ftz))) {
      result = by_doubles() ? fma_by_doubles(args, known.bounded)
                            : call("f32_fma_rn_bounded", Type::i32, args);
      return inst.fp.sat ? saturate(kind, result) : result;
    }
    const bool use_native =
        nearest && row.native != Op::undef &&
        (known.native || native_exact(inst.op, kind, inst.fp.ftz, against_normal));
    const bool flush_here =
        inst.fp.ftz && kind == NumKind::f32 && !(use_native && device_flushes());
    if (flush_here)
      for (Value& a : args) a = flush(kind, a);
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
    if (easy) {
      result = *easy;
    } else if (use_native) {
      result = native(row, kind, args, inst.type);
      if (!compares && !known.result.finite()) result = canonical(kind, result);
      // Of two NaN the hardware's f64 sum and product keep the second; processors keep the first.
      if ((inst.op == Op::fadd || inst.op == Op::fmul) && kind == NumKind::f64 && !p_.fused_fma64)
        result =
            b_.select(is_nan(kind, args[1]), b_.op2(Op::or_, args[1], b_.i64(kQuiet64)), result);
    } else {
      if (inst.op == Op::fadd && kind == NumKind::f64) std::swap(args[0], args[1]);
      result = call(routine(row, inst.fp), inst.type, args);
    }
    if (compares) return result;
    if (flush_here) result = flush(kind, result);
    return inst.fp.sat ? saturate(kind, result) : result;
  }

  // .ftz where rounding can lift a result to the least normal number: the hardware looks at the
  // result as it were with more exponents, so that some of those become zero all the same. Of sums
  // there are none, nor of quotients to the nearest.
  std::optional<Value> flushing(const Inst& inst, const Row& row, std::vector<Value> args,
                                bool use_native) {
    constexpr std::uint32_t kUp32 = 0x4f800000, kUp63 = 0x5f000000, kUp64 = 0x5f800000,
                            kDown63 = 0x20000000, kOne = 0x3f800000, kEdge = 0x20800000;
    const auto f32 = [&](std::uint32_t bits) { return b_.i32(bits); };
    const auto times = [&](Value a, Value scale) {
      return b_.inst(Op::native_fmul, Type::i32, {a, scale});
    };
    const auto magnitude = [&](Value a) { return b_.op2(Op::and_, a, b_.i32(0x7fffffff)); };
    const auto below = [&](Value a, std::uint32_t bits) {
      return b_.cmp(Op::ult, a, b_.i32(bits));
    };
    const auto sign_if = [&](Value tiny, Value a) {
      return b_.select(tiny, b_.op2(Op::and_, a, b_.i32(0x80000000u)), a);
    };
    const auto library = [&](const std::vector<Value>& operands) {
      return call(library_name(row, inst.fp), Type::i32, operands);
    };
    const Round round = inst.fp.round;
    switch (inst.op) {
      case Op::fmul: {
        if (with_constant(inst.op, NumKind::f32, args)) return std::nullopt;
        if (use_native) {
          const Value scaled = times(times(args[0], f32(kUp64)), args[1]);
          const Value product = canonical(NumKind::f32, native(row, NumKind::f32, args, Type::i32));
          return sign_if(below(magnitude(scaled), kEdge), product);
        }
        const Value larger = b_.op2(Op::umax, magnitude(args[0]), magnitude(args[1]));
        const Value low = below(larger, 0x40000000);
        return unscaled(low,
                        library({times(args[0], b_.select(low, f32(kUp64), f32(kOne))), args[1]}));
      }
      case Op::ffma: {
        if (use_native) {
          const Value scaled =
              b_.inst(row.native, Type::i32,
                      {times(args[0], f32(kUp64)), args[1], times(args[2], f32(kUp64))});
          const Value sum = canonical(NumKind::f32, native(row, NumKind::f32, args, Type::i32));
          return sign_if(below(magnitude(scaled), kEdge), sum);
        }
        // Tiny sums have a tiny product and addend: what cancels higher up leaves more.
        const Value product = magnitude(times(args[0], args[1]));
        const Value terms = b_.op2(Op::umax, product, magnitude(args[2]));
        const Value larger = b_.op2(Op::umax, magnitude(args[0]), magnitude(args[1]));
        const Value low = b_.op2(Op::and_, below(terms, 0x21800000), below(larger, 0x60800000));
        const Value factor = b_.select(low, f32(kUp32), f32(kOne));
        const Value addend = b_.select(low, f32(kUp64), f32(kOne));
        return unscaled(
            low, library({times(args[0], factor), times(args[1], factor), times(args[2], addend)}));
      }
      case Op::fdiv: {
        if (round != Round::rm && round != Round::rp) return std::nullopt;
        const Value tiny = b_.inst(
            Op::native_flt, Type::i1,
            {times(magnitude(args[0]), f32(kUp63)), times(magnitude(args[1]), f32(kDown63))});
        return sign_if(tiny, library(args));
      }
      case Op::frcp: {
        if (round != Round::rm && round != Round::rp) return std::nullopt;
        // between 2^126 and infinity
        const Value distance = b_.op2(Op::sub, magnitude(args[0]), b_.i32(0x7e800001));
        return sign_if(below(distance, 0x7f800000 - 0x7e800000), library(args));
      }
      default: return std::nullopt;
    }
  }
  // A result of operands that were scaled by 2^64 where `low`, which holds for no NaN.
  Value unscaled(Value low, Value result) {
    const Value magnitude = b_.op2(Op::and_, result, b_.i32(0x7fffffff));
    const Value tiny = b_.op2(Op::and_, low, b_.cmp(Op::ult, magnitude, b_.i32(0x20800000)));
    const Value back = b_.op2(Op::sub, result, b_.select(low, b_.i32(64u << 23), b_.i32(0)));
    return b_.select(tiny, b_.op2(Op::and_, result, b_.i32(0x80000000u)), back);
  }

  static std::string library_name(const Row& row, const FpAttr& fp) {
    std::string text = fmt::format("{}_{}", name(fp.kind), row.stem);
    if (row.rounded)
      text += fmt::format("_{}", name(fp.round == Round::none ? Round::rn : fp.round));
    if (!row.rounded && fp.nan) text += "_nan";
    return text;
  }
  // By the device's own quotient or root, where that is right but for denormals.
  std::string routine(const Row& row, const FpAttr& fp) const {
    std::string text = library_name(row, fp);
    const bool own = row.op == Op::fsqrt ? p_.exact_sqrt32 : p_.exact_div32;
    const bool quotient_or_root = row.op == Op::fdiv || row.op == Op::frcp || row.op == Op::fsqrt;
    const bool nearest = fp.round == Round::rn || fp.round == Round::none;
    if (own && quotient_or_root && nearest && fp.kind == NumKind::f32) text += "_scaled";
    return text;
  }

  // Half formats compute in single precision: its 24 bits round twice without harm for everything
  // but fma.
  Value half(const Inst& inst, const Row& row, std::vector<Value> args) {
    const NumKind kind = inst.fp.kind;
    if (inst.fp.ftz)
      for (Value& a : args) a = flush(kind, a);
    Value result, exact;
    if (inst.op == Op::ffma) {
      // Rounded to odd in single precision first, so that the second rounding sees what the first
      // one dropped.
      constexpr std::uint32_t kRoundOdd = 4;
      for (Value& a : args) a = widen(kind, a);
      args.push_back(b_.i32(kRoundOdd));
      exact = call("f32_fma_mode", Type::i32, args);
      result = call(fmt::format("{}_from_f32_{}", name(kind), rounding(inst.fp.round)), Type::i32,
                    {exact});
    } else {
      for (Value& a : args) a = widen(kind, a);
      Inst single = inst;
      single.fp.kind = NumKind::f32;
      single.fp.ftz = single.fp.sat = false;
      // Half-precision values and their sums and products are no single-precision denormals.
      single.fp.ftz = kind == NumKind::f16 && device_flushes();
      result = exact = arithmetic(single, args);
      if (inst.type == Type::i1) return result;
      const bool chosen = row.op == Op::fmin || row.op == Op::fmax;
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

  Value widen(NumKind kind, Value a) {
    if (kind == NumKind::bf16) return b_.op2(Op::shl, a, b_.i32(16));
    return kind == NumKind::f16 ? call("f32_from_f16", Type::i32, {a}) : a;
  }

  Value convert(const Inst& inst, Value a) {
    const FpAttr fp = inst.fp;
    if (!is_float(fp.kind)) return from_integer(fp, a);
    if (!is_float(fp.to)) return to_integer(fp, a);
    return between_floats(fp, a);
  }

  static std::string_view rounding(Round r) {
    switch (r) {
      case Round::rz:
      case Round::rzi: return "rz";
      case Round::rm:
      case Round::rmi: return "rm";
      case Round::rp:
      case Round::rpi: return "rp";
      case Round::rna: return "rna";
      default: return "rn";
    }
  }
  static std::string_view integral(Round r) {
    switch (r) {
      case Round::rn:
      case Round::rni: return "rni";
      case Round::rm:
      case Round::rmi: return "rmi";
      case Round::rp:
      case Round::rpi: return "rpi";
      default: return "rzi";
    }
  }

  Value from_integer(const FpAttr& fp, Value a) {
    const Type type = type_of(fp.to);
    const bool wide = is_wide(fp.kind);
    const std::string_view round = rounding(fp.round);
    Value result;
    if (fp.to == NumKind::f16 || fp.to == NumKind::bf16) {
      // Through f64, which holds 32 bits exactly, and of more than 53 bits all that rounding looks
      // at.
      if (wide) a = sticky53(a, is_signed(fp.kind));
      const std::string_view from =
          wide ? (is_signed(fp.kind) ? "s64_rn" : "u64_rn") : (is_signed(fp.kind) ? "s32" : "u32");
      const Value exact = call(fmt::format("f64_from_{}", from), Type::i64, {a});
      result = call(fmt::format("{}_from_f64_{}", name(fp.to), round), type, {exact});
    } else {
      const bool exact32 =
          fp.to == NumKind::f32 && !wide && round == "rn" && (p_.exact_convert32 || fast_);
      const bool fast32 = fp.to == NumKind::f32 && wide && round == "rn" && fast_ && p_.int64;
      const bool exact64 =
          fp.to == NumKind::f64 && p_.float64 && (p_.exact_float64 || fast_) && !wide;
      if (exact32 || fast32 || exact64) {
        result = b_.inst(is_signed(fp.kind) ? Op::native_from_s : Op::native_from_u, type, {a});
        f_.insts[result].fp = fp;
      } else if (fp.to == NumKind::f64 && !wide) {
        result = call(fmt::format("f64_from_{}", name(fp.kind)), type, {a});
      } else {
        result = call(fmt::format("{}_from_{}_{}", name(fp.to), name(fp.kind), round), type, {a});
      }
    }
    return fp.sat ? saturate(fp.to, result) : result;
  }

  // Bits 0 to 11 of a number beyond 53 bits as one bit, in the place of the highest of them.
  Value sticky53(Value a, bool with_sign) {
    Value top = b_.inst(with_sign ? Op::ashr : Op::lshr, Type::i64, {a, b_.i32(52)});
    if (with_sign) top = b_.op2(Op::add, top, b_.i64(1));
    const Value small = b_.cmp(Op::ult, top, b_.i64(with_sign ? 2 : 1));
    const Value rest = b_.cmp(Op::ne, b_.op2(Op::and_, a, b_.i64(0xfff)), b_.i64(0));
    const Value kept = b_.op2(Op::and_, a, b_.i64(~0xfffull));
    const Value odd = b_.op2(Op::or_, kept, b_.select(rest, b_.i64(0x800), b_.i64(0)));
    return b_.select(small, a, odd);
  }

  Value to_integer(const FpAttr& fp, Value a) {
    NumKind kind = fp.kind;
    if (fp.ftz && kind == NumKind::f32) a = flush(kind, a);
    if (kind == NumKind::f16 || kind == NumKind::bf16) {
      a = widen(kind, a);
      kind = NumKind::f32;
    }
    return call(fmt::format("{}_to_{}_{}", name(kind), name(fp.to), integral(fp.round)),
                type_of(fp.to), {a});
  }

  Value between_floats(const FpAttr& fp, Value a) {
    NumKind kind = fp.kind;
    // Half precision has no use for .ftz, its denormals being normal numbers of single precision.
    if (fp.ftz && kind == NumKind::f32 && fp.to != NumKind::f16) {
      a = flush(kind, a);
      // Flushing is single-precision arithmetic on the hardware, which knows one NaN.
      if (!to_integral(fp.round) && fp.to != NumKind::bf16) a = only_nan(kind, a);
    }
    Value result = a;
    if (to_integral(fp.round)) {
      if (kind == NumKind::f16 || kind == NumKind::bf16) {
        result = widen(kind, result);
        kind = NumKind::f32;
      }
      if (fast_ && kind == NumKind::f32) {
        const std::uint64_t glsl = fp.round == Round::rni   ? 2
                                   : fp.round == Round::rzi ? 3
                                   : fp.round == Round::rmi ? 8
                                                            : 9;
        result = b_.inst(Op::native_unary, Type::i32, {result}, glsl);
      } else {
        result =
            call(fmt::format("{}_round_{}", name(kind), name(fp.round)), type_of(kind), {result});
      }
    }
    result = recode(fp, kind, result);
    if (fp.ftz && fp.to == NumKind::f32 && kind == NumKind::f64 && !to_integral(fp.round)) {
      result = flush_narrowed(fp.round, a, result);
    } else if (fp.ftz && fp.to == NumKind::f32) {
      result = flush(fp.to, result);
      if (fp.kind == NumKind::bf16) result = only_nan(fp.to, result);
    }
    return fp.sat && fp.to >= NumKind::f16 && fp.to <= NumKind::f64 ? saturate(fp.to, result)
                                                                    : result;
  }

  // `result` is `a` rounded to single precision; zero of its sign where 24 bits and more exponents
  // would have rounded to less than the least normal number.
  Value flush_narrowed(Round round, Value a, Value result) {
    constexpr std::uint64_t kLeast = 0x3810000000000000ull;
    const Value magnitude = b_.op2(Op::and_, a, b_.i64(0x7fffffffffffffffull));
    Value limit = b_.i64(kLeast);
    if (round == Round::rn || round == Round::none) limit = b_.i64(kLeast - 0x10000000);
    if (round == Round::rm || round == Round::rp) {
      const Value negative = b_.cmp(Op::slt, a, b_.i64(0));
      const Value away = b_.i64(kLeast - 0x20000000 + 1);
      limit =
          round == Round::rm ? b_.select(negative, away, limit) : b_.select(negative, limit, away);
    }
    const Value tiny = b_.cmp(Op::ult, magnitude, limit);
    return b_.select(tiny, b_.op2(Op::and_, result, b_.i32(0x80000000u)), result);
  }

  Value recode(const FpAttr& fp, NumKind kind, Value a) {
    const NumKind to = fp.to;
    const std::string_view round = rounding(fp.round);
    if (kind == to) return a;
    // Widenings are exact; halves go by way of single precision.
    if (to == NumKind::f32 && kind == NumKind::f16) return widen(kind, a);
    if (to == NumKind::f32 && kind == NumKind::bf16) return widen(kind, a);
    // Not by way of f32, whose only NaN would replace the operand's.
    if (to == NumKind::f64 && kind == NumKind::f16) return call("f64_from_f16", Type::i64, {a});
    if (to == NumKind::f64 && kind == NumKind::bf16) return call("f64_from_bf16", Type::i64, {a});
    if (to == NumKind::f64 && kind == NumKind::f32) {
      if (p_.float64 && (fast_ || p_.exact_convert64)) return fconvert(kind, to, a);
      return call("f64_from_f32", Type::i64, {a});
    }
    if (to == NumKind::f32 && kind == NumKind::f64 && p_.float64 && round == "rn" &&
        (fast_ || p_.exact_convert64))
      return fconvert(kind, to, a);
    if ((to == NumKind::f16 || to == NumKind::bf16) &&
        (kind == NumKind::f16 || kind == NumKind::bf16)) {
      a = widen(kind, a);
      kind = NumKind::f32;
    }
    const bool small = kind == NumKind::e4m3 || kind == NumKind::e5m2;
    if (small) {
      a = call(fmt::format("f16_from_{}", name(kind)), Type::i32, {a});
      return to == NumKind::f16 ? a
                                : recode(FpAttr{.kind = NumKind::f16, .to = to, .round = fp.round},
                                         NumKind::f16, a);
    }
    if ((to == NumKind::e4m3 || to == NumKind::e5m2) && kind != NumKind::f32)
      a = widen(kind, a), kind = NumKind::f32;
    return call(fmt::format("{}_from_{}_{}", name(to), name(kind), round), type_of(to), {a});
  }
  Value fconvert(NumKind from, NumKind to, Value a) {
    const Value v = b_.inst(Op::native_fconvert, type_of(to), {a});
    f_.insts[v].fp = FpAttr{.kind = from, .to = to};
    return v;
  }

  Function& f_;
  Module& module_;
  const Profile& p_;
  const bool fast_;
  Rewrite rewrite_;
  Builder& b_;
  FloatRanges ranges_;
};

}  // namespace

bool legalise_float(Function& function, Module& module, const FloatOptions& options) {
  return Legaliser(function, module, options).run();
}

}  // namespace ptx2spv::passes
