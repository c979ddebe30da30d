// Which programs `ptxexec build` gives other options, by their names.
#pragma once

#include <cstring>

namespace ptx2spv::cuda {

inline bool starts(const char* text, const char* with) {
  return std::strncmp(text, with, std::strlen(with)) == 0;
}

/// ld, ld.bfd, x86_64-linux-gnu-ld, mold and their like.
inline bool is_linker(const char* base) {
  const char* dash = std::strrchr(base, '-');
  const char* last = dash ? dash + 1 : base;
  return std::strcmp(last, "ld") == 0 || starts(last, "ld.") || std::strcmp(last, "lld") == 0 ||
         std::strcmp(last, "mold") == 0;
}

}  // namespace ptx2spv::cuda
