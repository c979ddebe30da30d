// Selects between a merge of bits and the value merged into: @p bfi, @p copysign. lavapipe (LLVM 15
// on AVX-512) makes one masked instruction of both and takes its operands for each other. Here the
// predicate goes into the merge, and no select is left.
#include "translator/passes/passes.hpp"

namespace ptx2spv::passes {

using namespace ir;

namespace {

class MaskedMerges {
 public:
  explicit MaskedMerges(Function& function) : f_(function), builder_(function) {}

  bool run() {
    for (BlockId b = 0; b < f_.blocks.size(); ++b) {
      std::vector<Value> insts;
      insts.swap(f_.blocks[b].insts);
      builder_.at(b);
      for (const Value v : insts) {
        const Inst& inst = f_.insts[v];
        if (inst.op == Op::select && (inst.type == Type::i32 || inst.type == Type::i64))
          changed_ |= rewrite(v, 1, 2) || rewrite(v, 2, 1);
        f_.blocks[b].insts.push_back(v);
      }
    }
    return changed_;
  }

 private:
  Value constant(Type type, std::uint64_t value) {
    return type == Type::i32 ? builder_.i32(static_cast<std::uint32_t>(value))
                             : builder_.i64(value);
  }

  // Operand `merge` of the select is field | (kept & constant), operand `other` is kept.
  bool rewrite(Value v, unsigned merge, unsigned other) {
    const Value cond = f_.arg(v, 0), x = f_.arg(v, merge), kept = f_.arg(v, other);
    if (f_.insts[x].op != Op::or_) return false;
    const Type type = f_.insts[v].type;
    for (unsigned side = 0; side < 2; ++side) {
      const Value rest = f_.arg(x, side), field = f_.arg(x, 1 - side);
      if (f_.insts[rest].op != Op::and_) continue;
      for (unsigned at = 0; at < 2; ++at) {
        const Value mask = f_.arg(rest, at);
        if (f_.arg(rest, 1 - at) != kept || f_.insts[mask].op != Op::constant) continue;
        const Value all = constant(type, ~std::uint64_t{0}), none = constant(type, 0);
        const auto chosen = [&](Value merged, Value unmerged) {
          return merge == 1 ? builder_.select(cond, merged, unmerged)
                            : builder_.select(cond, unmerged, merged);
        };
        const Value left = builder_.op2(Op::and_, kept, chosen(mask, all));
        const Value right = chosen(field, none);
        f_.insts[v].op = Op::or_;
        f_.insts[v].first = static_cast<std::uint32_t>(f_.operands.size());
        f_.insts[v].count = 2;
        f_.operands.push_back(left);
        f_.operands.push_back(right);
        return true;
      }
    }
    return false;
  }

  Function& f_;
  Builder builder_;
  bool changed_ = false;
};

}  // namespace

bool fold_predicates_into_merges(Function& function) { return MaskedMerges(function).run(); }

}  // namespace ptx2spv::passes
