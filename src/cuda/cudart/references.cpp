// Texture and surface references, which CUDA's runtime had up to version 11: variables of the host
// that stand for variables of a module, and the functions that point these at memory.

#include "src/cuda/cudart/face.hpp"

#if PTX2SPV_CUDART == 11

namespace ptx2spv::cuda {

namespace {

/// What a reference's host variable says of reads now.
CUresult read_description(const textureReference& host, bool normalized, CUDA_TEXTURE_DESC& how) {
  if (CUresult code = copy_reads(host, how); code != eSuccess) return code;
  if (!normalized) how.flags |= kReadAsInteger;
  if (host.normalized) how.flags |= kNormalizedCoordinates;
  return eSuccess;
}

/// The reference with what its host variable says of reads now, and will say at each launch.
/// Integers in memory are read by `desc`, which has to be what an array holds.
CUresult find_described(ContextObject& context, const textureReference* host,
                        const cudaChannelFormatDesc* desc, TextureRefObject*& found) {
  if (!host || !desc) return eInvalidValue;
  bool normalized = false;
  if (CUresult code = find_texture_ref(context, host, found, normalized); code != eSuccess)
    return code;
  CUarray_format format = kFloat;
  unsigned channels = 1;
  if (!array_format(*desc, format, channels))
    return fail(eInvalidChannelDescriptor, "a texture has no such channels");
  const bool real = format == kHalf || format == kFloat || format >= kUnorm8x1;
  const bool wide = real || format == kUnsignedInt32 || format == kSignedInt32;
  if (wide && normalized)
    return fail(eInvalidNormSetting, "only integers of 8 and 16 bits are read as floats up to 1");
  found->describe = [host, normalized](CUDA_TEXTURE_DESC& how) {
    return read_description(*host, normalized, how);
  };
  if (CUresult code = found->describe(found->desc); code != eSuccess) return code;
  found->format = format;
  found->channels = static_cast<int>(channels);
  found->offset = 0;
  return eSuccess;
}

/// Whether a reference's channels are those of what it is bound to.
CUresult check_channels(const TextureRefObject& reference, const CUDA_ARRAY3D_DESCRIPTOR& desc) {
  return reference.format == desc.Format &&
                 static_cast<unsigned>(reference.channels) == desc.NumChannels
             ? eSuccess
             : fail(eInvalidValue, "the texture reference has other channels than the array");
}

}  // namespace

extern "C" {

CUresult cudaBindTexture(std::size_t* offset, const textureReference* host, const void* pointer,
                         const cudaChannelFormatDesc* desc, std::size_t bytes) {
  return call([&](ContextObject& context) -> CUresult {
    TextureRefObject* reference = nullptr;
    CUresult code = find_described(context, host, desc, reference);
    if (code != eSuccess) return code;
    return point_at_memory(*reference, reinterpret_cast<CUdeviceptr>(pointer), bytes, offset);
  });
}

CUresult cudaBindTexture2D(std::size_t* offset, const textureReference* host, const void* pointer,
                           const cudaChannelFormatDesc* desc, std::size_t width, std::size_t height,
                           std::size_t pitch) {
  return call([&](ContextObject& context) -> CUresult {
    TextureRefObject* reference = nullptr;
    CUresult code = find_described(context, host, desc, reference);
    if (code != eSuccess) return code;
    // Rows start at multiples of 512; a place within a row is for the program to add.
    auto address = reinterpret_cast<CUdeviceptr>(pointer);
    auto allocation = find_address(address);
    if (!allocation) return fail(eInvalidValue, "no memory has that address");
    const std::size_t before = (address - allocation->address) % 512;
    if (before && !offset) return fail(eInvalidValue, "the address is no multiple of 512");
    const CUDA_ARRAY_DESCRIPTOR rows{width, height, reference->format,
                                     static_cast<unsigned>(reference->channels)};
    code = point_at_rows(*reference, rows, address - before, pitch);
    if (code != eSuccess) return code;
    reference->offset = before;
    if (offset) *offset = before;
    return eSuccess;
  });
}

CUresult cudaBindTextureToArray(const textureReference* host, const ArrayObject* handle,
                                const cudaChannelFormatDesc* desc) {
  return call([&](ContextObject& context) -> CUresult {
    TextureRefObject* reference = nullptr;
    CUresult code = find_described(context, host, desc, reference);
    if (code != eSuccess) return code;
    auto array = tables().arrays.find(handle);
    if (!array) return fail(eInvalidResourceHandle, "no such array");
    if (code = check_channels(*reference, array->desc); code != eSuccess) return code;
    return point_at(*reference, const_cast<CUarray>(handle));
  });
}

CUresult cudaBindTextureToMipmappedArray(const textureReference* host, const MipmapObject* handle,
                                         const cudaChannelFormatDesc* desc) {
  return call([&](ContextObject& context) -> CUresult {
    TextureRefObject* reference = nullptr;
    CUresult code = find_described(context, host, desc, reference);
    if (code != eSuccess) return code;
    auto mipmap = tables().mipmaps.find(handle);
    if (!mipmap) return fail(eInvalidResourceHandle, "no such mipmapped array");
    if (code = check_channels(*reference, mipmap->desc); code != eSuccess) return code;
    return point_at(*reference, const_cast<CUmipmappedArray>(handle));
  });
}

CUresult cudaUnbindTexture(const textureReference* host) {
  return call([&](ContextObject& context) {
    TextureRefObject* reference = nullptr;
    bool normalized = false;
    CUresult code = find_texture_ref(context, host, reference, normalized);
    // What it was bound to stays readable until something else takes its place, as in CUDA.
    if (code == eSuccess) reference->bound = false;
    return code;
  });
}

CUresult cudaGetTextureAlignmentOffset(std::size_t* offset, const textureReference* host) {
  if (!offset) return keep(eInvalidValue);
  return call([&](ContextObject& context) -> CUresult {
    TextureRefObject* reference = nullptr;
    bool normalized = false;
    CUresult code = find_texture_ref(context, host, reference, normalized);
    if (code != eSuccess) return code;
    if (!reference->bound) return fail(eInvalidTextureBinding, "the texture is not bound");
    *offset = reference->offset;
    return eSuccess;
  });
}

CUresult cudaGetTextureReference(const textureReference** found, const void* symbol) {
  if (!found) return keep(eInvalidValue);
  return call([&](ContextObject& context) {
    TextureRefObject* reference = nullptr;
    bool normalized = false;
    CUresult code = find_texture_ref(context, symbol, reference, normalized);
    if (code == eSuccess) *found = static_cast<const textureReference*>(symbol);
    return code;
  });
}

CUresult cudaBindSurfaceToArray(const surfaceReference* host, const ArrayObject* array,
                                const cudaChannelFormatDesc* desc) {
  if (!desc) return keep(eInvalidValue);
  return call([&](ContextObject& context) -> CUresult {
    SurfaceRefObject* reference = nullptr;
    CUresult code = find_surface_ref(context, host, reference);
    return code == eSuccess ? bind_surface(*reference, const_cast<CUarray>(array)) : code;
  });
}

CUresult cudaGetSurfaceReference(const surfaceReference** found, const void* symbol) {
  if (!found) return keep(eInvalidValue);
  return call([&](ContextObject& context) {
    SurfaceRefObject* reference = nullptr;
    CUresult code = find_surface_ref(context, symbol, reference);
    if (code == eSuccess) *found = static_cast<const surfaceReference*>(symbol);
    return code;
  });
}

}  // extern "C"

}  // namespace ptx2spv::cuda

#endif
