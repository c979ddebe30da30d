/* Ten programs after what people report of surfaces and textures. Each case prints
 * its results, hashes of them, or error codes. */
#include <math.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arrays.h"

static int faulted = 0;

/* Runs a report's cases in a child, and the rest in another one where a case faulted. */
static void run_cases(void (*report)(unsigned), const unsigned* cases, unsigned count) {
  volatile unsigned* next =
      mmap(NULL, sizeof *next, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  while (*next < count) {
    int status = 0;
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      begin_device();
      while (!faulted && *next < count) report(cases[(*next)++]);
      fflush(stdout);
      _exit(0);
    }
    waitpid(child, &status, 0);
    if (!status) continue;
    printf("ended with status %x\n", (unsigned)status);
    return;
  }
}

static void run_first(void (*report)(unsigned), unsigned count) {
  unsigned cases[256];
  for (unsigned i = 0; i < count; ++i) cases[i] = i;
  run_cases(report, cases, count);
}

/* A kernel of one statement for each thread: %s is the surface or texture, %out its 16 bytes of the
 * results, %i its number, %p the launch's argument; words are in %a to %d, results in %w to %z. */
static CUfunction kernel_of(const char* body) {
  char text[8192];
  snprintf(text, sizeof text,
           ".version 7.0\n.target sm_75\n.address_size 64\n"
           ".visible .entry one(.param .u64 handle, .param .u64 results, .param .u32 p) {\n"
           "  .reg .u64 %%s, %%out, %%wide<4>; .reg .u32 %%i, %%n, %%p, %%x, %%y, %%layer;\n"
           "  .reg .b32 %%a, %%b, %%c, %%d, %%w, %%x0, %%y0, %%z0; .reg .f32 %%f<8>;\n"
           "  .reg .b16 %%h<8>; .reg .pred %%q;\n"
           "  ld.param.u64 %%s, [handle]; ld.param.u64 %%out, [results]; ld.param.u32 %%p, [p];\n"
           "  mov.u32 %%i, %%tid.x; mov.u32 %%n, %%ctaid.x; mov.u32 %%x, %%ntid.x;\n"
           "  mad.lo.u32 %%i, %%n, %%x, %%i; mad.wide.u32 %%out, %%i, 16, %%out;\n"
           "  mov.u32 %%w, 0; mov.u32 %%x0, 0; mov.u32 %%y0, 0; mov.u32 %%z0, 0;\n"
           "  mad.lo.u32 %%a, %%i, 0x9e3779b1, 0x01234567; xor.b32 %%b, %%a, 0x5bd1e995;\n"
           "  mad.lo.u32 %%c, %%b, 5, %%i; xor.b32 %%d, %%c, 0x3c3c3c3c;\n"
           "  cvt.u16.u32 %%h0, %%a; cvt.u16.u32 %%h1, %%b; cvt.u16.u32 %%h2, %%c;\n"
           "  cvt.u16.u32 %%h3, %%d; mov.b64 %%wide0, {%%a, %%b}; mov.b64 %%wide1, {%%c, %%d};\n"
           "%s\n"
           "  st.global.v4.b32 [%%out], {%%w, %%x0, %%y0, %%z0};\n  ret;\n}\n",
           body);
  return load(text, "one");
}

enum { kMost = 65536 };
static unsigned char results[kMost * 16];

/* Runs the kernel and fetches its results. */
static CUresult run(CUfunction kernel, CUsurfObject handle, unsigned threads, unsigned argument) {
  CUdeviceptr out;
  memset(results, 0xee, sizeof results);
  NEED(cuMemAlloc_v2(&out, threads * 16));
  NEED(cuMemsetD8_v2(out, 0xee, threads * 16));
  void* parameters[] = {&handle, &out, &argument};
  const unsigned block = threads < 256 ? threads : 256;
  launch(kernel, threads / block, block, parameters);
  CUresult code = cuCtxSynchronize();
  if (!code) code = cuMemcpyDtoH_v2(results, out, threads * 16);
  if (!code) code = cuMemFree_v2(out);
  return code;
}

static void print_code(CUresult code) {
  const char* name = "?";
  cuGetErrorName(code, &name);
  faulted = code != 0;
  printf(" %s", code ? name : "good");
}

static void print_bytes(const void* data, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i)
    printf(i % 4 ? "%02x" : " %02x", ((const unsigned char*)data)[i]);
}

static CUtexObject texture_of(CUarray array, unsigned flags, unsigned filter) {
  TextureDesc how = {{1, 1, 1}, filter, flags, 0, 0, 0, 0, 0, {0}, {0}};
  ResourceDesc resource;
  CUtexObject texture;
  memset(&resource, 0, sizeof resource);
  resource.of.array = array;
  NEED(cuTexObjectCreate(&texture, &resource, &how, NULL));
  return texture;
}

static unsigned char rows[1 << 20];

static unsigned rows_digest(CUarray array, size_t bytes) {
  memset(rows, 0xee, sizeof rows);
  copy_array(array, rows, 0);
  return digest(rows, bytes);
}

/* Six layers of 8 by 8, written one launch each, last first, and read by a copy, by the surface and
 * by a texture: `which` is 0 for an array of layers, 1 for a cube map. */
static void layers(unsigned which) {
  CUarray array = make_array(kU32, 1, 8, 8, 6, kSurface | (which ? kCubemap : kLayered));
  CUsurfObject surface = surface_of(array);
  CUfunction write = kernel_of(
      "  and.b32 %x, %i, 7; shl.b32 %x, %x, 2; shr.u32 %y, %i, 3;\n"
      "  mad.lo.u32 %a, %p, 1000, %i;\n"
      "  sust.b.a2d.b32.trap [%s, {%p, %x, %y, %y}], %a;");
  CUfunction read = kernel_of(
      "  and.b32 %x, %i, 7; shl.b32 %x, %x, 2; shr.u32 %y, %i, 3;\n"
      "  suld.b.a2d.b32.trap %w, [%s, {%p, %x, %y, %y}];");
  CUfunction sample =
      kernel_of(which ? "  and.b32 %x, %i, 7; shr.u32 %y, %i, 3; cvt.rn.f32.u32 %f0, %x;\n"
                        "  cvt.rn.f32.u32 %f1, %y; fma.rn.f32 %f0, %f0, 0f3E800000, 0fBF600000;\n"
                        "  fma.rn.f32 %f1, %f1, 0f3E800000, 0fBF600000; mov.f32 %f2, 0f3F800000;\n"
                        "  and.b32 %n, %p, 1; setp.ne.u32 %q, %n, 0; @%q neg.f32 %f2, %f2;\n"
                        "  shr.u32 %n, %p, 1; setp.eq.u32 %q, %n, 2; @%q bra Z;\n"
                        "  setp.eq.u32 %q, %n, 1; @%q bra Y;\n"
                        "  tex.cube.v4.u32.f32 {%w, %x0, %y0, %z0}, [%s, {%f2, %f0, %f1, %f1}];\n"
                        "  bra E;\nY:\n"
                        "  tex.cube.v4.u32.f32 {%w, %x0, %y0, %z0}, [%s, {%f0, %f2, %f1, %f1}];\n"
                        "  bra E;\nZ:\n"
                        "  tex.cube.v4.u32.f32 {%w, %x0, %y0, %z0}, [%s, {%f0, %f1, %f2, %f2}];\n"
                        "E:\n"
                      : "  and.b32 %x, %i, 7; shr.u32 %y, %i, 3; cvt.rn.f32.u32 %f0, %x;\n"
                        "  cvt.rn.f32.u32 %f1, %y;\n"
                        "  tex.a2d.v4.u32.f32 {%w, %x0, %y0, %z0}, [%s, {%p, %f0, %f1, %f1}];");
  CUtexObject texture = texture_of(array, 1, 0);
  printf("six layers of a %s\n", which ? "cube map" : "layered array");
  memset(rows, 0, sizeof rows);
  copy_array(array, rows, 1);
  for (unsigned layer = 6; layer-- > 0;) NEED(run(write, surface, 64, layer));
  printf("  copy %08x\n", rows_digest(array, 6 * 256));
  for (unsigned layer = 0; layer < 6; ++layer) {
    printf("  layer %u: copy %08x", layer, digest(rows + layer * 256, 256));
    NEED(run(read, surface, 64, layer));
    printf(", surface %08x", digest(results, 64 * 16));
    NEED(run(sample, texture, 64, layer));
    printf(", texture %08x\n", digest(results, 64 * 16));
  }
}

/* One accessor at a time: an array is written by one, and read by one. */
static void accessors(unsigned which) {
  static const char* const writers[] = {"copy", "sust.b", "sust.p"};
  static const char* const readers[] = {"copy", "suld.b", "tex"};
  const unsigned writer = which / 3, reader = which % 3;
  CUarray array = make_array(kFloat, 1, 16, 4, 0, kSurface);
  memset(rows, 0, sizeof rows);
  for (unsigned i = 0; writer == 0 && i < 64; ++i) ((float*)rows)[i] = (float)i / 8;
  copy_array(array, rows, 1);
  if (writer)
    NEED(run(kernel_of(writer == 1 ? "  and.b32 %x, %i, 15; shl.b32 %x, %x, 2; shr.u32 %y, %i, 4;\n"
                                     "  cvt.rn.f32.u32 %f0, %i; mul.f32 %f0, %f0, 0f3E000000;\n"
                                     "  sust.b.2d.b32.trap [%s, {%x, %y}], %f0;"
                                   : "  and.b32 %x, %i, 15; shr.u32 %y, %i, 4;\n"
                                     "  cvt.rn.f32.u32 %f0, %i; mul.f32 %f0, %f0, 0f3E000000;\n"
                                     "  sust.p.2d.b32.trap [%s, {%x, %y}], {%f0};"),
             surface_of(array), 64, 0));
  printf("%s, then %s:", writers[writer], readers[reader]);
  if (reader == 0) {
    copy_array(array, rows, 0);
    printf(" %08x\n", digest(rows, 256));
    return;
  }
  NEED(run(kernel_of(reader == 1 ? "  and.b32 %x, %i, 15; shl.b32 %x, %x, 2; shr.u32 %y, %i, 4;\n"
                                   "  suld.b.2d.b32.trap %w, [%s, {%x, %y}];"
                                 : "  and.b32 %x, %i, 15; shr.u32 %y, %i, 4;\n"
                                   "  cvt.rn.f32.u32 %f0, %x; cvt.rn.f32.u32 %f1, %y;\n"
                                   "  tex.2d.v4.u32.f32 {%w, %x0, %y0, %z0}, [%s, {%f0, %f1}];"),
           reader == 1 ? surface_of(array) : texture_of(array, 0, 0), 64, 0));
  for (unsigned i = 0; i < 64; ++i) memcpy(rows + 4 * i, results + 16 * i, 4);
  printf(" %08x\n", digest(rows, 256));
}

/* A float4 of texels of four bytes, at byte `which % 100`: 16 bytes of one row. */
static void wide_reads(unsigned which) {
  static const char* const modes[] = {"trap", "clamp", "zero"};
  char body[256];
  CUarray array = make_array(kU8, 4, 8, 2, 0, kSurface);
  for (unsigned i = 0; i < 64; ++i) rows[i] = (unsigned char)(i * 3 + 1);
  copy_array(array, rows, 1);
  const char* mode = modes[which / 100];
  snprintf(body, sizeof body,
           "  mov.u32 %%y, 1; suld.b.2d.v4.b32.%s {%%w, %%x0, %%y0, %%z0}, "
           "[%%s, {%%p, %%y}];",
           mode);
  printf("float4 of rgba8 at byte %d, %s:", (int)(which % 100) - 16, mode);
  const CUresult code = run(kernel_of(body), surface_of(array), 1, which % 100 - 16);
  print_code(code);
  if (!code) print_bytes(results, 16);
  putchar('\n');
}

/* Stores of floats into normalized texels: a half, its neighbours, the middles between two texels
 * and their neighbours, and what is beyond the ends. */
static void formatted_stores(unsigned which) {
  static const struct {
    const char* name;
    int format;
    unsigned steps;
  } formats[] = {
      {"unorm8", kUnorm8, 255},     {"snorm8", kSnorm8, 127}, {"unorm16", kUnorm16, 65535},
      {"snorm16", kSnorm16, 32767}, {"u8", kU8, 255},         {"s16", kS16, 32767}};
  static const float ends[] = {0.5f, -0.5f, 0.0f, -0.0f, 1.0f, -1.0f, 1.5f, -1.5f, 1e30f, -1e30f};
  enum { kWidth = 4096, kStores = kWidth * 16 };
  static float values[kStores];
  unsigned count = 0;
  for (unsigned i = 0; i < sizeof ends / sizeof *ends; ++i) {
    values[count++] = ends[i];
    values[count++] = nextafterf(ends[i], 2);
    values[count++] = nextafterf(ends[i], -2);
  }
  values[count++] = INFINITY;
  values[count++] = -INFINITY;
  const uint32_t odd[] = {0x7fc00000, 0xffc00000, 1, 0x80000001};
  memcpy(values + count, odd, sizeof odd);
  count += 4;
  const unsigned listed = count;
  for (unsigned i = 0; count + 3 <= kStores; ++i) {
    const float middle =
        ((float)(i % formats[which].steps) + 0.5f) / (float)formats[which].steps * (i & 1 ? -1 : 1);
    values[count++] = middle;
    values[count++] = nextafterf(middle, 2);
    values[count++] = nextafterf(middle, -2);
  }
  const size_t bytes = channel_bytes(formats[which].format);
  CUarray array = make_array(formats[which].format, 1, kWidth, 16, 0, kSurface);
  CUdeviceptr from;
  NEED(cuMemAlloc_v2(&from, sizeof values));
  NEED(cuMemcpyHtoD_v2(from, values, sizeof values));
  char body[512];
  snprintf(body, sizeof body,
           "  mov.u64 %%wide2, %llu; mad.wide.u32 %%wide2, %%i, 4, %%wide2;\n"
           "  ld.global.f32 %%f0, [%%wide2]; and.b32 %%x, %%i, 4095; shr.u32 %%y, %%i, 12;\n"
           "  sust.p.2d.b32.trap [%%s, {%%x, %%y}], {%%f0};",
           from);
  NEED(run(kernel_of(body), surface_of(array), kStores, 0));
  copy_array(array, rows, 0);
  printf("%s\n", formats[which].name);
  for (unsigned i = 0; i < listed; ++i) {
    uint32_t word;
    memcpy(&word, values + i, 4);
    printf("  %08x", word);
    print_bytes(rows + i * bytes, bytes);
    if (i % 4 == 3 || i + 1 == listed) putchar('\n');
  }
  for (unsigned i = 0; i < 16; ++i)
    printf("  %08x%s", digest(rows + i * kWidth * bytes, kWidth * bytes), i % 8 == 7 ? "\n" : "");
}

/* x counts bytes or texels: one store at `which % 20`, and the texels that changed. */
static void units(unsigned which) {
  static const char* const stores[] = {
      "sust.b.2d.b32.trap [%s, {%p, %y}], %a;", "sust.p.2d.b32.trap [%s, {%p, %y}], {%a};",
      "sured.b.add.2d.u32.trap [%s, {%p, %y}], %a;", "sured.p.add.2d.b32.trap [%s, {%p, %y}], %a;",
      "suld.b.2d.b32.trap %w, [%s, {%p, %y}];"};
  const unsigned at = which % 20;
  char body[256];
  CUarray array = make_array(kU32, 1, 4, 2, 0, kSurface);
  for (unsigned i = 0; i < 8; ++i) ((unsigned*)rows)[i] = i + 1;
  copy_array(array, rows, 1);
  snprintf(body, sizeof body, "  mov.u32 %%y, 1; mov.u32 %%a, 0x50; %s", stores[which / 20]);
  const CUresult code = run(kernel_of(body), surface_of(array), 1, at);
  printf("%.8s at x = %u:", stores[which / 20], at);
  print_code(code);
  if (!code) {
    print_bytes(results, 4);
    copy_array(array, rows, 0);
    print_bytes(rows, 32);
  }
  putchar('\n');
}

/* All halves: as texels read by a texture, point and linear, and as floats stored by sust.p; then
 * the middles between neighbours and what is beside them. */
static void halves(unsigned which) {
  static uint16_t all[65536];
  for (unsigned i = 0; i < 65536; ++i) all[i] = (uint16_t)i;
  CUarray array = make_array(kHalf, 1, 256, 256, 0, kSurface);
  if (which < 2) {
    copy_array(array, all, 1);
    NEED(run(kernel_of("  and.b32 %x, %i, 255; shr.u32 %y, %i, 8; cvt.rn.f32.u32 %f0, %x;\n"
                       "  cvt.rn.f32.u32 %f1, %y; add.f32 %f0, %f0, 0f3F000000;\n"
                       "  add.f32 %f1, %f1, 0f3F000000;\n"
                       "  tex.2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%s, {%f0, %f1}];\n"
                       "  mov.b32 %w, %f2; mov.b32 %x0, %f3; mov.b32 %y0, %f4; mov.b32 %z0, %f5;"),
             texture_of(array, 0, which), 65536, 0));
    printf("halves read by a texture, %s filter\n", which ? "linear" : "point");
    for (unsigned i = 0; i < 16; ++i)
      printf("  %08x%s", digest(results + i * 65536, 65536), i % 8 == 7 ? "\n" : "");
    return;
  }
  memset(rows, 0, sizeof all);
  copy_array(array, rows, 1);
  /* The float of a half, with the bits behind its mantissa by the launch's argument. */
  NEED(run(kernel_of("  cvt.u16.u32 %h4, %i; cvt.f32.f16 %f0, %h4; mov.b32 %w, %f0;\n"
                     "  xor.b32 %w, %w, %p; mov.b32 %f0, %w;\n"
                     "  and.b32 %x, %i, 255; shr.u32 %y, %i, 8;\n"
                     "  sust.p.2d.b32.trap [%s, {%x, %y}], {%f0};"),
           surface_of(array), 65536, which));
  copy_array(array, rows, 0);
  printf("halves stored by sust.p, with %x behind the mantissa\n", which);
  for (unsigned i = 0; i < 16; ++i)
    printf("  %08x%s", digest(rows + i * 8192, 8192), i % 8 == 7 ? "\n" : "");
}

/* Surfaces of arrays with height 0 and 1, plain and of layers, by each instruction that could be
 * meant: what is read, then what is changed. */
static void heights(unsigned which) {
  static const struct {
    const char* name;
    size_t h, d;
    unsigned flags;
  } arrays[] = {{"height 0", 0, 0, 0},
                {"height 1", 1, 0, 0},
                {"height 0, 2 layers", 0, 2, kLayered},
                {"height 1, 2 layers", 1, 2, kLayered},
                {"height 1, depth 1", 1, 1, 0}};
  static const struct {
    const char *name, *coordinates;
  } geometries[] = {{"1d", "{%x}"},
                    {"2d", "{%x, %y}"},
                    {"a1d", "{%layer, %x}"},
                    {"a2d", "{%layer, %x, %y, %y}"},
                    {"3d", "{%x, %y, %layer, %layer}"}};
  static const char* const modes[] = {"trap", "clamp", "zero"};
  const unsigned a = which / 15, g = which / 3 % 5;
  const char* mode = modes[which % 3];
  CUarray array = make_array(kU32, 1, 4, arrays[a].h, arrays[a].d, arrays[a].flags | kSurface);
  char body[512];
  for (unsigned i = 0; i < 8; ++i) ((unsigned*)rows)[i] = 0x11 * (i + 1);
  copy_array(array, rows, 1);
  printf("%s of an array of %s, %s:", geometries[g].name, arrays[a].name, mode);
  snprintf(body, sizeof body,
           "  mov.u32 %%y, 0; mov.u32 %%layer, %%p; shl.b32 %%x, %%i, 2;\n"
           "  suld.b.%s.b32.%s %%w, [%%s, %s]; add.u32 %%a, %%i, 0xa0;\n"
           "  sust.b.%s.b32.%s [%%s, %s], %%a;",
           geometries[g].name, mode, geometries[g].coordinates, geometries[g].name, mode,
           geometries[g].coordinates);
  const unsigned last = arrays[a].d > 1 ? 1 : 0;
  const CUresult code = run(kernel_of(body), surface_of(array), 4, last);
  print_code(code);
  if (!code) {
    for (unsigned i = 0; i < 4; ++i) print_bytes(results + 16 * i, 4);
    printf(" ->");
    copy_array(array, rows, 0);
    print_bytes(rows, arrays[a].d > 1 ? 32 : 16);
  }
  putchar('\n');
}

/* Two handles out of one load of a vector, and one of them chosen: by the thread, or by the launch.
 */
static void two_handles(unsigned which) {
  static const char text[] =
      ".version 7.0\n.target sm_75\n.address_size 64\n"
      ".visible .entry one(.param .align 16 .b8 pair[16], .param .u32 by_thread) {\n"
      "  .reg .u64 %s<3>; .reg .u32 %i, %x, %n, %y; .reg .pred %q;\n"
      "  ld.param.v2.b64 {%s0, %s1}, [pair]; ld.param.u32 %n, [by_thread];\n"
      "  mov.u32 %i, %tid.x; and.b32 %y, %i, %n; shr.u32 %n, %n, 1; xor.b32 %y, %y, %n;\n"
      "  and.b32 %y, %y, 1; setp.ne.u32 %q, %y, 0; selp.b64 %s2, %s0, %s1, %q;\n"
      "  shl.b32 %x, %i, 2; mov.u32 %y, 0; add.u32 %i, %i, 100;\n"
      "  suld.b.2d.b32.trap %n, [%s2, {%x, %y}]; add.u32 %i, %i, %n;\n"
      "  sust.b.2d.b32.trap [%s2, {%x, %y}], %i;\n  ret;\n}\n";
  CUarray arrays[2];
  CUsurfObject pair[2];
  for (unsigned k = 0; k < 2; ++k) {
    arrays[k] = make_array(kU32, 1, 8, 1, 0, kSurface);
    for (unsigned i = 0; i < 8; ++i) ((unsigned*)rows)[i] = 1000 * k + 1000;
    copy_array(arrays[k], rows, 1);
    pair[k] = surface_of(arrays[k]);
  }
  void* parameters[] = {pair, &which};
  launch(load(text, "one"), 1, 8, parameters);
  printf("two handles, %u:", which);
  print_code(cuCtxSynchronize());
  for (unsigned k = 0; k < 2; ++k) {
    copy_array(arrays[k], rows, 0);
    for (unsigned i = 0; i < 8; ++i) printf(" %u", ((unsigned*)rows)[i]);
    printf(k ? "\n" : " |");
  }
}

/* Accesses that are wider or narrower than a texel, over the ends of a row. */
static void widths(unsigned which) {
  static const struct {
    const char *type, *in, *out;
    unsigned bytes;
  } accesses[] = {{"b8", "%h0", "%h4", 1},
                  {"v2.b8", "{%h0, %h1}", "{%h4, %h5}", 2},
                  {"v4.b8", "{%h0, %h1, %h2, %h3}", "{%h4, %h5, %h6, %h7}", 4},
                  {"b16", "%h0", "%h4", 2},
                  {"v2.b16", "{%h0, %h1}", "{%h4, %h5}", 4},
                  {"v4.b16", "{%h0, %h1, %h2, %h3}", "{%h4, %h5, %h6, %h7}", 8},
                  {"b32", "%a", "%w", 4},
                  {"v2.b32", "{%a, %b}", "{%w, %x0}", 8},
                  {"v4.b32", "{%a, %b, %c, %d}", "{%w, %x0, %y0, %z0}", 16},
                  {"b64", "%wide0", "%wide2", 8},
                  {"v2.b64", "{%wide0, %wide1}", "{%wide2, %wide3}", 16}};
  static const struct {
    int format;
    unsigned channels;
  } texels[] = {{kU8, 1}, {kU8, 2}, {kU8, 4}, {kU16, 1}, {kU16, 4}, {kU32, 1}, {kU32, 4}};
  static const char* const modes[] = {"clamp", "zero"};
  const unsigned a = which / 14, t = which / 2 % 7;
  const char *mode = modes[which % 2], *type = accesses[a].type;
  const unsigned texel = channel_bytes(texels[t].format) * texels[t].channels;
  CUarray array = make_array(texels[t].format, texels[t].channels, 48 / texel, 2, 0, kSurface);
  CUsurfObject surface = surface_of(array);
  char body[1024];
  for (unsigned i = 0; i < 96; ++i) rows[i] = (unsigned char)(i * 5 + 9);
  copy_array(array, rows, 1);
  /* Thread i reads the i-th place from two before the row on. Every other one stores there, but not
   * at the first and last of the row, where the place beyond may be clamped to. */
  static const char at[] = "  sub.u32 %%x, %%i, 2; mul.lo.u32 %%x, %%x, %u; mov.u32 %%y, 1;\n";
  int length = snprintf(body, sizeof body, at, accesses[a].bytes);
  snprintf(body + length, sizeof body - length, "  suld.b.2d.%s.%s %s, [%%s, {%%x, %%y}];\n%s",
           type, mode, accesses[a].out,
           accesses[a].out[a == 0 || a == 3 || a == 9 ? 1 : 2] == 'h'
               ? "  cvt.u32.u16 %w, %h4; cvt.u32.u16 %x0, %h5; cvt.u32.u16 %y0, %h6;\n"
                 "  cvt.u32.u16 %z0, %h7;"
           : a >= 9 ? "  mov.b64 {%w, %x0}, %wide2; mov.b64 {%y0, %z0}, %wide3;"
                    : "");
  const unsigned places = 48 / accesses[a].bytes + 4;
  printf("%s of texels of %u bytes, %u channels, %s:", type, texel, texels[t].channels, mode);
  /* Registers that the access does not write start as zeros. */
  char whole[1536];
  snprintf(whole, sizeof whole,
           "  mov.u16 %%h4, 0; mov.u16 %%h5, 0; mov.u16 %%h6, 0; mov.u16 %%h7, 0;\n"
           "  mov.u64 %%wide2, 0; mov.u64 %%wide3, 0;\n%s",
           body);
  NEED(run(kernel_of(whole), surface, places, 0));
  printf(" %08x", digest(results, places * 16));
  length = snprintf(body, sizeof body, at, accesses[a].bytes);
  snprintf(body + length, sizeof body - length,
           "  sub.u32 %%n, %u, %%i; setp.gt.u32 %%q, %%i, %u; selp.b32 %%n, %%n, %%i, %%q;\n"
           "  and.b32 %%n, %%n, 1; setp.eq.u32 %%q, %%n, 1;\n"
           "  @%%q sust.b.2d.%s.%s [%%s, {%%x, %%y}], %s;",
           places - 3, places / 2, type, mode, accesses[a].in);
  NEED(run(kernel_of(body), surface, places, 0));
  printf(" %08x\n", rows_digest(array, 96));
}

/* Two cube maps in one array: face f of cube c is layer 6 c + f to a surface. */
static void cubes(unsigned which) {
  CUarray array = make_array(kU32, 1, 4, 4, 12, kSurface | kCubemap | kLayered);
  memset(rows, 0, sizeof rows);
  copy_array(array, rows, 1);
  NEED(run(
      kernel_of("  and.b32 %x, %i, 3; shl.b32 %x, %x, 2; shr.u32 %y, %i, 2; and.b32 %y, %y, 3;\n"
                "  shr.u32 %layer, %i, 4; div.u32 %n, %layer, 6; mul.lo.u32 %a, %n, 6;\n"
                "  sub.u32 %a, %layer, %a; mad.lo.u32 %a, %n, 10, %a;\n"
                "  mad.lo.u32 %layer, %n, 6, 0; rem.u32 %n, %a, 10; add.u32 %layer, %layer, %n;\n"
                "  sust.b.a2d.b32.trap [%s, {%layer, %x, %y, %y}], %a;"),
      surface_of(array), 192, 0));
  static const char* const directions[] = {"{%p, %f1, %f0, %f0}", "{%p, %f2, %f0, %f0}",
                                           "{%p, %f0, %f1, %f0}", "{%p, %f0, %f2, %f0}",
                                           "{%p, %f0, %f0, %f1}", "{%p, %f0, %f0, %f2}"};
  printf("face %u:", which);
  char body[512];
  snprintf(body, sizeof body,
           "  cvt.rn.f32.u32 %%f0, %%i; mul.f32 %%f0, %%f0, 0f3D000000;\n"
           "  mov.f32 %%f1, 0f3F800000; mov.f32 %%f2, 0fBF800000;\n"
           "  tex.acube.v4.u32.f32 {%%w, %%x0, %%y0, %%z0}, [%%s, %s];",
           directions[which]);
  CUtexObject texture = texture_of(array, 1, 0);
  for (unsigned cube = 0; cube < 3; ++cube) {
    NEED(run(kernel_of(body), texture, 4, cube));
    for (unsigned i = 0; i < 4; ++i) printf(" %u", *(unsigned*)(results + 16 * i));
  }
  copy_array(array, rows, 0);
  printf(" | %u %u\n", ((unsigned*)rows)[16 * which], ((unsigned*)rows)[16 * (6 + which)]);
}

int main(void) {
  static const unsigned edges[] = {0, 4, 15, 16, 17, 20, 24, 32, 36, 48, 60};
  static const unsigned places[] = {0, 1, 2, 3, 4, 12, 16};
  static const unsigned behind[] = {0, 1, 0x1000, 0x0fff, 0x1001, 0x1fff, 0x2000, 2};
  unsigned wide[33], unit[35];
  for (unsigned i = 0; i < 33; ++i) wide[i] = i / 11 * 100 + edges[i % 11];
  for (unsigned i = 0; i < 35; ++i) unit[i] = i / 7 * 20 + places[i % 7];
  run_first(layers, 2);
  run_first(accessors, 9);
  run_cases(wide_reads, wide, 33);
  run_first(formatted_stores, 6);
  run_cases(units, unit, 35);
  run_cases(halves, behind, 8);
  run_first(heights, 75);
  run_first(two_handles, 4);
  run_first(widths, 154);
  run_first(cubes, 6);
  return 0;
}
