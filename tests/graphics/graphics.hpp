// What tests of CUDA programs that draw share: OpenGL contexts without a window, the libraries'
// functions by name, and random bytes. Everything is found when the tests run, so that nothing of
// Mesa's or CUDA's is needed to build them.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "src/cuda/driver_types.hpp"

namespace ptx2spv::test {

using namespace ptx2spv::cuda;  // NOLINT: its types and codes

using GLenum = unsigned;
using GLuint = unsigned;

/// A function of libcuda or of libcudart 13; ends the test run where it is missing.
void* driver_function(const char* name);
void* runtime_function(const char* name);
void* runtime12_function(const char* name);  ///< of the one for CUDA 12
/// Calls by name. Arguments have exactly the function's types.
template <class... Arguments>
CUresult driver(const char* name, Arguments... arguments) {
  return reinterpret_cast<CUresult (*)(Arguments...)>(driver_function(name))(arguments...);
}
template <class... Arguments>
CUresult runtime(const char* name, Arguments... arguments) {
  return reinterpret_cast<CUresult (*)(Arguments...)>(runtime_function(name))(arguments...);
}

enum class Profile : std::uint8_t { core, compatible };
/// An OpenGL context by Mesa's EGL without a window, current to the thread while it lives.
class GlContext {
 public:
  explicit GlContext(Profile profile = Profile::core, const GlContext* shared = nullptr);
  ~GlContext();
  GlContext(const GlContext&) = delete;
  GlContext& operator=(const GlContext&) = delete;
  void make_current() const;
  static void make_none_current();
  /// Why there is none; empty: there is one.
  static const std::string& missing();
  /// A function of OpenGL.
  static void* function(const char* name);

 private:
  void* context_ = nullptr;
};

template <class Result = void, class... Arguments>
Result gl(const char* name, Arguments... arguments) {
  return reinterpret_cast<Result (*)(Arguments...)>(GlContext::function(name))(arguments...);
}
int gl_integer(GLenum name);
GLuint gl_name(const char* generator);  ///< "glGenBuffers"

/// A test with a current context of both, or a printed reason to skip it.
class Graphics : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;
  CUcontext cuda_ = nullptr;
  std::unique_ptr<GlContext> context_;
};

std::vector<std::byte> random_bytes(std::size_t count, unsigned seed);
/// Between a level of a mapped array and dense bytes.
CUresult download(CUarray array, std::vector<std::byte>& bytes);
CUresult upload(CUarray array, const std::vector<std::byte>& bytes);
/// "out[i] = in[i] ^ pattern" on bytes: of memory, or in place of a two-dimensional surface of
/// 32-bit texels.
CUfunction kernel(const char* name);
CUresult launch(CUfunction function, unsigned x, unsigned y, void** params,
                CUstream stream = nullptr);

// OpenGL's names.
inline constexpr GLenum kTexture2D = 0x0de1, kRectangle = 0x84f5, kCube = 0x8513, kFace = 0x8515,
                        k3D = 0x806f, k2DArray = 0x8c1a, kRenderbuffer = 0x8d41,
                        kFramebuffer = 0x8d40, kReadFramebuffer = 0x8ca8, kAttachment = 0x8ce0;
inline constexpr GLenum kRgba8 = 0x8058, kRgba = 0x1908, kUnsignedByte = 0x1401;
inline constexpr GLenum kArrayBuffer = 0x8892, kCopyRead = 0x8f36, kStaticDraw = 0x88e4;

/// A texture's parameter NEAREST for both filters, so that it is complete with one level.
void make_complete(GLenum target);
/// A buffer with these bytes, bound to nothing.
GLuint make_buffer(const std::vector<std::byte>& bytes);
std::vector<std::byte> buffer_bytes(GLuint buffer, std::size_t count);
GLuint make_texture(int width, int height, const std::vector<std::byte>& rgba8);
std::vector<std::byte> texture_bytes(GLuint texture, int width, int height);

}  // namespace ptx2spv::test
