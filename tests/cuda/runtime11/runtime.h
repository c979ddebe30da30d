/* The runtime interface of CUDA 11 as these programs use it, declared here so that no toolkit is
 * needed: texture and surface references, and what compilers call for them. */
#ifndef PTX2SPV_TESTS_CUDA_RUNTIME11_H
#define PTX2SPV_TESTS_CUDA_RUNTIME11_H
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int cudaError_t;
typedef struct CUstream_st* cudaStream_t;
typedef struct cudaArray* cudaArray_t;
typedef struct cudaMipmappedArray* cudaMipmappedArray_t;
typedef struct {
  int x, y, z, w, f;
} cudaChannelFormatDesc;
typedef struct {
  size_t width, height, depth;
} cudaExtent;

/* The host's variable of a texture reference. */
struct textureReference {
  int normalized, filterMode, addressMode[3];
  cudaChannelFormatDesc channelDesc;
  int sRGB;
  unsigned maxAnisotropy;
  int mipmapFilterMode;
  float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
  int disableTrilinearOptimization, reserved[14];
};
struct surfaceReference {
  cudaChannelFormatDesc channelDesc;
};

enum {
  kSigned = 0,
  kUnsigned = 1,
  kReal = 2,
  kToDevice = 1,
  kToHost = 2,
  kWrap = 0,
  kClamp = 1,
  kMirror = 2,
  kBorder = 3,
  kInvalidValue = 1,
  kInvalidTexture = 18,
  kInvalidTextureBinding = 19,
  kInvalidSurface = 37
};

cudaError_t cudaMalloc(void** pointer, size_t bytes);
cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height);
cudaError_t cudaFree(void* pointer);
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, int kind);
cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                         size_t width, size_t height, int kind);
cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch,
                                size_t width, size_t height, int kind);
cudaError_t cudaMemcpy2DFromArray(void* to, size_t pitch, const struct cudaArray* from, size_t x,
                                  size_t y, size_t width, size_t height, int kind);
cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* desc, size_t width,
                            size_t height, unsigned flags);
cudaError_t cudaFreeArray(cudaArray_t array);
cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t* mipmap,
                                     const cudaChannelFormatDesc* desc, cudaExtent extent,
                                     unsigned levels, unsigned flags);
cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t* level, const struct cudaMipmappedArray* mipmap,
                                       unsigned number);
cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t mipmap);
cudaError_t cudaBindTexture(size_t* offset, const struct textureReference* reference,
                            const void* pointer, const cudaChannelFormatDesc* desc, size_t bytes);
cudaError_t cudaBindTexture2D(size_t* offset, const struct textureReference* reference,
                              const void* pointer, const cudaChannelFormatDesc* desc, size_t width,
                              size_t height, size_t pitch);
cudaError_t cudaBindTextureToArray(const struct textureReference* reference,
                                   const struct cudaArray* array,
                                   const cudaChannelFormatDesc* desc);
cudaError_t cudaBindTextureToMipmappedArray(const struct textureReference* reference,
                                            const struct cudaMipmappedArray* mipmap,
                                            const cudaChannelFormatDesc* desc);
cudaError_t cudaUnbindTexture(const struct textureReference* reference);
cudaError_t cudaGetTextureAlignmentOffset(size_t* offset, const struct textureReference* reference);
cudaError_t cudaGetTextureReference(const struct textureReference** reference, const void* symbol);
cudaError_t cudaBindSurfaceToArray(const struct surfaceReference* reference,
                                   const struct cudaArray* array,
                                   const cudaChannelFormatDesc* desc);
cudaError_t cudaGetSurfaceReference(const struct surfaceReference** reference, const void* symbol);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaGetLastError(void);
cudaError_t cudaRuntimeGetVersion(int* version);
const char* cudaGetErrorName(cudaError_t code);

static int failures;
#define OK(call)                                                                                  \
  do {                                                                                            \
    cudaError_t code_ = (call);                                                                   \
    if (code_) printf("line %d: %s: %s\n", __LINE__, #call, cudaGetErrorName(code_)), ++failures; \
  } while (0)
#define IS(call, expected)                                                               \
  do {                                                                                   \
    cudaError_t code_ = (call);                                                          \
    if (code_ != (expected))                                                             \
      printf("line %d: %s: %s\n", __LINE__, #call, cudaGetErrorName(code_)), ++failures; \
  } while (0)
#define TRUE(condition)                                                          \
  do {                                                                           \
    if (!(condition)) printf("line %d: %s\n", __LINE__, #condition), ++failures; \
  } while (0)

#ifdef __cplusplus
}
#endif
#endif
