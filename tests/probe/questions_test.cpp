// Questions asked of the interpreter, whose words are those of NVIDIA's hardware: one that it fails
// is stale.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "src/cache/fnv.hpp"
#include "src/probe/questions.hpp"
#include "tests/probe/common.hpp"
#include "tests/support/process.hpp"

namespace ptx2spv::runtime {
namespace {

/// The answer that a device with NVIDIA's results and no faults gives.
std::uint32_t best_answer(std::string_view row) {
  const Capability* capability = find_capability(row);
  return capability && capability->best();
}

std::optional<Asker> asker_of_interpreter() {
  const test::DebugSettings probe("probe=off");
  auto asker = Asker::open({.select = std::getenv("PTX2SPV_DEVICE")}, ExecutorPolicy::host);
  if (!asker) return std::nullopt;
  return std::move(*asker);
}

/// Asks about results, not about times.
void ask_all(Asker& asker) {
  for (const Question& each : questions()) {
    if (timed(each.row)) continue;
    // Of the two that exclude each other it is right under both.
    const bool other = each.row == "flushes_denormals32";
    if (other) asker.answer("denormals32", 0);
    const Answer answer = each.ask(asker);
    EXPECT_EQ(answer.value, best_answer(each.row)) << each.row << ": " << answer.seen;
    if (other) asker.answer("denormals32", 1);
    if (!other) asker.answer(each.row, answer.value);
  }
}

TEST(Questions, TheInterpreterAnswersAsNvidiaHardwareWould) {
  auto asker = asker_of_interpreter();
  if (!asker) GTEST_SKIP() << "the interpreter does not run on this device";
  ask_all(*asker);
}

std::string_view bytes_of(const std::vector<std::uint32_t>& words) {
  return {reinterpret_cast<const char*>(words.data()), words.size() * 4};
}

/// The program, and what it gives.
std::string line_of(const ProbeProgram& program) {
  const std::string shape = fmt::format("{} {} ", program.blocks, program.block);
  const std::uint64_t made = fnv(bytes_of(program.input), fnv(program.text, fnv(shape)));
  return fmt::format("{:016x} {:016x}", made, fnv(bytes_of(program.words)));
}

/// What `ptxrun --backend cuda` takes to run it and to compare the words.
void write_manifest(const std::filesystem::path& folder, const ProbeProgram& program,
                    std::size_t number) {
  const auto write = [&](std::string_view ending, std::string_view bytes) {
    std::ofstream(folder / fmt::format("{:02}{}", number, ending), std::ios::binary) << bytes;
  };
  write(".ptx", program.text);
  write(".in", bytes_of(program.input));
  write(".out", bytes_of(program.words));
  write(".json", fmt::format(
                     R"({{"module": "{0:02}.ptx",
  "buffers": {{"from": {{"bytes": {1}, "init": {{"raw": "{0:02}.in"}}}}, "to": {{"bytes": {2}}}}},
  "launches": [{{"kernel": "k", "grid": {3}, "block": {4},
                "args": [{{"buffer": "from"}}, {{"buffer": "to"}}, {{"u64": 0}}]}}],
  "outputs": [{{"buffer": "to", "raw": "{0:02}.got", "expect": "{0:02}.out", "dtype": "u32"}}]}}
)",
                     number, program.input.size() * 4, program.words.size() * 4, program.blocks,
                     program.block));
}

// The words that devices are compared with are those that an H100 gave for the same programs.
// PTX2SPV_RECORD=FOLDER writes the programs there; where `ptxrun --backend cuda FOLDER/*.json` on
// NVIDIA hardware finds no difference, FOLDER/recorded.txt takes the place of recorded.txt here.
TEST(Questions, TheReferenceGivesTheWordsOfNvidiaHardware) {
  auto asker = asker_of_interpreter();
  if (!asker) GTEST_SKIP() << "the interpreter does not run on this device";
  std::vector<ProbeProgram> programs;
  asker->observer = [&](const ProbeProgram& program) { programs.push_back(program); };
  ask_all(*asker);
  ASSERT_GT(programs.size(), 20u);
  std::string lines;
  for (const ProbeProgram& each : programs) lines += line_of(each) + "\n";
  if (const char* folder = std::getenv("PTX2SPV_RECORD")) {
    for (std::size_t i = 0; i < programs.size(); ++i) write_manifest(folder, programs[i], i);
    std::ofstream(std::filesystem::path(folder) / "recorded.txt") << lines;
  }
  EXPECT_EQ(test::read_whole(PTX2SPV_SOURCE_DIR "/tests/probe/recorded.txt"), lines)
      << "a program has changed, or what the interpreter gives: PTX2SPV_RECORD=FOLDER writes the "
         "programs, for ptxrun --backend cuda";
}

}  // namespace
}  // namespace ptx2spv::runtime
