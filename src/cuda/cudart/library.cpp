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

}  // extern "C"

}  // namespace ptx2spv::cuda
