// The processor's own floating point, which rounds to nearest even and keeps denormals. Every NaN
// of single precision is the one that NVIDIA's hardware gives.
#include <cmath>
#include <limits>

#include <spirv/unified1/GLSL.std.450.h>

#include "translator/backend/host/handlers.hpp"

namespace ptx2spv::interpreter {

namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

template <typename T>
struct FloatOf;
template <>
struct FloatOf<u32> {
  using type = float;
};
template <>
struct FloatOf<u64> {
  using type = double;
};
template <typename T>
using Float = typename FloatOf<T>::type;

template <typename T>
Float<T> number(T bits) {
  return std::bit_cast<Float<T>>(bits);
}
u32 bits(float value) { return value != value ? 0x7fffffffu : std::bit_cast<u32>(value); }
u64 bits(double value) { return std::bit_cast<u64>(value); }

/// The bits of a result; of a NaN, the first NaN of the operands given, quiet, or the one of an
/// invalid operation (docs/reference/arithmetic.md).
template <typename... Operands>
u32 settled(float result, Operands...) {
  return bits(result);
}
template <typename... Operands>
u64 settled(double result, Operands... operands) {
  if (result == result) return bits(result);
  u64 chosen = 0xfff8000000000000u;
  bool found = false;
  const auto look = [&](u64 operand) {
    if (found || number(operand) == number(operand)) return;
    chosen = operand | 0x0008000000000000u;
    found = true;
  };
  (look(operands), ...);
  return chosen;
}

template <typename T>
struct FAdd {
  T operator()(T a, T b) const { return settled(number(a) + number(b), b, a); }
};
template <typename T>
struct FSub {
  T operator()(T a, T b) const { return settled(number(a) - number(b), a, b); }
};
template <typename T>
struct FMul {
  T operator()(T a, T b) const { return settled(number(a) * number(b), b, a); }
};
template <typename T>
struct FDiv {
  T operator()(T a, T b) const { return settled(number(a) / number(b), a, b); }
};
template <typename T>
struct FFma {
  T operator()(T a, T b, T c) const {
    return settled(std::fma(number(a), number(b), number(c)), b, c, a);
  }
};
template <typename T>
struct FSqrt {
  T operator()(T a) const { return settled(std::sqrt(number(a)), a); }
};
template <typename T>
struct FEq {
  u32 operator()(T a, T b) const { return number(a) == number(b); }
};
template <typename T>
struct FLt {
  u32 operator()(T a, T b) const { return number(a) < number(b); }
};
template <typename T>
struct FLe {
  u32 operator()(T a, T b) const { return number(a) <= number(b); }
};

template <typename From, typename To>
struct FromS {
  To operator()(From a) const {
    return bits(static_cast<Float<To>>(static_cast<std::make_signed_t<From>>(a)));
  }
};
template <typename From, typename To>
struct FromU {
  To operator()(From a) const { return bits(static_cast<Float<To>>(a)); }
};

/// What does not fit gives the nearest integer that there is, NaN 0. Vulkan leaves both open.
template <typename Integer, typename F>
Integer saturated(F value) {
  using Limits = std::numeric_limits<Integer>;
  if (!(value == value)) return 0;
  // The largest integer may have no float; the next power of two has.
  const F above = std::ldexp(F{1}, Limits::digits);
  if (value >= above) return Limits::max();
  if (value <= static_cast<F>(Limits::min())) return Limits::min();
  return static_cast<Integer>(value);
}
template <typename From, typename To>
struct ToS {
  To operator()(From a) const {
    return static_cast<To>(saturated<std::make_signed_t<To>>(number(a)));
  }
};
template <typename From, typename To>
struct ToU {
  To operator()(From a) const { return saturated<To>(number(a)); }
};

template <typename T>
Handlers arithmetic(Op op) {
  switch (op) {
    case Op::native_fadd: return of_binary<T, T, T, FAdd<T>{}>();
    case Op::native_fsub: return of_binary<T, T, T, FSub<T>{}>();
    case Op::native_fmul: return of_binary<T, T, T, FMul<T>{}>();
    case Op::native_fdiv: return of_binary<T, T, T, FDiv<T>{}>();
    case Op::native_ffma: return of_ternary<T, FFma<T>{}>();
    case Op::native_fsqrt: return of_unary<T, T, FSqrt<T>{}>();
    case Op::native_feq: return of_binary<u32, T, T, FEq<T>{}>();
    case Op::native_flt: return of_binary<u32, T, T, FLt<T>{}>();
    case Op::native_fle: return of_binary<u32, T, T, FLe<T>{}>();
    default: return {};
  }
}

template <template <typename, typename> class F>
Handlers converted(bool wide_from, bool wide_to) {
  if (wide_from && wide_to) return of_unary<u64, u64, F<u64, u64>{}>();
  if (wide_from) return of_unary<u32, u64, F<u64, u32>{}>();
  if (wide_to) return of_unary<u64, u32, F<u32, u64>{}>();
  return of_unary<u32, u32, F<u32, u32>{}>();
}

template <auto F>
Handlers function() {
  return of_unary<u32, u32, [](u32 a) { return bits(F(number(a))); }>();
}

Handlers unary_function(u64 which) {
  switch (which) {
    case GLSLstd450RoundEven: return function<[](float a) { return std::nearbyint(a); }>();
    case GLSLstd450Trunc: return function<[](float a) { return std::trunc(a); }>();
    case GLSLstd450FAbs: return function<[](float a) { return std::fabs(a); }>();
    case GLSLstd450Floor: return function<[](float a) { return std::floor(a); }>();
    case GLSLstd450Ceil: return function<[](float a) { return std::ceil(a); }>();
    case GLSLstd450Sin: return function<[](float a) { return std::sin(a); }>();
    case GLSLstd450Cos: return function<[](float a) { return std::cos(a); }>();
    case GLSLstd450Tanh: return function<[](float a) { return std::tanh(a); }>();
    case GLSLstd450Exp2: return function<[](float a) { return std::exp2(a); }>();
    case GLSLstd450Log2: return function<[](float a) { return std::log2(a); }>();
    case GLSLstd450Sqrt: return function<[](float a) { return std::sqrt(a); }>();
    case GLSLstd450InverseSqrt: return function<[](float a) { return 1.0f / std::sqrt(a); }>();
    default: return {};
  }
}

}  // namespace

Handlers float_handlers(const ir::Inst& inst, Type from) {
  const bool wide = from == Type::i64, wide_result = inst.type == Type::i64;
  const Handlers found = wide ? arithmetic<u64>(inst.op) : arithmetic<u32>(inst.op);
  if (found.whole) return found;
  switch (inst.op) {
    case Op::native_unary: return unary_function(inst.imm);
    case Op::native_from_s: return converted<FromS>(wide, wide_result);
    case Op::native_from_u: return converted<FromU>(wide, wide_result);
    case Op::native_to_s: return converted<ToS>(wide, wide_result);
    case Op::native_to_u: return converted<ToU>(wide, wide_result);
    case Op::native_fconvert:
      if (wide == wide_result) return {};
      return wide ? of_unary<u32, u64, [](u64 a) { return bits(static_cast<float>(number(a))); }>()
                  : of_unary<u64, u32, [](u32 a) { return bits(double{number(a)}); }>();
    default: return {};
  }
}

}  // namespace ptx2spv::interpreter
