// Libraries: code that a program loads by itself.
#include "src/cuda/cudart/face.hpp"

namespace ptx2spv::cuda {

extern "C" {

// Options are for NVIDIA's compiler and linker: what they ask for has no counterpart.
CUresult cudaLibraryLoadData(CUlibrary* made, const void* code, int*, void**, unsigned, int*,
                             void**, unsigned) {
  return call([&](ContextObject&) { return load_library(code, made); });
}
CUresult cudaLibraryLoadFromFile(CUlibrary* made, const char* path, int*, void**, unsigned, int*,
                                 void**, unsigned) {
  return call([&](ContextObject&) { return load_library_file(path, made); });
}

CUresult cudaLibraryGetGlobal(void** pointer, std::size_t* bytes, CUlibrary library,
                              const char* name) {
  return call([&](ContextObject& context) {
    return library_global(context, library, name, reinterpret_cast<CUdeviceptr*>(pointer), bytes);
  });
}
CUresult cudaLibraryGetManaged(void** pointer, std::size_t* bytes, CUlibrary library,
                               const char* name) {
  return call([&](ContextObject& context) {
    return library_managed(context, library, name, reinterpret_cast<CUdeviceptr*>(pointer), bytes);
  });
}

}  // extern "C"

}  // namespace ptx2spv::cuda
