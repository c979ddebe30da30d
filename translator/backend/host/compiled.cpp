#include "translator/backend/host/compiled.hpp"

#include <algorithm>
#include <optional>

#include "translator/backend/host/warp_operations.hpp"

namespace ptx2spv::interpreter {

namespace {

/// Bytes that vectors lie best on a multiple of.
constexpr std::uint32_t kLine = 64;

/// Nothing of a yield.
std::optional<ir::BarKind> kind_of(const Step& step) {
  if (step.op == ir::Op::yield) return std::nullopt;
  return step.op == ir::Op::control_barrier ? ir::BarKind::sync
                                            : static_cast<ir::BarKind>(step.imm);
}

}  // namespace

CompiledLaunch::CompiledLaunch(const Program& made_of, const Launch& of, const llvm::Code& by,
                               std::uint32_t dynamic_shared)
    : program(made_of), launch(of), code(by), shared_bytes(made_of.shared_bytes + dynamic_shared) {
  threads = of.block[0] * of.block[1] * of.block[2];
  warps = (threads + by.lanes - 1) / by.lanes;
  for (std::vector<std::uint32_t>& each : ids) each.resize(std::size_t{warps} * by.lanes);
  std::uint32_t x = 0, y = 0, z = 0;
  for (std::uint32_t i = 0; i < ids[0].size(); ++i) {
    ids[0][i] = x;
    ids[1][i] = y;
    ids[2][i] = z;
    if (++x < of.block[0]) continue;
    x = 0;
    if (++y < of.block[1]) continue;
    y = 0;
    ++z;
  }
}

CompiledBlocks::CompiledBlocks(CompiledLaunch& launch)
    : launch_(launch), rows_(launch.program.rows), shared_(launch.shared_bytes) {
  const std::uint32_t of_warp = launch.program.local_bytes * launch.code.lanes;
  const bool together = launch.code.turns;
  local_.resize(std::size_t{of_warp} * (together ? launch.warps : 1));
  std::ranges::copy(launch.launch.regions, std::begin(frame_.regions));
  frame_.regions[static_cast<std::size_t>(ir::Space::shared)] = {shared_.data(), shared_.size()};
  std::copy_n(launch.launch.grid, 3, frame_.grid);
  std::copy_n(launch.launch.block, 3, frame_.block);
  for (unsigned axis = 0; axis < 3; ++axis) frame_.ids[axis] = launch.ids[axis].data();
  frame_.threads = launch.threads;
  frame_.warps_apart = together ? of_warp : 0;
  frame_.local = local_.data();
  frame_.rows = rows_.data();
  frame_.stop = &launch.stop;
  frame_.step = do_step;
  frame_.program = &launch.program;
  frame_.owner = this;
  frame_.lanes.bases[0] = rows_.data();
  frame_.lanes.bases[1] = const_cast<Row*>(launch.program.constants.data());
  frame_.lanes.launch = &launch.launch;
  frame_.lanes.shared = {shared_.data(), static_cast<std::uint64_t>(shared_.size())};
  if (!together) return;
  turns_.resize(launch.warps);
  frame_.turns = turns_.data();
  const std::uint32_t bytes = launch.code.saved_bytes;
  saved_.resize(std::size_t{bytes} * launch.warps + kLine);
  frame_.saved = saved_.data() + (kLine - reinterpret_cast<std::uintptr_t>(saved_.data()) % kLine);
  frame_.saved_apart = bytes;
}

void CompiledBlocks::do_step(Frame* frame, std::uint32_t number, std::uint32_t mask) {
  const Step& step = frame->program->steps[number];
  if (frame->lanes.mask != mask) frame->lanes.run(mask);
  if (step.masked)
    step.masked(step, frame->lanes);
  else
    resolve(frame->lanes, step, mask, mask);
}

CompiledBlocks::Status CompiledBlocks::run(std::uint64_t first, std::uint64_t end) {
  if (launch_.code.turns) {
    for (; first < end; ++first) {
      Status status = Status::going;
      for (begin(first); status == Status::going;) status = turn();
      if (status != Status::over) return status;
    }
    return Status::over;
  }
  const bool stopped = launch_.code.run(&frame_, first, end, 0, launch_.warps) == kStopped;
  return stopped ? Status::stopped : Status::over;
}

void CompiledBlocks::set_live(Turn& warp, std::uint32_t threads) {
  live_ = live_ - warp.live + threads;
  warp.live = threads;
}

void CompiledBlocks::release(std::uint32_t barrier, std::uint32_t result) {
  for (Turn& warp : turns_) {
    if (!warp.waits || warp.barrier != barrier) continue;
    warp.waits = false;
    warp.goes_on = 1;
    warp.result = result;
  }
}

void CompiledBlocks::begin(std::uint64_t block) {
  block_ = block;
  barriers_.clear();
  live_ = launch_.threads;
  std::uint32_t left = launch_.threads;
  for (Turn& warp : turns_) {
    warp.goes_on = 1;
    warp.from = 0;
    warp.waits = warp.over = false;
    warp.live = std::min(left, launch_.code.lanes);
    left -= warp.live;
  }
}

/// Whether the warp did more than wait.
bool CompiledBlocks::end_turn(Turn& warp) {
  if (warp.came == 0) {
    warp.over = true;
    set_live(warp, 0);
    return true;
  }
  const Step& step = launch_.program.steps[warp.step];
  if (!kind_of(step)) {
    warp.goes_on = 1;
    return false;
  }
  const ir::BarKind kind = kind_of(step).value();
  warp.barrier %= Barriers::kCount;
  // Its other threads have ended, or do no more than that.
  set_live(warp, warp.came);
  barriers_.arrive(warp.barrier, warp.came, warp.expected, warp.votes, kind);
  warp.result = 0;
  warp.waits = kind != ir::BarKind::arrive;
  warp.goes_on = !warp.waits;
  barriers_.open_one(warp.barrier, live_, [this](std::uint32_t barrier, std::uint32_t result) {
    release(barrier, result);
  });
  return true;
}

CompiledBlocks::Status CompiledBlocks::turn() {
  if (launch_.code.run(&frame_, block_, block_ + 1, 0, launch_.warps) == kStopped)
    return Status::stopped;
  bool left = false, ran = false, moved = false;
  for (Turn& warp : turns_) {
    // Who waits has not run; who is let go in here runs next time.
    if (warp.over || warp.waits || warp.goes_on) {
      left = left || !warp.over;
      continue;
    }
    ran = true;
    moved = end_turn(warp) || moved;
    left = left || !warp.over;
  }
  if (!left) return Status::over;
  if (launch_.stop.load(std::memory_order_relaxed)) return Status::stopped;
  if (moved) return Status::going;
  // Threads that have ended are not waited for.
  const bool opened = barriers_.open(
      live_, [this](std::uint32_t barrier, std::uint32_t result) { release(barrier, result); });
  if (opened) return Status::going;
  return ran ? Status::idle : Status::stuck;
}

}  // namespace ptx2spv::interpreter
