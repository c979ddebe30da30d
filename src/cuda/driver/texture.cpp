// Texture and surface objects and references.

#include "src/cuda/driver/face.hpp"

namespace ptx2spv::cuda {

extern "C" {

CUresult cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC* desc, CUtexObject handle) {
  return call([&](ContextObject& context) -> CUresult {
    auto texture = find_texture(context, handle);
    if (!texture || !desc || !texture->view) return eInvalidValue;
    *desc = *texture->view;
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

}  // extern "C"

}  // namespace ptx2spv::cuda
