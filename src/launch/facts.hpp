// What a launch is, whoever runs it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "src/module/module.hpp"

namespace ptx2spv::runtime {

/// A launch that agrees with its kernel and with CUDA's limits.
struct LaunchFacts {
  std::shared_ptr<ModuleState> module;
  KernelState* kernel = nullptr;
  LaunchConfig config;
  FpPolicy fp = FpPolicy::exact;
  std::uint32_t checks = no_checks;
  std::uint64_t shared = 0;       ///< bytes of a block, static and dynamic
  std::vector<std::byte> params;  ///< arguments and the handles of references
  std::vector<std::shared_ptr<const void>> keep;
  const Memory* workspace = nullptr;  ///< of a cooperative grid, to be cleared; null: none

  DeviceState& device() const { return *module->device; }
};

using Facts = std::shared_ptr<const LaunchFacts>;

/// Checks a launch, and reads its arguments.
Result<Facts> gather_facts(KernelState& kernel, const LaunchConfig& config, const Args& args);

}  // namespace ptx2spv::runtime
