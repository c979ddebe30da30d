// Which launches the interpreter runs instead of the device.
#pragma once

#include "src/launch/plan.hpp"

namespace ptx2spv::runtime {

/// Whether the interpreter may run a launch: on devices where it works, unless the queue waits for
/// a semaphore of others, which may be for this thread to signal.
bool may_interpret(const KernelState& kernel);

/// Whether it does so without a device translation: the setting says always, the driver rejects
/// the kernel, or it is still compiling it. With checks of synchronisation the interpreter runs
/// only what the driver rejects, and leaves these checks out (prepare_checks).
bool interprets_at_once(const KernelState& kernel, const LaunchConfig& config);

/// Whether it does so for now, because the driver would compile the translation for long. We
/// compile once interpreting has cost as much as compiling would, unless the compiler might fail or
/// its code would be slower than the interpreter. A caller who asks for a thread model gets it from
/// the device.
bool interprets_first(KernelState& kernel, const LaunchConfig& config, const Variant& variant);

/// Whether the translation or the driver failed: the interpreter may still run the kernel.
bool of_device(const Error& error);

}  // namespace ptx2spv::runtime
