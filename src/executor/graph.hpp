// The state behind Graph.
#pragma once

#include <mutex>
#include <variant>
#include <vector>

#include "src/array/buffer.hpp"
#include "src/stream/stream.hpp"

namespace ptx2spv::runtime {

struct LaunchNode {
  LaunchPlan plan;  ///< its facts: .surfref and .texref as they were bound when it was added
  /// The plan depends on which surfaces and textures are alive: handles come out of memory, or one
  /// among the arguments was dead.
  bool depends() const;
};

struct CopyNode {
  std::shared_ptr<BufferState> from, to;
  std::uint64_t from_offset = 0;  ///< in its VkBuffer
  Rows row;
};

struct GraphState : std::enable_shared_from_this<GraphState> {
  GraphState() = default;
  GraphState(const GraphState&) = delete;
  GraphState& operator=(const GraphState&) = delete;
  ~GraphState();

  std::shared_ptr<DeviceState> device;
  std::mutex mutex;  ///< everything below
  std::vector<std::variant<LaunchNode, CopyNode>> nodes;
  std::vector<std::vector<std::size_t>> after;  ///< of each node: the earlier ones that it follows
  std::uint64_t planned_for = 0;                ///< changes of the tables that the plans know of
  std::uint64_t moves = 0;                      ///< of arrays, likewise

  bool recorded = false, trapped = false;
  bool alone = false;          ///< recorded: with a launch that runs alone
  std::uint32_t barriers = 0;  ///< recorded: in front of nodes
  VkCommandPool pool = VK_NULL_HANDLE;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  Ring ring;
  Descriptors descriptors;
  PrintfBuffer printf;
  Memory slab;
  std::vector<std::pair<std::size_t, std::byte*>> traps;  ///< of launch nodes
  std::optional<Error> missed;  ///< a trap of a replay that was over before commands changed
  std::uint64_t last_value = 0;

  /// Adds a launch that comes after these nodes and what they come after, and may run beside
  /// others. False: it is none to be recorded alone, because others have to know of it when it
  /// runs, or because it is the host's turn.
  Result<bool> add(const Facts& facts, std::vector<std::size_t> after);
  Status record();
  /// Plans again what depends on surfaces or textures, where those have changed.
  Status refresh();
  void read_fault_logs();  ///< of replays that are over
  std::optional<Error> find_trap();
  /// Submits the recorded commands; the first trap is found by `check` once they are over.
  Result<std::uint64_t> replay(StreamState& stream);
  std::optional<Error> check(StreamState& stream);
};

}  // namespace ptx2spv::runtime
