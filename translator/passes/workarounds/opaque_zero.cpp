#include "translator/passes/workarounds/opaque_zero.hpp"

#include <utility>

#include "ptx2spv/abi.hpp"

namespace ptx2spv::passes {

Value OpaqueZero::of(Type type) {
  if (!word_) {
    auto& insts = f_.blocks[f_.order.front()].insts;
    const std::vector<Value> rest = std::exchange(insts, {});
    Builder b(f_);
    b.at(f_.order.front());
    const Value number = source_ == Source::workgroup
                             ? b.builtin(Builtin::workgroup_id_x)
                             : b.load(Type::i32, b.i32(abi::Push::grid_x * 4),
                                      {.space = Space::push, .bytes = 4, .readonly = true});
    word_ = b.op2(Op::lshr, number, b.i32(31));
    wide_ = b.inst(Op::zext, Type::i64, {word_});
    bit_ = b.cmp(Op::ne, word_, b.i32(0));
    insts.insert(insts.end(), rest.begin(), rest.end());
  }
  return type == Type::i1 ? bit_ : type == Type::i32 ? word_ : wide_;
}

}  // namespace ptx2spv::passes
