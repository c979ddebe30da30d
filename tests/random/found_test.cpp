// Kernels that once failed, made small: found/*.ptx, with how they are launched in the first line.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/random/runner.hpp"
#include "tools/common/files.hpp"

namespace {

using namespace ptx2spv;
using namespace ptx2spv::test;

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const auto& file :
       std::filesystem::directory_iterator(PTX2SPV_SOURCE_DIR "/tests/random/found"))
    all.push_back(file.path().stem().string());
  std::sort(all.begin(), all.end());
  return all;
}

class Found : public testing::TestWithParam<std::string> {};

TEST_P(Found, AgreesWithTheInterpreter) {
  RandomKernel kernel;
  kernel.units.emplace_back();
  std::string& text = kernel.units[0].head;
  ASSERT_EQ(tools::read_text(PTX2SPV_SOURCE_DIR "/tests/random/found/" + GetParam() + ".ptx", text),
            "");
  ASSERT_EQ(std::sscanf(text.c_str(), "// block %u %u, grid %u, n %u", &kernel.block[0],
                        &kernel.block[1], &kernel.grid, &kernel.n),
            4);
  // The runner writes the module's head itself.
  const std::size_t head = text.find(kModuleHead);
  ASSERT_NE(head, std::string::npos);
  text.erase(0, head + std::string(kModuleHead).size());
  const std::size_t entry = text.find(".entry ") + 7;
  kernel.name = text.substr(entry, text.find('(', entry) - entry);

  const std::vector<std::uint32_t> input = random_input(7);
  const ModelRun model = run_model(kernel, input);
  ASSERT_EQ(model.error, "");
  for (const char* profile : {"", "no-int64", "no-8/16-bit", "nvidia", "portable"}) {
    Runner runner(profile, input);
    ASSERT_EQ(runner.problem(), "");
    for (Variant how :
         {Variant{profile, 0, {}}, Variant{profile, 1, {}}, Variant{profile, 2, {}},
          Variant{profile, 1, ThreadModel::flat}, Variant{profile, 2, ThreadModel::regions}}) {
      const Runner::Run run = runner.run({&kernel}, how)[0];
      EXPECT_EQ(run.error, "") << how.text();
      EXPECT_EQ(difference(model.outputs, run.outputs), "") << how.text();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Found, testing::ValuesIn(names()),
                         [](const auto& each) { return each.param; });

}  // namespace
