// Where a launch finds its surfaces and textures: in memory or in images.
#include "src/launch/backing.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <shared_mutex>

#include "ptx2spv/image_slot.hpp"
#include "src/array/memory_image.hpp"
#include "src/array/residency.hpp"
#include "src/array/sampler_exactness.hpp"

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

/// Whether every access of the slot sees the array as it is.
bool geometries_fit(const SlotInfo& slot, Geometry array) {
  const std::uint32_t a2d = 1u << static_cast<unsigned>(Geometry::a2d);
  const std::uint32_t fit = found_by(array) & ~(array == Geometry::d3 ? a2d : 0);
  return (slot.geometries & ~fit) == 0;
}

/// Whether each access is of a whole texel.
bool takes_texels(const SlotInfo& slot, unsigned texel) {
  const auto whole = [&](const auto& sizes) {
    return std::ranges::all_of(sizes, [&](std::uint8_t bytes) { return bytes == texel; });
  };
  return whole(slot.load_bytes) && whole(slot.store_bytes);
}

/// Planes of texels up to 4 bytes, and of pairs of words that are reduced, do better in images
/// where those are tiled (docs/reference/performance.md), and layers or faces of words; volumes and
/// wide texels do not. An image takes one texel at a time. Reductions of up to 8,192
/// words take 0.4 to 1.1 of an image's time in an H200's memory, by their order, and those of more
/// words 0.7 to 1.3.
bool better_in_image(const DeviceState& device, const SlotInfo& slot, const ArrayDesc& desc) {
  constexpr std::uint64_t kFew = 1 << 14;
  const unsigned texel = desc.texel_bytes();
  const bool planes =
      desc.geometry == Geometry::d2 || (desc.geometry == Geometry::a2d && texel == 4);
  if (!device.profile.costs.tiled_planes || !planes) return false;
  if (!takes_texels(slot, texel)) return false;
  const bool reduces = !slot.reduce_bytes.empty();
  if (texel == 4) return !reduces || std::uint64_t{desc.width} * desc.height > kFew;
  return texel == 8 ? reduces : texel < 4;
}

class Backings {
 public:
  Backings(LaunchPlan& plan, bool reads_images)
      : info_(*plan.kernel().info),
        device_(plan.device()),
        config_(plan.facts->config),
        reads_images_(reads_images),
        plan_(plan),
        slots_(*plan.slots) {}

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
    slots_.textures.resize(info_.textures.slots.size());
    const FilterPolicy filter = filter_of(*plan_.facts);
    const VkPhysicalDeviceLimits& limits = device_.traits.properties.limits;
    const std::size_t most =
        std::min(limits.maxPerStageDescriptorSamplers, limits.maxPerStageDescriptorSampledImages);
    for (std::size_t i = 0; i < info_.textures.slots.size(); ++i) {
      auto texture = std::static_pointer_cast<TextureState>(
          device_.textures.owner(word64(plan_.params, info_.textures.slots[i])));
      if (!texture) continue;
      if (texture->buffer && samplers_may_read(filter)) make_memory_image(*texture);
      if (!texture->array && !texture->memory_image) continue;
      slots_.textures[i].texture = texture;
      if (reads_images_ && i < most && i < info_.textures.uses.size())
        slots_.textures[i].use = sampler_use(*texture, info_.textures.uses[i], filter);
    }
    find_table(filter);
  }

  bool samplers_may_read(FilterPolicy filter) const {
    return reads_images_ && (filter == FilterPolicy::device || samplers_are_exact(device_.profile));
  }

  /// What handles out of memory may name. Nothing where the device indexes no samplers, or where a
  /// geometry has none that a sampler reads: all are then found by address.
  void find_table(FilterPolicy filter) {
    slots_.table.clear();
    plan_.table_changes = device_.textures.changes();
    if (!reads_images_ || !info_.textures.dynamic || !device_.profile.features.indexed_samplers)
      return;
    std::array<std::vector<TextureUse>, std::tuple_size_v<TableSpecs>> uses;
    for (const TextureUse& use : info_.textures.table_uses) {
      if (static_cast<std::size_t>(use.geometry) >= uses.size()) return;
      uses[static_cast<std::size_t>(use.geometry)].push_back(use);
    }
    const auto geometries = static_cast<std::uint32_t>(
        std::ranges::count_if(uses, [](const auto& each) { return !each.empty(); }));
    const auto slots = static_cast<std::uint32_t>(slots_.textures.size());
    const std::uint32_t most = most_samplers(), count = device_.textures.count();
    const std::uint32_t room = most > slots ? (most - slots) / (geometries * kTexelKinds) : 0;
    if (room < count) return;
    slots_.table_size = std::min(std::bit_ceil(std::max(count, 256u)), room);
    const auto owners = device_.textures.owners();
    for (std::size_t g = 0; g < uses.size(); ++g) {
      if (uses[g].empty()) continue;
      TableSpec& spec = slots_.table_specs[g];
      spec.bound = table_bit(uses[g], filter);
      spec.approximate = filter == FilterPolicy::device;
      bool some = false;
      for (const auto& [index, owner] : owners) {
        auto texture = std::static_pointer_cast<TextureState>(owner);
        const auto geometry = static_cast<TextureGeometry>(g);
        if (!texture) {  // of a module's variable, which reads as zeros
          spec.mixed = true;
          continue;
        }
        const bool sampler_alone = !texture->array && !texture->buffer;
        if (sampler_alone || !reads(geometry, *texture)) continue;
        if (texture->buffer && samplers_may_read(filter)) make_memory_image(*texture);
        const SamplerUse use = table_use(*texture, uses[g], filter);
        some = some || use.possible;
        slots_.table.push_back({index, std::move(texture), geometry, use});
      }
      if (!some) return slots_.table.clear();
    }
  }

  std::uint32_t most_samplers() const {
    const VkPhysicalDeviceLimits& limits = device_.traits.properties.limits;
    return std::min({limits.maxPerStageDescriptorSamplers,
                     limits.maxPerStageDescriptorSampledImages, limits.maxDescriptorSetSamplers,
                     limits.maxDescriptorSetSampledImages, limits.maxPerStageResources / 2});
  }

  /// Whether every access of the slot is one that an image takes.
  bool image_serves(std::size_t slot, const SurfaceState& surface) const {
    const ArrayState& array = *surface.array;
    const ImageService service =
        image_service(info_.slots[slot], array.desc.texel_bytes(), device_.profile);
    if (!reads_images_ || slot >= device_.profile.max_slots || service == ImageService::none)
      return false;
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
      if (!slot.texture || !slot.texture->array) continue;
      Wish& wish = all[slot.texture->array];
      (slot.use.possible ? wish.image : wish.memory) = true;
    }
    for (const TableTexture& each : slots_.table) {
      if (!each.texture->array) continue;
      Wish& wish = all[each.texture->array];
      (each.use.possible ? wish.image : wish.memory) = true;
    }
    // A handle that is only known on the device may name any of them, which it reaches by address.
    if (info_.dynamic_handles || (info_.textures.dynamic && slots_.table.empty())) {
      std::lock_guard lock(device_.arrays_mutex);
      for (ArrayState* each : device_.image_arrays)
        if (auto array = each->weak_from_this().lock()) all[array].memory = true;
    }
    return all;
  }

  bool anything_moves(const Wishes& all) const {
    return std::any_of(all.begin(), all.end(), [](const auto& each) {
      const auto& [array, wish] = each;
      if (!may_move(*array)) return false;
      return wish.memory ? array->image_backed : wish.image && wants_to_move(*array);
    });
  }

  static Status move(const Wishes& all) {
    for (const auto& [array, wish] : all) {
      if (!may_move(*array)) continue;
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
      if (!wish.memory && wish.image && !array->image_backed && array->movable)
        slots_.settled = false;
      if (!wish.memory || !array->image_backed) continue;
      slots_.settled = false;
      plan_.mirrored.push_back(array);
      if (Status status = array->ensure_linear(); !status) return status;
    }
    for (TextureSlot& slot : slots_.textures)
      if (slot.texture && slot.texture->array && !slot.texture->array->image_backed)
        slot.use.possible = false;
    settle_table();
    for (std::size_t i = 0; i < slots_.surfaces.size(); ++i) settle_surface(i);
    return {};
  }

  void settle_table() {
    for (TableTexture& each : slots_.table) {
      TableSpec& spec = slots_.table_specs[static_cast<std::size_t>(each.geometry)];
      const auto& array = each.texture->array;
      // Of a mirrored array too, which holds what was there before the launch.
      each.use.possible = each.use.possible && (!array || array->image_backed);
      if (!each.use.possible) {
        spec.mixed = true;
        continue;
      }
      spec.texels |=
          static_cast<std::uint8_t>(1u << static_cast<unsigned>(texel_of(*each.texture)));
      spec.divides = spec.divides || each.use.divides;
      spec.biased = spec.biased || each.use.biased;
    }
    for (TableSpec& spec : slots_.table_specs)
      if (spec.texels == 0) spec = {};
    std::erase_if(slots_.table, [](const TableTexture& each) { return !each.use.possible; });
    if (slots_.table.empty()) slots_.table_size = 0;
  }

  void settle_surface(std::size_t i) {
    SlotSpec& spec = slots_.specs[i];
    spec.backing = Backing::address;
    const auto& surface = slots_.surfaces[i];
    if (!surface) {
      slots_.checked = slots_.settled = false;
      return;
    }
    const ArrayState& array = *surface->array;
    const Level& level = array.levels[surface->level];
    if (level.bytes >> 32) slots_.wide = true;
    if (!rows_hold(info_.slots[i], level.row_bytes) ||
        !geometries_fit(info_.slots[i], array.desc.geometry))
      slots_.checked = false;
    const bool as_image = array.image_backed &&
                          std::ranges::find(plan_.mirrored, surface->array) == plan_.mirrored.end();
    const VkPhysicalDeviceLimits& limits = device_.traits.properties.limits;
    if (as_image) {
      spec.backing = Backing::image;
      spec.format = array.desc.format;
      spec.channels = static_cast<std::uint8_t>(array.desc.channels);
      spec.geometry = slot_geometry(array.desc.geometry);
    } else if (i < device_.profile.max_slots && reads_images_ && config_.bind_slots &&
               level.bytes <= limits.maxStorageBufferRange && !(level.bytes >> 32) &&
               array.linear.buffer()) {
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
  const bool reads_images_;  ///< false: everything is in memory
  LaunchPlan& plan_;
  Slots& slots_;
};

}  // namespace

FilterPolicy filter_of(const LaunchFacts& facts) {
  return facts.config.filter.value_or(facts.device().filter);
}

Status choose_backings(LaunchPlan& plan, bool reads_images) {
  return Backings(plan, reads_images).choose();
}

}  // namespace ptx2spv::runtime
