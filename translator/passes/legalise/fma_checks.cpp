#include "translator/passes/legalise/fma_checks.hpp"

#include <algorithm>

namespace ptx2spv::passes::checked {

namespace {

/// The coarsest grid that is asked of a factor where the other one's is known.
constexpr int kCoarsest = 43;
/// The exponent field of the least magnitude whose last place is 2^-grid, with `grid` added.
constexpr int kBias = 127 + 23, kFractionBits = 23;

}  // namespace

bool FmaChecks::is_fma(Value v) const {
  const Inst& inst = f_.insts[v];
  return inst.op == Op::ffma && inst.type == Type::i32 && inst.fp.kind == NumKind::f32 &&
         !inst.fp.ftz && (inst.fp.round == Round::rn || inst.fp.round == Round::none);
}

bool FmaChecks::check_operands(Value v) {
  const Value a = f_.arg(v, 0), b = f_.arg(v, 1), c = f_.arg(v, 2);
  const auto constant = [&](Value x) { return f_.insts[x].op == Op::constant; };
  const auto normal = [&](Value x) { return assumed_.of(x).normal(); };
  for (const Value x : {a, b, c})
    if (constant(x) && !normal(x)) return false;
  if (is_native(assumed_, f_.args(v))) return true;
  // What the other factor leaves of a product's grid, half of it if that is not known.
  const auto beside = [&](Value other) {
    if (!normal(other)) return kFactor;
    const int grid = std::min(kSum - *assumed_.of(other).grid, kSum);
    return grid < kCoarsest ? kFactor : grid;
  };
  if (!normal(a)) require(a, beside(b));
  if (!normal(b)) require(b, beside(a));
  for (const Value x : {a, b})
    if (!FloatRange::product(assumed_.of(a), assumed_.of(b)).normal() && !constant(x))
      require(x, kFactor);
  if (!normal(c)) require(c, kSum);
  return is_native(assumed_, f_.args(v));
}

bool FmaChecks::has_grid(Value v, int grid) const {
  const FloatRange range = assumed_.of(v);
  return range.grid && *range.grid <= grid;
}

void FmaChecks::require(Value v, int grid) {
  if (has_grid(v, grid)) return;
  const auto at = std::ranges::find(checks_, v, &Check::value);
  if (at != checks_.end())
    at->grid = grid;
  else
    checks_.push_back({v, grid});
  assume(v, grid);
}

void FmaChecks::assume(Value v, int grid) {
  touched_.push_back(v);
  assumed_.set(v, {.grid = grid, .top = assumed_.of(v).top});
}

void FmaChecks::follow(Value v) {
  touched_.push_back(v);
  assumed_.follow(v);
}

void FmaChecks::drop_implied(Value v) {
  const auto at = std::ranges::find(checks_, v, &Check::value);
  if (at == checks_.end()) return follow(v);
  const int grid = at->grid;
  follow(v);
  if (has_grid(v, grid))
    checks_.erase(at);
  else
    assume(v, grid);
}

void FmaChecks::forget() {
  for (const Value v : touched_) assumed_.set(v, known_.of(v));
  touched_.clear();
  checks_.clear();
}

Value least(Builder& b, int grid) {
  return b.i32(static_cast<std::uint32_t>(kBias - grid) << kFractionBits);
}

Value is_less(Builder& b, Value v, Value least) {
  const Value magnitude = b.op2(Op::and_, v, b.i32(0x7fffffff));
  const Value below = b.inst(Op::flt, Type::i1, {magnitude, least});
  // It does not matter here whether the device takes denormals for zeros.
  b.last(below).fp = {.kind = NumKind::f32, .checked = true};
  return below;
}

}  // namespace ptx2spv::passes::checked
