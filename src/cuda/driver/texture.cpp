// Texture and surface objects and references.
#include <algorithm>
#include <cstring>

#include "src/cuda/driver/face.hpp"

namespace ptx2spv::cuda {

extern "C" {

CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC* desc, CUtexObject handle) {
  return call([&](ContextObject& context) -> CUresult {
    auto texture = find_texture(context, handle);
    if (!texture || !desc) return eInvalidValue;
    *desc = texture->resource;
    return eSuccess;
  });
}
CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC* desc, CUtexObject handle) {
  return call([&](ContextObject& context) -> CUresult {
    auto texture = find_texture(context, handle);
    if (!texture || !desc) return eInvalidValue;
    *desc = texture->desc;
    return eSuccess;
  });
}
CUresult cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC* desc, CUtexObject handle) {
  return call([&](ContextObject& context) -> CUresult {
    auto texture = find_texture(context, handle);
    if (!texture || !desc || !texture->view) return eInvalidValue;
    *desc = *texture->view;
    return eSuccess;
  });
}

CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC* desc, CUsurfObject handle) {
  return call([&](ContextObject& context) -> CUresult {
    auto surface = find_surface(context, handle);
    if (!surface || !desc) return eInvalidValue;
    *desc = surface->resource;
    return eSuccess;
  });
}

CUresult cuSurfRefSetArray(CUsurfref reference, CUarray array, unsigned flags) {
  if (flags) return eInvalidValue;
  return call([&](ContextObject&) {
    return with(tables().surface_refs, reference, [&](SurfaceRefObject& object) -> CUresult {
      auto found = tables().arrays.find(array);
      if (!found) return fail(eInvalidResourceHandle, "no such array");
      if (!(found->desc.Flags & kArraySurface))
        return fail(eInvalidValue, "the array was not made for surfaces");
      return bind_surface(object, array);
    });
  });
}
CUresult cuSurfRefGetArray(CUarray* array, CUsurfref reference) {
  if (!array) return eInvalidValue;
  return with(tables().surface_refs, reference, [&](SurfaceRefObject& object) -> CUresult {
    *array = object.array;
    return object.array ? eSuccess : eInvalidValue;
  });
}

// ------------------------------------------------------------------------------------ references

CUresult cuTexRefCreate(CUtexref* reference) {
  if (!reference) return eInvalidValue;
  return call([&](ContextObject&) {
    auto made = std::make_shared<TextureRefObject>();
    made->desc.maxAnisotropy = 1;
    *reference = tables().texture_refs.add(std::move(made));
    return eSuccess;
  });
}
CUresult cuTexRefDestroy(CUtexref reference) {
  auto found = tables().texture_refs.find(reference);
  if (!found || found->module) return eInvalidValue;
  tables().texture_refs.take(reference);
  return eSuccess;
}

CUresult cuTexRefSetArray(CUtexref reference, CUarray array, unsigned flags) {
  if (flags > 1) return eInvalidValue;  // CU_TRSA_OVERRIDE_FORMAT, which is done without asking
  return change_texref(reference,
                       [&](TextureRefObject& object) { return point_at(object, array); });
}
CUresult cuTexRefSetAddress_v2(std::size_t* offset, CUtexref reference, CUdeviceptr address,
                               std::size_t bytes) {
  return change_texref(reference, [&](TextureRefObject& object) -> CUresult {
    if (address) return point_at_memory(object, address, bytes, offset);
    object.bound = false;
    if (offset) *offset = 0;
    return eSuccess;
  });
}
CUresult cuTexRefSetFormat(CUtexref reference, CUarray_format format, int channels) {
  return change_texref(reference, [&](TextureRefObject& object) -> CUresult {
    abi::SurfaceFormat ignored;
    std::uint32_t count = 0;
    if (!format_of(format, static_cast<unsigned>(channels), ignored, count)) return eInvalidValue;
    object.format = format;
    object.channels = channels;
    if (object.bound && object.resource.resType == kResourceLinear) {
      object.resource.res.linear.format = format;
      object.resource.res.linear.numChannels = static_cast<unsigned>(channels);
    }
    return eSuccess;
  });
}
CUresult cuTexRefSetAddressMode(CUtexref reference, int dimension, int mode) {
  if (dimension < 0 || dimension > 2 || mode < 0 || mode > 3) return eInvalidValue;
  return change_texref(reference, [&](TextureRefObject& object) {
    object.desc.addressMode[dimension] = static_cast<unsigned>(mode);
    return eSuccess;
  });
}
CUresult cuTexRefSetFilterMode(CUtexref reference, int mode) {
  if (mode < 0 || mode > 1) return eInvalidValue;
  return change_texref(reference, [&](TextureRefObject& object) {
    object.desc.filterMode = static_cast<unsigned>(mode);
    return eSuccess;
  });
}
CUresult cuTexRefSetMipmapFilterMode(CUtexref reference, int mode) {
  if (mode < 0 || mode > 1) return eInvalidValue;
  return change_texref(reference, [&](TextureRefObject& object) {
    object.desc.mipmapFilterMode = static_cast<unsigned>(mode);
    return eSuccess;
  });
}
CUresult cuTexRefSetMipmapLevelClamp(CUtexref reference, float least, float most) {
  return change_texref(reference, [&](TextureRefObject& object) {
    object.desc.minMipmapLevelClamp = least;
    object.desc.maxMipmapLevelClamp = most;
    return eSuccess;
  });
}
CUresult cuTexRefSetBorderColor(CUtexref reference, float* color) {
  if (!color) return eInvalidValue;
  return change_texref(reference, [&](TextureRefObject& object) {
    std::copy(color, color + 4, object.desc.borderColor);
    return eSuccess;
  });
}
CUresult cuTexRefSetFlags(CUtexref reference, unsigned flags) {
  if (flags & ~(kReadAsInteger | kNormalizedCoordinates | kSrgb | kNoTrilinearOptimization))
    return eInvalidValue;
  return change_texref(reference, [&](TextureRefObject& object) {
    object.desc.flags = flags;
    return eSuccess;
  });
}

CUresult cuTexRefGetAddress_v2(CUdeviceptr* address, CUtexref reference) {
  if (!address) return eInvalidValue;
  return with_texref(reference, [&](TextureRefObject& object) -> CUresult {
    if (!object.bound) return eInvalidValue;
    if (object.resource.resType == kResourceLinear)
      *address = object.resource.res.linear.devPtr;
    else if (object.resource.resType == kResourcePitch2D)
      *address = object.resource.res.pitch2D.devPtr;
    else
      return eInvalidValue;
    return eSuccess;
  });
}
CUresult cuTexRefGetArray(CUarray* array, CUtexref reference) {
  if (!array) return eInvalidValue;
  return with_texref(reference, [&](TextureRefObject& object) -> CUresult {
    if (!object.bound || object.resource.resType != kResourceArray) return eInvalidValue;
    *array = object.resource.res.array.hArray;
    return eSuccess;
  });
}
CUresult cuTexRefGetMipmappedArray(CUmipmappedArray* mipmap, CUtexref reference) {
  if (!mipmap) return eInvalidValue;
  return with_texref(reference, [&](TextureRefObject& object) -> CUresult {
    if (!object.bound || object.resource.resType != kResourceMipmap) return eInvalidValue;
    *mipmap = object.resource.res.mipmap.hMipmappedArray;
    return eSuccess;
  });
}
CUresult cuTexRefGetFormat(CUarray_format* format, int* channels, CUtexref reference) {
  return with_texref(reference, [&](TextureRefObject& object) {
    if (format) *format = object.format;
    if (channels) *channels = object.channels;
    return eSuccess;
  });
}
CUresult cuTexRefGetMipmapLevelClamp(float* least, float* most, CUtexref reference) {
  if (!least || !most) return eInvalidValue;
  return with_texref(reference, [&](TextureRefObject& object) {
    *least = object.desc.minMipmapLevelClamp;
    *most = object.desc.maxMipmapLevelClamp;
    return eSuccess;
  });
}
CUresult cuTexRefGetBorderColor(float* color, CUtexref reference) {
  if (!color) return eInvalidValue;
  return with_texref(reference, [&](TextureRefObject& object) {
    std::copy(std::begin(object.desc.borderColor), std::end(object.desc.borderColor), color);
    return eSuccess;
  });
}

}  // extern "C"

}  // namespace ptx2spv::cuda
