// A process that is ended while it writes the cache, and one that finds no room on the disk: it and
// the next ones run right, and nothing is left half written.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "tests/support/process.hpp"

namespace ptx2spv::test {
namespace {

namespace fs = std::filesystem;

class WrittenCache : public testing::Test {
 protected:
  void SetUp() override {
    std::string body;
    for (int k = 0; k < 80; ++k) body += "  mad.lo.u32 %r1, %r1, %r2, " + std::to_string(k) + ";\n";
    folder_.write("k.ptx", R"(.version 8.1
.target sm_90
.address_size 64
.visible .entry k(.param .u64 surface)
{
  .reg .b32 %r<4>;
  .reg .b64 %s;
  ld.param.u64 %s, [surface];
  mov.u32 %r1, %tid.x;
  add.u32 %r2, %r1, 3;
  shl.b32 %r3, %r1, 2;
)" + body + "  sust.b.1d.b32.trap [%s, {%r3}], %r1;\n  ret;\n}\n");
    manifest_ = folder_.write("k.json", R"({"module": "k.ptx",
 "surfaces": {"s": {"geometry": "1d", "format": "u32", "channels": 1, "width": 8}},
 "launches": [{"kernel": "k", "grid": 1, "block": 8, "args": [{"surface": "s"}]}],
 "outputs": [{"surface": "s", "raw": "s.bin"}]})");
    cache_ = folder_.file("cache");
  }
  ProcessResult run(double kill_after_ms = -1) {
    return run_process({tool_path("ptxrun"), "--checksums", manifest_}, {},
                       {"PTX2SPV_CACHE=1", "PTX2SPV_CACHE_DIR=" + cache_}, kill_after_ms);
  }
  /// A run with `fault` (tests/support/preload/write_faults.cpp).
  ProcessResult run_with(const std::string& fault) {
    return run_process({tool_path("ptxrun"), "--checksums", manifest_}, {},
                       {"PTX2SPV_CACHE=1", "PTX2SPV_CACHE_DIR=" + cache_,
                        "LD_PRELOAD=" PTX2SPV_BINARY_DIR "/tests/libptx2spv_write_faults.so", fault,
                        "ASAN_OPTIONS=verify_asan_link_order=0"});
  }
  std::vector<fs::path> files(const std::string& start) const {
    std::vector<fs::path> found;
    std::error_code none;
    for (const auto& each : fs::directory_iterator(cache_, none))
      if (each.path().filename().string().starts_with(start)) found.push_back(each.path());
    return found;
  }
  TemporaryFolder folder_;
  std::string manifest_, cache_;
};

// At every place where a write can be cut: before its first byte, within the header and behind it,
// in the middle, at the last byte, and between the last write and the file's name.
TEST_F(WrittenCache, KilledAtAByteOfATranslation) {
  const ProcessResult good = run();
  ASSERT_EQ(good.exit_code, 0) << good.error;
  ASSERT_EQ(files("t-").size(), 1u);
  const std::uintmax_t whole = fs::file_size(files("t-")[0]);
  ASSERT_GT(whole, 600u);
  for (const std::uintmax_t at :
       {std::uintmax_t{0}, std::uintmax_t{1}, std::uintmax_t{24}, std::uintmax_t{25},
        std::uintmax_t{512}, whole - 1, whole, whole + 1}) {
    fs::remove_all(cache_);
    const ProcessResult killed = run_with("PTX2SPV_KILLED_AT=" + std::to_string(at));
    ASSERT_EQ(killed.exit_code, 128 + SIGKILL) << killed.error;
    EXPECT_EQ(files("t-").size(), 0u);
    ASSERT_EQ(files("tmp-").size(), 1u) << "it was to be ended while it wrote";
    EXPECT_EQ(fs::file_size(files("tmp-")[0]), std::min(at, whole));
    // What was left over goes once it is old.
    fs::last_write_time(files("tmp-")[0], fs::file_time_type::clock::now() - std::chrono::hours(2));
    const ProcessResult next = run();
    EXPECT_EQ(next.exit_code, 0) << next.error;
    EXPECT_EQ(next.out, good.out);
    EXPECT_EQ(files("t-").size(), 1u);
    EXPECT_EQ(files("tmp-").size(), 0u);
  }
  EXPECT_EQ(run().out, good.out) << "from the cache";
}

TEST_F(WrittenCache, KilledAtAnyMoment) {
  const ProcessResult good = run();
  ASSERT_EQ(good.exit_code, 0) << good.error;
  ASSERT_FALSE(good.out.empty());
  int killed = 0;
  for (int k = 0; k < 8; ++k) {
    fs::remove_all(cache_);
    killed += run(good.milliseconds * k / 7).exit_code == 128 + SIGKILL;
    const ProcessResult next = run();
    EXPECT_EQ(next.exit_code, 0) << next.error;
    EXPECT_EQ(next.out, good.out) << k;
    EXPECT_EQ(files("t-").size(), 1u);
  }
  EXPECT_GT(killed, 0);
}

// Not a byte fits, then a part of the header, all but the last byte, and a translation but no
// pipeline.
TEST_F(WrittenCache, FullDisk) {
  const ProcessResult good = run();
  ASSERT_EQ(good.exit_code, 0) << good.error;
  ASSERT_EQ(files("t-").size(), 1u);
  const std::uintmax_t whole = fs::file_size(files("t-")[0]);
  for (const std::uintmax_t at : {std::uintmax_t{0}, std::uintmax_t{7}, whole - 1, whole}) {
    fs::remove_all(cache_);
    const ProcessResult full = run_with("PTX2SPV_FULL_AT=" + std::to_string(at));
    EXPECT_EQ(full.exit_code, 0) << full.error;
    EXPECT_EQ(full.out, good.out);
    EXPECT_EQ(files("t-").size(), at < whole ? 0u : 1u) << at;
    EXPECT_EQ(files("p-").size(), 0u) << at;
    EXPECT_EQ(files("tmp-").size(), 0u) << at;
    // With room again the cache works.
    EXPECT_EQ(run().out, good.out);
    EXPECT_EQ(files("t-").size(), 1u);
  }
}

}  // namespace
}  // namespace ptx2spv::test
