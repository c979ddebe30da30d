// The instruction table (instructions.def) made ready for matching.
#pragma once

#include <bitset>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "translator/ptx/ast.hpp"
#include "translator/ptx/opcodes.hpp"
#include "translator/ptx/types.hpp"

namespace ptx2spv::ptx {

/// What a slot of the syntax says about the instruction: the field of Modifiers that it fills.
enum class SlotKind : std::uint8_t {
  plain,
  type,
  rounding,
  cmp,
  bool_op,
  op,
  mode,
  mode2,
  cache,
  sem,
  scope,
  space,
  vec,
  geom,
  clamp,
  query,
  ftz,
  sat,
  cc,
  uni,
  layout
};
using ModSet = std::bitset<static_cast<std::size_t>(Mod::count_)>;

struct Slot {
  SlotKind kind = SlotKind::plain;
  bool required = true;
  std::string_view name;
  ModSet mods;
};

enum class OperandRole : std::uint8_t {
  any,
  dest,
  source,
  source_reg,
  constant,
  dest_pred,
  dest_pred_pair,
  source_pred,
  memory,
  dest_vector,
  source_vector,
  dest_wide,
  source_wide,
  label
};
/// The type that an operand must have: given, or one of the instruction's own.
struct OperandRule {
  OperandRole role = OperandRole::any;
  bool optional = false;
  std::uint8_t type_index = 0;  ///< into Modifiers::types when `type` is none
  bool doubled = false;         ///< twice as wide as that type
  bool address = false;         ///< of the width of an address in the instruction's space
  Type type = Type::none;
  std::int64_t least = 1, most = 0, step = 1;  ///< of a constant; most < least: any
};

struct FormInfo {
  Opcode op{};
  std::string_view syntax;  ///< as in the manual, for messages and for the support matrix
  std::string_view slots_text, operands_text;
  bool refused = false;
  std::string_view reason;  ///< of a refusal
  std::uint8_t version = 10;
  std::uint8_t target = 10;
  bool any_operands = false;  ///< a single '*': the count is checked by the form's own code
  std::uint8_t min_operands = 0, max_operands = 0;
  std::vector<Slot> slots;
  std::vector<OperandRule> operands;
};

std::span<const FormInfo> all_forms();
const FormInfo& form_info(std::uint16_t form);
/// Rows of one opcode: [first, last).
struct FormRange {
  std::uint16_t first = 0, last = 0;
};
FormRange forms_of(Opcode op);

/// Modifiers that need more than the form that has them: one of each group together.
struct YoungerInfo {
  Opcode op{};  ///< none: every opcode
  std::string_view text;
  std::string_view what;  ///< what a message calls them; empty: by their names
  std::vector<std::vector<Mod>> groups;
  std::uint8_t version = 10, target = 10;
};
std::span<const YoungerInfo> all_younger();
/// The rows of one opcode, or with Opcode::none those that hold for every one.
std::span<const YoungerInfo> younger_of(Opcode op);

std::string_view section(Opcode op);
Opcode find_opcode(std::string_view text);  ///< none when there is no such instruction

/// The forms whose modifiers fit, in the order of the table; refused ones only when no other fits.
struct Match {
  std::uint16_t form = 0;
  Modifiers mods;
};
std::vector<Match> match_forms(Opcode op, std::span<const Mod> mods);

}  // namespace ptx2spv::ptx
