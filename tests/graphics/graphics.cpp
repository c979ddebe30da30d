#include "tests/graphics/graphics.hpp"

#include <cstdlib>
#include <cstring>
#include <random>

namespace ptx2spv::test {

namespace {

void* open_library(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::abort();
  }
  return library;
}
void* find(void* library, const char* name) {
  void* function = dlsym(library, name);
  if (!function) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::abort();
  }
  return function;
}

constexpr int kEglNone = 0x3038;

/// EGL and its display, which lives as long as the process.
struct Egl {
  void* library = nullptr;
  void* display = nullptr;
  std::string missing;
  template <class Result, class... Arguments>
  Result call(const char* name, Arguments... arguments) const {
    return reinterpret_cast<Result (*)(Arguments...)>(dlsym(library, name))(arguments...);
  }
  Egl() {
    library = dlopen("libEGL.so.1", RTLD_NOW);
    if (!library) {
      missing = "there is no libEGL.so.1 (Debian: libegl1)";
      return;
    }
    constexpr unsigned kSurfaceless = 0x31dd, kOpenGl = 0x30a2;
    using GetDisplay = void* (*)(unsigned, void*, const int*);
    const auto get =
        reinterpret_cast<GetDisplay>(call<void*>("eglGetProcAddress", "eglGetPlatformDisplayEXT"));
    display = get ? get(kSurfaceless, nullptr, nullptr) : nullptr;
    int major = 0, minor = 0;
    if (!display || !call<unsigned>("eglInitialize", display, &major, &minor))
      missing = "EGL has no display without a window (Debian: libegl-mesa0, libgl1-mesa-dri)";
    else if (!call<unsigned>("eglBindAPI", kOpenGl))
      missing = "EGL makes no contexts of OpenGL";
  }
};
const Egl& egl() {
  static const Egl one;
  return one;
}

constexpr char kModule[] = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .entry flip_memory(.param .u64 at, .param .u32 count, .param .u32 pattern) {
  .reg .pred %p; .reg .b32 %i, %n, %b, %t, %v, %x; .reg .b64 %a, %o;
  ld.param.u64 %a, [at]; ld.param.u32 %n, [count]; ld.param.u32 %x, [pattern];
  mov.u32 %b, %ctaid.x; mov.u32 %t, %tid.x; mad.lo.u32 %i, %b, 64, %t;
  setp.ge.u32 %p, %i, %n; @%p ret;
  cvt.u64.u32 %o, %i; add.u64 %a, %a, %o;
  ld.global.u8 %v, [%a]; xor.b32 %v, %v, %x; st.global.u8 [%a], %v;
  ret;
}
.visible .entry flip_surface(.param .u64 surface, .param .u32 width, .param .u32 pattern) {
  .reg .pred %p; .reg .b32 %i, %n, %b, %t, %v, %x, %y; .reg .b64 %s;
  ld.param.u64 %s, [surface]; ld.param.u32 %n, [width]; ld.param.u32 %x, [pattern];
  mov.u32 %b, %ctaid.x; mov.u32 %t, %tid.x; mad.lo.u32 %i, %b, 64, %t; mov.u32 %y, %ctaid.y;
  setp.ge.u32 %p, %i, %n; @%p ret;
  shl.b32 %i, %i, 2;
  suld.b.2d.b32.trap {%v}, [%s, {%i, %y}]; xor.b32 %v, %v, %x;
  sust.b.2d.b32.trap [%s, {%i, %y}], {%v};
  ret;
}
)";

/// A copy of a whole array from or to dense bytes.
CUresult copy(CUarray array, std::byte* bytes, bool to_array, std::size_t* count) {
  CUDA_ARRAY3D_DESCRIPTOR desc{};
  CUresult code = driver("cuArray3DGetDescriptor_v2", &desc, array);
  if (code != eSuccess) return code;
  std::size_t texel = 4;
  if (desc.Format == kUnsignedInt8 || desc.Format == kSignedInt8) texel = 1;
  if (desc.Format == kUnsignedInt16 || desc.Format == kSignedInt16 || desc.Format == kHalf)
    texel = 2;
  CUDA_MEMCPY3D c{};
  c.WidthInBytes = desc.Width * desc.NumChannels * texel;
  c.Height = desc.Height ? desc.Height : 1;
  c.Depth = desc.Depth ? desc.Depth : 1;
  *count = c.WidthInBytes * c.Height * c.Depth;
  if (!bytes) return eSuccess;
  c.srcMemoryType = to_array ? kMemoryHost : kMemoryArray;
  c.dstMemoryType = to_array ? kMemoryArray : kMemoryHost;
  c.srcHost = c.dstHost = bytes;
  c.srcPitch = c.dstPitch = c.WidthInBytes;
  c.srcHeight = c.dstHeight = c.Height;
  c.srcArray = c.dstArray = array;
  return driver("cuMemcpy3D_v2", static_cast<const CUDA_MEMCPY3D*>(&c));
}

}  // namespace

void* driver_function(const char* name) {
  static void* library = open_library(std::string(PTX2SPV_BINARY_DIR) + "/cuda/libcuda.so.1");
  return find(library, name);
}
void* runtime_function(const char* name) {
  static void* library = open_library(std::string(PTX2SPV_BINARY_DIR) + "/cuda/libcudart.so.13");
  return find(library, name);
}

void* runtime12_function(const char* name) {
  static void* library = open_library(std::string(PTX2SPV_BINARY_DIR) + "/cuda/libcudart.so.12");
  return find(library, name);
}

GlContext::GlContext(Profile profile, const GlContext* shared) {
  const int attributes[] = {0x3098,  4, 0x30fb, 5, 0x30fd, profile == Profile::core ? 1 : 2,
                            kEglNone};  // version 4.5 and its profile
  context_ = egl().call<void*>("eglCreateContext", egl().display, static_cast<void*>(nullptr),
                               shared ? shared->context_ : nullptr, &attributes[0]);
  make_current();
}
GlContext::~GlContext() {
  make_none_current();
  egl().call<unsigned>("eglDestroyContext", egl().display, context_);
}
void GlContext::make_current() const {
  void* none = nullptr;
  ASSERT_TRUE(context_ &&
              egl().call<unsigned>("eglMakeCurrent", egl().display, none, none, context_))
      << "EGL error " << egl().call<int>("eglGetError");
}
void GlContext::make_none_current() {
  void* none = nullptr;
  egl().call<unsigned>("eglMakeCurrent", egl().display, none, none, none);
}
const std::string& GlContext::missing() { return egl().missing; }
void* GlContext::function(const char* name) { return egl().call<void*>("eglGetProcAddress", name); }

int gl_integer(GLenum name) {
  int value = 0;
  gl("glGetIntegerv", name, &value);
  return value;
}
GLuint gl_name(const char* generator) {
  GLuint name = 0;
  gl(generator, 1, &name);
  return name;
}

void Graphics::SetUp() {
  if (!GlContext::missing().empty()) GTEST_SKIP() << GlContext::missing();
  context_ = std::make_unique<GlContext>();
  ASSERT_EQ(driver("cuInit", 0U), eSuccess);
  ASSERT_EQ(driver("cuDevicePrimaryCtxRetain", &cuda_, 0), eSuccess);
  ASSERT_EQ(driver("cuCtxSetCurrent", cuda_), eSuccess);
}
void Graphics::TearDown() {
  if (context_) {
    EXPECT_EQ(gl<GLenum>("glGetError"), 0U) << "the test left an error";
  }
  context_.reset();
}

std::vector<std::byte> random_bytes(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(count);
  for (std::byte& each : bytes) each = static_cast<std::byte>(random());
  return bytes;
}

CUresult download(CUarray array, std::vector<std::byte>& bytes) {
  std::size_t count = 0;
  const CUresult code = copy(array, nullptr, false, &count);
  if (code != eSuccess) return code;
  bytes.assign(count, std::byte{});
  return copy(array, bytes.data(), false, &count);
}
CUresult upload(CUarray array, const std::vector<std::byte>& bytes) {
  std::size_t count = 0;
  const CUresult code = copy(array, nullptr, true, &count);
  if (code != eSuccess || bytes.size() != count) return code == eSuccess ? eInvalidValue : code;
  return copy(array, const_cast<std::byte*>(bytes.data()), true, &count);
}

CUfunction kernel(const char* name) {
  static CUmodule module = [] {
    CUmodule made = nullptr;
    EXPECT_EQ(driver("cuModuleLoadData", &made, static_cast<const void*>(kModule)), eSuccess);
    return made;
  }();
  CUfunction found = nullptr;
  EXPECT_EQ(driver("cuModuleGetFunction", &found, module, name), eSuccess);
  return found;
}
CUresult launch(CUfunction function, unsigned x, unsigned y, void** params, CUstream stream) {
  void** none = nullptr;
  return driver("cuLaunchKernel", function, (x + 63) / 64, y, 1U, 64U, 1U, 1U, 0U, stream, params,
                none);
}

void make_complete(GLenum target) {
  for (const GLenum filter : {0x2800U, 0x2801U}) gl("glTexParameteri", target, filter, 0x2600);
}
GLuint make_buffer(const std::vector<std::byte>& bytes) {
  const GLuint name = gl_name("glGenBuffers");
  gl("glBindBuffer", kArrayBuffer, name);
  gl("glBufferData", kArrayBuffer, static_cast<std::ptrdiff_t>(bytes.size()),
     static_cast<const void*>(bytes.data()), kStaticDraw);
  gl("glBindBuffer", kArrayBuffer, 0U);
  return name;
}
std::vector<std::byte> buffer_bytes(GLuint buffer, std::size_t count) {
  std::vector<std::byte> bytes(count);
  gl("glBindBuffer", kArrayBuffer, buffer);
  gl("glGetBufferSubData", kArrayBuffer, std::ptrdiff_t{0}, static_cast<std::ptrdiff_t>(count),
     static_cast<void*>(bytes.data()));
  gl("glBindBuffer", kArrayBuffer, 0U);
  return bytes;
}
GLuint make_texture(int width, int height, const std::vector<std::byte>& rgba8) {
  const GLuint name = gl_name("glGenTextures");
  gl("glBindTexture", kTexture2D, name);
  make_complete(kTexture2D);
  gl("glTexImage2D", kTexture2D, 0, static_cast<int>(kRgba8), width, height, 0, kRgba,
     kUnsignedByte, static_cast<const void*>(rgba8.data()));
  gl("glBindTexture", kTexture2D, 0U);
  return name;
}
std::vector<std::byte> texture_bytes(GLuint texture, int width, int height) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(width * height) * 4);
  gl("glBindTexture", kTexture2D, texture);
  gl("glGetTexImage", kTexture2D, 0, kRgba, kUnsignedByte, static_cast<void*>(bytes.data()));
  gl("glBindTexture", kTexture2D, 0U);
  return bytes;
}

}  // namespace ptx2spv::test
