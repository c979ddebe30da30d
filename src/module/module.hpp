// The state behind Module and Kernel.
#pragma once

#include <array>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "src/array/array.hpp"
#include "src/device/device.hpp"

namespace ptx2spv::runtime {

/// What a pipeline is specialised for beyond its module.
struct PipelineKey {
  std::uint32_t size[3] = {1, 1, 1};
  std::uint32_t shared_words = 0;
  bool operator==(const PipelineKey&) const = default;
};

/// One translation of a kernel with the pipelines made from it. Lives as long as its kernel.
struct Variant {
  std::uint64_t serial = 0;  ///< for descriptor caches
  Specialization key;
  EntryInfo info;
  VkShaderModule shader = VK_NULL_HANDLE;
  std::shared_ptr<const Layout> layout;
  std::vector<std::pair<PipelineKey, VkPipeline>> pipelines;
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
Status place_static_texture(ModuleState& module, const StaticTexref& ref);
/// Memory of a module: images put in place, relocations resolved.
Status place_variables(ModuleState& module);
/// Rewrites the fields that hold the handle of `name`.
Status rewrite_handles(ModuleState& module, const std::string& name, Relocation::Kind kind);

struct KernelState {
  KernelState() = default;
  KernelState(const KernelState&) = delete;
  KernelState& operator=(const KernelState&) = delete;
  ~KernelState();

  ModuleState* module = nullptr;    ///< which owns this
  const EntryInfo* info = nullptr;  ///< of the module's interface
  std::mutex mutex;                 ///< for `variants` and their pipelines
  std::vector<std::unique_ptr<Variant>> variants;

  /// Translates when there is no such variant yet. `prepare_ms` grows by what that took.
  Result<Variant*> variant(const Specialization& key, double& prepare_ms);
  Result<VkPipeline> pipeline(Variant& variant, const PipelineKey& key, double& prepare_ms);
};

}  // namespace ptx2spv::runtime
