// Every surface instruction: operation x geometry x cache operator x vector x type x mode, against
// the grammar that ptxas 13.0 implements. The rules stand here a second time, written from its
// answers and not from the table.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

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
  std::string text;       ///< one instruction
  bool accepted = false;  ///< by our rules
  bool same = true;       ///< ptxas agrees; it refuses the omitted mode
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
              bool good = base != "suld.p" && in(g, {"1d", "2d", "3d", "a1d", "a2d"}) &&
                          in(v, {"", "v2", "v4"}) && in(c, {"", "trap", "clamp", "zero"});
              good = good && (base == "sust.p" ? t == "b32" : in(t, {"b8", "b16", "b32", "b64"}));
              good = good && !(v == "v4" && t == "b64");
              good = good && (base == "suld.b" ? in(cop, {"", "ca", "cg", "cs", "cv"})
                                               : in(cop, {"", "wb", "cg", "cs", "wt"}));
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
            bool good = in(g, {"1d", "2d", "3d"}) && in(c, {"", "trap", "clamp", "zero"});
            if (base == "sured.b") {
              good = good && ((op == "add" && in(t, {"u32", "s32", "u64"})) ||
                              (in(op, {"min", "max"}) && in(t, {"u32", "s32", "u64", "s64"})) ||
                              (in(op, {"and", "or"}) && t == "b32"));
            } else {
              good = good && ((in(op, {"add", "and", "or"}) && t == "b32") ||
                              (in(op, {"min", "max"}) && in(t, {"b32", "b64"})));
            }
            // ptxas 13.0 crashes on these operations: not to be fed to it.
            const bool crash = in(op, {"inc", "dec", "xor", "exch"});
            out.push_back({text, good, !(good && c.empty()) && !crash});
          }
  for (const auto& q : kQueries)
    for (const auto& t : kTypes) {
      out.push_back({"suq." + q + "." + t + " %r1, [%rd1];",
                     t == "b32" && in(q, {"width", "height", "depth", "channel_data_type",
                                          "channel_order", "array_size", "memory_layout"}),
                     true});
    }
  // The order of modifiers is free; odd ones draw at most a warning.
  for (const char* text :
       {"suld.b.1d.b32.v2.trap {%r1,%r2}, [%rd1,{%r1}];", "suld.b.trap.1d.b32 {%r1}, [%rd1,{%r1}];",
        "suld.b.1d.v2.cg.b32.trap {%r1,%r2}, [%rd1,{%r1}];",
        "sured.b.1d.add.u32.trap [%rd1,{%r1}], %r2;", "suq.b32.width %r1, [%rd1];"}) {
    out.push_back({text, true, true});
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

TEST(SurfaceMatrix, TheAssemblerAgreesWhereItIsInstalled) {
  if (std::system("ptxas --version > /dev/null 2>&1") != 0)
    GTEST_SKIP() << "ptxas is not installed";
  const std::string base = (std::filesystem::path(testing::TempDir()) / "surface_matrix").string();
  const auto run = [&](const std::string& text, std::set<int>& lines) {
    std::ofstream(base + ".ptx") << text;
    const int status = std::system(
        ("ptxas -arch=sm_90 " + base + ".ptx -o " + base + ".o > " + base + ".log 2>&1").c_str());
    std::ifstream log(base + ".log");
    for (std::string line; std::getline(log, line);) {
      const std::size_t at = line.find(", line ");
      if (at != std::string::npos && line.find("; error") != std::string::npos)
        lines.insert(std::atoi(line.c_str() + at + 7));
    }
    return status;
  };
  // The accepted ones pass in one module; the rejected ones are all reported from another, unless
  // the assembler gives up at a word that it does not know.
  const auto forms = all_forms();
  std::string good = kHeader, bad = kHeader;
  int count = 0;
  std::vector<const Form*> rejected;
  for (const Form& form : forms) {
    if (!form.same) continue;
    if (form.accepted) {
      good += form.text + "\n";
    } else if (form.text.find(".v3") == std::string::npos &&
               form.text.find("mirror") == std::string::npos &&
               form.text.find("row_pitch") == std::string::npos &&
               form.text.find(".sub.") == std::string::npos &&
               form.text.find("suld.p") == std::string::npos &&
               form.text.find("suld.1d") == std::string::npos &&
               form.text.find(".v8") == std::string::npos && ++count % 7 == 0) {
      bad += form.text + "\n";
      rejected.push_back(&form);
    }
  }
  std::set<int> lines;
  EXPECT_EQ(run(good + "ret;\n}\n", lines), 0);
  EXPECT_TRUE(lines.empty());
  EXPECT_NE(run(bad + "ret;\n}\n", lines), 0);
  const std::string_view header = kHeader;
  const int first = static_cast<int>(std::count(header.begin(), header.end(), '\n')) + 1;
  for (std::size_t i = 0; i < rejected.size(); ++i) {
    EXPECT_TRUE(lines.contains(first + static_cast<int>(i))) << rejected[i]->text;
  }
}

}  // namespace
}  // namespace ptx2spv
