#include "tools/common/cuda_api.hpp"

#include "tools/common/cuda_library.hpp"

namespace ptx2spv::tools::cuda {

bool load_api(Api& api, std::string& reason) {
  void* library = open_library(reason);
  if (!library) return false;
#define PTX2SPV_CUDA_LOAD(name, symbol, parameters) find(library, symbol, api.name);
  PTX2SPV_CUDA_FUNCTIONS(PTX2SPV_CUDA_LOAD)
#undef PTX2SPV_CUDA_LOAD
  if (!api.init || !api.launch || !api.surface_create || !api.module_load) {
    reason = "libcuda.so.1 lacks functions that every driver since CUDA 5 has";
    return false;
  }
  return true;
}

}  // namespace ptx2spv::tools::cuda
