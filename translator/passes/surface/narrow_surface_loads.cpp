// ptxas narrows a surface load to the registers in use: to the first 32-bit register, the first two
// or all four, and to whole elements of 64 bits. The hardware then clamps, checks bounds and wants
// alignment by that size. A load without uses is removed.
#include <algorithm>
#include <bit>
#include <vector>

#include "translator/passes/cfg/demote_to_stack.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/rewrite.hpp"

namespace ptx2spv::passes {

namespace {

bool is_load(const Function& f, Value v) { return f.insts[v].op == Op::surf_load; }

/// Whether it may be removed if nothing uses its result.
bool is_removable(const Inst& inst) {
  if (inst.op == Op::load) return !inst.mem.is_volatile;
  return info(inst.op).flags & flag::P || inst.op == Op::surf_load || inst.op == Op::surf_query ||
         is_within(inst.op, Op::warp_shfl, Op::warp_active);
}

/// Of a function in SSA form, the words of each value that anything depends on, a bit each.
class UsedWords {
 public:
  explicit UsedWords(const Function& f) : f_(f), used_(f.insts.size(), 0) {
    for (const BlockId b : f.order) {
      if (f.blocks[b].cond) use(f.blocks[b].cond, kAll);
      for (const Value v : f.blocks[b].insts)
        if (!is_removable(f.insts[v])) use_operands(v);
    }
    while (!work_.empty()) {
      const Value v = work_.back();
      work_.pop_back();
      follow(v);
    }
  }
  unsigned of(Value v) const { return used_[v]; }

 private:
  static constexpr std::uint8_t kAll = 15;

  void use(Value v, std::uint8_t words) {
    if ((used_[v] | words) == used_[v]) return;
    used_[v] |= words;
    work_.push_back(v);
  }
  void use_operands(Value v, std::uint8_t words = kAll) {
    for (const Value operand : f_.args(v)) use(operand, words);
  }
  void follow(Value v) {
    const Inst& inst = f_.insts[v];
    const std::uint8_t words = used_[v];
    switch (inst.op) {
      case Op::pack:
      case Op::compose:
        for (unsigned i = 0; i < inst.count; ++i)
          if (words >> i & 1) use(f_.arg(v, i), kAll);
        return;
      case Op::extract: return use(f_.arg(v, 0), static_cast<std::uint8_t>(1u << inst.imm));
      case Op::trunc: return use(f_.arg(v, 0), 1);
      case Op::high: return use(f_.arg(v, 0), 2);
      case Op::and_: return use_operands(v, words & nonzero_words(v));
      case Op::shl:
        if (shift(v) < 32) break;
        return words & 2 ? use(f_.arg(v, 0), 1) : void();
      case Op::lshr:
        if (shift(v) < 32) break;
        return use(f_.arg(v, 0), 2);
      case Op::phi:
      case Op::or_:
      case Op::xor_:
      case Op::not_: return use_operands(v, words);
      case Op::select:
        use(f_.arg(v, 0), kAll);
        use(f_.arg(v, 1), words);
        return use(f_.arg(v, 2), words);
      // Carries go up.
      case Op::add:
      case Op::sub:
      case Op::mul:
      case Op::neg: return use_operands(v, words == 1 ? 1 : kAll);
      default: break;
    }
    use_operands(v);
  }
  /// Of an and_: the words that a constant operand does not clear.
  std::uint8_t nonzero_words(Value v) const {
    std::uint8_t words = kAll;
    for (const Value operand : f_.args(v)) {
      const Inst& mask = f_.insts[operand];
      if (mask.op == Op::constant)
        words &=
            static_cast<std::uint8_t>((mask.imm & 0xffffffffu ? 1 : 0) | (mask.imm >> 32 ? 2 : 0));
    }
    return words;
  }
  std::uint64_t shift(Value v) const {
    const Inst& amount = f_.insts[f_.arg(v, 1)];
    return amount.op == Op::constant ? amount.imm : 0;
  }

  const Function& f_;
  std::vector<std::uint8_t> used_;
  std::vector<Value> work_;
};

/// By load, the words that are used. They show once registers are values and constants are folded.
std::vector<unsigned> used_words(const Function& function, Module& module) {
  Function copy = function;
  for (const Block& block : copy.blocks)
    for (const Value v : block.insts)
      if (is_load(copy, v)) copy.insts[v].imm = v;  // its number will be another
  demote_to_stack(copy);
  structurize(copy, module);
  ssa(copy, module);
  simplify(copy, module);
  const UsedWords used(copy);
  std::vector<unsigned> words(function.insts.size(), 0);
  for (const BlockId b : copy.order)
    for (const Value v : copy.blocks[b].insts)
      if (is_load(copy, v)) words[copy.insts[v].imm] |= used.of(v);
  return words;
}

/// Bytes of the access that hold the used words.
std::uint8_t bytes_of(const SurfaceOp& op, unsigned used) {
  const unsigned words = std::bit_ceil(static_cast<unsigned>(std::bit_width(used)));
  return static_cast<std::uint8_t>(
      std::clamp<unsigned>(4 * words, std::min(op.element_bytes, op.bytes), op.bytes));
}

}  // namespace

void narrow_surface_loads(Function& function, Module& module) {
  const auto may_go = [&](Value v) { return is_load(function, v); };
  if (std::ranges::none_of(function.blocks, [&](const Block& block) {
        return std::ranges::any_of(block.insts, may_go);
      }))
    return;
  const std::vector<unsigned> used = used_words(function, module);
  CfgRewriter rewriter(function);
  rewriter.run([&](Value value) {
    if (!is_load(function, value)) return rewriter.keep(value);
    const Inst inst = function.insts[value];
    const SurfaceOp op = function.surface_ops[inst.imm];
    Builder& b = rewriter.builder();
    if (!used[value]) return rewriter.replace(value, Op::undef, inst.type, {});
    SurfaceOp narrow = op;
    narrow.bytes = bytes_of(op, used[value]);
    narrow.unread_bytes = static_cast<std::uint8_t>(op.bytes - narrow.bytes);
    if (!narrow.unread_bytes) return rewriter.keep(value);
    function.surface_ops.push_back(narrow);
    const std::vector<Value> args(function.args(value).begin(), function.args(value).end());
    const Value loaded = b.inst(Op::surf_load, narrow.bytes == 8 ? Type::i64 : Type::i32, args,
                                function.surface_ops.size() - 1);
    const Value rest = b.i32(0);
    Value first = loaded, second = rest;
    if (narrow.bytes == 8) {
      first = b.inst(Op::trunc, Type::i32, {loaded});
      second = b.inst(Op::high, Type::i32, {loaded});
    }
    if (inst.type == Type::i64) return rewriter.replace(value, Op::pack, Type::i64, {first, rest});
    rewriter.replace(value, Op::compose, Type::v4, {first, second, rest, rest});
  });
}

}  // namespace ptx2spv::passes
