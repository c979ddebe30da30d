// Kernels that do nothing wrong, under every check of `all`: none of them is reported. The whole
// suite runs so by tools/test --sanitize; the examples are in every run.
#include <gtest/gtest.h>

#include <string>

#include "tests/support/process.hpp"

namespace ptx2spv {
namespace {

using test::ProcessResult;
using test::run_process;

const std::string kSource = PTX2SPV_SOURCE_DIR;

/// What looks like a report of the sanitizer.
bool reports(const std::string& text) {
  for (const char* part :
       {" in global memory\n", " in shared memory\n", " in local memory\n", " in surface memory\n",
        " in texture memory\n", "error: endless-wait", "error: missed-barrier"})
    if (text.find(part) != std::string::npos) return true;
  return false;
}

TEST(Suite, ExamplesHaveNoFindings) {
  test::TemporaryFolder outputs;
  for (const char* each : {"filter/filter", "memset/memset", "rotate/rotate",
                           "simulation/simulation", "gallery/automaton"}) {
    SCOPED_TRACE(each);
    const ProcessResult result =
        run_process({test::tool_path("ptxrun"), "--sanitize=all", "-o", outputs.path(),
                     kSource + "/examples/" + each + ".json"});
    EXPECT_EQ(result.exit_code, 0) << result.error;
    EXPECT_FALSE(reports(result.error)) << result.error;
  }
}

}  // namespace
}  // namespace ptx2spv
