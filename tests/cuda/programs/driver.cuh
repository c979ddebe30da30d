// The driver's functions by name, so that a program of the runtime links nothing else.
#pragma once
#include <cuda.h>

#include "mistakes.cuh"

template <class F>
F driver_function(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult status{};
#if CUDART_VERSION >= 13000
  CHECK(cudaGetDriverEntryPointByVersion(name, &found, 12090, cudaEnableDefault, &status));
#else
  CHECK(cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &status));
#endif
  if (!found) std::printf("no %s\n", name);
  return reinterpret_cast<F>(found);
}
/// `DRIVER(cuArrayDestroy)(array)` calls that function.
#define DRIVER(function) driver_function<decltype(&function)>(#function)

inline const char* driver_name(CUresult code) {
  const char* name = nullptr;
  DRIVER(cuGetErrorName)(code, &name);
  return name ? name : "?";
}
inline void tell_driver(const char* what, CUresult code) {
  std::printf("%-72s %s\n", what, driver_name(code));
  std::fflush(stdout);
}
/// `DTELL(cuArrayDestroy, (array))`
#define DTELL(function, arguments) \
  tell_driver(#function #arguments, driver_function<decltype(&function)>(#function) arguments)
