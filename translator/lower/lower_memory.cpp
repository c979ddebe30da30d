// 9.7.9 ld and st, 9.7.13 atom and red.
#include "translator/lower/function.hpp"

#include <algorithm>

#include "translator/lower/stored_floats.hpp"

namespace ptx2spv::lower {

namespace {
ir::Origin origin_of(ptx::Space space) {
  switch (space) {
    case ptx::Space::global: return ir::Origin::global;
    case ptx::Space::shared: return ir::Origin::shared;
    case ptx::Space::local: return ir::Origin::local;
    case ptx::Space::const_: return ir::Origin::constant;
    case ptx::Space::param: return ir::Origin::param;
    default: return ir::Origin::generic;
  }
}
}  // namespace

FunctionLowering::Place FunctionLowering::place(const Instruction& inst, const Operand& operand,
                                                ptx::Space space) {
  Place at;
  const ptx::Modifiers& mods = *inst.mods;
  at.access.is_volatile = mods.has(Mod::volatile_) || mods.has(Mod::relaxed) ||
                          mods.has(Mod::acquire) || mods.has(Mod::release) ||
                          mods.has(Mod::acq_rel) || mods.has(Mod::mmio) || mods.cache == Mod::cv ||
                          mods.cache == Mod::wt;
  at.access.readonly = mods.has(Mod::nc) || inst.op == Opcode::ldu;
  at.access.origin = origin_of(space);
  switch (space) {
    case ptx::Space::global: at.access.window = Window::global; break;
    case ptx::Space::shared: at.access.window = Window::shared; break;
    case ptx::Space::local: at.access.window = Window::local; break;
    case ptx::Space::const_: at.access.window = Window::constant; break;
    case ptx::Space::param: at.access.window = f_.is_entry ? Window::param : Window::local; break;
    default: at.access.window = Window::generic; break;
  }
  const std::int64_t offset = operand.offset;
  if (operand.symbol == ptx::kNoSymbol) {
    at.address = b_.i64(static_cast<std::uint64_t>(offset));
    return at;
  }
  const ptx::Symbol& symbol = m_.symbol(operand.symbol);
  if (symbol.kind == ptx::SymbolKind::reg) {
    Operand base = operand;
    base.kind = OperandKind::reg;
    Value address = read_reg(base);
    if (m_.address_size == 32 && (space == ptx::Space::none || space == ptx::Space::global)) {
      // 32-bit modules address global memory relative to the module's own variables.
      address = b_.op2(Op::add, memory_.push_address(abi::Push::globals), memory_.as64(address));
    }
    at.address = memory_.add_offset(address, offset);
    return at;
  }
  // A parameter of a .func, or of a call that is being prepared, kept in variables.
  if (const auto it = param_words_.find(operand.symbol);
      it != param_words_.end() && !addressed_.contains(operand.symbol)) {
    at.words = true;
    at.first_word = it->second;
    at.byte = static_cast<std::uint64_t>(offset);
    at.bytes = (std::max<std::uint64_t>(m_.variable(operand.symbol).size, 4) + 3) / 4 * 4;
    return at;
  }
  // A named variable: the access's own space when the instruction leaves it generic.
  if (space == ptx::Space::none) {
    switch (symbol.space) {
      case ptx::Space::global: at.access.window = Window::global; break;
      case ptx::Space::shared: at.access.window = Window::shared; break;
      case ptx::Space::local: at.access.window = Window::local; break;
      case ptx::Space::const_: at.access.window = Window::constant; break;
      default: break;
    }
  }
  Operand base = operand;
  base.kind = OperandKind::address;
  // .param variables that are addressed live in local memory, in entries too when a call prepares
  // them.
  if (symbol.space == ptx::Space::param && param_words_.contains(operand.symbol))
    at.access.window = Window::local;
  at.address = symbol_address(base);
  return at;
}

Value FunctionLowering::load_words(const Place& at, unsigned offset, unsigned bytes) {
  if (!at.words) return memory_.load(at.access, memory_.add_offset(at.address, offset), bytes);
  const std::uint64_t byte = at.byte + offset;
  if (byte + bytes > at.bytes) {
    error(current_->span, fmt::format("the access ends past the parameter's {} bytes", at.bytes));
    return bytes == 8 ? b_.i64(0) : b_.i32(0);
  }
  const auto word = [&](std::uint64_t i) {
    return b_.get(at.first_word + static_cast<std::uint32_t>(byte / 4 + i));
  };
  if (bytes == 16) return b_.inst(Op::compose, Type::v4, {word(0), word(1), word(2), word(3)});
  if (bytes == 8) return b_.inst(Op::pack, Type::i64, {word(0), word(1)});
  if (bytes == 4) return word(0);
  Value v = word(0);
  if (byte % 4) v = b_.op2(Op::lshr, v, b_.i32(static_cast<std::uint32_t>(byte % 4 * 8)));
  return b_.op2(Op::and_, v, b_.i32((1u << (8 * bytes)) - 1));
}

void FunctionLowering::store_words(const Place& at, unsigned offset, unsigned bytes, Value raw) {
  if (!at.words)
    return memory_.store(at.access, memory_.add_offset(at.address, offset), raw, bytes);
  const std::uint64_t byte = at.byte + offset;
  if (byte + bytes > at.bytes) {
    error(current_->span, fmt::format("the access ends past the parameter's {} bytes", at.bytes));
    return;
  }
  const auto var = [&](std::uint64_t i) {
    return at.first_word + static_cast<std::uint32_t>(byte / 4 + i);
  };
  if (bytes == 16) {
    for (unsigned i = 0; i < 4; ++i) b_.set(var(i), b_.inst(Op::extract, Type::i32, {raw}, i));
  } else if (bytes == 8) {
    b_.set(var(0), b_.inst(Op::trunc, Type::i32, {raw}));
    b_.set(var(1), b_.inst(Op::high, Type::i32, {raw}));
  } else if (bytes == 4) {
    b_.set(var(0), raw);
  } else {
    const auto shift = static_cast<std::uint32_t>(byte % 4 * 8);
    const std::uint32_t mask = ((1u << (8 * bytes)) - 1) << shift;
    const Value kept = b_.op2(Op::and_, b_.get(var(0)), b_.i32(~mask));
    const Value placed = b_.op2(Op::and_, b_.op2(Op::shl, raw, b_.i32(shift)), b_.i32(mask));
    b_.set(var(0), b_.op2(Op::or_, kept, placed));
  }
}

namespace {
/// An access of `total` bytes in pieces of at most 16.
struct Pieces {
  unsigned piece, count, per_piece;
  Pieces(unsigned element, unsigned elements) {
    const unsigned total = element * elements;
    piece = std::min(total, 16u);
    count = total / piece;
    per_piece = elements / count;
  }
};
}  // namespace

/// An access that releases stands behind a fence, one that acquires before one: so the manual's
/// memory model has it (8.7, release and acquire patterns), and SPIR-V's volatile accesses order
/// nothing but themselves.
void FunctionLowering::lower_access(const Instruction& inst) {
  const ptx::Modifiers& mods = *inst.mods;
  const auto fence = [&] {
    b_.inst(Op::memory_barrier, Type::none, {}, mods.has(Mod::cta) ? 0 : 1);
  };
  if (mods.has(Mod::release) || mods.has(Mod::acq_rel)) fence();
  switch (inst.op) {
    case Opcode::st: lower_store(inst); break;
    case Opcode::atom:
    case Opcode::red: lower_atomic(inst); break;
    default: lower_load(inst);
  }
  if (mods.has(Mod::acquire) || mods.has(Mod::acq_rel)) fence();
}

void FunctionLowering::lower_load(const Instruction& inst) {
  const auto a = args(inst);
  const ptx::Modifiers& mods = *inst.mods;
  const ptx::Type type = mods.type();
  const Place at = place(inst, a[1], mods.space);
  std::vector<Operand> to = elements(a[0]);
  if (type == ptx::Type::b128) {
    for (unsigned i = 0; i < to.size(); ++i) {
      const Value raw = load_words(at, 16 * i, 16);
      const auto halves = memory_.split(raw, 8, 2);
      if (to[i].kind == OperandKind::sink) continue;
      const std::uint32_t var = var_of(to[i]);
      b_.set(var, halves[0]);
      b_.set(var + 1, halves[1]);
    }
    return;
  }
  const unsigned size = ptx::bytes(type);
  const unsigned count = std::max<unsigned>(mods.vec, 1);
  const Pieces pieces(size, count);
  std::vector<Value> values;
  for (unsigned p = 0; p < pieces.count; ++p) {
    const Value raw = load_words(at, p * pieces.piece, pieces.piece);
    const auto part = memory_.split(raw, size, pieces.per_piece);
    values.insert(values.end(), part.begin(), part.end());
  }
  for (std::size_t i = 0; i < to.size() && i < values.size(); ++i) write(to[i], values[i], type);
}

void FunctionLowering::lower_store(const Instruction& inst) {
  const auto a = args(inst);
  const ptx::Modifiers& mods = *inst.mods;
  const ptx::Type type = mods.type();
  const Place at = place(inst, a[0], mods.space);
  const std::vector<Operand> from = elements(a[1]);
  if (type == ptx::Type::b128) {
    for (unsigned i = 0; i < from.size(); ++i) {
      if (from[i].kind != OperandKind::reg)
        return error(from[i].span, "a .b128 is stored from a register");
      const std::uint32_t var = var_of(from[i]);
      store_words(at, 16 * i, 16, memory_.join({b_.get(var), b_.get(var + 1)}, 8));
    }
    return;
  }
  const unsigned size = ptx::bytes(type);
  const Pieces pieces(size, std::max<unsigned>(mods.vec, 1));
  std::vector<Value> values = read_elements(a[1], type);
  if (const auto floats = stored_floats(m_, from, type))
    for (std::size_t i = 0; i < from.size(); ++i)
      values[i] = arith_.convert(floats->to, floats->from, read(from[i], floats->declared),
                                 ir::Round::rzi, false, false);
  if (values.size() < std::size_t{pieces.count} * pieces.per_piece)
    return error(a[1].span, "too few elements to store");
  for (unsigned p = 0; p < pieces.count; ++p) {
    const auto first = values.begin() + p * pieces.per_piece;
    store_words(at, p * pieces.piece, pieces.piece,
                memory_.join({first, first + pieces.per_piece}, size));
  }
}

void FunctionLowering::lower_atomic(const Instruction& inst) {
  const auto a = args(inst);
  const ptx::Modifiers& mods = *inst.mods;
  const ptx::Type type = mods.type();
  const bool is_red = inst.op == Opcode::red;
  if (type == ptx::Type::b128) return refuse(inst, "no device has 128-bit atomics");
  const Operand& where = is_red ? a[0] : a[1];
  Place at = place(inst, where, mods.space);
  if (at.words) return refuse(inst, "an atomic operation on a parameter");
  at.access.readonly = false;
  context_.out.info.system_atomics =
      context_.out.info.system_atomics || (mods.has(Mod::sys) && mods.space != ptx::Space::shared);
  const unsigned size = ptx::bytes(type);
  const std::vector<Operand> data = elements(is_red ? a[1] : a[2]);
  const std::vector<Operand> to = is_red ? std::vector<Operand>{} : elements(a[0]);
  ir::AtomicOp op = ir::AtomicOp::add;
  const bool s = ptx::is_signed(type);
  const bool floating =
      ptx::is_float(type) || type == ptx::Type::f16x2 || type == ptx::Type::bf16x2;
  switch (mods.op) {
    case Mod::add:
      switch (type) {
        case ptx::Type::f32: op = ir::AtomicOp::fadd_f32; break;
        case ptx::Type::f64: op = ir::AtomicOp::fadd_f64; break;
        case ptx::Type::f16: op = ir::AtomicOp::fadd_f16; break;
        case ptx::Type::bf16: op = ir::AtomicOp::fadd_bf16; break;
        case ptx::Type::f16x2: op = ir::AtomicOp::fadd_f16x2; break;
        case ptx::Type::bf16x2: op = ir::AtomicOp::fadd_bf16x2; break;
        default: break;
      }
      break;
    case Mod::and_: op = ir::AtomicOp::and_; break;
    case Mod::or_: op = ir::AtomicOp::or_; break;
    case Mod::xor_: op = ir::AtomicOp::xor_; break;
    case Mod::exch: op = ir::AtomicOp::exch; break;
    case Mod::inc: op = ir::AtomicOp::inc; break;
    case Mod::dec: op = ir::AtomicOp::dec; break;
    case Mod::min: op = s ? ir::AtomicOp::smin : ir::AtomicOp::umin; break;
    case Mod::max: op = s ? ir::AtomicOp::smax : ir::AtomicOp::umax; break;
    case Mod::cas: op = ir::AtomicOp::exch; break;
    default: return refuse(inst);
  }
  if (floating && (mods.op == Mod::min || mods.op == Mod::max)) {
    const bool min = mods.op == Mod::min;
    switch (type) {
      case ptx::Type::f16: op = min ? ir::AtomicOp::fmin_f16 : ir::AtomicOp::fmax_f16; break;
      case ptx::Type::bf16: op = min ? ir::AtomicOp::fmin_bf16 : ir::AtomicOp::fmax_bf16; break;
      case ptx::Type::f16x2: op = min ? ir::AtomicOp::fmin_f16x2 : ir::AtomicOp::fmax_f16x2; break;
      case ptx::Type::bf16x2:
        op = min ? ir::AtomicOp::fmin_bf16x2 : ir::AtomicOp::fmax_bf16x2;
        break;
      default: return refuse(inst, "a floating-point minimum or maximum in memory");
    }
  }
  if (mods.op == Mod::cas) {
    const Value compare = read(a[2], type);
    return write(a[0], memory_.atomic(at.access, at.address, op, read(a[3], type), compare, size),
                 type);
  }
  for (std::size_t i = 0; i < data.size(); ++i) {
    const Value address = memory_.add_offset(at.address, static_cast<std::int64_t>(i * size));
    const Value old = memory_.atomic(at.access, address, op, read(data[i], type), 0, size);
    if (i < to.size()) write(to[i], old, type);
  }
}

}  // namespace ptx2spv::lower
