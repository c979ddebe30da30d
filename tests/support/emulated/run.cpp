// Runs a kernel's machine code of another processor under an emulator: compiled for that one and
// linked with the code by tests/host/emulated.hpp. Reads a Start and the kernel's words, writes
// those that it stored. Ends with 3 where the kernel calls a handler of the interpreter.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "ptx2spv/abi.hpp"
#include "tests/support/emulated/start.hpp"
#include "translator/backend/host/frame.hpp"

extern "C" std::uint32_t kernel(ptx2spv::interpreter::Frame*, std::uint64_t, std::uint64_t,
                                std::uint32_t, std::uint32_t) asm("ptx.");

namespace ptx2spv::interpreter {
namespace {

/// Bytes of a block's shared memory, of a lane's local memory, and of what nothing is in.
constexpr std::size_t kShared = 8192, kLocal = 256, kZeros = 4096;
constexpr std::size_t kRows = 4096;

Frame g_frame;
std::vector<Turn> g_turns;
std::vector<std::byte> g_saved;

void step(Frame*, std::uint32_t, std::uint32_t) { std::exit(3); }

/// All warps come to each barrier here.
void run_block(std::uint64_t block) {
  const auto warps = static_cast<std::uint32_t>(g_turns.size());
  for (Turn& turn : g_turns) turn = {};
  for (bool left = true; left;) {
    kernel(&g_frame, block, block + 1, 0, warps);
    std::uint32_t votes = 0;
    left = false;
    for (const Turn& turn : g_turns) votes += turn.votes;
    for (Turn& turn : g_turns) {
      turn.result = votes;
      turn.votes = 0;
      turn.goes_on = turn.came != 0;
      left = left || turn.goes_on;
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
  g_turns.resize(warps);
  g_frame.turns = g_turns.data();
  g_frame.saved_apart = kernel(nullptr, 0, 0, 0, 0);
  g_saved.resize(std::size_t{g_frame.saved_apart} * warps);
  g_frame.saved = g_saved.data();
  for (std::uint32_t block = 0; block < start.blocks; ++block) run_block(block);
  std::fwrite(to.data(), 4, to.size(), stdout);
}

}  // namespace
}  // namespace ptx2spv::interpreter

int main() { ptx2spv::interpreter::run(); }
