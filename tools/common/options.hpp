// One table of options per tool; the parser, the help text, the man page and shell completion are
// made from it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ptx2spv::tools {

/// A row: how the option is written, what it takes and what it means.
struct Option {
  int id = 0;             ///< the tool's own number
  char letter = 0;        ///< -o; 0: none
  std::string_view name;  ///< --output; empty: none
  std::string_view
      value;  ///< how its value is written; empty: takes none; [VALUE]: may be left out
  std::string_view help;
  std::string_view choices =
      {};  ///< comma separated values that completion offers; "file": file names
  bool optional_value() const { return !value.empty() && value.front() == '['; }
};

struct ExitCode {
  int code = 0;
  std::string_view meaning;
};

/// Everything that is said about a tool.
struct Tool {
  std::string_view name, synopsis, summary, description;
  std::span<const Option> options;
  std::span<const ExitCode> exit_codes;
  std::string_view environment = {};  ///< a paragraph of the manual
  /// A page of the documentation that the tool writes with --generate, empty for other kinds.
  std::string (*page)(std::string_view kind) = nullptr;
};

struct ParsedOption {
  int id = 0;
  std::string value;
  bool has_value = false;
};

struct ParsedCommand {
  std::vector<ParsedOption> options;  ///< in the order given
  std::vector<std::string> operands;
  std::string error;  ///< not empty: usage error
};

/// Short options may be joined with their value (-O2, -ofile), long ones by = or the next word.
ParsedCommand parse_command(const Tool& tool, int argc, char** argv);

std::string help_text(const Tool& tool);
std::string man_page(const Tool& tool, std::string_view version);
std::string bash_completion(const Tool& tool);

/// The options that every tool has: --help, --version, and the hidden --generate KIND that
/// packaging calls.
enum CommonOption : int { opt_help = -1, opt_version = -2, opt_generate = -3 };
/// Prints what a common option asks for. True when the tool is done, `exit_code` set.
bool handle_common(const Tool& tool, const ParsedCommand& command, int& exit_code);

/// "there is no WHAT VALUE; there are ...", with the option's choices where it has a list of them.
std::string unknown_value(const Tool& tool, int id, std::string_view what, std::string_view value);
/// Reports a usage error in the common form.
void usage_error(const Tool& tool, std::string_view text);

}  // namespace ptx2spv::tools
