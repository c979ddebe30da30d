// Queues beside the one that all other work is gathered in, for kernels that wait for what the
// program does while they run: each has one to itself, so that the work of others goes on.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "src/vulkan/queue.hpp"

namespace ptx2spv::runtime {

/// Thread-safe.
class SideQueues {
 public:
  explicit SideQueues(VulkanDevice& device) : device_(device) {}
  SideQueues(const SideQueues&) = delete;
  SideQueues& operator=(const SideQueues&) = delete;

  /// The device was made with so many queues of a family, from that index on.
  void configure(std::uint32_t family, std::uint32_t first, std::uint32_t count) {
    family_ = family;
    first_ = first;
    count_ = count;
  }
  bool any() const { return count_ != 0; }
  void close();

  /// A queue until it is destroyed.
  class Lease {
   public:
    Lease(SideQueues& from, Queue& queue) : from_(&from), queue_(&queue) {}
    Lease(Lease&& other) noexcept : from_(other.from_), queue_(other.queue_) {
      other.queue_ = nullptr;
    }
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (queue_) from_->give_back(*queue_);
    }
    Queue& queue() { return *queue_; }

   private:
    SideQueues* from_;
    Queue* queue_;
  };
  /// Waits until one is free.
  Result<Lease> take(double timeout);

 private:
  void give_back(Queue& queue);

  VulkanDevice& device_;
  std::uint32_t family_ = 0, first_ = 0, count_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Queue>> all_;  ///< as many as were needed at a time
  std::vector<Queue*> free_;
};

}  // namespace ptx2spv::runtime
