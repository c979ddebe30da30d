#include "translator/passes/sanitize/races.hpp"

#include "ptx2spv/abi_sanitizer.hpp"

namespace ptx2spv::passes {

std::vector<bool> find_acquires(const Function& function) {
  std::vector<bool> acquires(function.insts.size()), used(function.insts.size());
  for (const Block& block : function.blocks) {
    for (const Value v : block.insts)
      for (const Value a : function.args(v)) used[a] = true;
    if (block.cond) used[block.cond] = true;
  }
  for (const Block& block : function.blocks)
    for (const Value v : block.insts) {
      const Inst& inst = function.insts[v];
      const bool ours = inst.mem.origin != Origin::none;
      acquires[v] = inst.op == Op::memory_barrier || inst.op == Op::yield ||
                    (ours && inst.op == Op::load && inst.mem.is_volatile) ||
                    (ours && used[v] && is_atomic(inst.op));
    }
  return acquires;
}

Value push_word(Builder& b, std::uint32_t word, Type type) {
  return b.load(type, b.i32(word * 4),
                {.space = Space::push,
                 .bytes = static_cast<std::uint8_t>(type == Type::i64 ? 8 : 4),
                 .readonly = true});
}

bool has_warp_operations(const Function& function) {
  for (const Block& block : function.blocks)
    for (const Value v : block.insts)
      if (const Op op = function.insts[v].op; is_warp_operation(op)) return true;
  return false;
}

RaceRecords::Entry RaceRecords::exchange_writer(Builder& b, Value place, const Entry& mine) {
  if (!atomics64_)
    return {exchange(b, place, abi::r_writer, mine.who),
            exchange(b, place, abi::r_write_mark, mine.mark)};
  const Value old =
      b.inst(Op::atomic, Type::i64, {place, b.inst(Op::pack, Type::i64, {mine.who, mine.mark})});
  b.last(old).mem = {.space = Space::global, .bytes = 8, .atomic = AtomicOp::exch};
  return {b.inst(Op::trunc, Type::i32, {old}), b.inst(Op::high, Type::i32, {old})};
}

Value RaceRecords::exchange(Builder& b, Value place, std::uint32_t word, Value value) {
  const Value at = b.op2(Op::add, place, b.i64(word * 4));
  const Value old = b.inst(Op::atomic, Type::i32, {at, value});
  b.last(old).mem = {.space = Space::global, .bytes = 4, .atomic = AtomicOp::exch};
  return old;
}

void RaceRecords::conflict(Builder& b, Race& race, Value bad, const Entry& entry) {
  const bool first = race.ok == 0;
  race.who = first ? entry.who : b.select(bad, entry.who, race.who);
  race.mark = first ? entry.mark : b.select(bad, entry.mark, race.mark);
  race.ok = first ? bad : b.op2(Op::or_, race.ok, bad);
}

/// A record keeps the first of a block's readers between two barriers, and whether there were
/// others. So most reads of what all threads read change nothing.
void RaceRecords::visit_load(Builder& b, Value place, Race& race) {
  static_assert(abi::r_writer == 0 && abi::r_write_mark == 1 && abi::r_reader == 2 &&
                abi::r_read_mark == 3);
  const Value record =
      b.load(Type::v4, place, {.space = Space::global, .bytes = 16, .is_volatile = true});
  const auto word = [&](std::uint64_t which) {
    return b.inst(Op::extract, Type::i32, {record}, which);
  };
  const Entry writer{word(abi::r_writer), word(abi::r_write_mark)};
  conflict(b, race, rival(b, writer), writer);
  const Entry before{word(abi::r_reader), word(abi::r_read_mark)};
  const Value stays = b.op2(Op::and_, recent(b, before), same_bytes(b, before));
  const Entry mine = own(b, false), also = with_flag(b, before, rival(b, before));
  const Value who = b.select(stays, also.who, mine.who),
              mark = b.select(stays, also.mark, mine.mark);
  b.store(b.op2(Op::add, place, b.i64(abi::r_reader * 4)), b.inst(Op::pack, Type::i64, {who, mark}),
          {.space = Space::global, .bytes = 8, .is_volatile = true});
}

void RaceRecords::visit(Builder& b, Value place, AccessKind kind, Race& race) {
  if (kind == AccessKind::load) return visit_load(b, place, race);
  const bool atomic = kind == AccessKind::atomic;
  const Entry mine = own(b, atomic);
  const Entry writer = exchange_writer(b, place, mine);
  Value bad = rival(b, writer);
  if (atomic)
    bad = b.op2(Op::and_, bad, b.inst(Op::xor_, Type::i1, {flagged(b, writer), b.i1(true)}));
  conflict(b, race, bad, writer);
  const Value both = b.load(Type::i64, b.op2(Op::add, place, b.i64(abi::r_reader * 4)),
                            {.space = Space::global, .bytes = 8, .is_volatile = true});
  const Entry reader{b.inst(Op::trunc, Type::i32, {both}), b.inst(Op::high, Type::i32, {both})};
  // The reader that is kept may be this thread; the others are not.
  const Value others =
      b.op2(Op::and_, b.op2(Op::and_, recent(b, reader), flagged(b, reader)), unordered(b));
  conflict(b, race, b.op2(Op::or_, rival(b, reader), others), reader);
}

}  // namespace ptx2spv::passes
