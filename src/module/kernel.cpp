// Translations and pipelines of a kernel, made when a launch first needs them.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "ptx2spv/interpreter.hpp"
#include "src/cache/digest.hpp"
#include "src/cache/disk_cache.hpp"
#include "src/cache/serialize.hpp"
#include "src/device/bindings.hpp"
#include "src/device/local_memory.hpp"
#include "src/device/pipeline_trial.hpp"
#include "src/module/module.hpp"
#include "src/options.hpp"

namespace ptx2spv::runtime {

namespace {

/// Machine code of the host, in the cache on disk.
class CodeOnDisk : public CodeStore {
 public:
  explicit CodeOnDisk(std::shared_ptr<DiskCache> disk) : disk_(std::move(disk)) {}

  std::optional<std::vector<std::byte>> load(const std::string& content) override {
    return disk_->load(key_of(content));
  }
  void store(const std::string& content, const std::vector<std::byte>& code) override {
    disk_->store(key_of(content), code);
  }
  std::shared_ptr<void> turn(const std::string& content, void (*waiting)()) override {
    return disk_->turn(key_of(content), waiting);
  }

 private:
  static std::string key_of(const std::string& content) {
    Digest digest;
    digest.add(build_id());
    digest.add(content);
    return "h-" + digest.text();
  }

  const std::shared_ptr<DiskCache> disk_;
};

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

TranslateOptions options_for(const KernelState& kernel, const Specialization& key) {
  const ModuleState& module = *kernel.module;
  TranslateOptions options;
  static_cast<Specialization&>(options) = key;
  options.profile = module.device->profile;
  options.optimize = module.options.optimize;
  options.debug_info = module.options.debug_info;
  options.relax_versions = module.options.relax_versions;
  options.push_words = module.device->push_words;
  options.entry = kernel.info->name;
  options.wait_iterations =
      static_cast<std::uint32_t>(option_number(Option::wait_iterations, options.wait_iterations));
  if (!option_text(Option::routine_budget).empty())
    options.routine_budget = static_cast<std::uint32_t>(option_number(Option::routine_budget, 0));
  return options;
}

/// Adds fields of a Specialization to a digest.
struct FieldDigest {
  Digest& digest;

  void operator()(const std::uint32_t (&block)[3]) const {
    for (const std::uint32_t each : block) digest.add_number(each);
  }
  void operator()(const std::vector<SlotSpec>& slots) const {
    digest.add_number(slots.size());
    for (const SlotSpec& slot : slots)
      digest.add_number(static_cast<std::uint64_t>(slot.backing) |
                        static_cast<std::uint64_t>(slot.format) << 8 |
                        std::uint64_t{slot.channels} << 16 | std::uint64_t{slot.geometry} << 24 |
                        std::uint64_t{slot.format_known} << 32);
  }
  void operator()(const std::vector<TextureSpec>& textures) const {
    digest.add_number(textures.size());
    for (const TextureSpec& texture : textures)
      digest.add_number(
          std::uint64_t{texture.known} | std::uint64_t{texture.one_level} << 1 |
          static_cast<std::uint64_t>(texture.unit) << 2 | std::uint64_t{texture.divides} << 3 |
          std::uint64_t{texture.biased} << 4 | std::uint64_t{texture.faces} << 5 |
          std::uint64_t{texture.approximate} << 6 |
          static_cast<std::uint64_t>(texture.format) << 8 | std::uint64_t{texture.channels} << 16 |
          std::uint64_t{texture.sampler} << 32);
  }
  void operator()(const TableSpecs& table) const {
    for (const TableSpec& each : table)
      digest.add_number(std::uint64_t{each.texels} | std::uint64_t{each.mixed} << 3 |
                        std::uint64_t{each.divides} << 4 | std::uint64_t{each.biased} << 5 |
                        std::uint64_t{each.approximate} << 6 | std::uint64_t{each.bound} << 8);
  }
  template <typename Number>
  void operator()(const Number& number) const {
    digest.add_number(static_cast<std::uint64_t>(number));
  }
};

/// Everything that the module's words depend on.
std::string cache_key(const KernelState& kernel, const TranslateOptions& options) {
  Digest digest;
  digest.add(build_id());
  digest.add(kernel.module->digest);
  digest.add(options.entry);
  digest.add(option_text(Option::skip));
  const Profile& profile = options.profile;
  for (const Capability& each : capabilities()) digest.add_number(each.value(profile));
  const std::size_t inline_budget = kernel.module->options.inline_budget.value_or(kInlineBudget);
  for (std::uint64_t number :
       {std::uint64_t{profile.subgroup_size}, std::uint64_t{profile.max_workgroup_invocations},
        std::uint64_t{profile.max_shared_bytes}, std::uint64_t{profile.max_loop_iterations},
        std::uint64_t{profile.max_slots}, static_cast<std::uint64_t>(options.optimize),
        std::uint64_t{options.debug_info}, std::uint64_t{options.relax_versions},
        std::uint64_t{options.push_words}, std::uint64_t{options.wait_iterations},
        std::uint64_t{inline_budget},
        std::uint64_t{options.routine_budget.value_or(profile.routine_budget)}})
    digest.add_number(number);
  for_each_field(options, FieldDigest{digest});
  return "t-" + digest.text();
}

struct Words {
  std::vector<std::uint32_t> spirv;
  EntryInfo info;
};

/// The error of a translation that gave these messages.
Error refused(const KernelState& kernel, std::vector<Message> messages) {
  Error error =
      make_error(ErrorCode::translation, "kernel '{}' cannot be translated", kernel.info->name);
  for (const Message& each : messages)
    if (each.severity == Severity::error) {
      error.text = fmt::format("{}:{}:{}: error: {}", each.file, each.line, each.column, each.text);
      break;
    }
  error.messages = std::move(messages);
  return error;
}

void count_translation(DeviceState& device, double milliseconds) {
  std::lock_guard lock(device.statistics_mutex);
  ++device.statistics.translations;
  device.statistics.translation_ms += milliseconds;
}

/// From the cache on disk, else from the translator.
Result<Words> translate(const KernelState& kernel, const Specialization& key) {
  DeviceState& device = *kernel.module->device;
  TranslateOptions options = options_for(kernel, key);
  std::string cached = device.disk ? cache_key(kernel, options) : std::string();
  Words words;
  const auto found = [&] {
    if (!device.disk) return false;
    const auto bytes = device.disk->load(cached);
    if (!bytes || !deserialize(*bytes, words.spirv, words.info)) return false;
    std::lock_guard lock(device.statistics_mutex);
    ++device.statistics.translation_cache_hits;
    return true;
  };
  if (found()) return words;
  const auto turn = device.disk ? device.disk->turn(cached) : nullptr;
  if (turn && found()) return words;
  std::vector<Message> messages;
  auto start = Clock::now();
  auto translation = kernel.module->ptx.translate_kernel(options, messages);
  double took = milliseconds_since(start);
  if (!translation) return refused(kernel, std::move(messages));
  count_translation(device, took);
  words.spirv = std::move(translation->spirv);
  words.info = std::move(translation->entry);
  if (device.disk) device.disk->store(cached, serialize(words.spirv, words.info));
  return words;
}

void dump(const KernelState& kernel, const std::vector<std::uint32_t>& spirv) {
  std::string_view folder = option_text(Option::dump);
  if (folder.empty()) return;
  static std::atomic<int> number{0};
  // File systems take names of 255 bytes; those of C++ templates are longer.
  constexpr std::size_t kMostOfName = 200;
  const std::string name = kernel.info->name.substr(0, kMostOfName);
  const std::string path = fmt::format("{}/{}.{}.spv", folder, name, number++);
  std::FILE* file = std::fopen(path.c_str(), "wb");
  const bool written = file && std::fwrite(spirv.data(), 4, spirv.size(), file) == spirv.size();
  if ((file && std::fclose(file) != 0) || !written)
    fmt::print(stderr, "ptx2spv: PTX2SPV_DEBUG=dump: cannot write {}: {}\n", path,
               std::strerror(errno));
}

std::size_t most_kept() { return option_number(Option::pipelines, KernelState::kKept); }

/// What the module's pipelines bind.
LayoutContents layout_contents(const Variant& variant) {
  LayoutContents out;
  out.push_bytes = variant.info.push_words * 4;
  for (std::uint32_t i = 0; i < abi::kBindings; ++i)
    if (variant.info.bindings >> i & 1) out.sets[0].push_back({i, kBindingTypes[i]});
  for (std::uint32_t i = 0; i < variant.key.slots.size(); ++i) {
    const Backing backing = variant.key.slots[i].backing;
    if (backing != Backing::address)
      out.sets[1].push_back({i, backing == Backing::image ? VK_DESCRIPTOR_TYPE_STORAGE_IMAGE
                                                          : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER});
  }
  constexpr VkDescriptorType kSampled = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
  for (std::uint32_t i = 0; i < variant.key.textures.size(); ++i)
    if (variant.key.textures[i].unit == TextureUnit::sampler) out.sets[2].push_back({i, kSampled});
  const auto first = static_cast<std::uint32_t>(variant.info.textures.slots.size());
  for (std::uint32_t g = 0; g < variant.key.table.size(); ++g)
    for (std::uint32_t k = 0; k < kTexelKinds; ++k)
      if (variant.key.table[g].texels >> k & 1)
        out.sets[2].push_back({first + g * kTexelKinds + k, kSampled, variant.key.table_size});
  return out;
}

/// Whether one stage of the device takes the buffers that the module declares.
Status check_buffers(const DeviceState& device, const Variant& variant) {
  const auto slots = std::ranges::count(variant.key.slots, Backing::buffer, &SlotSpec::backing);
  const auto buffers = static_cast<std::uint32_t>(slots) +
                       static_cast<std::uint32_t>(std::popcount(variant.info.bindings));
  if (buffers <= device.traits.storage_buffers) return {};
  return make_error(ErrorCode::unsupported, "kernel '{}' needs {} storage buffers; {} has {}",
                    variant.info.name, buffers, device.info.name, device.traits.storage_buffers);
}

Status build(DeviceState& device, Variant& variant, const std::vector<std::uint32_t>& spirv) {
  if (Status status = check_buffers(device, variant); !status) return status;
  VkShaderModuleCreateInfo shader{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  shader.codeSize = variant.code_bytes = spirv.size() * 4;
  shader.pCode = spirv.data();
  const VkResult result =
      device.vk.CreateShaderModule(device.handle, &shader, nullptr, &variant.shader);
  if (result != VK_SUCCESS) return vulkan_error(result, "CreateShaderModule");
  auto layout = device.layouts.get(device, layout_contents(variant));
  if (!layout) return layout.error();
  variant.layout = std::move(*layout);
  if (compiler_may_give_up(device.traits, variant.code_bytes, variant.info.local_bytes))
    variant.tried = spirv;
  return {};
}

}  // namespace

Variant::~Variant() {
  if (shader) device.vk.DestroyShaderModule(device.handle, shader, nullptr);
}

Pipeline::~Pipeline() {
  if (handle) device.vk.DestroyPipeline(device.handle, handle, nullptr);
}

Result<std::shared_ptr<const Variant>> KernelState::variant(const Specialization& key,
                                                            double& prepare_ms) {
  std::lock_guard lock(mutex);
  if (auto known = variants.find(key)) return known;
  auto start = Clock::now();
  auto words = translate(*this, key);
  if (!words) return words.error();
  dump(*this, words->spirv);
  auto variant = std::make_shared<Variant>(*module->device);
  variant->key = key;
  variant->serial = module->device->next_serial.fetch_add(1);
  variant->info = std::move(words->info);
  if (Status status = build(*module->device, *variant, words->spirv); !status)
    return status.error();
  if (const auto gone = variants.add(variant, most_kept())) {
    pipelines.erase_if([&](const Pipeline& each) { return each.key.variant == gone->serial; });
    ready.clear();
  }
  prepare_ms += milliseconds_since(start);
  return std::shared_ptr<const Variant>(std::move(variant));
}

Result<std::shared_ptr<const Variant>> KernelState::interpretation(const Specialization& key,
                                                                   double& prepare_ms) {
  std::lock_guard lock(mutex);
  if (auto known = interpretations.find(key)) return known;
  const auto start = Clock::now();
  std::vector<Message> messages;
  auto made = InterpretedKernel::make(
      module->ptx, options_for(*this, key), messages,
      module->device->disk ? std::make_shared<CodeOnDisk>(module->device->disk) : nullptr);
  if (!made) return refused(*this, std::move(messages));
  auto variant = std::make_shared<Variant>(*module->device);
  variant->key = key;
  variant->serial = module->device->next_serial.fetch_add(1);
  variant->info = made->entry();
  variant->code_bytes = made->bytes();
  variant->interpreted = std::move(made);
  interpretations.add(variant, most_kept());
  const double took = milliseconds_since(start);
  prepare_ms += took;
  count_translation(*module->device, took);
  return std::shared_ptr<const Variant>(std::move(variant));
}

bool KernelState::has_pipeline(const PipelineKey& key) {
  std::lock_guard lock(mutex);
  return pipelines.find(key) != nullptr;
}

Result<std::shared_ptr<const Pipeline>> KernelState::pipeline(const Variant& variant,
                                                              const PipelineKey& key,
                                                              double& prepare_ms) {
  std::lock_guard lock(mutex);
  if (auto known = pipelines.find(key)) return known;
  auto start = Clock::now();
  DeviceState& device = *module->device;
  PipelineTrial made;
  made.spec.entry = info->name;
  // A Workgroup array has at least one word.
  const std::uint32_t values[] = {key.size[0], key.size[1], key.size[2],
                                  std::max(key.shared_words, 1u)};
  std::copy(std::begin(values), std::end(values), made.spec.constants);
  made.spec.warp_subgroups = variant.info.sync.warp_subgroups && device.traits.choose_subgroups;
  if (!variant.tried.empty()) {
    made.layout = layout_contents(variant);
    made.spirv = variant.tried;
    if (Status status = try_pipeline(device, made); !status) return status.error();
  }
  auto pipeline = std::make_shared<Pipeline>(device);
  pipeline->key = key;
  {
    const auto cache = device.pipeline_cache.current();
    const VkResult result =
        create_pipeline(device, made.spec, variant.shader, variant.layout->pipeline, cache->handle,
                        pipeline->handle);
    if (result != VK_SUCCESS) return vulkan_error(result, "CreateComputePipelines");
  }
  device.pipeline_cache.grown(device, variant.code_bytes);
  if (pipelines.add(pipeline, most_kept())) ready.clear();
  double took = milliseconds_since(start);
  prepare_ms += took;
  std::lock_guard count(device.statistics_mutex);
  ++device.statistics.pipelines;
  device.statistics.pipeline_ms += took;
  return std::shared_ptr<const Pipeline>(std::move(pipeline));
}

}  // namespace ptx2spv::runtime

namespace ptx2spv {

const EntryInfo& Kernel::info() const { return *state_->info; }
const std::string& Kernel::name() const { return state_->info->name; }

}  // namespace ptx2spv
