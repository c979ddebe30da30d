// Programs in C whose results NVIDIA devices gave: what an H100 printed, and what is public of an
// RTX 3060. `expected/README.md` says more.
#include <cctype>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cuda/programs.hpp"
#include "tools/common/files.hpp"

namespace ptx2spv::test {
namespace {

/// Runs a program of `driver/` and compares what it prints with its record.
void compare_with_record(const std::string& name) {
  std::string program;
  ASSERT_TRUE(compile_c(name, program));
  const ProcessResult result = execute({program});
  EXPECT_EQ(result.out, read_whole(kHere + "expected/" + name + ".txt")) << result.error;
  EXPECT_EQ(result.exit_code, 0);
}

/// The lines that `texels` printed on an H100: a kind of texture and a format, and a hash or an
/// error for each way to read it.
std::map<std::string, std::vector<std::string>> read_texels(std::istream& in) {
  std::map<std::string, std::vector<std::string>> lines;
  for (std::string line; std::getline(in, line);) {
    const auto bar = line.rfind('|');
    if (bar == std::string::npos) continue;
    std::istringstream entries(line.substr(bar + 1));
    auto& all = lines[line.substr(0, bar)];
    for (std::string each; entries >> each;) all.push_back(each);
  }
  return lines;
}

std::string record_of_texels() {
  std::string text;
  EXPECT_EQ(tools::read_text(kHere + "../data/hardware/texels.txt.gz", text), "");
  return text;
}

/// What is refused here, though the driver interface takes it: integers under linear filters,
/// within a level or between two.
bool refused_here(const std::string& line, std::size_t entry) {
  const std::size_t format = line.find("| ") + 2;
  const bool integers = std::isdigit(static_cast<unsigned char>(line.at(format + 1))) &&
                        line.find(" as float") == std::string::npos &&
                        line.find("srgb") == std::string::npos;
  const bool levels =
      line.find("levels") != std::string::npos || line.find("gradients") != std::string::npos;
  return integers && (entry / 2 % 2 == 1 || (levels && entry % 2 == 1));
}

/// Sums over levels of an sRGB volume, which may be off in the last bit of a half (docs: hardware).
bool known_to_differ(const std::string& line, std::size_t entry) {
  static const std::set<std::pair<std::string, std::size_t>> known = {
      {"3d levels | u8 srgb x4 ", 11},
      {"3d gradients | u8 srgb x2 ", 11},
      {"3d gradients | unorm8 srgb x2 ", 2},
      {"3d gradients | unorm8 srgb x2 ", 3},
      {"3d gradients | unorm8 srgb x4 ", 11}};
  return known.contains({line, entry});
}

/// Every `step`-th line.
void compare_texels(unsigned step, const std::vector<std::string>& environment) {
  std::string program;
  ASSERT_TRUE(compile_c("texels", program));
  if (std::getenv("PTX2SPV_EXHAUSTIVE")) step = 1;
  const ProcessResult result = execute({program, std::to_string(step), "0"}, environment);
  ASSERT_EQ(result.exit_code, 0) << result.error << result.out;
  std::istringstream recorded(record_of_texels()), printed(result.out);
  const auto expected = read_texels(recorded);
  std::size_t compared = 0;
  for (const auto& [line, got] : read_texels(printed)) {
    const auto found = expected.find(line);
    if (found == expected.end()) continue;
    ASSERT_EQ(got.size(), found->second.size()) << line;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const bool refused = refused_here(line, i);
      if (!known_to_differ(line, i)) {
        EXPECT_EQ(got[i], refused ? "!1" : found->second[i]) << line << ", " << i;
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, expected.size() / step * 12);
}

TEST(Oracles, TexelsOfAnH100) { compare_texels(151, {}); }
TEST(Oracles, TexelsOfAnH100ByTheInterpreter) { compare_texels(7, {"PTX2SPV_EXECUTOR=host"}); }
TEST(Oracles, ReportsOfAnH100) {
  std::string program;
  ASSERT_TRUE(compile_c("reports", program));
  const ProcessResult result = execute({program});
  EXPECT_EQ(result.out, read_whole(kHere + "expected/reports.txt"));
}
TEST(Oracles, SurfaceWordsOfAnRtx3060) { compare_with_record("words"); }
TEST(Oracles, TextureWordsOfAnRtx3060) { compare_with_record("srgb_words"); }

}  // namespace
}  // namespace ptx2spv::test
