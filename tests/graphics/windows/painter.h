/* What the window programs share: a kernel paints an OpenGL texture by a surface, the texture is
   drawn to the window, and the window's pixels are compared with the processor's. */
#define GL_GLEXT_PROTOTYPES
#include <GL/gl.h>
#include <GL/glext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 160
#define HEIGHT 120
#define FRAMES 5

typedef int CUresult;
typedef struct CUctx_st* CUcontext;
typedef struct CUmod_st* CUmodule;
typedef struct CUfunc_st* CUfunction;
typedef struct CUstream_st* CUstream;
typedef struct CUarray_st* CUarray;
typedef struct CUgraphicsResource_st* CUgraphicsResource;
extern CUresult cuInit(unsigned);
extern CUresult cuDevicePrimaryCtxRetain(CUcontext*, int);
extern CUresult cuCtxSetCurrent(CUcontext);
extern CUresult cuModuleLoadData(CUmodule*, const void*);
extern CUresult cuModuleGetFunction(CUfunction*, CUmodule, const char*);
extern CUresult cuGLGetDevices_v2(unsigned*, int*, unsigned, int);
extern CUresult cuGraphicsGLRegisterImage(CUgraphicsResource*, unsigned, unsigned, unsigned);
extern CUresult cuGraphicsMapResources(unsigned, CUgraphicsResource*, CUstream);
extern CUresult cuGraphicsUnmapResources(unsigned, CUgraphicsResource*, CUstream);
extern CUresult cuGraphicsUnregisterResource(CUgraphicsResource);
extern CUresult cuGraphicsSubResourceGetMappedArray(CUarray*, CUgraphicsResource, unsigned,
                                                    unsigned);
extern CUresult cuSurfObjectCreate(unsigned long long*, const void*);
extern CUresult cuSurfObjectDestroy(unsigned long long);
extern CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,
                               unsigned, unsigned, CUstream, void**, void**);

#define OK(call)                                               \
  do {                                                         \
    const int code = (call);                                   \
    if (code) {                                                \
      printf("line %d: %s gives %d\n", __LINE__, #call, code); \
      exit(1);                                                 \
    }                                                          \
  } while (0)

static const char kModule[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry paint(.param .u64 surface, .param .u32 frame) {\n"
    "  .reg .b64 %s; .reg .b32 %x, %y, %r, %g, %b, %f;\n"
    "  ld.param.u64 %s, [surface]; ld.param.u32 %f, [frame];\n"
    "  mov.u32 %x, %tid.x; mov.u32 %y, %ctaid.x;\n"
    "  mul.lo.u32 %r, %x, 3; add.u32 %r, %r, %f; and.b32 %r, %r, 255;\n"
    "  xor.b32 %g, %x, %y; and.b32 %g, %g, 255; shl.b32 %g, %g, 8;\n"
    "  mul.lo.u32 %b, %x, %y; add.u32 %b, %b, %f; and.b32 %b, %b, 255; shl.b32 %b, %b, 16;\n"
    "  or.b32 %r, %r, %g; or.b32 %r, %r, %b; or.b32 %r, %r, 0xff000000;\n"
    "  shl.b32 %x, %x, 2; sust.b.2d.b32.trap [%s, {%x, %y}], {%r};\n"
    "  ret;\n}\n";

static CUfunction paint;
static CUgraphicsResource resource;

/* With the window's context current. */
static void prepare(void) {
  CUcontext context;
  CUmodule module;
  GLuint texture, frame;
  unsigned count = 0;
  int device = -1;
  OK(cuInit(0));
  OK(cuDevicePrimaryCtxRetain(&context, 0));
  OK(cuCtxSetCurrent(context));
  OK(cuGLGetDevices_v2(&count, &device, 1, 1));
  OK(count != 1 || device != 0);
  OK(cuModuleLoadData(&module, kModule));
  OK(cuModuleGetFunction(&paint, module, "paint"));
  glGenTextures(1, &texture);
  glBindTexture(GL_TEXTURE_2D, texture);
  glTexStorage2D(GL_TEXTURE_2D, 1, GL_RGBA8, WIDTH, HEIGHT);
  glGenFramebuffers(1, &frame);
  glBindFramebuffer(GL_READ_FRAMEBUFFER, frame);
  glFramebufferTexture2D(GL_READ_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture, 0);
  OK(cuGraphicsGLRegisterImage(&resource, texture, GL_TEXTURE_2D, 2 | 4));
}

/* Paints and draws a frame and returns how many of its pixels are wrong. */
static int draw(int number) {
  struct {
    unsigned type;
    CUarray array;
    char rest[200];
  } over = {0, NULL, {0}};
  static unsigned char pixels[HEIGHT][WIDTH][4];
  unsigned long long surface;
  void* params[] = {&surface, &number};
  int wrong = 0;
  GLint frame;
  OK(cuGraphicsMapResources(1, &resource, NULL));
  OK(cuGraphicsSubResourceGetMappedArray(&over.array, resource, 0, 0));
  OK(cuSurfObjectCreate(&surface, &over));
  OK(cuLaunchKernel(paint, HEIGHT, 1, 1, WIDTH, 1, 1, 0, NULL, params, NULL));
  OK(cuGraphicsUnmapResources(1, &resource, NULL));
  OK(cuSurfObjectDestroy(surface));
  glBlitFramebuffer(0, 0, WIDTH, HEIGHT, 0, 0, WIDTH, HEIGHT, GL_COLOR_BUFFER_BIT, GL_NEAREST);
  /* The window's own pixels. */
  glGetIntegerv(GL_READ_FRAMEBUFFER_BINDING, &frame);
  glBindFramebuffer(GL_READ_FRAMEBUFFER, 0);
  glReadPixels(0, 0, WIDTH, HEIGHT, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
  glBindFramebuffer(GL_READ_FRAMEBUFFER, (GLuint)frame);
  for (int y = 0; y < HEIGHT; ++y)
    for (int x = 0; x < WIDTH; ++x)
      wrong += pixels[y][x][0] != ((x * 3 + number) & 255) || pixels[y][x][1] != ((x ^ y) & 255) ||
               pixels[y][x][2] != ((x * y + number) & 255);
  if (wrong) printf("frame %d: %d pixels are wrong\n", number, wrong);
  return wrong;
}

static void finish(int wrong) {
  OK(cuGraphicsUnregisterResource(resource));
  OK(glGetError() != GL_NO_ERROR);
  if (!wrong) printf("good\n");
  exit(wrong != 0);
}
