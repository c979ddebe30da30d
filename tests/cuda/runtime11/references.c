/* Texture and surface references of CUDA 11, as its compiler registers them: the module's PTX in a
 * fat binary made here, host variables for each reference, and launches by a host function's
 * address. What kernels read is compared with what was put there. */
#include "registration.h"

void __cudaRegisterTexture(void** handle, const struct textureReference* host, const void** device,
                           const char* name, int dimensions, int normalized, int external);
void __cudaRegisterSurface(void** handle, const struct surfaceReference* host, const void** device,
                           const char* name, int dimensions, int external);

static const char kPtx[] =
    ".version 6.3\n.target sm_75\n.address_size 64\n"
    ".visible .global .texref image;\n.visible .global .texref bytes;\n"
    ".visible .global .texref _ZN1a5wordsE;\n.visible .global .texref levels;\n"
    ".visible .global .surfref target;\n"
    /* out[y * 8 + x] = image(x + dx, y + 0.5) */
    ".visible .entry read_image(.param .u64 out, .param .f32 dx, .param .f32 scale) {\n"
    "  .reg .u64 %rd<8>; .reg .u32 %r<8>; .reg .f32 %f<12>;\n"
    "  ld.param.u64 %rd1, [out]; ld.param.f32 %f1, [dx]; ld.param.f32 %f10, [scale];\n"
    "  mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;\n"
    "  cvt.rn.f32.u32 %f2, %r1; add.f32 %f2, %f2, %f1; mul.f32 %f2, %f2, %f10;\n"
    "  cvt.rn.f32.u32 %f3, %r2; add.f32 %f3, %f3, 0f3F000000; mul.f32 %f3, %f3, %f10;\n"
    "  tex.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [image, {%f2, %f3}];\n"
    "  mad.lo.u32 %r3, %r2, 8, %r1; mul.wide.u32 %rd2, %r3, 4; add.u64 %rd3, %rd1, %rd2;\n"
    "  st.global.f32 [%rd3], %f4; ret;\n}\n"
    /* bytes as floats up to 1, the reference by its address */
    ".visible .entry read_bytes(.param .u64 out) {\n"
    "  .reg .u64 %rd<8>; .reg .u32 %r<8>; .reg .f32 %f<12>;\n"
    "  ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;\n"
    "  cvt.rn.f32.u32 %f2, %r1; add.f32 %f2, %f2, 0f3F000000;\n"
    "  cvt.rn.f32.u32 %f3, %r2; add.f32 %f3, %f3, 0f3F000000; mov.u64 %rd4, bytes;\n"
    "  tex.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd4, {%f2, %f3}];\n"
    "  mad.lo.u32 %r3, %r2, 8, %r1; mul.wide.u32 %rd2, %r3, 4; add.u64 %rd3, %rd1, %rd2;\n"
    "  st.global.f32 [%rd3], %f4; ret;\n}\n"
    /* out[x] = words[x + first].y */
    ".visible .entry read_words(.param .u64 out, .param .u32 first) {\n"
    "  .reg .u64 %rd<8>; .reg .u32 %r<12>;\n"
    "  ld.param.u64 %rd1, [out]; ld.param.u32 %r9, [first]; mov.u32 %r1, %tid.x;\n"
    "  add.u32 %r2, %r1, %r9;\n"
    "  tex.1d.v4.u32.s32 {%r4, %r5, %r6, %r7}, [_ZN1a5wordsE, {%r2}];\n"
    "  mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r5; ret;\n}\n"
    /* out[x] = levels at level x */
    ".visible .entry read_levels(.param .u64 out) {\n"
    "  .reg .u64 %rd<8>; .reg .u32 %r<8>; .reg .f32 %f<12>;\n"
    "  ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; cvt.rn.f32.u32 %f1, %r1;\n"
    "  mov.f32 %f2, 0f3F000000;\n"
    "  tex.level.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [levels, {%f2, %f2}], %f1;\n"
    "  mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2; st.global.f32 [%rd3], %f4; ret;\n}\n"
    /* target(x, y) = 100 y + x */
    ".visible .entry write_target() {\n"
    "  .reg .u32 %r<8>;\n"
    "  mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r3, %r2, 100, %r1;\n"
    "  shl.b32 %r4, %r1, 2; sust.b.2d.b32.trap [target, {%r4, %r2}], {%r3}; ret;\n}\n";

static struct textureReference image, bytes, words, levels, unknown;
static struct surfaceReference target;
static void read_image(void) {}
static void read_bytes(void) {}
static void read_words(void) {}
static void read_levels(void) {}
static void write_target(void) {}

static void start(void) {
  begin(kPtx);
  reg(read_image, "read_image");
  reg(read_bytes, "read_bytes");
  reg(read_words, "read_words");
  reg(read_levels, "read_levels");
  reg(write_target, "write_target");
  /* clang gives the name twice, nvcc what it is in the PTX and in the source. */
  __cudaRegisterTexture(handle, &image, (const void**)"image", "image", 2, 0, 0);
  __cudaRegisterTexture(handle, &bytes, (const void**)"bytes", "::bytes", 2, 1, 0);
  __cudaRegisterTexture(handle, &words, (const void**)"_ZN1a5wordsE", "::a::words", 1, 0, 0);
  __cudaRegisterTexture(handle, &levels, NULL, "levels", 2, 0, 0);
  __cudaRegisterSurface(handle, &target, (const void**)"target", "::target", 2, 0);
  __cudaRegisterFatBinaryEnd(handle);
}

static void launch(void (*host)(void), unsigned blocks, unsigned threads, void** args) {
  const dim3 grid = {blocks, 1, 1}, block = {threads, 1, 1};
  OK(cudaLaunchKernel((const void*)(uintptr_t)host, grid, block, args, 0, NULL));
}

static const cudaChannelFormatDesc kFloats = {32, 0, 0, 0, kReal}, kBytes = {8, 0, 0, 0, kUnsigned},
                                   kPairs = {32, 32, 0, 0, kUnsigned};
enum { width = 8, height = 4 };

/* A read at (x + dx) * scale in rows of out. */
static void read_floats(void* out, float* values, float dx, float scale) {
  void* args[] = {&out, &dx, &scale};
  launch(read_image, height, width, args);
  OK(cudaMemcpy(values, out, sizeof(float) * width * height, kToHost));
}

static void arrays(void* out) {
  float texels[height][width], values[height][width];
  cudaArray_t array, other;
  const struct textureReference* found = NULL;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) texels[y][x] = (float)(y * 10 + x * x);
  OK(cudaMallocArray(&array, &kFloats, width, height, 0));
  OK(cudaMemcpy2DToArray(array, 0, 0, texels, width * 4, width * 4, height, kToDevice));
  image.addressMode[0] = image.addressMode[1] = kClamp;
  OK(cudaBindTextureToArray(&image, array, &kFloats));
  read_floats(out, values[0], 0.5f, 1);
  TRUE(!memcmp(values, texels, sizeof values));
  read_floats(out, values[0], 1.5f, 1);
  for (int x = 0; x < width; ++x) TRUE(values[2][x] == texels[2][x < width - 1 ? x + 1 : x]);
  /* What the host's variable says counts from the next launch on. */
  image.filterMode = 1;
  read_floats(out, values[0], 1.0f, 1);
  for (int x = 0; x < width - 1; ++x) TRUE(values[1][x] == (texels[1][x] + texels[1][x + 1]) / 2);
  image.filterMode = 0;
  image.normalized = 1;
  image.addressMode[0] = kWrap;
  read_floats(out, values[0], 2.5f, 1.0f / width);
  for (int x = 0; x < width; ++x) TRUE(values[0][x] == texels[0][(x + 2) % width]);
  OK(cudaMallocArray(&other, &kFloats, 2, 2, 0));
  const float four[4] = {1, 2, 3, 4};
  OK(cudaMemcpy2DToArray(other, 0, 0, four, 8, 8, 2, kToDevice));
  OK(cudaBindTextureToArray(&image, other, &kFloats));
  /* Set behind the binding, as programs do. */
  image.normalized = 0;
  image.addressMode[0] = kBorder;
  image.addressMode[1] = kBorder;
  read_floats(out, values[0], 0.5f, 1);
  TRUE(values[0][0] == 1 && values[1][1] == 4 && values[0][2] == 0 && values[3][0] == 0);
  OK(cudaGetTextureReference(&found, &image));
  TRUE(found == &image);
  size_t offset = 1;
  OK(cudaGetTextureAlignmentOffset(&offset, &image));
  TRUE(offset == 0);
  IS(cudaBindTextureToArray(&image, array, &kBytes), kInvalidValue);
  IS(cudaBindTextureToArray(&unknown, array, &kFloats), kInvalidTexture);
  IS(cudaGetTextureReference(&found, &target), kInvalidTexture);
  OK(cudaUnbindTexture(&image));
  IS(cudaGetTextureAlignmentOffset(&offset, &image), kInvalidTextureBinding);
  OK(cudaFreeArray(array));
  OK(cudaFreeArray(other));
}

static void memory(void* out) {
  uint32_t pairs[64][2], read[16];
  unsigned char rows[height][width];
  float values[height][width];
  void *linear, *pitched;
  size_t pitch, offset = 99;
  int first = 0;
  for (unsigned i = 0; i < 64; ++i) pairs[i][0] = i, pairs[i][1] = i * i + 5;
  OK(cudaMalloc(&linear, sizeof pairs));
  OK(cudaMemcpy(linear, pairs, sizeof pairs, kToDevice));
  OK(cudaBindTexture(&offset, &words, linear, &kPairs, sizeof pairs));
  TRUE(offset == 0);
  void* args[] = {&out, &first};
  launch(read_words, 1, 16, args);
  OK(cudaMemcpy(read, out, sizeof read, kToHost));
  for (int i = 0; i < 16; ++i) TRUE(read[i] == pairs[i][1]);
  /* A place that is not aligned: the offset is for the program to add. "All of it" is what is left
   * of the allocation. */
  IS(cudaBindTexture(NULL, &words, (char*)linear + 24, &kPairs, 64), kInvalidValue);
  OK(cudaBindTexture(&offset, &words, (char*)linear + 24, &kPairs, ~0u));
  TRUE(offset == 24);
  offset = 0;
  OK(cudaGetTextureAlignmentOffset(&offset, &words));
  TRUE(offset == 24);
  first = (int)(offset / sizeof pairs[0]);
  launch(read_words, 1, 16, args);
  OK(cudaMemcpy(read, out, sizeof read, kToHost));
  for (int i = 0; i < 16; ++i) TRUE(read[i] == pairs[i + 3][1]);

  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) rows[y][x] = (unsigned char)(y * 50 + x * 7);
  OK(cudaMallocPitch(&pitched, &pitch, width, height));
  OK(cudaMemcpy2D(pitched, pitch, rows, width, width, height, kToDevice));
  bytes.addressMode[0] = bytes.addressMode[1] = kClamp;
  OK(cudaBindTexture2D(&offset, &bytes, pitched, &kBytes, width, height, pitch));
  TRUE(offset == 0);
  void* one[] = {&out};
  launch(read_bytes, height, width, one);
  OK(cudaMemcpy(values, out, sizeof values, kToHost));
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) TRUE(values[y][x] == (float)rows[y][x] / 255.0f);
  OK(cudaFree(linear));
  OK(cudaFree(pitched));
}

static void mipmaps(void* out) {
  const cudaExtent extent = {8, 8, 0};
  cudaMipmappedArray_t mipmap;
  float texels[64], values[4];
  OK(cudaMallocMipmappedArray(&mipmap, &kFloats, extent, 4, 0));
  for (unsigned level = 0; level < 4; ++level) {
    cudaArray_t array;
    const size_t size = 8u >> level;
    for (size_t i = 0; i < size * size; ++i) texels[i] = (float)(level * 10 + 1);
    OK(cudaGetMipmappedArrayLevel(&array, mipmap, level));
    OK(cudaMemcpy2DToArray(array, 0, 0, texels, size * 4, size * 4, size, kToDevice));
  }
  levels.normalized = 1;
  levels.maxMipmapLevelClamp = 2;
  OK(cudaBindTextureToMipmappedArray(&levels, mipmap, &kFloats));
  void* args[] = {&out};
  launch(read_levels, 1, 4, args);
  OK(cudaMemcpy(values, out, sizeof values, kToHost));
  TRUE(values[0] == 1 && values[1] == 11 && values[2] == 21 && values[3] == 21);
  OK(cudaFreeMipmappedArray(mipmap));
}

static void surfaces(void) {
  const cudaChannelFormatDesc format = {32, 0, 0, 0, kUnsigned};
  const struct surfaceReference* found = NULL;
  uint32_t read[height][width];
  cudaArray_t array, second;
  OK(cudaMallocArray(&array, &format, width, height, 2));
  OK(cudaMallocArray(&second, &format, width, height, 2));
  IS(cudaBindSurfaceToArray((const struct surfaceReference*)&unknown, array, &format),
     kInvalidSurface);
  for (int i = 0; i < 2; ++i) {
    OK(cudaBindSurfaceToArray(&target, i ? second : array, &format));
    launch(write_target, height, width, NULL);
    OK(cudaMemcpy2DFromArray(read, width * 4, i ? second : array, 0, 0, width * 4, height,
                             kToHost));
    for (unsigned y = 0; y < height; ++y)
      for (unsigned x = 0; x < width; ++x) TRUE(read[y][x] == y * 100 + x);
  }
  OK(cudaGetSurfaceReference(&found, &target));
  TRUE(found == &target);
  OK(cudaFreeArray(array));
  OK(cudaFreeArray(second));
}

int main(void) {
  void* out;
  int version = 0;
  start();
  OK(cudaRuntimeGetVersion(&version));
  TRUE(version / 1000 == 11);
  OK(cudaMalloc(&out, 4096));
  arrays(out);
  memory(out);
  mipmaps(out);
  surfaces();
  OK(cudaFree(out));
  OK(cudaDeviceSynchronize());
  __cudaUnregisterFatBinary(handle);
  printf(failures ? "%d failures\n" : "good\n", failures);
  return failures != 0;
}
