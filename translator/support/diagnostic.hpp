// Messages about the input: where, what, and notes that point elsewhere.
#pragma once

#include <string>
#include <vector>

#include "ptx2spv/translator.hpp"
#include "translator/support/source.hpp"

namespace ptx2spv {

struct DiagnosticNote {
  Span span;
  std::string text;
};
struct Diagnostic {
  Severity severity = Severity::error;
  Span span;
  std::string text;  ///< lower case, no full stop
  std::vector<DiagnosticNote> notes;
};

/// Collects the diagnostics of one file. After `error_limit` errors it says so once and takes no
/// more.
class DiagnosticSink {
 public:
  explicit DiagnosticSink(unsigned error_limit = kErrorLimit) : error_limit_(error_limit) {}
  /// The reference stays valid until the next report.
  Diagnostic& report(Severity severity, Span span, std::string text);
  Diagnostic& error(Span span, std::string text) {
    return report(Severity::error, span, std::move(text));
  }
  Diagnostic& warning(Span span, std::string text) {
    return report(Severity::warning, span, std::move(text));
  }
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }
  unsigned errors() const { return errors_; }
  bool full() const { return errors_ >= error_limit_; }

 private:
  unsigned error_limit_, errors_ = 0;
  std::vector<Diagnostic> diagnostics_;
  Diagnostic dropped_;
};

/// file:line:col: severity: text, the source line, a caret line, then the notes in the same form.
std::string render(const Diagnostic& diagnostic, const SourceFile& source);
Message to_message(const Diagnostic& diagnostic, const SourceFile& source);
void append_messages(const DiagnosticSink& sink, const SourceFile& source,
                     std::vector<Message>& messages);

}  // namespace ptx2spv
