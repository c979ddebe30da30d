#include "src/stream/ring.hpp"

#include "src/device/device.hpp"

namespace ptx2spv::runtime {

Status Ring::open(DeviceState& device, std::uint64_t bytes) {
  auto memory = device.heap.allocate(MemoryKind::visible, bytes + kWindow);
  if (!memory) return memory.error();
  device_ = &device;
  memory_ = std::move(*memory);
  bytes_ = bytes;
  return {};
}

Result<Slice> Ring::take(std::uint64_t bytes) {
  bytes = (bytes + 255) / 256 * 256;
  if (bytes > bytes_) return make_error(ErrorCode::internal, "a launch has too many parameter bytes");
  std::uint64_t begin = head_ + bytes <= bytes_ ? head_ : 0;
  // Spans in front of the head belong to the oldest work, so waiting in order is enough.
  while (!spans_.empty()) {
    bool over = spans_.front().value && device_->queue.reached(spans_.front().value);
    if (!over) {
      bool blocked = false;
      for (const Span& span : spans_) blocked |= begin < span.end && span.begin < begin + bytes;
      if (!blocked) break;
      if (!spans_.front().value)
        return make_error(ErrorCode::internal, "one submission fills the parameter ring");
      if (Status status = device_->queue.wait(spans_.front().value); !status) return status.error();
    }
    spans_.pop_front();
  }
  spans_.push_back({begin, begin + bytes, 0});
  head_ = begin + bytes;
  return Slice{memory_.mapped() + begin, begin, memory_.address() + begin};
}

void Ring::close(std::uint64_t value) {
  for (auto span = spans_.rbegin(); span != spans_.rend() && !span->value; ++span) span->value = value;
}

}  // namespace ptx2spv::runtime
