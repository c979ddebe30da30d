// What a module may hold by its PTX version and target, where no instruction is concerned: the
// targets themselves, initialisers, attributes, opaque types; and how much .const it may declare.
#include <algorithm>

#include "translator/ptx/parser_impl.hpp"

namespace ptx2spv::ptx {
namespace {

/// The first PTX version of each target (manual, release notes; ptxas 13 agrees). A row without a
/// suffix is for the plain target and for those with suffixes that have no row of their own.
struct TargetRow {
  std::uint16_t sm;
  char suffix;
  std::uint8_t version;
};
constexpr TargetRow kTargets[] = {
    {10, 0, 10},  {11, 0, 10},   {12, 0, 12},  {13, 0, 12},    {20, 0, 20},  {21, 0, 20},
    {30, 0, 30},  {32, 0, 40},   {35, 0, 31},  {37, 0, 41},    {50, 0, 40},  {52, 0, 41},
    {53, 0, 42},  {60, 0, 50},   {61, 0, 50},  {62, 0, 50},    {70, 0, 60},  {72, 0, 61},
    {75, 0, 63},  {80, 0, 70},   {86, 0, 71},  {87, 0, 74},    {88, 0, 73},  {89, 0, 78},
    {90, 0, 78},  {90, 'a', 80}, {100, 0, 86}, {100, 'f', 88}, {101, 0, 86}, {101, 'f', 88},
    {103, 0, 88}, {110, 0, 90},  {120, 0, 87}, {120, 'f', 88}, {121, 0, 88},
};

struct FeatureRow {
  Feature feature;
  std::uint8_t version, target;
  std::string_view name;
};
constexpr FeatureRow kFeatures[] = {
    {Feature::opaque_type, 15, 10, "an opaque type"},
    {Feature::opaque_pointer, 43, 10, "a '.ptr' to an opaque type"},
    {Feature::unsized_parameter, 60, 30, "a parameter without a size"},
    {Feature::type_f16x2, 10, 53, "a variable of type .f16x2"},
    {Feature::type_b128, 83, 70, "a variable of type .b128"},
    {Feature::init_address, 21, 10, "an address in an initialiser"},
    {Feature::init_kernel, 31, 35, "a kernel's name in an initialiser"},
    {Feature::init_generic, 31, 20, "generic() in an initialiser"},
    {Feature::init_mask, 71, 20, "a mask in an initialiser"},
    {Feature::init_mask_constant, 72, 20, "a mask of a constant"},
    {Feature::attribute, 40, 10, "'.attribute'"},
    {Feature::managed, 40, 30, "'.managed'"},
    {Feature::unified, 80, 90, "'.unified'"},
    {Feature::alias, 63, 30, "'.alias'"},
    {Feature::section, 20, 10, "'.section'"},
    {Feature::section_offset, 32, 10, "an offset in a '.section'"},
    {Feature::section_label, 70, 10, "a label in a '.section'"},
    {Feature::section_difference, 75, 10, "a difference in a '.section'"},
    {Feature::file_size, 32, 10, "a timestamp or size in '.file'"},
    {Feature::call_prototype, 21, 20, "'.callprototype'"},
    {Feature::weak, 31, 10, "'.weak'"},
    {Feature::common, 50, 10, "'.common'"},
    {Feature::pragma, 20, 10, "'.pragma'"},
    {Feature::kernel_prototype, 30, 10, "a kernel without a body"},
    {Feature::kernel_parameters, 14, 10, "a list of a kernel's parameters"},
    {Feature::large_parameters, 81, 70, "a kernel with more than 4352 bytes of parameters"},
    {Feature::pointer, 22, 10, "'.ptr'"},
    {Feature::function_param, 20, 20, "a .param variable of a function"},
    {Feature::body_param, 20, 10, "a .param variable in a body"},
};

constexpr std::uint64_t kConstantBytes = 64 * 1024;

}  // namespace

bool Parser::feature(Feature wanted, Span span) {
  if (options_.relax_versions) return true;
  const FeatureRow& row = *std::find_if(std::begin(kFeatures), std::end(kFeatures),
                                        [&](const FeatureRow& r) { return r.feature == wanted; });
  std::string older = m_.older_than(row.version, row.target, row.name);
  return older.empty() || error(span, std::move(older));
}

/// A module's version must know its target.
void Parser::check_target(Span span) {
  if (options_.relax_versions) return;
  const TargetRow* row = nullptr;
  for (const TargetRow& candidate : kTargets) {
    if (candidate.sm == m_.sm && (candidate.suffix == 0 || candidate.suffix == m_.sm_suffix))
      row = &candidate;
  }
  const bool suffixed = m_.sm_suffix == 0 || m_.sm >= (m_.sm_suffix == 'f' ? 100u : 90u);
  if (row == nullptr || !suffixed) {
    error(span, fmt::format("unknown target '{}'", text(span)));
  } else if (std::string older =
                 m_.older_than(row->version, 0, fmt::format("target '{}'", text(span)));
             !older.empty()) {
    error(span, std::move(older));
  }
}

/// All .const variables of a module share 64 KiB, those of function bodies too; the first that does
/// not fit is named.
void Parser::check_constants() {
  std::uint64_t at = 0;
  for (const Variable& v : m_.variables) {
    if (v.space != Space::const_ || v.linkage == Linkage::extern_ || v.unsized) continue;
    if (v.align > 1) at = (at + v.align - 1) / v.align * v.align;
    at += v.size;
    if (at <= kConstantBytes) continue;
    error(v.span, fmt::format("the .const variables of a module have {} bytes at most; with '{}' "
                              "they have {}",
                              kConstantBytes, m_.symbol(v.symbol).name, at));
    return;
  }
}

}  // namespace ptx2spv::ptx
