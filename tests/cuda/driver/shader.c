/* A compute shader as Slang compiles it for CUDA: its textures are members of a variable in
 * constant memory, which the host fills, and stores to RWTexture2D<float4> are formatted. Loads
 * take a texel's bytes; of half4 the prelude converts them. */
#include "driver.h"

#include <math.h>

static const char kShader[] =
    ".version 8.3\n.target sm_75\n.address_size 64\n\n"
    ".const .align 8 .b8 SLANG_globalParams[24];\n\n"
    ".visible .entry computeMain()\n{\n"
    "\t.reg .pred \t%p<2>;\n\t.reg .b16 \t%rs<5>;\n\t.reg .f32 \t%f<10>;\n\t.reg .b32 \t%r<16>;\n"
    "\t.reg .b64 \t%rd<4>;\n\n"
    "\tmov.u32 \t%r1, %ctaid.x;\n\tmov.u32 \t%r2, %ntid.x;\n\tmov.u32 \t%r3, %tid.x;\n"
    "\tmad.lo.s32 \t%r4, %r1, %r2, %r3;\n"
    "\tmov.u32 \t%r5, %ctaid.y;\n\tmov.u32 \t%r6, %ntid.y;\n\tmov.u32 \t%r7, %tid.y;\n"
    "\tmad.lo.s32 \t%r8, %r5, %r6, %r7;\n"
    "\tld.const.u64 \t%rd1, [SLANG_globalParams];\n"
    "\tshl.b32 \t%r9, %r4, 3;\n"
    "\t// begin inline asm\n"
    "\tsuld.b.2d.v4.b16.zero {%rs1,%rs2,%rs3,%rs4}, [%rd1, {%r9, %r8}];\n"
    "\t// end inline asm\n"
    "\t// begin inline asm\n\t{  cvt.f32.f16 %f1, %rs1;}\n\n\t// end inline asm\n"
    "\t// begin inline asm\n\t{  cvt.f32.f16 %f2, %rs2;}\n\n\t// end inline asm\n"
    "\t// begin inline asm\n\t{  cvt.f32.f16 %f3, %rs3;}\n\n\t// end inline asm\n"
    "\t// begin inline asm\n\t{  cvt.f32.f16 %f4, %rs4;}\n\n\t// end inline asm\n"
    "\tld.const.f32 \t%f5, [SLANG_globalParams+16];\n"
    "\tmul.ftz.f32 \t%f6, %f1, %f5;\n\tmul.ftz.f32 \t%f7, %f2, %f5;\n"
    "\tmul.ftz.f32 \t%f8, %f3, %f5;\n\tmul.ftz.f32 \t%f9, %f4, %f5;\n"
    "\tld.const.u64 \t%rd2, [SLANG_globalParams+8];\n"
    "\t// begin inline asm\n"
    "\t{sust.p.2d.v4.b32.zero [%rd2, {%r4,%r8}], {%f6,%f7,%f8,%f9};}\n\t\n"
    "\t// end inline asm\n\tret;\n\n}\n";

enum { kWidth = 20, kHeight = 9, kChannels = 4, kTexels = kWidth * kHeight * kChannels };
static float factor = 0.25f;

/* Of small whole numbers and quarters, which half has. */
static uint16_t half_of(float value) {
  int exponent;
  if (value == 0) return 0;
  const float part = frexpf(value, &exponent);
  return (uint16_t)((exponent + 14) << 10 | ((int)(part * 2048) & 0x3ff));
}

static CUsurfObject make(CUarray* array, int format) {
  ArrayDesc form = {
      .width = kWidth, .height = kHeight, .format = format, .channels = kChannels, .flags = 2};
  ResourceDesc resource = {0};
  CUsurfObject surface;
  OK(cuArray3DCreate_v2(array, &form));
  resource.of.array = *array;
  OK(cuSurfObjectCreate(&surface, &resource));
  return surface;
}

static void copy(CUarray array, void* host, size_t texel, int to_array) {
  Copy2D rows = {.width = kWidth * texel, .height = kHeight};
  if (to_array) {
    rows.src_type = 1, rows.src_host = host, rows.src_pitch = kWidth * texel;
    rows.dst_type = 3, rows.dst_array = array;
  } else {
    rows.src_type = 3, rows.src_array = array;
    rows.dst_type = 1, rows.dst_host = host, rows.dst_pitch = kWidth * texel;
  }
  OK(cuMemcpy2D_v2(&rows));
}

int main(void) {
  static uint16_t halves[kTexels], stored[kTexels];
  static float floats[kTexels];
  CUcontext context;
  CUmodule module;
  CUfunction shader;
  CUdeviceptr globals;
  CUarray from, to;
  size_t bytes = 0;
  struct {
    CUsurfObject from, to;
    float factor, unused;
  } parameters = {0, 0, factor, 0};
  OK(cuInit(0));
  OK(cuCtxCreate_v2(&context, 0, 0));
  OK(cuModuleLoadData(&module, kShader));
  OK(cuModuleGetFunction(&shader, module, "computeMain"));
  OK(cuModuleGetGlobal_v2(&globals, &bytes, module, "SLANG_globalParams"));
  TRUE(bytes == sizeof parameters);
  for (int i = 0; i < kTexels; ++i) halves[i] = half_of((float)(i % 2048));
  parameters.from = make(&from, 0x10);
  copy(from, halves, kChannels * 2, 1);

  /* To half4 the store converts, to float4 it does not. */
  for (int format = 0x10; format <= 0x20; format += 0x10) {
    const int is_half = format == 0x10;
    parameters.to = make(&to, format);
    OK(cuMemcpyHtoD_v2(globals, &parameters, sizeof parameters));
    OK(cuLaunchKernel(shader, 3, 2, 1, 8, 8, 1, 0, NULL, NULL, NULL));
    OK(cuCtxSynchronize());
    copy(to, is_half ? (void*)stored : (void*)floats, is_half ? 8 : 16, 0);
    for (int i = 0; i < kTexels; ++i) {
      const float expected = (float)(i % 2048) * factor;
      if (is_half)
        TRUE(stored[i] == half_of(expected));
      else
        TRUE(floats[i] == expected);
    }
  }
  if (!failures) puts("good");
  return failures != 0;
}
