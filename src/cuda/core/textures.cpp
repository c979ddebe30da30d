// Texture and surface objects, and the references of older programs.
#include <algorithm>

#include <fmt/format.h>

#include "src/cuda/core/core.hpp"

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

/// A view of another format than the array's.
struct ViewFormat {
  CUarray_format format;
  unsigned channels;
};

/// CUresourceViewFormat 1 to 24: eight formats of one, two and four channels. Block-compressed
/// formats follow.
std::optional<ViewFormat> view_format(unsigned number) {
  constexpr CUarray_format kFormats[] = {kUnsignedInt8,  kSignedInt8,  kUnsignedInt16, kSignedInt16,
                                         kUnsignedInt32, kSignedInt32, kHalf,          kFloat};
  if (number < 1 || number > 24) return std::nullopt;
  return ViewFormat{kFormats[(number - 1) / 3], 1u << ((number - 1) % 3)};
}

/// Views are taken where they show the whole array in its own format; others are refused by name.
CUresult check_view(const CUDA_RESOURCE_VIEW_DESC& view, const CUDA_ARRAY3D_DESCRIPTOR& desc,
                    unsigned levels) {
  if (view.format) {
    auto format = view_format(view.format);
    if (!format)
      return not_supported("a resource view of a block-compressed format",
                           "the runtime has no such formats");
    if (format->format != desc.Format || format->channels != desc.NumChannels)
      return not_supported("a resource view of another format than the array's",
                           "textures read arrays in the format that these were made in");
    if (view.width != desc.Width || view.height != desc.Height || view.depth != desc.Depth)
      return fail(eInvalidValue, "the extents of a view are those of its array");
  }
  const bool layered = desc.Flags & (kArrayLayered | kArrayCubemap);
  const unsigned layers = layered ? static_cast<unsigned>(desc.Depth) : 1;
  if (view.lastMipmapLevel < view.firstMipmapLevel ||
      view.lastMipmapLevel >= std::max(levels, 1u) || view.lastLayer < view.firstLayer ||
      (view.lastLayer >= layers && view.lastLayer))
    return fail(eInvalidValue, "a view shows levels or layers that there are not");
  const bool all_levels = view.firstMipmapLevel == 0 && view.lastMipmapLevel + 1 >= levels;
  const bool one_level = view.firstMipmapLevel == view.lastMipmapLevel;
  if (!all_levels && !one_level)
    return not_supported("a resource view of some levels of several",
                         "textures read every level or one");
  if (view.firstLayer || (view.lastLayer && view.lastLayer + 1 != layers))
    return not_supported("a resource view of some layers", "textures read every layer");
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
  if (!format_of(format, channels, memory.format, memory.channels))
    return fail(eInvalidValue, "a texture has no such format");
  auto allocation = find_address(address);
  if (!allocation || !allocation->buffer)
    return fail(eInvalidValue, fmt::format("{:#x} is no address of device memory", address));
  memory.offset = address - allocation->address;
  const std::uint64_t texel = std::uint64_t{format_bytes(memory.format)} * memory.channels;
  if (pitched) {
    const auto& rows = resource.res.pitch2D;
    if (rows.width >> 31 || !rows.height || rows.height >> 31)
      return fail(eInvalidValue, "an extent of the texture is too large, or 0");
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
      if (!array) return fail(eInvalidValue, "the texture's array does not exist");
      desc.cube = array->desc.Flags & kArrayCubemap;
      desc.seamless_cube = desc.seamless_cube && desc.cube;
      if (view)
        if (CUresult code = check_view(*view, array->desc, 1); code != eSuccess) return code;
      if (array->owner) return take(Texture::create_level(array->array, array->level, desc), made);
      return take(Texture::create(array->array, desc), made);
    }
    case kResourceMipmap: {
      auto mipmap = tables().mipmaps.find(resource.res.mipmap.hMipmappedArray);
      if (!mipmap) return fail(eInvalidValue, "the texture's mipmapped array does not exist");
      desc.cube = mipmap->desc.Flags & kArrayCubemap;
      desc.seamless_cube = desc.seamless_cube && desc.cube;
      desc.mipmapped = true;
      const unsigned levels = mipmap->array.desc().levels;
      if (view) {
        if (CUresult code = check_view(*view, mipmap->desc, levels); code != eSuccess) return code;
        if (view->firstMipmapLevel == view->lastMipmapLevel && levels > 1)
          return take(Texture::create_level(mipmap->array, view->firstMipmapLevel, desc), made);
      }
      return take(Texture::create(mipmap->array, desc), made);
    }
    case kResourceLinear:
    case kResourcePitch2D: return over_memory(resource, desc, made);
    default: return fail(eInvalidValue, "a texture over no kind of resource");
  }
}

CUresult create_texture(ContextObject& context, const CUDA_RESOURCE_DESC& resource,
                        const CUDA_TEXTURE_DESC& desc, const CUDA_RESOURCE_VIEW_DESC* view,
                        CUtexObject& made) {
  auto object = std::make_shared<TextureObject>();
  object->context = &context;
  object->resource = resource;
  object->desc = desc;
  if (view) object->view = *view;
  if (CUresult code = make_texture(resource, desc, view, object->texture); code != eSuccess)
    return code;
  made = object->texture->handle();
  std::lock_guard lock(tables().objects_mutex);
  tables().textures[made] = std::move(object);
  return eSuccess;
}

CUresult destroy_texture(ContextObject& context, CUtexObject handle) {
  auto object = find_texture(handle);
  if (!object) return handle ? fail(eInvalidValue, "no such texture object") : eSuccess;
  // A launch that still reads it would trap.
  const CUresult code = synchronize(context);
  std::lock_guard lock(tables().objects_mutex);
  tables().textures.erase(handle);
  return code;
}

std::shared_ptr<TextureObject> find_texture(CUtexObject handle) {
  std::lock_guard lock(tables().objects_mutex);
  auto found = tables().textures.find(handle);
  return found == tables().textures.end() ? nullptr : found->second;
}

CUresult create_surface(ContextObject& context, const CUDA_RESOURCE_DESC& resource,
                        CUsurfObject& made) {
  if (resource.resType != kResourceArray)
    return fail(eInvalidValue, "a surface object is over an array");
  auto array = tables().arrays.find(resource.res.array.hArray);
  if (!array) return fail(eInvalidValue, "the surface's array does not exist");
  auto surface = Surface::create(array->array, array->level);
  if (!surface) return report(surface.error());
  auto object = std::make_shared<SurfaceObject>();
  object->context = &context;
  object->resource = resource;
  made = surface->handle();
  object->surface = std::move(*surface);
  std::lock_guard lock(tables().objects_mutex);
  tables().surfaces[made] = std::move(object);
  return eSuccess;
}

CUresult destroy_surface(ContextObject& context, CUsurfObject handle) {
  auto object = find_surface(handle);
  if (!object) return handle ? fail(eInvalidValue, "no such surface object") : eSuccess;
  const CUresult code = synchronize(context);
  std::lock_guard lock(tables().objects_mutex);
  tables().surfaces.erase(handle);
  return code;
}

std::shared_ptr<SurfaceObject> find_surface(CUsurfObject handle) {
  std::lock_guard lock(tables().objects_mutex);
  auto found = tables().surfaces.find(handle);
  return found == tables().surfaces.end() ? nullptr : found->second;
}

CUresult bind_textures(ModuleObject& module) {
  std::vector<std::shared_ptr<TextureRefObject>> changed;
  {
    std::lock_guard lock(module.mutex);
    for (const auto& [name, reference] : module.texture_refs)
      if (reference->bound && reference->changed) changed.push_back(reference);
  }
  for (const auto& each : changed) {
    std::optional<Texture> texture;
    if (CUresult code = make_texture(each->resource, each->desc, nullptr, texture);
        code != eSuccess)
      return code;
    Status status = module.module.bind_texture(each->name, *texture);
    if (!status) return report(status.error());
    each->changed = false;
  }
  return eSuccess;
}

CUresult bind_surface(SurfaceRefObject& reference) {
  auto array = tables().arrays.find(reference.array);
  if (!array) return fail(eInvalidValue, "no such array");
  auto surface = Surface::create(array->array, array->level);
  if (!surface) return report(surface.error());
  Status status = reference.module->module.bind_surface(reference.name, *surface);
  return status ? eSuccess : report(status.error());
}

}  // namespace ptx2spv::cuda
