// A random kernel in the scalar interpreter of the IR: what it leaves in memory.
#pragma once

#include <string>
#include <vector>

#include "tests/random/program.hpp"

namespace ptx2spv::test {

/// Memory that a kernel writes.
struct Outputs {
  std::vector<std::uint8_t> threads, counters, surface;
  bool operator==(const Outputs&) const = default;
};
/// As they are before a launch.
Outputs initial_outputs(const RandomKernel& kernel);

/// Empty `error`: the outputs of the kernel, the last entry of `ptx`.
struct ModelRun {
  std::string error;
  Outputs outputs;
};
/// `unset`, below 256: what registers, local and shared memory hold before they are written.
ModelRun run_model(const RandomKernel& kernel, const std::vector<std::uint32_t>& input,
                   std::uint32_t unset = 0);

}  // namespace ptx2spv::test
