// Every recorded surface instruction, on this device, with the handle from every source.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "tests/support/process.hpp"
#include "tests/support/share.hpp"

namespace ptx2spv::test {
namespace {

using Files = std::vector<const char*>;
const Files kFirst{"suld", "sust", "sustp", "sustp_layered", "sured"};
// Other shapes, seeds and formats, and every form that faults.
const Files kShapes{"shapes", "traps"};
// Instructions of each geometry on arrays of every kind, levels and queries.
const Files kPairs{"pairs"};
// Loads whose elements are not all read.
const Files kUnread{"unread"};

struct Case {
  const char* name;
  std::vector<std::string> options;
  const Files& files = kFirst;
};

std::ostream& operator<<(std::ostream& out, const Case& one) { return out << one.name; }

std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

class Replay : public testing::TestWithParam<Case> {};

/// Whether the options change what a device's driver gets, and so nothing of the host's machine
/// code.
bool for_drivers(const std::vector<std::string>& options) {
  return std::ranges::any_of(options, [](const std::string& option) {
    return option == "--profile" || option == "--disable" || option == "--threads" ||
           option == "image";
  });
}

TEST_P(Replay, NothingDiffers) {
  const char* debug = std::getenv("PTX2SPV_DEBUG");
  if (debug && std::string_view(debug).ends_with("tier=compiled") && !exhaustive() &&
      for_drivers(GetParam().options))
    GTEST_SKIP() << "machine code of the host is the same with these options and without";
  std::vector<std::string> arguments = {tool_path("../dev/replay")};
  const std::vector<std::string>& options = GetParam().options;
  for (std::size_t i = 0; i < options.size(); ++i) {
    if (options[i] != "--shard") {
      arguments.push_back(options[i]);
      continue;
    }
    const std::string& share = options[++i];
    if (exhaustive()) continue;
    const auto slash = share.find('/');
    const auto shares = static_cast<unsigned>(std::stoul(share.substr(slash + 1)));
    const auto first = static_cast<unsigned>(std::stoul(share.substr(0, slash)));
    arguments.push_back("--shard");
    arguments.push_back(std::to_string((first + share_of_device(shares)) % shares) +
                        share.substr(slash));
  }
  for (const char* file : GetParam().files)
    arguments.push_back(std::string(PTX2SPV_SOURCE_DIR) + "/tests/data/hardware/" + file +
                        ".txt.gz");
  const ProcessResult result = run_process(arguments);
  EXPECT_EQ(result.exit_code, 0) << result.out << result.error;
  const std::string last = last_line(result.out);
  EXPECT_TRUE(last.ends_with(", differ 0, skipped 0")) << last;
  EXPECT_FALSE(last.starts_with("replay: checked 0,")) << last;
  std::printf("%s: %s, %.1f s\n", GetParam().name, last.c_str(), result.milliseconds / 1000);
}

// The first two rows take a quarter of the groups each; the others a smaller part, so that the
// suite stays quick. PTX2SPV_EXHAUSTIVE makes it every line everywhere.
INSTANTIATE_TEST_SUITE_P(
    Records, Replay,
    testing::Values(
        Case{"linear", {"--backing", "linear", "--shard", "0/4"}},
        Case{"image", {"--backing", "image", "--shard", "2/4"}},
        Case{"handles_from_memory", {"--handle", "memory", "--shard", "0/10"}},
        Case{"surfref_variable", {"--handle", "surfref", "--shard", "2/10"}},
        Case{"surfref_parameter_by_address",
             {"--handle", "reference", "--no-slots", "--shard", "4/10"}},
        Case{"portable", {"--profile", "portable", "--shard", "6/10"}},
        Case{"image_portable", {"--profile", "portable", "--backing", "image", "--shard", "8/10"}},
        Case{"no_int64", {"--disable", "int64", "--shard", "0/10"}},
        Case{"no_64_bit_atomics",
             {"--disable", "buffer_atomics64", "--filter", "sured", "--shard", "1/4"}},
        Case{"no_narrow_storage",
             {"--disable", "storage8", "--disable", "storage16", "--filter", "sust.b", "--shard",
              "0/4"}},
        Case{"flat", {"--threads", "flat", "--shard", "1/20"}},
        Case{"shapes_linear", {"--backing", "linear", "--shard", "0/8"}, kShapes},
        Case{"shapes_image", {"--backing", "image", "--shard", "3/20"}, kShapes},
        Case{"shapes_image_portable",
             {"--profile", "portable", "--backing", "image", "--shard", "0/30"},
             kShapes},
        Case{"shapes_without_1d_images",
             {"--disable", "image1d", "--backing", "image", "--filter", "1d", "--shard", "2/15"},
             kShapes},
        Case{"shapes_handles_from_memory", {"--handle", "memory", "--shard", "3/20"}, kShapes},
        Case{"shapes_regions",
             {"--threads", "regions", "--backing", "image", "--shard", "2/60"},
             kShapes},
        Case{"pairs_linear", {"--backing", "linear", "--shard", "0/6"}, kPairs},
        Case{"pairs_image", {"--backing", "image", "--shard", "1/6"}, kPairs},
        Case{"pairs_handles_from_memory", {"--handle", "memory", "--shard", "2/6"}, kPairs},
        Case{"pairs_surfref_variable", {"--handle", "surfref", "--shard", "3/12"}, kPairs},
        Case{
            "pairs_by_address", {"--handle", "reference", "--no-slots", "--shard", "4/12"}, kPairs},
        Case{"pairs_image_portable",
             {"--profile", "portable", "--backing", "image", "--shard", "5/12"},
             kPairs},
        Case{"pairs_without_1d_images",
             {"--disable", "image1d", "--backing", "image", "--shard", "6/12"},
             kPairs},
        Case{"unread_linear", {"--backing", "linear", "--shard", "0/6"}, kUnread},
        Case{"unread_image", {"--backing", "image", "--shard", "2/6"}, kUnread},
        Case{"unread_handles_from_memory", {"--handle", "memory", "--shard", "4/6"}, kUnread},
        Case{"unread_surfref_variable", {"--handle", "surfref", "--shard", "0/12"}, kUnread},
        Case{"unread_by_address",
             {"--handle", "reference", "--no-slots", "--shard", "7/12"},
             kUnread},
        Case{"unread_image_portable",
             {"--profile", "portable", "--backing", "image", "--shard", "10/12"},
             kUnread}),
    [](const testing::TestParamInfo<Case>& one) { return one.param.name; });

// A replayer that cannot find a difference is worth nothing.
TEST(ReplayTool, WrongRecordsAreFound) {
  const TemporaryFolder folder;
  const std::string record =
      folder.write("wrong.txt",
                   "S u81 1d w=5 h=0 d=0 seed=1\n"
                   "I suld.b.1d.b8.clamp\n-2=0024\n0=0024\n1=0024\n"
                   "I sust.b.1d.b8.clamp\n-2 v=04bf -> @0:bf\n3 v=1122 -> @3:23\n1 v=1 -> none\n");
  const ProcessResult result = run_process({tool_path("../dev/replay"), record});
  EXPECT_EQ(result.exit_code, 1) << result.out << result.error;
  EXPECT_EQ(last_line(result.out), "replay: checked 6, differ 3, skipped 0") << result.out;
  EXPECT_NE(result.out.find("wrong.txt:5: suld.b.1d.b8.clamp"), std::string::npos) << result.out;
}

TEST(ReplayTool, ElementsThatTheKernelDoesNotReadAreLeftOut) {
  const TemporaryFolder folder;
  const std::string record = folder.write("unread.txt",
                                          "S u321 1d w=2 h=0 d=0 seed=1\n"
                                          "I suld.b.1d.v2.b32.clamp {_,y}\n0=_,0\n"
                                          "I suld.b.1d.v2.b32.trap {_,_}\n-8=_,_\n");
  const ProcessResult result = run_process({tool_path("../dev/replay"), record});
  EXPECT_EQ(last_line(result.out), "replay: checked 2, differ 1, skipped 0") << result.out;
  const ProcessResult damaged = run_process(
      {tool_path("../dev/replay"), folder.write("damaged.txt",
                                                "S u321 1d w=2 h=0 d=0 seed=1\n"
                                                "I suld.b.1d.v2.b32.clamp {_,y}\n0=0,0\n")});
  EXPECT_NE(damaged.error.find(":3: error: a line of suld.b.1d.v2.b32.clamp"), std::string::npos)
      << damaged.error;
}

TEST(ReplayTool, TrapsAreCompared) {
  const TemporaryFolder folder;
  const std::string record = folder.write("traps.txt",
                                          "S u321 1d w=5 h=0 d=0 seed=1\n"
                                          "I suld.b.1d.b32.trap\n20=trap\n2=trap\n"
                                          "I sust.b.1d.b32.trap\n-4 v=1 -> trap\n"
                                          "I sust.b.1d.b32.zero\n-4 v=1 -> trap\n");
  const ProcessResult result = run_process({tool_path("../dev/replay"), record});
  EXPECT_EQ(last_line(result.out), "replay: checked 4, differ 1, skipped 0") << result.out;
}

TEST(ReplayTool, OtherInstructionsAreSkippedAndSaid) {
  const TemporaryFolder folder;
  const std::string record =
      folder.write("other.txt", "S u81 1d w=5 h=0 d=0 seed=1\nI tex.1d.v4.f32.f32\n0=0\n");
  const ProcessResult result = run_process({tool_path("../dev/replay"), record});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(last_line(result.out), "replay: checked 0, differ 0, skipped 1") << result.out;
}

TEST(ReplayTool, DamagedRecordsAreLocated) {
  struct {
    const char *text, *expected;
  } cases[] = {
      {"I suld.b.1d.b8.clamp\n0=0\n", ":1: error: an instruction comes after a surface"},
      {"0=0\n", ":1: error: a line comes after an instruction"},
      {"S u83 1d w=5 h=0 d=0 seed=1\n", ":1: error: there is no format u83"},
      {"S q81 1d w=5 h=0 d=0 seed=1\n", ":1: error: there is no format q81"},
      {"S u81 4d w=5 h=0 d=0 seed=1\n", ":1: error: there is no geometry 4d"},
      {"S u81 1d w=5 h=0 d=0\n", ":1: error: a surface needs"},
      {"S u81 1d w=0 h=0 d=0 seed=1\n", ":1: error: a surface has from 1 byte"},
      {"S u324 3d w=4000000000 h=4000000000 d=4000000000 seed=1\n",
       ":1: error: a surface has from 1 byte"},
      {"S u81 1d w=5 h=0 d=0 seed=1\nI suld.b.1d.b8.clamp\n0=xyz\n",
       ":3: error: a line of suld.b.1d.b8.clamp"},
      {"S u81 1d w=5 h=0 d=0 seed=1\nI sust.b.1d.b8.clamp\n0 v= -> none\n",
       ":3: error: a line of sust.b.1d.b8.clamp"},
  };
  const TemporaryFolder folder;
  for (const auto& one : cases) {
    const ProcessResult result =
        run_process({tool_path("../dev/replay"), folder.write("record.txt", one.text)});
    EXPECT_EQ(result.exit_code, 2) << one.text;
    EXPECT_NE(result.error.find(one.expected), std::string::npos) << one.text << result.error;
  }
  EXPECT_EQ(run_process({tool_path("../dev/replay")}).exit_code, 2);
  EXPECT_EQ(run_process({tool_path("../dev/replay"), folder.file("absent")}).exit_code, 2);
  EXPECT_EQ(
      run_process({tool_path("../dev/replay"), "--backing", "paper", folder.file("record.txt")})
          .exit_code,
      2);
  EXPECT_EQ(run_process({tool_path("../dev/replay"), "--device", "no such device",
                         folder.write("good.txt", "S u81 1d w=5 h=0 d=0 seed=1\n")})
                .exit_code,
            5);
}

}  // namespace
}  // namespace ptx2spv::test
