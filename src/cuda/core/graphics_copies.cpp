// What the device has of OpenGL's objects, and its copies both ways.

#include <fmt/format.h>

#include "src/array/array.hpp"
#include "src/cuda/core/graphics.hpp"

namespace ptx2spv::cuda {

std::string name_of(const GraphicsObject& object) {
  const char* kind = object.bytes                               ? "buffer"
                     : object.image.target == gl::kRenderbuffer ? "renderbuffer"
                                                                : "texture";
  return fmt::format("OpenGL {} {}", kind, object.name);
}

namespace {

/// The drivers' number of it.
CUarray_format format_of(abi::SurfaceFormat format) {
  switch (format) {
    case abi::SurfaceFormat::u8: return kUnsignedInt8;
    case abi::SurfaceFormat::u16: return kUnsignedInt16;
    case abi::SurfaceFormat::u32: return kUnsignedInt32;
    case abi::SurfaceFormat::s8: return kSignedInt8;
    case abi::SurfaceFormat::s16: return kSignedInt16;
    case abi::SurfaceFormat::s32: return kSignedInt32;
    case abi::SurfaceFormat::f16: return kHalf;
    default: return kFloat;
  }
}

CUresult done(const Status& status) { return status ? eSuccess : report(status.error()); }

/// Of nobody else's bytes, or of none where reads before a write are looked for.
bool begins_empty(const ContextObject& context, const GraphicsObject& object) {
  return !(kernels_are_checked(context) && !object.reads());
}

void tell_sharing(const GraphicsObject& object) {
  const std::string& why = object.sharing.why;
  note(name_of(object) + (why.empty() ? " is copied on the device, by memory that OpenGL imports"
                                      : " is copied through the host: " + why));
}

CUresult make_memory(ContextObject& context, gl::Calls& calls, GraphicsObject& object) {
  auto buffer = gl::make_buffer(calls, context.gpu(), object.bytes, object.sharing);
  tell_sharing(object);
  if (!buffer) return report(buffer.error());
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
  desc.Format = format_of(image.format.format);
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
    return gl::make_array(calls, context.gpu(), object.image, desc, object.sharing);
  };
  CUresult code = create_mipmap(context, array_of(object.image, object.flags), object.image.levels,
                                maker, made);
  tell_sharing(object);
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

CUresult gl_code(const Status& status) {
  if (status) return eSuccess;
  const std::string& text = status.error().text;
  switch (status.error().code) {
    case ErrorCode::no_device: return fail(eInvalidGraphicsContext, text);
    case ErrorCode::not_found: return fail(eInvalidResourceHandle, text);
    case ErrorCode::invalid_argument: return fail(eInvalidValue, text);
    case ErrorCode::unsupported: say_once(text); return fail(eOperatingSystem, text);
    case ErrorCode::internal: return fail(eUnknown, text);
    default: return report(status.error());
  }
}

CUresult make_copy(ContextObject& context, gl::Calls& calls, GraphicsObject& object) {
  if (object.bytes) return object.memory ? eSuccess : make_memory(context, calls, object);
  return object.mipmap ? eSuccess : make_arrays(context, calls, object);
}

namespace {

/// Of what it was mapped from, else it lies in that.
bool is_copy(const ArrayObject& layer) { return !layer.array.state()->whole_of; }

void drop_layer(ArrayObject& layer, const std::string& why) {
  bury_objects_over(layer, why);
  tables().arrays.take(&layer);
}

}  // namespace

void drop(gl::Calls* calls, GraphicsObject& object, const char* what) {
  if (calls && object.sharing.imported.name) calls->release(object.sharing.imported);
  const std::string why = fmt::format("{} was {}", name_of(object), what);
  if (object.memory) {
    bury_objects_over(*object.memory);
    forget(*object.memory);
    object.memory = nullptr;
  }
  if (!object.mipmap) return;
  bury_objects_over(*object.mipmap, why);
  for (const auto& [where, each] : object.layers) drop_layer(*each, why);
  object.layers.clear();
  for (const auto& each : object.mipmap->levels)
    if (each) tables().arrays.take(each.get());
  tables().mipmaps.take(object.mipmap.get());
  object.mipmap = nullptr;
}

CUresult read_in(gl::Calls& calls, GraphicsObject& object) {
  if (object.memory)
    return gl_code(gl::read_in(calls, object.name, *object.memory->buffer, object.sharing));
  CUresult code = gl_code(gl::read_in(calls, object.image, object.mipmap->array, object.sharing));
  for (const auto& [where, each] : object.layers)
    if (code == eSuccess && is_copy(*each))
      code = copy_layer(object, where.second, where.first, each->array, false);
  return code;
}

CUresult write_back(gl::Calls& calls, GraphicsObject& object) {
  if (object.memory)
    return gl_code(gl::write_back(calls, object.name, *object.memory->buffer, object.sharing));
  for (const auto& [where, each] : object.layers) {
    if (!is_copy(*each)) continue;
    CUresult code = copy_layer(object, where.second, where.first, each->array, true);
    if (code != eSuccess) return code;
  }
  return gl_code(gl::write_back(calls, object.image, object.mipmap->array, object.sharing));
}

namespace {

/// Copies of layers are not what the program has beside them.
CUresult refuse_both(const GraphicsObject& object, const std::string& why) {
  return not_supported(
      "a graphics resource whose layers are arrays of their own",
      (name_of(object) + " is mapped as a mipmapped array, too, and " + why).c_str());
}

/// One that lies in the whole, or a copy where that cannot be.
CUresult make_layer(GraphicsObject& object, unsigned layer, unsigned level,
                    std::shared_ptr<ArrayObject>& made) {
  CUDA_ARRAY3D_DESCRIPTOR desc = array_of(object.image, object.flags);
  desc.Width = object.image.width_of(level);
  desc.Height = object.image.height_of(level);
  desc.Depth = 0;
  desc.Flags &= ~(kArrayLayered | kArrayCubemap);
  if (auto there = runtime::layer_of(object.mipmap->array, layer, level)) {
    made = std::make_shared<ArrayObject>(std::move(*there));
    made->context = object.context;
    made->desc = desc;
    tables().arrays.add(made);
  } else if (there.error().code != ErrorCode::unsupported) {
    return report(there.error());
  } else if (object.whole) {
    return refuse_both(object, there.error().text);
  } else {
    CUarray array = nullptr;
    if (CUresult code = create_array(*object.context, desc, array); code != eSuccess) return code;
    made = tables().arrays.find(array);
    if (CUresult code = copy_layer(object, layer, level, made->array, false); code != eSuccess) {
      tables().arrays.take(array);
      return code;
    }
  }
  made->owner = object.mipmap.get();
  if (object.flags & kGather) made->desc.Flags |= kArrayGather;
  return eSuccess;
}

}  // namespace

CUresult layer_array(GraphicsObject& object, unsigned layer, unsigned level, CUarray* made) {
  auto found = object.layers.find({level, layer});
  if (found == object.layers.end()) {
    std::shared_ptr<ArrayObject> array;
    if (CUresult code = make_layer(object, layer, level, array); code != eSuccess) return code;
    found = object.layers.emplace(std::pair(level, layer), std::move(array)).first;
  }
  object.copies = object.copies || is_copy(*found->second);
  *made = found->second.get();
  return eSuccess;
}

CUresult take_whole(GraphicsObject& object) {
  if (object.copies) return refuse_both(object, "its layers are copies");
  std::erase_if(object.layers, [&](const auto& each) {
    if (!is_copy(*each.second)) return false;
    drop_layer(*each.second, name_of(object) + " was mapped as a whole");
    return true;
  });
  object.whole = true;
  return eSuccess;
}

}  // namespace ptx2spv::cuda
