// Why no row of the instruction table takes an instruction's modifiers.
#include "translator/ptx/parser_impl.hpp"

namespace ptx2spv::ptx {

std::string explain_mismatch(Opcode op, std::string_view opcode_text, std::string_view& bad_modifier) {
  const FormRange range = forms_of(op);
  const std::string name = "'" + std::string(text(op)) + "'";
  bad_modifier = {};
  std::vector<Mod> mods;
  std::string_view rest = opcode_text;
  rest.remove_prefix(std::min(rest.find('.'), rest.size()));
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::size_t end = std::min(rest.find('.'), rest.size());
    const std::string_view word = rest.substr(0, end);
    const Mod mod = find_mod(word);
    rest.remove_prefix(end);
    mods.push_back(mod);
    bool known = false;
    for (std::uint16_t i = range.first; i < range.last && !known; ++i) {
      for (const Slot& slot : form_info(i).slots) {
        known = known || slot.mods.test(static_cast<std::size_t>(mod));
      }
    }
    if (!known) {
      bad_modifier = word;
      return name + " takes no modifier '." + std::string(word) + "'";
    }
  }
  std::string message = "no form of " + name + " takes these modifiers";
  unsigned shown = 0;
  for (std::uint16_t i = range.first; i < range.last && shown < 3; ++i) {
    if (form_info(i).refused) continue;
    message += shown == 0 ? ": '" : ", '";
    message += form_info(i).syntax;
    message += "'";
    ++shown;
  }
  return message;
}

}  // namespace ptx2spv::ptx
