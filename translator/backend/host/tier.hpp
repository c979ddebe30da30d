// When a program is compiled: once its interpretation has taken as long as compiling it is worth.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "translator/backend/host/compile.hpp"

namespace ptx2spv::interpreter {

/// A program's machine code, as it comes. Thread-safe.
class Tier : public std::enable_shared_from_this<Tier> {
 public:
  explicit Tier(std::shared_ptr<const Program> program, std::shared_ptr<CodeStore> store = nullptr)
      : program_(std::move(program)), store_(std::move(store)) {}

  /// Threads of a block along its axes.
  using Size = std::uint32_t[3];

  /// Code for blocks of that size, or null. The first call looks in the store.
  std::shared_ptr<const llvm::Code> code(const Size& block);
  /// Notes that blocks of that size were interpreted for so long, by one thread of the processor's.
  void interpreted(const Size& block, double seconds);
  /// Compiles now, unless that was done; null where it is left to the interpreter.
  std::shared_ptr<const llvm::Code> compile(const Size& block);
  /// Why there will be no code for blocks of that size; empty where there will, as far as is known.
  std::string refusal(const Size& block);

 private:
  struct Variant {
    std::atomic<std::uint64_t> microseconds{0};
    std::atomic<bool> asked{false}, looked_up{false};
    std::mutex compiling;
    mutable std::mutex mutex;  ///< over what follows
    std::shared_ptr<const llvm::Code> code;
    bool tried = false, looked = false;
    std::string problem;
  };
  static llvm::BlockForm form_of(const Size& block) {
    using Form = llvm::BlockForm;
    const bool whole = block[0] * block[1] * block[2] % kLanes == 0;
    if (block[0] % kLanes == 0) return {Form::warp, whole};
    return {block[0] % (kLanes / 2) == 0 ? Form::half_warp : Form::any, whole};
  }
  Variant& variant_of(const Size& block) {
    const llvm::BlockForm form = form_of(block);
    return variants_[form.row][form.whole];
  }

  std::shared_ptr<const llvm::Code> make(const Size& block, bool stored);

  std::shared_ptr<const Program> program_;
  const std::shared_ptr<CodeStore> store_;
  Variant variants_[3][2];  ///< by llvm::BlockForm
};

}  // namespace ptx2spv::interpreter
