// In front of NVIDIA's libnvrtc, where audit.cpp puts it: gives the PTX of a program in the place
// of its machine code, which only an NVIDIA GPU has a use for. All other functions are found in the
// library behind this one, which it names as one that it needs.
#include <dlfcn.h>

#include <cstddef>

namespace {

using Program = void*;
using Get = int (*)(Program, char*);
using GetSize = int (*)(Program, std::size_t*);

/// What the library behind this one has by that name; null: it is older than the function.
template <typename Function>
Function behind(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

constexpr int eInternal = 11;  // NVRTC_ERROR_INTERNAL_ERROR

/// Whether the program was compiled for a GPU, and not to PTX alone: only then there is machine
/// code. Else `result` is what the program has to get.
bool has_machine_code(Program program, std::size_t* size, int& result) {
  const auto real = behind<GetSize>("nvrtcGetCUBINSize");
  result = real ? real(program, size) : eInternal;
  return result == 0 && size && *size > 0;
}

}  // namespace

// A program that was linked with a libnvrtc asks for that one's version.
#define PTX2SPV_VERSIONS(name)           \
  __asm__(".symver " #name "_11, " #name \
          "@libnvrtc.so.11.2\n"          \
          ".symver " #name "_12, " #name \
          "@libnvrtc.so.12\n"            \
          ".symver " #name "_13, " #name "@@libnvrtc.so.13\n")
#define PTX2SPV_EXPORT extern "C" __attribute__((visibility("default")))

PTX2SPV_EXPORT int nvrtcGetCUBINSize_13(Program program, std::size_t* size) {
  int result = 0;
  if (!has_machine_code(program, size, result)) return result;
  const auto ptx = behind<GetSize>("nvrtcGetPTXSize");
  return ptx ? ptx(program, size) : eInternal;
}

PTX2SPV_EXPORT int nvrtcGetCUBIN_13(Program program, char* code) {
  std::size_t size = 0;
  int result = 0;
  const bool wanted = has_machine_code(program, &size, result);
  const auto get = behind<Get>(wanted ? "nvrtcGetPTX" : "nvrtcGetCUBIN");
  return get ? get(program, code) : eInternal;
}

#define PTX2SPV_ALIAS(name, type, version)                          \
  PTX2SPV_EXPORT int name##_##version(Program program, type result) \
      __attribute__((alias(#name "_13")))
PTX2SPV_ALIAS(nvrtcGetCUBINSize, std::size_t*, 11);
PTX2SPV_ALIAS(nvrtcGetCUBINSize, std::size_t*, 12);
PTX2SPV_ALIAS(nvrtcGetCUBIN, char*, 11);
PTX2SPV_ALIAS(nvrtcGetCUBIN, char*, 12);
PTX2SPV_VERSIONS(nvrtcGetCUBINSize);
PTX2SPV_VERSIONS(nvrtcGetCUBIN);
