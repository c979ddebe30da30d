// Of two NaN a sum of doubles keeps the second (docs/reference/arithmetic.md), also where that is
// a sum itself.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <vector>

#include "ptx2spv/runtime.hpp"

namespace ptx2spv::tests {
namespace {

constexpr const char* kModule = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry chain(.param .u64 in, .param .u64 out)
{
  .reg .b32 %t; .reg .b64 %i, %o, %a; .reg .f64 %x, %y, %z, %s, %p;
  ld.param.u64 %i, [in];
  ld.param.u64 %o, [out];
  mov.u32 %t, %tid.x;
  mul.wide.u32 %a, %t, 24;
  add.u64 %i, %i, %a;
  mul.wide.u32 %a, %t, 32;
  add.u64 %o, %o, %a;
  ld.global.f64 %x, [%i];
  ld.global.f64 %y, [%i+8];
  ld.global.f64 %z, [%i+16];
  add.rn.f64 %s, %x, %y;
  add.rn.f64 %s, %z, %s;
  add.rn.f64 %s, %s, %s;
  st.global.f64 [%o], %s;
  mul.rn.f64 %s, %x, 0d4008000000000000;
  neg.f64 %p, %s;
  sub.rn.f64 %s, %x, %s;
  add.rn.f64 %s, %s, %p;
  st.global.f64 [%o+8], %s;
  abs.f64 %s, %y;
  mul.rn.f64 %s, %p, %s;
  neg.f64 %p, %z;
  add.rn.f64 %s, %s, %p;
  st.global.f64 [%o+16], %s;
  sqrt.rn.f64 %s, %x;
  div.rn.f64 %s, %s, %x;
  add.rn.f64 %s, %s, %x;
  st.global.f64 [%o+24], %s;
  ret;
}
)";

constexpr std::uint64_t kQuiet = 0x0008000000000000, kInfinity = 0x7ff0000000000000,
                        kSign = 0x8000000000000000, kInvalid = 0xfff8000000000000,
                        kThree = 0x4008000000000000;
constexpr std::uint64_t kNumbers[] = {
    0x7ff0000000000001, 0xfff8000012345678, 0x7ff4000087654321, 0x7fffffffffffffff,
    kInfinity,          0x3ff0000000000000, 0xc008000000000000, 0};

bool is_nan(std::uint64_t a) { return (a << 1) > (kInfinity << 1); }

/// Of `op`, a sum, a product or the quotient of two with one NaN.
template <typename Op>
std::uint64_t result(std::uint64_t a, std::uint64_t b, Op op) {
  if (is_nan(b)) return b | kQuiet;
  if (is_nan(a)) return a | kQuiet;
  const double made = op(std::bit_cast<double>(a), std::bit_cast<double>(b));
  return std::isnan(made) ? kInvalid : std::bit_cast<std::uint64_t>(made);
}
std::uint64_t sum(std::uint64_t a, std::uint64_t b) { return result(a, b, std::plus<>()); }
std::uint64_t product(std::uint64_t a, std::uint64_t b) {
  return result(a, b, std::multiplies<>());
}
std::uint64_t quotient(std::uint64_t a, std::uint64_t b) { return result(a, b, std::divides<>()); }
std::uint64_t root(std::uint64_t a) {
  return result(a, 0, [](double of, double) { return std::sqrt(of); });
}
std::uint64_t with_sign(std::uint64_t a, std::uint64_t changed) {
  return is_nan(a) ? a | kQuiet : changed;
}
std::uint64_t minus(std::uint64_t a) { return with_sign(a, a ^ kSign); }
std::uint64_t absolute(std::uint64_t a) { return with_sign(a, a & ~kSign); }

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
        const std::uint64_t thrice = product(a, kThree);
        wanted.push_back(sum(sum(a, minus(thrice)), minus(thrice)));
        wanted.push_back(sum(product(minus(thrice), absolute(b)), minus(c)));
        wanted.push_back(sum(quotient(root(a), a), a));
      }
  std::vector<std::uint64_t> got(wanted.size());
  const auto module = Module::load(*device, kModule, "chain.ptx");
  ASSERT_TRUE(module) << module.error().to_string();
  const auto kernel = module->kernel("chain");
  auto from = Buffer::create(*device, in.size() * 8), to = Buffer::create(*device, got.size() * 8);
  ASSERT_TRUE(kernel && from && to);
  ASSERT_TRUE(from->upload(0, std::as_bytes(std::span(in))));
  LaunchConfig config;
  config.block = {static_cast<std::uint32_t>(got.size() / 4), 1, 1};
  Args args;
  args.buffer(*from).buffer(*to);
  const auto done = kernel->launch(config, args);
  ASSERT_TRUE(done) << done.error().to_string();
  ASSERT_TRUE(to->download(0, std::as_writable_bytes(std::span(got))));
  EXPECT_EQ(got, wanted);
}

}  // namespace
}  // namespace ptx2spv::tests
