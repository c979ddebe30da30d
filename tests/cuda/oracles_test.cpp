// Programs in C whose results NVIDIA devices gave: what an H100 printed, and what is public of an
// RTX 3060. `expected/README.md` says more.
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cuda/programs.hpp"

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

TEST(Oracles, SurfaceWordsOfAnRtx3060) { compare_with_record("words"); }
TEST(Oracles, TextureWordsOfAnRtx3060) { compare_with_record("srgb_words"); }

}  // namespace
}  // namespace ptx2spv::test
