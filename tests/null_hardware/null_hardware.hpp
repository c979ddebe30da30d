// Pipelines on a device that is not there: RADV's null hardware compiles for a family of AMD's and
// runs nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/device/device.hpp"

namespace ptx2spv::test {

/// What a driver's compiler says of a pipeline.
struct PipelineStatistics {
  std::uint64_t instructions = 0, spills = 0, scratch = 0;  ///< scratch: bytes of a wave of 64
  double milliseconds = 0;  ///< of the processor, that compiling took
};

class NullHardware {
 public:
  /// The null device of `family` ("navi21"); nothing and why not.
  static std::unique_ptr<NullHardware> open(const std::string& family, std::string& problem);
  ~NullHardware();
  NullHardware(const NullHardware&) = delete;
  NullHardware& operator=(const NullHardware&) = delete;

  /// From what the device reports.
  const Profile& profile() const { return info_.profile; }
  const std::string& name() const { return info_.name; }
  /// The driver and its version, as it says.
  const std::string& driver() const { return traits_.driver_info; }
  /// Makes a pipeline of the module's entry with workgroups of `block`; its layout is read from the
  /// module. Nothing where the driver refuses it.
  std::optional<PipelineStatistics> compile(const std::vector<std::uint32_t>& spirv,
                                            const std::string& entry,
                                            const std::uint32_t (&block)[3]);

 private:
  NullHardware() = default;

  std::shared_ptr<runtime::Instance> instance_;
  runtime::PhysicalTraits traits_;
  DeviceInfo info_;
  runtime::VulkanDevice device_;
  PFN_vkGetPipelineExecutablePropertiesKHR executables_ = nullptr;
  PFN_vkGetPipelineExecutableStatisticsKHR statistics_ = nullptr;
};

}  // namespace ptx2spv::test
