// Random damage to real modules: no crash, and every error has a place inside the text. Under the
// sanitizers this is where memory errors would show.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "translator/ptx/parser.hpp"

namespace ptx2spv {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> seeds() {
  std::vector<std::string> out;
  for (const char* folder : {"tests/cases/ptx", "examples"}) {
    for (const auto& entry :
         fs::recursive_directory_iterator(fs::path(PTX2SPV_SOURCE_DIR) / folder)) {
      if (entry.path().extension() != ".ptx") continue;
      std::ifstream in(entry.path(), std::ios::binary);
      std::ostringstream text;
      text << in.rdbuf();
      out.push_back(text.str());
    }
  }
  return out;
}

void try_text(const std::string& text) {
  DiagnosticSink sink;
  const auto module = ptx::parse_module(text, "fuzz.ptx", {}, sink);
  ASSERT_NE(module, nullptr);
  EXPECT_LE(sink.errors(), 20u);
  for (const Diagnostic& d : sink.diagnostics()) {
    EXPECT_LE(d.span.begin, text.size());
    EXPECT_FALSE(d.text.empty());
    EXPECT_FALSE(render(d, module->source).empty());
  }
}

TEST(PtxFuzz, DamagedModulesAreReportedNotFatal) {
  const std::vector<std::string> all = seeds();
  ASSERT_FALSE(all.empty());
  const char* const count = std::getenv("PTX2SPV_FUZZ");
  const int rounds = count != nullptr ? std::atoi(count) : 3000;
  std::mt19937 random(12345);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  static const std::vector<std::string> kWords{";",
                                               "}",
                                               "{",
                                               "(",
                                               ")",
                                               "[",
                                               "]",
                                               ",",
                                               "<",
                                               ">",
                                               "|",
                                               "!",
                                               "-",
                                               "+",
                                               ".",
                                               "@",
                                               ":",
                                               "_",
                                               "0",
                                               "1",
                                               "0x",
                                               "0f3F800000",
                                               "1e999",
                                               "99999999999999999999",
                                               "\"",
                                               "/*",
                                               "//",
                                               "%r1",
                                               "%tid.x",
                                               ".reg",
                                               ".param",
                                               ".entry",
                                               ".func",
                                               ".global",
                                               ".v4",
                                               ".b128",
                                               ".callprototype",
                                               ".branchtargets",
                                               ".loc",
                                               ".section",
                                               "call",
                                               "bra",
                                               "mov.b64",
                                               "suld.b.2d",
                                               "tex.2d.v4.f32.f32",
                                               "WARP_SZ",
                                               "generic(",
                                               "0xFF(",
                                               "<4294967295>",
                                               "[4294967295]",
                                               std::string(1, '\0'),
                                               "\xff\xfe",
                                               "?",
                                               ".align 0"};
  for (int round = 0; round < rounds; ++round) {
    std::string text = all[below(all.size())];
    if (text.size() > 20000) {
      const std::size_t begin = below(text.size() - 20000);
      text = text.substr(0, 400) + text.substr(begin, 20000);
    }
    const std::size_t edits = 1 + below(6);
    for (std::size_t e = 0; e < edits && !text.empty(); ++e) {
      const std::size_t at = below(text.size());
      switch (below(6)) {
        case 0: text.erase(at, 1 + below(20)); break;
        case 1: text.insert(at, kWords[below(kWords.size())]); break;
        case 2: text[at] = static_cast<char>(below(256)); break;
        case 3: text.resize(at); break;
        case 4: text.insert(at, text.substr(below(text.size()), below(60))); break;
        default: {
          const std::string& other = all[below(all.size())];
          if (!other.empty()) text.insert(at, other.substr(below(other.size()), below(200)));
          break;
        }
      }
    }
    try_text(text);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(PtxFuzz, HostileShapes) {
  const std::string head = ".version 8.0\n.target sm_80\n.address_size 64\n";
  const auto repeat = [](std::string_view s, std::size_t n) {
    std::string out;
    for (std::size_t i = 0; i < n; ++i) out += s;
    return out;
  };
  try_text(head + ".entry k() {" + repeat("{", 100000));
  try_text(head + ".entry k() {" + repeat("{", 3000) + repeat("}", 3000) + "}");
  try_text(head + ".global .u32 a = " + repeat("(", 100000) + "1;");
  try_text(head + ".global .u32 a = " + repeat("-", 100000) + "1;");
  try_text(head + ".global .u32 a = 1" + repeat("+1", 100000) + ";");
  try_text(head + ".global .u32 a = 1" + repeat("?1:1", 10000) + ";");
  try_text(head + ".global .u32 a" + repeat("[2]", 100000) + ";");
  try_text(head + ".global .u32 a[2] = " + repeat("{", 100000) + ";");
  try_text(head + ".global .b8 a[1099511627776]; .global .b8 b[1000000000000] = {1};");
  try_text(head + ".global .b8 a[4294967296][4294967296];");
  try_text(head + ".entry k() { .reg .b32 %r<16777216>; mov.b32 %r16777215, 1; }");
  try_text(head + ".entry k() { .reg .b32 r; mov.b32 r, " + repeat("{", 50000) + "; }");
  try_text(head + ".entry k() { .reg .b32 r; mov.b32 {" + repeat("r,", 50000) + "r}, r; }");
  try_text(head + ".entry k() { .reg .b32 r; add.u32 " + repeat("r,", 50000) + "r; }");
  try_text(head + ".entry k() { add" + repeat(".u32", 50000) + " r; }");
  try_text(head + ".entry k() { " + repeat("L: ", 50000) + " }");
  try_text(head + ".entry k() { " + repeat("bra L;", 50000) + " }");
  try_text(head + ".surfref " + repeat("a,", 50000));
  try_text(std::string(100000, '\0'));
  try_text(std::string(100000, '\xff'));
  try_text(head + std::string(300000, ' ') + "x");
}

}  // namespace
}  // namespace ptx2spv
