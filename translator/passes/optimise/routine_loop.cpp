// Each iteration is a call. The table says of which routine and where its operands are. Where a
// loop calls several routines, each call stands in a loop of its own of one iteration or none,
// since CPU drivers skip code that no thread needs only in loops.
#include "translator/passes/optimise/routine_loop.hpp"

#include <algorithm>

namespace ptx2spv::passes {

namespace {

constexpr MemAttr kWord{.space = Space::local, .bytes = 4};
/// Where the parts of a step's second word lie; the first one has the first two places.
constexpr std::uint32_t kPlaceBits = 16, kNegateShift = 16, kCallShift = 20;

class Emission {
 public:
  Emission(const RoutineLoop& loop, Builder& b, BlockCutter& cutter)
      : loop_(loop), f_(b.function()), b_(b), cutter_(cutter) {}

  BlockId run(BlockId before) {
    return loop_.calls.size() == 1 ? one_routine(before) : several(before);
  }

 private:
  Value word(Value place, std::uint32_t more) {
    const Value at = b_.op2(Op::add, place, b_.i32(loop_.base / 4 + more));
    return b_.op2(Op::shl, at, b_.i32(2));
  }
  Value load(Value place, std::uint32_t more) {
    return b_.load(Type::i32, word(place, more), kWord);
  }
  void become_loop(BlockId header, BlockId before, BlockId merge, BlockId latch) {
    f_.blocks[header].merge = Merge::loop;
    f_.blocks[header].merge_block = merge;
    f_.blocks[header].continue_block = latch;
    f_.blocks[header].preds = {before, latch};
  }

  void read_row(Value step) {
    const std::uint32_t words = loop_.row();
    const Value row = words == 1 ? step : b_.op2(Op::shl, step, b_.i32(1));
    first_ = load(row, loop_.table);
    second_ = words == 1 ? 0 : load(row, loop_.table + 1);
  }

  Value operand(unsigned i, Type type) {
    const Value mask = b_.i32((1u << kPlaceBits) - 1);
    const Value from = i == 2 ? second_ : first_;
    const Value place =
        i == 1 ? b_.op2(Op::lshr, from, b_.i32(kPlaceBits)) : b_.op2(Op::and_, from, mask);
    const Value low = load(place, 0);
    if (type == Type::i32) return low;
    Value high = load(place, 1);
    if (loop_.negates()) {
      const Value some = b_.op2(Op::umin, low, b_.i32(1));
      const Value size = b_.op2(Op::and_, high, b_.i32(kSign - 1));
      const Value number = b_.cmp(Op::ule, b_.op2(Op::add, size, some), b_.i32(kInfinity));
      const Value asked = b_.op2(Op::shl, second_, b_.i32(31 - kNegateShift - i));
      const Value turned = b_.op2(Op::xor_, high, b_.op2(Op::and_, asked, b_.i32(kSign)));
      high = b_.select(number, turned, high);
    }
    return b_.inst(Op::pack, Type::i64, {low, high});
  }

  void call(const LoopCall& what, Value step) {
    std::vector<Value> arguments;
    for (unsigned i = 0; i < what.operands; ++i) arguments.push_back(operand(i, what.from));
    const Value result = b_.inst(Op::library, what.type, arguments, what.library);
    const Value target = b_.op2(Op::shl, step, b_.i32(1));
    if (what.type == Type::i32) {
      b_.store(word(target, loop_.results), result, kWord);
      return;
    }
    b_.store(word(target, loop_.results), b_.inst(Op::trunc, Type::i32, {result}), kWord);
    b_.store(word(target, loop_.results + 1), b_.inst(Op::high, Type::i32, {result}), kWord);
  }

  BlockId one_routine(BlockId before) {
    const BlockId header = b_.new_block(), latch = b_.new_block(), behind = b_.new_block();
    cutter_.move_end(before, behind, {header, latch});
    b_.at(before);
    const Value zero = b_.i32(0);
    b_.br(header);
    b_.at(header);
    const Value step = b_.inst(Op::phi, Type::i32, {zero, zero});
    read_row(step);
    call(loop_.calls[0], step);
    const Value following = b_.op2(Op::add, step, b_.i32(1));
    f_.args(step)[1] = following;
    b_.cond_br(b_.cmp(Op::slt, following, count()), latch, behind);
    become_loop(header, before, behind, latch);
    f_.blocks[latch].preds = {header};
    f_.blocks[behind].preds = {header};
    b_.at(latch);
    b_.br(header);
    return behind;
  }

  BlockId several(BlockId before) {
    const BlockId header = b_.new_block(), body = b_.new_block(), latch = b_.new_block(),
                  behind = b_.new_block();
    std::vector<BlockId> between{header, body};
    b_.at(header);
    const Value step = b_.inst(Op::phi, Type::i32, {0, 0});
    b_.cond_br(b_.cmp(Op::slt, step, count()), body, behind);
    b_.at(body);
    read_row(step);
    const Value which = b_.op2(Op::lshr, second_, b_.i32(kCallShift));
    BlockId at = body;
    for (std::uint32_t i = 0; i < loop_.calls.size(); ++i)
      at = skipped(at, i, which, step, between);
    between.push_back(latch);
    b_.br(latch);
    b_.at(latch);
    const Value following = b_.op2(Op::add, step, b_.i32(1));
    b_.br(header);
    cutter_.move_end(before, behind, between);
    b_.at(before);
    f_.args(step)[0] = b_.i32(0);
    f_.args(step)[1] = following;
    b_.br(header);
    become_loop(header, before, behind, latch);
    f_.blocks[body].preds = {header};
    f_.blocks[latch].preds = {at};
    f_.blocks[behind].preds = {header};
    return behind;
  }

  /// Call `i` in a loop of one iteration where the step wants it.
  BlockId skipped(BlockId before, std::uint32_t i, Value which, Value step,
                  std::vector<BlockId>& between) {
    const BlockId header = b_.new_block(), inside = b_.new_block(), latch = b_.new_block(),
                  behind = b_.new_block();
    between.insert(between.end(), {header, inside, latch, behind});
    const Value wanted = b_.cmp(Op::eq, which, b_.i32(i));
    const Value zero = b_.i32(0), one = b_.i32(1);
    b_.br(header);
    b_.at(header);
    const Value iteration = b_.inst(Op::phi, Type::i32, {zero, one});
    const Value first = b_.cmp(Op::eq, iteration, b_.i32(0));
    b_.cond_br(b_.op2(Op::and_, first, wanted), inside, behind);
    b_.at(inside);
    call(loop_.calls[i], step);
    b_.br(latch);
    b_.at(latch);
    b_.br(header);
    become_loop(header, before, behind, latch);
    f_.blocks[inside].preds = {header};
    f_.blocks[latch].preds = {inside};
    f_.blocks[behind].preds = {header};
    b_.at(behind);
    return behind;
  }

  Value count() { return b_.i32(static_cast<std::uint32_t>(loop_.steps.size())); }

  const RoutineLoop& loop_;
  Function& f_;
  Builder& b_;
  BlockCutter& cutter_;
  Value first_ = 0, second_ = 0;  ///< of the step's row
};

}  // namespace

bool RoutineLoop::negates() const {
  return std::ranges::any_of(steps, [](const LoopStep& s) { return s.negated != 0; });
}

std::uint32_t RoutineLoop::row() const {
  const bool third =
      std::ranges::any_of(calls, [](const LoopCall& call) { return call.operands > 2; });
  return third || calls.size() > 1 || negates() ? 2 : 1;
}

std::vector<std::uint32_t> RoutineLoop::table_words() const {
  const std::uint32_t width = row();
  std::vector<std::uint32_t> words;
  for (const LoopStep& step : steps) {
    words.push_back(step.places[0] | step.places[1] << kPlaceBits);
    if (width == 1) continue;
    words.push_back(step.places[2] | step.negated << kNegateShift | step.call << kCallShift);
  }
  return words;
}

BlockId RoutineLoop::emit(Builder& b, BlockCutter& cutter, BlockId before) const {
  return Emission(*this, b, cutter).run(before);
}

}  // namespace ptx2spv::passes
