// mov and cvta: values, addresses, packing and unpacking.
#include "translator/ptx/checker.hpp"

namespace ptx2spv::ptx {

/// Elements that an operand amounts to: those of a list, a vector register, or a special register
/// like %tid.
unsigned Checker::parts(const Operand& operand) const {
  if (operand.kind == OperandKind::vector) return operand.list.count;
  return type_of(operand).vec;
}

/// mov.vec: element by element.
void Checker::check_mov_vector() {
  const Type type = mods_->type();
  const Operand& d = op(0);
  const Operand& a = op(1);
  if (unsigned{mods_->vec} * bits(type) > 128) {
    sink_.error(inst_->opcode_span, "vectors are at most 128 bits");
    return;
  }
  if (!vector(d, mods_->vec, type, true, false)) return;
  if (a.kind == OperandKind::special) {
    // Those of the first PTX version are read as 16 bits, too.
    const bool narrow = a.special == SpecialReg::tid || a.special == SpecialReg::ntid ||
                        a.special == SpecialReg::ctaid || a.special == SpecialReg::nctaid;
    const bool fits = bits(type) == 32 || (bits(type) == 16 && narrow);
    const bool good =
        fits && !is_float(type) && type_of(a).vec == mods_->vec && a.part == Part::none;
    if (!good) fail(a, fmt::format("{} is no vector of {} here", describe(a), mods_->vec));
    return;
  }
  vector(a, mods_->vec, type, false, false);
}

/// A side of mov that is made of elements: they have the whole value's bits together.
bool Checker::packed(const Operand& operand, bool is_dest) {
  const Type type = mods_->type();
  const unsigned count = parts(operand);
  if (!is_bits(type))
    return fail(operand, "'mov' packs and unpacks bits only: .b16 .b32 .b64 .b128");
  if (count != 2 && count != 4)
    return fail(operand, fmt::format("'mov' packs 2 or 4 elements, not {}", count));
  const unsigned width = bits(type) / count;
  const auto wants = [&](const Operand& item) {
    return fail(item, fmt::format("an element has {} bits here, not {}", width, describe(item)));
  };
  if (width < 8) return fail(operand, "an element has 8 bits at least");
  if (operand.negated) return fail(operand, name() + " takes no negated operand here");
  if (operand.kind != OperandKind::vector)
    return bits(type_of(operand).type) == width || wants(operand);
  const auto items = f_.list(operand);
  for (const Operand& item : items) {
    switch (item.kind) {
      case OperandKind::sink:
        if (!is_dest) return fail(item, "'_' is no source");
        break;
      case OperandKind::imm_int:
      case OperandKind::imm_f32:
      case OperandKind::imm_f64:
        if (is_dest) return fail(item, "a constant is no destination");
        if (item.kind != OperandKind::imm_int && !list_float(item, width, items))
          return wants(item);
        break;
      case OperandKind::special:
        if (is_dest) return fail(item, "a special register is read only");
        if (type_of(item).vec != 1 || bits(type_of(item).type) != width) return wants(item);
        break;
      case OperandKind::reg:
        if (item.negated) return fail(item, name() + " takes no negated operand here");
        if (type_of(item).vec != 1 || bits(type_of(item).type) != width) return wants(item);
        break;
      default: return fail(item, "'mov' packs registers and constants, not " + describe(item));
    }
  }
  return same_elements(items) && (!is_dest || writes_something(operand));
}

/// A value of mov: an address too, where there is room for one.
void Checker::mov_source(const Operand& a) {
  const Type type = mods_->type();
  if (a.kind == OperandKind::address && is_opaque(m_.symbol(a.symbol).type) &&
      !m_.variable(a.symbol).is_array && type != Type::u64) {
    fail(a, "the handle of '" + std::string(m_.symbol(a.symbol).name) +
                "' is taken by mov.u64, not by mov." + std::string(text(type)));
    return;
  }
  if (a.kind == OperandKind::address && is_opaque(m_.symbol(a.symbol).type) &&
      !m_.variable(a.symbol).is_array && !needs(31, 20, "the handle of a surface or texture"))
    return;
  if (a.kind == OperandKind::address || a.kind == OperandKind::function) {
    const bool wide = (is_integer(type) || is_bits(type)) && bits(type) >= 32;
    if (!wide) fail(a, "an address needs an integer or bits of 32 or 64 bits");
    if (wide && a.kind == OperandKind::address && m_.symbol(a.symbol).space == Space::global &&
        narrow_address(type, Space::global))
      fail(a, "an address of .global memory has 64 bits in this module");
    return;
  }
  if (a.kind == OperandKind::label) {
    fail(a, "the address of a label is not taken");
    return;
  }
  source(a, type, false, true);
}

void Checker::check_mov() {
  if (mods_->vec > 1) return check_mov_vector();
  const Operand& d = op(0);
  const Operand& a = op(1);
  const bool unpacks = d.kind == OperandKind::vector || parts(d) > 1;
  const bool special = a.kind == OperandKind::special;
  const bool packs =
      a.kind == OperandKind::vector || (parts(a) > 1 && (!special || is_bits(mods_->type())));
  if (unpacks && packs) {
    fail(a, "'mov' packs or unpacks, not both; with .v2 or .v4 it moves each element");
  } else if (unpacks) {
    if (d.kind == OperandKind::special) {
      fail(d, "a special register is read only");
    } else if (packed(d, true)) {
      mov_source(a);
    }
  } else if (dest(d, mods_->type(), false)) {
    packs ? static_cast<void>(packed(a, false)) : mov_source(a);
  }
}

void Checker::check_cvta() {
  const Operand& d = op(0);
  const Operand& a = op(1);
  if (!dest(d, mods_->type(), false)) return;
  if (narrow_address(mods_->type(), Space::none)) {
    fail(a, "generic addresses have 64 bits in this module");
    return;
  }
  if (a.kind == OperandKind::address) {
    if (mods_->has(Mod::to)) {
      fail(a, "'cvta.to' takes a generic address in a register");
      return;
    }
    const Symbol& s = m_.symbol(a.symbol);
    if (s.space != mods_->space) {
      fail(a, "'" + std::string(s.name) + "' is in ." + std::string(text(s.space)) + ", not in ." +
                  std::string(text(mods_->space)));
    }
    return;
  }
  if (a.kind == OperandKind::imm_int) return;
  source_register(a, mods_->type());
}

}  // namespace ptx2spv::ptx
