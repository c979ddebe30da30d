// Conversions between formats, integers included.
#include <fmt/format.h>

#include "translator/ir/names.hpp"
#include "translator/passes/legalise/legalise_float.hpp"

namespace ptx2spv::passes::floats {

Value FloatLegaliser::convert(const Inst& inst, Value a) {
  const FpAttr fp = inst.fp;
  if (!is_float(fp.kind)) return from_integer(fp, a);
  if (!is_float(fp.to)) return to_integer(fp, a);
  return between_floats(fp, a);
}

std::string_view FloatLegaliser::rounding(Round r) {
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

std::string_view FloatLegaliser::integral(Round r) {
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

Value FloatLegaliser::from_integer(const FpAttr& fp, Value a) {
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
        fp.to == NumKind::f32 && !wide && round == "rn" && (p_.exactness.exact_convert32 || fast_);
    const bool fast32 =
        fp.to == NumKind::f32 && wide && round == "rn" && fast_ && p_.features.int64;
    const bool exact64 = fp.to == NumKind::f64 && p_.features.float64 &&
                         (p_.exactness.exact_float64 || fast_) && !wide;
    if (exact32 || fast32 || exact64) {
      result = b_.inst(is_signed(fp.kind) ? Op::native_from_s : Op::native_from_u, type, {a});
      f_.insts[result].fp = fp;
    } else if (fp.to == NumKind::f64 && wide && round == "rn" && p_.features.float64 &&
               p_.exactness.exact_float64) {
      result = wide_to_double(a, is_signed(fp.kind));
    } else if (fp.to == NumKind::f64 && !wide) {
      result = call(fmt::format("f64_from_{}", name(fp.kind)), type, {a});
    } else {
      result = call(fmt::format("{}_from_{}_{}", name(fp.to), name(fp.kind), round), type, {a});
    }
  }
  return fp.sat ? saturate(fp.to, result) : result;
}

Value FloatLegaliser::sticky53(Value a, bool with_sign) {
  Value top = b_.inst(with_sign ? Op::ashr : Op::lshr, Type::i64, {a, b_.i32(52)});
  if (with_sign) top = b_.op2(Op::add, top, b_.i64(1));
  const Value small = b_.cmp(Op::ult, top, b_.i64(with_sign ? 2 : 1));
  const Value rest = b_.cmp(Op::ne, b_.op2(Op::and_, a, b_.i64(0xfff)), b_.i64(0));
  const Value kept = b_.op2(Op::and_, a, b_.i64(~0xfffull));
  const Value odd = b_.op2(Op::or_, kept, b_.select(rest, b_.i64(0x800), b_.i64(0)));
  return b_.select(small, a, odd);
}

Value FloatLegaliser::wide_to_double(Value a, bool with_sign) {
  constexpr std::uint32_t kTwo52High = 0x43300000, kTwo84High = 0x45300000, kSign = 0x80000000;
  constexpr std::uint64_t kTwo84And52 = 0x4530000000100000, kTwo84And63And52 = 0x4530000080100000;
  const auto sum = [&](Op op, Value x, Value y) { return b_.inst(op, Type::i64, {x, y}); };
  const auto pack = [&](Value low, std::uint32_t high) {
    return b_.inst(Op::pack, Type::i64, {low, b_.i32(high)});
  };
  Value high = b_.inst(Op::high, Type::i32, {a});
  if (with_sign) high = b_.op2(Op::xor_, high, b_.i32(kSign));
  const Value upper = sum(Op::native_fsub, pack(high, kTwo84High),
                          b_.i64(with_sign ? kTwo84And63And52 : kTwo84And52));
  return sum(Op::native_fadd, upper, pack(b_.inst(Op::trunc, Type::i32, {a}), kTwo52High));
}

Value FloatLegaliser::to_wide_integer(const FpAttr& fp, NumKind kind, Value a) {
  const bool with_sign = is_signed(fp.to);
  const Format f = format_of(kind);
  // 2^63 or 2^64.
  const unsigned exponent = with_sign ? 63 : 64;
  const std::uint64_t end = kind == NumKind::f64 ? std::uint64_t{1023 + exponent} << 52
                                                 : std::uint64_t{127 + exponent} << 23;
  const Value own = b_.inst(with_sign ? Op::native_to_s : Op::native_to_u, Type::i64, {a});
  b_.last(own).fp = {.kind = kind, .to = fp.to};
  const Value magnitude = b_.op2(Op::and_, a, constant(kind, f.sign - 1));
  // Of numbers below zero only the signed ones are in range, and NaN is nowhere.
  const Value within = b_.cmp(Op::ult, with_sign ? magnitude : a, constant(kind, end));
  const Value above = b_.cmp(Op::ult, a, constant(kind, f.exponent + 1));
  const Value nan = b_.i64(std::uint64_t{1} << 63);
  const Value below = with_sign ? nan : b_.select(is_nan(kind, a), nan, b_.i64(0));
  const Value beyond = b_.select(above, b_.i64(with_sign ? ~0ull >> 1 : ~0ull), below);
  return b_.select(within, own, beyond);
}

Value FloatLegaliser::to_integer(const FpAttr& fp, Value a) {
  NumKind kind = fp.kind;
  if (fp.ftz && kind == NumKind::f32 && is_directed(fp.round)) a = flush(kind, a);
  if (kind == NumKind::f16 || kind == NumKind::bf16) {
    a = widen(kind, a);
    kind = NumKind::f32;
  }
  // ROUND_RN and ROUND_RZ of shaders/common.glsl.
  const std::string_view round = integral(fp.round);
  if (!is_wide(fp.to) && rounds(kind)) {
    const Value whole = round == "rzi" ? a : rounded(fp.round, a);
    const Op own = is_signed(fp.to) ? Op::native_to_s : Op::native_to_u;
    const Value result = b_.inst(own, Type::i32, {whole});
    f_.insts[result].fp = fp;
    return result;
  }
  const bool own_float = kind == NumKind::f32 || (kind == NumKind::f64 && p_.features.float64 &&
                                                  p_.exactness.exact_float64);
  if (is_wide(fp.to) && own_float && p_.features.int64 && (round == "rzi" || rounds(kind)))
    return to_wide_integer(fp, kind, round == "rzi" ? a : rounded(fp.round, a));
  const bool simple = round == "rni" || round == "rzi";
  if (kind == NumKind::f32 && (fp.to == NumKind::u32 || fp.to == NumKind::s32) && simple)
    if (const FloatRange range = ranges_.of(a); range.finite() && *range.top <= 31)
      return call(fmt::format("f32_to_{}_bounded", name(fp.to)), Type::i32,
                  {a, b_.i32(round == "rzi" ? 1 : 0)});
  return call(fmt::format("{}_to_{}_{}", name(kind), name(fp.to), round), type_of(fp.to), {a});
}

bool FloatLegaliser::rounds(NumKind kind) const {
  return kind == NumKind::f32 ? p_.exactness.exact_round32 : p_.exactness.exact_round64;
}

Value FloatLegaliser::rounded(Round round, Value a) {
  const std::string_view to = integral(round);
  const std::uint64_t glsl = to == "rni" ? 2 : to == "rzi" ? 3 : to == "rmi" ? 8 : 9;
  return b_.inst(Op::native_unary, f_.insts[a].type, {a}, glsl);
}

Value FloatLegaliser::between_floats(const FpAttr& fp, Value a) {
  NumKind kind = fp.kind;
  // Half precision has no use for .ftz, its denormals being normal numbers of single precision.
  if (fp.ftz && kind == NumKind::f32 && fp.to != NumKind::f16) {
    if (!to_integral(fp.round) || is_directed(fp.round)) a = flush(kind, a);
    // Flushing is single-precision arithmetic on the hardware, which knows one NaN.
    if (!to_integral(fp.round) && fp.to != NumKind::bf16) a = only_nan(kind, a);
  }
  Value result = a;
  if (to_integral(fp.round)) {
    if (kind == NumKind::f16 || kind == NumKind::bf16) {
      result = recode({.kind = kind, .to = NumKind::f32}, kind, result);
      kind = NumKind::f32;
    }
    if ((fast_ && kind == NumKind::f32) || rounds(kind)) {
      result = rounded(fp.round, result);
      if (!fast_) result = canonical(kind, result);
    } else {
      result =
          call(fmt::format("{}_round_{}", name(kind), name(fp.round)), type_of(kind), {result});
    }
  }
  result = recode(fp, kind, result);
  if (fp.ftz && fp.to == NumKind::f32 && kind == NumKind::f64 && !to_integral(fp.round)) {
    result = flush_narrowed(fp.round, a, result);
  } else if (fp.ftz && fp.to == NumKind::f32) {
    if (!to_integral(fp.round)) result = flush(fp.to, result);
    if (fp.kind == NumKind::bf16) result = only_nan(fp.to, result);
  }
  return fp.sat && fp.to >= NumKind::f16 && fp.to <= NumKind::f64 ? saturate(fp.to, result)
                                                                  : result;
}

Value FloatLegaliser::recode(const FpAttr& fp, NumKind kind, Value a) {
  const NumKind to = fp.to;
  const std::string_view round = rounding(fp.round);
  if (kind == to) return a;
  // Widenings are exact; halves go by way of single precision.
  if (to == NumKind::f32 && kind == NumKind::f16) {
    const Value wide = widen(kind, a);
    const bool sure = !p_.exactness.exact_widen16 || p_.exactness.canonical_nan16;
    return sure ? wide : b_.select(is_nan(kind, a), constant(to, format_of(to).nan), wide);
  }
  if (to == NumKind::f32 && kind == NumKind::bf16) return widen(kind, a);
  // Not by way of f32, whose only NaN would replace the operand's.
  if (to == NumKind::f64 && kind == NumKind::f16) return call("f64_from_f16", Type::i64, {a});
  if (to == NumKind::f64 && kind == NumKind::bf16) return call("f64_from_bf16", Type::i64, {a});
  if (to == NumKind::f64 && kind == NumKind::f32) {
    if (p_.features.float64 && (fast_ || p_.exactness.exact_widen64)) return fconvert(kind, to, a);
    return call("f64_from_f32", Type::i64, {a});
  }
  if (to == NumKind::f32 && kind == NumKind::f64 && p_.features.float64 && round == "rn" &&
      (fast_ || p_.exactness.exact_narrow64))
    return fconvert(kind, to, a);
  if ((to == NumKind::f16 || to == NumKind::bf16) &&
      (kind == NumKind::f16 || kind == NumKind::bf16)) {
    a = widen(kind, a);
    kind = NumKind::f32;
  }
  const bool small = kind == NumKind::e4m3 || kind == NumKind::e5m2;
  if (small) {
    a = call(fmt::format("f16_from_{}", name(kind)), Type::i32, {a});
    return to == NumKind::f16
               ? a
               : recode(FpAttr{.kind = NumKind::f16, .to = to, .round = fp.round}, NumKind::f16, a);
  }
  if ((to == NumKind::e4m3 || to == NumKind::e5m2) && kind != NumKind::f32)
    a = widen(kind, a), kind = NumKind::f32;
  return call(fmt::format("{}_from_{}_{}", name(to), name(kind), round), type_of(to), {a});
}

Value FloatLegaliser::fconvert(NumKind from, NumKind to, Value a) {
  const Value v = b_.inst(Op::native_fconvert, type_of(to), {a});
  f_.insts[v].fp = FpAttr{.kind = from, .to = to};
  return v;
}

}  // namespace ptx2spv::passes::floats
