// Addresses and memory apart from each other.
#include "src/cuda/driver/face.hpp"

namespace ptx2spv::cuda {

extern "C" {

CUresult cuMemGetAllocationGranularity(std::size_t* bytes, const CUmemAllocationProp* props,
                                       int option) {
  return call([&](ContextObject&) { return mapping_granularity(bytes, props, option); });
}
CUresult cuMemAddressReserve(CUdeviceptr* made, std::size_t bytes, std::size_t alignment,
                             CUdeviceptr, unsigned long long flags) {
  return call([&](ContextObject& context) {
    return reserve_addresses(context, made, bytes, alignment, flags);
  });
}
CUresult cuMemAddressFree(CUdeviceptr address, std::size_t bytes) {
  return call([&](ContextObject&) { return free_addresses(address, bytes); });
}
CUresult cuMemCreate(std::uint64_t* made, std::size_t bytes, const CUmemAllocationProp* props,
                     unsigned long long flags) {
  return call([&](ContextObject&) { return create_memory(made, bytes, props, flags); });
}
CUresult cuMemRelease(std::uint64_t handle) {
  return call([&](ContextObject&) { return release_memory(handle); });
}
CUresult cuMemMap(CUdeviceptr address, std::size_t bytes, std::size_t offset, std::uint64_t handle,
                  unsigned long long flags) {
  return call([&](ContextObject&) { return map_memory(address, bytes, offset, handle, flags); });
}
CUresult cuMemUnmap(CUdeviceptr address, std::size_t bytes) {
  return call([&](ContextObject& context) { return unmap_memory(context, address, bytes); });
}
CUresult cuMemSetAccess(CUdeviceptr address, std::size_t bytes, const CUmemAccessDesc* list,
                        std::size_t count) {
  return call([&](ContextObject& context) {
    return set_mapping_access(context, address, bytes, list, count);
  });
}
CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location,
                        CUdeviceptr address) {
  return call([&](ContextObject&) { return mapping_access(flags, location, address); });
}
CUresult cuMemRetainAllocationHandle(std::uint64_t* handle, void* address) {
  return call([&](ContextObject&) { return retain_mapping(handle, address); });
}
CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* props, std::uint64_t handle) {
  return call([&](ContextObject&) { return memory_properties(props, handle); });
}

}  // extern "C"

}  // namespace ptx2spv::cuda
