// alloca, stacksave and stackrestore: memory of a thread that lasts as long as its function.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "ptx2spv/runtime.hpp"

namespace ptx2spv::tests {
namespace {

constexpr const char* kModule = R"(.version 7.3
.target sm_75
.address_size 64
.func (.reg .u32 result) scratch(.reg .u32 seed)
{
  .reg .u64 %p; .reg .u32 %x;
  alloca.u64 %p, 512, 64;
  st.local.u32 [%p+508], seed;
  ld.local.u32 %x, [%p+508];
  add.u32 result, %x, 1;
  ret;
}
.visible .entry sums(.param .u64 out)
{
  .reg .u64 %o, %p, %q, %s, %bytes, %at; .reg .u32 %t, %n, %i, %x, %sum; .reg .pred %go;
  ld.param.u64 %o, [out];
  mov.u32 %t, %tid.x;
  add.u32 %n, %t, 1;
  mul.wide.u32 %bytes, %n, 4;
  alloca.u64 %p, %bytes;
  alloca.u64 %q, 8, 256;
  st.local.u32 [%q], 1000;
  mov.u32 %i, 0;
fill:
  mul.wide.u32 %at, %i, 4;
  add.u64 %at, %at, %p;
  st.local.u32 [%at], %i;
  stacksave.u64 %s;
  alloca.u64 %at, 1024;
  st.local.u32 [%at], %t;
  stackrestore.u64 %s;
  add.u32 %i, %i, 1;
  setp.lt.u32 %go, %i, %n;
  @%go bra fill;
  ld.local.u32 %sum, [%q];
  mov.u32 %i, 0;
add:
  mul.wide.u32 %at, %i, 4;
  add.u64 %at, %at, %p;
  ld.local.u32 %x, [%at];
  add.u32 %sum, %sum, %x;
  call (%x), scratch, (%i);
  add.u32 %sum, %sum, %x;
  mov.u32 %i, %x;
  setp.lt.u32 %go, %i, %n;
  @%go bra add;
  mul.wide.u32 %at, %t, 4;
  add.u64 %o, %o, %at;
  st.global.u32 [%o], %sum;
  ret;
}
.visible .entry endless(.param .u64 out)
{
  .reg .u64 %o, %p; .reg .u32 %i; .reg .pred %go;
  ld.param.u64 %o, [out];
  mov.u32 %i, 0;
more:
  alloca.u64 %p, 100;
  st.local.u32 [%p], %i;
  add.u32 %i, %i, 1;
  setp.lt.u32 %go, %i, 60;
  @%go bra more;
  st.global.u32 [%o], %i;
  ret;
}
)";

struct Stack : testing::Test {
  void SetUp() override {
    const char* name = std::getenv("PTX2SPV_DEVICE");
    DeviceOptions options;
    options.select = name ? name : "swiftshader";
    auto opened = Device::open(options);
    if (!opened) GTEST_SKIP() << "no device " << options.select << ": " << opened.error().text;
    device = std::make_unique<Device>(std::move(*opened));
  }
  std::unique_ptr<Device> device;
};

TEST_F(Stack, MemoryLastsUntilTheFunctionReturns) {
  auto module = Module::load(*device, kModule, "stack.ptx");
  ASSERT_TRUE(module) << module.error().text;
  auto kernel = module->kernel("sums");
  ASSERT_TRUE(kernel) << kernel.error().text;
  constexpr std::uint32_t kThreads = 64;
  auto out = Buffer::create(*device, kThreads * 4);
  ASSERT_TRUE(out);
  LaunchConfig config;
  config.block.x = kThreads;
  auto done = kernel->launch(config, Args().buffer(*out));
  ASSERT_TRUE(done) << done.error().text;
  std::vector<std::uint32_t> sums(kThreads);
  ASSERT_TRUE(out->download(0, std::as_writable_bytes(std::span(sums))));
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    const std::uint32_t n = t + 1;
    EXPECT_EQ(sums[t], 1000 + n * (n - 1) / 2 + n * (n + 1) / 2) << "thread " << t;
  }
}

TEST_F(Stack, MoreThanThereIsEndsInATrap) {
  auto module = Module::load(*device, kModule, "stack.ptx");
  ASSERT_TRUE(module) << module.error().text;
  auto kernel = module->kernel("endless");
  ASSERT_TRUE(kernel) << kernel.error().text;
  auto out = Buffer::create(*device, 4);
  ASSERT_TRUE(out);
  LaunchConfig config;
  auto done = kernel->launch(config, Args().buffer(*out));
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().text.find("4096 bytes"), std::string::npos) << done.error().text;
}

}  // namespace
}  // namespace ptx2spv::tests
