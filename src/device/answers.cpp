#include "src/device/answers.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ptx2spv/text.hpp"
#include "src/vulkan/api.hpp"

namespace ptx2spv::runtime {

namespace {

constexpr std::string_view kLoopIterations = "max_loop_iterations";
constexpr std::string_view kRoutineBudget = "routine_budget";

std::vector<std::string_view> make_rows() {
  std::vector<std::string_view> rows;
  for (const Capability& each : capabilities())
    if (each.group != Capability::Group::feature) rows.push_back(each.name);
  rows.push_back(kLoopIterations);
  rows.push_back(kRoutineBudget);
  return rows;
}

std::optional<std::size_t> index_of(std::string_view row) {
  const auto rows = Answers::rows();
  const auto at = std::ranges::find(rows, row);
  if (at == rows.end()) return std::nullopt;
  return static_cast<std::size_t>(at - rows.begin());
}

std::vector<KnownDevice> make_known() {
  std::vector<KnownDevice> devices;
#define PTX2SPV_KNOWN_DEVICE(driver, version, vendor, device, name, info, host, answers) \
  devices.push_back(                                                                     \
      {{VK_DRIVER_ID_##driver, version, vendor, device, {}, name, info, host}, answers});
#include "src/device/known_devices.def"
#undef PTX2SPV_KNOWN_DEVICE
  return devices;
}

}  // namespace

bool DeviceIdentity::covers(const DeviceIdentity& other) const {
  constexpr std::string_view kWidths[] = {"sse", "avx2", "avx512"};
  const auto own = std::ranges::find(kWidths, host), its = std::ranges::find(kWidths, other.host);
  const bool narrower = own != std::end(kWidths) && its <= own;
  return driver == other.driver && version == other.version && vendor == other.vendor &&
         device == other.device && name == other.name && info == other.info &&
         (host == other.host || narrower);
}

std::string_view processor_vectors() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512vl")) return "avx512";
  if (__builtin_cpu_supports("avx2")) return "avx2";
  return "sse";
#elif defined(__aarch64__)
  return "neon";
#else
  return "other";
#endif
}

std::span<const std::string_view> Answers::rows() {
  static const auto& rows = *new auto(make_rows());
  return rows;
}

std::optional<std::uint32_t> Answers::find(std::string_view row) const {
  const auto at = index_of(row);
  return at && *at < values_.size() ? values_[*at] : std::nullopt;
}

bool Answers::set(std::string_view row, std::uint32_t value) {
  const auto at = index_of(row);
  if (!at) return false;
  values_.resize(rows().size());
  values_[*at] = value;
  return true;
}

bool Answers::complete() const {
  return values_.size() == rows().size() &&
         std::ranges::all_of(values_, [](const auto& value) { return value.has_value(); });
}

void Answers::apply(Profile& profile) const {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (!values_[i]) continue;
    const std::string_view row = rows()[i];
    if (row == kLoopIterations)
      profile.max_loop_iterations = *values_[i];
    else if (row == kRoutineBudget)
      profile.routine_budget = *values_[i];
    else
      set_capability(profile, row, *values_[i] != 0);
  }
}

Answers Answers::of(const Profile& profile) {
  Answers answers;
  for (const Capability& each : capabilities())
    if (each.group != Capability::Group::feature) answers.set(each.name, each.value(profile));
  answers.set(kLoopIterations, profile.max_loop_iterations);
  answers.set(kRoutineBudget, profile.routine_budget);
  return answers;
}

std::string Answers::text() const {
  std::string text;
  for (std::size_t i = 0; i < values_.size(); ++i)
    if (values_[i]) text += fmt::format("{}{}={}", text.empty() ? "" : " ", rows()[i], *values_[i]);
  return text;
}

std::optional<Answers> Answers::parse(std::string_view text) {
  Answers answers;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t equals = word.find('=');
    if (equals == word.npos) return std::nullopt;
    std::uint32_t value = 0;
    if (!read_number(word.substr(equals + 1), value) || !answers.set(word.substr(0, equals), value))
      return std::nullopt;
  }
  return answers;
}

std::span<const KnownDevice> known_devices() {
  static const auto& devices = *new auto(make_known());
  return devices;
}

std::optional<Answers> known_answers(const DeviceIdentity& identity) {
  for (const KnownDevice& each : known_devices())
    if (each.identity.covers(identity)) return Answers::parse(each.answers);
  return std::nullopt;
}

std::optional<Answers> answers_of_driver(std::uint32_t driver) {
  std::optional<Profile> worst;
  for (const KnownDevice& each : known_devices()) {
    const auto answers = Answers::parse(each.answers);
    if (each.identity.driver != driver || !answers) continue;
    Profile profile = worst.value_or(Profile());
    answers->apply(profile);
    if (!worst) {
      worst = profile;
      continue;
    }
    for (const Capability& row : capabilities())
      if (row.value(profile) != row.best()) row.in(*worst) = !row.best();
    if (!worst->max_loop_iterations || (profile.max_loop_iterations != 0 &&
                                        profile.max_loop_iterations < worst->max_loop_iterations))
      worst->max_loop_iterations = profile.max_loop_iterations;
    worst->routine_budget = std::min(worst->routine_budget, profile.routine_budget);
  }
  if (!worst) return std::nullopt;
  // Of the two rows that exclude each other neither is sure.
  if (worst->exactness.denormals32) worst->exactness.flushes_denormals32 = false;
  return Answers::of(*worst);
}

}  // namespace ptx2spv::runtime
