#include "src/vulkan/side_queues.hpp"

namespace ptx2spv::runtime {

Result<SideQueues::Lease> SideQueues::take(double timeout) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !free_.empty() || all_.size() < count_; });
  if (free_.empty()) {
    auto queue = std::make_unique<Queue>(device_);
    const auto index = first_ + static_cast<std::uint32_t>(all_.size());
    if (Status status = queue->open(family_, VK_NULL_HANDLE, index); !status) {
      queue->close();
      return status.error();
    }
    free_.push_back(queue.get());
    all_.push_back(std::move(queue));
  }
  Queue& queue = *free_.back();
  free_.pop_back();
  queue.set_timeout(timeout);
  return Lease(*this, queue);
}

void SideQueues::give_back(Queue& queue) {
  std::lock_guard lock(mutex_);
  free_.push_back(&queue);
  changed_.notify_one();
}

void SideQueues::close() {
  for (const auto& queue : all_) queue->close();
}

}  // namespace ptx2spv::runtime
