// The buffer that a kernel's printf calls go to, and their text.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "src/memory/heap.hpp"

namespace ptx2spv::runtime {

/// Not thread-safe: belongs to a stream.
class PrintfBuffer {
 public:
  static constexpr std::uint64_t kBytes = 1 << 20;
  /// The buffer's address, for the push constants; made when first asked for.
  Result<std::uint64_t> address(DeviceState& device);
  /// Prints every complete call and empties the buffer. Nothing may be running that writes to it.
  void drain(DeviceState& device);

 private:
  Memory memory_;
};

/// C's format rules for one call; `read_string` gives the text at a device address.
std::string format_call(const std::string& format, const std::vector<std::byte>& arguments,
                        const std::function<std::string(std::uint64_t)>& read_string);

}  // namespace ptx2spv::runtime
