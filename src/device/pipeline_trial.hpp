// Compute pipelines, and trying in another process whether the driver's compiler takes one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/device/device.hpp"

namespace ptx2spv::runtime {

/// A pipeline but for its module and layout.
struct PipelineSpec {
  std::string entry;
  std::uint32_t constants[4] = {1, 1, 1, 1};  ///< abi::size_x ... dynamic_shared_words
  bool warp_subgroups = false;                ///< full subgroups of 32
};

VkResult create_pipeline(const VulkanDevice& device, const PipelineSpec& spec,
                         VkShaderModule shader, VkPipelineLayout layout, VkPipelineCache cache,
                         VkPipeline& pipeline);

/// All that a pipeline is made of, to be made elsewhere.
struct PipelineTrial {
  PipelineSpec spec;
  LayoutContents layout;
  std::vector<std::uint32_t> spirv;

  std::string bytes() const;
  /// Nothing where these are not the bytes of one.
  static std::optional<PipelineTrial> parse(std::string_view bytes);
};

/// Makes the pipeline in a process of its own (`ptx2spv-probe compile`). An error where the
/// driver's compiler ends that process, or makes no code and says that it did: the launch would end
/// this one. Verdicts are kept in the cache on disk. Without ptx2spv-probe nothing is tried.
Status try_pipeline(DeviceState& device, const PipelineTrial& trial);

/// While one lives, an exit() that a driver calls on this thread is reported with the kernel's
/// name.
class CompileNote {
 public:
  explicit CompileNote(const std::string& kernel);
  ~CompileNote();
  CompileNote(const CompileNote&) = delete;
  CompileNote& operator=(const CompileNote&) = delete;
};

}  // namespace ptx2spv::runtime
