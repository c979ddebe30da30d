// PTX's floating point to what the device does exactly, and to library functions for the rest. A
// library function's name is made of the format, the operation and the rounding: f32_add_rz,
// f64_from_s64_rn, f32_to_u32_rzi, f32_round_rni; the rows below say which parts an operation has.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "translator/passes/analysis/float_ranges.hpp"
#include "translator/passes/analysis/known_bits.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/rewrite.hpp"

namespace ptx2spv::passes::floats {

inline constexpr std::uint64_t kNoNative = 0;
inline constexpr std::uint64_t kQuiet64 = 0x0008000000000000ull;
inline constexpr std::uint32_t kInfinity64High = 0x7ff00000;

/// One operation: its name in the library, the native operation for round to nearest even, and the
/// GLSL.std.450 instruction that `fast` takes for the approximate form.
struct Row {
  Op op;
  std::string_view stem;
  bool rounded;
  Op native;
  std::uint64_t glsl;
};
inline constexpr Row kRows[] = {
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

inline const Row* find_row(Op op) {
  for (const Row& row : kRows)
    if (row.op == op) return &row;
  return nullptr;
}

/// A float format in its bits: sign, exponent field, one, and whether it lives in an i64.
struct Format {
  std::uint64_t sign, exponent, one, nan;
  Type type;
};
inline Format format_of(NumKind kind) {
  switch (kind) {
    case NumKind::f64:
      return {1ull << 63, 0x7ff0000000000000ull, 0x3ff0000000000000ull, 0x7fffffffffffffffull,
              Type::i64};
    case NumKind::f16: return {0x8000, 0x7c00, 0x3c00, 0x7fff, Type::i32};
    case NumKind::bf16: return {0x8000, 0x7f80, 0x3f80, 0x7fff, Type::i32};
    default: return {0x80000000u, 0x7f800000u, 0x3f800000u, 0x7fffffffu, Type::i32};
  }
}

inline bool is_float(NumKind k) { return k >= NumKind::f16; }
inline bool is_signed(NumKind k) {
  return k == NumKind::s8 || k == NumKind::s16 || k == NumKind::s32 || k == NumKind::s64;
}
inline bool is_wide(NumKind k) {
  return k == NumKind::u64 || k == NumKind::s64 || k == NumKind::f64;
}
inline bool to_integral(Round r) {
  return r == Round::rni || r == Round::rzi || r == Round::rmi || r == Round::rpi;
}
/// Whether denormals become other whole numbers than zero.
inline bool is_directed(Round r) {
  return r == Round::rm || r == Round::rp || r == Round::rmi || r == Round::rpi;
}
inline bool is_approximate(Round r) { return r == Round::approx || r == Round::full; }
inline Type type_of(NumKind k) { return is_wide(k) ? Type::i64 : Type::i32; }

class FloatLegaliser {
 public:
  FloatLegaliser(Function& f, Module& module, const FloatOptions& options)
      : f_(f),
        module_(module),
        p_(options.profile),
        fast_(options.fp == FpPolicy::fast),
        rewrite_(f),
        b_(rewrite_.builder()),
        ranges_(f) {}
  bool run();

 private:
  /// What the operands say of a sum, a product or both, in single precision.
  struct Known {
    FloatRange result;
    bool native = false;   ///< as by a device that keeps denormals
    bool bounded = false;  ///< no denormal, overflow or NaN anywhere within
  };
  Value constant(NumKind kind, std::uint64_t bits) {
    return is_wide(kind) ? b_.i64(bits) : b_.i32(static_cast<std::uint32_t>(bits));
  }
  Value call(std::string_view name, Type type, std::initializer_list<Value> args) {
    return b_.inst(Op::library, type, args, module_.library(name));
  }
  Value call(std::string_view name, Type type, const std::vector<Value>& args) {
    return b_.inst(Op::library, type, args, module_.library(name));
  }
  bool device_flushes() const { return p_.exactness.flushes_denormals32; }
  bool native_fast(NumKind kind) const {
    return fast_ && (kind == NumKind::f32 || (kind == NumKind::f64 && p_.features.float64));
  }
  // The device's own division is right, and several times as long as an approximation need be,
  // where the inverse root is one instruction.
  bool by_root(Op op) const {
    return op != Op::fsqrt && p_.exactness.native_approx && p_.exactness.fused_fma32 &&
           p_.exactness.denormals32;
  }
  bool by_doubles() const {
    return p_.features.float64 && p_.exactness.exact_float64 && p_.exactness.exact_widen64 &&
           p_.exactness.exact_narrow64 && p_.features.int64;
  }

  // legalise_float.cpp
  Value is_nan(NumKind kind, Value a);
  // Everything above +infinity, as an unsigned number, is negative or NaN, and both saturate to +0.
  Value saturate(NumKind kind, Value a);
  // The CPUs' NaNs carry sign and payload, PTX's single precision gives one NaN only. The device
  // whose fma is fused in single precision is NVIDIA's, which does so by itself.
  Value canonical(NumKind kind, Value a);
  Value only_nan(NumKind kind, Value a);
  /// The NaN that a double may be: `of`'s, made quiet, whenever `of` is one, and otherwise that of
  /// invalid operations, as always if `of` is kInvalid. 0: none. Between two of the same there is
  /// nothing to choose.
  struct Nan {
    Value of;
    bool quiet = true;    ///< whether it is so already
    bool finite = false;  ///< if there is none: nor is it an infinity
  };
  static constexpr Value kInvalid = ~Value{0};
  Nan nan_of(Value a) const;
  /// Whether the words of a double show that it is finite.
  bool is_finite(Value a) const;
  std::optional<std::uint32_t> exponent(Value high) const;
  /// Learns it of what needs no legalising.
  void follow_nan(Value v);
  Nan nan_of_operation(const Inst& inst, const std::vector<Value>& args, Value result) const;
  Value choose_nan(const Inst& inst, const std::vector<Value>& args, Value result);
  Known know(const Inst& inst, const std::vector<Value>& args) const;
  Value arithmetic(const Inst& inst, std::vector<Value> args);
  Value arithmetic(const Inst& inst, std::vector<Value> args, const Known& known);
  static std::string library_name(const Row& row, const FpAttr& fp);
  // By the device's own quotient or root, where that is right but for denormals, or by its fused
  // multiply-add.
  std::string routine(const Row& row, const FpAttr& fp) const;
  // Half formats compute in single precision: its 24 bits round twice without harm for everything
  // but fma.
  Value half(const Inst& inst, const Row& row, std::vector<Value> args);
  /// As f32, for arithmetic, which tells no NaN from another.
  Value widen(NumKind kind, Value a);

  // legalise_float_halves.cpp: f16 by the device's own operations, which take two at once
  std::optional<Op> two_halves(const Inst& inst) const;
  Value native_half(const Inst& inst, Op op, const std::vector<Value>& args);
  /// Both halves of a word that two operations in a row gave.
  std::optional<Value> word_of_halves(Value v) const;
  /// The lesser or the greater of two numbers, as integers in the same order.
  Value extreme_half(const Inst& inst, const std::vector<Value>& args);
  /// NaN in either half of a word become 0x7fff, if the device does not see to it.
  Value canonical_halves(Value word);
  /// Whether a word has `low` and `high` as its halves, or can be had for one operation.
  bool are_joined(Value low, Value high) const;
  Value joined(Value low, Value high);

  // legalise_float_native.cpp: what the device does itself
  // A comparison with a normal number comes out the same where the device takes denormals for zero.
  bool is_normal_constant(NumKind kind, Value v) const;
  bool native_exact(Op op, NumKind kind, bool ftz, bool against_normal) const;
  // Drivers fold x + 0 and x * 0 and lose the sign of zero; and these need no arithmetic at all.
  std::optional<Value> with_constant(Op op, NumKind kind, const std::vector<Value>& args);
  Value native(const Row& row, NumKind kind, const std::vector<Value>& args, Type type);
  // The sum of two numbers, rounded to odd: toward zero, and to its odd neighbour where that was no
  // rounding at all. Another rounding, to two bits less at least, then rounds as if once (Boldo and
  // Melquiond). Doubles meet no denormal, and other numbers where the device keeps them.
  Value sum_to_odd(Type type, Value x, Value y);
  // A product of single-precision numbers is exact in double precision, which leaves their sum with
  // the addend; the conversion rounds it, to denormals too.
  Value fma_by_doubles(const std::vector<Value>& args, bool bounded);
  /// The same of bf16, as f32, whose rounding to bf16 is right. The device keeps denormals. A
  /// product of 16 bits is exact in single precision down to 2^-134, half of the least bf16. Below
  /// it no rounding makes one: that takes a product of 65535 2^-150, whose factors do not fit.
  Value brain_fma(const std::vector<Value>& args);
  // Rounded down: to the neighbour below where rounding to nearest went up. As in expf of CUDA's
  // own library.
  std::optional<Value> fma_down(const Inst& inst, const std::vector<Value>& args);
  // The approximate instructions without .ftz out of those with it, which the device has: scaled by
  // powers of two where an operand or a result is denormal, as ptxas does it (on an H200 no result
  // differs over all operands). Nothing for tanh and quotients.
  std::optional<Value> approximate_natively(const Inst& inst, const std::vector<Value>& args);
  /// A quotient or reciprocal with .approx or .full from y's inverse root: its square is 1 / y
  /// within 2^-21, and after a step of Newton within half an ulp and a hair. So the reciprocal is
  /// within 1 ulp and the quotient within 1.5.
  Value approximate_quotient(const Inst& inst, std::vector<Value> args);
  /// The lesser or greater of two numbers, by the device's own; or of a value and a constant, which
  /// a NaN gives way to: a selection. The constant is normal, so that flushed denormals do not
  /// matter, or 0, compared by its bits.
  std::optional<Value> chosen(Op op, const std::vector<Value>& args);
  /// A comparison in single precision on a device whose own take denormals for zeros: with zero by
  /// its bits; of others by their difference, where the device keeps that.
  std::optional<Value> compare(const Inst& inst, const std::vector<Value>& args);
  /// One step of Newton from `y`, which Vulkan has within 2 ulp of 1 / sqrt x, by the device's
  /// fused fma: within 2^-23.4, as the root's rounding is all that counts. Zeros, infinities and
  /// NaN, of which no step comes, are `y`.
  Value better_root(Value x, Value y);
  /// The square root of a double, from the inverse root of its upper 21 bits: after a step of the
  /// third order within an ulp, and after one by the remainder rounded to the nearest. Those
  /// nearest to a tie come out right as long as the inverse root is within 37 ulp.
  Value double_root(Value number);
  /// What a sign change changes, in single precision.
  std::optional<Value> negated(Value v) const;
  // Of an approximate quotient the manual says: a divisor above 2^126 gives 0, or NaN for an
  // infinite dividend.
  Value beyond_divisor(const std::vector<Value>& args, Value quotient);

  // legalise_float_ftz.cpp: results that are flushed
  /// Finds the values of the function that are no denormals, loops' among them.
  void find_flushed();
  bool is_flushed(Value v) const { return v < flushed_.size() && flushed_[v]; }
  void set_flushed(Value v);
  Value flush(NumKind kind, Value a);
  /// The same of a number that only operations of the device look at, and of their results. Where
  /// NaN differ, by such operations: nothing tells one from another in between.
  Value flush_number(Value a);
  Value zero_if(Value tiny, Value a);
  // .ftz where rounding can lift a result to the least normal number: the hardware looks at the
  // result as it were with more exponents, so that some of those become zero all the same. Of sums
  // there are none, nor of quotients to the nearest.
  std::optional<Value> flushing(const Inst& inst, const Row& row, std::vector<Value> args,
                                bool use_native);
  // A result of operands that were scaled by 2^64 where `low`, which holds for no NaN.
  Value unscaled(Value low, Value result);
  // `result` is `a` rounded to single precision; zero of its sign where 24 bits and more exponents
  // would have rounded to less than the least normal number.
  Value flush_narrowed(Round round, Value a, Value result);

  // legalise_float_convert.cpp
  Value convert(const Inst& inst, Value a);
  static std::string_view rounding(Round r);
  static std::string_view integral(Round r);
  Value from_integer(const FpAttr& fp, Value a);
  // Bits 0 to 11 of a number beyond 53 bits as one bit, in the place of the highest of them.
  Value sticky53(Value a, bool with_sign);
  /// An integer of 64 bits, rounded to the nearest double: either word as the lower bits of a power
  /// of two, which the differences take off exactly, and one sum rounds.
  Value wide_to_double(Value a, bool with_sign);
  /// A whole number of an integer's range by the device's own, which Vulkan leaves undefined
  /// beyond.
  Value to_wide_integer(const FpAttr& fp, NumKind kind, Value a);
  Value to_integer(const FpAttr& fp, Value a);
  /// Whether the device's own whole numbers are cvt's.
  bool rounds(NumKind kind) const;
  /// A whole number, by the device's own.
  Value rounded(Round round, Value a);
  Value between_floats(const FpAttr& fp, Value a);
  Value recode(const FpAttr& fp, NumKind kind, Value a);
  Value fconvert(NumKind from, NumKind to, Value a);

  Function& f_;
  Module& module_;
  const Profile& p_;
  const bool fast_;
  SsaRewriter rewrite_;
  Builder& b_;
  FloatRanges ranges_;
  std::unordered_map<Value, Nan> nans_;  ///< of doubles
  std::optional<KnownBits> known_;       ///< if there are sums and products of doubles
  std::vector<bool> observed_;   ///< by value, with known_: whether it matters which NaN it is
  bool nan_is_observed_ = true;  ///< of the value in work
  /// A result of f16: the operation, and the word that has it as a half.
  struct Half {
    Inst inst;
    std::vector<Value> args;
    Value result;
    BlockId block;
    bool taken = false;
  };
  struct InWord {
    Value word;
    bool high;
  };
  std::vector<Half> halves_;  ///< the last ones
  std::unordered_map<Value, InWord> in_word_;
  std::vector<bool> flushed_;  ///< values of single precision that are no denormals
};

}  // namespace ptx2spv::passes::floats
