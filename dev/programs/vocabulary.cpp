#include "dev/programs/vocabulary.hpp"

#include <zlib.h>

#include "dev/programs/random.hpp"

namespace ptx2spv::programs {

Vocabulary Vocabulary::read(const std::string& path) {
  Vocabulary vocabulary;
  gzFile file = gzopen(path.c_str(), "rb");
  if (!file) return vocabulary;
  char buffer[1024];
  while (gzgets(file, buffer, sizeof(buffer))) {
    std::string line = buffer;
    while (!line.empty() && line.back() == '\n') line.pop_back();
    for (const char c : line)
      vocabulary.digest = mix(vocabulary.digest, static_cast<unsigned char>(c));
    if (line.starts_with("R ")) {
      vocabulary.groups.emplace_back();
      vocabulary.groups.back().row = line.substr(2);
      vocabulary.groups.back().opcode = line.substr(2, line.find_first_of(".{ ", 2) - 2);
    } else if (line.starts_with("T ")) {
      const std::size_t blank = line.find(' ', 2);
      vocabulary.textures.emplace_back(line.substr(2, blank - 2), line.substr(blank + 1));
    } else if (!line.empty() && !vocabulary.groups.empty()) {
      vocabulary.groups.back().lines.push_back(line);
    }
  }
  gzclose(file);
  return vocabulary;
}

}  // namespace ptx2spv::programs
