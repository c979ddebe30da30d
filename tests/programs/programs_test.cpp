// Random programs against what an H200 gave: an oracle that shares nothing with the translator.
// Every program is run in one of the profiles, thread models and backings, by its number.
//
// PTX2SPV_PROGRAM=N runs one and prints its PTX; PTX2SPV_PROGRAM_WORDS=FOLDER holds files named by
// numbers, which `recorder program` writes on a GPU: a failure then says which results differ.
// PTX2SPV_EXHAUSTIVE=1 runs all that are recorded.
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <regex>

#include "tests/programs/replay.hpp"

namespace ptx2spv::tests {
namespace {

using programs::Program;
using programs::Vocabulary;

const char* const kVocabulary = PTX2SPV_SOURCE_DIR "/tests/data/hardware/program_forms.txt.gz";
const char* const kRecord = PTX2SPV_SOURCE_DIR "/tests/data/hardware/programs.txt.gz";
const char* const kDeviations = PTX2SPV_SOURCE_DIR "/tests/programs/deviations.txt";
/// Every 67th program runs in each build: 67 shares no factor with the number of rows that have
/// their turn, so that every row has.
constexpr std::uint64_t kStep = 67;
constexpr unsigned kParts = 16;

struct Line {
  std::uint64_t number = 0, checksum = 0;
  std::uint32_t digest = 0;
};

/// The lines with a checksum; what the optimiser decides and what the driver refused has none.
std::vector<Line> read_record(const char* path) {
  std::vector<Line> lines;
  gzFile file = gzopen(path, "rb");
  if (!file) return lines;
  char text[4096];
  while (gzgets(file, text, sizeof(text))) {
    Line line;
    char checksum[32] = "";
    unsigned long long number = 0;
    if (std::sscanf(text, "%llu %x %31s", &number, &line.digest, checksum) != 3) continue;
    if (std::strlen(checksum) != 16) continue;
    line.number = number;
    line.checksum = std::strtoull(checksum, nullptr, 16);
    lines.push_back(line);
  }
  gzclose(file);
  return lines;
}

/// The reasons why programs differ, by number.
std::map<std::uint64_t, std::string> read_deviations(const char* path) {
  std::map<std::uint64_t, std::string> reasons;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t blank = line.find(' ');
    if (line.starts_with('#') || blank == std::string::npos) continue;
    reasons[std::strtoull(line.c_str(), nullptr, 10)] = line.substr(blank + 1);
  }
  return reasons;
}

/// A form that ptxas takes and the translator refuses, where the program has one.
const char* refused_form(const std::string& text) {
  static const std::regex kRounded("fma\\.(rz|rm|rp)[.a-z]*\\.bf16");
  return std::regex_search(text, kRounded) ? "fma.rz, .rm or .rp of .bf16" : nullptr;
}

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

class RandomPrograms : public testing::TestWithParam<unsigned> {};

TEST_P(RandomPrograms, GiveWhatTheHardwareGave) {
  const Vocabulary vocabulary = Vocabulary::read(kVocabulary);
  ASSERT_GT(vocabulary.groups.size(), 200u) << kVocabulary;
  const auto lines = read_record(kRecord);
  ASSERT_GT(lines.size(), 15000u) << kRecord;
  Replay replay(device_name());
  std::string problem;
  if (!replay.device("", problem)) GTEST_SKIP() << "no device " << device_name() << ": " << problem;
  const auto deviations = read_deviations(kDeviations);
  ASSERT_FALSE(deviations.empty()) << kDeviations;
  const bool all = std::getenv("PTX2SPV_EXHAUSTIVE") != nullptr;
  unsigned met = 0, part = 0;
  for (const Line& line : lines) {
    if (!all && line.number % kStep != 0) continue;
    if (part++ % kParts != GetParam()) continue;
    const Program program = programs::make_program(vocabulary, line.number);
    ASSERT_EQ(static_cast<std::uint32_t>(program.digest()), line.digest)
        << "program " << line.number << " is not what was recorded: the generator has changed";
    if (const char* form = refused_form(program.text)) {
      std::printf("program %llu is left out: %s is refused (docs/limits.md)\n",
                  static_cast<unsigned long long>(line.number), form);
      continue;
    }
    const Variant variant = variant_of(line.number);
    const Outcome outcome = replay.run(program, variant);
    const bool same = outcome.error.empty() &&
                      programs::checksum(outcome.output, outcome.surface) == line.checksum;
    if (const auto known = deviations.find(line.number); known != deviations.end()) {
      std::printf("program %llu differs: %s\n", static_cast<unsigned long long>(line.number),
                  known->second.c_str());
      EXPECT_FALSE(same) << "program " << line.number << " is met: take it out of deviations.txt";
      continue;
    }
    if (same) {
      ++met;
      continue;
    }
    std::string text = outcome.error.empty() ? "gives other results" : outcome.error;
    const char* folder = std::getenv("PTX2SPV_PROGRAM_WORDS");
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
  const char* number = std::getenv("PTX2SPV_PROGRAM");
  if (!number) GTEST_SKIP() << "PTX2SPV_PROGRAM names no program";
  const Vocabulary vocabulary = Vocabulary::read(kVocabulary);
  Replay replay(device_name());
  const char* words = std::getenv("PTX2SPV_PROGRAM_WORDS");
  const std::string program_number = number;
  const Program program = programs::make_program(vocabulary, std::strtoull(number, nullptr, 0));
  if (!words) std::printf("%s", program.text.c_str());
  const Outcome outcome = replay.run(program, variant_of(program.number));
  ASSERT_EQ(outcome.error, "");
  const std::uint64_t checksum = programs::checksum(outcome.output, outcome.surface);
  if (words) {
    EXPECT_EQ(against_words(program, outcome, (words + ("/" + program_number)).c_str()), "");
  }
  for (const Line& line : read_record(kRecord)) {
    if (line.number != program.number) continue;
    EXPECT_EQ(checksum, line.checksum);
  }
}

}  // namespace
}  // namespace ptx2spv::tests
