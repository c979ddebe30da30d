// A crash of the driver names the kernel, and a program's own crash is the program's own.
#include <gtest/gtest.h>

#include <csignal>

#include "tests/cuda/programs.hpp"

namespace ptx2spv::test {
namespace {

class Crash : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the sanitizers report crashes themselves";
#endif
    ASSERT_TRUE(compile_c("crash", program_));
  }
  ProcessResult run(const std::vector<std::string>& arguments,
                    const std::vector<std::string>& environment = {}) {
    std::vector<std::string> command = {"/bin/sh", "-c", "ulimit -c 0; exec \"$0\" \"$@\"",
                                        program_};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return execute(command, environment);
  }
  static constexpr const char* kNoCrash = "a kernel's wrong access crashes no process on a GPU";
  static bool reports(const ProcessResult& result) {
    return result.error.find("the Vulkan driver crashed") != std::string::npos;
  }
  std::string program_;
};

TEST_F(Crash, OfAKernelIsReportedAndStaysACrash) {
  if (!on_processor()) GTEST_SKIP() << kNoCrash;
  const ProcessResult result = run({"kernel"}, {"PTX2SPV_EXECUTOR=device"});
  EXPECT_EQ(result.exit_code, 128 + SIGSEGV);
  EXPECT_NE(result.error.find("launched last was 'wild'; address 0x0000000000000040 was accessed"),
            std::string::npos)
      << result.error;
  EXPECT_NE(result.error.find("--sanitize"), std::string::npos) << result.error;
}

TEST_F(Crash, OfAnInterpretedKernelNamesTheKernel) {
  if (!on_processor()) GTEST_SKIP() << "the host interprets no kernels for a GPU";
  const ProcessResult result = run({"kernel"}, {"PTX2SPV_EXECUTOR=host"});
  EXPECT_EQ(result.exit_code, 128 + SIGSEGV);
  EXPECT_NE(result.error.find("kernel 'wild' crashed; address 0x0000000000000040 was accessed"),
            std::string::npos)
      << result.error;
  EXPECT_NE(result.error.find("--sanitize"), std::string::npos) << result.error;
}

// The processor does not say which address it was.
TEST_F(Crash, BeyondAllAddressesSaysSo) {
#ifndef __x86_64__
  GTEST_SKIP() << "x86-64 alone has addresses that it does not name";
#endif
  if (!on_processor()) GTEST_SKIP() << kNoCrash;
  for (const char* executor : {"PTX2SPV_EXECUTOR=host", "PTX2SPV_EXECUTOR=device"}) {
    const ProcessResult result = run({"far"}, {executor});
    EXPECT_EQ(result.exit_code, 128 + SIGSEGV);
    EXPECT_NE(result.error.find("'wild'"), std::string::npos) << result.error;
    EXPECT_NE(result.error.find("an address was accessed that no memory can have"),
              std::string::npos)
        << result.error;
  }
}

TEST_F(Crash, OfTheProgramIsNotReported) {
  const ProcessResult own = run({"own"});
  EXPECT_EQ(own.exit_code, 128 + SIGSEGV);
  EXPECT_EQ(own.error, "");
  const ProcessResult abort = run({"abort"});
  EXPECT_EQ(abort.exit_code, 128 + SIGABRT);
  EXPECT_EQ(abort.error, "");
  EXPECT_EQ(run({"nothing"}).out, "good\n");
}

TEST_F(Crash, GoesToTheProgramsHandler) {
  const bool kernels = on_processor();
  for (const char* crash : {"kernel", "own", "abort"}) {
    if (!kernels && crash == std::string("kernel")) continue;
    for (const char* when : {"before", "after"}) {
      const ProcessResult result = run({crash, when}, {"PTX2SPV_EXECUTOR=device"});
      EXPECT_EQ(result.exit_code, 42) << crash << ' ' << when;
      EXPECT_EQ(result.out, "the program's handler\n") << crash << ' ' << when;
      const bool told = crash == std::string("kernel") && when == std::string("before");
      EXPECT_EQ(reports(result), told) << crash << ' ' << when << '\n' << result.error;
    }
  }
  if (!kernels) GTEST_SKIP() << "but for kernels: " << kNoCrash;
}

}  // namespace
}  // namespace ptx2spv::test
