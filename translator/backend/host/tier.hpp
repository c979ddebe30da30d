// When a program is compiled: once its interpretation has taken as long as compiling it is worth.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "translator/backend/host/llvm/compile.hpp"

namespace ptx2spv::interpreter {

/// A program's machine code, as it comes. Thread-safe.
class Tier : public std::enable_shared_from_this<Tier> {
 public:
  explicit Tier(std::shared_ptr<const Program> program) : program_(std::move(program)) {}

  /// Code for blocks of that size, or null.
  std::shared_ptr<const llvm::Code> code(const Launch& launch) const;
  /// Notes that blocks of that size were interpreted for so long, by one thread of the processor's.
  void interpreted(const Launch& launch, double seconds);
  /// Compiles now, unless that was done; null where it is left to the interpreter.
  std::shared_ptr<const llvm::Code> compile(const Launch& launch);
  /// Why there is no code; empty where there is, or where nobody has asked.
  std::string problem(const Launch& launch) const;

 private:
  struct Variant {
    std::atomic<std::uint64_t> microseconds{0};
    std::atomic<bool> asked{false};
    std::mutex compiling;
    mutable std::mutex mutex;  ///< over what follows
    std::shared_ptr<const llvm::Code> code;
    bool tried = false;
    std::string problem;
  };
  Variant& of(const Launch& launch) { return variants_[launch.block[0] % kLanes == 0]; }
  const Variant& of(const Launch& launch) const {
    return variants_[launch.block[0] % kLanes == 0];
  }

  std::shared_ptr<const Program> program_;
  Variant variants_[2];  ///< the second: rows of threads are whole warps
};

}  // namespace ptx2spv::interpreter
