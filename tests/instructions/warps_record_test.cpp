// Shuffles whose sources are not there, as an H200 did them, in every thread model.
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdlib>
#include <map>
#include <sstream>

#include "dev/recorder/warp_cases.hpp"
#include "ptx2spv/runtime.hpp"
#include "tests/support/environment.hpp"
#include "tests/support/runtime.hpp"

namespace ptx2spv::tests {
namespace {

using recorder::LaneInput;
using recorder::WarpKernel;

constexpr std::uint32_t kSeed = 0;  ///< of the committed record

/// The lines of the record by the line that is over them.
std::map<std::string, std::vector<std::string>> recorded_warps() {
  std::map<std::string, std::vector<std::string>> launches;
  const char* other = std::getenv("PTX2SPV_REPLAY");
  gzFile file =
      gzopen(other ? other : PTX2SPV_SOURCE_DIR "/tests/data/hardware/warps.txt.gz", "rb");
  if (!file) return launches;
  std::string head;
  std::vector<char> line(65536);
  while (gzgets(file, line.data(), static_cast<int>(line.size()))) {
    std::string text = line.data();
    if (text.ends_with('\n')) text.pop_back();
    if (text.starts_with("W "))
      head = text.substr(2);
    else if (!text.starts_with('#'))
      launches[head].push_back(text);
  }
  gzclose(file);
  return launches;
}

class WarpsRecord : public testing::TestWithParam<WarpKernel> {};

TEST_P(WarpsRecord, IsMetInEveryThreadModel) {
  static const auto record = recorded_warps();
  ASSERT_EQ(record.size(), recorder::warp_kernels().size() * recorder::kWarpBlocks.size());
  const WarpKernel& form = GetParam();
  const bool other = std::getenv("PTX2SPV_REPLAY") != nullptr;
  const std::uint32_t seed = other ? test::environment_number("PTX2SPV_SEED", kSeed) : kSeed;
  static const Result<Device> device = Device::open();
  ASSERT_TRUE(device) << device.error().to_string();
  const auto module = Module::load(*device, recorder::warp_module(form), form.name() + ".ptx");
  ASSERT_TRUE(module) << module.error().to_string();
  const auto kernel = module->kernel("k");
  ASSERT_TRUE(kernel) << kernel.error().to_string();
  const std::size_t warp = std::size_t{form.results()} * recorder::kWarpLanes;
  for (const unsigned threads : recorder::kWarpBlocks)
    for (const ThreadModel model : {ThreadModel::direct, ThreadModel::regions}) {
      const std::string head = form.name() + " threads=" + std::to_string(threads);
      SCOPED_TRACE(head + " in model " + std::to_string(static_cast<int>(model)));
      const auto inputs = recorder::warp_inputs(form, threads, seed);
      LaunchConfig config;
      config.grid = {static_cast<std::uint32_t>(inputs.size() / recorder::kWarpLanes /
                                                recorder::warps_of(threads)),
                     1, 1};
      config.block = {threads, 1, 1};
      config.threads = model;
      const auto launched = words_of_launch(*device, *kernel, config, bytes_of(inputs),
                                            inputs.size() * form.results());
      ASSERT_TRUE(launched) << launched.error().to_string();
      const std::vector<std::uint32_t>& words = *launched;
      const auto& lines = record.at(head);
      ASSERT_EQ(words.size(), lines.size() * warp);
      unsigned shown = 0;
      for (std::size_t w = 0; w < lines.size() && shown < 4; ++w) {
        std::istringstream right(lines[w]);
        std::string word;
        for (std::size_t i = 0; right >> word && shown < 4; ++i) {
          if (word == "?") continue;
          const std::uint32_t wanted = static_cast<std::uint32_t>(std::stoul(word, nullptr, 16));
          if (words[w * warp + i] == wanted) continue;
          ++shown;
          ADD_FAILURE() << "warp " << w << ", thread " << i / form.results() << ", word "
                        << i % form.results() << ": " << std::hex << words[w * warp + i]
                        << ", the record has " << wanted;
        }
      }
    }
}

INSTANTIATE_TEST_SUITE_P(All, WarpsRecord, testing::ValuesIn(recorder::warp_kernels()),
                         [](const auto& each) { return each.param.form + "_" + each.param.mode; });

}  // namespace
}  // namespace ptx2spv::tests
