// PTX's scalar types, state spaces, modifiers and special registers as enumerations.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace ptx2spv::ptx {

/// A modifier by its spelling, without the dot.
enum class Mod : std::uint16_t {
  none,
#define MOD(name, text) name,
#include "translator/ptx/modifiers.def"
#undef MOD
  count_
};
std::string_view text(Mod mod);  ///< without the dot
Mod find_mod(std::string_view text);

/// A fundamental, packed or opaque type.
enum class Type : std::uint8_t {
  none,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  b8,
  b16,
  b32,
  b64,
  b128,
  f16,
  f32,
  f64,
  bf16,
  f16x2,
  bf16x2,
  f32x2,
  u16x2,
  s16x2,
  u8x4,
  s8x4,
  tf32,
  e4m3,
  e5m2,
  e4m3x2,
  e5m2x2,
  e2m1x2,
  e2m3x2,
  e3m2x2,
  ue8m0x2,
  e4m3x4,
  e5m2x4,
  e2m1x4,
  e2m3x4,
  e3m2x4,
  pred,
  texref,
  samplerref,
  surfref
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
  tid,
  ntid,
  laneid,
  warpid,
  nwarpid,
  ctaid,
  nctaid,
  smid,
  nsmid,
  gridid,
  is_explicit_cluster,
  clusterid,
  nclusterid,
  cluster_ctaid,
  cluster_nctaid,
  cluster_ctarank,
  cluster_nctarank,
  lanemask_eq,
  lanemask_le,
  lanemask_lt,
  lanemask_ge,
  lanemask_gt,
  clock,
  clock_hi,
  clock64,
  pm,      ///< pm0..pm7, Operand::index
  pm_64,   ///< pm0_64..pm7_64
  envreg,  ///< envreg0..envreg31
  globaltimer,
  globaltimer_lo,
  globaltimer_hi,
  reserved_smem_offset_begin,
  reserved_smem_offset_end,
  reserved_smem_offset_cap,
  reserved_smem_offset,  ///< _0 and _1
  total_smem_size,
  aggr_smem_size,
  dynamic_smem_size,
  current_graph_exec,
  warp_size
};
struct SpecialInfo {
  SpecialReg reg;
  std::uint8_t index;  ///< of pm, envreg
  Type type;
  bool vector;           ///< has .x .y .z (and .w)
  std::uint8_t version;  ///< first PTX version, 10 * major + minor
};
/// nullptr when `name` (with its %) is no special register.
const SpecialInfo* find_special(std::string_view name);

}  // namespace ptx2spv::ptx
