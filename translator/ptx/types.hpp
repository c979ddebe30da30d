// PTX's scalar types, state spaces, modifiers and special registers as enumerations.
#pragma once

#include <cstdint>
#include <string_view>

namespace ptx2spv::ptx {

/// A modifier by its spelling, without the dot.
enum class Mod : std::uint16_t {
  none,
#define MOD(name, text) name,
#include "translator/ptx/modifiers.def"
  count_
};
std::string_view text(Mod mod);  ///< without the dot
Mod find_mod(std::string_view text);

/// A fundamental, packed or opaque type.
enum class Type : std::uint8_t {
  none,
#define TYPE(name, ...) name,
#include "translator/ptx/modifiers.def"
};
static_assert(static_cast<int>(Type::surfref) == static_cast<int>(Mod::surfref));
constexpr Mod to_mod(Type type) { return static_cast<Mod>(type); }
constexpr Type to_type(Mod mod) {
  return mod <= Mod::surfref ? static_cast<Type>(mod) : Type::none;
}
inline std::string_view text(Type type) { return text(to_mod(type)); }

enum class TypeClass : std::uint8_t {
  none,
  bits,
  unsigned_int,
  signed_int,
  floating,
  packed,
  pred,
  opaque
};
TypeClass type_class(Type type);
unsigned bits(Type type);  ///< 0 for none and opaque types, 1 for pred
inline unsigned bytes(Type type) { return bits(type) / 8; }
inline bool is_opaque(Type type) { return type >= Type::texref; }
inline bool is_signed(Type type) { return type >= Type::s8 && type <= Type::s64; }
inline bool is_unsigned(Type type) { return type >= Type::u8 && type <= Type::u64; }
inline bool is_integer(Type type) { return type >= Type::u8 && type <= Type::s64; }
inline bool is_bits(Type type) { return type >= Type::b8 && type <= Type::b128; }
inline bool is_float(Type type) { return type_class(type) == TypeClass::floating; }

enum class Space : std::uint8_t {
  none,  ///< generic in memory instructions
  reg,
  sreg,
  const_,
  global,
  local,
  param,
  shared,
  tex
};
std::string_view text(Space space);

enum class Linkage : std::uint8_t { none, extern_, visible, weak, common };

enum class SpecialReg : std::uint8_t {
#define SPECIAL(name, type, vector, version, target) name,
#include "translator/ptx/special_registers.def"
  pm,      ///< pm0..pm7, Operand::index
  pm_64,   ///< pm0_64..pm7_64
  envreg,  ///< envreg0..envreg31
  warp_size
};
struct SpecialInfo {
  SpecialReg reg;
  std::uint8_t index;  ///< of pm, envreg
  Type type;
  bool vector;           ///< has .x .y .z (and .w)
  std::uint8_t version;  ///< first PTX version, 10 * major + minor
  std::uint8_t target;   ///< first sm_ number
};
/// nullptr when `name` (with its %) is no special register.
const SpecialInfo* find_special(std::string_view name);

}  // namespace ptx2spv::ptx
