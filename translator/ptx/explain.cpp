// Why no row of the instruction table takes an instruction's modifiers.
#include <algorithm>
#include <vector>

#include "translator/ptx/parser_impl.hpp"

namespace ptx2spv::ptx {
namespace {

std::string dotted(Mod mod) { return "." + std::string(text(mod)); }

/// ".1d .2d .3d"; long lists are cut.
std::string listed(const ModSet& mods) {
  std::string out;
  unsigned shown = 0;
  for (std::size_t i = 0; i < mods.size(); ++i) {
    if (!mods.test(i)) continue;
    if (++shown > 14) return out + " ...";
    if (!out.empty()) out += ' ';
    out += dotted(static_cast<Mod>(i));
  }
  return out;
}

/// How far a form is from what was written.
struct Distance {
  std::vector<Mod> extra;                     ///< modifiers that fill no slot
  std::vector<const Slot*> missing;           ///< required slots that nothing fills
  Mod twice = Mod::none, beside = Mod::none;  ///< two modifiers for one slot
  /// The words that say what is done (.b, .p, an operation) are likelier right than a type.
  std::size_t cost() const {
    bool named = false, other = false;
    for (const Slot* slot : missing)
      named = named || slot->kind == SlotKind::plain || slot->kind == SlotKind::op;
    for (const Mod mod : extra) other = other || to_type(mod) == Type::none;
    return 2 * extra.size() + missing.size() + (named && other ? 1 : 0);
  }
};

Distance distance(const FormInfo& form, const std::vector<Mod>& mods) {
  Distance out;
  std::vector<Mod> filled(form.slots.size(), Mod::none);
  for (const Mod mod : mods) {
    std::size_t taken = form.slots.size();
    bool found = false;
    for (std::size_t i = 0; i < form.slots.size() && !found; ++i) {
      if (!form.slots[i].mods.test(static_cast<std::size_t>(mod))) continue;
      if (filled[i] == Mod::none) {
        filled[i] = mod;
        found = true;
      } else {
        taken = i;
      }
    }
    if (found) continue;
    out.extra.push_back(mod);
    if (taken < form.slots.size() && out.twice == Mod::none) {
      out.twice = mod;
      out.beside = filled[taken];
    }
  }
  for (std::size_t i = 0; i < form.slots.size(); ++i) {
    if (form.slots[i].required && filled[i] == Mod::none) out.missing.push_back(&form.slots[i]);
  }
  return out;
}

}  // namespace

std::string explain_mismatch(Opcode op, std::string_view opcode_text) {
  const FormRange range = forms_of(op);
  const std::string name = "'" + std::string(text(op)) + "'";
  std::vector<Mod> mods;
  ModSet known;
  for (std::uint16_t i = range.first; i < range.last; ++i) {
    for (const Slot& slot : form_info(i).slots) known |= slot.mods;
  }
  std::string_view rest = opcode_text;
  rest.remove_prefix(std::min(rest.find('.'), rest.size()));
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::size_t end = std::min(rest.find('.'), rest.size());
    mods.push_back(find_mod(rest.substr(0, end)));
    rest.remove_prefix(end);
  }
  const FormInfo* best = nullptr;
  Distance nearest;
  for (std::uint16_t i = range.first; i < range.last; ++i) {
    const FormInfo& form = form_info(i);
    if (form.refused) continue;
    Distance d = distance(form, mods);
    if (best != nullptr && d.cost() >= nearest.cost()) continue;
    best = &form;
    nearest = std::move(d);
  }
  if (best == nullptr) return "no form of " + name + " takes these modifiers";
  const std::string syntax = ": '" + std::string(best->syntax) + "'";
  if (!nearest.extra.empty()) {
    if (nearest.twice != Mod::none) {
      return nearest.twice == nearest.beside
                 ? dotted(nearest.twice) + " stands twice"
                 : dotted(nearest.beside) + " and " + dotted(nearest.twice) + " exclude each other";
    }
    const Mod extra = nearest.extra.front();
    std::string message = name + " takes no " + dotted(extra);
    // Something of its kind is wanted instead.
    for (const Slot* slot : nearest.missing) {
      if (slot->kind != SlotKind::plain || known.test(static_cast<std::size_t>(extra))) {
        return message + " here, but one of " + listed(slot->mods) + syntax;
      }
    }
    return known.test(static_cast<std::size_t>(extra)) ? message + " here" + syntax : message;
  }
  if (!nearest.missing.empty()) {
    const Slot& slot = *nearest.missing.front();
    return name + " needs " + (slot.mods.count() > 1 ? "one of " : "") + listed(slot.mods) + syntax;
  }
  return "no form of " + name + " takes these modifiers";
}

}  // namespace ptx2spv::ptx
