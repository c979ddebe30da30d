// Atomics. Lanes that change the same word put their values together first where the order does not
// matter; others take turns. A block's shared memory is one thread's of the processor.
#include "translator/backend/host/emit.hpp"

namespace ptx2spv::interpreter::llvm {

using ir::AtomicOp;
using ir::Op;

namespace {

/// As LLVM's C interface numbers what processors do; below zero: they do not.
int processor_operation(AtomicOp op) {
  switch (op) {
    case AtomicOp::exch: return 0;
    case AtomicOp::add: return 1;
    case AtomicOp::and_: return 3;
    case AtomicOp::or_: return 5;
    case AtomicOp::xor_: return 6;
    case AtomicOp::smax: return 7;
    case AtomicOp::smin: return 8;
    case AtomicOp::umax: return 9;
    case AtomicOp::umin: return 10;
    default: return -1;
  }
}

/// Whether most words are soon such that the operation leaves them as they are.
bool settles(AtomicOp op) {
  return op != AtomicOp::add && op != AtomicOp::xor_ && op != AtomicOp::exch &&
         processor_operation(op) >= 0;
}

}  // namespace

struct Emitter::Atomic {
  AtomicOp op = AtomicOp::exch;
  bool swap = false, shared = false, used = false;
  LLVMTypeRef word = nullptr;  ///< i32 or i64
  LLVMValueRef addresses = nullptr, lanes = nullptr;
  LLVMValueRef in[2] = {};
};

/// What a word becomes; of words and of vectors.
LLVMValueRef Emitter::changed(const Atomic& a, LLVMValueRef old, LLVMValueRef value) {
  const auto two = [&](const char* name) {
    return b_.intrinsic(name, {b_.l.TypeOf(old)}, {old, value});
  };
  switch (a.op) {
    case AtomicOp::add: return b_.op(op_add, old, value);
    case AtomicOp::and_: return b_.op(op_and, old, value);
    case AtomicOp::or_: return b_.op(op_or, old, value);
    case AtomicOp::xor_: return b_.op(op_xor, old, value);
    case AtomicOp::umin: return two("llvm.umin");
    case AtomicOp::umax: return two("llvm.umax");
    case AtomicOp::smin: return two("llvm.smin");
    case AtomicOp::smax: return two("llvm.smax");
    case AtomicOp::fadd_f32: return sum_of_words(old, value, a.shared);
    default: return value;
  }
}

/// As sum_f32() of handlers_memory.cpp has it.
LLVMValueRef Emitter::sum_of_words(LLVMValueRef old, LLVMValueRef value, bool shared) {
  const auto flushed = [&](LLVMValueRef x) {
    if (shared) return x;
    LLVMValueRef normal = b_.icmp(int_ne, b_.op(op_and, x, b_.c32(0x7f800000u)), b_.c32(0));
    return b_.select(normal, x, b_.op(op_and, x, b_.c32(0x80000000u)));
  };
  const auto number = [&](LLVMValueRef x) { return b_.cast(op_bitcast, flushed(x), b_.f32); };
  LLVMValueRef sum = b_.op(op_fadd, number(old), number(value));
  return b_.select(b_.fcmp(real_uno, sum, sum), b_.c32(0x7fffffffu),
                   flushed(b_.cast(op_bitcast, sum, b_.i32)));
}

/// Changes one word; what it was.
LLVMValueRef Emitter::change(const Atomic& a, LLVMValueRef address, const LLVMValueRef* in) {
  const auto pointer = [&] { return b_.pointer(a.word, address); };
  const auto swap = [&](LLVMValueRef expected, LLVMValueRef next) {
    return b_.l.BuildAtomicCmpXchg(b_.b, pointer(), expected, next, kSequentiallyConsistent,
                                   kSequentiallyConsistent, 0);
  };
  if (a.shared) {
    LLVMValueRef old = b_.load_at(a.word, address);
    LLVMValueRef next =
        a.swap ? b_.select(b_.icmp(int_eq, old, in[0]), in[1], old) : changed(a, old, in[0]);
    b_.store_at(next, address);
    return old;
  }
  if (a.swap) return b_.l.BuildExtractValue(b_.b, swap(in[0], in[1]), 0, "");
  if (const int op = processor_operation(a.op); op >= 0)
    return b_.l.BuildAtomicRMW(b_.b, op, pointer(), in[0], kSequentiallyConsistent, 0);
  LLVMBasicBlockRef before = b_.l.GetInsertBlock(b_.b), again = b_.block(), done = b_.block();
  LLVMValueRef first = now(a, address);
  b_.l.BuildBr(b_.b, again);
  b_.at(again);
  LLVMValueRef old = b_.phi(a.word, {first}, {before});
  LLVMValueRef swapped = swap(old, changed(a, old, in[0]));
  LLVMValueRef found = b_.l.BuildExtractValue(b_.b, swapped, 0, "");
  b_.l.AddIncoming(old, &found, &again, 1);
  b_.l.BuildCondBr(b_.b, b_.l.BuildExtractValue(b_.b, swapped, 1, ""), done, again);
  b_.at(done);
  return old;
}

LLVMValueRef Emitter::now(const Atomic& a, LLVMValueRef address) {
  LLVMValueRef old = b_.load_at(a.word, address);
  b_.l.SetAlignment(old, a.word == b_.i64 ? 8 : 4);
  b_.l.SetVolatile(old, 1);
  return old;
}

/// Lanes, in turns. Their words go by way of memory.
LLVMValueRef Emitter::one_by_one(const Atomic& a) {
  LLVMValueRef lanes = a.lanes;
  const auto at = [&](unsigned row) { return b_.cast(op_ptrtoint, scratch_[row], b_.i64); };
  const auto of_lane = [&](unsigned row, LLVMValueRef lane, std::uint64_t bytes) {
    return b_.op(op_add, at(row), b_.op(op_mul, lane, b_.c64(bytes)));
  };
  const std::uint64_t bytes = a.word == b_.i64 ? 8 : 4;
  if (settles(a.op) && !a.used && !a.shared) {
    // Not from what was read before.
    b_.l.BuildFence(b_.b, kSequentiallyConsistent, 1, "");
    LLVMValueRef old = gather(a.addresses, lanes, a.word);
    lanes = b_.op(op_and, lanes, b_.icmp(int_ne, changed(a, old, a.in[0]), old));
  }
  b_.store_at(a.addresses, at(0));
  b_.store_at(a.in[0], at(1));
  if (a.swap) b_.store_at(a.in[1], at(2));
  LLVMBasicBlockRef each = b_.block(), done = b_.block(), before = b_.l.GetInsertBlock(b_.b);
  LLVMValueRef all = b_.bits(lanes);
  b_.l.BuildCondBr(b_.b, b_.icmp(int_ne, all, b_.c32(0)), each, done);
  b_.at(each);
  LLVMValueRef left = b_.phi(b_.i32, {all}, {before});
  LLVMValueRef lane = b_.cast(
      op_zext, b_.intrinsic("llvm.cttz", {b_.i32}, {left, b_.l.ConstInt(b_.i1, 1, 0)}), b_.i64);
  const LLVMValueRef in[] = {b_.load_at(a.word, of_lane(1, lane, bytes)),
                             a.swap ? b_.load_at(a.word, of_lane(2, lane, bytes)) : nullptr};
  LLVMValueRef old = change(a, b_.load_at(b_.i64, of_lane(0, lane, 8)), in);
  if (a.used) b_.store_at(old, of_lane(3, lane, bytes));
  LLVMValueRef rest = b_.op(op_and, left, b_.op(op_sub, left, b_.c32(1)));
  LLVMBasicBlockRef last = b_.l.GetInsertBlock(b_.b);
  b_.l.AddIncoming(left, &rest, &last, 1);
  b_.l.BuildCondBr(b_.b, b_.icmp(int_ne, rest, b_.c32(0)), each, done);
  b_.at(done);
  return a.used ? b_.load_at(b_.vector(a.word), at(3)) : nullptr;
}

/// Of lanes that change one word, of which there is one at least: each gets what it would if they
/// took turns.
LLVMValueRef Emitter::put_together(const Atomic& a, LLVMValueRef address) {
  const std::uint64_t top = 1ull << (a.word == b_.i64 ? 63 : 31);
  const std::uint64_t none = a.op == AtomicOp::and_ || a.op == AtomicOp::umin ? ~0ull
                             : a.op == AtomicOp::smin                         ? top - 1
                             : a.op == AtomicOp::smax                         ? top
                                                                              : 0;
  LLVMValueRef nothing = b_.number(a.in[0], a.word, none);
  LLVMValueRef sums = b_.select(a.lanes, a.in[0], nothing);
  // Of each lane and those before it.
  const auto before = [&](LLVMValueRef x, unsigned by) {
    std::vector<unsigned> from;
    for (unsigned i = 0; i < b_.lanes; ++i) from.push_back(i < by ? b_.lanes : i - by);
    return b_.shuffle(x, nothing, from);
  };
  for (unsigned by = 1; by < b_.lanes; by *= 2) sums = changed(a, before(sums, by), sums);
  const LLVMValueRef total[] = {b_.lane(sums, b_.c32(b_.lanes - 1))};
  if (!settles(a.op) || a.shared) {
    LLVMValueRef old = change(a, address, total);
    return a.used ? changed(a, b_.splat(old), before(sums, 1)) : nullptr;
  }
  LLVMValueRef first = now(a, address);
  LLVMBasicBlockRef here = b_.l.GetInsertBlock(b_.b), needed = b_.block(), done = b_.block();
  b_.l.BuildCondBr(b_.b, b_.icmp(int_ne, changed(a, first, total[0]), first), needed, done);
  b_.at(needed);
  LLVMValueRef found = change(a, address, total);
  LLVMBasicBlockRef there = b_.l.GetInsertBlock(b_.b);
  b_.l.BuildBr(b_.b, done);
  b_.at(done);
  LLVMValueRef old = b_.phi(a.word, {first, found}, {here, there});
  return a.used ? changed(a, b_.splat(old), before(sums, 1)) : nullptr;
}

bool Emitter::atomic(Value v) {
  const ir::Inst& inst = f_.insts[v];
  const bool swap = inst.op == Op::atomic_cas;
  const AtomicOp op = swap ? AtomicOp::exch : inst.mem.atomic;
  const bool native = processor_operation(op) >= 0;
  if (inst.mem.bytes < 4 || inst.mem.space == ir::Space::local ||
      !(native || op == AtomicOp::fadd_f32))
    return by_step(v);
  const Words words = words_of(f_.arg(v, 0), inst.mem);
  Atomic a{op,
           swap,
           inst.mem.space == ir::Space::shared,
           used_[v],
           memory_type(inst.mem.bytes),
           words.addresses,
           words.lanes};
  for (unsigned i = 1; i < inst.count; ++i) a.in[i - 1] = wide(f_.arg(v, i));
  LLVMValueRef result = nullptr;
  if (swap || !native || op == AtomicOp::exch)
    result = one_by_one(a);
  else
    result = together_or_not(a, words.one);
  if (!a.used) return true;
  // Past the end of a region lies nothing.
  if (inst.mem.space != ir::Space::global)
    result = b_.select(a.lanes, result, b_.l.ConstNull(b_.vector(a.word)));
  define(v, {.part = {result}, .parts = 1});
  return true;
}

/// `one`: the address if all lanes must have the same; else they may.
LLVMValueRef Emitter::together_or_not(const Atomic& a, LLVMValueRef one) {
  LLVMBasicBlockRef join = b_.block(), apart = b_.block(), done = b_.block();
  LLVMValueRef same = b_.any(a.lanes);
  if (!one) {
    LLVMValueRef first =
        b_.intrinsic("llvm.cttz", {b_.i32}, {b_.bits(a.lanes), b_.l.ConstInt(b_.i1, 0, 0)});
    one = b_.lane(a.addresses, b_.op(op_and, first, b_.c32(b_.lanes - 1)));
    LLVMValueRef equal = b_.icmp(int_eq, a.addresses, b_.splat(one));
    LLVMValueRef others = b_.op(op_xor, a.lanes, b_.all_ones());
    same = b_.op(op_and, same, b_.all(b_.op(op_or, equal, others)));
  }
  b_.l.BuildCondBr(b_.b, same, join, apart);
  b_.at(join);
  LLVMValueRef together = put_together(a, one);
  join = b_.l.GetInsertBlock(b_.b);
  b_.l.BuildBr(b_.b, done);
  b_.at(apart);
  LLVMValueRef each = one_by_one(a);
  apart = b_.l.GetInsertBlock(b_.b);
  b_.l.BuildBr(b_.b, done);
  b_.at(done);
  return a.used ? b_.phi(b_.vector(a.word), {together, each}, {join, apart}) : nullptr;
}

}  // namespace ptx2spv::interpreter::llvm
