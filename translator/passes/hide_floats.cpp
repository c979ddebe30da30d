// Floats as operands of atomics. lavapipe (Mesa 22.3) hands LLVM what a float operation gives as it
// is, a float: LLVM's integer atomics on it are wrong (maxima of __float_as_uint) or end the
// process ("Cannot select AtomicCmpSwap"). Such operands are merged with a word that is always 0,
// which makes integers of them.
#include <algorithm>
#include <utility>

#include "translator/passes/hidden_zero.hpp"
#include "translator/passes/passes.hpp"

namespace ptx2spv::passes {

using namespace ir;

namespace {

bool is_atomic(Op op) { return op == Op::atomic || op == Op::atomic_cas || op == Op::image_atomic; }

/// Whether the driver may hold the value as a float: it comes from a float operation, or from a
/// merge of values that may.
bool may_be_float(Op op) {
  return (op >= Op::native_fadd && op <= Op::native_fconvert) || op == Op::phi ||
         op == Op::select || op == Op::library || op == Op::extract || op == Op::pack;
}

}  // namespace

bool hide_floats(Function& f) {
  HiddenZero zero(f);
  Builder builder(f);
  bool any = false;
  for (const BlockId b : f.order) {
    const bool none = std::none_of(f.blocks[b].insts.begin(), f.blocks[b].insts.end(),
                                   [&](Value v) { return is_atomic(f.insts[v].op); });
    if (none) continue;
    const auto hides = [&](Value a) {
      const Type type = f.insts[a].type;
      return (type == Type::i32 || type == Type::i64) && may_be_float(f.insts[a].op);
    };
    bool wanted = false;
    for (const Value v : f.blocks[b].insts)
      if (is_atomic(f.insts[v].op))
        for (unsigned i = 1; i < f.insts[v].count; ++i) wanted = wanted || hides(f.arg(v, i));
    if (!wanted) continue;
    any = true;
    zero.of(Type::i32);  // may stand in this block
    const std::vector<Value> old = std::exchange(f.blocks[b].insts, {});
    builder.at(b);
    for (const Value v : old) {
      if (is_atomic(f.insts[v].op)) {
        builder.set_loc(f.insts[v].loc);
        for (unsigned i = 1; i < f.insts[v].count; ++i) {
          const Value a = f.arg(v, i);
          if (!hides(a)) continue;
          const Value hidden = builder.op2(Op::xor_, a, zero.of(f.insts[a].type));
          f.operands[f.insts[v].first + i] = hidden;
        }
      }
      f.blocks[b].insts.push_back(v);
    }
  }
  return any;
}

}  // namespace ptx2spv::passes
