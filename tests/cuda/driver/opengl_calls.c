/* What the functions that share OpenGL's objects answer, in both interfaces, to right calls and to
 * wrong ones. The first argument names a group; each has a process of its own. Ends with 77 where
 * there is no OpenGL without a window. */
#include <pthread.h>

#include "driver.h"
#include "opengl.h"

typedef struct CUgraphicsResource_st* Resource;
extern CUresult cuGLGetDevices_v2(unsigned*, CUdevice*, unsigned, int);
extern CUresult cuGraphicsGLRegisterBuffer(Resource*, unsigned, unsigned);
extern CUresult cuGraphicsGLRegisterImage(Resource*, unsigned, unsigned, unsigned);
extern CUresult cuGraphicsUnregisterResource(Resource);
extern CUresult cuGraphicsResourceSetMapFlags_v2(Resource, unsigned);
extern CUresult cuGraphicsMapResources(unsigned, Resource*, CUstream);
extern CUresult cuGraphicsUnmapResources(unsigned, Resource*, CUstream);
extern CUresult cuGraphicsResourceGetMappedPointer_v2(CUdeviceptr*, size_t*, Resource);
extern CUresult cuGraphicsSubResourceGetMappedArray(CUarray*, Resource, unsigned, unsigned);
extern CUresult cuGraphicsResourceGetMappedMipmappedArray(CUmipmappedArray*, Resource);
extern CUresult cuMipmappedArrayGetLevel(CUarray*, CUmipmappedArray, unsigned);
extern CUresult cuMipmappedArrayDestroy(CUmipmappedArray);
extern CUresult cuMemcpyDtoHAsync_v2(void*, CUdeviceptr, size_t, CUstream);
extern CUresult cuStreamBeginCapture_v2(CUstream, int);
extern CUresult cuStreamEndCapture(CUstream, CUgraph*);
extern CUresult cuGLRegisterBufferObject(unsigned);
extern CUresult cuGLMapBufferObject_v2(CUdeviceptr*, size_t*, unsigned);
extern CUresult cuGLUnmapBufferObject(unsigned);
extern CUresult cuGLUnregisterBufferObject(unsigned);
extern CUresult cuGLSetBufferObjectMapFlags(unsigned, unsigned);
extern CUresult cuGLInit(void);

static const char* name_of(CUresult code) {
  const char* name = "none";
  cuGetErrorName(code, &name);
  return name;
}
static void tell(const char* what, CUresult code) {
  printf("%-76s %s\n", what, name_of(code));
  fflush(stdout);
}
#define TELL(call) tell(#call, call)

static CUcontext cuda;
static Resource resource;
static CUstream stream;
static CUdeviceptr address;
static size_t size;
static CUarray array;
static CUmipmappedArray mipmap;
static unsigned buffer, texture;

static void start(void) {
  OK(cuInit(0));
  OK(cuDevicePrimaryCtxRetain(&cuda, 0));
  OK(cuCtxSetCurrent(cuda));
}
static unsigned make_buffer(size_t bytes) {
  unsigned made;
  gl.GenBuffers(1, &made);
  gl.BindBuffer(GL_ARRAY_BUFFER_, made);
  gl.BufferData(GL_ARRAY_BUFFER_, (ptrdiff_t)bytes, NULL, 0x88e4);
  gl.BindBuffer(GL_ARRAY_BUFFER_, 0);
  return made;
}
static void nearest(unsigned target) {
  gl.TexParameteri(target, 0x2800, GL_NEAREST_);
  gl.TexParameteri(target, 0x2801, GL_NEAREST_);
}
static unsigned make_texture(int width, int height) {
  unsigned made;
  gl.GenTextures(1, &made);
  gl.BindTexture(GL_TEXTURE_2D_, made);
  nearest(GL_TEXTURE_2D_);
  gl.TexImage2D(GL_TEXTURE_2D_, 0, GL_RGBA8_, width, height, 0, GL_RGBA_, GL_BYTES_, NULL);
  gl.BindTexture(GL_TEXTURE_2D_, 0);
  return made;
}
static CUresult map(void) { return cuGraphicsMapResources(1, &resource, NULL); }
static CUresult unmap(void) { return cuGraphicsUnmapResources(1, &resource, NULL); }
static CUresult sub(unsigned layer, unsigned level) {
  return cuGraphicsSubResourceGetMappedArray(&array, resource, layer, level);
}

static void before(void) {
  unsigned count;
  CUdevice device;
  make_current(NULL);
  TELL(cuGraphicsGLRegisterBuffer(&resource, 1, 0));
  TELL(cuGLGetDevices_v2(&count, &device, 1, 1));
  OK(cuInit(0));
  TELL(cuGraphicsGLRegisterBuffer(&resource, 1, 0));
  TELL(cuGraphicsGLRegisterImage(&resource, 1, GL_TEXTURE_2D_, 0));
  tell("map without a CUDA context", cuGraphicsMapResources(1, &resource, NULL));
  tell("unregister without a CUDA context", cuGraphicsUnregisterResource(NULL));
  tell("devices without a CUDA context", cuGLGetDevices_v2(&count, &device, 1, 1));
  start();
  TELL(cuGLGetDevices_v2(&count, &device, 1, 1));
  TELL(cuGraphicsGLRegisterBuffer(&resource, 1, 0));
  TELL(cuGraphicsGLRegisterBuffer(&resource, 0, 0));
  TELL(cuGraphicsGLRegisterBuffer(&resource, 1, 7));
  TELL(cuGraphicsGLRegisterBuffer(NULL, 1, 0));
  TELL(cuGraphicsGLRegisterImage(&resource, 1, GL_TEXTURE_2D_, 0));
  TELL(cuGraphicsGLRegisterImage(&resource, 1, GL_TEXTURE_2D_, 16));
  TELL(cuGraphicsGLRegisterImage(&resource, 1, 5, 0));
  TELL(cuGLInit());
}

static void devices(void) {
  unsigned count = 9;
  CUdevice found[2] = {-1, -1};
  make_context(NULL);
  TELL(cuGLGetDevices_v2(&count, found, 2, 1));
  start();
  for (int which = 1; which <= 3; ++which) {
    count = 9;
    found[0] = found[1] = -1;
    TELL(cuGLGetDevices_v2(&count, found, 2, which));
    printf("  %u devices: %d %d\n", count, found[0], found[1]);
  }
  TELL(cuGLGetDevices_v2(&count, NULL, 0, 1));
  printf("  %u devices\n", count);
  TELL(cuGLGetDevices_v2(&count, found, 2, 0));
  TELL(cuGLGetDevices_v2(&count, found, 2, 4));
  TELL(cuGLGetDevices_v2(&count, NULL, 1, 1));
  TELL(cuGLGetDevices_v2(NULL, found, 1, 1));
}

static void buffers(void) {
  unsigned empty, fixed, again;
  start();
  make_context(NULL);
  buffer = make_buffer(64);
  TELL(cuGraphicsGLRegisterBuffer(&resource, 12345, 0));
  TELL(cuGraphicsGLRegisterBuffer(&resource, 0, 0));
  TELL(cuGraphicsGLRegisterBuffer(NULL, buffer, 0));
  gl.GenBuffers(1, &empty);
  TELL(cuGraphicsGLRegisterBuffer(&resource, empty, 0));
  gl.BindBuffer(GL_ARRAY_BUFFER_, empty);
  TELL(cuGraphicsGLRegisterBuffer(&resource, empty, 0));
  gl.BufferData(GL_ARRAY_BUFFER_, 0, NULL, 0x88e4);
  TELL(cuGraphicsGLRegisterBuffer(&resource, empty, 0));
  for (unsigned flags = 0; flags < 34; ++flags) {
    char text[80];
    snprintf(text, sizeof text, "register a buffer with flags %u", flags);
    CUresult code = cuGraphicsGLRegisterBuffer(&resource, buffer, flags);
    tell(text, code);
    if (!code) OK(cuGraphicsUnregisterResource(resource));
  }
  gl.GenBuffers(1, &fixed);
  gl.BindBuffer(GL_ARRAY_BUFFER_, fixed);
  gl.BufferStorage(GL_ARRAY_BUFFER_, 64, NULL, 0);
  gl.BindBuffer(GL_ARRAY_BUFFER_, 0);
  TELL(cuGraphicsGLRegisterBuffer(&resource, fixed, 0));
  TELL(map());
  TELL(cuGraphicsResourceGetMappedPointer_v2(&address, &size, resource));
  printf("  %zu bytes\n", size);
  TELL(cuMemsetD8_v2(address, 7, 64));
  TELL(unmap());
  TELL(cuGraphicsUnregisterResource(resource));
  for (again = 1; again < 6; again += 2) {
    buffer = make_buffer(again);
    TELL(cuGraphicsGLRegisterBuffer(&resource, buffer, 0));
    TELL(map());
    TELL(cuGraphicsResourceGetMappedPointer_v2(&address, &size, resource));
    printf("  %zu bytes, aligned to 256: %d\n", size, (int)(address % 256 == 0));
    TELL(unmap());
    TELL(cuGraphicsUnregisterResource(resource));
  }
  TELL(cuGraphicsGLRegisterImage(&resource, buffer, GL_ARRAY_BUFFER_, 0));
  /* The same buffer twice. */
  Resource first, second;
  TELL(cuGraphicsGLRegisterBuffer(&first, buffer, 0));
  TELL(cuGraphicsGLRegisterBuffer(&second, buffer, 0));
  printf("  two resources: %d\n", first != second);
}

static void mapping(void) {
  Resource other, dead;
  start();
  make_context(NULL);
  buffer = make_buffer(64);
  OK(cuStreamCreate(&stream, 0));
  OK(cuGraphicsGLRegisterBuffer(&resource, buffer, 0));
  OK(cuGraphicsGLRegisterBuffer(&other, make_buffer(32), 0));
  OK(cuGraphicsGLRegisterBuffer(&dead, make_buffer(32), 0));
  TELL(cuGraphicsUnregisterResource(dead));
  Resource twice[] = {resource, resource}, both[] = {resource, other};
  TELL(cuGraphicsResourceGetMappedPointer_v2(&address, &size, resource));
  TELL(sub(0, 0));
  TELL(cuGraphicsResourceGetMappedMipmappedArray(&mipmap, resource));
  TELL(unmap());
  TELL(cuGraphicsMapResources(0, &resource, NULL));
  TELL(cuGraphicsMapResources(0, NULL, NULL));
  TELL(cuGraphicsUnmapResources(0, NULL, NULL));
  TELL(cuGraphicsMapResources(1, NULL, NULL));
  TELL(cuGraphicsUnmapResources(1, NULL, NULL));
  TELL(cuGraphicsMapResources(2, twice, NULL));
  TELL(cuGraphicsResourceGetMappedPointer_v2(&address, &size, resource));
  TELL(cuGraphicsUnmapResources(2, twice, NULL));
  TELL(unmap());
  TELL(map());
  TELL(map());
  TELL(cuGraphicsMapResources(2, both, NULL));
  TELL(cuGraphicsResourceGetMappedPointer_v2(&address, &size, other));
  TELL(cuGraphicsUnmapResources(2, both, NULL));
  TELL(cuGraphicsResourceGetMappedPointer_v2(&address, &size, resource));
  TELL(map());
  TELL(sub(0, 0));
  TELL(cuGraphicsResourceGetMappedMipmappedArray(&mipmap, resource));
  TELL(cuGraphicsResourceGetMappedPointer_v2(NULL, &size, resource));
  TELL(cuGraphicsResourceGetMappedPointer_v2(&address, NULL, resource));
  TELL(cuGraphicsResourceGetMappedPointer_v2(NULL, NULL, resource));
  for (unsigned flags = 0; flags < 6; ++flags)
    TELL(cuGraphicsResourceSetMapFlags_v2(resource, flags));
  TELL(cuMemFree_v2(address));
  TELL(unmap());
  TELL(unmap());
  for (unsigned flags = 0; flags < 10; ++flags)
    TELL(cuGraphicsResourceSetMapFlags_v2(resource, flags));
  /* Mapped and unmapped in different streams. */
  TELL(cuGraphicsMapResources(1, &resource, stream));
  TELL(cuGraphicsUnmapResources(1, &resource, NULL));
  TELL(cuGraphicsMapResources(2, both, stream));
  TELL(cuGraphicsUnmapResources(1, &other, stream));
  TELL(cuGraphicsUnregisterResource(resource));
  TELL(cuMemsetD8_v2(address, 1, 4));
  TELL(cuGraphicsUnregisterResource(other));
}

static void nothing(void) {
  start();
  make_context(NULL);
  TELL(cuGraphicsUnregisterResource(NULL));
  TELL(cuGraphicsMapResources(1, &resource, NULL));
  TELL(cuGraphicsUnmapResources(1, &resource, NULL));
  TELL(cuGraphicsResourceSetMapFlags_v2(NULL, 0));
  TELL(cuGraphicsResourceGetMappedPointer_v2(&address, &size, NULL));
  TELL(cuGraphicsSubResourceGetMappedArray(&array, NULL, 0, 0));
  TELL(cuGraphicsResourceGetMappedMipmappedArray(&mipmap, NULL));
}

static void arrays(void) {
  start();
  make_context(NULL);
  texture = make_texture(8, 4);
  OK(cuGraphicsGLRegisterImage(&resource, texture, GL_TEXTURE_2D_, 0));
  TELL(sub(0, 0));
  TELL(cuGraphicsResourceGetMappedMipmappedArray(&mipmap, resource));
  TELL(cuGraphicsResourceGetMappedPointer_v2(&address, &size, resource));
  TELL(map());
  TELL(sub(0, 0));
  TELL(sub(1, 0));
  TELL(sub(0, 1));
  TELL(cuGraphicsSubResourceGetMappedArray(NULL, resource, 0, 0));
  TELL(cuGraphicsResourceGetMappedMipmappedArray(NULL, resource));
  TELL(cuGraphicsResourceGetMappedPointer_v2(&address, &size, resource));
  TELL(cuGraphicsResourceGetMappedMipmappedArray(&mipmap, resource));
  TELL(cuMipmappedArrayGetLevel(&array, mipmap, 1));
  TELL(cuMipmappedArrayGetLevel(&array, mipmap, 0));
  TELL(cuGraphicsUnregisterResource(resource));
  TELL(sub(0, 0));
  TELL(unmap());
}

static void* in_thread(void* unused) {
  (void)unused;
  OK(cuCtxSetCurrent(cuda));
  TELL(map());
  TELL(unmap());
  tell("register in another thread", cuGraphicsGLRegisterBuffer(&resource, buffer, 0));
  TELL(cuGraphicsUnregisterResource(resource));
  return NULL;
}
static void threads(void) {
  pthread_t thread;
  Resource kept;
  start();
  make_context(NULL);
  buffer = make_buffer(64);
  OK(cuGraphicsGLRegisterBuffer(&resource, buffer, 0));
  kept = resource;
  pthread_create(&thread, NULL, in_thread, NULL);
  pthread_join(thread, NULL);
  resource = kept;
  TELL(map());
}

static void without(void) {
  unsigned count;
  CUdevice device;
  start();
  void* context = make_context(NULL);
  buffer = make_buffer(64);
  OK(cuGraphicsGLRegisterBuffer(&resource, buffer, 0));
  make_current(NULL);
  TELL(cuGLGetDevices_v2(&count, &device, 1, 1));
  tell("register without OpenGL's context", cuGraphicsGLRegisterBuffer(&resource, buffer, 0));
  TELL(map());
  TELL(cuGraphicsResourceSetMapFlags_v2(resource, 1));
  make_current(context);
  TELL(map());
  make_current(NULL);
  TELL(cuGraphicsResourceGetMappedPointer_v2(&address, &size, resource));
  TELL(unmap());
  make_current(context);
  tell("unmap again", unmap());
  make_current(NULL);
  TELL(cuGraphicsUnregisterResource(resource));
}

static void strangers(void) {
  start();
  void* context = make_context(NULL);
  buffer = make_buffer(64);
  OK(cuGraphicsGLRegisterBuffer(&resource, buffer, 0));
  make_context(NULL);
  make_buffer(64);
  tell("map in a stranger's context", map());
  tell("unmap in a stranger's context", unmap());
  make_context(context);
  TELL(map());
  TELL(unmap());
  make_current(context);
  TELL(map());
  TELL(unmap());
}

/* Objects that OpenGL changes after they were registered. */
static void resize(size_t bytes) {
  gl.BindBuffer(GL_ARRAY_BUFFER_, buffer);
  gl.BufferData(GL_ARRAY_BUFFER_, (ptrdiff_t)bytes, NULL, 0x88e4);
  gl.BindBuffer(GL_ARRAY_BUFFER_, 0);
}
static void register_new(void) {
  buffer = make_buffer(64);
  OK(cuGraphicsGLRegisterBuffer(&resource, buffer, 0));
}
static void tell_mapping(const char* what) {
  CUresult code = map();
  tell(what, code);
  if (!code) OK(unmap());
}
static void changed(void) {
  unsigned char bytes[128];
  start();
  make_context(NULL);
  register_new();
  resize(128);
  tell_mapping("map a buffer that has grown");
  resize(64);
  tell_mapping("map a buffer of the old size");
  TELL(map());
  OK(cuGraphicsResourceGetMappedPointer_v2(&address, &size, resource));
  OK(cuMemsetD8_v2(address, 7, 64));
  memset(bytes, 1, sizeof bytes);
  gl.BindBuffer(GL_ARRAY_BUFFER_, buffer);
  gl.BufferData(GL_ARRAY_BUFFER_, 128, bytes, 0x88e4);
  tell("unmap a buffer that has grown", unmap());
  gl.GetBufferSubData(GL_ARRAY_BUFFER_, 0, 128, bytes);
  printf("  it has %d and %d\n", bytes[0], bytes[127]);
  register_new();
  gl.DeleteBuffers(1, &buffer);
  tell_mapping("map a buffer that was deleted");
  TELL(cuGraphicsUnregisterResource(resource));
  texture = make_texture(8, 4);
  OK(cuGraphicsGLRegisterImage(&resource, texture, GL_TEXTURE_2D_, 0));
  gl.DeleteTextures(1, &texture);
  tell_mapping("map a texture that was deleted");
  TELL(cuGraphicsUnregisterResource(resource));
  register_new();
  gl.BindBuffer(GL_ARRAY_BUFFER_, buffer);
  (void)gl.MapBuffer(GL_ARRAY_BUFFER_, 0x88ba);
  tell_mapping("map a buffer that OpenGL maps");
  (void)gl.UnmapBuffer(GL_ARRAY_BUFFER_);
  tell_mapping("map a buffer that OpenGL mapped");
}

static void captured(void) {
  CUgraph graph;
  start();
  make_context(NULL);
  OK(cuStreamCreate(&stream, 0));
  OK(cuGraphicsGLRegisterBuffer(&resource, make_buffer(64), 0));
  TELL(cuStreamBeginCapture_v2(stream, 2));
  TELL(cuGraphicsMapResources(1, &resource, stream));
  TELL(cuStreamEndCapture(stream, &graph));
  TELL(cuStreamBeginCapture_v2(stream, 0));
  TELL(cuGraphicsMapResources(1, &resource, NULL));
  TELL(cuStreamEndCapture(stream, &graph));
  TELL(cuGraphicsMapResources(1, &resource, stream));
  TELL(cuStreamBeginCapture_v2(stream, 2));
  TELL(cuGraphicsUnmapResources(1, &resource, stream));
  TELL(cuStreamEndCapture(stream, &graph));
}

static void ends(void) {
  CUcontext own;
  start();
  make_context(NULL);
  OK(cuCtxCreate_v2(&own, 0, 0));
  buffer = make_buffer(64);
  OK(cuGraphicsGLRegisterBuffer(&resource, buffer, 0));
  OK(cuCtxSetCurrent(cuda));
  TELL(map());
  TELL(unmap());
  OK(cuCtxSetCurrent(own));
  TELL(map());
  TELL(unmap());
  TELL(cuGraphicsUnregisterResource(resource));
  TELL(cuCtxDestroy_v2(own));
}

static void of_old(void) {
  start();
  make_context(NULL);
  buffer = make_buffer(64);
  TELL(cuGLInit());
  TELL(cuGLMapBufferObject_v2(&address, &size, buffer));
  TELL(cuGLUnmapBufferObject(buffer));
  TELL(cuGLUnregisterBufferObject(buffer));
  TELL(cuGLSetBufferObjectMapFlags(buffer, 0));
  TELL(cuGLRegisterBufferObject(12345));
  TELL(cuGLRegisterBufferObject(buffer));
  TELL(cuGLRegisterBufferObject(buffer));
  TELL(cuGLUnmapBufferObject(buffer));
  TELL(cuGLSetBufferObjectMapFlags(buffer, 3));
  TELL(cuGLSetBufferObjectMapFlags(buffer, 2));
  TELL(cuGLMapBufferObject_v2(&address, &size, buffer));
  printf("  %zu bytes\n", size);
  TELL(cuGLMapBufferObject_v2(&address, &size, buffer));
  TELL(cuGLSetBufferObjectMapFlags(buffer, 0));
  TELL(cuGLUnmapBufferObject(buffer));
  TELL(cuGLUnregisterBufferObject(buffer));
  TELL(cuGLUnregisterBufferObject(buffer));
}

#include "opengl_images.h"
#include "opengl_runtime.h"

static const struct {
  const char* name;
  void (*run)(void);
} kGroups[] = {{"before", before},
               {"devices", devices},
               {"buffers", buffers},
               {"mapping", mapping},
               {"nothing", nothing},
               {"arrays", arrays},
               {"threads", threads},
               {"without", without},
               {"strangers", strangers},
               {"changed", changed},
               {"captured", captured},
               {"ends", ends},
               {"of_old", of_old},
               {"image_flags", image_flags},
               {"shapes", shapes},
               {"formats", formats},
               {"texels", texels},
               {"runtime", runtime},
               {"runtime_before", runtime_before}};

int main(int count, char** arguments) {
  if (!open_display()) {
    fprintf(stderr, "EGL has no display without a window (Debian: libegl1, libgl1-mesa-dri)\n");
    return 77;
  }
  for (size_t i = 0; i < sizeof kGroups / sizeof *kGroups; ++i) {
    if (count == 1) printf("%s\n", kGroups[i].name);
    if (count == 2 && strcmp(kGroups[i].name, arguments[1]) == 0) kGroups[i].run();
  }
  (void)check;
  return failures != 0;
}
