// The record of the random programs, and which of them a build replays.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "dev/programs/vocabulary.hpp"

namespace ptx2spv::tests {

struct ProgramLine {
  std::uint64_t number = 0, checksum = 0;
  std::uint32_t digest = 0;
};

programs::Vocabulary program_vocabulary();
/// The lines with a checksum; what the optimiser decides and what the driver refused has none.
std::vector<ProgramLine> recorded_programs();
/// The reasons why programs differ, by number.
std::map<std::uint64_t, std::string> program_deviations();
/// A form that ptxas takes and the translator refuses, where the program has one.
const char* refused_form(const std::string& text);

/// Every 67th program runs in each build: 67 shares no factor with the number of rows that have
/// their turn, so that every row has.
inline bool program_runs_by_itself(std::uint64_t number) { return number % 67 == 0; }

}  // namespace ptx2spv::tests
