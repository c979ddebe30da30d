#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "src/cache/disk_cache.hpp"
#include "tests/runtime/fixture.hpp"

namespace ptx2spv {
namespace {

namespace fs = std::filesystem;

struct Cache : testing::Test {
  fs::path folder =
      fs::temp_directory_path() / ("ptx2spv-cache-test-" + std::to_string(::getpid()));
  void SetUp() override { fs::remove_all(folder); }
  void TearDown() override { fs::remove_all(folder); }

  /// Opens a device with the cache, runs one kernel, and gives the counters.
  DeviceStatistics run(std::string directory = {}) {
    DeviceOptions options;
    options.cache = true;
    options.cache_directory = directory.empty() ? folder.string() : directory;
    options.executor = ExecutorPolicy::device;  // the cache is of its modules
    Device device = must(Device::open(options));
    Module module = must(Module::load(device, R"(.version 8.3
.target sm_80
.address_size 64
.visible .entry answer(.param .u64 cell) {
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [cell];
  st.global.u32 [%rd1], 42;
  ret;
}
)",
                                      "cache.ptx"));
    Buffer cell = must(Buffer::create(device, 4));
    must(must(module.kernel("answer")).launch({}, Args().buffer(cell)));
    EXPECT_EQ(read_buffer<std::uint32_t>(cell, 1)[0], 42u);
    return device.statistics();
  }
  std::vector<fs::path> translations() const {
    std::vector<fs::path> files;
    for (const auto& each : fs::directory_iterator(folder))
      if (each.path().filename().string().starts_with("t-")) files.push_back(each.path());
    return files;
  }
};

TEST_F(Cache, SecondRunDoesNotTranslate) {
  DeviceStatistics first = run(), second = run();
  EXPECT_EQ(first.translations, 1u);
  EXPECT_EQ(first.translation_cache_hits, 0u);
  EXPECT_EQ(second.translations, 0u);
  EXPECT_EQ(second.translation_cache_hits, 1u);
}

TEST_F(Cache, DamagedFilesAreIgnoredAndReplaced) {
  run();
  ASSERT_EQ(translations().size(), 1u);
  fs::path file = translations()[0];
  std::uintmax_t size = fs::file_size(file);
  // Cut short in mid-write, one bit wrong, emptied, foreign.
  for (int damage = 0; damage < 4; ++damage) {
    if (damage == 0) fs::resize_file(file, size / 2);
    if (damage == 1) {
      std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
      stream.seekp(static_cast<std::streamoff>(size / 2));
      stream.put('\x5a');
      stream.put('\xa5');
    }
    if (damage == 2) fs::resize_file(file, 0);
    if (damage == 3)
      std::ofstream(file, std::ios::trunc)
          << "not a cache file at all, but long enough to have a header";
    EXPECT_EQ(run().translations, 1u) << damage;
    EXPECT_EQ(run().translation_cache_hits, 1u) << damage;
    EXPECT_EQ(fs::file_size(file), size);
  }
}

TEST_F(Cache, PipeInPlaceOfAnEntryIsReplaced) {
  run();
  ASSERT_EQ(translations().size(), 1u);
  const fs::path file = translations()[0];
  fs::remove(file);
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  EXPECT_EQ(run().translations, 1u);
  EXPECT_TRUE(fs::is_regular_file(file));
  EXPECT_EQ(run().translation_cache_hits, 1u);
}

// The signal of such a write would end the process.
TEST_F(Cache, EntryPastTheLimitOfFileSizesIsLeftOut) {
  const auto cache = runtime::DiskCache::open(folder.string());
  ASSERT_TRUE(cache);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 4096;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  cache->store("t-long", std::vector<std::byte>(10'000));
  cache->store("t-short", std::vector<std::byte>(1'000));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_FALSE(cache->load("t-long"));
  EXPECT_TRUE(cache->load("t-short"));
  EXPECT_EQ(translations().size(), 1u);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
}

TEST_F(Cache, NoFileIsLeftHalfWritten) {
  run();
  for (const auto& each : fs::directory_iterator(folder)) {
    EXPECT_FALSE(each.path().filename().string().starts_with("tmp-")) << each.path();
    EXPECT_FALSE(each.path().filename().string().starts_with("turn-")) << each.path();
  }
}

// Ranks of a program that start at once. Each Device here has a cache and file handles of its own.
TEST_F(Cache, OneOfManyTranslatesAndTheOthersWait) {
  std::vector<std::thread> threads;
  std::atomic<int> translations = 0, loads = 0;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      const auto statistics = run();
      translations += static_cast<int>(statistics.translations);
      loads += static_cast<int>(statistics.translation_cache_hits);
    });
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(translations, 1);
  EXPECT_EQ(loads, 3);
}

TEST_F(Cache, TurnIsWaitedForByOthersAndEndsWithAFailure) {
  const auto first = runtime::DiskCache::open(folder.string());
  const auto second = runtime::DiskCache::open(folder.string());
  ASSERT_TRUE(first && second);
  auto turn = first->turn("t-key");
  ASSERT_TRUE(turn);
  EXPECT_TRUE(second->turn("t-other"));
  std::atomic<bool> ended = false, early = false;
  std::thread waits([&] {
    const auto mine = second->turn("t-key");
    early = !mine || !ended;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  ended = true;
  turn.reset();  // without an entry, as after a failure
  waits.join();
  EXPECT_FALSE(early);
  EXPECT_TRUE(fs::is_empty(folder));
}

TEST_F(Cache, FolderThatCannotBeWrittenDoesNoHarm) {
  EXPECT_EQ(run("/proc/no/such/folder").translations, 1u);
  fs::create_directories(folder);
  std::ofstream(folder / "file") << "x";
  EXPECT_EQ(run((folder / "file").string()).translations, 1u);
}

TEST_F(Cache, SizeIsBounded) {
  ::setenv("PTX2SPV_CACHE_MIB", "1", 1);
  fs::create_directories(folder);
  for (int i = 0; i < 40; ++i) {
    fs::path file = folder / ((i % 2 ? "t-old" : "h-old") + std::to_string(i));
    std::ofstream(file) << std::string(100'000, 'x');
    fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(100 - i));
  }
  run();
  ::unsetenv("PTX2SPV_CACHE_MIB");
  std::uintmax_t total = 0;
  for (const auto& each : fs::directory_iterator(folder)) total += fs::file_size(each.path());
  EXPECT_LE(total, 1u << 20);
  EXPECT_EQ(run().translation_cache_hits, 1u);
}

}  // namespace
}  // namespace ptx2spv
