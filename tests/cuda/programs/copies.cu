// Copies and fills in every shape, between every two kinds of memory.
#include "common.cuh"

int main() {
  constexpr int kWidth = 40, kHeight = 12, kDepth = 5;
  std::vector<unsigned> host(kWidth * kHeight * kDepth), back(host.size());
  for (size_t i = 0; i < host.size(); ++i) host[i] = mix(i);
  const size_t bytes = host.size() * 4;

  unsigned *a, *b;
  CHECK(cudaMalloc(&a, bytes));
  CHECK(cudaMalloc(&b, bytes));
  CHECK(cudaMemset(b, 0xa5, bytes));
  CHECK(cudaMemcpy(a, host.data(), bytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(b + 7, a + 3, 400, cudaMemcpyDeviceToDevice));
  show_device("linear", b, bytes);
  CHECK(cudaMemcpy(b + 1, b + 600, 1000, cudaMemcpyDefault));
  CHECK(cudaMemset((char*)b + 13, 0x3c, 101));
  show_device("default and fill", b, bytes);
  CHECK(cudaMemset2D(b, kWidth * 4, 0x11, 50, 9));
  show_device("fill of rows", b, bytes);

  void* pitched;
  size_t pitch;
  CHECK(cudaMallocPitch(&pitched, &pitch, kWidth * 4, kHeight));
  CHECK(cudaMemset2D(pitched, pitch, 0, pitch, kHeight));
  CHECK(cudaMemcpy2D(pitched, pitch, host.data(), kWidth * 4, kWidth * 4, kHeight,
                     cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy2D((char*)b + 20, kWidth * 4, (char*)pitched + 8, pitch, 100, 7,
                     cudaMemcpyDeviceToDevice));
  show_device("rows", b, bytes);

  cudaPitchedPtr volume;
  cudaExtent extent = make_cudaExtent(kWidth * 4, kHeight, kDepth);
  CHECK(cudaMalloc3D(&volume, extent));
  CHECK(cudaMemset3D(volume, 7, extent));
  cudaMemcpy3DParms p{};
  p.srcPtr = make_cudaPitchedPtr(host.data(), kWidth * 4, kWidth, kHeight);
  p.srcPos = make_cudaPos(8, 1, 1);
  p.dstPtr = volume;
  p.dstPos = make_cudaPos(12, 2, 2);
  p.extent = make_cudaExtent(60, 6, 3);
  p.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3D(&p));
  std::fill(back.begin(), back.end(), 0u);
  cudaMemcpy3DParms q{};
  q.srcPtr = volume;
  q.dstPtr = make_cudaPitchedPtr(back.data(), kWidth * 4, kWidth, kHeight);
  q.extent = extent;
  q.kind = cudaMemcpyDeviceToHost;
  CHECK(cudaMemcpy3D(&q));
  show("volume", back.data(), bytes);

  cudaChannelFormatDesc format = cudaCreateChannelDesc<unsigned>();
  cudaArray_t first, second, solid;
  CHECK(cudaMallocArray(&first, &format, kWidth, kHeight));
  CHECK(cudaMallocArray(&second, &format, kWidth, kHeight));
  CHECK(cudaMalloc3DArray(&solid, &format, make_cudaExtent(kWidth, kHeight, kDepth)));
  CHECK(cudaMemcpy2DToArray(first, 0, 0, host.data(), kWidth * 4, kWidth * 4, kHeight,
                            cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy2DToArray(second, 0, 0, host.data() + 900, kWidth * 4, kWidth * 4, kHeight,
                            cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy2DArrayToArray(second, 12, 3, first, 20, 2, 80, 6, cudaMemcpyDeviceToDevice));
  CHECK(cudaMemcpy2DFromArray(back.data(), kWidth * 4, second, 0, 0, kWidth * 4, kHeight,
                              cudaMemcpyDeviceToHost));
  show("array to array", back.data(), kWidth * kHeight * 4);
  CHECK(cudaMemcpy2DToArray(first, 16, 1, pitched, pitch, 64, 8, cudaMemcpyDeviceToDevice));
  CHECK(cudaMemcpy2DFromArray(b, kWidth * 4, first, 8, 0, 120, kHeight, cudaMemcpyDeviceToDevice));
  show_device("array and memory", b, bytes);
  cudaMemcpy3DParms r{};
  r.srcPtr = make_cudaPitchedPtr(host.data(), kWidth * 4, kWidth, kHeight);
  r.dstArray = solid;
  r.extent = make_cudaExtent(kWidth, kHeight, kDepth);
  r.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3D(&r));
  cudaMemcpy3DParms s{};
  s.srcArray = solid;
  s.srcPos = make_cudaPos(3, 2, 1);
  s.dstArray = solid;
  s.dstPos = make_cudaPos(20, 4, 3);
  s.extent = make_cudaExtent(10, 6, 2);
  s.kind = cudaMemcpyDeviceToDevice;
  CHECK(cudaMemcpy3D(&s));
  cudaMemcpy3DParms t{};
  t.srcArray = solid;
  t.dstPtr = make_cudaPitchedPtr(back.data(), kWidth * 4, kWidth, kHeight);
  t.extent = make_cudaExtent(kWidth, kHeight, kDepth);
  t.kind = cudaMemcpyDeviceToHost;
  CHECK(cudaMemcpy3D(&t));
  show("solid array", back.data(), bytes);

  unsigned* pinned;
  CHECK(cudaHostAlloc(&pinned, bytes, cudaHostAllocMapped));
  CHECK(cudaMemcpy(pinned, a, bytes, cudaMemcpyDeviceToHost));
  show("pinned", pinned, bytes);
  cudaPointerAttributes attributes;
  CHECK(cudaPointerGetAttributes(&attributes, pinned));
  std::printf("pinned type %d\n", (int)attributes.type);
  CHECK(cudaPointerGetAttributes(&attributes, (char*)a + 5));
  std::printf("device type %d device %d\n", (int)attributes.type, attributes.device);
  CHECK(cudaPointerGetAttributes(&attributes, host.data()));
  std::printf("host type %d\n", (int)attributes.type);
  CHECK(cudaHostRegister(back.data(), bytes, cudaHostRegisterDefault));
  CHECK(cudaMemcpyAsync(back.data(), b, bytes, cudaMemcpyDeviceToHost, 0));
  CHECK(cudaStreamSynchronize(0));
  show("registered", back.data(), bytes);
  CHECK(cudaHostUnregister(back.data()));
  CHECK(cudaFreeHost(pinned));
  CHECK(cudaFreeArray(first));
  CHECK(cudaFreeArray(second));
  CHECK(cudaFreeArray(solid));
  CHECK(cudaFree(volume.ptr));
  CHECK(cudaFree(pitched));
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
}
