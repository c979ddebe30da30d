/* Reads of textures that are declared sRGB, under border colours, whose results on another NVIDIA
 * device are public as hashes. ../expected/README.md says where they come from. */
#include <math.h>

#include "arrays.h"

enum { kSide = 12, kReads = kSide * kSide };
typedef enum { kPlane, kLine, kVolume, kLayer, kCube, kLevels, kGather0, kGather3, kNormal } Kind;
enum { kWrap, kClamp, kMirror, kBorder };
typedef struct {
  const char* name;
  Kind kind;
  unsigned linear, address; /* of y and z; x has the border */
} Read;
static const Read kAll[] = {
    {"2d point", kPlane, 0, kBorder},       {"2d point clamp-y", kPlane, 0, kClamp},
    {"1d point", kLine, 0, kBorder},        {"gather0", kGather0, 0, kBorder},
    {"gather3", kGather3, 0, kBorder},      {"2d linear", kPlane, 1, kBorder},
    {"2d linear wrap-y", kPlane, 1, kWrap}, {"1d linear", kLine, 1, kBorder},
    {"norm linear", kNormal, 1, kBorder},   {"3d linear", kVolume, 1, kBorder},
    {"layered linear", kLayer, 1, kBorder}, {"cube linear", kCube, 1, kBorder},
    {"mip linear", kLevels, 1, kBorder}};
static const struct {
  const char* name;
  int format;
  unsigned channels, as_integer, reads; /* the first ones of the list above */
} kFormats[] = {{"u8x4n", kU8, 4, 0, 13},  {"u8x2n", kU8, 2, 0, 13},  {"u8x1n", kU8, 1, 0, 9},
                {"u16x2n", kU16, 2, 0, 9}, {"s16x2n", kS16, 2, 0, 9}, {"f32x4", kFloat, 4, 0, 9},
                {"f16x4", kHalf, 4, 0, 9}, {"u8x4", kU8, 4, 1, 5}};
static const float kBorders[][4] = {
    {0, 0, 0, 0}, {0.25f, 0.5f, 0.1f, 0.7f}, {0.6f, 0.3333f, 0.99f, 0.01f}};

/* Halves hold these values exactly: whole 256ths below 4. */
static uint16_t half_of(float value) {
  uint32_t word;
  memcpy(&word, &value, 4);
  if (value == 0) return (uint16_t)(word >> 16);
  return (uint16_t)((word >> 16 & 0x8000) | ((word >> 13 & 0x3ffff) - (112u << 10)));
}

static void fill_texels(CUarray array, unsigned salt) {
  ArrayDesc desc;
  unsigned char texels[4 * 4 * 6 * 16], *at = texels;
  NEED(cuArray3DGetDescriptor_v2(&desc, array));
  const unsigned count = (unsigned)(desc.width * (desc.height ? desc.height : 1) *
                                    (desc.depth ? desc.depth : 1)),
                 bytes = channel_bytes(desc.format);
  for (unsigned i = 0; i < count * desc.channels; ++i, at += bytes) {
    const unsigned word = (i / desc.channels * 4 + i % desc.channels) * 2654435761u + salt;
    const float value = (float)((int)(word >> 20) % 2001 - 1000) / 256.0f;
    const uint16_t half = half_of(value);
    const unsigned bits = word >> 7;
    memcpy(at,
           desc.format == kFloat  ? (const void*)&value
           : desc.format == kHalf ? (const void*)&half
                                  : &bits,
           bytes);
  }
  copy_array(array, texels, 1);
}

static void coordinates(Kind kind, float* all) {
  static const float along[kSide] = {-1.25f, -0.6f, -0.1f, 0.2f,  0.5f, 0.75f,
                                     1.9f,   3.3f,  3.6f,  3.95f, 4.4f, 5.5f};
  for (int i = 0; i < kReads; ++i, all += 4) {
    const float x = along[i % kSide], y = along[i / kSide];
    all[0] = x;
    all[1] = y;
    all[2] = all[3] = 0;
    if (kind == kVolume) all[2] = fmaf(x, 0.7f, -(y * 0.3f));
    if (kind == kCube) all[0] = 1, all[1] = (x - 2.0f) * 0.4f, all[2] = (y - 2.0f) * 0.4f;
    if (kind == kLevels) all[0] = x * 0.5f, all[1] = y * 0.5f;
    if (kind == kNormal) all[0] = x * 0.25f, all[1] = y * 0.25f;
  }
}

static CUfunction reader(Kind kind, const char* result) {
  static const struct {
    const char *name, *operands;
  } reads[] = {{"tex.2d", "{%x, %y}"},
               {"tex.1d", "{%x}"},
               {"tex.3d", "{%x, %y, %z, %z}"},
               {"tex.a2d", "{%layer, %x, %y, %y}"},
               {"tex.cube", "{%x, %y, %z, %z}"},
               {"tex.level.2d", "{%x, %y}"},
               {"tld4.r.2d", "{%x, %y}"},
               {"tld4.a.2d", "{%x, %y}"},
               {"tex.2d", "{%x, %y}"}};
  char text[2048];
  snprintf(text, sizeof text,
           ".version 7.0\n.target sm_75\n.address_size 64\n"
           ".visible .entry look(.param .u64 texture, .param .u64 from, .param .u64 to) {\n"
           "  .reg .u64 %%t, %%from, %%to; .reg .u32 %%i, %%layer, %%r<4>;\n"
           "  .reg .f32 %%x, %%y, %%z, %%w;\n"
           "  ld.param.u64 %%t, [texture]; ld.param.u64 %%from, [from]; ld.param.u64 %%to, [to];\n"
           "  mov.u32 %%i, %%tid.x; mov.u32 %%layer, 1; mad.wide.u32 %%from, %%i, 16, %%from;\n"
           "  mad.wide.u32 %%to, %%i, 16, %%to;\n"
           "  ld.global.v4.f32 {%%x, %%y, %%z, %%w}, [%%from];\n"
           "  %s.v4.%s.f32 {%%r0, %%r1, %%r2, %%r3}, [%%t, %s]%s;\n"
           "  st.global.v4.u32 [%%to], {%%r0, %%r1, %%r2, %%r3};\n  ret;\n}\n",
           reads[kind].name, result, reads[kind].operands, kind == kLevels ? ", 0f3F000000" : "");
  return load(text, "look");
}

static void read_case(unsigned f, unsigned border, const Read* read) {
  static const ArrayDesc extents[] = {
      {4, 4, 0, 0, 0, kGather},  {4, 0, 0, 0, 0, 0},        {4, 4, 4, 0, 0, 0},
      {4, 4, 2, 0, 0, kLayered}, {4, 4, 6, 0, 0, kCubemap}, {4, 4, 0, 0, 0, 0},
      {4, 4, 0, 0, 0, kGather},  {4, 4, 0, 0, 0, kGather},  {4, 4, 0, 0, 0, 0}};
  const Kind kind = read->kind;
  ArrayDesc desc = extents[kind];
  ResourceDesc resource;
  float places[4 * kReads];
  unsigned words[4 * kReads];
  CUdeviceptr from, to;
  CUtexObject texture;
  memset(&resource, 0, sizeof resource);
  desc.format = kFormats[f].format;
  desc.channels = kFormats[f].channels;
  if (kind == kLevels) {
    resource.type = 1;
    NEED(cuMipmappedArrayCreate(&resource.of.mipmap, &desc, 2));
    for (unsigned i = 0; i < 2; ++i) {
      CUarray level;
      NEED(cuMipmappedArrayGetLevel(&level, resource.of.mipmap, i));
      fill_texels(level, 7 + i);
    }
  } else {
    NEED(cuArray3DCreate_v2(&resource.of.array, &desc));
    fill_texels(resource.of.array, 7);
  }
  TextureDesc how = {{kBorder, read->address, read->address},
                     read->linear,
                     16 | kFormats[f].as_integer | (kind == kCube || kind == kNormal ? 2 : 0),
                     0,
                     kind == kLevels,
                     0,
                     0,
                     kind == kLevels,
                     {0},
                     {0}};
  memcpy(how.border, kBorders[border], sizeof how.border);
  NEED(cuTexObjectCreate(&texture, &resource, &how, NULL));
  coordinates(kind, places);
  NEED(cuMemAlloc_v2(&from, sizeof places));
  NEED(cuMemAlloc_v2(&to, sizeof words));
  NEED(cuMemcpyHtoD_v2(from, places, sizeof places));
  void* parameters[] = {&texture, &from, &to};
  launch(reader(kind, kFormats[f].as_integer ? "u32" : "f32"), 1, kReads, parameters);
  NEED(cuMemcpyDtoH_v2(words, to, sizeof words));
  unsigned long long hash = 1469598103934665603ull;
  for (int i = 0; i < 4 * kReads; ++i) hash = (hash ^ words[i]) * 1099511628211ull;
  printf("%s b%u %s: %016llx\n", kFormats[f].name, border, read->name, hash);
  NEED(cuTexObjectDestroy(texture));
  NEED(cuMemFree_v2(from));
  NEED(cuMemFree_v2(to));
  if (kind == kLevels) NEED(cuMipmappedArrayDestroy(resource.of.mipmap));
  if (kind != kLevels) NEED(cuArrayDestroy(resource.of.array));
}

int main(void) {
  begin_device();
  for (unsigned f = 0; f < sizeof kFormats / sizeof *kFormats; ++f)
    for (unsigned border = 0; border < 3; ++border)
      for (unsigned i = 0; i < kFormats[f].reads; ++i) read_case(f, border, kAll + i);
  return 0;
}
