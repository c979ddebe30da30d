// The state behind Graph.
#pragma once

#include <mutex>
#include <variant>
#include <vector>

#include "src/memory/buffer.hpp"
#include "src/stream/stream.hpp"

namespace ptx2spv::runtime {

struct CopyNode {
  std::shared_ptr<BufferState> from, to;
  std::uint64_t from_offset = 0, to_offset = 0, bytes = 0;
};

struct GraphState : std::enable_shared_from_this<GraphState> {
  GraphState() = default;
  GraphState(const GraphState&) = delete;
  GraphState& operator=(const GraphState&) = delete;
  ~GraphState();

  std::shared_ptr<DeviceState> device;
  std::mutex mutex;  ///< everything below
  std::vector<std::variant<LaunchPlan, CopyNode>> nodes;

  bool recorded = false, trapped = false;
  VkCommandPool pool = VK_NULL_HANDLE;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  Ring ring;
  Descriptors descriptors;
  PrintfBuffer printf;
  Memory slab;
  std::vector<std::pair<std::size_t, std::byte*>> traps;  ///< of launch nodes
  std::uint64_t last_value = 0;

  Status record();
  /// Submits the recorded commands; the first trap is found by `check` once they are over.
  Result<std::uint64_t> submit();
  std::optional<Error> check(StreamState& stream);
};

}  // namespace ptx2spv::runtime
