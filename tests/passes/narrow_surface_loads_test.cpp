// Which bytes a surface load accesses, by what becomes of its elements. Of every kernel ptxas 13.0
// makes loads of these sizes for sm_90, at its default level of optimisation.
#include <gtest/gtest.h>

#include "ptx2spv/translator.hpp"
#include "tests/support/spirv_tools.hpp"

namespace ptx2spv {
namespace {

struct Case {
  const char* body;  ///< LOAD loads {%v0, %v1, %v2, %v3}; %n: unknown
  std::vector<unsigned> bytes;
};

const Case kCases[] = {
    // Nothing is read but by what has no effect itself.
    {"LOAD", {}},
    {"suld.b.2d.b32.trap %v0, [%s, {%x, %y}];", {}},
    {"LOAD add.u32 %t0, %v3, 1; mov.b32 %t1, %t0; setp.eq.u32 %p, %t1, 1;", {}},
    // Sinks.
    {"suld.b.2d.v4.b32.trap {%v0, _, _, _}, [%s, {%x, %y}]; st.global.b32 [%o], %v0;", {4}},
    {"suld.b.2d.v2.b32.zero {_, %v0}, [%s, {%x, %y}]; st.global.b32 [%o], %v0;", {8}},
    {"suld.b.2d.v2.b64.clamp {%d0, _}, [%s, {%x, %y}]; st.global.b64 [%o], %d0;", {8}},
    // The last element in use, also of those that share a register.
    {"LOAD st.global.b32 [%o], %v1;", {8}},
    {"LOAD st.global.b32 [%o], %v2;", {16}},
    {"suld.b.2d.v2.b64.clamp {%d0, %d1}, [%s, {%x, %y}]; cvt.u32.u64 %t0, %d0; st.global.b32 [%o], "
     "%t0;",
     {8}},
    {"suld.b.2d.v2.b64.clamp {%d0, %d1}, [%s, {%x, %y}]; st.global.b64 [%o], %d1;", {16}},
    {"suld.b.2d.b64.clamp %d0, [%s, {%x, %y}]; cvt.u32.u64 %t0, %d0; st.global.b32 [%o], %t0;",
     {8}},
    {"suld.b.2d.v4.b16.clamp {%h0, %h1, %h2, %h3}, [%s, {%x, %y}]; st.global.b16 [%o], %h1; "
     "add.u16 %h0, %h3, 1;",
     {4}},
    {"suld.b.2d.v4.b16.clamp {%h0, %h1, %h2, %h3}, [%s, {%x, %y}]; st.global.b16 [%o], %h2;", {8}},
    {"suld.b.2d.v2.b16.clamp {%h0, %h1}, [%s, {%x, %y}]; st.global.b16 [%o], %h0;", {4}},
    // Registers that are written again, and other blocks.
    {"LOAD mov.u32 %v3, 7; st.global.b32 [%o], %v0; st.global.b32 [%o+4], %v3;", {4}},
    {"setp.eq.u32 %p, %n, 0; LOAD @%p mov.u32 %v3, 7; st.global.b32 [%o+4], %v3;", {16}},
    {"setp.eq.u32 %p, %n, 0; mov.u32 %v3, 1; @%p LOAD st.global.b32 [%o], %v3;", {16}},
    {"LOAD setp.eq.u32 %p, %n, 0; @%p bra E; st.global.b32 [%o], %v3; E:", {16}},
    {"LOAD st.global.b32 [%o], %v0; setp.eq.u32 %p, %n, 0; @%p bra E; add.u32 %t0, %v3, 1; E:",
     {4}},
    {"LOAD st.global.b32 [%o], %v0; ret; st.global.b32 [%o], %v3;", {4}},
    {"suld.b.2d.v2.b32.clamp {%v0, %v0}, [%s, {%x, %y}]; st.global.b32 [%o], %v0;", {8}},
    // Loops: a sum that nobody reads, and one that decides.
    {"mov.u32 %t0, 0; M: LOAD add.u32 %t0, %t0, %v3; st.global.b32 [%o], %v0; sub.u32 %n, %n, 1; "
     "setp.ne.u32 %p, %n, 0; @%p bra M;",
     {4}},
    {"M: LOAD st.global.b32 [%o], %v0; setp.ne.u32 %p, %v1, 0; @%p bra M;", {8}},
    // Coordinates of other loads.
    {"LOAD suld.b.2d.b32.trap %t0, [%s, {%v3, %y}]; st.global.b32 [%o], %t0;", {16, 4}},
    {"LOAD st.global.b32 [%o], %v0; suld.b.2d.b32.trap %t0, [%s, {%v3, %y}];", {4}},
    // Memory: plain loads have no effect, others have.
    {"LOAD st.global.b32 [%o], %v0; cvt.u64.u32 %d0, %v3; ld.global.u32 %t0, [%d0];", {4}},
    {"LOAD st.global.b32 [%o], %v0; cvt.u64.u32 %d0, %v3; ld.volatile.global.u32 %t0, [%d0];",
     {16}},
    {"LOAD st.global.b32 [%o], %v0; atom.global.add.u32 %t0, [%o], %v3;", {16}},
    {"LOAD st.global.b32 [%o], %v0; shfl.sync.idx.b32 %t0, %v3, 0, 31, -1;", {4}},
    // Constants.
    {"LOAD mov.u32 %t1, 0; and.b32 %t0, %v3, %t1; st.global.v2.b32 [%o], {%v0, %t0};", {4}},
    {"LOAD st.global.b32 [%o], %v0; mov.u32 %t0, 0; setp.ne.u32 %p, %t0, 0; @%p st.global.b32 "
     "[%o], "
     "%v3;",
     {4}},
    // Halves of 64 bits.
    {"LOAD mov.b64 %d0, {%v0, %v3}; add.u64 %d0, %d0, 5; cvt.u32.u64 %t0, %d0; st.global.b32 [%o], "
     "%t0;",
     {4}},
    {"LOAD mov.b64 %d0, {%v0, %v3}; add.u64 %d0, %d0, 5; mov.b64 {_, %t0}, %d0; st.global.b32 "
     "[%o], "
     "%t0;",
     {16}},
    {"LOAD mov.b64 %d0, {%v0, %v3}; and.b64 %d0, %d0, 0xffffffff; st.global.b64 [%o], %d0;", {4}},
    {"LOAD mov.b64 %d0, {%v0, %v3}; shl.b64 %d0, %d0, 40; st.global.b64 [%o], %d0;", {4}},
    {"LOAD mov.b64 %d0, {%v0, %v3}; shr.u64 %d0, %d0, 32; st.global.b64 [%o], %d0;", {16}},
    {"LOAD mov.b64 %d0, {%v0, %v3}; mov.b64 %d1, {%x, %y}; setp.eq.u32 %p, %n, 0; selp.b64 %d0, "
     "%d0, "
     "%d1, %p; xor.b64 %d0, %d0, %d1; cvt.u32.u64 %t0, %d0; st.global.b32 [%o], %t0;",
     {4}},
    // Functions.
    {"LOAD call first, (%v0, %v1, %v2, %v3, %o);", {4}},
};

std::string kernel_of(std::string body) {
  if (const std::size_t at = body.find("LOAD"); at != body.npos)
    body.replace(at, 4, "suld.b.2d.v4.b32.clamp {%v0, %v1, %v2, %v3}, [%s, {%x, %y}];");
  return ".version 8.1\n.target sm_90\n.address_size 64\n"
         ".func first(.reg .b32 %a, .reg .b32 %b, .reg .b32 %c, .reg .b32 %d, .reg .b64 %o) {\n"
         "  st.global.b32 [%o], %a;\n  ret;\n}\n"
         ".visible .entry k(.param .u64 s, .param .u64 i, .param .u64 o) {\n"
         "  .reg .pred %p; .reg .b16 %h<4>; .reg .b32 %x, %y, %n, %t<2>, %v<4>;\n"
         "  .reg .b64 %s, %i, %o, %d<2>;\n"
         "  ld.param.u64 %s, [s]; ld.param.u64 %i, [i]; ld.param.u64 %o, [o];\n"
         "  ld.global.u32 %x, [%i]; ld.global.u32 %y, [%i+4]; ld.global.u32 %n, [%i+8];\n  " +
         body + "\n  ret;\n}\n";
}

TEST(NarrowSurfaceLoads, AccessWhatPtxasAccesses) {
  for (const Case& one : kCases) {
    SCOPED_TRACE(one.body);
    std::vector<Message> messages;
    const auto module = PtxModule::parse({{kernel_of(one.body), "k.ptx"}}, messages);
    ASSERT_TRUE(module) << messages[0].text;
    std::vector<unsigned> bytes;
    TranslateOptions options;
    options.dump = [&](std::string_view pass, std::string_view ir) {
      if (pass != "order-warp-accesses") return;
      constexpr std::string_view kLoad = "= surf_load ";
      for (std::size_t at = 0; (at = ir.find(kLoad, at)) != ir.npos; at += kLoad.size()) {
        const std::string_view type = ir.substr(at + kLoad.size());
        bytes.push_back(type.starts_with("v4") ? 16 : type.starts_with("i64") ? 8 : 4);
      }
    };
    const auto translation = module->translate(options, messages);
    ASSERT_TRUE(translation);
    EXPECT_EQ(bytes, one.bytes);
    EXPECT_EQ(test::validate_spirv(translation->spirv), "");
  }
}

}  // namespace
}  // namespace ptx2spv
