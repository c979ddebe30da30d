// Sharing with an application's own OpenGL, in C.
#include "ptx2spv/gl.h"

#include "ptx2spv/gl.hpp"
#include "src/c_api/handles.hpp"

struct ptx2spv_shared_image : Held<gl::SharedImage> {};
struct ptx2spv_shared_buffer : Held<gl::SharedBuffer> {};

namespace {

/// `open` makes a result with what is done with the object.
template <class Handle, class Open>
ptx2spv_status open_shared(const ptx2spv_device* device, const ptx2spv_access& access, Handle** out,
                           Open&& open) {
  if (!device || !out) return fail_null("the device or the object");
  const std::uint32_t number = number_in(access);
  if (number > PTX2SPV_ACCESS_WRITE_DISCARD)
    return fail(Error{ErrorCode::invalid_argument, "there is no such access", {}, nullptr});
  return give(open(static_cast<gl::Access>(number)), out);
}

template <class Shared, class Handle>
ptx2spv_status map_shared(Shared* shared, Handle** out) {
  return shared && out ? give(shared->it.map(), out) : fail_null("the object");
}

template <class Shared>
ptx2spv_status unmap_shared(Shared* shared) {
  return shared ? finish(shared->it.unmap()) : fail_null("the object");
}

}  // namespace

extern "C" {

ptx2spv_status ptx2spv_shared_image_open(ptx2spv_device* device, uint32_t name, uint32_t target,
                                         ptx2spv_access access, ptx2spv_shared_image** image) {
  return open_shared(device, access, image, [&](gl::Access how) {
    return gl::SharedImage::open(device->it, name, target, how);
  });
}
ptx2spv_status ptx2spv_shared_image_map(ptx2spv_shared_image* image, ptx2spv_array** array) {
  return map_shared(image, array);
}
ptx2spv_status ptx2spv_shared_image_unmap(ptx2spv_shared_image* image) {
  return unmap_shared(image);
}
void ptx2spv_shared_image_destroy(ptx2spv_shared_image* image) { delete image; }

ptx2spv_status ptx2spv_shared_buffer_open(ptx2spv_device* device, uint32_t name,
                                          ptx2spv_access access, ptx2spv_shared_buffer** buffer) {
  return open_shared(device, access, buffer,
                     [&](gl::Access how) { return gl::SharedBuffer::open(device->it, name, how); });
}
ptx2spv_status ptx2spv_shared_buffer_map(ptx2spv_shared_buffer* shared, ptx2spv_buffer** buffer) {
  return map_shared(shared, buffer);
}
ptx2spv_status ptx2spv_shared_buffer_unmap(ptx2spv_shared_buffer* shared) {
  return unmap_shared(shared);
}
void ptx2spv_shared_buffer_destroy(ptx2spv_shared_buffer* shared) { delete shared; }

}  // extern "C"
