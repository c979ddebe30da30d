// suld, sust, sured and suq: operands as ptxas takes them.
#include <algorithm>

#include "translator/ptx/checker.hpp"

namespace ptx2spv::ptx {
namespace {

unsigned coordinates_of(Mod geom) {
  switch (geom) {
    case Mod::d1: return 1;
    case Mod::d2:
    case Mod::a1d: return 2;
    default: return 4;
  }
}

}  // namespace

/// The base of [a, ...]: a variable or kernel parameter of the opaque type, or a 64-bit handle.
bool Checker::check_surface_name(const Operand& base, Type opaque) {
  const std::string wanted =
      "a ." + std::string(text(opaque)) + " or a 64-bit handle in a register";
  if (base.kind == OperandKind::reg ||
      (base.kind == OperandKind::memory && base.symbol != kNoSymbol &&
       m_.symbol(base.symbol).kind == SymbolKind::reg)) {
    const Symbol& s = m_.symbol(base.symbol);
    if (base.plus) return fail(base, "a handle takes no offset");
    if (s.vec != 1 || bits(s.type) != 64 || is_float(s.type)) {
      Operand reg = base;
      reg.kind = OperandKind::reg;
      return fail(reg, name() + " wants " + wanted + ", not " + describe(reg));
    }
    return needs(31, 20, "a surface or texture by handle");
  }
  if (base.kind != OperandKind::address && base.kind != OperandKind::memory) {
    return fail(base, name() + " wants " + wanted);
  }
  if (base.symbol == kNoSymbol) return fail(base, name() + " wants " + wanted + ", not a constant");
  const Symbol& s = m_.symbol(base.symbol);
  if (s.type != opaque) {
    Diagnostic& d =
        sink_.error(base.span, name() + " wants " + wanted + ", not '" + std::string(s.name) +
                                   "' of type ." + std::string(text(s.type)));
    d.notes.push_back({s.span, "declared here"});
    return false;
  }
  if (m_.variable(base.symbol).is_array)
    return fail(base, "'" + std::string(s.name) + "' is an array; an element cannot be named");
  if (base.plus) return fail(base, "'" + std::string(s.name) + "' takes no offset");
  return true;
}

/// Coordinates: at least as many as the geometry has, 1, 2 or 4 of them, 32 bits each.
bool Checker::check_coordinates(const Operand& coordinates, Mod geom, Type type, bool array_index) {
  const unsigned wanted = coordinates_of(geom);
  const bool textured = inst_->op == Opcode::tex || inst_->op == Opcode::tld4;
  bool mixed = false;  // two halves are bits beside bits
  const auto element = [&](const Operand& item, Type t, bool index = false) {
    const OperandType own = type_of(item);
    const bool special = item.kind == OperandKind::special;
    const bool halves = own.type == Type::f16x2 && (index || !(textured || mixed));
    const bool real = index && item.kind == OperandKind::imm_f32;
    if ((special && (own.vec != 1 || bits(own.type) != 32)) || halves || real)
      return mismatch(item, t, "coordinate");
    return special || source(item, t, false);
  };
  if (coordinates.kind == OperandKind::vector) {
    const auto items = f_.list(coordinates);
    if (items.size() != 1 && items.size() != 2 && items.size() != 4) {
      return fail(coordinates,
                  fmt::format("{} coordinates; there are 1, 2 or 4, the unused ones of any value",
                              items.size()));
    }
    if (items.size() < wanted) {
      return fail(coordinates, fmt::format("'.{}' wants {} coordinates, not {}", text(geom), wanted,
                                           items.size()));
    }
    if (!constants_apart(items)) return false;
    // One element of plain bits makes the whole vector one of bits, as with data.
    const bool plain = std::any_of(items.begin(), items.end(), [&](const Operand& item) {
      return item.kind == OperandKind::special ||
             (item.kind == OperandKind::reg && is_bits(type_of(item).type));
    });
    if (plain && !array_index && bits(type) == 32) type = Type::b32;
    mixed = std::any_of(items.begin(), items.end(), [&](const Operand& item) {
      return item.kind == OperandKind::reg && type_of(item).type == Type::b32;
    });
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (items[i].kind == OperandKind::sink) return fail(items[i], "'_' is no source");
      const bool index = array_index && i == 0;
      if (!element(items[i], index ? Type::b32 : type, index)) return false;
      if (array_index && i == 0 && items[i].kind == OperandKind::reg &&
          is_float(type_of(items[i]).type)) {
        return fail(items[i], "the array's index is an integer, not " + describe(items[i]));
      }
    }
    return true;
  }
  const OperandType t = type_of(coordinates);
  if (coordinates.kind == OperandKind::reg && t.vec > 1) {
    if (t.vec < wanted)
      return fail(coordinates, fmt::format("'.{}' wants {} coordinates", text(geom), wanted));
    const bool halves = t.type == Type::f16x2 && !textured;
    return (!halves && compatible(t.type, element_type(coordinates, type), false)) ||
           mismatch(coordinates, type, "coordinate");
  }
  if (wanted != 1)
    return fail(coordinates,
                fmt::format("'.{}' wants {} coordinates in braces", text(geom), wanted));
  if (coordinates.kind != OperandKind::reg)
    return fail(coordinates, "a constant coordinate stands in braces");
  return element(coordinates, type);
}

void Checker::check_surface() {
  if (!count_is(2, 2)) return;
  const bool load = inst_->op == Opcode::suld;
  const Operand& place = op(load ? 1 : 0);
  const Operand& data = op(load ? 0 : 1);
  const Modifiers& mods = *mods_;
  const Type type = mods.type();
  if (place.kind != OperandKind::surface || place.list.count != 2) {
    fail(place, name() + " wants [surface, {coordinates}] here");
    return;
  }
  if (unsigned{mods.vec} * bits(type) > 128) {
    sink_.error(inst_->opcode_span, "vectors are at most 128 bits");
    return;
  }
  const auto parts = f_.list(place);
  if (!check_surface_name(parts[0], Type::surfref)) return;
  if (!check_coordinates(parts[1], mods.geom, Type::s32, false)) return;
  if (mods.clamp == Mod::none) {
    sink_.warning(
        inst_->opcode_span,
        name() + " states no mode; taken as .trap, other assemblers want .trap, .clamp or .zero");
  }
  if (inst_->op == Opcode::sured) {
    if (data.kind == OperandKind::vector) {
      fail(data, "'sured' takes its value without braces");
      return;
    }
    // A register of bits takes floats too, of any width that holds the type.
    if (data.kind == OperandKind::reg && is_bits(type) && is_float(type_of(data).type) &&
        type_of(data).vec == 1 && bits(type_of(data).type) >= bits(type))
      return;
    source(data, type, true);
    return;
  }
  if (load && data.kind == OperandKind::vector) {
    const auto items = f_.list(data);
    if (std::all_of(items.begin(), items.end(),
                    [](const Operand& item) { return item.kind == OperandKind::sink; })) {
      fail(data, "a load wants a register among its destinations");
      return;
    }
  }
  // Data registers may be of any class, as wide as the access or wider.
  vector(data, mods.vec, type, load, true);
}

void Checker::check_suq() {
  if (!count_is(2, 2)) return;
  if (!dest(op(0), Type::b32, false)) return;
  if (op(1).kind != OperandKind::memory) {
    fail(op(1), "'suq' wants [surface] here");
    return;
  }
  check_surface_name(op(1), Type::surfref);
}

}  // namespace ptx2spv::ptx
