#include "src/stream/ring.hpp"

namespace ptx2spv::runtime {

Status Ring::open(Heap& heap, std::uint64_t bytes) {
  auto memory = heap.allocate(MemoryKind::visible, bytes + kWindow);
  if (!memory) return memory.error();
  auto traps = heap.allocate(MemoryKind::readback, bytes + kTrapBytes);
  if (!traps) return traps.error();
  memory_ = std::move(*memory);
  traps_ = std::move(*traps);
  bytes_ = bytes;
  return {};
}

namespace {
std::uint64_t round_up(std::uint64_t bytes) { return (bytes + 255) / 256 * 256; }
}  // namespace

std::uint64_t Ring::blocked_by(std::uint64_t bytes) {
  bytes = round_up(bytes);
  while (!spans_.empty() && spans_.front().value && spans_.front().value <= released_)
    spans_.pop_front();
  std::uint64_t begin = head_ + bytes <= bytes_ ? head_ : 0;
  // The oldest spans come next in the ring, at its end if the slice begins anew.
  auto span = spans_.begin();
  while (begin != head_ && span != spans_.end() && span->begin >= head_) ++span;
  // The newest span in the way: everything older is over when it is.
  std::uint64_t value = 0;
  for (; span != spans_.end() && begin < span->end && span->begin < begin + bytes; ++span)
    value = span->value ? span->value : UINT64_MAX;
  return value;
}

Result<Slice> Ring::take(std::uint64_t bytes) {
  if (round_up(bytes) > bytes_ || blocked_by(bytes))
    return make_error(ErrorCode::internal, "a launch does not fit the parameter ring");
  bytes = round_up(bytes);
  std::uint64_t begin = head_ + bytes <= bytes_ ? head_ : 0;
  spans_.push_back({begin, begin + bytes, 0});
  head_ = begin + bytes;
  return Slice{memory_.mapped() + begin, traps_.mapped() + begin, begin, memory_.address() + begin};
}

void Ring::close(std::uint64_t value) {
  for (auto span = spans_.rbegin(); span != spans_.rend() && !span->value; ++span)
    span->value = value;
}

void Ring::cancel() {
  while (!spans_.empty() && !spans_.back().value) spans_.pop_back();
}

}  // namespace ptx2spv::runtime
