#include "translator/passes/legalise/fma_checks.hpp"

#include <algorithm>

namespace ptx2spv::passes::checked {

namespace {

/// The coarsest grid that is asked of a factor where the other one's is known.
constexpr int kCoarsest = 43;
/// The exponent field of the least magnitude whose last place is 2^-grid, with `grid` added.
constexpr int kBias = 127 + 23, kFractionBits = 23;
constexpr std::uint32_t kMagnitude = 0x7fffffff;

}  // namespace

bool FmaChecks::is_fma(Value v) const {
  const Inst& inst = f_.insts[v];
  return inst.op == Op::ffma && inst.type == Type::i32 && inst.fp.kind == NumKind::f32 &&
         !inst.fp.ftz && (inst.fp.round == Round::rn || inst.fp.round == Round::none);
}

bool FmaChecks::check_operands(Value v) {
  note_operands(v);
  const Value a = f_.arg(v, 0), b = f_.arg(v, 1), c = f_.arg(v, 2);
  const auto constant = [&](Value x) { return f_.insts[x].op == Op::constant; };
  const auto normal = [&](Value x) { return assumed_.of(x).normal(); };
  for (const Value x : {a, b, c})
    if (constant(x) && !normal(x)) return false;
  if (is_native(assumed_, f_.args(v))) return true;
  if (const auto other = assumed_.other_factor(a, b, c); other && !constant(c)) {
    require(c, FloatRanges::kFactorGrid);
    if (!assumed_.of(c).finite()) require(*other, kSum);
    return true;
  }
  // What the other factor leaves of a product's grid, half of it if that is not known.
  const auto beside = [&](Value other) {
    if (!normal(other)) return kFactor;
    const int grid = std::min(kSum - *assumed_.of(other).grid, kSum);
    return grid < kCoarsest ? kFactor : grid;
  };
  const std::vector<Check> checks = checks_;
  const FloatRange ranges[] = {assumed_.of(a), assumed_.of(b), assumed_.of(c)};
  const bool none = ranges[0].zero() || ranges[1].zero();
  if (!none && !normal(a)) require(a, beside(b));
  if (!none && !normal(b)) require(b, beside(a));
  for (const Value x : {a, b})
    if (!FloatRange::product(assumed_.of(a), assumed_.of(b)).normal() && !constant(x))
      require(x, kFactor);
  if (!normal(c)) require(c, kSum);
  if (is_native(assumed_, f_.args(v))) return true;
  // Beside a small constant.
  checks_ = checks;
  for (unsigned i = 0; i < 3; ++i) assumed_.set(f_.arg(v, i), ranges[i]);
  return false;
}

// The check that an addend is a multiple of a power of two is that it is large enough.
bool FmaChecks::check_addend(Value v) {
  constexpr int kGrid = kFractionBits - FloatRanges::kLeastAddend;
  const Value a = f_.arg(v, 0), b = f_.arg(v, 1), c = f_.arg(v, 2);
  if (f_.insts[c].op == Op::constant || !assumed_.are_small(a, b)) return false;
  // If what is supposed of a factor does not hold, the fma gives NaN.
  const auto nan = [&](Value n) { return spreads(a, n) || spreads(b, n) || spreads(c, n); };
  if (!known_.are_small(a, b) && !std::ranges::all_of(bounded_, nan)) return false;
  if (std::ranges::find(checks_, c, &Check::value) == checks_.end()) checks_.push_back({c, kGrid});
  return true;
}

bool FmaChecks::is_plain(Value v, Op op) const {
  const Inst& inst = f_.insts[v];
  return inst.op == op && inst.fp.kind == NumKind::f32 && !inst.fp.sat;
}

bool FmaChecks::is_square(Value v) const {
  return (is_plain(v, Op::fmul) || is_plain(v, Op::ffma)) && f_.arg(v, 0) == f_.arg(v, 1);
}

/// Whether the value is a NaN if that one is.
bool FmaChecks::spreads(Value v, Value nan, unsigned steps) const {
  if (v == nan) return true;
  if (!steps || !(is_plain(v, Op::fadd) || is_plain(v, Op::fmul) || is_plain(v, Op::ffma)))
    return false;
  return std::ranges::any_of(f_.args(v), [&](Value a) { return spreads(a, nan, steps - 1); });
}

/// Whether the value is no less than zero, or a NaN because of a NaN, whatever goes into it.
bool FmaChecks::is_positive(Value v, unsigned steps) const {
  const auto arg = [&](unsigned i) { return f_.arg(v, i); };
  const auto positive = [&](unsigned i) { return steps && is_positive(arg(i), steps - 1); };
  switch (f_.insts[v].op) {
    case Op::and_: return f_.insts[arg(1)].op == Op::constant && f_.insts[arg(1)].imm == kMagnitude;
    case Op::fmul: return is_square(v);
    case Op::ffma: return is_square(v) && positive(2);
    case Op::fadd: return is_plain(v, Op::fadd) && positive(0) && positive(1);
    default: return false;
  }
}

void FmaChecks::suppose(Value condition, bool holds, unsigned steps) {
  const Inst& inst = f_.insts[condition];
  const auto arg = [&](unsigned i) { return f_.arg(condition, i); };
  switch (inst.op) {
    case Op::not_:
      if (steps) suppose(arg(0), !holds, steps - 1);
      return;
    case Op::and_:
    case Op::or_:
      for (const unsigned i : {0u, 1u})
        if (steps && holds == (inst.op == Op::and_)) suppose(arg(i), holds, steps - 1);
      return;
    case Op::flt:
    case Op::fle: {
      // The one that is less, or not more, than the other.
      const Value less = arg(holds ? 0 : 1), more = arg(holds ? 1 : 0);
      const std::optional<int> top = assumed_.of(more).top;
      // A comparison that holds is of no NaN.
      if (inst.fp.kind == NumKind::f32 && top && is_positive(less)) bound(less, {top, !holds});
      return;
    }
    default: return;
  }
}

void FmaChecks::limit(Value v, int top) {
  touched_.push_back(v);
  assumed_.set(v, {.grid = assumed_.of(v).grid, .top = top});
}

FmaChecks::Bound FmaChecks::supposed(Value v) const {
  return {assumed_.of(v).top, std::ranges::find(bounded_, v) != bounded_.end()};
}

void FmaChecks::suppose(Value v, const Bound& bound) {
  if (!bound.top) return;
  limit(v, *bound.top);
  if (bound.nan) bounded_.push_back(v);
}

/// A positive value is below 2^top, and so is each of those whose sum it is; of a square the root.
/// Rounding does not take them past a power of two.
void FmaChecks::bound(Value v, const Bound& less, unsigned steps) {
  const int top = *less.top;
  limit(v, top);
  if (f_.insts[v].op == Op::and_) return suppose(f_.arg(v, 0), less);
  if (is_square(v)) suppose(f_.arg(v, 0), {top > 0 ? (top + 1) / 2 : top / 2, less.nan});
  if (!steps) return;
  if (f_.insts[v].op == Op::ffma) bound(f_.arg(v, 2), less, steps - 1);
  if (f_.insts[v].op == Op::fadd)
    for (const unsigned i : {0u, 1u}) bound(f_.arg(v, i), less, steps - 1);
}

bool FmaChecks::has_grid(Value v, int grid) const {
  const FloatRange range = assumed_.of(v);
  return range.grid && *range.grid <= grid;
}

void FmaChecks::require(Value v, int grid) {
  if (has_grid(v, grid)) return;
  const auto at = std::ranges::find(checks_, v, &Check::value);
  const Check check{v, grid, words_ && words_->has(v) && grid >= SharedWords::kGrid};
  if (at != checks_.end())
    *at = check;
  else
    checks_.push_back(check);
  assume(v, grid);
}

void FmaChecks::assume(Value v, int grid) {
  touched_.push_back(v);
  assumed_.set(v, {.grid = grid, .top = assumed_.of(v).top});
}

void FmaChecks::note_operands(Value v) {
  if (f_.insts[v].op == Op::phi) return;
  for (const Value a : f_.args(v))
    relies_ = relies_ || (f_.insts[a].type == Type::i32 && is_kept(a) &&
                          (!is_known(a) || *kept_.of(a).grid < *known_.of(a).grid));
}

void FmaChecks::follow(Value v) {
  if (f_.insts[v].type == Type::i32) note_operands(v);
  touched_.push_back(v);
  assumed_.follow(v);
}

void FmaChecks::drop_implied(Value v) {
  const auto at = std::ranges::find(checks_, v, &Check::value);
  if (at == checks_.end()) return follow(v);
  const int grid = at->grid;
  assumed_.set(v, kept_.of(v));  // and not what its check makes sure of
  follow(v);
  if (has_grid(v, grid))
    checks_.erase(at);
  else
    assume(v, grid);
}

void FmaChecks::forget() {
  for (const Value v : touched_) assumed_.set(v, kept_.of(v));
  relies_ = false;
  touched_.clear();
  bounded_.clear();
  checks_.clear();
}

Value is_less(Builder& b, Value v, int grid) {
  const Value least = b.i32(static_cast<std::uint32_t>(kBias - grid) << kFractionBits);
  const Value magnitude = b.op2(Op::and_, v, b.i32(kMagnitude));
  const Value below = b.inst(Op::flt, Type::i1, {magnitude, least});
  // It does not matter here whether the device takes denormals for zeros.
  b.last(below).fp = {.kind = NumKind::f32, .checked = true};
  return below;
}

// Without its sign, less one, a zero is the greatest number.
Value is_tiny(Builder& b, Value v, int grid) {
  const std::uint32_t bits = static_cast<std::uint32_t>(kBias - grid) << kFractionBits;
  const Value magnitude = b.op2(Op::shl, v, b.i32(1));
  return b.cmp(Op::ult, b.op2(Op::sub, magnitude, b.i32(1)), b.i32(2 * bits - 1));
}

Value is_below(Builder& b, Value v, int power) {
  const std::uint32_t bits = static_cast<std::uint32_t>(127 + power) << kFractionBits;
  return b.cmp(Op::ult, b.op2(Op::and_, v, b.i32(kMagnitude)), b.i32(bits));
}

}  // namespace ptx2spv::passes::checked
