// Final contents written and compared.
#pragma once

#include <string>

#include "tools/ptxrun/manifest.hpp"

namespace ptx2spv::tools {

struct OutputResult {
  bool mismatch = false;
  std::string line;   ///< a report of what was done
  std::string error;  ///< input and output; located
  Bytes difference;   ///< a surface's picture of the differences, where bits differ from `expect`
};
/// Writes and compares one output. `bytes`: its final contents. `desc` is the surface's, or null.
OutputResult finish_output(const OutputSpec& output, const ArrayDesc* desc, const Bytes& bytes);

}  // namespace ptx2spv::tools
