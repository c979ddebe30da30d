// A mixed load for as long as one likes: modules come and go, arrays change their size, kernels
// trap, streams go while they have work, processes run side by side. What the runtime and the
// translator allocate, and the handles of the driver that they hold, stay as many.
// PTX2SPV_LOAD_SECONDS=600 is the long run; each round does what a program may do in minutes.
#include <dirent.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "tests/faults/live_bytes.hpp"
#include "tests/faults/scenario.hpp"
#include "tests/support/process.hpp"

namespace ptx2spv {
namespace {

using Clock = std::chrono::steady_clock;

std::size_t open_files() {
  std::size_t count = 0;
  DIR* folder = ::opendir("/proc/self/fd");
  if (!folder) return 0;
  while (::readdir(folder)) ++count;
  ::closedir(folder);
  return count;
}

/// One round on a device: empty when all went as it should.
std::string round(const Device& device, std::uint32_t number) {
  auto module = Module::load(device, faults::kModule, "load.ptx");
  if (!module) return text_of(module.error());
  auto kernel = module->kernel("copy"), trap = module->kernel("trap");
  if (!kernel) return text_of(kernel.error());
  if (!trap) return text_of(trap.error());
  // Arrays of another size each round, in memory and as images by turns.
  auto made = faults::Objects::make(device, 32 + number % 7 * 16, number % 2 != 0);
  if (!made) return text_of(made.error());
  const auto sum = made->launch(device, *kernel);
  if (!sum) return text_of(sum.error());
  if (*sum != faults::kSum) return "a wrong sum: " + std::to_string(*sum);
  // A trap is an error, and the next launch is none.
  LaunchConfig config;
  config.block = {32, 1, 1};
  const auto trapped = trap->launch(config, Args().surface(made->from_surface));
  if (trapped || trapped.error().code != ErrorCode::trap) return "a trap that is none";
  const auto again = made->launch(device, *kernel);
  if (!again || *again != faults::kSum) return "a launch after a trap";
  // A stream that goes while it has work.
  auto stream = Stream::create(device);
  if (!stream) return text_of(stream.error());
  for (int i = 0; i < 4; ++i)
    if (Status status = stream->launch(*kernel, config, made->args()); !status)
      return status.error().text;
  return {};
}

struct State {
  std::int64_t bytes = 0, handles = 0;
  std::size_t files = 0;
};

TEST(Load, memory_and_handles_stay_as_many) {
  const faults::Driver* driver = faults::driver();
  if (!driver) GTEST_SKIP() << "SwiftShader is not here";
  const char* asked = std::getenv("PTX2SPV_LOAD_SECONDS");
  const auto end = Clock::now() + std::chrono::seconds(asked ? std::atoi(asked) : 4);
  driver->set(~std::uint64_t{0}, 0, false);
  DeviceOptions options = faults::options();
  if (const char* folder = std::getenv("PTX2SPV_LOAD_CACHE")) {
    options.cache = true;
    options.cache_directory = folder;
  }
  auto device = Device::open(options);
  ASSERT_TRUE(device) << text_of(device.error());
  const auto state = [&] { return State{live_bytes(), driver->live(), open_files()}; };
  // Pools and tables grow to what the load needs at a time.
  constexpr std::uint32_t kWarm = 28;
  std::uint32_t rounds = 0;
  State warm;
  for (; rounds < kWarm + 14 || Clock::now() < end; ++rounds) {
    if (rounds == kWarm) {
      ASSERT_TRUE(device->synchronize());
      warm = state();
    }
    const std::string wrong = round(*device, rounds);
    ASSERT_EQ(wrong, "") << "round " << rounds;
  }
  // A whole number of turns through the sizes, so that the same is left over.
  for (; (rounds - kWarm) % 14 != 0; ++rounds) ASSERT_EQ(round(*device, rounds), "");
  ASSERT_TRUE(device->synchronize());
  const State last = state();
  std::printf("%u rounds; bytes %lld to %lld, handles %lld to %lld, files %zu to %zu\n", rounds,
              static_cast<long long>(warm.bytes), static_cast<long long>(last.bytes),
              static_cast<long long>(warm.handles), static_cast<long long>(last.handles),
              warm.files, last.files);
  // The allowance is that of vectors that double, once, whatever the number of rounds.
  EXPECT_LE(last.bytes, warm.bytes + 65536);
  EXPECT_EQ(last.handles, warm.handles);
  EXPECT_EQ(last.files, warm.files);
}

TEST(Load, processes_share_a_cache) {
  if (!faults::driver()) GTEST_SKIP() << "SwiftShader is not here";
  if (std::getenv("PTX2SPV_LOAD_CACHE")) GTEST_SKIP() << "one of the processes";
  const test::TemporaryFolder folder;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  std::vector<test::ProcessResult> results(3);
  std::vector<std::thread> threads;
  for (test::ProcessResult& result : results)
    threads.emplace_back([&] {
      result = test::run_process({self, "--gtest_filter=Load.memory_and_handles_stay_as_many"}, "",
                                 {"PTX2SPV_LOAD_SECONDS=1", "PTX2SPV_LOAD_CACHE=" + folder.path()});
    });
  for (std::thread& each : threads) each.join();
  for (const test::ProcessResult& result : results)
    EXPECT_EQ(result.exit_code, 0) << result.out << result.error;
}

}  // namespace
}  // namespace ptx2spv
