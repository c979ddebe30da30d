/* One hash for each way to read a texture: kind and instruction, format and read mode, address
 * mode, filter, and normalized coordinates (of textures with levels, the filter between these).
 * Arguments: STEP OFFSET take every STEP-th line from OFFSET on; LINE words prints the words of a
 * line. A line has 16 entries, by address mode (wrap, clamp, mirror, border), then the filter, then
 * the coordinates; `!N` is the error of cuTexObjectCreate. */
#include "arrays.h"

enum { kThreads = 64, kCoordinates = 12, kMaxWords = 16, kEntries = 16, kLevels = 3 };
enum { kArray, kMipmapped, kLinear, kPitch };

/* The geometry's name in PTX, the extent of the array and its flags, what the operand before the
 * coordinates is, and how it is read. A gather reads the four components in turn. */
typedef struct {
  const char *name, *geometry, *coordinates, *instruction, *behind;
  int resource, gathers;
  size_t w, h, d;
  unsigned flags;
} Kind;

#define LEVEL ", %c9"
#define GRAD1 ", {%c6}, {%c9}"
#define GRAD2 ", {%c6, %c7}, {%c9, %c10}"
#define GRAD3 ", {%c6, %c7, %c8, %c8}, {%c9, %c10, %c11, %c11}"
#define X "{%c0}"
#define XY "{%c0, %c1}"
#define XYZ "{%c0, %c1, %c2, %c2}"
#define LX "{%l, %c0}"
#define LXY "{%l, %c0, %c1, %c1}"
#define LXYZ "{%l, %c3, %c4, %c5}"
#define DIRECTION "{%c3, %c4, %c5, %c5}"
static const Kind kKinds[] = {
    {"linear memory", "1d", "{%i}", "tex", "", kLinear, 0, 37, 0, 0, 0},
    {"pitched memory", "2d", XY, "tex", "", kPitch, 0, 13, 7, 0, 0},
    {"1d", "1d", X, "tex", "", kArray, 0, 37, 0, 0, 0},
    {"2d", "2d", XY, "tex", "", kArray, 0, 13, 7, 0, 0},
    {"3d", "3d", XYZ, "tex", "", kArray, 0, 9, 6, 5, 0},
    {"1d layered", "a1d", LX, "tex", "", kArray, 0, 19, 0, 4, kLayered},
    {"2d layered", "a2d", LXY, "tex", "", kArray, 0, 11, 5, 3, kLayered},
    {"cube", "cube", DIRECTION, "tex", "", kArray, 0, 7, 7, 6, kCubemap},
    {"cube layered", "acube", LXYZ, "tex", "", kArray, 0, 5, 5, 12, kCubemap | kLayered},
    {"1d levels", "1d", X, "tex.level", LEVEL, kMipmapped, 0, 37, 0, 0, 0},
    {"2d levels", "2d", XY, "tex.level", LEVEL, kMipmapped, 0, 13, 7, 0, 0},
    {"3d levels", "3d", XYZ, "tex.level", LEVEL, kMipmapped, 0, 9, 6, 5, 0},
    {"1d layered levels", "a1d", LX, "tex.level", LEVEL, kMipmapped, 0, 19, 0, 4, kLayered},
    {"2d layered levels", "a2d", LXY, "tex.level", LEVEL, kMipmapped, 0, 11, 5, 3, kLayered},
    {"cube levels", "cube", DIRECTION, "tex.level", LEVEL, kMipmapped, 0, 7, 7, 6, kCubemap},
    {"cube layered levels", "acube", LXYZ, "tex.level", LEVEL, kMipmapped, 0, 5, 5, 12,
     kCubemap | kLayered},
    {"1d gradients", "1d", X, "tex.grad", GRAD1, kMipmapped, 0, 37, 0, 0, 0},
    {"2d gradients", "2d", XY, "tex.grad", GRAD2, kMipmapped, 0, 13, 7, 0, 0},
    {"3d gradients", "3d", XYZ, "tex.grad", GRAD3, kMipmapped, 0, 9, 6, 5, 0},
    {"1d layered gradients", "a1d", LX, "tex.grad", GRAD1, kMipmapped, 0, 19, 0, 4, kLayered},
    {"2d layered gradients", "a2d", LXY, "tex.grad", GRAD2, kMipmapped, 0, 11, 5, 3, kLayered},
    {"cube gradients", "cube", DIRECTION, "tex.grad", GRAD3, kMipmapped, 0, 7, 7, 6, kCubemap},
    {"2d gather", "2d", XY, "tld4", "", kArray, 1, 13, 7, 0, kGather},
    {"2d layered gather", "a2d", LXY, "tld4", "", kArray, 1, 11, 5, 3, kLayered},
    {"cube gather", "cube", DIRECTION, "tld4", "", kArray, 1, 7, 7, 6, kCubemap},
    {"cube layered gather", "acube", LXYZ, "tld4", "", kArray, 1, 5, 5, 12, kCubemap | kLayered},
};

enum { kAsInteger = 1, kNormalized = 2, kSrgb = 16 };
typedef struct {
  const char *name, *result;
  int format; /* of one channel; formats of CUDA 11.5 have a number for each count of channels */
  unsigned flags;
} Format;
static const Format kFormats[] = {
    {"u8", "u32", kU8, kAsInteger},   {"s8", "s32", kS8, kAsInteger},
    {"u16", "u32", kU16, kAsInteger}, {"s16", "s32", kS16, kAsInteger},
    {"u32", "u32", kU32, kAsInteger}, {"s32", "s32", kS32, kAsInteger},
    {"u8 as float", "f32", kU8, 0},   {"s8 as float", "f32", kS8, 0},
    {"u16 as float", "f32", kU16, 0}, {"s16 as float", "f32", kS16, 0},
    {"half", "f32", kHalf, 0},        {"float", "f32", kFloat, 0},
    {"u8 srgb", "f32", kU8, kSrgb},   {"unorm8", "f32", kUnorm8, 0},
    {"snorm8", "f32", kSnorm8, 0},    {"unorm16", "f32", kUnorm16, 0},
    {"snorm16", "f32", kSnorm16, 0},  {"unorm8 srgb", "f32", kUnorm8, kSrgb},
};
enum {
  kChannelCounts = 3,
  kLines = sizeof kKinds / sizeof *kKinds * (sizeof kFormats / sizeof *kFormats) * kChannelCounts
};

/* A texel's channel: any integer; floats of like size, so that sums do not cancel. */
static void fill(void* data, int format, size_t count, unsigned seed) {
  for (size_t i = 0; i < count; ++i) {
    const unsigned word = mixed(seed * 7919 + (unsigned)i * 31 + 5);
    if (format == kFloat) {
      const float value = 0.125f + (float)(word >> 9) / 9000000.0f;
      ((float*)data)[i] = word & 1 ? -value : value;
    } else if (format == kHalf) {
      ((uint16_t*)data)[i] = (uint16_t)((word & 0x83ff) | (12u + (word >> 16) % 4u) << 10);
    } else {
      memcpy((char*)data + i * channel_bytes(format), &word, channel_bytes(format));
    }
  }
}

/* Coordinates of a thread: three for texels or extents of 1, three of a direction, two gradients
 * of three, of which the last begins with a level. */
static float coordinate(unsigned thread, unsigned which, int plain) {
  static const uint32_t special[] = {0,          0x80000000, 0x3f800000, 0x3f000000, 0xbf800000,
                                     0x7fc00000, 0x7f800000, 0xff800000, 1,          0x4f000000};
  const unsigned word = mixed(thread * 977 + which * 13 + 1);
  float value;
  if (!plain && thread < 10 && (which == thread % 3 || which == 3 + thread % 3)) {
    memcpy(&value, special + thread, 4);
    return value;
  }
  value = (float)(int32_t)word / 2147483648.0f;
  if (which < 3) return value * 1.75f + 0.5f;
  if (which < 6) return value;
  if (which == 9) return value * 2.5f + 1.0f;
  return value * 0.25f;
}

static CUfunction reader(const Kind* kind, const char* result) {
  static CUfunction made[sizeof kKinds / sizeof *kKinds]['u' + 1];
  static const char component[] = "rgba";
  char text[4096];
  CUfunction* kept = &made[kind - kKinds][(unsigned char)*result];
  if (*kept) return *kept;
  int at = snprintf(text, sizeof text,
                    ".version 7.0\n.target sm_75\n.address_size 64\n"
                    ".visible .entry look(.param .u64 texture, .param .u64 from, .param .u64 to,\n"
                    "                     .param .u64 scales) {\n"
                    "  .reg .u64 %%t, %%from, %%to, %%s; .reg .u32 %%i, %%l, %%r<4>;\n"
                    "  .reg .f32 %%c<12>, %%k;\n"
                    "  ld.param.u64 %%t, [texture]; ld.param.u64 %%from, [from];\n"
                    "  ld.param.u64 %%to, [to]; ld.param.u64 %%s, [scales];\n"
                    "  mov.u32 %%i, %%tid.x;\n"
                    "  mad.wide.u32 %%from, %%i, 48, %%from; mad.wide.u32 %%to, %%i, %d, %%to;\n",
                    kind->gathers ? 64 : 16);
  for (int i = 0; i < kCoordinates; ++i)
    at +=
        snprintf(text + at, sizeof text - at, "  ld.global.f32 %%c%d, [%%from + %d];\n", i, 4 * i);
  for (int i = 0; i < 3; ++i)
    at += snprintf(text + at, sizeof text - at,
                   "  ld.global.f32 %%k, [%%s + %d]; mul.f32 %%c%d, %%c%d, %%k;\n", 4 * i, i, i);
  at += snprintf(text + at, sizeof text - at, "  and.b32 %%l, %%i, 7; sub.u32 %%i, %%i, 9;\n");
  for (int i = 0; i < (kind->gathers ? 4 : 1); ++i) {
    char which[3] = "";
    if (kind->gathers) which[0] = '.', which[1] = component[i];
    at += snprintf(text + at, sizeof text - at,
                   "  %s%s.%s.v4.%s.%s {%%r0, %%r1, %%r2, %%r3}, [%%t, %s]%s;\n"
                   "  st.global.v4.u32 [%%to + %d], {%%r0, %%r1, %%r2, %%r3};\n",
                   kind->instruction, which, kind->geometry, result,
                   kind->resource == kLinear ? "s32" : "f32", kind->coordinates, kind->behind,
                   16 * i);
  }
  snprintf(text + at, sizeof text - at, "  ret;\n}\n");
  return *kept = load(text, "look");
}

/* What a line reads: made, filled with texels, and let go again. */
typedef struct {
  ResourceDesc desc;
  CUdeviceptr memory;
} Resource;

static void fill_array(CUarray array, int format, unsigned seed) {
  ArrayDesc desc;
  NEED(cuArray3DGetDescriptor_v2(&desc, array));
  const size_t channels =
      desc.width * (desc.height ? desc.height : 1) * (desc.depth ? desc.depth : 1) * desc.channels;
  void* data = malloc(channels * 4);
  fill(data, format, channels, seed);
  copy_array(array, data, 1);
  free(data);
}

static CUresult make(const Kind* kind, int format, unsigned channels, unsigned seed,
                     Resource* made) {
  const int numbered =
      format >= kUnorm8 ? format + (channels == 4 ? 2 : (int)channels - 1) : format;
  ArrayDesc desc = {kind->w, kind->h, kind->d, numbered, channels, kind->flags};
  const size_t pitch = 512, rows = kind->h ? kind->h : 2;
  CUresult code;
  memset(made, 0, sizeof *made);
  if (kind->resource == kArray) {
    if ((code = cuArray3DCreate_v2(&made->desc.of.array, &desc))) return code;
    fill_array(made->desc.of.array, format, seed);
  } else if (kind->resource == kMipmapped) {
    made->desc.type = 1;
    if ((code = cuMipmappedArrayCreate(&made->desc.of.mipmap, &desc, kLevels))) return code;
    for (unsigned i = 0; i < kLevels; ++i) {
      CUarray level;
      NEED(cuMipmappedArrayGetLevel(&level, made->desc.of.mipmap, i));
      fill_array(level, format, seed * kLevels + i);
    }
  } else {
    void* data = malloc(pitch * rows);
    fill(data, format, pitch * rows / channel_bytes(format), seed);
    NEED(cuMemAlloc_v2(&made->memory, pitch * rows));
    NEED(cuMemcpyHtoD_v2(made->memory, data, pitch * rows));
    free(data);
    const int pitched = kind->resource == kPitch;
    made->desc.type = pitched ? 3 : 2;
    made->desc.of.linear.address = made->memory;
    made->desc.of.linear.format = numbered;
    made->desc.of.linear.channels = channels;
    made->desc.of.linear.bytes = pitched ? kind->w : kind->w * channels * channel_bytes(format);
    if (pitched) {
      const size_t extent[2] = {kind->h, pitch};
      memcpy((char*)&made->desc.of.linear.bytes + sizeof(size_t), extent, sizeof extent);
    }
  }
  return 0;
}

static void release(const Kind* kind, Resource* made) {
  if (kind->resource == kArray) NEED(cuArrayDestroy(made->desc.of.array));
  if (kind->resource == kMipmapped) NEED(cuMipmappedArrayDestroy(made->desc.of.mipmap));
  if (made->memory) NEED(cuMemFree_v2(made->memory));
}

typedef struct {
  CUdeviceptr coordinates, out, scales[2]; /* the extents, and 1 */
} Buffers;

static Buffers make_buffers(const Kind* kind) {
  /* What gradients of infinite directions give is not known. */
  const int plain = !strcmp(kind->name, "cube gradients");
  Buffers made;
  float all[kThreads * kCoordinates];
  const float scales[6] = {(float)kind->w, (float)kind->h, (float)kind->d, 1, 1, 1};
  for (unsigned i = 0; i < kThreads * kCoordinates; ++i)
    all[i] = coordinate(i / kCoordinates, i % kCoordinates, plain);
  NEED(cuMemAlloc_v2(&made.coordinates, sizeof all + sizeof scales));
  NEED(cuMemcpyHtoD_v2(made.coordinates, all, sizeof all));
  made.scales[0] = made.coordinates + sizeof all;
  made.scales[1] = made.scales[0] + 12;
  NEED(cuMemcpyHtoD_v2(made.scales[0], scales, sizeof scales));
  NEED(cuMemAlloc_v2(&made.out, kEntries * kThreads * kMaxWords * 4));
  return made;
}

static void print_words(const unsigned* words, int count, int entry) {
  for (const unsigned* at = words; at < words + count; at += 4)
    printf("%d %d %08x %08x %08x %08x\n", entry, (int)(at - words) / 4, at[0], at[1], at[2], at[3]);
}

static void print_line(int line, int with_words) {
  static const unsigned counts[kChannelCounts] = {1, 2, 4};
  const int formats = sizeof kFormats / sizeof *kFormats;
  const Kind* kind = kKinds + line / kChannelCounts / formats;
  const Format* format = kFormats + line / kChannelCounts % formats;
  const unsigned channels = counts[line % kChannelCounts];
  const int bytes = kThreads * (kind->gathers ? 16 : 4) * 4;
  CUtexObject textures[kEntries];
  CUresult codes[kEntries];
  Resource resource;
  printf("%s | %s x%u |", kind->name, format->name, channels);
  const CUresult code = make(kind, format->format, channels, (unsigned)line, &resource);
  if (code) {
    printf(" !%d for the texels\n", code);
    return;
  }
  Buffers buffers = make_buffers(kind);
  CUfunction kernel = reader(kind, format->result);
  NEED(cuMemsetD8_v2(buffers.out, 0, kEntries * kThreads * kMaxWords * 4));
  for (int i = 0; i < kEntries; ++i) {
    TextureDesc how = {{i / 4, i / 4, i / 4},    i / 2 % 2, format->flags, 0, 0, 0.25f, 0, 9,
                       {0.25f, 0.5f, -0.75f, 1}, {0}};
    const int levels = kind->resource == kMipmapped;
    if (levels) how.mipmap_filter = i % 2;
    if (i % 2 || levels) how.flags |= kNormalized;
    codes[i] = cuTexObjectCreate(textures + i, &resource.desc, &how, NULL);
    if (codes[i]) continue;
    CUdeviceptr out = buffers.out + i * bytes;
    void* parameters[] = {textures + i, &buffers.coordinates, &out,
                          buffers.scales + (how.flags & kNormalized ? 1 : 0)};
    launch(kernel, 1, kThreads, parameters);
  }
  NEED(cuCtxSynchronize());
  static unsigned words[kEntries * kThreads * kMaxWords];
  NEED(cuMemcpyDtoH_v2(words, buffers.out, kEntries * bytes));
  for (int i = 0; i < kEntries; ++i) {
    if (codes[i]) {
      printf(" !%d", codes[i]);
      continue;
    }
    printf(" %08x", digest((char*)words + i * bytes, bytes));
    NEED(cuTexObjectDestroy(textures[i]));
  }
  putchar('\n');
  for (int i = 0; with_words && i < kEntries; ++i)
    if (!codes[i]) print_words(words + i * bytes / 4, bytes / 4, i);
  NEED(cuMemFree_v2(buffers.coordinates));
  NEED(cuMemFree_v2(buffers.out));
  release(kind, &resource);
}

int main(int count, char** arguments) {
  if (count != 3) return 2;
  begin_device();
  const int first = atoi(arguments[1]);
  if (!strcmp(arguments[2], "words")) {
    print_line(first, 1);
    return 0;
  }
  for (int line = atoi(arguments[2]); line < kLines; line += first) print_line(line, 0);
  return 0;
}
