#include "translator/passes/legalise/float_checks.hpp"

#include <algorithm>

namespace ptx2spv::passes::checked {

namespace {

/// The least a sum's larger operand may be where nothing else is known: below, the sum can be a
/// denormal.
constexpr int kLeastOfSum = -102;
/// The least constant to which a denormal adds nothing, and whose sums are zero or normal.
constexpr int kLeastConstant = -101;
/// Binades from a number to the unit that it is a multiple of.
constexpr int kFraction = 23;

}  // namespace

unsigned saved_by(Op op) {
  switch (op) {
    case Op::fmul: return 46;
    case Op::fadd: return 28;
    case Op::ffma: return 73;
    case Op::fdiv:
    case Op::frcp: return 50;
    case Op::fsqrt: return 12;
    default: return 8;
  }
}

bool FloatChecks::takes_part(const Inst& inst) const {
  if (inst.fp.kind != NumKind::f32 || inst.fp.ftz || inst.fp.sat) return false;
  const bool nearest = inst.fp.round == Round::rn || inst.fp.round == Round::none;
  switch (inst.op) {
    case Op::fadd:
    case Op::fmul:
    case Op::ffma: return nearest;
    case Op::fdiv:
    case Op::frcp: return nearest && p_.exactness.exact_div32;
    case Op::fsqrt: return nearest && p_.exactness.exact_sqrt32;
    default: return is_comparison(inst.op);
  }
}

int FloatChecks::low(Value v) const {
  const Inst& inst = f_.insts[v];
  if (inst.op != Op::constant) return facts_[v].low;
  const auto magnitude = static_cast<std::uint32_t>(inst.imm) & 0x7fffffff;
  if (magnitude == 0) return kZero;
  return magnitude < 0x00800000 ? kUnknown : static_cast<int>(magnitude >> 23) - 127;
}

int FloatChecks::grid(Value v) const {
  const int least = low(v);
  if (f_.insts[v].op == Op::constant || least == kUnknown)
    return least == kUnknown || least == kZero ? least : least - kFraction;
  return std::max(least - kFraction, facts_[v].grid);
}

int FloatChecks::least(std::span<const Value> values) const {
  int least = kZero;
  for (const Value v : values) least = std::min(least, low(v));
  return least;
}

void FloatChecks::learn(Value v, int low, int grid) {
  if (facts_[v].low == kUnknown && facts_[v].level == 0) learnt_.push_back(v);
  facts_[v].low = low;
  facts_[v].grid = grid;
}

void FloatChecks::forget() {
  for (const Value v : learnt_) facts_[v] = {};
  learnt_.clear();
  grounds_.clear();
  native_.clear();
}

bool FloatChecks::ground(Value v, const Bounds& bounds) {
  const Inst& inst = f_.insts[v];
  const bool narrow = bounds.low == kNarrow.low;
  if (inst.op == Op::constant) {
    const auto magnitude = static_cast<std::uint32_t>(inst.imm) & 0x7fffffff;
    return magnitude == 0 || (low(v) >= bounds.low && magnitude <= bounds.top);
  }
  if (inst.type != Type::i32) return false;
  const std::uint8_t level = narrow ? 2 : 1;
  if (facts_[v].level >= level) return true;
  learn(v, std::max(low(v), bounds.low), facts_[v].grid);
  if (facts_[v].level == 0) grounds_.push_back(v);
  facts_[v].level = level;
  return true;
}

void FloatChecks::follow_other(Value v) {
  const Inst& inst = f_.insts[v];
  if (inst.op == Op::fcvt && inst.fp.to == NumKind::f32 && inst.fp.kind < NumKind::f16)
    learn(v, 0);  // whole numbers
  else if (inst.op == Op::select && inst.type == Type::i32)
    learn(v, least(f_.args(v).subspan(1)));
  else if (inst.op == Op::phi && inst.type == Type::i32 && low(v) == kUnknown)
    learn(v, least(f_.args(v)));
  else if (inst.op == Op::xor_ || inst.op == Op::and_)
    for (unsigned i = 0; i < 2; ++i)
      if (const Inst& c = f_.insts[f_.arg(v, i)];
          c.op == Op::constant && c.imm == (inst.op == Op::xor_ ? 0x80000000u : 0x7fffffffu))
        learn(v, low(f_.arg(v, 1 - i)), grid(f_.arg(v, 1 - i)));
}

bool FloatChecks::follow_product(Value v) {
  const Value args[] = {f_.arg(v, 0), f_.arg(v, 1)};
  for (unsigned i = 0; i < 2; ++i)
    if (low(args[0]) + low(args[1]) < kNormal && low(args[i]) < kPlain.low &&
        !ground(args[i], kPlain))
      return false;
  learn(v, std::min(low(args[0]) + low(args[1]), 127));
  return low(v) >= kNormal;
}

// A sum of multiples of a unit is one too: where that is normal, no sum is lost.
bool FloatChecks::follow_sum(Value v, unsigned preferred) {
  const Value args[] = {f_.arg(v, 0), f_.arg(v, 1)};
  const auto unit = [&] { return std::min(grid(args[0]), grid(args[1])); };
  for (const unsigned i : {preferred, 1 - preferred})
    if (unit() < kNormal && std::max(low(args[0]), low(args[1])) < kLeastOfSum &&
        !ground(args[i], kPlain))
      return false;
  learn(v, std::min(std::max(unit(), kNormal), 127), std::min(unit(), 127));
  return true;
}

std::optional<unsigned> FloatChecks::large_constant(Value v) const {
  for (unsigned i = 0; i < 2 && f_.insts[v].op == Op::fadd; ++i)
    if (const Value a = f_.arg(v, i);
        f_.insts[a].op == Op::constant && low(a) >= kLeastConstant && low(a) != kZero)
      return i;
  return std::nullopt;
}

bool FloatChecks::follow(Value v, unsigned preferred) {
  const Inst inst = f_.insts[v];
  const auto arg = [&](unsigned i) { return f_.arg(v, i); };
  if (!takes_part(inst)) {
    follow_other(v);
    return true;
  }
  const auto known = [&](unsigned i) { return !is_unknown(arg(i)) || ground(arg(i), kPlain); };
  const auto narrow = [&](unsigned operands) {
    for (unsigned i = 0; i < operands; ++i)
      if (!ground(arg(i), kNarrow)) return false;
    return true;
  };
  switch (inst.op) {
    case Op::fmul:
      if (!known(0) || !known(1) || !follow_product(v)) return false;
      break;
    case Op::fadd:
      if (const auto c = large_constant(v); c && is_unknown(arg(1 - *c))) {
        // Half the constant at least, or a difference of multiples of its quarter's last place.
        const int unit = std::min(low(arg(*c)) - kFraction - 2, 127);
        learn(v, unit, unit);
        break;
      }
      if (!known(0) || !known(1) || !follow_sum(v, preferred)) return false;
      break;
    case Op::ffma:
      if (!narrow(3)) return false;
      learn(v, -103);
      break;
    case Op::fdiv:
      if (!narrow(2)) return false;
      learn(v, -102);
      break;
    case Op::frcp:
    case Op::fsqrt:
      if (!narrow(1)) return false;
      learn(v, -62);
      break;
    default:
      // A comparison is not worth a check.
      if (is_unknown(arg(0)) || is_unknown(arg(1))) return true;
      break;
  }
  native_.push_back(v);
  return true;
}

Value failure(Builder& b, Value v, const Bounds& bounds) {
  const Value magnitude = b.op2(Op::and_, v, b.i32(0x7fffffff));
  const auto least = static_cast<std::uint32_t>(bounds.low + 127) << 23;
  const Value below = b.op2(Op::sub, magnitude, b.i32(least));
  const Value nonzero = b.op2(Op::sub, b.i32(0), magnitude);
  if (bounds.top == kPlain.top) return b.op2(Op::and_, below, nonzero);
  const Value above = b.op2(Op::sub, b.i32(bounds.top), magnitude);
  return b.op2(Op::and_, b.op2(Op::or_, below, above), nonzero);
}

}  // namespace ptx2spv::passes::checked
