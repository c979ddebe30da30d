// Which device: all that exist, those that could serve, and the one that a selection or the policy
// picks.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "ptx2spv/text.hpp"
#include "src/device/calibrate.hpp"
#include "src/device/device.hpp"
#include "src/options.hpp"

namespace ptx2spv::runtime {

namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

bool is_swiftshader(const Candidate& each) {
  return each.traits.driver == VK_DRIVER_ID_GOOGLE_SWIFTSHADER;
}

/// Smaller is better: GPUs by kind, then SwiftShader, then other CPU drivers.
int rank(const Candidate& each) {
  switch (each.info.kind) {
    case DeviceKind::discrete: return 0;
    case DeviceKind::integrated: return 1;
    case DeviceKind::virtual_gpu: return 2;
    case DeviceKind::cpu: return is_swiftshader(each) ? 3 : 4;
    default: return 5;
  }
}

void append(std::vector<Candidate>& all, const std::shared_ptr<Instance>& instance,
            std::string& notes) {
  std::uint32_t count = 0;
  VkResult result = instance->vk.EnumeratePhysicalDevices(instance->handle, &count, nullptr);
  std::vector<VkPhysicalDevice> physical(count);
  if (result == VK_SUCCESS && count)
    result = instance->vk.EnumeratePhysicalDevices(instance->handle, &count, physical.data());
  if (result < 0 || !count) {
    notes += fmt::format("{}{} lists no device ({})", notes.empty() ? "" : "; ", instance->origin,
                         to_text(result));
    return;
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    Candidate candidate;
    candidate.instance = instance;
    candidate.physical = physical[i];
    candidate.info.rejection =
        inspect_device(*instance, physical[i], candidate.traits, candidate.info);
    candidate.info.usable = candidate.info.rejection.empty();
    bool known = std::any_of(all.begin(), all.end(), [&](const Candidate& other) {
      return is_swiftshader(other) && is_swiftshader(candidate);
    });
    if (!known) all.push_back(std::move(candidate));
  }
}

void note(std::string& notes, const Error& error) {
  notes += (notes.empty() ? "" : "; ") + error.text;
}

bool matches(const Candidate& each, const std::string& request) {
  bool cpu = each.info.kind == DeviceKind::cpu;
  if (request == "gpu") return !cpu;
  if (request == "cpu") return cpu;
  if (request == "swiftshader") return is_swiftshader(each);
  if (request == "lavapipe" || request == "llvmpipe")
    return each.traits.driver == VK_DRIVER_ID_MESA_LLVMPIPE;
  if (request.starts_with("uuid:")) {
    std::string uuid = request.substr(5);
    std::string own = lower(each.info.uuid_text());
    std::erase(uuid, '-');
    std::erase(own, '-');
    return !uuid.empty() && own.starts_with(uuid);
  }
  std::string_view number = request;
  if (number.starts_with("index:")) number.remove_prefix(6);
  std::uint32_t index = 0;
  if (read_number(number, index)) return index == each.info.index;
  return lower(each.info.name).find(request) != std::string::npos;
}

}  // namespace

std::vector<Candidate> enumerate_candidates(const DeviceOptions& options, std::string& notes,
                                            bool everything) {
  const bool limited = limits_requested();
  bool validation = options.validation.value_or(option_flag(Option::validation, false));
  std::string request = lower(options.select.empty() ? option_text(Option::device)
                                                     : std::string_view(options.select));
  std::vector<Candidate> all;
  // The loader opens every driver of the system, which takes longer than SwiftShader alone: it is
  // left out where only SwiftShader is wanted. Layers exist for the loader only.
  bool only_swiftshader = request == "swiftshader" && !everything;
  if (!only_swiftshader || validation || limited || semaphores_layered()) {
    auto loader = open_loader(validation);
    if (loader)
      append(all, *loader, notes);
    else
      note(notes, loader.error());
  }
  if (!limited && !std::any_of(all.begin(), all.end(), is_swiftshader)) {
    auto direct = open_swiftshader();
    if (direct)
      append(all, *direct, notes);
    else
      note(notes, direct.error());
    if (all.empty())
      note(notes, make_error(ErrorCode::no_device,
                             "install the Vulkan loader and a driver (Debian's libvulkan1 and "
                             "mesa-vulkan-drivers), or run ptx2spv-fetch-swiftshader"));
    // Nothing else takes the place of a SwiftShader that was named and cannot be had.
    const bool named = !option_text(Option::swiftshader).empty();
    if (!direct && named && (request.empty() || request == "cpu")) all.clear();
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Candidate& a, const Candidate& b) { return rank(a) < rank(b); });
  for (std::size_t i = 0; i < all.size(); ++i) all[i].info.index = static_cast<std::uint32_t>(i);
  return all;
}

namespace {

/// The device that comes before all others for the request, or -1. Of the CPU's drivers lavapipe is
/// the faster one, and its results are exact where its answers come with the project. SwiftShader
/// that is named stays first.
int preferred(const std::vector<Candidate>& candidates, const std::string& request) {
  if (request != "cpu" || !option_text(Option::swiftshader).empty()) return -1;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& each = candidates[i];
    if (each.info.usable && each.traits.driver == VK_DRIVER_ID_MESA_LLVMPIPE &&
        known_answers(identity_of(each.traits, each.info)))
      return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

int select_candidate(std::vector<Candidate>& candidates, std::string_view selection) {
  std::string request = lower(selection);
  int chosen = preferred(candidates, request);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    DeviceInfo& info = candidates[i].info;
    bool match = request.empty() || matches(candidates[i], request);
    if (!info.usable || chosen == static_cast<int>(i)) continue;
    if (!match) {
      info.rejection = fmt::format("it does not match '{}'", selection);
    } else if (chosen < 0) {
      chosen = static_cast<int>(i);
    } else {
      info.rejection = fmt::format("{} comes before it", candidates[chosen].info.name);
    }
  }
  return chosen;
}

}  // namespace ptx2spv::runtime

namespace ptx2spv {

std::string DeviceInfo::uuid_text() const {
  std::string text;
  for (std::size_t i = 0; i < uuid.size(); ++i)
    text += fmt::format("{}{:02x}", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
  return text;
}

const char* to_string(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::discrete: return "discrete GPU";
    case DeviceKind::integrated: return "integrated GPU";
    case DeviceKind::virtual_gpu: return "virtual GPU";
    case DeviceKind::cpu: return "CPU";
    case DeviceKind::other: break;
  }
  return "other";
}

Result<std::vector<DeviceInfo>> list_devices(const DeviceOptions& options) {
  std::string notes;
  auto candidates = enumerate_candidates(options, notes, true);
  std::string request =
      options.select.empty() ? std::string(option_text(Option::device)) : options.select;
  select_candidate(candidates, request);
  std::vector<DeviceInfo> list;
  for (Candidate& each : candidates) list.push_back(std::move(each.info));
  if (list.empty()) return make_error(ErrorCode::no_device, "there is no Vulkan device: " + notes);
  return list;
}

}  // namespace ptx2spv
