#include "tools/ptx2spv/supported.hpp"

#include <cstdint>
#include <cstdio>

namespace ptx2spv::tools {
namespace {

struct FormRow {
  enum class Kind : std::uint8_t { form, refused, younger } kind;
  const char *syntax, *slots;
  int version, target;
};

constexpr FormRow kRows[] = {
#define FORM(syntax, slots, operands, version, target) \
  {FormRow::Kind::form, syntax, slots, version, target},
#define REFUSED(syntax, why, version, target) \
  {FormRow::Kind::refused, syntax, why, version, target},
#define YOUNGER(mods, version, target, ...) {FormRow::Kind::younger, mods, "", version, target},
#include "translator/ptx/instructions.def"
};

}  // namespace

std::string supported_forms() {
  std::string accepted = "any instruction\n", refused;
  for (const FormRow& row : kRows) {
    if (row.kind == FormRow::Kind::refused) {
      refused += "  " + std::string(row.syntax) + ": " + row.slots + "\n";
      continue;
    }
    char since[48];
    std::snprintf(since, sizeof since, "PTX %d.%d, sm_%d%s", row.version / 10, row.version % 10,
                  row.target % 128, row.target < 128 ? "" : "a");
    if (row.kind == FormRow::Kind::younger) {  // below the forms of its opcode
      accepted += "    with " + std::string(row.syntax) + ": " + since + "\n";
      continue;
    }
    accepted += std::string(row.syntax) + "\n    " + since;
    if (*row.slots) accepted += "; " + std::string(row.slots);
    accepted += '\n';
  }
  return accepted + "\nrefused by name:\n" + refused;
}

}  // namespace ptx2spv::tools
