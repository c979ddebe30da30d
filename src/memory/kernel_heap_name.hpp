// What the list of allocations calls the memory of malloc, whose blocks pass from one thread to
// another without a barrier, and that in which the blocks of a cooperative launch meet.
#pragma once

namespace ptx2spv::runtime {

inline constexpr const char* kKernelHeapName = "heap of malloc in kernels";
inline constexpr const char* kGridWorkspaceName = "workspace of cooperative launches";

}  // namespace ptx2spv::runtime
