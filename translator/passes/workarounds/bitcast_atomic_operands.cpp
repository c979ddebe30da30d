// Floats as operands of atomics. lavapipe (Mesa 22.3) passes the result of a float operation to
// LLVM as a float. LLVM's integer atomics on it are wrong (maxima of __float_as_uint) or end the
// process
// ("Cannot select AtomicCmpSwap"). Such operands are merged with a word that is always 0, which
// makes them integers.
#include "translator/passes/passes.hpp"
#include "translator/passes/workarounds/opaque_zero.hpp"

namespace ptx2spv::passes {

namespace {

bool takes_bits(Op op) { return is_atomic(op) || op == Op::image_atomic; }

/// Whether the driver may hold the value as a float: it comes from a float operation, or from a
/// merge of values that may.
bool may_be_float(Op op) {
  return is_within(op, Op::native_fadd, Op::native_fconvert) || op == Op::phi || op == Op::select ||
         op == Op::library || op == Op::extract || op == Op::pack;
}

}  // namespace

bool bitcast_atomic_operands(Function& f) {
  return make_operands_opaque(
      f, 1, [&](Value v) { return takes_bits(f.insts[v].op); },
      [&](Value a) {
        const Type type = f.insts[a].type;
        return (type == Type::i32 || type == Type::i64) && may_be_float(f.insts[a].op);
      });
}

}  // namespace ptx2spv::passes
