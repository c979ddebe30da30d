#include "translator/backend/host/warp_operations.hpp"

#include <algorithm>

#include "translator/backend/host/handlers.hpp"
#include "translator/backend/host/products.hpp"

namespace ptx2spv::interpreter {

namespace {

std::uint32_t reduced(ir::AtomicOp op, std::uint32_t a, std::uint32_t b) {
  const auto sa = static_cast<std::int32_t>(a), sb = static_cast<std::int32_t>(b);
  switch (op) {
    case ir::AtomicOp::and_: return a & b;
    case ir::AtomicOp::or_: return a | b;
    case ir::AtomicOp::xor_: return a ^ b;
    case ir::AtomicOp::umin: return std::min(a, b);
    case ir::AtomicOp::umax: return std::max(a, b);
    case ir::AtomicOp::smin: return static_cast<std::uint32_t>(std::min(sa, sb));
    case ir::AtomicOp::smax: return static_cast<std::uint32_t>(std::max(sa, sb));
    default: return a + b;
  }
}

/// What lanes that are not there have of the operands is 0.
void multiply(const Lanes& warp, const Step& step, std::uint32_t lanes, std::uint32_t present) {
  constexpr std::size_t kMost = 24;
  const auto& call = *static_cast<const Call*>(step.more);
  const std::size_t count = call.arguments.size();
  const std::uint32_t* operands[kMost];
  Row copies[2 * kMost];
  for (std::size_t i = 0; i < count; ++i) {
    operands[i] = warp.words(call.arguments[i].place);
    if (present == ~0u) continue;
    Row* copy = copies + 2 * i;
    const unsigned words = rows_of(call.arguments[i].type);  // of a lane, side by side
    std::fill_n(copy[0].words, 2 * kLanes, 0);
    each_lane(present, [&](unsigned lane) {
      std::copy_n(operands[i] + words * lane, words, copy[0].words + words * lane);
    });
    operands[i] = copy[0].words;
  }
  std::uint32_t results[4][kLanes];
  multiply_tile(WarpProduct::of(step.imm), operands, results);
  std::uint32_t* out = warp.words(step.out);
  for (unsigned i = 0; i < rows_of(call.result.type); ++i)
    each_lane(lanes, [&](unsigned lane) { out[kLanes * i + lane] = results[i][lane]; });
}

}  // namespace

std::pair<std::uint32_t, bool> shuffled(ir::ShflMode mode, std::uint32_t lane, std::uint32_t b,
                                        std::uint32_t c) {
  b &= 31;
  const std::uint32_t segment = c >> 8 & 31, low = lane & segment, high = low | (c & 31 & ~segment);
  switch (mode) {
    case ir::ShflMode::up:
      return {lane - b, static_cast<std::int32_t>(lane - b) >= static_cast<std::int32_t>(high)};
    case ir::ShflMode::down: return {lane + b, lane + b <= high};
    case ir::ShflMode::bfly: return {lane ^ b, (lane ^ b) <= high};
    case ir::ShflMode::idx: break;
  }
  const std::uint32_t from = low | (b & ~segment);
  return {from, from <= high};
}

std::uint32_t members(const Lanes& lanes, const Step& step, unsigned lane) {
  const auto word = [&](unsigned i) { return lanes.words(step.in[i])[lane]; };
  switch (step.op) {
    case Op::warp_shfl: return word(3);
    case Op::warp_vote:
    case Op::warp_match:
    case Op::warp_redux: return word(1);
    case Op::warp_product:
    case Op::warp_sync:
    case Op::warp_elect: return word(0);
    default: return 0;
  }
}

void resolve(const Lanes& warp, const Step& step, std::uint32_t lanes, std::uint32_t present) {
  const auto words = [&](unsigned i) { return warp.words(step.in[i]); };
  std::uint32_t* out = warp.words(step.out);
  std::uint32_t* second = out + kLanes;  // of results of two words
  switch (step.op) {
    case Op::warp_active: each_lane(lanes, [&](unsigned lane) { out[lane] = present; }); return;
    case Op::warp_sync: return;
    case Op::warp_product: return multiply(warp, step, lanes, present);
    case Op::warp_elect:
      each_lane(lanes, [&](unsigned lane) {
        const std::uint32_t there = (members(warp, step, lane) | 1u << lane) & present;
        out[lane] = static_cast<std::uint32_t>(std::countr_zero(there));
        second[lane] = out[lane] == lane;
      });
      return;
    case Op::warp_shfl: {
      const std::uint32_t *value = words(0), *by = words(1), *segment = words(2);
      each_lane(lanes, [&](unsigned lane) {
        const std::uint32_t there = (members(warp, step, lane) | 1u << lane) & present;
        const auto [from, inside] =
            shuffled(static_cast<ir::ShflMode>(step.imm), lane, by[lane], segment[lane]);
        const std::uint32_t source = inside ? from & 31 : lane;
        out[lane] = there >> source & 1 ? value[source] : 0;
        second[lane] = inside;
      });
      return;
    }
    default: break;
  }
  // The rest is the same for all lanes with the same members.
  const std::uint32_t* value = words(0);
  std::optional<std::uint32_t> known;
  std::uint32_t result = 0;
  each_lane(lanes, [&](unsigned lane) {
    // A lane that its own mask lacks has no vote.
    const std::uint32_t own = step.op == Op::warp_vote ? 0 : 1u << lane;
    const std::uint32_t there = (members(warp, step, lane) | own) & present;
    if (step.op == Op::warp_match) {
      std::uint32_t same = 0;
      const std::uint64_t* wide = step.wide ? values<std::uint64_t>(warp, step.in[0]) : nullptr;
      each_lane(there, [&](unsigned other) {
        const bool equal = wide ? wide[other] == wide[lane] : value[other] == value[lane];
        same |= static_cast<std::uint32_t>(equal) << other;
      });
      const bool all = static_cast<ir::MatchMode>(step.imm) == ir::MatchMode::all;
      out[lane] = all && same != there ? 0 : same;
      second[lane] = all && same == there;
      return;
    }
    if (there != known) {
      known = there;
      std::uint32_t votes = 0;
      bool first = true;
      each_lane(there, [&](unsigned other) {
        votes |= static_cast<std::uint32_t>(value[other] != 0) << other;
        if (step.op != Op::warp_redux) return;
        result = first ? value[other]
                       : reduced(static_cast<ir::AtomicOp>(step.imm), result, value[other]);
        first = false;
      });
      if (step.op == Op::warp_vote) switch (static_cast<ir::VoteMode>(step.imm)) {
          case ir::VoteMode::all: result = votes == there; break;
          case ir::VoteMode::any: result = votes != 0; break;
          case ir::VoteMode::uni: result = votes == 0 || votes == there; break;
          case ir::VoteMode::ballot: result = votes; break;
        }
    }
    out[lane] = result;
  });
}

}  // namespace ptx2spv::interpreter
