#include "translator/passes/sanitize/global_races.hpp"

#include <algorithm>

#include "ptx2spv/abi_sanitizer.hpp"

namespace ptx2spv::passes {

namespace {

/// Of the variable that says what the thread is ordered behind: accesses of its own block since
/// the last barrier, and accesses of other blocks.
constexpr std::uint32_t kWithinBlock = 1, kAcrossBlocks = 2;

Value masked(Builder& b, Value word, std::uint32_t mask) {
  return b.op2(Op::and_, word, b.i32(mask));
}

/// The words of a record are written one after the other, so that they may be of two threads. This
/// part of the first one stands in both, and differs between threads of one word's bytes.
Value tag_of(Builder& b, Value who) {
  Value mixed = who;
  for (const std::uint32_t shift : {5u, 11u, 16u})
    mixed = b.op2(Op::xor_, mixed, b.op2(Op::lshr, who, b.i32(shift)));
  return b.op2(Op::shl, mixed, b.i32(abi::kGlobalTagShift));
}

}  // namespace

GlobalRaces::GlobalRaces(Function& function, std::uint32_t words, bool acquires, Builder& b,
                         bool atomics64)
    : RaceRecords(atomics64), warps_(has_warp_operations(function)), acquires_(acquires) {
  using enum Builtin;
  const auto number = [&](Builtin x, Builtin y, Builtin z, std::uint32_t size) {
    const Value rows =
        b.op2(Op::add, b.builtin(y), b.op2(Op::mul, b.builtin(z), push_word(b, size + 1)));
    return b.op2(Op::add, b.builtin(x), b.op2(Op::mul, rows, push_word(b, size)));
  };
  const Value thread = number(local_id_x, local_id_y, local_id_z, abi::Push::block_x);
  const Value block = number(workgroup_id_x, workgroup_id_y, workgroup_id_z, abi::Push::grid_x);
  me_ = b.op2(Op::or_, b.op2(Op::shl, block, b.i32(abi::kGlobalBlockShift)),
              b.op2(Op::add, thread, b.i32(1)));
  const Value launch = b.load(Type::i32, b.i32(words + abi::z_launch * 4),
                              {.space = Space::param, .bytes = 4, .readonly = true});
  counted_ = b.cmp(Op::ne, launch, b.i32(0));
  fixed_ = b.op2(Op::or_, launch, masked(b, tag_of(b, me_), abi::g_tag));
  const auto variable = [&](const char* name) {
    function.vars.push_back({Type::i32, name, true});
    const auto made = static_cast<std::uint32_t>(function.vars.size() - 1);
    b.set(made, b.i32(0));
    return made;
  };
  epoch_ = variable("global.epoch");
  if (acquires_) order_ = variable("global.order");
}

void GlobalRaces::next_epoch(Builder& b) {
  // The last epoch is none: accesses of one block are not told apart then.
  const Value next = b.op2(Op::add, b.get(epoch_), b.i32(1));
  b.set(epoch_, b.op2(Op::umin, next, b.i32(abi::g_epoch >> abi::kGlobalEpochShift)));
  // One thread may have waited for another block, for all of its own.
  if (acquires_) b.set(order_, b.i32(kAcrossBlocks));
}

void GlobalRaces::acquire(Builder& b) { b.set(order_, b.i32(kWithinBlock | kAcrossBlocks)); }

Value GlobalRaces::order_bit(Builder& b, std::uint32_t bit) {
  if (!acquires_) return b.i1(true);
  return b.cmp(Op::eq, masked(b, b.get(order_), bit), b.i32(0));
}

Value GlobalRaces::unordered(Builder& b) { return order_bit(b, kWithinBlock); }

RaceRecords::Entry GlobalRaces::own(Builder& b, bool flagged) {
  const Value epoch = b.op2(Op::shl, b.get(epoch_), b.i32(abi::kGlobalEpochShift));
  const Value here =
      b.op2(Op::or_, fixed_, b.i32(site_ | (flagged ? std::uint32_t{abi::g_flag} : 0u)));
  return {me_, b.op2(Op::or_, b.op2(Op::or_, epoch, bytes_), here)};
}

Value GlobalRaces::meets(Builder& b, const Entry& entry) {
  const Value launch =
      b.cmp(Op::eq, masked(b, b.op2(Op::xor_, entry.mark, fixed_), abi::g_launch), b.i32(0));
  const Value whole = b.cmp(
      Op::eq, masked(b, b.op2(Op::xor_, entry.mark, tag_of(b, entry.who)), abi::g_tag), b.i32(0));
  const Value overlap = b.cmp(Op::ne, b.op2(Op::and_, entry.mark, bytes_), b.i32(0));
  return b.op2(Op::and_, b.op2(Op::and_, launch, whole), overlap);
}

Value GlobalRaces::same_block(Builder& b, const Entry& entry) {
  return b.cmp(Op::ult, b.op2(Op::xor_, entry.who, me_), b.i32(1u << abi::kGlobalBlockShift));
}

Value GlobalRaces::same_epoch(Builder& b, const Entry& entry) {
  const Value epoch = b.get(epoch_);
  const Value before =
      b.op2(Op::lshr, masked(b, entry.mark, abi::g_epoch), b.i32(abi::kGlobalEpochShift));
  const Value known = b.cmp(Op::ne, epoch, b.i32(abi::g_epoch >> abi::kGlobalEpochShift));
  return b.op2(Op::and_, b.cmp(Op::eq, before, epoch), known);
}

Value GlobalRaces::recent(Builder& b, const Entry& entry) {
  return b.op2(Op::and_, meets(b, entry),
               b.op2(Op::and_, same_block(b, entry), same_epoch(b, entry)));
}

Value GlobalRaces::same_bytes(Builder& b, const Entry& entry) {
  return b.cmp(Op::eq, masked(b, entry.mark, abi::g_bytes), bytes_);
}

Value GlobalRaces::rival(Builder& b, const Entry& entry) {
  // Threads are numbered from 1; of a warp, which counts from 0, the low five bits are the lane.
  const auto thread = [&](Value who) { return masked(b, who, abi::kGlobalThreads); };
  Value mine = thread(me_), other = thread(entry.who);
  if (warps_) {
    const auto warp = [&](Value number) {
      return b.op2(Op::lshr, b.op2(Op::sub, number, b.i32(1)), b.i32(5));
    };
    mine = warp(mine), other = warp(other);
  }
  const Value within = b.op2(Op::and_, b.cmp(Op::ne, mine, other), same_epoch(b, entry));
  const Value same = same_block(b, entry);
  const Value apart = b.inst(Op::xor_, Type::i1, {same, b.i1(true)});
  const Value bad =
      b.op2(Op::or_, b.op2(Op::and_, same, b.op2(Op::and_, within, order_bit(b, kWithinBlock))),
            b.op2(Op::and_, apart, order_bit(b, kAcrossBlocks)));
  return b.op2(Op::and_, bad, meets(b, entry));
}

Value GlobalRaces::flagged(Builder& b, const Entry& entry) {
  return b.cmp(Op::ne, masked(b, entry.mark, abi::g_flag), b.i32(0));
}

RaceRecords::Entry GlobalRaces::with_flag(Builder& b, const Entry& entry, Value flag) {
  const Value bit = b.select(flag, b.i32(abi::g_flag), b.i32(0));
  return {entry.who, b.op2(Op::or_, entry.mark, bit)};
}

RaceRecords::Race GlobalRaces::race(Builder& b, const ShadowAccess& access, Value records,
                                    std::uint32_t site) {
  site_ = site;
  const Value ok =
      b.op2(Op::and_, b.op2(Op::and_, access.ok, counted_), b.cmp(Op::ne, records, b.i64(0)));
  const Value first = b.op2(Op::and_, access.offset, b.i64(~std::uint64_t{3}));
  // A record has 16 bytes for four of memory.
  static_assert(abi::kRaceWords * 4 == 16);
  const Value start = b.op2(Op::add, records, b.op2(Op::shl, first, b.i32(2)));
  const Value within = masked(b, b.inst(Op::trunc, Type::i32, {access.offset}), 3);
  const std::uint32_t some = (1u << std::min(access.bytes, 4u)) - 1;
  const auto mask_of = [&](Value bits) {
    return b.op2(Op::shl, bits, b.op2(Op::add, within, b.i32(abi::kGlobalBytesShift)));
  };
  if (access.size) {
    const Value less = b.op2(Op::umin, access.size, b.i32(4));
    bytes_ = mask_of(b.op2(Op::sub, b.op2(Op::shl, b.i32(1), less), b.i32(1)));
  } else {
    bytes_ = access.bytes >= 4 ? b.i32(abi::g_bytes) : mask_of(b.i32(some));
  }
  const Value nowhere = push_word(b, abi::Push::discard, Type::i64);
  Race race;
  for (std::uint32_t i = 0; i < std::max(access.bytes / 4, 1u); ++i) {
    const Value at = b.op2(Op::add, start, b.i64(std::uint64_t{i} * abi::kRaceWords * 4));
    Value here = ok;
    if (access.size && i) here = b.op2(Op::and_, ok, b.cmp(Op::ult, b.i32(i * 4), access.size));
    const bool first_piece = race.ok == 0;
    const Value before = race.ok;
    visit(b, b.select(here, at, nowhere), access.kind, race);
    // What the bytes that nobody reads say of a piece is nothing.
    if (here != ok && !first_piece) race.ok = b.select(here, race.ok, before);
  }
  race.ok = b.inst(Op::xor_, Type::i1, {b.op2(Op::and_, race.ok, ok), b.i1(true)});
  return race;
}

}  // namespace ptx2spv::passes
