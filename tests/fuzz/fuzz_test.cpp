// A little of every fuzzer in each run: its seeds, found inputs and mutants of fixed seeds. More
// of it by dev/fuzz.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "fuzz/minimise.hpp"
#include "fuzz/pool.hpp"

namespace ptx2spv::fuzz {
namespace {

const std::string kRoot = PTX2SPV_SOURCE_DIR;

class Fuzz : public testing::TestWithParam<Target> {};

/// How many inputs of a target make about a second.
std::uint64_t inputs(const Target& target) {
  if (const char* asked = std::getenv("PTX2SPV_FUZZ")) return std::strtoull(asked, nullptr, 10);
  return target.name == "whole" ? 300 : target.name == "sensitivity" ? 60 : 3000;
}

TEST_P(Fuzz, seeds_and_mutants_do_not_crash) {
  const Target& target = GetParam();
  std::vector<std::string> seeds = target.seeds(kRoot);
  ASSERT_FALSE(seeds.empty());
  const std::uint64_t count = inputs(target);
  // A stride through the seeds where they are more than the run has room for.
  std::vector<std::string> some;
  const std::size_t stride = seeds.size() / static_cast<std::size_t>(count / 2 + 1) + 1;
  for (std::size_t i = 0; i < seeds.size(); i += stride) some.push_back(seeds[i]);
  Pool pool(target, std::move(some), 20240601);
  while (pool.ran() < count)
    pool.step([&](const std::string& text) {
      return target.run({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
    });
  EXPECT_GT(pool.taken(), 0u) << "no input was taken: the seeds are none";
}

TEST_P(Fuzz, found_inputs_stay_mended) {
  const Target& target = GetParam();
  const auto all =
      files_below(kRoot + "/tests/fuzz/found/" + std::string(target.name), "", 1 << 20);
  for (const std::string& text : all)
    target.run({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

INSTANTIATE_TEST_SUITE_P(targets, Fuzz, testing::ValuesIn(targets().begin(), targets().end()),
                         [](const auto& given) { return std::string(given.param.name); });

TEST(FuzzMinimise, leaves_what_the_crash_needs) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += "line " + std::to_string(i) + " of many;\n";
  std::size_t asked = 0;
  const auto crashes = [&](const std::string& part) {
    ++asked;
    const std::size_t first = part.find("17 ");
    return first != part.npos && part.find("153", first) != part.npos;
  };
  ASSERT_TRUE(crashes(text));
  EXPECT_EQ(minimise(text, crashes), "17 153");
  EXPECT_LT(asked, 2000u);
  EXPECT_EQ(minimise("", [](const std::string&) { return true; }), "");
  EXPECT_EQ(minimise("all", [](const std::string& part) { return part == "all"; }), "all");
}

TEST(FuzzMutants, keep_the_form_of_a_kernel_often) {
  const Target& target = *find_target("ptx");
  const auto parses = [&](const std::string& text) {
    return target.run({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  };
  std::vector<std::string> seeds = target.seeds(kRoot);
  // Most cases are texts with a mistake, which their mutants keep.
  std::erase_if(seeds, [&](const std::string& text) { return !parses(text); });
  ASSERT_GT(seeds.size(), 20u);
  Random random(7);
  int taken = 0;
  constexpr int kCount = 1000;
  for (int i = 0; i < kCount; ++i) {
    const std::string text =
        target.mutate(seeds[random.below(seeds.size())], seeds[random.below(seeds.size())], random);
    taken += parses(text);
  }
  std::printf("%d of %d mutants parse\n", taken, kCount);
  EXPECT_GT(taken, kCount / 4);
}

}  // namespace
}  // namespace ptx2spv::fuzz
