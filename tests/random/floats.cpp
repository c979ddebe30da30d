#include "tests/random/floats.hpp"

#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>

namespace ptx2spv::test {

namespace {

using ir::Bits;
using ir::NumKind;
using ir::Op;
using ir::Round;

/// Keeps the compiler from moving arithmetic across a change of the rounding mode.
template <typename T>
T opaque(T v) {
  asm volatile("" : "+m"(v) : : "memory");
  return v;
}

class Rounding {
 public:
  explicit Rounding(Round round) {
    std::fesetround(round == Round::rz || round == Round::rzi   ? FE_TOWARDZERO
                    : round == Round::rm || round == Round::rmi ? FE_DOWNWARD
                    : round == Round::rp || round == Round::rpi ? FE_UPWARD
                                                                : FE_TONEAREST);
  }
  ~Rounding() { std::fesetround(FE_TONEAREST); }
  Rounding(const Rounding&) = delete;
  Rounding& operator=(const Rounding&) = delete;
};

float single(std::uint32_t u) { return std::bit_cast<float>(u); }
double twofold(std::uint64_t u) { return std::bit_cast<double>(u); }

std::uint32_t flush(std::uint32_t u) { return (u & 0x7f800000u) == 0 ? u & 0x80000000u : u; }

bool is_nan64(std::uint64_t u) { return (u & ~(1ull << 63)) > 0x7ff0000000000000ull; }
std::uint64_t quiet(std::uint64_t u) { return u | 1ull << 51; }

/// Every result of f32 arithmetic: one NaN, and what the modifiers ask for.
std::uint32_t finish(const ir::FpAttr& fp, float v) {
  std::uint32_t u = std::isnan(v) ? 0x7fffffffu : std::bit_cast<std::uint32_t>(v);
  if (fp.sat) {
    if (!(v > 0)) return 0;
    if (v > 1) return 0x3f800000u;
  }
  return fp.ftz ? flush(u) : u;
}

double half_value(std::uint32_t h) {
  const int e = static_cast<int>(h >> 10 & 31), m = static_cast<int>(h & 1023);
  double v = e == 31  ? (m ? std::numeric_limits<double>::quiet_NaN()
                           : std::numeric_limits<double>::infinity())
             : e == 0 ? std::ldexp(m, -24)
                      : std::ldexp(1024 + m, e - 25);
  return h & 0x8000 ? -v : v;
}

/// Nearest or toward zero; the operand is exact.
std::uint32_t to_half(double v, Round round) {
  if (std::isnan(v)) return 0x7fff;
  const std::uint32_t sign = std::signbit(v) ? 0x8000u : 0;
  const double a = std::fabs(v);
  if (std::isinf(a)) return sign | 0x7c00;
  if (a == 0) return sign;
  int e;
  std::frexp(a, &e);
  const double scaled = std::ldexp(a, 11 - std::max(e, -13));
  Rounding mode(round);
  const double whole = opaque(std::nearbyint(opaque(scaled)));
  const double rounded = std::ldexp(whole, std::max(e, -13) - 11);
  if (rounded >= 65536) return sign | (round == Round::rz ? 0x7bffu : 0x7c00u);
  if (rounded < std::ldexp(1.0, -14))
    return sign | static_cast<std::uint32_t>(std::ldexp(rounded, 24));
  std::frexp(rounded, &e);
  return sign | static_cast<std::uint32_t>((e + 14) << 10) |
         (static_cast<std::uint32_t>(std::ldexp(rounded, 11 - e)) & 1023);
}

bool arithmetic32(const ir::Inst& inst, std::span<const Bits> args, Bits& result) {
  std::uint32_t u[3] = {};
  for (std::size_t i = 0; i < args.size() && i < 3; ++i)
    u[i] = inst.fp.ftz ? flush(args[i].w[0]) : args[i].w[0];
  const float a = single(u[0]), b = single(u[1]), c = single(u[2]);
  const bool nan = std::isnan(a) || std::isnan(b);
  const auto flag = [&](bool v) {
    result = Bits::of(v);
    return true;
  };
  const auto give = [&](float v) {
    result = Bits::of(finish(inst.fp, v));
    return true;
  };
  Rounding mode(inst.fp.round);
  switch (inst.op) {
    case Op::fadd: return give(opaque(opaque(a) + opaque(b)));
    case Op::fmul: return give(opaque(opaque(a) * opaque(b)));
    case Op::ffma: return give(opaque(std::fmaf(opaque(a), opaque(b), opaque(c))));
    case Op::fdiv: return inst.fp.round < Round::rna && give(opaque(opaque(a) / opaque(b)));
    case Op::frcp: return inst.fp.round < Round::rna && give(opaque(1.0f / opaque(a)));
    case Op::fsqrt: return inst.fp.round < Round::rna && give(opaque(std::sqrt(opaque(a))));
    case Op::fmin:
    case Op::fmax: {
      if (nan && (inst.fp.nan || (std::isnan(a) && std::isnan(b)))) return give(NAN);
      if (nan) return give(std::isnan(a) ? b : a);
      const bool first =
          a == b ? std::signbit(a) == (inst.op == Op::fmin) : (a < b) == (inst.op == Op::fmin);
      return give(first ? a : b);
    }
    case Op::feq: return flag(a == b);
    case Op::flt: return flag(a < b);
    case Op::fle: return flag(a <= b);
    case Op::funord: return flag(nan);
    default: return false;
  }
}

bool arithmetic64(const ir::Inst& inst, std::span<const Bits> args, Bits& result) {
  std::uint64_t u[3] = {};
  for (std::size_t i = 0; i < args.size() && i < 3; ++i) u[i] = args[i].u64();
  const double a = twofold(u[0]), b = twofold(u[1]), c = twofold(u[2]);
  const bool nan_a = is_nan64(u[0]), nan_b = is_nan64(u[1]);
  const auto bits = [&](std::uint64_t v) {
    result = Bits::of(v);
    return true;
  };
  const auto give = [&](double v) {
    return bits(std::isnan(v) ? 0xfff8000000000000ull : std::bit_cast<std::uint64_t>(v));
  };
  Rounding mode(inst.fp.round);
  switch (inst.op) {
    case Op::fadd:
      if (nan_a || nan_b) return bits(quiet(nan_b ? u[1] : u[0]));
      return give(opaque(opaque(a) + opaque(b)));
    case Op::fmul:
      if (nan_a || nan_b) return bits(quiet(nan_b ? u[1] : u[0]));
      return give(opaque(opaque(a) * opaque(b)));
    case Op::ffma:
      if (nan_b) return bits(quiet(u[1]));
      if (is_nan64(u[2])) return bits(quiet(u[2]));
      if (nan_a) return bits(quiet(u[0]));
      return give(opaque(std::fma(opaque(a), opaque(b), opaque(c))));
    case Op::fmin:
    case Op::fmax: {
      if (nan_a && nan_b) return bits(quiet(u[0]));
      if (nan_a || nan_b) return bits(nan_a ? u[1] : u[0]);
      const bool first =
          a == b ? std::signbit(a) == (inst.op == Op::fmin) : (a < b) == (inst.op == Op::fmin);
      return bits(first ? u[0] : u[1]);
    }
    case Op::feq: return bits(a == b);
    case Op::flt: return bits(a < b);
    case Op::fle: return bits(a <= b);
    case Op::funord: return bits(nan_a || nan_b);
    default: return false;
  }
}

bool arithmetic16(const ir::Inst& inst, std::span<const Bits> args, Bits& result) {
  const double a = half_value(args[0].w[0]), b = args.size() > 1 ? half_value(args[1].w[0]) : 0;
  if (inst.fp.ftz || inst.fp.sat) return false;
  switch (inst.op) {
    case Op::fadd: result = Bits::of(to_half(a + b, inst.fp.round)); return true;
    case Op::fmul: result = Bits::of(to_half(a * b, inst.fp.round)); return true;
    case Op::feq: result = Bits::of(a == b); return true;
    case Op::flt: result = Bits::of(a < b); return true;
    case Op::fle: result = Bits::of(a <= b); return true;
    case Op::funord: result = Bits::of(std::isnan(a) || std::isnan(b)); return true;
    default: return false;
  }
}

/// Floats to integers saturate; what NaN gives goes by the two formats.
std::uint64_t to_integer(NumKind to, NumKind from, double v, Round round) {
  if (std::isnan(v)) {
    if (to == NumKind::u64 || to == NumKind::s64) return 1ull << 63;
    return from == NumKind::f64 ? 0x80000000u : 0;
  }
  Rounding mode(round);
  const double whole = opaque(std::nearbyint(opaque(v)));
  const auto clamp = [&](double low, double above, std::uint64_t least, std::uint64_t most) {
    if (whole < low) return least;
    if (whole >= above) return most;
    return whole < 0 ? static_cast<std::uint64_t>(static_cast<std::int64_t>(whole))
                     : static_cast<std::uint64_t>(whole);
  };
  switch (to) {
    case NumKind::u32: return clamp(0, 0x1p32, 0, 0xffffffffu);
    case NumKind::s32: return clamp(-0x1p31, 0x1p31, 0x80000000u, 0x7fffffffu) & 0xffffffffu;
    case NumKind::u64: return clamp(0, 0x1p64, 0, ~0ull);
    default: return clamp(-0x1p63, 0x1p63, 1ull << 63, ~0ull >> 1);
  }
}

bool convert(const ir::Inst& inst, const Bits& arg, Bits& result) {
  const ir::FpAttr& fp = inst.fp;
  const bool from_float =
      fp.kind == NumKind::f16 || fp.kind == NumKind::f32 || fp.kind == NumKind::f64;
  Rounding mode(fp.round);
  const auto bits = [&](std::uint64_t v) {
    result = Bits::of(v);
    return true;
  };
  if (!from_float) {
    const std::uint64_t u = arg.u64();
    float f = 0;
    double d = 0;
    switch (fp.kind) {
      case NumKind::u32: f = opaque(static_cast<float>(opaque(arg.w[0]))), d = arg.w[0]; break;
      case NumKind::s32:
        f = opaque(static_cast<float>(opaque(static_cast<std::int32_t>(arg.w[0]))));
        d = static_cast<std::int32_t>(arg.w[0]);
        break;
      case NumKind::s64:
        f = opaque(static_cast<float>(opaque(static_cast<std::int64_t>(u))));
        d = opaque(static_cast<double>(opaque(static_cast<std::int64_t>(u))));
        break;
      default: return false;
    }
    if (fp.to == NumKind::f32) return bits(finish(fp, f));
    return fp.to == NumKind::f64 && bits(std::bit_cast<std::uint64_t>(d));
  }
  const std::uint32_t word = fp.kind == NumKind::f32 && fp.ftz ? flush(arg.w[0]) : arg.w[0];
  const std::uint64_t u = arg.u64();
  const double v = fp.kind == NumKind::f16   ? half_value(word)
                   : fp.kind == NumKind::f32 ? static_cast<double>(single(word))
                                             : twofold(u);
  const bool to_whole = fp.round == Round::rni || fp.round == Round::rzi ||
                        fp.round == Round::rmi || fp.round == Round::rpi;
  switch (fp.to) {
    case NumKind::f16: return !fp.sat && bits(to_half(v, fp.round));
    case NumKind::f32: {
      // A NaN keeps its sign and upper payload where it comes from double precision.
      if (fp.kind == NumKind::f64 && is_nan64(u))
        return bits((u >> 32 & 0x80000000u) | 0x7fc00000u | (u >> 29 & 0x3fffff));
      const float f = to_whole ? static_cast<float>(opaque(std::nearbyint(opaque(v))))
                               : opaque(static_cast<float>(opaque(v)));
      return bits(finish(fp, f));
    }
    case NumKind::f64:
      if (std::isnan(v) && fp.kind == NumKind::f32)
        return bits(std::uint64_t{word & 0x80000000u} << 32 | 0x7ff8000000000000ull |
                    std::uint64_t{word & 0x3fffff} << 29);
      return fp.kind == NumKind::f32 && bits(std::bit_cast<std::uint64_t>(v));
    case NumKind::u32:
    case NumKind::s32:
    case NumKind::u64:
    case NumKind::s64: return bits(to_integer(fp.to, fp.kind, v, fp.round));
    default: return false;
  }
}

}  // namespace

bool float_operation(const ir::Inst& inst, std::span<const Bits> args, Bits& result) {
  if (inst.op < Op::fadd || inst.op > Op::fcvt || args.empty()) return false;
  if (inst.op == Op::fcvt) return convert(inst, args[0], result);
  switch (inst.fp.kind) {
    case NumKind::f16: return arithmetic16(inst, args, result);
    case NumKind::f32: return arithmetic32(inst, args, result);
    case NumKind::f64: return arithmetic64(inst, args, result);
    default: return false;
  }
}

}  // namespace ptx2spv::test
