// Where a launch finds its surfaces and textures: in memory or in images.
#include "src/launch/backing.hpp"

#include <algorithm>
#include <map>
#include <shared_mutex>

#include "ptx2spv/image_slot.hpp"
#include "src/array/residency.hpp"
#include "src/options.hpp"

namespace ptx2spv::runtime {

namespace {

using ArrayPointer = std::shared_ptr<ArrayState>;

/// Where a kernel's accesses want an array: in memory where one of them can do no other, else in an
/// image where one of them does better.
struct Wish {
  bool memory = false, image = false;
};
using Wishes = std::map<ArrayPointer, Wish>;

/// Whether a row of so many bytes holds one access of each size that the kernel makes.
bool rows_hold(const SlotInfo& slot, std::uint64_t row_bytes) {
  for (const auto* sizes : {&slot.load_bytes, &slot.store_bytes, &slot.reduce_bytes})
    for (std::uint8_t bytes : *sizes)
      if (bytes > row_bytes) return false;
  return true;
}

/// Planes of 4-byte texels, and of pairs of words that are reduced, do better in images where those
/// are tiled (docs/performance.md); volumes and wide texels do not.
bool better_in_image(const DeviceState& device, const SlotInfo& slot, const ArrayDesc& desc) {
  if (!device.traits.tiled_planes || desc.geometry != Geometry::d2) return false;
  const bool reduced_pairs = desc.texel_bytes() == 8 && !slot.reduce_bytes.empty();
  return reduced_pairs || desc.texel_bytes() == 4;
}

class Backings {
 public:
  Backings(const KernelState& kernel, const LaunchConfig& config, LaunchPlan& plan, Slots& slots)
      : info_(*kernel.info),
        device_(*kernel.module->device),
        config_(config),
        plan_(plan),
        slots_(slots) {}

  Status choose() {
    find();
    for (bool alone = false;; alone = true) {
      if (alone) {
        std::unique_lock lock(device_.residency);
        if (Status status = move(wishes()); !status) return status;
      }
      std::shared_lock lock(device_.residency);
      const Wishes all = wishes();
      if (!alone && anything_moves(all)) continue;
      plan_.moves = device_.moves;
      return settle(all);
    }
  }

 private:
  /// The surfaces and textures that the parameters name.
  void find() {
    slots_.surfaces.resize(info_.slots.size());
    slots_.specs.resize(info_.slots.size());
    for (std::size_t i = 0; i < info_.slots.size(); ++i)
      slots_.surfaces[i] = std::static_pointer_cast<SurfaceState>(
          device_.surfaces.owner(word64(plan_.params, info_.slots[i].offset)));
    slots_.textures.resize(info_.texture_slots.size());
    const FilterPolicy filter = config_.filter.value_or(filter_option());
    const VkPhysicalDeviceLimits& limits = device_.traits.properties.limits;
    const std::size_t most =
        std::min(limits.maxPerStageDescriptorSamplers, limits.maxPerStageDescriptorSampledImages);
    for (std::size_t i = 0; i < info_.texture_slots.size(); ++i) {
      auto texture = std::static_pointer_cast<TextureState>(
          device_.textures.owner(word64(plan_.params, info_.texture_slots[i])));
      if (!texture || !texture->array) continue;
      slots_.textures[i].texture = texture;
      if (i < most && i < info_.texture_uses.size())
        slots_.textures[i].use = sampler_use(*texture, info_.texture_uses[i], filter);
    }
  }

  static FilterPolicy filter_option() {
    return option_text(Option::filter) == "device" ? FilterPolicy::device : FilterPolicy::exact;
  }

  /// Whether every access of the slot is one that an image takes.
  bool image_serves(std::size_t slot, const SurfaceState& surface) const {
    const ArrayState& array = *surface.array;
    const ImageService service =
        image_service(info_.slots[slot], array.desc.texel_bytes(), device_.profile);
    if (slot >= device_.profile.max_slots || service == ImageService::none) return false;
    if (!array.image_backed) return true;
    const Level& level = array.levels[surface.level];
    return service == ImageService::texels ? level.storage_view : level.storage_view64;
  }

  Wishes wishes() const {
    Wishes all;
    for (std::size_t i = 0; i < slots_.surfaces.size(); ++i) {
      const auto& surface = slots_.surfaces[i];
      if (!surface) continue;
      Wish& wish = all[surface->array];
      if (!image_serves(i, *surface)) wish.memory = true;
      wish.image = wish.image || better_in_image(device_, info_.slots[i], surface->array->desc);
    }
    for (const TextureSlot& slot : slots_.textures) {
      if (!slot.texture) continue;
      Wish& wish = all[slot.texture->array];
      (slot.use.possible ? wish.image : wish.memory) = true;
    }
    // A handle that is only known on the device may name any of them, which it reaches by address.
    if (info_.dynamic_handles || info_.dynamic_textures) {
      std::lock_guard lock(device_.arrays_mutex);
      for (ArrayState* each : device_.image_arrays)
        if (auto array = each->weak_from_this().lock()) all[array].memory = true;
    }
    return all;
  }

  bool anything_moves(const Wishes& all) const {
    return std::any_of(all.begin(), all.end(), [](const auto& each) {
      const auto& [array, wish] = each;
      if (!array->movable) return false;
      return wish.memory ? array->image_backed : wish.image && wants_to_move(*array);
    });
  }

  static Status move(const Wishes& all) {
    for (const auto& [array, wish] : all) {
      if (!array->movable) continue;
      Status status;
      if (wish.memory)
        status = move_to_memory(*array);
      else if (wish.image && (array->returns == 0 || array->wanted > 8u << array->returns))
        status = move_to_image(*array);
      if (!status) return status;
    }
    return {};
  }

  /// With all arrays where they are.
  Status settle(const Wishes& all) {
    for (const auto& [array, wish] : all) {
      if (!wish.memory || !array->image_backed) continue;
      plan_.mirrored.push_back(array);
      if (Status status = array->ensure_linear(); !status) return status;
    }
    for (TextureSlot& slot : slots_.textures)
      if (slot.texture && !slot.texture->array->image_backed) slot.use.possible = false;
    for (std::size_t i = 0; i < slots_.surfaces.size(); ++i) settle_surface(i);
    return {};
  }

  void settle_surface(std::size_t i) {
    SlotSpec& spec = slots_.specs[i];
    spec.backing = Backing::address;
    const auto& surface = slots_.surfaces[i];
    if (!surface) {
      slots_.checked = false;
      return;
    }
    const ArrayState& array = *surface->array;
    const Level& level = array.levels[surface->level];
    if (level.bytes >> 32) slots_.wide = true;
    if (!rows_hold(info_.slots[i], level.row_bytes)) slots_.checked = false;
    const bool as_image = array.image_backed &&
                          std::find(plan_.mirrored.begin(), plan_.mirrored.end(), surface->array) ==
                              plan_.mirrored.end();
    const VkPhysicalDeviceLimits& limits = device_.traits.properties.limits;
    if (as_image) {
      spec.backing = Backing::image;
      spec.format = array.desc.format;
      spec.channels = static_cast<std::uint8_t>(array.desc.channels);
      spec.geometry = slot_geometry(array.desc.geometry);
    } else if (i < device_.profile.max_slots && device_.profile.costs.bound_buffers &&
               config_.bind_slots && level.bytes <= limits.maxStorageBufferRange &&
               !(level.bytes >> 32)) {
      spec.backing = Backing::buffer;
    }
    if (!as_image && info_.slots[i].formatted_stores) {
      spec.format_known = true;
      spec.format = array.desc.format;
      spec.channels = static_cast<std::uint8_t>(array.desc.channels);
    }
  }

  const EntryInfo& info_;
  DeviceState& device_;
  const LaunchConfig& config_;
  LaunchPlan& plan_;
  Slots& slots_;
};

}  // namespace

Status choose_backings(const KernelState& kernel, const LaunchConfig& config, LaunchPlan& plan,
                       Slots& slots) {
  return Backings(kernel, config, plan, slots).choose();
}

}  // namespace ptx2spv::runtime
