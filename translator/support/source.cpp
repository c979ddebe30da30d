#include "translator/support/source.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace ptx2spv {

SourceFile::SourceFile(std::string name, std::string text)
    : name_(std::move(name)), text_(std::move(text)) {
  line_starts_.push_back(0);
  const char* const begin = text_.data();
  const char* const end = begin + std::min<std::size_t>(text_.size(), 0xfffffffeu);
  for (const char* p = begin; p < end; ++p) {
    p = static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(end - p)));
    if (p == nullptr) break;
    const auto next = static_cast<std::uint32_t>(p + 1 - begin);
    note_directive(line_starts_.back(), next - 1);
    line_starts_.push_back(next);
  }
}

// Messages are located before, and whether or not, the text parses: so the directives are found
// in the text.
void SourceFile::note_directive(std::uint32_t begin, std::uint32_t end) {
  const char* p = text_.data() + begin;
  const char* const stop = text_.data() + end;
  while (p < stop && (*p == ' ' || *p == '\t')) ++p;
  if (p == stop || *p != '.') return;
  const std::string_view rest(p, static_cast<std::size_t>(stop - p));
  const auto number = static_cast<std::uint32_t>(line_starts_.size());
  const auto read = [](std::string_view& text, std::uint32_t& value) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    text.remove_prefix(static_cast<std::size_t>(last - text.data()));
    return error == std::errc();
  };
  if (rest.starts_with(".loc")) {
    Loc loc;
    loc.at = number;
    std::string_view values = rest.substr(4);
    if (!read(values, loc.file) || !read(values, loc.line)) return;
    read(values, loc.column);
    constexpr std::string_view kInlined = "inlined_at";
    if (const std::size_t at = values.find(kInlined); at != values.npos) {
      values.remove_prefix(at + kInlined.size());
      if (!read(values, loc.caller_file) || !read(values, loc.caller_line) ||
          !read(values, loc.caller_column))
        loc.caller_line = 0;
    }
    locs_.push_back(loc);
  } else if (rest.starts_with(".file")) {
    std::string_view values = rest.substr(5);
    std::uint32_t file = 0;
    if (!read(values, file)) return;
    const std::size_t open = values.find('"');
    const std::size_t close = values.find('"', open == values.npos ? open : open + 1);
    if (close == values.npos) return;
    const auto at = static_cast<std::uint32_t>(values.data() + open + 1 - text_.data());
    files_.emplace_back(file, Span{at, static_cast<std::uint32_t>(close - open - 1)});
  } else {
    // What a function's last line says holds to its end and no further.
    for (const std::string_view word : {".visible", ".entry", ".func", ".global", ".extern",
                                        ".weak", ".const", ".version", ".target", ".section"}) {
      if (!rest.starts_with(word) || locs_.empty()) continue;
      if (locs_.back().line != 0) locs_.push_back({.at = number});
      return;
    }
  }
}

std::vector<SourceFile::Origin> SourceFile::origins(std::uint32_t line, std::size_t most) const {
  const auto next = std::upper_bound(locs_.begin(), locs_.end(), line,
                                     [](std::uint32_t at, const Loc& loc) { return at < loc.at; });
  std::vector<Origin> out;
  const auto add = [&](std::uint32_t file, std::uint32_t at) {
    for (const auto& [number, name] : files_)
      if (number == file) {
        out.push_back({text(name), at});
        return true;
      }
    return false;
  };
  if (next == locs_.begin() || next[-1].line == 0 || !add(next[-1].file, next[-1].line))
    return {Origin{}};
  // A place inlined at is one that a .loc named before (manual, .loc); one walk back over them
  // finds the whole chain.
  const Loc* at = &next[-1];
  for (auto loc = next - 1; at->caller_line != 0 && out.size() < most;) {
    if (!add(at->caller_file, at->caller_line)) break;
    while (loc != locs_.begin() &&
           !(loc[-1].file == at->caller_file && loc[-1].line == at->caller_line &&
             loc[-1].column == at->caller_column))
      --loc;
    if (loc == locs_.begin()) break;
    at = &*--loc;
  }
  return out;
}

std::string_view SourceFile::text(Span span) const {
  if (span.begin >= text_.size()) return {};
  return std::string_view(text_).substr(span.begin, span.length);
}

LineColumn SourceFile::position(std::uint32_t offset) const {
  if (line_starts_.empty()) return {1, 1};
  const auto next = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  const auto line = static_cast<std::uint32_t>(next - line_starts_.begin());
  return {line, offset - line_starts_[line - 1] + 1};
}

std::string_view SourceFile::line(std::uint32_t number) const {
  if (number == 0 || number > line_starts_.size()) return {};
  const std::size_t begin = line_starts_[number - 1];
  std::size_t end = number < line_starts_.size() ? line_starts_[number] - 1 : text_.size();
  if (end > begin && text_[end - 1] == '\r') --end;
  return std::string_view(text_).substr(begin, end - begin);
}

std::string SourceFile::excerpt(std::vector<std::uint32_t> lines, std::size_t most) const {
  if (text_.size() <= most) return text_;
  constexpr std::uint32_t kAround = 20;
  const auto count = static_cast<std::uint32_t>(line_starts_.size());
  std::sort(lines.begin(), lines.end());
  if (lines.empty() || lines.back() > most) return {};
  std::string out;
  std::uint32_t next = 1;  // the first line that is not in `out`
  for (const std::uint32_t line : lines) {
    if (line == 0 || line > count) continue;
    const std::uint32_t last = count - line < kAround ? count : line + kAround;
    if (line > next + kAround) {
      out.append(line - kAround - next, '\n');
      next = line - kAround;
    }
    if (next > last) continue;
    const std::size_t begin = line_starts_[next - 1];
    const std::size_t end = last < count ? line_starts_[last] : text_.size();
    if (out.size() + (end - begin) > most) return {};
    out.append(text_, begin, end - begin);
    next = last + 1;
  }
  return out;
}

}  // namespace ptx2spv
