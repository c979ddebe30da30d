#include "translator/support/source.hpp"

#include <algorithm>
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
    line_starts_.push_back(static_cast<std::uint32_t>(p + 1 - begin));
  }
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

}  // namespace ptx2spv
