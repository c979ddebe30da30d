// Copies whose rows of the host's memory lie apart by more than there is: an H200's driver ends the
// process by a signal. They are refused here, and copy nothing.
#include "common.cuh"

namespace {

constexpr std::size_t kSizes[] = {std::size_t{1} << 31, std::size_t{1} << 32, std::size_t{1} << 40,
                                  std::size_t{1} << 63, ~std::size_t{0}};
char host[1 << 12];
bool good = true;

void refused(const char* what, std::size_t n, cudaError_t code) {
  if (code == cudaErrorInvalidValue || code == cudaErrorInvalidPitchValue) return;
  std::printf("%s, %#zx: %s\n", what, n, cudaGetErrorName(code));
  good = false;
}

/// A box of two slices from the host, with one member of it changed.
template <class F>
cudaError_t copy_box(char* p, F&& change) {
  cudaMemcpy3DParms copy{};
  copy.srcPtr = make_cudaPitchedPtr(host, 64, 16, 4);
  copy.dstPtr = make_cudaPitchedPtr(p, 64, 16, 4);
  copy.extent = make_cudaExtent(64, 4, 2);
  copy.kind = cudaMemcpyHostToDevice;
  change(copy);
  return cudaMemcpy3D(&copy);
}

}  // namespace

int main() {
  char* p = nullptr;
  cudaArray_t array = nullptr;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  std::vector<char> before(4096, 7), after(4096);
  CHECK(cudaMalloc(&p, 4096));
  CHECK(cudaMemset(p, 7, 4096));
  CHECK(cudaMallocArray(&array, &format, 16, 8));
  CHECK(copy_box(p, [](auto&) {}));
  CHECK(cudaMemset(p, 7, 4096));
  for (const std::size_t n : kSizes) {
    refused("to memory", n, cudaMemcpy2D(p, 64, host, n, 64, 2, cudaMemcpyHostToDevice));
    refused("from memory", n, cudaMemcpy2D(host, n, p, 64, 64, 2, cudaMemcpyDeviceToHost));
    refused("to an array", n,
            cudaMemcpy2DToArray(array, 0, 0, host, n, 64, 2, cudaMemcpyHostToDevice));
    refused("from an array", n,
            cudaMemcpy2DFromArray(host, n, array, 0, 0, 64, 2, cudaMemcpyDeviceToHost));
    refused("on the host", n,
            cudaMemcpy2D(host, 64, host + 2048, n, 64, 2, cudaMemcpyHostToHost));
    refused("a box's pitch", n, copy_box(p, [n](auto& c) { c.srcPtr.pitch = n; }));
    refused("a box's rows", n, copy_box(p, [n](auto& c) { c.srcPtr.ysize = n; }));
    refused("a box's y", n, copy_box(p, [n](auto& c) { c.srcPos.y = n; }));
    refused("a box's z", n, copy_box(p, [n](auto& c) { c.srcPos.z = n; }));
  }
  CHECK(cudaMemcpy(after.data(), p, 4096, cudaMemcpyDeviceToHost));
  if (before != after) good = false;
  std::printf(good ? "good\n" : "bad\n");
}
