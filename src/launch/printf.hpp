// The buffer that a kernel's printf calls go to, and their text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "src/device/device.hpp"

namespace ptx2spv::runtime {

/// Not thread-safe: belongs to a stream.
class PrintfBuffer {
 public:
  static constexpr std::uint64_t kBytes = 1 << 20;
  /// The buffer's address, for the push constants; made when first asked for.
  Result<std::uint64_t> address(DeviceState& device);
  /// Moves every complete call to `calls` and empties the buffer. Nothing may be running that
  /// writes to it.
  void collect(std::vector<std::byte>& calls);

 private:
  Memory memory_;
};

/// Prints what was collected. Strings are read from the device: to be called without any stream's
/// lock.
void print_calls(DeviceState& device, const std::vector<std::byte>& calls);

/// C's format rules for one call; `read_string` gives the text at a device address.
std::string format_call(const std::string& format, const std::vector<std::byte>& arguments,
                        const std::function<std::string(std::uint64_t)>& read_string);

}  // namespace ptx2spv::runtime
