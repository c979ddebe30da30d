#include "translator/passes/sanitize/surface_shadow.hpp"

#include "ptx2spv/abi_sanitizer.hpp"
#include "translator/passes/surface/surface_access.hpp"

namespace ptx2spv::passes {

SurfaceShadow::SurfaceShadow(const Function& function, const EntryInfo& entry, Builder& prologue)
    : f_(function), tracer_(function), entry_(entry), prologue_(prologue) {}

SurfaceShadow::Row SurfaceShadow::read(Builder& b, Value handle) {
  const MemAttr param{.space = Space::param, .bytes = 8, .readonly = true};
  const Value table = b.load(Type::i64, b.i32(entry_.sanitizer.words + abi::z_surfaces * 4), param);
  const Value count = b.load(Type::i32, b.i32(entry_.sanitizer.words + abi::z_surface_count * 4),
                             {.space = Space::param, .bytes = 4, .readonly = true});
  const Value index = b.inst(Op::trunc, Type::i32, {handle});
  // Entry 0 is no surface.
  const Value known = b.select(b.cmp(Op::ult, index, count), index, b.i32(0));
  const Value offset = b.op2(Op::mul, known, b.i32(abi::kLevelWords * 4));
  const Value entry = b.op2(Op::add, table, b.inst(Op::zext, Type::i64, {offset}));
  const auto word = [&](std::uint32_t which, Type type = Type::i32) {
    return b.load(type, b.op2(Op::add, entry, b.i64(which * 4)),
                  {.space = Space::global,
                   .bytes = static_cast<std::uint8_t>(type == Type::i64 ? 8 : 4),
                   .readonly = true});
  };
  return {word(abi::lv_generation),
          word(abi::lv_row_bytes),
          word(abi::lv_width),
          word(abi::lv_rows),
          word(abi::lv_slices),
          word(abi::lv_row_pitch),
          word(abi::lv_texel_bytes),
          word(abi::lv_geometries),
          word(abi::lv_slice_pitch, Type::i64),
          word(abi::lv_bitmap, Type::i64),
          word(abi::lv_races, Type::i64)};
}

std::optional<std::uint32_t> SurfaceShadow::slot(Value op) const {
  const auto offset = tracer_.parameter_offset(f_.arg(op, 0));
  if (!offset) return std::nullopt;
  for (std::uint32_t slot = 0; slot < entry_.slots.size(); ++slot)
    if (entry_.slots[slot].offset == *offset) return slot;
  return std::nullopt;
}

SurfaceShadow::Access SurfaceShadow::locate(Builder& b, Value value) {
  const Inst inst = f_.insts[value];
  const SurfaceOp op = f_.surface_ops[inst.imm];
  const std::vector<Value> args(f_.args(value).begin(), f_.args(value).end());
  Value handle = args[0];
  Row row;
  Access access;
  if (const auto offset = tracer_.parameter_offset(handle)) {
    auto [it, is_new] = known_.try_emplace(*offset);
    if (is_new) {
      const Value loaded = prologue_.load(Type::i64, prologue_.i32(*offset),
                                          {.space = Space::param, .bytes = 8, .readonly = true});
      it->second = {loaded, read(prologue_, loaded)};
    }
    handle = it->second.first, row = it->second.second;
    for (const SlotInfo& slot : entry_.slots)
      if (slot.offset == *offset) access.surface = slot.name;
  } else {
    row = read(b, handle);
  }

  // As lower-surfaces has it (surface_access.cpp).
  const bool layered = is_layered(op.geometry);
  Value x = args[layered ? 2 : 1], y = b.i32(0), z = b.i32(0);
  if (op.geometry == Geometry::d2 || op.geometry == Geometry::d3) y = args[2];
  if (op.geometry == Geometry::a2d) y = args[3];
  if (op.geometry == Geometry::d3) z = args[3];
  if (layered) z = b.op2(Op::and_, args[1], b.i32(0xffff));
  access.place = b.inst(Op::pack, Type::i64, {x, y});
  const auto both = [&](Value one, Value other) { return b.op2(Op::and_, one, other); };

  const Value live = b.cmp(Op::eq, b.inst(Op::high, Type::i32, {handle}), row.generation);
  Value ok = both(live, b.cmp(Op::ne, row.generation, b.i32(0)));
  const auto bit = [&](std::uint32_t mask) {
    return b.cmp(Op::ne, both(row.geometries, b.i32(mask)), b.i32(0));
  };
  ok = both(ok, bit(1u << static_cast<unsigned>(op.geometry)));
  if (op.geometry == Geometry::a2d) z = b.select(bit(abi::kLayersAreSlice0), b.i32(0), z);
  const bool texels = op.formatted && inst.op == Op::surf_store_p;
  Value starts = row.width;  // of an access in a row
  if (op.formatted && !texels) starts = b.op2(Op::lshr, row.row_bytes, b.i32(log2_of(op.bytes)));
  if (!op.formatted) {
    const Value fits = b.cmp(Op::ule, b.i32(op.bytes), row.row_bytes);
    const Value count = b.op2(Op::sub, row.row_bytes, b.i32(op.bytes - 1));
    starts = b.select(fits, count, b.i32(0));
    ok = both(ok, b.cmp(Op::eq, both(x, b.i32(op.bytes - 1)), b.i32(0)));
  }
  if (op.clamp == ClampMode::clamp) {
    const auto clamped = [&](Value v, Value count, std::uint32_t unit) {
      const Value last = both(b.op2(Op::sub, count, b.i32(1)), b.i32(~(unit - 1)));
      return b.op2(Op::smin, b.op2(Op::smax, v, b.i32(0)), last);
    };
    x = clamped(x, starts, op.formatted ? 1 : op.bytes);
    y = clamped(y, row.rows, 1), z = clamped(z, row.slices, 1);
  }
  ok = both(ok, both(b.cmp(Op::ult, x, starts),
                     both(b.cmp(Op::ult, y, row.rows), b.cmp(Op::ult, z, row.slices))));
  if (op.formatted) x = b.op2(Op::mul, x, texels ? row.texel_bytes : b.i32(op.bytes));
  if (texels) access.bytes.size = row.texel_bytes;
  access.bytes.ok = ok;
  access.bytes.bytes = texels ? 16 : op.bytes;
  access.bytes.kind = inst.op == Op::surf_load     ? AccessKind::load
                      : inst.op == Op::surf_reduce ? AccessKind::atomic
                                                   : AccessKind::store;
  const auto wide = [&](Value v) { return b.inst(Op::zext, Type::i64, {v}); };
  const Value rows = b.op2(Op::mul, wide(y), wide(row.row_pitch));
  const Value slices = b.op2(Op::mul, wide(z), row.slice_pitch);
  access.bytes.offset = b.op2(Op::add, b.op2(Op::add, slices, rows), wide(x));
  access.bitmap = row.bitmap;
  access.records = row.records;
  return access;
}

}  // namespace ptx2spv::passes
