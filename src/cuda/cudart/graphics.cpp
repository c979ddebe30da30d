// OpenGL's buffers and images.
#include "src/cuda/core/graphics.hpp"

#include "src/cuda/cudart/face.hpp"

namespace ptx2spv::cuda {

extern "C" {

CUresult cudaGraphicsGLRegisterBuffer(CUgraphicsResource* made, unsigned buffer, unsigned flags) {
  return call(
      [&](ContextObject& context) { return register_buffer(context, made, buffer, flags); });
}
CUresult cudaGraphicsGLRegisterImage(CUgraphicsResource* made, unsigned image, unsigned target,
                                     unsigned flags) {
  return call(
      [&](ContextObject& context) { return register_image(context, made, image, target, flags); });
}
CUresult cudaGraphicsUnregisterResource(CUgraphicsResource resource) {
  return call([&](ContextObject& context) { return unregister(context, resource); });
}
CUresult cudaGraphicsResourceSetMapFlags(CUgraphicsResource resource, unsigned flags) {
  return call([&](ContextObject&) { return set_map_flags(resource, flags); });
}
CUresult cudaGraphicsMapResources(int count, CUgraphicsResource* list, CUstream handle) {
  if (count < 0) return keep(eInvalidValue);
  return call_in(handle, [&](ContextObject& context, const auto& stream) {
    return map_resources(context, static_cast<unsigned>(count), list, *stream);
  });
}
CUresult cudaGraphicsUnmapResources(int count, CUgraphicsResource* list, CUstream handle) {
  if (count < 0) return keep(eInvalidValue);
  return call_in(handle, [&](ContextObject& context, const auto& stream) {
    return unmap_resources(context, static_cast<unsigned>(count), list, *stream);
  });
}
CUresult cudaGraphicsResourceGetMappedPointer(void** pointer, std::size_t* bytes,
                                              CUgraphicsResource resource) {
  return call([&](ContextObject&) {
    return mapped_pointer(resource, reinterpret_cast<CUdeviceptr*>(pointer), bytes);
  });
}
CUresult cudaGraphicsSubResourceGetMappedArray(CUarray* array, CUgraphicsResource resource,
                                               unsigned layer, unsigned level) {
  return call([&](ContextObject&) { return mapped_array(resource, layer, level, array); });
}
CUresult cudaGraphicsResourceGetMappedMipmappedArray(CUmipmappedArray* mipmap,
                                                     CUgraphicsResource resource) {
  return call([&](ContextObject&) { return mapped_mipmap(resource, mipmap); });
}
CUresult cudaGLGetDevices(unsigned* count, int* devices, unsigned room, int which) {
  return call(
      [&](ContextObject& context) { return gl_devices(context, count, devices, room, which); });
}

// The interface of CUDA 2, which knows buffers by their names.

CUresult cudaGLSetGLDevice(int device) { return cudaSetDevice(device); }
CUresult cudaGLRegisterBufferObject(unsigned buffer) {
  CUgraphicsResource made = nullptr;
  return resource_of(buffer) ? keep(fail(eAlreadyMapped, "the buffer is registered already"))
                             : cudaGraphicsGLRegisterBuffer(&made, buffer, 0);
}
CUresult cudaGLUnregisterBufferObject(unsigned buffer) {
  CUgraphicsResource resource = resource_of(buffer);
  return resource ? cudaGraphicsUnregisterResource(resource)
                  : keep(no_buffer(buffer, eInvalidValue));
}
CUresult cudaGLSetBufferObjectMapFlags(unsigned buffer, unsigned flags) {
  CUgraphicsResource resource = resource_of(buffer);
  return resource ? cudaGraphicsResourceSetMapFlags(resource, flags)
                  : keep(no_buffer(buffer, eInvalidResourceHandle));
}
CUresult cudaGLMapBufferObjectAsync(void** pointer, unsigned buffer, CUstream stream) {
  CUgraphicsResource resource = resource_of(buffer);
  if (!resource) return keep(no_buffer(buffer, eMapBufferObjectFailed));
  const CUresult code = cudaGraphicsMapResources(1, &resource, stream);
  return code == eSuccess ? cudaGraphicsResourceGetMappedPointer(pointer, nullptr, resource) : code;
}
CUresult cudaGLMapBufferObject(void** pointer, unsigned buffer) {
  return cudaGLMapBufferObjectAsync(pointer, buffer, nullptr);
}
CUresult cudaGLUnmapBufferObjectAsync(unsigned buffer, CUstream stream) {
  CUgraphicsResource resource = resource_of(buffer);
  return resource ? cudaGraphicsUnmapResources(1, &resource, stream)
                  : keep(no_buffer(buffer, eUnmapBufferObjectFailed));
}
CUresult cudaGLUnmapBufferObject(unsigned buffer) {
  return cudaGLUnmapBufferObjectAsync(buffer, nullptr);
}

}  // extern "C"

}  // namespace ptx2spv::cuda
