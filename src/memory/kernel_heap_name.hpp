// What the list of allocations calls the memory of malloc, whose blocks pass from one thread to
// another without a barrier.
#pragma once

namespace ptx2spv::runtime {

inline constexpr const char* kKernelHeapName = "heap of malloc in kernels";

}  // namespace ptx2spv::runtime
