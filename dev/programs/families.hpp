// Families of modules that grow: what an untrusted file may hold much of.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace ptx2spv::programs {

struct Family {
  const char* name;
  std::size_t n;  ///< a size at which what grows faster than the text would show
  std::string (*text)(std::size_t n);
  bool everywhere;  ///< under every profile and thread model, whose passes see more of it
};

/// The families, in the order of the PTX manual as far as they have a place there.
std::vector<Family> families();

}  // namespace ptx2spv::programs
