#include "tools/ptx2spv/supported.hpp"

#include <cstdio>

namespace ptx2spv::tools {
namespace {

struct Row {
  const char *syntax, *slots;
  int version, target;
  bool refused;
};

constexpr Row kRows[] = {
#define OP(name, text, section)
#define FORM(syntax, slots, operands, version, target) {syntax, slots, version, target, false},
#define REFUSED(syntax, why, version, target) {syntax, why, version, target, true},
#include "translator/ptx/instructions.def"
#undef OP
#undef FORM
#undef REFUSED
};

}  // namespace

std::string supported_forms() {
  std::string accepted, refused;
  for (const Row& row : kRows) {
    if (row.refused) {
      refused += "  " + std::string(row.syntax) + ": " + row.slots + "\n";
      continue;
    }
    char since[48];
    std::snprintf(since, sizeof since, "PTX %d.%d, sm_%d", row.version / 10, row.version % 10,
                  row.target);
    accepted += std::string(row.syntax) + "\n    " + since;
    if (*row.slots) accepted += "; " + std::string(row.slots);
    accepted += '\n';
  }
  return accepted + "\nrefused by name:\n" + refused;
}

}  // namespace ptx2spv::tools
