// The registers that tell of clusters, where a kernel says how many blocks one has.
#include <gtest/gtest.h>

#include <array>
#include <span>
#include <vector>

#include "ptx2spv/runtime.hpp"

namespace ptx2spv::tests {
namespace {

constexpr const char* kModule = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out) .reqnctapercluster 2, 3, 1
{
  .reg .u32 %r<12>; .reg .u64 %o, %d; .reg .pred %p;
  ld.param.u64 %o, [out];
  mov.u32 %r0, %cluster_ctaid.y;
  mov.u32 %r1, %cluster_nctaid.y;
  mov.u32 %r2, %clusterid.x;
  mov.u32 %r3, %nclusterid.y;
  mov.u32 %r4, %cluster_ctarank;
  mov.u32 %r5, %cluster_nctarank;
  mov.pred %p, %is_explicit_cluster;
  selp.u32 %r6, 1, 0, %p;
  mov.u32 %r7, %clusterid.y;
  mov.u32 %r8, %ctaid.x;
  mov.u32 %r9, %ctaid.y;
  mad.lo.u32 %r8, %r9, 4, %r8;
  mul.wide.u32 %d, %r8, 32;
  add.u64 %o, %o, %d;
  st.global.v4.u32 [%o], {%r0, %r1, %r2, %r3};
  st.global.v4.u32 [%o+16], {%r4, %r5, %r6, %r7};
  ret;
}
)";

TEST(Clusters, AreAsLargeAsTheKernelRequires) {
  const auto device = Device::open();
  ASSERT_TRUE(device) << device.error().to_string();
  const auto module = Module::load(*device, kModule, "clusters.ptx");
  ASSERT_TRUE(module) << module.error().to_string();
  const auto kernel = module->kernel("k");
  std::vector<std::array<std::uint32_t, 8>> got(24), wanted;
  for (std::uint32_t y = 0; y < 6; ++y)
    for (std::uint32_t x = 0; x < 4; ++x)
      wanted.push_back({y % 3, 3, x / 2, 2, x % 2 + y % 3 * 2, 6, 1, y / 3});
  auto out = Buffer::create(*device, got.size() * 32);
  ASSERT_TRUE(kernel && out);
  LaunchConfig config;
  config.grid = {4, 6, 1};
  Args args;
  args.buffer(*out);
  const auto done = kernel->launch(config, args);
  ASSERT_TRUE(done) << done.error().to_string();
  ASSERT_TRUE(out->download(0, std::as_writable_bytes(std::span(got))));
  EXPECT_EQ(got, wanted);
}

}  // namespace
}  // namespace ptx2spv::tests
