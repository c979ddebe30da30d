#include "translator/passes/legalise/shared_words.hpp"

#include <algorithm>
#include <utility>

#include "translator/passes/legalise/fma_checks.hpp"

namespace ptx2spv::passes::checked {

namespace {

bool has_grid(const FloatRange& range) { return range.grid && *range.grid <= SharedWords::kGrid; }

/// The words of a vector that is put together, or the value itself.
std::span<const Value> parts(const Function& f, const Value& v) {
  return f.insts[v].op == Op::compose ? f.args(v) : std::span<const Value>(&v, 1);
}

unsigned words_in(Type type) { return type == Type::v4 ? 4 : type == Type::v2 ? 2 : 1; }

}  // namespace

SharedWords::SharedWords(Function& function, std::uint32_t most_bytes)
    : f_(function), ranges_(function) {
  if (f_.uses_dynamic_shared || f_.region_threads != 1 ||
      ((f_.shared_bytes + 3) & ~3u) + 8 > most_bytes || !find() || !are_numbers())
    loaded_.clear(), to_check_ = 0;
}

/// Finds what is loaded and what is stored. False: some of it is not whole words, or there is no
/// barrier.
bool SharedWords::find() {
  loaded_.assign(f_.insts.size(), false);
  bool barriers = false;
  for (const BlockId b : f_.order)
    for (const Value v : f_.blocks[b].insts) {
      const Inst& inst = f_.insts[v];
      ranges_.follow(v);
      barriers = barriers || inst.op == Op::control_barrier;
      const bool is_load = inst.op == Op::load;
      if (is_access(v)) {
        if ((!is_load && inst.op != Op::store) || inst.mem.bytes < 4 || inst.mem.is_volatile ||
            f_.insts[is_load ? v : f_.arg(v, 1)].type == Type::i64)
          return false;
        loaded_[v] = is_load;
      }
      loaded_[v] = loaded_[v] || (inst.op == Op::extract && loaded_[f_.arg(v, 0)]);
      if (loaded_[v] && inst.type == Type::i32 && !has_grid(ranges_.of(v)))
        ranges_.set(v, {.grid = kGrid, .top = std::nullopt});
    }
  for (const BlockId b : f_.order)
    for (const Value v : f_.blocks[b].insts) {
      if (f_.insts[v].op != Op::store || !is_access(v)) continue;
      for (const Value& word : parts(f_, f_.operands[f_.insts[v].first + 1])) {
        if (has_grid(ranges_.of(word))) continue;
        if (f_.insts[word].op == Op::constant) return false;
        to_check_ += words_in(f_.insts[word].type);
      }
    }
  return barriers;
}

/// Whether what is loaded goes into float arithmetic, or elsewhere as it is: integers are denormals
/// as floats.
bool SharedWords::are_numbers() const {
  const auto is_number = [&](Value v, unsigned i) {
    const Inst& inst = f_.insts[v];
    switch (inst.op) {
      case Op::phi:
      case Op::compose:
      case Op::extract: return true;
      case Op::select:
      case Op::store: return i != 0;
      case Op::subgroup_shuffle: return i == 0;
      case Op::and_:
      case Op::or_:
      case Op::xor_: {
        const Inst& other = f_.insts[f_.arg(v, 1 - i)];
        return other.op == Op::constant && (other.imm == 0x80000000u || other.imm == 0x7fffffffu);
      }
      default: return inst.fp.kind == NumKind::f32;
    }
  };
  for (const BlockId b : f_.order)
    for (const Value v : f_.blocks[b].insts)
      for (unsigned i = 0; i < f_.insts[v].count; ++i)
        if (has(f_.arg(v, i)) && !is_number(v, i)) return false;
  return true;
}

void SharedWords::check_stores() {
  f_.shared_bytes = ((f_.shared_bytes + 3) & ~3u) + 8;
  Builder b(f_);
  for (const BlockId block : f_.order) {
    const std::vector<Value> insts = std::exchange(f_.blocks[block].insts, {});
    b.at(block);
    if (block == f_.order[0]) {
      b.store(flag(b), b.i32(0), kWord);
      b.inst(Op::control_barrier, Type::none, {}, 1);
    }
    // Before another thread, or a load of this one, can find what was stored.
    Value fails = 0;
    const auto note = [&] {
      if (!fails) return;
      // Every thread stores, and most do where nobody looks: a branch would cost more.
      const Value spare = b.op2(Op::add, flag(b), b.i32(4));
      b.store(b.select(std::exchange(fails, 0), flag(b), spare), b.i32(1), kWord);
    };
    for (const Value v : insts) {
      const Inst inst = f_.insts[v];
      const bool stores = inst.op == Op::store && is_access(v);
      b.set_loc(inst.loc);
      if (!(info(inst.op).flags & flag::P) && inst.op != Op::store &&
          (inst.op != Op::load || is_access(v)))
        note();
      f_.blocks[block].insts.push_back(v);
      if (!stores) continue;
      const std::vector<Value> all(parts(f_, f_.operands[inst.first + 1]).begin(),
                                   parts(f_, f_.operands[inst.first + 1]).end());
      for (const Value part : all) {
        if (has_grid(ranges_.of(part))) continue;
        const unsigned count = words_in(f_.insts[part].type);
        for (unsigned i = 0; i < count; ++i) {
          const Value word = count == 1 ? part : b.inst(Op::extract, Type::i32, {part}, i);
          const Value one = is_tiny(b, word, kGrid);
          fails = fails ? b.op2(Op::or_, fails, one) : one;
        }
      }
    }
    note();
  }
}

Value SharedWords::failed(Builder& b) const {
  return b.cmp(Op::ne, b.load(Type::i32, flag(b), kWord), b.i32(0));
}

}  // namespace ptx2spv::passes::checked
