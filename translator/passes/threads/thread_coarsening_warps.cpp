// Warp operations where an invocation runs a whole warp: a shuffle is a copy between the values of
// two threads, and a vote looks at those of all of them. All threads that are still there reach the
// operation together, so that nobody has to wait. Lanes that are not known before the kernel runs
// go through an array of local memory.
#include "translator/passes/threads/thread_coarsening.hpp"
#include "translator/passes/threads/warp_lanes.hpp"

namespace ptx2spv::passes::coarse {

using namespace ir;

namespace {

constexpr MemAttr kWord{.space = Space::local, .bytes = 4};

}  // namespace

/// The threads that the block has and that are in the guard, a bit for each.
Value Coarsener::threads_there(std::uint32_t guard) {
  if (guard != kNone) return b_.get(masks_[guard]);
  if (!partial()) return b_.i32(0xffffffff);
  const Value first = b_.op2(Op::mul, index(), b_.i32(kWarp));
  const Value left = b_.op2(Op::sub, b_.op2(Op::umax, count_, first), first);
  const Value threads = b_.op2(Op::umin, left, b_.i32(kWarp));
  return b_.op2(Op::sub, b_.op2(Op::shl, b_.i32(1), threads), b_.i32(1));
}

/// What a thread has of the plan's value.
Value Coarsener::of_thread(Value v, std::uint32_t lane) {
  k_ = lane;
  ++instance_;
  const Value value = fetch(v);
  k_ = 0;
  return value;
}

/// The operation's result for each thread, of `size` instructions. `body` takes the members that
/// are there.
template <typename Body>
void Coarsener::each_result(Value v, std::size_t size, Value there, Body&& body) {
  if (kept_[v] == kNone) return;
  for_each_thread(size, kNone, false, {}, [&](BlockId next) {
    const Value members = fetch(warp::members(p_.f, v));
    write(kept_[v], body(warp::Lanes(b_).op2(Op::and_, there, members)));
    b_.br(next);
  });
}

/// Of word `index` of the lanes' low or high halves.
Value Coarsener::scratch(Value index, std::uint32_t half) {
  return b_.op2(Op::add, b_.op2(Op::mul, index, b_.i32(4)), b_.i32(scratch_ + half * kWarp * 4));
}

/// The lanes' values of an operation's first operand.
void Coarsener::fill_scratch(Value v) {
  for_each_thread(2, kNone, false, {}, [&](BlockId next) {
    const Value value = fetch(p_.f.arg(v, 0));
    if (out_.insts[value].type == Type::i64) {
      b_.store(scratch(lane(), 0), b_.inst(Op::trunc, Type::i32, {value}), kWord);
      b_.store(scratch(lane(), 1), b_.inst(Op::high, Type::i32, {value}), kWord);
    } else {
      b_.store(scratch(lane(), 0), value, kWord);
    }
    b_.br(next);
  });
}

void Coarsener::shuffle(Value v, Value there) {
  const Inst& inst = p_.f.insts[v];
  const auto mode = static_cast<ShflMode>(inst.imm);
  const Inst &lane = p_.f.insts[p_.f.arg(v, 1)], &clamp = p_.f.insts[p_.f.arg(v, 2)];
  if (kept_[v] == kNone) return;
  constexpr std::size_t kSize = 6;
  if (lane.op != Op::constant || clamp.op != Op::constant || !copies(kSize))
    return gather(v, there);
  warp::Lanes lanes(b_);
  const auto word = [&](const Inst& of) { return b_.i32(static_cast<std::uint32_t>(of.imm)); };
  for (std::uint32_t k = 0; k < kWarp; ++k) {
    const Value self = b_.i32(k), members = of_thread(p_.f.arg(v, 3), k);
    const auto source = lanes.source(mode, self, word(lane), word(clamp));
    const Value other = of_thread(p_.f.arg(v, 0), lanes.constant(source.lane));
    const Value present = lanes.op2(Op::and_, there, members);
    const Value value = lanes.shuffled(present, source.lane, other);
    k_ = k;
    write(kept_[v], lanes.pair(value, lanes.flag(source.inside)));
    k_ = 0;
  }
}

void Coarsener::gather(Value v, Value there) {
  fill_scratch(v);
  constexpr std::size_t kSize = 16;
  each_result(v, kSize, there, [&](Value present) {
    warp::Lanes lanes(b_);
    const auto source = lanes.source(static_cast<ShflMode>(p_.f.insts[v].imm), lane(),
                                     fetch(p_.f.arg(v, 1)), fetch(p_.f.arg(v, 2)));
    const Value theirs = b_.load(Type::i32, scratch(source.lane, 0), kWord);
    const Value value = lanes.shuffled(present, source.lane, theirs);
    return lanes.pair(value, lanes.flag(source.inside));
  });
}

/// What `next(sum)` gives for one thread after another, `first` before them; of `size`
/// instructions.
template <typename Next>
Value Coarsener::accumulate(std::size_t size, std::uint32_t first, Next&& next) {
  const std::uint32_t sum = word("sum");
  b_.set(sum, b_.i32(first));
  for_each_thread(size, kNone, false, {}, [&](BlockId behind) {
    b_.set(sum, next(b_.get(sum)));
    b_.br(behind);
  });
  return b_.get(sum);
}

/// What a vote or reduction among `present` gives, the same for all of them.
Value Coarsener::combine(Value v, Value present) {
  const Inst& inst = p_.f.insts[v];
  warp::Lanes lanes(b_);
  if (inst.op == Op::warp_redux) {
    const warp::Reduction each = warp::reduction(static_cast<AtomicOp>(inst.imm));
    constexpr std::size_t kSize = 4;
    return accumulate(kSize, each.identity, [&](Value sum) {
      const Value more = b_.op2(each.op, sum, fetch(p_.f.arg(v, 0)));
      return b_.select(lanes.has(present, lane()), more, sum);
    });
  }
  return lanes.vote(static_cast<VoteMode>(inst.imm), b_.op2(Op::and_, ballot(v), present), present);
}

/// The threads whose predicate holds.
Value Coarsener::ballot(Value v) {
  constexpr std::size_t kSize = 3;
  return accumulate(kSize, 0, [&](Value votes) {
    const Value vote = b_.inst(Op::zext, Type::i32, {fetch(p_.f.arg(v, 0))});
    return b_.op2(Op::or_, votes, b_.op2(Op::shl, vote, lane()));
  });
}

/// Matches, and reductions whose members have masks of their own: each thread looks at all lanes.
void Coarsener::compare_lanes(Value v, Value there) {
  const Inst inst = p_.f.insts[v];
  const bool match = inst.op == Op::warp_match;
  const bool wide = p_.f.insts[p_.f.arg(v, 0)].type == Type::i64;
  fill_scratch(v);
  constexpr std::size_t kSize = 5 * kWarp;
  each_result(v, kSize, there, [&](Value present) {
    warp::Lanes lanes(b_);
    const Value mine = fetch(p_.f.arg(v, 0));
    const warp::Reduction each =
        match ? warp::Reduction{Op::or_, 0} : warp::reduction(static_cast<AtomicOp>(inst.imm));
    Value sum = b_.i32(each.identity);
    for (std::uint32_t l = 0; l < kWarp; ++l) {
      Value value = b_.load(Type::i32, scratch(b_.i32(l), 0), kWord);
      if (wide) {
        const Value high = b_.load(Type::i32, scratch(b_.i32(l), 1), kWord);
        value = b_.inst(Op::pack, Type::i64, {value, high});
      }
      if (match) {
        const Value bit = b_.select(b_.cmp(Op::eq, value, mine), b_.i32(1u << l), b_.i32(0));
        sum = b_.op2(Op::or_, sum, bit);
      } else {
        sum = b_.select(lanes.has(present, b_.i32(l)), b_.op2(each.op, sum, value), sum);
      }
    }
    if (!match) return sum;
    return lanes.match(static_cast<MatchMode>(inst.imm), b_.op2(Op::and_, sum, present), present);
  });
}

void Coarsener::elect(Value v, Value there) {
  constexpr std::size_t kSize = 8;
  each_result(v, kSize, there, [&](Value present) {
    warp::Lanes lanes(b_);
    const Value leader = lanes.leader(present);
    return lanes.pair(leader, lanes.flag(lanes.cmp(Op::eq, leader, lane())));
  });
}

void Coarsener::warp_operation(Value v, std::uint32_t guard) {
  const Inst& inst = p_.f.insts[v];
  if (inst.op == Op::warp_sync) return;
  const Value there = threads_there(guard);
  switch (inst.op) {
    case Op::warp_shfl: return shuffle(v, there);
    case Op::warp_match: return compare_lanes(v, there);
    case Op::warp_elect: return elect(v, there);
    case Op::warp_active: values_[v] = there; return;
    default: break;
  }
  if (!p_.own[v]) {
    const Value members = values_[warp::members(p_.f, v)];
    values_[v] = combine(v, b_.op2(Op::and_, there, members));
  } else if (inst.op == Op::warp_redux) {
    compare_lanes(v, there);
  } else {
    const Value votes = ballot(v);
    constexpr std::size_t kSize = 5;
    each_result(v, kSize, there, [&](Value present) {
      return warp::Lanes(b_).vote(static_cast<VoteMode>(inst.imm), b_.op2(Op::and_, votes, present),
                                  present);
    });
  }
}

}  // namespace ptx2spv::passes::coarse
