#include "translator/passes/analysis/float_ranges.hpp"

#include <algorithm>
#include <bit>

namespace ptx2spv::passes {

namespace {

constexpr std::uint32_t kSign = 0x80000000u;

/// Beyond this nothing is called known: sums and products of bounds stay small integers.
constexpr int kFarthest = 300;

std::optional<int> kept(int bound) {
  if (bound > kFarthest) return std::nullopt;
  return std::max(bound, -kFarthest);
}

int exponent_of(std::uint32_t bits) { return static_cast<int>(bits >> 23 & 255) - 127; }

/// The grid of a sum of any product, not rounded, and an addend of 2^e or more. Either half of that
/// is left at least, or the product is more than the half, and so a multiple of 2^(e - 48).
std::optional<int> grid_of_sum(const FloatRange& addend) {
  if (!addend.least || *addend.least < -78) return std::nullopt;
  return 48 - *addend.least;
}

}  // namespace

FloatRange FloatRange::constant(std::uint32_t bits) {
  const std::uint32_t magnitude = bits & ~kSign;
  const bool positive = magnitude == bits && magnitude <= 0x7f800000u;
  if (magnitude >= 0x7f800000u) return {.grid = 0, .top = std::nullopt, .positive = positive};
  if (magnitude == 0) return {.grid = -kFarthest, .top = -kFarthest, .positive = true};
  if (magnitude < 0x00800000u) return {.grid = 149, .top = -126, .positive = positive};
  const int exponent = exponent_of(magnitude);
  const int zeros = std::countr_zero((magnitude & 0x7fffffu) | 0x800000u);
  return {
      .grid = 23 - zeros - exponent, .top = exponent + 1, .positive = positive, .least = exponent};
}

FloatRange FloatRange::either(const FloatRange& a, const FloatRange& b) {
  FloatRange r;
  if (a.grid && b.grid) r.grid = std::max(*a.grid, *b.grid);
  if (a.top && b.top) r.top = std::max(*a.top, *b.top);
  r.positive = a.positive && b.positive;
  if (a.least && b.least) r.least = std::min(*a.least, *b.least);
  return r;
}

// Rounding to 24 bits keeps a multiple of a power of two one, and may reach the next power of two.
FloatRange FloatRange::sum(const FloatRange& a, const FloatRange& b) {
  FloatRange r = either(a, b);
  r.least.reset();
  if (r.top) ++*r.top;
  if (r.top && *r.top > 127) r.top.reset();
  return r;
}

FloatRange FloatRange::product(const FloatRange& a, const FloatRange& b) {
  FloatRange r;
  if (a.grid && b.grid) r.grid = kept(*a.grid + *b.grid);
  if (a.zero() || b.zero()) r.grid = -kFarthest;
  if (a.top && b.top) r.top = kept(*a.top + *b.top);
  if (r.top && *r.top > 127) r.top.reset();
  r.positive = a.positive && b.positive;
  return r;
}

/// The words that a value to be stored consists of, as far as they are values of their own.
std::span<const Value> FloatRanges::words_of(const Value& v) const {
  const Inst& inst = f_.insts[v];
  if (inst.op == Op::compose || inst.op == Op::pack) return f_.args(v);
  if (inst.type == Type::i32) return {&v, 1};
  return {};
}

/// What a function stores to shared memory is what it finds there, if it is words alone: bounds
/// that all of them meet hold for those that it loads. Values that depend on such loads are unknown
/// here.
void FloatRanges::find_shared() {
  bool loads = false, stores = false;
  const auto is_shared = [&](Value v) {
    const Inst& inst = f_.insts[v];
    return (info(inst.op).flags & flag::A) != 0 && inst.mem.space == Space::shared;
  };
  for (const BlockId b : f_.order)
    for (const Value v : f_.blocks[b].insts) {
      if (!is_shared(v)) continue;
      const Inst& inst = f_.insts[v];
      loads = loads || inst.op == Op::load;
      stores = stores || inst.op == Op::store;
      if (inst.op != Op::load && (inst.op != Op::store || inst.mem.bytes < 4)) return;
    }
  if (!loads || !stores) return;
  walk();
  std::optional<FloatRange> all;
  for (const BlockId b : f_.order)
    for (const Value v : f_.blocks[b].insts) {
      if (!is_shared(v) || f_.insts[v].op != Op::store) continue;
      const std::span<const Value> words = words_of(f_.args(v)[1]);
      if (words.empty()) all = FloatRange{};
      for (const Value word : words) all = all ? FloatRange::either(*all, of(word)) : of(word);
    }
  shared_ = *all;
  bounds_.clear();
}

/// Supposes of all phis that sums may take them, and of fewer until those that are left come from
/// what is so if they are.
void FloatRanges::find_phis() {
  constexpr unsigned kRounds = 8;
  // What of_operation() and follow() may know something of.
  const auto may_be_known = [&](Value a) {
    switch (f_.insts[a].op) {
      case Op::constant:
      case Op::phi:
      case Op::fadd:
      case Op::fmul:
      case Op::ffma:
      case Op::fmin:
      case Op::fmax:
      case Op::fcvt:
      case Op::and_:
      case Op::or_:
      case Op::xor_:
      case Op::select: return true;
      case Op::load:
      case Op::extract: return shared_.grid.has_value();
      default: return false;
    }
  };
  std::vector<Value> phis;
  bool arithmetic = false;
  for (const BlockId b : f_.order)
    for (const Value v : f_.blocks[b].insts) {
      const Inst& inst = f_.insts[v];
      if (inst.op == Op::phi && inst.type == Type::i32 &&
          std::ranges::all_of(f_.args(v), may_be_known))
        phis.push_back(v);
      arithmetic = arithmetic || (inst.op == Op::ffma && inst.fp.kind == NumKind::f32);
    }
  for (unsigned round = 0; !phis.empty(); ++round) {
    if (!arithmetic || round == kRounds) phis.clear();
    bounds_.clear();
    for (const Value v : phis) set(v, {.grid = 126, .top = std::nullopt});
    walk();
    const auto comes_otherwise = [&](Value phi) {
      return !std::ranges::all_of(f_.args(phi), [&](Value a) { return of(a).normal(); });
    };
    if (std::erase_if(phis, comes_otherwise) == 0) break;
  }
  bounds_.clear();
  for (const Value v : phis) set(v, {.grid = 126, .top = std::nullopt});
}

FloatRange FloatRanges::of(Value v) const {
  const Inst& inst = f_.insts[v];
  if (inst.op == Op::constant && inst.type == Type::i32)
    return FloatRange::constant(static_cast<std::uint32_t>(inst.imm));
  return v < bounds_.size() ? bounds_[v] : FloatRange{};
}

void FloatRanges::set(Value v, const FloatRange& bounds) {
  if (v >= bounds_.size()) bounds_.resize(std::max<std::size_t>(f_.insts.size(), v + 1));
  bounds_[v] = bounds;
}

void FloatRanges::follow(Value v) {
  const Inst& inst = f_.insts[v];
  if (inst.type != Type::i32) return;
  const auto with = [&](std::uint32_t bits) -> std::optional<Value> {
    for (unsigned i = 0; i < 2; ++i) {
      const Inst& c = f_.insts[f_.arg(v, i)];
      if (c.op == Op::constant && static_cast<std::uint32_t>(c.imm) == bits)
        return f_.arg(v, 1 - i);
    }
    return std::nullopt;
  };
  std::optional<Value> source;
  bool positive = false;
  switch (inst.op) {
    case Op::fadd:
    case Op::fmul:
    case Op::ffma:
    case Op::fmin:
    case Op::fmax:
      if (inst.fp.kind == NumKind::f32) set(v, of_operation(inst, f_.args(v)));
      return;
    case Op::fcvt: follow_conversion(v); return;
    case Op::and_:
      source = with(~kSign);
      positive = true;
      break;
    case Op::or_:
    case Op::xor_: source = with(kSign); break;
    case Op::load:
    case Op::extract: {
      const Inst& load = f_.insts[inst.op == Op::load ? v : f_.arg(v, 0)];
      if (shared_.grid && load.op == Op::load && load.mem.space == Space::shared &&
          load.mem.bytes >= 4)
        set(v, shared_);
      if (load.op == Op::texture_sample)
        if (const auto sample = TextureSample::of(load.imm); sample.normalised)
          set(v, {.top = 1, .positive = sample.not_negative});
      return;
    }
    case Op::select: set(v, FloatRange::either(of(f_.arg(v, 1)), of(f_.arg(v, 2)))); return;
    default: return;
  }
  if (!source) return;
  FloatRange bounds = of(*source);
  bounds.positive = positive;
  set(v, bounds);
}

FloatRange FloatRanges::of_operation(const Inst& inst, std::span<const Value> args) const {
  FloatRange r;
  switch (inst.op) {
    case Op::fadd:
      r = FloatRange::sum(of(args[0]), of(args[1]));
      if (const auto known = sum_with_constant(args[0], args[1]); known && !r.normal()) r = *known;
      break;
    case Op::fmul: r = FloatRange::product(of(args[0]), of(args[1])); break;
    case Op::ffma:
      r = FloatRange::sum(FloatRange::product(of(args[0]), of(args[1])), of(args[2]));
      if (const auto grid = grid_of_sum(of(args[2])); grid && !r.normal()) r.grid = grid;
      if (const auto product = constant_product(args[0], args[1]); product && !r.normal())
        r.grid = 47 - *product;
      break;
    case Op::fmin:
    case Op::fmax: r = FloatRange::either(of(args[0]), of(args[1])); break;
    default: break;
  }
  return inst.fp.sat ? r.saturated() : r;
}

void FloatRanges::follow_conversion(Value v) {
  const FpAttr& fp = f_.insts[v].fp;
  if (fp.to != NumKind::f32) return;
  const FloatRange from = of(f_.arg(v, 0));
  const bool wide = fp.kind == NumKind::u64 || fp.kind == NumKind::s64;
  const bool integral = fp.round == Round::rni || fp.round == Round::rzi ||
                        fp.round == Round::rmi || fp.round == Round::rpi;
  FloatRange r;
  if (fp.kind < NumKind::f16)
    r = FloatRange::integer(wide ? 64 : 32);
  else if (fp.kind == NumKind::f16)
    r = {.grid = 24, .top = std::nullopt};
  else if (fp.kind == NumKind::f32)
    r = integral ? FloatRange::sum({.grid = 0, .top = 1}, {.grid = 0, .top = from.top}) : from;
  else
    return;
  set(v, fp.sat ? r.saturated() : r);
}

std::optional<FloatRange> FloatRanges::sum_with_constant(Value a, Value b) const {
  for (const Value v : {a, b}) {
    const std::optional<int> least = of(v).least;
    if (!least || *least < -101) continue;
    // Half the constant at least, or a difference of numbers that are: multiples of the last place
    // of its quarter.
    return FloatRange{.grid = 25 - *least, .top = std::nullopt};
  }
  return std::nullopt;
}

bool FloatRanges::fma_with_constants(Value a, Value b, Value c) const {
  if (constant_product(a, b)) return true;
  const std::optional<int> least = of(c).least;
  return least && *least >= kLeastAddend && are_small(a, b);
}

// Exact in double precision, of which single precision has all but 29 bits.
std::optional<int> FloatRanges::constant_product(Value a, Value b) const {
  constexpr std::uint64_t kRest = (1ull << 29) - 1, kHalf = 1ull << 28;
  if (f_.insts[a].op != Op::constant || f_.insts[b].op != Op::constant) return std::nullopt;
  const auto number = [&](Value v) {
    return double{std::bit_cast<float>(static_cast<std::uint32_t>(f_.insts[v].imm))};
  };
  const auto bits = std::bit_cast<std::uint64_t>(number(a) * number(b));
  const int exponent = static_cast<int>(bits >> 52 & 2047) - 1023;
  if (!of(a).normal() || !of(b).normal() || exponent < kLeastAddend || exponent > 127 ||
      (bits & kRest) == kHalf)
    return std::nullopt;
  return exponent;
}

// The product is less than half of c, so that the difference is exact, and in units of 2^-24 of c.
// A factor that is a denormal leaves the sum at c: the device takes the remainder for zero.
bool FloatRanges::shows_remainder(Value a, Value b, Value c) const {
  // Down to here a remainder, of 48 bits more than that unit, is no denormal.
  constexpr int kLeast = -50;
  if (f_.insts[c].op != Op::constant || !fma_with_constants(a, b, c)) return false;
  const int exponent = exponent_of(static_cast<std::uint32_t>(f_.insts[c].imm));
  const FloatRange product = FloatRange::product(of(a), of(b));
  return exponent >= kLeast && product.positive && product.top && *product.top < exponent;
}

bool FloatRanges::are_small(Value a, Value b) const {
  constexpr unsigned kSteps = 32;
  const auto small_beside = [&](Value v, Value denormal) {
    unsigned steps = kSteps;
    if (of(denormal).normal()) return true;
    const std::optional<int> top = top_beside(v, without_sign(denormal), steps);
    return top && *top <= 31;
  };
  return small_beside(a, b) && small_beside(b, a);
}

Value FloatRanges::without_sign(Value v) const {
  const Inst& inst = f_.insts[v];
  if ((inst.op != Op::xor_ && inst.op != Op::and_) || inst.type != Type::i32) return v;
  const Inst& c = f_.insts[f_.arg(v, 1)];
  const std::uint32_t mask = inst.op == Op::xor_ ? kSign : ~kSign;
  return c.op == Op::constant && c.imm == mask ? f_.arg(v, 0) : v;
}

std::optional<int> FloatRanges::top_beside(Value v, Value tiny, unsigned& steps) const {
  if (const Value plain = without_sign(v); plain != v) return top_beside(plain, tiny, steps);
  if (v == tiny) return -126;
  if (const auto top = of(v).top) return top;
  if (steps == 0) return std::nullopt;
  --steps;
  const auto arg = [&](unsigned i) {
    return FloatRange{.grid = std::nullopt, .top = top_beside(f_.arg(v, i), tiny, steps)};
  };
  switch (f_.insts[v].op) {
    case Op::fadd:
    case Op::native_fadd: return FloatRange::sum(arg(0), arg(1)).top;
    case Op::fmul:
    case Op::native_fmul: return FloatRange::product(arg(0), arg(1)).top;
    case Op::ffma:
    case Op::native_ffma: return FloatRange::sum(arg(2), FloatRange::product(arg(0), arg(1))).top;
    case Op::native_fmin:
    case Op::native_fmax: return FloatRange::either(arg(0), arg(1)).top;
    case Op::select: return FloatRange::either(arg(1), arg(2)).top;
    default: return std::nullopt;
  }
}

std::optional<Value> FloatRanges::other_factor(Value a, Value b, Value c) const {
  const Value addend = without_sign(c);
  if (addend == without_sign(b)) return a;
  if (addend == without_sign(a)) return b;
  return std::nullopt;
}

bool FloatRanges::fma_with_factor(Value a, Value b, Value c) const {
  const std::optional<Value> other = other_factor(a, b, c);
  const FloatRange addend = of(c);
  return other && addend.grid && *addend.grid <= kFactorGrid &&
         (addend.finite() || of(*other).normal());
}

bool FloatRanges::fma_of_normals(Value a, Value b, Value c) const {
  const FloatRange x = of(a), y = of(b);
  return ((x.normal() && y.normal()) || x.zero() || y.zero()) && of(c).normal() &&
         FloatRange::product(x, y).normal();
}

}  // namespace ptx2spv::passes
