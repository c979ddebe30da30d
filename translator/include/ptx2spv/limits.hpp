// What CUDA gives a launch at most, on any compute capability (CUDA programming guide, technical
// specifications per compute capability).
#pragma once

#include <cstdint>

namespace ptx2spv::limits {

inline constexpr std::uint32_t kGrid[3] = {0x7fffffff, 65535, 65535};  ///< blocks
inline constexpr std::uint32_t kBlock[3] = {1024, 1024, 64};           ///< threads along each axis
inline constexpr std::uint32_t kThreads = 1024;                        ///< of a block
/// Bytes of a block's shared memory, static and dynamic, and what a kernel gets unasked.
inline constexpr std::uint32_t kShared = 227 * 1024, kSharedUnasked = 48 * 1024;
inline constexpr std::uint32_t kLocal = 512 * 1024;              ///< bytes of a thread
inline constexpr std::uint32_t kSharedOfProcessor = 228 * 1024;  ///< all blocks of a multiprocessor

}  // namespace ptx2spv::limits
