// A source text with its name, and the way from byte offsets to lines and columns.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "translator/support/span.hpp"

namespace ptx2spv {

struct LineColumn {
  std::uint32_t line = 0;    ///< from 1
  std::uint32_t column = 0;  ///< from 1, in bytes
};

/// Owns a text. Texts over 4 GiB are cut; the parser refuses them before that.
class SourceFile {
 public:
  SourceFile() = default;
  SourceFile(std::string name, std::string text);
  const std::string& name() const { return name_; }
  std::string_view text() const { return text_; }
  std::string_view text(Span span) const;
  LineColumn position(std::uint32_t offset) const;
  std::string_view line(std::uint32_t number) const;  ///< without its end
  /// The text with the lines around the given ones, each in its place, and all others empty:
  /// what a debugger shows of a part of a file. All of the text where that has `most` bytes at
  /// most, nothing where not even the lines would fit.
  std::string excerpt(std::vector<std::uint32_t> lines, std::size_t most) const;
  /// The line of the source that a .loc directive names for a line of this file.
  struct Origin {
    std::string_view file;   ///< as .file names it; empty where nothing is known
    std::uint32_t line = 0;  ///< from 1
  };
  Origin origin(std::uint32_t line) const { return origins(line, 1).front(); }
  /// The same, and behind it where it was inlined, the nearest call first: one to `most` places.
  std::vector<Origin> origins(std::uint32_t line, std::size_t most) const;

 private:
  std::string name_, text_;
  void note_directive(std::uint32_t begin, std::uint32_t end);

  std::vector<std::uint32_t> line_starts_;
  struct Loc {
    std::uint32_t at = 0, file = 0, line = 0, column = 0;  ///< line 0: nothing known from here on
    /// What inlined_at says; line 0: nothing.
    std::uint32_t caller_file = 0, caller_line = 0, caller_column = 0;
  };
  std::vector<Loc> locs_;                              ///< by `at`
  std::vector<std::pair<std::uint32_t, Span>> files_;  ///< numbers and names
};

}  // namespace ptx2spv
