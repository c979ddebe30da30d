/* Images of every target, format and flag. */
typedef struct {
  const char* name;
  unsigned internal, external, type;
  unsigned texel; /* bytes; 0: no texels are compared */
} ImageFormat;
#define TEN(name, external, integer, n, a, b, c, d, e, f, g, h, i, j)                     \
  {name "8", a, external, 0x1401, n}, {name "16", b, external, 0x1403, 2 * n},            \
      {name "16F", c, external, 0x140b, 2 * n}, {name "32F", d, external, 0x1406, 4 * n}, \
      {name "8I", e, integer, 0x1400, n}, {name "8UI", f, integer, 0x1401, n},            \
      {name "16I", g, integer, 0x1402, 2 * n}, {name "16UI", h, integer, 0x1403, 2 * n},  \
      {name "32I", i, integer, 0x1404, 4 * n}, {name "32UI", j, integer, 0x1405, 4 * n},
static const ImageFormat kImageFormats[] = {
    TEN("R", 0x1903, 0x8d94, 1, 0x8229, 0x822a, 0x822d, 0x822e, 0x8231, 0x8232, 0x8233, 0x8234,
        0x8235, 0x8236) TEN("RG", 0x8227, 0x8228, 2, 0x822b, 0x822c, 0x822f, 0x8230, 0x8237, 0x8238,
                            0x8239, 0x823a, 0x823b, 0x823c)
        TEN("RGBA", 0x1908, 0x8d99, 4, 0x8058, 0x805b, 0x881a, 0x8814, 0x8d8e, 0x8d7c, 0x8d88,
            0x8d76, 0x8d82, 0x8d70) TEN("LUMINANCE", 0x1909, 0x8d9c, 1, 0x8040, 0x8042, 0x881e,
                                        0x8818, 0x8d92, 0x8d80, 0x8d8c, 0x8d7a, 0x8d86, 0x8d74)
            TEN("ALPHA", 0x1906, 0x8d97, 1, 0x803c, 0x803e, 0x881c, 0x8816, 0x8d90, 0x8d7e, 0x8d8a,
                0x8d78, 0x8d84, 0x8d72)
                TEN("LUMINANCE_ALPHA", 0x190a, 0x8d9d, 2, 0x8045, 0x8048, 0x881f, 0x8819, 0x8d93,
                    0x8d81, 0x8d8d, 0x8d7b, 0x8d87, 0x8d75)
                    TEN("INTENSITY", 0x1903, 0x8d94, 1, 0x804b, 0x804d, 0x881d, 0x8817, 0x8d91,
                        0x8d7f, 0x8d8b, 0x8d79, 0x8d85, 0x8d73){"RED", 0x1903, 0x1903, 0x1401, 1},
    {"RG", 0x8227, 0x8227, 0x1401, 2},
    {"RGB", 0x1907, 0x1908, 0x1401, 0},
    {"RGBA", 0x1908, 0x1908, 0x1401, 4},
    {"LUMINANCE", 0x1909, 0x1909, 0x1401, 1},
    {"ALPHA", 0x1906, 0x1906, 0x1401, 1},
    {"LUMINANCE_ALPHA", 0x190a, 0x190a, 0x1401, 2},
    {"INTENSITY", 0x8049, 0x1903, 0x1401, 1},
    {"1", 1, 0x1909, 0x1401, 1},
    {"2", 2, 0x190a, 0x1401, 2},
    {"3", 3, 0x1908, 0x1401, 0},
    {"4", 4, 0x1908, 0x1401, 4},
    {"RGB8", 0x8051, 0x1908, 0x1401, 0},
    {"RGB16", 0x8054, 0x1908, 0x1403, 0},
    {"RGB16F", 0x881b, 0x1907, 0x140b, 0},
    {"RGB32F", 0x8815, 0x1908, 0x1406, 0},
    {"RGB8UI", 0x8d7d, 0x8d99, 0x1401, 0},
    {"RGB32UI", 0x8d71, 0x8d99, 0x1405, 0},
    {"R8_SNORM", 0x8f94, 0x1903, 0x1400, 0},
    {"RG8_SNORM", 0x8f95, 0x8227, 0x1400, 0},
    {"RGBA8_SNORM", 0x8f97, 0x1908, 0x1400, 0},
    {"R16_SNORM", 0x8f98, 0x1903, 0x1402, 0},
    {"RG16_SNORM", 0x8f99, 0x8227, 0x1402, 0},
    {"RGBA16_SNORM", 0x8f9b, 0x1908, 0x1402, 0},
    {"SRGB8", 0x8c41, 0x1908, 0x1401, 0},
    {"SRGB8_ALPHA8", 0x8c43, 0x1908, 0x1401, 4},
    {"RGB10_A2", 0x8059, 0x1908, 0x8368, 0},
    {"RGB10_A2UI", 0x906f, 0x8d99, 0x8368, 0},
    {"R11F_G11F_B10F", 0x8c3a, 0x1907, 0x1406, 0},
    {"RGB9_E5", 0x8c3d, 0x1907, 0x1406, 0},
    {"RGB565", 0x8d62, 0x1907, 0x1401, 0},
    {"RGBA4", 0x8056, 0x1908, 0x1401, 0},
    {"RGB5_A1", 0x8057, 0x1908, 0x1401, 0},
    {"RGBA12", 0x805a, 0x1908, 0x1403, 0},
    {"LUMINANCE4", 0x803f, 0x1909, 0x1401, 0},
    {"ALPHA4", 0x803b, 0x1906, 0x1401, 0},
    {"LUMINANCE6_ALPHA2", 0x8044, 0x190a, 0x1401, 0},
    {"SLUMINANCE8", 0x8c47, 0x1909, 0x1401, 0},
    {"DEPTH16", 0x81a5, 0x1902, 0x1403, 0},
    {"DEPTH24", 0x81a6, 0x1902, 0x1405, 0},
    {"DEPTH32F", 0x8cac, 0x1902, 0x1406, 0},
    {"DEPTH24_STENCIL8", 0x88f0, 0x84f9, 0x84fa, 0},
    {"DEPTH32F_STENCIL8", 0x8cad, 0x84f9, 0x8dad, 0},
    {"STENCIL8", 0x8d48, 0x1901, 0x1401, 0},
    {"DXT1", 0x83f0, 0x1907, 0x1401, 0},
    {"DXT5", 0x83f3, 0x1908, 0x1401, 0},
    {"RED_RGTC1", 0x8dbb, 0x1903, 0x1401, 0},
    {"RGBA_BPTC", 0x8e8c, 0x1908, 0x1401, 0}};
enum { kFormats = sizeof kImageFormats / sizeof *kImageFormats };

typedef struct {
  const char* name;
  unsigned target;
  int width, height, depth, levels;
} Shape;
static const Shape kShapes[] = {{"2D", GL_TEXTURE_2D_, 13, 9, 1, 4},
                                {"rectangle", GL_RECTANGLE_, 13, 9, 1, 1},
                                {"cube", GL_CUBE_, 8, 8, 6, 4},
                                {"3D", GL_TEXTURE_3D_, 12, 7, 5, 4},
                                {"array", GL_2D_ARRAY_, 13, 9, 5, 4},
                                {"1D", GL_TEXTURE_1D_, 13, 1, 1, 4},
                                {"1D array", GL_1D_ARRAY_, 13, 5, 1, 4},
                                {"cube array", GL_CUBE_ARRAY_, 8, 8, 12, 4},
                                {"samples", GL_MULTISAMPLE_, 13, 9, 1, 1},
                                {"buffer", GL_TEXTURE_BUFFER_, 64, 1, 1, 1},
                                {"renderbuffer", GL_RENDERBUFFER_, 13, 9, 1, 1}};
enum { kShapeCount = sizeof kShapes / sizeof *kShapes, kCompared = 5 };

static int part(int whole, int level) { return whole >> level ? whole >> level : 1; }
static size_t level_bytes(const Shape* s, const ImageFormat* f, int level) {
  int depth = s->target == GL_TEXTURE_3D_ ? part(s->depth, level) : s->depth;
  return (size_t)part(s->width, level) * (size_t)part(s->height, level) * (size_t)depth * f->texel;
}

/* One level of the bound texture. */
static void specify(const Shape* s, const ImageFormat* f, int level, const unsigned char* from) {
  int w = part(s->width, level), h = part(s->height, level), internal = (int)f->internal;
  switch (s->target) {
    case GL_TEXTURE_1D_:
      gl.TexImage1D(s->target, level, internal, w, 0, f->external, f->type, from);
      break;
    case GL_1D_ARRAY_: h = s->height; /* fallthrough */
    case GL_TEXTURE_2D_:
    case GL_RECTANGLE_:
      gl.TexImage2D(s->target, level, internal, w, h, 0, f->external, f->type, from);
      break;
    case GL_CUBE_:
      for (unsigned face = 0; face < 6; ++face)
        gl.TexImage2D(GL_FACE_ + face, level, internal, w, h, 0, f->external, f->type,
                      from ? from + face * (level_bytes(s, f, level) / 6) : NULL);
      break;
    case GL_MULTISAMPLE_: gl.TexImage2DMultisample(s->target, 4, f->internal, w, h, 1); break;
    case GL_TEXTURE_BUFFER_: gl.TexBuffer(s->target, f->internal, make_buffer(1024)); break;
    default:
      gl.TexImage3D(s->target, level, internal, w, h,
                    s->target == GL_TEXTURE_3D_ ? part(s->depth, level) : s->depth, 0, f->external,
                    f->type, from);
  }
}

/* A whole image without contents; 0: OpenGL does not make it. It stays bound. */
static unsigned make_image(const Shape* s, const ImageFormat* f) {
  unsigned made;
  while (gl.GetError()) {
  }
  if (s->target == GL_RENDERBUFFER_) {
    gl.GenRenderbuffers(1, &made);
    gl.BindRenderbuffer(s->target, made);
    gl.RenderbufferStorage(s->target, f->internal, s->width, s->height);
  } else {
    gl.GenTextures(1, &made);
    gl.BindTexture(s->target, made);
    for (int level = 0; level < s->levels; ++level) specify(s, f, level, NULL);
  }
  return gl.GetError() ? 0 : made;
}

static const ImageFormat* format_of(unsigned internal) {
  for (int i = 0; i < kFormats; ++i)
    if (kImageFormats[i].internal == internal) return &kImageFormats[i];
  return NULL;
}

/* What CUDA has of a mapped image: its first layer, in one mapping, and the whole, in another. */
static void tell_arrays(const Shape* s, const char* indent) {
  ArrayDesc desc;
  CUresult code = sub(0, 0);
  memset(&desc, 0, sizeof desc);
  if (!code) code = cuArray3DGetDescriptor_v2(&desc, array);
  printf("%slayer: %s %zu x %zu x %zu, format %d x %u, flags %u", indent, name_of(code), desc.width,
         desc.height, desc.depth, desc.format, desc.channels, desc.flags);
  OK(unmap());
  OK(map());
  code = cuGraphicsResourceGetMappedMipmappedArray(&mipmap, resource);
  memset(&desc, 0, sizeof desc);
  CUarray level = NULL;
  if (!code) code = cuMipmappedArrayGetLevel(&level, mipmap, 0);
  if (!code) code = cuArray3DGetDescriptor_v2(&desc, level);
  if (s->target == GL_CUBE_) desc.depth = 0;
  printf("; whole: %s %zu x %zu x %zu, flags %u", name_of(code), desc.width, desc.height,
         desc.depth, desc.flags);
  unsigned levels = 0;
  while (!code && levels < 16 && !cuMipmappedArrayGetLevel(&level, mipmap, levels)) ++levels;
  printf(", %u levels\n", levels);
}

static void delete_image(const Shape* s, unsigned made) {
  if (s->target == GL_RENDERBUFFER_)
    gl.DeleteRenderbuffers(1, &made);
  else
    gl.DeleteTextures(1, &made);
}

static void tell_image(const Shape* s, const ImageFormat* f, unsigned flags) {
  unsigned made = make_image(s, f);
  CUresult code = cuGraphicsGLRegisterImage(&resource, made, s->target, flags);
  printf("%-12s flags %u: %s", s->name, flags, name_of(code));
  if (code) {
    printf("\n");
  } else {
    OK(map());
    tell_arrays(s, " ");
    OK(unmap());
    OK(cuGraphicsUnregisterResource(resource));
  }
  fflush(stdout);
  delete_image(s, made);
}

static void image_flags(void) {
  start();
  make_context(NULL);
  for (int i = 0; i < kShapeCount; ++i)
    for (unsigned flags = 0; flags < 18; ++flags)
      tell_image(&kShapes[i], format_of(GL_RGBA8_), flags);
}

/* CUDA's format and flags of an image; 0 where it is not shared, or OpenGL has none such. */
static int tell_format(const Shape* s, const ImageFormat* f, unsigned flags) {
  unsigned made = make_image(s, f);
  if (!made || cuGraphicsGLRegisterImage(&resource, made, s->target, flags)) return 0;
  ArrayDesc desc;
  memset(&desc, 0, sizeof desc);
  OK(map());
  OK(sub(0, 0));
  OK(cuArray3DGetDescriptor_v2(&desc, array));
  printf(" %s:%d*%u/%u", s->name, desc.format, desc.channels, desc.flags);
  OK(unmap());
  OK(cuGraphicsUnregisterResource(resource));
  delete_image(s, made);
  return 1;
}

static void formats(void) {
  start();
  make_context(NULL);
  for (int f = 0; f < kFormats; ++f) {
    printf("%-18s", kImageFormats[f].name);
    int shared = 0;
    for (int i = 0; i < kShapeCount; ++i)
      shared += tell_format(&kShapes[i], &kImageFormats[f], kShapes[i].depth > 1 ? 4 : 0);
    printf("%s\n", shared ? "" : " not shared");
    fflush(stdout);
  }
}

/* Levels, completeness and names that are not what the target says. */
static void shapes(void) {
  unsigned made, empty;
  const ImageFormat* rgba = format_of(GL_RGBA8_);
  start();
  make_context(NULL);
  texture = make_texture(8, 4);
  TELL(cuGraphicsGLRegisterImage(&resource, texture, GL_TEXTURE_3D_, 0));
  TELL(cuGraphicsGLRegisterImage(&resource, texture, GL_RECTANGLE_, 0));
  TELL(cuGraphicsGLRegisterImage(&resource, texture, GL_FACE_, 0));
  TELL(cuGraphicsGLRegisterImage(&resource, texture, GL_RENDERBUFFER_, 0));
  TELL(cuGraphicsGLRegisterImage(&resource, texture, 0, 0));
  TELL(cuGraphicsGLRegisterImage(&resource, texture + 100, GL_TEXTURE_2D_, 0));
  TELL(cuGraphicsGLRegisterImage(&resource, 0, GL_TEXTURE_2D_, 0));
  TELL(cuGraphicsGLRegisterImage(NULL, texture, GL_TEXTURE_2D_, 0));
  gl.GenTextures(1, &empty);
  TELL(cuGraphicsGLRegisterImage(&resource, empty, GL_TEXTURE_2D_, 0));
  gl.BindTexture(GL_TEXTURE_2D_, empty);
  TELL(cuGraphicsGLRegisterImage(&resource, empty, GL_TEXTURE_2D_, 0));
  gl.GenRenderbuffers(1, &made);
  TELL(cuGraphicsGLRegisterImage(&resource, made, GL_RENDERBUFFER_, 0));
  gl.BindRenderbuffer(GL_RENDERBUFFER_, made);
  gl.RenderbufferStorageMultisample(GL_RENDERBUFFER_, 4, GL_RGBA8_, 8, 8);
  TELL(cuGraphicsGLRegisterImage(&resource, made, GL_RENDERBUFFER_, 0));
  /* One level of a texture whose filter wants all; then the filter that does not. */
  const Shape one = {"2D", GL_TEXTURE_2D_, 16, 8, 1, 1};
  made = make_image(&one, rgba);
  TELL(cuGraphicsGLRegisterImage(&resource, made, GL_TEXTURE_2D_, 0));
  TELL(map());
  tell_arrays(&one, "  ");
  TELL(unmap());
  TELL(cuGraphicsUnregisterResource(resource));
  nearest(GL_TEXTURE_2D_);
  TELL(cuGraphicsGLRegisterImage(&resource, made, GL_TEXTURE_2D_, 0));
  TELL(map());
  tell_arrays(&one, "  ");
  TELL(unmap());
  TELL(cuGraphicsUnregisterResource(resource));
  /* Levels 0 and 2 without the one between; a base level; immutable levels; a border. */
  const Shape three = {"2D", GL_TEXTURE_2D_, 16, 8, 1, 3};
  specify(&three, rgba, 2, NULL);
  TELL(cuGraphicsGLRegisterImage(&resource, made, GL_TEXTURE_2D_, 0));
  made = make_image(&three, rgba);
  gl.TexParameteri(GL_TEXTURE_2D_, 0x813c, 1);
  TELL(cuGraphicsGLRegisterImage(&resource, made, GL_TEXTURE_2D_, 0));
  TELL(map());
  tell_arrays(&one, "  ");
  TELL(unmap());
  made = make_image(&three, rgba);
  gl.TexParameteri(GL_TEXTURE_2D_, 0x813d, 1);
  TELL(cuGraphicsGLRegisterImage(&resource, made, GL_TEXTURE_2D_, 0));
  TELL(map());
  tell_arrays(&one, "  ");
  TELL(unmap());
  gl.GenTextures(1, &made);
  gl.BindTexture(GL_TEXTURE_2D_, made);
  gl.TexStorage2D(GL_TEXTURE_2D_, 3, GL_RGBA8_, 16, 8);
  TELL(cuGraphicsGLRegisterImage(&resource, made, GL_TEXTURE_2D_, 4));
  TELL(map());
  tell_arrays(&one, "  ");
  TELL(sub(0, 2));
  TELL(sub(0, 3));
  TELL(sub(1, 0));
  TELL(unmap());
  /* Layers and faces beyond. */
  for (int i = 2; i < kCompared; ++i) {
    made = make_image(&kShapes[i], rgba);
    TELL(cuGraphicsGLRegisterImage(&resource, made, kShapes[i].target, 0));
    TELL(map());
    printf("%s\n", kShapes[i].name);
    TELL(sub((unsigned)kShapes[i].depth - 1, 0));
    TELL(sub((unsigned)kShapes[i].depth, 0));
    TELL(sub(3, 3));
    TELL(sub(0, 4));
    char text[80];
    snprintf(text, sizeof text, "the whole beside layers, %s", kShapes[i].name);
    tell(text, cuGraphicsResourceGetMappedMipmappedArray(&mipmap, resource));
    TELL(unmap());
  }
}

static unsigned long long hash(const unsigned char* bytes, size_t count) {
  unsigned long long sum = 14695981039346656037ULL;
  for (size_t i = 0; i < count; ++i) sum = (sum ^ bytes[i]) * 1099511628211ULL;
  return sum;
}
/* Prints nothing where both are the same. */
static void tell_bytes(const char* what, const unsigned char* got, const unsigned char* expected,
                       size_t count) {
  if (memcmp(got, expected, count)) printf("%s %016llx ", what, hash(got, count));
}
/* A level of the mapped image; a cube's by its faces. */
static CUresult copy_level(CUmipmappedArray whole, const Shape* s, const ImageFormat* f, int level,
                           unsigned char* bytes, int to_array) {
  const unsigned faces = s->target == GL_CUBE_ ? 6 : 1;
  CUresult code = 0;
  for (unsigned face = 0; face < faces && !code; ++face) {
    CUarray of = NULL;
    code = faces == 6 ? cuGraphicsSubResourceGetMappedArray(&of, resource, face, (unsigned)level)
                      : cuMipmappedArrayGetLevel(&of, whole, (unsigned)level);
    Copy3D c;
    memset(&c, 0, sizeof c);
    c.width = (size_t)part(s->width, level) * f->texel;
    c.height = (size_t)part(s->height, level);
    c.depth = (size_t)(s->target == GL_TEXTURE_3D_ ? part(s->depth, level) : s->depth) / faces;
    c.src_type = to_array ? 1 : 3;
    c.dst_type = to_array ? 3 : 1;
    c.src_host = c.dst_host = bytes + face * (level_bytes(s, f, level) / faces);
    c.src_array = c.dst_array = of;
    c.src_pitch = c.dst_pitch = c.width;
    c.src_height = c.dst_height = c.height;
    if (!code) code = cuMemcpy3D_v2(&c);
  }
  return code;
}
static void read_level(const Shape* s, const ImageFormat* f, int level, unsigned char* to) {
  const int faces = s->target == GL_CUBE_ ? 6 : 1;
  for (int face = 0; face < faces; ++face)
    gl.GetTexImage(faces == 6 ? GL_FACE_ + (unsigned)face : s->target, level, f->external, f->type,
                   to + (size_t)face * (level_bytes(s, f, level) / (size_t)faces));
}

/* Random bytes by OpenGL, as CUDA sees them; these reversed by CUDA, as OpenGL sees them. */
static void tell_texels(const Shape* s, const ImageFormat* f) {
  static unsigned char sent[4][16384], got[16384], back[16384];
  unsigned state = 12345, made;
  printf(" %s: ", s->name);
  made = make_image(s, f);
  for (int level = 0; made && level < s->levels; ++level) {
    for (size_t i = 0; i < level_bytes(s, f, level); ++i)
      sent[level][i] = (unsigned char)((state = state * 1664525 + 1013904223) >> 24);
    specify(s, f, level, sent[level]);
    read_level(s, f, level, got);
    tell_bytes("OpenGL", got, sent[level], level_bytes(s, f, level));
  }
  if (!made || gl.GetError() || cuGraphicsGLRegisterImage(&resource, made, s->target, 0)) {
    printf("not shared");
    return;
  }
  OK(map());
  CUmipmappedArray whole = NULL;
  if (s->target != GL_CUBE_) OK(cuGraphicsResourceGetMappedMipmappedArray(&whole, resource));
  for (int level = 0; level < s->levels; ++level) {
    const size_t bytes = level_bytes(s, f, level);
    OK(copy_level(whole, s, f, level, got, 0));
    tell_bytes("CUDA", got, sent[level], bytes);
    for (size_t i = 0; i < bytes; i += f->texel)
      memcpy(back + bytes - i - f->texel, sent[level] + i, f->texel);
    memcpy(sent[level], back, bytes);
    OK(copy_level(whole, s, f, level, sent[level], 1));
  }
  OK(unmap());
  for (int level = 0; level < s->levels; ++level) {
    read_level(s, f, level, got);
    tell_bytes("back", got, sent[level], level_bytes(s, f, level));
  }
  OK(cuGraphicsUnregisterResource(resource));
  printf("compared");
  gl.DeleteTextures(1, &made);
}
static void texels(void) {
  start();
  make_context(NULL);
  for (int f = 0; f < kFormats; ++f) {
    if (!kImageFormats[f].texel) continue;
    printf("%s", kImageFormats[f].name);
    for (int i = 0; i < kCompared; ++i) tell_texels(&kShapes[i], &kImageFormats[f]);
    printf("\n");
    fflush(stdout);
  }
}
