// Arrays, textures and surfaces in the runtime interface's terms.
#include <algorithm>
#include <cstring>

#include "src/cuda/cudart/face.hpp"

namespace ptx2spv::cuda {

bool array_format(const cudaChannelFormatDesc& desc, CUarray_format& format, unsigned& channels) {
  // Normalised formats have kinds of their own: 5 to 16.
  if (desc.f >= kChannelUnorm8x1 && desc.f < kChannelUnorm8x1 + 12) {
    const int number = desc.f - kChannelUnorm8x1;
    format = static_cast<CUarray_format>(kUnorm8x1 + number);
    channels = 1u << (number % 3);
    return true;
  }
  const int bits[4] = {desc.x, desc.y, desc.z, desc.w};
  channels = 0;
  while (channels < 4 && bits[channels]) ++channels;
  for (unsigned i = 0; i < 4; ++i)
    if (bits[i] != (i < channels ? bits[0] : 0)) return false;
  if (channels != 1 && channels != 2 && channels != 4) return false;
  switch (desc.f) {
    case kChannelSigned:
      format = desc.x == 8 ? kSignedInt8 : desc.x == 16 ? kSignedInt16 : kSignedInt32;
      return desc.x == 8 || desc.x == 16 || desc.x == 32;
    case kChannelUnsigned:
      format = desc.x == 8 ? kUnsignedInt8 : desc.x == 16 ? kUnsignedInt16 : kUnsignedInt32;
      return desc.x == 8 || desc.x == 16 || desc.x == 32;
    case kChannelFloat: format = desc.x == 16 ? kHalf : kFloat; return desc.x == 16 || desc.x == 32;
    default: return false;
  }
}

cudaChannelFormatDesc channel_desc(CUarray_format format, unsigned channels) {
  cudaChannelFormatDesc desc{};
  int bits = 32;
  const int normalised = format - kUnorm8x1;
  if (normalised >= 0 && normalised < 12) {
    desc.f = kChannelUnorm8x1 + normalised;
    bits = normalised / 3 % 2 ? 16 : 8;
  } else {
    desc.f = format == kHalf || format == kFloat ? kChannelFloat
             : format >= kSignedInt8             ? kChannelSigned
                                                 : kChannelUnsigned;
    if (format == kUnsignedInt8 || format == kSignedInt8) bits = 8;
    if (format == kUnsignedInt16 || format == kSignedInt16 || format == kHalf) bits = 16;
  }
  int* fields[4] = {&desc.x, &desc.y, &desc.z, &desc.w};
  for (unsigned i = 0; i < channels && i < 4; ++i) *fields[i] = bits;
  return desc;
}

CUresult describe_array(const cudaChannelFormatDesc* channels, const cudaExtent& extent,
                        unsigned flags, CUDA_ARRAY3D_DESCRIPTOR& desc) {
  if (!channels) return eInvalidValue;
  if (!array_format(*channels, desc.Format, desc.NumChannels))
    return fail(eInvalidChannelDescriptor, "an array has no such channels");
  desc.Width = extent.width;
  desc.Height = extent.height;
  desc.Depth = extent.depth;
  desc.Flags = flags;
  return eSuccess;
}

namespace {

CUresult convert(const cudaResourceDesc& from, CUDA_RESOURCE_DESC& to) {
  to = {};
  to.resType = static_cast<unsigned>(from.resType);
  switch (to.resType) {
    case kResourceArray: to.res.array.hArray = from.res.array.array; return eSuccess;
    case kResourceMipmap: to.res.mipmap.hMipmappedArray = from.res.mipmap.mipmap; return eSuccess;
    case kResourceLinear: {
      auto& linear = to.res.linear;
      linear.devPtr = reinterpret_cast<CUdeviceptr>(from.res.linear.devPtr);
      linear.sizeInBytes = from.res.linear.sizeInBytes;
      return array_format(from.res.linear.desc, linear.format, linear.numChannels)
                 ? eSuccess
                 : eInvalidChannelDescriptor;
    }
    case kResourcePitch2D: {
      auto& rows = to.res.pitch2D;
      rows.devPtr = reinterpret_cast<CUdeviceptr>(from.res.pitch2D.devPtr);
      rows.width = from.res.pitch2D.width;
      rows.height = from.res.pitch2D.height;
      rows.pitchInBytes = from.res.pitch2D.pitchInBytes;
      return array_format(from.res.pitch2D.desc, rows.format, rows.numChannels)
                 ? eSuccess
                 : eInvalidChannelDescriptor;
    }
    default: return fail(eInvalidValue, "no such kind of resource");
  }
}

cudaResourceDesc convert(const CUDA_RESOURCE_DESC& from) {
  cudaResourceDesc to;
  std::memset(static_cast<void*>(&to), 0, sizeof to);
  to.resType = static_cast<int>(from.resType);
  switch (from.resType) {
    case kResourceArray: to.res.array.array = from.res.array.hArray; break;
    case kResourceMipmap: to.res.mipmap.mipmap = from.res.mipmap.hMipmappedArray; break;
    case kResourceLinear:
      to.res.linear.devPtr = reinterpret_cast<void*>(from.res.linear.devPtr);
      to.res.linear.desc = channel_desc(from.res.linear.format, from.res.linear.numChannels);
      to.res.linear.sizeInBytes = from.res.linear.sizeInBytes;
      break;
    default:
      to.res.pitch2D.devPtr = reinterpret_cast<void*>(from.res.pitch2D.devPtr);
      to.res.pitch2D.desc = channel_desc(from.res.pitch2D.format, from.res.pitch2D.numChannels);
      to.res.pitch2D.width = from.res.pitch2D.width;
      to.res.pitch2D.height = from.res.pitch2D.height;
      to.res.pitch2D.pitchInBytes = from.res.pitch2D.pitchInBytes;
  }
  return to;
}

bool is_small_integer(CUarray_format format) {
  return format == kUnsignedInt8 || format == kSignedInt8 || format == kUnsignedInt16 ||
         format == kSignedInt16;
}

/// The format of the texels that a resource holds; views do not count.
CUarray_format format_of_resource(const CUDA_RESOURCE_DESC& resource) {
  switch (resource.resType) {
    case kResourceArray: {
      auto array = tables().arrays.find(resource.res.array.hArray);
      return array ? array->desc.Format : kUnsignedInt32;
    }
    case kResourceMipmap: {
      auto mipmap = tables().mipmaps.find(resource.res.mipmap.hMipmappedArray);
      return mipmap ? mipmap->desc.Format : kUnsignedInt32;
    }
    case kResourceLinear: return resource.res.linear.format;
    default: return resource.res.pitch2D.format;
  }
}

CUresult convert(const cudaTextureDesc& from, const CUDA_RESOURCE_DESC& resource,
                 CUDA_TEXTURE_DESC& to) {
  to = {};
  if (CUresult code = copy_reads(from, to); code != eSuccess) return code;
  const CUarray_format format = format_of_resource(resource);
  const bool real = format == kHalf || format == kFloat || format >= kUnorm8x1;
  const bool small = is_small_integer(format);
  if (from.filterMode == 1 && !real && (from.readMode == 0 || !small))
    return fail(eInvalidFilterSetting, "integers have no linear filter");
  if (from.readMode == 1 && !small)
    return fail(eInvalidNormSetting, "only integers of 8 and 16 bits are read as floats up to 1");
  std::copy(std::begin(from.borderColor), std::end(from.borderColor), to.borderColor);
  // Of other formats CUDA's runtime leaves the flag out, which views of such formats show.
  if (from.readMode == 0 && small) to.flags |= kReadAsInteger;
  if (from.normalizedCoords) to.flags |= kNormalizedCoordinates;
  return eSuccess;
}

cudaTextureDesc convert(const CUDA_TEXTURE_DESC& from, CUarray_format format) {
  cudaTextureDesc to{};
  for (int i = 0; i < 3; ++i) to.addressMode[i] = static_cast<int>(from.addressMode[i]);
  to.filterMode = static_cast<int>(from.filterMode);
  to.readMode = is_small_integer(format) && !(from.flags & kReadAsInteger);
  to.sRGB = (from.flags & kSrgb) != 0;
  std::copy(std::begin(from.borderColor), std::end(from.borderColor), to.borderColor);
  to.normalizedCoords = (from.flags & kNormalizedCoordinates) != 0;
  to.maxAnisotropy = from.maxAnisotropy;
  to.mipmapFilterMode = static_cast<int>(from.mipmapFilterMode);
  to.mipmapLevelBias = from.mipmapLevelBias;
  to.minMipmapLevelClamp = from.minMipmapLevelClamp;
  to.maxMipmapLevelClamp = from.maxMipmapLevelClamp;
  to.disableTrilinearOptimization = (from.flags & kNoTrilinearOptimization) != 0;
  to.seamlessCubemap = (from.flags & kSeamlessCubemap) != 0;
  return to;
}

/// `whole`: the descriptor has the field of newer versions.
CUresult create_object(CUtexObject* made, const cudaResourceDesc* resource,
                       const cudaTextureDesc* desc, const cudaResourceViewDesc* view, bool whole) {
  if (!made || !resource) return keep(eInvalidValue);
  if (!desc) return keep(fail(eInvalidResourceHandle, "a texture has a descriptor"));
  return call([&](ContextObject& context) -> CUresult {
    CUDA_RESOURCE_DESC over;
    if (CUresult code = convert(*resource, over); code != eSuccess) return code;
    CUDA_TEXTURE_DESC how;
    if (CUresult code = convert(*desc, over, how); code != eSuccess) return code;
    if (whole && desc->seamlessCubemap) how.flags |= kSeamlessCubemap;
    CUDA_RESOURCE_VIEW_DESC shown{};
    if (view)
      std::memcpy(static_cast<void*>(&shown), view, offsetof(CUDA_RESOURCE_VIEW_DESC, reserved));
    return create_texture(context, over, how, view ? &shown : nullptr, *made);
  });
}

}  // namespace

extern "C" {

PTX2SPV_EXPORT cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, int f) {
  return {x, y, z, w, f};
}

CUresult cudaMalloc3DArray(CUarray* array, const cudaChannelFormatDesc* channels, cudaExtent extent,
                           unsigned flags) {
  if (!array) return keep(eInvalidValue);
  return call([&](ContextObject& context) -> CUresult {
    CUDA_ARRAY3D_DESCRIPTOR desc{};
    if (CUresult code = describe_array(channels, extent, flags, desc); code != eSuccess)
      return code;
    return create_array(context, desc, *array);
  });
}

CUresult cudaMallocMipmappedArray(CUmipmappedArray* mipmap, const cudaChannelFormatDesc* channels,
                                  cudaExtent extent, unsigned levels, unsigned flags) {
  if (!mipmap) return keep(eInvalidValue);
  return call([&](ContextObject& context) -> CUresult {
    CUDA_ARRAY3D_DESCRIPTOR desc{};
    if (CUresult code = describe_array(channels, extent, flags, desc); code != eSuccess)
      return code;
    return create_mipmap(context, desc, levels, *mipmap);
  });
}

CUresult cudaArrayGetInfo(cudaChannelFormatDesc* desc, cudaExtent* extent, unsigned* flags,
                          CUarray handle) {
  return call([&](ContextObject&) -> CUresult {
    auto array = tables().arrays.find(handle);
    if (!array) return fail(eInvalidResourceHandle, "no such array");
    if (desc) *desc = channel_desc(array->desc.Format, array->desc.NumChannels);
    if (extent) *extent = {array->desc.Width, array->desc.Height, array->desc.Depth};
    if (flags) *flags = array->desc.Flags;
    return eSuccess;
  });
}

CUresult cudaCreateTextureObject(CUtexObject* made, const cudaResourceDesc* resource,
                                 const cudaTextureDesc* desc, const cudaResourceViewDesc* view) {
  return create_object(made, resource, desc, view, PTX2SPV_CUDART >= 12);
}
PTX2SPV_IF_11(CUresult cudaCreateTextureObject_v2(
    CUtexObject* made, const cudaResourceDesc* resource, const cudaTextureDesc* desc,
    const cudaResourceViewDesc* view) { return create_object(made, resource, desc, view, true); })

CUresult cudaGetTextureObjectResourceDesc(cudaResourceDesc* desc, CUtexObject handle) {
  return call([&](ContextObject& context) -> CUresult {
    auto texture = find_texture(context, handle);
    if (!texture || !desc) return eInvalidValue;
    *desc = convert(texture->resource);
    return eSuccess;
  });
}

CUresult cudaGetTextureObjectTextureDesc(cudaTextureDesc* desc, CUtexObject handle) {
  return call([&](ContextObject& context) -> CUresult {
    auto texture = find_texture(context, handle);
    if (!texture || !desc) return eInvalidResourceHandle;
    const cudaTextureDesc whole = convert(texture->desc, format_of_resource(texture->resource));
    std::memcpy(desc, &whole,
                PTX2SPV_CUDART >= 12 ? sizeof whole : offsetof(cudaTextureDesc, seamlessCubemap));
    return eSuccess;
  });
}
PTX2SPV_IF_11(CUresult cudaGetTextureObjectTextureDesc_v2(cudaTextureDesc* desc,
                                                          CUtexObject handle) {
  return call([&](ContextObject& context) -> CUresult {
    auto texture = find_texture(context, handle);
    if (!texture || !desc) return eInvalidValue;
    *desc = convert(texture->desc, format_of_resource(texture->resource));
    return eSuccess;
  });
})

CUresult cudaGetTextureObjectResourceViewDesc(cudaResourceViewDesc* desc, CUtexObject handle) {
  return call([&](ContextObject& context) -> CUresult {
    auto texture = find_texture(context, handle);
    if (!texture || !desc) return eInvalidValue;
    std::memset(static_cast<void*>(desc), 0, sizeof *desc);
    if (!texture->view) return eSuccess;
    std::memcpy(static_cast<void*>(desc), &*texture->view,
                offsetof(CUDA_RESOURCE_VIEW_DESC, reserved));
    return eSuccess;
  });
}

CUresult cudaCreateSurfaceObject(CUsurfObject* made, const cudaResourceDesc* resource) {
  if (!made || !resource) return keep(eInvalidValue);
  return call([&](ContextObject& context) -> CUresult {
    CUDA_RESOURCE_DESC over;
    if (CUresult code = convert(*resource, over); code != eSuccess) return code;
    return create_surface(context, over, *made);
  });
}

CUresult cudaGetSurfaceObjectResourceDesc(cudaResourceDesc* desc, CUsurfObject handle) {
  return call([&](ContextObject& context) -> CUresult {
    auto surface = find_surface(context, handle);
    if (!surface || !desc) return eInvalidValue;
    *desc = convert(surface->resource);
    return eSuccess;
  });
}

}  // extern "C"

}  // namespace ptx2spv::cuda
