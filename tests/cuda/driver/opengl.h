/* OpenGL by EGL without a window, found when a program runs, so that nothing of it is needed to
 * compile. */
#ifndef PTX2SPV_TESTS_CUDA_OPENGL_H
#define PTX2SPV_TESTS_CUDA_OPENGL_H
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum {
  GL_TEXTURE_1D_ = 0x0de0,
  GL_TEXTURE_2D_ = 0x0de1,
  GL_TEXTURE_3D_ = 0x806f,
  GL_RECTANGLE_ = 0x84f5,
  GL_CUBE_ = 0x8513,
  GL_FACE_ = 0x8515,
  GL_1D_ARRAY_ = 0x8c18,
  GL_2D_ARRAY_ = 0x8c1a,
  GL_CUBE_ARRAY_ = 0x9009,
  GL_TEXTURE_BUFFER_ = 0x8c2a,
  GL_MULTISAMPLE_ = 0x9100,
  GL_RENDERBUFFER_ = 0x8d41,
  GL_ARRAY_BUFFER_ = 0x8892,
  GL_RGBA8_ = 0x8058,
  GL_RGBA_ = 0x1908,
  GL_BYTES_ = 0x1401,
  GL_NEAREST_ = 0x2600
};

#define OPENGL(X)                                                                                \
  X(const char*, GetString, (unsigned))                                                          \
  X(unsigned, GetError, (void))                                                                  \
  X(void, GenBuffers, (int, unsigned*))                                                          \
  X(void, DeleteBuffers, (int, const unsigned*))                                                 \
  X(void, BindBuffer, (unsigned, unsigned))                                                      \
  X(void, BufferData, (unsigned, ptrdiff_t, const void*, unsigned))                              \
  X(void, BufferStorage, (unsigned, ptrdiff_t, const void*, unsigned))                           \
  X(void, GetBufferSubData, (unsigned, ptrdiff_t, ptrdiff_t, void*))                             \
  X(void*, MapBuffer, (unsigned, unsigned))                                                      \
  X(unsigned char, UnmapBuffer, (unsigned))                                                      \
  X(void, GenTextures, (int, unsigned*))                                                         \
  X(void, DeleteTextures, (int, const unsigned*))                                                \
  X(void, BindTexture, (unsigned, unsigned))                                                     \
  X(void, TexParameteri, (unsigned, unsigned, int))                                              \
  X(void, TexImage1D, (unsigned, int, int, int, int, unsigned, unsigned, const void*))           \
  X(void, TexImage2D, (unsigned, int, int, int, int, int, unsigned, unsigned, const void*))      \
  X(void, TexImage3D, (unsigned, int, int, int, int, int, int, unsigned, unsigned, const void*)) \
  X(void, TexSubImage2D, (unsigned, int, int, int, int, int, unsigned, unsigned, const void*))   \
  X(void, TexImage2DMultisample, (unsigned, int, unsigned, int, int, unsigned char))             \
  X(void, TexStorage2D, (unsigned, int, unsigned, int, int))                                     \
  X(void, TexBuffer, (unsigned, unsigned, unsigned))                                             \
  X(void, GetTexImage, (unsigned, int, unsigned, unsigned, void*))                               \
  X(void, GenerateMipmap, (unsigned))                                                            \
  X(void, PixelStorei, (unsigned, int))                                                          \
  X(void, GenRenderbuffers, (int, unsigned*))                                                    \
  X(void, DeleteRenderbuffers, (int, const unsigned*))                                           \
  X(void, BindRenderbuffer, (unsigned, unsigned))                                                \
  X(void, RenderbufferStorage, (unsigned, unsigned, int, int))                                   \
  X(void, RenderbufferStorageMultisample, (unsigned, int, unsigned, int, int))                   \
  X(void, Finish, (void))

static struct {
#define OPENGL_MEMBER(result, name, parameters) result(*name) parameters;
  OPENGL(OPENGL_MEMBER)
#undef OPENGL_MEMBER
} gl;

typedef void* (*EglGetProc)(const char*);
static void* egl_library;
static void* egl_display;
static EglGetProc egl_proc;

/* A display of a driver that needs no window; 0: there is none. */
static int open_display(void) {
  typedef void* (*GetDisplay)(unsigned, void*, const int*);
  typedef unsigned (*Initialize)(void*, int*, int*);
  typedef unsigned (*QueryDevices)(int, void**, int*);
  typedef unsigned (*BindApi)(unsigned);
  int major, minor, count = 0;
  void* devices[8];
  egl_library = dlopen("libEGL.so.1", RTLD_NOW);
  if (!egl_library) return 0;
  egl_proc = (EglGetProc)dlsym(egl_library, "eglGetProcAddress");
  GetDisplay get = (GetDisplay)egl_proc("eglGetPlatformDisplayEXT");
  Initialize initialize = (Initialize)dlsym(egl_library, "eglInitialize");
  BindApi bind = (BindApi)dlsym(egl_library, "eglBindAPI");
  QueryDevices query = (QueryDevices)egl_proc("eglQueryDevicesEXT");
  if (!get) return 0;
  egl_display = get(0x31dd, NULL, NULL); /* surfaceless */
  if (egl_display && initialize(egl_display, &major, &minor)) return bind(0x30a2);
  if (query) query(8, devices, &count);
  for (int i = 0; i < count; ++i) {
    egl_display = get(0x313f, devices[i], NULL);
    if (egl_display && initialize(egl_display, &major, &minor)) return bind(0x30a2);
  }
  return 0;
}

static void make_current(void* context) {
  typedef unsigned (*MakeCurrent)(void*, void*, void*, void*);
  ((MakeCurrent)dlsym(egl_library, "eglMakeCurrent"))(egl_display, NULL, NULL, context);
}

/* A context of compatibility, current to the thread. */
static void* make_context(void* shared) {
  typedef void* (*CreateContext)(void*, void*, void*, const int*);
  const int attributes[] = {0x3098, 4, 0x30fb, 5, 0x30fd, 2, 0x3038};
  void* made = ((CreateContext)dlsym(egl_library, "eglCreateContext"))(egl_display, NULL, shared,
                                                                       attributes);
  make_current(made);
#define OPENGL_FIND(result, name, parameters) gl.name = (result(*) parameters)egl_proc("gl" #name);
  OPENGL(OPENGL_FIND)
#undef OPENGL_FIND
  gl.PixelStorei(0x0cf5, 1);
  gl.PixelStorei(0x0d05, 1);
  return made;
}
#endif
