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
};

struct TypeRow {
  TypeClass type_class;
  std::uint8_t bits;
};
constexpr TypeRow kTypes[] = {
    {TypeClass::none, 0},
#define TYPE(name, type_class, bits) {TypeClass::type_class, bits},
#include "translator/ptx/modifiers.def"
};

struct SpecialRow {
  std::string_view name;
  SpecialInfo info;
};
constexpr SpecialRow kSpecials[] = {
#define SPECIAL(name, type, vector, version, target) \
  {"%" #name, {SpecialReg::name, 0, Type::type, vector, version, target}},
#include "translator/ptx/special_registers.def"
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
      const bool first = i < 4;
      pm[i] = {SpecialReg::pm,
               i,
               Type::u32,
               false,
               std::uint8_t(first ? 13 : 30),
               std::uint8_t(first ? 10 : 20)};
      pm_64[i] = {SpecialReg::pm_64, i, Type::u64, false, 40, 50};
    }
    for (std::uint8_t i = 0; i < 32; ++i)
      envreg[i] = {SpecialReg::envreg, i, Type::b32, false, 21, 10};
  }
};
constexpr NumberedSpecials kNumbered;

}  // namespace

std::string_view text(Mod mod) { return kModTexts[static_cast<std::size_t>(mod)]; }

Mod find_mod(std::string_view text) {
  static const auto& map = *new auto([] {
    std::unordered_map<std::string_view, Mod> m;
    for (std::size_t i = 1; i < std::size(kModTexts); ++i)
      m.emplace(kModTexts[i], static_cast<Mod>(i));
    return m;
  }());
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
