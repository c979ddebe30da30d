#include "src/memory/copy_kernel.hpp"

#include <algorithm>
#include <bit>

#include "src/memory/transfer.hpp"

namespace ptx2spv::runtime {

namespace {
#include "copy_words.hpp"  // written by the build
constexpr std::uint64_t kUnit = 16, kInvocations = 128;
}  // namespace

/// As in copy.comp.
struct CopyKernel::Push {
  std::uint64_t from = 0, to = 0;
  std::uint64_t from_pitch = 0, from_slice = 0, to_pitch = 0, to_slice = 0, width = 0;
  std::uint32_t rows = 1, slices = 1, lanes = 1, word = 0;
};

CopyKernel::~CopyKernel() {
  if (!layout_) return;
  device_.vk.DestroyPipeline(device_.handle, pipeline_, nullptr);
  device_.vk.DestroyPipelineLayout(device_.handle, layout_, nullptr);
}

VkResult CopyKernel::open() {
  const DeviceFunctions& vk = device_.vk;
  VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(Push)};
  VkPipelineLayoutCreateInfo layout{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  layout.pushConstantRangeCount = 1;
  layout.pPushConstantRanges = &range;
  VkResult result = vk.CreatePipelineLayout(device_.handle, &layout, nullptr, &layout_);
  if (result != VK_SUCCESS) return result;
  VkShaderModuleCreateInfo module{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  module.codeSize = sizeof copy_words;
  module.pCode = copy_words;
  VkComputePipelineCreateInfo create{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
  create.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  create.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  create.stage.pName = "main";
  create.layout = layout_;
  result = vk.CreateShaderModule(device_.handle, &module, nullptr, &create.stage.module);
  if (result != VK_SUCCESS) return result;
  result =
      vk.CreateComputePipelines(device_.handle, VK_NULL_HANDLE, 1, &create, nullptr, &pipeline_);
  vk.DestroyShaderModule(device_.handle, create.stage.module, nullptr);
  return result;
}

bool CopyKernel::is_open() {
  if (!most_groups_) return false;
  std::call_once(once_, [&] { (void)open(); });
  return pipeline_;
}

bool CopyKernel::takes(const BufferBase& from, const BufferBase& to, const Rows& rows) {
  // Over a bus, a command copies a long row faster, and the kernel a short one sooner. Within the
  // device's memory it is the other way round.
  constexpr std::uint64_t kManyRows = 16, kShort = 64 << 10;
  if (!from.address || !to.address) return false;
  const bool bus = from.mapped || to.mapped, is_short = rows.row_bytes <= kShort;
  if (rows.rows * rows.slices < kManyRows && bus != is_short) return false;
  return is_open();
}

void CopyKernel::copy(VkCommandBuffer commands, const BufferBase& from, std::uint64_t from_offset,
                      const BufferBase& to, const Rows& rows) const {
  Push push;
  push.from = from.address + from_offset;
  push.from_pitch = rows.host_row_pitch;
  push.from_slice = rows.host_slice_pitch;
  push.to = to.address + rows.offset;
  record(commands, push, rows);
}

void CopyKernel::fill(VkCommandBuffer commands, const BufferBase& to, const Rows& rows,
                      std::uint32_t word) const {
  Push push;
  push.to = to.address + rows.offset;
  push.word = word;
  record(commands, push, rows);
}

void CopyKernel::record(VkCommandBuffer commands, Push push, const Rows& rows) const {
  const DeviceFunctions& vk = device_.vk;
  vk.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline_);
  push.to_pitch = rows.row_pitch;
  push.to_slice = rows.slice_pitch;
  // What a dispatch takes, so that no count passes 32 bits.
  constexpr std::uint64_t kMost = std::uint64_t{1} << 30, kMostWidth = kMost * kUnit;
  const auto groups = [&](int dimension, std::uint64_t count, std::uint64_t each) {
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>((count + each - 1) / each, most_groups_[dimension]));
  };
  const Push whole = push;
  for (std::uint64_t z = 0; z < rows.slices; z += kMost)
    for (std::uint64_t y = 0; y < rows.rows; y += kMost)
      for (std::uint64_t x = 0; x < rows.row_bytes; x += kMostWidth) {
        if (whole.from) push.from = whole.from + z * push.from_slice + y * push.from_pitch + x;
        push.to = whole.to + z * push.to_slice + y * push.to_pitch + x;
        push.width = std::min(kMostWidth, rows.row_bytes - x);
        push.rows = static_cast<std::uint32_t>(std::min(kMost, rows.rows - y));
        push.slices = static_cast<std::uint32_t>(std::min(kMost, rows.slices - z));
        // A row that starts within a unit has another.
        const std::uint64_t units = (push.width + 2 * (kUnit - 1)) / kUnit;
        const std::uint64_t lanes = std::min(std::bit_ceil(units), kInvocations);
        push.lanes = static_cast<std::uint32_t>(lanes);
        vk.CmdPushConstants(commands, layout_, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof push, &push);
        vk.CmdDispatch(commands, groups(0, units, lanes),
                       groups(1, push.rows, kInvocations / lanes), groups(2, push.slices, 1));
      }
}

}  // namespace ptx2spv::runtime
