// What control groups leave to the process, by folders as both versions of them have.
#include "src/device/host_limits.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/process.hpp"

namespace ptx2spv::runtime {
namespace {

class HostLimits : public testing::Test {
 protected:
  void write(const std::string& file, const std::string& text) {
    const std::filesystem::path path = folder_.file(file);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  ControlGroups groups() const { return {folder_.file("list"), folder_.path()}; }

 private:
  ptx2spv::test::TemporaryFolder folder_;
};

TEST_F(HostLimits, AreNoneWithoutGroups) {
  EXPECT_EQ(groups().memory(), UINT64_MAX);
  EXPECT_EQ(groups().processors(), UINT64_MAX);
}

TEST_F(HostLimits, TheUnifiedHierarchyHasTheLeastOfTheGroupsAround) {
  write("list", "0::/build/job\n");
  write("build/cpu.max", "150000 100000\n");
  write("build/job/cpu.max", "max 100000\n");
  write("build/memory.max", "max\n");
  write("build/job/memory.max", "1048576\n");
  EXPECT_EQ(groups().processors(), 2u);
  EXPECT_EQ(groups().memory(), 1048576u);
  write("build/job/cpu.max", "20000 100000\n");
  EXPECT_EQ(groups().processors(), 1u);
}

TEST_F(HostLimits, ControllersOfTheirOwnHaveTheirOwnFolders) {
  write("list", "12:cpuset:/\n4:cpu,cpuacct:/docker/1\n3:memory:/docker/1\n0::/\n");
  write("cpu/docker/1/cpu.cfs_quota_us", "400000\n");
  write("cpu/docker/1/cpu.cfs_period_us", "100000\n");
  write("memory/docker/1/memory.limit_in_bytes", "4096\n");
  EXPECT_EQ(groups().processors(), 4u);
  EXPECT_EQ(groups().memory(), 4096u);
  write("cpu/docker/1/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(groups().processors(), UINT64_MAX);
}

TEST_F(HostLimits, OfThisProcessAreWithinTheMachine) {
  EXPECT_GE(host_processors(), 1u);
  EXPECT_GE(host_memory(), 1u << 20);
}

}  // namespace
}  // namespace ptx2spv::runtime
