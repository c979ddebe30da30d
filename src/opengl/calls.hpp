// OpenGL as the program has it: through the library whose context is current to the calling thread,
// found in the process. The context's state, and an error that it has pending, are as before after
// every scope of calls.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "ptx2spv/runtime.hpp"

namespace ptx2spv::opengl {

using Enum = unsigned;

inline Status refuse(ErrorCode code, std::string text) {
  return Error{code, std::move(text), {}, nullptr};
}

// Result, name and parameters of what is called, of OpenGL 3.3 and, in the second list, of later
// versions, extensions and contexts of compatibility.
#define PTX2SPV_GL_FUNCTIONS(X)                                                            \
  X(const char*, GetString, Enum)                                                          \
  X(const char*, GetStringi, Enum, unsigned)                                               \
  X(Enum, GetError, )                                                                      \
  X(void, GetIntegerv, Enum, int*)                                                         \
  X(void, GetFloatv, Enum, float*)                                                         \
  X(void, Disable, Enum)                                                                   \
  X(void, Enable, Enum)                                                                    \
  X(unsigned char, IsEnabled, Enum)                                                        \
  X(void, Finish, )                                                                        \
  X(unsigned char, IsBuffer, unsigned)                                                     \
  X(unsigned char, IsTexture, unsigned)                                                    \
  X(unsigned char, IsRenderbuffer, unsigned)                                               \
  X(void, GenBuffers, int, unsigned*)                                                      \
  X(void, DeleteBuffers, int, const unsigned*)                                             \
  X(void, BindBuffer, Enum, unsigned)                                                      \
  X(unsigned char, UnmapBuffer, Enum)                                                      \
  X(void, GetBufferParameteriv, Enum, Enum, int*)                                          \
  X(void, GetBufferParameteri64v, Enum, Enum, std::int64_t*)                               \
  X(void, BufferData, Enum, std::ptrdiff_t, const void*, Enum)                             \
  X(void, BufferSubData, Enum, std::ptrdiff_t, std::ptrdiff_t, const void*)                \
  X(void, GetBufferSubData, Enum, std::ptrdiff_t, std::ptrdiff_t, void*)                   \
  X(void, CopyBufferSubData, Enum, Enum, std::ptrdiff_t, std::ptrdiff_t, std::ptrdiff_t)   \
  X(void, GenSamplers, int, unsigned*)                                                     \
  X(void, DeleteSamplers, int, const unsigned*)                                            \
  X(unsigned char, IsSampler, unsigned)                                                    \
  X(void, SamplerParameterIuiv, unsigned, Enum, const unsigned*)                           \
  X(void, GetSamplerParameterIuiv, unsigned, Enum, unsigned*)                              \
  X(void, PixelStorei, Enum, int)                                                          \
  X(void, GenTextures, int, unsigned*)                                                     \
  X(void, DeleteTextures, int, const unsigned*)                                            \
  X(void, BindTexture, Enum, unsigned)                                                     \
  X(void, TexParameteri, Enum, Enum, int)                                                  \
  X(void, GetTexParameteriv, Enum, Enum, int*)                                             \
  X(void, GetTexLevelParameteriv, Enum, int, Enum, int*)                                   \
  X(void, GetTexImage, Enum, int, Enum, Enum, void*)                                       \
  X(void, TexImage2D, Enum, int, int, int, int, int, Enum, Enum, const void*)              \
  X(void, TexSubImage2D, Enum, int, int, int, int, int, Enum, Enum, const void*)           \
  X(void, TexSubImage3D, Enum, int, int, int, int, int, int, int, Enum, Enum, const void*) \
  X(void, GenRenderbuffers, int, unsigned*)                                                \
  X(void, DeleteRenderbuffers, int, const unsigned*)                                       \
  X(void, RenderbufferStorage, Enum, Enum, int, int)                                       \
  X(void, BindRenderbuffer, Enum, unsigned)                                                \
  X(void, GetRenderbufferParameteriv, Enum, Enum, int*)
#define PTX2SPV_GL_OTHER_FUNCTIONS(X)                                                          \
  X(void, PixelTransferf, Enum, float)                                                         \
  X(void, GetUnsignedBytei_vEXT, Enum, unsigned, unsigned char*)                               \
  X(void, CopyImageSubData, unsigned, Enum, int, int, int, int, unsigned, Enum, int, int, int, \
    int, int, int, int)                                                                        \
  X(void, GetUnsignedBytevEXT, Enum, unsigned char*)                                           \
  X(void, CreateMemoryObjectsEXT, int, unsigned*)                                              \
  X(void, DeleteMemoryObjectsEXT, int, const unsigned*)                                        \
  X(void, MemoryObjectParameterivEXT, unsigned, Enum, const int*)                              \
  X(void, ImportMemoryFdEXT, unsigned, std::uint64_t, Enum, int)                               \
  X(void, BufferStorageMemEXT, Enum, std::ptrdiff_t, unsigned, std::uint64_t)                  \
  X(void, TexStorageMem2DEXT, Enum, int, Enum, int, int, unsigned, std::uint64_t)              \
  X(void, TexStorageMem3DEXT, Enum, int, Enum, int, int, int, unsigned, std::uint64_t)

struct Functions {
#define PTX2SPV_GL_MEMBER(result, name, ...) result (*name)(__VA_ARGS__) = nullptr;
  PTX2SPV_GL_FUNCTIONS(PTX2SPV_GL_MEMBER)
  PTX2SPV_GL_OTHER_FUNCTIONS(PTX2SPV_GL_MEMBER)
#undef PTX2SPV_GL_MEMBER
};

/// What CUDA makes of an internal format, and how its texels are read and written unchanged.
struct Format {
  Enum internal = 0, external = 0, type = 0;
  abi::SurfaceFormat format = abi::SurfaceFormat::u8;
  unsigned channels = 0;
  bool three = false;  ///< the fourth channel has no meaning
  Enum sized = 0;      ///< the format of one, two or four channels with the same texels; 0: none
  std::size_t texel_bytes() const;
};

/// unsupported, with the format's number, where CUDA takes no such image. `bits` tells a
/// parameter of it.
Status find_format(Enum internal, bool renderbuffer, const std::function<int(Enum)>& bits,
                   Format& found);

/// A texture of any target, or a renderbuffer. `depth` counts the layers of an array, six faces of
/// a cube, and the slices of a texture of three dimensions, at level 0.
struct Image {
  unsigned name = 0;
  Enum target = 0;
  Format format;
  unsigned levels = 1;
  std::size_t width = 0, height = 0, depth = 1;
  bool layered() const;  ///< every level has as many layers
  bool deep() const;     ///< of three dimensions, or of layers that are no faces
  std::size_t width_of(unsigned level) const;
  std::size_t height_of(unsigned level) const;
  std::size_t depth_of(unsigned level) const;
  std::size_t level_bytes(unsigned level) const;
  /// Of the same memory.
  bool operator==(const Image& other) const {
    return name == other.name && target == other.target && levels == other.levels &&
           width == other.width && height == other.height && depth == other.depth &&
           format.internal == other.format.internal;
  }
};

/// What only the contexts have that share their objects with the one that made it.
struct Mark {
  unsigned sampler = 0;
  std::array<unsigned, 4> border = {};  ///< no other's
};

inline constexpr Enum kTexture3D = 0x806f, kTextureCube = 0x8513, kTexture2DArray = 0x8c1a,
                      kTexture2D = 0x0de1, kTextureRectangle = 0x84f5, kRenderbuffer = 0x8d41;

/// Memory of the device's as OpenGL has it, for its copies there. Zeros: there is none.
struct Imported {
  unsigned memory = 0, name = 0;
  Image image;  ///< over it, if it is no buffer
};
/// An allocation by an opaque descriptor.
struct Exported {
  int fd = -1;
  std::uint64_t bytes = 0;
  bool dedicated = false;
};
using Uuid = std::array<std::uint8_t, 16>;

/// Whether images of the target can be CUDA's.
bool takes_target(Enum target);

/// A scope of calls to the current context. Made by begin(), which fails with
/// no_device where none is current, and with unsupported where it cannot serve.
class Calls {
 public:
  static Status begin(std::optional<Calls>& made);
  explicit Calls(const Functions& functions);
  ~Calls();
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;

  Mark mark();
  bool knows(const Mark& mark);
  void forget(const Mark& mark);
  /// not_found where there is no such buffer, out_of_memory where it has no memory.
  Status buffer_bytes(unsigned name, std::size_t& bytes);
  /// Of a whole buffer.
  Status read(unsigned buffer, std::byte* to, std::size_t bytes);
  Status write(unsigned buffer, const std::byte* from, std::size_t bytes);
  /// not_found, invalid_argument or unsupported, with the reason, where CUDA takes no such image.
  /// The target may be another of CUDA's than the texture's own, which is found.
  Status describe(unsigned name, Enum target, Image& image);
  /// Of a whole level. `row_pitch`: bytes from row to row, whole texels; 0: there are no gaps.
  Status read(const Image& image, unsigned level, std::byte* to, std::size_t row_pitch = 0);
  Status write(const Image& image, unsigned level, const std::byte* from,
               std::size_t row_pitch = 0);
  /// Of the device that draws, where the context tells.
  std::optional<Uuid> device_uuid();

  std::string driver();  ///< what draws, and its version
  Status finish();       ///< waits for all that the context was given
  /// Why the context cannot have memory of this device and driver; null: it can.
  const char* cannot_import(const Uuid& device, const Uuid& driver);
  /// They take the descriptor. Where they fail, nothing is made.
  Status import_buffer(const Exported& from, std::size_t bytes, Imported& made);
  Status import_image(const Exported& from, const Image& like, Imported& made);
  void release(Imported& imported);
  /// On the device. They wait for all that the context was given.
  Status copy_buffer(unsigned from, unsigned to, std::size_t bytes);
  Status copy_image(const Image& from, const Image& to);

 private:
  bool find_target(Image& image);
  Status describe_texture(Image& image);
  Status describe_renderbuffer(Image& image);
  Status try_renderbuffer(const Format& format);
  Status count_levels(Image& image);
  bool has_extension(const char* name);
  Status check(const char* what);
  Status import(const Exported& from, Imported& made);
  int integer(Enum name);
  const Functions& gl_;
  Enum pending_ = 0;
  bool told_ = false;  ///< the program is, of every error
};

}  // namespace ptx2spv::opengl
