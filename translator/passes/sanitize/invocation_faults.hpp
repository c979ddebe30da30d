// The fault log of an invocation that runs several threads side by side. It holds what the threads
// have noted in registers of its own, and writes it once for all of them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "translator/ir/ir.hpp"

namespace ptx2spv::passes {

class InvocationFaults {
 public:
  /// Whether an invocation may run so many threads: a bit for each of them stands in a word.
  static bool fits(const ir::FaultLog& log, std::uint32_t threads) {
    return log.sites == 0 || (threads <= 32 && log.sites <= kMostSites);
  }

  /// Takes what it needs of the function's variables and local memory. `others`: notes of races in
  /// global memory have a third operand.
  InvocationFaults(ir::Function& function, const ir::FaultLog& log, bool others);

  /// At the invocation's start. The builder then stands in another block.
  void start(ir::Builder& b) const;
  /// The note of thread `number` (i32) of the invocation; `args` are the operands of its note.
  void note(ir::Builder& b, std::uint32_t site, const std::vector<ir::Value>& args,
            ir::Value number) const;
  /// At the invocation's end. `ids`: the three words of %ctaid, and those of %tid of a thread by
  /// its number in the invocation. The builder then stands in another block.
  void write(ir::Builder& b, const std::function<std::vector<ir::Value>(ir::Value)>& ids) const;

 private:
  static constexpr std::uint32_t kMostSites = 0x10000;
  /// Of the sites of a group the last that faulted, with the thread's number above bit 16.
  struct Group {
    std::uint32_t last = 0, address = 0, other = 0;  ///< variables: i32, i64, i64
  };
  const Group& group_of(std::uint32_t site) const { return groups_[site % groups_.size()]; }
  ir::Value mask_at(ir::Builder& b, ir::Value site) const;

  const ir::FaultLog log_;
  std::vector<std::uint32_t> masks_;  ///< by site: a variable, a bit for each thread; empty: they
                                      ///< lie in local memory
  std::uint32_t masks_at_ = 0;        ///< there
  std::vector<Group> groups_;
  bool others_ = false;
};

}  // namespace ptx2spv::passes
