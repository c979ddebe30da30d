// tex, tld4, txq and istypep.
#include "translator/ptx/checker.hpp"

namespace ptx2spv::ptx {

void Checker::check_texture() {
  const Modifiers& mods = *mods_;
  const Type dtype = mods.types[0], ctype = mods.types[1];
  const unsigned count = inst_->operand_count;
  if (count < 2) {
    count_is(2, 6);
    return;
  }
  const unsigned elements = dtype == Type::f16x2 ? 2 : 4;
  if (mods.vec != elements && mods.vec != 1) {
    sink_.error(inst_->opcode_span,
                fmt::format("{} with .{} gives .v{}", name(), text(dtype), elements));
    return;
  }
  if (mods.vec != elements) {
    sink_.error(inst_->opcode_span, fmt::format("{} needs .v{}", name(), elements));
    return;
  }
  const Operand* data = &op(0);
  if (data->kind == OperandKind::pair) {
    const auto items = f_.list(*data);
    if (!needs(71, 60, "a predicate of " + name())) return;
    if (items[1].kind == OperandKind::sink) {
      fail(items[1], name() + " says whether texels are resident in a predicate, not in '_'");
      return;
    }
    if (!dest(items[1], Type::pred, false, true)) return;
    data = &items[0];
  }
  if (!vector(*data, elements, dtype, true, false)) return;
  const Operand& place = op(1);
  if (place.kind != OperandKind::surface || place.list.count < 2 || place.list.count > 3) {
    fail(place,
         name() + " wants [texture, {coordinates}] or [texture, sampler, {coordinates}] here");
    return;
  }
  const auto parts = f_.list(place);
  if (!check_surface_name(parts[0], Type::texref)) return;
  if (parts.size() == 2 && m_.texmode_independent) {
    fail(place, name() +
                    " wants [texture, sampler, {coordinates}] in a module with .target "
                    "texmode_independent");
    return;
  }
  if (parts.size() == 3) {
    const Operand& sampler = parts[1];
    const bool unified_texref = !m_.texmode_independent && sampler.kind == OperandKind::address &&
                                m_.symbol(sampler.symbol).type == Type::texref;
    if (!unified_texref && !check_surface_name(sampler, Type::samplerref)) return;
    const bool by_handle = sampler.kind == OperandKind::reg ||
                           (m_.texmode_independent && parts[0].kind == OperandKind::reg);
    if (!m_.texmode_independent && !needs(43, 30, "a sampler where textures hold their own"))
      return;
    if (by_handle && !needs(31, 30, "a texture or sampler by handle beside the other")) return;
    // In unified mode a sampler is a word too many for these forms, of ptxas' eight.
    const bool cubes = mods.geom == Mod::cube || mods.geom == Mod::acube;
    const bool layers = mods.geom == Mod::a1d || mods.geom == Mod::a2d;
    const bool full = (cubes && mods.mode != Mod::level) || (layers && mods.mode == Mod::grad) ||
                      (mods.geom == Mod::d3 && mods.mode == Mod::level && count == 3);
    if (!m_.texmode_independent && full) {
      fail(sampler, name() + " takes no sampler here, where textures hold their own");
      return;
    }
  }
  const Operand& coordinates = parts.back();
  const bool array = mods.geom == Mod::a1d || mods.geom == Mod::a2d || mods.geom == Mod::acube ||
                     mods.geom == Mod::a2dms || mods.geom == Mod::d2ms;
  if (!check_coordinates(coordinates, mods.geom, ctype, array)) return;
  unsigned next = 2;
  if (mods.mode == Mod::level) {
    if (!count_is(3, 5)) return;
    if (!source(op(next), ctype, false)) return;
    ++next;
  } else if (mods.mode == Mod::grad) {
    if (!count_is(4, 6)) return;
    const unsigned size = mods.geom == Mod::d1 || mods.geom == Mod::a1d   ? 1
                          : mods.geom == Mod::d2 || mods.geom == Mod::a2d ? 2
                                                                          : 4;
    for (unsigned i = 0; i < 2; ++i, ++next) {
      const Operand& gradient = op(next);
      if (gradient.kind != OperandKind::vector && type_of(gradient).vec == 1) {
        fail(gradient, "a gradient stands in braces");
        return;
      }
      if (gradient.kind == OperandKind::reg && is_integer(type_of(gradient).type)) {
        mismatch(gradient, Type::f32, "gradient");
        return;
      }
      if (!vector(gradient, size, Type::f32, false, false)) return;
    }
  }
  check_texture_extras(next, ctype);
}

/// Behind the coordinates, each optional and in this order: an offset in braces and a depth to
/// compare with. Cubes have no offset, volumes no depth.
void Checker::check_texture_extras(unsigned next, Type ctype) {
  const Mod geom = mods_->geom;
  const unsigned count = inst_->operand_count;
  if (next < count && !needs(43, 30, "an offset or a depth to compare with")) return;
  const auto in_braces = [&](const Operand& operand) {
    return operand.kind == OperandKind::vector || type_of(operand).vec > 1;
  };
  if (next < count && in_braces(op(next))) {
    const Operand& offset = op(next++);
    const unsigned size = geom == Mod::d1 || geom == Mod::a1d ? 1 : geom == Mod::d3 ? 4 : 2;
    if (geom == Mod::cube || geom == Mod::acube) {
      fail(offset, name() + " takes no offset with ." + std::string(text(geom)));
      return;
    }
    const unsigned given = offset.kind == OperandKind::vector
                               ? static_cast<unsigned>(f_.list(offset).size())
                               : type_of(offset).vec;
    if (given < size || given == 3 || given > 4) {
      fail(offset, fmt::format("'.{}' wants an offset of {}, not {}", text(geom), size, given));
      return;
    }
    if (offset.kind == OperandKind::vector) {
      if (!constants_apart(f_.list(offset))) return;
      for (const Operand& item : f_.list(offset)) {
        if (!source(item, Type::s32, false, true)) return;
      }
    }
  }
  if (next < count && !in_braces(op(next))) {
    if (geom == Mod::d3) {
      fail(op(next), name() + " takes no depth to compare with in .3d");
      return;
    }
    if (!source(op(next++), ctype, false)) return;
  }
  if (next < count) fail(op(next), "an offset, then a depth to compare with, stand here at most");
}

void Checker::check_txq() {
  if (!count_is(2, 3)) return;
  if (!dest(op(0), Type::b32, false)) return;
  if (op(1).kind != OperandKind::memory) {
    fail(op(1), "'txq' wants [texture] here");
    return;
  }
  const Mod q = mods_->query;
  const bool of_sampler =
      q == Mod::force_unnormalized_coords ||
      (m_.texmode_independent && (q == Mod::filter_mode || q == Mod::addr_mode_0 ||
                                  q == Mod::addr_mode_1 || q == Mod::addr_mode_2));
  if (!check_surface_name(op(1), of_sampler ? Type::samplerref : Type::texref)) return;
  if (inst_->operand_count != 3) return;
  if (type_of(op(2)).type == Type::f16x2)
    mismatch(op(2), Type::u32, "level");
  else
    source(op(2), Type::u32, false);
}

void Checker::check_istypep() {
  if (dest_pred(op(0), false)) source_register(op(1), Type::u64);
}

}  // namespace ptx2spv::ptx
