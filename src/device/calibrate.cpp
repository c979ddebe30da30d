#include "src/device/calibrate.hpp"

#include <chrono>
#include <cstdio>
#include <map>

#include "src/cache/digest.hpp"
#include "src/cache/disk_cache.hpp"
#include "src/device/ask.hpp"
#include "src/options.hpp"

namespace ptx2spv::runtime {

namespace {

std::string cache_key(const DeviceIdentity& identity) {
  Digest digest;
  digest.add(build_id());  // other questions may have other answers
  digest.add(
      std::string_view(reinterpret_cast<const char*>(identity.uuid.data()), identity.uuid.size()));
  for (const std::uint32_t number :
       {identity.driver, identity.version, identity.vendor, identity.device})
    digest.add_number(number);
  for (const std::string& text : {identity.name, identity.info, identity.host}) digest.add(text);
  return "a-" + digest.text();
}

std::optional<Answers> cached(DiskCache* disk, const std::string& key) {
  const auto bytes = disk ? disk->load(key) : std::nullopt;
  if (!bytes) return std::nullopt;
  const auto answers =
      Answers::parse(std::string_view(reinterpret_cast<const char*>(bytes->data()), bytes->size()));
  return answers && answers->complete() ? answers : std::nullopt;
}

/// Rows that a device without the feature cannot have, whatever it answered.
void without_features(Profile& profile) {
  if (!profile.features.subgroup_ops) profile.exactness.native_warps = false;
  if (!profile.features.matrices_f16) profile.exactness.exact_matrices_f16 = false;
  if (!profile.features.matrices_bf16) profile.exactness.exact_matrices_bf16 = false;
  if (!profile.features.matrices_s8) profile.exactness.exact_matrices_s8 = false;
  if (!profile.features.float16) profile.exactness.exact_float16 = false;
  if (!profile.features.float64)
    profile.exactness.exact_float64 = profile.exactness.exact_div64 =
        profile.exactness.exact_widen64 = profile.exactness.exact_narrow64 =
            profile.exactness.fused_fma64 = profile.exactness.second_nan64 =
                profile.exactness.nan_signs64 = profile.exactness.exact_round64 = false;
}

/// The answers of this process, for devices opened again without a cache.
struct Remembered {
  std::mutex mutex;
  std::map<std::string, Answers> answers;
};
Remembered& remembered() {
  static auto* all = new Remembered;
  return *all;
}

}  // namespace

DeviceIdentity identity_of(const PhysicalTraits& traits, const DeviceInfo& info) {
  DeviceIdentity identity;
  identity.driver = traits.driver;
  identity.version = info.driver_version;
  identity.vendor = info.vendor;
  identity.device = info.device;
  identity.uuid = info.uuid;
  identity.name = info.name;
  identity.info = traits.driver_info;
  if (info.kind == DeviceKind::cpu) identity.host = processor_vectors();
  return identity;
}

void apply_answers(const Answers& answers, Profile& profile) {
  answers.apply(profile);
  without_features(profile);
}

void presume(const PhysicalTraits& traits, const DeviceInfo& info, Profile& profile) {
  const DeviceIdentity identity = identity_of(traits, info);
  auto answers = known_answers(identity);
  if (!answers) answers = answers_of_driver(identity.driver);
  if (answers) {
    apply_answers(*answers, profile);
  } else {
    // Vulkan's precisions: sums, products, comparisons and conversions are correctly rounded. What
    // that leaves open is whether denormals are kept and which way is rounded.
    const bool as_ieee = profile.features.preserves_denormals32 && profile.features.rounds_even32;
    profile.exactness.denormals32 = profile.exactness.exact_compare32 =
        profile.exactness.exact_convert32 = as_ieee;
    profile.exactness.fused_fma32 = profile.features.shader_fma32 && profile.features.rounds_even32;
    profile.exactness.fma_denormals32 = profile.exactness.fused_fma32 && as_ieee;
    without_features(profile);
  }
}

Status calibrate(const PhysicalTraits& traits, const DeviceInfo& info, const DeviceOptions& options,
                 Profile& profile) {
  const std::string_view text = option_text(Option::probe);
  const bool force = text == "force", off = text == "off", only_cached = text == "cached";
  const DeviceIdentity identity = identity_of(traits, info);
  if (off || (!force && known_answers(identity))) return {};
  const std::string key = cache_key(identity);
  Remembered& all = remembered();
  std::lock_guard lock(all.mutex);
  if (const auto found = all.answers.find(key); found != all.answers.end()) {
    apply_answers(found->second, profile);
    return {};
  }
  const std::unique_ptr<DiskCache> disk = options.cache.value_or(option_flag(Option::cache, true))
                                              ? DiskCache::open(options.cache_directory)
                                              : nullptr;
  std::optional<Answers> answers = force ? std::nullopt : cached(disk.get(), key);
  if (!answers && only_cached) return {};
  if (!answers) {
    const std::string program = find_probe_program();
    if (program.empty()) {
      std::fprintf(
          stderr,
          "ptx2spv: %s (%s) is not known, and there is no ptx2spv-probe to ask it with: nothing is "
          "presumed of it\n",
          info.name.c_str(), info.driver.c_str());
      return {};
    }
    const auto start = std::chrono::steady_clock::now();
    auto asked = ask_in_process(program, identity, kQuestionMilliseconds);
    if (!asked) {
      std::fprintf(stderr, "ptx2spv: %s (%s) cannot be asked: %s\n", info.name.c_str(),
                   info.driver.c_str(), asked.error().text.c_str());
      return {};
    }
    const double took =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::fprintf(stderr, "ptx2spv: asked %s (%s) what it does, in %.2f s%s%s%s\n",
                 info.name.c_str(), info.driver.c_str(), took, disk ? "; the answers are kept" : "",
                 asked->notes.empty() ? "" : "; ", asked->notes.c_str());
    answers = std::move(asked->answers);
    if (disk) {
      const std::string kept = answers->text();
      const auto bytes = std::as_bytes(std::span(kept));
      disk->store(key, {bytes.begin(), bytes.end()});
    }
  }
  apply_answers(*answers, profile);
  all.answers.emplace(key, std::move(*answers));
  return {};
}

std::string driver_name(std::uint32_t driver) {
  switch (driver) {
#define PTX2SPV_DRIVER_NAME(name) \
  case VK_DRIVER_ID_##name: return #name;
    PTX2SPV_DRIVER_NAME(AMD_PROPRIETARY)
    PTX2SPV_DRIVER_NAME(AMD_OPEN_SOURCE)
    PTX2SPV_DRIVER_NAME(MESA_RADV)
    PTX2SPV_DRIVER_NAME(NVIDIA_PROPRIETARY)
    PTX2SPV_DRIVER_NAME(INTEL_PROPRIETARY_WINDOWS)
    PTX2SPV_DRIVER_NAME(INTEL_OPEN_SOURCE_MESA)
    PTX2SPV_DRIVER_NAME(QUALCOMM_PROPRIETARY)
    PTX2SPV_DRIVER_NAME(ARM_PROPRIETARY)
    PTX2SPV_DRIVER_NAME(GOOGLE_SWIFTSHADER)
    PTX2SPV_DRIVER_NAME(BROADCOM_PROPRIETARY)
    PTX2SPV_DRIVER_NAME(MESA_LLVMPIPE)
    PTX2SPV_DRIVER_NAME(MOLTENVK)
    PTX2SPV_DRIVER_NAME(IMAGINATION_PROPRIETARY)
    PTX2SPV_DRIVER_NAME(MESA_TURNIP)
    PTX2SPV_DRIVER_NAME(MESA_V3DV)
    PTX2SPV_DRIVER_NAME(MESA_PANVK)
#undef PTX2SPV_DRIVER_NAME
    default: return std::to_string(driver);
  }
}

void forget_answers() {
  Remembered& all = remembered();
  std::lock_guard lock(all.mutex);
  all.answers.clear();
}

}  // namespace ptx2spv::runtime
