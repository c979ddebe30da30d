// Which launches the interpreter runs instead of the device.
#pragma once

#include "src/launch/plan.hpp"

namespace ptx2spv::runtime {

/// Whether the interpreter may run a launch: on devices where it works, unless the sanitizer asks
/// for what only translations for devices report, or the queue waits for a semaphore of others,
/// which may be for this thread to signal.
bool may_interpret(const KernelState& kernel, const LaunchConfig& config);

/// Whether it does so before the device is asked: always, or because the driver does not take the
/// kernel, or would still be compiling it.
bool interprets_at_once(const KernelState& kernel, const LaunchConfig& config);

/// Whether it does so for now, because the driver would need long to compile a translation. That
/// is done once the interpreter has run the kernel for as long, and never where the compiler may
/// give up or its code would be slower than the interpreter. A caller who asks for a thread model
/// gets it from the device.
bool interprets_first(KernelState& kernel, const LaunchConfig& config, const Variant& variant);

/// Whether the error is of the translation or of the driver, which the interpreter may not have.
bool of_device(const Error& error);

}  // namespace ptx2spv::runtime
