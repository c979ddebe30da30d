// Functions that call themselves: directly, by way of each other, from within a loop, through an
// address, with local variables whose addresses go down to the next call.
#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "ptx2spv/runtime.hpp"

namespace ptx2spv::tests {
namespace {

constexpr const char* kModule = R"(.version 7.3
.target sm_75
.address_size 64
.func (.reg .u32 result) fib(.reg .u32 n)
{
  .reg .u32 %a, %b, %m; .reg .pred %end;
  mov.u32 result, n;
  setp.lt.u32 %end, n, 2;
  @%end ret;
  sub.u32 %m, n, 1;
  call (%a), fib, (%m);
  sub.u32 %m, n, 2;
  call (%b), fib, (%m);
  add.u32 result, %a, %b;
  ret;
}
.func (.reg .u32 result) odd(.reg .u32 n);
.func (.reg .u32 result) even(.reg .u32 n)
{
  .reg .u32 %m; .reg .pred %end;
  mov.u32 result, 1;
  setp.eq.u32 %end, n, 0;
  @%end ret;
  sub.u32 %m, n, 1;
  call (result), odd, (%m);
  ret;
}
.func (.reg .u32 result) odd(.reg .u32 n)
{
  .reg .u32 %m; .reg .pred %end;
  mov.u32 result, 0;
  setp.eq.u32 %end, n, 0;
  @%end ret;
  sub.u32 %m, n, 1;
  call (result), even, (%m);
  ret;
}
// Adds to the caller's sum what the levels below add to this one's, three times in a loop.
.func tree(.param .b64 upward, .param .b32 depth)
{
  .local .align 8 .b8 mine[24];
  .reg .u64 %up, %own; .reg .u32 %d, %i, %x, %y; .reg .pred %go;
  ld.param.u64 %up, [upward];
  ld.param.u32 %d, [depth];
  mov.u32 %x, %d;
  setp.eq.u32 %go, %d, 0;
  @%go bra leave;
  mov.u64 %own, mine;
  cvta.local.u64 %own, %own;
  st.local.u32 [mine+16], %d;
  mov.u32 %i, 0;
again:
  sub.u32 %x, %d, 1;
  setp.eq.u32 %go, %i, %d;
  @%go bra next;
  {
    .param .b64 p; .param .b32 q;
    st.param.b64 [p], %own;
    st.param.b32 [q], %x;
    call tree, (p, q);
  }
next:
  add.u32 %i, %i, 1;
  setp.lt.u32 %go, %i, 3;
  @%go bra again;
  ld.local.u32 %x, [mine+16];
leave:
  ld.u32 %y, [%up+16];
  mad.lo.u32 %y, %y, 5, %x;
  st.u32 [%up+16], %y;
  ret;
}
.func (.param .b32 result) down(.param .b32 n, .param .b64 by)
{
  .reg .u32 %n, %r; .reg .u64 %f; .reg .pred %end;
  ld.param.u32 %n, [n];
  ld.param.u64 %f, [by];
  st.param.b32 [result], %n;
  setp.lt.s32 %end, %n, 1;
  @%end ret;
  sub.u32 %n, %n, 3;
  {
    .param .b32 p; .param .b64 q; .param .b32 r;
    st.param.b32 [p], %n;
    st.param.b64 [q], %f;
    prototype: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b64 _);
    call (r), %f, (p, q), prototype;
    ld.param.b32 %r, [r];
  }
  mad.lo.u32 %r, %r, 7, %n;
  st.param.b32 [result], %r;
  ret;
}
.visible .entry all(.param .u64 out)
{
  .local .align 8 .b8 root[24];
  .reg .u64 %o, %at, %root, %f; .reg .u32 %t, %x;
  ld.param.u64 %o, [out];
  mov.u32 %t, %tid.x;
  mul.wide.u32 %at, %t, 16;
  add.u64 %o, %o, %at;
  rem.u32 %x, %t, 12;
  call (%x), fib, (%x);
  st.global.u32 [%o], %x;
  call (%x), even, (%t);
  st.global.u32 [%o+4], %x;
  mov.u64 %root, root;
  cvta.local.u64 %root, %root;
  st.local.u32 [root+16], 1;
  rem.u32 %x, %t, 5;
  {
    .param .b64 p; .param .b32 q;
    st.param.b64 [p], %root;
    st.param.b32 [q], %x;
    call tree, (p, q);
  }
  ld.local.u32 %x, [root+16];
  st.global.u32 [%o+8], %x;
  mov.u64 %f, down;
  {
    .param .b32 p; .param .b64 q; .param .b32 r;
    st.param.b32 [p], %t;
    st.param.b64 [q], %f;
    call (r), down, (p, q);
    ld.param.b32 %x, [r];
  }
  st.global.u32 [%o+12], %x;
  ret;
}
.visible .entry deep(.param .u64 out)
{
  .reg .u64 %o; .reg .u32 %x;
  ld.param.u64 %o, [out];
  call (%x), even, (1000000);
  st.global.u32 [%o], %x;
  ret;
}
)";

std::uint32_t fib(std::uint32_t n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
void tree(std::uint32_t& up, std::uint32_t d) {
  std::uint32_t mine = d;
  for (std::uint32_t i = 0; d && i < 3; ++i)
    if (i != d) tree(mine, d - 1);
  up = up * 5 + mine;
}
std::uint32_t down(std::int32_t n) {
  if (n < 1) return static_cast<std::uint32_t>(n);
  return down(n - 3) * 7 + static_cast<std::uint32_t>(n - 3);
}

TEST(Recursion, GivesWhatTheSameFunctionsGiveOnTheHost) {
  const auto device = Device::open();
  ASSERT_TRUE(device) << device.error().to_string();
  constexpr std::uint32_t kThreads = 24;
  std::vector<std::uint32_t> wanted;
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    std::uint32_t root = 1;
    tree(root, t % 5);
    wanted.insert(wanted.end(),
                  {fib(t % 12), t % 2 == 0, root, down(static_cast<std::int32_t>(t))});
  }
  for (const int level : {0, 1}) {
    ModuleOptions options;
    options.optimize = level;
    const auto module = Module::load(*device, kModule, "recursion.ptx", options);
    ASSERT_TRUE(module) << module.error().to_string();
    const auto kernel = module->kernel("all");
    auto out = Buffer::create(*device, wanted.size() * 4);
    ASSERT_TRUE(kernel && out);
    for (const auto threads : {ThreadModel::direct, ThreadModel::regions}) {
      std::vector<std::uint32_t> got(wanted.size());
      ASSERT_TRUE(out->upload(0, std::as_bytes(std::span(got))));
      LaunchConfig config;
      config.block = {kThreads, 1, 1};
      config.threads = threads;
      Args args;
      args.buffer(*out);
      const auto done = kernel->launch(config, args);
      ASSERT_TRUE(done) << done.error().to_string();
      ASSERT_TRUE(out->download(0, std::as_writable_bytes(std::span(got))));
      EXPECT_EQ(got, wanted) << "-O" << level;
    }
  }
}

TEST(Recursion, TooDeepForTheStackIsATrapThatSaysSo) {
  const auto device = Device::open();
  ASSERT_TRUE(device) << device.error().to_string();
  const auto module = Module::load(*device, kModule, "recursion.ptx");
  ASSERT_TRUE(module) << module.error().to_string();
  const auto kernel = module->kernel("deep");
  auto out = Buffer::create(*device, 16);
  ASSERT_TRUE(kernel && out);
  Args args;
  args.buffer(*out);
  const auto done = kernel->launch(LaunchConfig{}, args);
  ASSERT_FALSE(done);
  const std::string text = done.error().to_string();
  EXPECT_NE(text.find("recursion of '"), std::string::npos) << text;
  EXPECT_NE(text.find("a thread's stack holds 8192 bytes"), std::string::npos) << text;
}

}  // namespace
}  // namespace ptx2spv::tests
