// What a test leaves out so that the whole stays quick, and takes where it is asked for everything.
#pragma once

#include <cstdlib>
#include <string_view>

namespace ptx2spv::test {

/// Whether PTX2SPV_EXHAUSTIVE asks for all that a test could take.
inline bool exhaustive() { return std::getenv("PTX2SPV_EXHAUSTIVE") != nullptr; }

/// Of shares numbered from 0, the one that PTX2SPV_DEVICE takes: another one on each of the devices
/// that the tests run on by themselves.
inline unsigned share_of_device(unsigned shares) {
  const char* name = std::getenv("PTX2SPV_DEVICE");
  return (name && std::string_view(name) == "lavapipe" ? 1u : 0u) % shares;
}

}  // namespace ptx2spv::test
