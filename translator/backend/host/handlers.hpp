// The steps' handlers, by what they work on.
#pragma once

#include "translator/backend/host/program.hpp"

#if defined(__clang__)
#define PTX2SPV_EACH_LANE _Pragma("clang loop vectorize(enable)")
#else
#define PTX2SPV_EACH_LANE _Pragma("GCC ivdep")
#endif

namespace ptx2spv::interpreter {

struct Handlers {
  Handler whole = nullptr, masked = nullptr;
};

/// Of an operation of the IR on operands of type `from`; none where it is none of theirs.
Handlers integer_handlers(const ir::Inst& inst, ir::Type from);
Handlers float_handlers(const ir::Inst& inst, ir::Type from);
/// Of a load (`uniform`: its address is a constant), an atomic or a fence.
Handlers memory_handlers(const ir::Inst& inst, bool uniform);
/// `stored`: the type of what is stored.
Handlers store_handlers(const ir::Inst& inst, ir::Type stored);
Handlers builtin_handlers(ir::Builtin builtin);
Handlers clock_handlers();
/// Moves a value from place in[0]; imm is the number of rows.
Handlers move_handlers(ir::Type type);
/// A call of the shader library (Step::more is a Call).
Handlers call_handlers();

/// The routine of the shader library of that name with parameters of these types; null where there
/// is none.
Routine find_routine(std::string_view name, std::span<const ir::Type> parameters);

// What handlers are made of: F, a lambda, of each lane. Results never lie over operands.

template <typename T>
T* values(const Lanes& lanes, Place place) {
  return reinterpret_cast<T*>(lanes.words(place));
}

template <typename T, bool Masked>
void put(const Lanes& lanes, T* __restrict out, unsigned lane, T value) {
  if constexpr (Masked)
    out[lane] = lanes.select.words[lane] ? value : out[lane];
  else
    out[lane] = value;
}

template <typename R, typename A, auto F, bool Masked>
void unary(const Step& step, Lanes& lanes) {
  R* __restrict out = values<R>(lanes, step.out);
  const A* __restrict a = values<A>(lanes, step.in[0]);
  PTX2SPV_EACH_LANE
  for (unsigned i = 0; i < kLanes; ++i) put<R, Masked>(lanes, out, i, F(a[i]));
}

template <typename R, typename A, typename B, auto F, bool Masked>
void binary(const Step& step, Lanes& lanes) {
  R* __restrict out = values<R>(lanes, step.out);
  const A* __restrict a = values<A>(lanes, step.in[0]);
  const B* __restrict b = values<B>(lanes, step.in[1]);
  PTX2SPV_EACH_LANE
  for (unsigned i = 0; i < kLanes; ++i) put<R, Masked>(lanes, out, i, F(a[i], b[i]));
}

template <typename T, auto F, bool Masked>
void ternary(const Step& step, Lanes& lanes) {
  T* __restrict out = values<T>(lanes, step.out);
  const T* __restrict a = values<T>(lanes, step.in[0]);
  const T* __restrict b = values<T>(lanes, step.in[1]);
  const T* __restrict c = values<T>(lanes, step.in[2]);
  PTX2SPV_EACH_LANE
  for (unsigned i = 0; i < kLanes; ++i) put<T, Masked>(lanes, out, i, F(a[i], b[i], c[i]));
}

template <typename R, typename A, auto F>
constexpr Handlers of_unary() {
  return {unary<R, A, F, false>, unary<R, A, F, true>};
}
template <typename R, typename A, typename B, auto F>
constexpr Handlers of_binary() {
  return {binary<R, A, B, F, false>, binary<R, A, B, F, true>};
}
template <typename T, auto F>
constexpr Handlers of_ternary() {
  return {ternary<T, F, false>, ternary<T, F, true>};
}

}  // namespace ptx2spv::interpreter
