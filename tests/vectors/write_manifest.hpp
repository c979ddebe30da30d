// The cases of this test as manifests, for `ptxrun --backend cuda` where there is CUDA: what the
// hardware leaves is then held against the values worked out here.
#pragma once

#include <string>
#include <vector>

#include "ptx2spv/runtime.hpp"

namespace ptx2spv::tests {

struct Case {
  std::string text;
  std::vector<std::byte> in, texels, expected;
  Dim3 grid, block;
  std::uint32_t width = 1, height = 1;  ///< of the surfaces, in texels of four words
};

/// Writes NAME.json, NAME.ptx, NAME.out and the input that all share.
bool write_manifest(const std::string& folder, const std::string& name, const Case& what);

}  // namespace ptx2spv::tests
