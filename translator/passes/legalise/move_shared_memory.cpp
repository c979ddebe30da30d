#include "translator/passes/legalise/move_shared_memory.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "ptx2spv/abi.hpp"
#include "translator/passes/rewrite.hpp"

namespace ptx2spv::passes {

namespace {

bool is_access_to(Space space, const Inst& inst) {
  return is_access(inst.op) && inst.mem.space == space;
}

bool accesses(const Function& function, Space space) {
  return std::ranges::any_of(function.blocks, [&](const Block& x) {
    return std::ranges::any_of(x.insts,
                               [&](Value v) { return is_access_to(space, function.insts[v]); });
  });
}

Value push(Builder& b, std::uint32_t word, Type type = Type::i32) {
  const std::uint8_t bytes = type == Type::i64 ? 8 : 4;
  return b.load(type, b.i32(word * 4), {.space = Space::push, .bytes = bytes, .readonly = true});
}

Builtin of_axis(Builtin x, unsigned axis) {
  return static_cast<Builtin>(static_cast<unsigned>(x) + axis);
}

/// Of the workgroup in its dispatch. `id` gives its place along an axis.
template <typename Id>
Value number_of(Builder& b, Id&& id) {
  Value number = id(2);
  for (unsigned axis = 2; axis-- > 0;)
    number = b.op2(Op::add, id(axis),
                   b.op2(Op::mul, number, b.builtin(of_axis(Builtin::num_workgroups_x, axis))));
  return number;
}

/// Puts what `make` builds in front of the function.
template <typename Make>
void at_start(Function& function, Make&& make) {
  Builder b(function);
  const std::vector<Value> rest = std::exchange(function.blocks[0].insts, {});
  b.at(0);
  make(b);
  std::vector<Value>& insts = function.blocks[0].insts;
  insts.insert(insts.end(), rest.begin(), rest.end());
}

/// `address` gives where shared memory begins, as an i64, in the entry block.
template <typename Address>
void move(Function& function, Address&& address_of) {
  if (accesses(function, Space::shared)) {
    const auto base = static_cast<std::uint32_t>(function.vars.size());
    function.vars.push_back({Type::i64, "shared"});
    CfgRewriter rewriter(function);
    rewriter.run([&](Value value) {
      if (is_access_to(Space::shared, function.insts[value])) {
        Builder& b = rewriter.builder();
        const Value offset = b.inst(Op::zext, Type::i64, {function.arg(value, 0)});
        const Value address = b.op2(Op::add, b.get(base), offset);
        function.args(value)[0] = address;
        function.insts[value].mem.space = Space::global;
      }
      rewriter.keep(value);
    });
    at_start(function, [&](Builder& b) { b.set(base, address_of(b)); });
  }
  function.shared_bytes = 0;
  function.uses_dynamic_shared = false;
  function.shared_discard = 0xffffffffu;
}

/// What one invocation of each warp has between two of its words.
constexpr std::uint32_t kLanes = 32, kLanesLog2 = 5;

/// Where the invocation's own memory of `bytes` begins.
Value own_memory(Builder& b, std::uint32_t bytes) {
  const auto size = [&](unsigned axis) {
    return b.builtin(of_axis(Builtin::workgroup_size_x, axis));
  };
  const Value group = number_of(
      b, [&](unsigned axis) { return b.builtin(of_axis(Builtin::workgroup_id_x, axis)); });
  const Value threads = b.op2(Op::mul, size(0), b.op2(Op::mul, size(1), size(2)));
  const Value lanes =
      b.op2(Op::and_, b.op2(Op::add, threads, b.i32(kLanes - 1)), b.i32(~(kLanes - 1)));
  const auto wide = [&](Value v) { return b.inst(Op::zext, Type::i64, {v}); };
  const Value behind = b.op2(Op::mul, wide(b.op2(Op::add, group, b.i32(1))),
                             wide(b.op2(Op::mul, lanes, b.i32(bytes))));
  const Value index = b.builtin(Builtin::local_index);
  const Value warp = b.op2(Op::mul, b.inst(Op::lshr, Type::i32, {index, b.i32(kLanesLog2)}),
                           b.i32(bytes * kLanes));
  const Value lane =
      b.inst(Op::shl, Type::i32, {b.op2(Op::and_, index, b.i32(kLanes - 1)), b.i32(2)});
  return b.op2(Op::add, b.op2(Op::sub, push(b, abi::Push::shared_slab, Type::i64), behind),
               wide(b.op2(Op::add, warp, lane)));
}

/// Accesses to local memory, as accesses to the invocation's part of a buffer.
class LocalAccesses {
 public:
  LocalAccesses(Builder& builder, Value base, const Features& features)
      : b_(builder), f_(builder.function()), base_(base), features_(features) {}

  /// What stands for the access: itself, another value, or 0 where that has none.
  Value move(Value v) {
    const Inst inst = f_.insts[v];
    const Value offset = f_.arg(v, 0);
    if (inst.mem.bytes > 4) return inst.op == Op::load ? load(inst, offset) : store(v, offset);
    const bool stored8 = inst.mem.bytes == 1 ? features_.storage8 : features_.storage16;
    if (inst.op == Op::store && inst.mem.bytes < 4 && !stored8) return insert(v, offset);
    f_.args(v)[0] = inst.mem.bytes == 4 ? address(offset) : byte_address(offset);
    f_.insts[v].mem.space = Space::global;
    return v;
  }

 private:
  Value at(Value scaled) { return b_.op2(Op::add, base_, b_.inst(Op::zext, Type::i64, {scaled})); }
  Value scaled(Value offset) { return b_.inst(Op::shl, Type::i32, {offset, b_.i32(kLanesLog2)}); }
  /// Of a word.
  Value address(Value offset, unsigned word = 0) {
    const Value first = at(scaled(offset));
    return word ? b_.op2(Op::add, first, b_.i64(std::uint64_t{word} * 4 * kLanes)) : first;
  }
  Value word_of(Value offset) { return b_.op2(Op::and_, offset, b_.i32(~3u)); }
  Value byte_in_word(Value offset) { return b_.op2(Op::and_, offset, b_.i32(3)); }
  Value byte_address(Value offset) {
    return at(b_.op2(Op::or_, scaled(word_of(offset)), byte_in_word(offset)));
  }
  static MemAttr word(const Inst& inst) {
    return {.space = Space::global, .bytes = 4, .is_volatile = inst.mem.is_volatile};
  }

  Value load(const Inst& inst, Value offset) {
    std::vector<Value> words;
    for (unsigned i = 0; i < inst.mem.bytes / 4u; ++i)
      words.push_back(b_.load(Type::i32, address(offset, i), word(inst)));
    return b_.inst(inst.type == Type::i64 ? Op::pack : Op::compose, inst.type, words);
  }

  Value store(Value v, Value offset) {
    const Inst inst = f_.insts[v];
    const Value data = f_.arg(v, 1);
    const bool pair = f_.insts[data].type == Type::i64;
    for (unsigned i = 0; i < inst.mem.bytes / 4u; ++i) {
      const Value part = pair ? b_.inst(i ? Op::high : Op::trunc, Type::i32, {data})
                              : b_.inst(Op::extract, Type::i32, {data}, i);
      b_.store(address(offset, i), part, word(inst));
    }
    return 0;
  }

  /// A part of a word that nobody else writes to.
  Value insert(Value v, Value offset) {
    const Inst inst = f_.insts[v];
    const Value data = f_.arg(v, 1), to = at(scaled(word_of(offset)));
    const Value bit = b_.inst(Op::shl, Type::i32, {byte_in_word(offset), b_.i32(3)});
    const Value before = b_.load(Type::i32, to, word(inst));
    b_.store(to, b_.inst(Op::bfi, Type::i32, {before, data, bit, b_.i32(inst.mem.bytes * 8u)}),
             word(inst));
    return 0;
  }

  Builder& b_;
  Function& f_;
  Value base_;
  const Features& features_;
};

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
  return number_of(b, [&](unsigned axis) {
    return b.op2(Op::sub, b.builtin(of_axis(Builtin::workgroup_id_x, axis)),
                 push(b, abi::Push::base_x + axis));
  });
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

std::uint32_t move_local_memory(Function& function, const Features& features) {
  const std::uint32_t bytes = (std::exchange(function.local_bytes, 0) + 15) & ~15u;
  if (!accesses(function, Space::local)) return 0;
  Value base = 0;
  at_start(function, [&](Builder& b) { base = own_memory(b, bytes); });
  SsaRewriter rewrite(function);
  LocalAccesses local(rewrite.builder(), base, features);
  rewrite.run(
      [&](Value v) { return is_access_to(Space::local, function.insts[v]) ? local.move(v) : v; });
  return bytes;
}

}  // namespace ptx2spv::passes
