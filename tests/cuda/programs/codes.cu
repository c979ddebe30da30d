// What wrong calls on arrays, textures, surfaces, pools and streams answer.
#include "common.cuh"

__global__ void nothing() {}

#define TELL(call) std::printf("%-62s %s\n", #call, cudaGetErrorName(call))
#define NOTE(what, call) std::printf("%-62s %s\n", what, cudaGetErrorName(call))

namespace {

cudaResourceDesc over(cudaArray_t array) {
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  return resource;
}

cudaResourceDesc over(void* pointer, cudaChannelFormatDesc format, std::size_t bytes) {
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = pointer;
  resource.res.linear.desc = format;
  resource.res.linear.sizeInBytes = bytes;
  return resource;
}

cudaResourceDesc over(void* pointer, cudaChannelFormatDesc format, std::size_t width,
                      std::size_t height, std::size_t pitch) {
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypePitch2D;
  resource.res.pitch2D.devPtr = pointer;
  resource.res.pitch2D.desc = format;
  resource.res.pitch2D.width = width;
  resource.res.pitch2D.height = height;
  resource.res.pitch2D.pitchInBytes = pitch;
  return resource;
}

void arrays() {
  const cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
  cudaArray_t array = nullptr;
  cudaMipmappedArray_t mipmap = nullptr;
  const auto make = [&](const char* what, cudaExtent extent, unsigned flags) {
    array = nullptr;
    cudaError_t code = cudaMalloc3DArray(&array, &f, extent, flags);
    NOTE(what, code);
    if (code == cudaSuccess) CHECK(cudaFreeArray(array));
  };
  make("array without extents", make_cudaExtent(0, 0, 0), 0);
  make("array of height alone", make_cudaExtent(0, 4, 0), 0);
  make("array of depth without height", make_cudaExtent(4, 0, 4), 0);
  make("layered array without layers", make_cudaExtent(4, 4, 0), cudaArrayLayered);
  make("layered array of one dimension", make_cudaExtent(4, 0, 3), cudaArrayLayered);
  make("cube map that is not square", make_cudaExtent(4, 8, 6), cudaArrayCubemap);
  make("cube map of five faces", make_cudaExtent(4, 4, 5), cudaArrayCubemap);
  make("cube map", make_cudaExtent(4, 4, 6), cudaArrayCubemap);
  make("cube maps of seven layers", make_cudaExtent(4, 4, 7), cudaArrayCubemap | cudaArrayLayered);
  make("gathered array of three dimensions", make_cudaExtent(4, 4, 4), cudaArrayTextureGather);
  make("gathered array", make_cudaExtent(4, 4, 0), cudaArrayTextureGather);
  make("array with unknown flags", make_cudaExtent(4, 4, 0), 0x8000);
  make("array that is too wide", make_cudaExtent(1u << 20, 0, 0), 0);
  make("array that is too high", make_cudaExtent(4, 1u << 20, 0), 0);
  TELL(cudaMallocArray(nullptr, &f, 4, 4));
  TELL(cudaMallocArray(&array, nullptr, 4, 4));
  const cudaChannelFormatDesc three =
      cudaCreateChannelDesc(32, 32, 32, 0, cudaChannelFormatKindFloat);
  TELL(cudaMallocArray(&array, &three, 4, 4));
  const cudaChannelFormatDesc uneven =
      cudaCreateChannelDesc(32, 16, 0, 0, cudaChannelFormatKindFloat);
  TELL(cudaMallocArray(&array, &uneven, 4, 4));
  TELL(cudaMallocMipmappedArray(&mipmap, &f, make_cudaExtent(8, 8, 0), 0));
  TELL(cudaMallocMipmappedArray(&mipmap, &f, make_cudaExtent(8, 8, 0), 3));
  TELL(cudaGetMipmappedArrayLevel(&array, mipmap, 3));
  TELL(cudaGetMipmappedArrayLevel(&array, mipmap, 2));
  cudaExtent extent;
  cudaChannelFormatDesc desc;
  unsigned flags;
  CHECK(cudaArrayGetInfo(&desc, &extent, &flags, array));
  std::printf("level 2: %zu %zu %zu\n", extent.width, extent.height, extent.depth);
  TELL(cudaFreeArray(array));
  TELL(cudaFreeMipmappedArray(mipmap));
  TELL(cudaFreeMipmappedArray(nullptr));
  TELL(cudaArrayGetInfo(&desc, &extent, &flags, nullptr));
  TELL(cudaGetChannelDesc(&desc, nullptr));
}

void objects() {
  const cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
  const cudaChannelFormatDesc f4 = cudaCreateChannelDesc<float4>();
  cudaArray_t array;
  CHECK(cudaMallocArray(&array, &f, 16, 16, cudaArraySurfaceLoadStore));
  char* p;
  CHECK(cudaMalloc(&p, 1 << 16));
  cudaSurfaceObject_t surface;
  cudaTextureObject_t texture;
  cudaTextureDesc desc{};
  const auto make = [&](const char* what, const cudaResourceDesc& resource) {
    texture = 0;
    cudaError_t code = cudaCreateTextureObject(&texture, &resource, &desc, nullptr);
    NOTE(what, code);
    if (code == cudaSuccess) CHECK(cudaDestroyTextureObject(texture));
  };
  cudaResourceDesc resource = over(array);
  TELL(cudaCreateSurfaceObject(nullptr, &resource));
  TELL(cudaCreateSurfaceObject(&surface, nullptr));
  TELL(cudaCreateTextureObject(nullptr, &resource, &desc, nullptr));
  TELL(cudaCreateTextureObject(&texture, nullptr, &desc, nullptr));
  TELL(cudaCreateTextureObject(&texture, &resource, nullptr, nullptr));
  resource = over(static_cast<cudaArray_t>(nullptr));
  NOTE("surface over no array", cudaCreateSurfaceObject(&surface, &resource));
  make("texture over no array", resource);
  resource.resType = cudaResourceTypeMipmappedArray;
  NOTE("surface over no mipmapped array", cudaCreateSurfaceObject(&surface, &resource));
  make("texture over no mipmapped array", resource);
  make("texture over linear memory", over(p, f, 1024));
  make("texture over no memory", over(nullptr, f, 1024));
  make("texture over no bytes", over(p, f, 0));
  make("texture over misaligned memory", over(p + 4, f, 1024));
  make("texture over memory at 256", over(p + 256, f, 1024));
  make("texture over pitched memory", over(p, f, 16, 16, 512));
  make("pitched texture of no width", over(p, f, 0, 16, 512));
  make("pitched texture of no height", over(p, f, 16, 0, 512));
  make("pitched texture of no pitch", over(p, f, 16, 16, 0));
  make("pitched texture of a pitch of 48", over(p, f, 8, 16, 48));
  make("pitched texture of a pitch of 96", over(p, f, 8, 16, 96));
  make("pitched texture with a pitch under the width", over(p, f4, 64, 16, 512));
  make("pitched texture of misaligned memory", over(p + 32, f, 16, 16, 512));
  desc.normalizedCoords = 1;
  make("linear memory by normalised coordinates", over(p, f, 1024));
  desc.filterMode = cudaFilterModeLinear;
  make("linear memory with a filter", over(p, f, 1024));
  desc = {};
  desc.addressMode[0] = cudaAddressModeWrap;
  make("repetition of texels", over(array));
  desc = {};
  desc.sRGB = 1;
  make("sRGB of floats", over(array));
  desc = {};
  desc.maxAnisotropy = 99;
  make("anisotropy of 99", over(array));
  desc = {};
  desc.filterMode = static_cast<cudaTextureFilterMode>(7);
  make("filter mode 7", over(array));
  desc = {};
  desc.addressMode[0] = static_cast<cudaTextureAddressMode>(9);
  make("address mode 9", over(array));
  desc = {};
  desc.seamlessCubemap = 1;
  make("seamless array", over(array));
  desc = {};
  desc.readMode = cudaReadModeNormalizedFloat;
  make("floats read as normalised", over(array));
  TELL(cudaDestroyTextureObject(0));
  TELL(cudaDestroySurfaceObject(0));
  desc = {};
  resource = over(array);
  CHECK(cudaCreateTextureObject(&texture, &resource, &desc, nullptr));
  cudaResourceViewDesc view;
  TELL(cudaGetTextureObjectResourceViewDesc(&view, texture));
  TELL(cudaGetTextureObjectTextureDesc(nullptr, texture));
  TELL(cudaFreeArray(array));
  TELL(cudaDestroyTextureObject(texture));
  CHECK(cudaFree(p));
}

void memory() {
  void* p = nullptr;
  std::size_t pitch = 1;
  int value = 0;
  TELL(cudaMallocPitch(&p, &pitch, 0, 4));
  TELL(cudaMallocPitch(&p, &pitch, 4, 0));
  TELL(cudaMallocManaged(&p, 0));
  TELL(cudaMallocManaged(&p, 64, 4));
  TELL(cudaMallocManaged(&p, 64, 3));
  TELL(cudaHostAlloc(&p, 64, 0x100));
  TELL(cudaHostAlloc(&p, 0, 0));
  TELL(cudaHostRegister(nullptr, 64, 0));
  TELL(cudaHostGetDevicePointer(&p, &value, 0));
  TELL(cudaMalloc(&p, std::size_t{1} << 60));
  TELL(cudaMemcpy(&value, nullptr, 4, cudaMemcpyHostToHost));
  TELL(cudaFreeHost(&value));
  CHECK(cudaMalloc(&p, 4096));
  TELL(cudaFree(static_cast<char*>(p) + 4));
  TELL(cudaFreeHost(p));
  TELL(cudaMemset2D(p, 16, 0, 32, 2));
  TELL(cudaMemset(p, 0, 5000));
  TELL(cudaMemcpyToSymbol(&value, &value, 4));
  cudaMemcpy3DParms copy{};
  TELL(cudaMemcpy3D(&copy));
  TELL(cudaMemcpy3D(nullptr));
  TELL(cudaFree(p));
  TELL(cudaFree(p));
  TELL(cudaDeviceSetLimit(static_cast<cudaLimit>(99), 1));
  TELL(cudaFuncSetAttribute(nothing, static_cast<cudaFuncAttribute>(99), 1));
  TELL(cudaDeviceEnablePeerAccess(0, 0));
  TELL(cudaDeviceDisablePeerAccess(0));
  TELL(cudaDeviceCanAccessPeer(&value, 0, 99));
}

void pools() {
  cudaMemPoolProps props{};
  cudaMemPool_t pool = nullptr, own = nullptr, again = nullptr;
  void* p = nullptr;
  TELL(cudaMemPoolCreate(&pool, &props));
  props.allocType = cudaMemAllocationTypePinned;
  TELL(cudaMemPoolCreate(&pool, &props));
  props.location.type = cudaMemLocationTypeDevice;
  props.location.id = 99;
  TELL(cudaMemPoolCreate(&pool, &props));
  props.location.id = 0;
  props.maxSize = 1 << 20;
  TELL(cudaMemPoolCreate(&pool, &props));
  TELL(cudaMallocFromPoolAsync(&p, 1 << 28, pool, 0));
  TELL(cudaMallocFromPoolAsync(&p, 1 << 16, pool, 0));
  std::uint64_t used = 0;
  TELL(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
  std::printf("used %llu\n", static_cast<unsigned long long>(used));
  TELL(cudaFreeAsync(p, 0));
  CHECK(cudaStreamSynchronize(0));
  TELL(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
  std::printf("used %llu\n", static_cast<unsigned long long>(used));
  TELL(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &used));
  std::printf("used %llu\n", static_cast<unsigned long long>(used));
  used = 1;
  TELL(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &used));
  TELL(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
  cudaMemAccessDesc access{{cudaMemLocationTypeDevice, 0}, cudaMemAccessFlagsProtReadWrite};
  TELL(cudaMemPoolSetAccess(pool, &access, 1));
  access.flags = cudaMemAccessFlagsProtNone;
  TELL(cudaMemPoolSetAccess(pool, &access, 1));
  access.location.id = 99;
  TELL(cudaMemPoolSetAccess(pool, &access, 1));
  TELL(cudaDeviceSetMemPool(0, pool));
  TELL(cudaDeviceGetMemPool(&again, 0));
  TELL(cudaDeviceGetDefaultMemPool(&own, 0));
  std::printf("current %d, default %d\n", again == pool, own == pool);
  TELL(cudaMemPoolDestroy(pool));
  TELL(cudaDeviceGetMemPool(&again, 0));
  std::printf("current is the default %d\n", again == own);
  TELL(cudaMemPoolDestroy(own));
  TELL(cudaMallocAsync(&p, 0, 0));
  TELL(cudaFreeAsync(nullptr, 0));
}

void streams() {
  cudaStream_t stream;
  cudaEvent_t event;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaEventCreate(&event));
  TELL(cudaStreamCreateWithFlags(nullptr, 0));
  cudaStream_t odd;
  TELL(cudaStreamCreateWithFlags(&odd, 0x40));
  TELL(cudaEventCreateWithFlags(&event, 0x40));
  CHECK(cudaEventCreate(&event));
  TELL(cudaEventRecordWithFlags(event, stream, cudaEventRecordExternal));
  TELL(cudaEventRecordWithFlags(event, stream, 0x10));
  TELL(cudaStreamWaitEvent(stream, event, cudaEventWaitExternal));
  TELL(cudaStreamWaitEvent(stream, event, 0x10));
  cudaGraph_t graph;
  TELL(cudaStreamEndCapture(stream, &graph));
  TELL(cudaStreamBeginCapture(0, cudaStreamCaptureModeGlobal));
  TELL(cudaLaunchHostFunc(stream, nullptr, nullptr));
  TELL(cudaStreamAttachMemAsync(stream, nullptr, 0, 1));
  cudaLaunchConfig_t config{};
  cudaLaunchAttribute attribute{};
  config.gridDim = dim3(1);
  config.blockDim = dim3(1);
  config.attrs = &attribute;
  config.numAttrs = 1;
  attribute.id = static_cast<cudaLaunchAttributeID>(99);
  NOTE("launch with attribute 99", cudaLaunchKernelExC(&config, (const void*)nothing, nullptr));
  attribute.id = cudaLaunchAttributeIgnore;
  NOTE("launch with an attribute to ignore",
       cudaLaunchKernelExC(&config, (const void*)nothing, nullptr));
  attribute.id = cudaLaunchAttributePriority;
  attribute.val.priority = 0;
  NOTE("launch with a priority", cudaLaunchKernelExC(&config, (const void*)nothing, nullptr));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaEventDestroy(event));
  CHECK(cudaStreamDestroy(stream));
}

}  // namespace

int main() {
  arrays();
  objects();
  memory();
  pools();
  streams();
  std::printf("at the end %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
