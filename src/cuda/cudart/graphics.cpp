// OpenGL's buffers and images.
#include "src/cuda/core/graphics.hpp"

#include "src/cuda/cudart/face.hpp"

namespace ptx2spv::cuda {

extern "C" {

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
CUresult cudaGLGetDevices(unsigned* count, int* devices, unsigned room, int which) {
  return call(
      [&](ContextObject& context) { return gl_devices(context, count, devices, room, which); });
}

// The interface of CUDA 2, which knows buffers by their names.

CUresult cudaGLSetGLDevice(int device) { return cudaSetDevice(device); }
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
