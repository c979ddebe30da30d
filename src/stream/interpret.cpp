// Launches that the interpreter runs. They are over when the call returns: the process does the
// work itself, between what the device was given before and what it is given later.
#include <chrono>
#include <cstring>

#include "src/launch/loop_trial.hpp"
#include "src/stream/stream.hpp"

namespace ptx2spv::runtime {

namespace {

InterpretedKernel::Memory whole(const Memory& memory) { return {memory.mapped(), memory.size()}; }

/// What the kernel reaches by descriptors on a device.
std::array<InterpretedKernel::Memory, abi::kBindings> bound(const LaunchPlan& plan,
                                                            const LaunchPlace& place,
                                                            const Ring& ring) {
  const DeviceState& device = *plan.module->device;
  std::array<InterpretedKernel::Memory, abi::kBindings> out{};
  out[abi::params] = {place.slice.mapped, plan.params.size()};
  out[abi::trap] = {ring.memory().mapped() + place.trap_offset, abi::kTrapWords * 4};
  out[abi::surfaces] = whole(device.surfaces.memory());
  out[abi::constants] = whole(plan.module->constants ? plan.module->constants : device.discard);
  out[abi::locks] = whole(device.locks);
  out[abi::textures] = whole(device.textures.memory());
  return out;
}

InterpretedKernel::Ending run(const LaunchPlan& plan, const InterpretedKernel::Launch& launch) {
  InterpretedKernel::Ending ending;
  for (std::uint32_t turn = 0; turn < plan.repeat && ending.problem.empty(); ++turn) {
    if (plan.sanitized && plan.sanitized->shadow)
      std::memset(plan.sanitized->shadow.mapped(), 0, plan.sanitized->shadow.size());
    if (plan.workspace) std::memset(plan.workspace->mapped(), 0, abi::kGridWorkspace);
    ending = plan.variant->interpreted->run(launch);
  }
  return ending;
}

Error error_of(const InterpretedKernel::Ending& ending, const std::string& kernel) {
  if (ending.timed_out)
    return make_error(ErrorCode::timed_out, "kernel '" + kernel + "' " + ending.problem);
  return make_error(ErrorCode::unsupported,
                    "kernel '" + kernel + "', which the interpreter ran: " + ending.problem);
}

}  // namespace

Status StreamState::interpret(LaunchPlan&& plan, const std::shared_ptr<Outcome>& outcome,
                              std::uint64_t* value_out) {
  // Streams share the queue, whose work is in the order of the calls.
  if (Status status = device.queue.wait(device.queue.submitted()); !status) return status;
  retire();
  if (Status status = make_room(plan); !status) return status;
  auto place = place_words(plan, ring);
  if (!place) {
    ring.cancel();
    return place.error();
  }
  if (Status status = place_memory(plan, *place); !status) return status;
  const auto copy_arrays = [&](bool to_linear) -> Status {
    if (plan.mirrored.empty()) return {};
    Status status = transfer(
        [&](VkCommandBuffer recorded) {
          for (const auto& array : plan.mirrored) array->record_copy(recorded, to_linear);
        },
        {}, nullptr);
    if (!status) return status;
    return device.queue.wait(last_value);
  };
  if (Status status = copy_arrays(true); !status) {
    ring.cancel();
    return status;
  }
  auto push = plan.push;
  put_addresses(plan, *place, push);
  InterpretedKernel::Launch launch;
  std::copy_n(plan.dispatches[0].groups.begin(), 3, launch.grid);
  std::copy_n(&push[abi::block_x], 3, launch.block);
  launch.dynamic_shared = push[abi::dynamic_shared];
  launch.bindings = bound(plan, *place, ring);
  launch.push = push;
  launch.timeout = device.queue.timeout();
  launch.patience = plan.patience;
  launch.many_iterations = plan.many_iterations;
  const auto start = std::chrono::steady_clock::now();
  const InterpretedKernel::Ending ending = run(plan, launch);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  plan.kernel->interpreted_us += static_cast<std::uint64_t>(took.count() * 1000);
  if (Status status = copy_arrays(false); !status) {
    ring.cancel();
    return status;
  }
  std::uint32_t trapped = 0;
  std::memcpy(&trapped, ring.memory().mapped() + place->trap_offset, sizeof trapped);
  if (plan.blocks_run && ending.problem.empty() && !trapped &&
      ending.blocks < std::uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2])
    *plan.blocks_run = ending.blocks;
  if (ending.problem.empty() && !trapped) end_trial(plan, ending.iterations);
  const std::uint64_t value = device.queue.submitted();
  if (outcome && plan.timed) outcome->device_ms = took.count();
  const std::string name = plan.kernel->info->name;
  Pending done = pend(std::move(plan), *place, value);
  done.outcome = outcome;
  if (!ending.problem.empty())
    done.check = [failure = error_of(ending, name)](StreamState&) -> std::optional<Error> {
      return failure;
    };
  pending.push_back(std::move(done));
  // It is looked at now, while its slice of the ring is there: no value of the queue stands for it.
  retire();
  ring.cancel();
  last_value = std::max(last_value, value);
  if (value_out) *value_out = value;
  return {};
}

}  // namespace ptx2spv::runtime
