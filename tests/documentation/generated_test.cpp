// The pages that the tools write while they are built: each row of a table once, and whole.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "ptx2spv/profile.hpp"
#include "src/device/answers.hpp"
#include "tests/support/process.hpp"
#include "translator/pipeline.hpp"
#include "translator/ptx/instruction_table.hpp"

namespace ptx2spv {
namespace {

/// The rows of a page's tables, as lines, by the heading above them.
std::map<std::string, std::vector<std::string>> rows_of(const std::string& page) {
  std::map<std::string, std::vector<std::string>> rows;
  std::istringstream stream(page);
  std::string heading, before;
  for (std::string line; std::getline(stream, line); before = line) {
    if (line.starts_with("## ")) heading = line.substr(3);
    if (line.starts_with("| ") && before.starts_with("|")) rows[heading].push_back(line);
  }
  return rows;
}

std::vector<std::string> cells(const std::string& row) {
  std::vector<std::string> out;
  for (std::size_t at = 2; at < row.size();) {
    const std::size_t end = std::min(row.find(" | ", at), row.size() - 2);
    out.push_back(row.substr(at, end - at));
    at = end + 3;
  }
  return out;
}

/// A tool's page, empty after a failure of the test.
std::string made_by(const char* tool, const char* kind) {
  const test::ProcessResult made = test::run_process({test::tool_path(tool), "--generate", kind});
  EXPECT_EQ(made.exit_code, 0) << tool << " --generate " << kind << ": " << made.error;
  return made.out;
}

std::string target_text(unsigned target) {
  return "sm_" + std::to_string(target % 128) + (target < 128 ? "" : "a");
}

std::string version_text(unsigned version) {
  return std::to_string(version / 10) + "." + std::to_string(version % 10);
}

TEST(GeneratedPages, support_lists_every_form_as_the_parser_reads_it) {
  auto rows = rows_of(made_by("ptx2spv", "support"));
  std::vector<std::string> taken, refused;
  for (const ptx::FormInfo& form : ptx::all_forms()) {
    const std::string manual(ptx::section(form.op));
    EXPECT_FALSE(manual.empty()) << form.syntax;
    const std::string begin = "| `" + std::string(form.syntax) + "` | ";
    if (form.refused) {
      refused.push_back(begin + std::string(form.reason) + " | " + manual + " |");
    } else {
      taken.push_back(begin + std::string(form.slots_text) + " | " + manual + " | " +
                      version_text(form.version) + " | " + target_text(form.target) + " |");
    }
  }
  EXPECT_EQ(rows["Forms"], taken);
  EXPECT_EQ(rows["Refused by name"], refused);

  std::multiset<std::string> younger, listed;
  for (const ptx::YoungerInfo& row : ptx::all_younger())
    younger.insert(std::string(row.op == ptx::Opcode::none ? "all" : ptx::text(row.op)) + " " +
                   version_text(row.version) + " " + target_text(row.target));
  for (const std::string& row : rows["Modifiers that came later"]) {
    const std::vector<std::string> columns = cells(row);
    ASSERT_EQ(columns.size(), 4u) << row;
    EXPECT_TRUE(columns[0].starts_with("`.")) << row;
    std::istringstream opcodes(columns[1]);
    for (std::string each; opcodes >> each;) {
      std::erase_if(each, [](char c) { return c == '`' || c == ','; });
      listed.insert(each + " " + columns[2] + " " + columns[3]);
    }
  }
  EXPECT_EQ(listed, younger);
}

TEST(GeneratedPages, passes_lists_every_pass_with_its_reason) {
  std::vector<std::string> listed, passes;
  auto rows = rows_of(made_by("ptx2spv", "passes"));
  for (const std::string& row : rows[""]) {
    const std::vector<std::string> columns = cells(row);
    ASSERT_EQ(columns.size(), 5u) << row;
    EXPECT_GT(columns[4].size(), 10u) << row;
    listed.push_back(columns[1]);
  }
  for (const PassRow& row : pass_rows()) passes.emplace_back(row.name);
  EXPECT_EQ(listed, passes);
}

TEST(GeneratedPages, capabilities_lists_every_row_with_what_it_needs) {
  std::vector<std::string> listed, names;
  auto rows = rows_of(made_by("ptx2spv", "capabilities"));
  for (const char* group : {"Features", "Exactness", "Costs", "Workarounds"}) {
    const bool workaround = std::string_view(group) == "Workarounds";
    for (const std::string& row : rows[group]) {
      const std::vector<std::string> columns = cells(row);
      ASSERT_EQ(columns.size(), workaround ? 9u : 6u) << row;
      for (const std::string& each : columns) EXPECT_FALSE(each.empty()) << row;
      listed.push_back(columns[0].substr(1, columns[0].size() - 2));
    }
  }
  using Group = Capability::Group;
  for (const Group group : {Group::feature, Group::exactness, Group::cost, Group::workaround})
    for (const Capability& each : capabilities())
      if (each.group == group) names.emplace_back(each.name);
  EXPECT_EQ(listed, names);
  EXPECT_EQ(rows["Limits"].size(), 6u);
  for (const std::string& row : rows["Limits"])
    EXPECT_EQ(cells(row).size(), 1 + profile_names().size()) << row;
}

TEST(GeneratedPages, known_devices_lists_every_answer_of_every_device) {
  if (!std::filesystem::exists(test::tool_path("ptxrun"))) GTEST_SKIP() << "ptxrun is not built";
  const std::size_t devices = runtime::known_devices().size();
  std::size_t described = 0;
  std::vector<std::string> listed, answers;
  auto rows = rows_of(made_by("ptxrun", "known-devices"));
  for (const std::string& row : rows[""]) {
    const std::vector<std::string> columns = cells(row);
    if (columns[0] == std::to_string(described + 1)) {
      EXPECT_EQ(columns[1], runtime::known_devices()[described++].identity.name);
      continue;
    }
    if (!columns[0].starts_with("`")) continue;
    EXPECT_EQ(columns.size(), 1 + devices) << row;
    listed.push_back(columns[0].substr(1, columns[0].size() - 2));
  }
  for (const std::string_view row : runtime::Answers::rows()) answers.emplace_back(row);
  EXPECT_EQ(described, devices);
  EXPECT_EQ(listed, answers);
}

TEST(GeneratedPages, functions_lists_each_function_of_cuda_once) {
  const std::string ptxexec = test::tool_path("ptxexec");
  if (!std::filesystem::exists(ptxexec)) GTEST_SKIP() << "ptxexec is not built";
  std::map<std::string, bool> runtime, driver;  // whether a function is implemented
#define PTX2SPV_CUDART_FUNCTION(which, name, ...) runtime[#name] = true;
#define PTX2SPV_CUDART_MISSING(which, name, ...) runtime[#name] = false;
#include "src/cuda/cudart/functions.def"
#define PTX2SPV_DRIVER_FUNCTION(base, name, ...) driver[#name] = true;
#define PTX2SPV_DRIVER_MISSING(base, name, ...) driver[#name] = false;
#include "src/cuda/driver/functions.def"
  const std::string reason = "not supported: ";
  std::map<std::string, bool> listed[2];
  auto rows = rows_of(made_by("ptxexec", "cuda-functions"));
  const char* headings[] = {"Runtime interface", "Driver interface"};
  for (int i = 0; i < 2; ++i) {
    for (const std::string& row : rows[headings[i]]) {
      const std::vector<std::string> columns = cells(row);
      ASSERT_EQ(columns.size(), 3u) << row;
      const std::string name = columns[0].substr(1, columns[0].size() - 2);
      const bool implemented = columns[2] == "implemented";
      EXPECT_TRUE(listed[i].emplace(name, implemented).second || listed[i][name] == implemented)
          << row;
      EXPECT_FALSE(columns[1].empty()) << row;
      EXPECT_TRUE(implemented || (columns[2].starts_with(reason) && columns[2].size() > 25)) << row;
    }
  }
  EXPECT_EQ(listed[0], runtime);
  EXPECT_EQ(listed[1], driver);
}

}  // namespace
}  // namespace ptx2spv
