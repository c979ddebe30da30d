#include "tools/common/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "ptx2spv/translator.hpp"

namespace ptx2spv::tools {
namespace {

constexpr Option kCommon[] = {
    {opt_help, 'h', "help", "", "print this text and end"},
    {opt_version, 0, "version", "", "print the version and end"},
    {opt_generate, 0, "generate", "KIND", "print the manual page or bash's completion and end",
     "man,bash"},
};

template <class Visit>
void each_option(const Tool& tool, Visit visit) {
  for (const Option& option : tool.options) visit(option);
  for (const Option& option : kCommon) visit(option);
}

const Option* find_long(const Tool& tool, std::string_view name, std::string& error) {
  const Option* found = nullptr;
  int prefixes = 0;
  each_option(tool, [&](const Option& option) {
    if (option.name.empty()) return;
    if (option.name == name) {
      found = &option;
      prefixes = -1000000;  // exact: no longer ambiguous
    } else if (prefixes >= 0 && name.size() >= 2 && option.name.starts_with(name)) {
      found = &option;
      ++prefixes;
    }
  });
  if (!found) error = "there is no option --" + std::string(name);
  if (prefixes > 1) error = "--" + std::string(name) + " could mean several options";
  return error.empty() ? found : nullptr;
}

const Option* find_short(const Tool& tool, char letter) {
  const Option* found = nullptr;
  each_option(tool, [&](const Option& option) {
    if (option.letter == letter) found = &option;
  });
  return found;
}

std::string value_text(const Option& option, bool long_form) {
  if (option.value.empty()) return {};
  if (option.optional_value()) {
    const std::string inner(option.value.substr(1, option.value.size() - 2));
    return long_form ? "[=" + inner + "]" : "[" + inner + "]";
  }
  return (long_form ? "=" : " ") + std::string(option.value);
}

std::string left_column(const Option& option) {
  std::string text;
  if (option.letter) {
    text += '-';
    text += option.letter;
    if (option.name.empty()) return text + value_text(option, false);
    text += ", ";
  }
  return text + "--" + std::string(option.name) + value_text(option, true);
}

// Breaks `text` at spaces to `width` columns; every line after the first is indented.
std::string wrap(std::string_view text, std::size_t indent, std::size_t width) {
  std::string out;
  std::size_t column = indent;
  while (!text.empty()) {
    const std::size_t end = text.find_first_of(" \n");
    const std::string_view word = text.substr(0, end);
    if (column > indent && column + 1 + word.size() > width) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    if (end == std::string_view::npos) break;
    if (text[end] == '\n') {
      out += '\n' + std::string(indent, ' ');
      column = indent;
    }
    text.remove_prefix(end + 1);
  }
  return out;
}

// Escapes text for troff.
std::string roff(std::string_view text) {
  std::string out;
  bool line_start = true;
  for (char c : text) {
    if (line_start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    line_start = c == '\n';
  }
  return out;
}

std::string shell_word(std::string_view text) {
  std::string out = "'";
  for (char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::string spaced(std::string_view choices) {
  std::string out(choices);
  for (char& c : out)
    if (c == ',') c = ' ';
  return out;
}

}  // namespace

ParsedCommand parse_command(const Tool& tool, int argc, char** argv) {
  ParsedCommand command;
  bool only_operands = false;
  for (int i = 1; i < argc && command.error.empty(); ++i) {
    const std::string_view word = argv[i];
    if (only_operands || word.size() < 2 || word[0] != '-') {
      command.operands.emplace_back(word);
    } else if (word == "--") {
      only_operands = true;
    } else if (word[1] == '-') {
      const std::size_t equals = word.find('=');
      const Option* option =
          find_long(tool, word.substr(2, equals == word.npos ? equals : equals - 2), command.error);
      if (!option) break;
      ParsedOption parsed{option, option->action.id, {}, equals != word.npos};
      if (parsed.has_value) parsed.value = word.substr(equals + 1);
      if (option->value.empty() && parsed.has_value) {
        command.error = "--" + std::string(option->name) + " takes no value";
      } else if (!option->value.empty() && !option->optional_value() && !parsed.has_value) {
        if (i + 1 == argc) {
          command.error =
              "--" + std::string(option->name) + " needs a value: " + std::string(option->value);
          break;
        }
        parsed.value = argv[++i];
        parsed.has_value = true;
      }
      command.options.push_back(std::move(parsed));
    } else {
      for (std::size_t at = 1; at < word.size(); ++at) {
        const Option* option = find_short(tool, word[at]);
        if (!option) {
          command.error = "there is no option -" + std::string(1, word[at]);
          break;
        }
        ParsedOption parsed{option, option->action.id, {}, false};
        if (!option->value.empty()) {
          parsed.value = word.substr(at + 1);
          parsed.has_value = !parsed.value.empty();
          at = word.size();
          if (!parsed.has_value && !option->optional_value()) {
            if (i + 1 == argc) {
              command.error = "-" + std::string(1, option->letter) +
                              " needs a value: " + std::string(option->value);
              break;
            }
            parsed.value = argv[++i];
            parsed.has_value = true;
          }
        }
        command.options.push_back(std::move(parsed));
      }
    }
  }
  return command;
}

std::string help_text(const Tool& tool) {
  std::string out = "usage: " + std::string(tool.name) + " " + std::string(tool.synopsis) + "\n\n";
  out += wrap(tool.summary, 0, 96) + "\n\noptions:\n";
  constexpr std::size_t kColumn = 30;
  each_option(tool, [&](const Option& option) {
    std::string line = (option.letter ? "  " : "      ") + left_column(option);
    if (line.size() + 2 > kColumn) {
      line += '\n' + std::string(kColumn, ' ');
    } else {
      line.resize(kColumn, ' ');
    }
    out += line + wrap(option.help, kColumn, 100) + '\n';
  });
  out += "\nexit codes:\n";
  for (const ExitCode& exit : tool.exit_codes)
    out += fmt::format("  {}  {}\n", exit.code, exit.meaning);
  return out;
}

std::string man_page(const Tool& tool, std::string_view version) {
  std::string upper(tool.name);
  for (char& c : upper)
    if (c >= 'a' && c <= 'z') c = char(c - 'a' + 'A');
  std::string out = ".TH " + upper + " 1 \"\" \"ptx2spv " + std::string(version) + "\"\n";
  out += ".SH NAME\n" + roff(tool.name) + " \\- " + roff(tool.summary) + "\n";
  out += ".SH SYNOPSIS\n.B " + roff(tool.name) + "\n" + roff(tool.synopsis) + "\n";
  out += ".SH DESCRIPTION\n" + roff(tool.description) + "\n.SH OPTIONS\n";
  each_option(tool, [&](const Option& option) {
    out += ".TP\n.B " + roff(left_column(option)) + "\n" + roff(option.help) + "\n";
  });
  out += ".SH EXIT STATUS\n";
  for (const ExitCode& exit : tool.exit_codes)
    out += fmt::format(".TP\n.B {}\n{}\n", exit.code, roff(exit.meaning));
  if (!tool.environment.empty()) out += ".SH ENVIRONMENT\n" + roff(tool.environment) + "\n";
  return out;
}

std::string bash_completion(const Tool& tool) {
  const std::string function = "_" + std::string(tool.name) + "_complete";
  std::string words, cases;
  each_option(tool, [&](const Option& option) {
    if (option.letter) words += " -" + std::string(1, option.letter);
    if (!option.name.empty()) words += " --" + std::string(option.name);
    if (option.value.empty() || option.choices.empty()) return;
    std::string pattern;
    if (!option.name.empty()) pattern = "--" + std::string(option.name);
    if (option.letter) pattern += (pattern.empty() ? "-" : "|-") + std::string(1, option.letter);
    cases += "    " + pattern + ") COMPREPLY=(";
    cases += option.choices == "file"
                 ? "$(compgen -f -- \"$word\")"
                 : "$(compgen -W " + shell_word(spaced(option.choices)) + " -- \"$word\")";
    cases += "); return ;;\n";
  });
  std::string out = "# bash completion for " + std::string(tool.name) + "\n" + function + "() {\n";
  out += "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n";
  out += "  [[ $before == = ]] && before=${COMP_WORDS[COMP_CWORD-2]}\n";
  out += "  [[ $word == = ]] && { before=${COMP_WORDS[COMP_CWORD-1]}; word=; }\n";
  out += "  case $before in\n" + cases + "  esac\n  if [[ $word == -* ]]; then\n";
  out += "    COMPREPLY=($(compgen -W " + shell_word(words.substr(words.empty() ? 0 : 1)) +
         " -- \"$word\"))\n  else\n    COMPREPLY=($(compgen -f -- \"$word\"))\n  fi\n}\n";
  return out + "complete -o filenames -F " + function + " " + std::string(tool.name) + "\n";
}

bool handle_common(const Tool& tool, const ParsedCommand& command, int& exit_code) {
  exit_code = 0;
  for (const ParsedOption& option : command.options) {
    std::string text;
    if (option.id == opt_help) {
      text = help_text(tool);
    } else if (option.id == opt_version) {
      text = std::string(tool.name) + " " + std::string(version()) + "\n";
    } else if (option.id == opt_generate) {
      if (option.value == "man") text = man_page(tool, version());
      if (option.value == "bash") text = bash_completion(tool);
      if (text.empty() && tool.page) text = tool.page(option.value);
      if (text.empty()) {
        usage_error(tool, "--generate takes man or bash");
        exit_code = 2;
        return true;
      }
    } else {
      continue;
    }
    std::fwrite(text.data(), 1, text.size(), stdout);
    if (std::fflush(stdout) != 0) exit_code = 2;
    return true;
  }
  if (command.error.empty()) return false;
  usage_error(tool, command.error);
  exit_code = 2;
  return true;
}

std::string set_options(const ParsedCommand& command, void* settings) {
  for (const ParsedOption& option : command.options)
    if (const Setter set = option.row->action.set)
      if (std::string error = set(settings, option); !error.empty()) return error;
  return {};
}

std::optional<int> choice_of(const ParsedOption& option) {
  int index = 0;
  for (std::string_view rest = option.row->choices; !rest.empty(); ++index) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    if (rest.substr(0, comma) == option.value) return index;
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return std::nullopt;
}

namespace {
std::string written(const Option& row) {
  return row.name.empty() ? fmt::format("-{}", row.letter) : fmt::format("--{}", row.name);
}
}  // namespace

std::string wrong_choice(const ParsedOption& option) {
  std::string list;
  for (const char c : option.row->choices) list += c == ',' ? std::string(", ") : std::string(1, c);
  return fmt::format("{} takes {}, not '{}'", written(*option.row), list, option.value);
}

std::string wrong_number(const ParsedOption& option, std::uint64_t low, std::uint64_t high) {
  return fmt::format("{} takes a number from {} to {}, not '{}'", written(*option.row), low, high,
                     option.value);
}

void usage_error(const Tool& tool, std::string_view text) {
  std::fprintf(stderr, "%.*s: error: %.*s\n%.*s: note: %.*s --help lists the options\n",
               int(tool.name.size()), tool.name.data(), int(text.size()), text.data(),
               int(tool.name.size()), tool.name.data(), int(tool.name.size()), tool.name.data());
}

}  // namespace ptx2spv::tools
