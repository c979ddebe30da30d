// Writes the vocabulary of the random programs: the forms that ptxas takes for sm_90
// (tests/data/ptxas), each under its row of the instruction table and with its operands' types.
#include <zlib.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "dev/recorder/record.hpp"
#include "translator/ptx/instruction_table.hpp"

namespace ptx2spv::recorder {
namespace {

using namespace ptx;

std::vector<std::string> taken(const std::string& path) {
  std::vector<std::string> lines;
  gzFile file = gzopen(path.c_str(), "rb");
  if (!file) return lines;
  char buffer[512];
  while (gzgets(file, buffer, sizeof(buffer))) {
    std::string line = buffer;
    while (!line.empty() && (line.back() == '\n' || line.back() == ';')) line.pop_back();
    if (line.size() > 2 && line[1] == '+') lines.push_back(line.substr(line.find(' ') + 1));
  }
  gzclose(file);
  return lines;
}

std::vector<std::string> split_operands(const std::string& text) {
  std::vector<std::string> operands;
  std::string each;
  int depth = 0;
  for (const char c : text) {
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (c == ',' && depth == 0) {
      operands.push_back(each);
      each.clear();
    } else if (c != ' ' || !each.empty()) {
      each += c;
    }
  }
  if (!each.empty()) operands.push_back(each);
  return operands;
}

std::string type_of_register(char letter) {
  return letter == 'h' ? "b16" : letter == 'd' ? "b64" : letter == 'q' ? "b128" : "b32";
}

/// An operand of a row whose operands have code of their own: the registers say what they are.
std::string by_register(const std::string& token, bool destination) {
  std::string out;
  bool dest = destination;
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] != '%') {
      if (token[i] == '!') continue;
      out += token[i];
      continue;
    }
    const char letter = token[i + 1];
    i += 2;
    if (letter == 'h' && token[i] == 'x') ++i;
    while (i + 1 < token.size() && token[i + 1] >= '0' && token[i + 1] <= '9') ++i;
    if (letter == 'p')
      out += dest ? "$P" : "$C";
    else
      out += std::string(dest ? "$D:" : "$R:") + type_of_register(letter);
  }
  return out;
}

std::string by_rule(const OperandRule& rule, const Modifiers& mods, const std::string& token) {
  if (rule.role == OperandRole::dest_pred) return "$P";
  if (rule.role == OperandRole::dest_pred_pair)
    return token.find('|') == std::string::npos ? "$P" : "$P|$P";
  if (rule.role == OperandRole::source_pred) return "$C";
  if (rule.role == OperandRole::constant || rule.role == OperandRole::label) return token;
  std::string type;
  if (rule.type != Type::none) {
    type = text(rule.type);
  } else {
    type = text(mods.types[rule.type_index]);
    if (rule.doubled) {
      const std::string doubled = std::to_string(2 * std::stoi(type.substr(1)));
      type = type.substr(0, 1) + doubled;
    }
  }
  if (type == "pred") return rule.role == OperandRole::dest ? "$P" : "$C";
  const char* letter = rule.role == OperandRole::dest          ? "$D:"
                       : rule.role == OperandRole::dest_wide   ? "$W:"
                       : rule.role == OperandRole::source_wide ? "$X:"
                       : rule.role == OperandRole::source_reg  ? "$R:"
                                                               : "$S:";
  return letter + type;
}

/// Instructions whose operands the programs choose by themselves.
bool chosen_later(const std::string& opcode) {
  static const std::set<std::string> kOpcodes = {
      "ld",        "st",      "ldu",     "atom",          "red",       "prefetch",
      "prefetchu", "mov",     "discard", "applypriority", "isspacep",  "cvta",
      "bar",       "barrier", "trap",    "brkpt",         "exit",      "vote",
      "shfl",      "match",   "redux",   "elect",         "activemask"};
  return kOpcodes.contains(opcode);
}

}  // namespace

int write_vocabulary(const std::string& path, const std::string& folder) {
  std::map<std::uint16_t, std::vector<std::string>> groups;
  for (const std::string& line : taken(folder + "/forms.txt.gz")) {
    const std::size_t blank = std::min(line.find(' '), line.size());
    const std::string head = line.substr(0, blank);
    std::vector<Mod> mods;
    std::istringstream words(head);
    std::string opcode, word;
    std::getline(words, opcode, '.');
    while (std::getline(words, word, '.')) mods.push_back(find_mod(word));
    const auto operands = split_operands(blank < line.size() ? line.substr(blank + 1) : "");
    for (const Match& match : match_forms(find_opcode(opcode), mods)) {
      const FormInfo& form = form_info(match.form);
      if (form.refused || form.target > 90 || operands.size() < form.min_operands ||
          operands.size() > form.max_operands)
        continue;
      // Scalar video instructions with a part of the destination have a row of their own.
      if (form.any_operands && opcode[0] == 'v' && opcode.find_first_of("24") == opcode.npos &&
          (operands[0].find('.') != std::string::npos) !=
              (form.syntax.find("d.dsel") != std::string_view::npos))
        continue;
      std::string text = head;
      for (std::size_t k = 0; k < operands.size(); ++k) {
        text += k ? ", " : " ";
        if (chosen_later(opcode))
          text += operands[k];
        else if (form.any_operands || form.operands[k].role == OperandRole::any)
          text += by_register(operands[k], k == 0);
        else
          text += by_rule(form.operands[k], match.mods, operands[k]);
      }
      groups[match.form].push_back(text);
      break;
    }
  }
  gzFile file = gzopen(path.c_str(), "wb9");
  if (!file) return 2;
  std::size_t lines = 0;
  for (const auto& [form, list] : groups) {
    gzprintf(file, "R %s\n", std::string(form_info(form).syntax).c_str());
    for (const std::string& line : list) gzprintf(file, "%s\n", line.c_str());
    lines += list.size();
  }
  for (const std::string& line : taken(folder + "/textures.txt.gz")) {
    std::istringstream words(line);
    std::string word, geometry;
    while (std::getline(words, word, '.')) {
      if (word == "1d" || word == "2d" || word == "3d" || word == "a1d" || word == "a2d" ||
          word == "cube" || word == "acube")
        geometry = word;
    }
    // Handles in registers, without the forms that need a sampler of its own.
    if (geometry.empty() || line.find("[%d1, {") == std::string::npos) continue;
    gzprintf(file, "T %s %s\n", geometry.c_str(), line.c_str());
    ++lines;
  }
  std::fprintf(stderr, "%zu forms of %zu rows\n", lines, groups.size());
  for (std::uint16_t form = 0; form < all_forms().size(); ++form) {
    if (!groups.contains(form) && !form_info(form).refused)
      std::fprintf(stderr, "no line: %s\n", std::string(form_info(form).syntax).c_str());
  }
  return gzclose(file) == Z_OK ? 0 : 2;
}

}  // namespace ptx2spv::recorder
