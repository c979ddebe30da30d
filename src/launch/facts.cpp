#include "src/launch/facts.hpp"

#include <algorithm>
#include <cstring>

#include "src/launch/arguments.hpp"
#include "src/launch/sanitized.hpp"
#include "src/launch/shape.hpp"

namespace ptx2spv::runtime {

namespace {

constexpr std::uint64_t kMostCooperative = 1u << 18;  ///< threads

/// Why the kernel is not launched so; empty: it is.
std::string wrong(const EntryInfo& info, const LaunchConfig& config) {
  const Dim3 &grid = config.grid, &block = config.block;
  if (std::string text = wrong_shape(grid, block); !text.empty()) return text;
  const std::uint32_t* required = info.reqntid;
  if (required[0]) {
    std::uint32_t want[3] = {required[0], std::max(required[1], 1u), std::max(required[2], 1u)};
    if (block.x != want[0] || block.y != want[1] || block.z != want[2])
      return fmt::format("its .reqntid is {}, {}, {}, and the block is {} x {} x {}", want[0],
                         want[1], want[2], block.x, block.y, block.z);
  }
  const std::uint32_t* most = info.maxntid;
  if (most[0]) {
    const std::uint64_t limit = volume({most[0], std::max(most[1], 1u), std::max(most[2], 1u)});
    if (volume(block) > limit)
      return fmt::format("its .maxntid allows {} threads, and the block has {}", limit,
                         volume(block));
  }
  if (!config.repeat) return "it is to be repeated zero times";
  if (config.cooperative && volume(grid) * volume(block) > kMostCooperative)
    return fmt::format(
        "{} blocks of {} threads are launched cooperatively, and all of them may have {} threads",
        volume(grid), volume(block), kMostCooperative);
  if (const std::uint64_t shared = std::uint64_t{info.shared_bytes} + config.dynamic_shared;
      shared > limits::kShared)
    return fmt::format(
        "it would have {} bytes of shared memory, {} of them dynamic; CUDA gives a block {} at "
        "most",
        shared, config.dynamic_shared, limits::kShared);
  return {};
}

/// A cooperative launch tells its kernel where the grid's workspace is.
Status give_workspace(const EntryInfo& info, LaunchFacts& facts) {
  if (!facts.config.cooperative || !info.sync.uses_grid_workspace) return {};
  auto memory = facts.device().grid_workspace.get(facts.device());
  if (!memory) return memory.error();
  facts.workspace = *memory;
  const std::uint64_t address = facts.workspace->address();
  std::memcpy(facts.params.data() + info.sync.grid_workspace, &address, sizeof address);
  return {};
}

}  // namespace

Result<Facts> gather_facts(KernelState& kernel, const LaunchConfig& config, const Args& args) {
  const EntryInfo& info = *kernel.info;
  if (const std::string text = wrong(info, config); !text.empty())
    return bad_argument("launch of kernel '{}': {}", info.name, text);
  auto facts = std::make_shared<LaunchFacts>();
  facts->module = kernel.module->shared_from_this();
  facts->kernel = &kernel;
  facts->config = config;
  facts->fp = config.fp.value_or(kernel.module->options.fp);
  facts->checks = config.checks.value_or(facts->device().checks) & kKernelChecks;
  facts->shared = std::uint64_t{info.shared_bytes} + config.dynamic_shared;
  if (Status status = write_arguments(kernel, args, facts->params); !status) return status.error();
  if (Status status = write_references(kernel, args, facts->params, facts->keep); !status)
    return status.error();
  if (Status status = give_workspace(info, *facts); !status) return status.error();
  for (const Args::Item& item : args.items)
    if (item.keep) facts->keep.push_back(item.keep);
  return Facts(std::move(facts));
}

}  // namespace ptx2spv::runtime
