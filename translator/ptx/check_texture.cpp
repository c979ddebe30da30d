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
    sink_.error(inst_->opcode_span, name() + " with ." + std::string(text(dtype)) + " gives .v" +
                                        std::to_string(elements));
    return;
  }
  if (mods.vec != elements && (dtype != Type::f16x2 || inst_->op == Opcode::tld4)) {
    sink_.error(inst_->opcode_span, name() + " needs .v4");
    return;
  }
  const Operand* data = &op(0);
  if (data->kind == OperandKind::pair) {
    const auto items = f_.list(*data);
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
  if (parts.size() == 3) {
    const Operand& sampler = parts[1];
    const bool unified_texref = !m_.texmode_independent && sampler.kind == OperandKind::address &&
                                m_.symbol(sampler.symbol).type == Type::texref;
    if (!unified_texref && !check_surface_name(sampler, Type::samplerref)) return;
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
      if (gradient.kind == OperandKind::vector) {
        if (!vector(gradient, size, Type::f32, false, false)) return;
      }
    }
  }
  // Then, each optional: an offset vector and a depth to compare with.
  for (; next < count; ++next) {
    const Operand& extra = op(next);
    if (extra.kind == OperandKind::vector || type_of(extra).vec > 1) {
      if (extra.kind == OperandKind::vector) {
        for (const Operand& item : f_.list(extra)) {
          if (!source(item, Type::s32, false)) return;
        }
      }
    } else if (ctype == Type::s32) {
      fail(extra, "a depth to compare with needs .f32 coordinates");
      return;
    } else if (!source(extra, Type::f32, false)) {
      return;
    }
  }
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
  if (inst_->operand_count == 3) source(op(2), Type::u32, false);
}

void Checker::check_istypep() {
  if (dest_pred(op(0), false)) source_register(op(1), Type::b64);
}

}  // namespace ptx2spv::ptx
