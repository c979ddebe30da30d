// Of two NaN a sum of doubles keeps the second (docs/reference/arithmetic.md), also where that is
// a sum itself.
#include <gtest/gtest.h>

#include <bit>
#include <vector>

#include "ptx2spv/runtime.hpp"

namespace ptx2spv::tests {
namespace {

constexpr const char* kModule = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry chain(.param .u64 in, .param .u64 out)
{
  .reg .b32 %t; .reg .b64 %i, %o, %a; .reg .f64 %x, %y, %z, %s;
  ld.param.u64 %i, [in];
  ld.param.u64 %o, [out];
  mov.u32 %t, %tid.x;
  mul.wide.u32 %a, %t, 24;
  add.u64 %i, %i, %a;
  mul.wide.u32 %a, %t, 8;
  add.u64 %o, %o, %a;
  ld.global.f64 %x, [%i];
  ld.global.f64 %y, [%i+8];
  ld.global.f64 %z, [%i+16];
  add.rn.f64 %s, %x, %y;
  add.rn.f64 %s, %z, %s;
  add.rn.f64 %s, %s, %s;
  st.global.f64 [%o], %s;
  ret;
}
)";

constexpr std::uint64_t kQuiet = 0x0008000000000000, kInfinity = 0x7ff0000000000000;
constexpr std::uint64_t kNumbers[] = {
    0x7ff0000000000001, 0xfff8000012345678, 0x7ff4000087654321, 0x7fffffffffffffff,
    kInfinity,          0x3ff0000000000000, 0xc008000000000000, 0};

bool is_nan(std::uint64_t a) { return (a << 1) > (kInfinity << 1); }

std::uint64_t sum(std::uint64_t a, std::uint64_t b) {
  if (is_nan(b)) return b | kQuiet;
  if (is_nan(a)) return a | kQuiet;
  return std::bit_cast<std::uint64_t>(std::bit_cast<double>(a) + std::bit_cast<double>(b));
}

TEST(NanChains, KeepTheSecond) {
  const auto device = Device::open();
  ASSERT_TRUE(device) << device.error().to_string();
  std::vector<std::uint64_t> in, wanted;
  for (const std::uint64_t a : kNumbers)
    for (const std::uint64_t b : kNumbers)
      for (const std::uint64_t c : kNumbers) {
        in.insert(in.end(), {a, b, c});
        const std::uint64_t both = sum(c, sum(a, b));
        wanted.push_back(sum(both, both));
      }
  std::vector<std::uint64_t> got(wanted.size());
  const auto module = Module::load(*device, kModule, "chain.ptx");
  ASSERT_TRUE(module) << module.error().to_string();
  const auto kernel = module->kernel("chain");
  auto from = Buffer::create(*device, in.size() * 8), to = Buffer::create(*device, got.size() * 8);
  ASSERT_TRUE(kernel && from && to);
  ASSERT_TRUE(from->upload(0, std::as_bytes(std::span(in))));
  LaunchConfig config;
  config.block = {static_cast<std::uint32_t>(got.size()), 1, 1};
  Args args;
  args.buffer(*from).buffer(*to);
  const auto done = kernel->launch(config, args);
  ASSERT_TRUE(done) << done.error().to_string();
  ASSERT_TRUE(to->download(0, std::as_writable_bytes(std::span(got))));
  EXPECT_EQ(got, wanted);
}

}  // namespace
}  // namespace ptx2spv::tests
