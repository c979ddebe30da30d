// Reads tests/data/hardware/textures.txt.gz.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "dev/recorder/texture_setup.hpp"

namespace ptx2spv::tests {

/// One instruction on one texture, with all its lines.
struct TextureSection {
  recorder::TextureSetup setup;
  std::string setup_text, instruction;
  std::vector<std::vector<std::uint32_t>> operands, results;
};

inline std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (char c : text) {
    if (c == at) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

template <std::size_t N>
unsigned index_of(const char* const (&names)[N], const std::string& name) {
  for (unsigned i = 0; i < N; ++i) {
    if (name == names[i]) return i;
  }
  return 0;
}

inline recorder::TextureSetup parse_setup(const std::string& line) {
  static constexpr const char* kAddress[] = {"wrap", "clamp", "mirror", "border"};
  recorder::TextureSetup s;
  const auto words = split(line, ' ');
  s.channels = static_cast<unsigned>(words[0].back() - '0');
  s.format = static_cast<recorder::TexelFormat>(
      index_of(recorder::kTexelFormatNames, words[0].substr(0, words[0].size() - 1)));
  s.geometry = words[1];
  std::map<std::string, std::string> values;
  for (std::size_t i = 2; i < words.size(); ++i) {
    const auto pair = split(words[i], '=');
    values[pair[0]] = pair[1];
  }
  const auto number = [&](const char* key) {
    return static_cast<unsigned>(std::stoul(values[key]));
  };
  // A denormal is none to std::stof.
  const auto real = [](const std::string& text) { return std::strtof(text.c_str(), nullptr); };
  s.width = number("w"), s.height = number("h"), s.depth = number("d");
  s.levels = number("levels"), s.seed = number("seed"), s.anisotropy = number("aniso");
  s.data = static_cast<recorder::TexelData>(index_of(recorder::kTexelDataNames, values["data"]));
  s.resource = values["resource"];
  if (values.contains("pitch")) s.pitch = number("pitch");
  const auto address = split(values["address"], ',');
  for (unsigned i = 0; i < 3; ++i) s.address[i] = index_of(kAddress, address[i]);
  s.linear = values["filter"] == "linear", s.mip_linear = values["mip"] == "linear";
  s.element = values["read"] == "element", s.normalized = values["coords"] == "normalized";
  s.srgb = number("srgb") != 0, s.seamless = number("seamless") != 0,
  s.full_trilinear = number("trilinear") != 0;
  s.bias = real(values["bias"]), s.min_level = real(values["min"]),
  s.max_level = real(values["max"]);
  const auto border = split(values["border"], ',');
  for (unsigned i = 0; i < 4; ++i) s.border[i] = real(border[i]);
  return s;
}

/// The records that are replayed: PTX2SPV_REPLAY's instead of the committed ones.
inline std::vector<std::string> record_files() {
  if (const char* other = std::getenv("PTX2SPV_REPLAY")) return {other};
  std::vector<std::string> files;
  for (const char* name : {"textures", "texture_levels", "texture_random", "texture_anisotropic",
                           "texture_kinds", "texture_probes", "texture_pairs"})
    files.push_back(std::string(PTX2SPV_SOURCE_DIR "/tests/data/hardware/") + name + ".txt.gz");
  return files;
}

/// Calls `each` with every section of the record; false when the file is missing.
inline bool read_record(const std::string& path,
                        const std::function<void(const TextureSection&)>& each) {
  gzFile file = gzopen(path.c_str(), "rb");
  if (!file) return false;
  TextureSection section;
  char buffer[1024];
  const auto flush = [&] {
    if (!section.operands.empty()) each(section);
    section.operands.clear();
    section.results.clear();
  };
  while (gzgets(file, buffer, sizeof(buffer))) {
    std::string line(buffer);
    while (!line.empty() && line.back() == '\n') line.pop_back();
    if (line.empty() || line[0] == '#') continue;
    if (line.starts_with("T ")) {
      flush();
      section.setup_text = line.substr(2);
      section.setup = parse_setup(section.setup_text);
    } else if (line.starts_with("I ")) {
      flush();
      section.instruction = line.substr(2);
    } else {
      const auto sides = split(line, '=');
      const auto words = [](const std::string& text) {
        std::vector<std::uint32_t> list;
        if (text.empty()) return list;
        for (const auto& word : split(text, ','))
          list.push_back(static_cast<std::uint32_t>(std::stoul(word, nullptr, 16)));
        return list;
      };
      section.operands.push_back(words(sides[0]));
      section.results.push_back(words(sides[1]));
    }
  }
  flush();
  gzclose(file);
  return true;
}

}  // namespace ptx2spv::tests
