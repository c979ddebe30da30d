// Divisions in a loop by what the loop does not change. A device divides by some twenty
// instructions, and its compiler leaves all of them in the loop. With the divisor's inverse
// r = (2^32 - 1) / d, made in front of the loop, the high half of n r is the quotient or one less:
// 2^32 - r d is at most d, so that n / d exceeds n r / 2^32 by less than 1.
#include <map>
#include <tuple>
#include <vector>

#include "translator/ir/loops.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/rewrite.hpp"

namespace ptx2spv::passes {

namespace {

class InvariantDivisors {
 public:
  explicit InvariantDivisors(Function& f)
      : f_(f), nest_(f, f.order), rewrite_(f), b_(rewrite_.builder()) {}

  bool run() {
    if (nest_.loops.empty()) return false;
    defined_in_.assign(f_.insts.size(), kNoBlock);
    for (const BlockId b : f_.order)
      for (const Value v : f_.blocks[b].insts) defined_in_[v] = b;
    for (const BlockId b : f_.order) find(b);
    if (inverses_.empty()) return false;
    return rewrite_.run([&](Value v) {
      const auto found = divisions_.find(v);
      return found == divisions_.end() ? v : divide(v, found->second);
    });
  }

 private:
  struct Inverse {
    Value magnitude = 0, inverse = 0;
    Value ones = 0;  ///< all of them for a divisor of zero, by which PTX divides to all ones
  };
  static bool is_signed(Op op) { return op == Op::sdiv || op == Op::srem; }

  void find(BlockId block) {
    if (nest_.innermost[block] == StructuredLoops::kNone) return;
    for (const Value v : std::vector<Value>(f_.blocks[block].insts)) {
      const Inst& inst = f_.insts[v];
      if (inst.type != Type::i32 || !is_within(inst.op, Op::udiv, Op::srem)) continue;
      const Value d = f_.arg(v, 1);
      if (f_.insts[d].op == Op::constant) continue;
      const BlockId before = in_front(nest_.innermost[block], d);
      if (before != kNoBlock) divisions_[v] = invert(before, d, is_signed(inst.op));
    }
  }

  /// Where the outermost loop that does not change `d` is entered from.
  BlockId in_front(std::uint32_t loop, Value d) const {
    BlockId before = kNoBlock;
    for (; loop != StructuredLoops::kNone; loop = nest_.loops[loop].parent) {
      if (nest_.within(defined_in_[d], loop)) break;
      BlockId entry = kNoBlock;
      unsigned entries = 0;
      for (const BlockId pred : f_.blocks[nest_.loops[loop].header].preds)
        if (!nest_.within(pred, loop)) entry = pred, ++entries;
      if (entries == 1) before = entry;
    }
    return before;
  }

  Inverse invert(BlockId before, Value d, bool with_sign) {
    Inverse& made = inverses_[{before, d, with_sign}];
    if (made.inverse) return made;
    b_.at(before);
    b_.set_loc(f_.insts[d].loc);
    const auto sign = [&](Value a) { return b_.op2(Op::ashr, a, b_.i32(31)); };
    made.magnitude = with_sign ? magnitude(d, sign(d)) : d;
    made.inverse = b_.op2(Op::udiv, b_.i32(~0u), made.magnitude);
    made.ones = b_.select(b_.cmp(Op::eq, d, b_.i32(0)), b_.i32(~0u), b_.i32(0));
    return made;
  }
  Value magnitude(Value a, Value sign) { return b_.op2(Op::sub, b_.op2(Op::xor_, a, sign), sign); }

  Value divide(Value v, const Inverse& by) {
    const Op op = f_.insts[v].op;
    const Value a = f_.arg(v, 0), d = f_.arg(v, 1);
    const bool quotient = op == Op::udiv || op == Op::sdiv;
    const auto sign = [&](Value of) { return b_.op2(Op::ashr, of, b_.i32(31)); };
    const Value n = is_signed(op) ? magnitude(a, sign(a)) : a;
    const Value least = b_.op2(Op::mulhi_u, n, by.inverse);
    const Value rest = b_.op2(Op::sub, n, b_.op2(Op::mul, least, by.magnitude));
    const Value once_more = b_.cmp(Op::ule, by.magnitude, rest);
    Value result = quotient ? b_.select(once_more, b_.op2(Op::add, least, b_.i32(1)), least)
                            : b_.select(once_more, b_.op2(Op::sub, rest, by.magnitude), rest);
    if (is_signed(op)) result = magnitude(result, sign(quotient ? b_.op2(Op::xor_, a, d) : a));
    return b_.op2(Op::or_, result, by.ones);
  }

  Function& f_;
  const StructuredLoops nest_;
  SsaRewriter rewrite_;
  Builder& b_;
  std::vector<BlockId> defined_in_;
  std::map<std::tuple<BlockId, Value, bool>, Inverse> inverses_;
  std::map<Value, Inverse> divisions_;
};

}  // namespace

bool invariant_divisors(Function& function) { return InvariantDivisors(function).run(); }

}  // namespace ptx2spv::passes
