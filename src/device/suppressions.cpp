#include "src/device/suppressions.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>

#include "ptx2spv/sanitize.hpp"
#include "ptx2spv/text.hpp"
#include "src/files.hpp"
#include "src/options.hpp"
#include "src/vulkan/api.hpp"

namespace ptx2spv::runtime {

namespace {

constexpr FindingKind kLastKind = FindingKind::differing_members;

std::optional<FindingKind> kind_named(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(kLastKind); ++i)
    if (name == to_string(static_cast<FindingKind>(i))) return static_cast<FindingKind>(i);
  return std::nullopt;
}

std::uint32_t check_of(const Finding& finding) {
  if (finding.kind == FindingKind::uninitialised) return check_init;
  if (finding.kind == FindingKind::race) return check_race;
  if (finding.kind == FindingKind::other_width) return check_width;
  if (finding.kind >= FindingKind::endless_wait) return check_sync;
  const bool clamp =
      finding.memory == MemorySpace::surface && finding.kind == FindingKind::out_of_bounds;
  return clamp ? check_clamp | check_memory : check_memory;
}

/// Whether a pattern names a file by its last parts: "sort.cu" is in "/home/me/sort.cu".
bool matches_file(const std::string& pattern, const std::string& file) {
  if (fnmatch(pattern.c_str(), file.c_str(), 0) == 0) return true;
  return fnmatch(("*/" + pattern).c_str(), file.c_str(), 0) == 0;
}

/// A word of a line, and where it begins (from 1).
struct Word {
  std::string_view text;
  std::size_t column = 1;
};

std::vector<Word> words_of(std::string_view line) {
  constexpr std::string_view kBlank = " \t\r";
  line = line.substr(0, line.find('#'));
  std::vector<Word> words;
  for (std::size_t at = line.find_first_not_of(kBlank); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBlank, at), line.size());
    words.push_back({line.substr(at, end - at), at + 1});
    at = line.find_first_not_of(kBlank, end);
  }
  return words;
}

}  // namespace

Result<Suppressions> Suppressions::parse(std::string_view text, std::string_view name) {
  Suppressions list;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::vector<Word> words = words_of(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (words.empty()) continue;
    const auto bad = [&](const Word& word, std::string why) {
      return bad_argument("{}:{}:{}: error: {}", name, number, word.column, why);
    };
    Row row;
    std::string unknown;
    row.kind = kind_named(words[0].text);
    if (!row.kind && words[0].text != "*") {
      const auto checks = parse_checks(words[0].text, unknown);
      if (!checks || *checks == no_checks)
        return bad(words[0], fmt::format("'{}' is no check and no kind of finding; '*' is any",
                                         words[0].text));
      if (*checks & check_leaks) return bad(words[0], "leaks are not suppressed by this list");
      row.checks = *checks;
    }
    for (std::size_t i = 1; i < words.size(); ++i) {
      const std::string_view word = words[i].text;
      if (word.starts_with("kernel=") && word.size() > 7 && row.kernel.empty()) {
        row.kernel = word.substr(7);
      } else if (word.starts_with("at=") && word.size() > 3 && row.file.empty()) {
        row.file = word.substr(3);
        const std::size_t colon = row.file.rfind(':');
        if (colon == std::string::npos) continue;
        if (!read_number(std::string_view(row.file).substr(colon + 1), row.line) || row.line == 0 ||
            colon == 0)
          return bad(words[i],
                     fmt::format("'{}' is not of the form at=FILE or at=FILE:LINE", word));
        row.file.resize(colon);
      } else {
        return bad(words[i],
                   fmt::format("'{}' is neither kernel=NAME nor at=FILE:LINE, once each", word));
      }
    }
    if (row.kernel.empty() && row.file.empty())
      return bad(words[0], "a suppression names a kernel (kernel=NAME) or a place (at=FILE:LINE)");
    list.rows_.push_back(std::move(row));
  }
  return list;
}

Result<Suppressions> Suppressions::from_environment() {
  const std::string file(option_text(Option::suppressions));
  if (file.empty()) return Suppressions();
  std::string text;
  if (const std::string why = read_file(file, kMostText, text); !why.empty())
    return bad_argument("PTX2SPV_SUPPRESSIONS: {} cannot be read: {}", file, why);
  return parse(text, file);
}

bool Suppressions::covers(const Row& row, const Finding& finding) {
  if (row.kind && *row.kind != finding.kind) return false;
  if (row.checks && !(row.checks & check_of(finding))) return false;
  if (!row.kernel.empty() && fnmatch(row.kernel.c_str(), finding.kernel.c_str(), 0) != 0)
    return false;
  if (row.file.empty()) return true;
  const auto at = [&](const std::string& file, std::uint32_t line) {
    return (!row.line || row.line == line) && !file.empty() && matches_file(row.file, file);
  };
  if (at(finding.file, finding.line) || at(finding.source_file, finding.source_line)) return true;
  for (const SourcePlace& place : finding.inlined_at)
    if (at(place.file, place.line)) return true;
  // Either side of a race.
  return finding.other.known && (at(finding.file, finding.other.line) ||
                                 at(finding.other.source_file, finding.other.source_line));
}

bool Suppressions::cover(const Finding& finding) const {
  for (const Row& row : rows_)
    if (covers(row, finding)) return true;
  return false;
}

}  // namespace ptx2spv::runtime

namespace ptx2spv {

std::string suppressions_problem(std::string_view text, std::string_view file) {
  const auto list = runtime::Suppressions::parse(text, file);
  return list ? std::string() : list.error().text;
}

}  // namespace ptx2spv
