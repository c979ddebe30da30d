// Constant expressions against what ptxas made of each: the bytes of an initialised variable, or a
// refusal. tests/data/ptxas/README.md says how they were recorded.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "translator/ptx/parser.hpp"

namespace ptx2spv {
namespace {

/// The variable's first bytes as a number; false where the module is refused.
bool fold(const std::string& type, const std::string& expression, std::uint64_t& value) {
  const std::string text =
      ".version 9.0\n.target sm_90\n.address_size 64\n.visible .global .align 8 ." + type +
      " x[2] = { " + expression + " };\n";
  DiagnosticSink sink;
  const auto module = ptx::parse_module(text, "constant.ptx", {}, sink);
  for (const Diagnostic& d : sink.diagnostics())
    if (d.severity == Severity::error) return false;
  value = 0;
  const auto& bytes = module->variable(module->globals.at(0)).init.bytes;
  for (std::size_t i = 0; i < bytes.size() && i < 8; ++i)
    value |= std::uint64_t{bytes[i]} << (8 * i);
  return true;
}

TEST(PtxasConstants, FoldToTheSameBytes) {
  std::ifstream in(PTX2SPV_SOURCE_DIR "/tests/data/ptxas/constants.txt");
  unsigned lines = 0, refused = 0;
  for (std::string line; std::getline(in, line); ++lines) {
    const std::size_t one = line.find(' '), two = line.find(' ', one + 1);
    ASSERT_NE(two, std::string::npos) << line;
    const std::string wanted = line.substr(one + 1, two - one - 1);
    std::uint64_t value = 0;
    const bool taken = fold(line.substr(0, one), line.substr(two + 1), value);
    refused += wanted == "-";
    EXPECT_EQ(taken, wanted != "-") << line;
    if (taken && wanted != "-") {
      EXPECT_EQ(value, std::stoull(wanted, nullptr, 16)) << line;
    }
  }
  EXPECT_GT(lines, 300u);
  EXPECT_GT(refused, 80u);
}

}  // namespace
}  // namespace ptx2spv
