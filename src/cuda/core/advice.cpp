#include "src/cuda/core/advice.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>

#include <fmt/format.h>

namespace ptx2spv::cuda {

namespace {

constexpr std::size_t kPage = 4096;
constexpr int kNowhere = -2, kHost = -1;  // CU_DEVICE_INVALID, CU_DEVICE_CPU

/// CUmemLocationType: of the host's nodes one, and the one of the calling thread.
constexpr int kDevice = 1, kNode = 3, kCurrentNode = 4;

/// CUmem_advise.
enum : int {
  kSetReadMostly = 1,
  kUnsetReadMostly,
  kSetPreferred,
  kUnsetPreferred,
  kSetAccessed,
  kUnsetAccessed
};

/// What was said of a page.
struct Page {
  bool read_mostly = false;
  int preferred = kNowhere, prefetched = kNowhere;
  std::set<int> accessed;
};

/// The pages of allocations by Allocation::id, from their first byte on.
struct Pages {
  std::mutex mutex;
  std::unordered_map<std::uint64_t, std::vector<Page>> all;
};
Pages& pages() {
  static auto* list = new Pages;
  return *list;
}

/// The pages of a range, under Pages::mutex. It is one of managed memory.
std::span<Page> pages_of(CUdeviceptr address, std::size_t bytes) {
  const auto allocation = find_address(address);
  if (!allocation) return {};
  const std::size_t offset = address - allocation->address;
  auto& list = pages().all[allocation->id];
  list.resize((allocation->bytes + kPage - 1) / kPage);
  const std::size_t first = offset / kPage, last = (offset + bytes + kPage - 1) / kPage;
  return std::span(list).subspan(first, last - first);
}

/// Whether the system gave it out, and kernels of that place reach it: advice on it is taken, and
/// nobody can ask for it.
bool is_pageable(CUdeviceptr address, std::size_t bytes, int place) {
  DeviceObject* device = device_at(std::max(place, 0));
  return device && bytes && !find_address(address) && is_mapped(address, bytes) &&
         device_attribute(*device, DeviceAttribute::PAGEABLE_MEMORY_ACCESS).value_or(0);
}

/// A node of the host's memory; a kernel without such nodes has one.
bool is_node(int id) {
  std::error_code none;
  return id == 0 ||
         std::filesystem::exists(fmt::format("/sys/devices/system/node/node{}", id), none);
}

/// What all pages have alike, else `other`.
template <class Get>
int common(std::span<const Page> range, int other, Get&& get) {
  const int value = get(range.front());
  return std::ranges::all_of(range, [&](const Page& each) { return get(each) == value; }) ? value
                                                                                          : other;
}

CUresult give(int value, void* data, std::size_t bytes) {
  if (bytes != sizeof value) return fail(eInvalidValue, "the attribute has four bytes");
  std::memcpy(data, &value, sizeof value);
  return eSuccess;
}

/// The devices that all pages name, and nowhere for the other places.
CUresult give_accessed(std::span<const Page> range, void* data, std::size_t bytes) {
  if (!bytes || bytes % sizeof(int)) return fail(eInvalidValue, "the attribute has whole words");
  std::vector<int> named;
  for (const int place : range.front().accessed)
    if (std::ranges::all_of(range, [&](const Page& each) { return each.accessed.count(place); }))
      named.push_back(place);
  named.resize(bytes / sizeof(int), kNowhere);
  std::memcpy(data, named.data(), bytes);
  return eSuccess;
}

/// CUmemLocationType.
int type_of_place(int place) { return place == kNowhere ? 0 : place == kHost ? 2 : 1; }

}  // namespace

AdvisedPlace location_of(const CUmemLocation& location) {
  const int type = location.type;
  if (type < kDevice || type > kCurrentNode) return {0, eInvalidValue, 0};
  if (type == kDevice)
    return {location.id, device_at(location.id) ? eSuccess : eInvalidDevice, type};
  return {kHost, type == kNode && !is_node(location.id) ? eInvalidValue : eSuccess, type};
}

AdvisedPlace location_of_ordinal(int ordinal) {
  return {ordinal, ordinal == kHost || device_at(ordinal) ? eSuccess : eInvalidDevice};
}

CUresult advise(CUdeviceptr address, std::size_t bytes, int advice, AdvisedPlace place) {
  if (advice < kSetReadMostly || advice > kUnsetAccessed)
    return fail(eInvalidValue, "no such advice");
  const bool located = advice == kSetPreferred || advice >= kSetAccessed;
  if (!located && place.type) place = {kHost, eSuccess};
  if (place.code != eSuccess) return fail(eInvalidValue, "no such device or node");
  if (advice >= kSetAccessed && place.type >= kNode)
    return fail(eInvalidValue, "a device accesses memory, or the whole host");
  if (is_pageable(address, bytes, place.ordinal)) return eSuccess;
  if (CUresult code = check_managed(address, bytes); code != eSuccess) return code;
  std::lock_guard lock(pages().mutex);
  for (Page& each : pages_of(address, bytes)) switch (advice) {
      case kSetReadMostly: each.read_mostly = true; break;
      case kUnsetReadMostly: each.read_mostly = false; break;
      case kSetPreferred: each.preferred = place.ordinal; break;
      case kUnsetPreferred: each.preferred = kNowhere; break;
      case kSetAccessed: each.accessed.insert(place.ordinal); break;
      default: each.accessed.erase(place.ordinal);
    }
  return eSuccess;
}

CUresult prefetch(CUdeviceptr address, std::size_t bytes, AdvisedPlace place, unsigned flags) {
  if (flags) return fail(eInvalidValue, "the flags of a prefetch are 0");
  if (!address || !bytes) return fail(eInvalidValue, "a prefetch of no memory");
  if (place.code != eSuccess) return fail(place.code, "no such device or node");
  if (is_pageable(address, bytes, place.ordinal)) return eSuccess;
  if (CUresult code = check_managed(address, bytes); code != eSuccess) return code;
  std::lock_guard lock(pages().mutex);
  for (Page& each : pages_of(address, bytes)) each.prefetched = place.ordinal;
  return eSuccess;
}

CUresult attach(const StreamObject& stream, CUdeviceptr address, std::size_t bytes,
                unsigned flags) {
  constexpr unsigned kGlobal = 1, kHostAlone = 2, kSingle = 4;
  if (flags != kGlobal && flags != kHostAlone && flags != kSingle)
    return fail(eInvalidValue, "memory is attached in one way");
  if (flags == kSingle && &stream == stream.context->legacy.get())
    return fail(eInvalidValue, "memory is not attached to the legacy stream");
  if (is_pageable(address, bytes, stream.context->device->ordinal)) return eSuccess;
  const auto allocation = find_address(address);
  if (!allocation ||
      (allocation->use != MemoryUse::managed && allocation->use != MemoryUse::variable))
    return fail(eInvalidValue, "the memory is not managed, or has no length");
  if (bytes && bytes != allocation->bytes)
    return fail(eInvalidValue, "a part of the memory is not attached");
  return eSuccess;
}

CUresult range_attribute(void* data, std::size_t data_bytes, int attribute, CUdeviceptr address,
                         std::size_t bytes) {
  if (!data) return fail(eInvalidValue, "no place for the attribute");
  if (CUresult code = check_managed(address, bytes); code != eSuccess) return code;
  std::lock_guard lock(pages().mutex);
  const std::span<const Page> range = pages_of(address, bytes);
  if (range.empty()) return fail(eInvalidValue, "the memory is not managed");
  const int preferred = common(range, kNowhere, [](const Page& each) { return each.preferred; });
  const int prefetched = common(range, kNowhere, [](const Page& each) { return each.prefetched; });
  switch (attribute) {
    case 1:
      return give(common(range, 0, [](const Page& each) { return int{each.read_mostly}; }), data,
                  data_bytes);
    case 2:
    case 6: return give(preferred, data, data_bytes);
    case 3: return give_accessed(range, data, data_bytes);
    case 4:
    case 8: return give(prefetched, data, data_bytes);
    case 5: return give(type_of_place(preferred), data, data_bytes);
    case 7: return give(type_of_place(prefetched), data, data_bytes);
    default: return fail(eInvalidValue, "no such attribute of a range");
  }
}

CUresult range_attributes(void** data, const std::size_t* data_bytes, const int* attributes,
                          std::size_t count, CUdeviceptr address, std::size_t bytes) {
  if (!data || !data_bytes || !attributes || !count) return fail(eInvalidValue, "no attributes");
  for (std::size_t i = 0; i < count; ++i)
    if (CUresult code = range_attribute(data[i], data_bytes[i], attributes[i], address, bytes);
        code != eSuccess)
      return code;
  return eSuccess;
}

}  // namespace ptx2spv::cuda
