// Preloaded by tests (LD_PRELOAD): the process finds no libLLVM by name, as where none is
// installed. A driver that is linked with it has it still.
#include <dlfcn.h>

#include <cstring>

extern "C" void* dlopen(const char* name, int flags) {
  if (name && std::strncmp(name, "libLLVM", 7) == 0) return nullptr;
  static const auto next =
      reinterpret_cast<void* (*)(const char*, int)>(::dlsym(RTLD_NEXT, "dlopen"));
  return next(name, flags);
}
