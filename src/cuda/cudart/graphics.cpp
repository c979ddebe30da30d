// OpenGL's buffers and images.
#include "src/cuda/core/graphics.hpp"

#include "src/cuda/cudart/face.hpp"

namespace ptx2spv::cuda {

extern "C" {

CUresult cudaGLGetDevices(unsigned* count, int* devices, unsigned room, int which) {
  return call(
      [&](ContextObject& context) { return gl_devices(context, count, devices, room, which); });
}

// The interface of CUDA 2, which knows buffers by their names.
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
