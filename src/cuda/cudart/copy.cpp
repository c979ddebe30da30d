// cudaMemcpy and cudaMemset in all their forms.
#include <algorithm>
#include <limits>

#include "src/cuda/cudart/face.hpp"

namespace ptx2spv::cuda {

bool sides_of(int kind, unsigned& from, unsigned& to) {
  switch (kind) {
    case kHostToHost: from = to = kMemoryHost; return true;
    case kHostToDevice: from = kMemoryHost, to = kMemoryDevice; return true;
    case kDeviceToHost: from = kMemoryDevice, to = kMemoryHost; return true;
    case kDeviceToDevice: from = to = kMemoryDevice; return true;
    case kDefault: from = to = kMemoryUnified; return true;
    default: return false;
  }
}

CUresult fill_in_stream(CUstream handle, const CUDA_MEMSET_NODE_PARAMS& set) {
  return call_in(handle, [&](ContextObject& context, const auto& stream) {
    return fill_in(context, *stream, set);
  });
}

namespace {

CUresult submit(CUstream handle, const CUDA_MEMCPY3D_PEER& copy_of) {
  return call_in(handle, [&](ContextObject& context, const auto& stream) {
    return copy_in(context, *stream, copy_of);
  });
}

CUDA_MEMCPY3D_PEER rows_copy(std::size_t width, std::size_t height) {
  CUDA_MEMCPY3D_PEER p{};
  p.WidthInBytes = width;
  p.Height = height;
  p.Depth = 1;
  return p;
}

void from_memory(CUDA_MEMCPY3D_PEER& p, unsigned type, const void* pointer, std::size_t pitch) {
  p.srcMemoryType = type;
  p.srcHost = pointer;
  p.srcDevice = reinterpret_cast<CUdeviceptr>(pointer);
  p.srcPitch = pitch;
}

void to_memory(CUDA_MEMCPY3D_PEER& p, unsigned type, void* pointer, std::size_t pitch) {
  p.dstMemoryType = type;
  p.dstHost = pointer;
  p.dstDevice = reinterpret_cast<CUdeviceptr>(pointer);
  p.dstPitch = pitch;
}

void from_array(CUDA_MEMCPY3D_PEER& p, const ArrayObject* array, std::size_t x, std::size_t y) {
  p.srcMemoryType = kMemoryArray;
  p.srcArray = const_cast<CUarray>(array);
  p.srcXInBytes = x;
  p.srcY = y;
}

void to_array(CUDA_MEMCPY3D_PEER& p, CUarray array, std::size_t x, std::size_t y) {
  p.dstMemoryType = kMemoryArray;
  p.dstArray = array;
  p.dstXInBytes = x;
  p.dstY = y;
}

/// Whether a run of bytes that wraps from row to row lies within an array; `row`: bytes of one.
CUresult check_run(CUarray handle, std::size_t x, std::size_t y, std::size_t bytes,
                   std::size_t& row) {
  auto array = tables().arrays.find(handle);
  if (!array) return keep(fail(eInvalidResourceHandle, "no such array"));
  const ArrayDesc& desc = array->array.desc();
  const std::size_t rows = std::max(desc.height >> array->level, 1u);
  row = std::size_t{std::max(desc.width >> array->level, 1u)} * desc.texel_bytes();
  if (!bytes) return eSuccess;
  if (x >= row) return keep(fail(eInvalidValue, "the copy starts behind its row"));
  if (y >= rows || bytes > (rows - y) * row - x)
    return keep(fail(eInvalidValue, "a copy reaches beyond the array"));
  return eSuccess;
}

/// Such a run is up to three boxes.
template <class F>
CUresult each_box(CUarray handle, std::size_t x, std::size_t y, std::size_t bytes, F&& each) {
  std::size_t row = 0;
  if (CUresult code = check_run(handle, x, y, bytes, row); code != eSuccess) return code;
  std::size_t done = 0;
  while (done < bytes) {
    std::size_t width = std::min(bytes - done, row - x), height = 1;
    if (x == 0 && bytes - done >= row) {
      width = row;
      height = (bytes - done) / row;
    }
    if (CUresult code = each(x, y, width, height, done); code != eSuccess) return code;
    done += width * height;
    y += height;
    x = 0;
  }
  return eSuccess;
}

/// Whether slices lie apart in memory of the device that has all of them: each is filled by itself.
CUresult check_box(const cudaPitchedPtr& to, const cudaExtent& extent) {
  if (!extent.width || !extent.height || !extent.depth) return eSuccess;
  if (to.ysize < extent.height) return fail(eInvalidValue, "a slice has too few rows");
  if (extent.depth > 1 && to.pitch < extent.width)
    return fail(eInvalidValue, "the pitch is less than the width");
  if (extent.depth == 1) return eSuccess;
  const auto [allocation, offset] = find_place(reinterpret_cast<CUdeviceptr>(to.ptr));
  std::size_t slice = 0, end = 0, rows = 0;
  if (!allocation || __builtin_mul_overflow(to.pitch, to.ysize, &slice) ||
      __builtin_mul_overflow(slice, extent.depth - 1, &end) ||
      __builtin_mul_overflow(to.pitch, extent.height - 1, &rows) ||
      __builtin_add_overflow(end, rows, &end) || __builtin_add_overflow(end, extent.width, &end) ||
      end > allocation->bytes - offset)
    return fail(eInvalidValue, "a fill reaches beyond its memory");
  return eSuccess;
}

CUresult bad_direction() { return keep(eInvalidMemcpyDirection); }

/// The pitch of a copy: of one row it may be 0, and CUDA calls one under the width an invalid value
/// there.
CUresult check_pitch(std::size_t pitch, std::size_t width, std::size_t rows) {
  if (width <= pitch) return eSuccess;
  if (rows > 1) return keep(eInvalidPitchValue);
  return pitch ? keep(fail(eInvalidValue, "the pitch is less than the width")) : eSuccess;
}

}  // namespace

extern "C" {

CUresult cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, int kind, CUstream stream) {
  unsigned source = 0, target = 0;
  if (bytes && !sides_of(kind, source, target)) return bad_direction();
  return submit(stream, linear_copy(to, target, from, source, bytes));
}

CUresult cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                           std::size_t width, std::size_t height, int kind, CUstream stream) {
  unsigned source = 0, target = 0;
  if (width && height && !sides_of(kind, source, target)) return bad_direction();
  for (const std::size_t pitch : {to_pitch, from_pitch})
    if (CUresult code = height ? check_pitch(pitch, width, height) : eSuccess; code != eSuccess)
      return code;
  auto p = rows_copy(width, height);
  from_memory(p, source, from, from_pitch);
  to_memory(p, target, to, to_pitch);
  return submit(stream, p);
}

CUresult cudaMemcpy2DToArrayAsync(CUarray to, std::size_t x, std::size_t y, const void* from,
                                  std::size_t pitch, std::size_t width, std::size_t height,
                                  int kind, CUstream stream) {
  unsigned source = 0, target = 0;
  if (!sides_of(kind, source, target) || target == kMemoryHost) return bad_direction();
  if (CUresult code = check_pitch(pitch, width, height); code != eSuccess) return code;
  auto p = rows_copy(width, height);
  from_memory(p, source, from, pitch);
  to_array(p, to, x, y);
  return submit(stream, p);
}

CUresult cudaMemcpy2DFromArrayAsync(void* to, std::size_t pitch, const ArrayObject* from,
                                    std::size_t x, std::size_t y, std::size_t width,
                                    std::size_t height, int kind, CUstream stream) {
  unsigned source = 0, target = 0;
  if (!sides_of(kind, source, target) || source == kMemoryHost) return bad_direction();
  if (CUresult code = check_pitch(pitch, width, height); code != eSuccess) return code;
  auto p = rows_copy(width, height);
  from_array(p, from, x, y);
  to_memory(p, target, to, pitch);
  return submit(stream, p);
}

CUresult cudaMemcpy2DArrayToArray(CUarray to, std::size_t to_x, std::size_t to_y,
                                  const ArrayObject* from, std::size_t x, std::size_t y,
                                  std::size_t width, std::size_t height, int kind) {
  if (kind != kDeviceToDevice && kind != kDefault) return bad_direction();
  auto p = rows_copy(width, height);
  from_array(p, from, x, y);
  to_array(p, to, to_x, to_y);
  return submit(nullptr, p);
}

CUresult cudaMemcpyToArrayAsync(CUarray to, std::size_t x, std::size_t y, const void* from,
                                std::size_t bytes, int kind, CUstream stream) {
  unsigned source = 0, target = 0;
  if (!sides_of(kind, source, target) || target == kMemoryHost) return bad_direction();
  return each_box(to, x, y, bytes, [&](auto bx, auto by, auto width, auto height, auto done) {
    auto p = rows_copy(width, height);
    from_memory(p, source, static_cast<const std::byte*>(from) + done, width);
    to_array(p, to, bx, by);
    return submit(stream, p);
  });
}

CUresult cudaMemcpyFromArrayAsync(void* to, const ArrayObject* from, std::size_t x, std::size_t y,
                                  std::size_t bytes, int kind, CUstream stream) {
  unsigned source = 0, target = 0;
  if (!sides_of(kind, source, target) || source == kMemoryHost) return bad_direction();
  return each_box(const_cast<CUarray>(from), x, y, bytes,
                  [&](auto bx, auto by, auto width, auto height, auto done) {
                    auto p = rows_copy(width, height);
                    from_array(p, from, bx, by);
                    to_memory(p, target, static_cast<std::byte*>(to) + done, width);
                    return submit(stream, p);
                  });
}

CUresult cudaMemcpyArrayToArray(CUarray to, std::size_t to_x, std::size_t to_y,
                                const ArrayObject* from, std::size_t x, std::size_t y,
                                std::size_t bytes, int kind) {
  if (kind != kDeviceToDevice && kind != kDefault) return bad_direction();
  std::size_t row = 0;
  CUresult checked = check_run(const_cast<CUarray>(from), x, y, bytes, row);
  if (checked == eSuccess) checked = check_run(to, to_x, to_y, bytes, row);
  if (checked != eSuccess) return checked;
  std::vector<std::byte> between(bytes);
  CUresult code = cudaMemcpyFromArray(between.data(), from, x, y, bytes, kDeviceToHost);
  if (code != eSuccess) return code;
  return cudaMemcpyToArray(to, to_x, to_y, between.data(), bytes, kHostToDevice);
}

CUresult cudaMemcpy3DAsync(const cudaMemcpy3DParms* given, CUstream stream) {
  if (!given) return keep(eInvalidValue);
  CUDA_MEMCPY3D_PEER p;
  if (CUresult code = convert_copy(*given, p); code != eSuccess) return keep(code);
  return submit(stream, p);
}

CUresult cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms* given, CUstream stream) {
  if (!given) return keep(eInvalidValue);
  cudaMemcpy3DParms same{given->srcArray, given->srcPos, given->srcPtr, given->dstArray,
                         given->dstPos,   given->dstPtr, given->extent, kDeviceToDevice};
  return cudaMemcpy3DAsync(&same, stream);
}

CUresult cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                             std::size_t bytes, CUstream stream) {
  if (CUresult code = initialize(); code != eSuccess) return keep(code);
  if (!device_at(to_device) || !device_at(from_device)) return keep(eInvalidDevice);
  return submit(stream, linear_copy(to, kMemoryDevice, from, kMemoryDevice, bytes));
}

namespace {

/// The part of a symbol that a copy names.
CUresult part_of(const void* symbol, std::size_t offset, std::size_t bytes, CUdeviceptr& address) {
  return call([&](ContextObject& context) -> CUresult {
    std::size_t size = 0;
    if (CUresult code = find_symbol(context, symbol, address, size); code != eSuccess) return code;
    if (offset > size || bytes > size - offset)
      return fail(eInvalidValue, "the copy reaches beyond the variable");
    address += offset;
    return eSuccess;
  });
}

}  // namespace

CUresult cudaMemcpyToSymbolAsync(const void* symbol, const void* from, std::size_t bytes,
                                 std::size_t offset, int kind, CUstream stream) {
  unsigned source = 0, target = 0;
  if (!sides_of(kind, source, target) || target == kMemoryHost) return bad_direction();
  CUdeviceptr address = 0;
  if (CUresult code = part_of(symbol, offset, bytes, address); code != eSuccess) return code;
  return submit(stream,
                linear_copy(reinterpret_cast<void*>(address), kMemoryDevice, from, source, bytes));
}

CUresult cudaMemcpyFromSymbolAsync(void* to, const void* symbol, std::size_t bytes,
                                   std::size_t offset, int kind, CUstream stream) {
  unsigned source = 0, target = 0;
  if (!sides_of(kind, source, target) || source == kMemoryHost) return bad_direction();
  CUdeviceptr address = 0;
  if (CUresult code = part_of(symbol, offset, bytes, address); code != eSuccess) return code;
  return submit(stream, linear_copy(to, target, reinterpret_cast<const void*>(address),
                                    kMemoryDevice, bytes));
}

CUresult cudaMemset3DAsync(cudaPitchedPtr to, int value, cudaExtent extent, CUstream stream) {
  if (CUresult code = check_box(to, extent); code != eSuccess) return keep(code);
  for (std::size_t z = 0; z < extent.depth; ++z) {
    auto* slice = static_cast<std::byte*>(to.ptr) + z * to.pitch * to.ysize;
    CUresult code = cudaMemset2DAsync(slice, to.pitch, value, extent.width, extent.height, stream);
    if (code != eSuccess) return code;
  }
  return eSuccess;
}

}  // extern "C"

CUresult convert_copy(const cudaMemcpy3DParms& given, CUDA_MEMCPY3D_PEER& p) {
  p = {};
  unsigned source = 0, target = 0;
  if (!sides_of(given.kind, source, target)) return eInvalidMemcpyDirection;
  if (!given.extent.width || !given.extent.height || !given.extent.depth) return eSuccess;
  if ((given.srcArray != nullptr) == (given.srcPtr.ptr != nullptr) ||
      (given.dstArray != nullptr) == (given.dstPtr.ptr != nullptr))
    return fail(eInvalidValue, "each side of a copy is an array or a pointer");
  if (given.srcArray && source == kMemoryHost)
    return fail(eInvalidValue, "an array is no memory of the host's");
  const auto too_few_rows = [&](const cudaPitchedPtr& side) {
    return side.ptr && given.extent.depth > 1 && side.ysize < given.extent.height;
  };
  const auto no_pitch = [](const cudaPitchedPtr& side) { return side.ptr && !side.pitch; };
  if ((given.srcArray && no_pitch(given.dstPtr)) || (given.dstArray && no_pitch(given.srcPtr)))
    return fail(eInvalidPitchValue, "memory beside an array has a pitch");
  if (too_few_rows(given.srcPtr) || too_few_rows(given.dstPtr))
    return fail(eInvalidPitchValue, "a slice has fewer rows than are copied");
  // Extents and positions count texels where an array takes part, else bytes.
  std::size_t texel = 1;
  for (CUarray handle : {given.srcArray, given.dstArray}) {
    if (!handle) continue;
    auto array = tables().arrays.find(handle);
    if (!array) return fail(eInvalidResourceHandle, "no such array");
    const std::size_t bytes = array->array.desc().texel_bytes();
    if (texel != 1 && bytes != texel)
      return fail(eInvalidValue, "the arrays have texels of different sizes");
    texel = bytes;
  }
  const std::size_t most = std::max({given.extent.width, given.srcPos.x, given.dstPos.x});
  if (most > std::numeric_limits<std::size_t>::max() / texel)
    return fail(eInvalidValue, "the copy lies beyond any memory");
  p.WidthInBytes = given.extent.width * texel;
  // Beside an array, a pitch under the width is eInvalidValue, which check_copy says.
  const std::size_t rows = given.extent.height > 1 || given.extent.depth > 1 ? 2 : 1;
  if (given.srcPtr.ptr && given.dstPtr.ptr)
    for (const std::size_t pitch : {given.srcPtr.pitch, given.dstPtr.pitch})
      if (CUresult code = check_pitch(pitch, p.WidthInBytes, rows); code != eSuccess) return code;
  p.Height = given.extent.height;
  p.Depth = given.extent.depth;
  // As on an H200: beside an array, a position in memory counts the array's texels, too.
  const auto place = [&](const cudaPos& pos, std::size_t& x, std::size_t& y, std::size_t& z) {
    x = pos.x * texel;
    y = pos.y;
    z = pos.z;
  };
  place(given.srcPos, p.srcXInBytes, p.srcY, p.srcZ);
  place(given.dstPos, p.dstXInBytes, p.dstY, p.dstZ);
  if (given.srcArray) {
    p.srcMemoryType = kMemoryArray;
    p.srcArray = given.srcArray;
  } else {
    from_memory(p, source, given.srcPtr.ptr, given.srcPtr.pitch);
    p.srcHeight = given.srcPtr.ysize;
  }
  if (given.dstArray) {
    p.dstMemoryType = kMemoryArray;
    p.dstArray = given.dstArray;
  } else {
    to_memory(p, target, given.dstPtr.ptr, given.dstPtr.pitch);
    p.dstHeight = given.dstPtr.ysize;
  }
  return eSuccess;
}

CUresult given_copy(const CUDA_MEMCPY3D_PEER& p, cudaMemcpy3DParms& given) {
  given = {};
  const bool from_array = p.srcMemoryType == kMemoryArray, into = p.dstMemoryType == kMemoryArray;
  std::size_t texel = 1;
  if (from_array || into) {
    auto array = tables().arrays.find(from_array ? p.srcArray : p.dstArray);
    if (!array) return fail(eInvalidResourceHandle, "the node's array is gone");
    texel = array->array.desc().texel_bytes();
  }
  given.extent = {p.WidthInBytes / texel, p.Height, p.Depth};
  given.srcPos = {p.srcXInBytes / texel, p.srcY, p.srcZ};
  given.dstPos = {p.dstXInBytes / texel, p.dstY, p.dstZ};
  if (from_array)
    given.srcArray = p.srcArray;
  else
    given.srcPtr = {const_cast<void*>(p.srcHost), p.srcPitch, p.WidthInBytes, p.srcHeight};
  if (into)
    given.dstArray = p.dstArray;
  else
    given.dstPtr = {p.dstHost, p.dstPitch, p.WidthInBytes, p.dstHeight};
  // Memory by unified addresses says nothing of where it is: what both sides are then.
  const bool unified = p.srcMemoryType == kMemoryUnified || p.dstMemoryType == kMemoryUnified;
  const bool host_from = p.srcMemoryType == kMemoryHost, host_to = p.dstMemoryType == kMemoryHost;
  given.kind = unified     ? kDefault
               : host_from ? (host_to ? kHostToHost : kHostToDevice)
                           : (host_to ? kDeviceToHost : kDeviceToDevice);
  return eSuccess;
}

}  // namespace ptx2spv::cuda
