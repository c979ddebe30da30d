// The shape of a launch against CUDA's limits.
#pragma once

#include <fmt/format.h>

#include <string>

#include "ptx2spv/limits.hpp"
#include "ptx2spv/runtime.hpp"

namespace ptx2spv::runtime {

inline std::uint64_t volume(const Dim3& box) { return std::uint64_t{box.x} * box.y * box.z; }

/// Why CUDA launches no such grid of such blocks; empty: it does.
inline std::string wrong_shape(const Dim3& grid, const Dim3& block) {
  const auto exceeds = [](const Dim3& size, const std::uint32_t(&most)[3]) {
    return size.x > most[0] || size.y > most[1] || size.z > most[2];
  };
  if (!grid.x || !grid.y || !grid.z || !block.x || !block.y || !block.z)
    return "a dimension of grid or block is zero";
  if (exceeds(grid, limits::kGrid))
    return fmt::format("a grid of {} x {} x {} exceeds {} x {} x {}", grid.x, grid.y, grid.z,
                       limits::kGrid[0], limits::kGrid[1], limits::kGrid[2]);
  if (exceeds(block, limits::kBlock) || volume(block) > limits::kThreads)
    return fmt::format("a block of {} x {} x {} exceeds {} threads", block.x, block.y, block.z,
                       limits::kThreads);
  return {};
}

}  // namespace ptx2spv::runtime
