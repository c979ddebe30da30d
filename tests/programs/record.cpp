#include "tests/programs/record.hpp"

#include <zlib.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <regex>

namespace ptx2spv::tests {

programs::Vocabulary program_vocabulary() {
  return programs::Vocabulary::read(PTX2SPV_SOURCE_DIR "/tests/data/hardware/program_forms.txt.gz");
}

std::vector<ProgramLine> recorded_programs() {
  std::vector<ProgramLine> lines;
  gzFile file = gzopen(PTX2SPV_SOURCE_DIR "/tests/data/hardware/programs.txt.gz", "rb");
  if (!file) return lines;
  char text[4096];
  while (gzgets(file, text, sizeof(text))) {
    ProgramLine line;
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

std::map<std::uint64_t, std::string> program_deviations() {
  std::map<std::uint64_t, std::string> reasons;
  std::ifstream file(PTX2SPV_SOURCE_DIR "/tests/programs/deviations.txt");
  for (std::string line; std::getline(file, line);) {
    const std::size_t blank = line.find(' ');
    if (line.starts_with('#') || blank == std::string::npos) continue;
    reasons[std::strtoull(line.c_str(), nullptr, 10)] = line.substr(blank + 1);
  }
  return reasons;
}

const char* refused_form(const std::string& text) {
  static const std::regex kRounded("fma\\.(rz|rm|rp)[.a-z]*\\.bf16");
  return std::regex_search(text, kRounded) ? "fma.rz, .rm or .rp of .bf16" : nullptr;
}

}  // namespace ptx2spv::tests
