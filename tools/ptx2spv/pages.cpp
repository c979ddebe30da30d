#include "tools/ptx2spv/pages.hpp"

#include <array>
#include <cstdint>

#include <fmt/format.h>

#include "ptx2spv/profile.hpp"
#include "translator/pipeline.hpp"

namespace ptx2spv::tools {
namespace {

constexpr const char* kCapabilities = R"(# Capabilities of device profiles

[profiles.md](profiles.md) explains the four groups.
)";

constexpr const char* kPasses = R"(# Passes

The rows of `translator/pass_table.cpp` in their order; [design.md](design.md#passes) explains the
phases. `ptx2spv --dump-ir` prints the function after each pass that ran, `--time-passes` its time;
`--stop-after` ends with one, `--skip` leaves an optional one out, and `dev/bisect` finds the
optional pass that makes a result wrong.

)";

/// The rows of one group: the named profiles that have them, and what they are.
std::string group_table(Capability::Group group) {
  const bool workarounds = group == Capability::Group::workaround;
  std::string out = "| name | portable | swiftshader | lavapipe | nvidia | ";
  out += workarounds ? "seen on | symptom | pass | test |\n" : "what it is |\n";
  out += workarounds ? "|---|---|---|---|---|---|---|---|---|\n" : "|---|---|---|---|---|---|\n";
  for (const Capability& each : capabilities()) {
    if (each.group != group) continue;
    out += "| `" + std::string(each.name) + "`";
    for (const bool has : each.named) out += has ? " | yes" : " | -";
    if (workarounds) out += " | " + std::string(each.seen);
    out += " | " + std::string(each.help) + " |";
    if (workarounds)
      out += " `" + std::string(each.pass) + "` | `" + std::string(each.test) + "` |";
    out += "\n";
  }
  return out;
}

std::string limits_table() {
  std::string head = "| limit |", rule = "|---|";
  std::array<std::string, 6> rows = {
      "| subgroup size, 0: it varies |", "| invocations per workgroup |",
      "| bytes of shared memory |",      "| iterations after which loops are cut off, 0: none |",
      "| surfaces bound as slots |",     "| instructions of routines that are copied |"};
  for (const std::string_view name : profile_names()) {
    const auto profile = find_profile(name);
    if (!profile) continue;
    head += " " + std::string(name) + " |";
    rule += "---|";
    const std::uint32_t limits[] = {profile->subgroup_size,    profile->max_workgroup_invocations,
                                    profile->max_shared_bytes, profile->max_loop_iterations,
                                    profile->max_slots,        profile->routine_budget};
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] += fmt::format(" {} |", limits[i]);
  }
  std::string out = head + "\n" + rule + "\n";
  for (const std::string& row : rows) out += row + "\n";
  return out;
}

}  // namespace

std::string capabilities_page() {
  using Group = Capability::Group;
  return std::string(kCapabilities) + "\n## Features\n\n" + group_table(Group::feature) +
         "\n## Exactness\n\n" + group_table(Group::exactness) + "\n## Costs\n\n" +
         group_table(Group::cost) + "\n## Workarounds\n\n" + group_table(Group::workaround) +
         "\n## Limits\n\n" + limits_table();
}

std::string passes_page() {
  constexpr std::string_view kPhases[] = {"front",  "memory",   "threads",     "structure",
                                          "values", "legalise", "workarounds", "emission"};
  std::string out = std::string(kPasses) +
                    "| phase | pass | needs | optional | why there |\n|---|---|---|---|---|\n";
  constexpr std::string_view kForms[] = {"variables", "structured", "SSA"};
  std::string_view before;
  for (const PassRow& row : pass_rows()) {
    const std::string_view phase = kPhases[static_cast<std::size_t>(row.phase)];
    out += "| " + std::string(phase == before ? "" : phase) + " | " + std::string(row.name) +
           " | " + std::string(kForms[static_cast<std::size_t>(row.needs)]) +
           (row.optional ? " | yes | " : " | no | ") + std::string(row.why) + " |\n";
    before = phase;
  }
  return out;
}

std::string page(std::string_view kind) {
  if (kind == "support") return support_page();
  if (kind == "capabilities") return capabilities_page();
  if (kind == "passes") return passes_page();
  return {};
}

}  // namespace ptx2spv::tools
