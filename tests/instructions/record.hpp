// The record of one-instruction kernels on an H200, and which of its rows a build replays.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "dev/recorder/instruction_kernel.hpp"

namespace ptx2spv::tests {

struct Recorded {
  recorder::Instruction row;
  std::string sample, hashes;  ///< hexadecimal digits as they stand in the record
};

/// The rows of both records, in their order. The second, which `recorder forms` makes, may be
/// missing.
std::vector<Recorded> recorded_instructions();
/// The texts of the rows that are known not to be met, out of deviations.txt.
std::set<std::string> instruction_deviations();

/// The rows are shared out over so many tests. The whole record takes minutes on a CPU: of the rows
/// of each test every eighth is replayed.
inline constexpr std::size_t kRecordParts = 16, kRecordStep = 8;
inline bool replayed_by_itself(std::size_t row) { return row / kRecordParts % kRecordStep == 0; }

}  // namespace ptx2spv::tests
