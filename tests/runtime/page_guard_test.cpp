// Memory that the host may not touch while a kernel changes it, with a flag in place of a device.
#include "src/vulkan/page_guard.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

namespace ptx2spv::runtime {
namespace {

using std::chrono::milliseconds;

extern "C" void on_fault(int number, siginfo_t* info, void*) {
  if (!PageGuard::admit(info->si_addr)) ::signal(number, SIG_DFL);
}

class PageGuards : public ::testing::Test {
 protected:
  void SetUp() override {
    struct sigaction action {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO;
    ::sigaction(SIGSEGV, &action, &before_);
    bytes_ = 2 * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    void* pages =
        ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(pages, MAP_FAILED);
    first_ = static_cast<std::byte*>(pages);
    word_ = reinterpret_cast<std::atomic<int>*>(first_ + bytes_ - sizeof(int));
  }
  void TearDown() override {
    ::munmap(first_, bytes_);
    ::sigaction(SIGSEGV, &before_, nullptr);
  }
  PageGuard::Over over() {
    return [this](std::uint64_t value) { return timeline_ >= value; };
  }
  /// Whether a system call reads the pages.
  bool is_open() const {
    int ends[2];
    if (::pipe(ends) != 0) return false;
    const bool written = ::write(ends[1], first_, 1) == 1;
    EXPECT_TRUE(written || errno == EFAULT);
    ::close(ends[0]);
    ::close(ends[1]);
    return written;
  }

  struct sigaction before_ {};
  std::byte* first_ = nullptr;
  std::atomic<int>* word_ = nullptr;
  std::size_t bytes_ = 0;
  std::atomic<std::uint64_t> timeline_{0};
};

TEST_F(PageGuards, TheHostsAccessWaitsForTheKernel) {
  PageGuard guard(over());
  guard.add({first_, bytes_});
  ASSERT_TRUE(guard.close("k", false));
  std::atomic<bool> added{false};
  std::thread host([&] {
    ++*word_;
    added = true;
  });
  guard.until(3);
  timeline_ = 2;
  std::this_thread::sleep_for(milliseconds(60));
  EXPECT_FALSE(added);
  timeline_ = 3;
  host.join();
  EXPECT_EQ(*word_, 1);
  EXPECT_TRUE(is_open());
}

TEST_F(PageGuards, WhoeverWaitedForTheKernelFindsThePagesOpen) {
  PageGuard guard(over());
  guard.add({first_, bytes_});
  EXPECT_TRUE(is_open());
  ASSERT_TRUE(guard.close("k", false));
  guard.reached(7);  // of earlier work, while this is being submitted
  EXPECT_FALSE(is_open());
  guard.until(8);
  guard.reached(7);
  EXPECT_FALSE(is_open());
  ASSERT_TRUE(guard.close("k", false));
  guard.until(9);
  guard.reached(8);
  EXPECT_FALSE(is_open());
  guard.reached(9);
  EXPECT_TRUE(is_open());
}

TEST_F(PageGuards, ALaunchThatFailsLeavesThemOpen) {
  PageGuard guard(over());
  guard.add({first_, bytes_});
  ASSERT_TRUE(guard.close("k", false));
  guard.until(0);
  EXPECT_TRUE(is_open());
}

TEST_F(PageGuards, AKernelThatWaitsIsNamedAndServed) {
  PageGuard guard(over(), milliseconds(50));
  guard.add({first_, bytes_});
  ASSERT_TRUE(guard.close("patient_kernel", true));
  guard.until(1);
  ::testing::internal::CaptureStderr();
  ++*word_;
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("kernel 'patient_kernel'"), std::string::npos) << said;
  EXPECT_NE(said.find("what either writes may be lost"), std::string::npos) << said;
  EXPECT_EQ(*word_, 1);
}

TEST_F(PageGuards, TheSubmittingThreadDoesNotWaitForItself) {
  PageGuard guard(over());
  guard.add({first_, bytes_});
  ASSERT_TRUE(guard.close("k", false));
  ++*word_;
  guard.until(1);
  EXPECT_EQ(*word_, 1);
}

TEST_F(PageGuards, OtherAddressesAreNotTheirs) {
  int own = 0;
  PageGuard guard(over());
  EXPECT_FALSE(guard.close("k", false));
  guard.add({first_, bytes_});
  EXPECT_FALSE(PageGuard::admit(&own));
  // Pages that are open are refused for another reason, in the end.
  for (int k = 0; k < 4; ++k) (void)PageGuard::admit(first_);
  EXPECT_FALSE(PageGuard::admit(first_));
  ASSERT_TRUE(guard.close("k", false));
  guard.remove(first_);
  EXPECT_TRUE(is_open());
  EXPECT_FALSE(PageGuard::admit(first_));
  guard.until(1);
}

}  // namespace
}  // namespace ptx2spv::runtime
