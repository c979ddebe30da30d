// Every call of Vulkan that may fail does, one after the other, from the instance to the last
// download: by a lack of host or device memory, and by a lost device. The answer is an error or the
// right result. Afterwards nothing is left of what was made, and the next device works.
// PTX2SPV_EXHAUSTIVE=1 takes every call, else a share of them whose place changes with the error.
#include <gtest/gtest.h>
#include <vulkan/vulkan_core.h>

#include <cstdlib>

#include "tests/faults/scenario.hpp"

namespace ptx2spv {
namespace {

/// Opens a device, loads a module, makes one of everything, launches and reads back; the same by a
/// graph, and as at first.
Result<std::uint32_t> work() {
  auto device = Device::open(faults::options());
  if (!device) return device.error();
  auto module = Module::load(*device, faults::kModule, "faults.ptx");
  if (!module) return module.error();
  auto kernel = module->kernel("copy");
  if (!kernel) return kernel.error();
  auto objects = faults::Objects::make(*device, 32, true);
  if (!objects) return objects.error();
  const auto sum = objects->launch(*device, *kernel);
  if (!sum || *sum != faults::kSum) return sum;
  const auto replayed = objects->replay(*device, *kernel);
  return replayed && *replayed == faults::kSum ? objects->launch(*device, *kernel) : replayed;
}

class Faults : public testing::TestWithParam<std::pair<int, bool>> {};

TEST_P(Faults, each_call_in_turn_is_an_error_and_nothing_leaks) {
  const faults::Driver* at = faults::driver();
  if (!at) GTEST_SKIP() << "SwiftShader is not here";
  const auto [code, stays] = GetParam();
  at->set(~std::uint64_t{0}, code, false);
  const auto plain = work();
  ASSERT_TRUE(plain) << text_of(plain.error());
  ASSERT_EQ(*plain, faults::kSum);
  const std::uint64_t calls = at->calls();
  ASSERT_GT(calls, 20u);
  ASSERT_EQ(at->live(), 0) << "handles that a run without faults leaves";
  const bool all = std::getenv("PTX2SPV_EXHAUSTIVE") != nullptr;
  const std::uint64_t stride = all ? 1 : calls / 16 + 1;
  std::size_t errors = 0;
  for (std::uint64_t n = all ? 0 : static_cast<std::uint64_t>(-code) % stride; n < calls;
       n += stride) {
    at->set(n, code, stays);
    const auto result = work();
    const std::string where =
        std::string("call ") + std::to_string(n) + ", " + (at->name() ? at->name() : "none failed");
    at->set(~std::uint64_t{0}, 0, false);
    EXPECT_EQ(at->live(), 0) << "handles left behind by " << where;
    if (result) {
      EXPECT_EQ(*result, faults::kSum) << where;
      continue;
    }
    ++errors;
    EXPECT_FALSE(result.error().text.empty()) << where;
    EXPECT_NE(result.error().code, ErrorCode::internal) << where << ": " << result.error().text;
  }
  EXPECT_GT(errors, 0u);
  std::printf("%llu calls may fail, %zu runs ended in an error\n",
              static_cast<unsigned long long>(calls), errors);
  const auto again = work();
  ASSERT_TRUE(again) << text_of(again.error());
  EXPECT_EQ(*again, faults::kSum);
}

INSTANTIATE_TEST_SUITE_P(Vulkan, Faults,
                         testing::Values(std::pair{int{VK_ERROR_OUT_OF_HOST_MEMORY}, false},
                                         std::pair{int{VK_ERROR_OUT_OF_DEVICE_MEMORY}, false},
                                         std::pair{int{VK_ERROR_OUT_OF_DEVICE_MEMORY}, true},
                                         std::pair{int{VK_ERROR_DEVICE_LOST}, true}),
                         [](const auto& given) {
                           const int code = given.param.first;
                           return std::string(code == VK_ERROR_DEVICE_LOST ? "DeviceLost"
                                              : code == VK_ERROR_OUT_OF_HOST_MEMORY
                                                  ? "OutOfHostMemory"
                                                  : "OutOfDeviceMemory") +
                                  (given.param.second ? "ForGood" : "Once");
                         });

}  // namespace
}  // namespace ptx2spv
