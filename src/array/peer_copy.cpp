#include "src/array/peer_copy.hpp"

#include <algorithm>
#include <cstdlib>
#include <future>

#include "src/array/shared_memory.hpp"

namespace ptx2spv::runtime {

namespace {

// Two pieces: one device fills one while the other device empties the other. Large ones keep a bus
// busy between two submissions.
constexpr std::uint64_t kPiece = std::uint64_t{8} << 20;
constexpr std::uint64_t kAlignment = std::uint64_t{2} << 20;

}  // namespace

Result<Buffer> peer_pages(const Device& device) {
  static auto* const pages = static_cast<std::byte*>(std::aligned_alloc(kAlignment, 2 * kPiece));
  if (!pages) return make_error(ErrorCode::out_of_memory, "no memory for copies between devices");
  return import_pages(device, pages, 2 * kPiece);
}

Status copy_by_pages(const Buffer& from, std::uint64_t from_offset, Buffer& out, const Buffer& in,
                     Buffer& to, std::uint64_t to_offset, std::uint64_t bytes) {
  std::future<Status> emptied;
  Status status;
  std::uint64_t half = 0;
  for (std::uint64_t at = 0; at < bytes && status; at += kPiece, half ^= kPiece) {
    const std::uint64_t count = std::min(kPiece, bytes - at);
    status = out.copy_from(from, from_offset + at, half, count);
    if (emptied.valid()) {
      Status before = emptied.get();
      if (status) status = std::move(before);
    }
    if (!status) break;
    const auto empty = [&to, &in, half, place = to_offset + at, count] {
      return to.copy_from(in, half, place, count);
    };
    if (at + count == bytes)
      status = empty();
    else
      emptied = std::async(std::launch::async, empty);
  }
  return status;
}

}  // namespace ptx2spv::runtime
