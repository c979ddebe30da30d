// Constant banks of PTX 1.5 to 2.1: every external array of a bank begins where the bank does, and
// the host fills it by any of their names.
#include <gtest/gtest.h>

#include <array>
#include <span>

#include "ptx2spv/runtime.hpp"

namespace ptx2spv::tests {
namespace {

constexpr const char* kModule = R"(.version 2.1
.target sm_20
.address_size 64
.extern .const[3] .b32 words[];
.extern .const[3] .align 8 .b8 bytes[];
.extern .const[1] .b32 other[];
.const[0] .u32 own[4] = {10, 20, 30, 40};
.entry k(.param .u64 out)
{
  .reg .u32 %r<5>; .reg .u64 %o, %c;
  ld.param.u64 %o, [out];
  ld.const[3].u32 %r1, [words+4];
  ld.const[0].u32 %r2, [own+8];
  mov.u64 %c, bytes;
  ld.const[3].u8 %r3, [%c+8];
  ld.const[1].u32 %r4, [other];
  st.global.v4.u32 [%o], {%r1, %r2, %r3, %r4};
  exit;
}
)";

TEST(ConstantBanks, AreFilledByTheNamesOfTheirArrays) {
  const auto device = Device::open();
  ASSERT_TRUE(device) << device.error().to_string();
  auto module = Module::load(*device, kModule, "banks.ptx");
  ASSERT_TRUE(module) << module.error().to_string();
  const std::array<std::uint32_t, 3> three = {1, 200, 77}, one = {9, 8, 7};
  ASSERT_TRUE(module->set_global("words", std::as_bytes(std::span(three))));
  ASSERT_TRUE(module->set_global("other", std::as_bytes(std::span(one))));
  const auto kernel = module->kernel("k");
  auto out = Buffer::create(*device, 16);
  ASSERT_TRUE(kernel && out);
  Args args;
  args.buffer(*out);
  const auto done = kernel->launch(LaunchConfig{}, args);
  ASSERT_TRUE(done) << done.error().to_string();
  std::array<std::uint32_t, 4> got = {};
  ASSERT_TRUE(out->download(0, std::as_writable_bytes(std::span(got))));
  EXPECT_EQ(got, (std::array<std::uint32_t, 4>{200, 30, 77, 9}));
}

}  // namespace
}  // namespace ptx2spv::tests
