// The straight-line statements that random kernels are made of. `$` and a letter stand for an
// operand that the generator draws; a capital is written, a small one read:
//
//   R r i   32-bit register; i may be an immediate     U    a register that is uniform in the block
//   H h k   16-bit                                     D d j  64-bit
//   F f e   .f32                                       G g y  .f64
//   P p     predicate                                  s o w  shift 0 to 70, position 0 to 31,
//   width 0 to 32 %t0 to %t3, %a0 to %a3, %q0, %q1, %b0, %b1   scratch of 32, 64, 1 and 16 bits
//
// {a|b|c} is one of its alternatives; \n separates instructions.
#pragma once

#include <cstdint>

namespace ptx2spv::test {

enum class Group : std::uint8_t { word, bits, narrow, wide, single, twofold, half, video };
inline constexpr unsigned kGroups = 8;

struct Template {
  Group group;
  const char* text;
};

inline constexpr Template kTemplates[] = {
    // 32-bit integers
    {Group::word, "{add|sub}.{u32|s32} $R, $r, $i;"},
    {Group::word, "{add|sub}.sat.s32 $R, $r, $i;"},
    {Group::word, "mul.{lo|hi}.{u32|s32} $R, $r, $i;"},
    {Group::word, "mad.{lo|hi}.{u32|s32} $R, $r, $i, $r;"},
    {Group::word, "mad.hi.sat.s32 $R, $r, $i, $r;"},
    {Group::word, "mul24.{lo|hi}.{u32|s32} $R, $r, $i;"},
    {Group::word, "mad24.lo.{u32|s32} $R, $r, $r, $i;"},
    {Group::word, "sad.{u32|s32} $R, $r, $i, $r;"},
    {Group::word, "or.b32 %t0, $r, 1;\n{div|rem}.u32 $R, $r, %t0;"},
    {Group::word, "and.b32 %t0, $r, 0xffff;\nor.b32 %t0, %t0, 1;\n{div|rem}.s32 $R, $r, %t0;"},
    {Group::word, "{abs|neg}.s32 $R, $r;"},
    {Group::word, "{min|max}.{u32|s32} $R, $r, $i;"},
    {Group::word, "{and|or|xor}.b32 $R, $r, $i;"},
    {Group::word, "{not|cnot}.b32 $R, $r;"},
    {Group::word, "shl.b32 $R, $r, $s;"},
    {Group::word, "shr.{u32|s32|b32} $R, $r, $s;"},
    {Group::word, "add.cc.u32 %t0, $r, $i;\naddc.cc.u32 $R, $r, $i;\naddc.u32 $R, %t0, $r;"},
    {Group::word, "sub.cc.u32 %t0, $r, $i;\nsubc.cc.u32 $R, $r, $i;\nsubc.u32 $R, %t0, 0;"},
    {Group::word, "mad.lo.cc.u32 %t0, $r, $r, $r;\nmadc.hi.u32 $R, $r, $r, %t0;"},
    {Group::word, "mov.b32 $R, $i;"},
    {Group::word, "selp.{b32|u32} $R, $r, $i, $p;"},
    {Group::word, "slct.{b32|u32}.s32 $R, $r, $r, $r;"},
    {Group::word, "setp.{eq|ne|lt|le|gt|ge}.s32 $P, $r, $i;"},
    {Group::word, "setp.{eq|ne|lo|ls|hi|hs}.u32 $P, $r, $i;"},
    {Group::word, "setp.{lt|ge|ne}.{and|or|xor}.u32 $P, $r, $i, {|!}$p;"},
    {Group::word, "setp.{lt|ge}.and.s32 $P|%q0, $r, $i, $p;\nselp.b32 $R, $r, $r, %q0;"},
    {Group::word, "set.{lt|gt|eq}.u32.{u32|s32} $R, $r, $i;"},
    {Group::word, "{and|or|xor}.pred $P, $p, $p;"},
    {Group::word, "not.pred $P, $p;"},
    {Group::word, "mov.pred $P, $p;"},
    // Bit fields and their like
    {Group::bits, "popc.b32 $R, $r;"},
    {Group::bits, "clz.b32 $R, $r;"},
    {Group::bits, "brev.b32 $R, $r;"},
    {Group::bits, "bfind{|.shiftamt}.{u32|s32} $R, $r;"},
    // Constant fields within the word: ptxas has an answer of its own for others.
    {Group::bits, "bfe.{u32|s32} $R, $r, {0, 5|3, 29|8, 8|16, 16|31, 1|0, 32|12, 0};"},
    {Group::bits, "bfi.b32 $R, $r, $r, {0, 5|3, 29|8, 8|16, 16|31, 1|0, 32|12, 0};"},
    {Group::bits, "bfe.{u32|s32} $R, $r, $r, $r;"},
    {Group::bits, "bfi.b32 $R, $r, $r, $r, $r;"},
    {Group::bits, "prmt.b32 $R, $r, $r, {0x5410|0x7632|0x0123|0x8f6a|0x4444};"},
    {Group::bits, "prmt.b32{|.f4e|.b4e|.rc8|.ecl|.ecr|.rc16} $R, $r, $r, $r;"},
    {Group::bits, "lop3.b32 $R, $r, $r, $i, {0x96|0xe8|0xca|0x1b|0x80|0x2d};"},
    {Group::bits, "shf.{l|r}.{wrap|clamp}.b32 $R, $r, $r, $s;"},
    {Group::bits, "dp4a.{u32|s32}.{u32|s32} $R, $r, $r, $r;"},
    {Group::bits, "dp2a.{lo|hi}.{u32|s32}.{u32|s32} $R, $r, $r, $r;"},
    {Group::bits, "szext.{wrap|clamp}.{u32|s32} $R, $r, $r;"},
    {Group::bits, "bmsk.{wrap|clamp}.b32 $R, $r, $r;"},
    {Group::bits, "cvt.{u8|s8|u16|s16}.{u32|s32} $R, $r;"},
    {Group::bits, "cvt.sat.{u8|s8|u16|s16}.{u32|s32} $R, $r;"},
    {Group::bits, "cvt.pack.sat.{u16|s16}.s32 $R, $r, $r;"},
    // 16 bits
    {Group::narrow, "{add|sub|mul.lo}.{u16|s16} $H, $h, $k;"},
    {Group::narrow, "mul.hi.{u16|s16} $H, $h, $h;"},
    {Group::narrow, "mad.lo.{u16|s16} $H, $h, $h, $h;"},
    {Group::narrow, "mul.wide.{u16|s16} $R, $h, $h;"},
    {Group::narrow, "mad.wide.{u16|s16} $R, $h, $h, $r;"},
    {Group::narrow, "or.b16 %b0, $h, 1;\n{div|rem}.u16 $H, $h, %b0;"},
    {Group::narrow, "{abs|neg}.s16 $H, $h;"},
    {Group::narrow, "{min|max}.{u16|s16} $H, $h, $k;"},
    {Group::narrow, "{and|or|xor}.b16 $H, $h, $k;"},
    {Group::narrow, "not.b16 $H, $h;"},
    {Group::narrow, "shl.b16 $H, $h, $s;"},
    {Group::narrow, "shr.{u16|s16} $H, $h, $s;"},
    {Group::narrow, "setp.{lt|ge|eq}.{u16|s16} $P, $h, $k;"},
    {Group::narrow, "selp.b16 $H, $h, $h, $p;"},
    {Group::narrow, "cvt.{u16|s16}.{u32|s32} $H, $r;"},
    {Group::narrow, "cvt.sat.{u16|s16|u8|s8}.{u32|s32} $H, $r;"},
    {Group::narrow, "cvt.{u32|s32}.{u16|s16|u8|s8} $R, $h;"},
    {Group::narrow, "mov.b32 $R, {$h, $h};"},
    {Group::narrow, "mov.b32 {%b0, %b1}, $r;\nxor.b16 $H, %b0, %b1;"},
    {Group::narrow, "mov.b64 $D, {$h, $h, $h, $h};"},
    // 64 bits
    {Group::wide, "{add|sub}.{u64|s64} $D, $d, $j;"},
    {Group::wide, "mul.lo.s64 $D, $d, $j;"},
    {Group::wide, "mul.hi.{u64|s64} $D, $d, $d;"},
    {Group::wide, "mad.lo.s64 $D, $d, $d, $j;"},
    {Group::wide, "mul.wide.{u32|s32} $D, $r, $i;"},
    {Group::wide, "mad.wide.{u32|s32} $D, $r, $i, $d;"},
    {Group::wide, "or.b64 %a0, $d, 1;\n{div|rem}.u64 $D, $d, %a0;"},
    {Group::wide, "and.b64 %a0, $d, 0xffff;\nor.b64 %a0, %a0, 1;\n{div|rem}.s64 $D, $d, %a0;"},
    {Group::wide, "{abs|neg}.s64 $D, $d;"},
    {Group::wide, "{min|max}.{u64|s64} $D, $d, $j;"},
    {Group::wide, "{and|or|xor}.b64 $D, $d, $j;"},
    {Group::wide, "{not|cnot}.b64 $D, $d;"},
    {Group::wide, "shl.b64 $D, $d, $s;"},
    {Group::wide, "shr.{u64|s64} $D, $d, $s;"},
    {Group::wide, "add.cc.u64 %a0, $d, $d;\naddc.u64 $D, $d, %a0;"},
    {Group::wide, "setp.{lt|le|gt|ge|eq|ne}.{s64|u64} $P, $d, $j;"},
    {Group::wide, "selp.b64 $D, $d, $j, $p;"},
    {Group::wide, "{popc|clz}.b64 $R, $d;"},
    {Group::wide, "brev.b64 $D, $d;"},
    {Group::wide, "bfind.{u64|s64} $R, $d;"},
    {Group::wide, "bfe.{u64|s64} $D, $d, $o, $w;"},
    {Group::wide, "bfi.b64 $D, $d, $d, $o, $w;"},
    {Group::wide, "mov.b64 $D, {$r, $r};"},
    {Group::wide, "mov.b64 {%t0, $R}, $d;\nxor.b32 $R, $r, %t0;"},
    {Group::wide, "cvt.{u64|s64}.{u32|s32} $D, $r;"},
    {Group::wide, "cvt.u32.u64 $R, $d;"},
    {Group::wide, "cvt.sat.{u32|s32}.{u64|s64} $R, $d;"},
    {Group::wide, "cvt.s64.s8 $D, $r;"},
    // Single precision. Every rounding is written: no assembler fuses these.
    {Group::single, "{add|sub|mul}.rn{|.ftz|.sat|.ftz.sat}.f32 $F, $f, $e;"},
    {Group::single, "{add|mul}.{rz|rm|rp}.f32 $F, $f, $f;"},
    {Group::single, "fma.{rn|rn.ftz|rn.sat|rz}.f32 $F, $f, $f, $f;"},
    {Group::single, "{min|max}{|.ftz|.NaN}.f32 $F, $f, $e;"},
    {Group::single, "{abs|neg}{|.ftz}.f32 $F, $f;"},
    {Group::single, "copysign.f32 $F, $f, $f;"},
    {Group::single, "div.rn.f32 $F, $f, $f;"},
    {Group::single, "{sqrt|rcp}.rn.f32 $F, $f;"},
    {Group::single, "setp.{eq|neu|lt|geu|num|nan|gt|le}{|.ftz}.f32 $P, $f, $e;"},
    // The line's end keeps guards away: ptxas loses those of set and testp.
    {Group::single, "set.{lt|gt}.f32.f32 $F, $f, $e;\n"},
    {Group::single, "selp.f32 $F, $f, $e, $p;"},
    {Group::single, "slct.f32.f32 $F, $f, $f, $f;"},
    {Group::single, "testp.{finite|infinite|number|notanumber|subnormal}.f32 $P, $f;\n"},
    {Group::single, "cvt.{rni|rzi|rmi|rpi}.{u32|s32}.f32 $R, $f;"},
    {Group::single, "cvt.{rni|rzi|rmi|rpi}.f32.f32 $F, $f;"},
    {Group::single, "cvt.sat.f32.f32 $F, $f;"},
    {Group::single, "cvt.{rn|rz}.f32.{u32|s32} $F, $r;"},
    {Group::single, "mov.b32 $R, $f;"},
    {Group::single, "mov.b32 $F, $r;"},
    // Double precision
    {Group::twofold, "{add|sub|mul}.rn.f64 $G, $g, $y;"},
    {Group::twofold, "fma.rn.f64 $G, $g, $g, $g;"},
    {Group::twofold, "{min|max}.f64 $G, $g, $y;"},
    {Group::twofold, "{abs|neg}.f64 $G, $g;"},
    {Group::twofold, "copysign.f64 $G, $g, $g;"},
    {Group::twofold, "setp.{lt|geu|eq|nan|gt}.f64 $P, $g, $y;"},
    {Group::twofold, "selp.f64 $G, $g, $y, $p;"},
    {Group::twofold, "cvt.f64.f32 $G, $f;"},
    {Group::twofold, "cvt.{rn|rz}.f32.f64 $F, $g;"},
    {Group::twofold, "cvt.rn.f64.{u32|s32} $G, $r;"},
    {Group::twofold, "cvt.rzi.{s32|u32}.f64 $R, $g;"},
    {Group::twofold, "mov.b64 $D, $g;"},
    {Group::twofold, "mov.b64 $G, $d;"},
    // Half precision
    {Group::half, "cvt.{rn|rz}.f16.f32 $H, $f;"},
    {Group::half, "cvt.f32.f16 $F, $h;"},
    {Group::half, "{add|mul|sub}.rn.f16 $H, $h, $h;"},
    {Group::half, "{add|mul}.rn.f16x2 $R, $r, $r;"},
    {Group::half, "setp.{lt|neu}.f16 $P, $h, $h;"},
    // Video
    {Group::video, "vadd.{u32|s32}.u32.s32{|.sat} $R, $r.h1, $r.b2;"},
    {Group::video, "vmad.s32.s32.s32 $R, $r.h0, $r.h1, $r;"},
    {Group::video, "v{min|max}.s32.s32.u32 $R, $r.b0, $r.h1;"},
    {Group::video, "vabsdiff.u32.u32.u32.add $R, $r, $r, $r;"},
    {Group::video, "v{add|sub|avrg}4.s32.u32.s32{|.sat} $R, $r, $r, $r;"},
    {Group::video, "vset.s32.u32.lt $R, $r, $r;"},
};

}  // namespace ptx2spv::test
