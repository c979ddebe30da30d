// The state behind Array and Surface.
#pragma once

#include <array>
#include <atomic>
#include <mutex>
#include <vector>

#include "src/device/device.hpp"
#include "src/memory/transfer.hpp"

namespace ptx2spv::runtime {

/// One mipmap level; pitches hold for its linear form.
struct Level {
  std::uint32_t width = 1, height = 1, depth = 1;  ///< depth: slices of a 3D level, else 1
  std::uint64_t row_bytes = 0, row_pitch = 0, slice_pitch = 0;
  std::uint64_t offset = 0, bytes = 0;  ///< in the linear memory, padding included
  std::uint64_t dense_bytes = 0;
  VkImageView storage_view = VK_NULL_HANDLE;
  VkImageView storage_view64 = VK_NULL_HANDLE;  ///< r64ui, where there is one
  std::uint64_t serial = 0;                     ///< of the level, for descriptor caches
};

struct SharedMemory;

struct ArrayState : std::enable_shared_from_this<ArrayState> {
  ArrayState() = default;
  ArrayState(const ArrayState&) = delete;
  ArrayState& operator=(const ArrayState&) = delete;
  ~ArrayState();

  std::shared_ptr<DeviceState> device;
  ArrayDesc desc;
  std::vector<Level> levels;
  /// Where it lives, which only a movable array changes (src/array/residency.hpp), under
  /// DeviceState::residency.
  bool image_backed = false;
  bool imported = false, movable = false;
  std::uint32_t returns = 0;             ///< times that it came back to memory
  std::atomic<std::uint32_t> wanted{0};  ///< launches since then that wanted it in an image

  Memory
      shadow;  ///< for check_init: a bit for each byte of the linear form, set where it was written
  mutable std::atomic<std::uint64_t> whole{0};  ///< bit k: all of level k was written by the host
  Memory linear;  ///< the texels, or an image's linear copy once one is needed
  VkImage image = VK_NULL_HANDLE;
  Memory image_memory;                         ///< empty for an imported image
  std::shared_ptr<const SharedMemory> shared;  ///< with the image, by a descriptor
  std::shared_ptr<const ArrayState> whole_of;  ///< in whose memory this is a layer

  std::mutex mutex;  ///< for `linear` of image-backed arrays, and `handles`
  std::vector<std::pair<std::uint64_t, std::uint32_t>> handles;  ///< live surfaces and their levels
  std::vector<TextureState*> textures;                           ///< live

  std::uint32_t layers() const { return desc.layers; }
  std::uint32_t slices(const Level& level) const { return level.depth * desc.layers; }
  /// Gives an image-backed array its linear copy and tells its surface records.
  Status ensure_linear();
  /// Writes the records of surfaces and textures again, which say where the array is. Under
  /// `mutex`.
  void update_records();
  /// Records copies of every level between image and linear copy.
  void record_copy(VkCommandBuffer commands, bool to_linear);
  std::array<std::uint32_t, abi::kSurfaceWords> surface_record(std::uint32_t level) const;
};

struct SurfaceState {
  SurfaceState() = default;
  SurfaceState(const SurfaceState&) = delete;
  SurfaceState& operator=(const SurfaceState&) = delete;
  ~SurfaceState();
  std::shared_ptr<ArrayState> array;
  std::uint32_t level = 0;
  std::uint64_t handle = 0;
};

/// The unsigned format of a texel size: all image slots are viewed so.
VkFormat storage_format(std::uint32_t texel_bytes);
VkImageType image_type(const DeviceState& device, Geometry geometry);
VkImageViewType view_type(const DeviceState& device, Geometry geometry);
/// Whether there can be such an array at all.
Status check(const ArrayDesc& desc);
/// What the image of such an array is created with; unsupported, with the reason, where the device
/// has none.
Result<VkImageCreateInfo> image_info(const DeviceState& device, const ArrayDesc& desc);
/// The question whether the device has such images.
VkPhysicalDeviceImageFormatInfo2 format_info(const VkImageCreateInfo& create);
/// Brings a new image into VK_IMAGE_LAYOUT_GENERAL, or takes one that another process or API has in
/// that layout, with its contents.
Status enter_general(DeviceState& device, VkImage image, bool external);
/// An array over an image in VK_IMAGE_LAYOUT_GENERAL, which `shared` owns, or somebody else.
Result<Array> array_over(const Device& device, VkImage image, const ArrayDesc& desc,
                         std::shared_ptr<const SharedMemory> shared);
/// One layer of a level as an array over the same memory, where the whole stays from now on;
/// unsupported where it lives in an image that it cannot leave.
Result<Array> layer_of(const Array& whole, std::uint32_t layer, std::uint32_t level);
Status create_image(ArrayState& array);
/// With its views and those of textures.
void destroy_image(ArrayState& array);
Status create_storage_views(ArrayState& array);
/// Bit k: instructions of geometry k find the surfaces of such an array.
std::uint32_t found_by(Geometry array);
/// Geometry as SlotSpec::geometry counts it.
std::uint8_t slot_geometry(Geometry geometry);

}  // namespace ptx2spv::runtime
