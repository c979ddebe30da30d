// Merges of bits, (a & S) | (b & ~S) or ((a ^ b) & S) ^ b with a constant S: copysign, bfi. Where a
// predicate, a branch or a loop selects between a merge and b, LLVM up to 22 on AVX-512 (lavapipe)
// makes one masked instruction of both, VPTERNLOG, and swaps its operands where S is in memory. A
// word that is always 0, which LLVM cannot know, is added so that they stay two instructions.
// Routines of the shader library hold no merges (tests/shaders/merges_test.cpp).
#include <optional>

#include "translator/ir/evaluate.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/rewrite.hpp"
#include "translator/passes/workarounds/opaque_zero.hpp"

namespace ptx2spv::passes {

namespace {

/// The integers that are the same in every run: without optimisation masks are still sums.
std::vector<std::optional<std::uint64_t>> constants(const Function& f) {
  std::vector<std::optional<std::uint64_t>> values(f.insts.size());
  for (const BlockId block : f.order)
    for (const Value v : f.blocks[block].insts) {
      const Inst& inst = f.insts[v];
      const bool integer = inst.type == Type::i32 || inst.type == Type::i64;
      if (inst.op == Op::constant) values[v] = inst.imm;
      if (!integer || inst.count == 0 || inst.count > 3 || inst.op == Op::phi) continue;
      Bits args[3];
      bool all = true;
      for (unsigned i = 0; i < inst.count && all; ++i) {
        const auto& known = values[f.arg(v, i)];
        all = known.has_value();
        if (all) args[i] = Bits::of(*known);
      }
      if (!all) continue;
      if (const auto result = evaluate(inst, f.insts[f.arg(v, 0)].type, {args, inst.count}))
        values[v] = inst.type == Type::i32 ? result->w[0] : result->u64();
    }
  return values;
}

}  // namespace

bool break_bitfield_insert_select(Function& f) {
  OpaqueZero zero(f);
  const auto known = constants(f);
  const auto constant = [&known](Value v, std::uint64_t& value) {
    value = known[v].value_or(0);
    return known[v].has_value();
  };
  // The bits that an operand of `or` may have, where a constant says so.
  const auto bits = [&](Value v, std::uint64_t& mask) {
    std::uint64_t by = 0;
    const bool shifted = f.insts[v].op == Op::shl && constant(f.arg(v, 1), by) && by < 64;
    const Value field = shifted ? f.arg(v, 0) : v;
    if (f.insts[field].op != Op::and_) return false;
    if (!constant(f.arg(field, 1), mask) && !constant(f.arg(field, 0), mask)) return false;
    mask <<= by;
    return true;
  };
  // ((p ^ q) & S) ^ q
  const auto merges_by_xor = [&](Value v, unsigned at) {
    std::uint64_t mask = 0;
    const Value field = f.arg(v, at), other = f.arg(v, 1 - at);
    if (f.insts[field].op != Op::and_) return false;
    for (unsigned side = 0; side < 2; ++side) {
      const Value both = f.arg(field, side);
      if (f.insts[both].op != Op::xor_ || !constant(f.arg(field, 1 - side), mask)) continue;
      if (f.arg(both, 0) == other || f.arg(both, 1) == other) return true;
    }
    return false;
  };
  const auto merges = [&](Value v) {
    const Inst& inst = f.insts[v];
    std::uint64_t a = 0, b = 0;
    if (inst.op == Op::bfi) return constant(f.arg(v, 2), a) && constant(f.arg(v, 3), b);
    if (inst.op == Op::xor_) return merges_by_xor(v, 0) || merges_by_xor(v, 1);
    if (inst.op != Op::or_ || !bits(f.arg(v, 0), a) || !bits(f.arg(v, 1), b)) return false;
    const std::uint64_t all = inst.type == Type::i32 ? 0xffffffff : ~std::uint64_t{0};
    return ((a ^ b) & all) == all;
  };
  std::vector<Value> found;
  for (const BlockId b : f.order)
    for (const Value v : f.blocks[b].insts)
      if (merges(v)) found.push_back(v);
  if (found.empty()) return false;
  for (const Value v : found) zero.of(f.insts[v].type);
  std::vector<bool> merge(f.insts.size());
  for (const Value v : found) merge[v] = true;
  SsaRewriter rewrite(f);
  Builder& builder = rewrite.builder();
  return rewrite.run([&](Value v) {
    if (v >= merge.size() || !merge[v]) return v;
    const Inst inst = f.insts[v];
    const std::vector<Value> args(f.args(v).begin(), f.args(v).end());
    return builder.op2(Op::add, builder.inst(inst.op, inst.type, args, inst.imm),
                       zero.of(inst.type));
  });
}

}  // namespace ptx2spv::passes
