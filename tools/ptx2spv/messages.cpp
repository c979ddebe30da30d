#include "tools/ptx2spv/messages.hpp"

#include <cstdio>

#include <fmt/format.h>

#include "tools/common/json.hpp"

namespace ptx2spv::tools {
namespace {

const char* word(Severity severity) {
  switch (severity) {
    case Severity::note: return "note";
    case Severity::warning: return "warning";
    case Severity::error: return "error";
  }
  return "";
}

std::string colored(const Message& message) {
  const char* code = message.severity == Severity::error     ? "\x1b[1;31m"
                     : message.severity == Severity::warning ? "\x1b[1;35m"
                                                             : "\x1b[1;36m";
  const std::string mark = std::string(word(message.severity)) + ":";
  std::string text = message.rendered;
  const std::size_t at = text.find(mark);
  if (at != text.npos)
    text = "\x1b[1m" + text.substr(0, at) + code + mark + "\x1b[0m" + text.substr(at + mark.size());
  return text;
}

}  // namespace

std::string message_json(const Message& message) {
  return fmt::format(
      "{{\"severity\": \"{}\", \"file\": {}, \"line\": {}, \"column\": {}{}, \"text\": {}}}",
      word(message.severity), json_quote(message.file), message.line, message.column,
      message.source_line ? fmt::format(", \"source_file\": {}, \"source_line\": {}",
                                        json_quote(message.source_file), message.source_line)
                          : "",
      json_quote(message.text));
}

void print_messages(const Settings& settings, const std::vector<Message>& messages) {
  std::size_t errors = 0;
  for (const Message& message : messages) {
    if (settings.quiet && message.severity != Severity::error) continue;
    // The parser stops at as many. What is not supported stands on any number of lines.
    if (message.severity == Severity::error && ++errors > kErrorLimit) continue;
    std::string text = settings.json_diagnostics ? message_json(message)
                       : settings.color          ? colored(message)
                                                 : message.rendered;
    if (!text.ends_with('\n')) text += '\n';
    std::fputs(text.c_str(), stderr);
  }
  if (errors > kErrorLimit)
    print_note(settings, messages[0].file,
               fmt::format("{} more errors; --check prints all of them", errors - kErrorLimit));
}

namespace {

void print_one(const Settings& settings, Severity severity, const std::string& file,
               const std::string& text) {
  Message message;
  message.severity = severity;
  message.file = file;
  message.text = text;
  message.rendered = (file.empty() ? "ptx2spv" : file) + ": " + word(severity) + ": " + text;
  print_messages(settings, {message});
}

}  // namespace

void print_error(const Settings& settings, const std::string& file, const std::string& text) {
  print_one(settings, Severity::error, file, text);
}

void print_warning(const Settings& settings, const std::string& text) {
  Settings loud = settings;
  loud.quiet = false;
  print_one(loud, Severity::warning, "", text);
}

void print_note(const Settings& settings, const std::string& file, const std::string& text) {
  print_one(settings, Severity::note, file, text);
}

}  // namespace ptx2spv::tools
