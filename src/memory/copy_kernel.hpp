// Copies and fills of rows by a kernel. The commands of GPUs for them are slow within the device's
// memory, and take longer for each row than for most rows' bytes.
#pragma once

#include <cstdint>
#include <mutex>

#include "src/memory/heap.hpp"

namespace ptx2spv::runtime {

struct Rows;

class CopyKernel {
 public:
  explicit CopyKernel(const VulkanDevice& device) : device_(device) {}
  CopyKernel(const CopyKernel&) = delete;
  CopyKernel& operator=(const CopyKernel&) = delete;
  ~CopyKernel();
  /// The device, whose memory the host does not reach, has what src/memory/copy.comp needs.
  void enable(const std::uint32_t* most_groups) { most_groups_ = most_groups; }

  /// Whether rows should be copied, or filled, by record().
  bool takes(const BufferBase& from, const BufferBase& to, const Rows& rows);
  bool takes(const BufferBase& to) { return to.address && !to.mapped && is_open(); }
  /// Rows at an offset of `from`, as the host's side of `rows`, to those of `to`. They must not
  /// overlap. Records into a family that computes, and leaves the kernel bound.
  void copy(VkCommandBuffer commands, const BufferBase& from, std::uint64_t from_offset,
            const BufferBase& to, const Rows& rows) const;
  /// Fills the rows of `to`; `word` is what lies at addresses that are multiples of 4.
  void fill(VkCommandBuffer commands, const BufferBase& to, const Rows& rows,
            std::uint32_t word) const;

 private:
  struct Push;
  bool is_open();
  VkResult open();
  void record(VkCommandBuffer commands, Push push, const Rows& rows) const;

  const VulkanDevice& device_;
  const std::uint32_t* most_groups_ = nullptr;
  std::once_flag once_;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  VkPipeline pipeline_ = VK_NULL_HANDLE;
};

}  // namespace ptx2spv::runtime
