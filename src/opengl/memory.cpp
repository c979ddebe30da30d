// The device's memory in OpenGL: GL_EXT_memory_object_fd.
#include <unistd.h>

#include "src/opengl/bound.hpp"

namespace ptx2spv::opengl {

std::string Calls::driver() {
  constexpr Enum kRenderer = 0x1f01, kVersion = 0x1f02;
  std::string text;
  for (const Enum name : {kRenderer, kVersion})
    if (const char* said = gl_.GetString(name)) (text += said) += ' ';
  return text;
}

Status Calls::finish() {
  gl_.Finish();
  return check("end its work");
}

const char* Calls::cannot_import(const Uuid& device, const Uuid& driver) {
  constexpr Enum kDriverUuid = 0x9598;
  if (!gl_.ImportMemoryFdEXT || !has_extension("GL_EXT_memory_object_fd"))
    return "OpenGL has no GL_EXT_memory_object_fd";
  if (device_uuid() != device) return "OpenGL draws on another device";
  Uuid own{};
  gl_.GetUnsignedBytevEXT(kDriverUuid, own.data());
  if (gl_.GetError() || own != driver) return "OpenGL's driver is not Vulkan's";
  return gl_.CopyImageSubData ? nullptr : "OpenGL has no copies between images";
}

Status Calls::import(const Exported& from, Imported& made) {
  constexpr Enum kDedicated = 0x9581, kOpaqueFd = 0x9586;
  const int dedicated = from.dedicated;
  gl_.CreateMemoryObjectsEXT(1, &made.memory);
  gl_.MemoryObjectParameterivEXT(made.memory, kDedicated, &dedicated);
  gl_.ImportMemoryFdEXT(made.memory, from.bytes, kOpaqueFd, from.fd);
  Status code = check("import memory of the device's");
  if (!code) ::close(from.fd);
  return code;
}

void Calls::release(Imported& imported) {
  if (imported.image.target)
    gl_.DeleteTextures(1, &imported.name);
  else
    gl_.DeleteBuffers(1, &imported.name);
  if (imported.memory) gl_.DeleteMemoryObjectsEXT(1, &imported.memory);
  imported = {};
}

Status Calls::import_buffer(const Exported& from, std::size_t bytes, Imported& made) {
  Status code = import(from, made);
  if (code) {
    gl_.GenBuffers(1, &made.name);
    const BoundBuffer bound(gl_, kCopyWrite, made.name);
    gl_.BufferStorageMemEXT(kCopyWrite, static_cast<std::ptrdiff_t>(bytes), made.memory, 0);
    code = check("make a buffer of the device's memory");
  }
  if (!code) release(made);
  return code;
}

Status Calls::import_image(const Exported& from, const Image& like, Imported& made) {
  Status code = import(from, made);
  if (code) {
    made.image = like;
    // Vulkan knows no other images of two dimensions.
    if (like.target == kTextureRectangle || like.target == kRenderbuffer)
      made.image.target = kTexture2D;
    made.image.format.internal = like.format.sized;
    gl_.GenTextures(1, &made.name);
    made.image.name = made.name;
    const Enum target = made.image.target;
    const BoundTexture bound(gl_, target, made.name);
    bound.sample_nearest();
    const auto levels = static_cast<int>(like.levels), width = static_cast<int>(like.width),
               height = static_cast<int>(like.height);
    if (target == kTexture3D || target == kTexture2DArray)
      gl_.TexStorageMem3DEXT(target, levels, like.format.sized, width, height,
                             static_cast<int>(like.depth), made.memory, 0);
    else
      gl_.TexStorageMem2DEXT(target, levels, like.format.sized, width, height, made.memory, 0);
    code = check("make a texture of the device's memory");
  }
  if (!code) release(made);
  return code;
}

Status Calls::copy_buffer(unsigned from, unsigned to, std::size_t bytes) {
  {
    const BoundBuffer read(gl_, kCopyRead, from), write(gl_, kCopyWrite, to);
    gl_.CopyBufferSubData(kCopyRead, kCopyWrite, 0, 0, static_cast<std::ptrdiff_t>(bytes));
  }
  return finish();
}

Status Calls::copy_image(const Image& from, const Image& to) {
  for (unsigned level = 0; level < from.levels; ++level)
    gl_.CopyImageSubData(
        from.name, from.target, static_cast<int>(level), 0, 0, 0, to.name, to.target,
        static_cast<int>(level), 0, 0, 0, static_cast<int>(from.width_of(level)),
        static_cast<int>(from.height_of(level)), static_cast<int>(from.depth_of(level)));
  return finish();
}

}  // namespace ptx2spv::opengl
