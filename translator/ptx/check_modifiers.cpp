// Modifiers that exclude or require each other, and the versions at which forms appeared.
#include <algorithm>

#include "translator/ptx/checker.hpp"

namespace ptx2spv::ptx {

namespace {

/// Modifiers that came later than the forms they modify.
struct ModifierAge {
  Mod mod;
  std::uint8_t version, target;
};
constexpr ModifierAge kModifierAges[] = {
    {Mod::weak, 60, 10},
    {Mod::relaxed, 60, 60},
    {Mod::acquire, 60, 60},
    {Mod::release, 60, 60},
    {Mod::acq_rel, 60, 60},
    {Mod::sc, 60, 70},
    {Mod::cluster, 78, 90},
    {Mod::mmio, 82, 70},
    {Mod::shared_cta, 78, 30},
    {Mod::shared_cluster, 78, 90},
    {Mod::param_entry, 77, 10},
    {Mod::param_func, 77, 10},
    {Mod::nc, 31, 32},
    {Mod::NaN, 70, 80},
    {Mod::L2_cache_hint, 74, 80},
    {Mod::L1_evict_normal, 74, 70},
    {Mod::L1_evict_unchanged, 74, 70},
    {Mod::L1_evict_first, 74, 70},
    {Mod::L1_evict_last, 74, 70},
    {Mod::L1_no_allocate, 74, 70},
    {Mod::L2_64B, 74, 75},
    {Mod::L2_128B, 74, 75},
    {Mod::L2_256B, 74, 80},
};

/// What surface instructions need beyond their form: needs(version, target, what) reports it.
template <typename Needs>
bool surface_versions(Opcode op, const Modifiers& mods, Needs&& needs) {
  if (op == Opcode::suq) {
    if ((mods.query == Mod::channel_data_type || mods.query == Mod::channel_order) &&
        !needs(21, 10, "this query"))
      return false;
    if (mods.query == Mod::array_size && !needs(41, 10, "'.array_size'")) return false;
    return mods.query != Mod::memory_layout || needs(42, 10, "'.memory_layout'");
  }
  // The manual has only .trap on sm_1x, which ptxas no longer looks at.
  if ((mods.clamp == Mod::clamp || mods.clamp == Mod::zero) &&
      !needs(20, 20, "'." + std::string(text(mods.clamp)) + "'"))
    return false;
  if (mods.geom == Mod::d3 && op != Opcode::sured &&
      !needs(30, 20, "a surface instruction with .3d"))
    return false;
  if (mods.geom == Mod::a1d || mods.geom == Mod::a2d) {
    if (mods.has(Mod::p) ? !needs(41, 30, "'sust.p' on an array")
                         : !needs(30, 20, "a surface instruction on an array"))
      return false;
  }
  if (mods.cache != Mod::none && !needs(20, 20, "a cache operator on a surface instruction"))
    return false;
  const bool wide_extreme = op == Opcode::sured && (mods.op == Mod::min || mods.op == Mod::max) &&
                            bits(mods.type()) == 64;
  return !wide_extreme || needs(81, 50, "a 64-bit minimum or maximum on a surface");
}

}  // namespace

bool Checker::check_versions() {
  if (options_.relax_versions) return true;
  // The message is made only when it is needed: this runs for every instruction.
  if (m_.version() < form_->version || m_.sm < form_->target) {
    return needs(form_->version, form_->target,
                 "'" + std::string(m_.text(inst_->opcode_span)) + "'");
  }
  const Modifiers& mods = *mods_;
  if (m_.version() < 82 || m_.sm < 90) {
    for (const ModifierAge& age : kModifierAges) {
      if (!mods.has(age.mod) || (m_.version() >= age.version && m_.sm >= age.target)) continue;
      return needs(age.version, age.target, "'." + std::string(text(age.mod)) + "'");
    }
  }
  switch (inst_->op) {
    case Opcode::mov:
    case Opcode::cvt:
      for (const Operand& operand : ops()) {
        if (operand.kind != OperandKind::special) continue;
        const std::string_view written = m_.text(operand.span);
        const SpecialInfo* info =
            find_special(written.substr(0, std::min(written.find('.'), written.size())));
        if (info != nullptr && !needs(info->version, 10, "'" + std::string(written) + "'"))
          return false;
      }
      break;
    case Opcode::atom:
    case Opcode::red:
      if (mods.scope != Mod::none && !needs(50, 60, "a scope on an atomic operation")) return false;
      if (bits(mods.type()) == 64 &&
          (mods.op == Mod::min || mods.op == Mod::max || mods.op == Mod::and_ ||
           mods.op == Mod::or_ || mods.op == Mod::xor_) &&
          !needs(31, 32, "this 64-bit atomic operation"))
        return false;
      break;
    case Opcode::add:
    case Opcode::sub:
    case Opcode::mad:
    case Opcode::addc:
    case Opcode::subc:
    case Opcode::madc:
      if (bits(mods.type()) == 64 && mods.cc && !needs(43, 10, "a 64-bit carry")) return false;
      break;
    case Opcode::bar:
    case Opcode::barrier:
      if (mods.has(Mod::cta) && !needs(78, 30, "'.cta' of a barrier")) return false;
      break;
    case Opcode::txq:
      if ((mods.query == Mod::array_size || mods.query == Mod::num_mipmap_levels ||
           mods.query == Mod::num_samples) &&
          !needs(41, 10, "this query"))
        return false;
      break;
    case Opcode::rsqrt:
      if (mods.ftz && mods.type() == Type::f64 && !needs(40, 20, "'rsqrt.approx.ftz.f64'"))
        return false;
      break;
    case Opcode::suld:
    case Opcode::sust:
    case Opcode::sured:
    case Opcode::suq:
      return surface_versions(inst_->op, mods,
                              [this](unsigned version, unsigned target, std::string_view what) {
                                return needs(version, target, what);
                              });
    case Opcode::ld:
    case Opcode::st:
      if (unsigned{mods.vec} * bits(mods.type()) > 128 && !needs(88, 100, "an access of 256 bits"))
        return false;
      if ((mods.sem == Mod::relaxed || mods.sem == Mod::acquire || mods.sem == Mod::release) &&
          !needs(60, 70, "'." + std::string(text(mods.sem)) + "'"))
        return false;
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
    case Opcode::bfe: check_range(2, 3, 0, 255); break;
    case Opcode::bfi: check_range(3, 4, 0, 255); break;
    case Opcode::discard:
    case Opcode::applypriority: check_range(1, 1, 128, 128); break;
    default: break;
  }
}

/// Constants among operands `first` to `last` lie in [low, high].
void Checker::check_range(unsigned first, unsigned last, std::uint64_t low, std::uint64_t high) {
  for (unsigned i = first; i <= last && i < inst_->operand_count; ++i) {
    const Operand& operand = op(i);
    if (operand.kind != OperandKind::imm_int || (operand.value >= low && operand.value <= high))
      continue;
    fail(operand, low == high
                      ? "this constant is " + std::to_string(low)
                      : "this constant is " + std::to_string(low) + " to " + std::to_string(high));
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
  const bool generic = mods.space == Space::none, global = mods.space == Space::global;
  if ((strong || mods.sem == Mod::volatile_) && !generic && !global && mods.space != Space::shared)
    fail_here(sem + " is for .global, .shared and generic addresses");
  if (mods.has(Mod::mmio) && ((!generic && !global) || mods.vec > 1))
    fail_here("'.mmio' is for scalars in .global");
  for (const Mod hint :
       {Mod::L1_evict_normal, Mod::L1_evict_unchanged, Mod::L1_evict_first, Mod::L1_evict_last,
        Mod::L1_no_allocate, Mod::L2_evict_normal, Mod::L2_evict_first, Mod::L2_evict_last,
        Mod::L2_64B, Mod::L2_128B, Mod::L2_256B}) {
    if (!generic && !global && mods.has(hint))
      fail_here("'." + std::string(text(hint)) + "' is for .global and generic addresses");
  }
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
