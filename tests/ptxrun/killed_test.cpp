// A process that is ended while it writes the cache: the next one runs right and finds nothing half
// written.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "tests/support/process.hpp"

namespace ptx2spv::test {
namespace {

namespace fs = std::filesystem;

class KilledCache : public testing::Test {
 protected:
  void SetUp() override {
    std::string body;
    for (int k = 0; k < 100; ++k)
      body += "  mad.lo.u32 %r1, %r1, %r2, " + std::to_string(k) + ";\n";
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
TEST_F(KilledCache, AtAByteOfATranslation) {
  const ProcessResult good = run();
  ASSERT_EQ(good.exit_code, 0) << good.error;
  ASSERT_EQ(files("t-").size(), 1u);
  const std::uintmax_t whole = fs::file_size(files("t-")[0]);
  ASSERT_GT(whole, 600u);
  for (const std::uintmax_t at :
       {std::uintmax_t{0}, std::uintmax_t{1}, std::uintmax_t{24}, std::uintmax_t{25},
        std::uintmax_t{512}, whole - 1, whole, whole + 1}) {
    fs::remove_all(cache_);
    const ProcessResult killed = run_process(
        {tool_path("ptxrun"), manifest_}, {},
        {"PTX2SPV_CACHE=1", "PTX2SPV_CACHE_DIR=" + cache_,
         "LD_PRELOAD=" PTX2SPV_BINARY_DIR "/tests/libptx2spv_killed_in_write.so",
         "PTX2SPV_KILLED_AT=" + std::to_string(at), "ASAN_OPTIONS=verify_asan_link_order=0"});
    ASSERT_EQ(killed.exit_code, 128 + SIGKILL) << killed.error;
    EXPECT_EQ(files("t-").size(), 0u);
    ASSERT_EQ(files("tmp-").size(), 1u) << "it was to be ended while it wrote";
    EXPECT_EQ(fs::file_size(files("tmp-")[0]), std::min(at, whole));
    // What was left over goes once it is old.
    fs::last_write_time(files("tmp-")[0], fs::file_time_type::clock::now() - std::chrono::hours(2));
    const ProcessResult first = run(), second = run();
    EXPECT_EQ(first.exit_code, 0) << first.error;
    EXPECT_EQ(first.out, good.out);
    EXPECT_EQ(second.out, good.out);
    EXPECT_EQ(files("t-").size(), 1u);
    EXPECT_EQ(files("tmp-").size(), 0u);
  }
}

TEST_F(KilledCache, AtAnyMoment) {
  const ProcessResult good = run();
  ASSERT_EQ(good.exit_code, 0) << good.error;
  ASSERT_FALSE(good.out.empty());
  int killed = 0;
  for (int k = 0; k < 15; ++k) {
    fs::remove_all(cache_);
    killed += run(good.milliseconds * k / 14).exit_code == 128 + SIGKILL;
    const ProcessResult next = run();
    EXPECT_EQ(next.exit_code, 0) << next.error;
    EXPECT_EQ(next.out, good.out) << k;
    EXPECT_EQ(files("t-").size(), 1u);
  }
  EXPECT_GT(killed, 0);
}

}  // namespace
}  // namespace ptx2spv::test
