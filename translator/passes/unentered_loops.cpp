// Loops that are never entered. A kernel whose accesses cannot fault still has the loop that writes
// the trap record, and CPU drivers pay for a loop that no thread turns.
#include <array>
#include <optional>
#include <unordered_map>

#include "translator/ir/evaluate.hpp"
#include "translator/passes/blocks.hpp"

namespace ptx2spv::passes {

using namespace ir;

namespace {

/// The constants that a loop's first blocks compute when it is met for the first time.
class FirstTurn {
 public:
  FirstTurn(const Function& f, BlockId header, unsigned entry) : f_(f) {
    for (const Value v : f.blocks[header].insts) {
      if (f.insts[v].op != Op::phi) break;
      if (const auto start = constant(f.arg(v, entry))) known_[v] = *start;
    }
  }

  void walk(BlockId block) {
    for (const Value v : f_.blocks[block].insts) {
      const Inst& inst = f_.insts[v];
      if (!(info(inst.op).flags & flag::P) || inst.op == Op::phi || inst.op == Op::constant)
        continue;
      std::array<Bits, 4> bits{};
      bool all = inst.count > 0 && inst.count <= bits.size();
      for (unsigned i = 0; i < inst.count && all; ++i) {
        const auto value = constant(f_.arg(v, i));
        all = value.has_value();
        if (all) bits[i] = Bits::of(*value);
      }
      if (!all || inst.type == Type::v2 || inst.type == Type::v4) continue;
      const Type from = inst.op == Op::select ? inst.type : f_.insts[f_.arg(v, 0)].type;
      if (const auto value = evaluate(inst, from, {bits.data(), inst.count}))
        known_[v] = value->u64();
    }
  }

  std::optional<std::uint64_t> constant(Value v) const {
    if (f_.insts[v].op == Op::constant) return f_.insts[v].imm;
    const auto found = known_.find(v);
    return found == known_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  const Function& f_;
  std::unordered_map<Value, std::uint64_t> known_;
};

bool leave(Function& f, BlockId header) {
  Block& head = f.blocks[header];
  if (head.preds.size() != 2) return false;
  const BlockId latch = head.continue_block;
  if (head.preds[0] != latch && head.preds[1] != latch) return false;
  const unsigned entry = head.preds[0] == latch ? 1 : 0;

  FirstTurn turn(f, header, entry);
  // The test stands in the header or in a block that follows it directly.
  BlockId at = header;
  for (unsigned steps = 0; f.blocks[at].term == Term::br; ++steps) {
    turn.walk(at);
    at = f.blocks[at].succs[0];
    if (steps == 4 || at == latch || at == head.merge_block || f.blocks[at].preds.size() != 1 ||
        f.blocks[at].merge == Merge::loop)
      return false;
  }
  Block& test = f.blocks[at];
  if (test.term != Term::cond_br || test.succs[0] == test.succs[1]) return false;
  turn.walk(at);
  const auto taken = turn.constant(test.cond);
  if (!taken || test.succs[*taken ? 0 : 1] != head.merge_block) return false;

  test.succs.assign(1, head.merge_block);
  test.term = Term::br;
  test.cond = 0;
  test.merge = Merge::none;
  test.merge_block = kNoBlock;
  head.merge = Merge::none;
  head.merge_block = head.continue_block = kNoBlock;
  return true;
}

}  // namespace

bool leave_unentered_loops(Function& f) {
  bool any = false;
  for (BlockId b = 0; b < f.blocks.size(); ++b)
    if (f.blocks[b].merge == Merge::loop) any = leave(f, b) || any;
  return any;
}

}  // namespace ptx2spv::passes
