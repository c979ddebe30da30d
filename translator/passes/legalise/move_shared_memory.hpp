// Shared and local memory beyond what a device's workgroups and its driver's invocations have.
#pragma once

#include "ptx2spv/profile.hpp"
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

/// Turns accesses to local memory into accesses to what is in front of the slab: workgroup i of the
/// dispatch has its invocations', rounded up to whole warps, of so many bytes each as it returns,
/// at
/// -(i + 1) times that. A word of all invocations of a warp is followed by the next word of all.
/// Runs on SSA, once nothing but the shader library's routines takes more local memory.
std::uint32_t move_local_memory(Function& function, const Features& features);

/// The workgroup's number within its dispatch. Builtins of workgroups are %ctaid until the thread
/// model is applied.
Value workgroup_number(Builder& builder);

}  // namespace ptx2spv::passes
