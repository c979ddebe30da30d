// Operands against what an instruction calls for.
#include <algorithm>

#include "translator/ptx/checker.hpp"

namespace ptx2spv::ptx {
namespace {

std::string dotted(Type type) { return "." + std::string(text(type)); }

/// bits, integers, or one kind of number of their own.
enum class Kind : std::uint8_t { none, bits, integer, f16, f32, f64, bf16, half2, pred, opaque };
Kind kind_of(Type type) {
  switch (type_class(type)) {
    case TypeClass::bits: return Kind::bits;
    case TypeClass::unsigned_int:
    case TypeClass::signed_int: return Kind::integer;
    case TypeClass::floating:
      return type == Type::f16   ? Kind::f16
             : type == Type::f32 ? Kind::f32
             : type == Type::f64 ? Kind::f64
                                 : Kind::bf16;
    case TypeClass::packed: return type == Type::f16x2 ? Kind::half2 : Kind::bits;
    case TypeClass::pred: return Kind::pred;
    case TypeClass::opaque: return Kind::opaque;
    case TypeClass::none: break;
  }
  return Kind::none;
}

Type bits_like(Type type) {
  switch (bits(type)) {
    case 8: return Type::b8;
    case 16: return Type::b16;
    case 32: return Type::b32;
    case 64: return Type::b64;
    default: return type;
  }
}

}  // namespace

bool compatible(Type reg, Type want, bool wide) {
  const Kind r = kind_of(reg), w = kind_of(want);
  if (r == Kind::none || w == Kind::none || r == Kind::opaque || w == Kind::opaque) return false;
  if (r == Kind::pred || w == Kind::pred) return r == w;
  const unsigned rb = bits(reg), wb = bits(want);
  if (rb < wb || (!wide && rb != wb)) return false;
  switch (w) {
    case Kind::bits:
      // Packed floats other than f16x2 live in plain bits.
      return is_bits(want) || r == Kind::bits ||
             (r == Kind::half2 && (want == Type::u16x2 || want == Type::s16x2));
    case Kind::integer: return r == Kind::bits || r == Kind::integer || r == Kind::half2;
    case Kind::bf16: return r == Kind::bits && rb == wb;
    default: return r == Kind::bits || (r == w && rb == wb);
  }
}

OperandType Checker::type_of(const Operand& operand) const {
  switch (operand.kind) {
    case OperandKind::sum:
    case OperandKind::reg: {
      const Symbol& s = m_.symbol(operand.symbol);
      const bool component = operand.part >= Part::x && operand.part <= Part::w;
      return {s.type, component ? 1u : s.vec};
    }
    case OperandKind::special: {
      const SpecialInfo* info = nullptr;
      std::string_view name = m_.text(operand.span);
      name = name.substr(0, std::min(name.find('.'), name.size()));
      info = find_special(name);
      if (info == nullptr) return {Type::u32, 1};
      return {info->type, info->vector && operand.part == Part::none ? 4u : 1u};
    }
    default: return {};
  }
}

std::string Checker::describe(const Operand& operand) const {
  const std::string_view shown = m_.text(operand.span);
  std::string text = fmt::format("'{}{}'", shown.substr(0, 40), shown.size() > 40 ? "..." : "");
  const OperandType type = type_of(operand);
  if (type.type == Type::none) return text;
  if (type.vec > 1) return fmt::format("{} of type .v{} {}", text, type.vec, dotted(type.type));
  return text + " of type " + dotted(type.type);
}

bool Checker::fail(const Operand& operand, std::string text) {
  Diagnostic& d = sink_.error(operand.span, std::move(text));
  if (operand.kind == OperandKind::reg)
    d.notes.push_back({m_.symbol(operand.symbol).span, "declared here"});
  return false;
}

bool Checker::mismatch(const Operand& operand, Type want, std::string_view role) {
  return fail(operand, name() + " wants a " + std::string(role) + " of type " + dotted(want) +
                           " here, not " + describe(operand));
}

bool Checker::dest(const Operand& operand, Type type, bool wide, bool sink_allowed) {
  if (operand.kind == OperandKind::sink && sink_allowed) return true;
  if (operand.kind == OperandKind::special) return fail(operand, "a special register is read only");
  if (operand.kind != OperandKind::reg || operand.negated || operand.selectors != 0) {
    return fail(operand, name() + " writes a register here, not " + describe(operand));
  }
  const OperandType t = type_of(operand);
  return (t.vec == 1 && compatible(t.type, type, wide)) || mismatch(operand, type, "destination");
}

bool Checker::immediate(const Operand& operand, Type type) {
  const TypeClass c = type_class(type);
  if (operand.kind == OperandKind::imm_int) {
    return c == TypeClass::bits || c == TypeClass::unsigned_int || c == TypeClass::signed_int ||
           c == TypeClass::pred;
  }
  if (type == Type::f32 || type == Type::f64) return true;
  return c == TypeClass::bits && ((operand.kind == OperandKind::imm_f32 && bits(type) == 32) ||
                                  (operand.kind == OperandKind::imm_f64 && bits(type) == 64));
}

bool Checker::source(const Operand& operand, Type type, bool wide, bool special_allowed) {
  switch (operand.kind) {
    case OperandKind::imm_int:
    case OperandKind::imm_f32:
    case OperandKind::imm_f64: return immediate(operand, type) || mismatch(operand, type, "source");
    case OperandKind::special: {
      if (!special_allowed)
        return fail(operand, "a special register is read by mov or cvt, not by " + name());
      const OperandType t = type_of(operand);
      // The first PTX has those of launches with 16 bits, and %gridid with 16 or 32.
      const bool integer = is_integer(type) || is_bits(type) || type == Type::pred;
      const bool old = operand.special == SpecialReg::tid || operand.special == SpecialReg::ntid ||
                       operand.special == SpecialReg::ctaid ||
                       operand.special == SpecialReg::nctaid ||
                       operand.special == SpecialReg::gridid;
      const bool narrow = old && type != Type::pred && bits(type) >= 16 &&
                          bits(type) < bits(t.type) &&
                          (bits(type) == 16 || operand.special == SpecialReg::gridid);
      if (t.vec != 1 || !integer || (!compatible(t.type, type, wide) && !narrow)) {
        return mismatch(operand, type, "source");
      }
      return true;
    }
    case OperandKind::reg: {
      const OperandType t = type_of(operand);
      if (operand.negated && type != Type::pred)
        return fail(operand, name() + " takes no negated operand here");
      if (t.vec != 1 || operand.selectors != 0 || !compatible(t.type, type, wide)) {
        return mismatch(operand, type, "source");
      }
      return true;
    }
    case OperandKind::sink: return fail(operand, "'_' is no source");
    case OperandKind::sum:
    case OperandKind::address: return sum(operand, type, wide);
    default:
      return fail(operand,
                  name() + " wants a register or a constant here, not " + describe(operand));
  }
}

/// register + constant, and symbol + constant: an address as a value, of which narrower types take
/// the low bits.
bool Checker::sum(const Operand& operand, Type type, bool wide) {
  if (!is_integer(type) && !is_bits(type)) return mismatch(operand, type, "source");
  if (operand.kind == OperandKind::sum) {
    const OperandType t = type_of(operand);
    const bool good = t.vec == 1 && operand.selectors == 0 && bits(t.type) <= 64 &&
                      (is_integer(t.type) || is_bits(t.type)) && compatible(t.type, type, wide);
    return good || mismatch(operand, type, "source");
  }
  if (operand.plus && bits(type) <= 64 && !is_opaque(m_.symbol(operand.symbol).type)) return true;
  return fail(operand, name() + " wants a register or a constant here, not " + describe(operand) +
                           "; mov gives an address");
}

bool Checker::source_register(const Operand& operand, Type type) {
  if (operand.kind != OperandKind::reg) {
    return fail(operand, name() + " wants a register here, not " + describe(operand));
  }
  return source(operand, type, false);
}

bool Checker::source_pred(const Operand& operand) {
  if (operand.kind == OperandKind::imm_int) return true;
  if (operand.kind == OperandKind::special) return source(operand, Type::pred, false, true);
  if (operand.kind != OperandKind::reg || type_of(operand).type != Type::pred ||
      operand.selectors != 0) {
    return fail(operand, name() + " wants a predicate here, not " + describe(operand));
  }
  return true;
}

bool Checker::dest_pred(const Operand& operand, bool pair_allowed) {
  if (operand.kind == OperandKind::pair && pair_allowed) {
    bool good = true;
    for (const Operand& item : f_.list(operand)) {
      good = good && (item.kind == OperandKind::sink || dest(item, Type::pred, false));
    }
    return good;
  }
  return dest(operand, Type::pred, false, pair_allowed);
}

/// d or d|p.
bool Checker::dest_with_pred(const Operand& operand, Type type, bool sink_allowed) {
  const bool pair = operand.kind == OperandKind::pair;
  // Masks are no packed halves.
  const Operand& first = pair ? f_.list(operand)[0] : operand;
  if (type == Type::u32 && type_of(first).type == Type::f16x2)
    return mismatch(first, type, "destination");
  if (!pair) return dest(operand, type, false, sink_allowed);
  const auto items = f_.list(operand);
  return dest(items[0], type, false, sink_allowed) && dest(items[1], Type::pred, false, true);
}

bool Checker::address_register(const Operand& operand) {
  const OperandType t = type_of(operand);
  const bool good = !operand.negated && t.vec == 1 && (is_integer(t.type) || is_bits(t.type)) &&
                    (bits(t.type) == 32 || bits(t.type) == 64);
  return good || fail(operand, "an address is an integer or bits of 32 or 64 bits, not " +
                                   describe(operand));
}

bool Checker::narrow_address(Type type, Space space) const {
  return (space == Space::none || space == Space::global) && bits(type) == 32 &&
         m_.address_size == 64;
}

bool Checker::memory(const Operand& operand, Space space) {
  if (operand.kind != OperandKind::memory) {
    return fail(operand, name() + " wants an address in brackets here, not " + describe(operand));
  }
  if (operand.unified && !unified(operand)) return false;
  if (operand.symbol == kNoSymbol)
    return space == Space::local || fail(operand, "a number is an address of .local memory alone");
  const Symbol& s = m_.symbol(operand.symbol);
  if (s.kind == SymbolKind::reg) {
    Operand reg = operand;
    reg.kind = OperandKind::reg;
    if (!address_register(reg)) return false;
    // ptxas takes 32 bits where all addresses are those of shared memory.
    const bool shared =
        inst_->op == Opcode::cp || inst_->op == Opcode::ldmatrix || inst_->op == Opcode::stmatrix;
    if (narrow_address(type_of(reg).type, space) && !shared)
      return fail(operand, "an address of " +
                               (space == Space::none ? std::string("generic") : ".global") +
                               " memory has 64 bits in this module, not " + describe(reg));
    return true;
  }
  if (is_opaque(s.type)) {
    return fail(operand, "." + std::string(text(s.type)) + " '" + std::string(s.name) +
                             "' is not read or written as memory");
  }
  const bool generic = space == Space::none && s.space != Space::param &&
                       s.space != Space::const_ &&
                       (inst_->op != Opcode::prefetchu || s.space == Space::global);
  // A .param of a .func stands in local memory when its address is taken; its own space is .param.
  if (!generic && space != s.space) {
    Diagnostic& d =
        sink_.error(operand.span,
                    "'" + std::string(s.name) + "' is in ." + std::string(text(s.space)) + ", " +
                        name() + " accesses " +
                        (space == Space::none ? "generic memory" : "." + std::string(text(space))));
    d.notes.push_back({s.span, "declared here"});
    return false;
  }
  return true;
}

/// [a].unified: a read of .global or generic memory through a register or a variable that is
/// .unified itself.
bool Checker::unified(const Operand& operand) {
  if (!needs(80, 90, "'.unified'")) return false;
  const bool reads =
      inst_->op == Opcode::ld || inst_->op == Opcode::ldu || inst_->op == Opcode::atom;
  if (!reads || (mods_->space != Space::none && mods_->space != Space::global))
    return fail(operand, name() + " takes no .unified here");
  if (operand.symbol == kNoSymbol) return fail(operand, "a constant address is not .unified");
  const Symbol& s = m_.symbol(operand.symbol);
  if (s.kind == SymbolKind::reg || m_.variable(operand.symbol).has_unified) return true;
  Diagnostic& d = sink_.error(
      operand.span, "'" + std::string(s.name) + "' is declared without .attribute(.unified)");
  d.notes.push_back({s.span, "declared here"});
  return false;
}

/// ptxas takes no constants beside elements of vector registers.
bool Checker::constants_apart(std::span<const Operand> items) {
  const bool elements = std::any_of(items.begin(), items.end(), [](const Operand& item) {
    return item.kind == OperandKind::reg && item.part != Part::none;
  });
  for (const Operand& item : items)
    if (elements && (item.kind == OperandKind::imm_int || item.kind == OperandKind::imm_f32 ||
                     item.kind == OperandKind::imm_f64))
      return fail(item, "a constant does not stand beside the elements of a vector register");
  return true;
}

/// Elements of one vector have one width and one kind; bits go with everything.
bool Checker::same_elements(std::span<const Operand> items) {
  unsigned width = 0;
  Kind kind = Kind::bits;
  if (!constants_apart(items)) return false;
  for (const Operand& item : items) {
    Kind k = Kind::none;
    if (item.kind == OperandKind::reg || item.kind == OperandKind::special) {
      const Type type = type_of(item).type;
      if (width != 0 && bits(type) != width) {
        return fail(item, "elements of a vector have one width; " + describe(item) + " differs");
      }
      width = bits(type);
      k = kind_of(type);
    } else if (item.kind == OperandKind::imm_int) {
      k = Kind::integer;
    } else if (item.kind == OperandKind::imm_f32) {
      k = Kind::f32;
    } else {
      continue;
    }
    if (k == Kind::bits) continue;
    if (kind != Kind::bits && k != kind) {
      const bool literal = item.kind == OperandKind::imm_f32 && kind == Kind::f64;
      if (!literal)
        return fail(item,
                    "elements of a vector have one kind of type; " + describe(item) + " differs");
    }
    kind = k;
  }
  return true;
}

/// Whether a float constant may be an element of `width` bits: one of its size, or a double beside
/// a register of floats or bits.
bool Checker::list_float(const Operand& item, unsigned width,
                         std::span<const Operand> items) const {
  if (item.kind == OperandKind::imm_f32) return width == 32;
  if (width != 32) return width == 64;
  return std::any_of(items.begin(), items.end(), [&](const Operand& each) {
    const Type type = type_of(each).type;
    return type == Type::f32 || type == Type::b32;
  });
}

/// Floats move to and from integers of their size, too, when they are elements.
Type Checker::element_type(const Operand& operand, Type type) const {
  if (type != Type::f32 && type != Type::f64) return type;
  Type given = type_of(operand).type;
  if (operand.kind == OperandKind::vector)
    for (const Operand& item : f_.list(operand))
      if (const Type each = type_of(item).type; each != Type::none) given = each;
  return is_integer(given) ? bits_like(type) : type;
}

bool Checker::writes_something(const Operand& operand) {
  if (operand.kind != OperandKind::vector) return true;
  for (const Operand& item : f_.list(operand))
    if (item.kind != OperandKind::sink) return true;
  return fail(operand, "a destination has one register at least");
}

/// A vector, or without .vec a scalar, of elements of `type`.
bool Checker::vector(const Operand& operand, unsigned count, Type type, bool is_dest, bool wide) {
  if (count > 1) type = element_type(operand, type);
  if (operand.kind == OperandKind::vector) {
    const auto items = f_.list(operand);
    if (items.size() != count) {
      return fail(operand, fmt::format("{} wants {} element{} here, not {}", name(), count,
                                       count == 1 ? "" : "s", items.size()));
    }
    // One element of plain bits makes the whole vector one of bits.
    for (const Operand& item : items) {
      if (item.kind == OperandKind::reg && is_bits(type_of(item).type) && bits(type) >= 8)
        type = bits_like(type);
    }
    for (const Operand& item : items) {
      const bool given = !is_dest && count > 1 && item.kind == OperandKind::imm_f64 &&
                         is_bits(type) && list_float(item, bits(type), items);
      const bool listed = inst_->op == Opcode::mov || (inst_->op == Opcode::sust && count > 1);
      const bool special = listed && bits(type_of(item).type) == bits(type);
      if (!given && !(is_dest ? dest(item, type, wide, true) : source(item, type, wide, special)))
        return false;
    }
    return same_elements(items) && (!is_dest || writes_something(operand));
  }
  if (count > 1) {
    const OperandType t = type_of(operand);
    if (operand.negated) return fail(operand, name() + " takes no negated operand here");
    if (operand.kind != OperandKind::reg || t.vec != count || operand.selectors != 0) {
      return fail(operand, fmt::format("{} wants a vector of {} here, not {}", name(), count,
                                       describe(operand)));
    }
    return compatible(t.type, type, wide) || mismatch(operand, type, "vector");
  }
  return is_dest ? dest(operand, type, wide) : source(operand, type, wide);
}

// cp.async, whose operands end in two that may be left out, looks itself.
bool Checker::check_cache_policy() {
  const bool hinted = mods_->has(Mod::L2_cache_hint);
  if (inst_->op == Opcode::cp || (!hinted && !form_->syntax.ends_with("{, cache-policy}")))
    return true;
  const bool global = mods_->space == Space::none || mods_->space == Space::global;
  const bool given = inst_->operand_count == form_->max_operands;
  if (hinted && !global)
    sink_.error(inst_->opcode_span, name() + " takes '.L2::cache_hint' for global memory alone");
  else if (hinted && !given)
    sink_.error(inst_->span, name() + " with '.L2::cache_hint' needs a cache policy: '" +
                                 std::string(form_->syntax) + "'");
  else if (!hinted && given)
    fail(op(inst_->operand_count - 1),
         name() + " takes a cache policy with '.L2::cache_hint' alone");
  else
    return true;
  return false;
}

bool Checker::count_is(unsigned low, unsigned high) {
  const unsigned count = inst_->operand_count;
  if (count >= low && count <= high) return true;
  sink_.error(inst_->span, fmt::format("{} takes {}{} operand{}, not {}: '{}'", name(), low,
                                       high == low ? "" : fmt::format(" to {}", high),
                                       low == 1 && high == 1 ? "" : "s", count, form_->syntax));
  return false;
}

}  // namespace ptx2spv::ptx
