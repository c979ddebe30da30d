// Ways by which a pointer or handle comes to an access.
#pragma once

#include <fmt/format.h>

#include <string>

namespace ptx2spv {

/// Leaves in %p what thread 5 has in %x, and the others in %a. %wrong: it is thread 5.
struct Way {
  const char* name;
  const char* text;
  const char* declarations = "";  ///< at module scope
  bool null = false;              ///< for null pointers alone
  bool multiple = false;          ///< for multiples of 16 alone
};

inline constexpr Way kWays[] = {
    {"a select", "selp.b64 %p, %x, %a, %wrong;"},
    {"a select of zero", "selp.b64 %p, 0, %a, %wrong;", "", true},
    {"a predicated move", "mov.b64 %p, %a; @%wrong mov.b64 %p, %x;"},
    {"a predicated zero", "mov.b64 %p, %a; @%wrong mov.b64 %p, 0;", "", true},
    {"a branch", "@%wrong bra LEFT; mov.b64 %p, %a; bra JOIN; LEFT: mov.b64 %p, %x; JOIN:"},
    {"a loop",
     "mov.b64 %p, %x; mov.u32 %i, 0; @%wrong bra DONE; mov.b64 %p, %a;\n"
     "LOOP: add.u64 %p, %p, 16; add.u32 %i, %i, 1; setp.lt.u32 %q, %i, 3; @%q bra LOOP;\n"
     "sub.u64 %p, %p, 48; DONE:"},
    {"a minimum", "selp.b64 %t, %x, -1, %wrong; min.u64 %p, %a, %t;", "", true},
    {"a maximum of zero", "selp.b64 %t, 0, %a, %wrong; max.u64 %p, %t, 0;", "", true},
    {"a mask", "selp.b64 %t, 0, -1, %wrong; and.b64 %p, %a, %t;", "", true},
    {"exclusive or", "xor.b64 %t, %a, %x; selp.b64 %t, %t, 0, %wrong; xor.b64 %p, %a, %t;"},
    {"a distance", "sub.u64 %t, %x, %a; selp.b64 %t, %t, 0, %wrong; add.u64 %p, %a, %t;"},
    {"a scaled distance",
     "sub.s64 %t, %x, %a; shr.s64 %t, %t, 4; selp.b64 %t, %t, 0, %wrong; shl.b64 %t, %t, 4;\n"
     "add.s64 %p, %a, %t;",
     "", false, true},
    {"a distance in a multiplication",
     "sub.s64 %t, %x, %a; shr.s64 %t, %t, 4; selp.b64 %t, %t, 0, %wrong;\n"
     "mad.lo.s64 %p, %t, 16, %a;",
     "", false, true},
    {"halves",
     "mov.b64 {%l, %h}, %a; mov.b64 {%m, %n}, %x; selp.b32 %l, %m, %l, %wrong;\n"
     "selp.b32 %h, %n, %h, %wrong; mov.b64 %p, {%l, %h};"},
    {"a double", "selp.b64 %p, %x, %a, %wrong; mov.b64 %f, %p; mov.b64 %p, %f;"},
    {"a table in memory",
     "selp.b64 %p, %x, %a, %wrong; add.u64 %t, %table, %lane; st.global.u64 [%t], %p;\n"
     "ld.global.u64 %p, [%t];"},
    {"a volatile table",
     "selp.b64 %p, %x, %a, %wrong; add.u64 %t, %table, %lane; st.volatile.global.u64 [%t], %p;\n"
     "ld.volatile.global.u64 %p, [%t];"},
    {"a table of words",
     "selp.b64 %p, %x, %a, %wrong; add.u64 %t, %table, %lane; st.global.u64 [%t], %p;\n"
     "ld.global.v2.u32 {%l, %h}, [%t]; mov.b64 %p, {%l, %h};"},
    {"an exchange",
     "selp.b64 %p, %x, %a, %wrong; add.u64 %t, %table, %lane;\n"
     "atom.global.exch.b64 %u, [%t], %p; atom.global.exch.b64 %p, [%t], %u;"},
    {"shared memory",
     "selp.b64 %p, %x, %a, %wrong; mov.u64 %t, shared_cells; add.u64 %t, %t, %lane;\n"
     "st.shared.u64 [%t], %p; bar.sync 0; ld.shared.u64 %p, [%t];",
     ".shared .align 8 .b8 shared_cells[256];"},
    {"local memory",
     "mov.u64 %t, two; st.local.v2.u64 [%t], {%a, %x}; selp.b64 %u, 8, 0, %wrong;\n"
     "add.u64 %t, %t, %u; ld.local.u64 %p, [%t];"},
    {"a generic address of local memory",
     "mov.u64 %t, two; st.local.v2.u64 [%t], {%a, %x}; cvta.local.u64 %t, %t;\n"
     "selp.b64 %u, 8, 0, %wrong; add.u64 %t, %t, %u; ld.u64 %p, [%t];"},
    {"a function's result", "call (%p), choose, (%a, %x, %lane);",
     ".func (.reg .b64 %r) choose(.reg .b64 %a, .reg .b64 %x, .reg .b64 %n) {\n"
     "  .reg .pred %q; setp.eq.u64 %q, %n, 40; selp.b64 %r, %x, %a, %q; ret;\n}"},
    {"a structure by value",
     "{ .param .align 8 .b8 both[16]; .param .b64 one;\n"
     "selp.b64 %t, %x, %a, %wrong; st.param.b64 [both], %a; st.param.b64 [both+8], %t;\n"
     "call (one), member, (both); ld.param.b64 %p, [one]; }",
     ".func (.param .b64 one) member(.param .align 8 .b8 both[16]) {\n"
     "  .reg .b64 %v; ld.param.b64 %v, [both+8]; st.param.b64 [one], %v; ret;\n}"},
    {"a shuffle",
     "selp.b64 %p, %x, %a, %wrong; mov.b64 {%l, %h}, %p;\n"
     "shfl.sync.idx.b32 %l, %l, %i, 31, -1; shfl.sync.idx.b32 %h, %h, %i, 31, -1;\n"
     "mov.b64 %p, {%l, %h};"},
    {"a predicated load", "mov.b64 %p, %a; @%wrong ld.param.u64 %p, [other];"},
    {"a choice by sign", "selp.b32 %l, -1, 0, %wrong; slct.b64.s32 %p, %a, %x, %l;"},
    {"two pointers that a loop exchanges",
     "mov.b64 %p, %a; mov.b64 %t, %x; mov.u32 %l, 0; selp.b32 %m, 3, 4, %wrong;\n"
     "TURN: mov.b64 %u, %p; mov.b64 %p, %t; mov.b64 %t, %u; add.u32 %l, %l, 1;\n"
     "setp.lt.u32 %q, %l, %m; @%q bra TURN; mov.u64 %t, 0;"},
    {"a branch of many",
     "selp.b32 %l, 1, 0, %wrong; PLACES: .branchtargets OF_A, OF_X; brx.idx %l, PLACES;\n"
     "OF_A: mov.b64 %p, %a; bra AFTER; OF_X: mov.b64 %p, %x; AFTER:"},
    {"halves with a carry",
     "sub.u64 %t, %x, %a; selp.b64 %t, %t, 0, %wrong; mov.b64 {%l, %h}, %a;\n"
     "mov.b64 {%m, %n}, %t; add.cc.u32 %l, %l, %m; addc.u32 %h, %h, %n; mov.b64 %p, {%l, %h};"},
    {"bytes",
     "mov.b64 {%l, %h}, %a; mov.b64 {%m, %n}, %x; selp.b32 %s, 0x7654, 0x3210, %wrong;\n"
     "prmt.b32 %l, %l, %m, %s; prmt.b32 %h, %h, %n, %s; mov.b64 %p, {%l, %h};"},
    {"a choice of bits",
     "selp.b64 %t, -1, 0, %wrong; and.b64 %u, %x, %t; not.b64 %t, %t; and.b64 %t, %a, %t;\n"
     "or.b64 %p, %t, %u;"},
    {"a bit field", "selp.b32 %l, 64, 0, %wrong; bfi.b64 %p, %x, %a, 0, %l;"},
    {"a bit field anywhere",
     "selp.b32 %l, 64, 0, %wrong; and.b32 %m, %i, 0; bfi.b64 %p, %x, %a, %m, %l;"},
    {"an atomic maximum",
     "selp.b64 %p, %x, %a, %wrong; add.u64 %t, %table, %lane; mov.u64 %u, 0;\n"
     "st.global.u64 [%t], %u; atom.global.max.u64 %u, [%t], %p; ld.global.u64 %p, [%t];"},
    {"a structure's member",
     "mov.u64 %t, two; selp.b64 %u, %x, %a, %wrong; st.local.u64 [%t+8], %u;\n"
     "ld.local.v2.u64 {%u, %p}, [%t];"},
    {"a pointer to it", "call (%p), behind, (%a, %x, %lane);",
     ".func (.reg .b64 %r) behind(.reg .b64 %a, .reg .b64 %x, .reg .b64 %n) {\n"
     "  .reg .pred %q; .reg .b64 %t; .local .align 8 .b8 one[8]; setp.eq.u64 %q, %n, 40;\n"
     "  selp.b64 %t, %x, %a, %q; st.local.u64 [one], %t; mov.u64 %t, one;\n"
     "  cvta.local.u64 %t, %t; ld.u64 %r, [%t]; ret;\n}"},
    {"an indirect call",
     "mov.u64 %t, pick; selp.b64 %u, 40, 0, %wrong; SHAPE: .callprototype (.reg .b64 _) _ "
     "(.reg .b64 _, .reg .b64 _, .reg .b64 _);\n"
     "call (%p), %t, (%a, %x, %u), SHAPE;",
     ".func (.reg .b64 %r) pick(.reg .b64 %a, .reg .b64 %x, .reg .b64 %n) {\n"
     "  .reg .pred %q; setp.eq.u64 %q, %n, 40; selp.b64 %r, %x, %a, %q; ret;\n}"},
    {"a generic address and back",
     "selp.b64 %p, %x, %a, %wrong; cvta.global.u64 %p, %p; cvta.to.global.u64 %p, %p;"},
};

inline std::string kernel_of(const Way& way, const char* access) {
  return fmt::format(
      ".version 8.3\n.target sm_80\n.address_size 64\n{}\n"
      ".visible .entry k(.param .u64 right, .param .u64 other, .param .u64 cells)\n{{\n"
      "  .reg .pred %wrong, %q; .reg .f64 %f; .reg .b32 %i, %l, %h, %m, %n, %s;\n"
      "  .reg .b64 %a, %x, %p, %t, %u, %table, %lane; .local .align 16 .b8 two[16];\n"
      "  ld.param.u64 %a, [right]; ld.param.u64 %x, [other]; ld.param.u64 %table, [cells];\n"
      "  mov.u32 %i, %tid.x; setp.eq.u32 %wrong, %i, 5; mul.wide.u32 %lane, %i, 8;\n"
      "  mov.u32 %h, 0; mov.u64 %t, 0;\n"
      "  {}\n"
      "  {}\n"
      "  xor.b32 %l, %l, %h; setp.eq.u32 %q, %l, 0x5bd1e995; @%q st.global.u32 [%table], %l;\n"
      "  ret;\n}}\n",
      way.declarations, way.text, access);
}

}  // namespace ptx2spv
