// Modifiers that exclude or require each other, and the versions that the table asks for.
#include <algorithm>

#include "translator/ptx/checker.hpp"
#include "translator/ptx/instruction_table.hpp"

namespace ptx2spv::ptx {
namespace {

/// The modifiers for which the row holds, as a message names them; empty where it does not.
std::string younger_mods(const YoungerInfo& row, const Modifiers& mods) {
  std::string names;
  for (const std::vector<Mod>& group : row.groups) {
    const auto it = std::find_if(group.begin(), group.end(), [&](Mod m) { return mods.has(m); });
    if (it == group.end()) return {};
    names += (names.empty() ? "'." : " with '.") + std::string(text(*it)) + "'";
  }
  return names;
}

}  // namespace

bool Checker::check_versions() {
  if (options_.relax_versions) return true;
  // The message is made only when it is needed: this runs for every instruction.
  if (m_.is_older_than(form_->version, form_->target)) {
    return needs(form_->version, form_->target,
                 "'" + std::string(m_.text(inst_->opcode_span)) + "'");
  }
  const Modifiers& mods = *mods_;
  for (const Opcode op : {Opcode::none, inst_->op}) {
    for (const YoungerInfo& row : younger_of(op)) {
      if (!m_.is_older_than(row.version, row.target)) continue;
      const std::string names = younger_mods(row, mods);
      if (!names.empty())
        return needs(row.version, row.target, row.what.empty() ? names : std::string(row.what));
    }
  }
  switch (inst_->op) {
    case Opcode::ld:
    case Opcode::st:
    case Opcode::atom:
    case Opcode::red:
      if (mods.space == Space::none) return needs(20, 20, "a generic address");
      break;
    case Opcode::mov:
    case Opcode::cvt:
      // sm_89 came to these types later than sm_90.
      if ((mods.has(Mod::e4m3x2) || mods.has(Mod::e5m2x2)) && m_.sm < 90 &&
          !needs(81, 89, name() + " on sm_89"))
        return false;
      if (mods.ftz && mods.types[1] == Type::bf16 && !needs(78, 90, "'.ftz' of " + name()))
        return false;
      if (mods.ftz && (bits(mods.types[0]) == 64 || bits(mods.types[1]) == 8) &&
          !needs(15, 10, "'.ftz' of " + name()))
        return false;
      for (const Operand& operand : ops()) {
        if (operand.kind != OperandKind::special) continue;
        const std::string_view written = m_.text(operand.span);
        const SpecialInfo* info =
            find_special(written.substr(0, std::min(written.find('.'), written.size())));
        if (info != nullptr &&
            !needs(info->version, info->target, "'" + std::string(written) + "'"))
          return false;
      }
      break;
    case Opcode::vote:
    case Opcode::shfl:
      if (!mods.has(Mod::sync) && m_.version() >= 64 && m_.sm >= 70) {
        sink_.error(inst_->opcode_span, name() + " without .sync is gone from sm_70 on in PTX 6.4");
        return false;
      }
      break;
    default: break;
  }
  return true;
}

void Checker::check_modifiers() {
  check_rounding();
  switch (inst_->op) {
    case Opcode::cvt: check_convert(); break;
    case Opcode::set:
    case Opcode::setp: check_compare(); break;
    case Opcode::ld:
    case Opcode::st: check_memory_modifiers(); break;
    case Opcode::ldu:
    case Opcode::mov:
      if (unsigned{mods_->vec} * bits(mods_->type()) > 128 || mods_->vec == 8)
        sink_.error(inst_->opcode_span, "vectors are at most four elements and 128 bits");
      break;
    default: break;
  }
}

/// Before PTX 1.4 a division, root or transcendental without a modifier was .approx.ftz.
void Checker::check_rounding() {
  if (mods_->rounding != Mod::none) return;
  const Type type = mods_->type();
  if (type != Type::f32 && type != Type::f64) return;
  const bool old = m_.version() < 14;
  switch (inst_->op) {
    case Opcode::div:
    case Opcode::rcp:
    case Opcode::sqrt:
      if (!old)
        sink_.error(inst_->opcode_span, name() + " needs a rounding modifier" +
                                            (type == Type::f32 ? " or .approx" : ""));
      break;
    case Opcode::mad:
      if (m_.sm >= 20 && m_.version() >= 32)
        sink_.error(inst_->opcode_span, "'mad' needs a rounding modifier");
      break;
    case Opcode::sin:
    case Opcode::cos:
    case Opcode::lg2:
    case Opcode::ex2:
    case Opcode::rsqrt:
      if (!old) sink_.error(inst_->opcode_span, name() + " needs .approx");
      break;
    default: break;
  }
}

void Checker::check_convert() {
  const Modifiers& mods = *mods_;
  if (mods.type_count != 2 || inst_->operand_count != 2) return;
  const Type to = mods.types[0], from = mods.types[1];
  const bool to_float = is_float(to), from_float = is_float(from);
  if ((!to_float && !is_integer(to)) || (!from_float && !is_integer(from)))
    return;  // packed: by the table
  const Mod r = mods.rounding;
  const bool integral = r == Mod::rni || r == Mod::rzi || r == Mod::rmi || r == Mod::rpi;
  const bool real = r != Mod::none && !integral;
  const auto fail_here = [&](std::string text) {
    sink_.error(inst_->opcode_span, std::move(text));
  };
  const std::string pair =
      "'cvt' from ." + std::string(text(from)) + " to ." + std::string(text(to));
  const bool old = m_.version() < 14;
  if (!to_float && !from_float) {
    if (r != Mod::none) fail_here(pair + " does not round");
    // Every value of a narrower type of the same sign fits, and of a narrower unsigned one.
    const bool fits = is_signed(from) ? is_signed(to) && bits(to) >= bits(from)
                                      : bits(to) >= bits(from) + (is_signed(to) ? 1 : 0);
    if (mods.sat && fits) fail_here(pair + " has nothing to saturate");
  } else if (to_float && !from_float) {
    if (integral) fail_here(pair + " rounds by .rn .rz .rm .rp");
    if (r == Mod::none && !old) fail_here(pair + " needs a rounding modifier");
  } else if (!to_float) {
    if (real) fail_here(pair + " rounds by .rni .rzi .rmi .rpi");
    if (r == Mod::none && !old) fail_here(pair + " needs a rounding modifier");
  } else if (to == from) {
    if (real) fail_here(pair + " rounds by .rni .rzi .rmi .rpi only");
  } else {
    // What goes with .bf16 is in the table.
    if (from == Type::bf16 || to == Type::bf16) return;
    const bool narrows = bits(to) <= bits(from);
    if (narrows && !real && !old) fail_here(pair + " needs a rounding modifier");
    if (!narrows && r != Mod::none) fail_here(pair + " does not round");
  }
  if (mods.ftz && to != Type::f32 && from != Type::f32) fail_here("'.ftz' applies to .f32 only");
}

void Checker::check_compare() {
  const Modifiers& mods = *mods_;
  const Type type = mods.types[inst_->op == Opcode::set ? 1 : 0];
  const Mod c = mods.cmp;
  bool good = false;
  const bool ordered =
      c == Mod::eq || c == Mod::ne || c == Mod::lt || c == Mod::le || c == Mod::gt || c == Mod::ge;
  if (is_bits(type)) {
    good = c == Mod::eq || c == Mod::ne;
  } else if (is_unsigned(type)) {
    good = ordered || c == Mod::lo || c == Mod::ls || c == Mod::hi || c == Mod::hs;
  } else if (is_signed(type)) {
    good = ordered;
  } else {
    good = c != Mod::lo && c != Mod::ls && c != Mod::hi && c != Mod::hs;
  }
  if (!good) {
    sink_.error(inst_->opcode_span, "comparison '." + std::string(text(c)) +
                                        "' does not go with ." + std::string(text(type)));
  }
}

/// Priorities of eviction, and how much is loaded ahead.
void Checker::check_hints() {
  const Modifiers& mods = *mods_;
  const bool outside = mods.space != Space::none && mods.space != Space::global;
  const auto find = [&](std::initializer_list<Mod> kind) {
    Mod found = Mod::none;
    for (const Mod hint : kind) {
      if (!mods.has(hint)) continue;
      const std::string name = "'." + std::string(text(hint)) + "'";
      if (outside)
        sink_.error(inst_->opcode_span, name + " is for .global and generic addresses");
      else if (mods.has(Mod::mmio))
        sink_.error(inst_->opcode_span, name + " and .mmio exclude each other");
      else if (found != Mod::none)
        sink_.error(inst_->opcode_span,
                    fmt::format("{} and .{} exclude each other", name, text(found)));
      found = hint;
    }
    return found;
  };
  const auto excluded = [&](Mod hint, std::string_view by) {
    sink_.error(inst_->opcode_span, fmt::format("'.{}' {}", text(hint), by));
  };
  const Mod first = find({Mod::L1_evict_normal, Mod::L1_evict_unchanged, Mod::L1_evict_first,
                          Mod::L1_evict_last, Mod::L1_no_allocate});
  if (first != Mod::none && (mods.cache != Mod::none || mods.sem == Mod::volatile_))
    excluded(first, "excludes cache operators and .volatile");
  const Mod second = find({Mod::L2_evict_normal, Mod::L2_evict_first, Mod::L2_evict_last});
  const bool widest =
      (mods.vec == 8 && bits(mods.type()) == 32) || (mods.vec == 4 && bits(mods.type()) == 64);
  if (second != Mod::none && !widest) excluded(second, "is for .v8 of 32 bits and .v4 of 64 bits");
  const Mod size = find({Mod::L2_64B, Mod::L2_128B, Mod::L2_256B});
  if (size != Mod::none && inst_->op == Opcode::st) excluded(size, "is for loads");
}

void Checker::check_memory_modifiers() {
  const Modifiers& mods = *mods_;
  const auto fail_here = [&](std::string text) {
    sink_.error(inst_->opcode_span, std::move(text));
  };
  const bool strong =
      mods.sem == Mod::relaxed || mods.sem == Mod::acquire || mods.sem == Mod::release;
  const std::string sem = "'." + std::string(text(mods.sem)) + "'";
  if (strong && mods.scope == Mod::none) fail_here(sem + " needs a scope: .cta .cluster .gpu .sys");
  if (!strong && mods.scope != Mod::none) fail_here("a scope needs .relaxed, .acquire or .release");
  if (mods.cache != Mod::none && (strong || mods.sem == Mod::volatile_)) {
    fail_here(sem + " excludes a cache operator");
  }
  if (mods.has(Mod::nc) && mods.space != Space::global) fail_here("'.nc' is for .global");
  if (mods.has(Mod::nc) && (mods.sem != Mod::none || mods.has(Mod::mmio)))
    fail_here("'.nc' excludes .mmio and " + (mods.sem == Mod::none ? "what orders accesses" : sem));
  if (mods.has(Mod::nc) && (mods.cache == Mod::lu || mods.cache == Mod::cv))
    fail_here("'.nc' excludes ." + std::string(text(mods.cache)));
  const bool generic = mods.space == Space::none, global = mods.space == Space::global;
  if ((strong || mods.sem == Mod::volatile_) && !generic && !global && mods.space != Space::shared)
    fail_here(sem + " is for .global, .shared and generic addresses");
  const bool mmio = mods.has(Mod::mmio);
  if (mmio && ((!generic && !global) || mods.vec > 1))
    fail_here("'.mmio' is for scalars in .global");
  if (mmio && (mods.sem != Mod::relaxed || mods.scope != Mod::sys))
    fail_here("'.mmio' needs .relaxed.sys");
  if (mods.has(Mod::L2_cache_hint) && (mmio || mods.sem == Mod::volatile_))
    fail_here("'.L2::cache_hint' excludes .mmio and .volatile");
  check_hints();
  if (unsigned{mods.vec} * bits(mods.type()) > 256) fail_here("an access is at most 256 bits");
  const bool halves =
      inst_->op == Opcode::st || mods.space == Space::const_ || mods.space == Space::param;
  const unsigned element = bits(mods.type());
  if (mods.vec == 8 && element != 32 && element != 8 && (element != 16 || !halves))
    fail_here("'.v8' is for elements of 32 and 8 bits");
  if (inst_->op == Opcode::st && mods.space == Space::param && !f_.is_entry) return;
  if (inst_->op == Opcode::st && mods.space == Space::param && inst_->operand_count > 0) {
    const Operand& target = op(0);
    if (target.symbol != kNoSymbol && m_.symbol(target.symbol).kind == SymbolKind::param) {
      sink_.error(target.span, "a kernel's parameter is read only");
    }
  }
}

}  // namespace ptx2spv::ptx
