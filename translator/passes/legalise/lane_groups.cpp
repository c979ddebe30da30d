#include "translator/passes/legalise/lane_groups.hpp"

#include "translator/passes/subgroups.hpp"

namespace ptx2spv::passes {

std::uint32_t LaneGroups::variable(const char* name) {
  auto& vars = b_.function().vars;
  vars.push_back({Type::i32, name});
  return static_cast<std::uint32_t>(vars.size() - 1);
}

Value LaneGroups::but_lowest(Value mask) {
  return b_.op2(Op::and_, mask, b_.op2(Op::sub, mask, b_.i32(1)));
}

Value LaneGroups::from_lane(Value value, Value lane) {
  const auto word = [&](Value each) {
    return b_.inst(Op::subgroup_shuffle, Type::i32, {each, lane});
  };
  if (b_.function().insts[value].type != Type::i64) return word(value);
  const Value low = word(b_.inst(Op::trunc, Type::i32, {value}));
  const Value high = word(b_.inst(Op::high, Type::i32, {value}));
  return b_.inst(Op::pack, Type::i64, {low, high});
}

Value LaneGroups::sharing(Value value) {
  const auto same = [&](Value word) { return b_.inst(Op::subgroup_partition, Type::i32, {word}); };
  if (b_.function().insts[value].type != Type::i64) return same(value);
  const Value low = same(b_.inst(Op::trunc, Type::i32, {value}));
  return b_.op2(Op::and_, low, same(b_.inst(Op::high, Type::i32, {value})));
}

LaneGroup LaneGroups::of(Value lanes) {
  LaneGroup group{.lanes = lanes};
  const Value lane = b_.builtin(Builtin::subgroup_lane);
  const Value bit = b_.op2(Op::shl, b_.i32(1), lane);
  group.below = b_.op2(Op::and_, lanes, b_.op2(Op::sub, bit, b_.i32(1)));
  group.first = b_.cmp(Op::eq, group.below, b_.i32(0));
  group.before = b_.inst(Op::find_msb, Type::i32, {b_.select(group.first, bit, group.below)});
  group.last = b_.inst(Op::find_msb, Type::i32, {lanes});
  group.leads = b_.cmp(Op::eq, lane, group.last);
  return group;
}

std::uint32_t LaneGroups::first_wait() {
  const std::uint32_t v_span = variable("group.span");
  b_.set(v_span, b_.i32(512));
  return v_span;
}

Value LaneGroups::draw(Value count) {
  return b_.op2(Op::mulhi_u, b_.op2(Op::mul, subgroup_ticks(b_), b_.i32(2654435769u)), count);
}

void LaneGroups::wait_at_random(std::uint32_t v_span) {
  constexpr std::uint32_t kMost = 1u << 19;
  const Value span = b_.get(v_span), one = b_.i32(1);
  const Value start = subgroup_ticks(b_);
  const Value drawn = b_.op2(Op::lshr, b_.op2(Op::mul, start, b_.i32(2654435769u)), b_.i32(12));
  const Value ticks = b_.op2(Op::and_, drawn, b_.op2(Op::sub, span, one));
  b_.set(v_span, b_.op2(Op::umin, b_.op2(Op::shl, span, one), b_.i32(kMost)));
  wait_by_ticks(b_, start, ticks);
}

}  // namespace ptx2spv::passes
