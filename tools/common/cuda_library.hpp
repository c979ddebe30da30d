// NVIDIA's driver library, opened where it is used: nothing of CUDA is needed to build.
#pragma once

#include <string>

namespace ptx2spv::tools::cuda {

/// Opens libcuda. Null, and the reason, where there is none.
void* open_library(std::string& reason);
void* find_symbol(void* library, const char* symbol);

/// Sets `function`, to null where the driver does not have it.
template <typename Function>
void find(void* library, const char* symbol, Function*& function) {
  function = reinterpret_cast<Function*>(find_symbol(library, symbol));
}

}  // namespace ptx2spv::tools::cuda
