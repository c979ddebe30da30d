#include "src/launch/sanitized.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <tuple>

#include "ptx2spv/abi_sanitizer.hpp"
#include "ptx2spv/formats.hpp"
#include "src/array/texel_shadow.hpp"
#include "src/array/texture.hpp"
#include "src/launch/backing.hpp"
#include "src/launch/report.hpp"
#include "src/launch/shape.hpp"

namespace ptx2spv::runtime {

namespace {

constexpr std::uint64_t kNullPage = 4096;
constexpr std::uint64_t kMostShadow = 128ull << 20;

/// Whether the launch gives the bounds of what a pointer points into. One past the end of another
/// allocation it could belong to either.
const AllocationInfo* bounds_of(const AllocationList& list, std::uint64_t pointer) {
  const AllocationInfo* found = list.find(pointer);
  if (!found || !found->writable) return nullptr;
  const bool first = pointer == found->address;
  const AllocationInfo* before = first && pointer ? list.find(pointer - 1) : nullptr;
  return before && before != found ? nullptr : found;
}

/// The object of an offset in shared, local, parameter or constant memory.
void describe_own(const AccessSite& site, const EntryInfo& info, const SanitizedLaunch& launch,
                  Finding& finding) {
  const MemoryObject* nearest = nullptr;
  const auto size = [&](const MemoryObject& each) {
    return each.bytes ? each.bytes : launch.dynamic_shared;
  };
  const auto distance = [&](const MemoryObject& each) -> std::uint64_t {
    if (finding.address < each.offset) return each.offset - finding.address;
    const std::uint64_t offset = finding.address - each.offset;
    return offset < size(each) ? 0 : offset - size(each);
  };
  if (site.object && site.object <= info.sanitizer.objects.size()) {
    nearest = &info.sanitizer.objects[site.object - 1];
  } else {
    for (const MemoryObject& each : info.sanitizer.objects)
      if (each.space == site.memory && (!nearest || distance(each) < distance(*nearest)))
        nearest = &each;
  }
  if (!nearest) return;
  finding.object = fmt::format("{} variable '{}'", to_string(nearest->space), nearest->name);
  if (nearest->space == MemorySpace::param) finding.object = "parameter '" + nearest->name + "'";
  finding.object_bytes = size(*nearest);
  // Offsets of 32 bits below the start of memory are large numbers.
  const auto offset =
      static_cast<std::int64_t>(static_cast<std::int32_t>(finding.address - nearest->offset));
  finding.inside = offset >= 0 && static_cast<std::uint64_t>(offset) < finding.object_bytes;
  finding.distance = offset < 0 || finding.inside
                         ? offset
                         : offset - static_cast<std::int64_t>(finding.object_bytes);
}

void describe_allocation(const AllocationInfo& each, Finding& finding) {
  finding.object = each.name.empty() ? fmt::format("allocation {}", each.number) : each.name;
  finding.object_bytes = each.bytes;
  finding.made = each.made;
  finding.freed = each.freed;
  const auto offset = static_cast<std::int64_t>(finding.address - each.address);
  finding.inside = offset >= 0 && static_cast<std::uint64_t>(offset) < each.bytes;
  finding.distance =
      offset < 0 || finding.inside ? offset : offset - static_cast<std::int64_t>(each.bytes);
}

void describe_global(const AccessSite& site, const KernelState& kernel,
                     const SanitizedLaunch& launch, Finding& finding) {
  const AllocationList& list = *launch.table->list;
  const AllocationInfo* found = list.find(finding.address);
  const AllocationInfo* freed = found ? nullptr : list.find_freed(finding.address);
  const bool writes = site.kind != AccessKind::load;
  if (finding.kind == FindingKind::misaligned && found &&
      finding.bytes <= found->bytes - (finding.address - found->address)) {
    if (writes && !found->writable) finding.kind = FindingKind::constant_store;
    return describe_allocation(*found, finding);
  }
  finding.kind = FindingKind::out_of_bounds;
  if (found && writes && !found->writable) finding.kind = FindingKind::constant_store;
  if (finding.address < kNullPage) {
    finding.kind = FindingKind::null_pointer;
    return;
  }
  if (freed) {
    finding.kind = FindingKind::freed_memory;
    return describe_allocation(*freed, finding);
  }
  // The address is past the end of a variable, or is a parameter's generic address.
  const auto& objects = kernel.info->sanitizer.objects;
  if (site.object && site.object <= objects.size()) {
    const MemoryObject& object = objects[site.object - 1];
    for (const AllocationInfo& each : list.live)
      if (each.bytes == object.bytes && each.name.ends_with("'" + object.name + "'"))
        return describe_allocation(each, finding);
  }
  // Of a parameter's address, what the parameter points into is meant, however near others are.
  const EntryInfo& info = *kernel.info;
  for (std::size_t i = 0; i < info.sanitizer.pointer_params.size() && i < launch.pointers.size();
       ++i)
    for (const ParamInfo& each : info.params)
      if (each.offset == info.sanitizer.pointer_params[i] && each.name == site.pointer)
        if (const AllocationInfo* own = list.find(launch.pointers[i]))
          return describe_allocation(*own, finding);
  if (const AllocationInfo* nearest = list.nearest(finding.address))
    describe_allocation(*nearest, finding);
}

/// What another thread did, and where.
void describe_other(const Variant& variant, std::uint64_t site, std::uint32_t thread,
                    Finding& finding) {
  if (site >= variant.info.sanitizer.sites.size()) return;
  const AccessSite& where = variant.info.sanitizer.sites[site];
  finding.other.known = true;
  finding.other.line = where.place.line;
  finding.other.column = where.place.column;
  finding.other.instruction = one_line(where.place.text);
  finding.other.source_file = where.place.source_file;
  finding.other.source_line = where.place.source_line;
  finding.other.access = where.kind;
  finding.other.thread = thread;
}

/// A record keeps one reader, and that there are others. Where it is the writer itself, another one
/// is meant.
void doubt_own_thread(const SanitizedLaunch& launch, Finding& finding) {
  const std::uint32_t own =
      finding.thread[0] + launch.block.x * (finding.thread[1] + launch.block.y * finding.thread[2]);
  const bool same_block = !finding.other.block_known || finding.other.block == finding.cta;
  finding.other.thread_known = own != finding.other.thread || !same_block;
}

/// The other side of a race: abi::f_address.
void describe_race(const Variant& variant, const SanitizedLaunch& launch, Finding& finding) {
  finding.kind = FindingKind::race;
  const auto other = static_cast<std::uint32_t>(finding.address >> 32);
  finding.address &= 0xffffffffu;
  const std::uint32_t thread = other >> 16 & 0x7ff;
  if (!thread) return;
  describe_other(variant, other & 0xffff, thread - 1, finding);
  doubt_own_thread(launch, finding);
}

/// The other side of a race in global memory: abi::f_other.
void describe_global_race(const Variant& variant, const SanitizedLaunch& launch,
                          const AccessSite& site, const std::uint32_t (&record)[abi::kFaultWords],
                          Finding& finding) {
  finding.kind = FindingKind::race;
  const std::uint32_t who = record[abi::f_other], mark = record[abi::f_other_mark];
  const auto number = static_cast<std::size_t>(&site - variant.info.sanitizer.sites.data());
  if (!(who & abi::kGlobalThreads) || mark >> 16 != number) return;
  describe_other(variant, mark & abi::g_site, (who & abi::kGlobalThreads) - 1, finding);
  const Dim3 grid = launch.grid;
  if (std::uint64_t{grid.x} * grid.y * grid.z >> (32 - abi::kGlobalBlockShift)) return;
  const std::uint32_t block = who >> abi::kGlobalBlockShift;
  finding.other.block = {block % grid.x, block / grid.x % grid.y, block / grid.x / grid.y};
  finding.other.block_known = true;
  doubt_own_thread(launch, finding);
}

/// The surface that an instruction of another geometry or width was used on; the log has its
/// handle.
void describe_surface(const ModuleState& module, const AccessSite& site, Finding& finding) {
  finding.object = site.place.surface.empty() ? "a surface by a handle from memory"
                                              : "surface '" + site.place.surface + "'";
  const auto surface =
      std::static_pointer_cast<SurfaceState>(module.device->surfaces.owner(finding.address));
  const char* array = surface ? to_string(surface->array->desc.geometry) : "another";
  if (site.check == check_width) {
    finding.kind = FindingKind::other_width;
    finding.detail = fmt::format("bytes of the access: {}, ", site.bytes);
    finding.detail += surface ? fmt::format("of a texel of the {} array: {}", array,
                                            surface->array->desc.texel_bytes())
                              : "not those of a texel";
    return;
  }
  finding.kind = FindingKind::other_geometry;
  finding.detail = fmt::format("the instruction is of {}, the array of {}",
                               to_string(static_cast<Geometry>(site.geometry)), array);
}

/// The same of a texture.
void describe_texture_kind(const ModuleState& module, const AccessSite& site, Finding& finding) {
  finding.kind = FindingKind::other_geometry;
  const auto texture =
      std::static_pointer_cast<TextureState>(module.device->textures.owner(finding.address));
  std::vector<std::uint32_t> record;
  std::string name;
  module.device->textures.describe(finding.address, record, name);
  finding.object = name.empty() ? "a texture" : "texture '" + name + "'";
  std::string kind = finding.address_known ? "nothing" : "another";
  if (texture && texture->array)
    kind = texture->desc.cube ? "cube" : to_string(texture->array->desc.geometry);
  else if (texture)
    kind =
        texture->record[abi::x_sampler] & abi::sample_memory ? "linear memory" : "pitched memory";
  const std::uint32_t use = site.geometry - 2u;
  const bool integer = use % 2 != 0 && use / 2 < static_cast<std::uint32_t>(TextureGeometry::d2ms);
  finding.detail =
      fmt::format("the instruction is of {}{}, the texture of {}", kGeometryNames[use / 2],
                  integer ? " at integer coordinates" : "", kind);
}

std::string count_text(CountFault fault, std::uint32_t what) {
  switch (fault) {
    case CountFault::number: return fmt::format("there is no barrier {}, the last one is 15", what);
    case CountFault::no_multiple: return fmt::format("its count {} is no multiple of 32", what);
    case CountFault::above_block:
      return fmt::format("its count {} is above the number of threads of the block", what);
    case CountFault::arrive_zero: return "a thread arrives for no threads";
    case CountFault::other_threads:
      return fmt::format("its count is {}, and other threads at it named another one", what);
  }
  return {};
}

/// What SyncFault says of its two words.
void describe_sync(const AccessSite& site, const Variant& variant, std::uint32_t low,
                   std::uint32_t high, Finding& finding) {
  const auto threads = [](std::uint32_t count) {
    return fmt::format("{} thread{}", count, count == 1 ? "" : "s");
  };
  switch (site.sync) {
    case SyncFault::endless_wait:
      finding.kind = FindingKind::endless_wait;
      finding.detail = high ? fmt::format("{} of {} arrived, and nothing can bring the others", low,
                                          threads(high))
                            : "nothing can end it";
      break;
    case SyncFault::missed_barrier:
      finding.kind = FindingKind::missed_barrier;
      finding.detail = fmt::format("{} reached it, and {} of the block ended without it",
                                   threads(low), threads(high));
      break;
    case SyncFault::divergent_barrier:
      finding.kind = FindingKind::divergent_barrier;
      finding.detail = "other threads of the warp were not at this one";
      describe_other(variant, site.first_point + std::uint64_t{low} * kSyncFaults, high, finding);
      break;
    case SyncFault::barrier_count:
      finding.kind = FindingKind::barrier_count;
      finding.detail = count_text(static_cast<CountFault>(low), high);
      break;
    case SyncFault::missing_lanes:
      finding.kind = FindingKind::missing_lanes;
      finding.detail =
          high ? fmt::format("lanes {:#010x} of its members {:#010x} were elsewhere", high, low)
               : fmt::format("its members {:#010x} lack the thread's own lane", low);
      break;
    case SyncFault::undefined_lane:
      finding.kind = FindingKind::undefined_lane;
      finding.detail =
          fmt::format("it reads lane {}, and the members that are there are {:#010x}", high, low);
      break;
    case SyncFault::other_members:
      finding.kind = FindingKind::differing_members;
      finding.detail = fmt::format(
          "its members are {:#010x}, and another lane among them named {:#010x}", low, high);
      break;
  }
}

Finding make_finding(const ModuleState& module, const KernelState& kernel, const Variant& variant,
                     const SanitizedLaunch& launch, const AccessSite& site,
                     const std::uint32_t (&record)[abi::kFaultWords]) {
  Finding finding;
  finding.kernel = kernel.info->name;
  finding.file = module.file;
  finding.line = site.place.line;
  finding.column = site.place.column;
  finding.instruction = one_line(site.place.text);
  finding.source_file = site.place.source_file;
  finding.source_line = site.place.source_line;
  finding.inlined_at = site.place.inlined_at;
  finding.access = site.kind;
  finding.space = site.space;
  finding.memory = site.memory;
  finding.bytes = site.bytes;
  finding.pointer = site.pointer;
  finding.threads = record[abi::f_threads];
  finding.address_known = record[abi::f_known] != 0;
  for (std::uint32_t i = 0; i < 3; ++i) {
    finding.cta[i] = record[abi::f_ctaid + i];
    finding.thread[i] = record[abi::f_tid + i];
  }
  if (site.check == check_sync) {
    describe_sync(site, variant, record[abi::f_address], record[abi::f_address + 1], finding);
    return finding;
  }
  if (site.check == check_init) finding.kind = FindingKind::uninitialised;
  if (site.check == check_race) finding.kind = FindingKind::race;
  const bool texture = site.memory == MemorySpace::texture && site.geometry;
  const bool surface = site.memory == MemorySpace::surface &&
                       (site.check == check_memory || site.check == check_width);
  if (!finding.address_known && !texture && !surface) return finding;
  if (finding.address_known)
    finding.address = std::uint64_t{record[abi::f_address + 1]} << 32 | record[abi::f_address];
  if (texture) {
    describe_texture_kind(module, site, finding);
    return finding;
  }
  if (site.memory == MemorySpace::texture) {
    finding.object = "a texture of linear memory";
    finding.coordinates.emplace_back("x", static_cast<std::int32_t>(finding.address));
    return finding;
  }
  if (surface) {
    describe_surface(module, site, finding);
    return finding;
  }
  if (site.memory == MemorySpace::surface) {
    finding.object = site.place.surface.empty() ? "a surface by a handle from memory"
                                                : "surface '" + site.place.surface + "'";
    finding.coordinates.emplace_back("x", static_cast<std::int32_t>(finding.address));
    const std::vector<std::string>& names = site.place.coordinates;
    if (std::find(names.begin(), names.end(), "y") != names.end())
      finding.coordinates.emplace_back("y", static_cast<std::int32_t>(finding.address >> 32));
    if (site.check == check_race) describe_global_race(variant, launch, site, record, finding);
    return finding;
  }
  if (site.check == check_race && site.memory == MemorySpace::global)
    describe_global_race(variant, launch, site, record, finding);
  else if (site.check == check_race)
    describe_race(variant, launch, finding);
  if (site.check != check_memory) {
    if (site.memory == MemorySpace::global) {
      const AllocationInfo* found = launch.table->list->find(finding.address);
      if (found) describe_allocation(*found, finding);
      if (!found || finding.kind != FindingKind::uninitialised) return finding;
      if (const auto written = module.device->allocations.written_bytes(found->address))
        finding.detail = fmt::format("the host has written {} of its bytes, and kernels {} more",
                                     written->host, written->kernels);
    } else {
      describe_own(site, variant.info, launch, finding);
    }
    return finding;
  }
  if (finding.address % site.bytes) finding.kind = FindingKind::misaligned;
  // An address before the start of shared or local memory has left its window.
  const MemoryObject* object = site.object && site.object <= variant.info.sanitizer.objects.size()
                                   ? &variant.info.sanitizer.objects[site.object - 1]
                                   : nullptr;
  const bool window =
      object && (object->space == MemorySpace::shared || object->space == MemorySpace::local);
  if (window && site.memory == MemorySpace::global) {
    finding.memory = object->space;
    finding.address &= 0xffffffffu;
  } else if (site.memory == MemorySpace::global) {
    describe_global(site, kernel, launch, finding);
    return finding;
  }
  describe_own(site, variant.info, launch, finding);
  const bool whole = finding.inside && finding.distance + std::int64_t{site.bytes} <=
                                           static_cast<std::int64_t>(finding.object_bytes);
  if (!whole) finding.kind = FindingKind::out_of_bounds;
  return finding;
}

/// Once for a kernel, however often it is launched. `text` has its name in the place of {}.
void say_unchecked(const KernelState& kernel, fmt::format_string<const std::string&> text) {
  static std::mutex mutex;
  static auto& said = *new std::set<std::pair<std::string, std::string>>;
  {
    std::lock_guard lock(mutex);
    if (!said.emplace(kernel.module->file, kernel.info->name).second) return;
  }
  kernel.module->device->print_finding(
      fmt::format("ptx2spv: {}\n", fmt::format(text, kernel.info->name)));
}

/// What the launch knows of each pointer: its bounds, and whether there is anything to look for.
void settle_pointers(const KernelState& kernel, const AllocationList& list,
                     const std::vector<std::byte>& params, Specialization& key) {
  const EntryInfo& info = *kernel.info;
  std::vector<const AllocationInfo*> found;
  for (const std::uint32_t pointer : info.sanitizer.pointer_params)
    found.push_back(bounds_of(list, word64(params, pointer)));
  bool anywhere = info.sanitizer.writes_anywhere;
  for (std::size_t i = 0; i < found.size(); ++i)
    anywhere = anywhere || (!found[i] && (info.sanitizer.written_pointers >> i & 1) != 0);
  const auto written = [&](const AllocationInfo* allocation) {
    for (std::size_t i = 0; i < found.size(); ++i)
      if ((info.sanitizer.written_pointers >> i & 1) != 0 && found[i] == allocation) return true;
    return anywhere;
  };
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!found[i]) continue;
    const std::uint64_t bit = std::uint64_t{1} << i;
    key.known_pointers |= bit;
    if ((key.checks & check_init) != 0 &&
        kernel.module->device->allocations.whole(found[i]->address))
      key.whole_pointers |= bit;
    if ((key.checks & check_race) != 0 && !written(found[i])) key.unraced_pointers |= bit;
  }
}

/// The same of surfaces.
void settle_slots(const KernelState& kernel, const Slots& slots, Specialization& key) {
  const EntryInfo& info = *kernel.info;
  const std::size_t count = std::min<std::size_t>(slots.surfaces.size(), 64);
  const auto written = [&](const ArrayState* array) {
    for (std::size_t i = 0; i < slots.surfaces.size(); ++i)
      if (slots.surfaces[i] && (info.slots[i].stores || info.slots[i].reduces) &&
          slots.surfaces[i]->array.get() == array)
        return true;
    return info.dynamic_handles;
  };
  for (std::size_t i = 0; i < count; ++i) {
    if (!slots.surfaces[i]) continue;
    const ArrayState& array = *slots.surfaces[i]->array;
    const std::uint64_t bit = std::uint64_t{1} << i;
    if ((key.checks & check_init) != 0 && whole(array, slots.surfaces[i]->level))
      key.whole_slots |= bit;
    if ((key.checks & check_race) != 0 && !written(&array)) key.unraced_slots |= bit;
  }
}

}  // namespace

bool has_sync_to_check(const LaunchFacts& facts) {
  const EntryInfo& info = *facts.kernel->info;
  const Dim3& block = facts.config.block;
  // Divergence is known for rows of whole warps.
  const bool rows = block.x % 32 == 0 || std::uint64_t{block.y} * block.z == 1;
  // All 32 lanes reach each operation together, and are its members.
  const bool whole_warps = !info.sync.divergent_warp_operations &&
                           !info.sync.partial_warp_operations && rows && volume(block) % 32 == 0;
  return info.sync.divergent_barriers || (info.sync.warp_operations && !whole_warps) ||
         info.waits.spins;
}

Result<std::shared_ptr<SanitizedLaunch>> prepare_checks(const LaunchFacts& facts,
                                                        const Slots& slots,
                                                        const std::vector<std::byte>& params,
                                                        bool looks_at_sync, Specialization& key) {
  const KernelState& kernel = *facts.kernel;
  const LaunchConfig& config = facts.config;
  key.checks = facts.checks;
  constexpr std::uint32_t kOfBlocks = check_race | check_sync;
  if (key.together[0] && (key.checks & kOfBlocks)) {
    key.checks = (key.checks & ~kOfBlocks) | check_memory;
    say_unchecked(kernel,
                  "a workgroup runs all blocks of '{}', which is launched cooperatively: neither "
                  "races nor synchronisation are looked for");
  }
  if (!looks_at_sync && (key.checks & check_sync)) {
    key.checks = (key.checks & ~std::uint32_t{check_sync}) | check_memory;
    if (has_sync_to_check(facts))
      say_unchecked(kernel,
                    "the driver does not take kernel '{}' with checks of synchronisation, or not "
                    "soon: the interpreter runs it, and synchronisation is not looked at");
  }
  if (key.checks == no_checks) return std::shared_ptr<SanitizedLaunch>();
  DeviceState& device = *kernel.module->device;
  // The first launch with malloc makes the heap, which then has to be among the allocations.
  if (kernel.info->uses_heap)
    if (auto heap = device.kernel_heap.address(device); !heap) return heap.error();
  const bool races_asked = (key.checks & check_race) != 0;
  const bool texels = (key.checks & (check_init | check_race)) != 0 &&
                      (!kernel.info->slots.empty() || kernel.info->dynamic_handles);
  auto table = table_of(device, races_asked, texels);
  if (!table) return table.error();
  settle_pointers(kernel, *(*table)->list, params, key);
  settle_slots(kernel, slots, key);
  key.table_steps = (*table)->steps;
  auto launch = std::make_shared<SanitizedLaunch>();
  launch->table = std::move(*table);
  launch->dynamic_shared = config.dynamic_shared;
  launch->checks = key.checks;
  launch->grid = config.grid;
  launch->block = config.block;
  if (!config.suppressions.empty()) {
    auto list = Suppressions::parse(config.suppressions, "suppressions");
    if (!list) return list.error();
    launch->suppressions = std::move(*list);
  }
  // Another launch may have taken the last number meanwhile. Repetitions would have the same one.
  if (races_asked && config.repeat == 1)
    if (const std::uint32_t number = ++launch->table->launches; number <= abi::kGlobalLaunches)
      launch->number = number;
  const EntryInfo& info = *kernel.info;
  const bool races = (key.checks & check_race) != 0 && info.sanitizer.may_race;
  if (info.sanitizer.shadow_granule && (key.checks & (check_init | check_race)) != 0)
    launch->shadow_bytes = abi::shadow_bytes(std::uint64_t{info.sanitizer.shadow_shared} +
                                                 (info.dynamic_shared ? config.dynamic_shared : 0),
                                             races ? info.sanitizer.shadow_granule : 0);
  const std::uint64_t most = most_groups(launch.get());
  if (most && std::uint64_t{config.grid.x} * config.grid.y * config.grid.z > most)
    key.assume_small_grid = false;
  return launch;
}

std::uint64_t most_groups(const SanitizedLaunch* launch) {
  if (!launch || !launch->shadow_bytes) return 0;
  return std::max<std::uint64_t>(kMostShadow / launch->shadow_bytes, 1);
}

Status allocate_checks(const KernelState& kernel, const Variant& variant, std::uint64_t groups,
                       SanitizedLaunch& launch, std::vector<std::byte>& params) {
  DeviceState& device = *kernel.module->device;
  const std::size_t bytes =
      std::max<std::size_t>(variant.info.sanitizer.sites.size(), 1) * abi::kFaultWords * 4;
  auto log = device.heap.allocate(MemoryKind::visible, bytes);
  if (!log) return log.error();
  std::memset(log->mapped(), 0, bytes);
  launch.log = std::move(*log);
  if (launch.shadow_bytes) {
    auto shadow = device.heap.allocate(MemoryKind::device, launch.shadow_bytes * groups);
    if (!shadow) return shadow.error();
    launch.shadow = std::move(*shadow);
  }
  const std::vector<std::uint32_t>& pointers = kernel.info->sanitizer.pointer_params;
  const std::size_t words = abi::z_pointers + pointers.size() * abi::kPointerWords;
  const std::size_t end = variant.info.sanitizer.words + words * 4;
  if (params.size() < end) params.resize(end);
  std::byte* at = params.data() + variant.info.sanitizer.words;
  put_words(at, abi::z_log, launch.log.address());
  put_words(at, abi::z_table, launch.table->memory.address());
  put_words(at, abi::z_shadow, launch.shadow ? launch.shadow.address() : 0);
  put_words(at, abi::z_surfaces, launch.table->texels ? launch.table->texels.address() : 0);
  put_words(at, abi::z_surface_count, launch.table->texel_count);
  put_words(at, abi::z_launch, std::uint64_t{launch.number} << abi::kGlobalLaunchShift);
  launch.pointers.clear();
  for (std::uint32_t i = 0; i < pointers.size(); ++i) {
    launch.pointers.push_back(word64(params, pointers[i]));
    const AllocationInfo* found = bounds_of(*launch.table->list, word64(params, pointers[i]));
    put_words(at, abi::z_pointers + i * abi::kPointerWords, found ? found->address : 0);
    put_words(at, abi::z_pointers + i * abi::kPointerWords + 2, found ? found->bytes : 0);
    put_words(at, abi::z_pointers + i * abi::kPointerWords + 4, found ? found->shadow : 0);
    const std::vector<std::uint64_t>& records = launch.table->race_records;
    const std::ptrdiff_t index = found ? found - launch.table->list->live.data() : 0;
    put_words(at, abi::z_pointers + i * abi::kPointerWords + 6,
              found && !records.empty() ? records[static_cast<std::size_t>(index)] : 0);
  }
  return {};
}

void ignore_global_races(const Variant& variant, SanitizedLaunch& launch,
                         std::vector<std::byte>& params) {
  launch.number = 0;
  put_words(params.data() + variant.info.sanitizer.words, abi::z_launch, 0);
}

void read_fault_log(const ModuleState& module, const KernelState& kernel, const Variant& variant,
                    SanitizedLaunch& launch) {
  DeviceState& device = *module.device;
  const std::vector<AccessSite>& sites = variant.info.sanitizer.sites;
  std::vector<Finding> found;
  // An instruction may be several accesses, of which a thread then has a fault at each: it counts
  // once. Copies of an instruction have locations of their own.
  std::map<std::tuple<std::uint32_t, std::uint32_t, AccessKind, MemorySpace, std::uint32_t>,
           std::size_t>
      parts;
  for (std::size_t i = 0; i < sites.size(); ++i) {
    std::byte* at = launch.log.mapped() + i * abi::kFaultWords * 4;
    std::uint32_t record[abi::kFaultWords];
    std::memcpy(record, at, sizeof record);
    if (!record[abi::f_threads]) continue;
    std::memset(at, 0, sizeof record);
    const AccessSite& site = sites[i];
    Finding finding = make_finding(module, kernel, variant, launch, site, record);
    const auto [it, is_new] =
        parts.try_emplace({site.loc, site.check, site.kind, site.memory, site.bytes}, found.size());
    const bool part = site.check == check_memory || site.check == check_init;
    if (is_new || !part || found[it->second].kind != finding.kind)
      found.push_back(std::move(finding));
    else
      found[it->second].threads = std::max(found[it->second].threads, finding.threads);
  }
  for (const Finding& finding : found)
    if (device.findings.add(finding, launch.suppressions))
      device.print_finding(finding.to_string());
}

namespace {

/// A surface or texture that was destroyed, or whose memory was freed.
bool describe_dead_handle(const DeviceState& device, const TrapReport& trap, Finding& finding) {
  const bool texture = trap.instruction.starts_with("tex") ||
                       trap.instruction.starts_with("tld4") || trap.instruction.starts_with("txq");
  const Table& table = texture ? device.textures : device.surfaces;
  if (!table.was_alive(trap.handle, finding.freed)) return false;
  finding.kind = FindingKind::freed_memory;
  finding.access = trap.instruction.starts_with("sust")    ? AccessKind::store
                   : trap.instruction.starts_with("sured") ? AccessKind::atomic
                                                           : AccessKind::load;
  finding.memory = texture ? MemorySpace::texture : MemorySpace::surface;
  finding.object = texture                ? "a texture"
                   : trap.surface.empty() ? "a surface by a handle from memory"
                                          : "surface '" + trap.surface + "'";
  finding.coordinates = trap.coordinates;
  finding.address_known = false;
  finding.detail = fmt::format("{:#018x}, {}", trap.handle, trap.message);
  return true;
}

bool describe_endless_wait(const TrapReport& trap, Finding& finding) {
  // One without a place is of threads that wait for one another, who are in the log.
  if (!trap.line) return false;
  finding.kind = FindingKind::endless_wait;
  finding.access = AccessKind::wait;
  finding.detail = trap.message;
  return true;
}

}  // namespace

void note_trap(const ModuleState& module, const SanitizedLaunch& launch, const TrapReport& trap) {
  Finding finding;
  DeviceState& device = *module.device;
  const bool waits = (launch.checks & check_sync) != 0 && trap.kind == abi::TrapKind::no_progress;
  if (waits
          ? !describe_endless_wait(trap, finding)
          : trap.kind != abi::TrapKind::dead_handle || !describe_dead_handle(device, trap, finding))
    return;
  finding.kernel = trap.kernel;
  finding.file = trap.file;
  finding.line = trap.line;
  finding.column = trap.column;
  finding.instruction = trap.instruction;
  finding.source_file = trap.source_file;
  finding.source_line = trap.source_line;
  finding.inlined_at = trap.inlined_at;
  for (std::size_t i = 0; i < 3; ++i) {
    finding.cta[i] = trap.cta[i];
    finding.thread[i] = trap.thread[i];
  }
  finding.threads = trap.trapped_threads;
  if (device.findings.add(finding, launch.suppressions)) device.print_finding(finding.to_string());
}

}  // namespace ptx2spv::runtime
