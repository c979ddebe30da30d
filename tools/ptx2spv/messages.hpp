// Messages of the translator on standard error.
#pragma once

#include "ptx2spv/translator.hpp"
#include "tools/ptx2spv/settings.hpp"

namespace ptx2spv::tools {

/// Writes `messages` as the settings ask.
void print_messages(const Settings& settings, const std::vector<Message>& messages);
/// One message without a place.
void print_error(const Settings& settings, const std::string& file, const std::string& text);
/// One that explains an exit code, and is printed with --quiet too.
void print_warning(const Settings& settings, const std::string& text);
void print_note(const Settings& settings, const std::string& file, const std::string& text);
/// {"severity": ..., "file": ..., "line": ..., "column": ..., "text": ...}
std::string message_json(const Message& message);

}  // namespace ptx2spv::tools
