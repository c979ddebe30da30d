// A warp: which of its lanes run, and what they do together.
#include <algorithm>
#include <utility>

#include "translator/backend/host/block.hpp"
#include "translator/backend/host/warp_operations.hpp"
#include "translator/passes/threads/spin_loops.hpp"

namespace ptx2spv::interpreter {

namespace {

/// Blocks of the program that a warp runs before others get their turn.
constexpr std::uint32_t kTurn = 1u << 14;

/// Bit l: word l is not 0.
std::uint32_t mask_of(const std::uint32_t* words) {
  std::uint32_t mask = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    mask |= static_cast<std::uint32_t>(words[lane] != 0) << lane;
  return mask;
}

}  // namespace

void Lanes::run(std::uint32_t lanes) {
  mask = lanes;
  for (unsigned lane = 0; lane < kLanes; ++lane) select.words[lane] = 0u - (lanes >> lane & 1u);
}

void Warp::begin(BlockRun& owner, Row* registers, std::byte* local, std::uint32_t first_thread,
                 std::uint32_t threads) {
  owner_ = &owner;
  program_ = &owner.program();
  lanes_.bases[0] = registers;
  lanes_.bases[1] = const_cast<Row*>(program_->constants.data());
  lanes_.launch = &owner.launch();
  lanes_.shared = owner.shared();
  lanes_.local = local;
  lanes_.local_bytes = program_->local_bytes;
  lanes_.first_thread = first_thread;
  std::copy_n(owner.number(), 3, lanes_.block);
  live_ = threads >= kLanes ? ~0u : (1u << threads) - 1;
  groups_.assign(1, {.mask = live_, .block = 0, .at = program_->blocks[0].first});
  lanes_.run(live_);
  masked_ = false;
}

std::size_t Warp::choose() const {
  std::size_t best = groups_.size();
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const Group& g = groups_[i];
    if (g.state != Group::State::ready) continue;
    if (best == groups_.size() ||
        std::pair(g.block, g.at) < std::pair(groups_[best].block, groups_[best].at))
      best = i;
  }
  return best;
}

bool Warp::run() {
  left_ = kTurn;
  late_ = false;
  for (std::size_t index = choose(); index < groups_.size(); index = choose()) {
    run_group(index);
    if (left_ != 0) continue;
    // The others may be what it waits for.
    left_ = kTurn;
    late_ = true;
    if (const std::size_t again = choose(); again < groups_.size())
      groups_[again].state = Group::State::yielded;
  }
  return late_;
}

bool Warp::wake_yielded() {
  bool any = false;
  for (Group& g : groups_) {
    if (g.state != Group::State::yielded) continue;
    g.state = Group::State::ready;
    any = true;
  }
  return any;
}

void Warp::select(std::uint32_t mask) {
  if (lanes_.mask != mask) lanes_.run(mask);
  masked_ = mask != live_;
}

/// Runs a group until it waits, ends, or another one may be further behind.
void Warp::run_group(std::size_t index) {
  select(groups_[index].mask);
  for (;;) {
    Group& g = groups_[index];
    const BlockCode& code = program_->blocks[g.block];
    const Step* step = program_->steps.data() + g.at;
    const Step* const end = program_->steps.data() + code.last;
    if (masked_) {
      for (; step != end && step->masked; ++step) step->masked(*step, lanes_);
    } else {
      for (; step != end && step->whole; ++step) step->whole(*step, lanes_);
    }
    g.at = static_cast<std::uint32_t>(step - program_->steps.data());
    if (step != end) {
      if (together(index) == Next::other) return;
      continue;
    }
    if (left_ != 0) --left_;
    if (!leave(index) || left_ == 0) return;
  }
}

void Warp::follow(Group& group, const Edge& edge) {
  for (std::uint32_t i = edge.first; i < edge.last; ++i) {
    const Step& step = program_->steps[i];
    (masked_ ? step.masked : step.whole)(step, lanes_);
  }
  group.block = edge.to;
  group.at = program_->blocks[edge.to].first;
}

/// The end of a block. True where the group goes on at once.
bool Warp::leave(std::size_t index) {
  const BlockCode& code = program_->blocks[groups_[index].block];
  if (code.edges.empty()) {
    const std::uint32_t lanes = groups_[index].mask;
    groups_.erase(groups_.begin() + static_cast<std::ptrdiff_t>(index));
    ended(lanes);
    return false;
  }
  if (code.edges.size() == 1) {
    follow(groups_[index], code.edges[0]);
  } else {
    // Lanes by the edge that they take, in the order of the edges.
    std::uint32_t rest = groups_[index].mask;
    const std::uint32_t* cond = lanes_.words(code.cond);
    const Group from = groups_[index];
    bool first = true;
    const auto take = [&](std::uint32_t lanes, std::size_t k) {
      rest &= ~lanes;
      if (lanes == 0) return;
      if (!first) groups_.push_back(from);
      Group& g = first ? groups_[index] : groups_.back();
      first = false;
      g.mask = lanes;
      select(lanes);
      follow(g, code.edges[k]);
    };
    if (code.term == Term::cond_br) {
      const std::uint32_t yes = mask_of(cond) & rest;
      take(yes, 0);
      take(rest, 1);
    } else {
      const std::size_t last = code.edges.size() - 1;
      while (rest) {
        const std::uint32_t chosen = cond[std::countr_zero(rest)];
        std::uint32_t lanes = 0;
        each_lane(rest, [&](unsigned lane) {
          if (std::min<std::size_t>(cond[lane], last) == std::min<std::size_t>(chosen, last))
            lanes |= 1u << lane;
        });
        take(lanes, std::min<std::size_t>(chosen, last));
      }
    }
    if (groups_[index].mask != from.mask) {
      for (std::size_t k = groups_.size(); k-- > 0;) merge(k);
      return false;
    }
  }
  if (groups_.size() == 1) return true;
  const std::size_t before = groups_.size();
  merge(index);
  return groups_.size() == before && choose() == index;
}

/// Groups at the start of the same block become one.
void Warp::merge(std::size_t index) {
  if (index >= groups_.size()) return;
  const Group g = groups_[index];
  if (g.state != Group::State::ready || g.at != program_->blocks[g.block].first) return;
  for (std::size_t k = 0; k < groups_.size(); ++k) {
    Group& other = groups_[k];
    const bool may = other.state == Group::State::ready || other.state == Group::State::yielded;
    if (k == index || !may || other.block != g.block || other.at != g.at) continue;
    other.mask |= g.mask;
    other.state = Group::State::ready;
    groups_.erase(groups_.begin() + static_cast<std::ptrdiff_t>(index));
    return;
  }
}

void Warp::ended(std::uint32_t lanes) {
  live_ &= ~lanes;
  owner_->ended(static_cast<std::uint32_t>(std::popcount(lanes)));
  // Those that waited for them look again.
  for (Group& g : groups_)
    if (g.state == Group::State::at_warp_operation) g.state = Group::State::ready;
}

Warp::Next Warp::together(std::size_t index) {
  Group& g = groups_[index];
  switch (program_->steps[g.at].op) {
    case Op::yield:
      if (program_->steps[g.at].imm == passes::kClockYield) owner_->waits_for_clock();
      ++g.at;
      g.state = Group::State::yielded;
      return Next::other;
    case Op::bar_sync:
    case Op::control_barrier: return meet(index);
    default: return warp_operation(index, false);
  }
}

Warp::Next Warp::meet(std::size_t index) {
  const Step& step = program_->steps[groups_[index].at];
  const bool native = step.op == Op::control_barrier;
  const auto kind = native ? ir::BarKind::sync : static_cast<ir::BarKind>(step.imm);
  const auto word = [&](unsigned i, unsigned lane) { return lanes_.words(step.in[i])[lane]; };
  const std::uint32_t all = groups_[index].mask;
  const auto first = static_cast<unsigned>(std::countr_zero(all));
  const std::uint32_t barrier = native ? 0 : word(0, first) & 15;
  const std::uint32_t expected = step.inputs > 1 ? word(1, first) : 0;
  std::uint32_t here = 0, sum = 0;
  each_lane(all, [&](unsigned lane) {
    if (!native && (word(0, lane) & 15) != barrier) return;
    here |= 1u << lane;
    if (step.inputs > 2) sum += word(2, lane) != 0;
  });
  owner_->barriers().arrive(barrier, static_cast<std::uint32_t>(std::popcount(here)), expected, sum,
                            kind);
  if (here != all) {
    // The others are at a barrier of another number.
    groups_.push_back(groups_[index]);
    groups_.back().mask = all & ~here;
  }
  Group& g = groups_[index];
  g.mask = here;
  if (kind == ir::BarKind::arrive) {
    ++g.at;
  } else {
    g.state = Group::State::at_barrier;
    g.barrier = barrier;
  }
  return Next::other;
}

bool Warp::release(std::uint32_t barrier, std::uint32_t result) {
  bool any = false;
  for (Group& g : groups_) {
    if (g.state != Group::State::at_barrier || g.barrier != barrier) continue;
    const Step& step = program_->steps[g.at++];
    std::uint32_t* out = lanes_.words(step.out);
    each_lane(g.mask, [&](unsigned lane) { out[lane] = result; });
    g.state = Group::State::ready;
    any = true;
  }
  return any;
}

bool Warp::force() {
  for (std::size_t i = 0; i < groups_.size(); ++i)
    if (groups_[i].state == Group::State::at_warp_operation) {
      groups_[i].state = Group::State::ready;
      select(groups_[i].mask);
      warp_operation(i, true);
      return true;
    }
  return false;
}

/// Lanes whose members are all there get their results and go on; the others wait.
Warp::Next Warp::warp_operation(std::size_t index, bool forced) {
  // Others may have waited here already.
  bool joined = false;
  for (std::size_t k = 0; k < groups_.size(); ++k) {
    if (k == index || groups_[k].state != Group::State::at_warp_operation ||
        groups_[k].at != groups_[index].at)
      continue;
    groups_[index].mask |= groups_[k].mask;
    groups_.erase(groups_.begin() + static_cast<std::ptrdiff_t>(k));
    if (k < index) --index;
    joined = true;
    break;
  }
  Group& g = groups_[index];
  select(g.mask);
  const Step& step = program_->steps[g.at];
  const std::uint32_t missing = live_ & ~g.mask;
  std::uint32_t complete = g.mask;
  if (missing && !forced)
    each_lane(g.mask, [&](unsigned lane) {
      if (members(lanes_, step, lane) & missing) complete &= ~(1u << lane);
    });
  if (complete) resolve(lanes_, step, complete, g.mask);
  if (complete == g.mask) {
    ++g.at;
    return joined || forced || (groups_.size() > 1 && choose() != index) ? Next::other : Next::same;
  }
  if (complete) {
    Group on = g;
    on.mask = complete;
    ++on.at;
    g.mask &= ~complete;
    g.state = Group::State::at_warp_operation;
    groups_.push_back(on);
  } else {
    g.state = Group::State::at_warp_operation;
  }
  return Next::other;
}

}  // namespace ptx2spv::interpreter
