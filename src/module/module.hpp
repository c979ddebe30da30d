// The state behind Module and Kernel.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "ptx2spv/interpreter.hpp"
#include "src/array/array.hpp"
#include "src/device/device.hpp"
#include "src/module/launch_time.hpp"
#include "src/module/recently_used.hpp"

namespace ptx2spv::runtime {

/// One translation of a kernel. Launches hold it, and with it their module, which holds the device.
struct Variant {
  explicit Variant(const VulkanDevice& owner) : device(owner) {}
  Variant(const Variant&) = delete;
  Variant& operator=(const Variant&) = delete;
  ~Variant();

  const VulkanDevice& device;
  std::uint64_t serial = 0;  ///< for descriptor caches
  Specialization key;
  EntryInfo info;
  std::size_t code_bytes = 0;  ///< of SPIR-V
  std::vector<std::uint32_t>
      tried;  ///< the SPIR-V again, where pipelines are tried elsewhere first
  VkShaderModule shader = VK_NULL_HANDLE;
  std::shared_ptr<const Layout> layout;
  std::optional<InterpretedKernel> interpreted;  ///< instead of the module and its layout
};

/// What a pipeline is specialised for beyond its kernel.
struct PipelineKey {
  std::uint64_t variant = 0;  ///< its serial number
  std::uint32_t size[3] = {1, 1, 1};
  std::uint32_t shared_words = 0;
  bool operator==(const PipelineKey&) const = default;
};

/// A pipeline, which launches, recordings and graphs hold as they do a Variant.
struct Pipeline {
  explicit Pipeline(const VulkanDevice& owner) : device(owner) {}
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;
  ~Pipeline();

  const VulkanDevice& device;
  PipelineKey key;
  VkPipeline handle = VK_NULL_HANDLE;
};

struct KernelState;

struct ModuleState : std::enable_shared_from_this<ModuleState> {
  ModuleState() = default;
  ModuleState(const ModuleState&) = delete;
  ModuleState& operator=(const ModuleState&) = delete;
  ~ModuleState();

  std::shared_ptr<DeviceState> device;
  PtxModule ptx;
  ModuleOptions options;
  std::vector<Message> warnings;
  std::string file;    ///< of the first input
  std::string digest;  ///< of the inputs, for the disk cache
  std::uint64_t serial = 0;
  Memory globals, constants;  ///< empty where the module has none
  std::uint64_t constants_bytes = 0;

  std::mutex mutex;  ///< for what follows
  std::map<std::string, std::shared_ptr<SurfaceState>, std::less<>> surfaces;
  std::map<std::string, std::shared_ptr<TextureState>, std::less<>> textures, samplers;
  std::map<std::string, std::uint64_t, std::less<>>
      static_handles,   ///< of initialised, unbound .surfrefs
      static_textures;  ///< of initialised, unbound .texrefs and .samplerrefs
  std::map<std::string, std::unique_ptr<KernelState>, std::less<>> kernels;

  /// The handle that a .surfref stands for now; 0: nothing bound, nothing initialised.
  std::uint64_t surfref_handle(const std::string& name) const;
  std::uint64_t texref_handle(const std::string& name) const;
  std::uint64_t samplerref_handle(const std::string& name) const;
  bool has_surfref(std::string_view name) const;
  bool has_texref(std::string_view name, bool sampler) const;
  const VariableInfo* variable(std::string_view name) const;
};

/// The record that an initialised .texref or .samplerref has until something is bound
/// (src/module/static_texture.cpp).
Status create_static_texture(ModuleState& module, const StaticTexref& ref);
/// Memory of a module: images put in place, relocations resolved.
Status allocate_variables(ModuleState& module);

/// What is known of a kernel's executors; src/executor/tier.cpp alone uses it.
struct TierState {
  std::atomic<bool> device_refuses{false}, host_refuses{false};  ///< tried, and cannot
  std::atomic<bool> not_compiled{false};                         ///< by the host, or not well
  std::atomic<bool> waits_for_others{false};  ///< for what the program does meanwhile
  /// Microseconds: that the host has run the kernel, up to which it runs it before the device's
  /// compiler is asked, and that this compiler has probably taken for slow modules so far.
  std::atomic<std::uint64_t> interpreted_us{0}, patience_us{0}, compiled_us{0};
  /// A block's share of what the host took for a launch, 0 if the device ran it.
  LaunchTime host_block_us;
  /// What a launch takes on the device, by the magnitude of its blocks.
  std::array<LaunchTime, 8> device_us;
  LaunchTime& time_of(std::uint64_t blocks) {
    return device_us[std::min<std::size_t>(std::bit_width(blocks) / 3, device_us.size() - 1)];
  }
};

struct ReadyPlan;

struct KernelState {
  KernelState() = default;
  KernelState(const KernelState&) = delete;
  KernelState& operator=(const KernelState&) = delete;

  /// So many variants, and so many pipelines, are kept unless the debug setting pipelines says
  /// otherwise.
  static constexpr std::size_t kKept = 256;

  ModuleState* module = nullptr;    ///< which owns this
  const EntryInfo* info = nullptr;  ///< of the module's interface
  TierState tier;
  std::mutex mutex;  ///< for what follows
  RecentlyUsed<Variant> interpretations;
  RecentlyUsed<Variant> variants;
  RecentlyUsed<Pipeline> pipelines;                     ///< of these variants
  std::vector<std::shared_ptr<const ReadyPlan>> ready;  ///< likewise, see src/executor/ready.hpp

  /// Translates when there is no such variant. `prepare_ms` grows by what that took.
  Result<std::shared_ptr<const Variant>> variant(const Specialization& key, double& prepare_ms);
  /// The same for the interpreter.
  Result<std::shared_ptr<const Variant>> interpretation(const Specialization& key,
                                                        double& prepare_ms);
  /// Compiles when there is no such pipeline.
  Result<std::shared_ptr<const Pipeline>> pipeline(const Variant& variant, const PipelineKey& key,
                                                   double& prepare_ms);
  bool has_pipeline(const PipelineKey& key);
};

}  // namespace ptx2spv::runtime
