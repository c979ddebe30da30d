#include "tools/ptxrun/known_page.hpp"

#include <vector>

#include <fmt/format.h>

#include "ptx2spv/profile.hpp"
#include "src/device/answers.hpp"

namespace ptx2spv::tools {
namespace {

constexpr const char* kPageHead = R"(# Known devices

The project has the answers of these devices ([devices.md](devices.md)). Without a yes, the module
computes what an exactness row promises in another way; a workaround's yes means that the fault was
seen. `dev/known_devices` writes the answers.

)";

struct Known {
  runtime::DeviceIdentity identity;
  runtime::Answers answers;
};

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

std::string device_table(const std::vector<Known>& devices) {
  std::string out =
      "| | device | driver | processor | workarounds | loops end after |\n"
      "|---|---|---|---|---|---|\n";
  unsigned number = 0;
  for (const Known& each : devices) {
    std::string needs;
    for (const Capability& row : capabilities())
      if (row.group == Capability::Group::workaround && each.answers.find(row.name) == 1)
        needs += (needs.empty() ? "`" : ", `") + std::string(row.name) + "`";
    const std::uint32_t loops = each.answers.find("max_loop_iterations").value_or(0);
    out += fmt::format("| {} | {} | {} | {} | {} | {} |\n", ++number, each.identity.name,
                       or_dash(each.identity.info), or_dash(each.identity.host), or_dash(needs),
                       or_dash(loops ? std::to_string(loops) : ""));
  }
  return out;
}

std::string answer_table(const std::vector<Known>& devices) {
  std::string head = "| row |", rule = "|---|";
  for (std::size_t i = 1; i <= devices.size(); ++i) {
    head += fmt::format(" {} |", i);
    rule += "---|";
  }
  std::string out = head + "\n" + rule + "\n";
  for (const std::string_view row : runtime::Answers::rows()) {
    out += "| `" + std::string(row) + "` |";
    for (const Known& each : devices) {
      const std::uint32_t value = each.answers.find(row).value_or(0);
      out += value == 0 ? " - |" : value == 1 ? " yes |" : fmt::format(" {} |", value);
    }
    out += "\n";
  }
  return out;
}

}  // namespace

std::string known_devices_page(std::string_view kind) {
  if (kind != "known-devices") return {};
  std::vector<Known> devices;
  for (const runtime::KnownDevice& each : runtime::known_devices())
    if (auto answers = runtime::Answers::parse(each.answers))
      devices.push_back({each.identity, *answers});
  return kPageHead + device_table(devices) + "\n" + answer_table(devices);
}

}  // namespace ptx2spv::tools
