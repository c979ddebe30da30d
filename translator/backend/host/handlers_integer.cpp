// Integers, comparisons, selection and conversions between the IR's types (translator/ir/ops.def).
#include "translator/backend/host/handlers.hpp"
#include "translator/ir/semantics.hpp"

namespace ptx2spv::interpreter {

namespace {

using namespace ir::semantics;

template <bool Masked>
void bfi(const Step& step, Lanes& lanes) {
  u32* __restrict out = lanes.words(step.out);
  const u32 *base = lanes.words(step.in[0]), *insert = lanes.words(step.in[1]),
            *offset = lanes.words(step.in[2]), *count = lanes.words(step.in[3]);
  for (unsigned i = 0; i < kLanes; ++i)
    put<u32, Masked>(lanes, out, i, with_field(base[i], insert[i], offset[i], count[i]));
}

/// T: u32 for a row, of which a vector has several; u64 for i64.
template <typename T, bool Masked>
void select(const Step& step, Lanes& lanes) {
  const u32* __restrict c = lanes.words(step.in[0]);
  for (unsigned row = 0; row < (sizeof(T) == 8 ? 1 : step.imm); ++row) {
    T* __restrict out = reinterpret_cast<T*>(lanes.rows(step.out) + row);
    const T* __restrict a = reinterpret_cast<const T*>(lanes.rows(step.in[1]) + row);
    const T* __restrict b = reinterpret_cast<const T*>(lanes.rows(step.in[2]) + row);
    PTX2SPV_EACH_LANE
    for (unsigned i = 0; i < kLanes; ++i) put<T, Masked>(lanes, out, i, c[i] ? a[i] : b[i]);
  }
}

template <bool Masked>
void compose(const Step& step, Lanes& lanes) {
  for (unsigned row = 0; row < step.inputs; ++row) {
    u32* __restrict out = (lanes.rows(step.out) + row)->words;
    const u32* __restrict a = lanes.words(step.in[row]);
    PTX2SPV_EACH_LANE
    for (unsigned i = 0; i < kLanes; ++i) put<u32, Masked>(lanes, out, i, a[i]);
  }
}

template <bool Masked>
void extract(const Step& step, Lanes& lanes) {
  u32* __restrict out = lanes.words(step.out);
  const u32* __restrict a = (lanes.rows(step.in[0]) + step.imm)->words;
  PTX2SPV_EACH_LANE
  for (unsigned i = 0; i < kLanes; ++i) put<u32, Masked>(lanes, out, i, a[i]);
}

/// Handlers of functions, for the first operand's type.
struct ByLanes {
  Type from;

  Handlers none() const { return {}; }
  template <class F>
  Handlers alone(F) const {
    return from == Type::i64 ? of_unary<u64, u64, F{}>() : of_unary<u32, u32, F{}>();
  }
  template <class F>
  Handlers same(F) const {
    return from == Type::i64 ? of_binary<u64, u64, u64, F{}>() : of_binary<u32, u32, u32, F{}>();
  }
  template <class F>
  Handlers shifted(F) const {
    return from == Type::i64 ? of_binary<u64, u64, u32, F{}>() : of_binary<u32, u32, u32, F{}>();
  }
  template <class F>
  Handlers compared(F) const {
    return from == Type::i64 ? of_binary<u32, u64, u64, F{}>() : of_binary<u32, u32, u32, F{}>();
  }
};

}  // namespace

Handlers integer_handlers(const ir::Inst& inst, Type from) {
  switch (inst.op) {
    case Op::not_:
      if (from == Type::i1) return of_unary<u32, u32, [](u32 a) { return a ^ 1; }>();
      break;
    case Op::popcount: {
      constexpr auto count = [](auto a) { return static_cast<u32>(std::popcount(a)); };
      return from == Type::i64 ? of_unary<u32, u64, count>() : of_unary<u32, u32, count>();
    }
    case Op::find_msb: return of_unary<u32, u32, highest_bit>();
    case Op::bit_reverse: return of_unary<u32, u32, reversed>();
    case Op::bfe_u: return of_ternary<u32, field_of>();
    case Op::bfe_s: return of_ternary<u32, signed_field_of>();
    case Op::bfi: return {bfi<false>, bfi<true>};
    case Op::select:
      if (inst.type == Type::i64) return {select<u64, false>, select<u64, true>};
      return {select<u32, false>, select<u32, true>};
    case Op::zext: {
      constexpr auto same = [](u32 a) { return a; };
      return inst.type == Type::i64 ? of_unary<u64, u32, same>() : of_unary<u32, u32, same>();
    }
    case Op::sext:
      return of_unary<u64, u32, [](u32 a) { return static_cast<u64>(std::int64_t{sign(a)}); }>();
    case Op::trunc: return of_unary<u32, u64, [](u64 a) { return static_cast<u32>(a); }>();
    case Op::high: return of_unary<u32, u64, [](u64 a) { return static_cast<u32>(a >> 32); }>();
    case Op::pack: return of_binary<u64, u32, u32, [](u32 a, u32 b) { return a | u64{b} << 32; }>();
    case Op::compose: return {compose<false>, compose<true>};
    case Op::extract: return {extract<false>, extract<true>};
    default: break;
  }
  return apply(inst.op, ByLanes{from});
}

}  // namespace ptx2spv::interpreter
