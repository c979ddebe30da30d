// Random kernels on a device, under every profile that it can serve.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ptx2spv/runtime.hpp"
#include "tests/random/model.hpp"

namespace ptx2spv::test {

/// How a kernel is translated and launched.
struct Variant {
  std::string profile;  ///< empty: the device's own
  int optimize = 1;
  std::optional<ThreadModel> threads;
  std::string text() const;
};

class Runner {
 public:
  /// The device that PTX2SPV_DEVICE names, restricted to `profile`.
  Runner(const std::string& profile, const std::vector<std::uint32_t>& input);
  const std::string& problem() const { return problem_; }
  const Device& device() const { return *device_; }

  /// What each kernel leaves, or an error; they are one module.
  struct Run {
    std::string error;
    Outputs outputs;
  };
  std::vector<Run> run(const std::vector<const RandomKernel*>& kernels, const Variant& variant);

 private:
  Run launch(const Module& module, const RandomKernel& kernel, const Variant& variant);
  std::optional<Device> device_;
  std::optional<Buffer> input_, threads_, counters_;
  std::string problem_;
};

/// Where two outputs differ first; empty when they agree.
std::string difference(const Outputs& expected, const Outputs& got);

}  // namespace ptx2spv::test
