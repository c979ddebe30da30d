#include "translator/passes/sanitize/races.hpp"

#include "ptx2spv/abi_sanitizer.hpp"

namespace ptx2spv::passes {

using ir::Op;
using ir::Space;
using ir::Type;
using ir::Value;

std::vector<bool> find_acquires(const ir::Function& function) {
  std::vector<bool> acquires(function.insts.size()), used(function.insts.size());
  for (const ir::Block& block : function.blocks) {
    for (const Value v : block.insts)
      for (const Value a : function.args(v)) used[a] = true;
    if (block.cond) used[block.cond] = true;
  }
  for (const ir::Block& block : function.blocks)
    for (const Value v : block.insts) {
      const ir::Inst& inst = function.insts[v];
      const bool ours = inst.mem.origin != ir::Origin::none;
      acquires[v] = inst.op == Op::memory_barrier || inst.op == Op::yield ||
                    (ours && inst.op == Op::load && inst.mem.is_volatile) ||
                    (ours && used[v] && (inst.op == Op::atomic || inst.op == Op::atomic_cas));
    }
  return acquires;
}

Value push_word(ir::Builder& b, std::uint32_t word, Type type) {
  return b.load(type, b.i32(word * 4),
                {.space = Space::push,
                 .bytes = static_cast<std::uint8_t>(type == Type::i64 ? 8 : 4),
                 .readonly = true});
}

bool has_warp_operations(const ir::Function& function) {
  for (const ir::Block& block : function.blocks)
    for (const Value v : block.insts)
      if (const Op op = function.insts[v].op; op >= Op::warp_shfl && op <= Op::warp_elect)
        return true;
  return false;
}

Value RaceRecords::load(ir::Builder& b, Value place, std::uint32_t word) {
  const Value at = b.op2(Op::add, place, b.i64(word * 4));
  return b.load(Type::i32, at, {.space = Space::global, .bytes = 4, .is_volatile = true});
}

void RaceRecords::store(ir::Builder& b, Value place, std::uint32_t word, Value value) {
  const Value at = b.op2(Op::add, place, b.i64(word * 4));
  b.store(at, value, {.space = Space::global, .bytes = 4, .is_volatile = true});
}

Value RaceRecords::exchange(ir::Builder& b, Value place, std::uint32_t word, Value value) {
  const Value at = b.op2(Op::add, place, b.i64(word * 4));
  const Value old = b.inst(Op::atomic, Type::i32, {at, value});
  b.last(old).mem = {.space = Space::global, .bytes = 4, .atomic = ir::AtomicOp::exch};
  return old;
}

void RaceRecords::conflict(ir::Builder& b, Race& race, Value bad, const Entry& entry) {
  const bool first = race.ok == 0;
  race.who = first ? entry.who : b.select(bad, entry.who, race.who);
  race.mark = first ? entry.mark : b.select(bad, entry.mark, race.mark);
  race.ok = first ? bad : b.op2(Op::or_, race.ok, bad);
}

/// A record keeps the first of a block's readers between two barriers, and whether there were
/// others. So most reads of what all threads read change nothing.
void RaceRecords::visit_load(ir::Builder& b, Value place, Race& race) {
  const Entry writer{load(b, place, abi::r_writer), load(b, place, abi::r_write_mark)};
  conflict(b, race, rival(b, writer), writer);
  const Entry before{load(b, place, abi::r_reader), load(b, place, abi::r_read_mark)};
  const Value stays = b.op2(Op::and_, recent(b, before), same_bytes(b, before));
  const Entry mine = own(b, false), also = with_flag(b, before, rival(b, before));
  store(b, place, abi::r_reader, b.select(stays, also.who, mine.who));
  store(b, place, abi::r_read_mark, b.select(stays, also.mark, mine.mark));
}

void RaceRecords::visit(ir::Builder& b, Value place, AccessKind kind, Race& race) {
  if (kind == AccessKind::load) return visit_load(b, place, race);
  const bool atomic = kind == AccessKind::atomic;
  const Entry mine = own(b, atomic);
  const Entry writer{exchange(b, place, abi::r_writer, mine.who),
                     exchange(b, place, abi::r_write_mark, mine.mark)};
  Value bad = rival(b, writer);
  if (atomic)
    bad = b.op2(Op::and_, bad, b.inst(Op::xor_, Type::i1, {flagged(b, writer), b.i1(true)}));
  conflict(b, race, bad, writer);
  const Entry reader{load(b, place, abi::r_reader), load(b, place, abi::r_read_mark)};
  // The reader that is kept may be this thread; the others are not.
  const Value others =
      b.op2(Op::and_, b.op2(Op::and_, recent(b, reader), flagged(b, reader)), unordered(b));
  conflict(b, race, b.op2(Op::or_, rival(b, reader), others), reader);
}

}  // namespace ptx2spv::passes
