// The IR's text form: what the printer writes the reader takes, and a second print is the same.
#include <gtest/gtest.h>

#include "tests/support/parse.hpp"

namespace {

using namespace ptx2spv::ir;

constexpr std::string_view kText = R"(func @sample local=16 shared=64 {
  var $0 i32 counter
  var $1 i64 pointer per_thread
b0:
  %1 = constant i32 0x10
  %2 = builtin i32 local_id_x
  %3 = load i64 mem=param,8,readonly %1
  %4 = atomic i32 mem=slot,4,volatile,slot:3,umax %1 %2
  %5 = fadd i32 fp=f32,rz,ftz,sat %4 %2
  %6 = fcvt i64 fp=f32,to:f64,rn %5
  %7 = library i64 @u64_div %3 %6
  %8 = ult i1 %1 %2
  %9 = compose v2 %1 %2
  %10 = extract i32 imm=1 %9
  merge b2
  cond_br %8 b1 b2
b1:
  %11 = get_var i32 $0
  switch %11 b2 b2
b2:
  exit
}
)";

TEST(IrText, printed_text_reads_back) {
  Function f;
  Module m;
  ASSERT_EQ(parse(kText, f, m), "");
  EXPECT_EQ(print(f, m), kText);
}

TEST(IrText, mistakes_name_their_line) {
  Function f;
  Module m;
  EXPECT_EQ(parse("b0:\n  %1 = frobnicate i32\n", f, m), "line 2: unknown operation frobnicate");
  EXPECT_NE(parse("  exit\n", f, m), "");
}

}  // namespace
