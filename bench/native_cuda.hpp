// The same PTX run by NVIDIA's driver, found at run time: surfaces over CUDA arrays, times by
// events.
#pragma once

#include <memory>
#include <string>

#include "bench/cases.hpp"

namespace ptx2spv::bench {

class NativeCuda {
 public:
  NativeCuda();
  NativeCuda(const NativeCuda&) = delete;
  NativeCuda& operator=(const NativeCuda&) = delete;
  ~NativeCuda();
  /// The CUDA device that is called `name`, with the module of `ptx`. False and the reason when
  /// there is none.
  bool open(const std::string& name, const std::string& ptx, std::string& reason);
  /// Arrays and surfaces of a job; those of the last one go.
  bool prepare(const Job& job);
  /// Puts the result back to its initial words.
  bool reset();
  /// Launches and waits: milliseconds between events around it. Negative on failure.
  double run();
  /// Launches `count` times and waits: milliseconds on the host.
  double latency(int count);
  bool download(std::span<std::byte> result);
  const std::string& error() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ptx2spv::bench
