// Operands that a driver may know to be zero. Where lavapipe (Mesa 22.3) knows the zero, it gives 0
// for x * 0 and 0 / x whatever x is, an undefined value for x / 0, and x for x + 0. It knows zeros
// as constants, as the number of a thread in a dimension of size 1, and as the counter of a loop
// that it unrolls. Such operands are merged with a word that is always 0, which the driver cannot
// know.
#include <algorithm>

#include "translator/passes/passes.hpp"
#include "translator/passes/workarounds/opaque_zero.hpp"

namespace ptx2spv::passes {

namespace {

/// Values that a compiler can fold: they depend on nothing but constants, thread numbers and loop
/// counters of such ends.
class FoldableValues {
 public:
  explicit FoldableValues(const Function& f)
      : f_(f), values_(f.insts.size()), place_(f.blocks.size()), selection_(f.blocks.size()) {
    for (std::uint32_t i = 0; i < f.order.size(); ++i) place_[f.order[i]] = i;
    std::fill(selection_.begin(), selection_.end(), kNoBlock);
    for (const BlockId b : f.order)
      if (f.blocks[b].merge == Merge::selection) selection_[f.blocks[b].merge_block] = b;
    // A loop is unrolled when its end is known in advance: by values that are known in every
    // iteration, not in the first alone. What is known of one iteration counts in such loops only.
    unrolled_.assign(f.blocks.size(), true);
    every_iteration_ = true;
    std::fill(values_.begin(), values_.end(), true);
    settle();
    find_unrolled();
    every_iteration_ = false;
    std::fill(values_.begin(), values_.end(), false);
    settle();
  }
  bool operator()(Value v) const { return values_[v]; }

 private:
  void settle() {
    for (bool again = true; again;) {
      again = false;
      for (const BlockId b : f_.order)
        for (const Value v : f_.blocks[b].insts)
          if (values_[v] == every_iteration_ && foldable(b, v) != every_iteration_) {
            values_[v] = !every_iteration_;
            again = true;
          }
    }
  }

  bool any(Value v) const {
    const auto args = f_.args(v);
    return std::any_of(args.begin(), args.end(), [&](Value a) { return values_[a]; });
  }
  bool all(Value v) const {
    const auto args = f_.args(v);
    return std::all_of(args.begin(), args.end(), [&](Value a) { return values_[a]; });
  }
  bool counted(Value v) const { return values_[v] && f_.insts[v].op != Op::constant; }

  bool foldable(BlockId b, Value v) const {
    const Inst& inst = f_.insts[v];
    switch (inst.op) {
      case Op::constant:
      case Op::undef: return true;
      case Op::builtin:
        return inst.builtin == Builtin::local_id_x || inst.builtin == Builtin::local_id_y ||
               inst.builtin == Builtin::local_id_z || inst.builtin == Builtin::local_index;
      case Op::load: return inst.mem.space == Space::local;
      case Op::phi: {
        if (f_.blocks[b].merge == Merge::loop)
          return every_iteration_ ? all(v) : unrolled_[b] && any(v);
        const BlockId head = selection_[b];
        if (head != kNoBlock && f_.blocks[b].preds.size() == 2 && f_.blocks[head].cond)
          return values_[f_.blocks[head].cond] ? any(v) : all(v);
        return any(v);
      }
      case Op::select:
        return values_[f_.arg(v, 0)] && (values_[f_.arg(v, 1)] || values_[f_.arg(v, 2)]);
      case Op::and_:
      case Op::or_:
      case Op::mul: return all(v) || counted(f_.arg(v, 0)) || counted(f_.arg(v, 1));
      default: return (info(inst.op).flags & flag::P) && inst.count && all(v);
    }
  }

  // A loop that may end where nothing but what is known is asked. The order keeps a loop together.
  void find_unrolled() {
    for (const BlockId header : f_.order) {
      if (f_.blocks[header].merge != Merge::loop) continue;
      const std::uint32_t end = place_[f_.blocks[header].merge_block];
      bool known = false;
      for (std::uint32_t i = place_[header]; i < end && !known; ++i) {
        const Value cond = f_.blocks[f_.order[i]].cond;
        known = cond && values_[cond];
      }
      unrolled_[header] = known;
    }
  }

  const Function& f_;
  std::vector<bool> values_, unrolled_;
  bool every_iteration_ = false;  ///< looking for values that are known in every iteration
  std::vector<std::uint32_t> place_;
  std::vector<BlockId> selection_;  ///< by merge block: the header
};

bool is_arithmetic(const Inst& inst, const Module& module) {
  if (inst.op != Op::library)
    return is_within(inst.op, Op::native_fadd, Op::native_ffma) ||
           is_within(inst.op, Op::native_hadd2, Op::native_hfma2);
  const std::string_view name = module.library_names[inst.imm];
  return name.starts_with("f32_") || name.starts_with("f64_") || name.starts_with("f16_");
}

}  // namespace

bool opaque_zero_operands(Function& f, const Module& module) {
  const auto arithmetic = [&](Value v) { return is_arithmetic(f.insts[v], module); };
  const bool none = std::none_of(f.order.begin(), f.order.end(), [&](BlockId b) {
    return std::any_of(f.blocks[b].insts.begin(), f.blocks[b].insts.end(), arithmetic);
  });
  if (none) return false;
  const FoldableValues foldable(f);
  const auto may_be_zero = [&](Value a) {
    const Inst& inst = f.insts[a];
    if (inst.type != Type::i32 && inst.type != Type::i64) return false;
    if (inst.op != Op::constant) return foldable(a);
    return (inst.type == Type::i32 ? inst.imm << 33 : inst.imm << 1) == 0;
  };
  return make_operands_opaque(f, 0, arithmetic, may_be_zero);
}

}  // namespace ptx2spv::passes
