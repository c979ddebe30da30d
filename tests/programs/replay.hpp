// Runs a random program through the runtime.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dev/programs/program.hpp"
#include "ptx2spv/runtime.hpp"

namespace ptx2spv::tests {

/// How a program is run; each number has one of its own.
struct Variant {
  std::string profile;  ///< empty: the device's
  std::optional<ThreadModel> threads;
  ArrayBacking backing = ArrayBacking::automatic;
  bool bind_slots = true;
  std::string text() const;
};
Variant variant_of(std::uint64_t number);

struct Outcome {
  std::string error;  ///< empty where it ran
  std::vector<std::uint32_t> output;
  std::vector<std::uint8_t> surface;
};

class Replay {
 public:
  /// `select` as DeviceOptions has it. Devices are opened once for each profile.
  explicit Replay(std::string select) : select_(std::move(select)) {}
  /// The device, or nothing with `problem` set.
  const Device* device(const std::string& profile, std::string& problem);
  Outcome run(const programs::Program& program, const Variant& variant);

 private:
  std::string select_;
  std::map<std::string, std::optional<Device>> devices_;
};

/// Where two runs differ, with the instructions that made the results.
std::string differences(const programs::Program& program, const Outcome& actual,
                        const std::vector<std::uint32_t>& output,
                        const std::vector<std::uint8_t>& surface);

}  // namespace ptx2spv::tests
