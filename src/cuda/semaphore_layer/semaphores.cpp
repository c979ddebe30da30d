#include "src/cuda/semaphore_layer/semaphores.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>

namespace ptx2spv::semaphore_layer {
namespace {

/// The contents of a descriptor's file. A child of fork() has the numbers, but not the semaphores.
struct Description {
  char kind[16] = "ptx2spv sem 1";
  std::int64_t process = 0;
  std::uint64_t number = 0;
  bool operator==(const Description&) const = default;
};

/// Payloads with a descriptor, which may be imported until the process ends.
struct Described {
  std::mutex guard;
  std::vector<std::shared_ptr<Payload>> payloads;
};
Described& all_described() {
  static auto* all = new Described;  // threads may use it while the process ends
  return *all;
}

}  // namespace

Calls::Calls(VkDevice handle, PFN_vkGetDeviceProcAddr next) : device(handle), get(next) {
  // An application of Vulkan 1.0 has the extensions' functions alone.
  const auto load = [&](const std::string& name) {
    const PFN_vkVoidFunction core = get(device, name.c_str());
    return core ? core : get(device, (name + "KHR").c_str());
  };
#define PTX2SPV_CALL(name) name = reinterpret_cast<PFN_vk##name>(load("vk" #name));
#include "src/cuda/semaphore_layer/calls.def"
}

Mirror::Mirror(const Calls& calls, std::shared_ptr<Payload> payload, VkSemaphore handle)
    : calls_(calls), payload_(std::move(payload)), handle_(handle) {
  thread_ = std::thread([this] { watch(); });
  payload_->join(*this);
}

Mirror::~Mirror() {
  {
    std::lock_guard lock(guard_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
  payload_->leave(*this);
  calls_.DestroySemaphore(calls_.device, handle_, nullptr);
}

void Mirror::submitted(std::uint64_t value) {
  {
    std::lock_guard lock(guard_);
    expected_.push_back(value);
  }
  changed_.notify_all();
}

VkResult Mirror::signal(std::uint64_t value) {
  VkSemaphoreSignalInfo info{VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO};
  info.semaphore = handle_;
  info.value = value;
  const VkResult result = calls_.SignalSemaphore(calls_.device, &info);
  return result == VK_SUCCESS ? payload_->carry(this, value) : result;
}

void Mirror::watch() {
  constexpr std::uint64_t kSlice = 50'000'000;  // nanoseconds until it looks whether to stop
  std::unique_lock lock(guard_);
  while (true) {
    changed_.wait(lock, [&] { return stop_ || !expected_.empty(); });
    if (expected_.empty()) return;
    const std::uint64_t value = expected_.front();
    lock.unlock();
    VkSemaphoreWaitInfo info{VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO};
    info.semaphoreCount = 1;
    info.pSemaphores = &handle_;
    info.pValues = &value;
    const VkResult result = calls_.WaitSemaphores(calls_.device, &info, kSlice);
    if (result == VK_SUCCESS) payload_->carry(this, value);
    lock.lock();
    if (result == VK_TIMEOUT && !stop_) continue;
    if (result != VK_SUCCESS) return;  // the device is lost, or the semaphore goes
    expected_.pop_front();
  }
}

std::uint64_t Payload::next_signal() {
  std::lock_guard lock(guard_);
  return ++signals_;
}

std::uint64_t Payload::next_wait() {
  std::lock_guard lock(guard_);
  return ++waits_;
}

void Payload::join(Mirror& mirror) {
  {
    std::lock_guard lock(guard_);
    mirrors_.push_back(&mirror);
  }
  carry(nullptr, value());  // what was reached since the mirror's handle was made
}

void Payload::leave(Mirror& mirror) {
  std::lock_guard lock(guard_);
  std::erase(mirrors_, &mirror);
}

std::uint64_t Payload::value() {
  std::lock_guard lock(guard_);
  for (const Mirror* each : mirrors_) {
    std::uint64_t now = 0;
    each->calls_.GetSemaphoreCounterValue(each->calls_.device, each->handle_, &now);
    reached_ = std::max(reached_, now);
  }
  return reached_;
}

VkResult Payload::carry(const Mirror* from, std::uint64_t value) {
  std::lock_guard lock(guard_);
  reached_ = std::max(reached_, value);
  VkResult result = VK_SUCCESS;
  for (const Mirror* each : mirrors_) {
    std::uint64_t now = 0;
    const Calls& calls = each->calls_;
    if (each == from ||
        calls.GetSemaphoreCounterValue(calls.device, each->handle_, &now) != VK_SUCCESS ||
        now >= value)
      continue;
    VkSemaphoreSignalInfo info{VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO};
    info.semaphore = each->handle_;
    info.value = value;
    result = std::min(result, calls.SignalSemaphore(calls.device, &info));
  }
  return result;
}

int Payload::describe() {
  Description text;
  text.process = ::getpid();
  {
    Described& all = all_described();
    std::lock_guard lock(all.guard);
    const auto self = shared_from_this();
    auto place = std::ranges::find(all.payloads, self);
    if (place == all.payloads.end()) place = all.payloads.insert(place, self);
    text.number = static_cast<std::uint64_t>(place - all.payloads.begin());
  }
  const int fd = ::memfd_create("ptx2spv-semaphore", MFD_CLOEXEC);
  if (fd >= 0 && ::pwrite(fd, &text, sizeof text, 0) == sizeof text) return fd;
  if (fd >= 0) ::close(fd);
  return -1;
}

std::shared_ptr<Payload> Payload::described(int fd) {
  Description text, expected;
  if (::pread(fd, &text, sizeof text, 0) != sizeof text) return nullptr;
  expected.process = ::getpid();
  expected.number = text.number;
  Described& all = all_described();
  std::lock_guard lock(all.guard);
  return text == expected && text.number < all.payloads.size() ? all.payloads[text.number]
                                                               : nullptr;
}

}  // namespace ptx2spv::semaphore_layer
