// The functions that both interfaces have, and those that the table makes: calls of the core,
// variants for per-thread streams, and answers of those that are not supported.
#include <dlfcn.h>

#include "src/cuda/core/advice.hpp"
#include "src/cuda/core/backlog.hpp"
#include "src/cuda/core/texts.hpp"

#include "src/cuda/cudart/face.hpp"

#include "src/cuda/both.hpp"

namespace ptx2spv::cuda {

namespace {

using GetProcAddress = CUresult (*)(const char*, void**, int, std::uint64_t, int*);

/// The driver interface of the library beside this one.
GetProcAddress driver() {
  static const auto found = [] {
    void* library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) say(std::string("libcuda.so.1 cannot be opened: ") + dlerror());
    return library ? reinterpret_cast<GetProcAddress>(dlsym(library, "cuGetProcAddress_v2"))
                   : nullptr;
  }();
  return found;
}

}  // namespace

extern "C" {

CUresult cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned version,
                                          unsigned long long flags, int* result) {
  if (!name || !function) return keep(eInvalidValue);
  auto get = driver();
  if (!get) return keep(eNotSupported);
  int found = 0;
  const CUresult code = get(name, function, static_cast<int>(version), flags, &found);
  if (result) *result = found;
  // A name that is not there is an answer, not an error.
  return keep(code == eSymbolNotFound ? eSuccess : code);
}

#if PTX2SPV_CUDART >= 12
CUresult cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long flags,
                                 int* result) {
#else
CUresult cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long flags) {
  int* result = nullptr;
#endif
  return cudaGetDriverEntryPointByVersion(name, function, PTX2SPV_CUDART * 1000, flags, result);
}

#define PTX2SPV_CUDART_FUNCTION(versions, name, variant, ...)
#define PTX2SPV_CUDART_MISSING(versions, name, variant, reason)
#define PTX2SPV_CUDART_CALL(versions, name, variant, work, count, ...) \
  PTX2SPV_IF_##versions(CUresult name(PTX2SPV_PARAMS_##count(__VA_ARGS__)) { return work; })
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "src/cuda/cudart/functions.def"
#pragma GCC diagnostic pop

#define PTX2SPV_REFUSE(name, reason)           \
  PTX2SPV_DECLARE(name, 0)                     \
  CUresult name() {                            \
    note_interface(Api::runtime);              \
    return keep(not_supported(#name, reason)); \
  }                                            \
  PTX2SPV_TRACED(Api::runtime, name, 0)

#define PTX2SPV_CUDART_FUNCTION(versions, name, variant, ...)           \
  PTX2SPV_IF_##versions(PTX2SPV_TRACED(Api::runtime, name, __VA_ARGS__) \
                            PTX2SPV_VARIANT_##variant(name, __VA_ARGS__))
#define PTX2SPV_CUDART_MISSING(versions, name, variant, reason) \
  PTX2SPV_IF_##versions(PTX2SPV_REFUSE_##variant(name, reason))
#include "src/cuda/cudart/functions.def"

}  // extern "C"

}  // namespace ptx2spv::cuda
