// mov and cvta: values, addresses, packing and unpacking.
#include "translator/ptx/checker.hpp"

namespace ptx2spv::ptx {

void Checker::check_mov() {
  const Type type = mods_->type();
  const Operand& d = op(0);
  const Operand& a = op(1);
  if (mods_->vec > 1) {
    if (!vector(d, mods_->vec, type, true, false)) return;
    if (a.kind == OperandKind::special) {
      if (type_of(a).vec < mods_->vec) fail(a, describe(a) + " is no vector");
      return;
    }
    vector(a, mods_->vec, type, false, false);
    return;
  }
  const bool unpacks = d.kind == OperandKind::vector, packs = a.kind == OperandKind::vector;
  const auto packed = [&](const Operand& operand) {
    const auto items = f_.list(operand);
    if (!is_bits(type))
      return fail(operand, "'mov' packs and unpacks bits only: .b16 .b32 .b64 .b128");
    if (items.size() != 2 && items.size() != 4 && items.size() != 8) {
      return fail(operand, "'mov' packs 2 or 4 elements, not " + std::to_string(items.size()));
    }
    const unsigned width = bits(type) / static_cast<unsigned>(items.size());
    for (const Operand& item : items) {
      if (item.kind == OperandKind::sink) {
        if (operand.span.begin != d.span.begin) return fail(item, "'_' is no source");
        continue;
      }
      if (item.kind == OperandKind::imm_int || item.kind == OperandKind::imm_f32 ||
          item.kind == OperandKind::imm_f64) {
        if (operand.span.begin == d.span.begin) return fail(item, "a constant is no destination");
        continue;
      }
      if (item.kind == OperandKind::special) continue;
      if (item.kind != OperandKind::reg)
        return fail(item, "'mov' packs registers and constants, not " + describe(item));
      const OperandType t = type_of(item);
      if (t.vec != 1 || bits(t.type) != width) {
        return fail(
            item, "an element has " + std::to_string(width) + " bits here, not " + describe(item));
      }
    }
    return same_elements(items);
  };
  if (unpacks && packs) {
    fail(a, "'mov' packs or unpacks, not both");
    return;
  }
  if (unpacks) {
    if (packed(d)) source(a, type, false, true);
    return;
  }
  if (packs) {
    if (dest(d, type, false)) packed(a);
    return;
  }
  // mov.b64 of a .v2 register of 32 bits, and the like, packs as well.
  const OperandType dt = type_of(d), at = type_of(a);
  if (is_bits(type) && (dt.vec > 1) != (at.vec > 1) && a.kind == OperandKind::reg &&
      d.kind == OperandKind::reg) {
    if (dt.vec * bits(dt.type) != bits(type) || at.vec * bits(at.type) != bits(type))
      mismatch(a, type, "source");
    return;
  }
  if (!dest(d, type, false)) return;
  if (a.kind == OperandKind::address || a.kind == OperandKind::function) {
    const bool wide = (is_integer(type) || is_bits(type)) && bits(type) >= 32;
    if (!wide) fail(a, "an address needs an integer or bits of 32 or 64 bits");
    return;
  }
  if (a.kind == OperandKind::label) {
    fail(a, "the address of a label is not taken");
    return;
  }
  source(a, type, false, true);
}

void Checker::check_cvta() {
  const Operand& d = op(0);
  const Operand& a = op(1);
  if (!dest(d, mods_->type(), false)) return;
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
