#include "ptx2spv/sanitize.hpp"

namespace ptx2spv {

const std::vector<CheckRow>& check_rows() {
  static const auto& rows = *new std::vector<CheckRow>{
#define PTX2SPV_CHECK(name, bit, in_all, help) {#name, 1u << (bit), in_all, help},
#include "ptx2spv/sanitize.def"
  };
  return rows;
}

std::optional<std::uint32_t> parse_checks(std::string_view text, std::string& unknown) {
  std::uint32_t checks = 0;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view name = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    if (name.empty() || name == "none") continue;
    if (name == "all") {
      checks |= kAllChecks;
      continue;
    }
    std::uint32_t bit = 0;
    for (const CheckRow& row : check_rows())
      if (row.name == name) bit = row.bit;
    if (!bit) {
      unknown = name;
      return std::nullopt;
    }
    checks |= bit;
  }
  return checks;
}

std::string unknown_check(std::string_view name) {
  std::string text = "there is no check '" + std::string(name) + "'; there are all, none";
  for (const CheckRow& row : check_rows()) text += ", " + std::string(row.name);
  return text;
}

const char* to_string(MemorySpace space) {
  switch (space) {
    case MemorySpace::generic: return "generic";
    case MemorySpace::global: return "global";
    case MemorySpace::shared: return "shared";
    case MemorySpace::local: return "local";
    case MemorySpace::constant: return "constant";
    case MemorySpace::param: return "parameter";
    case MemorySpace::surface: return "surface";
    case MemorySpace::texture: return "texture";
  }
  return "unknown";
}

const char* to_string(AccessKind kind) {
  switch (kind) {
    case AccessKind::load: return "load";
    case AccessKind::store: return "store";
    case AccessKind::atomic: return "atomic";
    case AccessKind::barrier: return "barrier";
    case AccessKind::warp_operation: return "warp operation";
    case AccessKind::wait: return "wait";
  }
  return "access";
}

}  // namespace ptx2spv
