// Runs a kernel's machine code of another processor under an emulator: compiled for that one and
// linked with the code by tests/host/emulated.hpp. Reads a Start and the kernel's words, writes
// those that it stored. Ends with 3 where the kernel calls a handler of the interpreter.
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "ptx2spv/abi.hpp"
#include "tests/support/emulated/start.hpp"
#include "translator/backend/host/fiber.hpp"
#include "translator/backend/host/frame.hpp"

extern "C" std::uint32_t kernel(ptx2spv::interpreter::Frame*, std::uint64_t, std::uint64_t,
                                std::uint32_t, std::uint32_t) asm("ptx.");

namespace ptx2spv::interpreter {
namespace {

struct Warp {
  Fiber fiber;
  std::uint32_t number = 0;
  std::uint64_t block = 0;
};

/// Bytes of a block's shared memory, of a lane's local memory, and of what nothing is in.
constexpr std::size_t kShared = 8192, kLocal = 256, kZeros = 4096;
constexpr std::size_t kRows = 4096;

Frame g_frame;
std::vector<std::unique_ptr<Warp>> g_warps;
Warp* g_running = nullptr;
std::uint32_t g_votes = 0, g_result = 0;

/// Its own stack goes with the objects that std::exit() ends.
void step(Frame*, std::uint32_t, std::uint32_t) { std::_Exit(3); }

/// All warps come to each barrier here.
std::uint32_t meet(Frame*, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t,
                   std::uint32_t votes) {
  g_votes += static_cast<std::uint32_t>(std::popcount(votes));
  g_running->fiber.leave();
  return g_result;
}

void run_warp(void* pointer) {
  const Warp& warp = *static_cast<Warp*>(pointer);
  kernel(&g_frame, warp.block, warp.block + 1, warp.number, warp.number + 1);
}

void run_block(std::uint64_t block) {
  for (std::uint32_t w = 0; w < g_warps.size(); ++w) {
    g_warps[w]->number = w;
    g_warps[w]->block = block;
    g_warps[w]->fiber.prepare(run_warp, g_warps[w].get(), w);
  }
  for (bool left = true; left;) {
    left = false;
    g_result = g_votes;
    g_votes = 0;
    for (const auto& warp : g_warps) {
      if (warp->fiber.over()) continue;
      left = true;
      g_running = warp.get();
      warp->fiber.enter();
    }
  }
}

void read_all(void* to, std::size_t bytes) {
  if (std::fread(to, 1, bytes, stdin) != bytes) std::exit(2);
}

void run() {
  tests::Start start{};
  read_all(&start, sizeof start);
  std::vector<std::uint32_t> from(start.words), to(start.words), push(64), ids[3];
  read_all(from.data(), from.size() * 4);
  const std::uint32_t threads = start.block[0] * start.block[1] * start.block[2];
  const std::uint32_t warps = (threads + start.lanes - 1) / start.lanes;
  for (std::uint32_t i = 0; i < warps * start.lanes; ++i) {
    ids[0].push_back(i % start.block[0]);
    ids[1].push_back(i / start.block[0] % start.block[1]);
    ids[2].push_back(i / start.block[0] / start.block[1]);
  }
  std::vector<std::byte> zeros(kZeros), params(kZeros), shared(kShared);
  std::vector<std::byte> local(kLocal * start.lanes * warps);
  std::vector<Row> rows(kRows);
  const struct {
    const std::uint32_t *to, *from;
    std::uint32_t count;
  } given{to.data(), from.data(), threads * start.blocks};
  std::memcpy(params.data(), &given, sizeof given);
  std::memcpy(&push[abi::block_x], start.block, sizeof start.block);
  for (Region& each : g_frame.regions) each = {zeros.data(), zeros.size()};
  const auto region = [](ir::Space space) -> Region& {
    return g_frame.regions[static_cast<std::size_t>(space)];
  };
  region(ir::Space::param) = {params.data(), params.size()};
  region(ir::Space::push) = {reinterpret_cast<std::byte*>(push.data()), push.size() * 4};
  region(ir::Space::shared) = {shared.data(), shared.size()};
  const std::atomic<std::uint32_t> stop{0};
  g_frame.grid[0] = start.blocks;
  std::memcpy(g_frame.block, start.block, sizeof start.block);
  for (unsigned axis = 0; axis < 3; ++axis) g_frame.ids[axis] = ids[axis].data();
  g_frame.threads = threads;
  g_frame.warps_apart = static_cast<std::uint32_t>(kLocal * start.lanes);
  g_frame.local = local.data();
  g_frame.rows = rows.data();
  g_frame.stop = &stop;
  g_frame.step = step;
  g_frame.meet = meet;
  for (std::uint32_t w = 0; w < warps; ++w) g_warps.push_back(std::make_unique<Warp>());
  for (std::uint32_t block = 0; block < start.blocks; ++block) run_block(block);
  std::fwrite(to.data(), 4, to.size(), stdout);
}

}  // namespace
}  // namespace ptx2spv::interpreter

int main() { ptx2spv::interpreter::run(); }
