#include "tests/instructions/handles.hpp"

namespace ptx2spv::tests {

const char* const kKindsModule = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 tex, .param .u64 surf)
{
  .reg .b64 %o, %h; .reg .b32 %r<3>; .reg .pred %p<3>;
  ld.param.u64 %o, [out];
  ld.param.u64 %h, [tex];
  istypep.texref %p0, %h;
  istypep.samplerref %p1, %h;
  istypep.surfref %p2, %h;
  selp.u32 %r0, 1, 0, %p0;
  selp.u32 %r1, 1, 0, %p1;
  selp.u32 %r2, 1, 0, %p2;
  st.global.u32 [%o], %r0;
  st.global.u32 [%o+4], %r1;
  st.global.u32 [%o+8], %r2;
  ld.param.u64 %h, [surf];
  istypep.texref %p0, %h;
  istypep.samplerref %p1, %h;
  istypep.surfref %p2, %h;
  selp.u32 %r0, 1, 0, %p0;
  selp.u32 %r1, 1, 0, %p1;
  selp.u32 %r2, 1, 0, %p2;
  st.global.u32 [%o+12], %r0;
  st.global.u32 [%o+16], %r1;
  st.global.u32 [%o+20], %r2;
  ret;
}
)";

// Words 0 to 31 of the surface by sured.b.or, 32 to 63 by sured.b.and, 64 to 95 by sured.p.add; of
// the second, of 64 bits a texel, by sured.p.min. x counts bytes, and units of the type for .p.
// Words 96 to 127 by sured.b.or of a double, of which ptxas makes an integer.
const char* const kReductionsModule = R"(.version 8.1
.target sm_90
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 words, .param .u64 pairs)
{
  .reg .b64 %i, %w, %d, %m; .reg .b32 %t, %x; .reg .f32 %f; .reg .f64 %g, %h;
  ld.param.u64 %i, [in];
  ld.param.u64 %w, [words];
  ld.param.u64 %d, [pairs];
  mov.u32 %t, %tid.x;
  mul.wide.u32 %m, %t, 8;
  add.u64 %i, %i, %m;
  ld.global.f32 %f, [%i];
  ld.global.f64 %g, [%i];
  shl.b32 %x, %t, 2;
  sured.b.or.1d.b32.trap [%w, {%x}], %f;
  add.u32 %x, %x, 128;
  sured.b.and.1d.b32.trap [%w, {%x}], %f;
  add.u32 %x, %t, 64;
  sured.p.add.1d.b32.trap [%w, {%x}], %f;
  sured.p.min.1d.b64.trap [%d, {%t}], %g;
  cvt.rn.f64.u32 %h, %t;
  mul.rn.f64 %h, %h, 1000.7;
  shl.b32 %x, %t, 2;
  add.u32 %x, %x, 384;
  sured.b.or.1d.b32.trap [%w, {%x}], %h;
  ret;
}
)";

// A register of f32 holds an integer coordinate's bits, one of b32 those of a float.
const char* const kPlacesModule = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 from, .param .u64 to, .param .u64 tex)
{
  .reg .b64 %o, %a, %b, %c, %m; .reg .b32 %t, %x, %y, %bits, %r<4>; .reg .f32 %fx, %fy, %real;
  ld.param.u64 %o, [out];
  ld.param.u64 %a, [from];
  ld.param.u64 %b, [to];
  ld.param.u64 %c, [tex];
  mov.u32 %t, %tid.x;
  mul.wide.u32 %m, %t, 16;
  add.u64 %o, %o, %m;
  and.b32 %y, %t, 7;
  shr.u32 %r0, %t, 3;
  shl.b32 %x, %r0, 2;
  mov.b32 %fx, %x;
  mov.b32 %fy, %y;
  suld.b.2d.b32.trap %r1, [%a, {%x, %fy}];
  sust.b.2d.b32.trap [%b, {%fx, %y}], %r1;
  st.global.u32 [%o], %r1;
  mov.b32 %bits, %y;
  suld.b.2d.b32.clamp %r2, [%a, {%fx, %bits}];
  st.global.u32 [%o+4], %r2;
  mov.b32 %fx, %r0;
  tex.2d.v4.u32.s32 {%r1, _, _, _}, [%c, {%fx, %y}];
  st.global.u32 [%o+8], %r1;
  cvt.rn.f32.u32 %real, %r0;
  mov.b32 %bits, %real;
  cvt.rn.f32.u32 %real, %y;
  tex.2d.v4.u32.f32 {%r1, _, _, _}, [%c, {%bits, %real}];
  st.global.u32 [%o+12], %r1;
  ret;
}
)";

const char* const kSamplesModule = R"(.version 8.0
.target sm_80
.address_size 64
.global .texref four = {width = 8, height = 4, num_samples = 4};
.global .texref none = {width = 8, height = 4};
.visible .entry k(.param .u64 out)
{
  .reg .b64 %o; .reg .b32 %r<3>;
  ld.param.u64 %o, [out];
  txq.num_samples.b32 %r0, [four];
  txq.num_samples.b32 %r1, [none];
  txq.width.b32 %r2, [four];
  st.global.u32 [%o], %r0;
  st.global.u32 [%o+4], %r1;
  st.global.u32 [%o+8], %r2;
  ret;
}
)";

const char* const kHalvesModule = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 tex)
{
  .reg .b64 %o, %c, %m; .reg .b32 %t, %x, %y, %r<4>; .reg .b16 %h<4>;
  ld.param.u64 %o, [out];
  ld.param.u64 %c, [tex];
  mov.u32 %t, %tid.x;
  mul.wide.u32 %m, %t, 24;
  add.u64 %o, %o, %m;
  and.b32 %x, %t, 7;
  shr.u32 %y, %t, 3;
  tex.2dms.v2.f16x2.s32 {%r0, %r1}, [%c, {0, %x, %y, %y}];
  st.global.v2.u32 [%o], {%r0, %r1};
  tex.base.2dms.v2.f16x2.s32 {%r0, %r1}, [%c, {0, %x, %y, %y}];
  st.global.v2.u32 [%o+8], {%r0, %r1};
  tex.base.2dms.v4.f16.s32 {%h0, %h1, %h2, %h3}, [%c, {0, %x, %y, %y}];
  mov.b32 %r0, {%h0, %h1};
  mov.b32 %r1, {%h2, %h3};
  st.global.v2.u32 [%o+16], {%r0, %r1};
  ret;
}
)";

const char* const kTrapModule = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out)
{
  .reg .b64 %o, %m; .reg .b32 %t; .reg .pred %p;
  ld.param.u64 %o, [out];
  mov.u32 %t, %tid.x;
  mul.wide.u32 %m, %t, 4;
  add.u64 %o, %o, %m;
  setp.eq.u32 %p, %t, 5;
  @%p trap;
  st.global.u32 [%o], 1;
  ret;
}
)";

std::vector<std::string> handle_modules() {
  return {kKindsModule,   kReductionsModule, kPlacesModule,
          kSamplesModule, kHalvesModule,     kTrapModule};
}

}  // namespace ptx2spv::tests
