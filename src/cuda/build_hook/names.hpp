// Which programs `ptxexec build` gives other options, by their names.
#pragma once

#include <cstddef>
#include <cstring>

namespace ptx2spv::cuda {

/// clang++ of "x86_64-linux-gnu-clang++-15": without a target and a version.
class ToolName {
 public:
  explicit ToolName(const char* base) : at_(base + std::strlen(base)) {
    const char* end = at_;
    while (end > base && std::strchr("0123456789.", end[-1])) --end;
    if (*end && end > base && end[-1] == '-') at_ = end - 1;
    end = at_;
    while (at_ > base && at_[-1] != '-') --at_;
    length_ = static_cast<std::size_t>(end - at_);
  }
  bool is(const char* name) const { return length_ == std::strlen(name) && starts(name); }
  bool starts(const char* with) const { return std::strncmp(at_, with, std::strlen(with)) == 0; }

 private:
  const char* at_;
  std::size_t length_ = 0;
};

/// ld, ld.bfd, x86_64-linux-gnu-ld, ld.lld-15, mold and their like.
inline bool is_linker(const char* base) {
  const ToolName name(base);
  return name.is("ld") || name.starts("ld.") || name.is("lld") || name.is("mold");
}

/// The compilers, not clang-format or clangd.
inline bool is_clang(const char* base) {
  const ToolName name(base);
  return name.is("clang") || name.is("clang++");
}

}  // namespace ptx2spv::cuda
