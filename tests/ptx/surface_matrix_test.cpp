// Every surface instruction: operation x geometry x cache operator x vector x type x mode. The
// forms are walked twice: from the instruction table, so that none that it takes stays untested,
// and from a list of words that holds what it must not take. The rules that both are held against
// were written from the answers of ptxas 13.0 and not from the table; where ptxas is installed it
// is asked again.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "ptx2spv/translator.hpp"
#include "tests/support/process.hpp"
#include "tests/support/spirv_tools.hpp"
#include "tests/support/surface_forms.hpp"
#include "translator/ptx/parser.hpp"

namespace ptx2spv {
namespace {

using Words = std::vector<std::string>;
const Words kGeometries{"1d", "2d", "3d", "a1d", "a2d", "cube", "acube", "2dms", "a2dms"};
const Words kCache{"", "ca", "cg", "cs", "cv", "wb", "wt", "lu", "volatile"};
const Words kVectors{"", "v2", "v4", "v3", "v8"};
const Words kTypes{"b8",  "b16", "b32", "b64", "u8",  "u16", "u32",   "u64", "s8",
                   "s16", "s32", "s64", "f16", "f32", "f64", "f16x2", "b128"};
const Words kClamps{"", "trap", "clamp", "zero", "wrap", "mirror"};
const Words kOperations{"add", "min", "max",  "and", "or", "inc",
                        "dec", "xor", "exch", "cas", "sub"};
const Words kQueries{"width",
                     "height",
                     "depth",
                     "channel_data_type",
                     "channel_order",
                     "array_size",
                     "memory_layout",
                     "normalized_coords",
                     "num_mipmap_levels",
                     "num_samples",
                     "filter_mode",
                     "addr_mode_0",
                     "row_pitch"};

bool in(const std::string& word, std::initializer_list<std::string_view> words) {
  for (const std::string_view w : words) {
    if (w == word) return true;
  }
  return false;
}

struct Form {
  std::string text;        ///< one instruction
  bool accepted = false;   ///< by our rules
  bool same = true;        ///< ptxas agrees; it refuses the omitted mode
  bool reordered = false;  ///< the modifiers are not in the table's order
};

const char* kHeader =
    ".version 9.0\n.target sm_90\n.address_size 64\n.global .surfref s;\n.visible .entry k(.param "
    ".u64 p)\n{\n"
    ".reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .b128 %q<9>;\n";

std::string data_register(const std::string& type, int i) {
  const bool wide = type == "b64" || type == "u64" || type == "s64" || type == "f64";
  return (type == "b128"                                            ? "%q"
          : wide                                                    ? "%rd"
          : type.find("16") != std::string::npos && type != "f16x2" ? "%h"
                                                                    : "%r") +
         std::to_string(i);
}

/// What ptxas takes, as its answers to 9,286 forms read. `c`: the mode, empty where omitted.
bool access_accepted(const std::string& base, const std::string& g, const std::string& cop,
                     const std::string& v, const std::string& t, const std::string& c) {
  bool good = base != "suld.p" && in(g, {"1d", "2d", "3d", "a1d", "a2d"}) &&
              in(v, {"", "v2", "v4"}) && in(c, {"", "trap", "clamp", "zero"});
  good = good && (base == "sust.p" ? t == "b32" : in(t, {"b8", "b16", "b32", "b64"}));
  good = good && !(v == "v4" && t == "b64");
  // The manual's examples leave the mode of suld.b and sust.b out.
  good = good && (base != "sust.p" || !c.empty());
  return good && (base == "suld.b" ? in(cop, {"", "ca", "cg", "cs", "cv"})
                                   : in(cop, {"", "wb", "cg", "cs", "wt"}));
}

bool reduction_accepted(const std::string& base, const std::string& op, const std::string& g,
                        const std::string& t, const std::string& c) {
  const bool good = in(g, {"1d", "2d", "3d"}) && in(c, {"trap", "clamp", "zero"});
  if (base == "sured.b") {
    return good && ((op == "add" && in(t, {"u32", "s32", "u64"})) ||
                    (in(op, {"min", "max"}) && in(t, {"u32", "s32", "u64", "s64"})) ||
                    (in(op, {"and", "or"}) && t == "b32"));
  }
  return good && ((in(op, {"add", "and", "or"}) && t == "b32") ||
                  (in(op, {"min", "max"}) && in(t, {"b32", "b64"})));
}

bool query_accepted(const std::string& q, const std::string& t) {
  return t == "b32" && in(q, {"width", "height", "depth", "channel_data_type", "channel_order",
                              "array_size", "memory_layout"});
}

std::vector<Form> all_forms() {
  std::vector<Form> out;
  const auto coordinates = [](const std::string& g) {
    return g == "1d"              ? std::string("{%r1}")
           : in(g, {"2d", "a1d"}) ? "{%r1,%r2}"
                                  : "{%r1,%r2,%r3,%r4}";
  };
  for (const std::string base : {"suld.b", "sust.b", "sust.p", "suld.p"}) {
    for (const auto& g : kGeometries)
      for (const auto& cop : kCache)
        for (const auto& v : kVectors)
          for (const auto& t : kTypes)
            for (const auto& c : kClamps) {
              // Cache operators and odd modes once per geometry are enough.
              if (!cop.empty() && (t != "b32" || !v.empty())) continue;
              if (in(c, {"wrap", "mirror"}) && (t != "b32" || !v.empty())) continue;
              const unsigned n = v == "v2" ? 2 : v == "v4" ? 4 : v == "v3" ? 3 : v == "v8" ? 8 : 1;
              std::string data = "{";
              for (unsigned i = 1; i <= n; ++i)
                data += (i > 1 ? "," : "") + data_register(t, static_cast<int>(i));
              data += "}";
              std::string text = base + "." + g + (cop.empty() ? "" : "." + cop) +
                                 (v.empty() ? "" : "." + v) + "." + t + (c.empty() ? "" : "." + c);
              const std::string place = "[%rd1, " + coordinates(g) + "]";
              text += base[2] == 'l' ? " " + data + ", " + place + ";"
                                     : " " + place + ", " + data + ";";
              const bool good = access_accepted(base, g, cop, v, t, c);
              out.push_back({text, good, !(good && c.empty())});
            }
  }
  for (const std::string base : {"sured.b", "sured.p"})
    for (const auto& op : kOperations)
      for (const auto& g : kGeometries)
        for (const auto& t : kTypes)
          for (const auto& c : kClamps) {
            const std::string text = base + "." + op + "." + g + "." + t +
                                     (c.empty() ? "" : "." + c) + " [%rd1, " + coordinates(g) +
                                     "], " + data_register(t, 1) + ";";
            const bool good = reduction_accepted(base, op, g, t, c);
            // ptxas 13.0 crashes on these operations: not to be fed to it.
            const bool crash = in(op, {"inc", "dec", "xor", "exch"});
            out.push_back({text, good, !(good && c.empty()) && !crash});
          }
  for (const auto& q : kQueries)
    for (const auto& t : kTypes) {
      out.push_back({"suq." + q + "." + t + " %r1, [%rd1];", query_accepted(q, t), true});
    }
  // The order of modifiers is free; odd ones draw at most a warning.
  for (const char* text :
       {"suld.b.1d.b32.v2.trap {%r1,%r2}, [%rd1,{%r1}];", "suld.b.trap.1d.b32 {%r1}, [%rd1,{%r1}];",
        "suld.b.1d.v2.cg.b32.trap {%r1,%r2}, [%rd1,{%r1}];",
        "sured.b.1d.add.u32.trap [%rd1,{%r1}], %r2;", "suq.b32.width %r1, [%rd1];"}) {
    out.push_back({text, true, true, true});
  }
  out.push_back({"suld.b.1d.b32.trap.clamp {%r1}, [%rd1,{%r1}];", false, true});
  out.push_back({"suld.1d.b32.trap {%r1}, [%rd1,{%r1}];", false, true});
  out.push_back({"sured.b.add.1d.cg.u32.trap [%rd1,{%r1}], %r2;", false, true});
  out.push_back({"sured.b.add.1d.v2.u32.trap [%rd1,{%r1}], %r2;", false, true});
  out.push_back({"sured.b.add.1d.u32.trap [%rd1,{%r1}], {%r2};", false, true});
  return out;
}

bool accepts(const std::string& instruction, std::string& message) {
  DiagnosticSink sink;
  const auto module =
      ptx::parse_module(kHeader + instruction + "\nret;\n}\n", "matrix.ptx", {}, sink);
  for (const Diagnostic& d : sink.diagnostics()) {
    if (message.empty() && d.severity == Severity::error) message = d.text;
  }
  return sink.errors() == 0;
}

TEST(SurfaceMatrix, AcceptsAndRejectsWhatTheAssemblerDoes) {
  const auto forms = all_forms();
  ASSERT_GT(forms.size(), 9000u);
  for (const Form& form : forms) {
    std::string message;
    EXPECT_EQ(form.accepted, accepts(form.text, message)) << form.text << "\n" << message;
  }
}

using test::surface_forms;
using test::SurfaceForm;

std::string word(ptx::Mod mod) { return std::string(ptx::text(mod)); }

bool accepted_by_the_rules(const SurfaceForm& form) {
  const std::string base = form.name.substr(0, form.name.find('.') + 2);
  const std::string type(ptx::text(form.type)), mode = word(form.clamp);
  const std::string vec = form.vector > 1 ? "v" + std::to_string(form.vector) : "";
  switch (form.op) {
    case ptx::Opcode::suld:
    case ptx::Opcode::sust:
      return access_accepted(base, word(form.geometry), word(form.cache), vec, type, mode);
    case ptx::Opcode::sured:
      return reduction_accepted(base, word(form.operation), word(form.geometry), type, mode);
    case ptx::Opcode::suq: return query_accepted(word(form.query), type);
    default: ADD_FAILURE() << form.name << ": no rule"; return false;
  }
}

std::string line(const SurfaceForm& form) {
  std::vector<std::string> data;
  for (int i = 1; i <= 4; ++i) data.push_back(data_register(std::string(ptx::text(form.type)), i));
  return form.text("%rd1", {"%r1", "%r2", "%r3"}, data);
}

TEST(SurfaceMatrix, TheTableTakesWhatTheRulesSay) {
  const auto forms = surface_forms();
  std::set<std::string> names;
  std::string message;
  for (const SurfaceForm& form : forms) {
    names.insert(form.name);
    EXPECT_EQ(accepted_by_the_rules(form), !form.too_wide()) << form.name;
    message.clear();
    EXPECT_EQ(accepts(line(form), message), !form.too_wide()) << form.name << "\n" << message;
  }
  EXPECT_EQ(names.size(), forms.size());
  // And nothing is missing from it: every accepted form of the list is one of the table's.
  for (const Form& form : all_forms()) {
    const std::string name = form.text.substr(0, form.text.find(' '));
    if (!form.accepted || form.reordered) continue;
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

// Forms that differ in the cache operator, and those whose mode is omitted, are the same module.
TEST(SurfaceMatrix, EveryFormOfTheTableTranslates) {
  const auto forms = surface_forms();
  for (const char* profile : {"nvidia", "portable"}) {
    std::map<std::string, std::vector<std::uint32_t>> by_place;
    TranslateOptions options;
    options.profile = *find_profile(profile);
    // One kernel for each row of the table, geometry and mode.
    std::map<std::string, std::string> bodies;
    for (const SurfaceForm& form : forms) {
      if (form.too_wide()) continue;
      // What is the same module stands behind the last dot.
      const bool omitted = form.clamp == ptx::Mod::none && form.query == ptx::Mod::none;
      const std::string key = std::to_string(form.row) + "_" + word(form.geometry) + "_" +
                              (omitted ? "trap" : word(form.clamp)) + "." + word(form.cache) +
                              (omitted ? "_omitted" : "");
      bodies[key] += line(form) + "\n";
    }
    for (const auto& [key, body] : bodies) {
      std::vector<Message> messages;
      const std::string text = kHeader + body + "ret;\n}\n";
      const auto module = PtxModule::parse({{text, "forms.ptx"}}, messages);
      ASSERT_TRUE(module) << body;
      const auto translation = module->translate(options, messages);
      ASSERT_TRUE(translation) << profile << "\n" << body;
      EXPECT_EQ(test::validate_spirv(translation->spirv), "") << profile << "\n" << body;
      const std::string place = key.substr(0, key.rfind('.'));
      const auto [known, is_new] = by_place.emplace(place, translation->spirv);
      EXPECT_TRUE(is_new || known->second == translation->spirv) << profile << "\n" << body;
    }
  }
}

/// Lines of `text` that ptxas finds fault with; its exit status in `status`.
std::set<int> assemble(const std::string& text, int& status) {
  const test::TemporaryFolder folder;
  const std::string file = folder.write("matrix.ptx", text);
  status = std::system(("ptxas -arch=sm_90 " + file + " -o " + folder.file("matrix.o") + " > " +
                        folder.file("log") + " 2>&1")
                           .c_str());
  std::istringstream log(test::read_whole(folder.file("log")));
  std::set<int> lines;
  for (std::string line; std::getline(log, line);) {
    const std::size_t at = line.find(", line ");
    if (at != std::string::npos && line.find("; error") != std::string::npos)
      lines.insert(std::atoi(line.c_str() + at + 7));
  }
  return lines;
}

// The accepted forms pass in one module, the rejected ones are all reported from another.
TEST(SurfaceMatrix, TheAssemblerAgreesWhereItIsInstalled) {
  if (std::system("ptxas --version > /dev/null 2>&1") != 0)
    GTEST_SKIP() << "ptxas is not installed";
  std::string good = kHeader, bad = kHeader;
  std::vector<std::string> rejected;
  const auto reject = [&](const std::string& text) {
    bad += text + "\n";
    rejected.push_back(text);
  };
  for (const SurfaceForm& form : surface_forms()) {
    // It refuses the omitted mode, which the manual's examples have.
    const bool omitted = form.clamp == ptx::Mod::none && form.query == ptx::Mod::none;
    if (form.too_wide() || omitted)
      reject(line(form));
    else
      good += line(form) + "\n";
  }
  for (const Form& form : all_forms()) {
    if (!form.same) continue;
    if (form.accepted)
      good += form.text + "\n";
    else
      reject(form.text);
  }
  int status = 0;
  EXPECT_TRUE(assemble(good + "ret;\n}\n", status).empty());
  EXPECT_EQ(status, 0);
  const std::set<int> lines = assemble(bad + "ret;\n}\n", status);
  EXPECT_NE(status, 0);
  const std::string_view header = kHeader;
  const int first = static_cast<int>(std::count(header.begin(), header.end(), '\n')) + 1;
  for (std::size_t i = 0; i < rejected.size(); ++i)
    EXPECT_TRUE(lines.contains(first + static_cast<int>(i))) << rejected[i];
  std::printf("ptxas rejects %zu forms\n", rejected.size());
}

// The version and target at which each feature appeared: one less of either is refused by name, and
// taken when versions are relaxed.
TEST(SurfaceMatrix, VersionsAndTargetsAreChecked) {
  constexpr struct {
    const char* instruction;
    unsigned version, target;  ///< the first of each
  } kRows[] = {
      {"suld.b.1d.b32.trap %r1, [s, {%r1}];", 15, 10},
      {"suld.b.1d.b32.clamp %r1, [s, {%r1}];", 20, 20},
      {"sust.b.2d.b32.zero [s, {%r1, %r1}], %r1;", 20, 20},
      {"suld.b.3d.b32.trap %r1, [s, {%r1, %r1, %r1, %r1}];", 30, 20},
      {"suld.b.1d.ca.b32.trap %r1, [s, {%r1}];", 20, 20},
      {"suld.b.a1d.b32.trap %r1, [s, {%r1, %r1}];", 30, 20},
      {"sust.b.a2d.b32.trap [s, {%r1, %r1, %r1, %r1}], %r1;", 30, 20},
      {"sust.p.1d.b32.trap [s, {%r1}], %r1;", 20, 20},
      {"sust.p.a1d.b32.trap [s, {%r1, %r1}], %r1;", 41, 30},
      {"sured.b.add.1d.u64.trap [s, {%r1}], %d1;", 20, 20},
      {"sured.b.min.1d.s64.trap [s, {%r1}], %d1;", 81, 50},
      {"sured.p.max.1d.b64.trap [s, {%r1}], %d1;", 81, 50},
      {"suld.b.1d.b32.trap %r1, [%d1, {%r1}];", 31, 20},
      {"suq.width.b32 %r1, [s];", 15, 10},
      {"suq.channel_data_type.b32 %r1, [s];", 21, 10},
      {"suq.array_size.b32 %r1, [s];", 41, 10},
      {"suq.memory_layout.b32 %r1, [s];", 42, 10},
  };
  // Some that there were.
  constexpr unsigned kVersions[] = {14, 15, 20, 21, 22, 30, 31, 32, 40, 41, 42, 80, 81};
  constexpr unsigned kTargets[] = {10, 11, 12, 13, 20, 30, 35, 37, 50};
  const auto parse = [](const char* instruction, unsigned version, unsigned target, bool relax,
                        std::string& message) {
    std::string text = ".version " + std::to_string(version / 10) + "." +
                       std::to_string(version % 10) + "\n.target sm_" + std::to_string(target) +
                       "\n.global .surfref s;\n.entry k()\n{\n.reg .b32 %r1; .reg .b64 %d1;\n" +
                       instruction + "\nexit;\n}\n";
    std::vector<Message> messages;
    const bool good = PtxModule::parse({{text, "old.ptx"}}, messages, relax).has_value();
    message.clear();
    for (const Message& each : messages)
      if (each.severity == Severity::error) message += each.rendered;
    return good;
  };
  for (const auto& row : kRows) {
    std::string message;
    EXPECT_TRUE(parse(row.instruction, row.version, row.target, false, message)) << message;
    const unsigned older = *(std::ranges::find(kVersions, row.version) - 1);
    // Before 1.5 there is no .surfref to name.
    if (row.version > 15) {
      EXPECT_FALSE(parse(row.instruction, older, row.target, false, message)) << row.instruction;
      EXPECT_NE(message.find("old.ptx:7:"), std::string::npos) << message;
      EXPECT_NE(message.find("or later, the module has"), std::string::npos) << message;
      EXPECT_TRUE(parse(row.instruction, older, row.target, true, message)) << message;
    }
    if (row.target == 10) continue;
    const unsigned lesser = *(std::ranges::find(kTargets, row.target) - 1);
    EXPECT_FALSE(parse(row.instruction, row.version, lesser, false, message)) << row.instruction;
    EXPECT_NE(message.find("needs .target sm_"), std::string::npos) << message;
    EXPECT_TRUE(parse(row.instruction, row.version, lesser, true, message)) << message;
  }
}

}  // namespace
}  // namespace ptx2spv
