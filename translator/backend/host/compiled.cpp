#include "translator/backend/host/compiled.hpp"

#include <algorithm>
#include <bit>

#include "translator/backend/host/warp_operations.hpp"

namespace ptx2spv::interpreter {

CompiledLaunch::CompiledLaunch(const Program& made_of, const Launch& of, const llvm::Code& by,
                               std::uint32_t dynamic_shared)
    : program(made_of), launch(of), code(by), shared_bytes(made_of.shared_bytes + dynamic_shared) {
  threads = of.block[0] * of.block[1] * of.block[2];
  warps = (threads + by.lanes - 1) / by.lanes;
  for (std::vector<std::uint32_t>& each : ids) each.resize(std::size_t{warps} * by.lanes);
  for (std::uint32_t i = 0; i < ids[0].size(); ++i) {
    ids[0][i] = i % of.block[0];
    ids[1][i] = i / of.block[0] % of.block[1];
    ids[2][i] = i / of.block[0] / of.block[1];
  }
}

CompiledBlocks::CompiledBlocks(CompiledLaunch& launch)
    : launch_(launch), rows_(launch.program.rows), shared_(launch.shared_bytes) {
  const std::uint32_t of_warp = launch.program.local_bytes * launch.code.lanes;
  const bool together = launch.code.barriers;
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
  frame_.meet = do_meet;
  frame_.yield = do_yield;
  frame_.program = &launch.program;
  frame_.owner = this;
  frame_.lanes.bases[0] = rows_.data();
  frame_.lanes.bases[1] = const_cast<Row*>(launch.program.constants.data());
  frame_.lanes.launch = &launch.launch;
  frame_.lanes.shared = {shared_.data(), static_cast<std::uint64_t>(shared_.size())};
  if (!together) return;
  for (std::uint32_t w = 0; w < launch.warps; ++w) {
    warps_.push_back(std::make_unique<Warp>());
    warps_.back()->owner = this;
    warps_.back()->number = w;
  }
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
  if (launch_.code.barriers) {
    for (; first < end; ++first) {
      Status status = Status::going;
      for (begin(first); status == Status::going;) status = turn();
      if (status != Status::over) return status;
    }
    return Status::over;
  }
  return launch_.code.run(&frame_, first, end, 0, launch_.warps) ? Status::stopped : Status::over;
}

void CompiledBlocks::run_warp(void* pointer) {
  Warp& warp = *static_cast<Warp*>(pointer);
  CompiledBlocks& self = *warp.owner;
  warp.stopped = self.launch_.code.run(&self.frame_, self.block_, self.block_ + 1, warp.number,
                                       warp.number + 1) != 0;
}

std::uint32_t CompiledBlocks::do_meet(Frame* frame, std::uint32_t number, std::uint32_t mask,
                                      std::uint32_t id, std::uint32_t expected,
                                      std::uint32_t votes) {
  auto& self = *static_cast<CompiledBlocks*>(frame->owner);
  const Step& step = frame->program->steps[number];
  const auto kind =
      step.op == ir::Op::control_barrier ? ir::BarKind::sync : static_cast<ir::BarKind>(step.imm);
  id %= Barriers::kCount;
  self.moved_ = true;
  Warp& warp = *self.running_;
  self.set_live(warp, static_cast<std::uint32_t>(std::popcount(mask)));
  self.barriers_.arrive(id, warp.live, expected,
                        votes ? static_cast<std::uint32_t>(std::popcount(votes)) : 0, kind);
  warp.waits = kind != ir::BarKind::arrive;
  warp.barrier = id;
  warp.result = 0;
  // The last one to come goes on at once.
  self.barriers_.open_one(id, self.live_, [&](std::uint32_t barrier, std::uint32_t result) {
    self.release(barrier, result);
  });
  if (warp.waits) self.leave(warp);
  return warp.result;
}

void CompiledBlocks::do_yield(Frame* frame) {
  static_cast<CompiledBlocks*>(frame->owner)->running_->fiber.leave();
}

void CompiledBlocks::set_live(Warp& warp, std::uint32_t threads) {
  live_ = live_ - warp.live + threads;
  warp.live = threads;
}

/// To the next warp that may go on, or to who runs them all.
void CompiledBlocks::leave(Warp& warp) {
  for (std::size_t i = 1, w = warp.number; i < warps_.size(); ++i) {
    if (++w == warps_.size()) w = 0;
    if (warps_[w]->over || warps_[w]->waits) continue;
    running_ = warps_[w].get();
    warp.fiber.hand_over(running_->fiber);
    return;
  }
  warp.fiber.leave();
}

void CompiledBlocks::release(std::uint32_t barrier, std::uint32_t result) {
  for (const auto& warp : warps_) {
    if (!warp->waits || warp->barrier != barrier) continue;
    warp->waits = false;
    warp->result = result;
  }
}

void CompiledBlocks::begin(std::uint64_t block) {
  block_ = block;
  barriers_.clear();
  for (const auto& warp : warps_) {
    const std::uint32_t first = warp->number * launch_.code.lanes;
    set_live(*warp, std::min(launch_.threads - first, launch_.code.lanes));
    warp->waits = warp->over = warp->stopped = false;
    warp->fiber.prepare(run_warp, warp.get(), warp->number);
  }
}

CompiledBlocks::Status CompiledBlocks::turn() {
  bool left = false, ran = false;
  moved_ = false;
  for (const auto& warp : warps_) {
    if (warp->over || warp->waits) continue;
    ran = true;
    running_ = warp.get();
    warp->fiber.enter();
    // Another one may have come back.
    running_->over = running_->fiber.over();
    if (running_->stopped) return Status::stopped;
    if (!running_->over) continue;
    moved_ = true;
    set_live(*running_, 0);
  }
  for (const auto& warp : warps_) left = left || !warp->over;
  if (!left) return Status::over;
  if (launch_.stop.load(std::memory_order_relaxed)) return Status::stopped;
  if (moved_) return Status::going;
  // Threads that have ended are not waited for.
  const bool opened = barriers_.open(
      live_, [this](std::uint32_t barrier, std::uint32_t result) { release(barrier, result); });
  if (opened) return Status::going;
  return ran ? Status::idle : Status::stuck;
}

}  // namespace ptx2spv::interpreter
