// Kernels that the processor runs itself, without a Vulkan driver: interpreted, and as machine code
// once that pays.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ptx2spv/translator.hpp"

namespace ptx2spv {

/// Where machine code is kept for later processes. Thread-safe; lives as long as a kernel that was
/// made with it, or longer.
class CodeStore {
 public:
  CodeStore() = default;
  CodeStore(const CodeStore&) = delete;
  CodeStore& operator=(const CodeStore&) = delete;
  virtual ~CodeStore() = default;
  /// What was stored for this content: the kernel, its processor and compiler, but not the
  /// translator's version.
  virtual std::optional<std::vector<std::byte>> load(const std::string& content) = 0;
  virtual void store(const std::string& content, const std::vector<std::byte>& code) = 0;
  /// Waits while another process makes it, for a minute at most, and calls `waiting` meanwhile;
  /// others wait while the result lives.
  virtual std::shared_ptr<void> turn(const std::string& content, void (*waiting)()) = 0;
};

/// A kernel, ready to be run any number of times. Immutable and safe to share between threads.
class InterpretedKernel {
 public:
  /// Whether a launch is run by machine code, which LLVM makes where it is installed.
  enum class Tier : std::uint8_t {
    automatic,    ///< once interpreting has taken as long as compiling; in the background
    interpreted,  ///< never
    compiled,     ///< from the start, where the kernel can be compiled
  };
  struct Memory {
    std::byte* bytes = nullptr;
    std::uint64_t size = 0;
  };
  struct Launch {
    std::uint32_t grid[3] = {1, 1, 1};   ///< blocks
    std::uint32_t block[3] = {1, 1, 1};  ///< threads
    std::uint32_t dynamic_shared = 0;    ///< bytes
    /// Descriptor set 0 by binding; those that EntryInfo::bindings names are needed.
    std::array<Memory, abi::kBindings> bindings{};
    /// The push constants, whose base words are 0. Addresses there and in memory are the process's.
    std::span<const std::uint32_t> push;
    unsigned threads = 0;  ///< of the processor; 0: all that it has
    double timeout = 0;    ///< seconds after which the launch is stopped; 0: never
    double stall = 2;      ///< seconds in which all threads do nothing but wait; it is stopped then
    const std::atomic<bool>* stop = nullptr;  ///< stops it where all threads wait
    /// Seconds after which no further block is begun, but one that others wait for; 0: all are run.
    double patience = 0;
    Tier tier = Tier::automatic;
  };
  /// How a launch ended.
  struct Ending {
    std::string problem;  ///< why it ended early; empty when it did not
    bool timed_out = false;
    /// That have run, from the first on, along x before y before z: all, or as many as the launch
    /// had patience for.
    std::uint64_t blocks = 0;
  };

  InterpretedKernel() = default;

  /// Makes a kernel of the entry that the options name. Of the options, the profile, `threads` and
  /// what chooses invocations are not used; slots and textures must be left to addresses and to the
  /// shader. Nothing where there are errors, or operations that the interpreter does not have.
  static std::optional<InterpretedKernel> make(const PtxModule& module,
                                               const TranslateOptions& options,
                                               std::vector<Message>& messages,
                                               std::shared_ptr<CodeStore> store = nullptr);

  const EntryInfo& entry() const;
  /// Bytes that the kernel takes, without what it has while it runs.
  std::size_t bytes() const;
  /// Why launches of blocks of that size are never compiled: the kernel has what is left to the
  /// interpreter, or LLVM is not installed. Empty where they are.
  std::string not_compiled(const std::uint32_t (&block)[3]) const;
  /// Why nothing is compiled on this machine; empty where kernels are. Loads LLVM.
  static std::string no_compiler();
  /// Runs a grid and returns when it is over. Blocks whose threads wait for other blocks let those
  /// run. The launch ends early where threads wait for ever, at a barrier or in loops, where there
  /// is no memory for a block, and after its timeout; what it has stored by then stays.
  Ending run(const Launch& launch) const;
  /// The name of the kernel that this thread runs, null where it runs none. A handler of a signal
  /// may ask: an access to global memory where there is none ends in SIGSEGV.
  static const char* running() noexcept;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace ptx2spv
