#include "translator/passes/surface/surface_record.hpp"

#include <algorithm>

namespace ptx2spv::passes {

HandleTracer::HandleTracer(const Function& function)
    : f_(function),
      sets_(function.vars.size()),
      handles_(function.vars.size()),
      words_(function.vars.size()) {
  for (const Block& block : function.blocks)
    for (const Value value : block.insts) {
      const Inst& inst = function.insts[value];
      if (inst.op == Op::set_var) sets_[inst.imm].push_back(function.arg(value, 0));
    }
}

namespace {
/// A parameter's address as lowering writes it, before anything is folded.
std::optional<std::uint32_t> known_offset(const Function& f, Value address) {
  const Inst& inst = f.insts[address];
  if (inst.op == Op::constant) return static_cast<std::uint32_t>(inst.imm);
  if (inst.op == Op::trunc) return known_offset(f, f.arg(address, 0));
  if (inst.op != Op::add) return std::nullopt;
  const auto a = known_offset(f, f.arg(address, 0)), b = known_offset(f, f.arg(address, 1));
  if (!a || !b) return std::nullopt;
  return *a + *b;
}
}  // namespace

// One that is copied in a circle counts as unknown: what it may be is not known where that is
// asked.
HandleTracer::Source HandleTracer::trace_variable(std::uint32_t variable, bool word,
                                                  int depth) const {
  using enum Source::State;
  std::vector<Source>& memory = word ? words_ : handles_;
  if (memory[variable].state != fresh) return memory[variable];
  memory[variable].state = unknown;
  Source found;
  for (const Value value : sets_[variable]) {
    const Source one = trace(value, word, depth);
    if (one.state != known || (found.state == known && found.offset != one.offset))
      return memory[variable];
    found = one;
  }
  if (found.state == known) memory[variable] = found;
  return memory[variable];
}

/// Where the handle, or the word of one, that `value` is comes from.
HandleTracer::Source HandleTracer::trace(Value value, bool word, int depth) const {
  using enum Source::State;
  constexpr int kMostCopies = 200;
  const Inst& inst = f_.insts[value];
  const auto at = [](std::optional<std::uint32_t> offset) {
    return offset ? Source{known, *offset} : Source{unknown, 0};
  };
  if (depth > kMostCopies) return {unknown, 0};
  if (inst.op == Op::get_var)
    return trace_variable(static_cast<std::uint32_t>(inst.imm), word, depth + 1);
  if (inst.op == Op::load && inst.mem.space == Space::param) {
    const bool whole = word ? inst.mem.bytes == 4 : inst.type == Type::i64;
    return whole ? at(known_offset(f_, f_.arg(value, 0))) : Source{unknown, 0};
  }
  if (word) {
    if (inst.op != Op::trunc && inst.op != Op::high) return {unknown, 0};
    Source whole = trace(f_.arg(value, 0), false, depth + 1);
    if (inst.op == Op::high) whole.offset += 4;
    return whole;
  }
  // Two words of one parameter, as word-wise parameters of a function give it.
  if (inst.op != Op::pack) return {unknown, 0};
  const Source low = trace(f_.arg(value, 0), true, depth + 1),
               high = trace(f_.arg(value, 1), true, depth + 1);
  const bool both = low.state == known && high.state == known && high.offset == low.offset + 4;
  return both ? low : Source{unknown, 0};
}

std::optional<std::uint32_t> HandleTracer::parameter_offset(Value handle) const {
  const Source found = trace(handle, false, 0);
  return found.state == Source::State::known ? std::optional(found.offset) : std::nullopt;
}

namespace {
Value load_word(Builder& b, Value address, Space space) {
  return b.load(Type::i32, address, {.space = space, .bytes = 4, .readonly = true});
}

/// What docs/reference/abi.md promises of a record's words.
void note_bits(MemAttr& mem, abi::SurfaceWord which) {
  if (which == abi::s_row_pitch || which == abi::s_slice_pitch_lo || which == abi::s_layer_pitch_lo)
    mem.low_zeros = 4;
  if (which == abi::s_row_bytes || which == abi::s_rows || which == abi::s_slices ||
      (which >= abi::s_row_bytes_1d && which <= abi::s_row_bytes_3d))
    mem.high_zeros = 1;
}
}  // namespace

SlotSpec bound_slot(const TranslateOptions& options, std::uint32_t slot) {
  SlotSpec spec;
  if (slot < options.slots.size()) spec = options.slots[slot];
  // An image is never seen in another format than its own.
  if (spec.backing == Backing::image) spec.format_known = true;
  if (spec.backing == Backing::buffer && slot >= options.profile.max_slots)
    spec.backing = Backing::address;
  return spec;
}

SurfaceRecord::SurfaceRecord(Shared& shared, std::uint32_t offset, std::uint32_t slot,
                             std::uint32_t records, bool texels64)
    : shared_(shared),
      static_(true),
      texels64_(texels64),
      slot_(slot),
      copy_(records + slot * abi::kSurfaceWords * 4) {
  spec_ = bound_slot(shared.options, slot);
  Builder& b = shared.prologue;
  handle_lo_ = load_word(b, b.i32(offset), Space::param);
  if (!shared.options.assume_live_handles)
    check_generation(load_word(b, b.i32(offset + 4), Space::param));
}

SurfaceRecord::SurfaceRecord(Shared& shared, Value handle, std::optional<Geometry> accessed)
    : shared_(shared), static_(false), accessed_(accessed) {
  spec_.backing = Backing::address;
  Builder& b = shared.body;
  look_up(b.inst(Op::trunc, Type::i32, {handle}), b.inst(Op::high, Type::i32, {handle}));
}

void SurfaceRecord::look_up(Value lo, Value hi) {
  Builder& b = builder();
  handle_lo_ = lo;
  handle_hi_ = hi;
  // Record 0 is never a surface, so an index of 0 or past the table falls to it and finds no
  // generation.
  const Value count = load_word(b, b.i32(abi::Push::surface_count * 4), Space::push);
  const Value in_table = b.cmp(Op::ult, lo, count);
  base_ = b.op2(Op::mul, b.select(in_table, lo, b.i32(0)), b.i32(abi::kSurfaceWords * 4));
  if (accessed_) {
    load_together(abi::s_base_lo, 4);
    const bool layered = is_layered(*accessed_), volume = *accessed_ == Geometry::d3;
    if (*accessed_ == Geometry::d2)
      load_together(abi::s_row_bytes_2d, 2);
    else if (volume || *accessed_ == Geometry::a2d)
      load_together(abi::s_row_bytes_2d, 4);
    if (wide() && (volume || layered))
      load_together(layered ? abi::s_layer_pitch_lo : abi::s_slice_pitch_lo, 2);
  }
  check_generation(hi);
}

void SurfaceRecord::load_together(abi::SurfaceWord first, unsigned words) {
  Builder& b = builder();
  MemAttr mem{
      .space = Space::table, .bytes = static_cast<std::uint8_t>(words * 4), .readonly = true};
  mem.high_zeros = 32;
  for (unsigned i = 0; i < words; ++i) {
    MemAttr one;
    note_bits(one, static_cast<abi::SurfaceWord>(first + i));
    mem.high_zeros = std::min(mem.high_zeros, one.high_zeros);
  }
  const Value all =
      b.load(words == 4 ? Type::v4 : Type::v2, b.op2(Op::add, base_, b.i32(first * 4u)), mem);
  for (unsigned i = 0; i < words; ++i)
    cached(first + i, [&](Builder& to) { return to.inst(Op::extract, Type::i32, {all}, i); });
}

void SurfaceRecord::note_fault(Builder& b, const TrapState& trap, Value fault, Value kind,
                               std::span<const Value> coordinates, bool returns) const {
  const BlockId arm = returns ? b.new_block() : kNoBlock, rest = returns ? b.new_block() : kNoBlock;
  if (returns) {
    b.cond_br(fault, arm, rest);
    b.at(arm);
  }
  const Value code = b.get(trap.code), first = b.cmp(Op::eq, code, b.i32(0));
  const Value take = returns ? first : b.op2(Op::and_, fault, first);
  const auto note = [&](std::uint32_t var, Value word) {
    b.set(var, b.select(take, word, b.get(var)));
  };
  const std::uint32_t vars[3] = {trap.x, trap.y, trap.z};
  for (std::size_t i = 0; i < coordinates.size() && i < 3; ++i) note(vars[i], coordinates[i]);
  note(trap.handle, handle_lo_);
  if (handle_hi_) note(trap.handle_hi, handle_hi_);
  b.set(trap.code, b.select(take, kind, code));
  if (!returns) return;
  b.inst(Op::thread_trap, Type::none, {}, 0);
  shared_.function.blocks[b.block()].term = Term::unreachable;
  b.at(rest);
}

void SurfaceRecord::check_generation(Value hi) {
  Builder& b = builder();
  const Value same = b.cmp(Op::eq, word(abi::s_generation), hi);
  const Value live = b.op2(Op::and_, same, b.cmp(Op::ne, hi, b.i32(0)));
  dead_ = b.inst(Op::xor_, Type::i1, {live, b.i1(true)});
}

Value SurfaceRecord::word(abi::SurfaceWord which) {
  return cached(static_cast<std::uint32_t>(which), [&](Builder& b) {
    const std::uint32_t at = static_cast<std::uint32_t>(which) * 4;
    const Value loaded = static_ ? load_word(b, b.i32(copy_ + at), Space::param)
                                 : load_word(b, b.op2(Op::add, base_, b.i32(at)), Space::table);
    note_bits(b.last(loaded).mem, which);
    return loaded;
  });
}

Value SurfaceRecord::row_bytes(Geometry geometry) {
  if (checked()) return word(abi::s_row_bytes);
  switch (geometry) {
    case Geometry::d1:
    case Geometry::a1d: return word(abi::s_row_bytes_1d);
    case Geometry::d2:
    case Geometry::a2d: return word(abi::s_row_bytes_2d);
    case Geometry::d3: break;
  }
  return word(abi::s_row_bytes_3d);
}

Value SurfaceRecord::slice_pitch(Geometry geometry, bool high) {
  if (is_layered(geometry) && !checked())
    return word(high ? abi::s_layer_pitch_hi : abi::s_layer_pitch_lo);
  return word(high ? abi::s_slice_pitch_hi : abi::s_slice_pitch_lo);
}

}  // namespace ptx2spv::passes
