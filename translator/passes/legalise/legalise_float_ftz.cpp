// Flushed operands and results.
#include <algorithm>
#include <span>

#include "translator/passes/legalise/legalise_float.hpp"

namespace ptx2spv::passes::floats {

void FloatLegaliser::find_flushed() {
  if (fast_ || std::ranges::none_of(f_.insts, [](const Inst& inst) { return inst.fp.ftz; })) return;
  // Optimistic: what hands on others' values hands on no denormal until one of them may be one.
  std::vector<std::vector<Value>> users(f_.insts.size());
  std::vector<Value> work;
  flushed_.assign(f_.insts.size(), true);
  const auto handed_on = [&](Value v) -> std::span<const Value> {
    const Inst& inst = f_.insts[v];
    const auto args = f_.args(v);
    if (inst.op == Op::phi) return args;
    if (inst.op == Op::select) return args.subspan(1);
    const bool sign = inst.op == Op::xor_ && f_.insts[args[1]].op == Op::constant &&
                      f_.insts[args[1]].imm == 0x80000000u;
    const bool magnitude = inst.op == Op::and_ && f_.insts[args[1]].op == Op::constant &&
                           f_.insts[args[1]].imm == 0x7fffffffu;
    return sign || magnitude ? args.first(1) : std::span<const Value>();
  };
  for (const Block& block : f_.blocks)
    for (const Value v : block.insts) {
      const Inst& inst = f_.insts[v];
      const auto from = handed_on(v);
      for (const Value a : from) users[a].push_back(v);
      if (inst.type == Type::i32 && !from.empty()) continue;
      const bool single = inst.type == Type::i32 && inst.fp.kind == NumKind::f32;
      if (inst.op == Op::constant && ((inst.imm & 0x7f800000u) || !(inst.imm & 0x7fffffffu)))
        continue;
      if (single && find_row(inst.op) && inst.fp.ftz) continue;
      flushed_[v] = false;
      work.push_back(v);
    }
  while (!work.empty()) {
    const Value v = work.back();
    work.pop_back();
    for (const Value user : users[v]) {
      if (!flushed_[user]) continue;
      flushed_[user] = false;
      work.push_back(user);
    }
  }
}

void FloatLegaliser::set_flushed(Value v) {
  if (v >= flushed_.size()) flushed_.resize(v + 1);
  flushed_[v] = true;
}

Value FloatLegaliser::flush(NumKind kind, Value a) {
  if (kind == NumKind::f32 && (is_flushed(a) || ranges_.of(a).normal())) return a;
  const Format f = format_of(kind);
  // A constant stays one, for with_constant.
  if (const Inst& c = f_.insts[a]; c.op == Op::constant)
    return c.imm & f.exponent ? a : constant(kind, c.imm & f.sign);
  const Value small =
      b_.cmp(Op::eq, b_.op2(Op::and_, a, constant(kind, f.exponent)), constant(kind, 0));
  const Value flushed = b_.select(small, b_.op2(Op::and_, a, constant(kind, f.sign)), a);
  if (kind == NumKind::f32) set_flushed(flushed);
  return flushed;
}

Value FloatLegaliser::zero_if(Value tiny, Value a) {
  if (p_.exactness.canonical_nan32)
    return b_.select(tiny, b_.op2(Op::and_, a, b_.i32(0x80000000u)), a);
  const Value factor = b_.select(tiny, b_.i32(0), b_.i32(0x3f800000));
  return canonical(NumKind::f32, b_.inst(Op::native_fmul, Type::i32, {a, factor}));
}

Value FloatLegaliser::flush_number(Value a) {
  if (is_flushed(a) || ranges_.of(a).normal() || f_.insts[a].op == Op::constant ||
      p_.exactness.canonical_nan32)
    return flush(NumKind::f32, a);
  const Value magnitude = b_.op2(Op::and_, a, b_.i32(0x7fffffff));
  const Value flushed =
      zero_if(b_.inst(Op::native_flt, Type::i1, {magnitude, b_.i32(0x00800000)}), a);
  set_flushed(flushed);
  return flushed;
}

std::optional<Value> FloatLegaliser::flushing(const Inst& inst, const Row& row,
                                              std::vector<Value> args, bool use_native) {
  constexpr std::uint32_t kUp32 = 0x4f800000, kUp63 = 0x5f000000, kUp64 = 0x5f800000,
                          kDown63 = 0x20000000, kOne = 0x3f800000, kEdge = 0x20800000;
  const auto f32 = [&](std::uint32_t bits) { return b_.i32(bits); };
  const auto times = [&](Value a, Value scale) {
    return b_.inst(Op::native_fmul, Type::i32, {a, scale});
  };
  const auto magnitude = [&](Value a) { return b_.op2(Op::and_, a, b_.i32(0x7fffffff)); };
  const auto below = [&](Value a, std::uint32_t bits) { return b_.cmp(Op::ult, a, b_.i32(bits)); };
  const auto vanishes = [&](Value a) {
    return b_.inst(Op::native_flt, Type::i1, {magnitude(a), b_.i32(kEdge)});
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
        return zero_if(vanishes(scaled), native(row, NumKind::f32, args, Type::i32));
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
        return zero_if(vanishes(scaled), native(row, NumKind::f32, args, Type::i32));
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
      const Value tiny =
          b_.inst(Op::native_flt, Type::i1,
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

Value FloatLegaliser::unscaled(Value low, Value result) {
  const Value magnitude = b_.op2(Op::and_, result, b_.i32(0x7fffffff));
  const Value tiny = b_.op2(Op::and_, low, b_.cmp(Op::ult, magnitude, b_.i32(0x20800000)));
  const Value back = b_.op2(Op::sub, result, b_.select(low, b_.i32(64u << 23), b_.i32(0)));
  return b_.select(tiny, b_.op2(Op::and_, result, b_.i32(0x80000000u)), back);
}

Value FloatLegaliser::flush_narrowed(Round round, Value a, Value result) {
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

}  // namespace ptx2spv::passes::floats
