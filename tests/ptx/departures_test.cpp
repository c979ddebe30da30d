// What ptxas makes code of otherwise than the manual says, in every case (hardware.md): the
// translation does so too, and a warning says where.
#include <gtest/gtest.h>

#include "translator/ptx/parser.hpp"

namespace ptx2spv::ptx {
namespace {

struct Taken {
  Instruction inst;
  Modifiers mods;
  std::vector<std::string> warnings;
};

Taken take(const std::string& line) {
  DiagnosticSink sink;
  const auto module = parse_module(
      ".version 9.0\n.target sm_90\n.address_size 64\n.entry k()\n{\n.reg .pred %p<3>;\n"
      ".reg .v2 .f32 %v; .reg .v2 .b32 %w; .reg .f32 %f<3>; .reg .b32 %r<5>;\n" +
          line + "\nret;\n}\n",
      "departures.ptx", {}, sink);
  Taken taken;
  for (const Diagnostic& d : sink.diagnostics()) {
    EXPECT_EQ(d.severity, Severity::warning) << d.text;
    taken.warnings.push_back(d.text);
  }
  taken.inst = module->functions.at(0).instructions.at(0);
  taken.mods = *taken.inst.mods;
  return taken;
}

TEST(Departures, SaturationOfAnElementIsDropped) {
  for (const char* line :
       {"add.sat.f32 %v.x, %f0, %f1;", "sub.sat.s32 %w.y, %r0, %r1;", "mul.sat.f32 %v.y, %f0, %f1;",
        "fma.rn.sat.f32 %v.x, %f0, %f1, %f2;", "mad.hi.sat.s32 %w.x, %r0, %r1, %r2;",
        "cvt.sat.f32.f32 %v.x, %f0;", "madc.hi.sat.s32 %r0, %r1, %r2, %r3;"}) {
    const Taken taken = take(line);
    EXPECT_FALSE(taken.mods.sat) << line;
    ASSERT_EQ(taken.warnings.size(), 1u) << line;
    EXPECT_NE(taken.warnings[0].find("'.sat' of '"), std::string::npos) << taken.warnings[0];
  }
  for (const char* line : {"add.sat.f32 %f2, %v.x, %v.y;", "cvt.sat.u8.s32 %w.x, %r0;",
                           "mad.hi.sat.s32 %r0, %w.x, %r2, %r3;"}) {
    const Taken taken = take(line);
    EXPECT_TRUE(taken.mods.sat) << line;
    EXPECT_TRUE(taken.warnings.empty()) << line;
  }
}

TEST(Departures, GuardOfTestpIsDropped) {
  const Taken taken = take("@!%p0 testp.subnormal.f32 %p1, %f0;");
  EXPECT_EQ(taken.inst.pred, kNoSymbol);
  EXPECT_FALSE(taken.inst.pred_negated);
  ASSERT_EQ(taken.warnings.size(), 1u);
  EXPECT_EQ(taken.warnings[0], "the guard of 'testp' has no effect, as in ptxas's code");
  EXPECT_TRUE(take("testp.subnormal.f32 %p1, %f0;").warnings.empty());
  EXPECT_NE(take("@%p0 setp.lt.f32 %p1, %f0, %f1;").inst.pred, kNoSymbol);
}

}  // namespace
}  // namespace ptx2spv::ptx
