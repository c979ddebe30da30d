// The instruction table against itself, and every row of it through the parser.
#include <gtest/gtest.h>

#include <string>

#include "translator/ptx/instruction_table.hpp"
#include "translator/ptx/parser.hpp"

namespace ptx2spv::ptx {
namespace {

TEST(InstructionTable, EverySlotNamesKnownModifiers) {
  for (const FormInfo& form : all_forms()) {
    for (const Slot& slot : form.slots) {
      EXPECT_TRUE(slot.mods.any()) << form.syntax << " ." << slot.name;
      EXPECT_FALSE(slot.mods.test(0)) << form.syntax << " ." << slot.name;
    }
    EXPECT_GE(form.version, 10) << form.syntax;
    EXPECT_LE(form.slots.size(), 32u) << form.syntax;
    const std::string_view opcode = form.syntax.substr(0, form.syntax.find_first_of(".{ "));
    EXPECT_EQ(find_opcode(opcode), form.op) << form.syntax;
    EXPECT_FALSE(form.refused && form.reason.empty()) << form.syntax;
  }
}

TEST(InstructionTable, YoungerModifiersAreKnownToAFormOfTheirOpcode) {
  for (const YoungerInfo& row : all_younger()) {
    for (const auto& group : row.groups) {
      ASSERT_FALSE(group.empty()) << row.text;
      for (const Mod mod : group) {
        EXPECT_NE(mod, Mod::none) << row.text;
        if (row.op == Opcode::none) continue;
        const FormRange range = forms_of(row.op);
        bool taken = false;
        for (std::uint16_t i = range.first; i < range.last; ++i)
          for (const Slot& slot : form_info(i).slots)
            taken = taken || slot.mods.test(static_cast<std::size_t>(mod));
        EXPECT_TRUE(taken) << text(row.op) << " " << text(mod);
      }
    }
  }
}

/// The version that an instruction of the row's text needs, by its message; empty where it passes.
std::string version_needed(const std::string& version, const std::string& target,
                           const std::string& instruction) {
  DiagnosticSink sink;
  parse_module(".version " + version + "\n.target " + target +
                   "\n.address_size 64\n.global .surfref s;\n.visible .entry k() {\n"
                   ".reg .b32 %r<9>; .reg .b64 %d<3>;\n" +
                   instruction + "\nret;\n}\n",
               "younger.ptx", {}, sink);
  return sink.errors() ? sink.diagnostics()[0].text : "";
}

TEST(InstructionTable, YoungerModifiersOfSurfacesNeedTheirVersions) {
  const std::string array = "suld.b.a1d.b32.trap %r0, [s, {%r1, %r2}];";
  EXPECT_EQ(version_needed("2.3", "sm_20", array),
            "'.a1d' needs PTX version 3.0 or later, the module has 2.3");
  EXPECT_EQ(version_needed("3.0", "sm_20", array), "");
  const std::string formatted = "sust.p.a1d.b32.trap [s, {%r1, %r2}], %r0;";
  EXPECT_EQ(version_needed("4.0", "sm_30", formatted),
            "'.a1d' with '.p' needs PTX version 4.1 or later, the module has 4.0");
  EXPECT_EQ(version_needed("4.1", "sm_20", formatted),
            "'.a1d' with '.p' needs .target sm_30 or later, the module has sm_20");
  EXPECT_EQ(version_needed("4.1", "sm_30", formatted), "");
  const std::string extreme = "sured.b.min.1d.u64.trap [s, {%r1}], %d0;";
  EXPECT_EQ(version_needed("8.0", "sm_50", extreme),
            "'.min' with '.u64' needs PTX version 8.1 or later, the module has 8.0");
  EXPECT_EQ(version_needed("8.1", "sm_50", extreme), "");
}

TEST(InstructionTable, EveryOpcodeHasARow) {
  for (unsigned i = 1; i < static_cast<unsigned>(Opcode::count_); ++i) {
    const FormRange range = forms_of(static_cast<Opcode>(i));
    EXPECT_LT(range.first, range.last) << text(static_cast<Opcode>(i));
    EXPECT_FALSE(section(static_cast<Opcode>(i)).empty()) << text(static_cast<Opcode>(i));
  }
}

std::string register_of(Type type, unsigned i) {
  const std::string n = std::to_string(i);
  if (type == Type::pred) return "%p" + n;
  switch (bits(type)) {
    case 128: return "%q" + n;
    case 64: return "%d" + n;
    case 32: return "%r" + n;
    default: return "%h" + n;
  }
}

/// An instruction of the form: slot i takes its (pick % n)-th modifier, optional slots when
/// `optional`.
std::string instance(const FormInfo& form, unsigned pick, bool optional) {
  std::string out(text(form.op));
  std::vector<Type> types;
  unsigned vec = 1;
  Mod space = Mod::none;
  bool hint = false;
  for (const Slot& slot : form.slots) {
    if (!slot.required && !optional) continue;
    // Optional slots that exclude each other are left to the assembler's comparison.
    if (!slot.required && slot.kind != SlotKind::rounding && slot.kind != SlotKind::ftz &&
        slot.kind != SlotKind::sat && slot.kind != SlotKind::vec && slot.kind != SlotKind::cc &&
        slot.kind != SlotKind::uni) {
      continue;
    }
    unsigned wanted = pick % static_cast<unsigned>(slot.mods.count());
    for (std::size_t m = 0; m < slot.mods.size(); ++m) {
      if (!slot.mods.test(m) || wanted-- != 0) continue;
      const Mod mod = static_cast<Mod>(m);
      out += "." + std::string(text(mod));
      if (slot.kind == SlotKind::type) types.push_back(to_type(mod));
      if (slot.kind == SlotKind::vec) vec = mod == Mod::v2 ? 2 : mod == Mod::v4 ? 4 : 8;
      if (slot.kind == SlotKind::space) space = mod;
      hint = hint || mod == Mod::L2_cache_hint;
      break;
    }
  }
  unsigned i = 0;
  std::string separator = " ";
  for (const OperandRule& rule : form.operands) {
    if (rule.optional && !hint) continue;
    Type type = rule.type;
    if (type == Type::none && rule.address) type = Type::b64;
    if (type == Type::none)
      type = types.empty() ? Type::b32
                           : types[std::min<std::size_t>(rule.type_index, types.size() - 1)];
    if (rule.doubled) type = bits(type) == 16 ? Type::b32 : Type::b64;
    const unsigned n = i++ % 6;
    out += separator;
    separator = ", ";
    switch (rule.role) {
      case OperandRole::dest_pred: out += "%p1"; break;
      case OperandRole::dest_pred_pair: out += "%p1|%p2"; break;
      case OperandRole::source_pred: out += "!%p3"; break;
      case OperandRole::constant:
        out += rule.least <= rule.most ? std::to_string(rule.least) : "7";
        break;
      case OperandRole::memory: out += space == Mod::const_ ? "[cv]" : "[%d1]"; break;
      case OperandRole::label: out += "done"; break;
      case OperandRole::dest_vector:
      case OperandRole::source_vector:
        out += "{";
        for (unsigned k = 0; k < vec; ++k) out += (k > 0 ? "," : "") + register_of(type, k);
        out += "}";
        break;
      default: out += register_of(type, n); break;
    }
  }
  return out + ";";
}

TEST(InstructionTable, EveryRowIsTakenAsItsColumnsSay) {
  for (const FormInfo& form : all_forms()) {
    if (form.refused || form.any_operands) continue;
    bool special = false;
    for (const OperandRule& rule : form.operands)
      special = special || rule.role == OperandRole::any;
    if (special) continue;
    for (unsigned pick = 0; pick < 16; ++pick) {
      const std::string line = instance(form, pick, pick % 2 == 1);
      DiagnosticSink sink;
      const auto module = parse_module(
          ".version 9.0\n.target sm_100a\n.address_size 64\n.const .u32 cv;\n.entry k()\n{\n.reg "
          ".pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; "
          ".reg .b64 %d<9>; .reg .b128 %q<9>;\n" +
              line + "\ndone: ret;\n}\n",
          "row.ptx", {}, sink);
      for (const Diagnostic& d : sink.diagnostics()) {
        if (d.severity == Severity::warning) continue;
        // Pairs of modifiers that exclude each other (comparisons of bits, conversions) have their
        // own rules.
        const bool rule = d.text.find("comparison") != std::string::npos ||
                          d.text.find("'cvt'") != std::string::npos ||
                          d.text.find("'.ftz'") != std::string::npos ||
                          d.text.find("rounding") != std::string::npos ||
                          d.text.find(".approx") != std::string::npos ||
                          d.text.find("without .sync") != std::string::npos ||
                          d.text.find("128 bits") != std::string::npos ||
                          d.text.find("256 bits") != std::string::npos ||
                          d.text.find("'.v8'") != std::string::npos ||
                          d.text.find("exclude") != std::string::npos ||
                          d.text.find("'.mmio' needs") != std::string::npos ||
                          d.text.find(" is for .v8") != std::string::npos ||
                          d.text.find("' is for loads") != std::string::npos;
        EXPECT_TRUE(rule) << form.syntax << "\n" << render(d, module->source);
      }
    }
  }
}

}  // namespace
}  // namespace ptx2spv::ptx
