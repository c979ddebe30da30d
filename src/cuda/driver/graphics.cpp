// OpenGL's buffers and images.
#include "src/cuda/core/graphics.hpp"

#include "src/cuda/driver/face.hpp"

namespace ptx2spv::cuda {

extern "C" {

CUresult cuGraphicsResourceSetMapFlags(CUgraphicsResource resource, unsigned flags) {
  return cuGraphicsResourceSetMapFlags_v2(resource, flags);
}

CUresult cuGLGetDevices(unsigned* count, CUdevice* devices, unsigned room, int which) {
  return cuGLGetDevices_v2(count, devices, room, which);
}

// The interface of CUDA 2, which knows buffers by their names.
CUresult cuGLSetBufferObjectMapFlags(unsigned buffer, unsigned flags) {
  CUgraphicsResource resource = resource_of(buffer);
  return resource ? cuGraphicsResourceSetMapFlags_v2(resource, flags)
                  : no_buffer(buffer, eInvalidValue);
}
CUresult cuGLMapBufferObjectAsync_v2(CUdeviceptr* address, std::size_t* bytes, unsigned buffer,
                                     CUstream stream) {
  CUgraphicsResource resource = resource_of(buffer);
  if (!resource) return no_buffer(buffer, eInvalidValue);
  const CUresult code = cuGraphicsMapResources(1, &resource, stream);
  return code == eSuccess ? cuGraphicsResourceGetMappedPointer_v2(address, bytes, resource) : code;
}
CUresult cuGLUnmapBufferObjectAsync(unsigned buffer, CUstream stream) {
  CUgraphicsResource resource = resource_of(buffer);
  return resource ? cuGraphicsUnmapResources(1, &resource, stream)
                  : no_buffer(buffer, eInvalidValue);
}
CUresult cuGLUnmapBufferObject(unsigned buffer) {
  return cuGLUnmapBufferObjectAsync(buffer, nullptr);
}

}  // extern "C"

}  // namespace ptx2spv::cuda
