// Some 27,000 instruction forms against what ptxas 13.0 said of each, for sm_75 and sm_90: all
// types and modifiers of arithmetic, logic, comparisons, conversions, moves, memory, barriers,
// warps and video instructions; and 24,000 forms of texture instructions, in both texture modes. A
// form that ptxas takes has to pass the checker, one that it refuses must not. And 9,000 of vector
// registers and lists, which tests/vectors executes.
#include <gtest/gtest.h>
#include <zlib.h>

#include <set>
#include <string>
#include <vector>

#include "translator/ptx/parser.hpp"

namespace ptx2spv {
namespace {

/// What ptxas was asked for: a target, and what stands before the kernel.
struct Asked {
  const char *name, *file, *target, *globals;
  std::size_t column;       ///< of the answers in front of each instruction
  std::size_t least_taken;  ///< how many instructions of the file it takes, at least
};

/// Textures and samplers are as global as their use allows: unified mode knows no samplers.
constexpr Asked kAsked[] = {
    {"Sm75", "forms.txt.gz", "sm_75", "", 0, 5000},
    {"Sm90", "forms.txt.gz", "sm_90", "", 1, 5000},
    {"TexturesSm75", "textures.txt.gz", "sm_75", ".global .texref t; .global .surfref u;", 0, 1200},
    {"TexturesSm90", "textures.txt.gz", "sm_90", ".global .texref t; .global .surfref u;", 1, 1200},
    {"Vectors", "vectors.txt.gz", "sm_90",
     ".global .texref t; .global .surfref u; .global .align 16 .b8 gv[256];"
     ".func (.reg .b32 r) fs(.reg .b32 a) { ret; }"
     ".func (.reg .v2 .b32 r) fv2(.reg .v2 .b32 a) { ret; }"
     ".func (.reg .v4 .b32 r) fv4(.reg .v4 .b32 a) { ret; }"
     ".func (.reg .v2 .b16 r) fh2(.reg .v2 .b16 a) { ret; }"
     ".func (.reg .v2 .f32 r) ff2(.reg .v2 .f32 a) { ret; }"
     ".func (.reg .v2 .b64 r) fd2(.reg .v2 .b64 a) { ret; }"
     ".func (.param .b64 r) fp64(.param .b64 a) { ret; }",
     0, 2000},
    {"Samplers", "textures.txt.gz", "sm_90, texmode_independent",
     ".global .texref t; .global .surfref u; .global .samplerref s;", 2, 500},
};

/// A line is "+" or "-" for each question ("?": not asked), a blank, and the instruction.
std::vector<std::string> read_forms(const Asked& asked, char answer) {
  std::vector<std::string> forms;
  const std::string path = std::string(PTX2SPV_SOURCE_DIR "/tests/data/ptxas/") + asked.file;
  gzFile file = gzopen(path.c_str(), "rb");
  if (!file) return forms;
  char line[512];
  while (gzgets(file, line, sizeof(line))) {
    std::string text = line;
    if (!text.empty() && text.back() == '\n') text.pop_back();
    const std::size_t blank = text.find(' ');
    if (blank < text.size() && text[asked.column] == answer)
      forms.push_back(text.substr(blank + 1));
  }
  gzclose(file);
  return forms;
}

/// Which of the instructions, one to a line of a kernel, are not taken.
std::set<std::size_t> refused(const std::vector<std::string>& lines, const Asked& asked,
                              std::string& first_message) {
  std::string text =
      ".version 9.0\n.target " + std::string(asked.target) + "\n.address_size 64\n" +
      asked.globals +
      "\n.visible .entry k()\n{\n"
      ".reg .pred %p<10>; .reg .b8 %c<10>; .reg .b16 %h<10>; .reg .b32 %r<10>; "
      ".reg .b64 %d<10>; .reg .b128 %q<10>; .reg .f32 %f<10>; .reg .f16x2 %hx<10>;\n";
  // %v4u32_0 and the like, and scalars %u32_0 of every type.
  for (const char* type : {"b8", "u8", "s8", "b16", "u16", "s16", "f16", "b32", "u32", "s32", "f32",
                           "f16x2", "b64", "u64", "s64", "f64"}) {
    const std::string name = type;
    const bool wide = name.ends_with("64");
    text += ".reg ." + name + " %" + name + "_<12>; .reg .v2 ." + name + " %v2" + name + "_<2>; ";
    if (!wide) text += ".reg .v4 ." + name + " %v4" + name + "_<2>; ";
  }
  text += ".reg .b128 %b128_<12>;\n";
  constexpr std::size_t kFirstLine = 9;
  for (const std::string& line : lines) text += line + "\n";
  text += "ret;\n}\n";
  DiagnosticSink sink(1u << 30);
  const auto module = ptx::parse_module(text, "forms.ptx", {}, sink);
  std::set<std::size_t> result;
  for (const Diagnostic& diagnostic : sink.diagnostics()) {
    if (diagnostic.severity != Severity::error) continue;
    if (first_message.empty()) first_message = diagnostic.text;
    const std::size_t line = module->source.position(diagnostic.span.begin).line;
    if (line >= kFirstLine && line < kFirstLine + lines.size()) result.insert(line - kFirstLine);
  }
  return result;
}

class PtxasForms : public testing::TestWithParam<Asked> {};

TEST_P(PtxasForms, AreTakenAndRefusedAlike) {
  const Asked& asked = GetParam();
  const auto taken = read_forms(asked, '+'), not_taken = read_forms(asked, '-');
  ASSERT_GT(taken.size(), asked.least_taken);
  ASSERT_GT(not_taken.size(), 1000u);
  std::string message;
  for (const std::size_t i : refused(taken, asked, message))
    ADD_FAILURE() << asked.target << " has it: " << taken[i];
  EXPECT_EQ(message, "");
  const auto errors = refused(not_taken, asked, message);
  for (std::size_t i = 0; i < not_taken.size(); ++i) {
    if (!errors.contains(i)) ADD_FAILURE() << asked.target << " has it not: " << not_taken[i];
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, PtxasForms, testing::ValuesIn(kAsked),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace ptx2spv
