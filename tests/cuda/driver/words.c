/* Surface accesses whose results on another NVIDIA device are public: accesses beyond the edges,
 * and formatted stores, whose surface is hashed. ../expected/words.txt says where the words come
 * from. */
#include "arrays.h"

enum { kPlaces = 64 };
typedef struct {
  int x, y, z, value; /* bytes for .b, texels for .p; where the values of a store begin */
} Place;

/* A thread's accesses, one after another: `%s` for `count` places from its own on. What an access
 * loads goes to its place's 16 bytes of the results. */
static CUfunction accesses(const char* statement) {
  char text[4096];
  snprintf(text, sizeof text,
           ".version 7.0\n.target sm_75\n.address_size 64\n"
           ".visible .entry go(.param .u64 surface, .param .u64 places, .param .u64 values,\n"
           "                   .param .u64 results, .param .u32 count) {\n"
           "  .reg .u64 %%s, %%place, %%values, %%at, %%out; .reg .u32 %%i, %%left;\n"
           "  .reg .b32 %%x, %%y, %%z, %%from, %%a, %%b, %%c, %%d; .reg .b16 %%h; .reg .pred %%q;\n"
           "  ld.param.u64 %%s, [surface]; ld.param.u64 %%place, [places];\n"
           "  ld.param.u64 %%values, [values]; ld.param.u64 %%out, [results];\n"
           "  ld.param.u32 %%left, [count]; mov.u32 %%i, %%ctaid.x; shl.b32 %%i, %%i, 6;\n"
           "  mov.u32 %%x, %%tid.x; add.u32 %%i, %%i, %%x; mul.lo.u32 %%i, %%i, %%left;\n"
           "  mad.wide.u32 %%place, %%i, 16, %%place; mad.wide.u32 %%out, %%i, 16, %%out;\n"
           "NEXT:\n"
           "  ld.global.v4.b32 {%%x, %%y, %%z, %%from}, [%%place];\n"
           "  mad.wide.u32 %%at, %%from, 4, %%values;\n"
           "  ld.global.v4.b32 {%%a, %%b, %%c, %%d}, [%%at];\n"
           "  %s\n"
           "  st.global.v4.b32 [%%out], {%%a, %%b, %%c, %%d};\n"
           "  add.u64 %%place, %%place, 16; add.u64 %%out, %%out, 16; sub.u32 %%left, %%left, 1;\n"
           "  setp.ne.u32 %%q, %%left, 0; @%%q bra NEXT;\n  ret;\n}\n",
           statement);
  return load(text, "go");
}

static CUdeviceptr places, values, results;
static unsigned loaded[4 * kPlaces];

/* In threads of their own, or one after another in one. */
static void access_all(const char* statement, CUsurfObject surface, const Place* all,
                       unsigned count, int one_thread) {
  unsigned each = one_thread ? count : 1;
  void* parameters[] = {&surface, &places, &values, &results, &each};
  CUfunction kernel = accesses(statement);
  NEED(cuMemcpyHtoD_v2(places, all, count * sizeof *all));
  const unsigned threads = one_thread ? 1 : count;
  launch(kernel, threads > kPlaces ? threads / kPlaces : 1, threads > kPlaces ? kPlaces : threads,
         parameters);
  NEED(cuCtxSynchronize());
  if (count <= kPlaces) NEED(cuMemcpyDtoH_v2(loaded, results, count * 16));
}

static void print(const char* statement, const unsigned* words, unsigned count, unsigned stride) {
  printf("%.*s:", (int)(strchr(statement, ' ') - statement), statement);
  for (unsigned i = 0; i < count; ++i) printf(" %x", words[i * stride]);
  putchar('\n');
}

static void planes(void) {
  static const char* const loads[] = {"suld.b.2d.b32.clamp %a, [%s, {%x, %y}];",
                                      "suld.b.2d.b32.zero %a, [%s, {%x, %y}];"};
  static const char* const stores[] = {"sust.b.2d.b32.clamp [%s, {%x, %y}], %a;",
                                       "sust.b.2d.b32.zero [%s, {%x, %y}], %a;"};
  static const int xs[] = {-8, -4, 0, 4, 28, 32, 36, 64, 1000}, ys[] = {-2, -1, 0, 3, 4, 9};
  static const int bytes[] = {-3, -1, 0, 1, 29, 30, 31, 32, 33, 35, 100};
  static const Place outside[] = {{-4, 1, 0, 0}, {-8, 1, 0, 0},  {32, 1, 0, 0}, {28, 1, 0, 0},
                                  {36, 1, 0, 0}, {100, 1, 0, 0}, {8, -1, 0, 0}, {8, 7, 0, 0}};
  unsigned texels[32], back[32];
  Place at[9];
  CUarray array = make_array(kU32, 1, 8, 4, 0, kSurface);
  CUsurfObject surface = surface_of(array);
  for (unsigned i = 0; i < 32; ++i) texels[i] = i / 8 << 12 | i % 8;
  copy_array(array, texels, 1);
  for (int mode = 0; mode < 2; ++mode)
    for (int row = 0; row < 6; ++row) {
      for (int i = 0; i < 9; ++i) at[i] = (Place){xs[i], ys[row], 0, 0};
      access_all(loads[mode], surface, at, 9, 0);
      print(loads[mode], loaded, 9, 4);
    }
  Place byte[11];
  static const char load_byte[] =
      "suld.b.2d.b8.clamp %h, [%s, {%x, %y}]; cvt.u32.u16 %a, %h; and.b32 %a, %a, 255;";
  for (int i = 0; i < 11; ++i) byte[i] = (Place){bytes[i], 1, 0, 0};
  access_all(load_byte, surface, byte, 11, 0);
  print(load_byte, loaded, 11, 4);
  for (int mode = 0; mode < 2; ++mode) {
    unsigned changed[8];
    for (int k = 0; k < 8; ++k) {
      copy_array(array, texels, 1);
      access_all(stores[mode], surface, outside + k, 1, 0);
      copy_array(array, back, 0);
      changed[k] = ~0u;
      for (unsigned i = 0; i < 32; ++i)
        if (back[i] != texels[i]) changed[k] = i;
    }
    print(stores[mode], changed, 8, 1);
  }
}

/* Four words at a time on a row of six. */
static void lines(void) {
  static const char* const loads[] = {"suld.b.1d.v4.b32.clamp {%a, %b, %c, %d}, [%s, {%x}];",
                                      "suld.b.1d.v4.b32.zero {%a, %b, %c, %d}, [%s, {%x}];"};
  static const char* const stores[] = {"sust.b.1d.v4.b32.clamp [%s, {%x}], {%a, %b, %c, %d};",
                                       "sust.b.1d.v4.b32.zero [%s, {%x}], {%a, %b, %c, %d};"};
  static const int xs[] = {-16, 0, 16, 32, 48};
  unsigned texels[6] = {0, 1, 2, 3, 4, 5}, back[6];
  CUarray array = make_array(kU32, 1, 6, 0, 0, kSurface);
  CUsurfObject surface = surface_of(array);
  copy_array(array, texels, 1);
  for (int mode = 0; mode < 2; ++mode)
    for (int i = 0; i < 5; ++i) {
      const Place at = {xs[i], 0, 0, 0};
      access_all(loads[mode], surface, &at, 1, 0);
      print(loads[mode], loaded, 4, 1);
    }
  for (int mode = 0; mode < 2; ++mode)
    for (int i = 0; i < 5; ++i) {
      const Place at = {xs[i], 0, 0, 0};
      if (xs[i] == 0) continue;
      copy_array(array, texels, 1);
      access_all(stores[mode], surface, &at, 1, 0);
      copy_array(array, back, 0);
      print(stores[mode], back, 6, 1);
    }
}

static void volumes(void) {
  static const char* const loads[] = {"suld.b.3d.b32.clamp %a, [%s, {%x, %y, %z, %z}];",
                                      "suld.b.3d.b32.zero %a, [%s, {%x, %y, %z, %z}];",
                                      "suld.b.a2d.b32.clamp %a, [%s, {%z, %x, %y, %y}];",
                                      "suld.b.a2d.b32.zero %a, [%s, {%z, %x, %y, %y}];"};
  static const Place places3[] = {{4, 1, 1, 0}, {16, 1, 1, 0}, {4, 5, 1, 0},
                                  {4, 1, 3, 0}, {4, 1, -1, 0}, {-4, -1, 7, 0}};
  static const Place layers[] = {
      {4, 1, 1, 0}, {4, 1, 3, 0}, {4, 1, 5, 0}, {4, 1, -1, 0}, {16, 3, 2, 0}};
  unsigned texels[24];
  for (unsigned i = 0; i < 24; ++i) texels[i] = i / 8 << 8 | i / 4 % 2 << 4 | i % 4;
  for (int i = 0; i < 4; ++i) {
    CUarray array = make_array(kU32, 1, 4, 2, 3, kSurface | (i < 2 ? 0 : kLayered));
    copy_array(array, texels, 1);
    const unsigned count = i < 2 ? 6 : 5;
    access_all(loads[i], surface_of(array), i < 2 ? places3 : layers, count, 0);
    print(loads[i], loaded, count, 4);
  }
}

/* The values of formatted stores: words and floats of many sizes, after such as conversions treat
 * apart. */
static void fill_values(void) {
  static const unsigned first[] = {
      0x7fc00001, 0xffc12345, 0x7f800000, 0xff800000, 0x80000000, 0x00000001, 0x477fe000,
      0x477ff000, 0x47800000, 0x322bcc77, 0xb22bcc77, 0x33800000, 0x33000000, 0x38800000,
      0x387fe000, 0xc77fe000, 0x00000000, 0x7fffffff, 0x80000001, 0xffffffff, 0x000000ff,
      0x00000100, 0x0000ffff, 0x00010000, 0x0000007f, 0x00000080, 0xffffff80, 0xffffff7f,
      0xffff8000, 0xffff7fff, 0x7fff0000, 0x80000000, 0x7f800001, 0x7fa00000, 0x7f801000,
      0xff800001, 0x7fbfffff};
  enum { kValues = 1024 };
  unsigned all[kValues], state = 20261009;
  for (int i = 0; i < kValues; ++i) {
    const unsigned kind = (state = state * 1664525 + 1013904223) % 6;
    const unsigned word = state = state * 1664525 + 1013904223;
    const float floats[] = {(float)((int)(word % 40000) - 20000) / 37.0f,
                            (float)((int)(word % 200) - 100) / 7.0f, (float)(word % 1000) * 1e5f};
    all[i] = kind == 0 ? word & 0xff : kind == 1 ? word & 0xffff : word;
    if (kind > 2) memcpy(all + i, floats + (kind - 3), 4);
  }
  memcpy(all, first, sizeof first);
  NEED(cuMemcpyHtoD_v2(values, all, sizeof all));
}

/* Every texel stored in a thread of its own, then eight places of which most are outside, one after
 * another. */
static void store_formatted(const char* name, int format, unsigned channels, int dimensions,
                            unsigned count, const char* mode) {
  static const char* const coordinates[] = {"{%x}", "{%x, %y}", "{%x, %y, %z, %z}"};
  static const char* const words[] = {"", "{%a}", "{%a, %b}", "", "{%a, %b, %c, %d}"};
  const int w = dimensions == 1 ? 64 : 8, h = dimensions == 1 ? 1 : 8, d = dimensions == 3 ? 2 : 1;
  const int xs[] = {-1, 0, w, w + 3, 2, -5, w - 1, w + 40},
            ys[] = {0, -2, 1, h, h + 7, -9, h - 1, 3}, zs[] = {0, 0, 1, 2, 0, 5, -1, d + 4};
  unsigned char texels[128 * 16];
  char statement[128];
  Place all[128], outside[8];
  snprintf(statement, sizeof statement, "sust.p.%dd.%sb32.%s [%%s, %s], %s;", dimensions,
           count == 1   ? ""
           : count == 2 ? "v2."
                        : "v4.",
           mode, coordinates[dimensions - 1], words[count]);
  CUarray array = make_array(format, channels, (size_t)w, dimensions == 1 ? 0 : 8,
                             dimensions == 3 ? 2 : 0, kSurface);
  memset(texels, 0xab, sizeof texels);
  copy_array(array, texels, 1);
  CUsurfObject surface = surface_of(array);
  for (int i = 0; i < w * h * d; ++i) all[i] = (Place){i % w, i / w % h, i / (w * h), 4 * i};
  for (int i = 0; i < 8; ++i)
    outside[i] =
        (Place){xs[i], dimensions > 1 ? ys[i] : 0, dimensions > 2 ? zs[i] : 0, 400 + 4 * i};
  access_all(statement, surface, all, (unsigned)(w * h * d), 0);
  if (strcmp(mode, "trap")) access_all(statement, surface, outside, 8, 1);
  copy_array(array, texels, 0);
  unsigned long long hash = 1469598103934665603ull;
  for (unsigned i = 0; i < w * h * d * channels * channel_bytes(format); ++i)
    hash = (hash ^ texels[i]) * 1099511628211ull;
  printf("%s %.*s: %016llx\n", name, (int)(strchr(statement, ' ') - statement), statement, hash);
  NEED(cuSurfObjectDestroy(surface));
  NEED(cuArrayDestroy(array));
}

int main(void) {
  static const struct {
    const char* name;
    int format;
    unsigned channels;
  } formats[] = {{"u8x4", kU8, 4},     {"s8x4", kS8, 4},    {"u16x4", kU16, 4},
                 {"s16x4", kS16, 4},   {"u32x4", kU32, 4},  {"s32x4", kS32, 4},
                 {"f32x4", kFloat, 4}, {"f16x4", kHalf, 4}, {"u8x1", kU8, 1},
                 {"f32x1", kFloat, 1}, {"u16x2", kU16, 2},  {"f32x2", kFloat, 2},
                 {"s8x2", kS8, 2},     {"f16x2", kHalf, 2}};
  static const struct {
    int dimensions;
    unsigned count;
    const char* mode;
  } stores[] = {{2, 4, "trap"}, {2, 2, "clamp"}, {2, 1, "zero"}, {2, 4, "clamp"}, {2, 4, "zero"},
                {1, 4, "trap"}, {1, 2, "clamp"}, {1, 1, "zero"}, {3, 4, "trap"},  {3, 2, "clamp"}};
  static const unsigned stored[] = {0xa0, 0xa1, 0xa2, 0xa3};
  begin_device();
  NEED(cuMemAlloc_v2(&places, 128 * sizeof(Place)));
  NEED(cuMemAlloc_v2(&results, 128 * 16));
  NEED(cuMemAlloc_v2(&values, 4096));
  NEED(cuMemcpyHtoD_v2(values, stored, sizeof stored));
  planes();
  lines();
  volumes();
  fill_values();
  for (unsigned f = 0; f < sizeof formats / sizeof *formats; ++f)
    for (unsigned i = 0; i < sizeof stores / sizeof *stores; ++i)
      store_formatted(formats[f].name, formats[f].format, formats[f].channels, stores[i].dimensions,
                      stores[i].count, stores[i].mode);
  return 0;
}
