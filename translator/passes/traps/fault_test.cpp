#include "translator/passes/traps/fault_test.hpp"

#include <algorithm>
#include <optional>

namespace ptx2spv::passes {

namespace {

constexpr unsigned kMostOperations = 64;       ///< of a fault's condition
constexpr std::uint32_t kMostSpan = 1u << 30;  ///< from the lowest to the highest coordinate

std::optional<std::uint32_t> constant_of(const Function& f, Value v) {
  const Inst& inst = f.insts[v];
  if (inst.op != Op::constant) return std::nullopt;
  return static_cast<std::uint32_t>(inst.imm);
}

}  // namespace

FaultTest::Linear FaultTest::linear(Value value) const {
  constexpr unsigned kMostSteps = 8;
  Linear l{.base = value};
  for (unsigned i = 0; i < kMostSteps; ++i) {
    const Inst& inst = f_.insts[l.base];
    if (inst.type != Type::i32 || (inst.op != Op::add && inst.op != Op::mul && inst.op != Op::shl))
      break;
    Value other = f_.arg(l.base, 0);
    auto constant = constant_of(f_, f_.arg(l.base, 1));
    if (!constant && inst.op != Op::shl) {
      constant = constant_of(f_, other);
      other = f_.arg(l.base, 1);
    }
    if (!constant || (inst.op == Op::shl && *constant >= 32)) break;
    if (inst.op == Op::add)
      l.offset += l.factor * *constant;
    else
      l.factor *= inst.op == Op::mul ? *constant : 1u << *constant;
    l.base = other;
  }
  return l;
}

FaultTest::Facts FaultTest::facts(Value condition, bool inverted, unsigned& budget) const {
  const Inst& inst = f_.insts[condition];
  const Facts alone{.truths = {{condition, !inverted}}};
  if (budget == 0) return alone;
  --budget;
  if (inst.op == Op::not_) return facts(f_.arg(condition, 0), !inverted, budget);
  if (inst.op == Op::xor_ && constant_of(f_, f_.arg(condition, 1)).value_or(0) & 1)
    return facts(f_.arg(condition, 0), !inverted, budget);
  if (inst.op == Op::ult && inverted && f_.insts[f_.arg(condition, 0)].type == Type::i32) {
    const Value v = f_.arg(condition, 0);
    return {.ranges = {{.low = v, .high = v, .limit = f_.arg(condition, 1), .at = linear(v)}}};
  }
  if (inst.op != Op::and_ && inst.op != Op::or_) return alone;
  Facts a = facts(f_.arg(condition, 0), inverted, budget),
        b = facts(f_.arg(condition, 1), inverted, budget);
  if (a.ranges.empty() && b.ranges.empty()) return alone;
  if ((inst.op == Op::or_) != inverted) {
    a.ranges.insert(a.ranges.end(), b.ranges.begin(), b.ranges.end());
    a.truths.insert(a.truths.end(), b.truths.begin(), b.truths.end());
    return a;
  }
  // A fault needs both: one of them tells enough.
  const bool first = !a.ranges.empty() && (b.ranges.empty() || a.truths.size() <= b.truths.size());
  return first ? a : b;
}

void FaultTest::add(Value condition, bool inverted) {
  unsigned budget = kMostOperations;
  const Facts more = facts(condition, inverted, budget);
  for (const Range& range : more.ranges) add(range);
  for (const Truth& truth : more.truths)
    if (std::ranges::find(all_.truths, truth) == all_.truths.end()) all_.truths.push_back(truth);
}

void FaultTest::add(const Range& range) {
  for (Range& other : all_.ranges) {
    if (range.limit != other.limit || range.at.base != other.at.base ||
        range.at.factor != other.at.factor)
      continue;
    const std::uint32_t above = range.at.offset - other.at.offset;
    if (above <= kMostSpan) {
      if (above <= other.span) return;
      other.high = range.low;
      other.span = above;
      return;
    }
    if (-above + other.span > kMostSpan || -above > kMostSpan) continue;
    other.span += -above;
    other.low = range.low;
    other.at.offset = range.at.offset;
    return;
  }
  all_.ranges.push_back(range);
}

std::size_t FaultTest::terms() const {
  const auto both = [](const Range& range) { return range.low != range.high; };
  return all_.truths.size() + all_.ranges.size() +
         static_cast<std::size_t>(std::ranges::count_if(all_.ranges, both));
}

Value FaultTest::make(Builder& b) const {
  Value none = 0;
  const auto also = [&](Value v) { none = none ? b.op2(Op::and_, none, v) : v; };
  std::vector<Value> limits;
  for (const Range& range : all_.ranges) {
    also(b.cmp(Op::ult, range.low, range.limit));
    if (range.high == range.low) continue;
    also(b.cmp(Op::ult, range.high, range.limit));
    // Up to 2^31, no sum of an offset below it and the span comes round to be below it again.
    const Inst& word = f_.insts[range.limit];
    const Inst& limit = word.op == Op::extract ? f_.insts[f_.arg(range.limit, 0)] : word;
    const bool is_small = limit.op == Op::load && limit.mem.high_zeros != 0;
    if (is_small || std::ranges::find(limits, range.limit) != limits.end()) continue;
    limits.push_back(range.limit);
    also(b.cmp(Op::sle, b.i32(0), range.limit));
  }
  for (const Truth& truth : all_.truths)
    also(truth.inverted ? b.inst(Op::xor_, Type::i1, {truth.value, b.i1(true)}) : truth.value);
  return none;
}

}  // namespace ptx2spv::passes
