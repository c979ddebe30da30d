// 9.7.11 surface instructions: suld, sust, sured, suq become operations that carry their handle.
#include "translator/lower/function.hpp"
#include "translator/lower/stored_floats.hpp"

namespace ptx2spv::lower {

namespace {

Geometry geometry_of(Mod mod) {
  switch (mod) {
    case Mod::d2: return Geometry::d2;
    case Mod::d3: return Geometry::d3;
    case Mod::a1d: return Geometry::a1d;
    case Mod::a2d: return Geometry::a2d;
    default: return Geometry::d1;
  }
}

unsigned coordinates(Geometry geometry) {
  switch (geometry) {
    case Geometry::d1: return 1;
    case Geometry::d2:
    case Geometry::a1d: return 2;
    default: return 3;
  }
}

ir::Query query_of(Mod mod) {
  switch (mod) {
    case Mod::height: return ir::Query::height;
    case Mod::depth: return ir::Query::depth;
    case Mod::channel_data_type: return ir::Query::channel_data_type;
    case Mod::channel_order: return ir::Query::channel_order;
    case Mod::array_size: return ir::Query::array_size;
    case Mod::memory_layout: return ir::Query::memory_layout;
    default: return ir::Query::width;
  }
}

}  // namespace

void FunctionLowering::lower_surface(const Instruction& inst) {
  const auto a = args(inst);
  const ptx::Modifiers& mods = *inst.mods;
  const bool loads = inst.op == Opcode::suld, queries = inst.op == Opcode::suq;
  const Operand& surface = loads || queries ? a[1] : a[0];
  // [a, coordinates]; suq's [a] comes as a list of one or as a plain memory operand.
  Operand handle_operand = surface;
  const Operand* coords = nullptr;
  if (surface.kind == OperandKind::surface) {
    const auto list = f_.list(surface);
    handle_operand = list[0];
    if (list.size() > 1) coords = &list[list.size() - 1];
  } else if (surface.kind == OperandKind::memory) {
    handle_operand.kind = m_.symbol(surface.symbol).kind == ptx::SymbolKind::reg
                              ? OperandKind::reg
                              : OperandKind::address;
  }
  std::vector<Value> operands{fit(read(handle_operand, ptx::Type::b64), Type::i64)};

  ir::SurfaceOp op;
  op.geometry = geometry_of(mods.geom);
  op.clamp = mods.clamp == Mod::clamp  ? ir::ClampMode::clamp
             : mods.clamp == Mod::zero ? ir::ClampMode::zero
                                       : ir::ClampMode::trap;
  const auto emit = [&](Op which, Type type) {
    out_.surface_ops.push_back(op);
    return b_.inst(which, type, operands, out_.surface_ops.size() - 1);
  };
  if (queries) {
    op.query = query_of(mods.query);
    return write(a[0], emit(Op::surf_query, Type::i32), ptx::Type::b32);
  }
  const std::vector<Operand> xyz = coords ? elements(*coords) : std::vector<Operand>{};
  for (unsigned i = 0; i < coordinates(op.geometry); ++i)
    operands.push_back(i < xyz.size() ? read(xyz[i], ptx::Type::b32) : b_.i32(0));
  const ptx::Type type = mods.type();
  const unsigned size = ptx::bytes(type), vec = std::max<unsigned>(mods.vec, 1);
  op.bytes = static_cast<std::uint8_t>(size * vec);
  op.element_bytes = static_cast<std::uint8_t>(size);
  const Type raw = op.bytes <= 4 ? Type::i32 : op.bytes == 8 ? Type::i64 : Type::v4;
  if (loads) {
    const std::vector<Value> values = memory_.split(emit(Op::surf_load, raw), size, vec);
    const std::vector<Operand> to = elements(a[0]);
    // .b8 elements zero-fill 16-bit registers.
    for (std::size_t i = 0; i < to.size() && i < values.size(); ++i) write(to[i], values[i], type);
    return;
  }
  // The value's elements; formatted stores alone take the low bits of wider registers.
  const auto stored = [&] {
    std::vector<Value> values = read_elements(a[1], type);
    const std::vector<Operand> from = elements(a[1]);
    const bool low_bits = inst.op == Opcode::sust && mods.has(Mod::p);
    if (const auto floats = low_bits ? std::nullopt : stored_floats(m_, from, type))
      for (std::size_t i = 0; i < from.size(); ++i)
        values[i] = arith_.convert(floats->to, floats->from, read(from[i], floats->declared),
                                   ir::Round::rzi, false, false);
    return values;
  };
  if (inst.op == Opcode::sust) {
    const std::vector<Value> values = stored();
    if (mods.has(Mod::p)) {
      op.formatted = true;
      op.components = static_cast<std::uint8_t>(values.size());
      operands.insert(operands.end(), values.begin(), values.end());
      emit(Op::surf_store_p, Type::none);
      return;
    }
    operands.push_back(memory_.join(values, size));
    emit(Op::surf_store, Type::none);
    return;
  }
  // sured
  op.formatted = mods.has(Mod::p);
  const bool s = ptx::is_signed(type);
  switch (mods.op) {
    case Mod::and_: op.reduce = ir::AtomicOp::and_; break;
    case Mod::or_: op.reduce = ir::AtomicOp::or_; break;
    case Mod::min: op.reduce = s ? ir::AtomicOp::smin : ir::AtomicOp::umin; break;
    case Mod::max: op.reduce = s ? ir::AtomicOp::smax : ir::AtomicOp::umax; break;
    default: op.reduce = ir::AtomicOp::add; break;
  }
  op.signed_by_format = op.formatted && (mods.op == Mod::min || mods.op == Mod::max);
  operands.push_back(stored().at(0));
  emit(Op::surf_reduce, size == 8 ? Type::i64 : Type::i32);
}

}  // namespace ptx2spv::lower
