// What the device has of OpenGL's objects, and its copies both ways.
#include <algorithm>

#include <fmt/format.h>

#include "src/cuda/core/graphics.hpp"

namespace ptx2spv::cuda {

std::string name_of(const GraphicsObject& object) {
  const char* kind = object.bytes                               ? "buffer"
                     : object.image.target == gl::kRenderbuffer ? "renderbuffer"
                                                                : "texture";
  return fmt::format("OpenGL {} {}", kind, object.name);
}

namespace {

CUresult done(const Status& status) { return status ? eSuccess : report(status.error()); }

/// Of nobody else's bytes, or of none where reads before a write are looked for.
bool begins_empty(const ContextObject& context, const GraphicsObject& object) {
  return !(kernels_are_checked(context) && !object.reads());
}

CUresult make_memory(ContextObject& context, gl::Calls& calls, GraphicsObject& object) {
  std::optional<Buffer> buffer;
  share_memory(context, calls, object, buffer);
  if (!buffer) {
    auto made = Buffer::create(context.gpu(), object.bytes, BufferMemory::device);
    if (!made) return report(made.error());
    buffer = std::move(*made);
  }
  if (begins_empty(context, object))
    if (CUresult code = done(buffer->fill(0, buffer->size(), 0)); code != eSuccess) return code;
  auto memory = std::make_shared<Allocation>();
  memory->address = buffer->address();
  memory->bytes = object.bytes;
  memory->use = MemoryUse::shared;
  memory->context = &context;
  memory->id = next_id();
  buffer->set_name(name_of(object));
  memory->buffer = std::move(*buffer);
  object.memory = std::move(memory);
  return eSuccess;
}

CUDA_ARRAY3D_DESCRIPTOR array_of(const gl::Image& image, unsigned flags) {
  CUDA_ARRAY3D_DESCRIPTOR desc{};
  desc.Width = image.width;
  desc.Height = image.height;
  desc.Depth = image.layered() || image.target == gl::kTexture3D ? image.depth : 0;
  desc.Format = image.format.format;
  desc.NumChannels = image.format.channels;
  if (image.target == gl::kTexture2DArray) desc.Flags |= kArrayLayered;
  if (image.target == gl::kTextureCube) desc.Flags |= kArrayCubemap;
  if (flags & kSurface) desc.Flags |= kArraySurface;
  if ((flags & kGather) && !desc.Depth) desc.Flags |= kArrayGather;
  return desc;
}

CUresult make_arrays(ContextObject& context, gl::Calls& calls, GraphicsObject& object) {
  CUmipmappedArray made = nullptr;
  const auto maker = [&](const ArrayDesc& desc) {
    return share_array(context, calls, object, desc);
  };
  CUresult code = create_mipmap(context, array_of(object.image, object.flags), object.image.levels,
                                maker, made);
  if (code != eSuccess) return code;
  object.mipmap = tables().mipmaps.find(made);
  // No program can make such a cube map; of OpenGL's it has them.
  if (object.flags & kGather) object.mipmap->desc.Flags |= kArrayGather;
  object.mipmap->shared = true;
  const unsigned levels = begins_empty(context, object) ? object.image.levels : 0;
  for (unsigned level = 0; level < levels && code == eSuccess; ++level)
    code = done(object.mipmap->array.fill(0, 1, level));
  return code;
}

ArrayRegion layer_region(const gl::Image& image, unsigned layer, unsigned level) {
  ArrayRegion region;
  region.level = level;
  region.z = layer;
  region.width = static_cast<std::uint32_t>(image.width_of(level));
  region.height = static_cast<std::uint32_t>(image.height_of(level));
  region.depth = 1;
  return region;
}

/// Between a layer and the array that stands for it.
CUresult copy_layer(GraphicsObject& object, unsigned layer, unsigned level, Array& own, bool back) {
  const ArrayRegion there = layer_region(object.image, layer, level);
  ArrayRegion here = there;
  here.level = here.z = 0;
  Array& whole = object.mipmap->array;
  return done(back ? whole.copy_from(own, here, there) : own.copy_from(whole, there, here));
}

}  // namespace

CUresult make_copy(ContextObject& context, gl::Calls& calls, GraphicsObject& object) {
  if (object.bytes) return object.memory ? eSuccess : make_memory(context, calls, object);
  return object.mipmap ? eSuccess : make_arrays(context, calls, object);
}

void drop_layers(GraphicsObject& object, const std::string& why) {
  for (const auto& [where, each] : object.layers) {
    bury_objects_over(*each, why);
    tables().arrays.take(each.get());
  }
  object.layers.clear();
}

void drop(gl::Calls* calls, GraphicsObject& object, const char* what) {
  if (calls && object.imported.name) calls->release(object.imported);
  const std::string why = fmt::format("{} was {}", name_of(object), what);
  if (object.memory) {
    bury_objects_over(*object.memory);
    forget(*object.memory);
    object.memory = nullptr;
  }
  if (!object.mipmap) return;
  bury_objects_over(*object.mipmap, why);
  drop_layers(object, why);
  for (const auto& each : object.mipmap->levels)
    if (each) tables().arrays.take(each.get());
  tables().mipmaps.take(object.mipmap.get());
  object.mipmap = nullptr;
}

namespace {

// Through the host, level by level.
CUresult read_levels(gl::Calls& calls, GraphicsObject& object) {
  object.texels.resize(object.image.level_bytes(0));
  for (unsigned level = 0; level < object.image.levels; ++level) {
    const std::span<std::byte> texels =
        std::span(object.texels).first(object.image.level_bytes(level));
    CUresult code = calls.read(object.image, level, texels.data());
    if (code == eSuccess) code = done(object.mipmap->array.upload(texels, level));
    if (code != eSuccess) return code;
  }
  return eSuccess;
}
CUresult write_levels(gl::Calls& calls, GraphicsObject& object) {
  object.texels.resize(object.image.level_bytes(0));
  for (unsigned level = 0; level < object.image.levels; ++level) {
    const std::span<std::byte> texels =
        std::span(object.texels).first(object.image.level_bytes(level));
    CUresult code = done(object.mipmap->array.download(texels, level));
    if (code == eSuccess) code = calls.write(object.image, level, texels.data());
    if (code != eSuccess) return code;
  }
  return eSuccess;
}

}  // namespace

CUresult read_in(gl::Calls& calls, GraphicsObject& object) {
  const gl::Imported& imported = object.imported;
  if (object.memory) {
    if (imported.name) return calls.copy_buffer(object.name, imported.name, object.bytes);
    Buffer& buffer = *object.memory->buffer;
    std::byte* mapped = buffer.mapped();
    // Writes that the runtime does not see are none where it looks for what was written.
    if (mapped && !kernels_are_checked(*object.context))
      return calls.read(object.name, mapped, object.bytes);
    object.texels.resize(object.bytes);
    CUresult code = calls.read(object.name, object.texels.data(), object.texels.size());
    return code == eSuccess ? done(buffer.upload(0, object.texels)) : code;
  }
  // OpenGL copies no texture that its filter makes incomplete, which the host reads all the same.
  if (!imported.name || calls.copy_image(object.image, imported.image) != eSuccess)
    if (CUresult code = read_levels(calls, object); code != eSuccess) return code;
  for (const auto& [where, each] : object.layers)
    if (CUresult code = copy_layer(object, where.second, where.first, each->array, false);
        code != eSuccess)
      return code;
  return eSuccess;
}

CUresult write_back(gl::Calls& calls, GraphicsObject& object) {
  const gl::Imported& imported = object.imported;
  if (object.memory) {
    if (imported.name) return calls.copy_buffer(imported.name, object.name, object.bytes);
    const Buffer& buffer = *object.memory->buffer;
    if (const std::byte* mapped = buffer.mapped())
      return calls.write(object.name, mapped, object.bytes);
    object.texels.resize(object.bytes);
    CUresult code = done(buffer.download(0, object.texels));
    return code == eSuccess ? calls.write(object.name, object.texels.data(), object.texels.size())
                            : code;
  }
  for (const auto& [where, each] : object.layers)
    if (CUresult code = copy_layer(object, where.second, where.first, each->array, true);
        code != eSuccess)
      return code;
  if (imported.name && calls.copy_image(imported.image, object.image) == eSuccess) return eSuccess;
  return write_levels(calls, object);
}

CUresult layer_array(GraphicsObject& object, unsigned layer, unsigned level, CUarray* made) {
  auto& found = object.layers[{level, layer}];
  if (!found) {
    CUDA_ARRAY3D_DESCRIPTOR desc = array_of(object.image, object.flags);
    desc.Width = object.image.width_of(level);
    desc.Height = object.image.height_of(level);
    desc.Depth = 0;
    desc.Flags &= ~(kArrayLayered | kArrayCubemap);
    CUarray array = nullptr;
    CUresult code = create_array(*object.context, desc, array);
    if (code == eSuccess) {
      auto own = tables().arrays.find(array);
      code = copy_layer(object, layer, level, own->array, false);
      own->owner = object.mipmap.get();
      if (object.flags & kGather) own->desc.Flags |= kArrayGather;
      if (code == eSuccess) found = std::move(own);
    }
    if (!found) {
      object.layers.erase({level, layer});
      return code;
    }
  }
  *made = found.get();
  return eSuccess;
}

}  // namespace ptx2spv::cuda
