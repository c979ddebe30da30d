// A block: its warps' turns, and its barriers.
#include "translator/backend/host/block.hpp"

#include <algorithm>

namespace ptx2spv::interpreter {

namespace {

std::uint32_t threads_of(const Launch& launch) {
  return launch.block[0] * launch.block[1] * launch.block[2];
}
std::uint32_t warps_of(const Launch& launch) { return (threads_of(launch) + kLanes - 1) / kLanes; }

}  // namespace

std::uint64_t BlockRun::bytes(const Program& program, const Launch& launch,
                              std::uint32_t dynamic_shared) {
  const std::uint64_t warps = warps_of(launch);
  return warps * (std::uint64_t{program.rows} * sizeof(Row) +
                  std::uint64_t{program.local_bytes} * kLanes) +
         program.shared_bytes + dynamic_shared;
}

BlockRun::BlockRun(const Program& program, const Launch& launch, std::uint32_t dynamic_shared)
    : program_(program),
      launch_(launch),
      threads_(threads_of(launch)),
      shared_bytes_(program.shared_bytes + dynamic_shared),
      warps_(warps_of(launch)),
      registers_(std::size_t{program.rows} * warps_.size()),
      shared_(shared_bytes_),
      local_(std::size_t{program.local_bytes} * kLanes * warps_.size()) {}

void BlockRun::begin(std::uint64_t number) {
  block_ = number;
  number_[0] = static_cast<std::uint32_t>(number % launch_.grid[0]);
  number_[1] = static_cast<std::uint32_t>(number / launch_.grid[0] % launch_.grid[1]);
  number_[2] = static_cast<std::uint32_t>(number / launch_.grid[0] / launch_.grid[1]);
  done_ = 0;
  barriers_.clear();
  for (std::uint32_t w = 0; w < warps_.size(); ++w)
    warps_[w].begin(*this, registers_.data() + std::size_t{w} * program_.rows,
                    local_.data() + std::size_t{w} * program_.local_bytes * kLanes, w * kLanes,
                    threads_ - w * kLanes);
}

void Barriers::arrive(std::uint32_t barrier, std::uint32_t threads, std::uint32_t expected,
                      std::uint32_t votes, ir::BarKind kind) {
  One& b = each_[barrier];
  b.arrived += threads;
  b.expected = expected;
  b.votes += votes;
  if (kind != ir::BarKind::arrive) b.kind = kind;
}

std::uint32_t Barriers::result(const One& barrier) {
  switch (barrier.kind) {
    case ir::BarKind::red_and: return barrier.votes == barrier.arrived;
    case ir::BarKind::red_or: return barrier.votes != 0;
    default: return barrier.votes;
  }
}

BlockRun::Status BlockRun::turn() {
  bool going = false, left = false, yielded = false;
  clock_ = false;
  for (Warp& warp : warps_) {
    going = warp.run() || going;
    left = left || !warp.over();
  }
  if (!left) return Status::over;
  const bool opened =
      barriers_.open(threads_ - done_, [&](std::uint32_t barrier, std::uint32_t result) {
        for (Warp& warp : warps_) warp.release(barrier, result);
      });
  going = opened || going;
  for (Warp& warp : warps_) yielded = warp.wake_yielded() || yielded;
  if (going) return Status::going;
  if (yielded) return Status::idle;
  for (Warp& warp : warps_)
    if (warp.force()) return Status::going;
  return Status::stuck;
}

}  // namespace ptx2spv::interpreter
