// Unsigned intervals of values. They are facts of a value, whatever the branches around it.
#include "translator/passes/analysis/ranges.hpp"

#include <algorithm>
#include <array>

#include "ptx2spv/abi.hpp"
#include "translator/ir/evaluate.hpp"

namespace ptx2spv::passes {

namespace {

std::uint64_t most(Type type) {
  return type == Type::i1 ? 1 : type == Type::i32 ? 0xffffffffu : ~0ull;
}

Range of_ranges(const Inst& inst, Type from, const std::array<Range, 4>& in, const Range& any) {
  const Range &a = in[0], &b = in[1];
  const auto truth = [&](bool yes, bool no) { return yes ? Range{1, 1} : no ? Range{0, 0} : any; };
  const std::uint64_t positive = most(from) >> 1;
  switch (inst.op) {
    case Op::add:
      // A sum that wraps around may be anything.
      return a.high <= any.high - b.high ? Range{a.low + b.low, a.high + b.high} : any;
    case Op::sub: return a.low >= b.high ? Range{a.low - b.high, a.high - b.low} : any;
    case Op::mul:
      return a.high == 0 || b.high <= any.high / a.high ? Range{a.low * b.low, a.high * b.high}
                                                        : any;
    case Op::and_:
      if (b.single() && (b.low & (b.low + 1)) == 0 && a.high <= b.low) return a;
      return {0, std::min(a.high, b.high)};
    case Op::shl:
      return b.single() && b.low < 32 && a.high <= any.high >> b.low
                 ? Range{a.low << b.low, a.high << b.low}
                 : any;
    case Op::lshr: return b.single() && b.low < 32 ? Range{a.low >> b.low, a.high >> b.low} : any;
    case Op::smin:
    case Op::smax:
      if (a.high > positive || b.high > positive) return any;
      if (inst.op == Op::smin) return {std::min(a.low, b.low), std::min(a.high, b.high)};
      return {std::max(a.low, b.low), std::max(a.high, b.high)};
    case Op::umin: return {std::min(a.low, b.low), std::min(a.high, b.high)};
    case Op::umax: return {std::max(a.low, b.low), std::max(a.high, b.high)};
    case Op::zext: return a;
    case Op::select: return {std::min(b.low, in[2].low), std::max(b.high, in[2].high)};
    case Op::ult: return truth(a.below(b), b.high <= a.low);
    case Op::ule: return truth(a.high <= b.low, b.below(a));
    case Op::slt:
      if (a.high <= positive && b.low > positive) return {0, 0};
      if (b.high <= positive && a.low > positive) return {1, 1};
      if (a.high > positive || b.high > positive) return any;
      return truth(a.below(b), b.high <= a.low);
    case Op::sle:
      if (a.high <= positive && b.low > positive) return {0, 0};
      if (b.high <= positive && a.low > positive) return {1, 1};
      if (a.high > positive || b.high > positive) return any;
      return truth(a.high <= b.low, b.below(a));
    case Op::eq: return truth(false, a.below(b) || b.below(a));
    case Op::ne: return truth(a.below(b) || b.below(a), false);
    default: return any;
  }
}

}  // namespace

void RangeTable::put(Value v, const Range& range) {
  if (2 * (ranges_.size() + 1) > slots_.size()) {
    std::vector<Slot> old(std::max<std::size_t>(slots_.size() * 2, 16));
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.number) slots_[place(slot.value)] = slot;
  }
  Slot& slot = slots_[place(v)];
  if (slot.number) {
    ranges_[slot.number - 1] = range;
    return;
  }
  ranges_.push_back(range);
  slot = {v, static_cast<std::uint32_t>(ranges_.size())};
}

std::optional<std::uint64_t> Ranges::constant(Value v) {
  const Range r = range(v, 0);
  return r.low == r.high ? std::optional(r.low) : std::nullopt;
}

Range Ranges::range(Value v, unsigned depth) {
  const Inst& inst = f_.insts[v];
  if (inst.op == Op::constant) return {inst.imm, inst.imm};
  const Range any{0, most(inst.type)};
  constexpr unsigned kDeepest = 24;
  if (depth == kDeepest) return any;
  if (const Range* found = ranges_.find(v)) return *found;
  if (inst.type == Type::none || inst.type == Type::v2 || inst.type == Type::v4) return any;
  const Range made = compute(inst, v, depth + 1, any);
  ranges_.put(v, made);
  return made;
}

Range Ranges::compute(const Inst& inst, Value v, unsigned depth, const Range& any) {
  if (inst.op == Op::builtin) {
    const auto threads = [&](Builtin which, Builtin x) {
      return f_.block_size[static_cast<unsigned>(which) - static_cast<unsigned>(x)];
    };
    switch (inst.builtin) {
      case Builtin::local_id_x:
      case Builtin::local_id_y:
      case Builtin::local_id_z:
        if (const std::uint32_t size = threads(inst.builtin, Builtin::local_id_x))
          return {0, size - 1};
        return {0, 1023};
      case Builtin::workgroup_size_x:
      case Builtin::workgroup_size_y:
      case Builtin::workgroup_size_z:
        if (const std::uint32_t size = threads(inst.builtin, Builtin::workgroup_size_x))
          return {size, size};
        return any;
      case Builtin::local_index: {
        const std::uint32_t all = f_.block_size[0] * f_.block_size[1] * f_.block_size[2];
        return {0, all ? all - 1 : 1023};  // CUDA's blocks end there
      }
      case Builtin::global_id_x:
      case Builtin::global_id_y:
      case Builtin::global_id_z: return {0, abi::kSmallGrid - 1};
      default: return any;
    }
  }
  if (inst.op == Op::phi && inst.count != 0) {
    // A value that goes round a loop finds itself unknown here.
    ranges_.put(v, any);
    Range all{any.high, 0};
    for (unsigned i = 0; i < inst.count; ++i) {
      const Range one = range(f_.arg(v, i), depth);
      all = {std::min(all.low, one.low), std::max(all.high, one.high)};
    }
    return all;
  }
  if (!(info(inst.op).flags & flag::P) || inst.op == Op::phi || inst.count == 0 || inst.count > 4)
    return any;
  std::array<Range, 4> in;
  std::array<Bits, 4> bits{};
  bool single = true;
  for (unsigned i = 0; i < inst.count; ++i) {
    in[i] = range(f_.arg(v, i), depth);
    bits[i] = Bits::of(in[i].low);
    single = single && in[i].single();
  }
  const Type from = inst.op == Op::select ? inst.type : f_.insts[f_.arg(v, 0)].type;
  if (single) {
    const auto value = evaluate(inst, from, {bits.data(), inst.count});
    return value ? Range{value->u64(), value->u64()} : any;
  }
  return of_ranges(inst, from, in, any);
}

}  // namespace ptx2spv::passes
