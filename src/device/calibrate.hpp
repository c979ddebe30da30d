// Where a device's answers come from: the project, an earlier run, or the device itself.
#pragma once

#include "src/device/answers.hpp"
#include "src/device/device.hpp"

namespace ptx2spv::runtime {

/// Who the device is.
DeviceIdentity identity_of(const PhysicalTraits& traits, const DeviceInfo& info);

/// Writes answers into `profile`, but for what its features do not let the device have.
void apply_answers(const Answers& answers, Profile& profile);

/// Fills the rows of `profile` that Vulkan does not report by what is known without asking: the
/// project's answers for this device; else what holds for every known device of its driver; else
/// what Vulkan's reports imply.
void presume(const PhysicalTraits& traits, const DeviceInfo& info, Profile& profile);

/// Fills them by the device's own answers where the project has none: from the cache, else by
/// asking, as the debug setting probe says. What cannot be had is presumed. Writes to stderr where
/// it asks or cannot.
Status calibrate(const PhysicalTraits& traits, const DeviceInfo& info, const DeviceOptions& options,
                 Profile& profile);

/// "MESA_LLVMPIPE" of VK_DRIVER_ID_MESA_LLVMPIPE; the number where it has no name here.
std::string driver_name(std::uint32_t driver);

/// Forgets what this process has asked, for tests.
void forget_answers();

}  // namespace ptx2spv::runtime
