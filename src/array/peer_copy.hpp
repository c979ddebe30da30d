// Copies from a device's memory to another's by way of memory of the process.
#pragma once

#include <functional>

#include "ptx2spv/vulkan.hpp"

namespace ptx2spv::runtime {

/// The device's view of the pages that all devices copy by: one copy at a time. unsupported where
/// it does not reach pages of the process.
Result<Buffer> peer_pages(const Device& device);
/// What a piece of a copy has at most. Large ones keep a bus busy between two submissions.
inline constexpr std::uint64_t kPeerPiece = std::uint64_t{8} << 20;
/// Copies a piece, by its number, to or from `pages` at an offset.
using PeerStep = std::function<Status(Buffer& pages, std::uint64_t at, std::size_t piece)>;
/// Is complete when it returns. `out` and `in`: the views that the devices have which `fill` the
/// pages and which `empty` them, of two pieces at once.
Status copy_by_pages(Buffer& out, Buffer& in, std::size_t pieces, const PeerStep& fill,
                     const PeerStep& empty);

}  // namespace ptx2spv::runtime
