#include "src/array/peer_copy.hpp"

#include <cstdlib>
#include <future>

#include "src/array/shared_memory.hpp"

namespace ptx2spv::runtime {

Result<Buffer> peer_pages(const Device& device) {
  constexpr std::uint64_t kAlignment = std::uint64_t{2} << 20;
  static auto* const pages =
      static_cast<std::byte*>(std::aligned_alloc(kAlignment, 2 * kPeerPiece));
  if (!pages) return make_error(ErrorCode::out_of_memory, "no memory for copies between devices");
  return import_pages(device, pages, 2 * kPeerPiece);
}

Status copy_by_pages(Buffer& out, Buffer& in, std::size_t pieces, const PeerStep& fill,
                     const PeerStep& empty) {
  std::future<Status> emptied;
  Status status;
  for (std::size_t piece = 0; piece < pieces && status; ++piece) {
    const std::uint64_t half = piece % 2 * kPeerPiece;
    status = fill(out, half, piece);
    if (emptied.valid()) {
      Status before = emptied.get();
      if (status) status = std::move(before);
    }
    if (!status) break;
    const auto end = [&empty, &in, half, piece] { return empty(in, half, piece); };
    if (piece + 1 == pieces)
      status = end();
    else
      emptied = std::async(std::launch::async, end);
  }
  return status;
}

}  // namespace ptx2spv::runtime
