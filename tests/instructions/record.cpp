#include "tests/instructions/record.hpp"

#include <zlib.h>

#include <fstream>
#include <utility>

namespace ptx2spv::tests {
namespace {

using recorder::Instruction;

std::vector<Recorded> read_rows(const std::string& path) {
  std::vector<Recorded> rows;
  gzFile file = gzopen(path.c_str(), "rb");
  if (!file) return rows;
  std::string line;
  char buffer[8192];
  const auto field = [](const std::string& text, const std::string& key) {
    const auto at = text.find(key) + key.size();
    std::string value = text.substr(at, text.find(' ', at) - at);
    for (char& c : value) {
      if (c == ',') c = ' ';
    }
    return value;
  };
  while (gzgets(file, buffer, sizeof(buffer))) {
    line += buffer;
    if (line.back() != '\n') continue;
    line.pop_back();
    const std::string text = line.size() > 2 ? line.substr(2) : "";
    if (line.starts_with("I ")) {
      rows.emplace_back();
      rows.back().row.text = text;
    } else if (line.starts_with("K ")) {
      Instruction& row = rows.back().row;
      row.out = recorder::parse_kinds(field(text, "out="));
      row.in = recorder::parse_kinds(field(text, " in="));
      row.count = static_cast<std::uint32_t>(std::stoul(field(text, " n=")));
      row.approximate = text.ends_with(" approximate");
    } else if (line.starts_with("B ")) {
      rows.back().row.body = text;
    } else if (line.starts_with("V ")) {
      rows.back().sample = text;
    } else if (line.starts_with("H ")) {
      rows.back().hashes = text;
    }
    line.clear();
  }
  gzclose(file);
  return rows;
}

}  // namespace

std::vector<Recorded> recorded_instructions() {
  auto rows = read_rows(PTX2SPV_SOURCE_DIR "/tests/data/hardware/instructions.txt.gz");
  for (auto& row : read_rows(PTX2SPV_SOURCE_DIR "/tests/data/hardware/instructions_more.txt.gz"))
    rows.push_back(std::move(row));
  return rows;
}

std::set<std::string> instruction_deviations() {
  std::set<std::string> rows;
  std::ifstream file(PTX2SPV_SOURCE_DIR "/tests/instructions/deviations.txt");
  for (std::string line; std::getline(file, line);) rows.insert(line);
  return rows;
}

}  // namespace ptx2spv::tests
