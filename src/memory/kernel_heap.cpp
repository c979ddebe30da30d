#include "src/memory/kernel_heap.hpp"

#include <bit>
#include <vector>

#include <fmt/format.h>

#include "ptx2spv/abi.hpp"
#include "src/memory/transfer.hpp"

namespace ptx2spv::runtime {

namespace {

Status upload(MemoryDevice& device, const Memory& memory, std::uint64_t offset,
              const std::vector<std::uint32_t>& words) {
  const std::uint64_t bytes = words.size() * 4;
  Rows rows;
  rows.offset = memory.offset() + offset;
  rows.row_bytes = rows.row_pitch = rows.slice_pitch = bytes;
  rows.host_row_pitch = rows.host_slice_pitch = bytes;
  return upload_rows(device, memory.base(), rows, reinterpret_cast<const std::byte*>(words.data()));
}

}  // namespace

std::uint64_t KernelHeap::bytes() const {
  std::lock_guard lock(mutex_);
  return bytes_;
}

Status KernelHeap::set_bytes(std::uint64_t bytes) {
  std::lock_guard lock(mutex_);
  if (memory_)
    return bad_argument(
        "the heap of kernels keeps its size once a kernel with malloc was launched");
  if (bytes > kMostBytes)
    return bad_argument("the heap of kernels has {} bytes at most", kMostBytes);
  bytes_ = (bytes + abi::kHeapUnit - 1) / abi::kHeapUnit * abi::kHeapUnit;
  return {};
}

Result<std::uint64_t> KernelHeap::address(MemoryDevice& device) {
  std::lock_guard lock(mutex_);
  if (!memory_)
    if (Status status = make(device); !status) return status.error();
  return memory_.address();
}

Status KernelHeap::make(MemoryDevice& device) {
  const auto units = static_cast<std::uint32_t>(bytes_ / abi::kHeapUnit);
  const std::uint64_t data = (abi::kHeapStates + std::uint64_t{units}) * 4 / 256 * 256 + 256;
  auto memory = device.heap.allocate(MemoryKind::device, data + bytes_ + abi::kHeapUnit);
  if (!memory) return memory.error();
  std::vector<std::uint32_t> words(data / 4, 0);
  words[abi::h_units] = units;
  words[abi::h_data] = static_cast<std::uint32_t>(data);
  // The largest blocks that fit, each at a multiple of its size: none of an order twice.
  for (std::uint32_t unit = 0; unit < units;) {
    const auto order = static_cast<std::uint32_t>(std::bit_width(units - unit) - 1);
    words[abi::h_lists + order] = unit + 1;
    words[abi::kHeapStates + unit] = order + 1;
    if (Status status =
            upload(device, *memory, data + std::uint64_t{unit} * abi::kHeapUnit, {0, 0});
        !status)
      return status;
    unit += 1u << order;
  }
  if (Status status = upload(device, *memory, 0, words); !status) return status;
  memory_ = std::move(*memory);
  if (when_made_) when_made_(memory_.address() + data, bytes_);
  return {};
}

}  // namespace ptx2spv::runtime
