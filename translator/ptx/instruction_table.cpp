#include "translator/ptx/instruction_table.hpp"

#include <algorithm>
#include <charconv>
#include <unordered_map>

namespace ptx2spv::ptx {
namespace {

struct Row {
  enum class Kind : std::uint8_t { op, form, refused, younger } kind;
  std::string_view a, b, c;
  Opcode op = Opcode::none;
  unsigned version = 0, target = 0;
};

constexpr Row kRows[] = {
#define OP(name, text, section, ...) {Row::Kind::op, text, section, {}, Opcode::name, 0, 0},
#define FORM(syntax, slots, operands, version, target) \
  {Row::Kind::form, syntax, slots, operands, Opcode::none, version, target},
#define REFUSED(prefix, reason, version, target) \
  {Row::Kind::refused, prefix, reason, {}, Opcode::none, version, target},
#define YOUNGER(mods, version, target, ...) \
  {Row::Kind::younger, mods, "" __VA_ARGS__, {}, Opcode::none, version, target},
#include "translator/ptx/instructions.def"
};

struct NamedSlot {
  std::string_view name;
  SlotKind kind;
  std::string_view mods;  ///< when the row does not say
};
constexpr NamedSlot kNamedSlots[] = {
    {"type", SlotKind::type, ""},
    {"dtype", SlotKind::type, ""},
    {"atype", SlotKind::type, ""},
    {"btype", SlotKind::type, ""},
    {"ctype", SlotKind::type, ""},
    {"stype", SlotKind::type, ""},
    {"rnd", SlotKind::rounding, "rn rz rm rp"},
    {"cmp", SlotKind::cmp, "eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan"},
    {"bool", SlotKind::bool_op, "and or xor"},
    {"op", SlotKind::op, ""},
    {"mode", SlotKind::mode, ""},
    {"mode2", SlotKind::mode2, ""},
    {"scale", SlotKind::mode, ""},
    {"cop", SlotKind::cache, "ca cg cs lu cv wb wt"},
    {"sem", SlotKind::sem, ""},
    {"scope", SlotKind::scope, "cta cluster gpu sys"},
    {"ss", SlotKind::space,
     "const global local param param::entry param::func shared shared::cta shared::cluster"},
    {"vec", SlotKind::vec, "v2 v4 v8"},
    {"geom", SlotKind::geom, ""},
    {"clamp", SlotKind::clamp, ""},
    {"query", SlotKind::query, ""},
    {"sat", SlotKind::sat, "sat"},
    {"shape", SlotKind::geom, ""},
    {"num", SlotKind::mode, ""},
    {"layout", SlotKind::layout, ""},
    {"alayout", SlotKind::layout, ""},
    {"blayout", SlotKind::layout, ""},
    {"spvariant", SlotKind::plain, "sp sp::ordered_metadata"},
};
constexpr std::string_view kHints =
    "L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last L1::no_allocate "
    "L2::evict_normal "
    "L2::evict_unchanged L2::evict_first L2::evict_last L2::cache_hint L2::64B L2::128B L2::256B";

SlotKind literal_kind(Mod mod) {
  if (to_type(mod) != Type::none) return SlotKind::type;
  if (mod >= Mod::rn && mod <= Mod::full) return SlotKind::rounding;
  if (mod >= Mod::reg && mod <= Mod::shared_cluster) return SlotKind::space;
  switch (mod) {
    case Mod::ftz: return SlotKind::ftz;
    case Mod::sat:
    case Mod::satfinite: return SlotKind::sat;
    case Mod::cc: return SlotKind::cc;
    case Mod::uni: return SlotKind::uni;
    case Mod::v2:
    case Mod::v4:
    case Mod::v8: return SlotKind::vec;
    default: return SlotKind::plain;
  }
}

std::string_view next_word(std::string_view& text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end);
  return word;
}

ModSet parse_mods(std::string_view text) {
  ModSet set;
  for (std::string_view word = next_word(text); !word.empty(); word = next_word(text)) {
    set.set(static_cast<std::size_t>(find_mod(word)));
  }
  return set;
}

/// The modifiers that the row's `slots` column gives to `name`; empty when it does not mention it.
std::string_view slot_text(std::string_view slots, std::string_view name) {
  while (!slots.empty()) {
    const std::size_t semicolon = std::min(slots.find(';'), slots.size());
    std::string_view entry = slots.substr(0, semicolon);
    slots.remove_prefix(std::min(semicolon + 1, slots.size()));
    while (!entry.empty() && entry.front() == ' ') entry.remove_prefix(1);
    const std::size_t equals = entry.find('=');
    if (equals != std::string_view::npos && entry.substr(0, equals) == name) {
      return entry.substr(equals + 1);
    }
  }
  return {};
}

Slot make_slot(std::string_view name, bool required, std::string_view slots) {
  Slot slot;
  slot.name = name;
  slot.required = required;
  const std::string_view given = slot_text(slots, name);
  if (name.starts_with("hint")) {
    slot.mods = parse_mods(kHints);
    return slot;
  }
  for (const NamedSlot& named : kNamedSlots) {
    if (named.name != name || (given.empty() && named.mods.empty())) continue;
    slot.kind = named.kind;
    slot.mods = parse_mods(given.empty() ? named.mods : given);
    return slot;
  }
  const Mod mod = find_mod(name);
  slot.kind = literal_kind(mod);
  slot.mods.set(static_cast<std::size_t>(mod));
  return slot;
}

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == ':';
}

/// Reads ".name" and "{.name}" after the opcode.
void parse_syntax(FormInfo& form) {
  std::string_view text = form.syntax;
  text = text.substr(0, std::min(text.find(' '), text.size()));
  std::size_t at = std::min(text.find_first_of(".{"), text.size());
  while (at < text.size()) {
    const bool optional = text[at] == '{';
    if (optional) ++at;
    if (at >= text.size() || text[at] != '.') break;
    std::size_t end = ++at;
    while (end < text.size() && is_word(text[end])) ++end;
    form.slots.push_back(make_slot(text.substr(at, end - at), !optional, form.slots_text));
    at = end;
    if (optional) ++at;
  }
}

OperandRole role_of(std::string_view name) {
  if (name == "D") return OperandRole::dest;
  if (name == "S") return OperandRole::source;
  if (name == "R") return OperandRole::source_reg;
  if (name == "I") return OperandRole::constant;
  if (name == "P") return OperandRole::dest_pred;
  if (name == "PQ") return OperandRole::dest_pred_pair;
  if (name == "C") return OperandRole::source_pred;
  if (name == "M") return OperandRole::memory;
  if (name == "DV") return OperandRole::dest_vector;
  if (name == "SV") return OperandRole::source_vector;
  if (name == "DX") return OperandRole::dest_wide;
  if (name == "SX") return OperandRole::source_wide;
  if (name == "L") return OperandRole::label;
  return OperandRole::any;
}

/// What stands before the next ':' of an operand.
std::string_view next_part(std::string_view& word) {
  const std::size_t colon = std::min(word.find(':'), word.size());
  const std::string_view part = word.substr(0, colon);
  word.remove_prefix(std::min(colon + 1, word.size()));
  return part;
}

/// Of "24..256/8".
void parse_values(OperandRule& rule, std::string_view text) {
  const char* const end = text.data() + text.size();
  const char* at = std::from_chars(text.data(), end, rule.least).ptr;
  at = std::from_chars(at + 2, end, rule.most).ptr;
  if (at < end) std::from_chars(at + 1, end, rule.step);
}

void parse_operands(FormInfo& form) {
  std::string_view text = form.operands_text;
  if (text == "*") {
    form.any_operands = true;
    form.max_operands = 255;
    return;
  }
  for (std::string_view word = next_word(text); !word.empty(); word = next_word(text)) {
    OperandRule rule;
    if (word.ends_with('?')) {
      rule.optional = true;
      word.remove_suffix(1);
    }
    rule.role = role_of(next_part(word));
    while (!word.empty()) {
      const std::string_view part = next_part(word);
      if (part.find("..") != part.npos) {
        parse_values(rule, part);
      } else if (part == "addr") {
        rule.address = true;
      } else if (part == "w0") {
        rule.doubled = true;
      } else if (part.size() == 2 && part[0] == 't') {
        rule.type_index = static_cast<std::uint8_t>(part[1] - '0');
      } else {
        rule.type = to_type(find_mod(part));
      }
    }
    ++form.max_operands;
    if (!rule.optional) form.min_operands = form.max_operands;
    form.operands.push_back(rule);
  }
}

/// The groups of "a b + c d".
std::vector<std::vector<Mod>> parse_groups(std::string_view text) {
  std::vector<std::vector<Mod>> groups(1);
  for (std::string_view word = next_word(text); !word.empty(); word = next_word(text)) {
    if (word == "+")
      groups.emplace_back();
    else
      groups.back().push_back(find_mod(word));
  }
  return groups;
}

struct Table {
  std::vector<FormInfo> forms;
  std::vector<YoungerInfo> younger;
  std::array<FormRange, static_cast<std::size_t>(Opcode::count_)> younger_ranges{};
  std::array<FormRange, static_cast<std::size_t>(Opcode::count_)> ranges{};
  std::array<std::string_view, static_cast<std::size_t>(Opcode::count_)> names{}, sections{};
  std::unordered_map<std::string_view, Opcode> opcodes;

  Table() {
    forms.reserve(std::size(kRows));
    Opcode op = Opcode::none;
    for (const Row& row : kRows) {
      const auto index = static_cast<std::uint16_t>(forms.size());
      if (row.kind == Row::Kind::op) {
        op = row.op;
        const auto i = static_cast<std::size_t>(op);
        ranges[i] = {index, index};
        names[i] = row.a;
        sections[i] = row.b;
        opcodes.emplace(row.a, op);
        continue;
      }
      if (row.kind == Row::Kind::younger) {
        const auto first = static_cast<std::uint16_t>(younger.size());
        FormRange& range = younger_ranges[static_cast<std::size_t>(op)];
        if (range.first == range.last) range.first = first;
        range.last = static_cast<std::uint16_t>(first + 1);
        younger.push_back({op, row.a, row.b, parse_groups(row.a),
                           static_cast<std::uint8_t>(row.version),
                           static_cast<std::uint8_t>(row.target)});
        continue;
      }
      FormInfo form;
      form.op = op;
      form.syntax = row.a;
      form.version = static_cast<std::uint8_t>(row.version);
      form.target = static_cast<std::uint8_t>(row.target);
      if (row.kind == Row::Kind::refused) {
        form.refused = true;
        form.reason = row.b;
        form.any_operands = true;
        form.max_operands = 255;
      } else {
        form.slots_text = row.b;
        form.operands_text = row.c;
        parse_operands(form);
      }
      parse_syntax(form);
      forms.push_back(std::move(form));
      ranges[static_cast<std::size_t>(op)].last = static_cast<std::uint16_t>(index + 1);
    }
  }
};

const Table& table() {
  static const auto& instance = *new Table;
  return instance;
}

void apply(Modifiers& mods, const Slot& slot, Mod mod) {
  switch (slot.kind) {
    case SlotKind::plain: break;
    case SlotKind::type:
      if (mods.type_count < mods.types.size()) mods.types[mods.type_count++] = to_type(mod);
      break;
    case SlotKind::rounding: mods.rounding = mod; break;
    case SlotKind::cmp: mods.cmp = mod; break;
    case SlotKind::bool_op: mods.bool_op = mod; break;
    case SlotKind::op: mods.op = mod; break;
    case SlotKind::mode: mods.mode = mod; break;
    case SlotKind::mode2: mods.mode2 = mod; break;
    case SlotKind::cache: mods.cache = mod; break;
    case SlotKind::sem: mods.sem = mod; break;
    case SlotKind::scope: mods.scope = mod; break;
    case SlotKind::space:
      switch (mod) {
        case Mod::const_: mods.space = Space::const_; break;
        case Mod::global: mods.space = Space::global; break;
        case Mod::local: mods.space = Space::local; break;
        case Mod::param:
        case Mod::param_entry:
        case Mod::param_func: mods.space = Space::param; break;
        default: mods.space = Space::shared; break;
      }
      mods.shared_cluster = mod == Mod::shared_cluster;
      break;
    case SlotKind::vec: mods.vec = mod == Mod::v2 ? 2 : mod == Mod::v4 ? 4 : 8; break;
    case SlotKind::geom: mods.geom = mod; break;
    case SlotKind::clamp: mods.clamp = mod; break;
    case SlotKind::query: mods.query = mod; break;
    case SlotKind::ftz: mods.ftz = true; break;
    case SlotKind::sat: mods.sat = true; break;
    case SlotKind::cc: mods.cc = true; break;
    case SlotKind::uni: mods.uni = true; break;
    case SlotKind::layout: mods.layouts[mods.layouts[0] == Mod::none ? 0 : 1] = mod; break;
  }
}

bool match_form(const FormInfo& form, std::span<const Mod> given, Modifiers& mods) {
  std::uint32_t used = 0;
  for (const Mod mod : given) {
    bool found = false;
    // Types and layouts stand in their order: one is the next of its kind or none.
    const SlotKind ordered = to_type(mod) != Type::none           ? SlotKind::type
                             : mod == Mod::row || mod == Mod::col ? SlotKind::layout
                                                                  : SlotKind::plain;
    // Slots for several of a kind take each of them once.
    const bool twice = ordered == SlotKind::plain && mods.has(mod);
    for (std::size_t i = 0; i < form.slots.size() && !found && !twice; ++i) {
      if ((used >> i & 1u) != 0) continue;
      if (!form.slots[i].mods.test(static_cast<std::size_t>(mod))) {
        if (ordered != SlotKind::plain && form.slots[i].kind == ordered) break;
        continue;
      }
      used |= 1u << i;
      apply(mods, form.slots[i], mod);
      found = true;
    }
    if (!found && !form.refused) return false;
    mods.set[static_cast<std::size_t>(mod) / 64] |= std::uint64_t{1}
                                                    << (static_cast<unsigned>(mod) % 64);
  }
  for (std::size_t i = 0; i < form.slots.size(); ++i) {
    if (form.slots[i].required && (used >> i & 1u) == 0) return false;
  }
  return true;
}

}  // namespace

std::span<const FormInfo> all_forms() { return table().forms; }
const FormInfo& form_info(std::uint16_t form) { return table().forms[form]; }
FormRange forms_of(Opcode op) { return table().ranges[static_cast<std::size_t>(op)]; }
std::span<const YoungerInfo> all_younger() { return table().younger; }
std::span<const YoungerInfo> younger_of(Opcode op) {
  const FormRange range = table().younger_ranges[static_cast<std::size_t>(op)];
  return all_younger().subspan(range.first, std::size_t{range.last} - range.first);
}
std::string_view section(Opcode op) { return table().sections[static_cast<std::size_t>(op)]; }
std::string_view text(Opcode op) { return table().names[static_cast<std::size_t>(op)]; }

bool has_effect(Opcode op) {
  constexpr bool pure = false, effect = true;
  static constexpr bool kEffects[] = {
      true,
#define OP(name, text, section, kind, ...) kind,
#include "translator/ptx/instructions.def"
  };
  return kEffects[static_cast<std::size_t>(op)];
}

Opcode find_opcode(std::string_view text) {
  const auto it = table().opcodes.find(text);
  return it == table().opcodes.end() ? Opcode::none : it->second;
}

std::vector<Match> match_forms(Opcode op, std::span<const Mod> mods) {
  std::vector<Match> matches;
  const FormRange range = forms_of(op);
  for (const bool refused : {false, true}) {
    for (std::uint16_t i = range.first; i < range.last; ++i) {
      const FormInfo& form = form_info(i);
      Match match;
      match.form = i;
      if (form.refused == refused && match_form(form, mods, match.mods)) matches.push_back(match);
    }
    if (!matches.empty()) break;
  }
  return matches;
}

}  // namespace ptx2spv::ptx
