// Runs the small kernels that questions consist of on one device.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptx2spv/runtime.hpp"
#include "src/device/answers.hpp"
#include "src/device/device.hpp"

namespace ptx2spv::runtime {

using Words = std::vector<std::uint32_t>;
/// Threads of a block of most questions.
constexpr std::uint32_t kBlock = 64;
/// Milliseconds from which on a launch's time is that of its work.
constexpr double kBusy = 0.5;

/// A kernel of a question: PTX statements, between a head that gives each thread its place and a
/// tail that stores its results. Thread t finds its number in %r0, its `in` words from memory in
/// %r1 to %r4, 0 from memory in %r5 and the address of its `out` words in %d1; %d0 is the address
/// of the input. Registers %r0 to %r31, %d0 to %d15, %f0 to %f15, %g0 to %g15 (f64), %p0 to %p7 and
/// %h0 to %h3 (b16) are declared; those from 6 on, and all floats, are free.
struct ProbeKernel {
  std::string_view body;
  unsigned in = 0;               ///< words of input each thread reads into %r1...: 0 to 4
  unsigned out = 1;              ///< words of output of each thread; 0: it stores none there
  std::string_view module = {};  ///< statements before the kernel: shared and global variables
  unsigned zeros = 4;            ///< words of 0 before the input: no compiler knows that they are
  std::optional<ThreadModel> threads = std::nullopt;  ///< not given: as a launch chooses
};

/// A module and all that its words depend on.
struct ProbeProgram {
  std::string text;
  std::uint32_t blocks = 1, block = 1;
  std::vector<std::uint32_t> input;
  std::vector<std::uint32_t> words;  ///< what NVIDIA's hardware gives
};

class Asker {
 public:
  /// `by`: who runs the kernels, the device or (all) the interpreter.
  static Result<Asker> open(const DeviceOptions& options,
                            ExecutorPolicy by = ExecutorPolicy::device);

  const Device& device() const { return device_; }
  bool interpreted() const { return by_ == ExecutorPolicy::host; }
  const DeviceIdentity& identity() const { return identity_; }
  /// The device as far as it has answered: what Vulkan reports, and for the rest what is safe.
  const Profile& profile() const { return profile_; }
  void answer(std::string_view row, std::uint32_t value);

  struct Outcome {
    std::vector<std::uint32_t> words;  ///< `out` of each thread
    double prepare_ms = 0;             ///< processor time until it has run once
    double run_ms = 0;                 ///< the least of `repeats` launches: a GPU's own time
    std::string error;                 ///< why there is no result; empty: there is
  };
  /// Runs `kernel` translated for `profile`: `blocks` of `block` threads, the input one word after
  /// the other. With a surface, the kernel's parameter `surface` is one of 64 x 64 texels of u32.
  Outcome run(const Profile& profile, const ProbeKernel& kernel, std::uint32_t blocks,
              std::uint32_t block, std::span<const std::uint32_t> input, unsigned repeats = 1);
  /// Runs it once and compares its words with those of reference(). Empty: they are the same.
  std::string wrong(const Profile& profile, const ProbeKernel& kernel, std::uint32_t blocks,
                    std::uint32_t block, std::span<const std::uint32_t> input);
  /// Gets every program that wrong() has run, for tests.
  std::function<void(const ProbeProgram&)> observer;

 private:
  Asker(Device device, DeviceIdentity identity, ExecutorPolicy by);

  Device device_;
  ExecutorPolicy by_;
  DeviceIdentity identity_;
  Profile profile_;
};

}  // namespace ptx2spv::runtime
