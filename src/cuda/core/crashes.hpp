// What the driver was at when a signal ends the program.
#pragma once

#include <string>

namespace ptx2spv {
class Device;
}

namespace ptx2spv::cuda {

/// From now on a fatal signal in a thread of this device's driver, or in a launch, is reported with
/// the kernel's name. Then it goes to the handler that the program had, or ends the program as it
/// would have. A fault in the program's own code is left alone, and so is a handler that the
/// program installs later.
void report_crashes(const Device& device);

/// Notes that the calling thread is the program's: what happens there outside of a launch is its
/// own.
void note_program_thread();

/// While one lives, the calling thread prepares or starts a kernel. Its name counts among those
/// launched last from then on.
class LaunchWatch {
 public:
  explicit LaunchWatch(const std::string& kernel);
  ~LaunchWatch();
  LaunchWatch(const LaunchWatch&) = delete;
  LaunchWatch& operator=(const LaunchWatch&) = delete;
};

}  // namespace ptx2spv::cuda
