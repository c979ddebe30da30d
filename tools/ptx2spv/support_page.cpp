#include <algorithm>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include "tools/ptx2spv/pages.hpp"

namespace ptx2spv::tools {
namespace {

struct Row {
  enum class Kind : std::uint8_t { op, form, refused, younger } kind;
  const char *first, *second;
  int version, target;
};

constexpr Row kRows[] = {
#define OP(name, text, section, ...) {Row::Kind::op, text, section, 0, 0},
#define FORM(syntax, slots, operands, version, target, ...) \
  {Row::Kind::form, syntax, slots, version, target},
#define REFUSED(syntax, why, version, target, ...) \
  {Row::Kind::refused, syntax, why, version, target},
#define YOUNGER(mods, version, target, ...) {Row::Kind::younger, mods, "", version, target},
#include "translator/ptx/instructions.def"
};

std::string since(const Row& row) {
  return fmt::format(" | {}.{} | sm_{}{} |\n", row.version / 10, row.version % 10, row.target % 128,
                     row.target < 128 ? "" : "a");
}

/// "`.a`, `.b` with `.c`" of a row's "a b + c".
std::string modifiers(std::string_view text) {
  std::string out;
  bool first = true;  // of its group
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word == "+") {
      out += " with ";
      first = true;
    } else if (!word.empty()) {
      out += (first ? "`." : ", `.") + std::string(word) + "`";
      first = false;
    }
  }
  return out;
}

std::string forms(Row::Kind kind) {
  std::string out;
  const Row* op = nullptr;
  for (const Row& row : kRows) {
    if (row.kind == Row::Kind::op) op = &row;
    if (row.kind != kind) continue;
    out += "| `" + std::string(row.first) + "` | " + row.second + " | " + op->second;
    out += kind == Row::Kind::form ? since(row) : " |\n";
  }
  return out;
}

/// Modifiers that are younger than their forms; those of several opcodes are one row.
std::string younger() {
  struct Line {
    std::string modifiers, since, of;
  };
  std::vector<Line> lines;
  std::string op = "all";
  for (const Row& row : kRows) {
    if (row.kind == Row::Kind::op) op = "`" + std::string(row.first) + "`";
    if (row.kind != Row::Kind::younger) continue;
    Line line{modifiers(row.first), since(row), op};
    const auto same = std::ranges::find_if(lines, [&](const Line& each) {
      return each.modifiers == line.modifiers && each.since == line.since;
    });
    if (same == lines.end()) {
      lines.push_back(std::move(line));
    } else {
      same->of += ", " + op;
    }
  }
  std::string out;
  for (const Line& line : lines) out += "| " + line.modifiers + " | " + line.of + line.since;
  return out;
}

constexpr const char* kHead = R"(# Accepted instructions

The first table lists each form in the manual's notation, with the PTX version and target that
introduced it. A name in a form stands for the modifiers under "where"; braces mark optional parts.
Some modifiers came later than their form: the [second table](#modifiers-that-came-later) has their
versions. A module whose version or target lacks a form or modifier is an error, unless `--relax`
is given. [surfaces.md](surfaces.md) describes the translation of surface instructions,
[limits.md](../user/limits.md) the restrictions of single forms.

)";

constexpr const char* kYounger = R"(
## Modifiers that came later

The higher of these versions and those of the form applies.

)";

constexpr const char* kNotes = R"(
Surface and texture instructions with a handle in a register need PTX 3.1 and sm_20. `.unified`
behind an address (`ld`, `ldu`, `atom`) needs PTX 8.0 and sm_90. PTX 6.4 removed `shfl` and `vote`
without `.sync` for sm_70 and later. Special registers have the versions of the manual.

## Refused by name

Vulkan compute has nothing that corresponds to these. The message names them.

)";

}  // namespace

std::string support_page() {
  return std::string(kHead) + "## Forms\n\n| form | where | manual | PTX | target |\n" +
         "|---|---|---|---|---|\n" + forms(Row::Kind::form) + kYounger +
         "| modifier | of | PTX | target |\n|---|---|---|---|\n" + younger() + kNotes +
         "| instruction | what it is | manual |\n|---|---|---|\n" + forms(Row::Kind::refused);
}

}  // namespace ptx2spv::tools
