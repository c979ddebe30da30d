// Runs a compute module on a Vulkan driver without the runtime: the driver's library is opened
// directly, buffers are host memory, one dispatch at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace ptx2spv::test {

struct Dispatch {
  std::string entry = "kernel";
  std::uint32_t groups[3] = {1, 1, 1};
  std::uint32_t local[3] = {1, 1, 1};
  std::uint32_t dynamic_shared_words = 0;
  std::vector<std::uint32_t> push;
  /// Bound buffers by (set, binding); contents go in and come out.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint8_t>> buffers;
  /// Memory reached by address; the address is put into these two words of a bound buffer.
  std::vector<std::uint8_t> global;
  std::pair<std::uint32_t, std::uint32_t> global_pointer_in{0, 0};
  std::uint32_t global_pointer_at = 0;
};

class Dispatcher {
 public:
  struct State;  ///< Vulkan's functions and the device, for dispatcher.cpp
  /// Of "swiftshader", "lavapipe" or "nvidia", opened once; nothing when it is not there: `why`
  /// says so.
  static Dispatcher* get(const std::string& device, std::string& why);
  ~Dispatcher();
  /// Empty, or what failed.
  std::string run(std::span<const std::uint32_t> words, Dispatch& dispatch);

 private:
  Dispatcher();
  std::unique_ptr<State> state_;
};

}  // namespace ptx2spv::test
