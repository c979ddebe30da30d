#include "tools/common/cuda_library.hpp"

#include <dlfcn.h>

namespace ptx2spv::tools::cuda {

void* open_library(std::string& reason) {
  // Never closed: the driver's threads may outlive what main() holds.
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) library = ::dlopen("libcuda.so", RTLD_NOW | RTLD_LOCAL);
  if (!library) reason = "NVIDIA's driver library libcuda.so.1 is not there";
  return library;
}

void* find_symbol(void* library, const char* symbol) { return ::dlsym(library, symbol); }

}  // namespace ptx2spv::tools::cuda
