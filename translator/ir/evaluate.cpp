#include "translator/ir/evaluate.hpp"

#include "translator/ir/semantics.hpp"

namespace ptx2spv::ir {

namespace {

using namespace semantics;

/// Applies functions to bits, of which a value has as many as the first operand's type.
struct ByBits {
  Type from;
  std::span<const Bits> args;

  Bits of(u64 result) const { return Bits::of(from == Type::i1 ? result & 1 : result); }
  std::optional<Bits> none() const { return std::nullopt; }
  template <class F>
  std::optional<Bits> alone(F f) const {
    return of(from == Type::i64 ? f(args[0].u64()) : f(args[0].w[0]));
  }
  template <class F>
  std::optional<Bits> same(F f) const {
    return of(from == Type::i64 ? f(args[0].u64(), args[1].u64()) : f(args[0].w[0], args[1].w[0]));
  }
  template <class F>
  std::optional<Bits> shifted(F f) const {
    const u32 by = args[1].w[0];
    return of(from == Type::i64 ? f(args[0].u64(), by) : f(args[0].w[0], by));
  }
  template <class F>
  std::optional<Bits> compared(F f) const {
    return same(f);
  }
};

}  // namespace

std::optional<Bits> evaluate(const Inst& inst, Type from, std::span<const Bits> args) {
  const auto w = [&](unsigned i) { return args[i].w[0]; };
  switch (inst.op) {
    case Op::constant: return Bits::of(inst.imm);
    case Op::undef: return Bits{};
    case Op::popcount: return Bits::of(static_cast<unsigned>(std::popcount(args[0].u64())));
    case Op::find_msb: return Bits::of(highest_bit(w(0)));
    case Op::bit_reverse: return Bits::of(reversed(w(0)));
    case Op::bfe_u: return Bits::of(field_of(w(0), w(1), w(2)));
    case Op::bfe_s: return Bits::of(signed_field_of(w(0), w(1), w(2)));
    case Op::bfi: return Bits::of(with_field(w(0), w(1), w(2), w(3)));
    case Op::dot4: return Bits::of(dot4(w(0), w(1), inst.imm));
    case Op::select: return w(0) ? args[1] : args[2];
    case Op::zext:
    case Op::trunc: return Bits::of(w(0));
    case Op::sext: return Bits::of(static_cast<u64>(std::int64_t{sign(w(0))}));
    case Op::high: return Bits::of(args[0].w[1]);
    case Op::pack: return Bits{{w(0), w(1), 0, 0}};
    case Op::compose: {
      Bits r;
      for (std::size_t i = 0; i < args.size() && i < 4; ++i) r.w[i] = args[i].w[0];
      return r;
    }
    case Op::extract: return Bits::of(args[0].w[inst.imm & 3]);
    default: return apply(inst.op, ByBits{from, args});
  }
}

}  // namespace ptx2spv::ir
