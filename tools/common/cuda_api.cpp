#include "tools/common/cuda_api.hpp"

#include <dlfcn.h>

namespace ptx2spv::tools::cuda {

bool load_api(Api& api, std::string& reason) {
  // Never closed: the driver's threads may outlive what main() holds.
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) library = ::dlopen("libcuda.so", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    reason = "NVIDIA's driver library libcuda.so.1 is not there";
    return false;
  }
#define PTX2SPV_CUDA_LOAD(name, symbol, parameters) \
  api.name = reinterpret_cast<decltype(api.name)>(::dlsym(library, symbol));
  PTX2SPV_CUDA_FUNCTIONS(PTX2SPV_CUDA_LOAD)
#undef PTX2SPV_CUDA_LOAD
  if (!api.init || !api.launch || !api.surface_create || !api.module_load) {
    reason = "libcuda.so.1 lacks functions that every driver since CUDA 5 has";
    return false;
  }
  return true;
}

}  // namespace ptx2spv::tools::cuda
