// Gives programs ptx2spv's libraries under every name of NVIDIA's: LD_LIBRARY_PATH is not asked
// where a program names a file, or has a DT_RPATH. The dynamic linker loads this into a namespace
// of its own (rtld-audit(7)), so it keeps to the C library.
#include <dlfcn.h>
#include <link.h>

#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

char g_driver[PATH_MAX];
char g_runtime[3][PATH_MAX];  // of CUDA 11, 12 and 13
char g_nvrtc[PATH_MAX];       // ours, in front of
char g_nvrtc_behind[PATH_MAX];

/// What follows `stem` in the last part of `name`; null where that is another library.
const char* behind(const char* name, const char* stem) {
  const char* slash = std::strrchr(name, '/');
  const char* base = slash ? slash + 1 : name;
  const std::size_t length = std::strlen(stem);
  if (std::strncmp(base, stem, length) != 0) return nullptr;
  const char* rest = base + length;
  return *rest == 0 || *rest == '.' ? rest : nullptr;
}

/// The library of ptx2spv that a version stands for: ".12", ".12.4.127". Null: of no such version.
const char* runtime_of(const char* version) {
  const long major = std::strtol(version + 1, nullptr, 10);
  return major >= 11 && major <= 13 ? g_runtime[major - 11] : nullptr;
}

const char* runtime_named(const char* name) {
  const char* version = behind(name, "libcudart.so");
  if (!version) return nullptr;
  if (*version) return runtime_of(version);
  // A link says which version it leads to. Without one, or without a folder, it is the newest.
  char path[PATH_MAX];
  if (std::strchr(name, '/') && realpath(name, path)) {
    version = behind(path, "libcudart.so");
    if (version && *version) return runtime_of(version);
  }
  return g_runtime[2];
}

bool exists(const char* path) {
  std::FILE* file = std::fopen(path, "r");
  if (file) std::fclose(file);
  return file != nullptr;
}

/// NVIDIA's run-time compiler stays what is found, where it is found: ours goes in front of it, and
/// finds it by a name of its own.
const char* nvrtc_named(const char* name, bool original) {
  if (original && behind(name, "libptx2spv-nvrtc-behind.so")) return g_nvrtc_behind;
  const char* version = behind(name, "libnvrtc.so");
  if (!version || !std::strchr(name, '/') || !exists(name)) return nullptr;
  const long major = *version ? std::strtol(version + 1, nullptr, 10) : 13;
  if (major < 11 || major > 13) return nullptr;
  // Spelt otherwise: by the path itself the linker believes that it has ours, which it found there.
  std::snprintf(g_nvrtc_behind, PATH_MAX, "%s%s", *name == '/' ? "/" : "./", name);
  return g_nvrtc;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) unsigned la_version(unsigned version) {
  Dl_info own;
  if (!dladdr(reinterpret_cast<void*>(&la_version), &own) || !own.dli_fname) return 0;
  const char* slash = std::strrchr(own.dli_fname, '/');
  const int length = slash ? static_cast<int>(slash - own.dli_fname) : 0;
  if (!length) return 0;
  const auto place = [&](char* path, const char* file) {
    std::snprintf(path, PATH_MAX, "%.*s/%s", length, own.dli_fname, file);
    if (!exists(path)) path[0] = 0;
  };
  place(g_driver, "libcuda.so.1");
  place(g_runtime[0], "libcudart.so.11.0");
  place(g_runtime[1], "libcudart.so.12");
  place(g_runtime[2], "libcudart.so.13");
  place(g_nvrtc, "libptx2spv-nvrtc.so");
  return version < LAV_CURRENT ? version : LAV_CURRENT;
}

__attribute__((visibility("default"))) char* la_objsearch(const char* name, std::uintptr_t*,
                                                          unsigned flag) {
  const char* found = nullptr;
  if (flag == LA_SER_ORIG) found = behind(name, "libcuda.so") ? g_driver : runtime_named(name);
  if (!found) found = nvrtc_named(name, flag == LA_SER_ORIG);
  return const_cast<char*>(found && *found ? found : name);
}

}  // extern "C"
