// ptx2spv ended in mid-write: what stands under the output's name is whole, the old or the new.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>

#include "tests/support/process.hpp"

namespace ptx2spv::test {
namespace {

std::string kernel(int stores) {
  std::string text =
      ".version 8.1\n.target sm_90\n.address_size 64\n"
      ".visible .entry k(.param .u64 surface)\n{\n  .reg .b32 %r<4>;\n"
      "  .reg .b64 %s;\n  ld.param.u64 %s, [surface];\n  mov.u32 %r0, %tid.x;\n";
  for (int k = 0; k < stores; ++k)
    text += "  add.u32 %r1, %r0, " + std::to_string(4 * k) +
            ";\n  sust.b.1d.b32.clamp [%s, {%r1}], %r0;\n";
  return text + "  ret;\n}\n";
}

class Killed : public testing::Test {
 protected:
  ProcessResult translate(const std::string& input, double kill_after_ms = -1) {
    return run_process({tool_path("ptx2spv"), input, "-o", out_}, {}, {}, kill_after_ms);
  }
  TemporaryFolder folder_;
  std::string old_ = folder_.write("old.ptx", kernel(1)),
              new_ = folder_.write("new.ptx", kernel(400));
  std::string out_ = folder_.file("out.spv");
};

// A write past the limit of a file's size fails as one on a full disk does: its signal does not end
// the tool, and what was written so far is gone.
TEST_F(Killed, NotByTheLimitOfFileSizes) {
  ASSERT_EQ(translate(old_).exit_code, 0);
  const std::string before = read_whole(out_);
  const ProcessResult result =
      run_process({"/bin/sh", "-c", "ulimit -c 0; ulimit -f 1; exec \"$0\" \"$1\" -o \"$2\"",
                   tool_path("ptx2spv"), new_, out_});
  EXPECT_EQ(result.exit_code, 2) << result.error;
  EXPECT_NE(result.error.find("File too large"), std::string::npos) << result.error;
  EXPECT_EQ(read_whole(out_), before);
  EXPECT_EQ(folder_.list(), (std::vector<std::string>{"new.ptx", "old.ptx", "out.spv"}));
  ASSERT_EQ(translate(new_).exit_code, 0);
  EXPECT_GT(read_whole(out_).size(), before.size());
}

TEST_F(Killed, AtAnyMoment) {
  ASSERT_EQ(translate(new_).exit_code, 0);
  const std::string after = read_whole(out_);
  const double whole = translate(old_).milliseconds;
  const std::string before = read_whole(out_);
  const double longest = std::max(whole, translate(new_).milliseconds);
  int killed = 0;
  for (int k = 0; k < 30; ++k) {
    ASSERT_EQ(translate(old_).exit_code, 0);
    killed += translate(new_, longest * k / 25).exit_code == 128 + SIGKILL;
    const std::string now = read_whole(out_);
    EXPECT_TRUE(now == before || now == after) << now.size() << " bytes, killed at " << k;
  }
  EXPECT_GT(killed, 0);
}

}  // namespace
}  // namespace ptx2spv::test
