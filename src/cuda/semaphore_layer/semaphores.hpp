// Semaphores that several VkDevices of one process share by file descriptors, on drivers that share
// none: each device has a timeline semaphore of the driver's, and a thread carries what one of them
// reaches to the others.
#pragma once

#include <vulkan/vulkan.h>

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace ptx2spv::semaphore_layer {

/// The functions of the next layer, or of the driver, that a device's semaphores take.
struct Calls {
  VkDevice device = VK_NULL_HANDLE;
  PFN_vkGetDeviceProcAddr get = nullptr;
#define PTX2SPV_CALL(name) PFN_vk##name name = nullptr;
#include "src/cuda/semaphore_layer/calls.def"
  Calls() = default;
  Calls(VkDevice handle, PFN_vkGetDeviceProcAddr next);
};

class Payload;

/// A device's part in a payload: the driver's timeline semaphore, which has the payload's value.
class Mirror {
 public:
  /// `handle` becomes the mirror's. Null: the thread cannot be started.
  Mirror(const Calls& calls, std::shared_ptr<Payload> payload, VkSemaphore handle);
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;
  ~Mirror();

  VkSemaphore handle() const { return handle_; }
  const std::shared_ptr<Payload>& payload() const { return payload_; }
  /// The device was given work that brings the semaphore to `value`.
  void submitted(std::uint64_t value);
  /// Brings the semaphore, and those of the other devices, to `value` now.
  VkResult signal(std::uint64_t value);

 private:
  friend class Payload;
  void watch();

  const Calls& calls_;
  std::shared_ptr<Payload> payload_;
  VkSemaphore handle_;
  std::mutex guard_;
  std::condition_variable changed_;
  std::deque<std::uint64_t> expected_;
  bool stop_ = false;
  std::thread thread_;
};

/// What a descriptor names.
class Payload : public std::enable_shared_from_this<Payload> {
 public:
  explicit Payload(bool timeline) : timeline_(timeline) {}

  bool timeline() const { return timeline_; }
  /// The values of a binary semaphore's next signal and wait: the nth wait is for the nth signal.
  std::uint64_t next_signal();
  std::uint64_t next_wait();

  void join(Mirror& mirror);
  void leave(Mirror& mirror);
  /// All mirrors but `from` come to `value`, unless they are there.
  VkResult carry(const Mirror* from, std::uint64_t value);
  /// What the payload is known to have reached.
  std::uint64_t value();

  /// A new descriptor; negative: the process has no more.
  int describe();
  /// What `fd` names, if a semaphore of this process.
  static std::shared_ptr<Payload> described(int fd);

 private:
  const bool timeline_;
  std::mutex guard_;
  std::vector<Mirror*> mirrors_;
  std::uint64_t signals_ = 0, waits_ = 0, reached_ = 0;
};

}  // namespace ptx2spv::semaphore_layer
