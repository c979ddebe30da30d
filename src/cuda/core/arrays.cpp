// CUDA arrays and mipmapped arrays: from CUDA's descriptors to the runtime's.
#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "src/cuda/core/graph.hpp"

namespace ptx2spv::cuda {

bool format_of(CUarray_format format, unsigned channels, abi::SurfaceFormat& made,
               std::uint32_t& made_channels) {
  using enum abi::SurfaceFormat;
  made_channels = channels;
  switch (format) {
    case kUnsignedInt8: made = u8; break;
    case kUnsignedInt16: made = u16; break;
    case kUnsignedInt32: made = u32; break;
    case kSignedInt8: made = s8; break;
    case kSignedInt16: made = s16; break;
    case kSignedInt32: made = s32; break;
    case kHalf: made = f16; break;
    case kFloat: made = f32; break;
    default: {
      // Normalised formats come in three sizes each: unorm8, unorm16, snorm8, snorm16.
      const int number = format - kUnorm8x1;
      if (number < 0 || number >= 12) return false;
      constexpr abi::SurfaceFormat kFormats[] = {unorm8, unorm16, snorm8, snorm16};
      made = kFormats[number / 3];
      made_channels = 1u << (number % 3);
      if (channels != made_channels) return false;
    }
  }
  return made_channels == 1 || made_channels == 2 || made_channels == 4;
}

namespace {

/// The largest extents: those that devices report for textures and surfaces, which an H100 keeps
/// to when it makes an array.
CUresult check_extents(const CUDA_ARRAY3D_DESCRIPTOR& desc, bool mipmapped) {
  const bool surface = desc.Flags & kArraySurface, cube = desc.Flags & kArrayCubemap;
  std::size_t width = 131072, height = 65536, depth = 1;
  if (cube || (desc.Flags & kArrayLayered)) {
    width = height = 32768;
    depth = cube ? 2046 : 2048;
  } else if (desc.Depth) {
    width = height = depth = 16384;
    if (!surface && desc.Width <= 8192 && desc.Height <= 8192) depth = 32768;
  } else if (mipmapped || (desc.Flags & kArrayGather) || (surface && !desc.Height)) {
    width = height = 32768;
  }
  return desc.Width > width || desc.Height > height || desc.Depth > depth
             ? fail(eInvalidValue, fmt::format("an array of {} x {} x {} is too large", desc.Width,
                                               desc.Height, desc.Depth))
             : eSuccess;
}

/// Which flags go together: an H100 takes no others.
CUresult check_flags(const CUDA_ARRAY3D_DESCRIPTOR& desc) {
  // Video engines' arrays are as others to kernels.
  constexpr unsigned kVideo = 0x100;
  constexpr unsigned kKnown = kArrayLayered | kArraySurface | kArrayCubemap | kArrayGather |
                              kArraySparse | kArrayDeferred | kVideo;
  if (desc.Flags & kArrayDepth) return fail(eInvalidValue, "a depth texture is a graphics API's");
  if (desc.Flags & ~kKnown) return fail(eInvalidValue, "unknown flags of an array");
  if (!(desc.Flags & kArraySparse)) return eSuccess;
  constexpr unsigned kNever = kArrayDeferred | kArrayCubemap | kArraySurface;
  if ((desc.Flags & kNever) || !desc.Height) return fail(eInvalidValue, "no such sparse array");
  return eSuccess;
}

/// `levels` 0: not a mipmapped array.
CUresult describe(const CUDA_ARRAY3D_DESCRIPTOR& desc, unsigned levels, ArrayDesc& made) {
  if (CUresult code = check_flags(desc); code != eSuccess) return code;
  if (!format_of(desc.Format, desc.NumChannels, made.format, made.channels))
    return fail(eInvalidValue, fmt::format("an array has no format {:#x} with {} channels",
                                           static_cast<int>(desc.Format), desc.NumChannels));
  const bool layered = desc.Flags & kArrayLayered, cube = desc.Flags & kArrayCubemap;
  if (!desc.Width) return fail(eInvalidValue, "an array without a width");
  if (layered && !desc.Depth) return fail(eInvalidValue, "a layered array without layers");
  if (desc.Width >> 31 || desc.Height >> 31 || desc.Depth >> 31)
    return fail(eInvalidValue, "an extent of the array is too large");
  if (cube && (desc.Width != desc.Height || (layered ? desc.Depth % 6 : desc.Depth != 6)))
    return fail(eInvalidValue, "a cube map has square faces, six for each cube");
  if (!layered && !cube && desc.Depth && !desc.Height)
    return fail(eInvalidValue, "an array with a depth has a height");
  if ((desc.Flags & kArrayGather) && (!desc.Height || desc.Depth))
    return fail(eInvalidValue, "only two-dimensional arrays are gathered from");
  if (CUresult code = check_extents(desc, levels != 0); code != eSuccess) return code;
  if (desc.Flags & (kArraySparse | kArrayDeferred))
    return not_supported("an array of that kind", "sparse and deferred arrays have no counterpart");
  made.width = static_cast<std::uint32_t>(desc.Width);
  made.height = static_cast<std::uint32_t>(std::max<std::size_t>(desc.Height, 1));
  const auto depth = static_cast<std::uint32_t>(std::max<std::size_t>(desc.Depth, 1));
  if (layered || cube) {
    made.geometry = desc.Height ? Geometry::a2d : Geometry::a1d;
    made.layers = depth;
  } else {
    made.geometry = desc.Depth ? Geometry::d3 : desc.Height ? Geometry::d2 : Geometry::d1;
    made.depth = depth;
  }
  // CUDA takes more levels than there are and makes as many as there are.
  const std::uint32_t longest = std::max({made.width, made.height, made.depth});
  made.levels = std::min<std::uint32_t>(std::max(levels, 1u),
                                        static_cast<std::uint32_t>(std::bit_width(longest)));
  return eSuccess;
}

using Maker = std::function<Result<Array>(const ArrayDesc&)>;

CUresult make_array(const CUDA_ARRAY3D_DESCRIPTOR& desc, unsigned levels, const Maker& maker,
                    std::optional<Array>& made) {
  ArrayDesc described;
  if (CUresult code = describe(desc, levels, described); code != eSuccess) return code;
  auto array = maker(described);
  if (!array) return report(array.error());
  made = std::move(*array);
  return eSuccess;
}

Maker plain_maker(ContextObject& context) {
  return [&context](const ArrayDesc& desc) {
    return with_room(context, [&] { return Array::create(context.gpu(), desc); });
  };
}

}  // namespace

CUresult create_array(ContextObject& context, const CUDA_ARRAY3D_DESCRIPTOR& desc, CUarray& made) {
  if (CUresult refused = begin_unsafe_call(); refused != eSuccess) return refused;
  std::optional<Array> array;
  if (CUresult code = make_array(desc, 0, plain_maker(context), array); code != eSuccess)
    return code;
  auto object = std::make_shared<ArrayObject>(std::move(*array));
  object->context = &context;
  object->desc = desc;
  trace(context, *object);
  made = tables().arrays.add(std::move(object));
  return eSuccess;
}

CUresult create_mipmap(ContextObject& context, const CUDA_ARRAY3D_DESCRIPTOR& desc, unsigned levels,
                       CUmipmappedArray& made) {
  return create_mipmap(context, desc, levels, plain_maker(context), made);
}

CUresult create_mipmap(ContextObject& context, const CUDA_ARRAY3D_DESCRIPTOR& desc, unsigned levels,
                       const Maker& maker, CUmipmappedArray& made) {
  if (CUresult refused = begin_unsafe_call(); refused != eSuccess) return refused;
  std::optional<Array> array;
  if (CUresult code = make_array(desc, std::max(levels, 1u), maker, array); code != eSuccess)
    return code;
  auto object = std::make_shared<MipmapObject>(std::move(*array));
  object->context = &context;
  object->desc = desc;
  trace(context, *object);
  object->levels.resize(object->array.desc().levels);
  made = tables().mipmaps.add(std::move(object));
  return eSuccess;
}

CUresult no_array(const void* handle) {
  return handle ? fail(eContextIsDestroyed, "the array is destroyed")
                : fail(eInvalidResourceHandle, "there is no array");
}

CUresult destroy_array(CUarray handle) {
  if (CUresult refused = begin_unsafe_call(); refused != eSuccess) return refused;
  auto array = tables().arrays.find(handle);
  if (!array) return no_array(handle);
  if (array->owner) return eSuccess;  // a level goes with its mipmapped array
  const CUresult code = synchronize(*array->context);
  bury_objects_over(*array);
  tables().arrays.take(handle);
  return code;
}

CUresult destroy_mipmap(CUmipmappedArray handle) {
  if (CUresult refused = begin_unsafe_call(); refused != eSuccess) return refused;
  auto mipmap = tables().mipmaps.find(handle);
  if (!mipmap) return no_array(handle);
  if (mipmap->shared) return fail(eInvalidValue, "the array is a graphics resource's");
  const CUresult code = synchronize(*mipmap->context);
  bury_objects_over(*mipmap);
  for (const auto& level : mipmap->levels)
    if (level) tables().arrays.take(level.get());
  tables().mipmaps.take(handle);
  return code;
}

CUresult mipmap_level(CUmipmappedArray handle, unsigned level, CUarray& array) {
  auto mipmap = tables().mipmaps.find(handle);
  if (!mipmap) return fail(eInvalidResourceHandle, "no such mipmapped array");
  if (level >= mipmap->levels.size()) return fail(eInvalidValue, "there is no such level");
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  auto& made = mipmap->levels[level];
  if (!made) {
    made = std::make_shared<ArrayObject>(mipmap->array);
    made->context = mipmap->context;
    made->owner = mipmap.get();
    made->level = level;
    made->desc = mipmap->desc;
    const auto shrink = [level](std::size_t extent) {
      return extent ? std::max<std::size_t>(extent >> level, 1) : 0;
    };
    made->desc.Width = shrink(made->desc.Width);
    made->desc.Height = shrink(made->desc.Height);
    if (!(made->desc.Flags & (kArrayLayered | kArrayCubemap)))
      made->desc.Depth = shrink(made->desc.Depth);
    tables().arrays.add(made);
  }
  array = made.get();
  return eSuccess;
}

}  // namespace ptx2spv::cuda
