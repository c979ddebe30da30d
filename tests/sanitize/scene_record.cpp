// What compute-sanitizer said of the scenes on an H200, and the scenes for dev/recorder to ask
// it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "tests/sanitize/scene.hpp"
#include "tools/common/files.hpp"

namespace ptx2spv {
namespace {

const std::string kFolder = PTX2SPV_SOURCE_DIR "/tests/data/sanitizer/";

struct Verdict {
  bool found = false;
  std::string words;  ///< the first message's lines, joined by "; "
};

struct Disagreement {
  bool ours = false;   ///< we report
  std::string scenes;  ///< a name, `*` for any text
  std::string reason;
  mutable bool used = false;
};

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream stream(line);
  for (std::string cell; std::getline(stream, cell, '\t');) cells.push_back(cell);
  return cells;
}

/// The lines of a file of tests/data/sanitizer, cut at tabs. `#` starts a comment.
std::vector<std::vector<std::string>> rows_of(const char* name) {
  std::string text;
  const tools::IoError error = tools::read_text(kFolder + name, text);
  EXPECT_TRUE(error.empty()) << error;
  std::vector<std::vector<std::string>> rows;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    if (!line.empty() && line[0] != '#') rows.push_back(cells_of(line));
  return rows;
}

const std::map<std::string, Verdict>& verdicts() {
  static const std::map<std::string, Verdict> all = [] {
    std::map<std::string, Verdict> read;
    for (const auto& row : rows_of("compute_sanitizer.txt.gz")) {
      EXPECT_GE(row.size(), 2u);
      if (row.size() >= 2)
        read[row[1]] = {row[0] == "found", row.size() > 2 ? row[2] : std::string()};
    }
    return read;
  }();
  return all;
}

const std::vector<Disagreement>& disagreements() {
  static const std::vector<Disagreement> all = [] {
    std::vector<Disagreement> read;
    for (const auto& row : rows_of("disagreements.txt")) {
      EXPECT_EQ(row.size(), 3u);
      if (row.size() == 3) read.push_back({row[0] == "found", row[1], row[2]});
    }
    return read;
  }();
  return all;
}

/// Whether `text` has the form `pattern`, in which `*` is any text.
bool has_form(std::string_view text, std::string_view pattern) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] != '*')
    return !text.empty() && text[0] == pattern[0] && has_form(text.substr(1), pattern.substr(1));
  for (std::size_t skip = 0; skip <= text.size(); ++skip)
    if (has_form(text.substr(skip), pattern.substr(1))) return true;
  return false;
}

const Disagreement* explanation(const std::string& scene, bool ours) {
  for (const Disagreement& each : disagreements())
    if (each.ours == ours && has_form(scene, each.scenes)) return &each;
  return nullptr;
}

/// What compute-sanitizer says of an access and of the place, beside ours.
void compare_words(const std::string& words, const Finding& ours) {
  static const std::regex access(R"(Invalid __\w+__ (read|write|atomic) of size (\d+) bytes)");
  static const std::regex place(
      R"(is (\d+) bytes (after|before) the nearest allocation of size (\d+))");
  std::smatch parts;
  if (std::regex_search(words, parts, access)) {
    const char* kind = parts[1] == "read" ? "load" : parts[1] == "write" ? "store" : "atomic";
    // ptxas makes a loop of an atomic of 64 bits in shared memory, which reads first.
    const bool loop = ours.access == AccessKind::atomic && ours.bytes == 8 &&
                      ours.memory == MemorySpace::shared && parts[1] == "read";
    if (!loop) {
      EXPECT_STREQ(to_string(ours.access), kind) << words;
    }
    EXPECT_EQ(std::to_string(ours.bytes), parts[2]) << words;
  }
  // Of null and freed memory it names the allocation that happens to be the nearest.
  if (ours.kind == FindingKind::out_of_bounds && std::regex_search(words, parts, place)) {
    // It counts the first byte behind the end as 1.
    const bool after = parts[2] == "after";
    const std::int64_t distance = std::stoll(parts[1]);
    EXPECT_EQ(ours.distance, after ? distance - 1 : -distance) << words;
    EXPECT_EQ(std::to_string(ours.object_bytes), parts[3]) << words;
  }
  // Where both are true, either may be said.
  if (ours.kind == FindingKind::misaligned) {
    EXPECT_NE(words.find("isaligned"), std::string::npos) << words;
  }
}

nlohmann::json json_of(const Scene& scene, std::size_t number) {
  // compute-sanitizer names the kernel in its messages.
  const std::string kernel = "scene" + std::to_string(number);
  std::string ptx = scene.ptx;
  const std::string entry = ".entry " + scene.kernel + "(";
  const std::size_t at = ptx.find(entry);
  EXPECT_NE(at, std::string::npos) << scene.name;
  if (at != std::string::npos) ptx.replace(at, entry.size(), ".entry " + kernel + "(");
  nlohmann::json json = {{"name", scene.name},       {"check", scene.check},
                         {"kernel", kernel},         {"ptx", ptx},
                         {"grid", scene.grid},       {"width", scene.block[0]},
                         {"height", scene.block[1]}, {"shared", scene.shared}};
  json["memory"] = json["arrays"] = json["arguments"] = nlohmann::json::array();
  for (const Scene::Memory& memory : scene.memory) {
    nlohmann::json& each = json["memory"].emplace_back(
        nlohmann::json{{"bytes", memory.bytes}, {"freed", memory.freed}});
    if (memory.word) each["word"] = *memory.word;
    if (memory.address) each["address"] = *memory.address;
    if (memory.handle) each["handle"] = *memory.handle;
    if (memory.texture) each["texture"] = *memory.texture;
  }
  for (const Scene::Texels& texels : scene.arrays)
    json["arrays"].push_back({{"width", kTexelWidth},
                              {"height", kTexelHeight},
                              {"depth", texels.geometry == Geometry::d2 ? 0 : kTexelLayers},
                              {"layered", texels.geometry == Geometry::a2d},
                              {"written", texels.written}});
  constexpr const char* kKinds[] = {"memory", "surface", "texture", "value"};
  for (const Scene::Argument& argument : scene.arguments)
    json["arguments"].push_back({{"kind", kKinds[static_cast<unsigned>(argument.kind)]},
                                 {"number", argument.number},
                                 {"bytes", argument.bytes}});
  return json;
}

// With PTX2SPV_SCENES=FILE it writes the file that `recorder scenes` reads.
TEST(Record, HasEveryScene) {
  const std::vector<Scene> scenes = all_scenes();
  std::set<std::string> names;
  nlohmann::json all = nlohmann::json::array();
  for (const Scene& scene : scenes) {
    EXPECT_TRUE(names.insert(scene.name).second) << scene.name;
    all.push_back(json_of(scene, all.size()));
  }
  if (const char* path = std::getenv("PTX2SPV_SCENES")) {
    std::ofstream(path) << all.dump(1) << "\n";
    GTEST_SKIP() << "wrote " << scenes.size() << " scenes to " << path;
  }
  for (const std::string& name : names)
    EXPECT_TRUE(verdicts().contains(name)) << "the record lacks the scene '" << name << "'";
  for (const auto& [name, verdict] : verdicts())
    EXPECT_TRUE(names.contains(name)) << "the record has a scene that is no more: '" << name << "'";
}

// Each row explains scenes in which the two differ.
TEST(Record, EveryExplanationIsNeeded) {
  for (const Scene& scene : all_scenes()) {
    const auto verdict = verdicts().find(scene.name);
    if (verdict == verdicts().end() || verdict->second.found == scene.faulty) continue;
    const Disagreement* reason = explanation(scene.name, scene.faulty);
    ASSERT_TRUE(reason) << scene.name;
    reason->used = true;
  }
  for (const Disagreement& each : disagreements())
    EXPECT_TRUE(each.used) << "no scene needs the row '" << each.scenes << "'";
}

}  // namespace

void compare_with_record(const Scene& scene, const std::vector<Finding>& findings) {
  const auto recorded = verdicts().find(scene.name);
  ASSERT_NE(recorded, verdicts().end()) << "the record lacks the scene '" << scene.name << "'";
  const bool ours = !findings.empty();
  if (recorded->second.found == ours) {
    if (ours && scene.check == "memory") compare_words(recorded->second.words, findings[0]);
    return;
  }
  EXPECT_TRUE(explanation(scene.name, ours))
      << scene.name << ": compute-sanitizer "
      << (recorded->second.found ? "says " + recorded->second.words : "is silent") << ", and we "
      << (ours ? "say " + findings[0].to_string() : "are silent");
}

}  // namespace ptx2spv
