#include "translator/support/diagnostic.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "ptx2spv/text.hpp"

namespace ptx2spv {
namespace {

constexpr std::size_t kMaxShown = 200;  // columns of a source line that a message repeats

/// Names come out of the input: nothing in them may steer a terminal.
std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte == 0x7f ? '?' : c;
  }
  return shortened(std::move(out));
}

const char* word(Severity severity) {
  switch (severity) {
    case Severity::note: return "note";
    case Severity::warning: return "warning";
    case Severity::error: break;
  }
  return "error";
}

/// The line and the caret below it; tabs become blanks so that the caret stands right.
void append_line(std::string& out, Span span, const SourceFile& source) {
  const LineColumn at = source.position(span.begin);
  const std::string_view line = source.line(at.line);
  std::size_t begin = 0;
  std::size_t column = std::min<std::size_t>(at.column - 1, line.size());
  if (column > kMaxShown / 2) begin = column - kMaxShown / 2;
  const std::string_view shown = line.substr(begin, kMaxShown);
  column -= begin;
  out += "  ";
  for (const char c : shown) {
    const auto byte = static_cast<unsigned char>(c);
    out += c == '\t' ? ' ' : byte < 0x20 || byte == 0x7f ? '?' : c;
  }
  out += "\n  ";
  out.append(column, ' ');
  out += '^';
  const std::size_t rest = shown.size() > column ? shown.size() - column : 1;
  if (span.length > 1)
    out.append(std::min<std::size_t>(span.length, std::max<std::size_t>(rest, 1)) - 1, '~');
  out += '\n';
}

void append_head(std::string& out, Span span, const char* severity, std::string_view text,
                 const SourceFile& source) {
  const LineColumn at = source.position(span.begin);
  out += fmt::format("{}:{}:{}: {}: {}\n", source.name(), at.line, at.column, severity,
                     shortened(std::string(text)));
  append_line(out, span, source);
}

}  // namespace

Diagnostic& DiagnosticSink::report(Severity severity, Span span, std::string text) {
  dropped_ = {};
  if (severity == Severity::error) {
    if (errors_ >= error_limit_) return dropped_;
    ++errors_;
  }
  diagnostics_.push_back({severity, span, shortened(std::move(text)), {}});
  if (severity == Severity::error && errors_ == error_limit_) {
    diagnostics_.push_back(
        {Severity::note, span, "too many errors; the rest of the file is not reported", {}});
    return diagnostics_[diagnostics_.size() - 2];
  }
  return diagnostics_.back();
}

std::string render(const Diagnostic& diagnostic, const SourceFile& source) {
  std::string out;
  append_head(out, diagnostic.span, word(diagnostic.severity), diagnostic.text, source);
  for (const DiagnosticNote& note : diagnostic.notes)
    append_head(out, note.span, "note", note.text, source);
  return out;
}

Message to_message(const Diagnostic& diagnostic, const SourceFile& source) {
  Message message;
  message.severity = diagnostic.severity;
  message.file = source.name();
  message.text = diagnostic.text;
  message.rendered = render(diagnostic, source);
  const LineColumn at = source.position(diagnostic.span.begin);
  message.line = at.line;
  message.column = at.column;
  constexpr std::size_t kMostPlaces = 16;
  const std::vector<SourceFile::Origin> origins = source.origins(at.line, kMostPlaces);
  if (origins[0].line == 0) return message;
  const auto note = [&message](const SourceFile::Origin& place, const char* text) {
    message.rendered += fmt::format("{}:{}: note: {}\n", printable(place.file), place.line, text);
  };
  message.source_file = printable(origins[0].file);
  message.source_line = origins[0].line;
  note(origins[0], "the instruction comes from this line");
  for (std::size_t k = 1; k < origins.size(); ++k) note(origins[k], "which is inlined here");
  return message;
}

void append_messages(const DiagnosticSink& sink, const SourceFile& source,
                     std::vector<Message>& messages) {
  for (const Diagnostic& d : sink.diagnostics()) messages.push_back(to_message(d, source));
}

}  // namespace ptx2spv
