// Findings that a project knows of and does not want to hear of again (docs/user/sanitizer.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptx2spv/result.hpp"
#include "ptx2spv/sanitizer.hpp"

namespace ptx2spv::runtime {

class Suppressions {
 public:
  /// Reads a list: one suppression a line, '#' before comments. Errors have the form
  /// name:line:column: error: text.
  static Result<Suppressions> parse(std::string_view text, std::string_view name);
  /// The list of PTX2SPV_SUPPRESSIONS, empty where that is not set.
  static Result<Suppressions> from_environment();

  bool empty() const { return rows_.empty(); }
  bool cover(const Finding& finding) const;

 private:
  struct Row {
    std::uint32_t checks = 0;         ///< Check; 0: `kind` is named instead
    std::optional<FindingKind> kind;  ///< neither: any
    std::string kernel, file;         ///< patterns as of fnmatch(); empty: any
    std::uint32_t line = 0;           ///< 0: any
  };
  static bool covers(const Row& row, const Finding& finding);

  std::vector<Row> rows_;
};

}  // namespace ptx2spv::runtime
