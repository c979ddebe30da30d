// Copies from a device's memory to another's by way of memory of the process.
#pragma once

#include "ptx2spv/vulkan.hpp"

namespace ptx2spv::runtime {

/// The device's view of the pages that all devices copy by: one copy at a time. unsupported where
/// it does not reach pages of the process.
Result<Buffer> peer_pages(const Device& device);
/// Comes after all work that both devices were given, and is complete when it returns. `out` and
/// `in`: the views that the devices of `from` and of `to` have.
Status copy_by_pages(const Buffer& from, std::uint64_t from_offset, Buffer& out, const Buffer& in,
                     Buffer& to, std::uint64_t to_offset, std::uint64_t bytes);

}  // namespace ptx2spv::runtime
