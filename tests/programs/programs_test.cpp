// Random programs against what an H200 gave: an oracle that shares nothing with the translator.
// Every program is run in one of the profiles, thread models and backings, by its number.
//
// PTX2SPV_PROGRAM=N runs one and prints its PTX, N,M,... runs several; PTX2SPV_REPLAY=FOLDER
// holds files named by numbers, which `recorder program` writes on a GPU: a failure then says which
// results differ. PTX2SPV_EXHAUSTIVE=1 runs all that are recorded.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/programs/departures.hpp"
#include "tests/programs/record.hpp"
#include "tests/programs/replay.hpp"
#include "tests/support/share.hpp"

namespace ptx2spv::tests {
namespace {

using programs::Program;
using programs::Vocabulary;

std::string device_name() {
  const char* name = std::getenv("PTX2SPV_DEVICE");
  return name ? name : "swiftshader";
}

/// What a recorder's words say of a program that differs.
std::string against_words(const Program& program, const Outcome& outcome, const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<std::uint32_t> output(program.output.size());
  std::vector<std::uint8_t> surface(program.surface.size());
  file.read(reinterpret_cast<char*>(output.data()),
            static_cast<std::streamsize>(output.size() * 4));
  file.read(reinterpret_cast<char*>(surface.data()), static_cast<std::streamsize>(surface.size()));
  if (!file) return std::string("  ") + path + " is of another program\n";
  return differences(program, outcome, output, surface);
}

/// Whether the record is what ptxas makes of the program, and the manual does not.
bool is_departure(Replay& replay, const Program& program, const Variant& variant,
                  std::uint64_t checksum) {
  const Departures departures = as_ptxas_takes(program.text);
  if (departures.reasons.empty()) return false;
  Program changed = program;
  changed.text = departures.text;
  const Outcome outcome = replay.run(changed, variant);
  if (!outcome.error.empty() || programs::checksum(outcome.output, outcome.surface) != checksum)
    return false;
  for (const std::string& reason : departures.reasons)
    std::printf("program %llu differs: %s\n", static_cast<unsigned long long>(program.number),
                reason.c_str());
  return true;
}

constexpr unsigned kParts = 16;
class RandomPrograms : public testing::TestWithParam<unsigned> {};

TEST_P(RandomPrograms, GiveWhatTheHardwareGave) {
  const Vocabulary vocabulary = program_vocabulary();
  ASSERT_GT(vocabulary.groups.size(), 200u);
  const auto lines = recorded_programs();
  ASSERT_GT(lines.size(), 15000u);
  Replay replay(device_name());
  std::string problem;
  if (!replay.device("", problem)) GTEST_SKIP() << "no device " << device_name() << ": " << problem;
  const auto deviations = program_deviations();
  ASSERT_FALSE(deviations.empty());
  const bool all = test::exhaustive();
  // Lavapipe takes four times as long to compile them.
  const bool half = !all && device_name() == "lavapipe";
  if (half && GetParam() == 0)
    std::printf("every second of the programs is left out: PTX2SPV_EXHAUSTIVE=1 runs them\n");
  unsigned met = 0, part = 0;
  for (const ProgramLine& line : lines) {
    if (!all && !program_runs_by_itself(line.number)) continue;
    if (half && line.number % 2 != 0) continue;
    if (part++ % kParts != GetParam()) continue;
    const Program program = programs::make_program(vocabulary, line.number);
    ASSERT_EQ(static_cast<std::uint32_t>(program.digest()), line.digest)
        << "program " << line.number << " is not what was recorded: the generator has changed";
    if (const char* form = refused_form(program.text)) {
      std::printf("program %llu is left out: %s is refused (docs/user/limits.md)\n",
                  static_cast<unsigned long long>(line.number), form);
      continue;
    }
    const Variant variant = variant_of(line.number);
    const Outcome outcome = replay.run(program, variant);
    const bool same = outcome.error.empty() &&
                      programs::checksum(outcome.output, outcome.surface) == line.checksum;
    if (const auto known = deviations.find(line.number); known != deviations.end()) {
      // Either result is right there, and how a device runs the threads decides.
      std::printf("program %llu %s: %s\n", static_cast<unsigned long long>(line.number),
                  same ? "is the same" : "differs", known->second.c_str());
      continue;
    }
    if (same) {
      ++met;
      continue;
    }
    if (outcome.error.empty() && is_departure(replay, program, variant, line.checksum)) continue;
    std::string text = outcome.error.empty() ? "gives other results" : outcome.error;
    const char* folder = std::getenv("PTX2SPV_REPLAY");
    if (folder && outcome.error.empty())
      text += "\n" + against_words(program, outcome,
                                   (folder + ("/" + std::to_string(line.number))).c_str());
    ADD_FAILURE() << "program " << line.number << " (" << variant.text() << ") " << text
                  << "; PTX2SPV_PROGRAM=" << line.number << " prints it";
  }
  EXPECT_GT(met, 0u);
}

INSTANTIATE_TEST_SUITE_P(Numbers, RandomPrograms, testing::Range(0u, kParts));

TEST(OneProgram, IsRunByItsNumber) {
  const char* numbers = std::getenv("PTX2SPV_PROGRAM");
  if (!numbers) GTEST_SKIP() << "PTX2SPV_PROGRAM names no program";
  const Vocabulary vocabulary = program_vocabulary();
  Replay replay(device_name());
  const char* words = std::getenv("PTX2SPV_REPLAY");
  std::map<std::uint64_t, std::uint64_t> recorded;
  for (const ProgramLine& line : recorded_programs()) recorded[line.number] = line.checksum;
  std::istringstream list(numbers);
  const bool one = std::string_view(numbers).find(',') == std::string_view::npos;
  for (std::string number; std::getline(list, number, ',');) {
    const Program program = programs::make_program(vocabulary, std::stoull(number));
    if (!words && one) std::printf("%s", program.text.c_str());
    const Variant variant = variant_of(program.number);
    const Outcome outcome = replay.run(program, variant);
    EXPECT_EQ(outcome.error, "") << "program " << number << " (" << variant.text() << ")";
    if (!outcome.error.empty()) continue;
    if (words) {
      EXPECT_EQ(against_words(program, outcome, (words + ("/" + number)).c_str()), "");
    }
    if (!recorded.contains(program.number)) continue;
    EXPECT_EQ(programs::checksum(outcome.output, outcome.surface), recorded[program.number])
        << "program " << number << " (" << variant.text() << ")";
  }
}

}  // namespace
}  // namespace ptx2spv::tests
