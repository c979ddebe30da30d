// What the parser makes of a module: names, operands, modifiers and initialisers resolved.
#include <gtest/gtest.h>

#include <string>

#include "translator/ptx/parser.hpp"

namespace ptx2spv::ptx {
namespace {

struct Parsed {
  std::unique_ptr<Module> module;
  DiagnosticSink sink;
  const Function& kernel() const { return module->functions.back(); }
  const Instruction& inst(std::size_t i) const { return kernel().instructions.at(i); }
  const Operand& op(std::size_t i, unsigned j) const {
    return kernel().operands.at(inst(i).first_operand + j);
  }
  const Symbol& sym(const Operand& o) const { return module->symbol(o.symbol); }
};

Parsed parse(const std::string& body, const std::string& globals = "",
             const std::string& version = "8.5") {
  Parsed out;
  const std::string text = ".version " + version + "\n.target sm_90\n.address_size 64\n" + globals +
                           "\n.visible .entry k(.param .u64 p, .param .align 8 .b8 s[24])\n{\n" +
                           body + "\n}\n";
  out.module = parse_module(text, "t.ptx", {}, out.sink);
  for (const Diagnostic& d : out.sink.diagnostics()) ADD_FAILURE() << render(d, out.module->source);
  return out;
}

TEST(PtxAst, RegistersOfARangeAreMadeWhenUsed) {
  const Parsed p = parse(
      ".reg .b32 %r<1000000>; .reg .f32 %f<5>;\nadd.u32 %r7, %r999999, %r7; mov.f32 %f4, "
      "0f3F800000;");
  EXPECT_EQ(p.kernel().registers.size(), 3u);
  EXPECT_EQ(p.sym(p.op(0, 0)).name, "%r7");
  EXPECT_EQ(p.op(0, 0).symbol, p.op(0, 2).symbol);
  EXPECT_EQ(p.sym(p.op(0, 1)).index, 1u);
  EXPECT_EQ(p.sym(p.op(1, 0)).type, Type::f32);
}

TEST(PtxAst, AnInnerScopeHidesAndGivesBack) {
  const Parsed p = parse(
      ".reg .u32 a<3>; mov.u32 a1, 1; { .reg .f32 a<3>; mov.f32 a1, 0f00000000; { mov.f32 a1, "
      "0f00000000; } } mov.u32 a1, 2;");
  EXPECT_NE(p.op(0, 0).symbol, p.op(1, 0).symbol);
  EXPECT_EQ(p.op(1, 0).symbol, p.op(2, 0).symbol);
  EXPECT_EQ(p.op(0, 0).symbol, p.op(3, 0).symbol);
}

TEST(PtxAst, ModifiersInAnyOrder) {
  const Parsed p = parse(
      ".reg .f32 f<4>; .reg .pred q<3>; .reg .u64 d; .reg .u32 r;\n"
      "add.f32.ftz.rz f0, f1, f2; setp.f32.or.ltu.ftz q0|q1, f0, f1, !q2; ld.v2.global.ca.f32 {f0, "
      "f1}, [d+8];\n"
      "mul .hi .u32 r, r, 5;");
  const Modifiers& add = *p.inst(0).mods;
  EXPECT_EQ(add.rounding, Mod::rz);
  EXPECT_TRUE(add.ftz);
  EXPECT_EQ(add.type(), Type::f32);
  const Modifiers& setp = *p.inst(1).mods;
  EXPECT_EQ(setp.cmp, Mod::ltu);
  EXPECT_EQ(setp.bool_op, Mod::or_);
  EXPECT_EQ(p.op(1, 0).kind, OperandKind::pair);
  EXPECT_TRUE(p.op(1, 3).negated);
  const Modifiers& ld = *p.inst(2).mods;
  EXPECT_EQ(ld.vec, 2);
  EXPECT_EQ(ld.space, Space::global);
  EXPECT_EQ(ld.cache, Mod::ca);
  EXPECT_EQ(p.op(2, 1).offset, 8);
  EXPECT_EQ(p.inst(3).mods->mode, Mod::hi);
  EXPECT_EQ(p.module->text(p.inst(3).span), "mul .hi .u32 r, r, 5");
}

TEST(PtxAst, SurfaceAndTextureOperands) {
  const Parsed p = parse(
      ".reg .b32 r<5>; .reg .f32 f<5>;\n"
      "suld.b.a2d.v2.b32.clamp {r1, _}, [g, {r1, r2, 3, 4}]; sured.p.min.1d.b64.zero [ps, {r1}], "
      "5;\n"
      "tex.level.2d.v4.f32.f32 {f1, f2, f3, f4}, [t, {f1, f2}], f3; suq.width.b32 r1, [g]; ret;",
      ".global .surfref g, ps; .global .texref t;", "8.5");
  const Modifiers& load = *p.inst(0).mods;
  EXPECT_EQ(load.geom, Mod::a2d);
  EXPECT_EQ(load.clamp, Mod::clamp);
  EXPECT_EQ(load.vec, 2);
  EXPECT_TRUE(load.has(Mod::b));
  const auto place = p.kernel().list(p.op(0, 1));
  ASSERT_EQ(place.size(), 2u);
  EXPECT_EQ(p.sym(place[0]).name, "g");
  const auto coordinates = p.kernel().list(place[1]);
  ASSERT_EQ(coordinates.size(), 4u);
  EXPECT_EQ(coordinates[2].value, 3u);
  EXPECT_EQ(p.kernel().list(p.op(0, 0))[1].kind, OperandKind::sink);
  EXPECT_EQ(p.inst(1).mods->op, Mod::min);
  EXPECT_EQ(p.inst(2).mods->mode, Mod::level);
  EXPECT_EQ(p.inst(3).mods->query, Mod::width);
  EXPECT_EQ(p.op(3, 1).kind, OperandKind::memory);
}

TEST(PtxAst, CallsHaveFourOperands) {
  const Parsed p = parse(
      ".reg .b32 r; .reg .b64 d; .param .b32 a, b;\n"
      "call (r), f, (5); { proto: .callprototype _ (.param .b32 _); }\n"
      "proto: .callprototype _ (.param .b32 _); call.uni d, (a), proto; call nothing;",
      ".func (.reg .b32 x) f(.reg .b32 y) { ret; } .func nothing();");
  EXPECT_EQ(p.inst(0).operand_count, 4);
  EXPECT_EQ(p.op(0, kCallCallee).kind, OperandKind::function);
  EXPECT_EQ(p.kernel().list(p.op(0, kCallReturns)).size(), 1u);
  EXPECT_EQ(p.kernel().list(p.op(0, kCallArguments))[0].value, 5u);
  EXPECT_EQ(p.op(1, kCallCallee).kind, OperandKind::reg);
  EXPECT_EQ(p.sym(p.op(1, kCallPrototype)).kind, SymbolKind::prototype);
  EXPECT_EQ(p.op(2, kCallArguments).kind, OperandKind::none);
}

TEST(PtxAst, LabelsOfNestedScopes) {
  const Parsed p = parse("bra L; { bra L; L: ret; } L: bra L; { L: bra L; }");
  const auto& f = p.kernel();
  ASSERT_EQ(f.instructions.size(), 5u);
  const auto target = [&](std::size_t i) { return p.op(i, 0).symbol; };
  EXPECT_EQ(target(0), target(3));
  EXPECT_NE(target(0), target(1));
  EXPECT_NE(target(3), target(4));
  EXPECT_EQ(f.statements[p.module->symbol(target(1)).index].kind, StatementKind::label);
}

TEST(PtxAst, InitialisersBecomeBytesAndAddresses) {
  const Parsed p = parse("ret;",
                         ".global .u16 a[2][3] = {{1,2,3},{0xFFFF}}; .global .u64 b[2] = {5, "
                         "generic(a)+4}; .global .u8 m = 0xFF00(a);\n"
                         ".global .f32 f = 1.5; .global .surfref s = {width = 8, memory_layout = "
                         "1}; .global .u32 u[] = {1,2,3};\n"
                         ".global .v2 .f32 v[2] = {{1.0, 2.0}};");
  const auto variable = [&](std::string_view name) -> const Variable& {
    for (const Variable& v : p.module->variables) {
      if (p.module->symbol(v.symbol).name == name) return v;
    }
    static const Variable none;
    return none;
  };
  const Variable& a = variable("a");
  EXPECT_EQ(a.size, 12u);
  EXPECT_EQ(a.init.bytes, (std::vector<std::uint8_t>{1, 0, 2, 0, 3, 0, 255, 255}));
  const Variable& b = variable("b");
  ASSERT_EQ(b.init.addresses.size(), 1u);
  EXPECT_EQ(b.init.addresses[0].at, 8u);
  EXPECT_EQ(b.init.addresses[0].addend, 4);
  EXPECT_TRUE(b.init.addresses[0].generic);
  const Variable& m = variable("m");
  ASSERT_EQ(m.init.addresses.size(), 1u);
  EXPECT_EQ(m.init.addresses[0].shift, 8);
  EXPECT_EQ(variable("f").init.bytes, (std::vector<std::uint8_t>{0, 0, 0xc0, 0x3f}));
  EXPECT_EQ(variable("s").init.fields.size(), 2u);
  EXPECT_EQ(variable("u").size, 12u);
  EXPECT_EQ(variable("v").size, 16u);
  EXPECT_EQ(variable("v").align, 8u);
}

TEST(PtxAst, ImmediatesAsBits) {
  Operand one;
  one.kind = OperandKind::imm_f64;
  one.value = 0x3ff8000000000000u;  // 1.5
  EXPECT_EQ(immediate_bits(one, Type::f32), 0x3fc00000u);
  EXPECT_EQ(immediate_bits(one, Type::f16), 0x3e00u);
  EXPECT_EQ(immediate_bits(one, Type::bf16), 0x3fc0u);
  EXPECT_EQ(immediate_bits(one, Type::f64), one.value);
  Operand tiny = one;
  tiny.value = 0x3e70000000000000u;  // 2^-24, the smallest half
  EXPECT_EQ(immediate_bits(tiny, Type::f16), 1u);
  tiny.value = 0x3e60000000000000u;  // half of it: a tie to even
  EXPECT_EQ(immediate_bits(tiny, Type::f16), 0u);
  Operand minus;
  minus.kind = OperandKind::imm_int;
  minus.value = ~std::uint64_t{0};
  EXPECT_EQ(immediate_bits(minus, Type::s16), 0xffffu);
  EXPECT_EQ(immediate_bits(minus, Type::u64), ~std::uint64_t{0});
}

TEST(PtxAst, LocationsFollowTheInstructions) {
  const Parsed p = parse(
      ".reg .u32 r; mov.u32 r, 1; .loc 1 20 3\nmov.u32 r, 2; .loc 1 30 1, function_name L, "
      "inlined_at 1 20 3\nmov.u32 r, 3;",
      ".file 1 \"a.cu\"");
  EXPECT_EQ(p.inst(0).loc, 0u);
  EXPECT_EQ(p.module->locs[p.inst(1).loc].line, 20u);
  EXPECT_TRUE(p.module->locs[p.inst(2).loc].inlined);
  EXPECT_EQ(p.module->locs[p.inst(2).loc].inlined_line, 20u);
  ASSERT_EQ(p.module->files.size(), 1u);
  EXPECT_EQ(p.module->files[0].name, "a.cu");
}

TEST(PtxAst, AnElementOfAnArrayIsMemoryOrAnAddress) {
  const Parsed p = parse(
      ".reg .u32 r; .reg .u64 d; ld.global.u32 r, a[2][1]; st.global.u32 a[1][0], r; mov.u64 d, "
      "a[1][1];",
      ".global .u32 a[3][4];");
  EXPECT_EQ(p.op(0, 1).kind, OperandKind::memory);
  EXPECT_EQ(p.op(0, 1).offset, 36);
  EXPECT_EQ(p.op(1, 0).kind, OperandKind::memory);
  EXPECT_EQ(p.op(1, 0).offset, 16);
  EXPECT_EQ(p.op(2, 1).kind, OperandKind::address);
  EXPECT_EQ(p.op(2, 1).offset, 20);
}

TEST(PtxAst, RefusedFamiliesAreNamedNotSyntaxErrors) {
  const Parsed p = parse(
      ".reg .b32 r<9>; .reg .b64 d<3>;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {r1, r2}, d1, d2, 1, 1, 1, 0, 0;\n"
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [r1], [d1, "
      "{r2, r3}], [r4];\n"
      "barrier.cluster.arrive.release.aligned; ret;");
  ASSERT_EQ(p.kernel().instructions.size(), 4u);
  EXPECT_EQ(text(p.inst(0).op), "wgmma");
  EXPECT_EQ(text(p.inst(1).op), "cp");
}

TEST(PtxAst, OldModulesParse) {
  DiagnosticSink sink;
  const auto module = parse_module(
      ".version 1.5\n.target sm_11\n@@DWARF .byte 1, 2, 3\n.global .surfref surf;\n.entry k(.param "
      ".u32 n)\n{\n.reg .u32 "
      "%r<4>;\n.reg .u8 c;\n"
      "mov.u16 c1, %tid.x;\ncvt.u32.u16 %r1, %tid.x;\nmov.u32 %r2, "
      "2U;\nsuld.b.1d.b8.trap {c}, [surf, {%r1}];\n}\n",
      "old.ptx", {}, sink);
  ASSERT_EQ(sink.errors(), 1u);  // c1 is not declared
  EXPECT_EQ(sink.diagnostics()[0].text, "'c1' is not declared");
  EXPECT_EQ(module->functions[0].instructions.size(), 3u);
}

}  // namespace
}  // namespace ptx2spv::ptx
