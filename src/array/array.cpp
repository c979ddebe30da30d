#include "src/array/array.hpp"
#include "src/array/residency.hpp"
#include "src/array/texel_shadow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ptx2spv/vulkan.hpp"
#include "src/array/texture.hpp"
#include "src/options.hpp"

namespace ptx2spv::runtime {

namespace {

// Loads of up to 16 bytes may be issued from any byte of a row, and only then be discarded.
constexpr std::uint64_t kPadding = 64;
constexpr std::uint64_t kRowAlignment = 16;

std::uint64_t align_up(std::uint64_t value, std::uint64_t to) { return (value + to - 1) / to * to; }

}  // namespace

Status check(const ArrayDesc& desc) {
  if (desc.channels != 1 && desc.channels != 2 && desc.channels != 4)
    return bad_argument("an array has 1, 2 or 4 channels, not {}", desc.channels);
  if (desc.geometry > Geometry::a2d) return bad_argument("an array has no such geometry");
  if (desc.format > abi::SurfaceFormat::snorm16) return bad_argument("an array has no such format");
  const bool rows = desc.geometry == Geometry::d2 || desc.geometry == Geometry::d3 ||
                    desc.geometry == Geometry::a2d;
  const bool layered = is_layered(desc.geometry);
  constexpr std::uint32_t kLargest = 1u << 30;
  struct Extent {
    const char* name;
    std::uint32_t value, most;
  };
  const Extent extents[] = {{"width", desc.width, kLargest},
                            {"height", desc.height, rows ? kLargest : 1},
                            {"depth", desc.depth, desc.geometry == Geometry::d3 ? kLargest : 1},
                            {"layers", desc.layers, layered ? 65536u : 1},
                            {"levels", desc.levels, 31}};
  for (const Extent& extent : extents) {
    if (!extent.value) return bad_argument("the array's {} is 0", extent.name);
    if (extent.value > extent.most && extent.most == 1)
      return bad_argument("a {} array has no {}, and {} was given", to_string(desc.geometry),
                          extent.name, extent.value);
    if (extent.value > extent.most)
      return bad_argument("the array's {} of {} is over {}", extent.name, extent.value,
                          extent.most);
  }
  std::uint32_t longest = std::max({desc.width, desc.height, desc.depth});
  if ((longest >> (desc.levels - 1)) == 0)
    return bad_argument("an array of that extent has fewer than {} levels", desc.levels);
  return {};
}

namespace {

Status lay_out(ArrayState& array, std::uint64_t& total) {
  ArrayDesc& desc = array.desc;
  std::uint64_t texel = desc.texel_bytes();
  total = 0;
  for (std::uint32_t i = 0; i < desc.levels; ++i) {
    Level level;
    level.width = std::max(desc.width >> i, 1u);
    level.height = std::max(desc.height >> i, 1u);
    level.depth = std::max(desc.depth >> i, 1u);
    level.row_bytes = level.width * texel;
    if (level.row_bytes >> 31)
      return bad_argument("a row of {} texels of {} bytes is over 2,147,483,647 bytes", level.width,
                          texel);
    level.row_pitch = align_up(level.row_bytes, kRowAlignment);
    level.slice_pitch = level.row_pitch * level.height;
    level.offset = total;
    std::uint64_t slices = std::uint64_t{level.depth} * desc.layers;
    if (__builtin_mul_overflow(level.slice_pitch, slices, &level.bytes) || level.bytes >> 46)
      return make_error(ErrorCode::out_of_memory, "the array is larger than any device's memory");
    level.dense_bytes = level.row_bytes * level.height * slices;
    level.bytes += kPadding;
    level.serial = array.device->next_serial.fetch_add(1);
    total = align_up(total + level.bytes, Heap::kAlignment);
    array.levels.push_back(level);
  }
  return {};
}

/// Whether the array lives where its kernels want it.
bool is_movable(const ArrayDesc& desc) {
  return desc.backing == ArrayBacking::automatic && option_text(Option::backing).empty();
}

/// Linear where nobody says otherwise: it takes every access. One kind does better in an image on
/// NVIDIA hardware: reductions into 4,096 cells took 3.5 ms there against 9.6 ms in linear memory
/// (docs/reference/performance.md), and rows of single words cost the same either way.
bool wants_image(const DeviceState& device, const ArrayDesc& desc) {
  if (desc.backing != ArrayBacking::automatic) return desc.backing == ArrayBacking::image;
  if (const std::string_view text = option_text(Option::backing); !text.empty())
    return text == "image";
  return device.profile.costs.tiled_planes && desc.geometry == Geometry::d1 && desc.channels == 1 &&
         desc.texel_bytes() == 4;
}

}  // namespace

ArrayState::~ArrayState() {
  if (!device) return;
  {
    std::lock_guard lock(device->arrays_mutex);
    std::erase(device->image_arrays, this);
  }
  if (shadow) device->allocations.remove_bits(shadow.mapped());
  destroy_image(*this);
}

Status ArrayState::ensure_linear() {
  std::lock_guard lock(mutex);
  if (linear) return {};
  const Level& last = levels.back();
  auto memory = device->heap.allocate(MemoryKind::device, last.offset + last.bytes);
  if (!memory) return memory.error();
  if (!memory->buffer())
    return make_error(ErrorCode::unsupported, "the array's image is too large for a copy of it");
  linear = std::move(*memory);
  update_records();
  return {};
}

void ArrayState::update_records() {
  for (auto& [handle, level] : handles) device->surfaces.update(handle, surface_record(level));
  for (TextureState* texture : textures) update_record(*texture);
}

std::array<std::uint32_t, abi::kSurfaceWords> ArrayState::surface_record(
    std::uint32_t index) const {
  const Level& level = levels[index];
  std::array<std::uint32_t, abi::kSurfaceWords> record{};
  // An image without a linear copy has no bytes to address: every access by address misses it, and
  // the launch makes the copy before a kernel may address it.
  std::uint64_t base = linear ? linear.address() + level.offset : device->discard.address();
  record[abi::s_base_lo] = static_cast<std::uint32_t>(base);
  record[abi::s_base_hi] = static_cast<std::uint32_t>(base >> 32);
  record[abi::s_row_bytes] = static_cast<std::uint32_t>(level.row_bytes);
  record[abi::s_rows] = level.height;
  record[abi::s_slices] = slices(level);
  record[abi::s_row_pitch] = static_cast<std::uint32_t>(level.row_pitch);
  record[abi::s_slice_pitch_lo] = static_cast<std::uint32_t>(level.slice_pitch);
  record[abi::s_slice_pitch_hi] = static_cast<std::uint32_t>(level.slice_pitch >> 32);
  record[abi::s_texel_bytes] = desc.texel_bytes();
  record[abi::s_format] = static_cast<std::uint32_t>(desc.format);
  record[abi::s_width] = level.width;
  // The layers of an array stand where the next extent of a volume would.
  switch (desc.geometry) {
    case Geometry::d1: break;
    case Geometry::d2: record[abi::s_height] = level.height; break;
    case Geometry::d3:
      record[abi::s_height] = level.height;
      record[abi::s_depth] = level.depth;
      break;
    case Geometry::a1d: record[abi::s_height] = desc.layers; break;
    case Geometry::a2d:
      record[abi::s_height] = level.height;
      record[abi::s_depth] = desc.layers;
      break;
  }
  // The numbers that the PTX manual gives these fields, in the order of abi::SurfaceFormat and by
  // channels.
  constexpr std::uint32_t kDataTypes[] = {0x10DA, 0x10DB, 0x10DC, 0x10D7, 0x10D8, 0x10D9,
                                          0x10DD, 0x10DE, 0x10D2, 0x10D3, 0x10D0, 0x10D1};
  record[abi::s_channel_data_type] = kDataTypes[static_cast<std::size_t>(desc.format)];
  record[abi::s_channel_order] = desc.channels == 1 ? 0x10B0 : desc.channels == 2 ? 0x10B2 : 0x10B5;
  bool layered = is_layered(desc.geometry);
  record[abi::s_array_size] = layered ? desc.layers : 0;
  record[abi::s_memory_layout] = 0;
  record[abi::s_channels] = desc.channels;
  record[abi::s_flags] = image_backed ? 1 : 0;
  const std::uint32_t found = found_by(desc.geometry);
  const auto bytes_to = [&](Geometry geometry) {
    return found >> static_cast<unsigned>(geometry) & 1 ? record[abi::s_row_bytes] : 0;
  };
  record[abi::s_row_bytes_1d] = bytes_to(Geometry::d1);
  record[abi::s_row_bytes_2d] = bytes_to(Geometry::d2);
  record[abi::s_row_bytes_3d] = bytes_to(Geometry::d3);
  // Every layer of a volume is its first slice.
  const bool volume = desc.geometry == Geometry::d3;
  record[abi::s_layer_pitch_lo] = volume ? 0 : record[abi::s_slice_pitch_lo];
  record[abi::s_layer_pitch_hi] = volume ? 0 : record[abi::s_slice_pitch_hi];
  return record;
}

SurfaceState::~SurfaceState() {
  if (!array || !handle) return;
  array->device->surfaces.remove(handle);
  std::lock_guard lock(array->mutex);
  std::erase_if(array->handles, [this](const auto& each) { return each.first == handle; });
}

}  // namespace ptx2spv::runtime

namespace ptx2spv {

Result<Array> Array::create(const Device& device, const ArrayDesc& desc) {
  auto array = std::make_shared<ArrayState>();
  array->device = device.state();
  array->desc = desc;
  if (Status status = check(desc); !status) return status.error();
  std::uint64_t total = 0;
  if (Status status = lay_out(*array, total); !status) return status.error();
  if (array->levels[0].row_bytes >> 31)
    return bad_argument("a row of the array has more than 2 GiB");
  array->image_backed = wants_image(*array->device, desc);
  array->movable = is_movable(desc);
  if (array->image_backed) {
    Status status = create_image(*array);
    if (!status) {
      if (desc.backing == ArrayBacking::image) return status.error();
      // The backing was nobody's demand: a surface that no image can hold is linear.
      auto linear = desc;
      linear.backing = ArrayBacking::linear;
      return create(device, linear);
    }
    std::lock_guard lock(array->device->arrays_mutex);
    array->device->image_arrays.push_back(array.get());
  } else {
    auto memory = array->device->heap.allocate(MemoryKind::device, total);
    if (!memory) return memory.error();
    array->linear = std::move(*memory);
  }
  if (Status status = add_shadow(*array); !status) return status.error();
  return Array(std::move(array));
}

const ArrayDesc& Array::desc() const { return state_->desc; }
bool Array::image_backed() const {
  std::shared_lock lock(state_->device->residency);
  return state_->image_backed;
}

std::uint64_t Array::bytes(std::uint32_t level) const {
  return level < state_->levels.size() ? state_->levels[level].dense_bytes : 0;
}

namespace {

Status check_level(const ArrayState& array, std::uint32_t level, std::uint64_t bytes) {
  if (level >= array.levels.size()) return bad_argument("the array has no level {}", level);
  if (bytes != array.levels[level].dense_bytes)
    return bad_argument("level {} of the {} array{} has {} bytes, and {} were given", level,
                        to_string(array.desc.geometry),
                        array.desc.name.empty() ? "" : " '" + array.desc.name + "'",
                        array.levels[level].dense_bytes, bytes);
  return {};
}

}  // namespace

Status Array::upload(std::span<const std::byte> bytes, std::uint32_t level) {
  if (Status status = check_level(*state_, level, bytes.size()); !status) return status;
  ArrayRegion whole;
  whole.level = level;
  return upload(whole, bytes);
}

Status Array::download(std::span<std::byte> bytes, std::uint32_t level) const {
  if (Status status = check_level(*state_, level, bytes.size()); !status) return status;
  ArrayRegion whole;
  whole.level = level;
  return download(whole, bytes);
}

Status Array::fill(std::uint32_t pattern, int pattern_bytes, std::uint32_t level) {
  if (level >= state_->levels.size()) return bad_argument("the array has no level {}", level);
  const auto word = fill_word(pattern, pattern_bytes);
  if (!word) return word.error();
  const Level& each = state_->levels[level];
  // Dense rows that do not hold whole patterns have it start anew in each row of the linear form
  // only.
  {
    std::shared_lock lock(state_->device->residency);
    if (!state_->image_backed && each.row_bytes % static_cast<std::uint64_t>(pattern_bytes) == 0) {
      mark_level(*state_, level);
      Rows row;
      row.offset = state_->linear.offset() + each.offset;
      row.row_bytes = row.row_pitch = each.bytes - kPadding;
      return fill_rows(*state_->device, state_->linear.base(), row, *word);
    }
  }
  std::vector<std::byte> dense(each.dense_bytes);
  for (std::size_t at = 0; at < dense.size(); at += 4)
    std::memcpy(dense.data() + at, &*word, std::min<std::size_t>(4, dense.size() - at));
  return upload(dense, level);
}

Status Array::copy_from(const Array& from) {
  const ArrayDesc &a = desc(), &b = from.desc();
  if (from.state() == state_) return {};
  if (a.width != b.width || a.height != b.height || a.depth != b.depth || a.layers != b.layers ||
      a.levels != b.levels || a.texel_bytes() != b.texel_bytes())
    return bad_argument("the arrays differ in extent or texel size");
  if (from.state()->device == state_->device) {
    std::shared_lock lock(state_->device->residency);
    const Level& last = state_->levels.back();
    if (!state_->image_backed && !from.state()->image_backed) {
      mark_array(*state_);
      Rows row;
      row.offset = state_->linear.offset();
      row.row_bytes = row.row_pitch = row.host_row_pitch = last.offset + last.bytes - kPadding;
      const Memory& source = from.state()->linear;
      return copy_rows(*state_->device, source.base(), source.offset(), state_->linear.base(), row);
    }
  }
  for (std::uint32_t level = 0; level < a.levels; ++level) {
    std::vector<std::byte> dense(bytes(level));
    if (Status status = from.download(dense, level); !status) return status;
    if (Status status = upload(dense, level); !status) return status;
  }
  return {};
}

Result<Array> runtime::layer_of(const Array& whole, std::uint32_t layer, std::uint32_t level) {
  ArrayState& from = *whole.state();
  if (from.desc.geometry != Geometry::a2d || level >= from.levels.size() ||
      layer >= from.desc.layers)
    return bad_argument("the array has no layer {} of a level {}", layer, level);
  const Level& there = from.levels[level];
  {
    std::unique_lock lock(from.device->residency);
    if (Status status = move_to_memory(from); !status) return status.error();
    if (from.image_backed)
      return make_error(ErrorCode::unsupported, "the array lives in an image that it cannot leave");
    from.movable = false;
  }
  auto array = std::make_shared<ArrayState>();
  array->device = from.device;
  array->whole_of = whole.state();
  array->desc = from.desc;
  array->desc.geometry = Geometry::d2;
  array->desc.width = there.width;
  array->desc.height = there.height;
  array->desc.layers = array->desc.levels = 1;
  std::uint64_t total = 0;
  if (Status status = lay_out(*array, total); !status) return status.error();
  // What is written through the layer is not looked at.
  ArrayRegion region;
  region.level = level;
  region.z = layer;
  region.depth = 1;
  auto box = resolve(from, region);
  if (!box) return box.error();
  mark_box(from, *box);
  array->linear =
      from.linear.part(there.offset + layer * there.slice_pitch, array->levels[0].bytes);
  return Array(std::move(array));
}

Result<Surface> Surface::create(const Array& array, std::uint32_t level) {
  ArrayState& state = *array.state();
  if (level >= state.levels.size()) return bad_argument("the array has no level {}", level);
  auto surface = std::make_shared<SurfaceState>();
  surface->array = array.state();
  surface->level = level;
  std::lock_guard lock(state.mutex);
  auto handle = state.device->surfaces.add(state.surface_record(level), state.desc.name, surface);
  if (!handle) return handle.error();
  surface->handle = *handle;
  state.handles.emplace_back(*handle, level);
  return Surface(std::move(surface));
}

std::uint64_t Surface::handle() const { return state_->handle; }
void Surface::set_name(std::string name) {
  state_->array->device->surfaces.rename(state_->handle, std::move(name));
}
Array Surface::array() const { return Array(state_->array); }

Result<vulkan::ImageHandle> vulkan::image_of(const Array& array) {
  ArrayState& state = *array.state();
  // From now on somebody else knows the image.
  std::unique_lock lock(state.device->residency);
  if (state.image_backed) state.movable = false;
  mark_array(state);
  if (!state.image_backed) return bad_argument("the array is linear: there is no image behind it");
  return ImageHandle{state.image, storage_format(state.desc.texel_bytes())};
}

Result<Array> runtime::array_over(const Device& device, VkImage image, const ArrayDesc& desc,
                                  std::shared_ptr<const SharedMemory> shared) {
  auto array = std::make_shared<ArrayState>();
  array->device = device.state();
  array->desc = desc;
  if (Status status = check(desc); !status) return status.error();
  std::uint64_t total = 0;
  if (Status status = lay_out(*array, total); !status) return status.error();
  array->image_backed = array->imported = true;
  array->image = image;
  array->shared = std::move(shared);
  if (Status status = create_storage_views(*array); !status) return status.error();
  std::lock_guard lock(array->device->arrays_mutex);
  array->device->image_arrays.push_back(array.get());
  return Array(std::move(array));
}

Result<Array> vulkan::import(const Device& device, const ImageHandle& image,
                             const ArrayDesc& desc) {
  if (!image.image) return bad_argument("the imported image is null");
  return array_over(device, image.image, desc, nullptr);
}

}  // namespace ptx2spv
