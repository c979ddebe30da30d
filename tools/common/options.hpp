// One table of options per tool; the parser, the settings, the help text, the man page and shell
// completion are made from it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptx2spv/text.hpp"

namespace ptx2spv::tools {

struct ParsedOption;

/// Sets in a program's settings what the option says; an error text where its value will not do.
using Setter = std::string (*)(void* settings, const ParsedOption& option);

/// What a row does: sets something, or has a number for the program that looks at it.
struct Action {
  int id = 0;
  Setter set = nullptr;
  constexpr Action(int number) : id(number) {}
  constexpr Action(Setter setter) : set(setter) {}
};

/// A row: what the option does, how it is written, what it takes and what it means.
struct Option {
  Action action;
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
  const Option* row = nullptr;
  int id = 0;  ///< the row's
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

/// Reports a usage error in the common form.
void usage_error(const Tool& tool, std::string_view text);

/// Sets all that the command says, in its order; the first error text.
std::string set_options(const ParsedCommand& command, void* settings);

// What rows set, for the option table of a program whose settings are a struct: a member, or a
// member's member, as in set_flag<&Settings::run, &RunOptions::relax>.

template <auto first, auto... rest>
auto& member(void* settings) {
  const auto in = []<class Class, class Member>(void* object, Member Class::*at) -> Member& {
    return static_cast<Class*>(object)->*at;
  };
  return (in(settings, first).*....*rest);
}

template <auto... path>
std::string set_flag(void* settings, const ParsedOption&) {
  member<path...>(settings) = true;
  return {};
}
template <auto... path>
std::string set_text(void* settings, const ParsedOption& option) {
  member<path...>(settings) = option.value;
  return {};
}
template <auto... path>
std::string add_text(void* settings, const ParsedOption& option) {
  member<path...>(settings).push_back(option.value);
  return {};
}

/// The value's place among the row's choices.
std::optional<int> choice_of(const ParsedOption& option);
/// "--fp takes exact, fast, not 'slow'".
std::string wrong_choice(const ParsedOption& option);

/// `first` is what the first of the row's choices stands for; those behind it follow.
template <auto first, auto... path>
std::string set_choice(void* settings, const ParsedOption& option) {
  const std::optional<int> index = choice_of(option);
  if (!index) return wrong_choice(option);
  member<path...>(settings) = static_cast<decltype(first)>(static_cast<int>(first) + *index);
  return {};
}
/// The choice's own text.
template <auto... path>
std::string set_word(void* settings, const ParsedOption& option) {
  return choice_of(option) ? set_text<path...>(settings, option) : wrong_choice(option);
}

template <class Number>
bool parse_number(std::string_view text, Number& value, Number low, Number high) {
  return read_number(text, value) && value >= low && value <= high;
}
/// "--jobs takes a number from 1 to 1024, not 'x'".
std::string wrong_number(const ParsedOption& option, std::uint64_t low, std::uint64_t high);

template <auto low, auto high, auto... path>
std::string set_number(void* settings, const ParsedOption& option) {
  decltype(high) number{};
  if (!parse_number<decltype(high)>(option.value, number, low, high))
    return wrong_number(option, low, high);
  member<path...>(settings) = number;
  return {};
}

/// A function of the program's own for a row.
template <auto function>
struct SetterOf;
template <class Settings, std::string (*function)(Settings&, const ParsedOption&)>
struct SetterOf<function> {
  static std::string set(void* settings, const ParsedOption& option) {
    return function(*static_cast<Settings*>(settings), option);
  }
};
template <auto function>
constexpr Setter set_by = &SetterOf<function>::set;

}  // namespace ptx2spv::tools
