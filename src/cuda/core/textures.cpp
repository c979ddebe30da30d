// Texture and surface objects.
#include <algorithm>

#include <fmt/format.h>

#include "src/cuda/core/core.hpp"
#include "src/device/device.hpp"
#include "src/memory/call_site.hpp"

namespace ptx2spv::cuda {

namespace {

AddressMode address_mode(unsigned mode) {
  constexpr AddressMode kModes[] = {AddressMode::wrap, AddressMode::clamp, AddressMode::mirror,
                                    AddressMode::border};
  return kModes[std::min(mode, 3u)];
}

CUresult convert(const CUDA_TEXTURE_DESC& from, TextureDesc& to) {
  for (int i = 0; i < 3; ++i) {
    if (from.addressMode[i] > 3) return fail(eInvalidValue, "no such address mode");
    to.address[static_cast<std::size_t>(i)] = address_mode(from.addressMode[i]);
  }
  if (from.filterMode > 1 || from.mipmapFilterMode > 1)
    return fail(eInvalidValue, "no such filter mode");
  to.linear_filter = from.filterMode == 1;
  to.linear_mipmap_filter = from.mipmapFilterMode == 1;
  to.normalized_coordinates = from.flags & kNormalizedCoordinates;
  to.read_as_integer = from.flags & kReadAsInteger;
  to.srgb = from.flags & kSrgb;
  to.full_trilinear = from.flags & kNoTrilinearOptimization;
  to.seamless_cube = from.flags & kSeamlessCubemap;
  std::copy(std::begin(from.borderColor), std::end(from.borderColor), to.border.begin());
  to.mipmap_bias = from.mipmapLevelBias;
  to.min_level = from.minMipmapLevelClamp;
  to.max_level = from.maxMipmapLevelClamp;
  to.max_anisotropy = std::clamp(from.maxAnisotropy, 1u, 16u);
  return eSuccess;
}

CUresult take(Result<Texture> made, std::optional<Texture>& texture) {
  if (!made) return report(made.error());
  texture = std::move(*made);
  return eSuccess;
}

}  // namespace

std::optional<ViewFormat> view_format(unsigned number) {
  constexpr CUarray_format kFormats[] = {kUnsignedInt8,  kSignedInt8,  kUnsignedInt16, kSignedInt16,
                                         kUnsignedInt32, kSignedInt32, kHalf,          kFloat};
  if (number < 1 || number > 24) return std::nullopt;
  return ViewFormat{kFormats[(number - 1) / 3], 1u << ((number - 1) % 3)};
}

namespace {

/// A resource view as the runtime has it.
CUresult make_view(const CUDA_RESOURCE_VIEW_DESC& view, const CUDA_ARRAY3D_DESCRIPTOR& desc,
                   std::uint32_t level, unsigned levels, TextureView& made) {
  CUarray_format format = desc.Format;
  unsigned channels = desc.NumChannels;
  if (view.format) {
    auto named = view_format(view.format);
    if (!named)
      return not_supported("a resource view of a block-compressed format",
                           "the runtime has no such formats");
    format = named->format;
    channels = named->channels;
    if (view.width != desc.Width || view.height != desc.Height || view.depth != desc.Depth)
      return fail(eInvalidValue, "the extents of a view are those of its array");
  }
  if (!format_of(format, channels, made.format, made.channels)) return eInvalidValue;
  const bool layered = desc.Flags & (kArrayLayered | kArrayCubemap);
  const unsigned layers = layered ? static_cast<unsigned>(desc.Depth) : 1;
  const bool some = view.firstMipmapLevel || view.lastMipmapLevel || view.firstLayer;
  if (!view.format && (some || view.lastLayer))
    return fail(eInvalidValue, "a view of levels or layers names its format");
  // CUDA takes layers behind the last one in a view, and nothing is there to read.
  const unsigned last_layer = layered ? std::min(view.lastLayer, layers - 1) : view.lastLayer;
  if (view.lastMipmapLevel < view.firstMipmapLevel || view.lastMipmapLevel >= levels ||
      last_layer < view.firstLayer || (last_layer >= layers && last_layer))
    return fail(eInvalidValue, "a view shows levels or layers that there are not");
  made.first_level = level + view.firstMipmapLevel;
  made.levels = view.lastMipmapLevel - view.firstMipmapLevel + 1;
  // Programs that show every layer leave both numbers 0.
  const bool all = !view.firstLayer && !view.lastLayer;
  made.first_layer = view.firstLayer;
  made.layers = all ? layers : last_layer - view.firstLayer + 1;
  return eSuccess;
}

CUresult over_memory(const CUDA_RESOURCE_DESC& resource, const TextureDesc& desc,
                     std::optional<Texture>& made) {
  const bool pitched = resource.resType == kResourcePitch2D;
  const CUdeviceptr address = pitched ? resource.res.pitch2D.devPtr : resource.res.linear.devPtr;
  const CUarray_format format = pitched ? resource.res.pitch2D.format : resource.res.linear.format;
  const unsigned channels =
      pitched ? resource.res.pitch2D.numChannels : resource.res.linear.numChannels;
  TextureMemory memory;
  if (format >= kUnorm8x1)
    return fail(eInvalidValue, "a format that is normalized by itself is an array's");
  if (!format_of(format, channels, memory.format, memory.channels))
    return fail(eInvalidValue, "a texture has no such format");
  auto allocation = find_address(address);
  if (!allocation || !allocation->buffer)
    return fail(eInvalidValue, fmt::format("{:#x} is no address of device memory", address));
  memory.offset = address - allocation->address;
  if (memory.offset % 512)
    return fail(eInvalidValue, "a texture starts at a multiple of 512 bytes");
  const std::uint64_t texel = std::uint64_t{format_bytes(memory.format)} * memory.channels;
  if (pitched) {
    const auto& rows = resource.res.pitch2D;
    if (rows.width >> 31 || !rows.height || rows.height >> 31)
      return fail(eInvalidValue, "an extent of the texture is too large, or 0");
    if (rows.pitchInBytes % 32) return fail(eInvalidValue, "a pitch is a multiple of 32 bytes");
    memory.width = static_cast<std::uint32_t>(rows.width);
    memory.height = static_cast<std::uint32_t>(rows.height);
    memory.pitch = rows.pitchInBytes;
  } else {
    const std::uint64_t count = resource.res.linear.sizeInBytes / texel;
    if (!count || count >> 31) return fail(eInvalidValue, "a texture of too many texels, or none");
    memory.width = static_cast<std::uint32_t>(count);
  }
  return take(Texture::create(*allocation->buffer, memory, desc), made);
}

}  // namespace

CUresult make_texture(const CUDA_RESOURCE_DESC& resource, const CUDA_TEXTURE_DESC& given,
                      const CUDA_RESOURCE_VIEW_DESC* view, std::optional<Texture>& made) {
  TextureDesc desc;
  if (CUresult code = convert(given, desc); code != eSuccess) return code;
  switch (resource.resType) {
    case kResourceArray: {
      auto array = tables().arrays.find(resource.res.array.hArray);
      if (!array) return no_array(resource.res.array.hArray);
      desc.cube = array->desc.Flags & kArrayCubemap;
      if (desc.seamless_cube && !desc.cube)
        return fail(eInvalidValue, "only a cube map is seamless");
      if (view) {
        TextureView shown;
        CUresult code = make_view(*view, array->desc, array->level, 1, shown);
        return code == eSuccess ? take(Texture::create_view(array->array, shown, desc), made)
                                : code;
      }
      if (array->owner) return take(Texture::create_level(array->array, array->level, desc), made);
      return take(Texture::create(array->array, desc), made);
    }
    case kResourceMipmap: {
      auto mipmap = tables().mipmaps.find(resource.res.mipmap.hMipmappedArray);
      if (!mipmap) return no_array(resource.res.mipmap.hMipmappedArray);
      desc.cube = mipmap->desc.Flags & kArrayCubemap;
      if (desc.seamless_cube && !desc.cube)
        return fail(eInvalidValue, "only a cube map is seamless");
      desc.mipmapped = true;
      if (view) {
        TextureView shown;
        CUresult code = make_view(*view, mipmap->desc, 0, mipmap->array.desc().levels, shown);
        return code == eSuccess ? take(Texture::create_view(mipmap->array, shown, desc), made)
                                : code;
      }
      return take(Texture::create(mipmap->array, desc), made);
    }
    case kResourceLinear:
    case kResourcePitch2D: return over_memory(resource, desc, made);
    default: return fail(eInvalidValue, "a texture over no kind of resource");
  }
}

bool kernels_are_checked(const ContextObject& context) {
  return (context.gpu().state()->checks & kKernelChecks) != 0;
}

namespace {

/// The handle is dead from now on; `why` empty: the object is destroyed.
void bury(TextureObject& object, const std::string& why) {
  if (!object.texture) return;
  object.context->gpu().state()->textures.note_death(object.texture->handle(), why,
                                                     runtime::call_site());
  object.texture.reset();
}
void bury(SurfaceObject& object, const std::string& why) {
  if (!object.surface) return;
  object.context->gpu().state()->surfaces.note_death(object.surface->handle(), why,
                                                     runtime::call_site());
  object.surface.reset();
}

template <class F>
void bury_where(const ContextObject& context, F&& over, const std::string& why) {
  if (!kernels_are_checked(context)) return;
  for (const auto& each : tables().textures.all())
    if (each->context == &context && over(each->resource)) bury(*each, why);
  for (const auto& each : tables().surfaces.all())
    if (each->context == &context && over(each->resource)) bury(*each, why);
}

/// An object's array is one of its context.
CUresult check_owner(const ContextObject& context, const CUDA_RESOURCE_DESC& resource) {
  const ContextObject* owner = &context;
  if (resource.resType == kResourceArray) {
    if (auto array = tables().arrays.find(resource.res.array.hArray)) owner = array->context;
  } else if (resource.resType == kResourceMipmap) {
    if (auto array = tables().mipmaps.find(resource.res.mipmap.hMipmappedArray))
      owner = array->context;
  }
  if (owner == &context) return eSuccess;
  return fail(ePeerAccessNotEnabled, "the array is of another context than the current one");
}

template <class T>
CUresult destroy(ContextObject& context, NumberTable<T>& table, std::uint64_t handle) {
  // CUDA takes what is no object any more for destroyed, and says so only here.
  if (!table.find(handle)) {
    if (handle) (void)fail(eInvalidValue, fmt::format("{:#x} is no object to destroy", handle));
    return eSuccess;
  }
  // A launch that still reads it would trap.
  const CUresult code = synchronize(context);
  if (kernels_are_checked(context)) bury(*table.find(handle), {});
  table.take(handle);
  return code;
}

}  // namespace

void bury_objects_over(const ArrayObject& array, const std::string& why) {
  bury_where(
      *array.context,
      [&](const CUDA_RESOURCE_DESC& each) {
        return each.resType == kResourceArray && each.res.array.hArray == &array;
      },
      why);
}

void bury_objects_over(const MipmapObject& mipmap, const std::string& why) {
  bury_where(
      *mipmap.context,
      [&](const CUDA_RESOURCE_DESC& each) {
        if (each.resType == kResourceMipmap) return each.res.mipmap.hMipmappedArray == &mipmap;
        const auto level = [&](const auto& own) { return own.get() == each.res.array.hArray; };
        return each.resType == kResourceArray && each.res.array.hArray &&
               std::ranges::any_of(mipmap.levels, level);
      },
      why);
}

void bury_objects_over(const Allocation& memory) {
  bury_where(
      *memory.context,
      [&](const CUDA_RESOURCE_DESC& each) {
        if (each.resType != kResourceLinear && each.resType != kResourcePitch2D) return false;
        const CUdeviceptr at =
            each.resType == kResourceLinear ? each.res.linear.devPtr : each.res.pitch2D.devPtr;
        return at - memory.address < memory.bytes;
      },
      "its memory was freed");
}

CUresult create_texture(ContextObject& context, const CUDA_RESOURCE_DESC& resource,
                        const CUDA_TEXTURE_DESC& desc, const CUDA_RESOURCE_VIEW_DESC* view,
                        CUtexObject& made) {
  if (CUresult code = check_owner(context, resource); code != eSuccess) return code;
  auto object = std::make_shared<TextureObject>();
  object->context = &context;
  object->resource = resource;
  trace(context, *object);
  object->desc = desc;
  if (view) object->view = *view;
  if (CUresult code = make_texture(resource, desc, view, object->texture); code != eSuccess)
    return code;
  made = object->texture->handle();
  tables().textures.add(made, std::move(object));
  return eSuccess;
}

CUresult destroy_texture(ContextObject& context, CUtexObject handle) {
  return destroy(context, tables().textures, handle);
}

std::shared_ptr<TextureObject> find_texture(const ContextObject& context, CUtexObject handle) {
  auto found = tables().textures.find(handle);
  return found && found->context == &context ? found : nullptr;
}

CUresult create_surface(ContextObject& context, const CUDA_RESOURCE_DESC& resource,
                        CUsurfObject& made) {
  if (resource.resType == kResourceMipmap && !resource.res.mipmap.hMipmappedArray)
    return no_array(nullptr);
  if (resource.resType != kResourceArray)
    return fail(eInvalidValue, "a surface object is over an array");
  auto array = tables().arrays.find(resource.res.array.hArray);
  if (!array) return no_array(resource.res.array.hArray);
  if (CUresult code = check_owner(context, resource); code != eSuccess) return code;
  auto surface = Surface::create(array->array, array->level);
  if (!surface) return report(surface.error());
  auto object = std::make_shared<SurfaceObject>();
  object->context = &context;
  object->resource = resource;
  trace(context, *object);
  made = surface->handle();
  object->surface = std::move(*surface);
  tables().surfaces.add(made, std::move(object));
  return eSuccess;
}

CUresult destroy_surface(ContextObject& context, CUsurfObject handle) {
  // CUDA takes a handle that is destroyed already.
  return tables().surfaces.find(handle) ? destroy(context, tables().surfaces, handle) : eSuccess;
}

std::shared_ptr<SurfaceObject> find_surface(const ContextObject& context, CUsurfObject handle) {
  auto found = tables().surfaces.find(handle);
  return found && found->context == &context ? found : nullptr;
}

}  // namespace ptx2spv::cuda
