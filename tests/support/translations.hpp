// Kernels of the source tree, and translations of them as the runtime makes them for a launch.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "ptx2spv/translator.hpp"

namespace ptx2spv::test {

struct KernelFile {
  std::string file, name;
  bool textures = false;  ///< it reads textures
};
/// Every kernel of the PTX files below `folders` of `root` that are modules: cases that have to be
/// refused are not.
std::vector<KernelFile> kernels_below(const std::string& root,
                                      std::initializer_list<const char*> folders);

/// The words of a translation for live handles and a small grid; none where it is refused, and
/// `refusal` says why. `block`: three numbers, or none. `texture`: what every texture whose handle
/// is a parameter is known to be; without, none is known.
std::vector<std::uint32_t> translate_launch(const std::string& file, const std::string& entry,
                                            const Profile& profile, FpPolicy fp, EntryInfo* info,
                                            std::span<const std::uint32_t> block = {},
                                            std::string* refusal = nullptr,
                                            const TextureSpec* texture = nullptr);

}  // namespace ptx2spv::test
