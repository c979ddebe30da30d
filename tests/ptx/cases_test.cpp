// Text cases: tests/cases/ptx/*.ptx. The first line may be `//: relax-versions`. What the front end
// says stands behind the module in lines that begin with `//> `; they are cut off before parsing. A
// case without them parses without a message. PTX2SPV_RECORD=1 writes them anew.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "translator/ptx/parser.hpp"

namespace ptx2spv {
namespace {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

struct Case {
  std::string text, expected;
  bool relax_versions = false;
};

Case split(const std::string& file) {
  Case out;
  std::size_t cut = file.find("//> ");
  if (cut != std::string::npos && cut > 0 && file[cut - 1] != '\n') cut = std::string::npos;
  out.text = file.substr(0, cut);
  if (cut != std::string::npos) out.expected = file.substr(cut);
  out.relax_versions = file.starts_with("//: relax-versions");
  return out;
}

std::string messages_of(const Case& test, const std::string& name) {
  DiagnosticSink sink;
  ptx::ParseOptions options;
  options.relax_versions = test.relax_versions;
  const auto module = ptx::parse_module(test.text, name, options, sink);
  std::string out;
  for (const Diagnostic& d : sink.diagnostics()) {
    std::istringstream lines(render(d, module->source));
    for (std::string line; std::getline(lines, line);) {
      while (!line.empty() && line.back() == ' ') line.pop_back();
      out += "//> " + line + "\n";
    }
  }
  return out;
}

TEST(PtxCases, EveryCaseSaysWhatWasRecorded) {
  const fs::path folder = fs::path(PTX2SPV_SOURCE_DIR) / "tests/cases/ptx";
  const bool record = std::getenv("PTX2SPV_RECORD") != nullptr;
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".ptx") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  ASSERT_GE(paths.size(), 100u);
  for (const fs::path& path : paths) {
    const Case test = split(read_file(path));
    const std::string actual = messages_of(test, path.filename().string());
    const bool bad = path.filename().string().starts_with("bad-");
    EXPECT_EQ(bad, actual.find(": error: ") != std::string::npos) << path << "\n" << actual;
    if (record) {
      std::ofstream out(path, std::ios::binary);
      out << test.text << actual;
      continue;
    }
    EXPECT_EQ(test.expected, actual) << path << ": PTX2SPV_RECORD=1 records what it says now";
  }
}

}  // namespace
}  // namespace ptx2spv
