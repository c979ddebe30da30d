#include "src/memory/call_site.hpp"

#include <dlfcn.h>
#include <execinfo.h>
#include <fmt/format.h>

#include <cstring>

namespace ptx2spv::runtime {

namespace {
constexpr int kFrames = 24;
constexpr int kLines = 4;

/// A library of ours: this one, or CUDA's interfaces over it.
bool is_own(const Dl_info& info, const Dl_info& own) {
  if (info.dli_fbase == own.dli_fbase) return true;
  return info.dli_fname &&
         (std::strstr(info.dli_fname, "libcudart.so") || std::strstr(info.dli_fname, "libcuda.so"));
}

std::string describe(void* frame, const Dl_info& info) {
  const char* file = info.dli_fname ? std::strrchr(info.dli_fname, '/') : nullptr;
  const std::string name = file ? file + 1 : info.dli_fname ? info.dli_fname : "?";
  const auto offset = [&](const void* base) {
    return static_cast<const char*>(frame) - static_cast<const char*>(base);
  };
  // addr2line takes an offset in the file.
  if (!info.dli_sname) return fmt::format("{}+{:#x}", name, offset(info.dli_fbase));
  return fmt::format("{}+{:#x} ({}+{:#x})", info.dli_sname, offset(info.dli_saddr), name,
                     offset(info.dli_fbase));
}
}  // namespace

std::string call_site() {
  void* frames[kFrames];
  const int count = backtrace(frames, kFrames);
  Dl_info own{};
  dladdr(reinterpret_cast<void*>(&call_site), &own);
  int first = 0;
  Dl_info info{};
  while (first < count && (!dladdr(frames[first], &info) || is_own(info, own))) ++first;
  // Linked into the program itself, the library cannot tell the program's frames from its own: what
  // comes behind all of them is the C library, which called main.
  if (first == count || !info.dli_fname || std::strstr(info.dli_fname, "libc.so")) return {};
  std::string text;
  int lines = 0;
  for (int i = first; i < count && lines < kLines; ++i) {
    if (!dladdr(frames[i], &info) || !info.dli_fname) continue;
    if (std::strstr(info.dli_fname, "libc.so")) break;
    text += (lines ? "\n" : "") + describe(frames[i], info);
    ++lines;
  }
  return text;
}

}  // namespace ptx2spv::runtime
