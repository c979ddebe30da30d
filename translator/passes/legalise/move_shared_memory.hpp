// Shared memory beyond what a device's workgroups have.
#pragma once

#include "translator/passes/ir.hpp"

namespace ptx2spv::passes {

/// Turns accesses to shared memory into accesses to the launch's slab (abi::Push::shared_slab), in
/// which each workgroup of a dispatch has as many bytes as a block, rounded up to 16. What later
/// passes need for themselves stays with the workgroup. Runs while registers are variables, after
/// the passes to which it matters what memory an access is to.
void move_shared_memory(Function& function);

/// What is behind the shared memory of `blocks` blocks that one workgroup runs.
struct Behind {
  std::uint32_t blocks = 1;
  std::uint32_t static_bytes = 0;  ///< of a block
  bool dynamic = false;            ///< a block has dynamic shared memory, too
};
/// Moves what shared memory is left to the place behind all blocks'.
void move_shared_memory(Function& function, const Behind& behind);

/// The workgroup's number within its dispatch. Builtins of workgroups are %ctaid until the thread
/// model is applied.
Value workgroup_number(Builder& builder);

}  // namespace ptx2spv::passes
