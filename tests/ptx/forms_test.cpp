// Some 27,000 instruction forms against what ptxas 13.0 said of each, for sm_75 and sm_90: all
// types and modifiers of arithmetic, logic, comparisons, conversions, moves, memory, barriers,
// warps and video instructions. A form that ptxas takes has to pass the checker, one that it
// refuses must not.
#include <gtest/gtest.h>
#include <zlib.h>

#include <set>
#include <string>
#include <vector>

#include "translator/ptx/parser.hpp"

namespace ptx2spv {
namespace {

struct Form {
  std::string text;
  bool taken[2];  ///< by ptxas for sm_75 and for sm_90
};

/// A line is "+" or "-" for each target, a blank, and the instruction.
std::vector<Form> read_forms() {
  std::vector<Form> forms;
  gzFile file = gzopen(PTX2SPV_SOURCE_DIR "/tests/data/ptxas/forms.txt.gz", "rb");
  if (!file) return forms;
  char line[512];
  while (gzgets(file, line, sizeof(line))) {
    std::string text = line;
    if (!text.empty() && text.back() == '\n') text.pop_back();
    if (text.size() > 3) forms.push_back({text.substr(3), {text[0] == '+', text[1] == '+'}});
  }
  gzclose(file);
  return forms;
}

/// Which of the instructions, one to a line of a kernel, are not taken.
std::set<std::size_t> refused(const std::vector<std::string>& lines, const std::string& target,
                              std::string& first_message) {
  std::string text = ".version 9.0\n.target " + target +
                     "\n.address_size 64\n.visible .entry k()\n{\n"
                     ".reg .pred %p<10>; .reg .b8 %c<10>; .reg .b16 %h<10>; .reg .b32 %r<10>; "
                     ".reg .b64 %d<10>; .reg .b128 %q<10>;\n";
  constexpr std::size_t kFirstLine = 7;
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

class PtxasForms : public testing::TestWithParam<unsigned> {};

TEST_P(PtxasForms, AreTakenAndRefusedAlike) {
  const auto forms = read_forms();
  ASSERT_GT(forms.size(), 20000u);
  const std::string target = GetParam() == 0 ? "sm_75" : "sm_90";
  for (const bool taken : {true, false}) {
    std::vector<std::string> lines;
    for (const Form& form : forms) {
      if (form.taken[GetParam()] == taken) lines.push_back(form.text);
    }
    ASSERT_GT(lines.size(), 5000u);
    std::string message;
    const auto errors = refused(lines, target, message);
    if (taken) {
      for (const std::size_t i : errors) ADD_FAILURE() << target << " has it: " << lines[i];
      EXPECT_EQ(message, "");
    } else {
      for (std::size_t i = 0; i < lines.size(); ++i) {
        if (!errors.contains(i)) ADD_FAILURE() << target << " has it not: " << lines[i];
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, PtxasForms, testing::Range(0u, 2u));

}  // namespace
}  // namespace ptx2spv
