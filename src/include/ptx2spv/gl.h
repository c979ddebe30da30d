/* What the C interface shares with an application's own OpenGL: gl.hpp in C, which documents each
 * function. */
#ifndef PTX2SPV_GL_H
#define PTX2SPV_GL_H

#include <ptx2spv/ptx2spv.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum ptx2spv_access {
  PTX2SPV_ACCESS_BOTH = 0,
  PTX2SPV_ACCESS_READ_ONLY = 1,
  PTX2SPV_ACCESS_WRITE_DISCARD = 2
} ptx2spv_access;

typedef struct ptx2spv_shared_image ptx2spv_shared_image;
ptx2spv_status ptx2spv_shared_image_open(ptx2spv_device* device, uint32_t name, uint32_t target,
                                         ptx2spv_access access, ptx2spv_shared_image** image);
/* The array is the caller's to destroy, as often as it is mapped. */
ptx2spv_status ptx2spv_shared_image_map(ptx2spv_shared_image* image, ptx2spv_array** array);
ptx2spv_status ptx2spv_shared_image_unmap(ptx2spv_shared_image* image);
void ptx2spv_shared_image_destroy(ptx2spv_shared_image* image);

typedef struct ptx2spv_shared_buffer ptx2spv_shared_buffer;
ptx2spv_status ptx2spv_shared_buffer_open(ptx2spv_device* device, uint32_t name,
                                          ptx2spv_access access, ptx2spv_shared_buffer** buffer);
/* Likewise. */
ptx2spv_status ptx2spv_shared_buffer_map(ptx2spv_shared_buffer* shared, ptx2spv_buffer** buffer);
ptx2spv_status ptx2spv_shared_buffer_unmap(ptx2spv_shared_buffer* shared);
void ptx2spv_shared_buffer_destroy(ptx2spv_shared_buffer* shared);

#ifdef __cplusplus
}
#endif
#endif
