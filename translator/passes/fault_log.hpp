// The sanitizer's fault log, as passes share it (translator/passes/sanitize/fault_log.cpp).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "translator/passes/ir.hpp"

namespace ptx2spv::passes {

/// Where Op::note_fault records faults. lower_fault_notes gives each thread registers: a bit for
/// each site, and for the sites of a group the last faulting one and its address. They are written
/// to memory where the thread ends.
struct FaultLog {
  struct Group {
    std::uint32_t site = 0, address = 0;  ///< variables: i32, i64
  };
  std::uint32_t sites = 0;           ///< 0: nothing is checked
  std::uint32_t words = 0;           ///< offset of the sanitizer's words in the parameter buffer
  std::vector<std::uint32_t> masks;  ///< variables: bit k of mask i is site 32 i + k
  /// Where the masks lie in .local memory of the thread, if they are no variables; with a variable
  /// that is not 0 once there was a fault, and one that holds where the thread's memory begins.
  std::optional<std::uint32_t> masks_at, any, base;
  std::vector<Group> groups;  ///< a power of two; site k belongs to group k modulo that
  /// Variables, one for each group: the other access of the thread's last race in global memory at
  /// a site of the group (i64: abi::f_other and the word behind it). Empty without such races.
  std::vector<std::uint32_t> others;
  std::uint32_t worked = 0;  ///< with check_sync a variable: not 0 once the thread has done
                             ///< something that others may see; 0: nobody asks
};

/// Notes a fault of `site` where `ok` is false. `address`: i32 or i64. `other`: of a race in global
/// memory the other access (FaultLog::others), else 0.
void note_fault(Builder& builder, std::uint32_t site, Value ok, Value address, Value other = 0);

/// At the thread's end: the builder stands in the last block, and then in a new one. `ids`: the
/// three words of %ctaid and of %tid, where they are not the invocation's. Writes nothing where
/// the notes have not been lowered.
void write_fault_log(Builder& builder, const FaultLog& log,
                     const std::function<std::vector<Value>()>& ids = {});

}  // namespace ptx2spv::passes
