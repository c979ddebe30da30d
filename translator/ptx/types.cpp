#include "translator/ptx/types.hpp"

#include <algorithm>
#include <iterator>
#include <unordered_map>

namespace ptx2spv::ptx {
namespace {

constexpr std::string_view kModTexts[] = {
    "",
#define MOD(name, text) text,
#include "translator/ptx/modifiers.def"
#undef MOD
};

struct TypeRow {
  TypeClass type_class;
  std::uint8_t bits;
};
constexpr TypeRow kTypes[] = {
    {TypeClass::none, 0},          {TypeClass::unsigned_int, 8},
    {TypeClass::unsigned_int, 16}, {TypeClass::unsigned_int, 32},
    {TypeClass::unsigned_int, 64}, {TypeClass::signed_int, 8},
    {TypeClass::signed_int, 16},   {TypeClass::signed_int, 32},
    {TypeClass::signed_int, 64},   {TypeClass::bits, 8},
    {TypeClass::bits, 16},         {TypeClass::bits, 32},
    {TypeClass::bits, 64},         {TypeClass::bits, 128},
    {TypeClass::floating, 16},     {TypeClass::floating, 32},
    {TypeClass::floating, 64},     {TypeClass::floating, 16},
    {TypeClass::packed, 32},       {TypeClass::packed, 32},
    {TypeClass::packed, 64},  // f16x2 bf16x2 f32x2
    {TypeClass::packed, 32},       {TypeClass::packed, 32},
    {TypeClass::packed, 32},       {TypeClass::packed, 32},
    {TypeClass::packed, 32},       {TypeClass::packed, 8},
    {TypeClass::packed, 8},  // tf32 e4m3 e5m2
    {TypeClass::packed, 16},       {TypeClass::packed, 16},
    {TypeClass::packed, 8},        {TypeClass::packed, 16},
    {TypeClass::packed, 16},       {TypeClass::packed, 16},
    {TypeClass::packed, 32},       {TypeClass::packed, 32},
    {TypeClass::packed, 16},       {TypeClass::packed, 32},
    {TypeClass::packed, 32},       {TypeClass::pred, 1},
    {TypeClass::opaque, 0},        {TypeClass::opaque, 0},
    {TypeClass::opaque, 0},
};
static_assert(std::size(kTypes) == static_cast<std::size_t>(Type::surfref) + 1);

struct SpecialRow {
  std::string_view name;
  SpecialInfo info;
};
using enum SpecialReg;
/// Sorted by name.
constexpr SpecialRow kSpecials[] = {
    {"%aggr_smem_size", {aggr_smem_size, 0, Type::u32, false, 81}},
    {"%clock", {clock, 0, Type::u32, false, 10}},
    {"%clock64", {clock64, 0, Type::u64, false, 20}},
    {"%clock_hi", {clock_hi, 0, Type::u32, false, 50}},
    {"%cluster_ctaid", {cluster_ctaid, 0, Type::u32, true, 78}},
    {"%cluster_ctarank", {cluster_ctarank, 0, Type::u32, false, 78}},
    {"%cluster_nctaid", {cluster_nctaid, 0, Type::u32, true, 78}},
    {"%cluster_nctarank", {cluster_nctarank, 0, Type::u32, false, 78}},
    {"%clusterid", {clusterid, 0, Type::u32, true, 78}},
    {"%ctaid", {ctaid, 0, Type::u32, true, 10}},
    {"%current_graph_exec", {current_graph_exec, 0, Type::u64, false, 80}},
    {"%dynamic_smem_size", {dynamic_smem_size, 0, Type::u32, false, 41}},
    {"%globaltimer", {globaltimer, 0, Type::u64, false, 31}},
    {"%globaltimer_hi", {globaltimer_hi, 0, Type::u32, false, 31}},
    {"%globaltimer_lo", {globaltimer_lo, 0, Type::u32, false, 31}},
    {"%gridid", {gridid, 0, Type::u64, false, 10}},
    {"%is_explicit_cluster", {is_explicit_cluster, 0, Type::pred, false, 78}},
    {"%laneid", {laneid, 0, Type::u32, false, 13}},
    {"%lanemask_eq", {lanemask_eq, 0, Type::u32, false, 20}},
    {"%lanemask_ge", {lanemask_ge, 0, Type::u32, false, 20}},
    {"%lanemask_gt", {lanemask_gt, 0, Type::u32, false, 20}},
    {"%lanemask_le", {lanemask_le, 0, Type::u32, false, 20}},
    {"%lanemask_lt", {lanemask_lt, 0, Type::u32, false, 20}},
    {"%nclusterid", {nclusterid, 0, Type::u32, true, 78}},
    {"%nctaid", {nctaid, 0, Type::u32, true, 10}},
    {"%nsmid", {nsmid, 0, Type::u32, false, 20}},
    {"%ntid", {ntid, 0, Type::u32, true, 10}},
    {"%nwarpid", {nwarpid, 0, Type::u32, false, 20}},
    {"%reserved_smem_offset_0", {reserved_smem_offset, 0, Type::b32, false, 76}},
    {"%reserved_smem_offset_1", {reserved_smem_offset, 1, Type::b32, false, 76}},
    {"%reserved_smem_offset_begin", {reserved_smem_offset_begin, 0, Type::b32, false, 76}},
    {"%reserved_smem_offset_cap", {reserved_smem_offset_cap, 0, Type::b32, false, 76}},
    {"%reserved_smem_offset_end", {reserved_smem_offset_end, 0, Type::b32, false, 76}},
    {"%smid", {smid, 0, Type::u32, false, 13}},
    {"%tid", {tid, 0, Type::u32, true, 10}},
    {"%total_smem_size", {total_smem_size, 0, Type::u32, false, 41}},
    {"%warpid", {warpid, 0, Type::u32, false, 13}},
};
static_assert(std::is_sorted(std::begin(kSpecials), std::end(kSpecials),
                             [](const SpecialRow& a, const SpecialRow& b) {
                               return a.name < b.name;
                             }));

/// The numbered ones: %pm0..7, %pm0_64..7_64, %envreg0..31.
struct NumberedSpecials {
  SpecialInfo pm[8], pm_64[8], envreg[32];
  constexpr NumberedSpecials() : pm{}, pm_64{}, envreg{} {
    for (std::uint8_t i = 0; i < 8; ++i) {
      pm[i] = {SpecialReg::pm, i, Type::u32, false, 13};
      pm_64[i] = {SpecialReg::pm_64, i, Type::u64, false, 40};
    }
    for (std::uint8_t i = 0; i < 32; ++i) envreg[i] = {SpecialReg::envreg, i, Type::b32, false, 21};
  }
};
constexpr NumberedSpecials kNumbered;

}  // namespace

std::string_view text(Mod mod) { return kModTexts[static_cast<std::size_t>(mod)]; }

Mod find_mod(std::string_view text) {
  static const auto map = [] {
    std::unordered_map<std::string_view, Mod> m;
    for (std::size_t i = 1; i < std::size(kModTexts); ++i)
      m.emplace(kModTexts[i], static_cast<Mod>(i));
    return m;
  }();
  const auto it = map.find(text);
  return it == map.end() ? Mod::none : it->second;
}

TypeClass type_class(Type type) { return kTypes[static_cast<std::size_t>(type)].type_class; }
unsigned bits(Type type) { return kTypes[static_cast<std::size_t>(type)].bits; }

std::string_view text(Space space) {
  constexpr std::string_view kTexts[] = {"generic", "reg",   "sreg",   "const", "global",
                                         "local",   "param", "shared", "tex"};
  return kTexts[static_cast<std::size_t>(space)];
}

const SpecialInfo* find_special(std::string_view name) {
  const auto* row =
      std::lower_bound(std::begin(kSpecials), std::end(kSpecials), name,
                       [](const SpecialRow& r, std::string_view n) { return r.name < n; });
  if (row != std::end(kSpecials) && row->name == name) return &row->info;
  const auto number = [](std::string_view digits) {
    unsigned value = 0;
    if (digits.empty() || digits.size() > 2 || (digits.size() == 2 && digits[0] == '0')) return 99u;
    for (const char c : digits) {
      if (c < '0' || c > '9') return 99u;
      value = value * 10 + static_cast<unsigned>(c - '0');
    }
    return value;
  };
  if (name.starts_with("%envreg")) {
    const unsigned i = number(name.substr(7));
    return i < 32 ? &kNumbered.envreg[i] : nullptr;
  }
  if (name.starts_with("%pm")) {
    const bool wide = name.ends_with("_64");
    const unsigned i = number(name.substr(3, name.size() - 3 - (wide ? 3 : 0)));
    if (i < 8) return wide ? &kNumbered.pm_64[i] : &kNumbered.pm[i];
  }
  return nullptr;
}

}  // namespace ptx2spv::ptx
