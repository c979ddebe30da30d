// What devices have of each other: whether kernels reach another's memory, and copies between two.
#include <algorithm>

#include "src/array/shared_memory.hpp"
#include "src/cuda/core/core.hpp"
#include "src/device/device.hpp"

namespace ptx2spv::cuda {

CUresult can_access_peer(int ordinal, int peer_ordinal, int& can) {
  DeviceObject* const device = device_at(ordinal);
  DeviceObject* const peer = device_at(peer_ordinal);
  if (!device || !peer) return fail(eInvalidDevice, "no such device");
  can = 0;
  if (device == peer) return eSuccess;
  // Drivers of the CPU allocate memory of the process, where all of them reach it. Vulkan gives
  // GPUs no addresses of each other's.
  for (DeviceObject* each : {device, peer}) {
    if (each->info.kind != DeviceKind::cpu) return eSuccess;
    if (CUresult code = open_device(*each); code != eSuccess) return code;
  }
  // The sanitizer knows each device's allocations alone.
  can = device->shared_addresses && peer->shared_addresses && !device->device->state()->checks &&
        !peer->device->state()->checks;
  return eSuccess;
}

CUresult peer_attribute(int attribute, int ordinal, int peer, int& value) {
  constexpr int kAccess = 2, kNativeAtomics = 3;
  int can = 0;
  if (CUresult code = can_access_peer(ordinal, peer, can); code != eSuccess) return code;
  value = attribute == kAccess || attribute == kNativeAtomics ? can : 0;
  return eSuccess;
}

CUresult enable_peer(ContextObject& context, int ordinal, unsigned flags) {
  if (flags) return fail(eInvalidValue, "peer access has no flags");
  int can = 0;
  if (CUresult code = can_access_peer(context.device->ordinal, ordinal, can); code != eSuccess)
    return code;
  if (!can) return fail(ePeerAccessUnsupported, "kernels do not reach that device's memory");
  std::lock_guard lock(context.mutex);
  if (std::ranges::count(context.peers, ordinal))
    return fail(ePeerAccessAlreadyEnabled, "the context has access to that device");
  context.peers.push_back(ordinal);
  return eSuccess;
}

CUresult disable_peer(ContextObject& context, int ordinal) {
  if (!device_at(ordinal)) return fail(eInvalidDevice, "no such device");
  std::lock_guard lock(context.mutex);
  if (!std::erase(context.peers, ordinal))
    return fail(ePeerAccessNotEnabled, "the context has no access to that device");
  return eSuccess;
}

namespace {

/// Null: the device does not reach them.
Buffer* pages_of(DeviceObject& object) {
  std::lock_guard lock(object.mutex);
  if (!object.peer_pages && runtime::imports_pages(*object.device->state())) {
    auto pages = runtime::peer_pages(*object.device);
    if (pages) object.peer_pages = std::move(*pages);
  }
  return object.peer_pages ? &*object.peer_pages : nullptr;
}

}  // namespace

std::optional<Status> copy_to_peer(DeviceObject& from, DeviceObject& to, std::size_t pieces,
                                   const runtime::PeerStep& fill, const runtime::PeerStep& empty) {
  // A copy may wait for a kernel that waits for what another copy brings.
  static std::mutex mutex;
  const std::unique_lock lock(mutex, std::try_to_lock);
  if (!lock) return std::nullopt;
  Buffer* const out = pages_of(from);
  Buffer* const in = pages_of(to);
  if (!out || !in) return std::nullopt;
  return runtime::copy_by_pages(*out, *in, pieces, fill, empty);
}

}  // namespace ptx2spv::cuda
