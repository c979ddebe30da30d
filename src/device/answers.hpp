// What a device answered when it was asked: the rows of a profile that Vulkan does not report.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptx2spv/profile.hpp"

namespace ptx2spv::runtime {

/// Which device and driver answers belong to.
struct DeviceIdentity {
  std::uint32_t driver = 0;   ///< VkDriverId
  std::uint32_t version = 0;  ///< VkPhysicalDeviceProperties::driverVersion
  std::uint32_t vendor = 0, device = 0;
  std::array<std::uint8_t, 16> uuid{};
  std::string name, info;  ///< deviceName, driverInfo
  std::string host;        ///< of a CPU driver: the processor's widest vectors, else empty
  /// Whether answers of this device hold for `other`: all but the UUID is the same, and its
  /// processor's vectors are no wider.
  bool covers(const DeviceIdentity& other) const;
};

/// The widest vectors of this machine's processor: what a CPU driver's compiler depends on.
std::string_view processor_vectors();

class Answers {
 public:
  /// Every row that is asked for: exactness, costs, workarounds, and of the limits
  /// max_loop_iterations and routine_budget.
  static std::span<const std::string_view> rows();

  std::optional<std::uint32_t> find(std::string_view row) const;
  /// False: there is no such row.
  bool set(std::string_view row, std::uint32_t value);
  bool complete() const;
  /// Writes what was answered into `profile`.
  void apply(Profile& profile) const;
  /// What `profile` has in every row.
  static Answers of(const Profile& profile);

  /// "row=value row=value", in the order of rows().
  std::string text() const;
  /// Nothing where `text` has anything else than rows and numbers.
  static std::optional<Answers> parse(std::string_view text);

  bool operator==(const Answers&) const = default;

 private:
  std::vector<std::optional<std::uint32_t>> values_;  ///< as rows()
};

/// A device whose answers come with the project.
struct KnownDevice {
  DeviceIdentity identity;  ///< without a UUID
  std::string_view answers;
};
std::span<const KnownDevice> known_devices();

/// The answers that come with the project, or nothing.
std::optional<Answers> known_answers(const DeviceIdentity& identity);

/// What holds for every known device of this driver: workarounds that one of them needs, exactness
/// that all of them have. Nothing where no device of the driver is known.
std::optional<Answers> answers_of_driver(std::uint32_t driver);

}  // namespace ptx2spv::runtime
