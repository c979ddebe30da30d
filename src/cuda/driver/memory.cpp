// Memory, pools, pointers, arrays and mipmapped arrays.
#include <algorithm>
#include <cstring>

#include "src/cuda/driver/face.hpp"

namespace ptx2spv::cuda {

CUresult pointer_attribute(void* data, int attribute, CUdeviceptr address) {
  const auto [allocation, offset] = find_place(address);
  if (!allocation) return fail(eInvalidValue, "CUDA does not know the address");
  const bool host = allocation->use == MemoryUse::host || allocation->use == MemoryUse::registered;
  const auto put = [&](auto value) {
    std::memcpy(data, &value, sizeof value);
    return eSuccess;
  };
  switch (attribute) {
    case 1: return put(allocation->context);
    case 2: return put(host ? kMemoryHost : kMemoryDevice);
    case 3: return put(CUdeviceptr{allocation->address + offset});
    case 4:
      if (!allocation->host) return fail(eInvalidValue, "the host does not reach the memory");
      return put(static_cast<void*>(allocation->host + offset));
    case 6: return put(host ? 0 : 1);
    case 7: return put(allocation->id);
    case 8: return put(allocation->use == MemoryUse::managed ? 1 : 0);
    case 9: return put(allocation->context->device->ordinal);
    case 10: return put(0);
    case 11: return put(CUdeviceptr{allocation->address});
    case 12: return put(allocation->bytes);
    case 13: return put(1);
    case 14: return put(std::uint64_t{0});
    case 15: return put(0);
    case 16: return put(3);
    case 17: return put(allocation->pool.get());
    case 18: return put(allocation->bytes);
    case 19: return put(CUdeviceptr{allocation->address});
    case 20: return put(allocation->id);
    case 21: return put(0);
    default: return fail(eInvalidValue, "no such attribute of a pointer");
  }
}

namespace {

/// What an H100's driver (580.159) has in cuPointerGetAttributes of what an address lacks. `host`
/// is the address where CUDA does not know it, and null where the host does not reach it.
void put_unknown(void* data, int attribute, CUdeviceptr host) {
  const auto put = [&](auto value) { std::memcpy(data, &value, sizeof value); };
  switch (attribute) {
    case 4: return put(host);
    case 9: return put(-2);  // CU_DEVICE_INVALID
    case 11:
    case 12: return;
    case 1:
    case 3:
    case 7:
    case 14:
    case 17:
    case 18:
    case 19:
    case 20: return put(std::uint64_t{0});
    default: return put(0);
  }
}

CUresult give(std::size_t bytes, MemoryUse use, unsigned flags, std::shared_ptr<Allocation>& made,
              BufferMemory own = BufferMemory::device) {
  return call([&](ContextObject& context) {
    const CUresult code = begin_unsafe_call();
    return code == eSuccess ? allocate(context, bytes, use, flags, made, nullptr, own) : code;
  });
}

CUresult give_address(CUdeviceptr& address, std::size_t bytes, BufferMemory own) {
  std::shared_ptr<Allocation> made;
  const CUresult code = give(bytes, MemoryUse::device, 0, made, own);
  if (code == eSuccess) address = made->address;
  return code;
}

}  // namespace

extern "C" {

CUresult cuMemAlloc_v2(CUdeviceptr* address, std::size_t bytes) {
  return address ? give_address(*address, bytes, BufferMemory::device) : eInvalidValue;
}

CUresult cuMemAllocPitch_v2(CUdeviceptr* address, std::size_t* pitch, std::size_t width,
                            std::size_t height, unsigned element) {
  if (!address || !pitch || !width || !height) return eInvalidValue;
  if (element != 4 && element != 8 && element != 16)
    return fail(eInvalidValue, "element of 4, 8, 16");
  std::size_t rounded = 0, bytes = 0;
  if (CUresult code = pitch_of(width, rounded); code != eSuccess) return code;
  if (__builtin_mul_overflow(rounded, height, &bytes)) return eMemoryAllocation;
  *pitch = rounded;
  return give_address(*address, bytes, BufferMemory::rows);
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, std::size_t* bytes, CUdeviceptr address) {
  return call([&](ContextObject&) -> CUresult {
    auto allocation = find_address(address);
    if (!allocation) return fail(eSymbolNotFound, "no memory has that address");
    if (base) *base = allocation->address;
    if (bytes) *bytes = allocation->bytes;
    return eSuccess;
  });
}

CUresult cuMemHostAlloc(void** made, std::size_t bytes, unsigned flags) {
  if (!made || (flags & ~7u)) return eInvalidValue;
  *made = nullptr;
  if (!bytes) return call([](ContextObject&) { return eSuccess; });
  std::shared_ptr<Allocation> allocation;
  CUresult code = give(bytes, MemoryUse::host, flags, allocation);
  if (code == eSuccess) *made = allocation->host;
  return code;
}

CUresult cuMemAllocManaged(CUdeviceptr* address, std::size_t bytes, unsigned flags) {
  if (!address || (flags != 1 && flags != 2)) return eInvalidValue;
  std::shared_ptr<Allocation> made;
  CUresult code = give(bytes, MemoryUse::managed, flags, made);
  if (code == eSuccess) *address = made->address;
  return code;
}

CUresult cuPointerGetAttributes(unsigned count, int* attributes, void** data, CUdeviceptr address) {
  if (!attributes || !data || !count) return eInvalidValue;
  return call_anywhere([&](ContextObject*) {
    const auto is_none = [](int id) { return id < 1 || id == 5 || id > 21; };
    if (std::any_of(attributes, attributes + count, is_none))
      return fail(eInvalidValue, "no such attribute of a pointer");
    for (unsigned i = 0; i < count; ++i)
      if (data[i] && pointer_attribute(data[i], attributes[i], address) != eSuccess)
        put_unknown(data[i], attributes[i], find_address(address) ? 0 : address);
    return eSuccess;
  });
}

CUresult cuPointerSetAttribute(const void* value, int attribute, CUdeviceptr address) {
  if (!value || attribute != 6) return eInvalidValue;  // SYNC_MEMOPS, which all copies are
  return ANYWHERE(find_address(address) ? eSuccess : eInvalidValue);
}

// ---------------------------------------------------------------------------------------- arrays

CUresult cuArrayCreate_v2(CUarray* array, const CUDA_ARRAY_DESCRIPTOR* desc) {
  if (!array || !desc) return eInvalidValue;
  const CUDA_ARRAY3D_DESCRIPTOR full{desc->Width,  desc->Height,      0,
                                     desc->Format, desc->NumChannels, 0};
  return cuArray3DCreate_v2(array, &full);
}

CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR* desc, CUarray array) {
  if (!desc) return eInvalidValue;
  return with(tables().arrays, array, [&](ArrayObject& object) {
    *desc = {object.desc.Width, object.desc.Height, object.desc.Format, object.desc.NumChannels};
    return eSuccess;
  });
}

}  // extern "C"

}  // namespace ptx2spv::cuda
