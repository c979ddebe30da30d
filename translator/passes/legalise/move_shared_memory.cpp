#include "translator/passes/legalise/move_shared_memory.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "ptx2spv/abi.hpp"
#include "translator/passes/rewrite.hpp"

namespace ptx2spv::passes {

namespace {

bool is_shared_access(const Inst& inst) {
  return is_access(inst.op) && inst.mem.space == Space::shared;
}

Value push(Builder& b, std::uint32_t word, Type type = Type::i32) {
  const std::uint8_t bytes = type == Type::i64 ? 8 : 4;
  return b.load(type, b.i32(word * 4), {.space = Space::push, .bytes = bytes, .readonly = true});
}

/// `address` gives where shared memory begins, as an i64, in the entry block.
template <typename Address>
void move(Function& function, Address&& address_of) {
  const bool any = std::any_of(function.blocks.begin(), function.blocks.end(), [&](const Block& x) {
    return std::any_of(x.insts.begin(), x.insts.end(),
                       [&](Value v) { return is_shared_access(function.insts[v]); });
  });
  if (any) {
    const auto base = static_cast<std::uint32_t>(function.vars.size());
    function.vars.push_back({Type::i64, "shared"});
    CfgRewriter rewriter(function);
    rewriter.run([&](Value value) {
      if (is_shared_access(function.insts[value])) {
        Builder& b = rewriter.builder();
        const Value offset = b.inst(Op::zext, Type::i64, {function.arg(value, 0)});
        const Value address = b.op2(Op::add, b.get(base), offset);
        function.args(value)[0] = address;
        function.insts[value].mem.space = Space::global;
      }
      rewriter.keep(value);
    });
    Builder b(function);
    const std::vector<Value> rest = std::exchange(function.blocks[0].insts, {});
    b.at(0);
    b.set(base, address_of(b));
    std::vector<Value>& insts = function.blocks[0].insts;
    insts.insert(insts.end(), rest.begin(), rest.end());
  }
  function.shared_bytes = 0;
  function.uses_dynamic_shared = false;
  function.shared_discard = 0xffffffffu;
}

/// Of one block's shared memory, rounded up to 16.
Value block_bytes(Builder& b, std::uint32_t static_bytes, bool dynamic) {
  Value bytes = b.i32(static_bytes);
  if (dynamic) bytes = b.op2(Op::add, bytes, push(b, abi::Push::dynamic_shared));
  return b.op2(Op::and_, b.op2(Op::add, bytes, b.i32(15)), b.i32(~15u));
}

/// A slab is smaller than 4 GiB.
Value in_slab(Builder& b, Value offset) {
  return b.op2(Op::add, push(b, abi::Push::shared_slab, Type::i64),
               b.inst(Op::zext, Type::i64, {offset}));
}

}  // namespace

Value workgroup_number(Builder& b) {
  Value number = 0;
  for (unsigned axis = 3; axis-- > 0;) {
    const auto of = [&](Builtin x) {
      return static_cast<Builtin>(static_cast<unsigned>(x) + axis);
    };
    const Value id =
        b.op2(Op::sub, b.builtin(of(Builtin::workgroup_id_x)), push(b, abi::Push::base_x + axis));
    number = number == 0 ? id
                         : b.op2(Op::add, id,
                                 b.op2(Op::mul, number, b.builtin(of(Builtin::num_workgroups_x))));
  }
  return number;
}

void move_shared_memory(Function& function) {
  move(function, [&](Builder& b) {
    const Value bytes = block_bytes(b, function.shared_bytes, function.uses_dynamic_shared);
    return in_slab(b, b.op2(Op::mul, workgroup_number(b), bytes));
  });
}

void move_shared_memory(Function& function, const Behind& behind) {
  move(function, [&](Builder& b) {
    const Value bytes = block_bytes(b, behind.static_bytes, behind.dynamic);
    return in_slab(b, b.op2(Op::mul, b.i32(behind.blocks), bytes));
  });
}

}  // namespace ptx2spv::passes
