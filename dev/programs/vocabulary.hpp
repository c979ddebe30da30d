// The instructions that programs are made of: every form that ptxas takes for sm_90, in groups, one
// for each row of the instruction table. The file is data, so that a program is the same whatever
// becomes of the table; `recorder vocabulary` writes it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ptx2spv::programs {

/// One row of the instruction table: its opcode, and instructions of that form. In a line $D:TYPE
/// is a destination, $S:TYPE a source, $R:TYPE a source that has to be a register, $W:TYPE and
/// $X:TYPE a destination and a source that may be a wider register, $P a destination predicate, $C
/// a source predicate; memory instructions stand there with the registers that ptxas was shown.
struct Group {
  std::string row, opcode;
  std::vector<std::string> lines;
};

struct Vocabulary {
  std::vector<Group> groups;
  /// Texture instructions: geometry, then the line.
  std::vector<std::pair<std::string, std::string>> textures;
  std::uint64_t digest = 0;

  /// Empty where the file cannot be read.
  static Vocabulary read(const std::string& path);
};

}  // namespace ptx2spv::programs
